//! A record of each segment sent and not yet acknowledged, for congestion controls that ask for it.
//!
//! From it follow the round-trip time of every segment that was sent once, and the delivery rate
//! (draft-ietf-ccwg-bbr-05 §4.1): the segments delivered while one was in flight, by the time that this took.

use crate::tcp::SeqSet;
use roamlab_engine::{Duration, Time};
use roamlab_packet::SackBlocks;
use std::collections::VecDeque;

/// A measurement of the delivery rate.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) struct DeliveryRate {
    /// Segments delivered in the interval.
    pub delivered: u32,
    /// The longer of the times that sending and acknowledging them took.
    pub interval: Duration,
    /// Segments delivered when the newest of them was sent: a round trip ends when this exceeds an earlier total.
    pub prior_delivered: u32,
    /// The application had too little data for all that the path could carry.
    pub app_limited: bool,
}

#[derive(Copy, Clone, Debug)]
struct Record {
    sent: Time,
    /// When the segment was sent whose delivery was the latest then.
    first_sent: Time,
    delivered: u32,
    delivered_at: Time,
    app_limited: bool,
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
    /// Segments delivered so far.
    delivered: u32,
    delivered_at: Time,
    first_sent: Time,
    /// The sender had too little data until so many segments are delivered.
    app_limited_until: u32,
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
        if self.records.is_empty() {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let record = Record {
            sent: now,
            first_sent: self.first_sent,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            app_limited: self.delivered < self.app_limited_until,
            retransmitted,
        };
        let Some(index) = seq.checked_sub(self.una) else { return };
        match self.records.get_mut(index as usize) {
            Some(earlier) => *earlier = Some(record),
            None => self.records.push_back(Some(record)),
        }
    }

    /// The window permits more than the application has, with so many segments in flight.
    pub fn note_app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = self.delivered + in_flight.max(1);
    }

    /// An ACK arrived that expects `ack`.
    pub fn on_ack(&mut self, ack: u32, blocks: &SackBlocks, now: Time) -> Delivered {
        let before = self.delivered;
        let mut newest: Option<Record> = None;
        let below = (self.una, ack.max(self.una));
        for &(start, end) in [below].iter().chain(blocks.as_slice()) {
            let mut seq = self.reported.first_missing(start.max(self.una));
            while seq < end.min(self.una + self.records.len() as u32) {
                self.reported.insert(seq);
                self.delivered += 1;
                let record = self.records[(seq - self.una) as usize];
                newest =
                    newest.filter(|other| record.is_none_or(|record| other.sent > record.sent)).or(record);
                seq = self.reported.first_missing(seq + 1);
            }
        }
        let gone = (below.1 - self.una).min(self.records.len() as u32);
        self.records.drain(..gone as usize);
        self.una += gone;
        self.reported.forget_below(self.una);
        self.rate = None;
        let segments = self.delivered - before;
        let Some(newest) = newest else { return Delivered { segments, rtt: None } };
        (self.delivered_at, self.first_sent) = (now, newest.sent);
        let interval = newest.sent.since(newest.first_sent).max(now.since(newest.delivered_at));
        self.rate = (interval > Duration::ZERO).then_some(DeliveryRate {
            delivered: self.delivered - newest.delivered,
            interval,
            prior_delivered: newest.delivered,
            app_limited: newest.app_limited,
        });
        let rtt = (!newest.retransmitted).then(|| now.since(newest.sent));
        Delivered { segments, rtt }
    }

    /// Outstanding segments that SACK blocks have reported.
    pub fn held(&self) -> u32 {
        self.delivered - (self.una - self.first)
    }

    /// What the latest ACK measured, if it reported a delivery.
    pub fn rate(&self) -> Option<DeliveryRate> {
        self.rate
    }
}
