//! Round-trip times and the retransmission timeout.
//!
//! There are three arithmetics: that of BSD and ns-2 in clock ticks with fixed-point averages, and in nanoseconds RFC 6298 and one
//! with the largest deviation of a round trip. One segment is timed at a time, never a retransmitted one (Karn; RFC 6298 §3), and only the ACK of a
//! timed segment ends the backoff.

use crate::params::{Backoff, TcpParams};
use crate::{RoundAverages, clock};
use roamlab_engine::{Duration, Time};
use std::ops::Range;

/// srtt is kept in eighths of a tick, rttvar in quarters.
const SRTT_SHIFT: u32 = 3;
const RTTVAR_SHIFT: u32 = 2;
/// rttvar before the first measurement, BSD's 12 s (ns-2 `rttvar_init_`): only ever seen in a trace.
const INITIAL_RTTVAR: Duration = Duration::from_secs(12);
/// Above this factor ticks forget srtt, so that the next measurement starts afresh (BSD).
const BACKOFF_CLOBBER: u32 = 8;
/// Longer measurements count as this many ticks: the values computed from one are shifted and added in 64 bits.
const LONGEST_TICKS: u64 = 1 << 48;
/// BSD's largest factor.
const BSD_BACKOFF_LIMIT: u32 = 64;
/// The least RTO of the first data, if the SYN had to be sent again (RFC 6298 §5.7).
const RTO_AFTER_LOST_SYN: Duration = Duration::from_secs(3);

/// The estimator of a connection.
#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    averages: Averages,
    tick: Duration,
    min_rto: Duration,
    max_rto: Duration,
    backoff_rule: Backoff,
    /// The RTO before floor, backoff and ceiling.
    base_rto: Duration,
    backoff: u32,
    /// The RTO is whole ticks.
    whole_ticks: bool,
    /// The next measurement is of timestamps.
    in_stamps: bool,
    /// The RTO; every ACK asks for it, and few change it.
    rto: Duration,
    /// There was a measurement since [`await_sample`](Self::await_sample).
    has_sample: bool,
}

#[derive(Clone, Debug)]
enum Averages {
    Ticks(TickAverages),
    Rfc6298(Rfc6298Averages),
    /// In a box, an estimator of another kind is not larger for it.
    ByRound(Box<RoundAverages>),
}

impl RttEstimator {
    /// Offset of the clock in a tick at time zero; zero for arithmetic without ticks.
    pub fn tick_phase(&self) -> Duration {
        match &self.averages {
            Averages::Ticks(ticks) => ticks.phase,
            _ => Duration::ZERO,
        }
    }

    /// `phase`: offset of the clock in a tick at time zero (ns-2 `boot_time_`).
    pub fn new(params: &TcpParams, phase: Duration) -> RttEstimator {
        let averages = match (params.ns2_ticks(), params.deviates_by_round()) {
            (true, _) => Averages::Ticks(TickAverages::new(params.tick, phase, params.timestamps)),
            (false, false) => Averages::Rfc6298(Rfc6298Averages::default()),
            (false, true) => Averages::ByRound(Box::new(RoundAverages::new(params.min_rto))),
        };
        let mut estimator = RttEstimator {
            averages,
            tick: params.tick,
            in_stamps: false,
            whole_ticks: params.rto_in_ticks(),
            min_rto: params.min_rto,
            max_rto: params.max_rto,
            backoff_rule: params.backoff,
            base_rto: params.initial_rto,
            backoff: 1,
            rto: Duration::ZERO,
            has_sample: false,
        };
        estimator.update_rto();
        estimator
    }

    /// An echo of what was sent at `sent` arrived.
    pub fn sample(&mut self, sent: Time, now: Time) {
        self.sample_in(None, sent, now);
    }

    /// Segments that are sent again are measured by the timestamps alone, in their unit.
    pub fn measure_in_stamps(&mut self) {
        self.in_stamps = true;
    }

