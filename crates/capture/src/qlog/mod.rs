//! qlog: events of a QUIC stack (draft-ietf-quic-qlog-main-schema, draft-ietf-quic-qlog-quic-events), of all dialects.

mod connection;
mod dialect;
mod explain;
mod json;

use crate::fault::{Fault, Read};
use connection::Connection;
use dialect::Clock;
use explain::told;
use json::{Part, Parts};
use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::why::{Answer, Told};

/// Events that are kept; those behind them are left out.
const MOST_EVENTS: u64 = 20_000_000;
/// Connections that are kept.
const MOST_CONNECTIONS: usize = 20_000;
/// Packets of a connection that is left out next to larger ones: a log may name a handshake by another identifier.
const FEW_PACKETS: usize = 10;
/// The order of events may differ from that of their times by as much.
const DISORDER_NS: i64 = 1_000_000_000;

/// A trace's fields.
#[derive(Default)]
struct Trace {
    clock: Clock,
    /// Names of the elements of an event that is a list.
    fields: Vec<String>,
    /// The vantage point: `client` or `server`.
    place: String,
    latest: Option<i64>,
}

/// Why the QUIC connections of a qlog stalled.
pub fn explain_qlog(input: impl std::io::Read) -> Read<Answer> {
    let mut parts = Parts::new(input)?;
    let mut reading = Reading::default();
    while let Some(part) = parts.next()? {
        match part {
            Part::Header(number, fields) => reading.header(number, &fields),
            Part::Event(number, event) => {
                if let Err(problem) = reading.event(number, &event) {
                    return Err(fault(&parts, problem));
                }
            }
        }
    }
    if reading.events == 0 {
        return Err(fault(&parts, "it has no event".into()));
    }
    Ok(reading.finish(parts.is_cut()))
}

fn fault(parts: &Parts<'_>, problem: String) -> Fault {
    parts.fault(
        problem,
        "qlog with a time and a name in each event, in the order of time",
        "log again with qlog 0.3 or later",
    )
}

#[derive(Default)]
struct Reading {
    traces: Vec<Trace>,
    connections: Vec<(usize, String, Connection)>,
    known: FxHashMap<(usize, String), usize>,
    events: u64,
    left_out: u64,
    nameless: u64,
    span: Option<(i64, i64)>,
}

impl Reading {
    /// The trace of a number; its fields are those of the file, unless it has its own.
    fn trace(&mut self, number: usize) -> &mut Trace {
        let number = number.min(MOST_CONNECTIONS);
        while self.traces.len() <= number {
            let clock = self.traces.first().map_or_else(Clock::default, |first| first.clock);
            self.traces.push(Trace { clock, fields: usual_fields(), ..Trace::default() });
        }
        &mut self.traces[number]
    }

    fn header(&mut self, number: usize, fields: &serde_json::Map<String, Value>) {
        let trace = self.trace(number);
        trace.clock.read(fields);
        if let Some(Value::Array(names)) = fields.get("event_fields") {
            trace.fields = names.iter().filter_map(|name| Some(name.as_str()?.to_lowercase())).collect();
        }
        let inner = fields.get("trace").and_then(|inner| inner.get("vantage_point"));
        let place = fields.get("vantage_point").or(inner).and_then(|place| place.get("type"));
        if let Some(place) = place.and_then(Value::as_str) {
            place.clone_into(&mut trace.place);
        }
    }

    /// Takes an event, or tells what is wrong with it.
    fn event(&mut self, number: usize, event: &Value) -> Result<(), String> {
        self.events += 1;
        let trace = self.trace(number);
        let Some((time, group, name, data)) = dialect::raw(event, &trace.fields) else {
            self.nameless += 1;
            return Ok(());
        };
        let group = group.unwrap_or("").to_owned();
        let Some(time) = time else { return Err("an event without a time".into()) };
        let Some(mut time) = trace.clock.time(time) else {
            return Err(format!("a time of {}", shortened(&time.to_string())));
        };
        let latest = trace.latest.unwrap_or(time);
        if time < latest - DISORDER_NS {
            return Err(format!("the clock runs back by {:.3} s", (latest - time) as f64 / 1e9));
        }
        time = time.max(latest);
        trace.latest = Some(time);
        let absolute = trace.clock.reference_ns + time;
        if absolute.abs() >= dialect::LATEST_NS {
            return Err(format!("a time of {:.0} s since 1970", absolute as f64 / 1e9));
        }
        let (first, last) = self.span.unwrap_or((absolute, absolute));
        self.span = Some((first.min(absolute), last.max(absolute)));
        let key = (number.min(MOST_CONNECTIONS), group);
        let place = if let Some(place) = self.known.get(&key) {
            *place
        } else if self.connections.len() < MOST_CONNECTIONS {
            self.known.insert(key.clone(), self.connections.len());
            self.connections.push((key.0, key.1, Connection::default()));
            self.connections.len() - 1
        } else {
            self.left_out += 1;
            return Ok(());
        };
        if self.events > MOST_EVENTS {
            self.left_out += 1;
            return Ok(());
        }
        let event = dialect::event(&name, data);
        if event.kind == dialect::Kind::Lost && event.number.is_none() {
            self.nameless += 1;
        }
        self.connections[place].2.take(absolute, &event);
        Ok(())
    }

    fn finish(mut self, is_cut: bool) -> Answer {
        let (start_ns, end_ns) = self.span.unwrap_or((0, 0));
        let mut flows = Vec::new();
        for (number, name, connection) in &mut self.connections {
            connection.finish();
            let trace = self.traces.get(*number);
            let unit_ns = trace.map_or(1e6, |trace| trace.clock.unit_s() * 1e9);
            let place = trace.map_or("", |trace| trace.place.as_str());
            flows.extend(told(connection, name, place, unit_ns, start_ns));
        }
        let longest = |told: &Told| told.stalls.first().map_or(0, |stall| (stall.length_s * 1e9) as i64);
        flows.sort_by_key(|told| std::cmp::Reverse((longest(told), told.bytes)));
        if flows.iter().any(|flow| !is_small(flow)) {
            flows.retain(|flow| !is_small(flow));
        }
        let mut notes = Vec::new();
        if is_cut {
            notes.push(
                "the file ends within an event, as after a crash; those before it are explained".into(),
            );
        }
        for (count, said) in [
            (self.left_out, "events beyond those that are kept are left out"),
            (self.nameless, "events have no name or no packet number, and are left out"),
        ] {
            if count > 0 {
                notes.push(format!("{count} {said}"));
            }
        }
        Answer {
            packets: self.connections.iter().map(|(_, _, each)| each.counts[0] + each.counts[1]).sum(),
            length_s: (end_ns - start_ns) as f64 / 1e9,
            start_ns,
            udp_packets: 0,
            quic_packets: 0,
            notes,
            flows,
        }
    }
}

/// Elements of an event that is a list, if the file does not name them.
fn usual_fields() -> Vec<String> {
    ["relative_time", "category", "event", "data"].map(str::to_owned).to_vec()
}

fn is_small(flow: &Told) -> bool {
    flow.packets.iter().sum::<usize>() < FEW_PACKETS && flow.stalls.is_empty()
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}
