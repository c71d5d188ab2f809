//! The receiving end: cumulative ACKs, at once or delayed (RFC 1122 §4.2.3.2, RFC 5681 §4.2).

use crate::params::TcpParams;
use crate::tcp::seq_set::SeqSet;
use crate::tcp::timers::Timer;
use crate::tcp::{Receipt, Segment};
use roamlab_engine::{Bytes, Duration, Time};
use roamlab_packet::{Ecn, SackBlocks, TcpFlags, TcpHeader, Timestamps};
use std::collections::VecDeque;

/// Bytes of one SACK block (RFC 2018 §3).
const SACK_BLOCK_SIZE: u64 = 8;

/// The receiving end of a connection.
#[derive(Clone, Debug)]
pub struct TcpReceiver {
    window: u32,
    ack_size: Bytes,
    delay: Duration,
    received: SeqSet,
    highest_end: u32,
    delayed: Timer,
    outgoing: VecDeque<Segment>,
    echo_latest: bool,
    /// TS.Recent (RFC 7323 §4.3).
    recent: Option<Time>,
    sack_blocks: usize,
    sack_overhead: Bytes,
    /// A segment of each block to report, the block changed last in front (RFC 2018 §4).
    reported: VecDeque<u32>,
}

impl TcpReceiver {
    /// A receiver that has seen nothing.
    pub fn new(params: &TcpParams) -> TcpReceiver {
        TcpReceiver {
            window: params.window.0,
            ack_size: params.ack_size,
            delay: params.delayed_ack,
            received: SeqSet::default(),
            highest_end: 0,
            delayed: Timer::default(),
            outgoing: VecDeque::new(),
            echo_latest: params.echo_latest,
            recent: None,
            sack_blocks: params.sack_blocks as usize,
            sack_overhead: params.sack_overhead,
            reported: VecDeque::new(),
        }
    }

    /// A segment arrived. Copies and segments beyond a gap are acknowledged at once, with a duplicate ACK.
    pub fn on_segment(&mut self, header: &TcpHeader, _ecn: Ecn, now: Time) -> Receipt {
        let expected = self.received.base();
        if let Some(timestamps) = header.timestamps
            && (self.echo_latest || header.seq == expected)
        {
            self.recent = Some(timestamps.value);
        }
        let fresh = self.received.insert(header.seq);
        let advanced = self.received.advance();
        self.remember_block(header.seq);
        let out_of_order = header.seq < self.highest_end;
        self.highest_end = self.highest_end.max(header.seq + 1);
        let syn = header.flags.has(TcpFlags::SYN);
        // RFC 5681 §4.2: only the next expected segment that fills no part of a gap may wait, one at a time.
        let fills_gap = self.highest_end > header.seq + 1;
        let may_wait = header.seq == expected && !fills_gap && !syn && self.delayed.deadline().is_none();
        if may_wait && self.delay > Duration::ZERO {
            self.delayed.start(now, self.delay);
        } else {
            self.acknowledge(now);
        }
        Receipt { fresh, in_order_segments: advanced - u32::from(syn && advanced > 0), out_of_order }
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

    fn acknowledge(&mut self, now: Time) {
        self.delayed.stop();
        let mut sacks = SackBlocks::default();
        for &seq in &self.reported {
            sacks.push(self.received.run_start(seq), self.received.first_missing(seq));
        }
        let blocks = sacks.as_slice().len() as u64;
        let option = if blocks == 0 { 0 } else { self.sack_overhead.0 + SACK_BLOCK_SIZE * blocks };
        let header = TcpHeader {
            ack: self.received.base(),
            flags: TcpFlags::ACK,
            window: self.window,
            sacks,
            timestamps: self.recent.map(|echo| Timestamps { value: now, echo }),
            ..TcpHeader::default()
        };
        self.outgoing.push_back(Segment { header, size: Bytes(self.ack_size.0 + option), ecn: Ecn::NotEct });
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
