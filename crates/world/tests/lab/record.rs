//! The record of a run in rows, and the trouble that a run may have with its signalling.

use roamlab_engine::Rng;
use roamlab_world::{Column, Replication, RunOptions, Scenario, Table, run};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::rc::Rc;

pub const MS: u64 = 1_000_000;

/// A message that does not set out as it should.
#[derive(Clone, Debug)]
pub struct Trouble {
    pub message: String,
    /// Which one of its kind, from 1.
    pub occurrence: u32,
    /// How late it is, or its copy; `None`: it is lost, or copied immediately.
    pub delay_ms: Option<u64>,
    /// It is in time, and a copy of it comes too.
    pub copied: bool,
}

impl Trouble {
    /// The message is lost.
    pub fn lost(message: impl Into<String>, occurrence: u32) -> Trouble {
        Trouble { message: message.into(), occurrence, delay_ms: None, copied: false }
    }

    /// A copy of the message comes so much later.
    pub fn copied(&self, delay_ms: u64) -> Trouble {
        Trouble { delay_ms: Some(delay_ms), copied: true, ..self.clone() }
    }

    /// Adds it to a scenario's text.
    pub fn write(&self, text: &mut String) {
        let Trouble { message, occurrence, delay_ms, copied } = self;
        let _ = write!(text, "[[faults]]\nmessage = \"{message}\"\noccurrences = [{occurrence}]\n");
        if let Some(delay) = delay_ms {
            let _ = writeln!(text, "delay = \"{delay} ms\"");
        }
        if *copied {
            text.push_str("duplicate = true\n");
        }
    }
}

/// A source of small choices.
pub struct Dice(Rng);

impl Dice {
    /// The choices of a case.
    pub fn of(number: u64, name: &str) -> Dice {
        Dice(Rng::named(number, 0, name))
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        (self.0.uniform() * end as f64) as u64
    }

    /// One of the values.
    pub fn one_of<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.below(values.len() as u64) as usize]
    }
}

