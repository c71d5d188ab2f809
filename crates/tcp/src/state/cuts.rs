//! Reductions of the window: duplicate ACKs, the timer, an ECN echo, idleness.

use super::{LastReduction, SendState};
use crate::params::{RecoveryKind, Reduction};
use crate::recovery::prr::Prr;
use roamlab_congestion::SenderEventKind;
use roamlab_congestion::{Loss, LossEvent, RecoveryStep, SsthreshRule};
use roamlab_engine::Time;

impl SendState {
    /// True if the window was already reduced for all losses below `una`, so that new ones may reduce it again.
    pub fn recovered(&self) -> bool {
        self.una > self.recovery_point
    }

    /// True if the threshold's duplicate ACK may cut the window and retransmit.
    pub fn may_fast_retransmit(&self) -> bool {
        let first = self.params.first_loss_unguarded && self.una == 1;
        !self.params.guard_fast_retransmit
            || self.recovered()
            || first
            || self.last_reduction == LastReduction::Ecn
    }

    /// Duplicate ACKs report a loss: cuts the window, restarts the timer and retransmits `una` immediately.
    pub fn fast_retransmit(&mut self, now: Time) {
        self.watch(false, now);
        // A window that an echo of congestion has cut is not cut again for a loss (RFC 3168 §6.1.2).
        let recovery = self.params.recovery;
        let reduced_by_echo = self.last_reduction == LastReduction::Ecn && recovery != RecoveryKind::Ns2Fack;
        let already_reduced = reduced_by_echo
            && !self.recovered()
            && !self.control.algorithm().properties().reduces_behind_echo;
        if !already_reduced {
            self.reduce(Loss::DupAcks, false, 0.0, now);
            self.recovery_point = self.snd_max;
        } else if !self.params.ns2_echo_keeps_recover() {
            self.recovery_point = self.snd_max;
        } else if recovery == RecoveryKind::Tahoe {
            self.reductions += 1;
            self.cwr = true;
        }
        self.last_reduction = LastReduction::DupAcks;
        self.restart_timer(now);
        // DEVIATION: with nothing outstanding ns-2 would send a segment that the application has not given.
        self.retransmit = (self.flight_size() > 0).then_some(self.una);
        self.record(SenderEventKind::FastRetransmit, self.una, now);
    }

    /// The ACK of a tail loss probe reveals a loss that the probe has repaired (RFC 8985 §7.4.2): cuts the window.
    pub fn tail_loss(&mut self, now: Time) {
        self.reduce(Loss::Tail, false, 0.0, now);
        self.recovery_point = self.snd_max;
        self.last_reduction = LastReduction::Exited;
        self.record(SenderEventKind::TailLoss, self.una, now);
    }

    fn watch(&mut self, timeout: bool, now: Time) {
        let mut spurious = std::mem::take(&mut self.spurious);
        spurious.retransmits(self, timeout, now);
        self.spurious = spurious;
    }