    /// The ACK of a segment sent at `sent` arrived, with these segments outstanding behind it: the backoff ends. Every
    /// ACK is measured.
    pub fn measure(&mut self, outstanding: Range<u32>, sent: Time, now: Time) {
        let sent = if std::mem::take(&mut self.in_stamps) { clock::in_stamps(sent, now) } else { sent };
        self.backoff = 1;
        self.sample_in(Some(outstanding), sent, now);
    }

    /// Without the segments outstanding it is the only measurement of the round trip.
    fn sample_in(&mut self, outstanding: Option<Range<u32>>, sent: Time, now: Time) {
        self.base_rto = match &mut self.averages {
            Averages::Ticks(averages) => averages.update(sent, now),
            Averages::Rfc6298(averages) => {
                let in_flight = outstanding.map_or(1, |range| range.end - range.start);
                averages.update(now.since(sent), u64::from(in_flight.div_ceil(2).max(1)), self.tick)
            }
            Averages::ByRound(averages) => averages.update(now.since(sent), outstanding),
        };
        if self.whole_ticks {
            self.base_rto = self.tick * self.base_rto.as_nanos().div_ceil(self.tick.as_nanos().max(1));
        }
        self.has_sample = true;
        self.update_rto();
    }

    /// Waits for a measurement: until then [`has_sample`](Self::has_sample) is false.
    pub fn await_sample(&mut self) {
        self.has_sample = false;
    }

    /// True if there was a measurement since a tail loss probe.
    pub fn has_sample(&self) -> bool {
        self.has_sample
    }

    /// The SYN had to be sent again, and has been acknowledged: the RTO of the data is 3 s at least.
    pub fn restart_after_lost_syn(&mut self) {
        if !matches!(self.averages, Averages::Ticks(_)) && self.base_rto < RTO_AFTER_LOST_SYN {
            (self.base_rto, self.backoff) = (RTO_AFTER_LOST_SYN, 1);
            self.update_rto();
        }
    }

    /// The segments outstanding at the timeout arrived, though nothing could be measured.
    pub fn end_backoff(&mut self) {
        self.backoff = 1;
        self.update_rto();
    }

    /// The timer expired: the next timeout is twice as long.
    pub fn back_off(&mut self) {
        let may_double = match self.backoff_rule {
            Backoff::Bsd => self.backoff < BSD_BACKOFF_LIMIT,
            Backoff::Rfc2988 => self.rto() < self.max_rto,
        };
        if may_double {
            self.backoff = self.backoff.saturating_mul(2);
        }
        if let Averages::Ticks(averages) = &mut self.averages
            && self.backoff > BACKOFF_CLOBBER
        {
            averages.clobber();
        }
        self.update_rto();
    }

    /// The retransmission timeout.
    pub fn rto(&self) -> Duration {
        self.rto
    }

    fn update_rto(&mut self) {
        let backed_off = match self.backoff_rule {
            Backoff::Rfc2988 => self.base_rto.max(self.min_rto) * u64::from(self.backoff),
            Backoff::Bsd => (self.base_rto * u64::from(self.backoff)).max(self.min_rto),
        };
        let rto = backed_off.min(self.max_rto);
        self.rto = match self.averages {
            Averages::Ticks(_) => rto.max(self.tick * 2),
            _ => rto,
        };
    }

    /// The factor on the RTO.
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// The latest measurement; zero before the first.
    pub fn latest(&self) -> Duration {
        match &self.averages {
            Averages::Ticks(averages) => self.tick * averages.latest as u64,
            Averages::Rfc6298(averages) => averages.latest,
            Averages::ByRound(averages) => averages.latest,
        }
    }

    /// The smoothed round-trip time; zero before the first measurement.
    pub fn srtt(&self) -> Duration {
        match &self.averages {
            Averages::Ticks(averages) => self.tick * averages.srtt as u64 / (1 << SRTT_SHIFT),
            Averages::Rfc6298(averages) => averages.srtt,
            Averages::ByRound(averages) => averages.srtt_8 / 8,
        }
    }

