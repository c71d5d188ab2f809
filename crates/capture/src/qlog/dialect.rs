//! Events of all dialects as those that matter here: names, units and places of fields differ.

use serde_json::{Map, Value};

/// A time in ns that is further from 1970 is none: the difference of two times fits into 64 bits.
pub const LATEST_NS: i64 = 4_000_000_000_000_000_000;
/// A longer round trip is none, in the dialect's unit: an hour in µs.
const LONGEST_TRIP: f64 = 3.6e9;

/// Times of a trace.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Nanoseconds of a unit of time.
    unit_ns: f64,
    /// An event's time is that since the one before.
    is_delta: bool,
    /// The time of the reference, in ns since 1970; 0: unknown.
    pub reference_ns: i64,
    last_ns: i64,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock { unit_ns: 1e6, is_delta: false, reference_ns: 0, last_ns: 0 }
    }
}

impl Clock {
    /// Takes the fields of a file or a trace that tell how its times are meant.
    pub fn read(&mut self, fields: &Map<String, Value>) {
        for part in ["configuration", "trace", "common_fields"] {
            if let Some(Value::Object(inner)) = fields.get(part) {
                self.read(inner);
            }
        }
        if let Some(Value::String(unit)) = fields.get("time_units") {
            self.unit_ns = if unit == "us" { 1e3 } else { 1e6 };
        }
        if let Some(Value::String(format)) = fields.get("time_format") {
            self.is_delta = matches!(format.as_str(), "delta" | "relative_to_previous_event");
        }
        let reference = fields.get("reference_time");
        let wall = match reference {
            Some(Value::Object(inner)) => inner.get("wall_clock_time").or_else(|| inner.get("epoch")),
            other => other,
        };
        if let Some(found) = wall.and_then(number) {
            self.reference_ns = ns(found * self.unit_ns).unwrap_or(0);
        } else if let Some(Value::String(text)) = wall {
            self.reference_ns = dated(text).unwrap_or(0);
        }
    }

    /// The time of an event in ns since the reference; `None`: it has none, or one that no clock has.
    pub fn time(&mut self, value: &Value) -> Option<i64> {
        let found = ns(number(value)? * self.unit_ns)?;
        let time = if self.is_delta { self.last_ns.checked_add(found)? } else { found };
        self.last_ns = time;
        (time.abs() < LATEST_NS).then_some(time)
    }

    /// Seconds of a unit of the dialect's round trips.
    pub fn unit_s(&self) -> f64 {
        self.unit_ns / 1e9
    }
}

fn ns(found: f64) -> Option<i64> {
    (found.is_finite() && found.abs() < LATEST_NS as f64).then(|| found.round() as i64)
}

/// Nanoseconds since 1970 of a date of ISO 8601 in UTC, as in `2026-05-01T12:00:00.5Z`.
fn dated(text: &str) -> Option<i64> {
    let part = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    let (hour, minute) = (part(11, 13)?, part(14, 16)?);
    let seconds: String = text.get(17..)?.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let seconds: f64 = seconds.parse().ok()?;
    // Days of the civil calendar, with March as the first month.
    let (shifted, moved) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let days =
        era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + (153 * moved + 2) / 5 + day - 1 - 719_468;
    ns(((days * 24 + hour) * 60 + minute) as f64 * 60e9 + seconds * 1e9)
}

/// An event that matters for stalls.
#[derive(Debug, Default)]
pub struct Event {
    /// Its kind.
    pub kind: Kind,
    /// The number space of its packet; each path has its own.
    pub space: u64,
    /// The number of its packet.
    pub number: Option<u64>,
    /// Bytes of its packet.
    pub bytes: u64,
    /// Packets of a sum, up to its number.
    pub count: Option<u64>,
    /// The packet has data of streams or of the handshake; `None`: the log does not have its frames.
    pub is_data: Option<bool>,
    /// Numbers that it acknowledges, from and to.
    pub acked: Vec<(u64, u64)>,
    /// It has a frame that tells that flow control blocks the sender.
    pub is_blocked: bool,
    /// It has a frame that validates a path.
    pub is_challenge: bool,
    /// Its values of loss recovery.
    pub metrics: Metrics,
}