    /// An ACK echoes congestion: the window is cut once per window of data, without a loss (RFC 3168 §6.1.2). `in_use`:
    /// segments in use before that ACK.
    pub fn ecn_echo(&mut self, ack: u32, in_use: f64, now: Time) {
        let first_since_timeout =
            self.params.ns2_echo_after_timeout() && self.last_reduction == LastReduction::Timeout;
        let goes_on = match self.reduces_echoes_in_proportion() {
            true => self.echo_reduction.is_some(),
            false => ack <= self.recovery_point,
        };
        let is_news = !goes_on && !self.answers_syn(ack);
        if !self.params.ecn || !is_news && !first_since_timeout || self.control.algorithm().ignores_echo(now)
        {
            return;
        }
        if self.una < self.path_from {
            // Congestion of the old path does not reduce the window of the new one. CWR ends the echo.
            self.cwr = true;
            return;
        }
        let at_one = self.window.cwnd() <= 1.0;
        let narrow = self.params.ns2_echoes_back_off() && at_one;
        if narrow && self.ecn_backoff {
            self.rtt.back_off();
        }
        self.ecn_backoff = narrow;
        self.waits_for_timer =
            !self.params.ns2_echoes_back_off() && at_one && !self.params.hears_echoes_last();
        // DEVIATION: ns-2 stays silent forever if its window is below a segment and neither this ACK nor a timer opens
        // it.
        let opens = ack > self.una && (!self.ece || self.params.recovery == RecoveryKind::Ns2Fack);
        let silences = ack >= self.snd_max && !self.params.slow_start_restart && !opens;
        let before = self.window.cwnd();
        self.reduce_from(in_use, Loss::Echo, false, if silences { 1.0 } else { 0.0 }, now);
        self.echo_reduction = self.reduces_echoes_in_proportion().then(|| Box::new(Prr::of_echo(before)));
        self.recovery_point = self.snd_max;
        self.last_reduction = LastReduction::Ecn;
        self.record(SenderEventKind::EcnReduction, ack, now);
    }

    /// True if an ACK ends a fast recovery. An echo in that ACK is processed after the end, because it would move the
    /// recovery's end (RFC 6675's RecoveryPoint). ns-2 processes it before.
    pub fn ends_recovery(&self, ack: u32) -> bool {
        let repairs = self.last_reduction == LastReduction::DupAcks && self.una < self.recovery_point;
        repairs && ack >= self.recovery_point && !self.params.is_ns2() && !self.params.hears_echoes_last()
    }

    /// True if an echo reduces the window in proportion, where the congestion control leaves that to the sender
    /// (`tcp_cong_control`).
    fn reduces_echoes_in_proportion(&mut self) -> bool {
        let params = &self.params;
        params.reduces_by_window()
            && params.hears_echoes_last()
            && !self.control.algorithm().properties().paces
    }

    /// The reduction by an echo ends with an ACK above all that was sent before the echo (`tcp_fastretrans_alert`).
    pub fn end_echo_reduction(&mut self, ack: u32) {
        if self.echo_reduction.is_some() && ack > self.recovery_point {
            self.echo_reduction = None;
            self.end_prr();
        }
    }

    /// The retransmission timer expired with data outstanding: back to `una` with a window of one segment.
    pub fn timeout(&mut self, now: Time) {
        self.end_old_path();
        if std::mem::take(&mut self.gives_up) {
            return self.go_back(now);
        }
        if self.awaits_syn_ack() {
            return self.syn_timeout(now);
        }
        self.watch(true, now);
        let reduced_by_echo =
            self.last_reduction == LastReduction::Ecn && self.params.recovery != RecoveryKind::Ns2Fack;
        let already_reduced = self.params.ns2_echo_keeps_ssthresh() && reduced_by_echo;
        if self.una == 0 && self.params.lost_first_reduces() {
            self.initial_window = 1.0;
        }
        let idle = self.flight_size() == 0;
        self.timeouts += u32::from(!idle);
        self.reduce(Loss::Timeout, already_reduced, 0.0, now);
        self.timed_out = Some(self.una);
        self.rtt.back_off();
        self.go_back(now);
        self.expired = !idle;
        let kind = if idle { SenderEventKind::IdleRestart } else { SenderEventKind::Timeout };
        self.record(kind, self.una, now);
    }

    /// No answer to the SYN has arrived: it is sent again. No data was lost, so ssthresh stays, and the first loss of data is found
    /// as usual (`tcp_init_metrics`). The second one leaves an initial window of one segment (RFC 6928 §2; `tcp_init_transfer`).
    fn syn_timeout(&mut self, now: Time) {
        if self.timeouts > 0 {
            self.initial_window = 1.0;
        }
        self.timeouts += 1;
        if self.params.syn_backs_off(self.timeouts) {
            self.rtt.back_off();
        }
        self.restart_timer(now);
        self.nxt = self.una;
        self.renew_quota();
        self.record(SenderEventKind::Timeout, self.una, now);
    }

