//! The flows of a capture as the explorer draws them: tables in the form of those of a run.

use crate::flows::Capture;
use crate::why::exchange::Exchange;
use crate::why::explain::{Answer, Stall, Told, View, explained, order};
use crate::why::pair::Fate;
use crate::why::pieces::NEVER;
use crate::why::receiver::{Arrival, Receiver};
use crate::why::sender::{Flight, Kind, Sender};
use crate::why::slow::Slow;
use rustc_hash::FxHashSet;
use serde::Serialize;

/// Flows that are drawn.
const MOST_FLOWS: usize = 40;
/// Rows of all tables. Where a flow would exceed them, it and the later ones are left out, or it ends there if it is the first.
const MOST_ROWS: usize = 2_000_000;
/// Rows of a packet at most.
const ROWS: usize = 4;
const EVENTS: [&str; 2] = ["send", "drop"];
const KINDS: [&str; 2] = ["data", "ack"];
const LOST: &str = "in the sender's capture alone";
const PATH: &str = "the path";

/// A column: whole numbers or real ones. Of words it has the places in `names`.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its values; times in ns from the first packet of the capture.
    pub values: Vec<f64>,
    /// Its words; none: it holds numbers.
    pub names: Vec<String>,
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its columns.
    pub columns: Vec<Column>,
}

/// A stall for the explorer.
#[derive(Clone, Debug, Serialize)]
pub struct Stop {
    number: usize,
    word: &'static str,
    flow: String,
    start_ns: i64,
    end_ns: i64,
    since_ns: i64,
    length_s: f64,
    suspect: &'static str,
    sentences: Vec<String>,
}

/// A slow period for the explorer.
#[derive(Clone, Debug, Serialize)]
pub struct Span {
    flow: String,
    start_ns: i64,
    end_ns: i64,
}

/// The explorer's input about a capture in addition to its tables, in the form of that about a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Facts {
    /// The answer in one sentence.
    pub headline: String,
    begin_ns: i64,
    end_ns: i64,
    /// The flows that are drawn.
    pub flows: Vec<String>,
    shown_flows: Vec<String>,
    stalls: Vec<Stop>,
    slow: Vec<Span>,
    /// Flows of the answer that are not drawn, and parts of flows.
    pub notes: Vec<String>,
}

/// The answer about a capture with what the explorer draws.
#[derive(Clone, Debug)]
pub struct Explored {
    /// Why its flows stalled.
    pub answer: Answer,
    /// The explorer's input in addition to the tables.
    pub facts: Facts,
    /// The flows that are drawn.
    pub tables: Vec<Table>,
}

impl Explored {
    /// An answer without tables.
    pub fn of(answer: Answer) -> Explored {
        let mut facts = Facts { end_ns: (answer.length_s * 1e9) as i64, ..Facts::default() };
        facts.headline = headline(&answer.flows);
        Explored { answer, facts, tables: Vec::new() }
    }
}

/// Why the flows of a capture stalled, or of two captures of the same flows, with tables of the first flows.
pub fn explore(first: &Capture, second: Option<&Capture>) -> Explored {
    let mut views = Vec::new();
    let answer = explained(first, second, |told, view| {
        let order = order(told);
        let place = views.partition_point(|(other, _)| *other <= order);
        views.insert(place, (order, view));
        views.truncate(MOST_FLOWS);
    });
    let mut rows = Rows { start_ns: first.start_ns, ..Rows::default() };
    let mut found = Explored::of(answer);
    let (flows, facts) = (&found.answer.flows, &mut found.facts);
    let mut known = FxHashSet::default();
    for (told, (_, view)) in flows.iter().zip(&views) {
        let packets = told.packets.iter().sum::<usize>();
        let fits = rows.count() == 0 || rows.count() + ROWS * packets <= MOST_ROWS;
        if !fits || !known.insert(&told.flow) {
            break;
        }
        rows.begin(told);
        facts.flows.push(told.flow.clone());
        rows.add(view);
    }
    if facts.flows.len() < flows.len() {
        facts.notes.push(format!("{} of {} flows are drawn", facts.flows.len(), flows.len()));
    }
    if rows.is_full() {
        let drawn = rows.last_ns as f64 / 1e9;
        facts.notes.push(format!("the first {drawn:.1} s are drawn: more would be too much"));
    }
    facts.shown_flows = facts.flows.iter().take(1).cloned().collect();
    facts.stalls = stops(flows, &known);
    let slow = flows.iter().filter(|told| known.contains(&told.flow));
    let span = |told: &Told, each: &Slow| Span {
        flow: told.flow.clone(),
        start_ns: ns(each.start_s),
        end_ns: ns(each.end_s),
    };
    facts.slow = slow.flat_map(|told| told.slow.iter().map(move |each| span(told, each))).collect();
    found.tables = rows.tables();
    found
}

