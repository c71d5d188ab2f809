//! Recordings on the grid: times are exact, and all rows of the whole run are there.
//!
//! A compressed file for each group. A run begins with a line of JSON: what was asked for and its totals.
//! Rows follow by kind, flow and, of variables, name, which are in a separate line, as steps from the row
//! before: nanoseconds, number, the plain value, and at a queue the flow. A run ends with an empty line.

use super::golden::{Clock, Line, Params, Run, Set, own_folder};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::path::PathBuf;

fn file(name: &str) -> PathBuf {
    own_folder().join(format!("grid/{name}.gz"))
}

/// The recordings of a file.
#[expect(clippy::disallowed_methods, reason = "a test may read its data")]
pub fn runs(name: &str) -> Vec<Run> {
    let path = file(name);
    let compressed = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    GzDecoder::new(compressed.as_slice()).read_to_string(&mut text).expect("a gzip file of text");
    text.split("\n\n").filter(|run| !run.is_empty()).map(run).collect()
}

/// Keeps what ns-2 did.
#[expect(clippy::disallowed_methods, reason = "a recorder writes what it records")]
pub fn keep(name: &str, runs: &[Run]) {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    for run in runs {
        encoder.write_all(text(run).as_bytes()).expect("memory");
    }
    std::fs::write(file(name), encoder.finish().expect("memory")).expect("a folder of the project");
}

/// Rows that belong together: those of a queue in their order, all others by flow.
fn key(line: &Line) -> (char, Option<usize>, &str) {
    let name = if is_value(line.event) { line.first.as_str() } else { "" };
    let flow = line.flow.filter(|_| !is_of_queue(line.event));
    (line.event, flow, name)
}

fn is_of_queue(event: char) -> bool {
    matches!(event, 'Q' | 'M')
}

/// True if rows of this kind are values of what is named, not packets with a number.
fn is_value(event: char) -> bool {
    matches!(event, 'V' | 'R')
}

fn text(run: &Run) -> String {
    let head = json!({
        "run": run.name, "group": run.group, "params": run.asked, "flows": run.flows, "drops": run.drops,
    });
    let mut text = format!("{head}\n");
    let mut parts: BTreeMap<_, Vec<&Line>> = BTreeMap::new();
    run.lines.iter().flatten().for_each(|line| parts.entry(key(line)).or_default().push(line));
    for ((event, flow, name), lines) in parts {
        let flow = flow.map_or_else(|| "-".to_owned(), |flow| flow.to_string());
        writeln!(text, "{event} {flow} {name}").expect("memory");
        let (mut at, mut number) = (0i64, 0i64);
        for line in lines {
            let now = (line.micros * 1e3).round() as i64;
            write!(text, "{}", now - at).expect("memory");
            at = now;
            if !is_value(event) {
                let this: i64 = line.first.parse().expect("a number");
                write!(text, ",{}", this - number).expect("memory");
                number = this;
            }
            write!(text, ",{}", line.second).expect("memory");
            if is_of_queue(event) {
                write!(text, ",{}", line.flow.expect("packets are of flows")).expect("memory");
            }
            text.push('\n');
        }
    }
    text.push('\n');
    text
}

fn run(text: &str) -> Run {
    let mut rows = text.lines();
    let head: Value = serde_json::from_str(rows.next().expect("a head")).expect("a line of JSON");
    let asked: BTreeMap<String, String> = serde_json::from_value(head["params"].clone()).expect("parameters");
    let (mut lines, mut kind) = (Vec::new(), (' ', None, String::new()));
    let (mut at, mut number) = (0i64, 0i64);
    for row in rows {
        if row.starts_with(|first: char| first.is_ascii_uppercase()) {
            let fields: Vec<&str> = row.splitn(3, ' ').collect();
            kind = (row.chars().next().unwrap_or(' '), fields[1].parse().ok(), fields[2].to_owned());
            (at, number) = (0, 0);
            continue;
        }
        let mut fields = row.split(',');
        let mut next = || fields.next().unwrap_or_else(|| panic!("{row}"));
        let step = |text: &str| -> i64 { text.parse().expect("a step") };
        at += step(next());
        let first = if is_value(kind.0) {
            kind.2.clone()
        } else {
            number += step(next());
            number.to_string()
        };
        let (micros, event, second) = (at as f64 / 1e3, kind.0, next().to_owned());
        let flow = if is_of_queue(event) { next().parse().ok() } else { kind.1 };
        lines.push(Line { micros, event, flow, first, second });
    }
    Run {
        name: head["run"].as_str().expect("a name").to_owned(),
        group: head["group"].as_str().expect("a group").to_owned(),
        params: Params::new(|key| asked.get(key).cloned()),
        asked,
        flows: serde_json::from_value(head["flows"].clone()).expect("counters"),
        drops: serde_json::from_value(head["drops"].clone()).expect("counts"),
        marks: None,
        lines: Some(lines),
        whole: true,
        set: Set::default(),
        clock: Clock::Grid,
    }
}
