//! The suspects of a stall in the record, each with the rows of `causes` that name it.

use crate::causes::{Causes, Row};
use crate::record::{Record, SETTLE_NS};
use crate::stalls::Stall;
use crate::table::Fault;
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::Value;
use std::cmp::Reverse;

/// Kinds in order of suspicion: events that the scenario forces, then the place that lost most packets, then timers, then the
/// move. Of each the rank, and whether no setting of the network changes it: a rerun without it shows a cause, and is no
/// remedy.
const KINDS: [(&str, usize, bool); 20] = [
    ("link change", 0, true),
    ("link outage", 0, true),
    ("end marker lost", 1, false),
    ("wrong candidate", 1, false),
    ("message lost", 2, true),
    ("message late", 2, true),
    ("packet lost", 2, true),
    ("random loss", 2, true),
    ("wrong prediction", 3, false),
    ("buffer too small", 4, false),
    ("timer too short", 4, false),
    ("queue full", 4, false),
    ("early drop", 4, false),
    ("discard timer", 4, false),
    ("T304 expired", 5, false),
    ("late path switch", 5, false),
    ("t-Reordering", 5, false),
    ("spurious timeout", 5, false),
    ("long timeout", 6, false),
    ("handover", 7, true),
];
/// The rank of a queue that lost packets only when the stall had lasted for a while: it filled because of the stall.
const LATE: usize = KINDS.len();
/// The kinds of losses, by their reasons.
const LOSSES: [(&str, &str); 7] = [
    ("queue-overflow", "queue full"),
    ("forwarded-overflow", "queue full"),
    ("early-drop", "early drop"),
    ("random-loss", "random loss"),
    ("buffer-overflow", "buffer too small"),
    ("buffer-expired", "timer too short"),
    ("discard-timer", "discard timer"),
];
/// Kinds of which the message is named.
const MESSAGES: [&str; 2] = ["message lost", "message late"];
/// From a host's confirmation at its new base station until its path is switched: a longer time is late.
const LATE_SWITCH_NS: i64 = 200_000_000;
/// Kinds of losses by a queue: it was full, or its discipline dropped before it was.
const QUEUES: [&str; 2] = ["queue full", "early drop"];
/// Roots of the table `causes` that begin a handover of their host.
pub(crate) const MOVES: [&str; 5] = ["motion", "measurement", "out-of-range", "on-air", "prediction"];

/// Something that may have led to a stall.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Suspect {
    /// Its kind: "queue full".
    pub kind: &'static str,
    /// The message, phase or reason.
    pub name: String,
    /// Where it was.
    pub place: String,
    /// The host that it concerns; empty: none.
    pub host: String,
    /// The flow that it concerns; empty: none.
    pub flow: String,
    /// When it was first met.
    pub time_ns: i64,
    /// The serial number of a packet; 0: it is none.
    pub serial: i64,
    /// Rows of `causes` from what it led to down to the root.
    pub chain: Vec<usize>,
    /// How many rows of the record lead to it.
    pub count: usize,
    /// No setting of the network changes it.
    pub given: bool,
}

impl Suspect {
    /// Kind, message, place and host, each if it adds information.
    pub fn words(&self) -> String {
        let Suspect { kind, name, place, host, .. } = self;
        let is_loss = LOSSES.iter().any(|(_, loss)| loss == kind);
        let subject =
            if MESSAGES.contains(kind) && !name.is_empty() { format!(": {name}") } else { String::new() };
        let whose = if host.is_empty() || is_loss { String::new() } else { format!(" of {host}") };
        let at = if place.is_empty() || place == host { String::new() } else { format!(" at {place}") };
        format!("{kind}{subject}{whose}{at}")
    }
}

