//! Partial ACKs continue the recovery: RFC 6582, and ns-2's interpretations of it.
//!
//! An ACK below the recovery point acknowledges a part of the data that was outstanding when the loss was detected. So
//! the next segment is lost as well: it is retransmitted immediately, and the window stays inflated except for the
//! segments that have left the network. Recovery repairs one loss per round trip and ends with the ACK of the recovery
//! point.

use crate::params::PartialDeflation;
use crate::recovery::LossRecovery;
use crate::state::{LastReduction, SendQuota, SendState};
use roamlab_congestion::RecoveryStep;
use roamlab_congestion::SenderEventKind;
use roamlab_engine::Time;
use roamlab_packet::TcpHeader;
use std::cmp::Ordering;

/// Segments sent on one ACK during recovery, where the deflation is ns-2's.
const NS2_BURST: u32 = 2;

/// NewReno's loss recovery.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewReno {
    /// A partial ACK has arrived since recovery began.
    partial_seen: bool,
}

impl LossRecovery for NewReno {
    fn on_new_ack(&mut self, state: &mut SendState, header: &TcpHeader, now: Time) {
        let recovering = state.last_reduction == LastReduction::DupAcks;
        if recovering && header.ack < state.recovery_point {
            return self.on_partial_ack(state, header.ack, now);
        }
        self.partial_seen = false;
        // In ns-2 the inflation decides whether there is a recovery to end.
        let by_rfc = state.params.partial_deflation == PartialDeflation::Full;
        let exits = recovering && (by_rfc || state.inflation > 0);
        if exits {
            state.last_reduction = LastReduction::Exited;
        }
        state.inflation = 0;
        state.advance(header.ack, now);
        if exits && state.params.cap_cwnd_on_exit {
            // RFC 6582 §3.2 step 3: min(ssthresh, max(FlightSize, SMSS) + SMSS); ns-2 has no SMSS for the least.
            let least = u32::from(by_rfc);
            let in_flight = f64::from(state.flight_size().max(least) + 1);
            state.recovery_step(RecoveryStep::ExitAtMost(in_flight));
        }
        if !exits || state.params.ns2_grows_on_exit() {
            state.grow(now);
        }
        if exits {
            state.record(SenderEventKind::RecoveryExit, header.ack, now);
        }
        state.renew_quota();
    }

    fn on_dup_ack(&mut self, state: &mut SendState, _header: &TcpHeader, now: Time) {
        let threshold = state.params.dupack_threshold;
        state.dup_acks += 1;
        match state.dup_acks.cmp(&threshold) {
            Ordering::Less if state.params.limited_transmit => state.quota = SendQuota::LimitedTransmit,
            Ordering::Less => state.quota = SendQuota::Nothing,
            Ordering::Equal => {
                if state.may_fast_retransmit() {
                    state.fast_retransmit(now);
                    state.inflation = threshold;
                } else if state.params.inflate_always {
                    state.inflation = threshold;
                }
                renew_recovery_quota(state);
            }
            Ordering::Greater => {
                if state.last_reduction == LastReduction::DupAcks || state.params.inflate_always {
                    state.inflation += 1;
                }
                renew_recovery_quota(state);
            }
        }
    }

    fn on_late_ack(&mut self, state: &mut SendState, _header: &TcpHeader, _now: Time) {
        state.renew_quota_late();
        if state.has_quota() && state.dup_acks > 0 {
            renew_recovery_quota(state);
        }
    }

    fn allows_fast_path(&self, state: &SendState) -> bool {
        // Without inflation only the RFC's interpretation knows a recovery that is yet to end.
        let by_rfc = state.params.partial_deflation == PartialDeflation::Full;
        let over = !by_rfc && state.una >= state.recovery_point;
        !self.partial_seen && (state.last_reduction != LastReduction::DupAcks || over)
    }

    fn on_timeout(&mut self, state: &mut SendState, now: Time) {
        state.inflation = 0;
        self.partial_seen = false;
        state.timeout(now);
    }
}

impl NewReno {
    fn on_partial_ack(&mut self, state: &mut SendState, ack: u32, now: Time) {
        deflate(state, ack - state.una);
        let restarts_timer = !state.params.impatient || !self.partial_seen;
        self.partial_seen = true;
        state.advance_partially(ack, restarts_timer, now);
        state.retransmit = Some(ack);
        renew_recovery_quota(state);
    }
}

/// A partial ACK reduces the inflation by the segments that it acknowledges, less one, and cwnd by those that the
/// inflation does not cover.
fn deflate(state: &mut SendState, acked: u32) {
    let inflation = state.inflation;
    let (left, from_cwnd) = match state.params.partial_deflation {
        PartialDeflation::Whole => {
            state.inflation = 0;
            return;
        }
        PartialDeflation::Full => {
            (inflation.saturating_sub(acked - 1), (acked - 1).saturating_sub(inflation))
        }
        PartialDeflation::Ns2 if inflation > acked => (inflation - (acked - 1), 0),
        PartialDeflation::Ns2 => (1, acked - inflation),
    };
    state.inflation = left;
    state.recovery_step(RecoveryStep::Deflate(f64::from(from_cwnd))); // also raises one that ECN had halved to less than 1
}

fn renew_recovery_quota(state: &mut SendState) {
    let by_rfc = state.params.partial_deflation == PartialDeflation::Full;
    state.quota = SendQuota::Window(if by_rfc { u32::MAX } else { NS2_BURST });
}
