//! The rate of a path, where a flow filled it.

use crate::path::seen::{Came, Seen};
use crate::why::exchange::MS;
use serde::Serialize;

/// The time is cut into slices of this length.
const SLICE_NS: i64 = 250 * MS;
/// A slice counts if packets followed each other out of a queue for this part of it.
const LEAST_BUSY_NS: i64 = 60 * MS;
/// A pause between arrivals that is longer is none of a transmission.
const PAUSE_NS: i64 = 200 * MS;
/// Waits that show a queue: at least this time, and this share of the round trip.
const QUEUED_NS: i64 = 2 * MS;
const QUEUED_SHARE: i64 = 15;
const BRIEF_SHARE: i64 = 3;
/// Slices in a row that must differ by this share from those before: another rate.
const OTHER: f64 = 0.2;
const OTHERS: usize = 3;

/// A rate over a span of time.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Rate {
    /// From this time on, in s from the first sending of data.
    pub from_s: f64,
    /// Bits of IP packets in a second.
    pub bps: f64,
    /// An interval of 95 % for the median of the slices.
    pub low_bps: f64,
    /// Its upper end.
    pub high_bps: f64,
    /// How long the queue was never empty, in s.
    pub busy_s: f64,
    /// The queue was not empty for short times alone: the flow did not fill the path.
    pub is_brief: bool,
}

/// Bits of all that arrived in the busiest slices.
pub fn at_least(seen: &Seen) -> f64 {
    let mut slices = std::collections::BTreeMap::<i64, u64>::new();
    for came in &seen.came {
        *slices.entry(came.time_ns / SLICE_NS).or_default() += wire(seen, came);
    }
    let mut values: Vec<u64> = slices.into_values().collect();
    values.sort_unstable();
    let value = values.get(values.len().saturating_sub(1) * 9 / 10).copied().unwrap_or(0);
    value as f64 * 8e9 / SLICE_NS as f64
}

fn wire(seen: &Seen, came: &Came) -> u64 {
    came.bytes + came.bytes.div_ceil(seen.segment) * seen.headers
}

/// The rates over time; none if no queue was seen.
pub fn rates(seen: &Seen) -> Vec<Rate> {
    let filled = slices(seen, QUEUED_SHARE);
    let is_brief = filled.len() < 2;
    let slices = if is_brief { brief(seen) } else { filled };
    let mut found: Vec<Rate> = Vec::new();
    let mut part: Vec<(i64, f64, i64)> = Vec::new();
    for (at, slice) in slices.iter().enumerate() {
        let usual = median(part.iter().map(|(_, bps, _)| *bps).collect());
        let next = slices.get(at..at + OTHERS);
        let is_other = |side: f64| {
            next.is_some_and(|next| next.iter().all(|(_, bps, _)| (bps / usual - 1.0) * side > OTHER))
        };
        if part.len() >= OTHERS && (is_other(1.0) || is_other(-1.0)) {
            found.push(made(seen, &part, is_brief));
            part.clear();
        }
        part.push(*slice);
    }
    if !part.is_empty() {
        found.push(made(seen, &part, is_brief));
    }
    found
}

fn brief(seen: &Seen) -> Vec<(i64, f64, i64)> {
    let (mut bits, mut busy) = (0.0, 0);
    let mut first = None;
    for (start, bps, time) in pieces(seen, BRIEF_SHARE) {
        first = first.or(Some(start));
        bits += bps * time as f64;
        busy += time;
    }
    first.filter(|_| busy > 0).map(|start| vec![(start, bits / busy as f64, busy)]).unwrap_or_default()
}

fn slices(seen: &Seen, share: i64) -> Vec<(i64, f64, i64)> {
    let all = pieces(seen, share);
    all.into_iter().filter(|(_, _, busy)| *busy >= LEAST_BUSY_NS).collect()
}

/// Of each slice its begin, the rate while packets came out of a queue, and for how long that was.
fn pieces(seen: &Seen, share: i64) -> Vec<(i64, f64, i64)> {
    let queued = QUEUED_NS.max(seen.least * share / 100);
    let mut slices = std::collections::BTreeMap::<i64, (u64, i64)>::new();
    for pair in seen.came.windows(2) {
        let time = pair[1].time_ns - pair[0].time_ns;
        let has_waited = |came: &Came| came.wait_ns.is_some_and(|wait| wait > queued);
        if time < PAUSE_NS && has_waited(&pair[1]) && (has_waited(&pair[0]) || share == BRIEF_SHARE) {
            let slice = slices.entry(pair[0].time_ns / SLICE_NS).or_default();
            slice.0 += wire(seen, &pair[1]);
            slice.1 += time;
        }
    }
    let busy = slices.into_iter().filter(|(_, (_, busy))| *busy > 0);
    busy.map(|(at, (bytes, busy))| (at * SLICE_NS, bytes as f64 * 8e9 / busy as f64, busy)).collect()
}

fn made(seen: &Seen, part: &[(i64, f64, i64)], is_brief: bool) -> Rate {
    let mut values: Vec<f64> = part.iter().map(|(_, bps, _)| *bps).collect();
    values.sort_by(f64::total_cmp);
    // The interval of a median by its order statistics.
    let count = values.len() as f64;
    let apart = (0.98 * count.sqrt()).ceil();
    let at = |place: f64| values[(place.max(0.0) as usize).min(values.len() - 1)];
    let middle = (count - 1.0) / 2.0;
    Rate {
        from_s: (part[0].0 - seen.origin()).max(0) as f64 / 1e9,
        bps: median(values.clone()),
        low_bps: at((middle - apart).floor()),
        high_bps: at((middle + apart).ceil()),
        busy_s: part.iter().map(|(_, _, busy)| *busy).sum::<i64>() as f64 / 1e9,
        is_brief,
    }
}

/// The middle; 0 without values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
