//! The recordings: their place and their content.

use flate2::read::GzDecoder;
use roamlab_engine::{Bytes, Duration, Packets};
use roamlab_tcp::{Profile, TcpParams, TcpProfile, TcpSpec};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;

/// A flow's counters by the recording's names for them.
pub type Counters = BTreeMap<String, f64>;

/// One recorded run.
pub struct Run {
    pub name: String,
    pub group: String,
    pub params: Params,
    /// The same as the Tcl file has it.
    pub asked: BTreeMap<String, String>,
    pub flows: Vec<Counters>,
    /// Losses by kind.
    pub drops: BTreeMap<String, u64>,
    /// Packets marked; `None` if they were not counted.
    pub marks: Option<u64>,
    /// The lines of its CSV file; absent if only its summary was kept.
    pub lines: Option<Vec<Line>>,
    /// True if the lines cover the whole run.
    pub whole: bool,
    /// Parameters and rules that the run had set otherwise than its profile.
    pub set: Set,
    /// Kind of its times.
    pub clock: Clock,
}

/// Parameters and rules of TCP.
#[derive(Clone, Debug, Default)]
pub struct Set {
    pub spec: TcpSpec,
    pub rules: TcpProfile,
}

impl From<TcpSpec> for Set {
    fn from(spec: TcpSpec) -> Set {
        Set { spec, ..Set::default() }
    }
}

impl From<TcpProfile> for Set {
    fn from(rules: TcpProfile) -> Set {
        Set { rules, ..Set::default() }
    }
}

/// ns-2's clock.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Clock {
    /// Seconds in a double: sums of times are rounded.
    Natural,
    /// One of our nanoseconds is 2^-30 s: nothing is rounded.
    Grid,
}

impl Clock {
    /// By how many microseconds the same times may differ. Packets' times on the grid are exact; others, and
    /// all at natural times, are rounded to a microsecond of ns-2, which is 1.07 of our time on the grid.
    pub fn tolerance(self, event: char) -> f64 {
        match (self, event) {
            (Clock::Natural, _) => 1.0,
            (Clock::Grid, 'V' | 'R') => 0.55,
            (Clock::Grid, _) => 0.0,
        }
    }
}

/// Requested run.
pub struct Params {
    pub variant: String,
    pub preset: String,
    pub queue: usize,
    pub red: Option<Red>,
    pub flows: u64,
    pub drops: Vec<u64>,
    pub gap: Option<Duration>,
    pub stop: Duration,
    pub seed: u64,
    window: u32,
    segment: u64,
    max_cwnd: u32,
    ecn: bool,
}

/// RED's parameters, with ns-2's names where they are clearer.
pub struct Red {
    pub min: u32,
    pub max: u32,
    pub linterm: f64,
    pub weight: f64,
    pub gentle: bool,
    pub mean_packet: u64,
    pub mark: bool,
    pub use_mark_p: bool,
}

/// One line of a recording.
pub struct Line {
    pub micros: f64,
    pub event: char,
    /// No flow: the queue as a whole.
    pub flow: Option<usize>,
    pub first: String,
    pub second: String,
}

impl Params {
    /// From the key=value arguments of the Tcl file.
    pub fn new(value: impl Fn(&str) -> Option<String>) -> Params {
        let known = |key: &str| value(key).unwrap_or_else(|| panic!("no {key}"));
        let number = |key: &str, absent: u64| value(key).map_or(absent, |text| whole(&text));
        let drops = value("drops").unwrap_or_default();
        Params {
            variant: known("variant"),
            preset: known("preset"),
            queue: number("lim", number("queue", 0)) as usize,
            red: Red::new(&value),
            flows: number("n", 1),
            drops: drops.split_whitespace().map(whole).collect(),
            gap: value("gap").map(|text| seconds(&text)),
            stop: seconds(&known("stop")),
            seed: number("seed", 0).max(1),
            window: number("win", 0) as u32,
            segment: number("pkt", 512),
            max_cwnd: number("maxcwnd", 0) as u32,
            ecn: number("ecn", 0) == 1,
        }
    }
}

impl Red {
    fn new(value: &impl Fn(&str) -> Option<String>) -> Option<Red> {
        let is = |key: &str, wanted: &str| value(key).is_some_and(|text| text == wanted);
        let lte = value("aqm");
        if !is("qtype", "RED") && lte.as_ref().is_none_or(|aqm| aqm == "droptail") {
            return None;
        }
        let number = |key: &str| -> f64 { value(key).expect("a value").parse().expect("a number") };
        let header = if is("preset", "ns21b") { 0 } else { 40 };
        Some(Red {
            min: number("minth") as u32,
            max: number("maxth") as u32,
            linterm: number("linterm"),
            weight: number("wq"),
            gentle: is("gentle", "1"),
            mean_packet: if lte.is_some() { 1500 } else { number("pkt") as u64 + header },
            mark: lte.as_ref().is_some_and(|aqm| aqm == "redecn"),
            use_mark_p: lte.is_none() && header > 0,
        })
    }
}

