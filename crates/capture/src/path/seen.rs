//! The packets of one flow as a capture shows them, in one form for captures at the sender, at the receiver and at both.
//!
//! Times are those of the sender's clock. How the round trip is split is unknown, so both ways take half of it.

use crate::why::exchange::{Exchange, MS};
use crate::why::pair::Pair;
use crate::why::pieces::NEVER;
use crate::why::receiver::Receiver;
use crate::why::sender::{Sender, Silence};
use crate::why::{Cause, silence};

/// A larger packet is several that a card joined, in a network with Ethernet's frames.
const LARGEST_SEGMENT: u32 = 1460;
/// Lost packets in a row that are a gap without a stall, if they were sent over some time.
pub const LEAST_RUN: usize = 8;

/// A packet with data.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When it was sent.
    pub time_ns: i64,
    /// It did not arrive; `None`: unknown.
    pub is_lost: Option<bool>,
    /// How long it waited in queues; `None`: unknown.
    pub wait_ns: Option<i64>,
    /// Segments in it: more than one where a card splits or joins them.
    pub segments: usize,
}

/// New data that arrived at one time.
#[derive(Clone, Copy, Debug)]
pub struct Came {
    /// When.
    pub time_ns: i64,
    /// Bytes of payload.
    pub bytes: u64,
    /// How long the newest of them waited in queues; `None`: unknown.
    pub wait_ns: Option<i64>,
}

/// The packets of a flow.
pub struct Seen {
    /// The least round trip of a packet with data, its own transmission included.
    pub least: i64,
    /// The least round trip of any packet.
    pub base: i64,
    /// Both SYNs are in it: small packets show the round trip.
    pub is_opened: bool,
    /// All packets with data, in order of sending.
    pub sent: Vec<Sent>,
    /// Arrivals of new data, in order of time.
    pub came: Vec<Came>,
    /// Silences with their causes.
    pub stalls: Vec<(Silence, Vec<Cause>)>,
    /// Times of timeouts; `None`: a receiver does not see them.
    pub timeouts: Option<Vec<i64>>,
    /// Usual bytes of a segment.
    pub segment: u64,
    /// Bytes of headers in front of them.
    pub headers: u64,
    /// Packets before the first report.
    pub first_window: u64,
    /// The last packet of the flow.
    pub end_ns: i64,
    /// `None`: waits are of both ways. `Some`: they are of the way to the receiver, and the round trip grows by this time
    /// where it becomes longer, if that is known.
    pub back_grows: Option<Option<i64>>,
    /// From one time to another the round trip is longer by so much.
    pub longer: Option<(i64, i64, i64)>,
}

impl Seen {
    /// The way to the receiver.
    pub fn ahead(&self) -> i64 {
        self.base / 2
    }

    /// The first sending of data.
    pub fn origin(&self) -> i64 {
        self.sent.first().map_or(0, |sent| sent.time_ns)
    }

    /// True if nothing was under way at an arrival, and nothing was sent for a while behind its report.
    pub fn is_idle_behind(&self, arrival: i64) -> bool {
        let longer = self.longer.filter(|(from, to, _)| (*from..*to).contains(&arrival));
        let more = longer.map_or(0, |(_, _, more)| more);
        let back = self.base - self.ahead() + more;
        let from = arrival - self.ahead() - more + 1;
        let to = arrival + back + (self.base / 2).max(50 * MS);
        let next = self.sent.partition_point(|sent| sent.time_ns < from);
        self.sent.get(next).is_none_or(|sent| sent.time_ns > to)
    }

    fn empty(exchange: &Exchange<'_>) -> Seen {
        Seen {
            least: 0,
            base: exchange.base(),
            is_opened: exchange.flow.opened.iter().all(Option::is_some),
            sent: Vec::new(),
            came: Vec::new(),
            stalls: Vec::new(),
            timeouts: None,
            segment: usual_segment(exchange),
            headers: if exchange.ticks[0].is_some() { 52 } else { 40 },
            first_window: 0,
            end_ns: exchange.flow.packets.span().map_or(0, |(_, last)| last),
            back_grows: None,
            longer: None,
        }
    }
}

