//! A connection as its receiver sees it: arrivals, holes, and how late each packet is against the sender's clock.

use crate::why::cause::{Cause, Kind, Sure, counted, lasting, median};
use crate::why::exchange::{Exchange, FLOOR_NS, MS};
use crate::why::pieces::NEVER;
use crate::why::sender::Silence;
use crate::why::silence::quartile;

/// A flow with this number of pauses before is one of an application with pauses.
const PAUSES: usize = 3;
const PAUSE_NS: i64 = 250 * MS;
/// Packets behind a silence that are looked at.
const NEXT: usize = 60;
/// An arrival may fill a hole that is this many packets back.
const BACK: usize = 40;
const SLOWER: f64 = 2.2;
/// Bursts that show how long they usually are.
const LEAST_BURSTS: usize = 4;

/// An arrival by its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// The next bytes.
    Next,
    /// Bytes above a hole that it opens.
    Hole,
    /// Bytes that fill a hole.
    Fill,
    /// Bytes that were there.
    Again,
}

/// A packet with data that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Came {
    /// When.
    pub time_ns: i64,
    /// Its kind.
    pub arrival: Arrival,
    /// Bytes of payload.
    pub bytes: u32,
    /// How late it is against the earliest; [`NEVER`]: unknown.
    late_ns: i64,
}

impl Came {
    /// How late it is against the earliest, by the sender's timestamps; `None`: it has none.
    pub fn late_ns(&self) -> Option<i64> {
        (self.late_ns != NEVER).then_some(self.late_ns)
    }
}

/// The view of a receiver.
pub struct Receiver<'a> {
    /// The connection.
    pub exchange: Exchange<'a>,
    /// Arrivals, in order of time.
    pub came: Vec<Came>,
    /// Spans in which the window was closed.
    closed: Vec<(i64, i64)>,
}

/// Ranges of bytes that arrived above the first hole.
#[derive(Default)]
struct Ranges {
    next: u64,
    above: Vec<(u64, u64)>,
}

impl Ranges {
    /// Adds bytes; how many of them were there, and the highest before.
    fn add(&mut self, start: u64, end: u64) -> Arrival {
        if self.next == 0 {
            self.next = start;
        }
        let highest = self.above.last().map_or(self.next, |range| range.1);
        let held = |range: &(u64, u64)| range.0 <= start.max(self.next) && end <= range.1;
        if end <= self.next || self.above.iter().any(held) {
            return Arrival::Again;
        }
        let (mut start, mut end) = (start.max(self.next), end);
        let arrival = if start > highest {
            Arrival::Hole
        } else if end <= highest || start < highest && !self.above.is_empty() {
            Arrival::Fill
        } else {
            Arrival::Next
        };
        let first = self.above.partition_point(|range| range.1 < start);
        let last = self.above.partition_point(|range| range.0 <= end);
        for range in self.above.drain(first..last.max(first)) {
            (start, end) = (start.min(range.0), end.max(range.1));
        }
        if start <= self.next {
            self.next = end;
        } else {
            self.above.insert(first, (start, end));
        }
        arrival
    }
}

