//! Reads a scenario's text. A long one is read in pieces, so memory holds the tables of one piece.
//!
//! The TOML reader builds a tree of a text before it becomes a value, some thirty times as large as the text. Most of a
//! long scenario are independent tables under `[[links]]`, `[[hosts]]` and `[[flows]]`. They are cut out at their
//! headers and read a piece at a time; the rest is read as a scenario without them. If a piece cannot be read, or a
//! list is written in both ways, the text is read as a whole, which also gives the error.

use crate::files::{Files, Trouble};
use crate::locate::{Places, Source};
use crate::problem::{Located, Problem};
use crate::reader::from_toml;
use crate::schema::{FlowSpec, HostSpec, LinkSpec, Scenario, Way};
use roamlab_engine::{Bytes, Rate, Streams};
use serde::Deserialize;
use std::ops::Range;
use toml::de::DeTable;

/// A text shorter than this is read as a whole.
const LONG: usize = 1_000_000;

/// Bytes of a piece, about.
const PIECE: usize = 500_000;

/// A longer text, or piece, is not read as a whole: the tree would take more than a gigabyte.
const MOST_AT_ONCE: usize = 20_000_000;

/// Warnings of a scenario that are shown at most.
const MOST_WARNINGS: usize = 20;

/// Lists and tables inside each other: no scenario has more than some ten.
const DEEPEST: usize = 60;

/// The scenario in a text.
///
/// # Errors
/// What is wrong with the text, with its place.
fn read(source: Source<'_>, text: &str) -> Result<Scenario, Box<Located>> {
    if let Some(at) = too_deep(text.as_bytes()) {
        let message = format!("lists and tables are nested more than {DEEPEST} deep");
        let problem = Problem::at("", message).help("write a scenario: its tables are a few levels deep");
        return Err(Box::new(source.locate_offset(at, problem)));
    }
    let at_once = || from_toml(text).map_err(|error| Box::new(source.locate_unread(&error)));
    if text.len() < LONG {
        return at_once();
    }
    match read_in_pieces(text, source.file(), PIECE) {
        Err(_) if text.len() <= MOST_AT_ONCE => at_once(),
        read => read,
    }
}