/// The most frequent bytes of a packet with data; where cards join segments, what the SYNs allow.
fn usual_segment(exchange: &Exchange<'_>) -> u64 {
    let mut counts = std::collections::BTreeMap::<u32, usize>::new();
    let rows = exchange.flow.packets.rows();
    for row in rows.filter(|row| exchange.is_data(row)) {
        *counts.entry(row.length).or_default() += 1;
    }
    let most = counts.iter().max_by_key(|(length, count)| (**count, **length));
    match most {
        Some((length, _)) if *length <= LARGEST_SEGMENT => u64::from(*length),
        _ => {
            let sizes = exchange.flow.opened.iter().flatten().filter_map(|opened| opened.mss);
            let stamps = if exchange.ticks[0].is_some() { 12 } else { 0 };
            u64::from(sizes.min().unwrap_or(1460).saturating_sub(stamps)).max(1)
        }
    }
}

/// Arrivals of the same time are one.
fn together(mut pieces: Vec<(i64, u64, Option<i64>)>) -> Vec<Came> {
    pieces.sort_by_key(|(time, ..)| *time);
    let mut all: Vec<Came> = Vec::with_capacity(pieces.len());
    for (time_ns, bytes, wait_ns) in pieces {
        match all.last_mut() {
            Some(last) if last.time_ns == time_ns => {
                last.bytes += bytes;
                last.wait_ns = match (last.wait_ns, wait_ns) {
                    (Some(one), Some(other)) => Some(one.min(other)),
                    (one, other) => one.or(other),
                };
            }
            _ => all.push(Came { time_ns, bytes, wait_ns }),
        }
    }
    all
}

/// By how much the round trip is longer in the second where it is longest at least.
fn grown(sender: &Sender<'_>, least: i64) -> Option<i64> {
    let mut slices = std::collections::BTreeMap::<i64, i64>::new();
    for (time, rtt) in sender.rtts.iter() {
        let slice = slices.entry(time / 1_000_000_000).or_insert(rtt);
        *slice = (*slice).min(rtt);
    }
    slices.into_values().max().map(|rtt| rtt - least)
}

/// The part that the sender's capture gives of both.
fn of_sender(sender: &Sender<'_>) -> Option<Seen> {
    let mut seen = Seen::empty(&sender.exchange);
    let pieces = &sender.sendings.pieces;
    let once = pieces.iter().filter(|piece| piece.times == 1 && piece.told_ns != NEVER);
    seen.least = once.map(|piece| piece.told_ns - piece.sent_ns).min()?;
    seen.base = seen.base.clamp(1, seen.least.max(1));
    let resends = sender.resends.iter();
    let timeouts = resends.filter(|resend| resend.kind == crate::why::sender::Kind::Timeout);
    seen.timeouts = Some(timeouts.map(|resend| resend.time_ns).collect());
    let told = pieces.iter().map(|piece| piece.told_ns).min().unwrap_or(NEVER);
    let origin = pieces.first()?.sent_ns;
    let before = pieces.partition_point(|piece| piece.sent_ns < told.min(origin + seen.base));
    seen.first_window = before as u64;
    Some(seen)
}

/// The packets of two captures.
pub fn at_both(pair: &Pair<'_>) -> Option<Seen> {
    let sender = &pair.sender;
    let mut seen = of_sender(sender)?;
    let shift = seen.ahead() - pair.least.min(seen.ahead());
    let fates = pair.fates.iter();
    let segment = seen.segment;
    // Packets that were sent behind the last one that arrived may be under way.
    let last = pair.fates.iter().rev().find(|fate| fate.came_ns != NEVER)?.sent_ns;
    seen.sent = fates
        .map(|fate| Sent {
            time_ns: fate.sent_ns,
            is_lost: (fate.sent_ns <= last).then_some(fate.came_ns == NEVER),
            wait_ns: (fate.came_ns != NEVER).then(|| fate.came_ns - fate.sent_ns - pair.least),
            segments: (fate.range.1 - fate.range.0).div_ceil(segment) as usize,
        })
        .collect();
    let mut first = vec![(NEVER, 0); sender.sendings.pieces.len()];
    for fate in pair.fates.iter().filter(|fate| fate.came_ns != NEVER) {
        let range = sender.sendings.pieces.place(fate.range.0)..sender.sendings.pieces.place(fate.range.1);
        for piece in first.get_mut(range).unwrap_or(&mut []).iter_mut() {
            if fate.came_ns < piece.0 {
                *piece = (fate.came_ns, fate.came_ns - fate.sent_ns - pair.least);
            }
        }
    }
    let pieces = sender.sendings.pieces.iter().zip(&first).filter(|(_, came)| came.0 != NEVER);
    seen.came = together(pieces.map(|(piece, came)| (came.0 + shift, piece.bytes(), Some(came.1))).collect());
    seen.stalls = pair.stalls();
    seen.back_grows = Some(grown(sender, seen.least));
    for (silence, _) in &mut seen.stalls {
        silence.start_ns += shift;
        silence.end_ns += shift;
    }
    Some(seen)
}

