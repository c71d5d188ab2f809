//! Fast retransmit and fast recovery: RFC 5681 §3.2, and ns-2's interpretations of it.
//!
//! The threshold-th duplicate ACK cuts the window and retransmits one segment. Every further one inflates the window by
//! a segment, and any new ACK ends the recovery. A second loss in the same window waits for the timer, or for three
//! more duplicate ACKs if `repeat_fast_retransmit` is on.

use crate::recovery::LossRecovery;
use crate::state::{LastReduction, SendQuota, SendState};
use roamlab_congestion::SenderEventKind;
use roamlab_engine::Time;
use roamlab_packet::TcpHeader;
use std::cmp::Ordering;

/// Reno's loss recovery; its whole state is shared with the sender.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reno;

impl LossRecovery for Reno {
    fn on_new_ack(&mut self, state: &mut SendState, header: &TcpHeader, now: Time) {
        // A repeated fast retransmit is allowed for as long as duplicate ACKs were the last to cut the window.
        let exits = state.last_reduction == LastReduction::DupAcks && state.inflation > 0;
        if exits && !state.params.repeat_fast_retransmit {
            state.last_reduction = LastReduction::Exited;
        }
        state.inflation = 0;
        state.advance(header.ack, now);
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
                let again =
                    state.params.repeat_fast_retransmit && state.last_reduction == LastReduction::DupAcks;
                if again || state.may_fast_retransmit() {
                    state.fast_retransmit(now);
                    state.inflation = threshold;
                } else if state.params.inflate_always {
                    state.inflation = threshold;
                }
                state.renew_quota();
            }
            Ordering::Greater => {
                if state.last_reduction == LastReduction::DupAcks || state.params.inflate_always {
                    state.inflation += 1;
                }
                state.renew_quota();
            }
        }
    }

    fn on_late_ack(&mut self, state: &mut SendState, _header: &TcpHeader, _now: Time) {
        state.renew_quota_late();
    }

    fn allows_fast_path(&self, _state: &SendState) -> bool {
        true
    }

    fn on_timeout(&mut self, state: &mut SendState, now: Time) {
        state.inflation = 0;
        state.timeout(now);
    }
}