impl Record<'_> {
    /// The rows of `drops` with packets of a flow that were lost in a stall or within a round trip before it.
    pub(crate) fn losses(&self, stall: &Stall) -> Result<Vec<usize>, Fault> {
        let table = self.table("drops")?;
        let time = table.numbers("time_ns")?;
        let spare = self.spare()?;
        let span = stall.begin_of_losses()..=stall.end_ns;
        Ok(self
            .rows("drops", &stall.flow)?
            .filter(|&row| span.contains(&time.int(row)) && !spare(row))
            .collect())
    }

    /// The rows of `tcp` with the flow's retransmission timeouts in a stall, or shortly before it.
    pub(crate) fn timeouts(&self, stall: &Stall) -> Result<Vec<usize>, Fault> {
        let table = self.table("tcp")?;
        let (time, is_timeout) = (table.numbers("time_ns")?, table.words("event")?.among(&["timeout"]));
        let span = stall.start_ns - SETTLE_NS..=stall.end_ns;
        Ok(self
            .rows("tcp", &stall.flow)?
            .filter(|&row| is_timeout(row) && span.contains(&time.int(row)))
            .collect())
    }

    /// The RTO in ns at each of these timeouts.
    pub fn timeout_rtos(&self, stall: &Stall) -> Result<Vec<i64>, Fault> {
        let rto = self.table("tcp")?.numbers("rto_ns")?;
        Ok(self.timeouts(stall)?.into_iter().map(|row| rto.int(row)).collect())
    }
}

/// The suspects of a stall, the likeliest first.
pub(crate) fn suspects<'a>(
    record: &Record<'a>,
    causes: &Causes<'a>,
    network: &Value,
    stall: &Stall,
) -> Result<Vec<Suspect>, Fault> {
    let ends = record.ends(&stall.flow)?;
    let mut search = Search { causes, network, stall, ends, found: Vec::new(), known: FxHashMap::default() };
    search.run(record)?;
    let Search { mut found, .. } = search;
    found.sort_by_key(|each| (rank(each, stall), Reverse(each.count), each.time_ns));
    Ok(found)
}

fn kind_of(loss: &str) -> Option<&'static str> {
    LOSSES.iter().find(|(reason, _)| *reason == loss).map(|(_, kind)| *kind)
}

fn rank(found: &Suspect, stall: &Stall) -> usize {
    if is_late(found, stall) {
        return LATE;
    }
    KINDS.iter().find(|(kind, ..)| *kind == found.kind).map_or(LATE, |(_, rank, _)| *rank)
}

/// A queue that lost nothing of the flow when the stall began.
fn is_late(found: &Suspect, stall: &Stall) -> bool {
    QUEUES.contains(&found.kind) && found.time_ns > stall.start_ns + stall.round_trip_or_floor()
}

/// How far a handover has come.
#[derive(Default)]
struct Progress {
    /// When the target had the host's confirmation.
    confirmed: Option<i64>,
    /// The host goes to a prepared candidate.
    executed: bool,
}

impl Progress {
    /// A phase is reached for this reason. The suspect that it makes.
    fn reaches(&mut self, row: Row<'_>, reason: Option<&Row<'_>>) -> Option<&'static str> {
        match row.name {
            "handover-executed" => self.executed = true,
            "handover-confirmed" => (self.confirmed, self.executed) = (Some(row.time_ns), false),
            "path-switched" if self.confirmed.is_some_and(|at| row.time_ns - at > LATE_SWITCH_NS) => {
                return Some("late path switch");
            }
            "reordering-timed-out" => return Some("end marker lost"),
            "link-failed" if std::mem::take(&mut self.executed) => return Some("wrong candidate"),
            "link-failed" if reason.is_some_and(|reason| reason.kind == "timer") => {
                return Some("T304 expired");
            }
            _ => {}
        }
        None
    }
}