/// Where lists and tables are nested more than [`DEEPEST`] deep.
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
        Scenario::parse_with(text, file, &crate::files::no_files)
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
        scenario.check_size(memory, text, file)?;
        crate::files::read(&mut scenario, files).map_err(|trouble| match trouble {
            Trouble::Field(problem) => Box::new(source.locate(problem)),
            Trouble::Line(located) => located,
        })?;
        crate::expand::expand(&mut scenario).map_err(|problem| Box::new(source.locate(problem)))?;
        let checked = crate::check::check(&scenario);
        checked.map_err(|problem| Box::new(source.locate(scenario.origins.trace(problem))))?;
        Ok(scenario)
    }

    /// Checks that the network of a run fits into the memory limit; `text` and `file` are its source.
    ///
    /// # Errors
    /// The part of the network that takes most, with its place in `file`.
    pub fn check_size(&self, memory: Bytes, text: &str, file: &str) -> Result<(), Box<Located>> {
        let checked = crate::estimate::check_size(self, memory);
        checked.map_err(|problem| Box::new(Source::new(text, file).locate(problem)))
    }

    /// Refuses what is valid but cannot be run here: the problem of `field`, with its place in `file`.
    pub fn refuse(
        &self,
        (field, message, help): (String, String, &str),
        text: &str,
        file: &str,
    ) -> Box<Located> {
        let problem = self.origins.trace(Problem::at(field, message).help(help));
        Box::new(Source::new(text, file).locate(problem))
    }

    /// Checks that its random numbers can begin at `seed`; `text` and `file` are its source.
    ///
    /// # Errors
    /// The problem with its place in `file`: ns-2's generator takes 1 to 2^31 − 2.
    pub fn check_seed(&self, seed: u64, text: &str, file: &str) -> Result<(), Box<Located>> {
        let source = Source::new(text, file);
        crate::check::check_seed(self, seed).map_err(|problem| Box::new(source.locate(problem)))
    }

    /// Warnings: what is valid but probably not intended, each with its place: the first twenty. `text` and `file` are what it was read
    /// from.
    pub fn warnings(&self, text: &str, file: &str) -> Vec<Located> {
        let places = Places::new(Source::new(text, file));
        let mut warnings = Vec::new();
        let idle = crate::check::idle_plans(self);
        let stays = !idle.is_empty();
        let traced = crate::check::warnings(self, stays).map(|warning| self.origins.trace(warning));
        let of_written = crate::check::of_written(self, stays).into_iter().filter_map(|group| {
            let mut traced = group.into_iter().map(|warning| self.origins.trace(warning));
            traced.find(|warning| places.is_written(&warning.field))
        });
        for warning in idle.into_iter().chain(traced).chain(of_written) {
            // The instances of a table are the same: the first one represents all.
            if !warnings.iter().any(|known: &Problem| known.field == warning.field) {
                warnings.push(warning);
            }
            if warnings.len() == MOST_WARNINGS {
                break;
            }
        }
        let warnings = crate::check::of_one_short_run(self.run.duration, warnings);
        warnings.into_iter().map(|warning| places.locate(warning)).collect()
    }

    /// The scenario with all that it generates, as a run sees it, as JSON: links, cells, flows, hosts and their visits.
    /// `seed` and `run` determine the visits of random plans.
    pub fn expanded_json(&self, seed: u64, run: u64) -> String {
        let drawn = self.draw_plans(&Streams::new(self.run.random_numbers, seed, run));
        serde_json::to_string(drawn.as_ref().unwrap_or(self)).unwrap_or_default()
    }

    /// The rate of a place, of a file or a channel its mean: "a->b" is a link, "bs1/air" a cell towards its hosts, and
    /// "host->bs1" the same cell from them. `None`: there is no such link or cell.
    pub fn mean_rate(&self, place: &str) -> Option<Rate> {
        let (begin, end) = place.split_once("->").unwrap_or((place, ""));
        for link in &self.links {
            let [one, other] = &link.between;
            if (one.as_str(), other.as_str()) == (begin, end) {
                return Some(link.rate.mean(Way::There));
            }
            if (other.as_str(), one.as_str()) == (begin, end) {
                return Some(link.rate.mean(Way::Back));
            }
        }
        if let Some((cell, _)) = place.split_once("/air") {
            return self.cells.get(cell).map(|cell| cell.rate.mean(Way::There));
        }
        self.cells.get(end).map(|cell| cell.rate.mean(Way::Back))
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

/// True if a header is that of an element of a list, or of a table inside one.
fn of_list(header: &str, element: bool) -> bool {
    let name = header.trim_start_matches('[');
    let brackets = header.len() - name.len();
    LISTS.iter().filter_map(|list| name.strip_prefix(list)).any(|rest| match brackets {
        2 if rest.starts_with("]]") => true,
        1 | 2 => !element && rest.starts_with('.'),
        _ => false,
    })
}

/// The scenario, read in pieces of about `piece` bytes; `file` is what the text was read from.
///
/// # Errors
/// The first problem of a piece, with its place in the text: a text that can be read as a whole may be cut
/// where it must not.
fn read_in_pieces(text: &str, file: &str, piece: usize) -> Result<Scenario, Box<Located>> {
    let mut pieces = Pieces { text, file, ..Pieces::default() };
    // Where the present stretch of text begins, and whether it belongs to a list.
    let (mut start, mut in_list, mut at) = (0, false, 0);
    for line in text.split_inclusive('\n') {
        let element = line.starts_with("[[") && of_list(line, true);
        let ends = is_header(line)
            && if in_list { !of_list(line, false) || (element && at - start >= piece) } else { element };
        if ends {
            pieces.take(start..at, in_list)?;
            (start, in_list) = (at, element);
        }
        at += line.len();
    }
    pieces.take(start..at, in_list)?;
    pieces.scenario()
}

/// Result of reading a text.
#[derive(Default)]
struct Pieces<'a> {
    text: &'a str,
    file: &'a str,
    lists: Lists,
    /// The stretches that belong to no list.
    rest: String,
    /// Where each of them begins, in `rest` and in the text.
    begins: Vec<(usize, usize)>,
}

