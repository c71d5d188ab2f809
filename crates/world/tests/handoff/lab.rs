//! The laboratory of the handoff tests: a network with the delays of \[mblue\] table I, and the record of a run in
//! rows.
//!
//! Buffers never fill and no queue drops early, so whatever is lost is lost by the handoff.

use roamlab_world::{Column, Draw, Scenario, Table, run};
use std::fmt::Write;
use std::rc::Rc;

pub const MS: u64 = 1_000_000;
/// When the host leaves its first cell in all scenarios with one handoff.
pub const LEAVES: u64 = 3_000 * MS;

/// A message that does not set out as it should.
#[derive(Clone, Debug)]
pub struct Trouble {
    pub message: String,
    /// Which one of its kind, from 1.
    pub occurrence: u32,
    /// How late; `None`: lost.
    pub delay_ms: Option<u64>,
}

impl Trouble {
    /// The message is lost.
    pub fn lost(message: impl Into<String>, occurrence: u32) -> Trouble {
        Trouble { message: message.into(), occurrence, delay_ms: None }
    }
}

/// What a scenario is made of.
#[derive(Clone, Debug)]
pub struct Lab {
    pub duration_ms: u64,
    /// Cells, and when the host turns to them, in ms.
    pub visits: Vec<(&'static str, u64)>,
    /// Lines of `[mobility]`.
    pub mobility: String,
    /// Fields of `buffer`, each followed by a comma.
    pub buffer: String,
    /// Lines of `[radio]`.
    pub radio: String,
    /// Limit of the air queue of cell bs2.
    pub new_queue: &'static str,
    /// Flows, as TOML.
    pub flows: String,
    pub troubles: Vec<Trouble>,
    pub draw: u64,
}

/// A TCP transfer that does not fill the air link, to the moving host.
pub const TCP: &str = r#"
[[flows]]
name = "tcp"
path = ["ch", "mh"]
tcp = { variant = "reno", window = "8 pkt", segment = "512 B", header = "0 B" }
app = { kind = "ftp", start = "1.5 s" }
"#;

/// A datagram every 20 ms (100 B at 40 kbit/s) to the moving host.
pub const UDP: &str = r#"
[[flows]]
name = "udp"
path = ["ch", "mh"]
app = { kind = "cbr", start = "1.6 s", rate = "40 kbit/s", packet = "100 B" }
"#;

/// A datagram every millisecond (50 B at 400 kbit/s) to the moving host.
pub const PROBE: &str = r#"
[[flows]]
name = "probe"
path = ["ch", "mh"]
app = { kind = "cbr", start = "1.6 s", rate = "400 kbit/s", packet = "50 B" }
"#;

impl Default for Lab {
    fn default() -> Lab {
        Lab {
            duration_ms: 12_000,
            visits: vec![("bs1", 0), ("bs2", 3_000)],
            mobility: String::new(),
            buffer: "limit = \"1000 pkt\",".into(),
            radio: String::new(),
            new_queue: "1000 pkt",
            flows: format!("{TCP}{UDP}"),
            troubles: Vec::new(),
            draw: 1,
        }
    }
}

impl Lab {
    /// The scenario as text.
    pub fn text(&self) -> String {
        let mut text = format!("[run]\nduration = \"{} ms\"\nprofile = \"ns2-2009\"\n", self.duration_ms);
        let wires =
            [("ch", "fa1", 40), ("ch", "fa2", 40), ("fa1", "fa2", 1), ("fa1", "ha", 60), ("fa2", "ha", 60)];
        for (left, right, delay) in wires.into_iter().chain([("ha", "ch", 60), ("fa3", "ch", 40)]) {
            wire(&mut text, left, right, delay);
        }
        // fa3 serves a third cell; it is adjacent to the other two.
        wire(&mut text, "fa3", "fa2", 1);
        wire(&mut text, "fa3", "fa1", 1);
        wire(&mut text, "fa3", "ha", 60);
        for (cell, router, limit) in
            [("bs1", "fa1", "1000 pkt"), ("bs2", "fa2", self.new_queue), ("bs3", "fa3", "1000 pkt")]
        {
            let _ = write!(
                text,
                "[cells.{cell}]\nrouter = \"{router}\"\nrate = \"2 Mbit/s\"\ndelay = \"3 ms\"\n\
                 queue = {{ kind = \"droptail\", limit = \"{limit}\" }}\n\
                 backhaul = {{ rate = \"10 Mbit/s\", delay = \"1 ms\" }}\n"
            );
        }
        let _ = write!(text, "[mobility]\nkind = \"mobile-ip\"\n{}\n", self.mobility);
        let _ =
            write!(text, "buffer = {{ {} }}\n[radio]\n{}\n", self.buffer.trim_end_matches(','), self.radio);
        let visits: Vec<String> = self
            .visits
            .iter()
            .map(|(cell, at)| format!("{{ cell = \"{cell}\", at = \"{at} ms\" }}"))
            .collect();
        let _ = write!(
            text,
            "[[hosts]]\nname = \"mh\"\nhome = \"ha\"\nvisits = [{}]\n{}\n",
            visits.join(", "),
            self.flows
        );
        for trouble in &self.troubles {
            let _ = write!(
                text,
                "[[faults]]\nmessage = \"{}\"\noccurrences = [{}]\n",
                trouble.message, trouble.occurrence
            );
            if let Some(delay) = trouble.delay_ms {
                let _ = writeln!(text, "delay = \"{delay} ms\"");
            }
        }
        text
    }

