//! Reading a scenario's text. A long one is read in pieces, so that memory holds the tables of a piece and not of all.
//!
//! The reader of TOML builds a tree of a text before it becomes a value, some thirty times as large as the text. Most of a
//! long scenario are tables under `[[links]]`, `[[hosts]]` and `[[flows]]`, each of which stands for itself. They are cut
//! out at their headers and read a piece at a time; the rest is read as a scenario without them. Where a piece cannot
//! be read, or a list is written in both ways, the text is read at once, which has the last word, and says what is wrong.

use crate::conduct::Replication;
use crate::locate::{Located, Problem, Source};
use crate::recordings::{Files, Trouble};
use crate::scenario::{FlowSpec, HostSpec, LinkSpec, Scenario};
use roamlab_engine::{Bytes, Streams};
use serde::Deserialize;
use toml::de::DeTable;

/// A text shorter than this is read at once.
const LONG: usize = 1_000_000;

/// Bytes of a piece, about.
const PIECE: usize = 500_000;

/// A longer text, or piece, is not read at once: the tree would take more than a gigabyte.
const MOST_AT_ONCE: usize = 20_000_000;

/// Lists and tables inside each other: no scenario has more than some ten.
const DEEPEST: usize = 60;

/// The scenario in a text.
///
/// # Errors
/// What is wrong with the text, with its place.
fn read(source: Source<'_>, text: &str) -> Result<Scenario, Box<Located>> {
    if let Some(at) = too_deep(text.as_bytes()) {
        let message = format!("lists and tables stand inside each other more than {DEEPEST} times");
        let problem = Problem::at("", message).help("write a scenario: its tables are a few levels deep");
        return Err(Box::new(source.locate_offset(at, problem)));
    }
    let at_once = || toml::from_str(text).map_err(|error| Box::new(source.locate_toml(&error)));
    if text.len() < LONG {
        return at_once();
    }
    match read_in_pieces(text, PIECE) {
        Ok(scenario) => Ok(scenario),
        Err(_) if text.len() <= MOST_AT_ONCE => at_once(),
        Err(at) => {
            let message =
                "what begins here cannot be read in pieces, and the text is too long to read it at once";
            let help = format!(
                "write links, hosts and flows as tables under [[links]], [[hosts]] and [[flows]], or less than \
                 {MOST_AT_ONCE} bytes: an error then names its field"
            );
            Err(Box::new(source.locate_offset(at, Problem::at("", message).help(help))))
        }
    }
}