impl Pieces<'_> {
    fn take(&mut self, range: Range<usize>, in_list: bool) -> Result<(), Box<Located>> {
        let stretch = &self.text[range.clone()];
        if stretch.len() + if in_list { 0 } else { self.rest.len() } > MOST_AT_ONCE {
            return Err(self.too_long(range));
        }
        if !in_list {
            self.begins.push((self.rest.len(), range.start));
            self.rest.push_str(stretch);
            return Ok(());
        }
        let piece: Lists = from_toml(stretch).map_err(|error| {
            let mut located = Source::new(stretch, self.file).locate_unread(&error);
            located.line += lines(&self.text[..range.start]);
            let Lists { links, hosts, flows } = &self.lists;
            for (list, before) in LISTS.into_iter().zip([links.len(), hosts.len(), flows.len()]) {
                shift(&mut located.problem.field, list, before);
            }
            in_pieces(located)
        })?;
        self.lists.links.extend(piece.links);
        self.lists.hosts.extend(piece.hosts);
        self.lists.flows.extend(piece.flows);
        Ok(())
    }

    fn scenario(self) -> Result<Scenario, Box<Located>> {
        let source = Source::new(&self.rest, self.file);
        let placed = |mut located: Located| {
            let at: usize = self.rest.split_inclusive('\n').take(located.line - 1).map(str::len).sum();
            let part = self.begins.iter().rev().find(|(in_rest, _)| *in_rest <= at);
            let in_text = part.map_or(at, |(in_rest, in_text)| at - in_rest + in_text);
            located.line = lines(&self.text[..in_text]) + 1;
            in_pieces(located)
        };
        let read: Result<Scenario, _> = from_toml(&self.rest);
        let mut scenario = read.map_err(|error| placed(source.locate_unread(&error)))?;
        // A list is written in one way or in the other.
        let tree = DeTable::parse(&self.rest).ok();
        let is_there = |list: &str| tree.as_ref().is_some_and(|tree| tree.get_ref().contains_key(list));
        if let Some(list) = LISTS.into_iter().find(|list| is_there(list)) {
            let message = format!("tables under [[{list}]] are elsewhere: this part is read without them");
            return Err(placed(source.locate(Problem::at(list, message))));
        }
        let Lists { links, hosts, flows } = self.lists;
        (scenario.links, scenario.hosts, scenario.flows) = (links, hosts, flows);
        Ok(scenario)
    }

    /// Names the largest section of a stretch that is too long.
    fn too_long(&self, range: Range<usize>) -> Box<Located> {
        let (mut at, mut begin, mut largest) = (range.start, range.start, 0..0);
        for line in self.text[range].split_inclusive('\n') {
            if is_header(line) {
                begin = at;
            }
            at += line.len();
            if at - begin > largest.len() {
                largest = begin..at;
            }
        }
        let section = &self.text[largest.clone()];
        let header = section.lines().next().unwrap_or_default();
        let name = header.trim_start_matches('[').split(']').next().filter(|_| header.starts_with('['));
        let megabytes = section.len().div_ceil(1_000_000);
        let message = format!("this section has {megabytes} MB, too much to read as a whole");
        let problem = Problem::at(name.unwrap_or_default(), message);
        // Most of it may be one value.
        let longest = section.split_inclusive('\n').max_by_key(|line| line.len()).unwrap_or_default();
        let value = section.find(longest).filter(|_| 2 * longest.len() > section.len()).unwrap_or(0);
        in_pieces(Source::new(self.text, self.file).locate_offset(largest.start + value, problem))
    }
}

/// True if a line is the header of a table, and nothing else: an item of a list may begin with `[` too.
fn is_header(line: &str) -> bool {
    let name = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let behind = name.map(|(_, behind)| behind.trim_start_matches(']').trim_start());
    behind.is_some_and(|behind| behind.is_empty() || behind.starts_with('#'))
}

fn lines(text: &str) -> usize {
    text.matches('\n').count()
}

/// Counts the elements before a piece's own.
fn shift(field: &mut String, list: &str, before: usize) {
    let Some(rest) = field.strip_prefix(list).and_then(|rest| rest.strip_prefix('[')) else { return };
    let Some((index, rest)) = rest.split_once(']') else { return };
    if let Ok(index) = index.parse::<usize>() {
        *field = format!("{list}[{}]{rest}", before + index);
    }
}