    /// Runs it. It ends, and the laws hold.
    pub fn run(&self) -> Record {
        let scenario = match Scenario::parse(&self.text(), "lab.toml") {
            Ok(scenario) => scenario,
            Err(problem) => panic!("{problem}\n{}", self.text()),
        };
        let draw = Draw { seed: self.draw, run: 0, trace: None };
        match run(&scenario, draw, &|| true) {
            Ok(tables) => Record::new(&tables, self.duration_ms * MS),
            Err(violation) => panic!("{violation}\n{:?}", self.troubles),
        }
    }
}

fn wire(text: &mut String, left: &str, right: &str, delay: u64) {
    let _ = write!(
        text,
        "[[links]]\nbetween = [\"{left}\", \"{right}\"]\nrate = \"10 Mbit/s\"\ndelay = \"{delay} ms\"\n"
    );
}

/// A data packet that arrived.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub time: u64,
    pub flow: Rc<str>,
    pub seq: u64,
    pub sent: u64,
    pub fresh: bool,
    /// Packets of the flow that were sent later and came earlier.
    pub late_by: u64,
}

/// A packet that was lost.
#[derive(Clone, Debug)]
pub struct Loss {
    pub time: u64,
    pub place: Rc<str>,
    pub reason: Rc<str>,
    pub flow: Rc<str>,
    pub seq: u64,
    pub serial: u64,
    /// It wore the mark of forwarded packets.
    pub marked: bool,
}

/// A packet that left a base station's buffer.
#[derive(Clone, Debug)]
pub struct Release {
    pub time: u64,
    pub node: Rc<str>,
    pub flow: Rc<str>,
    pub serial: u64,
    pub marked: bool,
}

/// A signalling message.
#[derive(Clone, PartialEq, Debug)]
pub struct Signal {
    pub message: Rc<str>,
    /// The mobile host that it is about; empty: none.
    pub host: Rc<str>,
    pub source: Rc<str>,
    pub destination: Rc<str>,
    pub sent: u64,
    /// `None`: never.
    pub arrived: Option<u64>,
}

/// A phase of a handover.
#[derive(Clone, PartialEq, Debug)]
pub struct Phase {
    pub time: u64,
    pub phase: Rc<str>,
    pub node: Rc<str>,
}

/// The record of a run.
#[derive(Clone, Debug)]
pub struct Record {
    pub end: u64,
    pub deliveries: Vec<Delivery>,
    pub losses: Vec<Loss>,
    pub releases: Vec<Release>,
    pub signals: Vec<Signal>,
    pub phases: Vec<Phase>,
    flows: Vec<Table>,
    census: Vec<(Rc<str>, u64)>,
}

impl Record {
    fn new(tables: &[Table], end: u64) -> Record {
        let table = |name: &str| Columns(tables.iter().find(|table| table.name == name).expect("a table"));
        let census = table("census");
        Record {
            end,
            deliveries: deliveries(&table("deliveries")),
            losses: losses(&table("drops")),
            releases: releases(&table("releases")),
            signals: signals(&table("signalling")),
            phases: phases(&table("handovers")),
            flows: tables.iter().filter(|table| table.name == "flows").cloned().collect(),
            census: census.words("name").into_iter().zip(census.numbers("value")).collect(),
        }
    }

    /// A total of a flow.
    pub fn total(&self, flow: &str, name: &str) -> u64 {
        let flows = Columns(&self.flows[0]);
        let row = flows.words("flow").iter().position(|known| &**known == flow).expect("a flow");
        flows.numbers(name)[row]
    }

    /// A count of packets.
    pub fn census(&self, name: &str) -> u64 {
        self.census.iter().find(|(known, _)| &**known == name).expect("a count").1
    }

