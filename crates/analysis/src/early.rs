//! Measure by which a queue dropped or marked packets of a flow early, from the table `queue`, in words.

use crate::numbers::{counted, hundredths, seconds};
use crate::record::Record;
use crate::stalls::Stall;
use crate::suspects::before;
use crate::table::Fault;
use crate::wait::names;
use crate::words::filled;
use rustc_hash::FxHashSet;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

const WAITED: &str = "the last packet had waited {sojourn_ns}";
const TARGET: &str = "target {target}";
const PROBABILITY: &str = "probability {probability}";
const MARKS: &str = "marks above {mark_above}";
const AVERAGE: &str = "average {average} packets";
const THRESHOLDS: &str = "thresholds {min_threshold} and {max_threshold}";
/// The last part of each sentence.
const WAITING: &str = "{packets} pkt waited with a limit of {limit}";
/// A threshold that RED derives from the link.
const AUTOMATIC: &str = "0 pkt";

/// A discipline, its name, and the parts of its sentence: gauges and parameters. A part is left out if it has no value.
const DISCIPLINES: [(&str, &str, &[&str]); 12] = [
    ("codel", "CoDel", &[WAITED, TARGET]),
    ("fq-codel", "FQ-CoDel", &[WAITED, TARGET]),
    ("cake", "CAKE", &[WAITED, TARGET]),
    ("fq", "fq", &[WAITED, MARKS]),
    ("pie", "PIE", &[PROBABILITY, WAITED, TARGET]),
    ("dualpi2", "DualPI2", &[PROBABILITY, "of the low-latency queue {coupled}", WAITED, TARGET]),
    ("red", "RED", &[AVERAGE, THRESHOLDS, PROBABILITY]),
    ("linux-red", "RED", &[AVERAGE, THRESHOLDS]),
    ("mred", "M-RED", &[AVERAGE, THRESHOLDS, PROBABILITY]),
    ("blue", "BLUE", &[PROBABILITY]),
    ("mblue", "MBLUE", &[PROBABILITY]),
    ("rlc", "RLC", &[WAITED, "discard timer {discard_timer}", "5QI {five_qi}", MARKS]),
];

/// Packets at a place: how many, and when the first was there.
type Counts<'a> = BTreeMap<&'a str, (usize, i64)>;

impl<'a> Record<'a> {
    /// A sentence for each queue that dropped packets of the flow early, from a time on, or that marked some in a slow
    /// period. Reads `drops` and `queue`, of slow periods `packets` too.
    pub(crate) fn early(&self, network: &Value, stall: &Stall, early_ns: i64) -> Result<Vec<String>, Fault> {
        let dropped = self.early_drops(stall, early_ns)?;
        let mut told = self.of_queues(network, "dropped", &dropped)?;
        if stall.is_slow {
            told.extend(self.of_queues(network, "marked", &self.marks(stall, early_ns)?)?);
        }
        Ok(told)
    }

