//! A connection captured at both ends: the fate of every packet, on one clock.

use crate::packets::Row;
use crate::why::cause::{Cause, Kind, Sure, counted, lasting, median};
use crate::why::exchange::{Exchange, FLOOR_NS, MS};
use crate::why::pieces::NEVER;
use crate::why::receiver::{Arrival, Receiver};
use crate::why::sender::{Sender, Silence};
use crate::why::silence::quartile;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};

/// Clocks that differ by more than this share are those of a path that changed.
const MOST_DRIFT: f64 = 2e-4;
/// Slices of time in which the least delay is looked for.
const SLICE_NS: i64 = 1_000 * MS;
const LEAST_IN_SLICE: usize = 5;
const MOST_SLICES: usize = 1_000;
/// A tail has at most this number of packets.
const MOST_TAIL: usize = 4;
const SLOWER: f64 = 2.2;
/// Pieces at the end of a flow among which one may be missing.
const MOST_OPEN: usize = 100_000;

/// The receiver's clock against the sender's.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    /// How far it is ahead at `since_ns`, in ns.
    pub offset_ns: i64,
    /// By how much it goes faster.
    pub drift: f64,
    /// Of the sender's clock.
    since_ns: i64,
}

impl Clocks {
    /// A time of the receiver's clock on the sender's.
    fn sender_time(&self, time_ns: i64) -> i64 {
        let time = time_ns - self.offset_ns;
        time - (self.drift * (time - self.since_ns) as f64) as i64
    }
}

/// A packet with data, and when it arrived by the sender's clock; [`NEVER`]: it did not.
#[derive(Clone, Copy, Debug)]
pub struct Fate {
    /// When it was sent.
    pub sent_ns: i64,
    /// When it arrived.
    pub came_ns: i64,
    /// The number of its first byte, and the one behind the last.
    pub range: (u64, u64),
}

/// Both captures of a connection.
pub struct Pair<'a> {
    /// The sender's.
    pub sender: Sender<'a>,
    /// The receiver's.
    pub receiver: Receiver<'a>,
    /// Their clocks.
    pub clocks: Clocks,
    /// Every packet with data, in order of sending.
    pub fates: Vec<Fate>,
    /// The first arrival of each piece of the sender's data.
    arrived: Vec<i64>,
    /// When acknowledgements were sent that did not arrive.
    acks_lost: Vec<i64>,
    /// The least delay from sender to receiver.
    pub least: i64,
}

/// Pairs of packets, each of the first list with one of the second, and those of the first without.
fn matched<K: std::hash::Hash + Eq>(
    sent: &[Row],
    came: &[Row],
    key: impl Fn(&Row) -> K,
) -> (Vec<(Row, Row)>, Vec<Row>) {
    let mut waiting = FxHashMap::<K, VecDeque<Row>>::default();
    for row in came {
        waiting.entry(key(row)).or_default().push_back(*row);
    }
    let (mut pairs, mut lost) = (Vec::new(), Vec::new());
    for row in sent {
        match waiting.get_mut(&key(row)).and_then(VecDeque::pop_front) {
            Some(other) => pairs.push((*row, other)),
            None => lost.push(*row),
        }
    }
    (pairs, lost)
}

fn data<'r>(exchange: &'r Exchange<'_>) -> impl Iterator<Item = Row> + 'r {
    exchange.flow.packets.rows().filter(|row| exchange.is_data(row))
}

fn tsval(row: &Row) -> u32 {
    row.timestamps.map_or(0, |(tsval, _)| tsval)
}

/// The clocks, the packets and their fates by two captures together.
struct Matched {
    clocks: Clocks,
    fates: Vec<Fate>,
    arrived: Vec<i64>,
    acks_lost: Vec<i64>,
    least: i64,
}

