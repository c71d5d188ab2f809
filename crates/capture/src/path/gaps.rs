//! Silences of a path, its buffer, and losses that neither explains.

use crate::path::seen::{Seen, Sent};
use crate::why::Kind;
use crate::why::exchange::MS;
use crate::why::sender::Silence;
use serde::Serialize;

/// A loss at this share of the largest wait is one of a full queue.
const FULL: f64 = 0.8;
/// Sendings before a loss whose waits are looked at.
const NEAR: usize = 40;

/// What became of packets in a gap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// They waited.
    Held,
    /// They were lost.
    Lost,
}

/// A time in which nothing passed, at the receiver, in s from the first sending of data.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Gap {
    /// The earliest and the latest begin.
    pub start_s: (f64, f64),
    /// The earliest and the latest end.
    pub end_s: (f64, f64),
    /// What became of packets in it.
    pub kept: Kept,
    /// Packets with data that were sent into it.
    pub packets: usize,
}

/// The gaps of a flow. `tx`: the time to transmit a packet.
pub fn gaps(seen: &Seen, tx: i64) -> Vec<Gap> {
    let found = seen.stalls.iter().filter(|(silence, _)| !silence.is_cut || seen.timeouts.is_some());
    let mut gaps: Vec<Gap> = found
        .filter_map(|(silence, causes)| {
            let kinds = || causes.iter().map(|cause| cause.kind);
            if kinds().any(|kind| kind == Kind::PathHeld) {
                Some(held(seen, silence, tx))
            } else if kinds().any(|kind| kind == Kind::PathLost) {
                Some(lost(seen, silence, tx))
            } else {
                None
            }
        })
        .collect();
    gaps.sort_by(|one, other| one.start_s.0.total_cmp(&other.start_s.0));
    gaps
}

fn seconds(seen: &Seen, time: i64) -> f64 {
    (time - seen.origin()).max(0) as f64 / 1e9
}

fn held(seen: &Seen, silence: &Silence, tx: i64) -> Gap {
    let (start, end) = (silence.start_ns, silence.end_ns);
    let packets = between(seen, start - seen.ahead(), end - seen.ahead()).len();
    let slack = (2 * tx).max(MS);
    Gap {
        start_s: (seconds(seen, start - slack), seconds(seen, start + slack)),
        end_s: (seconds(seen, end - tx - slack), seconds(seen, end - tx / 2)),
        kept: Kept::Held,
        packets,
    }
}

/// It lasts at least until the last lost packet was there, and at most until the first one was there that arrived.
fn lost(seen: &Seen, silence: &Silence, tx: i64) -> Gap {
    let (start, end) = (silence.start_ns, silence.end_ns);
    let ahead = seen.ahead();
    let into = between(seen, start - ahead - seen.largest_wait() - tx, end - ahead);
    let lost = || into.iter().filter(|sent| sent.is_lost == Some(true));
    let after = into.iter().filter(|sent| sent.is_lost == Some(false) && sent.time_ns + ahead > start);
    let latest = (end - tx / 2).max(start + MS);
    let earliest = if seen.timeouts.is_none() {
        start + (latest - start) / 5
    } else {
        let last = lost().map(|sent| sent.time_ns + ahead).max().unwrap_or(start);
        last.clamp(start, latest)
    };
    let first = after.map(|sent| sent.time_ns + ahead + tx).min().unwrap_or(latest);
    let slack = (2 * tx).max(MS);
    Gap {
        start_s: (seconds(seen, start - slack), seconds(seen, start + slack)),
        end_s: (seconds(seen, earliest), seconds(seen, first.clamp(earliest, latest.max(earliest)))),
        kept: Kept::Lost,
        packets: lost().count(),
    }
}

fn between(seen: &Seen, from: i64, to: i64) -> &[Sent] {
    let first = seen.sent.partition_point(|sent| sent.time_ns < from);
    let last = seen.sent.partition_point(|sent| sent.time_ns < to);
    seen.sent.get(first..last.max(first)).unwrap_or(&[])
}

impl Seen {
    /// The largest wait in a queue, outside of gaps.
    pub fn largest_wait(&self) -> i64 {
        let waits = self.sent.iter().filter_map(|sent| Some((sent.time_ns, sent.wait_ns?)));
        let calm = waits.filter(|(time, wait)| {
            !self.stalls.iter().any(|(silence, _)| {
                let arrives = time + self.ahead() + wait;
                time + self.ahead() < silence.end_ns && arrives + MS > silence.start_ns
            })
        });
        calm.map(|(_, wait)| wait).max().unwrap_or(0)
    }
}

/// Losses by their reasons.
pub struct Losses {
    /// Losses of a full queue.
    pub full: usize,
    /// The numbers of other lost packets among those with data, from 0.
    pub other: Vec<usize>,
}

/// The losses outside of gaps.
pub fn losses(seen: &Seen, gaps: &[Gap]) -> Losses {
    let largest = seen.largest_wait();
    let (ahead, origin) = (seen.ahead(), seen.origin());
    let mut found = Losses { full: 0, other: Vec::new() };
    let mut number = 0;
    for (at, sent) in seen.sent.iter().enumerate() {
        let first = number;
        number += sent.segments;
        if sent.is_lost != Some(true) {
            continue;
        }
        let arrives = (sent.time_ns + ahead - origin) as f64 / 1e9;
        let waited = arrives + largest as f64 / 1e9;
        let is_in = |gap: &Gap| {
            gap.kept == Kept::Lost && waited > gap.start_s.0 - 0.005 && arrives < gap.end_s.1 + 0.005
        };
        if gaps.iter().any(is_in) {
            continue;
        }
        let from = at.saturating_sub(NEAR);
        let near = seen.sent[from..(at + NEAR / 4).min(seen.sent.len())].iter();
        let near = near.filter_map(|other| other.wait_ns).max().unwrap_or(0);
        if largest > 2 * MS && near as f64 > FULL * largest as f64 {
            found.full += sent.segments;
        } else {
            found.other.extend(first..number);
        }
    }
    found
}