impl<'a> Receiver<'a> {
    /// The view of a connection's receiver.
    pub fn new(exchange: Exchange<'a>) -> Receiver<'a> {
        let mut made = Receiver { exchange, came: Vec::new(), closed: Vec::new() };
        let (mut ranges, mut base, mut closed) = (Ranges::default(), None::<u32>, None::<i64>);
        for row in exchange.flow.packets.rows() {
            if exchange.is_ack(&row) {
                match (closed, row.window == 0) {
                    (None, true) => closed = Some(row.time_ns),
                    (Some(start), false) => {
                        made.closed.push((start, row.time_ns));
                        closed = None;
                    }
                    _ => {}
                }
            }
            if !exchange.is_data(&row) {
                continue;
            }
            let late_ns = row.timestamps.zip(exchange.ticks[0]).map(|((tsval, _), tick)| {
                let base = *base.get_or_insert(tsval);
                row.time_ns - (f64::from(tsval.wrapping_sub(base).cast_signed()) * tick) as i64
            });
            let arrival = ranges.add(row.seq, row.seq + u64::from(row.length));
            let late_ns = late_ns.unwrap_or(NEVER);
            made.came.push(Came { time_ns: row.time_ns, arrival, bytes: row.length, late_ns });
        }
        let least = made.came.iter().filter_map(Came::late_ns).min().unwrap_or(0);
        for came in made.came.iter_mut().filter(|came| came.late_ns != NEVER) {
            came.late_ns -= least;
        }
        made
    }

    /// Packets that fill a hole and were sent no later than those behind it, by their timestamps.
    pub fn reordered(&self) -> usize {
        let mut opened = None::<Came>;
        let mut count = 0;
        for came in &self.came {
            match came.arrival {
                Arrival::Hole => opened = Some(*came),
                Arrival::Fill => {
                    let sent = |came: &Came| came.late_ns().map(|late| came.time_ns - late);
                    let pair = sent(came).zip(opened.as_ref().and_then(sent));
                    count += usize::from(pair.is_some_and(|(filled, opened)| filled <= opened));
                }
                _ => {}
            }
        }
        count
    }

    /// Silences longer than the limit of a stall in which new data were awaited, with their causes. Pauses of the
    /// application are none.
    pub fn stalls(&self) -> Vec<(Silence, Vec<Cause>)> {
        let limit = FLOOR_NS.max(self.exchange.base());
        let mut found = Vec::new();
        let mut before = None;
        for to in (0..self.came.len()).filter(|at| self.came[*at].arrival != Arrival::Again) {
            let Some(from) = before.replace(to) else { continue };
            let (start_ns, end_ns) = (self.came[from].time_ns, self.came[to].time_ns);
            if end_ns - start_ns <= limit {
                continue;
            }
            let causes = self.causes(from, to);
            if causes.first().is_some_and(|cause| cause.kind != Kind::ApplicationIdle) {
                found.push((Silence { start_ns, end_ns, is_cut: false }, causes));
            }
        }
        found
    }

    /// The causes of a silence between two arrivals.
    fn causes(&self, from: usize, to: usize) -> Vec<Cause> {
        let (start, end) = (self.came[from].time_ns, self.came[to].time_ns);
        let length = end - start;
        let closed: i64 =
            self.closed.iter().map(|(open, shut)| (end.min(*shut) - start.max(*open)).max(0)).sum();
        if closed * 2 > length {
            let said = format!("this end offered no room for {}", lasting(closed));
            return vec![Cause::new(Kind::ZeroWindow, Sure::Certain, said)];
        }
        if let Some(cause) = self.waited(from, to) {
            return vec![cause];
        }
        let dups: Vec<usize> = (from + 1..(to + 8).min(self.came.len()))
            .filter(|at| self.came[*at].arrival == Arrival::Again)
            .collect();
        if dups.first().is_some_and(|at| self.came[*at].time_ns <= end + self.exchange.base()) {
            let said = format!("{} came again: acknowledgements were lost", counted(dups.len(), "packet"));
            let other = "data that arrived were sent again, so acknowledgements alone may have been lost";
            return vec![
                Cause::new(Kind::PathLost, Sure::Possible, said),
                Cause::new(Kind::AcksLost, Sure::Possible, other),
            ];
        }
        self.after(from, to)
    }

    /// Packets that were sent before or early in the silence came at its end: they waited.
    fn waited(&self, from: usize, to: usize) -> Option<Cause> {
        let (start, end) = (self.came[from].time_ns, self.came[to].time_ns);
        let length = end - start;
        let late = self.came[to].late_ns()?;
        let before: Vec<i64> = self.span(start - 1000 * MS, start).filter_map(Came::late_ns).collect();
        let usual = median(before.clone()).unwrap_or(0);
        if usual > self.exchange.base() + 100 * MS && (late - usual).abs() < usual / 8 + 20 * MS {
            let said = format!(
                "packets had become {} later than the earliest, and what was sent in one round trip came after a pause",
                lasting(usual)
            );
            return Some(Cause::new(Kind::DelayStep, Sure::Likely, said));
        }
        if late - usual <= length * 2 / 5 && late <= length * 3 / 5 {
            return None;
        }
        let later: Vec<i64> = self.span(end + 400 * MS, end + 1600 * MS).filter_map(Came::late_ns).collect();
        let settled: Vec<i64> =
            self.span(end + 1600 * MS, end + 4000 * MS).filter_map(Came::late_ns).collect();
        let (near, far) =
            (self.spacing(start - 1500 * MS, start), self.spacing(end + 50 * MS, end + 2300 * MS));
        if let Some((near, far)) = near.zip(far).filter(|(near, far)| *far > SLOWER * near) {
            let said = format!("packets arrived {:.1} times further apart after it", far / near);
            return Some(Cause::new(Kind::SlowerPath, Sure::Likely, said));
        }
        let least = before.iter().min().copied().unwrap_or(0);
        if let Some(low) = later.iter().min().filter(|low| **low > length / 2 + least) {
            let said = format!("packets were {} later than before and stayed so", lasting(low - least));
            let falls = settled.iter().min().is_some_and(|settled| settled - least < (low - least) / 2);
            return Some(Cause::new(
                if falls { Kind::DelaySpike } else { Kind::DelayStep },
                Sure::Likely,
                said,
            ));
        }
        let said = format!("the first packet after it was {} late: it had waited", lasting(late - usual));
        Some(Cause::new(Kind::PathHeld, Sure::Certain, said))
    }

    /// The packets behind a silence were sent in it or later: losses, or a pause.
    fn after(&self, from: usize, to: usize) -> Vec<Cause> {
        let (start, end) = (self.came[from].time_ns, self.came[to].time_ns);
        let next = &self.came[to..self.came.len().min(to + NEXT)];
        let next: Vec<&Came> = next.iter().filter(|came| came.time_ns < end + 2000 * MS).collect();
        let filled = next.iter().filter(|came| came.arrival == Arrival::Fill).count();
        let opened =
            self.came[from.saturating_sub(BACK)..=from].iter().any(|came| came.arrival == Arrival::Hole);
        if filled > 0 && opened {
            let said = format!("{} before it were missing, and came after it", counted(filled, "packet"));
            return vec![
                Cause::new(Kind::RetransmissionLost, Sure::Possible, said.clone()),
                Cause::new(Kind::QueueFull, Sure::Possible, said),
            ];
        }
        let pauses = self.pauses(from);
        if self.came[to].arrival == Arrival::Hole {
            let slow = self.rate(start - 1500 * MS, start) < 0.5 * self.rate(i64::MIN, start);
            let said = "what came after it left a hole, which was filled later";
            let kind = if slow || pauses >= PAUSES { Kind::TailLoss } else { Kind::PathLost };
            return vec![Cause::new(kind, Sure::Likely, said)];
        }
        if let Some(cause) = self.rest_of_burst(from, to) {
            return vec![cause];
        }
        let burst_ns = (self.exchange.base().max(20 * MS)) * 3 / 5;
        let burst = self.came[to..].iter().take_while(|came| came.time_ns < end + burst_ns).count();
        // On a slow path fewer come in that time.
        let usual = self.spacing(i64::MIN, start).unwrap_or(burst_ns as f64 / 2.0).max(1.0);
        let many = ((burst_ns as f64 / usual) as usize).clamp(2, 4);
        if burst >= many || pauses >= PAUSES {
            let idle = Cause::new(
                Kind::ApplicationIdle,
                Sure::Possible,
                "the data after it came in one burst and in order",
            );
            return vec![
                idle,
                Cause::new(Kind::TailLoss, Sure::Possible, "one packet that was sent again looks the same"),
            ];
        }
        let said = "the data after it came in order, and were sent in it or later";
        vec![Cause::new(Kind::PathLost, Sure::Likely, said)]
    }

    /// The last packets of a burst came after it: the bursts before and after it are one, as long as the others.
    fn rest_of_burst(&self, from: usize, to: usize) -> Option<Cause> {
        let base = self.exchange.base();
        let pause = (base * 3 / 2 + 20 * MS).min(FLOOR_NS.max(base));
        let mut bursts: Vec<(usize, i64)> = Vec::new();
        for (at, came) in self.came.iter().enumerate() {
            let is_next =
                at.checked_sub(1).is_none_or(|before| came.time_ns - self.came[before].time_ns > pause);
            match bursts.last_mut() {
                Some((_, size)) if !is_next => *size += i64::from(came.bytes),
                _ => bursts.push((at, i64::from(came.bytes))),
            }
        }
        if bursts.len() < LEAST_BURSTS {
            return None;
        }
        let place = bursts.partition_point(|(at, _)| *at <= from);
        let after = bursts.get(place).filter(|(at, _)| *at == to)?.1;
        let before = bursts.get(place.checked_sub(1)?)?.1;
        let usual = median(bursts.into_iter().map(|(_, size)| size).collect())?;
        if after * 2 > usual || (before + after - usual).abs() * 10 > usual {
            return None;
        }
        let said = "what came after it is the rest of a burst: it or its first copy was lost";
        Some(Cause::new(Kind::TailLoss, Sure::Likely, said))
    }

    /// Pauses of the flow before, as an application with bursts has them.
    fn pauses(&self, from: usize) -> usize {
        self.came[..=from].windows(2).filter(|pair| pair[1].time_ns - pair[0].time_ns > PAUSE_NS).count()
    }

    fn span(&self, from: i64, to: i64) -> impl Iterator<Item = &Came> {
        let first = self.came.partition_point(|came| came.time_ns <= from);
        let last = self.came.partition_point(|came| came.time_ns <= to);
        self.came[first..last.max(first)].iter()
    }

    fn spacing(&self, from: i64, to: i64) -> Option<f64> {
        let times: Vec<i64> = self.span(from, to).map(|came| came.time_ns).collect();
        quartile(times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect())
    }

    /// Bytes in a second.
    fn rate(&self, from: i64, to: i64) -> f64 {
        let from = from.max(self.came.first().map_or(0, |came| came.time_ns));
        let bytes: u64 = self.span(from - 1, to).map(|came| u64::from(came.bytes)).sum();
        bytes as f64 / ((to - from).max(1) as f64 / 1e9)
    }
}