    /// The smoothed deviation.
    pub fn rttvar(&self) -> Duration {
        match &self.averages {
            Averages::Ticks(averages) => self.tick * averages.rttvar as u64 / (1 << RTTVAR_SHIFT),
            Averages::Rfc6298(averages) => averages.rttvar,
            Averages::ByRound(averages) => averages.rttvar_4 / 4,
        }
    }
}

/// BSD's averages: Jacobson & Karels 1988, appendix A.
#[derive(Clone, Debug)]
struct TickAverages {
    tick: Duration,
    phase: Duration,
    rounds: bool,
    /// Ticks.
    latest: i64,
    /// Eighths of a tick; zero before the first measurement.
    srtt: i64,
    /// Quarters of a tick.
    rttvar: i64,
}

impl TickAverages {
    fn new(tick: Duration, phase: Duration, rounds: bool) -> TickAverages {
        let rttvar = ((INITIAL_RTTVAR.as_nanos() / tick.as_nanos()) << RTTVAR_SHIFT) as i64;
        TickAverages { tick, phase, rounds, latest: 0, srtt: 0, rttvar }
    }

    fn update(&mut self, sent: Time, now: Time) -> Duration {
        // The clock counts whole ticks; the segment left part of the way into one.
        let tick = self.tick.as_nanos();
        // ns-2 rounds what timestamps measure.
        let into_tick = if self.rounds { tick / 2 } else { (sent + self.phase).as_nanos() % tick };
        let ticks = now.since(sent).as_nanos().saturating_add(into_tick) / tick;
        self.latest = (ticks.min(LONGEST_TICKS) as i64).max(1);
        if self.srtt == 0 {
            self.srtt = self.latest << SRTT_SHIFT;
            self.rttvar = self.latest << (RTTVAR_SHIFT - 1);
        } else {
            let error = self.latest - (self.srtt >> SRTT_SHIFT);
            self.srtt = (self.srtt + error).max(1);
            self.rttvar = (self.rttvar + error.abs() - (self.rttvar >> RTTVAR_SHIFT)).max(1);
        }
        // srtt + 4 rttvar, cut to whole ticks.
        self.tick * ((self.srtt + (self.rttvar << SRTT_SHIFT)) >> SRTT_SHIFT) as u64
    }

    fn clobber(&mut self) {
        self.rttvar += self.srtt >> SRTT_SHIFT;
        self.srtt = 0;
    }
}

/// RFC 6298 §2.
#[derive(Clone, Debug, Default)]
struct Rfc6298Averages {
    measured: bool,
    latest: Duration,
    srtt: Duration,
    rttvar: Duration,
}

