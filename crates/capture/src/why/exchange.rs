//! A connection as data one way and acknowledgements back, and where it was captured.

use crate::flows::Flow;
use crate::packets::{Row, Way};
use crate::tcp::{ACK, SYN};
use std::collections::VecDeque;

/// Nanoseconds of a millisecond.
pub const MS: i64 = 1_000_000;
/// A stall lasts longer than this, as in a run (docs/metrics.md).
pub const FLOOR_NS: i64 = 200 * MS;
/// Shares of the round trip between the capture and the receiver, from which on it is at the sender, and up to which it
/// is at the receiver.
const AT_SENDER: f64 = 0.8;
const AT_RECEIVER: f64 = 0.2;
/// Ticks of a second that stacks use for timestamps.
const USUAL_TICKS: [f64; 5] = [1000.0, 100.0, 250.0, 1e6, 300.0];
/// A measured clock within this share of a usual one is the usual one.
const TICK_TOLERANCE: f64 = 0.05;
/// Packets by whose direction flags the place is known.
const SURE_FLAGS: u32 = 4;

/// Where a capture was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// At the sender of the data.
    Sender,
    /// At their receiver.
    Receiver,
    /// Between them.
    Middle,
}

/// One way of a connection's data.
#[derive(Clone, Copy)]
pub struct Exchange<'a> {
    /// The connection.
    pub flow: &'a Flow,
    /// The way of its data.
    pub way: Way,
    /// Round trips from the capture to the receiver, and to the sender; `None`: none was seen.
    pub trips: [Option<i64>; 2],
    /// Where it was captured.
    pub place: Place,
    /// The share of the round trip that is between the capture and the receiver.
    pub share: f64,
    /// True if flags of the file name the place.
    pub is_flagged: bool,
    /// The time of a tick of the sender's timestamps, in ns, and of the receiver's.
    pub ticks: [Option<f64>; 2],
    /// Its packets of data, and those back.
    pub counts: [usize; 2],
}

