//! The place of a problem in the text: file, line and column.

use crate::problem::field::{self, quoted_key};
use crate::problem::{Located, Problem, brief};
use crate::reader::Unread;
use crate::suggest::is_one_edit;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

mod hint;
mod meant;
mod place;
mod wording;

/// Longest text of a report in characters; a help may list 40 names.
const LONGEST_FIELD: usize = 400;
const LONGEST_MESSAGE: usize = 600;
const LONGEST_HELP: usize = 6000;

/// The table around a field of this name, whose path may end with the name already.
fn around(field: &str, name: &str) -> String {
    let named = field::ends_with(field, name);
    let rest = if named { field.strip_suffix(&quoted_key(name)).unwrap_or(field) } else { field };
    rest.trim_end_matches('.').to_owned()
}

/// The line, from 1, of a field in a TOML text, or the closest table around it; `None` if neither does.
pub fn line_of(text: &str, field: &str) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let found = place::find(root.get_ref(), field)?;
    let at = if found.whole { found.value.start } else { found.key.start };
    Some(text[..at].matches('\n').count() + 1)
}

/// The places of many fields in a text, which is read once, and only if one is looked up.
pub struct Places<'a> {
    source: Source<'a>,
    root: OnceCell<Option<Spanned<DeTable<'a>>>>,
    /// Names of fields, with true for those that the text contains: a large scenario has many fields and few names.
    names: RefCell<HashMap<String, bool>>,
}

impl<'a> Places<'a> {
    /// None is looked up yet.
    pub fn new(source: Source<'a>) -> Places<'a> {
        Places { source, root: OnceCell::new(), names: RefCell::default() }
    }

    fn find(&self, field: &str) -> Option<place::Found> {
        let root = self.root.get_or_init(|| DeTable::parse(self.source.text).ok());
        place::find(root.as_ref()?.get_ref(), field)
    }

    /// True if a field is written, by its path.
    pub fn is_written(&self, field: &str) -> bool {
        let name = field.rsplit('.').next().unwrap_or_default();
        let name = name.split('[').next().unwrap_or_default();
        let known = self.names.borrow().get(name).copied();
        let named = known.unwrap_or_else(|| {
            let named = self.source.text.contains(name);
            self.names.borrow_mut().insert(name.to_owned(), named);
            named
        });
        named && self.find(field).is_some_and(|found| found.whole)
    }

    /// The place of a field that the problem names and that is written in the table of its own one, which is not: the usual
    /// value does not fit to the user's.
    fn beside(&self, problem: &Problem) -> Option<place::Found> {
        let (table, _) = problem.field.rsplit_once('.')?;
        let named =
            [&problem.message, &problem.help].into_iter().flat_map(|text| text.split('`').skip(1).step_by(2));
        let mut fields = named.filter(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
        fields.find_map(|name| self.find(&format!("{table}.{name}")).filter(|found| found.whole))
    }

    /// Finds the place of a problem: its field, or the closest part of the text that holds it.
    pub fn locate(&self, problem: Problem) -> Located {
        let found = self.find(&problem.field).map(|found| match found.whole {
            true => found,
            false => self.beside(&problem).unwrap_or(found),
        });
        self.source.place(found.map_or(0..0, |found| found.value), problem)
    }
}

/// A text and its name.
#[derive(Copy, Clone, Debug)]
pub struct Source<'a> {
    text: &'a str,
    file: &'a str,
}

impl<'a> Source<'a> {
    /// The text of `file`.
    pub fn new(text: &'a str, file: &'a str) -> Source<'a> {
        Source { text, file }
    }