fn seconds(text: &str) -> Duration {
    format!("{text} s").parse().expect("a time")
}

fn whole(text: &str) -> u64 {
    text.parse().expect("a whole number")
}

/// The folder of the recordings.
#[expect(clippy::disallowed_methods, reason = "a test may read its data")]
pub fn folder() -> PathBuf {
    std::env::var_os("ROAMLAB_DATA").map_or_else(own_folder, |data| PathBuf::from(data).join("golden/ns2"))
}

/// The project's own, with the Tcl files and what was recorded by them on the grid.
pub fn own_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/ns2")
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
    let number = |value: &Value| match value {
        Value::String(text) => text.parse().expect("a number"),
        other => other.as_f64().expect("a number"),
    };
    let counters = |value: &Value| -> Counters {
        let counters = value.as_object().expect("counters of the flow");
        counters.iter().map(|(key, value)| (key.clone(), number(value))).collect()
    };
    let flows = run["flows"].as_object().expect("flows by number").len();
    let asked: BTreeMap<String, String> = serde_json::from_value(run["params"].clone()).expect("texts");
    let csv = gunzip(&format!("{group}/{name}.csv.gz"));
    Run {
        group: group.into(),
        params: Params::new(|key| asked.get(key).cloned()),
        asked,
        flows: (0..flows).map(|flow| counters(&run["flows"][flow.to_string()])).collect(),
        drops: serde_json::from_value(run["drops"].clone()).expect("counts by kind"),
        marks: run["ecn_marks"].as_u64(),
        lines: csv.map(|text| text.lines().skip(1).map(parse_line).collect()),
        whole: false,
        set: Set::default(),
        clock: Clock::Natural,
        name,
    }
}

fn parse_line(line: &str) -> Line {
    let mut fields = line.split(',');
    let mut next = || fields.next().expect("five fields").to_owned();
    let (micros, event, flow, first, second) = (next(), next(), next(), next(), next());
    Line {
        micros: micros.parse().expect("microseconds"),
        event: event.chars().next().expect("an event"),
        flow: flow.parse().ok(),
        first,
        second,
    }
}

impl Run {
    /// Bits per second of the recorded link.
    pub fn rate(&self) -> f64 {
        match (self.group.as_str(), self.clock) {
            ("e", Clock::Natural) => 12e6,
            ("e", Clock::Grid) => 12.5e6,
            _ => 2e6,
        }
    }

    /// Bytes of RED's mean packet, if the queue is RED.
    pub fn mean_packet(&self) -> Option<u64> {
        self.params.red.as_ref().map(|red| red.mean_packet)
    }

    /// Counts how often each flow's RTO was doubled, where all changes of variables are there.
    pub fn count_backoffs(&mut self) {
        let lines = self.lines.as_deref().unwrap_or_default();
        for (flow, counters) in self.flows.iter_mut().enumerate() {
            let wanted =
                |line: &&Line| line.event == 'V' && line.flow == Some(flow) && line.first == "backoff";
            let course: Vec<f64> =
                lines.iter().filter(wanted).map(|line| line.second.parse().expect("a number")).collect();
            let doubled = course.windows(2).filter(|pair| pair[0] < pair[1]).count();
            counters.insert("backoff_increases".into(), doubled as f64);
        }
    }

    /// The profile of the connections.
    pub fn profile(&self) -> TcpProfile {
        let based_on = match self.params.preset.as_str() {
            "ns21b" => Profile::Ns2_2001,
            _ => Profile::Ns2_2009,
        };
        TcpProfile { based_on, max_cwnd: Some(Packets(self.params.max_cwnd)), ..self.set.rules.clone() }
    }

    /// Text of the connections in a scenario.
    pub fn spec(&self) -> TcpSpec {
        let variant = Value::String(self.params.variant.to_lowercase());
        TcpSpec {
            variant: Some(serde_json::from_value(variant).expect("a variant")),
            window: Some(Packets(self.params.window)),
            segment: Some(Bytes(self.params.segment)),
            ecn: Some(self.params.ecn),
            ..self.set.spec.clone()
        }
    }

    /// The connections' parameters.
    pub fn tcp(&self) -> TcpParams {
        self.spec().resolve(self.profile()).expect("parameters that can be")
    }

    /// The span, in microseconds, that rows of this kind cover.
    pub fn span(&self, event: char) -> (f64, f64) {
        match (self.group.as_str(), event, self.params.preset.as_str()) {
            _ if self.whole => (0.0, f64::INFINITY),
            ("c", ..) => (9.8e6, 14e6),
            ("a", 'V' | 'D', "ns235") => (0.0, f64::INFINITY),
            ("d", 'V' | 'D', _) => (0.0, 20e6),
            ("e", 'V' | 'D', _) => (0.0, 8e6),
            ("a", _, "ns235") => (0.0, 15e6),
            ("b", ..) => (0.0, 4.5e6),
            ("e", ..) => (0.0, 4e6),
            _ => (0.0, 10e6),
        }
    }
}