impl Matched {
    fn new(sender: &Sender<'_>, receiver: &Receiver<'_>) -> Option<Matched> {
        let (here, there) = (&sender.exchange, &receiver.exchange);
        let (sent, came): (Vec<Row>, Vec<Row>) = (data(here).collect(), data(there).collect());
        let (pairs, lost) = matched(&sent, &came, |row| (row.seq, tsval(row)));
        let backs = |exchange: &Exchange<'_>| -> Vec<Row> {
            exchange.flow.packets.rows().filter(|row| exchange.is_ack(row)).collect()
        };
        let (back, acks_lost) =
            matched(&backs(there), &backs(here), |row| (row.ack, row.timestamps, row.window, row.flags));
        let ahead: Vec<(i64, i64)> =
            pairs.iter().map(|(sent, came)| (sent.time_ns, came.time_ns - sent.time_ns)).collect();
        let behind: Vec<(i64, i64)> =
            back.iter().map(|(sent, came)| (came.time_ns, came.time_ns - sent.time_ns)).collect();
        let clocks = clocks(&ahead, &behind)?;
        let mut fates: Vec<Fate> = pairs
            .iter()
            .map(|(sent, came)| (sent, clocks.sender_time(came.time_ns)))
            .chain(lost.iter().map(|row| (row, merged(row, &came, &clocks))))
            .map(|(row, came_ns)| Fate {
                sent_ns: row.time_ns,
                came_ns,
                range: (row.seq, row.seq + u64::from(row.length)),
            })
            .collect();
        fates.sort_by_key(|fate| fate.sent_ns);
        let mut arrived = vec![NEVER; sender.sendings.pieces.len()];
        for fate in &fates {
            let range =
                sender.sendings.pieces.place(fate.range.0)..sender.sendings.pieces.place(fate.range.1);
            for time in arrived.get_mut(range).unwrap_or(&mut []) {
                *time = fate.came_ns.min(*time);
            }
        }
        let acks_lost = acks_lost.iter().map(|row| clocks.sender_time(row.time_ns)).collect();
        let least = fates
            .iter()
            .filter(|fate| fate.came_ns != NEVER)
            .map(|fate| fate.came_ns - fate.sent_ns)
            .min()?;
        Some(Matched { clocks, fates, arrived, acks_lost, least })
    }
}

impl<'a> Pair<'a> {
    /// Both captures; the sender's alone if too few packets are in both of them.
    pub fn new(sender: Sender<'a>, receiver: Receiver<'a>) -> Result<Pair<'a>, Box<Sender<'a>>> {
        match Matched::new(&sender, &receiver) {
            Some(Matched { clocks, fates, arrived, acks_lost, least }) => {
                Ok(Pair { sender, receiver, clocks, fates, arrived, acks_lost, least })
            }
            None => Err(Box::new(sender)),
        }
    }

    /// Packets that did not arrive, and all, up to the last one that arrived: later ones may be under way.
    pub fn lost(&self) -> (usize, usize) {
        let last = self.fates.iter().rposition(|fate| fate.came_ns != NEVER).unwrap_or(0);
        let upto = &self.fates[..=last.min(self.fates.len().saturating_sub(1))];
        (upto.iter().filter(|fate| fate.came_ns == NEVER).count(), upto.len())
    }

    /// Acknowledgements that did not arrive.
    pub fn acks_lost(&self) -> usize {
        self.acks_lost.len()
    }

    /// The stalls of the receiver by the sender's clock, with their causes.
    pub fn stalls(&self) -> Vec<(Silence, Vec<Cause>)> {
        let limit = FLOOR_NS.max(self.sender.exchange.base());
        let fresh = self.receiver.came.iter().filter(|came| came.arrival != Arrival::Again);
        let times: Vec<i64> = fresh.map(|came| self.clocks.sender_time(came.time_ns)).collect();
        let mut found = Vec::new();
        for gap in times.windows(2).filter(|gap| gap[1] - gap[0] > limit) {
            let start_ns = self.waiting_since(gap[0], gap[1]);
            let silence = Silence { start_ns, end_ns: gap[1], is_cut: false };
            if gap[1] - start_ns > limit {
                found.push((silence, self.causes(&silence)));
            }
        }
        found.extend(self.cut_off(times.last().copied(), limit));
        found
    }

    /// A stall that lasts to the end of the sender's capture.
    fn cut_off(&self, last: Option<i64>, limit: i64) -> Option<(Silence, Vec<Cause>)> {
        let end_ns = self.sender.exchange.flow.packets.span()?.1;
        let start_ns = self.waiting_since(last?, end_ns);
        let is_missing = self.arrived.iter().rev().take(MOST_OPEN).any(|time| *time == NEVER);
        let silence = Silence { start_ns, end_ns, is_cut: true };
        (is_missing && end_ns - start_ns > limit).then(|| (silence, self.causes(&silence)))
    }