fn ns(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

/// The stalls, numbered as in the answer, and then the slow periods without one.
fn stops(flows: &[Told], known: &FxHashSet<&String>) -> Vec<Stop> {
    let stalls = flows.iter().flat_map(|told| told.stalls.iter().map(move |stall| (told, stall))).enumerate();
    let stall = |(at, (told, stall)): (usize, (&Told, &Stall))| Stop {
        number: at + 1,
        word: "stall",
        flow: told.flow.clone(),
        start_ns: ns(stall.start_s),
        end_ns: ns(stall.end_s),
        since_ns: ns(stall.start_s - stall.length_s.min(0.5)),
        length_s: stall.length_s,
        suspect: stall.causes.first().map_or("", |cause| cause.kind.name()),
        sentences: stall.sentences.clone(),
    };
    let slow = flows
        .iter()
        .flat_map(|told| told.slow.iter().filter(|slow| !slow.has_stall).map(move |slow| (told, slow)))
        .enumerate();
    let period = |(at, (told, slow)): (usize, (&Told, &Slow))| Stop {
        number: at + 1,
        word: "slow period",
        flow: told.flow.clone(),
        start_ns: ns(slow.start_s),
        end_ns: ns(slow.end_s),
        since_ns: ns(slow.start_s),
        length_s: slow.end_s - slow.start_s,
        suspect: slow.cause.as_ref().map_or("", |cause| cause.kind.name()),
        sentences: vec![slow.sentence.clone()],
    };
    let all = stalls.map(stall).chain(slow.map(period));
    all.filter(|stop| known.contains(&stop.flow)).collect()
}

/// Who stalled longest, and why.
fn headline(flows: &[Told]) -> String {
    let count = flows.len();
    let stalled = flows.iter().filter(|told| !told.stalls.is_empty()).count();
    let of = match count {
        1 => "The flow".to_owned(),
        _ => format!("{stalled} of {count} flows"),
    };
    let Some(worst) = flows.first().and_then(|told| told.stalls.first()) else {
        return if count == 1 {
            "The flow did not stall.".into()
        } else {
            format!("None of {count} flows stalled.")
        };
    };
    let suspect = worst.causes.first().map(|cause| format!("; suspected first: {}", cause.kind.name()));
    let said = worst.sentences.first().map_or("", String::as_str);
    let longest = if count == 1 { "" } else { "; the longest" };
    format!("{of} stalled{longest}: {said}{}.", suspect.unwrap_or_default())
}

/// The rows of a table while it is made.
#[derive(Default)]
struct Made<const N: usize>(Vec<[f64; N]>);

impl<const N: usize> Made<N> {
    /// In order of time, which is in the first column. `words`: the words of columns.
    fn table(mut self, name: &'static str, columns: [(&'static str, &[String]); N]) -> Table {
        self.0.sort_by(|one, other| one[0].total_cmp(&other[0]));
        let column = |(at, (name, names)): (usize, (&'static str, &[String]))| Column {
            name,
            values: self.0.iter().map(|row| row[at]).collect(),
            names: names.to_vec(),
        };
        Table { name, columns: columns.into_iter().enumerate().map(column).collect() }
    }
}

/// The rows of all tables.
#[derive(Default)]
struct Rows {
    start_ns: i64,
    last_ns: i64,
    serial: usize,
    flows: Vec<String>,
    places: Vec<String>,
    packets: Made<10>,
    deliveries: Made<7>,
    drops: Made<7>,
    flights: Made<4>,
    trips: Made<3>,
    timeouts: Made<3>,
}

