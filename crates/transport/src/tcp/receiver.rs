//! The receiving end: cumulative ACKs, at once or delayed (RFC 1122 §4.2.3.2, RFC 5681 §4.2).

use crate::params::{Handshake, TcpParams};
use crate::tcp::seq_set::SeqSet;
use crate::tcp::timers::Timer;
use crate::tcp::{Receipt, Segment};
use roamlab_engine::{Bytes, Duration, Time};
use roamlab_packet::{Ecn, SackBlocks, TcpFlags, TcpHeader, Timestamps};
use std::collections::VecDeque;

/// Bytes of one SACK block (RFC 2018 §3).
const SACK_BLOCK_SIZE: u64 = 8;

/// What a receiver takes ahead of a gap at least, however narrow its window: ns-2 takes anything.
const MIN_BUFFER: u32 = 65_536;

/// The smallest shift that lets the whole buffer be advertised (RFC 7323 §2.2: 14 at most). Without flow control
/// nobody reads the field, and there is none.
fn window_shift(params: &TcpParams) -> Option<u32> {
    let bytes = u64::from(params.window.0) * params.segment.0;
    let fits = |shift: &u32| bytes <= 65_535 << shift;
    match (params.flow_control, params.window_scaling) {
        (false, _) => None,
        (true, true) => Some((0..14).find(fits).unwrap_or(14)),
        (true, false) => Some(0),
    }
}

/// The receiving end of a connection.
#[derive(Clone, Debug)]
pub struct TcpReceiver {
    /// Segments that may wait for the application.
    buffer: u32,
    /// Segments from the next expected one on that are taken at most.
    takes_ahead: u32,
    unread: u32,
    reads_at_once: bool,
    /// The window advertised last.
    told: u32,
    segment: u64,
    /// Window scale (RFC 7323 §2.2).
    shift: Option<u32>,
    three_way: bool,
    syn_due: bool,
    fin: Option<u32>,
    ecn: bool,
    echoes: bool,
    /// The last segment was marked.
    held_mark: bool,
    dsack: bool,
    repeated: Option<u32>,
    timestamps: bool,
    timestamp_size: Bytes,
    ack_size: Bytes,
    delay: Duration,
    ns2_quirks: bool,
    received: SeqSet,
    highest_end: u32,
    delayed: Timer,
    outgoing: VecDeque<Segment>,
    echo_latest: bool,
    /// TS.Recent (RFC 7323 §4.3).
    recent: Option<Time>,
    /// The segment that the last ACK expected: only what it covers or expects is echoed (RFC 7323 §4.3).
    last_ack: u32,
    sack_blocks: usize,
    sack_overhead: Bytes,
    /// A segment of each block to report, the block changed last in front (RFC 2018 §4).
    reported: VecDeque<u32>,
}

impl TcpReceiver {
    /// A receiver that has seen nothing.
    pub fn new(params: &TcpParams) -> TcpReceiver {
        TcpReceiver {
            buffer: params.window.0,
            takes_ahead: if params.flow_control { params.window.0 } else { params.window.0.max(MIN_BUFFER) },
            unread: 0,
            reads_at_once: true,
            told: params.window.0,
            segment: params.segment.0,
            shift: window_shift(params),
            three_way: params.handshake == Handshake::ThreeWay,
            syn_due: false,
            fin: None,
            ecn: params.ecn,
            echoes: false,
            held_mark: false,
            dsack: params.dsack,
            repeated: None,
            timestamps: params.timestamps,
            timestamp_size: params.ack_timestamp_size,
            ack_size: params.ack_size,
            delay: params.delayed_ack,
            ns2_quirks: params.ns2_quirks,
            received: SeqSet::default(),
            highest_end: 0,
            delayed: Timer::default(),
            outgoing: VecDeque::new(),
            echo_latest: params.echo_latest,
            recent: None,
            last_ack: 0,
            // RFC 7323 §3: beside timestamps there is room for three.
            sack_blocks: params.sack_blocks.min(if params.timestamps { 3 } else { 4 }) as usize,
            sack_overhead: params.sack_overhead,
            reported: VecDeque::new(),
        }
    }