/// Kinds of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Kind {
    /// A packet was sent.
    Sent,
    /// A packet was received.
    Received,
    /// Packets were acknowledged.
    Acked,
    /// A packet was declared lost.
    Lost,
    /// A packet that was declared lost had arrived.
    Spurious,
    /// Values of loss recovery changed.
    Metrics,
    /// A probe timeout expired.
    Expired,
    /// The path changed.
    Path,
    /// Flow control blocks the sender.
    Blocked,
    /// The congestion control or the application limits the sender no longer, or does.
    Limited(bool),
    /// Other events.
    #[default]
    Other,
}

/// Values of loss recovery, as far as an event has them. Round trips are in the dialect's unit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Metrics {
    /// Bytes in flight.
    pub in_flight: Option<u64>,
    /// The congestion window, in bytes.
    pub window: Option<u64>,
    /// The last round trip.
    pub latest_rtt: Option<f64>,
    /// The count of probe timeouts in a row.
    pub timeouts: Option<u64>,
}

/// An event's time as the file has it, the connection that it belongs to, its name and its data.
pub type Raw<'v> = (Option<&'v Value>, Option<&'v str>, String, &'v Value);

/// The parts of an event: an object, or a list in the order of `fields`.
pub fn raw<'v>(event: &'v Value, fields: &[String]) -> Option<Raw<'v>> {
    let get = |name: &str| match event {
        Value::Object(object) => object.get(name),
        Value::Array(list) => list.get(fields.iter().position(|each| each == name)?),
        _ => None,
    };
    let text = |name: &str| get(name).or_else(|| get(&name.to_uppercase())).and_then(Value::as_str);
    let whole =
        text("name").or_else(|| text("event")).or_else(|| text("type")).or_else(|| text("event_type"))?;
    let name = whole.rsplit(':').next().unwrap_or(whole).to_owned();
    let time = ["time", "relative_time", "delta_time"].iter().find_map(|name| get(name));
    Some((time, text("group_id"), name, get("data").unwrap_or(&Value::Null)))
}

/// An event of any dialect.
pub fn event(name: &str, data: &Value) -> Event {
    let kind = match name {
        "packet_sent" => Kind::Sent,
        "packet_received" => Kind::Received,
        "packets_acked" | "packet_ack" | "packet_acked" => Kind::Acked,
        "packet_lost" => Kind::Lost,
        "spurious_loss" | "spurious_loss_detected" | "packet_lost_spurious" => Kind::Spurious,
        "metrics_updated" | "recovery_metrics_updated" | "metric_update" | "congestion_metric_update" => {
            Kind::Metrics
        }
        "loss_timer_updated" | "loss_alarm" if is_expired_probe(data) => Kind::Expired,
        "path_assigned"
        | "tuple_assigned"
        | "path_updated"
        | "connection_migration"
        | "migration_state_updated" => Kind::Path,
        "data_blocked"
        | "stream_data_blocked"
        | "stream_data_blocked_state_updated"
        | "data_blocked_state_updated" => Kind::Blocked,
        "congestion_state_updated" | "application_limited" | "app_limited_update" => limited(data),
        _ => Kind::Other,
    };
    let mut event = Event { kind, ..Event::default() };
    match kind {
        Kind::Other | Kind::Expired | Kind::Path | Kind::Blocked | Kind::Limited(_) => {}
        Kind::Metrics => event.metrics = metrics(data),
        Kind::Acked => {
            event.space = space(data, &Value::Null);
            event.acked = acked(data);
        }
        _ => packet(&mut event, data),
    }
    event
}

fn limited(data: &Value) -> Kind {
    let state = data.get("new").or_else(|| data.get("state")).and_then(Value::as_str).unwrap_or("");
    Kind::Limited(state.contains("application") || state.contains("app_limited") || state.contains("idle"))
}

