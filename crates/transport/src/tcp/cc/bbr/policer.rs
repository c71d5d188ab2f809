//! The long-term rate where a policer seems to set it (`bbr_lt_bw_sampling`).

use super::{Bbr, Mode, Policer, fixed};
use roamlab_engine::{Duration, Time};

/// The policer: rounds of an interval, share of losses, likeness of two rates, and rounds of its use.
const POLICER_ROUNDS: u32 = 4;
const POLICER_LOSS: f64 = 50.0 / 256.0;
const POLICER_RATIO: f64 = 0.125;
const POLICER_DIFFERENCE: f64 = 4000.0;
const POLICER_USE: u32 = 48;

impl Bbr {
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
        let span = if self.params.as_linux {
            fixed::millis(self.policer.since, at)
        } else {
            at.since(self.policer.since)
        };
        if !lost || delivered == 0.0 || losses < POLICER_LOSS * delivered || span < Duration::from_millis(1) {
            return;
        }
        let (rate, before) = (self.measured(delivered as u32, span), self.policer.rate);
        let difference = (rate - before).abs();
        let is_like = difference <= POLICER_RATIO * before
            || 8.0 * f64::from(self.segment) * self.paced(difference, 1.0) <= POLICER_DIFFERENCE;
        if before > 0.0 && is_like {
            let rate = if self.params.as_linux { fixed::mean(rate, before) } else { (rate + before) / 2.0 };
            self.policer = Policer { uses: true, rate, ..Policer::default() };
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