    /// When data began to wait that had not arrived: the begin of a gap, or the first sending in it.
    fn waiting_since(&self, start: i64, end: i64) -> i64 {
        let pieces = &self.sender.sendings.pieces;
        let from = pieces.partition_point(|piece| piece.told_ns <= start);
        let upto = pieces.partition_point(|piece| piece.sent_ns <= start);
        let missing = (from..upto).any(|at| self.arrived[at] > start + 1);
        let closed = self
            .sender
            .closed
            .iter()
            .any(|(open, shut)| *open <= start + self.sender.exchange.base() && *shut > start);
        if missing || closed {
            return start;
        }
        pieces.get(upto).map_or(end, |piece| piece.sent_ns.max(start))
    }

    fn causes(&self, silence: &Silence) -> Vec<Cause> {
        let (start, end) = (silence.start_ns, silence.end_ns);
        let length = end - start;
        let closed: i64 =
            self.sender.closed.iter().map(|(open, shut)| (end.min(*shut) - start.max(*open)).max(0)).sum();
        if closed * 2 > length {
            let said = format!("the receiver offered no room for {}", lasting(closed));
            return vec![Cause::new(Kind::ZeroWindow, Sure::Certain, said)];
        }
        let in_span = self.span(start - 2 * self.least - 20 * MS, end - self.least / 2);
        let lost: Vec<&Fate> = in_span.iter().filter(|fate| fate.came_ns == NEVER).collect();
        let held = in_span.iter().filter(|fate| {
            fate.came_ns != NEVER
                && fate.came_ns >= end - MS
                && fate.sent_ns < start + self.least
                && fate.came_ns - fate.sent_ns > self.least + length * 2 / 5
        });
        let held = held.count();
        let acks = self.acks_lost.iter().filter(|time| **time > start - 100 * MS && **time < end).count();
        if acks > 0 && lost.is_empty() && held == 0 {
            let said = format!(
                "{} sent by the receiver did not arrive, and all data did",
                counted(acks, "acknowledgement")
            );
            return vec![Cause::new(Kind::AcksLost, Sure::Certain, said)];
        }
        let longer = self.longer(silence, lost.is_empty());
        let lost_in_it = lost.iter().filter(|fate| fate.sent_ns > start - self.least).count();
        if held > 0 && held >= lost_in_it {
            let said = format!("{} sent before or in it arrived at its end", counted(held, "packet"));
            return vec![longer.unwrap_or_else(|| Cause::new(Kind::PathHeld, Sure::Certain, said))];
        }
        let main = self.losses(silence, &lost, acks);
        longer.into_iter().chain([main]).collect()
    }

    fn span(&self, from: i64, to: i64) -> &[Fate] {
        let first = self.fates.partition_point(|fate| fate.sent_ns <= from);
        let last = self.fates.partition_point(|fate| fate.sent_ns < to);
        self.fates.get(first..last.max(first)).unwrap_or(&[])
    }

    /// The delay after it is longer than before, or packets come further apart. `is_whole`: nothing was lost.
    fn longer(&self, silence: &Silence, is_whole: bool) -> Option<Cause> {
        let (start, end) = (silence.start_ns, silence.end_ns);
        let length = end - start;
        let delays = |from, to| -> Vec<i64> {
            self.span(from, to)
                .iter()
                .filter(|fate| fate.came_ns != NEVER)
                .map(|fate| fate.came_ns - fate.sent_ns)
                .collect()
        };
        let spacing = |from, to| {
            let times: Vec<i64> = self
                .span(from, to)
                .iter()
                .filter(|fate| fate.came_ns != NEVER)
                .map(|fate| fate.came_ns)
                .collect();
            quartile(times.windows(2).map(|pair| (pair[1] - pair[0]).max(0) as f64).collect())
        };
        let usual = median(delays(start - 2_000 * MS, start - self.least)).unwrap_or(self.least);
        let later = delays(end, end + 1_200 * MS).into_iter().min();
        let ended = |fate: &&Fate| fate.came_ns >= end - MS && fate.came_ns <= end + MS;
        let ended =
            self.fates.iter().filter(ended).map(|fate| fate.came_ns - fate.sent_ns).min().unwrap_or(0);
        // As long as before it or as behind it: no packet waited.
        let is_same = |now: &i64| *now > self.least + 100 * MS && (ended - now).abs() < now / 8 + 20 * MS;
        if is_whole && let Some(now) = [Some(usual), later].into_iter().flatten().find(is_same) {
            let said = format!(
                "packets took {} instead of {}, and what was sent in one round trip came after a pause",
                lasting(now),
                lasting(self.least)
            );
            return Some(Cause::new(Kind::DelayStep, Sure::Certain, said));
        }
        let later = later?;
        if later - usual < (length * 7 / 20).max(100 * MS) {
            return None;
        }
        let near = spacing(start - 1_500 * MS, start).zip(spacing(end + 50 * MS, end + 2_300 * MS));
        if let Some((near, far)) = near.filter(|(near, far)| *far > SLOWER * near) {
            return Some(Cause::new(
                Kind::SlowerPath,
                Sure::Likely,
                format!("packets arrived {:.1} times further apart after it", far / near),
            ));
        }
        let settled = delays(end + 1_200 * MS, end + 4_000 * MS).into_iter().min();
        let falls = settled.is_some_and(|settled| settled < usual + (later - usual) / 2);
        let said = format!("packets took {} before and {} at least after it", lasting(usual), lasting(later));
        Some(Cause::new(if falls { Kind::DelaySpike } else { Kind::DelayStep }, Sure::Certain, said))
    }