impl Rfc6298Averages {
    /// Of `samples` in a round trip each weighs as much less (RFC 7323 §4.2, appendix G).
    fn update(&mut self, rtt: Duration, samples: u64, granularity: Duration) -> Duration {
        self.latest = rtt;
        if self.measured {
            let error = rtt.saturating_sub(self.srtt) + self.srtt.saturating_sub(rtt);
            let (beta, alpha) = (4 * samples, 8 * samples); // (2.3): 1/4 and 1/8
            self.rttvar = (self.rttvar * (beta - 1) + error) / beta;
            self.srtt = (self.srtt * (alpha - 1) + rtt) / alpha;
        } else {
            self.measured = true;
            self.srtt = rtt; // (2.2)
            self.rttvar = rtt / 2;
        }
        self.srtt + granularity.max(self.rttvar * 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, TcpProfile, TcpSpec};

    fn estimator(profile: Profile, phase: Duration) -> RttEstimator {
        let params = TcpSpec::default().resolve(profile).unwrap();
        RttEstimator::new(&params, phase)
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn rfc_6298_section_2() {
        let mut rtt = estimator(Profile::Rfc, Duration::ZERO);
        assert_eq!(rtt.rto(), ms(1000));
        rtt.measure(0..1, Time::ZERO, Time::ZERO + ms(400));
        assert_eq!((rtt.srtt(), rtt.rttvar(), rtt.rto()), (ms(400), ms(200), ms(1200)));
        rtt.measure(0..1, Time::ZERO, Time::ZERO + ms(800));
        assert_eq!((rtt.srtt(), rtt.rttvar(), rtt.rto()), (ms(450), ms(250), ms(1450)));
        rtt.back_off();
        rtt.back_off();
        assert_eq!((rtt.rto(), rtt.backoff()), (ms(5800), 4));
        (0..9).for_each(|_| rtt.back_off());
        assert_eq!(rtt.rto(), Duration::from_secs(60));
        rtt.measure(0..1, Time::ZERO, Time::ZERO + ms(450));
        assert_eq!((rtt.srtt(), rtt.rto()), (ms(450), ms(450) + ms(750)));
    }

    #[test]
    fn ticks_are_counted_from_the_clock_s_phase() {
        // 9.9 ms into a tick of 10 ms, 0.1 ms are enough to see a tick; from its beginning 9.9 ms see none.
        let mut late = estimator(Profile::Ns2_2009, Duration::from_micros(9_900));
        late.measure(0..1, Time::ZERO, Time::ZERO + Duration::from_micros(10_100));
        assert_eq!(late.latest(), ms(20));
        let mut early = estimator(Profile::Ns2_2009, Duration::ZERO);
        early.measure(0..1, Time::ZERO, Time::ZERO + Duration::from_micros(19_900));
        assert_eq!((early.latest(), early.rto()), (ms(10), ms(200)));
    }

    #[test]
    fn extreme_times_do_not_overflow() {
        let spec = TcpSpec { max_rto: Some(Duration::MAX), ..TcpSpec::default() };
        for profile in [Profile::Rfc, Profile::Ns2_2001, Profile::Ns2_2009] {
            let fine = TcpProfile { tick: Some(Duration::from_nanos(1)), ..profile.into() };
            let mut rtt = RttEstimator::new(&spec.resolve(&fine).unwrap(), Duration::ZERO);
            for sent in [Time::ZERO, Time::MAX, Time::ZERO] {
                rtt.measure(0..1, sent, Time::MAX);
                (0..70).for_each(|_| rtt.back_off());
                assert!(rtt.rto() > Duration::ZERO, "{rtt:?}");
            }
        }
    }

    #[test]
    fn bsd_forgets_srtt_after_the_fourth_timeout() {
        let mut rtt = estimator(Profile::Ns2_2001, Duration::ZERO);
        rtt.measure(0..1, Time::ZERO, Time::ZERO + ms(800));
        assert_eq!((rtt.srtt(), rtt.rttvar(), rtt.rto()), (ms(800), ms(400), ms(2400)));
        (0..4).for_each(|_| rtt.back_off());
        // rttvar gains srtt's whole ticks (8) as quarters of a tick.
        assert_eq!((rtt.srtt(), rtt.rttvar(), rtt.rto()), (ms(0), ms(600), ms(38_400)));
        (0..5).for_each(|_| rtt.back_off());
        assert_eq!(rtt.backoff(), 64);
    }

    #[test]
    fn a_backoff_that_ends_leaves_the_timeout_of_the_measurements() {
        // RFC 6298 §2.3: 400 + 4 * 200 ms.
        let mut rtt = estimator(Profile::Rfc, Duration::ZERO);
        rtt.measure(0..1, Time::ZERO, Time::ZERO + ms(400));
        rtt.back_off();
        assert_eq!(rtt.rto(), ms(2400));
        rtt.end_backoff();
        assert_eq!((rtt.backoff(), rtt.rto()), (1, ms(1200)));
    }
}
