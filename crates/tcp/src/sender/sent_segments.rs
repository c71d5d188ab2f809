//! A record of each segment sent and not yet acknowledged, for congestion controls that ask for it.
//!
//! From it follow the round-trip time of every segment that was sent once, and the [delivery rate](DeliveryRate).

use roamlab_congestion::Found;
use roamlab_congestion::{DeliveryRate, DeliverySampler, LostSegment, Stamp};
use roamlab_engine::{Duration, Time};
use roamlab_packet::SackBlocks;
use roamlab_packet::SeqSet;
use std::collections::VecDeque;
use std::ops::Range;

#[derive(Copy, Clone, Debug)]
struct Record {
    stamp: Stamp,
    retransmitted: bool,
    /// It is lost, and was not sent again since.
    lost: bool,
}

/// The segments sent and not yet acknowledged.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentSegments {
    /// Record `i` is that of segment `una + i`. There is none of a segment that went out before the first record.
    records: VecDeque<Option<Record>>,
    una: u32,
    /// `una` of the first record.
    first: u32,
    /// Losses of segments below do not count for the present path.
    path_from: u32,
    /// Segments delivered when those were all acknowledged. A rate over any of them does not measure the present path.
    settled: u32,
    reported: SeqSet,
    /// Records that are lost, and the segments of the latest search for them.
    waiting: u32,
    searched: (u32, u32),
    delivery: DeliverySampler,
    /// The measurement of the latest ACK.
    rate: Option<DeliveryRate>,
    /// The loss recovery's view of the network, if it reports that.
    pub found: Option<Found>,
}

/// Segments that an ACK reports.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub(crate) struct Delivered {
    /// Segments newly acknowledged or in SACK blocks.
    pub segments: u32,
    pub rtt: Option<Duration>,
}

impl SentSegments {
    /// Begins with these segments outstanding, of which nothing is known.
    pub fn of_unknown(una: u32, end: u32) -> SentSegments {
        let records = std::iter::repeat_n(None, (end - una) as usize).collect();
        SentSegments { records, una, first: una, ..SentSegments::default() }
    }

    /// A segment goes out, one of `outstanding`. `lost`: it was sent before, and that transmission is lost, of which this
    /// may be the first sign.
    pub fn sent(
        &mut self,
        seq: u32,
        retransmitted: bool,
        lost: bool,
        outstanding: u32,
        now: Time,
    ) -> Option<LostSegment> {
        let index = seq.checked_sub(self.una).map(|index| index as usize);
        if index == Some(self.records.len()) {
            let in_flight = outstanding.saturating_sub(self.held() + self.waiting);
            let stamp = self.delivery.stamp(self.records.is_empty(), in_flight, now);
            self.records.push_back(Some(Record { stamp, retransmitted, lost: false }));
            return None;
        }
        let earlier = index.and_then(|index| self.records.get(index).copied().flatten());
        self.waiting -= u32::from(earlier.is_some_and(|earlier| earlier.lost));
        let earlier = earlier.filter(|earlier| lost && !earlier.lost && !self.reported.contains(seq));
        let earlier = earlier.filter(|_| seq >= self.path_from);
        let loss = earlier.map(|earlier| self.delivery.lose(seq, &earlier.stamp, now));
        let in_flight = outstanding.saturating_sub(self.held() + self.waiting);
        let stamp = self.delivery.stamp(self.records.is_empty(), in_flight, now);
        let record = Some(Record { stamp, retransmitted, lost: false });
        if let Some(earlier) = index.and_then(|index| self.records.get_mut(index)) {
            *earlier = record;
        }
        loss
    }

    /// Marks those of these segments as lost that the receiver does not hold; they wait to be sent again. The result is
    /// the losses that were not known before. No segments: nothing is lost after all.
    pub fn lose(&mut self, lost: Range<u32>, now: Time) -> Vec<LostSegment> {
        if lost.is_empty() {
            if std::mem::take(&mut self.waiting) > 0 {
                self.records.iter_mut().flatten().for_each(|record| record.lost = false);
            }
            self.searched = (0, 0);
            return Vec::new();
        }
        let (from, to) = self.searched;
        let first = if lost.start < from { lost.start } else { lost.start.max(to) };
        self.searched = (lost.start, lost.end.max(to));
        let mut found = Vec::new();
        for seq in first.max(self.una)..lost.end {
            let record = self.records.get_mut((seq - self.una) as usize).and_then(Option::as_mut);
            let Some(record) = record.filter(|record| !record.lost && !self.reported.contains(seq)) else {
                continue;
            };
            record.lost = true;
            self.waiting += 1;
            if seq >= self.path_from {
                found.push(self.delivery.lose(seq, &record.stamp, now));
            }
        }
        found
    }

