//! The recordings: where they are and what they say.

use crate::plan::Plan;
use flate2::read::GzDecoder;
use roamlab_engine::{Bytes, Duration, Packets};
use roamlab_transport::{Profile, TcpParams, TcpSpec};
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
    pub flows: Vec<Counters>,
    /// Losses by kind.
    pub drops: BTreeMap<String, u64>,
    /// Packets marked; `None` if nobody counted them.
    pub marks: Option<u64>,
    /// What the random stream gave next.
    pub next_uniform: Option<f64>,
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
    pub preset: String,
    pub queue: usize,
    pub red: Option<Red>,
    pub flows: u64,
    pub drops: Vec<u64>,
    pub gap: Option<Duration>,
    /// Seconds.
    pub stop: f64,
    pub seed: u64,
    window: u32,
    segment: u64,
    max_cwnd: u32,
    ecn: bool,
}

/// RED's parameters, with ns-2's names where they say more.
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

impl Line {
    /// Whether ours can say the same: a probability of 1 that was tested looks like one that was not.
    pub fn tells(&self) -> bool {
        self.event != 'R' || self.first != "prob1" || self.second != "1"
    }
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
            gap: value("gap").map(|text| format!("{text} s").parse().expect("a time")),
            stop: known("stop").parse().expect("a time"),
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

fn whole(text: &str) -> u64 {
    text.parse().expect("a whole number")
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
    let number = |value: &Value| match value {
        Value::String(text) => text.parse().expect("a number"),
        other => other.as_f64().expect("a number"),
    };
    let counters = |value: &Value| -> Counters {
        let counters = value.as_object().expect("counters of the flow");
        counters.iter().map(|(key, value)| (key.clone(), number(value))).collect()
    };
    let flows = run["flows"].as_object().expect("flows by number").len();
    let csv = gunzip(&format!("{group}/{name}.csv.gz"));
    Run {
        group: group.into(),
        params: Params::new(|key| run["params"][key].as_str().map(str::to_owned)),
        flows: (0..flows).map(|flow| counters(&run["flows"][flow.to_string()])).collect(),
        drops: serde_json::from_value(run["drops"].clone()).expect("counts by kind"),
        marks: run["ecn_marks"].as_u64(),
        next_uniform: run.get("next_uniform").map(number),
        lines: csv.map(|text| text.lines().skip(1).map(parse_line).collect()),
        whole: false,
        spec: TcpSpec::default(),
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
    /// The network that the group's Tcl file builds.
    pub fn plan(&self) -> Plan {
        Plan::new(&self.group, &self.params)
    }

    /// The connections' parameters.
    pub fn spec(&self) -> TcpParams {
        let profile = match self.params.preset.as_str() {
            "ns21b" => Profile::Ns2_2001,
            _ => Profile::Ns2_2009,
        };
        let variant = Value::String(self.params.variant.to_lowercase());
        let spec = TcpSpec {
            variant: Some(serde_json::from_value(variant).expect("a variant")),
            window: Some(Packets(self.params.window)),
            segment: Some(Bytes(self.params.segment)),
            max_cwnd: Some(Packets(self.params.max_cwnd)),
            ecn: Some(self.params.ecn),
            ..self.spec.clone()
        };
        spec.resolve(profile).expect("parameters that can be")
    }

    /// The span, in microseconds, that rows of this kind cover.
    pub fn span(&self, event: char) -> (f64, f64) {
        if self.whole {
            return (0.0, f64::INFINITY);
        }
        match (self.group.as_str(), event, self.params.preset.as_str()) {
            ("a", _, "ns21b") => (0.0, 10e6),
            ("a", 'V' | 'D', _) => (0.0, 30e6),
            ("a", ..) => (0.0, 15e6),
            ("b", ..) => (0.0, 4.5e6),
            ("d", ..) => (0.0, 10e6),
            ("e", ..) => (0.0, 4e6),
            _ => (9.8e6, 14e6),
        }
    }
}
