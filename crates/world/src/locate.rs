//! Errors that name file, line and field, say what was expected and what to write instead.

use std::fmt;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

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
    /// The line's text.
    pub text: String,
    /// How many columns are at fault.
    pub width: usize,
    /// The problem.
    pub problem: Problem,
}

impl fmt::Display for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Located { file, line, column, text, width, problem } = self;
        let margin = " ".repeat(line.to_string().len());
        let field =
            if problem.field.is_empty() { String::new() } else { format!("field `{}`: ", problem.field) };
        writeln!(f, "{file}:{line}:{column}: {field}{}", problem.message)?;
        writeln!(f, "{margin} |")?;
        writeln!(f, "{line} | {text}")?;
        write!(f, "{margin} | {}{}", " ".repeat(column - 1), "^".repeat((*width).max(1)))?;
        if !problem.help.is_empty() {
            write!(f, "\n{margin} = help: {}", problem.help)?;
        }
        Ok(())
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

    /// Finds the place of a problem: its field, or the closest part of the text that holds it.
    pub fn locate(&self, problem: Problem) -> Located {
        let span = DeTable::parse(self.text)
            .ok()
            .and_then(|table| span_of(table.get_ref(), &problem.field))
            .unwrap_or(0..0);
        self.place(span, problem)
    }

    /// The place of an error of the TOML reader.
    pub fn locate_toml(&self, error: &toml::de::Error) -> Located {
        let span = error.span().unwrap_or(0..0);
        let field = DeTable::parse(self.text).ok().map(|table| field_at(table.get_ref(), span.start));
        let mut message = error.message().to_owned();
        let mut help = String::new();
        if let Some((what, known)) =
            message.split_once(", expected ").filter(|_| message.starts_with("unknown field"))
        {
            help = format!("write {known}");
            message = what.to_owned();
        }
        self.place(span, Problem { field: field.unwrap_or_default(), message, help })
    }

    fn place(&self, span: Range<usize>, problem: Problem) -> Located {
        let start = (0..=span.start.min(self.text.len())).rev().find(|&at| self.text.is_char_boundary(at));
        let start = start.unwrap_or(0);
        let line_start = self.text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let text = self.text[line_start..].lines().next().unwrap_or_default();
        let column = self.text[line_start..start].chars().count() + 1;
        let width = span.len().min(text.chars().count().saturating_sub(column - 1));
        let line = self.text[..start].matches('\n').count() + 1;
        Located { file: self.file.into(), line, column, text: text.into(), width, problem }
    }
}

/// Where a field stands in the text; if it does not, where the closest table around it does.
fn span_of(root: &DeTable<'_>, field: &str) -> Option<Range<usize>> {
    let mut span = None;
    let mut table = Some(root);
    let mut array = None;
    for part in field.split(['.', '[']) {
        let value = if let Some(index) = part.strip_suffix(']') {
            let items: &toml::de::DeArray<'_> = array?;
            items.get(index.parse::<usize>().ok()?)
        } else {
            table?.get(part)
        };
        let Some(value) = value else { return span };
        span = Some(value.span());
        table = value.get_ref().as_table();
        array = value.get_ref().as_array();
    }
    span
}

/// The field whose value or key covers the place `at`.
fn field_at(root: &DeTable<'_>, at: usize) -> String {
    fn walk(value: &DeValue<'_>, at: usize, path: &mut String) {
        match value {
            DeValue::Table(table) => walk_table(table, at, path),
            DeValue::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    if item.span().contains(&at) || item.get_ref().is_table() && inside(item.get_ref(), at) {
                        path.push_str(&format!("[{index}]"));
                        return walk(item.get_ref(), at, path);
                    }
                }
            }
            _ => {}
        }
    }
    fn walk_table(table: &DeTable<'_>, at: usize, path: &mut String) {
        for (key, value) in table.iter() {
            if key.span().contains(&at) || value.span().contains(&at) || inside(value.get_ref(), at) {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key.get_ref());
                return walk(value.get_ref(), at, path);
            }
        }
    }
    /// Whether some part of a value that is spread over the text (a table under a header) covers the place.
    fn inside(value: &DeValue<'_>, at: usize) -> bool {
        match value {
            DeValue::Table(table) => table.iter().any(|(key, value)| {
                key.span().contains(&at) || value.span().contains(&at) || inside(value.get_ref(), at)
            }),
            DeValue::Array(items) => {
                items.iter().any(|item| item.span().contains(&at) || inside(item.get_ref(), at))
            }
            _ => false,
        }
    }
    let mut path = String::new();
    walk_table(root, at, &mut path);
    path
}
