//! Changes of a path's delay.

use crate::path::seen::{Seen, Sent};
use crate::why::Kind;
use crate::why::exchange::MS;
use serde::Serialize;

/// The time behind a change in which the least wait is that of the longer path.
const AFTER_NS: i64 = 1_500 * MS;
/// Slices of time in which the delay may be back.
const SLICE_NS: i64 = 500 * MS;
/// A smaller change is none.
const LEAST_NS: i64 = 100 * MS;

/// A longer path, from one time to another, in s from the first sending of data.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Longer {
    /// The first packet that took longer was sent then.
    pub from_s: f64,
    /// The delay is back; `None`: it stays.
    pub to_s: Option<f64>,
    /// By how much the way to the receiver is longer, in s.
    pub ahead_s: f64,
    /// The same of the way back; at a receiver assumed to be as much.
    pub back_s: f64,
}

/// Takes a time out of the waits of packets that were sent in a span. Those of both ways are unknown where the path
/// changed between packet and report.
fn shorten_waits(seen: &mut Seen, (from, to): (i64, Option<i64>), level: i64) {
    let is_in = |time: i64| time >= from && to.is_none_or(|to| time < to);
    let (base, is_both) = (seen.base, seen.back_grows.is_none());
    let shorter = |wait: i64, time: i64| {
        let reported = time + base + wait;
        if is_both && is_in(time) != is_in(reported) {
            return None;
        }
        Some(if is_in(time) { (wait - level).max(0) } else { wait })
    };
    for sent in &mut seen.sent {
        sent.wait_ns = sent.wait_ns.and_then(|wait| shorter(wait, sent.time_ns));
    }
    let ahead = seen.ahead();
    for came in &mut seen.came {
        came.wait_ns = came.wait_ns.and_then(|wait| shorter(wait, came.time_ns - ahead - wait));
    }
}

/// Takes the change of the delay out of the waits. `None`: the delay does not change.
pub fn take_out(seen: &mut Seen) -> Option<Longer> {
    let is_longer = |kind: Kind| matches!(kind, Kind::DelayStep | Kind::DelaySpike);
    let (silence, _) = seen
        .stalls
        .iter()
        .filter(|(_, causes)| causes.iter().any(|cause| is_longer(cause.kind)))
        .min_by_key(|(silence, _)| silence.start_ns)?;
    let (start, end) = (silence.start_ns, silence.end_ns);
    let waits = |from: i64, to: i64| {
        let first = seen.sent.partition_point(|sent| sent.time_ns < from);
        let last = seen.sent.partition_point(|sent| sent.time_ns < to);
        let part: &[Sent] = seen.sent.get(first..last.max(first)).unwrap_or(&[]);
        part.iter().filter_map(|sent| Some((sent.time_ns, sent.wait_ns?)))
    };
    let reach = 2 * (seen.base + (end - start));
    let most = waits(start - reach, end).map(|(_, wait)| wait).max()?;
    let level = waits(end - seen.ahead(), end + AFTER_NS).map(|(_, wait)| wait).min()?.min(most);
    if level < LEAST_NS {
        return None;
    }
    let from = waits(start - reach, end).find(|(_, wait)| *wait >= level - MS)?.0;
    let mut to = None;
    let mut at = end;
    while at < seen.end_ns {
        if let Some((time, _)) = waits(at, at + SLICE_NS).find(|(_, wait)| *wait < level / 2) {
            to = Some(time);
            break;
        }
        at += SLICE_NS;
    }
    let origin = seen.origin();
    shorten_waits(seen, (from, to), level);
    // A round trip without news is no silence of the longer path.
    let longest = seen.base + 2 * level + 20 * MS;
    seen.stalls.retain(|(silence, _)| {
        let is_near = silence.end_ns > start && to.is_none_or(|to| silence.start_ns < to + longest);
        !is_near || silence.end_ns - silence.start_ns > longest
    });
    let seconds = |time: i64| (time - origin) as f64 / 1e9;
    let (ahead_ns, back_ns) = match seen.back_grows {
        None => (level / 2, level - level / 2),
        Some(both) => (level, (both.unwrap_or(2 * level) - level).max(0)),
    };
    seen.longer = Some((from, to.unwrap_or(i64::MAX), ahead_ns + back_ns));
    Some(Longer {
        from_s: seconds(from),
        to_s: to.map(seconds),
        ahead_s: ahead_ns as f64 / 1e9,
        back_s: back_ns as f64 / 1e9,
    })
}