    /// When a phase was first noted at or after `from`.
    pub fn phase(&self, phase: &str, from: u64) -> Option<u64> {
        self.phases.iter().find(|noted| &*noted.phase == phase && noted.time >= from).map(|noted| noted.time)
    }

    /// Deliveries of a flow.
    pub fn delivered<'a>(&'a self, flow: &'a str) -> impl Iterator<Item = &'a Delivery> {
        self.deliveries.iter().filter(move |delivery| &*delivery.flow == flow)
    }

    /// Packets that left a buffer at this instant.
    pub fn released_at(&self, time: u64) -> impl Iterator<Item = &Release> {
        self.releases.iter().filter(move |release| release.time == time)
    }

    /// Losses of a flow's packets, but for copies of packets that have arrived.
    pub fn lost<'a>(&'a self, flow: &'a str) -> impl Iterator<Item = &'a Loss> {
        self.losses.iter().filter(move |loss| &*loss.flow == flow && &*loss.reason != "copy-released")
    }
}

fn deliveries(table: &Columns) -> Vec<Delivery> {
    let [time, seq, sent] = ["time_ns", "seq", "sent_ns"].map(|name| table.numbers(name));
    let [fresh, late_by] = ["fresh", "late_by_pkts"].map(|name| table.numbers(name));
    let flow = table.words("flow");
    let row = |row: usize| Delivery {
        time: time[row],
        flow: flow[row].clone(),
        seq: seq[row],
        sent: sent[row],
        fresh: fresh[row] == 1,
        late_by: late_by[row],
    };
    (0..time.len()).map(row).collect()
}

fn losses(table: &Columns) -> Vec<Loss> {
    let [time, seq, serial] = ["time_ns", "seq", "serial"].map(|name| table.numbers(name));
    let marked = table.numbers("marked");
    let [place, reason, flow] = ["place", "reason", "flow"].map(|name| table.words(name));
    let row = |row: usize| Loss {
        time: time[row],
        place: place[row].clone(),
        reason: reason[row].clone(),
        flow: flow[row].clone(),
        seq: seq[row],
        serial: serial[row],
        marked: marked[row] == 1,
    };
    (0..time.len()).map(row).collect()
}

fn releases(table: &Columns) -> Vec<Release> {
    let [time, serial, marked] = ["time_ns", "serial", "marked"].map(|name| table.numbers(name));
    let [node, flow] = ["node", "flow"].map(|name| table.words(name));
    let row = |row: usize| Release {
        time: time[row],
        node: node[row].clone(),
        flow: flow[row].clone(),
        serial: serial[row],
        marked: marked[row] == 1,
    };
    (0..time.len()).map(row).collect()
}

fn signals(table: &Columns) -> Vec<Signal> {
    let [sent, arrived] = ["sent_ns", "arrived_ns"].map(|name| table.numbers(name));
    let [message, host] = ["message", "host"].map(|name| table.words(name));
    let [source, destination] = ["source", "destination"].map(|name| table.words(name));
    let row = |row: usize| Signal {
        message: message[row].clone(),
        host: host[row].clone(),
        source: source[row].clone(),
        destination: destination[row].clone(),
        sent: sent[row],
        arrived: Some(arrived[row]).filter(|&time| time != u64::MAX),
    };
    (0..sent.len()).map(row).collect()
}

fn phases(table: &Columns) -> Vec<Phase> {
    let time = table.numbers("time_ns");
    let [phase, node] = ["phase", "node"].map(|name| table.words(name));
    (0..time.len())
        .map(|row| Phase { time: time[row], phase: phase[row].clone(), node: node[row].clone() })
        .collect()
}

struct Columns<'a>(&'a Table);

impl Columns<'_> {
    fn column(&self, name: &str) -> &Column {
        &self.0.columns.iter().find(|(known, _)| *known == name).expect("a column").1
    }

    /// A column of counts, times (absent: the greatest number) or truth values.
    fn numbers(&self, name: &str) -> Vec<u64> {
        match self.column(name) {
            Column::U64(values) => values.clone(),
            Column::I64(values) => values.iter().map(|&value| value as u64).collect(),
            Column::U32(values) => values.iter().map(|&value| value.into()).collect(),
            Column::Bool(values) => values.iter().map(|&value| value.into()).collect(),
            Column::F64(_) | Column::Words(..) => panic!("{name} has no counts"),
        }
    }

    fn words(&self, name: &str) -> Vec<Rc<str>> {
        let Column::Words(codes, names) = self.column(name) else { panic!("{name} has no words") };
        let names: Vec<Rc<str>> = names.iter().map(|name| name.as_str().into()).collect();
        codes.iter().map(|&code| names[code as usize].clone()).collect()
    }
}