/// The packets of a capture at the sender or between the ends.
pub fn at_sender(sender: &Sender<'_>) -> Option<Seen> {
    let mut seen = of_sender(sender)?;
    let exchange = &sender.exchange;
    let back = seen.base - seen.ahead();
    let (least, segment) = (seen.least, seen.segment);
    let pieces = &sender.sendings.pieces;
    seen.sent = exchange
        .flow
        .packets
        .rows()
        .filter(|row| exchange.is_data(row))
        .map(|row| {
            let piece = pieces.get(pieces.place(row.seq));
            let segments = u64::from(row.length).div_ceil(segment) as usize;
            let Some(piece) = piece.filter(|piece| piece.start <= row.seq) else {
                return Sent { time_ns: row.time_ns, is_lost: None, wait_ns: None, segments };
            };
            let is_first = row.time_ns == piece.sent_ns;
            let is_told = piece.told_ns != NEVER;
            let is_lost = if is_first && piece.times > 1 {
                Some(!piece.first_arrived(sender.least))
            } else if row.time_ns == piece.last_ns {
                is_told.then_some(false)
            } else {
                // Sent again and again: the report is about the last sending, unless it came too early for that.
                Some(!(is_told && piece.told_ns < piece.last_ns.saturating_add(least * 19 / 20)))
            };
            let wait_ns = (piece.times == 1 && is_told).then(|| piece.told_ns - piece.sent_ns - least);
            Sent { time_ns: row.time_ns, is_lost, wait_ns, segments }
        })
        .collect();
    let told = pieces.iter().filter(|piece| piece.told_ns != NEVER);
    seen.came = together(
        told.map(|piece| {
            let wait = (piece.times == 1).then(|| piece.told_ns - piece.sent_ns - least);
            (piece.told_ns - back, piece.bytes(), wait)
        })
        .collect(),
    );
    seen.stalls = sender
        .silences
        .iter()
        .map(|each| {
            let mut moved = *each;
            moved.start_ns -= back;
            moved.end_ns -= back;
            (moved, silence::causes(sender, *each))
        })
        .collect();
    Some(seen)
}

/// The packets of a capture at the receiver.
pub fn at_receiver(receiver: &Receiver<'_>) -> Option<Seen> {
    let exchange = &receiver.exchange;
    let rows: Vec<_> = exchange.flow.packets.rows().filter(|row| exchange.is_data(row)).collect();
    let mut seen = Seen::empty(exchange);
    let segment = seen.segment;
    seen.least = seen.base;
    let ahead = seen.ahead();
    let mut highest = rows.first()?.seq;
    let mut pieces = Vec::new();
    for (row, came) in rows.iter().zip(&receiver.came) {
        let sent_ns = row.time_ns - ahead - came.late_ns().unwrap_or(0);
        let missing = row.seq.saturating_sub(highest).div_ceil(segment).min(100_000);
        // Few were sent right behind the packet in front of the hole, many over the time up to the next one.
        let before = seen.sent.last().map_or(sent_ns, |sent| sent.time_ns);
        let step =
            if missing < LEAST_RUN as u64 { 0 } else { (sent_ns - before).max(0) / (missing as i64 + 1) };
        for number in 1..=missing as i64 {
            let time_ns = before + number * step;
            seen.sent.push(Sent { time_ns, is_lost: Some(true), wait_ns: None, segments: 1 });
        }
        highest = highest.max(row.end);
        let segments = u64::from(row.length).div_ceil(segment) as usize;
        seen.sent.push(Sent { time_ns: sent_ns, is_lost: Some(false), wait_ns: came.late_ns(), segments });
        if came.arrival != crate::why::receiver::Arrival::Again {
            pieces.push((row.time_ns, u64::from(row.length), came.late_ns()));
        }
    }
    seen.first_window = 10;
    seen.came = together(pieces);
    seen.stalls = receiver.stalls();
    seen.back_grows = Some(None);
    Some(seen)
}
