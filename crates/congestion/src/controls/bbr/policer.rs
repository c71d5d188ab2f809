//! The long-term rate where a policer seems to set it (`bbr_lt_bw_sampling`).

use super::law::Law;
use super::{Bbr, Mode, Policer};
use roamlab_engine::{Duration, Time};

/// The policer: rounds of an interval, share of losses, likeness of two rates, and rounds of its use.
const POLICER_ROUNDS: u32 = 4;
const POLICER_LOSS: f64 = 50.0 / 256.0;
const POLICER_RATIO: f64 = 0.125;
const POLICER_DIFFERENCE: f64 = 4000.0;
const POLICER_USE: u32 = 48;

impl<L: Law> Bbr<L> {
    /// `bbr_lt_bw_sampling`: is the rate that of a policer?
    pub(super) fn sample_policer(&mut self, lost: bool, app_limited: bool, now: Time) {
        let at = self.time_of_model(now);
        if self.policer.uses {
            self.policer.rounds += u32::from(self.mode == Mode::ProbeBw && self.round_start);
            if self.policer.rounds >= POLICER_USE {
                self.policer = Policer::default();
                self.enter_probe_bw(now);
            }
            return;
        }
        if !self.policer.samples {
            if !lost {
                return;
            }
            self.begin_interval(at);
            self.policer.samples = true;
        }
        if app_limited {
            self.policer = Policer::default();
            return;
        }
        self.policer.rounds += u32::from(self.round_start);
        if self.policer.rounds < POLICER_ROUNDS {
            return;
        }
        if self.policer.rounds > 4 * POLICER_ROUNDS {
            self.policer = Policer::default(); // too long
            return;
        }
        let delivered = f64::from(self.delivered - self.policer.delivered);
        let losses = f64::from(self.lost - self.policer.lost);
        let span = L::span(self.policer.since, at);
        if !lost || delivered == 0.0 || losses < POLICER_LOSS * delivered || span < Duration::from_millis(1) {
            return;
        }
        let (rate, before) = (self.measured(delivered as u32, span), self.policer.rate);
        let difference = (rate - before).abs();
        let is_like = difference <= POLICER_RATIO * before
            || 8.0 * f64::from(self.segment) * self.paced(difference, 1.0) <= POLICER_DIFFERENCE;
        if before > 0.0 && is_like {
            let rate = L::mean(rate, before);
            self.policer = Policer { uses: true, rate, ..Policer::default() };
            self.pacing_gain = 1.0;
        } else {
            self.begin_interval(at);
            self.policer.rate = rate;
        }
    }

    fn begin_interval(&mut self, now: Time) {
        let Policer { samples, rate, .. } = self.policer;
        let (delivered, lost) = (self.delivered, self.lost);
        self.policer = Policer { samples, rate, since: now, delivered, lost, ..Policer::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::super::law::Real;
    use super::super::linux::Linux;
    use super::super::tests::{model, model_of, near};
    use super::*;

    #[test]
    fn two_like_intervals_with_losses_are_a_policer() {
        let (mut bbr, _) = model();
        (bbr.segment, bbr.pacing_gain) = (1000, 1.25);
        let mut now = Time::from_nanos(1);
        let mut interval = |bbr: &mut Bbr<Real>, delivered: u32, lost: u32, rounds: u32| {
            bbr.round_start = true;
            for _ in 1..rounds {
                bbr.sample_policer(false, false, now);
            }
            now += Duration::from_secs(1);
            bbr.delivered += delivered;
            bbr.lost += lost;
            bbr.sample_policer(true, false, now);
            (bbr.policer.uses, bbr.policer.rate)
        };
        assert_eq!(interval(&mut bbr, 0, 1, 1), (false, 0.0), "the first loss begins");
        assert_eq!(interval(&mut bbr, 500, 90, 4), (false, 0.0), "18 % are below 50/256");
        assert_eq!(interval(&mut bbr, 500, 150, 4), (false, 500.0), "1000 segments in 2 s, 24 %");
        assert_eq!(interval(&mut bbr, 600, 200, 4), (false, 600.0), "a fifth more");
        assert_eq!(interval(&mut bbr, 540, 200, 4), (true, 570.0), "within an eighth");
        assert_eq!(bbr.rate(), 570.0);
        assert_eq!(bbr.pacing_gain, 1.0, "with the ACK that shows it");
        bbr.update_gains();
        assert_eq!(bbr.pacing_gain, 1.0);
        for _ in 0..47 {
            bbr.sample_policer(false, false, now);
        }
        assert!(bbr.policer.uses);
        bbr.sample_policer(false, false, now);
        assert!(!bbr.policer.uses, "after 48 rounds");
    }

    #[test]
    fn in_linux_an_interval_of_the_policer_is_whole_milliseconds_between_deliveries() {
        let (mut bbr, _) = model_of::<Linux>();
        let at = |micros| Time::ZERO + Duration::from_micros(micros);
        bbr.delivered_at = at(1_900);
        bbr.sample_policer(true, false, at(9_000));
        (bbr.delivered_at, bbr.delivered, bbr.lost, bbr.round_start) = (at(101_100), 1_100, 50, true);
        (0..3).for_each(|_| bbr.sample_policer(false, false, at(101_200)));
        bbr.sample_policer(true, false, at(300_000));
        near(bbr.policer.rate, 1000.0, 0.06); // 100 segments in 101 ms less 1
    }
}
