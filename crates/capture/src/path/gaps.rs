//! Silences of a path, its buffer, and losses that neither explains.

use crate::path::seen::{LEAST_RUN, Seen, Sent};
use crate::why::Kind;
use crate::why::exchange::MS;
use crate::why::sender::Silence;
use serde::Serialize;
use std::cell::OnceCell;
use std::cmp::Reverse;

/// A loss at this share of the largest wait is one of a full queue.
const FULL: f64 = 0.8;
/// One wait in this number is few, and one that is larger by this factor much larger.
const FEW: usize = 400;
const MUCH: f64 = 1.15;
/// Sendings before a loss whose waits are looked at.
const NEAR: usize = 40;
/// [`LEAST_RUN`] packets were sent over this time at least.
const LEAST_RUN_NS: i64 = 30 * MS;

/// The fate of packets in a gap.
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
    /// The same if it was in front of the queue: when packets were there.
    pub cut_start_s: (f64, f64),
    /// Its end there.
    pub cut_end_s: (f64, f64),
    /// The fate of packets in it.
    pub kept: Kept,
    /// Packets with data that were sent into it.
    pub packets: usize,
}

/// The gaps of a flow. `tx`: the time to transmit a packet.
pub fn gaps(seen: &Seen, tx: i64) -> Vec<Gap> {
    let found = seen.stalls.iter().filter(|(silence, _)| !silence.is_cut || seen.timeouts.is_some());
    let longest_wait = OnceCell::new();
    let mut gaps: Vec<Gap> = found
        .filter_map(|(silence, causes)| {
            let kinds = || causes.iter().map(|cause| cause.kind);
            if kinds().any(|kind| kind == Kind::PathHeld) {
                Some(held(seen, silence, tx))
            } else if kinds().any(|kind| kind == Kind::PathLost) {
                Some(lost(seen, silence, tx, *longest_wait.get_or_init(|| seen.largest_wait())))
            } else {
                None
            }
        })
        .collect();
    let known = gaps.clone();
    gaps.extend(runs(seen, tx).into_iter().filter(|run| {
        !known.iter().any(|gap| run.cut_start_s.0 < gap.end_s.1 + 0.05 && gap.start_s.0 - 0.05 < run.end_s.1)
    }));
    gaps.sort_by(|one, other| one.start_s.0.total_cmp(&other.start_s.0));
    gaps
}

/// Gaps that were too short for a stall: packets in a row that were lost.
fn runs(seen: &Seen, tx: i64) -> Vec<Gap> {
    let (ahead, least) = (seen.ahead(), LEAST_RUN_NS.max(seen.base / 2));
    let mut found = Vec::new();
    let (mut before, mut run) = (None::<Sent>, Vec::<Sent>::new());
    for sent in seen.sent.iter().filter(|sent| sent.is_lost.is_some()) {
        if sent.is_lost == Some(true) {
            run.push(*sent);
            continue;
        }
        if let (Some(first), Some(last), Some(before)) = (run.first(), run.last(), before)
            && run.len() >= LEAST_RUN
            && last.time_ns - first.time_ns >= least
        {
            let came = |sent: &Sent| sent.time_ns + ahead + sent.wait_ns.unwrap_or(0);
            let (start, end) = (came(&before), came(sent).max(came(&before) + MS));
            let slack = (2 * tx).max(MS);
            found.push(Gap {
                start_s: (seconds(seen, start - slack), seconds(seen, start + slack)),
                end_s: (seconds(seen, (end - tx - slack).max(start + MS)), seconds(seen, end)),
                cut_start_s: (seconds(seen, before.time_ns + ahead), seconds(seen, first.time_ns + ahead)),
                cut_end_s: (seconds(seen, last.time_ns + ahead), seconds(seen, sent.time_ns + ahead)),
                kept: Kept::Lost,
                packets: run.len(),
            });
        }
        before = Some(*sent);
        run.clear();
    }
    found
}

fn seconds(seen: &Seen, time: i64) -> f64 {
    (time - seen.origin()).max(0) as f64 / 1e9
}

fn held(seen: &Seen, silence: &Silence, tx: i64) -> Gap {
    let (start, end) = (silence.start_ns, silence.end_ns);
    let packets = between(seen, start - seen.ahead(), end - seen.ahead()).len();
    let slack = (2 * tx).max(MS);
    let cut = (seconds(seen, start), seconds(seen, end));
    Gap {
        start_s: (seconds(seen, start - slack), seconds(seen, start + slack)),
        end_s: (seconds(seen, end - tx - slack), seconds(seen, end - tx / 2)),
        cut_start_s: (cut.0, cut.0),
        cut_end_s: (cut.1, cut.1),
        kept: Kept::Held,
        packets,
    }
}

