//! The rule of the RTO (`tcp_rtt_estimator` in `net/ipv4/tcp_input.c`).

use roamlab_engine::Duration;
use std::ops::Range;

/// RTO = srtt + 4 rttvar, where 4 rttvar is at least the least RTO.
///
/// rttvar is the largest deviation of a round trip. It rises at once, and falls by a quarter of the difference at the end
/// of a round trip. A measurement below the average raises the deviation by an eighth only.
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
