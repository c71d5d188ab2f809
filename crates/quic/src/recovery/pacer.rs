//! Pacing (RFC 9002 §7.7): a bucket of packets, which fills at a rate a little above that of the window.

use roamlab_engine::{Duration, Time};

/// Less than a packet is missing by rounding alone.
const WHOLE: f64 = 1.0 - 1e-6;

/// A bucket of packets that may leave. It is full at first, and after a pause.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    /// The largest burst in packets.
    burst: f64,
    packets: f64,
    filled: Time,
}

impl Pacer {
    /// A full bucket of `burst` packets.
    pub fn new(burst: f64) -> Pacer {
        Pacer { burst, packets: burst, filled: Time::ZERO }
    }

    /// An empty bucket for `burst` packets, from `now` on.
    pub fn empty(burst: f64, now: Time) -> Pacer {
        Pacer { burst, packets: 0.0, filled: now }
    }

    /// When the next packet may leave, with `interval` between packets: `None` if it may now.
    pub fn blocked_until(&mut self, interval: Duration, now: Time) -> Option<Time> {
        let per_packet = interval.as_nanos().max(1) as f64;
        let gained = now.since(self.filled).as_nanos() as f64 / per_packet;
        (self.packets, self.filled) = ((self.packets + gained).min(self.burst), now);
        let missing = 1.0 - self.packets;
        (self.packets < WHOLE).then(|| now + Duration::from_nanos((missing * per_packet).ceil() as u64))
    }

    /// A packet leaves.
    pub fn sent(&mut self) {
        self.packets = (self.packets - 1.0).max(0.0);
    }
}

/// The time between two packets of a window of `cwnd` packets: a round trip by the window, by `gain` shorter.
pub(crate) fn interval(smoothed_rtt: Duration, cwnd: f64, gain: f64) -> Duration {
    Duration::from_nanos((smoothed_rtt.as_nanos() as f64 / (gain * cwnd)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn the_rate_is_a_quarter_above_a_window_in_each_round_trip() {
        // §7.7: (100 ms / 40 packets) / 1.25.
        assert_eq!(interval(Duration::from_millis(100), 40.0, 1.25), Duration::from_millis(2));
    }

    #[test]
    fn a_full_bucket_is_a_burst_and_then_each_packet_waits() {
        let mut pacer = Pacer::new(3.0);
        let gap = Duration::from_millis(2);
        for _ in 0..3 {
            assert_eq!(pacer.blocked_until(gap, at(10)), None);
            pacer.sent();
        }
        assert_eq!(pacer.blocked_until(gap, at(10)), Some(at(12)));
        assert_eq!(pacer.blocked_until(gap, at(11)), Some(at(12)));
        assert_eq!(pacer.blocked_until(gap, at(12)), None);
        pacer.sent();
        assert_eq!(pacer.blocked_until(gap, at(12)), Some(at(14)));
    }

    #[test]
    fn a_pause_fills_no_more_than_a_burst() {
        let mut pacer = Pacer::new(2.0);
        let gap = Duration::from_millis(2);
        let burst = |pacer: &mut Pacer, now| {
            let mut count = 0;
            while pacer.blocked_until(gap, now).is_none() {
                pacer.sent();
                count += 1;
            }
            count
        };
        assert_eq!(burst(&mut pacer, at(0)), 2);
        assert_eq!(burst(&mut pacer, at(500)), 2);
    }

    #[test]
    fn a_rate_that_changes_counts_from_its_change_on() {
        let mut pacer = Pacer::new(1.0);
        pacer.sent();
        assert_eq!(pacer.blocked_until(Duration::from_millis(4), at(0)), Some(at(4)));
        // Half a packet has come in 2 ms; the other half takes 4 ms at half the rate.
        assert_eq!(pacer.blocked_until(Duration::from_millis(4), at(2)), Some(at(4)));
        assert_eq!(pacer.blocked_until(Duration::from_millis(8), at(2)), Some(at(6)));
    }
}
