//! Errors that name file, line and field, the expected value and what to write instead.

use std::fmt;
use std::ops::Range;
use toml::de::DeTable;

mod columns;
mod hint;
mod place;
mod shown;
mod wording;

pub use place::quoted_key;
pub use shown::shown;

/// A problem with a field, before its place in the text is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The field: "flows[0].path[1]".
    pub field: String,
    /// What is wrong and what was expected.
    pub message: String,
    /// What to write instead.
    pub help: String,
}

impl Problem {
    /// A problem with `field`.
    pub fn at(field: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem { field: field.into(), message: message.into(), help: String::new() }
    }

    /// A problem that another crate tells in one text: what follows ": write" is what to write instead.
    pub fn told(field: impl Into<String>, text: &str) -> Problem {
        let (message, help) = wording::split_help(text);
        Problem::at(field, message).help(help)
    }

    /// What to write instead.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Problem {
        self.help = help.into();
        self
    }
}

/// A problem with its place in the text; its `Display` is the whole report.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct Located {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// The line's text; `None`: it is not to be shown.
    pub text: Option<String>,
    /// How many columns are at fault.
    pub width: usize,
    /// The problem.
    pub problem: Box<Problem>,
}

impl fmt::Display for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Located { file, line, column, text, width, problem } = self;
        let Problem { field, message, help } = &**problem;
        let field = if field.is_empty() { String::new() } else { format!("field `{}`: ", shown(field)) };
        let margin = if text.is_some() { " ".repeat(line.to_string().len()) } else { String::new() };
        write!(f, "{}:{line}:{column}: {field}{}", shown(file), shown(message))?;
        if let Some(text) = text {
            let (excerpt, column) = excerpt(text, *column);
            let part = |from: usize, count: usize| {
                shown(&excerpt.chars().skip(from).take(count).collect::<String>())
            };
            let before = columns::wide(part(0, column - 1).chars());
            let carets = columns::wide(part(column - 1, *width).chars()).max(1);
            write!(f, "\n{margin} |\n{line} | {}\n", shown(&excerpt))?;
            write!(f, "{margin} | {}{}", " ".repeat(before), "^".repeat(carets))?;
        }
        if !help.is_empty() {
            write!(f, "\n{margin} = help: {}", shown(help))?;
        }
        Ok(())
    }
}

/// The part of a line around `column` that can be read at a glance, and the column's place in it.
fn excerpt(text: &str, column: usize) -> (String, usize) {
    const LONGEST: usize = 240;
    const BEFORE: usize = 60;
    let text = text.replace('\t', " ");
    if text.chars().count() <= LONGEST {
        return (text, column);
    }
    let skipped = column.saturating_sub(BEFORE);
    (text.chars().skip(skipped).take(LONGEST).collect(), column - skipped)
}

/// The table around a field of this name, whose path may end with the name already.
fn around(field: &str, name: &str) -> String {
    let named = place::ends_with(field, name);
    let rest = if named { field.strip_suffix(&quoted_key(name)).unwrap_or(field) } else { field };
    rest.trim_end_matches('.').to_owned()
}

/// The line, from 1, in which a field stands in a TOML text, or the closest table around it; `None` if neither does.
pub fn line_of(text: &str, field: &str) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let found = place::find(root.get_ref(), field)?;
    let at = if found.whole { found.value.start } else { found.key.start };
    Some(text[..at].matches('\n').count() + 1)
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
        let found =
            DeTable::parse(self.text).ok().and_then(|root| place::find(root.get_ref(), &problem.field));
        self.place(found.map_or(0..0, |found| found.value), problem)
    }

    /// The place of an error of the TOML reader.
    pub fn locate_toml(&self, error: &toml::de::Error) -> Located {
        let span = error.span().unwrap_or(0..0);
        let Ok(root) = DeTable::parse(self.text) else {
            return self.place(span, wording::of_syntax(error.message()));
        };
        let root = root.get_ref();
        let mut told = wording::of_reader(error.message());
        let mut field = match told.part {
            Some(wording::Part::Missing(_)) => place::table_at(root, &span),
            _ => place::field_at(root, span.start),
        };
        let mut span = span;
        // An error in a field that stood before `kind` covers the whole table, but says which field it is.
        for name in &told.within {
            place::push_key(&mut field, name);
            span = place::find(root, &field).map_or(span, |found| found.value);
        }
        if let Some(wording::Part::Unknown(name)) = &told.part
            && !told.problem.help.starts_with("did you mean")
            && let Some(place) = hint::elsewhere(name, &around(&field, name))
        {
            told.problem.help = format!("{place}; here {}", told.problem.help);
        }
        if let Some(part) = &told.part
            && !place::ends_with(&field, part.name())
        {
            place::push_key(&mut field, part.name());
            span = place::find(root, &field).filter(|found| found.whole).map_or(span, |found| found.key);
        }
        if told.problem.message.ends_with(" is not a unit of a number of packets")
            && hint::has(&format!("{field}_bytes"))
        {
            told.problem.help +=
                "; a drop-tail queue can have a limit in bytes, as in limit_bytes = \"120 kB\"";
        }
        if told.problem.help.is_empty() {
            let missing = matches!(told.part, Some(wording::Part::Missing(_)));
            told.problem.help = hint::hint(&field, missing).unwrap_or_default();
        }
        told.problem.field = field;
        self.place(span, told.problem)
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
        Located { file: self.file.into(), line, column, text, width, problem: problem.into() }
    }
}
