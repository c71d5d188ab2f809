//! The recordings: where they are, what they say, and how a run is compared with one.

use crate::network::{HOPS, Hop, Outcome, Path, Row};
use flate2::read::GzDecoder;
use roamlab_engine::{Bytes, Duration, Packets, Rate, Time};
use roamlab_transport::{Profile, RecoveryKind, TcpParams, TcpSpec, TcpVariables};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;

/// One recorded run.
pub struct Run {
    pub name: String,
    pub group: String,
    pub params: Params,
    /// The flow's counters by the recording's names for them.
    pub flow: BTreeMap<String, f64>,
    /// Losses by kind.
    pub drops: BTreeMap<String, u64>,
    /// The lines of its CSV file; absent if only its summary was kept.
    pub lines: Option<Vec<Line>>,
    /// Whether the lines cover the whole run.
    pub whole: bool,
    /// Knobs that the run had set otherwise than its profile.
    pub spec: TcpSpec,
}

/// What was asked for.
pub struct Params {
    pub variant: String,
    preset: String,
    queue: usize,
    window: u32,
    stop: Duration,
    drops: Vec<u64>,
    gap: Option<Duration>,
}

/// One line of a recording.
pub struct Line {
    pub micros: f64,
    pub event: char,
    pub first: String,
    pub second: String,
}

impl Params {
    /// From the key=value arguments of the Tcl file.
    pub fn new(value: impl Fn(&str) -> Option<String>) -> Params {
        let known = |key: &str| value(key).unwrap_or_else(|| panic!("no {key}"));
        let seconds = |text: String| format!("{text} s").parse().expect("a time");
        let drops = value("drops").unwrap_or_default();
        Params {
            variant: known("variant"),
            preset: known("preset"),
            queue: known("queue").parse().expect("a number"),
            window: known("win").parse().expect("a number"),
            stop: seconds(known("stop")),
            drops: drops.split_whitespace().map(|ordinal| ordinal.parse().expect("an ordinal")).collect(),
            gap: value("gap").map(seconds),
        }
    }
}

/// The folder of the recordings.
#[expect(clippy::disallowed_methods, reason = "a test may read its data")]
pub fn folder() -> PathBuf {
    let own = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/ns2");
    std::env::var_os("ROAMLAB_DATA").map_or_else(own, |data| PathBuf::from(data).join("golden/ns2"))
}

