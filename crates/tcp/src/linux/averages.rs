//! The rule of the RTO (`tcp_rtt_estimator` in `net/ipv4/tcp_input.c`).

use roamlab_engine::Duration;
use std::ops::Range;

/// RTO = srtt + 4 rttvar, where 4 rttvar is at least the least RTO.
///
/// rttvar is the largest deviation of a round trip. It rises immediately, and falls by a quarter of the difference at
/// the end of a round trip. A measurement below the average raises the deviation by an eighth only.
#[derive(Clone, Debug)]
pub(crate) struct RoundAverages {
    min_rto: Duration,
    pub latest: Duration,
    /// Eight times the average; zero before the first measurement.
    pub srtt_8: Duration,
    /// Four times the smoothed deviation, its maximum in this round trip, and four times rttvar.
    mdev_4: Duration,
    mdev_max_4: Duration,
    pub rttvar_4: Duration,
    /// The round trip ends when a segment above is acknowledged.
    round_end: u32,
}

impl RoundAverages {
    pub fn new(min_rto: Duration) -> RoundAverages {
        let (latest, srtt_8, mdev_4, mdev_max_4, rttvar_4) = Default::default();
        RoundAverages { min_rto, latest, srtt_8, mdev_4, mdev_max_4, rttvar_4, round_end: 0 }
    }

    pub fn update(&mut self, rtt: Duration, outstanding: Option<Range<u32>>) -> Duration {
        self.latest = rtt;
        let (una, next) = outstanding.map_or((u32::MAX, 0), |range| (range.start, range.end));
        if self.srtt_8 == Duration::ZERO {
            (self.srtt_8, self.mdev_4) = (rtt.saturating_mul(8), rtt.saturating_mul(2));
            self.rttvar_4 = self.mdev_4.max(self.min_rto);
            (self.mdev_max_4, self.round_end) = (self.rttvar_4, next);
            return self.srtt_8 / 8 + self.rttvar_4;
        }
        let srtt = self.srtt_8 / 8;
        let error = rtt.saturating_sub(srtt) + srtt.saturating_sub(rtt);
        self.srtt_8 = self.srtt_8 - srtt + rtt;
        let mdev = self.mdev_4 / 4;
        let rise = error.saturating_sub(mdev);
        let rise = if rtt < srtt { rise / 8 } else { rise };
        self.mdev_4 = self.mdev_4 + rise - mdev.saturating_sub(error);
        if self.mdev_4 > self.mdev_max_4 {
            self.mdev_max_4 = self.mdev_4;
            self.rttvar_4 = self.rttvar_4.max(self.mdev_max_4);
        }
        if una > self.round_end {
            self.rttvar_4 = self.rttvar_4 - self.rttvar_4.saturating_sub(self.mdev_max_4) / 4;
            (self.round_end, self.mdev_max_4) = (next, self.min_rto);
        }
        self.srtt_8 / 8 + self.rttvar_4
    }
}

#[cfg(test)]
mod tests {
    use crate::rtt::RttEstimator;
    use crate::{Profile, TcpSpec};
    use roamlab_engine::{Duration, Time};

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn linux() -> RttEstimator {
        RttEstimator::new(&TcpSpec::default().resolve(Profile::Linux6).unwrap(), Duration::ZERO)
    }

    /// One measurement per round trip: segment `n`, with the next one outstanding.
    fn round(rtt: &mut RttEstimator, segment: u32, millis: u64) -> (Duration, Duration) {
        rtt.measure(segment..segment + 1, Time::ZERO, Time::ZERO + ms(millis));
        (rtt.srtt(), rtt.rto())
    }

    #[test]
    fn linux_s_rto_is_200_ms_above_a_steady_rtt() {
        let mut rtt = linux();
        assert_eq!(rtt.rto(), ms(1000));
        assert_eq!(round(&mut rtt, 1, 50), (ms(50), ms(250)), "4 rttvar = max(2 * 50, 200)");
        (2..20).for_each(|n| assert_eq!(round(&mut rtt, n, 50), (ms(50), ms(250))));
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.rto(), ms(1000), "doubled from 250 ms, not from 1 s");
    }

    #[test]
    fn linux_s_rttvar_rises_at_once_and_falls_by_a_quarter_per_round_trip() {
        let mut rtt = linux();
        // 2 * 400 = 800 ms.
        assert_eq!(round(&mut rtt, 1, 400), (ms(400), ms(1200)));
        // mdev falls by a quarter of 200 to 600, its maximum remains 800 in the first round trip, and starts again at 200.
        assert_eq!(round(&mut rtt, 3, 400), (ms(400), ms(1200)));
        // 800 - (800 - 450) / 4, where mdev = 600 - 150 = 450 is the maximum of the round trip.
        assert_eq!(round(&mut rtt, 5, 400), (ms(400), ms(400) + ms(713)), "712.5 in whole ticks");
        // A step up by 800 ms: mdev_4 = 337.5 - 84.375 + 800 = 1053.125 ms, immediately.
        let before = round(&mut rtt, 7, 400);
        assert!(before.1 < ms(1112), "{before:?}");
        let (srtt, rto) = round(&mut rtt, 9, 1200);
        assert_eq!(srtt, ms(500));
        assert_eq!(rto, ms(1554), "1553.125 in whole ticks");
    }

    #[test]
    fn linux_hardly_counts_a_fall_of_the_rtt_as_a_deviation() {
        let mut rtt = linux();
        round(&mut rtt, 1, 400);
        (1..60).for_each(|n| _ = round(&mut rtt, 2 * n + 1, 400));
        let (srtt, rto) = round(&mut rtt, 200, 80);
        assert_eq!(srtt, ms(360));
        // The deviation of 320 ms counts as 40.
        assert_eq!(rto, ms(561), "in whole ticks");
    }

    #[test]
    fn within_a_round_trip_linux_keeps_the_maximum() {
        let mut rtt = linux();
        let mut measure = |millis| {
            rtt.measure(1..100, Time::ZERO, Time::ZERO + ms(millis));
            rtt.rto()
        };
        assert_eq!(measure(400), ms(1200));
        (0..10).for_each(|_| assert_eq!(measure(400), ms(1200)));
    }

    #[test]
    fn a_round_trip_of_linux_ends_above_what_was_sent_when_it_began() {
        // `tcp_rtt_estimator`: after(snd_una, rtt_seq). The first ends with the measurement at 20, the second above 30.
        let mut rtt = linux();
        let mut measure = |una, next| {
            rtt.measure(una..next, Time::ZERO, Time::ZERO + ms(400));
            rtt.rto()
        };
        assert_eq!(
            [(1, 10), (10, 20), (20, 30), (30, 40)].map(|(una, next)| measure(una, next)),
            [ms(1200); 4]
        );
        // 800 - (800 - 337.5) / 4, in whole ticks.
        assert_eq!(measure(31, 40), ms(400) + ms(685));
    }
}