    /// A segment arrived. Copies and segments beyond a gap are acknowledged at once, with a duplicate ACK.
    pub fn on_segment(&mut self, header: &TcpHeader, ecn: Ecn, now: Time) -> Receipt {
        let expected = self.received.base();
        let [syn, fin] = [TcpFlags::SYN, TcpFlags::FIN].map(|flag| header.flags.has(flag));
        let out_of_order = header.seq < self.highest_end;
        let bare = header.payload == 0 && !syn && !fin && header.flags.has(TcpFlags::ACK);
        // RFC 9293 §3.10.7.4: only what the window takes is accepted; the rest is answered, but for ACKs in place.
        let beyond = header.seq >= expected.saturating_add(self.takes_ahead);
        if bare || beyond || (self.unread >= self.buffer && header.seq >= expected) {
            if beyond || !bare || header.seq < expected {
                self.acknowledge(now);
            }
            return Receipt { fresh: false, in_order_segments: 0, out_of_order };
        }
        if let Some(timestamps) = header.timestamps
            && (self.echo_latest || (header.seq <= self.last_ack && self.recent <= Some(timestamps.value)))
        {
            self.recent = Some(timestamps.value);
        }
        self.note_congestion(header, ecn);
        let fresh = self.received.insert(header.seq);
        let advanced = self.received.advance();
        self.remember_block(header.seq);
        self.repeated = (self.dsack && !fresh).then_some(header.seq);
        self.highest_end = self.highest_end.max(header.seq + 1);
        self.fin = if fin { Some(header.seq) } else { self.fin };
        let signs = u32::from(syn && advanced > 0) + u32::from(self.closed() && advanced > 0);
        let in_order_segments = advanced.saturating_sub(signs);
        self.unread += if self.reads_at_once { 0 } else { in_order_segments };
        self.syn_due |= syn || (self.ns2_quirks && header.flags.has(TcpFlags::ECE));
        // RFC 5681 §4.2: only the next expected segment that fills no part of a gap may wait, one at a time.
        let fills_gap = self.highest_end > header.seq + 1;
        let first = syn || (self.ns2_quirks && header.seq == 0); // ns-2: a SYN or not
        let plain = !first && !fin && self.delayed.deadline().is_none();
        // To ns-2 a copy of the last segment in order is in order too.
        let in_order = header.seq == expected || (self.ns2_quirks && header.seq + 1 == expected);
        if self.delay > Duration::ZERO && in_order && !fills_gap && plain {
            self.delayed.start(now, self.delay);
        } else {
            self.acknowledge(now);
        }
        Receipt { fresh, in_order_segments, out_of_order }
    }

    /// From now on the application takes nothing by itself; what arrives in order stays in the buffer and narrows the
    /// window until it is [`read`](Self::read).
    pub fn hold(&mut self) {
        self.reads_at_once = false;
    }

    /// The application takes `segments` out of the buffer. An ACK tells of the wider window if it was closed, or
    /// has become wider by half of the buffer (RFC 9293 §3.8.6.2.2).
    pub fn read(&mut self, segments: u32, now: Time) {
        self.unread = self.unread.saturating_sub(segments);
        let window = self.advertised();
        let wider = window.saturating_sub(self.told);
        if wider > 0 && (self.told == 0 || 2 * wider >= self.buffer) {
            self.acknowledge(now);
        }
    }

    /// Whether everything up to the other end's FIN has arrived.
    pub fn closed(&self) -> bool {
        self.fin.is_some_and(|fin| self.received.base() > fin)
    }

    /// RFC 3168 §6.1.3: congestion is echoed from its arrival until the sender says that it has cut its window.
    fn note_congestion(&mut self, header: &TcpHeader, ecn: Ecn) {
        if !self.ecn {
            return;
        }
        if header.flags.has(TcpFlags::CWR) && !header.flags.has(TcpFlags::SYN) {
            self.echoes = false;
        }
        // To ns-2 what a delayed ACK is about arrives with what sets it free.
        let held = self.delayed.deadline().is_some() && self.held_mark;
        self.held_mark = self.ns2_quirks && ecn == Ecn::Ce;
        self.echoes |= held || ecn == Ecn::Ce;
    }

    /// The window to advertise, in whole segments.
    fn advertised(&self) -> u32 {
        let free = self.buffer - self.unread.min(self.buffer);
        let Some(shift) = self.shift else { return free };
        let bytes = (u64::from(free) * self.segment).min(65_535 << shift);
        // RFC 7323 §2.3: the field holds what the shift leaves of it.
        ((bytes >> shift << shift) / self.segment) as u32
    }

    /// The next ACK to send; call until `None`.
    pub fn poll_transmit(&mut self, _now: Time) -> Option<Segment> {
        self.outgoing.pop_front()
    }

    /// When a held-back ACK has to go.
    pub fn next_deadline(&self) -> Option<Time> {
        self.delayed.deadline()
    }

    /// The time of a deadline has come; an early wake-up is a no-op.
    pub fn on_deadline(&mut self, now: Time) {
        if self.delayed.expired(now) {
            self.acknowledge(now);
        }
    }

    /// The next segment expected: everything below has arrived.
    pub fn next_expected(&self) -> u32 {
        self.received.base()
    }

    /// Whether a segment has arrived.
    pub fn has(&self, seq: u32) -> bool {
        self.received.contains(seq)
    }

