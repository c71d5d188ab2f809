//! Reductions of the window: duplicate ACKs, the timer, an ECN echo, idleness.

use super::{LastReduction, SendState};
use crate::params::{Handshake, RecoveryKind, ReductionBase};
use crate::tcp::cc::{Loss, Window};
use crate::tcp::fact::TcpFactKind;
use roamlab_engine::Time;

impl SendState {
    /// Whether the window was already reduced for all losses below `una`, so that new ones may reduce it again.
    pub fn recovered(&self) -> bool {
        self.una > self.recovery_point
    }

    /// Whether the threshold's duplicate ACK may cut the window and retransmit.
    pub fn may_fast_retransmit(&self) -> bool {
        let first = self.params.first_loss_unguarded && self.una == 1;
        !self.params.guard_fast_retransmit
            || self.recovered()
            || first
            || self.last_reduction == LastReduction::Ecn
    }

    /// Duplicate ACKs report a loss: cuts the window, restarts the timer and retransmits `una` at once.
    pub fn fast_retransmit(&mut self, now: Time) {
        self.watch(false, now);
        // A window that an echo of congestion has cut is not cut again for a loss (RFC 3168 §6.1.2).
        let recovery = self.params.recovery;
        let reduced_by_echo = self.last_reduction == LastReduction::Ecn && recovery != RecoveryKind::Ns2Fack;
        let already_reduced = reduced_by_echo && !self.recovered();
        if !already_reduced {
            self.reduce(Loss::DupAcks);
            self.recovery_point = self.snd_max;
        } else if !self.params.ns2_quirks {
            self.recovery_point = self.snd_max; // ns-2 leaves it where the echo has put it
        } else if recovery == RecoveryKind::Tahoe {
            self.reductions += 1;
            self.cwr = true;
        }
        self.last_reduction = LastReduction::DupAcks;
        self.restart_timer(now);
        // DEVIATION: with nothing outstanding ns-2 would send a segment that the application has not given.
        self.retransmit = (self.flight_size() > 0).then_some(self.una);
        self.record(TcpFactKind::FastRetransmit, self.una, now);
    }

    fn watch(&mut self, timeout: bool, now: Time) {
        let mut spurious = std::mem::take(&mut self.spurious);
        spurious.retransmits(self, timeout, now);
        self.spurious = spurious;
    }

    /// An ACK echoes congestion: the window is cut once per window of data, without a loss (RFC 3168 §6.1.2).
    pub fn ecn_echo(&mut self, ack: u32, now: Time) {
        // ns-2 answers the first echo after a timeout, whichever window it is about.
        let first_since_timeout = self.params.ns2_quirks && self.last_reduction == LastReduction::Timeout;
        let is_news = ack > self.recovery_point && !self.answers_syn(ack);
        if !self.params.ecn || !is_news && !first_since_timeout {
            return;
        }
        let narrow = self.params.ns2_quirks && self.window.cwnd <= 1.0;
        if narrow && self.ecn_backoff {
            self.rtt.back_off(); // RFC 3168 §6.1.2: the window cannot shrink any more
        }
        self.ecn_backoff = narrow;
        self.waits_for_timer = !self.params.ns2_quirks && self.window.cwnd <= 1.0;
        self.reduce(Loss::Echo);
        // DEVIATION: behind a window below a segment, which neither this ACK nor a timer opens, ns-2 stays silent for ever.
        let opens = ack > self.una && (!self.ece || self.params.recovery == RecoveryKind::Ns2Fack);
        if ack >= self.snd_max && !self.params.slow_start_restart && !opens {
            self.window.cwnd = self.window.cwnd.max(1.0);
        }
        self.recovery_point = self.snd_max;
        self.last_reduction = LastReduction::Ecn;
        self.record(TcpFactKind::EcnReduction, ack, now);
    }

    /// The retransmission timer went off with data outstanding: back to `una` with a window of one segment.
    pub fn timeout(&mut self, now: Time) {
        self.watch(true, now);
        let reduced_by_echo =
            self.last_reduction == LastReduction::Ecn && self.params.recovery != RecoveryKind::Ns2Fack;
        // ns-2 does not cut ssthresh if the last cut was by an echo, however long ago.
        let already_reduced = self.params.ns2_quirks && reduced_by_echo;
        let ssthresh = self.window.ssthresh;
        // ns-2 reduces it by the same switch that lets the first segment's loss be found.
        let reduces_first = !self.params.ns2_quirks || self.params.first_loss_unguarded;
        if self.una == 0 && self.params.handshake != Handshake::SlowData && reduces_first {
            self.initial_window = 1.0; // RFC 5681 §3.1: after the loss of a SYN
        }
        let idle = self.flight_size() == 0;
        self.timeouts += u64::from(!idle);
        self.reduce(Loss::Timeout);
        if already_reduced {
            self.window.ssthresh = ssthresh;
        }
        self.recovery_point = self.snd_max;
        self.timed_out = Some(self.una);
        self.last_reduction = LastReduction::Timeout;
        self.dup_acks = 0;
        self.limited_transmits = 0;
        self.rtt.back_off();
        self.restart_timer(now);
        self.nxt = self.una;
        self.retransmit = None;
        self.renew_quota();
        let kind = if idle { TcpFactKind::IdleRestart } else { TcpFactKind::Timeout };
        self.record(kind, self.una, now);
    }

    /// Nothing was outstanding for an RTO (RFC 5681 §4.1).
    pub fn restart_after_idle(&mut self, now: Time) {
        let restart_window = f64::from(self.params.restart_window.0);
        if self.params.ns2_quirks {
            (self.last_reduction, self.recovery_point) = (LastReduction::Timeout, self.snd_max);
            self.cwr = self.params.ecn;
        }
        if self.window.cwnd > restart_window || self.window.cwnd < 1.0 {
            self.window.cwnd = restart_window;
            self.reductions += 1;
            self.renew_quota();
            self.record(TcpFactKind::IdleRestart, self.nxt, now);
        }
    }

    /// What is in use, and cut by a reduction.
    fn in_use(&self) -> f64 {
        let inflated = self.window.cwnd + f64::from(self.window.inflation);
        let flight = f64::from(self.flight_size().saturating_sub(self.limited_transmits));
        match self.params.reduction_base {
            ReductionBase::Window => inflated.min(f64::from(self.params.window.0)),
            // RFC 5681 §3.1 eq. 4 says "no more than". Behind a loss that has cut the window, what is outstanding also
            // counts what has left the network.
            ReductionBase::FlightSize if !self.recovered() => flight.min(self.window.cwnd),
            ReductionBase::FlightSize => flight,
        }
    }

    fn reduce(&mut self, loss: Loss) {
        let in_use = self.in_use();
        let Window { cwnd, ssthresh, .. } = self.window;
        self.control.on_loss(&mut self.window, loss, in_use, &self.params);
        if self.params.reduction_base == ReductionBase::FlightSize {
            // RFC 5681 §3.1: a segment that timed out before leaves ssthresh alone.
            let again = loss == Loss::Timeout && self.timed_out == Some(self.una);
            let raises = !self.recovered() && self.window.ssthresh > ssthresh;
            if again || raises {
                self.window.ssthresh = ssthresh;
            }
            self.window.cwnd = self.window.cwnd.min(cwnd.max(1.0));
        }
        self.reductions += 1;
        self.cwr = self.params.ecn;
        self.limited_transmits = 0;
    }
}