/// Runs walks 1 to `usual` on two threads, or to the number that the variable `ROAMLAB_WALKS` gives, or those of a slice as
/// in `ROAMLAB_WALKS=99-99`, and reports all that went wrong. A walk gives how long its host was out of reach, in ns.
pub fn walks(usual: u64, walk: impl Fn(u64) -> Result<u64, String> + Sync) {
    #[expect(clippy::disallowed_methods, reason = "a test may be asked for more")]
    let wanted = std::env::var("ROAMLAB_WALKS").unwrap_or_else(|_| usual.to_string());
    let (first, last) = wanted.split_once('-').unwrap_or(("1", &wanted));
    let number = |text: &str| {
        text.parse::<u64>().unwrap_or_else(|_| panic!("ROAMLAB_WALKS: expected 300 or 200-300, got {wanted}"))
    };
    let (first, last) = (number(first), number(last));
    let part = &|first: u64| {
        let all = (first..=last).step_by(2).map(|number| (number, walk(number)));
        all.fold((Vec::new(), 0), |(mut wrong, longest), (number, outcome)| match outcome {
            Ok(silence) => (wrong, longest.max(silence)),
            Err(problem) => {
                wrong.push(format!("walk {number}: {problem}"));
                (wrong, longest)
            }
        })
    };
    let [(mut wrong, silence), (more, longest)] = std::thread::scope(|scope| {
        let threads = [first, first + 1].map(|first| scope.spawn(move || part(first)));
        threads.map(|thread| thread.join().expect("a walk keeps the laws"))
    });
    wrong.extend(more);
    println!("walks to {last}, the longest silence {} ms", silence.max(longest) / MS);
    let lines = wrong.iter().map(|problem| problem.lines().next().unwrap_or_default());
    let all = lines.collect::<Vec<&str>>().join("\n");
    assert!(
        wrong.is_empty(),
        "{} of walks to {last}:\n{all}\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
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
    pub serial: u64,
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
    /// It had the mark of forwarded packets.
    pub forwarded: bool,
}

impl Loss {
    /// True if it is more than a copy.
    pub fn loses_data(&self) -> bool {
        !matches!(&*self.reason, "copy-released" | "duplicate")
    }
}

/// A packet that left a base station's buffer.
#[derive(Clone, Debug)]
pub struct Release {
    pub time: u64,
    pub node: Rc<str>,
    /// The base station or router that it is forwarded to; empty: it goes over the air.
    pub to: Rc<str>,
    pub flow: Rc<str>,
    pub seq: u64,
    pub serial: u64,
    /// Its size on a wire.
    pub bytes: u64,
    pub forwarded: bool,
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
    pub serial: u64,
}

/// A phase of a handover.
#[derive(Clone, PartialEq, Debug)]
pub struct Phase {
    pub time: u64,
    pub phase: Rc<str>,
    pub node: Rc<str>,
}

/// t-Reordering of a receiver has expired.
#[derive(Clone, Debug)]
pub struct Expiry {
    pub time: u64,
    /// The receiver.
    pub place: Rc<str>,
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
    pub expiries: Vec<Expiry>,
    flows: Vec<Table>,
    census: Vec<(Rc<str>, u64)>,
}

impl Record {
    /// Runs a scenario. It ends, and the laws hold.
    pub fn of(text: &str, seed: u64, duration_ms: u64) -> Record {
        let scenario =
            Scenario::parse(text, "lab.toml").unwrap_or_else(|problem| panic!("{problem}\n{text}"));
        let draw = Replication { seed, run: 0, trace: None };
        match run(&scenario, draw, &RunOptions::default()) {
            Ok(tables) => Record::new(&tables, duration_ms * MS),
            Err(violation) => panic!("{violation}\n{text}"),
        }
    }

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
            expiries: expiries(&table("causes")),
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

    /// How long after the host's last entry of a cell the first packet of a flow came through; a complaint if that is
    /// longer than `bound`, or if none comes in the last second.
    pub fn reached_again(&self, flow: &str, bound: u64) -> Result<u64, String> {
        let arrivals: Vec<u64> = self.delivered(flow).map(|delivery| delivery.time).collect();
        let entered = self.phases.iter().rfind(|noted| &*noted.phase == "link-up").map(|noted| noted.time);
        let from = entered.ok_or("the host never had a link")?;
        let first = arrivals.iter().copied().find(|&time| time >= from);
        match first.map(|time| time - from) {
            _ if arrivals.iter().all(|time| time + 1_000 * MS < self.end) => Err("lost again".into()),
            Some(silence) if silence <= bound => Ok(silence),
            Some(silence) => Err(format!("reached after {} ms only", silence / MS)),
            None => Err("never reached again".into()),
        }
    }

    /// Losses of a flow's packets, except copies of packets that have arrived.
    pub fn lost<'a>(&'a self, flow: &'a str) -> impl Iterator<Item = &'a Loss> {
        self.losses.iter().filter(move |loss| &*loss.flow == flow && loss.loses_data())
    }

    /// Datagrams of a flow sent before `until` that were neither delivered nor lost; number n is sent at `first + n * step`.
    pub fn without_end(&self, flow: &str, (first, step): (u64, u64), until: u64) -> Vec<u64> {
        let delivered = self.delivered(flow).map(|delivery| delivery.seq);
        let ended: BTreeSet<u64> = delivered.chain(self.lost(flow).map(|loss| loss.seq)).collect();
        (0..(until - first) / step).filter(|seq| !ended.contains(seq)).collect()
    }
}

fn deliveries(table: &Columns) -> Vec<Delivery> {
    let [time, seq, sent] = ["time_ns", "seq", "sent_ns"].map(|name| table.numbers(name));
    let [fresh, late_by, serial] = ["fresh", "late_by_pkts", "serial"].map(|name| table.numbers(name));
    let flow = table.words("flow");
    let row = |row: usize| Delivery {
        time: time[row],
        flow: flow[row].clone(),
        seq: seq[row],
        sent: sent[row],
        fresh: fresh[row] == 1,
        late_by: late_by[row],
        serial: serial[row],
    };
    (0..time.len()).map(row).collect()
}

fn losses(table: &Columns) -> Vec<Loss> {
    let [time, seq, serial] = ["time_ns", "seq", "serial"].map(|name| table.numbers(name));
    let forwarded = table.numbers("forwarded");
    let [place, reason, flow] = ["place", "reason", "flow"].map(|name| table.words(name));
    let row = |row: usize| Loss {
        time: time[row],
        place: place[row].clone(),
        reason: reason[row].clone(),
        flow: flow[row].clone(),
        seq: seq[row],
        serial: serial[row],
        forwarded: forwarded[row] == 1,
    };
    (0..time.len()).map(row).collect()
}

fn releases(table: &Columns) -> Vec<Release> {
    let [time, serial, forwarded] = ["time_ns", "serial", "forwarded"].map(|name| table.numbers(name));
    let [seq, bytes] = ["seq", "size_bytes"].map(|name| table.numbers(name));
    let [node, flow, to] = ["node", "flow", "to"].map(|name| table.words(name));
    let row = |row: usize| Release {
        time: time[row],
        node: node[row].clone(),
        to: to[row].clone(),
        flow: flow[row].clone(),
        seq: seq[row],
        serial: serial[row],
        bytes: bytes[row],
        forwarded: forwarded[row] == 1,
    };
    (0..time.len()).map(row).collect()
}

fn signals(table: &Columns) -> Vec<Signal> {
    let [sent, arrived, serial] = ["sent_ns", "arrived_ns", "serial"].map(|name| table.numbers(name));
    let [message, host] = ["message", "host"].map(|name| table.words(name));
    let [source, destination] = ["source", "destination"].map(|name| table.words(name));
    let row = |row: usize| Signal {
        message: message[row].clone(),
        host: host[row].clone(),
        source: source[row].clone(),
        destination: destination[row].clone(),
        sent: sent[row],
        arrived: Some(arrived[row]).filter(|&time| time != u64::MAX),
        serial: serial[row],
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

fn expiries(table: &Columns) -> Vec<Expiry> {
    let time = table.numbers("time_ns");
    let [kind, place] = ["kind", "place"].map(|name| table.words(name));
    let rows = (0..time.len()).filter(|&row| &*kind[row] == "t-reordering");
    rows.map(|row| Expiry { time: time[row], place: place[row].clone() }).collect()
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
            Column::F64(_) | Column::U8(_) | Column::Words(..) => panic!("{name} has no counts"),
        }
    }

    fn words(&self, name: &str) -> Vec<Rc<str>> {
        let Column::Words(codes, names) = self.column(name) else { panic!("{name} has no words") };
        let names: Vec<Rc<str>> = names.iter().map(|name| name.as_str().into()).collect();
        codes.iter().map(|&code| names[code as usize].clone()).collect()
    }
}
