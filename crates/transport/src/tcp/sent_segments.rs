//! A record of each segment sent and not yet acknowledged, for congestion controls that ask for it.
//!
//! From it follow the round-trip time of every segment that was sent once, and the [delivery rate](DeliveryRate).

use crate::tcp::SeqSet;
use crate::tcp::delivery_rate::{DeliveryRate, DeliverySampler, Stamp};
use roamlab_engine::{Duration, Time};
use roamlab_packet::SackBlocks;
use std::collections::VecDeque;

#[derive(Copy, Clone, Debug)]
struct Record {
    stamp: Stamp,
    retransmitted: bool,
}

/// The segments sent and not yet acknowledged.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentSegments {
    /// Record `i` is that of segment `una + i`. There is none of a segment that went out before the first record.
    records: VecDeque<Option<Record>>,
    una: u32,
    /// `una` of the first record.
    first: u32,
    reported: SeqSet,
    delivery: DeliverySampler,
    /// What the latest ACK measured.
    rate: Option<DeliveryRate>,
}

/// What an ACK reports.
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

    /// A segment goes out.
    pub fn sent(&mut self, seq: u32, retransmitted: bool, now: Time) {
        let stamp = self.delivery.stamp(self.records.is_empty(), now);
        let record = Record { stamp, retransmitted };
        let Some(index) = seq.checked_sub(self.una) else { return };
        match self.records.get_mut(index as usize) {
            Some(earlier) => *earlier = Some(record),
            None => self.records.push_back(Some(record)),
        }
    }

    /// The window permits more than the application has, with so many segments in flight.
    pub fn note_app_limited(&mut self, in_flight: u32) {
        self.delivery.note_app_limited(in_flight);
    }

    /// An ACK arrived that expects `ack`.
    pub fn on_ack(&mut self, ack: u32, blocks: &SackBlocks, now: Time) -> Delivered {
        let before = self.delivery.delivered();
        let mut newest: Option<Record> = None;
        let below = (self.una, ack.max(self.una));
        for &(start, end) in [below].iter().chain(blocks.as_slice()) {
            let mut seq = self.reported.first_missing(start.max(self.una));
            while seq < end.min(self.una + self.records.len() as u32) {
                self.reported.insert(seq);
                self.delivery.deliver();
                let record = self.records[(seq - self.una) as usize];
                let is_newer =
                    |other: &Record| record.is_none_or(|record| other.stamp.sent > record.stamp.sent);
                newest = newest.filter(is_newer).or(record);
                seq = self.reported.first_missing(seq + 1);
            }
        }
        let gone = (below.1 - self.una).min(self.records.len() as u32);
        self.records.drain(..gone as usize);
        self.una += gone;
        self.reported.forget_below(self.una);
        self.rate = None;
        let segments = self.delivery.delivered() - before;
        let Some(newest) = newest else { return Delivered { segments, rtt: None } };
        self.rate = self.delivery.rate(&newest.stamp, now);
        let rtt = (!newest.retransmitted).then(|| now.since(newest.stamp.sent));
        Delivered { segments, rtt }
    }

    /// Outstanding segments that SACK blocks have reported.
    pub fn held(&self) -> u32 {
        self.delivery.delivered() - (self.una - self.first)
    }

    /// What the latest ACK measured, if it reported a delivery.
    pub fn rate(&self) -> Option<DeliveryRate> {
        self.rate
    }
}