    /// The file that it is the text of.
    pub fn file(&self) -> &'a str {
        self.file
    }

    /// Finds the place of a problem: its field, or the closest part of the text that holds it.
    pub fn locate(&self, problem: Problem) -> Located {
        Places::new(*self).locate(problem)
    }

    /// The place of an error of the reader.
    pub fn locate_unread(&self, error: &Unread) -> Located {
        let span = error.at.clone().unwrap_or(0..0);
        let Ok(root) = DeTable::parse(self.text) else {
            if let Some((at, problem)) = wording::of_open_text(self.text, span.start) {
                return self.place(at, problem);
            }
            if let Some((at, problem)) = wording::of_open_list(self.text, span.start) {
                return self.place(at..at + 1, problem);
            }
            let (line, at) = self.line_at(span.start);
            return self.place(span, wording::of_syntax(&error.message, line, at));
        };
        let root = root.get_ref();
        let mut parsed = wording::from_serde(&error.message);
        let mut field = match parsed.part {
            Some(wording::Part::Missing(_)) => place::table_at(root, &span),
            _ => place::field_at(root, span.start),
        };
        let mut span = span;
        // An error in a field that is before `kind` covers the whole table, but names the field.
        for name in &parsed.within {
            field::push_key(&mut field, name);
            span = place::find(root, &field).map_or(span, |found| found.value);
        }
        if let Some(wording::Part::Unknown(name)) = &parsed.part
            && parsed.meant.is_none()
            && parsed.problem.help.starts_with("did you mean")
            && !self.is_slip(root, &around(&field, name), name, &parsed.problem.help)
        {
            parsed.problem.help = std::mem::take(&mut parsed.fields);
        }
        // Not where another program's name was found.
        if let Some(wording::Part::Unknown(name)) = &parsed.part
            && parsed.meant.is_none()
            && (parsed.problem.help.is_empty()
                || ["did you mean", "write one of"]
                    .iter()
                    .any(|begin| parsed.problem.help.starts_with(begin)))
        {
            complete_unknown(root, &mut parsed.problem.help, &around(&field, name), &field, name);
        }
        if let Some(part) = &parsed.part
            && !field::ends_with(&field, part.name())
        {
            field::push_key(&mut field, part.name());
            span = place::find(root, &field).filter(|found| found.whole).map_or(span, |found| found.key);
        }
        complete_help(root, &mut parsed, &field, error);
        parsed.problem.field = field;
        self.place(span, parsed.problem)
    }

    /// True if one of the fields that a help proposes can be meant: it takes a value of that form. A name that is more than
    /// one edit away is not that of a field elsewhere.
    fn is_slip(&self, root: &DeTable<'_>, table: &str, name: &str, help: &str) -> bool {
        let path = |name: &str| {
            let mut path = table.to_owned();
            field::push_key(&mut path, name);
            path
        };
        let shape = place::find(root, &path(name)).filter(|found| found.whole).map(|found| found.shape);
        let is_plural = |proposed: &str| [name, proposed] == [proposed.trim_end_matches('s'), proposed];
        let is_meant = |proposed: &str| {
            if is_plural(proposed) {
                return true;
            }
            (is_one_edit(name, proposed) || hint::elsewhere(name, table).is_none())
                && shape.is_none_or(|shape| hint::takes(&path(proposed), shape))
        };
        help.split('`').skip(1).step_by(2).any(is_meant)
    }

    /// The line around a byte, and which of its bytes that is.
    fn line_at(&self, at: usize) -> (&'a str, usize) {
        let start =
            self.text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1);
        (self.text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default(), at - start)
    }

    /// The place of a problem by its byte; the line is not shown, for it may be of any length.
    pub fn locate_offset(&self, at: usize, problem: Problem) -> Located {
        Located { text: None, ..self.place(at..at, problem) }
    }

    fn place(&self, span: Range<usize>, problem: Problem) -> Located {
        let start = (0..=span.start.min(self.text.len())).rev().find(|&at| self.text.is_char_boundary(at));
        let start = start.unwrap_or(0);
        let line_start = self.text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let text = self.text[line_start..].lines().next().unwrap_or_default();
        let column = self.text[line_start..start].chars().count() + 1;
        let end = (start..=span.end.clamp(start, self.text.len())).rev();
        let end = end.into_iter().find(|&at| self.text.is_char_boundary(at)).unwrap_or(start);
        let columns = self.text[start..end].chars().count();
        let width = columns.min(text.chars().count().saturating_sub(column - 1));
        let line = self.text[..start].matches('\n').count() + 1;
        let text = Some(text.to_owned());
        let problem = Problem {
            field: brief(&problem.field, LONGEST_FIELD),
            message: brief(&problem.message, LONGEST_MESSAGE),
            help: brief(&problem.help, LONGEST_HELP),
        };
        Located { file: self.file.into(), line, column, text, width, problem: problem.into() }
    }
}

