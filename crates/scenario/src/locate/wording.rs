//! Errors of the TOML reader and of serde, in words for users.

use crate::problem::Problem;
use crate::suggest::{listed, refused};
use std::ops::Range;

/// Content of an error before its place is known.
pub struct ParsedError {
    /// The fields around it that its text names.
    pub within: Vec<String>,
    /// The field it is about, if its text names that.
    pub part: Option<Part>,
    /// The field of the same table that is meant instead, under another program's name.
    pub meant: Option<String>,
    /// The list of the fields that the table has, if one is not there.
    pub fields: String,
    /// The problem, without its field.
    pub problem: Problem,
}

/// A field that an error names.
pub enum Part {
    /// It should be there.
    Missing(String),
    /// It should not be there.
    Unknown(String),
}

impl Part {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Part::Missing(name) | Part::Unknown(name) => name,
        }
    }
}

const COMMENT: &str = "a comment begins with `#`";

/// An error of a text that is not TOML.
pub fn of_syntax(message: &str, line: &str, at: usize) -> Problem {
    let value = line.split_once('=').map_or("", |(_, value)| value.trim_start());
    let rest = line.get(at..).unwrap_or_default();
    let begin = line.trim_start();
    let is_name =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "-_ ".contains(c));
    let help = match message {
        _ if begin.starts_with('{') => {
            "this is JSON, and TOML is expected: in Python `Scenario.from_dict(json.loads(text))` takes it, and its `.text` is TOML"
        }
        _ if [";", "//", "/*", "%", "--", "!", "'"].iter().any(|sign| begin.starts_with(sign)) => COMMENT,
        _ if !line.contains(['=', ':']) && line.split(',').count() > 2 && line.split(',').all(is_name) => {
            "this is CSV, and TOML is expected: `roamlab schedule` reads a log of handovers"
        }
        _ if !line.contains('=')
            && begin.split_once(':').is_some_and(|(name, rest)| is_name(name) && rest.trim().is_empty()) =>
        {
            "this is YAML, and TOML is expected: write a table as `[name]`, and in it `name = value`"
        }
        _ if message.contains("unicode") || message.contains("escape") => {
            "a backslash begins an escape: write `/` in a path, or the text in single quotes"
        }
        "duplicate key" => "write it once; a list of tables has double brackets, as in `[[links]]`",
        _ if line
            .contains(['\u{201c}', '\u{201d}', '\u{201e}', '\u{2018}', '\u{2019}', '\u{ab}', '\u{bb}']) =>
        {
            "these quotes are typographic: write straight ones, \"…\""
        }
        _ if line.contains(':') && !line.contains('=') => "write `=` between a name and its value",
        _ if rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with("--") => COMMENT,
        _ if rest.strip_prefix([';', '%', '!']).is_some_and(|rest| !rest.trim().is_empty()) => COMMENT,
        _ if rest.starts_with(';') => "no line ends with a semicolon: leave it out",
        _ if value.starts_with('(') => "a list has square brackets: write `[\"a\", \"b\"]`",
        _ if value.starts_with("{\"") || value.starts_with("{ \"") => {
            "a list has square brackets, `[\"a\", \"b\"]`; a table has `name = value` in braces"
        }
        _ => "write `name = value`, texts in quotes, tables under `[name]`, lists of tables under `[[name]]`",
    };
    Problem::at("", message.replace("duplicate key", "this is written twice")).help(help)
}

/// The first text without its closing quote up to the line of a byte, where the TOML reader gave up. A later quote may
/// close it instead: then the reader gives up behind that one.
pub fn of_open_text(text: &str, failed: usize) -> Option<(Range<usize>, Problem)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if at > failed {
            break;
        }
        let found = open_text(line);
        if line.contains("\"\"\"") || line.contains("'''") {
            return None; // a text of several lines
        }
        if let Some((open, content)) = found {
            let value = content.split([',', ']', '}', '#']).next().unwrap_or_default().trim_end();
            let problem = Problem::at("", "this text has no closing quote");
            let help = match value {
                "" => "write the quote behind it".to_owned(),
                value => format!("write {}{value}{0}", &line[open..=open]),
            };
            return Some((at + open..at + open + 1 + value.len(), problem.help(help)));
        }
        at += line.len();
    }
    None
}

/// Where the text that begins with the quote at `open` ends, if it does.
fn closing(bytes: &[u8], open: usize, quote: u8) -> Option<usize> {
    let is_escaped = |end: usize| quote == b'"' && bytes[end - 1] == b'\\';
    (open + 1..bytes.len()).find(|&end| bytes[end] == quote && !is_escaped(end))
}