#[expect(clippy::disallowed_methods, reason = "a test may read its data")]
fn text(file: &str) -> String {
    let path = folder().join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[expect(clippy::disallowed_methods, reason = "a test may read its data")]
fn gunzip(file: &str) -> Option<String> {
    let compressed = std::fs::read(folder().join(file)).ok()?;
    let mut text = String::new();
    GzDecoder::new(compressed.as_slice()).read_to_string(&mut text).expect("a gzip file of text");
    Some(text)
}

/// All runs of a group.
pub fn runs(group: &str) -> Vec<Run> {
    text(&format!("{group}.jsonl")).lines().map(|line| run(group, line)).collect()
}

fn run(group: &str, line: &str) -> Run {
    let run: Value = serde_json::from_str(line).expect("a JSON line");
    let name = run["run"].as_str().expect("a name").to_owned();
    let counters = run["flows"]["0"].as_object().expect("counters of the flow");
    let number = |value: &Value| match value {
        Value::String(text) => text.parse().expect("a number"),
        other => other.as_f64().expect("a number"),
    };
    let csv = gunzip(&format!("{group}/{name}.csv.gz"));
    Run {
        group: group.into(),
        params: Params::new(|key| run["params"][key].as_str().map(str::to_owned)),
        flow: counters.iter().map(|(key, value)| (key.clone(), number(value))).collect(),
        drops: serde_json::from_value(run["drops"].clone()).expect("counts by kind"),
        lines: csv.map(|text| text.lines().skip(1).map(parse_line).collect()),
        whole: false,
        spec: TcpSpec::default(),
        name,
    }
}

fn parse_line(line: &str) -> Line {
    let mut fields = line.split(',');
    let mut next = || fields.next().expect("five fields").to_owned();
    let (micros, event, _flow, first, second) = (next(), next(), next(), next(), next());
    Line {
        micros: micros.parse().expect("microseconds"),
        event: event.chars().next().expect("an event"),
        first,
        second,
    }
}

impl Run {
    /// The path that the group's Tcl file builds.
    pub fn path(&self) -> Path {
        let hop = |mbps: u64, millis| Hop {
            rate: Rate::from_bps(mbps * 1_000_000),
            delay: Duration::from_millis(millis),
        };
        let outage_begin = Time::ZERO + Duration::from_secs(10);
        let (hops, bottleneck): ([Hop; HOPS], usize) = match self.group.as_str() {
            "c" => ([hop(10, 2), hop(10, 40), hop(2, 2)], 2),
            _ => ([hop(10, 2), hop(2, 40), hop(10, 2)], 1),
        };
        Path {
            hops,
            bottleneck,
            queue_limit: self.params.queue,
            forced_losses: self.params.drops.clone(),
            outage: self.params.gap.map(|gap| (2, outage_begin, outage_begin + gap)),
            start: Time::ZERO + Duration::from_millis(100),
            stop: Time::ZERO + self.params.stop,
            tick_phase: self.tick_phase(),
        }
    }

    /// `boot_time_`: the second uniform draw times the tick; Vegas draws once more.
    fn tick_phase(&self) -> Duration {
        let index = if self.params.variant == "Vegas" { 2 } else { 1 };
        let draws = text("default_rng_seed1_first1000.csv");
        let draw = draws.lines().nth(index + 1).and_then(|line| line.split_once(',')).expect("a draw").1;
        let draw: f64 = draw.parse().expect("a number");
        Duration::from_nanos((draw * self.spec().tick.as_nanos() as f64) as u64)
    }

    /// The connection's parameters.
    pub fn spec(&self) -> TcpParams {
        let profile = match self.params.preset.as_str() {
            "ns21b" => Profile::Ns2_2001,
            _ => Profile::Ns2_2009,
        };
        let variant = Value::String(self.params.variant.to_lowercase());
        let spec = TcpSpec {
            variant: Some(serde_json::from_value(variant).expect("a variant")),
            window: Some(Packets(self.params.window)),
            segment: Some(Bytes(512)),
            ..self.spec.clone()
        };
        spec.resolve(profile).expect("parameters that can be")
    }

    /// The span, in microseconds, that rows of this kind cover.
    fn span(&self, event: char) -> (f64, f64) {
        if self.whole {
            return (0.0, f64::INFINITY);
        }
        match (self.group.as_str(), event, self.params.preset.as_str()) {
            ("a", _, "ns21b") => (0.0, 10e6),
            ("a", 'V' | 'D', _) => (0.0, 30e6),
            ("a", ..) => (0.0, 15e6),
            ("b", ..) => (0.0, 4.5e6),
            _ => (9.8e6, 14e6),
        }
    }
}

/// Compares everything; the first difference of each kind is told.
pub fn compare(run: &Run, outcome: &Outcome) -> Result<(), String> {
    let mut differences = summary(run, outcome);
    if let Some(lines) = &run.lines {
        for event in ['S', 'K', 'Q', 'D'] {
            let (from, to) = run.span(event);
            let inside = |micros: f64| from <= micros && micros < to;
            let recorded: Vec<&Line> =
                lines.iter().filter(|line| line.event == event && inside(line.micros)).collect();
            let ours: Vec<&Row> =
                outcome.rows.iter().filter(|row| row.event == event && inside(micros(row.at))).collect();
            differences.extend(compare_rows(event, &recorded, &ours));
        }
        differences.extend(variables(run, lines, outcome));
    }
    if differences.is_empty() { Ok(()) } else { Err(differences.join("; ")) }
}

fn micros(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e3
}

fn compare_rows(event: char, recorded: &[&Line], ours: &[&Row]) -> Option<String> {
    let differ = |(line, row): &(&&Line, &&Row)| {
        (line.micros - micros(row.at)).abs() > 1.0
            || line.first != row.first.to_string()
            || line.second != row.second
    };
    if let Some((line, row)) = recorded.iter().zip(ours).find(differ) {
        let Line { micros, first, second, .. } = line;
        return Some(format!("{event}: recorded {first},{second} at {micros} us, ours {row:?}"));
    }
    let count = (recorded.len(), ours.len());
    (count.0 != count.1).then(|| format!("{event}: {} recorded, {} ours", count.0, count.1))
}

/// The traced variables as (name, value, tolerance).
fn traced(variables: &TcpVariables, params: &TcpParams) -> [(&'static str, f64, f64); 9] {
    let tick = params.tick;
    let ticks = |span: Duration, unit: u64| (span.as_nanos() * unit) as f64 / tick.as_nanos() as f64;
    let six_digits = |value: f64| value * 5.5e-6;
    [
        ("cwnd", variables.cwnd, six_digits(variables.cwnd)),
        ("ssthresh", variables.ssthresh, 0.0),
        ("rtt", ticks(variables.rtt, 1), 0.0),
        ("srtt8", ticks(variables.srtt, 8), 0.0),
        ("rttvar4", ticks(variables.rttvar, 4), 0.0),
        ("rto", variables.rto.as_secs_f64(), 5e-4),
        ("backoff", variables.backoff as f64, 0.0),
        ("nrexmit", counted_timeouts(variables, params), 0.0),
        ("ncwndcuts", variables.cuts as f64, 0.0),
    ]
}

/// FACK does not count its timeouts in ns-2.
fn counted_timeouts(variables: &TcpVariables, params: &TcpParams) -> f64 {
    if params.recovery == RecoveryKind::Ns2Fack { 0.0 } else { variables.timeouts as f64 }
}

/// One variable's course: a value per time at which it changed, and at the beginning of the span.
fn course(samples: impl Iterator<Item = (f64, f64, f64)>, from: f64, to: f64) -> Vec<(f64, f64, f64)> {
    let mut course: Vec<(f64, f64, f64)> = Vec::new();
    for (at, value, tolerance) in samples.filter(|sample| sample.0 < to) {
        let at = at.max(from);
        if course.last().is_some_and(|last| (last.0 - at).abs() < 0.5) {
            course.pop();
        }
        if course.last().is_none_or(|last| last.1 != value) {
            course.push((at, value, tolerance));
        }
    }
    course
}

fn variables(run: &Run, lines: &[Line], outcome: &Outcome) -> Vec<String> {
    let params = run.spec();
    let (from, to) = run.span('V');
    let names = traced(&outcome.variables[0].1, &params).map(|(name, ..)| name);
    let mut differences = Vec::new();
    for (index, name) in names.into_iter().enumerate() {
        let recorded = lines.iter().filter(|line| line.event == 'V' && line.first == name);
        let recorded = recorded.map(|line| (line.micros, line.second.parse().expect("a number"), 0.0));
        let recorded = course(recorded, from, to);
        if recorded.is_empty() {
            continue; // the RTO is derived, and not in every recording
        }
        let ours = outcome.variables.iter().map(|(at, variables)| {
            let (_, value, tolerance) = traced(variables, &params)[index];
            (micros(*at), value, tolerance)
        });
        let ours = course(ours, from, to);
        let differ = |(recorded, ours): &(&(f64, f64, f64), &(f64, f64, f64))| {
            (recorded.0 - ours.0).abs() > 1.0 || (recorded.1 - ours.1).abs() > ours.2
        };
        if let Some((recorded, ours)) = recorded.iter().zip(&ours).find(differ) {
            let text = |(at, value, _): &(f64, f64, f64)| format!("{value} at {at} us");
            differences.push(format!("{name}: recorded {}, ours {}", text(recorded), text(ours)));
        } else if recorded.len() != ours.len() {
            differences.push(format!("{name}: {} changes recorded, {} ours", recorded.len(), ours.len()));
        }
    }
    differences
}

/// Totals of the whole run, which are kept also where the rows are not.
fn summary(run: &Run, outcome: &Outcome) -> Vec<String> {
    let Some((_, last)) = outcome.variables.last() else { return vec!["no variables".into()] };
    let mut drops = BTreeMap::new();
    for row in outcome.rows.iter().filter(|row| row.event == 'D') {
        *drops.entry(row.second.clone()).or_insert(0u64) += 1;
    }
    let mut differences = Vec::new();
    if drops != run.drops {
        differences.push(format!("drops: recorded {:?}, ours {drops:?}", run.drops));
    }
    let counters = [
        ("sent", outcome.sent as f64),
        ("rexmit", outcome.retransmitted as f64),
        ("timeouts_nrexmit", counted_timeouts(last, &run.spec())),
        ("cwnd_cuts", last.cuts as f64),
        ("last_ack", f64::from(outcome.una) - 1.0),
        ("maxseq", f64::from(outcome.snd_max) - 1.0),
        ("sink_bytes", outcome.sink_bytes as f64),
        ("cwnd", last.cwnd),
        ("ssthresh", last.ssthresh),
    ];
    for (key, ours) in counters {
        let recorded = run.flow[key];
        let tolerance = if key == "cwnd" { ours * 5.5e-6 } else { 0.0 };
        if (recorded - ours).abs() > tolerance {
            differences.push(format!("{key}: recorded {recorded}, ours {ours}"));
        }
    }
    differences
}
