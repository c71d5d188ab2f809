//! Round-trip times (RFC 9002 §5) and the probe timeout (§6.2.1).

use roamlab_engine::{Duration, Time};

/// The estimator of a path.
#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    initial: Duration,
    granularity: Duration,
    max_ack_delay: Duration,
    latest: Duration,
    min: Duration,
    smoothed: Duration,
    variation: Duration,
    first_sample: Option<Time>,
}

impl RttEstimator {
    /// An estimator without a sample. `initial`: the round-trip time until the first one.
    pub fn new(initial: Duration, granularity: Duration, max_ack_delay: Duration) -> RttEstimator {
        RttEstimator {
            initial,
            granularity,
            max_ack_delay,
            latest: Duration::ZERO,
            min: Duration::ZERO,
            smoothed: initial,
            variation: initial / 2,
            first_sample: None,
        }
    }

    /// The largest packet that an ACK newly acknowledges was sent `latest` ago. The other end reports that it held the
    /// ACK back for `ack_delay`.
    pub fn sample(&mut self, latest: Duration, ack_delay: Duration, now: Time) {
        self.latest = latest;
        if self.first_sample.is_none() {
            self.first_sample = Some(now);
            (self.min, self.smoothed, self.variation) = (latest, latest, latest / 2);
            return;
        }
        // §5.2, §5.3: the minimum takes no delay off, and no sample is adjusted to below it.
        self.min = self.min.min(latest);
        let delay = ack_delay.min(self.max_ack_delay);
        let adjusted = if latest >= self.min + delay { latest.saturating_sub(delay) } else { latest };
        let error = self.smoothed.saturating_sub(adjusted) + adjusted.saturating_sub(self.smoothed);
        self.variation = (self.variation * 3 + error) / 4;
        self.smoothed = (self.smoothed * 7 + adjusted) / 8;
    }

    /// The least sample is that of an old path: the next one takes its place.
    pub fn forget_min(&mut self) {
        if self.first_sample.is_some() {
            self.min = Duration::MAX;
        }
    }

    /// Persistent congestion: the newest sample is the least one from now on (§5.2).
    pub fn restart_min(&mut self) {
        self.min = self.latest;
    }

    /// The latest sample; zero before the first.
    pub fn latest(&self) -> Duration {
        self.latest
    }

    /// The least sample; zero before the first.
    pub fn min(&self) -> Duration {
        self.min
    }

    /// The smoothed round-trip time; the initial one before the first sample.
    pub fn smoothed(&self) -> Duration {
        self.smoothed
    }

    /// The smoothed round-trip time; `None` before the first sample.
    pub fn measured(&self) -> Option<Duration> {
        self.first_sample.map(|_| self.smoothed)
    }

    /// The smoothed deviation.
    pub fn variation(&self) -> Duration {
        self.variation
    }

    /// When the first sample was taken.
    pub fn first_sample(&self) -> Option<Time> {
        self.first_sample
    }

    /// The probe timeout without backoff, of packets whose ACK may be held back (§6.2.1).
    pub fn pto(&self) -> Duration {
        self.handshake_pto() + self.max_ack_delay
    }

    /// The probe timeout of the handshake, whose ACKs are not held back.
    pub fn handshake_pto(&self) -> Duration {
        self.smoothed + self.granularity.max(self.variation * 4)
    }

    /// The estimator of a new path.
    pub fn for_new_path(&self) -> RttEstimator {
        RttEstimator::new(self.initial, self.granularity, self.max_ack_delay)
    }