    /// All outstanding segments are to be sent again, from the first on.
    fn go_back(&mut self, now: Time) {
        self.recovery_point = self.snd_max;
        self.last_reduction = LastReduction::Timeout;
        self.dup_acks = 0;
        self.limited_transmits = 0;
        self.restart_timer(now);
        self.nxt = self.una;
        self.retransmit = None;
        self.renew_quota();
    }

    /// Nothing was outstanding for an RTO (RFC 5681 §4.1).
    pub fn restart_after_idle(&mut self, now: Time) {
        let restart_window = f64::from(self.params.restart_window.0);
        if self.params.ns2_idle_is_timeout() {
            (self.last_reduction, self.recovery_point) = (LastReduction::Timeout, self.snd_max);
            self.cwr = self.params.ecn;
        }
        let cwnd = self.window.cwnd();
        let mut target = restart_window;
        if self.params.idle_halving {
            target = (cwnd / 2.0).floor().max(restart_window);
            self.recovery_step(RecoveryStep::RaiseSsthresh(self.current_ssthresh()));
        }
        self.control.algorithm().on_idle(&mut self.window, target);
        if self.params.idle_halving && restart_window < self.window.cwnd() && self.window.cwnd() < cwnd {
            self.start_timer(now, self.rtt.rto()); // idle for one more RTO
        }
        if self.window.cwnd() != cwnd {
            self.reductions += 1;
            self.renew_quota();
            self.record(SenderEventKind::IdleRestart, self.nxt, now);
        }
    }

    /// ssthresh, or three quarters of cwnd if that is more and no echo reduces it (`tcp_current_ssthresh`).
    pub fn current_ssthresh(&self) -> f64 {
        let (cwnd, ssthresh) = self.window.sizes();
        if self.echo_reduction.is_some() {
            return ssthresh;
        }
        ssthresh.max((cwnd / 2.0).floor() + (cwnd / 4.0).floor())
    }

    /// The segments in use, which a reduction cuts.
    pub fn in_use(&self) -> f64 {
        let inflated = self.window.cwnd() + f64::from(self.inflation);
        let flight = f64::from(self.flight_size().saturating_sub(self.limited_transmits));
        if self.params.reduces_cwnd() {
            return self.window.cwnd();
        }
        match (self.params.ns2_cuts_window(), self.recovered()) {
            (true, _) => inflated.min(f64::from(self.params.window.0)),
            // RFC 5681 §3.1 eq. 4 has "no more than". After a loss that has cut the window, the outstanding segments
            // include some that have left the network.
            (false, false) => flight.min(self.reduced_window()),
            (false, true) => flight,
        }
    }

    /// The window after the latest reduction: with PRR ssthresh, which the window approaches (RFC 9937).
    fn reduced_window(&self) -> f64 {
        let (cwnd, ssthresh) = self.window.sizes();
        let by_prr =
            self.params.reduction != Reduction::Immediate && self.last_reduction == LastReduction::DupAcks;
        if by_prr { cwnd.max(ssthresh) } else { cwnd }
    }

    /// The congestion control's event of a loss. `keeps_ssthresh`: ssthresh stays. `least_cwnd`: the least window that
    /// is left.
    fn reduce(&mut self, kind: Loss, keeps_ssthresh: bool, least_cwnd: f64, now: Time) {
        self.reduce_from(self.in_use(), kind, keeps_ssthresh, least_cwnd, now);
    }