impl Rows {
    fn count(&self) -> usize {
        self.packets.0.len() + self.deliveries.0.len() + self.flights.0.len() + self.trips.0.len()
    }

    fn is_full(&self) -> bool {
        self.count() >= MOST_ROWS
    }

    /// A further flow.
    fn begin(&mut self, told: &Told) {
        let sender = told.flow.split(" -> ").next().unwrap_or(&told.flow);
        self.places.extend([sender.to_owned(), told.receiver.clone()]);
        self.flows.push(told.flow.clone());
    }

    fn flow(&self) -> f64 {
        self.flows.len() as f64 - 1.0
    }

    fn since(&mut self, time_ns: i64) -> f64 {
        self.last_ns = self.last_ns.max(time_ns - self.start_ns);
        (time_ns - self.start_ns) as f64
    }

    fn add(&mut self, view: &View<'_>) {
        match view {
            View::Receiver(receiver) => {
                let segments = Segments::of(&receiver.exchange);
                self.sent(&receiver.exchange, &segments, false);
                self.came(receiver, &segments);
            }
            View::Sender(sender) => {
                let segments = Segments::of(&sender.exchange);
                self.sent(&sender.exchange, &segments, true);
                self.seen(sender, &segments);
            }
            View::Pair(pair) => {
                let (segments, from) = (Segments::of(&pair.sender.exchange), self.serial);
                self.sent(&pair.sender.exchange, &segments, true);
                self.seen(&pair.sender, &segments);
                self.arrived(&pair.fates, &segments, from);
            }
        }
    }

    /// Packets with data if the capture shows when they were sent, and acknowledgements. The bytes are those of the payload.
    fn sent(&mut self, exchange: &Exchange<'_>, segments: &Segments, with_data: bool) {
        let (flow, mut highest) = (self.flow(), 0);
        for row in exchange.flow.packets.rows() {
            if self.is_full() {
                return;
            }
            let time = self.since(row.time_ns);
            if exchange.is_data(&row) && with_data {
                let again = f64::from(u8::from(row.seq < highest));
                highest = highest.max(row.end);
                let number = segments.number(row.seq);
                let (place, bytes) = (2.0 * flow, f64::from(row.length));
                self.packets.0.push([
                    time,
                    0.0,
                    place,
                    flow,
                    0.0,
                    number,
                    bytes,
                    again,
                    0.0,
                    self.serial as f64,
                ]);
                self.serial += 1;
            } else if exchange.is_ack(&row) && row.length == 0 {
                let number = segments.number(row.ack);
                self.packets.0.push([time, 0.0, 2.0 * flow + 1.0, flow, 1.0, number, 0.0, 0.0, 0.0, -1.0]);
            }
        }
    }

    /// Outstanding data of the sender, round trips and timeouts.
    fn seen(&mut self, sender: &Sender<'_>, segments: &Segments) {
        let flow = self.flow();
        for Flight { time_ns, outstanding, window } in sender.flights.iter() {
            if self.is_full() {
                return;
            }
            let window = if window == u64::MAX { f64::NAN } else { segments.many(window) };
            let time = self.since(time_ns);
            self.flights.0.push([time, flow, segments.many(outstanding), window]);
        }
        for (time, rtt) in sender.rtts.iter() {
            let time = self.since(time);
            self.trips.0.push([time, flow, rtt as f64]);
        }
        for resend in sender.resends.iter().filter(|resend| resend.kind == Kind::Timeout) {
            let time = self.since(resend.time_ns);
            self.timeouts.0.push([time, flow, resend.waited_ns as f64]);
        }
    }

    /// Arrivals of a capture at the receiver. When they were sent is unknown.
    fn came(&mut self, receiver: &Receiver<'_>, segments: &Segments) {
        let (flow, mut highest) = (self.flow(), 0);
        let exchange = &receiver.exchange;
        let data = exchange.flow.packets.rows().filter(|row| exchange.is_data(row));
        for (row, came) in data.zip(&receiver.came) {
            if self.is_full() {
                return;
            }
            highest = highest.max(row.end);
            let late = if came.arrival == Arrival::Fill { segments.many(highest - row.end) } else { 0.0 };
            let fresh = f64::from(u8::from(came.arrival != Arrival::Again));
            let (time, number) = (self.since(row.time_ns), segments.number(row.seq));
            self.deliveries.0.push([time, flow, number, -1.0, fresh, late.ceil(), self.serial as f64]);
            self.serial += 1;
        }
    }