    fn early_drops(&self, stall: &Stall, early_ns: i64) -> Result<Counts<'a>, Fault> {
        let table = self.table("drops")?;
        let is_early = table.words("reason")?.among(&["early-drop"]);
        let rows = self.rows("drops", &stall.flow)?.filter(|&row| is_early(row));
        self.counts("drops", rows, early_ns..=stall.end_ns)
    }

    /// A packet has its mark from the first recorded queue that it leaves with it.
    fn marks(&self, stall: &Stall, early_ns: i64) -> Result<Counts<'a>, Fault> {
        let table = self.table("packets")?;
        let (serial, is_mark) = (table.numbers("serial")?, table.words("event")?.among(&["mark"]));
        let mut seen = FxHashSet::default();
        let rows =
            self.rows("packets", &stall.flow)?.filter(|&row| is_mark(row) && seen.insert(serial.int(row)));
        self.counts("packets", rows, early_ns..=stall.end_ns)
    }

    fn counts(
        &self,
        table: &'static str,
        rows: impl Iterator<Item = usize>,
        span: std::ops::RangeInclusive<i64>,
    ) -> Result<Counts<'a>, Fault> {
        let table = self.table(table)?;
        let (time, place) = (table.numbers("time_ns")?, table.words("place")?);
        let mut found = Counts::new();
        for row in rows.filter(|&row| span.contains(&time.int(row))) {
            let (count, first) = found.entry(place.at(row)).or_insert((0, i64::MAX));
            (*count, *first) = (*count + 1, time.int(row).min(*first));
        }
        Ok(found)
    }

    fn of_queues(&self, network: &Value, verb: &str, counts: &Counts<'_>) -> Result<Vec<String>, Fault> {
        let sentence = |(place, (count, first)): (&&str, &(usize, i64))| {
            let spec = queue_of(network, place);
            let kind = spec["kind"].as_str().unwrap_or("the queue");
            let known = DISCIPLINES.iter().find(|(name, ..)| *name == kind);
            let (title, parts) = known.map_or((kind, &[][..]), |(_, title, parts)| (*title, *parts));
            let why = match self.gauges(place, *first)? {
                Some(gauges) => said(parts.iter().chain([&WAITING]), spec, &gauges),
                None => format!("write \"{place}\" into `record.queues` to see why"),
            };
            let packets = counted(*count, "packet", "packets");
            Ok(format!(
                "{title} at {place} {verb} {packets} of it early, at {} s first: {why}",
                seconds(*first)
            ))
        };
        counts.iter().map(sentence).collect()
    }

    /// The gauges of a queue at a time, with units; `None`: it is not recorded.
    fn gauges(&self, queue: &str, time_ns: i64) -> Result<Option<[(&'static str, String); 5]>, Fault> {
        let table = self.table("queue")?;
        let (time, is_queue) = (table.numbers("time_ns")?, table.words("queue")?.among(&[queue]));
        let Some(row) = (0..table.rows()).rev().find(|&row| time.int(row) <= time_ns && is_queue(row)) else {
            return Ok(None);
        };
        let value = |name| Ok(table.numbers(name)?.real(row));
        let percent = |name| Ok(format!("{} %", hundredths(100.0 * value(name)?)));
        Ok(Some([
            ("packets", format!("{:.0}", value("packets")?)),
            ("average", hundredths(value("average")?)),
            ("probability", percent("probability")?),
            ("coupled", percent("coupled")?),
            ("sojourn_ns", format!("{} ms", hundredths(value("sojourn_ns")? / 1e6))),
        ]))
    }
}

/// The parts with their values, without those that lack one.
fn said<'p>(parts: impl Iterator<Item = &'p &'p str>, spec: &Value, gauges: &[(&str, String)]) -> String {
    let value = |name: &str| {
        let gauge = gauges.iter().find(|(gauge, _)| *gauge == name).map(|(_, value)| value.clone());
        let given = || match &spec[name] {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        let found = gauge.or_else(given).filter(|value| name == "packets" || value != AUTOMATIC);
        found.map(Cow::<'static, str>::Owned)
    };
    let said: Vec<String> = parts.filter_map(|part| filled(part, value)).collect();
    said.join(", ")
}

/// The queue of a link, cell or bearer in an expanded scenario; nothing: there is none of this name.
fn queue_of<'n>(network: &'n Value, place: &str) -> &'n Value {
    let or = |own: &'n Value, other: &'n Value| if own.is_object() { own } else { other };
    let common = &network["network"]["queue"];
    for link in network["links"].as_array().into_iter().flatten() {
        if let Some(way) = names(link).iter().position(|name| name == place) {
            return or(&link[["queue", "reverse_queue"][way]], common);
        }
    }
    let (cells, cell) = (&network["cells"], before(place, "/"));
    if place.contains("/air") {
        let (cell, host) = (&cells[cell], place.split_once("/air/").map(|(_, host)| host));
        if cell.is_null() {
            return cell;
        }
        let bearers = &cell["bearers"];
        return host.map_or(or(&cell["queue"], common), |host| {
            or(&bearers["hosts"][host]["queue"], &bearers["queue"])
        });
    }
    let (begin, end) = place.split_once("->").unwrap_or((place, ""));
    if cells[end].is_object() {
        let declares = |host: &Value| {
            let name = host["name"].as_str().unwrap_or_default();
            begin == name || begin.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'))
        };
        if network["hosts"].as_array().into_iter().flatten().any(declares) {
            return &network["network"]["uplink_queue"];
        }
        return or(&cells[end]["backhaul"]["queue"], common);
    }
    if cells[begin].is_object() {
        return or(&cells[begin]["backhaul"]["reverse_queue"], common);
    }
    &Value::Null
}
