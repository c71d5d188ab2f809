//! The window: what the model asks for, what a recovery leaves of it, and what is kept to be restored.

use super::{Bbr, EXCESS_TIME, INITIAL_WINDOW, LEAST_CWND, Mode, Recovery, fixed};
use crate::tcp::cc::{AckEvent, Window};
use roamlab_engine::Duration;

impl Bbr {
    /// Segments of `in_flight` that are in flight when the next burst leaves (`bbr_packets_in_net_at_edt`).
    pub(super) fn at_departure(&self, in_flight: u32, window: &Window, ack: &AckEvent) -> f64 {
        let burst = if self.pacing_gain > 1.0 { window.burst } else { 0 };
        let delivered = if self.params.as_linux { fixed::delivered(self.rate(), ack.until_burst) } else { 0 };
        f64::from((in_flight + burst).saturating_sub(delivered))
    }

    pub(super) fn save_cwnd(&mut self, window: &Window) {
        let is_good = self.recovery == Recovery::None && self.mode != Mode::ProbeRtt;
        self.prior.save(window.cwnd, is_good);
    }

    pub(super) fn leave_recovery(&mut self, window: &mut Window) {
        if self.recovery != Recovery::None {
            (self.recovery, self.conserves) = (Recovery::None, false);
            window.set(self.prior.restored(window.cwnd));
        }
    }

    /// Whole segments that are delivered in this time at the estimated rate.
    pub(super) fn expected(&self, time: Duration) -> u32 {
        match self.params.as_linux {
            true => fixed::delivered(self.rate(), time),
            false => (self.rate() * time.as_secs_f64()) as u32,
        }
    }

    /// `bbr_bdp`: segments of the bandwidth-delay product times a gain.
    pub(super) fn bdp(&self, rate: f64, gain: f64) -> f64 {
        let Some(min_rtt) = self.min_rtt else { return INITIAL_WINDOW };
        if self.params.as_linux {
            return fixed::product(rate, min_rtt, gain);
        }
        rounded_up(rate * min_rtt.as_secs_f64() * gain)
    }

    /// `bbr_quantization_budget`: three bursts more, even, and in the probing phase two segments more.
    pub(super) fn quantized(&self, segments: f64, window: &Window) -> f64 {
        let segments = segments + f64::from(3 * window.burst.min(127));
        let even = 2.0 * rounded_up(segments / 2.0);
        let probes = self.mode == Mode::ProbeBw && self.cycle_index == 0;
        even + if probes { 2.0 } else { 0.0 }
    }

    pub(super) fn inflight(&self, gain: f64, window: &Window) -> f64 {
        self.quantized(self.bdp(self.max_rate.get(), gain), window)
    }

    /// The window that the model asks for.
    pub(super) fn target(&self, window: &Window) -> f64 {
        let mut target = self.bdp(self.rate(), self.cwnd_gain);
        if self.full {
            let most = self.expected(EXCESS_TIME);
            target += f64::from(self.excess.get().min(most));
        }
        self.quantized(target, window)
    }

    /// `bbr_set_cwnd`.
    pub(super) fn set_cwnd(&mut self, window: &mut Window, ack: &AckEvent) {
        let acked = f64::from(ack.acked);
        if ack.acked > 0 && !self.recovers(window, ack) {
            let cwnd = if self.full {
                (window.cwnd + acked).min(self.target)
            } else if window.cwnd < self.target || f64::from(self.delivered) < INITIAL_WINDOW {
                window.cwnd + acked
            } else {
                window.cwnd
            };
            window.set(cwnd.max(LEAST_CWND));
        }
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(LEAST_CWND);
        }
    }

    /// `bbr_set_cwnd_to_recover_or_restore`: whether a recovery in its first round sets the window.
    pub(super) fn recovers(&mut self, window: &mut Window, ack: &AckEvent) -> bool {
        let outstanding = f64::from(ack.in_flight + ack.acked);
        if ack.lost > 0 {
            window.cwnd = (window.cwnd - f64::from(ack.lost)).max(1.0);
        }
        match self.recovery {
            Recovery::Begins => {
                self.recovery = Recovery::Runs;
                self.conserves = true;
                self.round_end = self.delivered;
                window.cwnd = outstanding;
            }
            Recovery::Runs | Recovery::Timeout if !ack.recovering => self.leave_recovery(window),
            _ => {}
        }
        if self.conserves {
            window.set(window.cwnd.max(outstanding));
        }
        self.conserves
    }
}

/// The next whole number of segments.
fn rounded_up(segments: f64) -> f64 {
    let whole = f64::from(segments as u32);
    if whole < segments { whole + 1.0 } else { whole }
}