/// Where lists and tables begin to stand inside each other more than [`DEEPEST`] times.
fn too_deep(text: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0usize, 0);
    while at < text.len() {
        match text[at] {
            b'#' => at += line_end(&text[at..]),
            quote @ (b'"' | b'\'') => at = string_end(text, at, quote),
            b'[' | b'{' => {
                depth += 1;
                if depth > DEEPEST {
                    return Some(at);
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    None
}

fn line_end(text: &[u8]) -> usize {
    text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len())
}

/// The last byte of the string that begins at `at`; of one that does not end, that of its line or of the text.
fn string_end(text: &[u8], at: usize, quote: u8) -> usize {
    let long = text[at..].starts_with(&[quote; 3]);
    let mut at = at + if long { 3 } else { 1 };
    while at < text.len() {
        match text[at] {
            b'\\' if quote == b'"' => at += 1,
            b'\n' if !long => return at,
            _ if long && text[at..].starts_with(&[quote; 3]) => return at + 2,
            byte if !long && byte == quote => return at,
            _ => {}
        }
        at += 1;
    }
    at
}

impl Scenario {
    /// Reads a scenario and checks it.
    ///
    /// # Errors
    /// The first problem, with file, line, column and field, what was expected and what to write instead.
    pub fn parse(text: &str, file: &str) -> Result<Scenario, Box<Located>> {
        Scenario::parse_with(text, file, &crate::recordings::no_files)
    }

    /// The same of a scenario that may name files, of which `files` gives the texts.
    ///
    /// # Errors
    /// The first problem, in the scenario or in a file that it names.
    pub fn parse_with(text: &str, file: &str, files: Files<'_>) -> Result<Scenario, Box<Located>> {
        Scenario::parse_within(text, file, files, Bytes(u64::MAX))
    }

    /// The same, unless what it describes would take more than `memory` when it is built: that is refused before it is
    /// generated.
    ///
    /// # Errors
    /// The first problem, in the scenario or in a file that it names.
    pub fn parse_within(
        text: &str,
        file: &str,
        files: Files<'_>,
        memory: Bytes,
    ) -> Result<Scenario, Box<Located>> {
        let source = Source::new(text, file);
        let mut scenario = read(source, text)?;
        crate::estimate::check_size(&scenario, memory).map_err(|problem| Box::new(source.locate(problem)))?;
        crate::recordings::read(&mut scenario, files).map_err(|trouble| match trouble {
            Trouble::Field(problem) => Box::new(source.locate(problem)),
            Trouble::Line(located) => located,
        })?;
        crate::expand::expand(&mut scenario).map_err(|problem| Box::new(source.locate(problem)))?;
        let checked = crate::check::check(&scenario);
        checked.map_err(|problem| Box::new(source.locate(scenario.origins.trace(problem))))?;
        Ok(scenario)
    }

    /// Whether its random numbers can begin at `seed`; `text` and `file` are what it was read from.
    ///
    /// # Errors
    /// The problem with its place in `file`: ns-2's generator takes 1 to 2^31 − 2.
    pub fn check_seed(&self, seed: u64, text: &str, file: &str) -> Result<(), Box<Located>> {
        let source = Source::new(text, file);
        crate::check::check_seed(self, seed).map_err(|problem| Box::new(source.locate(problem)))
    }

    /// What it says and hardly means, each with its place: the first twenty. `text` and `file` are what it was read
    /// from.
    pub fn warnings(&self, text: &str, file: &str) -> Vec<Located> {
        let source = Source::new(text, file);
        let mut doubts = Vec::new();
        for doubt in crate::check::doubts(self).into_iter().map(|doubt| self.origins.trace(doubt)) {
            // What a table generates is alike: its first instance stands for all.
            if doubts.len() < 20 && !doubts.iter().any(|known: &Problem| known.field == doubt.field) {
                doubts.push(doubt);
            }
        }
        doubts.into_iter().map(|doubt| source.locate(doubt)).collect()
    }

    /// The scenario with all that it generates, as a run sees it, as JSON: links, cells, flows, hosts and their visits.
    pub fn expanded_json(&self, replication: Replication) -> String {
        let streams = Streams::new(self.run.random_numbers, replication.seed, replication.run);
        let drawn = crate::expand::draw(self, &streams);
        serde_json::to_string(drawn.as_ref().unwrap_or(self)).unwrap_or_default()
    }
}

/// The lists whose tables are cut out.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Lists {
    links: Vec<LinkSpec>,
    hosts: Vec<HostSpec>,
    flows: Vec<FlowSpec>,
}

const LISTS: [&str; 3] = ["links", "hosts", "flows"];

/// Whether a header is that of an element of a list, or of a table inside one.
fn of_list(header: &str, element: bool) -> bool {
    let name = header.trim_start_matches('[');
    let brackets = header.len() - name.len();
    LISTS.iter().filter_map(|list| name.strip_prefix(list)).any(|rest| match brackets {
        2 if rest.starts_with("]]") => true,
        1 | 2 => !element && rest.starts_with('.'),
        _ => false,
    })
}

/// The scenario, read in pieces of about `piece` bytes.
///
/// # Errors
/// Where the text begins that cannot be read so.
fn read_in_pieces(text: &str, piece: usize) -> Result<Scenario, usize> {
    let (mut rest, mut lists) = (String::new(), Lists::default());
    // Where the present stretch of text begins, and whether it belongs to a list.
    let (mut start, mut in_list, mut at) = (0, false, 0);
    for line in text.split_inclusive('\n') {
        let element = line.starts_with("[[") && of_list(line, true);
        let ends = line.starts_with('[')
            && if in_list { !of_list(line, false) || (element && at - start >= piece) } else { element };
        if ends {
            take(&text[start..at], in_list, &mut rest, &mut lists).ok_or(start)?;
            (start, in_list) = (at, element);
        }
        at += line.len();
    }
    take(&text[start..], in_list, &mut rest, &mut lists).ok_or(start)?;
    // A list is written in one way or in the other.
    let tree = DeTable::parse(&rest).map_err(|_| 0usize)?;
    if LISTS.iter().any(|list| tree.get_ref().contains_key(*list)) {
        return Err(0);
    }
    let mut scenario: Scenario = toml::from_str(&rest).map_err(|_| 0usize)?;
    let Lists { links, hosts, flows } = lists;
    (scenario.links, scenario.hosts, scenario.flows) = (links, hosts, flows);
    Ok(scenario)
}

fn take(stretch: &str, in_list: bool, rest: &mut String, lists: &mut Lists) -> Option<()> {
    if stretch.len() + if in_list { 0 } else { rest.len() } > MOST_AT_ONCE {
        return None;
    }
    if !in_list {
        rest.push_str(stretch);
        return Some(());
    }
    let piece: Lists = toml::from_str(stretch).ok()?;
    lists.links.extend(piece.links);
    lists.hosts.extend(piece.hosts);
    lists.flows.extend(piece.flows);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = include_str!("../tests/bad_scenarios/valid.toml");
    const MBLUE: &str = include_str!("../../../python/roamlab/papers/mblue/scenario.toml");

    #[test]
    fn pieces_make_the_same_scenario() {
        for text in [VALID, MBLUE] {
            for piece in [1, 100, 1_000, 100_000] {
                assert_eq!(read_in_pieces(text, piece).unwrap(), toml::from_str(text).unwrap());
            }
        }
    }

    #[test]
    fn what_no_cut_may_part_is_read_at_once() {
        let run = "[run]\nduration = \"1 s\"\n";
        let link = "[[links]]\nbetween = [\"a\", \"b\"]\nrate = \"1 bit/s\"\ndelay = \"1 s\"\n";
        let cases = [
            (
                "a header in a text",
                format!("{run}\n[[links]]\nbetween = [\"a\", \"\"\"\n[[links]]\n\"\"\"]\n"),
            ),
            ("a list in a list", format!("{run}{link}drops = [\n[1]\n]\n")),
            ("both ways", format!("links = []\n{run}{link}")),
            ("a table after its list", format!("{run}{link}[radio]\n[links.queue]\nkind = \"droptail\"\n")),
            ("a piece that is wrong", format!("{run}{link}latency = 1\n")),
        ];
        for (what, text) in cases {
            assert!(read_in_pieces(&text, 1).is_err(), "{what}");
        }
        let split = format!(
            "{link}{run}{link}[radio]\nkind = \"hard\"\ngap = \"1 s\"\n{link}[links.queue]\nkind = \"droptail\"\n"
        );
        let read = read_in_pieces(&split, 1).unwrap();
        assert_eq!(read.links.len(), 3);
        assert_eq!(read, toml::from_str(&split).unwrap());
    }

    #[test]
    fn depth_counts_brackets_outside_texts_and_comments() {
        let deep = |n: usize| format!("x = {}{}", "[".repeat(n), "]".repeat(n));
        assert_eq!(too_deep(deep(DEEPEST).as_bytes()), None);
        assert_eq!(too_deep(deep(DEEPEST + 1).as_bytes()), Some(4 + DEEPEST));
        let many = "[".repeat(100);
        for text in [
            format!("# {many}\n"),
            format!("x = \"{many}\"\n"),
            format!("x = \"\\\"{many}\"\n"),
            format!("x = '{many}'\n"),
            format!("x = \"\"\"\n{many}\"\n{many}\"\"\"\n"),
            format!("x = \'\'\'\n{many}\'\'\'\n"),
            "[[links]]\n".repeat(1000),
        ] {
            assert_eq!(too_deep(text.as_bytes()), None, "{text}");
        }
        let error = Scenario::parse(&"[".repeat(1_000_000), "deep.toml").unwrap_err();
        assert!(error.to_string().starts_with("deep.toml:1:61: lists and tables stand inside"), "{error}");
    }

    #[test]
    fn a_long_text_that_cannot_be_cut_is_refused_unread() {
        let text = format!("[run]\nduration = \"1 s\"\nx = [{}]\n", "1,".repeat(MOST_AT_ONCE / 2));
        let error = Scenario::parse(&text, "flat.toml").unwrap_err();
        assert!(error.to_string().starts_with("flat.toml:1:1: what begins here cannot"), "{error}");
    }
}