struct Search<'r, 'a> {
    causes: &'r Causes<'a>,
    network: &'r Value,
    stall: &'r Stall,
    /// The nodes at the flow's ends.
    ends: [&'a str; 2],
    found: Vec<Suspect>,
    /// The places of suspects by kind, place, host and, of a message, serial number.
    known: FxHashMap<(&'static str, &'a str, &'a str, i64), usize>,
}

impl<'a> Search<'_, 'a> {
    fn run(&mut self, record: &Record<'a>) -> Result<(), Fault> {
        let stall = self.stall;
        let (early, near) = (stall.start_ns - SETTLE_NS, stall.begin_of_losses());
        let cause = record.table("drops")?.numbers("cause")?;
        for row in record.losses(stall)? {
            self.walk(cause.int(row))?;
        }
        let late: Vec<_> = self.found.iter().filter(|each| is_late(each, stall)).collect();
        let late: Vec<_> = late.iter().map(|each| (each.place.clone(), each.time_ns)).collect();
        for (place, time) in late {
            self.walk_absent(&place, near, time)?;
        }
        self.timeouts(record)?;
        let mut progress = Progress::default();
        for row in self.causes.within(early..=stall.end_ns) {
            let host = self.causes.messages.get(&row.serial).map_or(row.host, |(_, host)| host);
            if (early..=stall.end_ns).contains(&row.time_ns) && self.ends.contains(&host) {
                self.forced(row, &[row]);
                if row.name == "link-down" && row.time_ns >= near {
                    let chain = self.causes.chain(row.id as i64)?;
                    self.note("handover", row, &chain);
                }
                if row.kind == "t-reordering" && row.time_ns >= near {
                    let chain = self.causes.chain(row.id as i64)?;
                    self.note("t-Reordering", row, &chain);
                    self.walk(row.cause)?;
                }
                if row.kind == "phase" {
                    let chain = self.causes.chain(row.id as i64)?;
                    if let Some(kind) = progress.reaches(row, chain.get(1)) {
                        self.note(kind, row, &chain);
                    }
                }
            } else if row.kind == "link-outage" && self.meets(row, near) {
                self.note("link outage", row, &[row]);
            }
        }
        Ok(())
    }

    fn timeouts(&mut self, record: &Record<'a>) -> Result<(), Fault> {
        let expired = record.timeouts(self.stall)?;
        if expired.is_empty() {
            return Ok(());
        }
        let table = record.table("tcp")?;
        let (time, cause, flow) = (table.numbers("time_ns")?, table.numbers("cause")?, table.words("flow")?);
        let is_spurious = table.words("timeout")?.among(&["spurious"]);
        for at in expired {
            self.walk(cause.int(at))?;
            let kind = if is_spurious(at) { "spurious timeout" } else { "long timeout" };
            let (time_ns, flow) = (time.int(at), flow.at(at));
            let about = Row {
                id: 0,
                time_ns,
                kind,
                name: "",
                place: "",
                host: "",
                flow,
                seq: 0,
                serial: 0,
                cause: -1,
            };
            let chain = self.causes.chain(cause.int(at))?;
            self.note(kind, about, &chain);
        }
        Ok(())
    }

    /// Suspects what took hosts away whose packets were lost at the head of a queue before it was full.
    fn walk_absent(&mut self, place: &str, near: i64, until: i64) -> Result<(), Fault> {
        for row in self.causes.within(near..=until) {
            if row.name == "detached" && row.place == place && (near..=until).contains(&row.time_ns) {
                self.walk(row.cause)?;
            }
        }
        Ok(())
    }

    /// Suspects everything on the chain of a row.
    fn walk(&mut self, cause: i64) -> Result<(), Fault> {
        let chain = self.causes.chain(cause)?;
        for (depth, &row) in chain.iter().enumerate() {
            let rest = &chain[depth..];
            match (row.kind, kind_of(row.name)) {
                ("loss", Some(kind)) => self.note(kind, row, rest),
                ("loss", None) if row.name == "forced-loss" && row.flow == self.stall.flow => {
                    self.note("packet lost", row, rest);
                }
                ("link-change", _) => self.note("link change", row, &chain),
                ("link-outage", _) => self.note("link outage", row, &chain),
                (kind, _) if MOVES.contains(&kind) && (kind != "prediction" || self.came_true(row)) => {
                    self.note("handover", row, &chain);
                }
                _ => self.forced(row, &chain[..=depth]),
            }
        }
        Ok(())
    }

    /// Suspects a message that a fault struck, and a prediction.
    fn forced(&mut self, row: Row<'a>, chain: &[Row<'a>]) {
        let kind = match row.kind {
            "loss" if self.causes.messages.contains_key(&row.serial) => {
                kind_of(row.name).or((row.name == "forced-loss").then_some("message lost"))
            }
            "delayed-message" => Some("message late"),
            "prediction" if !self.came_true(row) => Some("wrong prediction"),
            _ => None,
        };
        if let Some(kind) = kind {
            self.note(kind, row, chain);
        }
    }

