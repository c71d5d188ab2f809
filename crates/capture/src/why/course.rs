//! A flow over time: its limits and delay spikes.

use crate::why::exchange::MS;
use crate::why::sender::{Flight, Kind, Sender};
use crate::why::silence::between;
use serde::Serialize;

/// The shortest slice of time that is given one limit.
const LEAST_SLICE_NS: i64 = 50 * MS;
/// The time is cut into at most as many slices.
const MOST_SLICES: i64 = 100_000;
/// A round trip above the usual one by this much is a spike.
const SPIKE_NS: i64 = 100 * MS;
/// Round trips before it by which a spike is found.
const BEFORE: usize = 50;

/// Shares of the time in which the flow was limited by something, 0 to 1.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize)]
pub struct Limits {
    /// Its receiver's window.
    pub receiver: f64,
    /// Its application had sent all it had.
    pub application: f64,
    /// The path: data waited in a queue.
    pub path: f64,
    /// Losses were being repaired.
    pub recovery: f64,
    /// Its own window or pacing.
    pub sender: f64,
}

/// A sudden rise of the round trip.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Spike {
    /// When, in s from the first packet of the capture.
    pub time_s: f64,
    /// The round trip before, in ns.
    pub before_ns: i64,
    /// The largest one, in ns.
    pub rtt_ns: i64,
    /// It in a sentence.
    pub sentence: String,
}

impl Sender<'_> {
    /// The limits of the flow, by shares of its time.
    pub fn limits(&self) -> Limits {
        let span = self.exchange.flow.packets.span();
        span.map_or_else(Limits::default, |(begin, end)| self.limits_between(begin, end))
    }

    /// The same between two times.
    pub fn limits_between(&self, begin: i64, end: i64) -> Limits {
        let slice = self.exchange.base().max(LEAST_SLICE_NS).max((end - begin) / MOST_SLICES);
        let queued = self.least + (2 * MS).max(self.least * 3 / 20);
        let mut counts = [0_usize; 5];
        let mut open = None;
        let (mut from, mut is_open) = (begin, self.is_open_at(begin));
        while from < end {
            let to = from + slice;
            let (mut samples, mut full) = (0, false);
            for flight in self.flights(from, to) {
                samples += 1;
                full |= flight.window != u64::MAX && flight.outstanding * 20 >= flight.window * 19;
            }
            let closed = self.closed.iter().any(|(open, shut)| *open < to && *shut > from);
            let first = self.resends.partition_point(|resend| resend.time_ns < from);
            let mut repairs = self.resends[first..].iter().take_while(|resend| resend.time_ns < to);
            let repaired = repairs.any(|resend| resend.kind != Kind::KeepAlive && !resend.is_needless);
            let rtts = between(&self.rtts, from, to);
            open = rtts.last().map(|(_, rtt)| rtt).or(open);
            let which = if full || closed {
                0
            } else if samples == 0 && !is_open {
                1
            } else if repaired {
                3
            } else if open.is_some_and(|rtt| rtt > queued) {
                2
            } else {
                4
            };
            counts[which] += 1;
            is_open = self.is_open_at(to);
            from = to;
        }
        let all = counts.iter().sum::<usize>().max(1) as f64;
        let [receiver, application, path, recovery, sender] = counts.map(|count| count as f64 / all);
        Limits { receiver, application, path, recovery, sender }
    }

    /// True if data are outstanding at a time.
    fn is_open_at(&self, time: i64) -> bool {
        let before = self.idle.partition_point(|(since, _)| *since <= time);
        let last = before.checked_sub(1).and_then(|at| self.idle.get(at));
        last.is_none_or(|(_, until)| until <= time)
    }

    /// The amounts outstanding behind the packets from one time up to another.
    fn flights(&self, from: i64, to: i64) -> impl Iterator<Item = Flight> + '_ {
        let first = self.flights.partition_point(|flight| flight.time_ns < from);
        self.flights.from(first).take_while(move |flight| flight.time_ns < to)
    }

    /// Sudden rises of the round trip, the largest first, at most `most`. `start_ns`: that of the capture.
    pub fn spikes(&self, most: usize, start_ns: i64) -> Vec<Spike> {
        let mut found: Vec<Spike> = Vec::new();
        let mut recent = std::collections::VecDeque::<i64>::with_capacity(BEFORE);
        let mut high: Option<Spike> = None;
        for (time, rtt) in self.rtts.iter() {
            let usual = recent.iter().min().copied();
            match (&mut high, usual) {
                (Some(spike), _) if rtt > spike.before_ns + SPIKE_NS => spike.rtt_ns = spike.rtt_ns.max(rtt),
                (Some(_), _) => found.extend(high.take()),
                (None, Some(usual))
                    if recent.len() >= 5 && recent.back().is_some_and(|last| rtt > last + SPIKE_NS) =>
                {
                    let before_ns = recent.back().copied().unwrap_or(usual);
                    let (time_s, rtt_ns) = ((time - start_ns) as f64 / 1e9, rtt);
                    high = Some(Spike { time_s, before_ns, rtt_ns, sentence: String::new() });
                    continue;
                }
                _ => {}
            }
            if recent.len() == BEFORE {
                recent.pop_front();
            }
            recent.push_back(rtt);
        }
        found.extend(high);
        found.sort_by_key(|spike| std::cmp::Reverse(spike.rtt_ns - spike.before_ns));
        found.truncate(most);
        found
    }
}
