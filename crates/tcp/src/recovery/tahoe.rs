//! Fast retransmit without fast recovery: Jacobson 1988, as in ns-2's `Agent/TCP`.
//!
//! The threshold-th duplicate ACK halves ssthresh, sets cwnd to one segment and goes back to the lost segment
//! (go-back-N). All later segments are sent again in slow start, whether the receiver has them or not. Further
//! duplicate ACKs of the same window have no effect.

use crate::recovery::LossRecovery;
use crate::state::{SendQuota, SendState};
use roamlab_congestion::RecoveryStep;
use roamlab_engine::Time;
use roamlab_packet::TcpHeader;

/// Tahoe's loss recovery; its whole state is shared with the sender.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tahoe;

impl LossRecovery for Tahoe {
    fn on_new_ack(&mut self, state: &mut SendState, header: &TcpHeader, now: Time) {
        state.advance(header.ack, now);
        state.grow(now);
        state.renew_quota();
    }

    fn on_dup_ack(&mut self, state: &mut SendState, _header: &TcpHeader, now: Time) {
        let threshold = state.params.dupack_threshold;
        state.dup_acks += 1;
        state.quota = SendQuota::Nothing;
        if state.dup_acks < threshold && state.params.limited_transmit {
            state.quota = SendQuota::LimitedTransmit;
            if let Some(left) = state.left_by_burst() {
                state.quota = SendQuota::Window(left + 1);
            }
        } else if state.dup_acks == threshold && state.may_fast_retransmit() {
            state.fast_retransmit(now);
            state.recovery_step(RecoveryStep::SlowStart(1.0));
            state.retransmit = None;
            state.nxt = state.una;
            state.renew_quota();
        } else if let Some(left) = state.left_by_burst() {
            state.quota = SendQuota::Window(left);
        }
    }

    fn on_late_ack(&mut self, state: &mut SendState, _header: &TcpHeader, _now: Time) {
        state.quota = state.left_by_burst().map_or(SendQuota::Nothing, SendQuota::Window);
    }

    fn allows_fast_path(&self, _state: &SendState) -> bool {
        true
    }

    fn on_timeout(&mut self, state: &mut SendState, now: Time) {
        let dup_acks = state.dup_acks;
        state.timeout(now);
        if state.params.ns2_keeps_dupacks() {
            state.dup_acks = dup_acks;
        }
    }
}