    fn losses(&self, silence: &Silence, lost: &[&Fate], acks: usize) -> Cause {
        let (start, end) = (silence.start_ns, silence.end_ns);
        if lost.is_empty() {
            return if acks > 0 {
                let said = format!("{} did not arrive", counted(acks, "acknowledgement"));
                Cause::new(Kind::AcksLost, Sure::Likely, said)
            } else {
                Cause::new(Kind::PathHeld, Sure::Possible, "no packet was lost, and none came")
            };
        }
        let pieces = &self.sender.sendings.pieces;
        if acks == 0
            && let Some(cause) = self.tail(start, lost)
        {
            return cause;
        }
        let (lo, hi, run) = self.gap(silence);
        if hi * 2 > end - start - 2 * self.least {
            let said = format!(
                "{} in a row did not arrive; the path was silent for {} to {}",
                counted(run, "packet"),
                lasting(lo),
                lasting(hi)
            );
            return Cause::new(Kind::PathLost, Sure::Certain, said);
        }
        let again = lost.iter().filter(|fate| fate.sent_ns > start - 2 * self.least).filter(|fate| {
            let piece = pieces.get(pieces.place(fate.range.0));
            piece.is_some_and(|piece| piece.again_ns <= fate.sent_ns)
        });
        let again = again.count();
        let said = format!("{} did not arrive", counted(lost.len(), "packet"));
        let first = lost.first().map_or(start, |fate| fate.sent_ns);
        if self.is_full(first, start) {
            return Cause::new(Kind::QueueFull, Sure::Likely, said + ", at the largest delay of the flow");
        }
        if again > 0 {
            return Cause::new(
                Kind::RetransmissionLost,
                Sure::Certain,
                format!("{said}, {again} of them sent again"),
            );
        }
        Cause::new(Kind::LossBurst, Sure::Certain, said)
    }

    /// The last data before a pause was lost.
    fn tail(&self, start: i64, lost: &[&Fate]) -> Option<Cause> {
        let pieces = &self.sender.sendings.pieces;
        let before = pieces.partition_point(|piece| piece.sent_ns < start).checked_sub(1);
        let last_new = before.and_then(|at| pieces.get(at)).map_or(start, |piece| piece.sent_ns);
        let mut ranges: Vec<_> = lost.iter().map(|fate| fate.range.0).collect();
        ranges.sort_unstable();
        ranges.dedup();
        let is_tail = (start - last_new) * 10 > self.least * 8 && ranges.len() <= MOST_TAIL;
        let said = format!("the last {} before a pause did not arrive", counted(ranges.len(), "packet"));
        is_tail.then(|| Cause::new(Kind::TailLoss, Sure::Certain, said))
    }

    /// The delay before the first loss is within a tenth of the largest one before the stall.
    fn is_full(&self, first: i64, start: i64) -> bool {
        let most = |from, to| {
            let came = self.span(from, to).iter().filter(|fate| fate.came_ns != NEVER);
            came.map(|fate| fate.came_ns - fate.sent_ns - self.least).max().unwrap_or(0)
        };
        let (near, all) = (most(first - 300 * MS, first + MS), most(i64::MIN, start));
        all > (10 * MS).max(self.least / 4) && near * 10 > all * 9
    }