impl<'a> Exchange<'a> {
    /// The way with more data of a connection.
    pub fn new(flow: &'a Flow) -> Exchange<'a> {
        let bytes = flow.packets.bytes();
        let way = usize::from(bytes[1] > bytes[0]);
        let (counts, ticks) = (flow.packets.counts(), ticks(flow));
        let mut made = Exchange {
            flow,
            way,
            trips: [None; 2],
            place: Place::Middle,
            share: 0.5,
            is_flagged: false,
            ticks: [ticks[way], ticks[1 - way]],
            counts: [counts[way], counts[1 - way]],
        };
        made.find_place();
        made
    }

    /// The round trip of the whole path.
    pub fn base(&self) -> i64 {
        self.trips.iter().flatten().sum()
    }

    /// True for a packet with data.
    pub fn is_data(&self, row: &Row) -> bool {
        row.way == self.way && row.length > 0 && !row.has(SYN)
    }

    /// True for a packet that acknowledges data.
    pub fn is_ack(&self, row: &Row) -> bool {
        row.way != self.way && row.has(ACK)
    }

    /// The window that a packet back offers, in bytes; `None`: its scale is unknown.
    pub fn window(&self, row: &Row) -> Option<u64> {
        if row.window == 0 || row.has(SYN) {
            return Some(u64::from(row.window));
        }
        self.flow.scale(1 - self.way).map(|shift| u64::from(row.window) << shift)
    }

    fn find_place(&mut self) {
        self.trips = [self.trip_to_receiver(), self.trip_to_sender()];
        let flags = self.flow.sent[self.way];
        if flags[0] + flags[1] >= SURE_FLAGS && (flags[0] == 0 || flags[1] == 0) {
            self.is_flagged = true;
            self.place = if flags[1] > 0 { Place::Sender } else { Place::Receiver };
        }
        if let [Some(ahead), Some(behind)] = self.trips
            && ahead + behind > 0
        {
            self.share = ahead as f64 / (ahead + behind) as f64;
            if !self.is_flagged {
                self.place = match self.share {
                    share if share >= AT_SENDER => Place::Sender,
                    share if share <= AT_RECEIVER => Place::Receiver,
                    _ => Place::Middle,
                };
            }
        } else if !self.is_flagged {
            // Of one direction alone: data without acknowledgements is taken for the receiver's.
            self.place = if self.counts[1] == 0 { Place::Receiver } else { Place::Sender };
        }
    }

    /// The least time from the first sending of a byte to its acknowledgement.
    fn trip_to_receiver(&self) -> Option<i64> {
        let (mut sent, mut highest, mut least) = (VecDeque::<(u64, i64)>::new(), 0, None::<i64>);
        for row in self.flow.packets.rows() {
            if row.way == self.way && row.end > row.seq {
                if row.seq >= highest {
                    sent.push_back((row.end, row.time_ns));
                } else {
                    // Sent again: an acknowledgement of it is ambiguous.
                    sent.retain(|(end, _)| *end <= row.seq || *end > row.end);
                }
                highest = highest.max(row.end);
            } else if self.is_ack(&row) {
                while let Some((end, time)) = sent.front().copied().filter(|(end, _)| *end <= row.ack) {
                    sent.pop_front();
                    if end == row.ack && row.time_ns > time {
                        least = Some(least.map_or(row.time_ns - time, |least| least.min(row.time_ns - time)));
                    }
                }
            }
        }
        least
    }

    /// The least time from a packet back to one that echoes its timestamp; without timestamps, to the next new data
    /// that follows an acknowledgement within a burst.
    fn trip_to_sender(&self) -> Option<i64> {
        let (mut seen, mut least) = (VecDeque::<(u32, i64)>::new(), None::<i64>);
        let (mut highest, mut last_ack) = (0, None::<i64>);
        let mut clocked = None::<i64>;
        for row in self.flow.packets.rows() {
            if row.way != self.way {
                if let Some((tsval, _)) = row.timestamps
                    && seen.back().is_none_or(|(last, _)| tsval.wrapping_sub(*last).cast_signed() > 0)
                {
                    seen.push_back((tsval, row.time_ns));
                }
                last_ack = Some(row.time_ns);
                continue;
            }
            if let Some((_, echo)) = row.timestamps {
                while seen.len() > 1
                    && seen.front().is_some_and(|(tsval, _)| echo.wrapping_sub(*tsval).cast_signed() > 0)
                {
                    seen.pop_front();
                }
                if let Some((tsval, time)) = seen.front().copied()
                    && tsval == echo
                    && row.time_ns > time
                {
                    least = Some(least.map_or(row.time_ns - time, |least| least.min(row.time_ns - time)));
                }
            }
            let is_answer = row.length == 0 && row.has(ACK) && !row.has(SYN);
            if row.end > highest
                && !is_answer
                && let Some(time) = last_ack.take().filter(|_| highest > 0)
            {
                clocked = Some(clocked.map_or(row.time_ns - time, |least| least.min(row.time_ns - time)));
            }
            highest = highest.max(row.end);
        }
        least.or(clocked)
    }
}

/// Two captures of a connection: the one nearer to its sender, and the other.
pub fn in_order<'a>(one: Exchange<'a>, other: Exchange<'a>) -> (Exchange<'a>, Exchange<'a>) {
    if one.share >= other.share { (one, other) } else { (other, one) }
}

/// The time of a tick of each end's timestamps.
fn ticks(flow: &Flow) -> [Option<f64>; 2] {
    let mut ends = [None::<[(i64, u32); 2]>; 2];
    for row in flow.packets.rows() {
        let Some((tsval, _)) = row.timestamps else { continue };
        ends[row.way].get_or_insert([(row.time_ns, tsval); 2])[1] = (row.time_ns, tsval);
    }
    ends.map(|ends| ends.and_then(|[first, last]| tick(first, last)))
}

/// The time of a tick by an end's first timestamp and its last, with their times: a usual one if it is near, otherwise the
/// measured one.
fn tick(first: (i64, u32), last: (i64, u32)) -> Option<f64> {
    let ticks = last.1.wrapping_sub(first.1).cast_signed();
    let time = last.0 - first.0;
    if ticks < 20 || time < 50 * MS {
        return None;
    }
    let measured = f64::from(ticks) * 1e9 / time as f64;
    let near = USUAL_TICKS.into_iter().find(|usual| (measured / usual - 1.0).abs() < TICK_TOLERANCE);
    Some(1e9 / near.unwrap_or(measured))
}