    /// The packets of a pair that arrived, and those that did not, at the time at which they were sent. `from`: the number of
    /// the first one.
    fn arrived(&mut self, fates: &[Fate], segments: &Segments, from: usize) {
        let flow = self.flow();
        let Some(last) = fates.iter().rposition(|fate| fate.came_ns != NEVER) else { return };
        let mut ends = std::collections::BTreeSet::new();
        let mut in_order: Vec<(usize, &Fate)> = fates.iter().enumerate().collect();
        in_order.sort_by_key(|(_, fate)| fate.came_ns);
        let mut highest = 0;
        for (at, fate) in in_order {
            let (number, serial) = (segments.number(fate.range.0), (from + at) as f64);
            let sent = self.since(fate.sent_ns);
            if fate.came_ns != NEVER {
                let came = self.since(fate.came_ns);
                let fresh = f64::from(u8::from(ends.insert(fate.range.1)));
                highest = highest.max(fate.range.1);
                let late = segments.many(highest - fate.range.1).ceil();
                self.deliveries.0.push([came, flow, number, sent, fresh, late, serial]);
            } else if at < last {
                let place = 2.0 * flow;
                self.packets.0.push([sent, 1.0, place, flow, 0.0, number, 0.0, 0.0, 0.0, serial]);
                self.drops.0.push([sent, 0.0, 0.0, flow, number, serial, 0.0]);
            }
        }
    }

    fn tables(self) -> Vec<Table> {
        let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let (events, kinds) = (words(&EVENTS), words(&KINDS));
        let (lost, path) = (words(&[LOST]), words(&[PATH]));
        let (flows, places) = (self.flows, self.places);
        let packets = [
            ("time_ns", &[][..]),
            ("event", &events),
            ("place", &places),
            ("flow", &flows),
            ("kind", &kinds),
            ("number", &[]),
            ("wire_bytes", &[]),
            ("retransmission", &[]),
            ("waiting", &[]),
            ("serial", &[]),
        ];
        let deliveries = [
            ("time_ns", &[][..]),
            ("flow", &flows),
            ("seq", &[]),
            ("sent_ns", &[]),
            ("fresh", &[]),
            ("late_by_pkts", &[]),
            ("serial", &[]),
        ];
        let drops = [
            ("time_ns", &[][..]),
            ("place", &path),
            ("reason", &lost),
            ("flow", &flows),
            ("seq", &[]),
            ("serial", &[]),
            ("forwarded", &[]),
        ];
        let flights = [("time_ns", &[][..]), ("flow", &flows), ("outstanding", &[]), ("window", &[])];
        vec![
            self.packets.table("packets", packets),
            self.deliveries.table("deliveries", deliveries),
            self.drops.table("drops", drops),
            self.flights.table("flights", flights),
            self.trips.table("trips", [("time_ns", &[][..]), ("flow", &flows), ("rtt_ns", &[])]),
            self.timeouts.table("timeouts", [("time_ns", &[][..]), ("flow", &flows), ("rto_ns", &[])]),
        ]
    }
}

/// Bytes as segments.
struct Segments {
    base: u64,
    size: f64,
}

impl Segments {
    fn of(exchange: &Exchange<'_>) -> Segments {
        let data = || exchange.flow.packets.rows().filter(|row| exchange.is_data(row));
        let base = data().map(|row| row.seq).min().unwrap_or(0);
        let size = data().map(|row| row.length).max().unwrap_or(1);
        let limit =
            exchange.flow.opened[1 - exchange.way].and_then(|opened| opened.mss).map_or(1460, u32::from);
        // Hosts hand several segments to their card as one.
        Segments { base, size: f64::from(size.min(limit).max(1)) }
    }

    /// The segment that begins at a byte.
    fn number(&self, seq: u64) -> f64 {
        self.many(seq.saturating_sub(self.base)).floor()
    }

    fn many(&self, bytes: u64) -> f64 {
        bytes as f64 / self.size
    }
}