    /// The longest span, in the order of sending, in which all was lost: bounds, and packets.
    fn gap(&self, silence: &Silence) -> (i64, i64, usize) {
        let mut best = (0, 0, 0);
        let (mut arrived, mut run) = (None::<i64>, Vec::new());
        for fate in self.span(silence.start_ns - 1_000 * MS, silence.end_ns) {
            if fate.came_ns == NEVER {
                run.push(fate.sent_ns);
                continue;
            }
            if let (Some(first), Some(last), Some(before)) = (run.first(), run.last(), arrived)
                && fate.sent_ns - before > best.1
                && fate.sent_ns > silence.start_ns - self.least
            {
                best = (last - first, fate.sent_ns - before, run.len());
            }
            arrived = Some(fate.sent_ns);
            run.clear();
        }
        if let (Some(first), Some(last), Some(before), true) =
            (run.first(), run.last(), arrived, silence.is_cut)
        {
            best = (last - first, silence.end_ns - before, run.len());
        }
        best
    }
}

/// When a packet arrived as a part of a larger one, as cards merge them; [`NEVER`]: it did not.
fn merged(row: &Row, came: &[Row], clocks: &Clocks) -> i64 {
    let earliest = row.time_ns + clocks.offset_ns - 1_000 * MS;
    let from = came.partition_point(|other| other.time_ns < earliest);
    let near = came[from..].iter().take_while(|other| other.time_ns < earliest + 6_000 * MS);
    let mut holding =
        near.filter(|other| other.seq < row.end && row.seq < other.end && tsval(other) == tsval(row));
    let is_merged = |other: &&Row| other.seq != row.seq || other.end != row.end;
    holding.find(is_merged).map_or(NEVER, |other| clocks.sender_time(other.time_ns))
}

/// The receiver's clock by the least delays of both ways: sending or arrival by the sender's clock, and the difference.
fn clocks(ahead: &[(i64, i64)], behind: &[(i64, i64)]) -> Option<Clocks> {
    let since_ns = ahead.first()?.0;
    let spread = |list: &[(i64, i64)]| {
        let mut values: Vec<i64> = list.iter().map(|(_, value)| *value).collect();
        values.sort_unstable();
        Some(values.get(values.len() * 3 / 4)? - values.first()?)
    };
    let (way, sign) = if spread(ahead)? <= spread(behind)? { (ahead, 1) } else { (behind, -1) };
    // Of each slice the least difference, where it was.
    let mut least = BTreeMap::<i64, (usize, i64, i64)>::new();
    for (time, value) in way {
        let slice = least.entry((time - since_ns) / SLICE_NS).or_insert((0, *time, i64::MAX));
        slice.0 += 1;
        if *value < slice.2 {
            (slice.1, slice.2) = (*time, *value);
        }
    }
    let enough = least.into_values().filter(|(count, ..)| *count >= LEAST_IN_SLICE);
    let mut low: Vec<(i64, i64)> = enough.map(|(_, time, value)| (time - since_ns, sign * value)).collect();
    low.truncate(MOST_SLICES);
    // Slices in which packets waited are above the line of the others.
    let first = slope(&low);
    low.sort_by_key(|(time, value)| sign * (value - (first * *time as f64) as i64));
    low.truncate((low.len() / 2).max(4));
    let drift = Some(slope(&low)).filter(|drift| drift.abs() < MOST_DRIFT).unwrap_or(0.0);
    let straight =
        |(time, value): &(i64, i64), sign: f64| *value - (sign * drift * (time - since_ns) as f64) as i64;
    let forth = ahead.iter().map(|pair| straight(pair, 1.0)).min()?;
    let back = behind.iter().map(|pair| straight(pair, -1.0)).min()?;
    Some(Clocks { offset_ns: (forth - back) / 2, drift, since_ns })
}

/// The median slope of the lines through each two points; 0 without two.
fn slope(points: &[(i64, i64)]) -> f64 {
    let mut slopes = Vec::new();
    for (at, one) in points.iter().enumerate() {
        let others = points[..at].iter().filter(|other| other.0 != one.0);
        slopes.extend(others.map(|other| (one.1 - other.1) as f64 / (one.0 - other.0) as f64));
    }
    slopes.sort_by(f64::total_cmp);
    slopes.get(slopes.len() / 2).copied().unwrap_or(0.0)
}
