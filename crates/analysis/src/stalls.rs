//! The stalls of a flow: no new data reached it although its sender had some. `docs/metrics.md` defines them.

use crate::record::{Arrivals, DATA, FLOOR_NS, Record};
use crate::table::Fault;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// Replaces the number of a SYN.
const SYN: i64 = -1;

/// A silence of a flow, in ns from the start of the run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Stall {
    /// The flow.
    pub flow: String,
    /// Its start.
    pub start_ns: i64,
    /// Its end.
    pub end_ns: i64,
    /// Twice the smallest one-way delay of the flow's data; 0 if none arrived.
    pub round_trip_ns: i64,
    /// The run ended before data came again.
    pub cut_off: bool,
    /// No silence: a slow period in which there is no stall.
    pub is_slow: bool,
}

impl Stall {
    /// How long it was.
    pub fn length_ns(&self) -> i64 {
        self.end_ns - self.start_ns
    }

    /// A round trip, or what a stall lasts at least.
    pub(crate) fn round_trip_or_floor(&self) -> i64 {
        self.round_trip_ns.max(FLOOR_NS)
    }

    /// From when on losses may have led to it: a round trip before it.
    pub(crate) fn begin_of_losses(&self) -> i64 {
        self.start_ns - self.round_trip_or_floor()
    }
}

impl<'a> Record<'a> {
    /// The stalls of a flow, longest first. Reads `flows`, `deliveries` and `packets`.
    pub fn stalls(&self, flow: &str) -> Result<Vec<Stall>, Fault> {
        let arrivals = Arrivals::of(self, flow)?;
        let sent = self.sent(flow)?;
        let Some(begin) = self.begin(&sent)? else { return Ok(Vec::new()) };
        let end = self.end(flow)?;
        let whole_file = self.sends_file(flow);
        let round_trip_ns = arrivals.round_trip_ns;
        let limit = round_trip_ns.max(FLOOR_NS);
        let mut sends = None;
        let mut found = Vec::new();
        let mut before = begin;
        for place in 0..=arrivals.fresh.len() {
            let arrival = arrivals.fresh.get(place);
            let (after, last) = (arrival.map_or(end, |&row| arrivals.times.int(row)), arrival.is_none());
            if after - before > limit {
                if sends.is_none() {
                    sends = Some(self.sends(&sent, &arrivals)?);
                }
                // A file in transfer is never idle: data that have arrived may be waiting for their acknowledgement.
                let waiting =
                    || sends.as_deref().and_then(|sends| waiting_since(sends, before, after, limit));
                let start = if whole_file && !last { Some(before) } else { waiting() };
                if let Some(start_ns) = start.filter(|start| after - start > limit) {
                    let flow = flow.to_owned();
                    found.push(Stall {
                        flow,
                        start_ns,
                        end_ns: after,
                        round_trip_ns,
                        cut_off: last,
                        is_slow: false,
                    });
                }
            }
            before = after;
        }
        found.sort_by_key(|stall| (Reverse(stall.length_ns()), stall.start_ns));
        Ok(found)
    }

    /// True if the application of a flow, or of a group that it is of, is a file transfer.
    fn sends_file(&self, flow: &str) -> bool {
        let listed = self.declared(flow);
        let own = listed.iter().take_while(|(_, table)| table["name"] == flow).count();
        let asked = if own > 0 { &listed[..own] } else { &listed[..] };
        asked.iter().any(|(_, table)| table["app"]["kind"] == "ftp")
    }

    /// The rows of `packets` in which a flow's data was sent, in order of time.
    pub(crate) fn sent(&self, flow: &str) -> Result<Vec<usize>, Fault> {
        let table = self.table("packets")?;
        let (is_send, is_data) = (table.words("event")?.among(&["send"]), table.words("kind")?.among(&DATA));
        Ok(self.rows("packets", flow)?.filter(|&row| is_send(row) && is_data(row)).collect())
    }

    /// When the first data was sent; where more than one SYN was, or nothing else, the first of these; `None`: nothing was.
    fn begin(&self, sent: &[usize]) -> Result<Option<i64>, Fault> {
        let table = self.table("packets")?;
        let (times, is_syn) = (table.numbers("time_ns")?, table.words("kind")?.among(&["syn"]));
        let opened = sent.iter().filter(|&&row| is_syn(row)).count();
        let data = sent.iter().find(|&&row| !is_syn(row)).filter(|_| opened == 1);
        Ok(data.or(sent.first()).map(|&row| times.int(row)))
    }

    fn sends(&self, sent: &[usize], arrivals: &Arrivals<'_>) -> Result<Vec<Send>, Fault> {
        let table = self.table("packets")?;
        let (times, number) = (table.numbers("time_ns")?, table.numbers("number")?);
        let (again, is_syn) = (table.numbers("retransmission")?, table.words("kind")?.among(&["syn"]));
        let seq = self.table("deliveries")?.numbers("seq")?;
        // Each connection numbers its segments from the beginning.
        let opening = sent.iter().filter(|&&row| is_syn(row) && !again.is(row));
        let opened: Vec<i64> = opening.map(|&row| times.int(row)).collect();
        let connection = |at: i64| opened.partition_point(|&time| time <= at);
        let mut first = FxHashMap::default();
        for &row in &arrivals.fresh {
            let connection = connection(arrivals.sent.int(row));
            let arrival = arrivals.times.int(row);
            first.entry((connection, seq.int(row))).or_insert(arrival);
            // A SYN is no delivery; it had arrived when the first data of its connection did.
            first.entry((connection, SYN)).or_insert(arrival);
        }
        let mut begun = FxHashMap::default();
        let send = |&row: &usize| {
            let time = times.int(row);
            let each = (connection(time), if is_syn(row) { SYN } else { number.int(row) });
            let arrival = first.get(&each).copied().unwrap_or(i64::MAX);
            Send { time, again: again.is(row), first: *begun.entry(each).or_insert(time), arrival }
        };
        Ok(sent.iter().map(send).collect())
    }
}

/// A packet of a flow's data.
#[derive(Debug)]
struct Send {
    /// When it was sent.
    time: i64,
    /// True if the same had been sent before.
    again: bool,
    /// When the same data was sent first.
    first: i64,
    /// When the same data arrived first.
    arrival: i64,
}

/// From when on a sender had data under way or sent some again; `None`: it had nothing to send.
fn waiting_since(sends: &[Send], before: i64, after: i64, limit: i64) -> Option<i64> {
    let at = |time: i64| sends.partition_point(|send| send.time < time);
    let (from, to) = (at(before), at(after).max(at(before)));
    let again = sends[from..to].iter().filter(|send| send.again).map(|send| send.first).min();
    if let Some(first) = again {
        return Some(first.max(before));
    }
    let recent = &sends[at(before - limit)..to];
    recent.iter().find(|send| send.arrival > before).map(|send| send.time.max(before))
}