/// Where the text begins in a line that lacks its closing quote, and what follows, up to the next quote if there is one.
/// The next quote has a name directly behind it, or the line has no other.
fn open_text(line: &str) -> Option<(usize, &str)> {
    let bytes = line.as_bytes();
    let (mut at, mut suspect) = (0, None);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'#' => return None,
            quote @ (b'"' | b'\'') => {
                let Some(close) = closing(bytes, at, quote) else {
                    return Some(suspect.unwrap_or((at, line[at + 1..].trim_end())));
                };
                let content = &line[at + 1..close];
                if bytes.get(close + 1).is_some_and(u8::is_ascii_alphanumeric) {
                    return Some(suspect.unwrap_or((at, content)));
                }
                if content.contains('=') {
                    suspect.get_or_insert((at, content));
                }
                at = close + 1;
            }
            _ => at += 1,
        }
    }
    None
}

/// The bracket of a list or a table that is open where the TOML reader gave up, at a line that begins something else.
pub fn of_open_list(text: &str, failed: usize) -> Option<(usize, Problem)> {
    let line_start = text.get(..failed)?.rfind('\n')? + 1;
    let line = text[line_start..].lines().next()?.trim();
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_. ".contains(c));
    let header = line.trim_start_matches('[').split(']').next().filter(|name| {
        line.starts_with('[') && is_name(name) && name.starts_with(|c: char| c.is_alphabetic())
    });
    if header.is_none() && !line.split_once('=').is_some_and(|(name, _)| is_name(name)) {
        return None;
    }
    let (bytes, mut open, mut at) = (text.as_bytes(), Vec::new(), 0);
    while at < line_start {
        match bytes[at] {
            b'#' => at += text[at..].find('\n')?,
            quote @ (b'"' | b'\'') => {
                at = closing(&bytes[..line_start], at, quote)?;
            }
            b'[' | b'{' => open.push(at),
            b']' | b'}' => drop(open.pop()),
            _ => {}
        }
        at += 1;
    }
    let at = open.pop()?;
    let (what, close) = if bytes[at] == b'[' { ("list", ']') } else { ("table", '}') };
    let problem = Problem::at("", format!("this {what} is not closed"));
    Some((
        at,
        problem.help(format!(
            "write `{close}` behind its last part, or a comma if it continues in the next line"
        )),
    ))
}

/// An error of a text that is TOML but no scenario.
pub fn from_serde(message: &str) -> ParsedError {
    let mut within = Vec::new();
    let mut rest = message.trim_end();
    while let Some((name, inner)) = rest.strip_prefix('`').and_then(|rest| rest.split_once("`: ")) {
        within.push(name.to_owned());
        rest = inner;
    }
    let (part, meant, problem) = reword(rest);
    let fields = rest.strip_prefix("unknown field ").and_then(|rest| rest.split_once(", expected "));
    let fields = fields.map(|(_, names)| listed(&plain_list(names), '`')).unwrap_or_default();
    ParsedError { within, part, meant, fields, problem }
}

fn reword(message: &str) -> (Option<Part>, Option<String>, Problem) {
    if let Some(name) = message.strip_prefix("missing field ") {
        return (Some(Part::Missing(plain(name))), None, Problem::at("", "it is missing"));
    }
    let (what, wanted) = message.split_once(", expected ").unwrap_or((message, ""));
    if let Some(name) =
        what.strip_prefix("unknown field ").and_then(|it| it.strip_suffix(", there are no fields"))
    {
        return (Some(Part::Unknown(plain(name))), None, Problem::at("", "there is no such field"));
    }
    if let Some(name) = what.strip_prefix("unknown field ") {
        let (help, meant) = refused(&plain(name), &plain_list(wanted), '`');
        let problem = Problem::at("", "there is no such field").help(help);
        return (Some(Part::Unknown(plain(name))), meant, problem);
    }
    if let Some(name) = what.strip_prefix("unknown variant ") {
        let (help, _) = refused(&plain(name), &plain_list(wanted), '"');
        return (None, None, Problem::at("", format!("\"{}\" is unknown", plain(name))).help(help));
    }
    let invalid = ["invalid type: ", "invalid value: ", "invalid length "];
    if let Some(found) = invalid.iter().find_map(|prefix| what.strip_prefix(prefix)) {
        let (wanted, example) = wanted.split_once(", for example ").unwrap_or((wanted, ""));
        let message = format!("expected {}, got {}", wanted_words(wanted), found_words(found));
        let mut help = match probably(found, wanted) {
            Some(value) => format!("write for example {value}"),
            None if example.is_empty() => String::new(),
            None => format!("write for example {example}"),
        };
        if found == "sequence" && !help.is_empty() {
            help += "; several values to compare are an axis of a sweep: see docs/sweeps.md";
        }
        return (None, None, Problem::at("", message).help(help));
    }
    (None, None, Problem::from_text("", message))
}