    /// An outage of a recorded link on the flow's way is not over before the stall.
    fn meets(&self, outage: Row<'a>, near: i64) -> bool {
        let until = || self.causes.arrivals.get(&outage.serial).copied().unwrap_or(0);
        outage.time_ns <= self.stall.end_ns
            && (outage.flow == self.stall.flow || self.is_near(outage.place))
            && (outage.time_ns >= near || until() > self.stall.start_ns)
    }

    /// The place is the air of a cell that a host at the flow's ends visits, or that host's uplink.
    fn is_near(&self, place: &str) -> bool {
        let (cell, host) = (before(place, "/"), before(place, "->"));
        let hosts = self.network["hosts"].as_array().into_iter().flatten();
        let mut own =
            hosts.filter(|each| each["name"].as_str().is_some_and(|name| self.ends.contains(&name)));
        let visits =
            |host: &Value| host["visits"].as_array().into_iter().flatten().any(|visit| visit["cell"] == cell);
        self.ends.contains(&host) || own.any(visits)
    }

    /// The host left its cell soon after it was predicted to.
    fn came_true(&self, prediction: Row<'a>) -> bool {
        let at = prediction.time_ns;
        self.causes.leaves(prediction.host, at, at + SETTLE_NS)
    }

    fn note(&mut self, kind: &'static str, row: Row<'a>, chain: &[Row<'a>]) {
        let single = MESSAGES.contains(&kind);
        let key = (kind, row.place, row.host, if single { row.serial } else { 0 });
        let place = *self.known.entry(key).or_insert_with(|| {
            self.found.push(Suspect {
                kind,
                name: row.name.to_owned(),
                place: row.place.to_owned(),
                host: row.host.to_owned(),
                flow: row.flow.to_owned(),
                time_ns: row.time_ns,
                serial: row.serial,
                chain: chain.iter().map(|step| step.id).collect(),
                count: 0,
                given: KINDS.iter().any(|(each, _, given)| *each == kind && *given),
            });
            self.found.len() - 1
        });
        let found = &mut self.found[place];
        found.count += 1;
        if let Some((message, host)) = self.causes.messages.get(&found.serial).filter(|_| single) {
            (found.name, found.host) = ((*message).to_owned(), (*host).to_owned());
        }
    }
}

/// The part of a name before a separator, or all of it.
pub(crate) fn before<'n>(name: &'n str, separator: &str) -> &'n str {
    name.split_once(separator).map_or(name, |(first, _)| first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspect_is_named_by_what_adds_information() {
        let suspect = |kind, name: &str, place: &str, host: &str| {
            let (name, place, host) = (name.to_owned(), place.to_owned(), host.to_owned());
            let flow = String::new();
            Suspect {
                kind,
                name,
                place,
                host,
                flow,
                time_ns: 0,
                serial: 0,
                chain: vec![],
                count: 1,
                given: false,
            }
            .words()
        };
        assert_eq!(suspect("message lost", "attach", "bs1", "mh"), "message lost: attach of mh at bs1");
        assert_eq!(suspect("queue full", "queue-overflow", "bs1/air", "mh"), "queue full at bs1/air");
        assert_eq!(suspect("handover", "link-down", "mh", "mh"), "handover of mh");
    }
}