/// A problem of a piece, with help on how long texts are read.
fn in_pieces(mut located: Located) -> Box<Located> {
    let help = &mut located.problem.help;
    let comma = if help.is_empty() { "" } else { "; " };
    *help += &format!(
        "{comma}a text of more than {MOST_AT_ONCE} bytes is read in pieces: write links, hosts and flows as tables \
         under [[links]], [[hosts]] and [[flows]], and no other line like these"
    );
    Box::new(located)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = include_str!("../tests/bad_scenarios/valid.toml");
    const MBLUE: &str = include_str!("../../../python/roamlab/papers/mblue/scenario.toml");

    #[test]
    fn kind_may_be_written_anywhere_and_an_error_before_it_has_its_place() {
        #[derive(Debug, Deserialize, PartialEq)]
        struct File {
            queue: roamlab_qdisc::QueueSpec,
        }
        let read = |text: &str| from_toml::<File>(text);
        let first = r#"queue = { kind = "mblue", limit = "60 pkt", d1 = 1, mark = 7, clamp = false }"#;
        let last = r#"queue = { limit = "60 pkt", d1 = 1, mark = 7, clamp = false, kind = "mblue" }"#;
        assert_eq!(read(first).unwrap(), read(last).unwrap());
        for (text, message, place) in [
            ("[queue]\nlimit = \"120\"\nkind = \"red\"", "\"120\" has no unit", "\"120\""),
            (r#"queue = { treshold = "80 pkt", kind = "mblue" }"#, "unknown field `treshold`", "treshold"),
            (
                r#"queue = { idle_mode = 3, kind = "blue" }"#,
                "invalid type: integer `3`, expected one of \"",
                "3",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.message.starts_with(message), "{error}");
            assert_eq!(&text[error.at.clone().unwrap()], place);
        }
    }

    #[test]
    fn pieces_make_the_same_scenario() {
        for text in [VALID, MBLUE] {
            for piece in [1, 100, 1_000, 100_000] {
                assert_eq!(read_in_pieces(text, "x.toml", piece).unwrap(), from_toml(text).unwrap());
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
            assert!(read_in_pieces(&text, "x.toml", 1).is_err(), "{what}");
        }
        let split = format!(
            "{link}{run}{link}[radio]\nkind = \"hard\"\ngap = \"1 s\"\n{link}[links.queue]\nkind = \"droptail\"\n"
        );
        let read = read_in_pieces(&split, "x.toml", 1).unwrap();
        assert_eq!(read.links.len(), 3);
        assert_eq!(read, from_toml(&split).unwrap());
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
        assert!(error.to_string().starts_with("deep.toml:1:61: lists and tables are nested"), "{error}");
    }

    /// The error for a text that is too long to read as a whole.
    fn refusal(text: &str) -> String {
        assert!(text.len() > MOST_AT_ONCE);
        Scenario::parse(text, "long.toml").unwrap_err().to_string()
    }

    #[test]
    fn a_long_text_that_cannot_be_cut_is_refused_with_line_and_section() {
        let long = "1,".repeat(MOST_AT_ONCE / 2);
        let flat = refusal(&format!("[run]\nduration = \"1 s\"\nx = [{long}]\n"));
        let report = "long.toml:3:1: field `run`: this section has 21 MB, too much to read as a whole\n";
        assert!(flat.starts_with(report), "{flat}");
        assert!(
            flat.contains("= help: a text of more than 20000000 bytes is read in pieces: write"),
            "{flat}"
        );
        let bare = refusal(&format!("x = [{long}]\n"));
        assert!(bare.starts_with("long.toml:1:1: this section has 21 MB"), "{bare}");
        let rows = "[1, 2],\n".repeat(MOST_AT_ONCE / 7);
        let list = refusal(&format!("[run]\nduration = \"1 s\"\n[[links]]\ndrops = [\n{rows}]\n"));
        assert!(list.starts_with("long.toml:3:1: field `links`: this section has"), "{list}");
    }

    #[test]
    fn an_error_in_a_long_text_has_its_line_and_field() {
        let run = "[run]\nduration = \"1 s\"\n";
        let link = |at: usize| {
            format!("[[links]]\nbetween = [\"a\", \"b{at}\"]\nrate = \"1 bit/s\"\ndelay = \"1 s\"\n")
        };
        let links: String = (0..300_000).map(link).collect();
        let wrong = links.replace("\"b299999\"]\nrate", "\"b299999\"]\nrat");
        let report = refusal(&format!("{run}{wrong}"));
        assert!(report.starts_with("long.toml:1200001:1: field `links[299999].rat`: "), "{report}");
        let report = refusal(&format!("{run}{links}[radio]\nkind = \"soft?\"\n"));
        assert!(report.starts_with("long.toml:1200004:8: field `radio.kind`: "), "{report}");
        let report = refusal(&format!("links = []\n{run}{links}"));
        assert!(report.starts_with("long.toml:1:9: field `links`: tables under [[links]] are"), "{report}");
    }
}