/// True if a value of another type is one by which other programs switch something off.
pub fn is_off(message: &str) -> bool {
    let found = message.rsplit_once("invalid type: ").map_or("", |(_, found)| found);
    ["boolean `false`, ", "string \"\", ", "string \"none\", ", "string \"off\", "]
        .iter()
        .any(|off| found.starts_with(off))
}

/// The text in place of an expected value of another type, and which type that is.
pub fn found_text(message: &str) -> Option<(&str, &str)> {
    message.split_once("invalid type: string \"")?.1.rsplit_once("\", expected ")
}

/// Probable meaning: a text as a probability; a bare number as a quantity, in the unit that its size makes
/// likely.
fn probably(found: &str, wanted: &str) -> Option<String> {
    if let (Some(text), true) = (found.strip_prefix("string "), wanted == "a probability") {
        let text = text.trim_matches('"').trim();
        let number: f64 = text.trim_end_matches(['%', ' ']).parse().ok()?;
        let probability = if text.ends_with('%') { number / 100.0 } else { number };
        return (0.0..1.0).contains(&probability).then(|| probability.to_string());
    }
    if let (Some(text), "a boolean") = (found.strip_prefix("string "), wanted) {
        let text = text.trim_matches('"').to_ascii_lowercase();
        let is_off = ["off", "no", "none", "false", "disabled", "disable", "0", ""].contains(&text.as_str());
        return is_off.then(|| "false".into());
    }
    if (found, wanted) == ("integer `0`", "a boolean") {
        return Some("false".into());
    }
    let number = found.strip_prefix("integer ").or_else(|| found.strip_prefix("floating point "))?;
    let number = number.trim_matches('`');
    let value: f64 = number.parse().ok().filter(|value: &f64| *value >= 0.0 && value.is_finite())?;
    let number = number.strip_suffix(".0").unwrap_or(number);
    let unit = match wanted.strip_suffix(" with its unit")? {
        "a time" => return Some(format!("\"{number} s\" or \"{number} ms\"")),
        "a number of packets" if value >= 10_000.0 => {
            let packets = (value / 1448.0).floor();
            return Some(format!("\"{packets} pkt\", which is {number} B in packets of 1448 B"));
        }
        "a number of packets" if value.fract() != 0.0 => return Some(format!("\"{} pkt\"", value.ceil())),
        "a rate" if (100.0..10_000.0).contains(&value) => {
            return Some(format!("\"{number} Mbit/s\" or \"{number} kbit/s\""));
        }
        "a rate" if value < 10_000.0 => "Mbit/s",
        "a rate" => "bit/s",
        "a size" => "B",
        "a number of packets" => "pkt",
        _ => return None,
    };
    Some(format!("\"{number} {unit}\""))
}

fn plain(name: &str) -> String {
    name.trim_matches('`').to_owned()
}

/// The names in "one of `a`, `b`" or "`a` or `b`".
fn plain_list(wanted: &str) -> Vec<&str> {
    wanted.split('`').skip(1).step_by(2).collect()
}

fn found_words(found: &str) -> String {
    match found.split_once(' ') {
        Some(("integer", number)) => number.trim_matches('`').to_owned(),
        Some(("floating", rest)) => rest.trim_start_matches("point ").trim_matches('`').to_owned(),
        Some(("string", text)) => text.to_owned(),
        Some(("boolean", flag)) => flag.trim_matches('`').to_owned(),
        None if found == "sequence" => "a list".into(),
        None if found == "map" => "a table".into(),
        None if found == "1" => "1 entry".into(),
        None if found.parse::<usize>().is_ok() => format!("{found} entries"),
        _ => found.to_owned(),
    }
}

fn wanted_words(wanted: &str) -> &str {
    match wanted {
        "f64" => "a number",
        "u8" => "a whole number from 0 to 255",
        "u32" => "a whole number from 0 to 4294967295",
        "a boolean" => "true or false",
        "a string" => "a text",
        "a sequence" => "a list",
        "an array of length 2" => "a list of two",
        "a map" => "a table",
        other if other.starts_with("struct ") => "a table",
        other => other,
    }
}
