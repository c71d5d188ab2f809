//! The window: the model's target, the window in a recovery, and the one to restore after it.

use super::law::Law;
use super::parts::rounded_up;
use super::{Bbr, EXCESS_TIME, INITIAL_WINDOW, LEAST_CWND, Mode, Recovery};
use crate::{AckEvent, Window};
use roamlab_engine::Duration;

impl<L: Law> Bbr<L> {
    /// Segments of `in_flight` that are in flight when the next burst leaves (`bbr_packets_in_net_at_edt`).
    pub(super) fn at_departure(&self, in_flight: u32, window: &Window, ack: &AckEvent) -> f64 {
        let burst = if self.pacing_gain > 1.0 { window.burst } else { 0 };
        let delivered = if L::WAITS_FOR_BURST { self.expected(ack.known.until_burst) } else { 0 };
        f64::from((in_flight + burst).saturating_sub(delivered))
    }

    pub(super) fn save_cwnd(&mut self, window: &Window) {
        let begins = self.begins && !L::RECOVERS_BY_ACKS;
        let is_good = self.recovery == Recovery::None && !begins && self.mode != Mode::ProbeRtt;
        self.prior.save(window.cwnd, is_good);
    }

    pub(super) fn leave_recovery(&mut self, window: &mut Window) {
        if self.recovery != Recovery::None || self.begins {
            (self.recovery, self.begins, self.conserves) = (Recovery::None, false, false);
            window.set(self.prior.restored(window.cwnd));
        }
    }

    /// Whole segments that are delivered in this time at the estimated rate.
    pub(super) fn expected(&self, time: Duration) -> u32 {
        L::delivered(self.rate(), time)
    }

    /// `bbr_bdp`: segments of the bandwidth-delay product times a gain.
    pub(super) fn bdp(&self, rate: f64, gain: f64) -> f64 {
        let Some(min_rtt) = self.min_rtt else { return INITIAL_WINDOW };
        L::product(rate, min_rtt, gain)
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

    /// `bbr_set_cwnd_to_recover_or_restore`: true if a recovery in its first round sets the window.
    pub(super) fn recovers(&mut self, window: &mut Window, ack: &AckEvent) -> bool {
        let outstanding = f64::from(ack.in_flight + ack.acked);
        if ack.lost > 0 {
            window.cwnd = (window.cwnd - f64::from(ack.lost)).max(1.0);
        }
        // By ACKs one that began and was undone between two of them is none.
        let begins = std::mem::take(&mut self.begins) && (ack.recovering || !L::RECOVERS_BY_ACKS);
        if begins {
            self.recovery = Recovery::Runs;
            self.conserves = true;
            self.round_end = self.delivered;
            window.cwnd = outstanding;
        } else if !ack.recovering {
            self.leave_recovery(window);
        }
        if self.conserves {
            window.set(window.cwnd.max(outstanding));
        }
        self.conserves
    }
}

#[cfg(test)]
mod tests {
    use super::super::law::Real;
    use super::super::linux::Linux;
    use super::super::tests::{ack, found, known, lose, model, model_of, set_cwnd};
    use super::*;
    use crate::params::connections::*;
    use crate::{Algorithm, Loss, LossEvent};

    #[test]
    fn the_window_is_two_products_three_bursts_and_even() {
        let (mut bbr, mut window) = model();
        assert_eq!(bbr.bdp(1250.0, 1.0), 50.0);
        assert_eq!(bbr.bdp(1251.0, 1.0), 51.0, "rounded up");
        assert_eq!(bbr.quantized(51.0, &window), 58.0, "51 + 3 · 2, even");
        set_cwnd(&mut bbr, &mut window, &ack(20, 80));
        assert_eq!(window.cwnd, 106.0, "2 · 50 + 3 · 2");
        bbr.cycle_index = 0;
        set_cwnd(&mut bbr, &mut window, &ack(1, 80));
        assert_eq!(window.cwnd, 107.0, "a segment for one acknowledged; the target is 108");
        bbr.min_rtt = None;
        assert_eq!(bbr.bdp(1250.0, 2.0), 10.0, "without a round-trip time");
    }

    #[test]
    fn a_recovery_conserves_for_a_round_and_restores_the_window() {
        let params = RFC;
        let (mut bbr, mut window) = model();
        bbr.on_loss(&mut window, &LossEvent::simple(Loss::DupAcks, 100.0, &params));
        assert_eq!(window.cwnd, 100.0);
        set_cwnd(&mut bbr, &mut window, &AckEvent { recovering: true, ..ack(1, 70) });
        assert_eq!(window.cwnd, 71.0, "what is in flight and what is acknowledged");
        set_cwnd(&mut bbr, &mut window, &AckEvent { recovering: true, lost: 1, ..ack(1, 70) });
        assert_eq!(window.cwnd, 71.0);
        bbr.conserves = false; // the round is over
        set_cwnd(&mut bbr, &mut window, &AckEvent { recovering: true, ..ack(2, 70) });
        assert_eq!(window.cwnd, 73.0, "slow start");
        set_cwnd(&mut bbr, &mut window, &ack(1, 70));
        assert_eq!(window.cwnd, 101.0, "that of before, and a segment");
    }

    #[test]
    fn in_linux_a_recovery_that_begins_where_another_ends_is_the_same() {
        let (mut bbr, mut window) = model_of::<Linux>();
        let seen = |in_flight, lost| AckEvent {
            known: known(found(in_flight, lost)),
            recovering: true,
            ..ack(1, 90)
        };
        lose(&mut bbr, &mut window, Loss::DupAcks);
        bbr.on_other_ack(&mut window, &seen(60, 1));
        assert_eq!((window.cwnd, bbr.recovery, bbr.conserves), (61.0, Recovery::Runs, true));
        // The ACK ends it and has found another loss. `prev_ca_state` is TCP_CA_Recovery: nothing is conserved, none restored.
        bbr.conserves = false;
        lose(&mut bbr, &mut window, Loss::DupAcks);
        bbr.on_other_ack(&mut window, &seen(20, 2));
        assert_eq!((window.cwnd, bbr.recovery, bbr.conserves), (60.0, Recovery::Runs, false), "61 - 2 + 1");
        // Behind a timeout it is another one.
        bbr.recovery = Recovery::Timeout;
        lose(&mut bbr, &mut window, Loss::DupAcks);
        bbr.on_other_ack(&mut window, &seen(20, 0));
        assert_eq!((window.cwnd, bbr.conserves), (21.0, true));
    }

    #[test]
    fn in_linux_a_recovery_that_is_undone_before_an_ack_delivers_is_none() {
        fn after<L: Law>() -> f64 {
            let (mut bbr, mut window) = model_of::<L>();
            lose(&mut bbr, &mut window, Loss::DupAcks);
            set_cwnd(&mut bbr, &mut window, &ack(1, 50));
            window.cwnd
        }
        assert_eq!((after::<Linux>(), after::<Real>()), (101.0, 51.0));
    }

    #[test]
    fn in_linux_a_repaired_tail_begins_no_recovery() {
        let (mut bbr, mut window) = model_of::<Linux>();
        lose(&mut bbr, &mut window, Loss::Tail);
        assert_eq!((bbr.recovery, bbr.prior.restored(0.0)), (Recovery::None, 100.0));
        let (mut bbr, mut window) = model();
        lose(&mut bbr, &mut window, Loss::Tail);
        assert!(bbr.begins);
    }
}