/// Adds to the help of an error what is known of a name that the table does not have: a path, a part of the scenario, a field
/// of another table.
fn complete_unknown(root: &DeTable<'_>, help: &mut String, table: &str, field: &str, name: &str) {
    let is_listed = help.starts_with("write one of");
    if let Some(header) = meant::dotted(root, table, name) {
        *help = header;
    } else if let Some(path) = meant::path(root, field, name) {
        *help = path;
    } else if let Some(part) = hint::part(name, table) {
        *help = part;
    } else if help.is_empty() {
        let place = hint::elsewhere(name, table).map(|place| format!("{place}; ")).unwrap_or_default();
        *help = format!("{place}leave it out: this kind has no other fields");
    } else if is_listed && let Some(place) = hint::elsewhere(name, table) {
        *help = format!("{place}; here {help}");
    }
}

/// The header to write where a list and a table are confused.
fn header_meant(root: &DeTable<'_>, problem: &Problem, field: &str) -> Option<String> {
    if problem.message == "expected a list, got a table" {
        return meant::listed(root, field);
    }
    (problem.help.is_empty() && field.starts_with("cells["))
        .then(|| "write each cell as a table with its name: `[cells.bs1]`".into())
}

/// Text to write where a number of packets is expected.
fn packets_meant(root: &DeTable<'_>, help: &str, field: &str) -> Option<String> {
    let in_bytes = || help.contains(" B in ").then(|| meant::packets(root, field)).flatten();
    meant::share(root, field).or_else(in_bytes)
}

/// Adds to the help of an error what is known of its field: units, kinds, what the name of another program means.
fn complete_help(root: &DeTable<'_>, parsed: &mut wording::ParsedError, field: &str, error: &Unread) {
    if parsed.problem.message.contains("a number of packets")
        && let Some(help) = packets_meant(root, &parsed.problem.help, field)
    {
        parsed.problem.help = help;
    }
    if let Some(message) = meant::ranged(field, &parsed.problem.message) {
        parsed.problem.message = message;
    }
    if let Some(help) = meant::of_sign(field, &parsed.problem.message) {
        parsed.problem.help = help;
    }
    if let Some((text, wanted)) = wording::found_text(&error.message)
        && let Some(help) = meant::number(field, wanted, text)
    {
        parsed.problem.help = help;
    }
    if parsed.problem.message.ends_with(" is not a unit of a number of packets")
        && hint::has(&format!("{field}_bytes"))
    {
        parsed.problem.help +=
            "; a drop-tail queue can have a limit in bytes, as in limit_bytes = \"120 kB\"";
    }
    if let Some(meant) = &parsed.meant {
        let mut written = around(field, parsed.part.as_ref().map_or("", wording::Part::name));
        field::push_key(&mut written, meant);
        // A truth value is kept: that of an example may be its contrary.
        match (meant::value(root, field), hint::hint(&written, false)) {
            (Some(DeValue::Boolean(flag)), Some(_)) => {
                parsed.problem.help += &format!(" write `{meant} = {flag}`");
            }
            (_, Some(hint)) => parsed.problem.help += &format!(" {hint}"),
            _ => {}
        }
    }
    if wording::is_off(&error.message)
        && let Some(off) = hint::off(field)
    {
        parsed.problem.help = off;
    }
    if let Some(kind) = wording::found_text(&error.message).and_then(|(text, _)| hint::kind(field, text)) {
        parsed.problem.help = format!("write `{{ kind = \"{kind}\" }}`, with its other fields");
    }
    if let Some(header) = header_meant(root, &parsed.problem, field) {
        parsed.problem.help = header;
    }
    if parsed.problem.help.is_empty() {
        let missing = matches!(parsed.part, Some(wording::Part::Missing(_)));
        parsed.problem.help = hint::hint(field, missing).unwrap_or_default();
    }
    if error.message.contains("invalid type: sequence, expected a string") {
        parsed.problem.help += "; one name, not a list";
    }
    if parsed.problem.help.is_empty()
        && let Some((table, "")) = field.split_once("[0]")
    {
        parsed.problem.help = format!("write it once, with single brackets: `[{table}]`");
    }
}