    /// Segments from this one on take another path.
    pub fn leave_path(&mut self, next: u32) {
        self.path_from = next;
    }

    /// Segments that are lost and wait to be sent again.
    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    /// The window permits more than the application has. `in_flight`: segments in flight.
    pub fn note_app_limited(&mut self, in_flight: u32) {
        self.delivery.note_app_limited(in_flight);
    }

    /// True if the application limits the sender.
    pub fn is_app_limited(&self) -> bool {
        self.delivery.is_app_limited()
    }

    /// True if no outstanding segment is known to be lost or to have arrived.
    pub fn is_plain(&self) -> bool {
        self.waiting == 0 && self.searched == (0, 0) && self.reported.is_bare()
    }

    /// An ACK arrived that expects `ack`.
    pub fn on_ack(&mut self, ack: u32, blocks: &SackBlocks, now: Time) -> Delivered {
        let before = self.delivery.delivered();
        let below = (self.una, ack.max(self.una));
        let gone = (below.1 - self.una).min(self.records.len() as u32);
        let newest = match blocks.as_slice().is_empty() && self.is_plain() {
            true => self.take(gone),
            false => {
                let newest = self.report(below, blocks);
                self.records.drain(..gone as usize);
                newest
            }
        };
        self.una += gone;
        self.reported.forget_below(self.una);
        if below.0 < self.path_from {
            self.settled = self.delivery.delivered();
        }
        self.rate = None;
        let segments = self.delivery.delivered() - before;
        let Some(newest) = newest else { return Delivered { segments, rtt: None } };
        let rate = self.delivery.rate(&newest.stamp, now);
        self.rate = rate.filter(|rate| rate.prior_delivered >= self.settled);
        let rtt = (!newest.retransmitted).then(|| now.since(newest.stamp.sent));
        Delivered { segments, rtt }
    }

    /// Removes `count` records from the front, where [nothing was reported](Self::is_plain). The newest of them.
    fn take(&mut self, count: u32) -> Option<Record> {
        self.delivery.deliver(count);
        let mut newest = if count > 0 { self.records.pop_front().flatten() } else { None };
        for _ in 1..count {
            newest = newer(newest, self.records.pop_front().flatten());
        }
        newest
    }

    /// Segments in these ranges have arrived. The newest of those for which this is news.
    fn report(&mut self, below: (u32, u32), blocks: &SackBlocks) -> Option<Record> {
        let mut newest = None;
        for &(start, end) in [below].iter().chain(blocks.as_slice()) {
            let mut seq = self.reported.first_missing(start.max(self.una));
            while seq < end.min(self.una + self.records.len() as u32) {
                self.reported.insert(seq);
                self.delivery.deliver(1);
                let record = &mut self.records[(seq - self.una) as usize];
                if let Some(record) = record {
                    self.waiting -= u32::from(std::mem::take(&mut record.lost));
                }
                newest = newer(newest, *record);
                seq = self.reported.first_missing(seq + 1);
            }
        }
        newest
    }

    /// Outstanding segments that SACK blocks have reported.
    pub fn held(&self) -> u32 {
        self.delivery.delivered() - (self.una - self.first)
    }

    /// The latest ACK measures another path.
    pub fn forget_rate(&mut self) {
        self.rate = None;
    }

    /// The measurement of the latest ACK, if it reported a delivery.
    pub fn rate(&self) -> Option<DeliveryRate> {
        self.rate
    }
}

