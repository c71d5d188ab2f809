//! SACK with a counted pipe: Fall & Floyd 1996, as in ns-2's `Agent/TCP/Sack1`.
//!
//! In recovery, `pipe` estimates the number of segments in the network. Each ACK subtracts one, and each segment sent
//! adds one. A partial ACK subtracts one more, because it reports a retransmission and the loss that it repaired. While
//! pipe is below cwnd, holes below the highest SACK are filled, each once, and then new data is sent. A lost
//! retransmission waits for the timer, which clears the scoreboard.

use crate::recovery::LossRecovery;
use crate::recovery::scoreboard::Scoreboard;
use crate::state::{SendQuota, SendState};
use roamlab_congestion::SenderEventKind;
use roamlab_engine::Time;
use roamlab_packet::TcpHeader;

/// ns-2's SACK recovery.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pipe {
    board: Scoreboard,
    recovering: bool,
    /// After a timeout SACK blocks mean nothing until an ACK advances.
    ignores_sacks: bool,
    pipe: i64,
    /// Holes below have been retransmitted.
    retransmitted_below: u32,
}

impl LossRecovery for Pipe {
    fn on_new_ack(&mut self, state: &mut SendState, header: &TcpHeader, now: Time) {
        if self.recovering && header.ack < state.recovery_point {
            self.pipe -= 2;
            state.advance_partially(header.ack, true, now);
            state.rtt.end_backoff();
            self.board.update(state.una, state.snd_max, &header.sacks);
            return state.renew_quota();
        }
        state.advance(header.ack, now);
        self.board.clear(state.una);
        self.ignores_sacks = false;
        if self.recovering {
            self.recovering = false;
            state.recovery_point = 0;
            state.record(SenderEventKind::RecoveryExit, header.ack, now);
        } else {
            state.grow(now);
        }
        state.renew_quota();
    }

    fn on_dup_ack(&mut self, state: &mut SendState, header: &TcpHeader, now: Time) {
        let of_copy = state.params.ns2_pipe_counts_all()
            && header.sacks.as_slice().iter().any(|block| block.0 < state.una);
        let reported = !self.ignores_sacks && self.board.update(state.una, state.snd_max, &header.sacks) > 0;
        let news = reported || of_copy && !self.ignores_sacks;
        if self.recovering {
            self.pipe -= 1;
            return state.renew_quota();
        }
        state.quota = SendQuota::Nothing;
        if news {
            self.count_dup_ack(state, now);
        } else if state.dup_acks == 0 {
            state.renew_quota();
        }
    }

    fn on_late_ack(&mut self, state: &mut SendState, header: &TcpHeader, _now: Time) {
        if !self.recovering {
            state.quota = SendQuota::Nothing;
            if state.params.ns2_sends_rest_of_burst() && state.dup_acks == 0 {
                state.renew_quota();
            }
        } else if state.params.ns2_pipe_counts_all() {
            self.pipe -= 1; // for each ACK, whatever it expects
            self.board.update(state.una, state.snd_max, &header.sacks);
            state.renew_quota();
        }
    }

    fn on_timeout(&mut self, state: &mut SendState, now: Time) {
        state.timeout(now);
        self.recovering = false;
        self.ignores_sacks = true;
        self.board.clear(state.una);
    }

    fn allows_fast_path(&self, _state: &SendState) -> bool {
        !self.recovering && !self.ignores_sacks && self.board.count() == 0
    }

    fn on_fast_ack(&mut self, state: &mut SendState, _now: Time) {
        self.board.clear(state.una);
    }

    fn next_segment(&mut self, state: &mut SendState) -> Option<u32> {
        if !self.recovering {
            return state.next_segment();
        }
        if let Some(seq) = state.next_retransmission() {
            return Some(seq);
        }
        if !state.has_quota() || self.pipe >= i64::from(state.window.cwnd() as u32) {
            return None;
        }
        let hole = self.board.next_hole(self.retransmitted_below.max(state.una));
        let seq = if hole < self.board.highest_end() {
            self.retransmitted_below = hole + 1;
            hole
        } else {
            state.next_new()?
        };
        self.pipe += 1;
        state.use_quota();
        Some(seq)
    }
}

impl Pipe {
    fn count_dup_ack(&mut self, state: &mut SendState, now: Time) {
        let threshold = state.params.dupack_threshold;
        state.dup_acks += 1;
        if state.dup_acks == threshold && state.may_fast_retransmit() {
            self.recovering = true;
            self.pipe = i64::from(state.flight_size()) - i64::from(threshold);
            self.retransmitted_below = state.una + 1;
            state.fast_retransmit(now);
        } else if state.dup_acks < threshold && state.params.limited_transmit {
            state.quota = SendQuota::LimitedTransmit;
        }
    }
}
