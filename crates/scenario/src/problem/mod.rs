//! Problems of a scenario: file, line and field, the expected value and what to write instead.

use std::fmt;

mod columns;
pub mod field;
mod shown;

pub use field::quoted_key;
pub use shown::{brief, shown};

/// A problem with a field, before its place in the text is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The field: "flows[0].path[1]".
    pub field: String,
    /// The fault and the expected value.
    pub message: String,
    /// The text to write instead.
    pub help: String,
}

impl Problem {
    /// A problem with `field`.
    pub fn at(field: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem { field: field.into(), message: message.into(), help: String::new() }
    }

    /// A problem of another crate, whose text has both parts: `help` is what follows ": write".
    pub fn from_text(field: impl Into<String>, text: &str) -> Problem {
        let (message, help) = split_help(text);
        Problem::at(field, message).help(help)
    }

    /// The text to write instead.
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

/// Splits "what is wrong: write this" in two.
fn split_help(text: &str) -> (&str, &str) {
    let at = [": write ", "; write ", "; use ", "; round "].iter().find_map(|cut| text.find(cut));
    at.map_or((text, ""), |at| (&text[..at], &text[at + 2..]))
}