    /// After this time a packet below the largest acknowledged one is lost (§6.1.2).
    pub fn loss_delay(&self, threshold: f64) -> Duration {
        let rtt = self.latest.max(self.smoothed);
        Duration::from_nanos((rtt.as_nanos() as f64 * threshold) as u64).max(self.granularity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn estimator() -> RttEstimator {
        RttEstimator::new(ms(333), ms(1), ms(25))
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + ms(millis)
    }

    #[test]
    fn before_the_first_sample_the_initial_round_trip_time_counts() {
        // §6.2.2: 333 ms, so the timeout of the handshake is 333 + 4 * 166.5 = 999 ms.
        let rtt = estimator();
        assert_eq!((rtt.handshake_pto(), rtt.pto(), rtt.measured()), (ms(999), ms(1024), None));
    }

    #[test]
    fn the_first_sample_ignores_the_ack_delay() {
        let mut rtt = estimator();
        rtt.sample(ms(100), ms(20), at(100));
        assert_eq!((rtt.smoothed(), rtt.variation(), rtt.latest()), (ms(100), ms(50), ms(100)));
        assert_eq!(rtt.pto(), ms(100 + 200 + 25));
        assert_eq!(rtt.first_sample(), Some(at(100)));
    }

    #[test]
    fn the_ack_delay_is_taken_off_down_to_the_minimum() {
        let mut rtt = estimator();
        rtt.sample(ms(100), ms(0), at(100));
        // 180 - 20 = 160: variation (3 * 50 + 60) / 4 = 52.5, smoothed (7 * 100 + 160) / 8 = 107.5.
        rtt.sample(ms(180), ms(20), at(300));
        let half = Duration::from_micros(500);
        assert_eq!((rtt.smoothed(), rtt.variation()), (ms(107) + half, ms(52) + half));
        // 110 is less than 100 + 20: nothing is taken off. (7 * 107.5 + 110) / 8 = 107.8125.
        rtt.sample(ms(110), ms(20), at(400));
        assert_eq!(rtt.smoothed(), Duration::from_nanos(107_812_500));
        // §5.3: at just 100 + 20 the delay is taken off: (7 * 100 + 100) / 8.
        let mut rtt = estimator();
        rtt.sample(ms(100), ms(0), at(100));
        rtt.sample(ms(120), ms(20), at(300));
        assert_eq!((rtt.smoothed(), rtt.variation()), (ms(100), Duration::from_micros(37_500)));
    }

    #[test]
    fn after_persistent_congestion_the_newest_sample_is_the_least() {
        // §5.2: otherwise a path that has become longer has its delays taken off down to the old path's minimum.
        let mut rtt = estimator();
        rtt.sample(ms(100), ms(0), at(100));
        rtt.sample(ms(500), ms(0), at(700));
        assert_eq!((rtt.min(), rtt.smoothed()), (ms(100), ms(150)));
        rtt.restart_min();
        assert_eq!(rtt.min(), ms(500));
        // 510 is less than 500 + 20: nothing is taken off. (7 * 150 + 510) / 8 = 195.
        rtt.sample(ms(510), ms(20), at(1300));
        assert_eq!((rtt.min(), rtt.smoothed()), (ms(500), ms(195)));
    }

    #[test]
    fn an_ack_delay_above_the_maximum_is_no_excuse() {
        let mut rtt = estimator();
        rtt.sample(ms(100), ms(0), at(100));
        // Of the 200 ms that the other end claims, 25 count: 300 - 25 = 275, (700 + 275) / 8 = 121.875.
        rtt.sample(ms(300), ms(200), at(500));
        assert_eq!(rtt.smoothed(), Duration::from_nanos(121_875_000));
    }

    #[test]
    fn a_new_minimum_is_adopted_before_the_delay_is_taken_off() {
        let mut rtt = estimator();
        rtt.sample(ms(100), ms(0), at(100));
        // 60 is the minimum now, and 60 < 60 + 20: it counts in full. (700 + 60) / 8 = 95.
        rtt.sample(ms(60), ms(20), at(200));
        assert_eq!((rtt.smoothed(), rtt.variation()), (ms(95), Duration::from_micros(47_500)));
    }

    #[test]
    fn the_time_threshold_is_nine_eighths_and_a_granule_at_least() {
        let mut rtt = estimator();
        rtt.sample(ms(80), ms(0), at(80));
        assert_eq!(rtt.loss_delay(1.125), ms(90));
        let mut fast = estimator();
        fast.sample(Duration::from_micros(400), ms(0), at(1));
        assert_eq!(fast.loss_delay(1.125), ms(1));
        // Also of the probe timeout: 4 * 0.2 ms is less than a granule.
        assert_eq!(fast.pto(), Duration::from_micros(400) + ms(1) + ms(25));
    }
}