    fn acknowledge(&mut self, now: Time) {
        self.delayed.stop();
        self.last_ack = self.received.base();
        let mut sacks = SackBlocks::default();
        if let Some(seq) = self.repeated.take() {
            sacks.push(seq, seq + 1); // RFC 2883 §4
        }
        for &seq in self.reported.iter().take(self.sack_blocks - sacks.as_slice().len().min(self.sack_blocks))
        {
            sacks.push(self.received.run_start(seq), self.received.first_missing(seq));
        }
        let blocks = sacks.as_slice().len() as u64;
        let mut option = if blocks == 0 { 0 } else { self.sack_overhead.0 + SACK_BLOCK_SIZE * blocks };
        if self.timestamps {
            option += self.timestamp_size.0;
        }
        let mut flags = TcpFlags::ACK;
        let syn_due = std::mem::take(&mut self.syn_due);
        if syn_due && self.three_way {
            let ecn = if self.ecn { TcpFlags::ECE } else { TcpFlags::default() };
            flags = flags.with(TcpFlags::SYN).with(ecn); // RFC 3168 §6.1.1
        } else if self.echoes || syn_due && self.ecn {
            flags = flags.with(TcpFlags::ECE);
        }
        if self.closed() && self.three_way {
            flags = flags.with(TcpFlags::FIN); // nothing to send this way: closed at once
        }
        self.told = self.advertised();
        let header = TcpHeader {
            ack: self.received.base(),
            flags,
            window: self.told,
            sacks,
            timestamps: self.recent.map(|echo| Timestamps { value: now, echo }),
            ..TcpHeader::default()
        };
        let size = Bytes(self.ack_size.0 + option);
        self.outgoing.push_back(Segment { header, size, ecn: Ecn::NotEct });
    }

    /// Puts the block of a segment that arrived in front of those to report, and forgets what it has swallowed.
    fn remember_block(&mut self, seq: u32) {
        let base = self.received.base();
        let swallowed =
            if seq < base { 0..0 } else { self.received.run_start(seq)..self.received.first_missing(seq) };
        self.reported.retain(|other| *other >= base && !swallowed.contains(other));
        if seq >= base {
            self.reported.push_front(seq);
        }
        self.reported.truncate(self.sack_blocks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, TcpSpec};

    fn data(seq: u32) -> TcpHeader {
        TcpHeader { seq, payload: 512, ..TcpHeader::default() }
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn receiver(delay: Duration) -> TcpReceiver {
        let spec = TcpSpec { delayed_ack: Some(delay), ..TcpSpec::default() };
        TcpReceiver::new(&spec.resolve(Profile::Rfc).unwrap())
    }

    fn acks(receiver: &mut TcpReceiver, now: Time) -> Vec<u32> {
        std::iter::from_fn(|| receiver.poll_transmit(now)).map(|segment| segment.header.ack).collect()
    }

    #[test]
    fn every_segment_is_acknowledged_and_copies_twice() {
        let mut receiver = receiver(Duration::ZERO);
        let receipts: Vec<Receipt> =
            [0, 2, 3, 1, 1].map(|seq| receiver.on_segment(&data(seq), Ecn::NotEct, at(0))).into();
        assert_eq!(acks(&mut receiver, at(0)), [1, 1, 1, 4, 4]);
        let delivered: Vec<_> =
            receipts.iter().map(|r| (r.fresh, r.in_order_segments, r.out_of_order)).collect();
        let late = (true, 3, true);
        assert_eq!(delivered, [(true, 1, false), (true, 0, false), (true, 0, false), late, (false, 0, true)]);
    }

    #[test]
    fn a_delayed_ack_goes_with_the_second_segment_or_the_deadline() {
        let mut receiver = receiver(Duration::from_millis(100));
        receiver.on_segment(&data(0), Ecn::NotEct, at(0));
        assert_eq!((acks(&mut receiver, at(0)), receiver.next_deadline()), (vec![], Some(at(100))));
        receiver.on_segment(&data(1), Ecn::NotEct, at(40));
        assert_eq!((acks(&mut receiver, at(40)), receiver.next_deadline()), (vec![2], None));
        receiver.on_segment(&data(2), Ecn::NotEct, at(50));
        receiver.on_deadline(at(149));
        assert_eq!(acks(&mut receiver, at(149)), Vec::<u32>::new(), "an early wake-up is a no-op");
        receiver.on_deadline(at(150));
        assert_eq!(acks(&mut receiver, at(150)), [3]);
        // 3 fills a part of the gap only, and leaves 4 missing.
        for (seq, expected) in [(5, 3), (3, 4), (4, 6)] {
            receiver.on_segment(&data(seq), Ecn::NotEct, at(200));
            assert_eq!(
                acks(&mut receiver, at(200)),
                [expected],
                "a gap, and its filling, are acknowledged at once"
            );
        }
    }
}
