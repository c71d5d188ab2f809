//! The delivery rate (draft-ietf-ccwg-bbr-06 §4.1): the segments delivered while one was in flight, by the time that this
//! took. TCP measures it by its record of segments, QUIC by that of packets.

use roamlab_engine::{Duration, Time};

/// A measurement of the delivery rate.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct DeliveryRate {
    /// Segments delivered in the interval.
    pub delivered: u32,
    /// The longer of the times that sending and acknowledging them took.
    pub interval: Duration,
    /// Segments delivered when the newest of them was sent: a round trip ends when this exceeds an earlier total.
    pub prior_delivered: u32,
    /// The application had too little data for all that the path could carry.
    pub app_limited: bool,
    /// Segments in flight just after the newest of them was sent.
    pub in_flight: u32,
    /// Segments found to be lost while it was in flight.
    pub lost: u32,
}

/// The delivery when a segment was sent.
#[derive(Copy, Clone, Debug)]
pub struct Stamp {
    /// When it was sent.
    pub sent: Time,
    /// When the segment was sent whose delivery was the latest then.
    first_sent: Time,
    delivered: u32,
    delivered_at: Time,
    app_limited: bool,
    in_flight: u32,
    lost: u32,
}

/// A segment or packet is lost, and what was known of the path when it was sent.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct LostSegment {
    /// When that was found.
    pub now: Time,
    /// Its number.
    pub number: u32,
    /// Segments in flight just after it was sent.
    pub in_flight: u32,
    /// Segments found to be lost since it was sent, with itself.
    pub lost: u32,
    /// The application had too little data.
    pub app_limited: bool,
}

/// Counts what is delivered.
#[derive(Clone, Debug, Default)]
pub struct DeliverySampler {
    /// Segments delivered so far.
    delivered: u32,
    delivered_at: Time,
    first_sent: Time,
    /// The sender had too little data until this number of segments is delivered.
    app_limited_until: u32,
    /// Segments found to be lost so far.
    lost: u32,
}

impl DeliverySampler {
    /// A segment goes out. `alone`: no other one is in flight. `in_flight` counts it too.
    #[inline]
    pub fn stamp(&mut self, alone: bool, in_flight: u32, now: Time) -> Stamp {
        if alone {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        Stamp {
            sent: now,
            first_sent: self.first_sent,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            app_limited: self.is_app_limited(),
            in_flight,
            lost: self.lost,
        }
    }

    /// The segment of this number, sent with this stamp, is lost.
    #[inline]
    pub fn lose(&mut self, number: u32, sent: &Stamp, now: Time) -> LostSegment {
        self.lost += 1;
        let Stamp { in_flight, app_limited, .. } = *sent;
        LostSegment { now, number, in_flight, lost: self.lost - sent.lost, app_limited }
    }

    /// The window permits more than the application has. `in_flight`: segments in flight.
    #[inline]
    pub fn note_app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = self.delivered + in_flight.max(1);
    }

    /// True if the sender has too little data.
    #[inline]
    pub fn is_app_limited(&self) -> bool {
        self.delivered < self.app_limited_until
    }

    /// A number of further segments is delivered.
    #[inline]
    pub fn deliver(&mut self, segments: u32) {
        self.delivered += segments;
    }

    /// Segments delivered so far.
    #[inline]
    pub fn delivered(&self) -> u32 {
        self.delivered
    }

    /// The rate that an ACK measures, of whose segments the newest has this stamp.
    #[inline]
    pub fn rate(&mut self, newest: &Stamp, now: Time) -> Option<DeliveryRate> {
        (self.delivered_at, self.first_sent) = (now, newest.sent);
        let interval = newest.sent.since(newest.first_sent).max(now.since(newest.delivered_at));
        (interval > Duration::ZERO).then_some(DeliveryRate {
            delivered: self.delivered - newest.delivered,
            interval,
            prior_delivered: newest.delivered,
            app_limited: newest.app_limited,
            in_flight: newest.in_flight,
            lost: self.lost - newest.lost,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_when_nothing_is_in_flight_begins_to_count_then() {
        // draft-cheng-iccrg-delivery-rate-estimation §3.2: first_sent_time and delivered_time are the time of sending.
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let mut sampler = DeliverySampler::default();
        for begin in [0, 10_000] {
            let sent = sampler.stamp(true, 1, at(begin));
            sampler.deliver(1);
            let rate = sampler.rate(&sent, at(begin + 100)).unwrap();
            assert_eq!((rate.delivered, rate.interval), (1, Duration::from_millis(100)), "at {begin} ms");
        }
    }
}