/// The record that was sent later, of two that were sent at the same time the second.
fn newer(first: Option<Record>, second: Option<Record>) -> Option<Record> {
    match (first, second) {
        (Some(first), Some(second)) if first.stamp.sent > second.stamp.sent => Some(first),
        (first, second) => second.or(first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// Segments 0 to 9 were sent a millisecond apart, and 3 to 5 have arrived.
    fn reported() -> SentSegments {
        let mut sent = SentSegments::default();
        (0..10).for_each(|seq| assert_eq!(sent.sent(seq, false, false, seq + 1, at(seq.into())), None));
        let mut blocks = SackBlocks::default();
        blocks.push(3, 6);
        assert_eq!(sent.on_ack(0, &blocks, at(50)).segments, 3);
        sent
    }

    fn numbers(lost: &[LostSegment]) -> Vec<(u32, u32, u32)> {
        lost.iter().map(|lost| (lost.number, lost.in_flight, lost.lost)).collect()
    }

    #[test]
    fn each_loss_is_found_once_with_the_flight_and_the_losses_since_it_was_sent() {
        let mut sent = reported();
        assert_eq!(numbers(&sent.lose(0..2, at(50))), [(0, 1, 1), (1, 2, 2)]);
        assert_eq!(numbers(&sent.lose(0..7, at(51))), [(2, 3, 3), (6, 7, 4)], "3 to 5 have arrived");
        assert_eq!((sent.lose(0..7, at(52)), sent.waiting()), (vec![], 4));
        // Sent again it is no news, and not one of those that wait: 10 outstanding, 3 held, 3 waiting.
        assert_eq!((sent.sent(0, true, true, 10, at(60)), sent.waiting()), (None, 3));
        sent.on_ack(1, &SackBlocks::default(), at(100));
        let rate = sent.rate().unwrap();
        assert_eq!((rate.in_flight, rate.lost, rate.delivered), (4, 0, 1));
        assert_eq!(numbers(&sent.lose(0..9, at(100))), [(7, 8, 5), (8, 9, 6)]);
        sent.on_ack(9, &SackBlocks::default(), at(110));
        assert_eq!(sent.waiting(), 0, "all have arrived after all");
    }

    #[test]
    fn what_goes_out_again_is_lost_unless_it_is_a_probe() {
        let mut sent = reported();
        assert_eq!(sent.sent(9, true, false, 10, at(60)), None);
        let lost = sent.sent(0, true, true, 10, at(61)).unwrap();
        assert_eq!((lost.number, lost.in_flight, lost.lost), (0, 1, 1));
        assert_eq!(sent.sent(4, true, true, 10, at(62)), None, "it has arrived");
    }

    #[test]
    fn losses_that_are_taken_back_do_not_wait() {
        let mut sent = reported();
        assert_eq!(sent.lose(0..3, at(50)).len(), 3);
        assert_eq!((sent.lose(0..0, at(51)), sent.waiting()), (vec![], 0));
        assert_eq!(numbers(&sent.lose(0..1, at(60))), [(0, 1, 4)], "C.lost is not taken back");
    }

    #[test]
    fn a_rate_is_of_a_path_on_which_all_of_it_was_delivered() {
        let (mut sent, none) = (SentSegments::default(), SackBlocks::default());
        (0..10).for_each(|seq| _ = sent.sent(seq, false, false, seq + 1, at(seq.into())));
        sent.leave_path(10);
        (10..12).for_each(|seq| _ = sent.sent(seq, false, false, seq + 1, at(20)));
        sent.on_ack(10, &none, at(50));
        // Twelve segments in 50 ms, ten of them on the old path.
        sent.on_ack(12, &none, at(70));
        assert_eq!(sent.rate(), None);
        (12..14).for_each(|seq| _ = sent.sent(seq, false, false, seq - 11, at(71)));
        sent.on_ack(14, &none, at(121));
        assert_eq!(sent.rate().map(|rate| rate.delivered), Some(2));
    }

    #[test]
    fn losses_of_an_old_path_are_not_reported() {
        let mut sent = reported();
        sent.leave_path(7);
        assert_eq!(numbers(&sent.lose(0..9, at(50))), [(7, 8, 1), (8, 9, 2)]);
        assert_eq!(sent.waiting(), 6, "all of them wait to be sent again: 0 to 2 and 6 to 8");
    }

    #[test]
    fn a_timeout_goes_back_to_what_was_sent_again() {
        let mut sent = reported();
        assert_eq!(sent.lose(0..3, at(50)).len(), 3);
        (0..3).for_each(|seq| assert_eq!(sent.sent(seq, true, true, 10, at(51)), None));
        assert_eq!(sent.lose(3..3, at(51)), []);
        let found = sent.lose(0..10, at(1000));
        assert_eq!(found.iter().map(|lost| lost.number).collect::<Vec<_>>(), [0, 1, 2, 6, 7, 8, 9]);
        assert_eq!(sent.waiting(), 7);
    }

    #[test]
    fn of_segments_sent_at_one_time_the_higher_number_is_the_newest() {
        // draft-ietf-ccwg-bbr §4.1.2.3 (IsNewestPacket): the later transmission, then the higher number.
        let mut sent = SentSegments::default();
        (0..3).for_each(|seq| _ = sent.sent(seq, false, false, seq + 1, at(0)));
        sent.on_ack(3, &SackBlocks::default(), at(50));
        assert_eq!(sent.rate().unwrap().in_flight, 3);
    }
}