fn is_expired_probe(data: &Value) -> bool {
    let text = |name: &str| data.get(name).and_then(Value::as_str).unwrap_or("");
    text("event_type") == "expired" && text("timer_type") != "ack"
}

fn metrics(data: &Value) -> Metrics {
    let value = |names: &[&str]| names.iter().find_map(|name| data.get(*name)).and_then(number);
    let whole = |names: &[&str]| value(names).map(|found| found.clamp(0.0, 1e18) as u64);
    Metrics {
        in_flight: whole(&["bytes_in_flight"]),
        window: whole(&["congestion_window", "cwnd", "current_cwnd"]),
        latest_rtt: value(&["latest_rtt"]).filter(|rtt| *rtt > 0.0 && *rtt < LONGEST_TRIP),
        timeouts: whole(&["pto_count"]),
    }
}

fn packet(event: &mut Event, data: &Value) {
    let none = Value::Null;
    let header = data.get("header").unwrap_or(&none);
    let of = |value: &Value, names: &[&str]| names.iter().find_map(|name| value.get(*name)).and_then(whole);
    event.space = space(data, header);
    event.number =
        of(header, &["packet_number"]).or_else(|| of(data, &["packet_number", "largest_lost_packet_num"]));
    let raw = data.get("raw").unwrap_or(&none);
    let size = of(raw, &["length", "payload_length"]);
    let size = size.or_else(|| of(header, &["packet_size", "length", "payload_length"]));
    event.bytes = size.or_else(|| of(data, &["packet_size", "size"])).unwrap_or(0);
    event.count = of(data, &["lost_packets"]);
    let Some(Value::Array(frames)) = data.get("frames") else { return };
    event.is_data = Some(false);
    for frame in frames {
        match frame.get("frame_type").and_then(Value::as_str).unwrap_or("") {
            "stream" | "crypto" | "datagram" => event.is_data = Some(true),
            "ack" | "ack_mp" | "path_ack" => event.acked.extend(acked(frame)),
            "data_blocked" | "stream_data_blocked" => event.is_blocked = true,
            "path_challenge" => event.is_challenge = true,
            _ => {}
        }
    }
}

/// The number space of a packet: that of its kind and path.
fn space(data: &Value, header: &Value) -> u64 {
    let text = |name: &str| header.get(name).or_else(|| data.get(name)).and_then(Value::as_str);
    let kind = text("packet_type")
        .or_else(|| text("packet_number_space"))
        .or_else(|| text("type"))
        .unwrap_or("1RTT");
    let kind = match kind.to_ascii_lowercase().as_str() {
        "initial" => 0,
        "handshake" => 1,
        _ => 2,
    };
    let path = header.get("path_id").or_else(|| data.get("path_id")).and_then(whole).unwrap_or(0);
    path.wrapping_mul(4).wrapping_add(kind)
}

/// Ranges of packet numbers: `[[1, 3], [5]]`, `[[1, 3]]` with texts, or a list of numbers.
fn acked(data: &Value) -> Vec<(u64, u64)> {
    let names = ["acked_ranges", "packet_numbers", "packets", "acked_packets"];
    let Some(Value::Array(list)) = names.iter().find_map(|name| data.get(*name)) else {
        let one = data.get("packet_num").or_else(|| data.get("packet_number")).and_then(whole);
        return one.map(|number| (number, number)).into_iter().collect();
    };
    list.iter()
        .filter_map(|each| match each {
            Value::Array(ends) => {
                let first = ends.first().and_then(whole)?;
                let last = ends.last().and_then(whole)?;
                Some((first.min(last), first.max(last)))
            }
            Value::Object(_) => each.get("packet_number").and_then(whole).map(|found| (found, found)),
            other => whole(other).map(|found| (found, found)),
        })
        .collect()
}

/// A number, or a text that is one.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    }
}

fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(found) => {
            found.as_f64().filter(|x| (0.0..1e18).contains(x)).map(|x| found.as_u64().unwrap_or(x as u64))
        }
        _ => None,
    }
}