    fn reduce_from(&mut self, in_use: f64, kind: Loss, keeps_ssthresh: bool, least_cwnd: f64, now: Time) {
        if self.una < self.path_from {
            return; // a timeout has ended the old path
        }
        let by_flight = !self.params.ns2_cuts_window();
        // RFC 5681 §3.1: a segment that timed out before leaves ssthresh alone.
        // Nor one of a flight for which the window was reduced, where that keeps it.
        let again = by_flight && kind == Loss::Timeout && !self.is_first_timeout();
        let ssthresh = match (keeps_ssthresh || again, by_flight && !self.recovered()) {
            (true, _) => SsthreshRule::Keep,
            (false, true) => SsthreshRule::Lower,
            (false, false) => SsthreshRule::Set,
        };
        let most_cwnd = if by_flight { self.window.cwnd().max(1.0) } else { f64::INFINITY };
        let params = &self.params.for_control();
        let found = self.sent_segments.as_ref().and_then(|sent| sent.found);
        let loss = LossEvent { now, kind, in_use, ssthresh, least_cwnd, most_cwnd, found, params };
        let algorithm = self.control.algorithm();
        match kind {
            Loss::Timeout => algorithm.on_rto(&mut self.window, &loss),
            _ => algorithm.on_loss(&mut self.window, &loss),
        }
        self.reductions += 1;
        self.reverted = false;
        self.cwr = self.params.ecn;
        self.limited_transmits = 0;
    }

    /// True if the retransmission timer that expires now may lower ssthresh: not again for the same segment, and not in
    /// a recovery that keeps ssthresh.
    pub fn is_first_timeout(&self) -> bool {
        let repairs = self.una < self.recovery_point && self.last_reduction != LastReduction::Timeout;
        !(self.times_out_again() || self.params.keeps_ssthresh_in_recovery() && repairs)
    }

    /// True if the retransmission timer has expired before for the first outstanding segment.
    pub fn times_out_again(&self) -> bool {
        self.timed_out == Some(self.una)
    }

    /// The age of the oldest segment reports its loss, with `in_use` segments in use (Vegas).
    pub fn cut_by_age(&mut self, again: bool, in_use: u32, now: Time) {
        let (ssthresh, least_cwnd, most_cwnd) = (SsthreshRule::Set, 0.0, f64::INFINITY);
        let (kind, in_use, params) = (Loss::Age { again }, f64::from(in_use), &self.params.for_control());
        let loss = LossEvent { now, kind, in_use, ssthresh, least_cwnd, most_cwnd, found: None, params };
        self.control.algorithm().on_loss(&mut self.window, &loss);
    }

    /// PRR begins with an ACK that has delivered `delivered` segments and left `held` by SACK blocks. `before` is cwnd before
    /// the loss (RFC 9937 §6.1).
    pub fn begin_prr(&self, before: f64, held: u32, delivered: u32) -> Prr {
        Prr::of(match self.params.reduces_by_window() {
            true => before as u32,
            false => self.flight_size() - held + delivered,
        })
    }

    /// PRR sets the window at an ACK that reports `delivered` segments and leaves `in_flight` (§6.2). `safe`: SafeACK.
    pub fn reduce_by_prr(&mut self, prr: &mut Prr, delivered: u32, in_flight: u32, safe: bool) {
        if delivered > 0 && !self.reverted {
            let cwnd = prr.on_ack(delivered, in_flight, self.window.ssthresh(), safe);
            self.recovery_step(RecoveryStep::Proportional(f64::from(cwnd)));
        }
    }

    /// A timer begins the recovery, so nothing is delivered: PRR forces a fast retransmit (§6.2).
    pub fn force_prr(&mut self, prr: &mut Prr, in_flight: u32) {
        let cwnd = prr.on_ack(0, in_flight, self.window.ssthresh(), false);
        self.recovery_step(RecoveryStep::Proportional(f64::from(cwnd)));
    }

    /// PRR is over: cwnd is ssthresh (§6.4), unless the reduction was taken back (RFC 4015 §3.2).
    pub fn end_prr(&mut self) {
        if !self.reverted {
            self.recovery_step(RecoveryStep::ExitAtMost(f64::INFINITY));
        }
    }
}