/// It lasts at least until the last lost packet was there, and at most until the first one was there that arrived.
fn lost(seen: &Seen, silence: &Silence, tx: i64, longest_wait: i64) -> Gap {
    let (start, end) = (silence.start_ns, silence.end_ns);
    let ahead = seen.ahead();
    let into = between(seen, start - ahead - longest_wait - tx, end - ahead);
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
    let lost_first = lost().map(|sent| sent.time_ns + ahead).min().unwrap_or(start);
    let sent_before = seen.sent.partition_point(|sent| sent.time_ns + ahead < lost_first);
    let sent_before = sent_before.checked_sub(1).map_or(lost_first, |at| seen.sent[at].time_ns + ahead);
    let cut_end = first.clamp(earliest, latest.max(earliest));
    Gap {
        cut_start_s: (seconds(seen, sent_before.min(earliest)), seconds(seen, lost_first.min(earliest))),
        cut_end_s: (seconds(seen, earliest), seconds(seen, cut_end)),
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
        largest(calm.map(|(_, wait)| wait).collect())
    }
}

/// Losses by their reasons.
#[derive(Default)]
pub struct Losses {
    /// Numbers of packets that a full queue lost, among those with data, from 0.
    pub full: Vec<usize>,
    /// The wait in it, in ns.
    pub wait_ns: i64,
    /// The numbers of other lost packets.
    pub other: Vec<usize>,
}

/// How many gaps are over when a packet is at the queue: behind a gap the queue may be another one.
fn part(seen: &Seen, gaps: &[Gap], sent: &Sent) -> usize {
    let arrives = seconds(seen, sent.time_ns + seen.ahead());
    gaps.iter().take_while(|gap| gap.end_s.0 < arrives).count()
}

/// The largest wait in the queue of each part of the time.
fn largest_waits(seen: &Seen, gaps: &[Gap]) -> Vec<i64> {
    let mut waits = vec![Vec::new(); gaps.len() + 1];
    for sent in &seen.sent {
        let Some(wait) = sent.wait_ns else { continue };
        let at = sent.time_ns + seen.ahead();
        // A packet that waited in a gap has not waited in the queue alone.
        let was_held = gaps
            .iter()
            .any(|gap| seconds(seen, at) < gap.end_s.1 && seconds(seen, at + wait) > gap.start_s.1);
        if !was_held {
            waits[part(seen, gaps, sent)].push(wait);
        }
    }
    waits.into_iter().map(largest).collect()
}

/// The largest of waits, without few that are much larger: a report may be delayed alone, by a timer of the receiver.
fn largest(mut waits: Vec<i64>) -> i64 {
    if waits.is_empty() {
        return 0;
    }
    let place = waits.len() / FEW;
    let most = *waits.select_nth_unstable_by_key(place, |wait| Reverse(*wait)).1;
    waits.into_iter().filter(|wait| *wait as f64 <= MUCH * most as f64).max().unwrap_or(most)
}

impl Gap {
    /// True if a packet that is at the queue at one time, and waits at most for another, may be lost in it.
    fn takes(&self, at_s: f64, wait_s: f64) -> bool {
        let is_near = |time: f64| time >= self.start_s.0 - 0.001 && time <= self.end_s.1;
        let passes = at_s < self.start_s.0 && at_s + wait_s > self.end_s.1;
        let is_cut = at_s >= self.cut_start_s.0 && at_s <= self.cut_end_s.1;
        self.kept == Kept::Lost && (is_near(at_s) || is_near(at_s + wait_s) || passes || is_cut)
    }
}

/// The losses outside of gaps. `has_bursts`: the waits are those of bursts.
pub fn losses(seen: &Seen, gaps: &[Gap], has_bursts: bool) -> Losses {
    let largest = largest_waits(seen, gaps);
    let mut found = Losses::default();
    let mut number = 0;
    for (at, sent) in seen.sent.iter().enumerate() {
        let first = number;
        number += sent.segments;
        let most = largest[part(seen, gaps, sent)];
        let arrives = seconds(seen, sent.time_ns + seen.ahead());
        let is_in_gap = || gaps.iter().any(|gap| gap.takes(arrives, most as f64 / 1e9));
        if sent.is_lost != Some(true) || is_in_gap() {
            continue;
        }
        let near = seen.sent[at.saturating_sub(NEAR)..(at + NEAR / 4).min(seen.sent.len())].iter();
        let near = near.filter_map(|other| other.wait_ns).max().unwrap_or(0);
        if most > 2 * MS && near as f64 > FULL * most as f64 && !has_bursts {
            if found.full.is_empty() {
                found.wait_ns = most;
            }
            found.full.extend(first..number);
        } else {
            found.other.extend(first..number);
        }
    }
    found
}
