//! Forward acknowledgement: Mathis & Mahdavi 1996.
//!
//! The highest segment that the receiver is known to hold (fack) gives the amount in the network: the segments sent
//! above it, and the retransmissions not yet reported. Recovery begins when fack is a threshold of segments above the
//! first hole, after any number of ACKs. It sends while that estimate is below cwnd: holes first, each once. A
//! retransmission is lost if a segment sent after it is reported first; then only the timer helps.

use crate::recovery::LossRecovery;
use crate::recovery::scoreboard::Scoreboard;
use crate::state::{LastReduction, SendQuota, SendState};
use roamlab_congestion::RecoveryStep;
use roamlab_congestion::SenderEventKind;
use roamlab_engine::Time;
use roamlab_packet::TcpHeader;
use std::collections::VecDeque;

/// FACK's recovery.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fack {
    /// In a box, a sender with another recovery is not larger for it.
    board: Box<Scoreboard>,
    recovering: bool,
    /// After a timeout, or the loss of a retransmission: nothing is learned and nothing sent until an ACK advances.
    ignores_sacks: bool,
    /// Holes below have been retransmitted.
    retransmitted_below: u32,
    /// Retransmissions that may still be under way: the segment, and the next new one when it was sent.
    retransmissions: VecDeque<(u32, u32)>,
    /// Rampdown: segments above cwnd that may still be in the network.
    trim: f64,
    /// By how much that falls with each segment that is reported: the part of the window that the loss has taken.
    trim_step: f64,
}

impl LossRecovery for Fack {
    fn on_new_ack(&mut self, state: &mut SendState, header: &TcpHeader, now: Time) {
        if self.recovering && header.ack < state.recovery_point {
            state.advance_partially(header.ack, true, now);
            self.take_blocks(state, header);
            return self.act(state, now);
        }
        self.board.clear(header.ack);
        self.retransmissions.clear();
        let repairs = self.repairs_a_timeout(state) && header.ack < state.recovery_point;
        self.retransmitted_below = header.ack.max(if repairs { self.retransmitted_below } else { 0 });
        self.ignores_sacks = false;
        self.trim = 0.0;
        state.advance(header.ack, now);
        state.open_window(now);
        state.open_initial_window();
        if std::mem::take(&mut self.recovering) {
            state.record(SenderEventKind::RecoveryExit, header.ack, now);
            return state.renew_quota();
        }
        // An ACK may advance and yet report a loss, if others before it were lost.
        self.take_blocks(state, header);
        state.nxt = state.nxt.max(self.board.highest_end());
        self.act(state, now);
        if !self.recovering {
            state.renew_quota();
        }
    }

    fn on_dup_ack(&mut self, state: &mut SendState, header: &TcpHeader, now: Time) {
        self.take_blocks(state, header);
        state.dup_acks += 1;
        self.act(state, now);
    }

    fn on_timeout(&mut self, state: &mut SendState, now: Time) {
        state.timeout(now);
        self.recovering = false;
        self.ignores_sacks = true;
        self.trim = 0.0;
        self.board.clear(state.una);
        self.retransmissions.clear();
        self.retransmitted_below = state.una;
    }

    fn next_segment(&mut self, state: &mut SendState) -> Option<u32> {
        if let Some(seq) = state.next_retransmission() {
            return Some(seq);
        }
        let beyond = matches!(state.quota, SendQuota::LimitedTransmit | SendQuota::Beyond(_));
        if beyond && !self.recovering {
            return state.next_segment();
        }
        if !state.has_quota() || self.in_network(state) >= (state.window.cwnd() + self.trim) as u32 {
            return None;
        }
        let hole = self.board.next_hole(self.retransmitted_below.max(state.una));
        // A recovery takes every hole for lost, a timeout what was outstanding. Any other hole may be a segment that is late.
        let lost_below = match state.last_reduction {
            _ if self.recovering => u32::MAX,
            LastReduction::Timeout => state.recovery_point,
            _ => 0,
        };
        if hole < self.board.highest_end().min(lost_below) {
            self.mark_retransmitted(state, hole);
            state.use_quota();
            return Some(hole);
        }
        if self.recovering {
            state.nxt = state.nxt.max(self.board.highest_end()); // where F-RTO has gone back
        }
        let seq = state.next_new()?;
        state.use_quota();
        Some(seq)
    }
}

impl Fack {
    /// Duplicate or not, an ACK's blocks may begin a recovery, and each ACK of a recovery permits segments.
    fn act(&mut self, state: &mut SendState, now: Time) {
        state.quota = SendQuota::Nothing;
        if self.recovering {
            if !self.ignores_sacks {
                state.renew_quota();
            }
        } else if self.repairs_a_timeout(state) {
            state.renew_quota(); // slow start, whose holes are sent again without a recovery
        } else if !self.ignores_sacks
            && self.board.highest_end() > state.una.saturating_add(state.params.dupack_threshold)
        {
            self.recovering = true;
            if !state.may_fast_retransmit() {
                return state.renew_quota(); // a window that was already reduced is repaired without another reduction
            }
            if state.params.fack_overdamping && state.window.cwnd() < state.window.ssthresh() {
                state.recovery_step(RecoveryStep::Overshoot);
            }
            let (in_network, in_use) = (f64::from(self.in_network(state)), state.in_use());
            state.fast_retransmit(now);
            if state.params.fack_rampdown && in_use > 0.0 {
                // ASSUMPTION: Mathis & Mahdavi 1996 §4.6 know only a window that is halved. Another cut takes its own part.
                self.trim_step = (1.0 - state.window.cwnd() / in_use).clamp(0.0, 1.0);
                self.trim = in_network * self.trim_step;
            }
            state.renew_quota();
            self.mark_retransmitted(state, state.una);
        } else if state.params.limited_transmit {
            state.quota = SendQuota::LimitedTransmit;
        }
    }

    /// True if segments that were outstanding at a timeout are being sent again.
    fn repairs_a_timeout(&self, state: &SendState) -> bool {
        state.last_reduction == LastReduction::Timeout && !state.recovered() && !self.ignores_sacks
    }

    /// awnd: segments sent above fack, and the retransmissions not reported.
    fn in_network(&self, state: &SendState) -> u32 {
        let retransmitted = self.board.holes(state.una, self.retransmitted_below);
        state.nxt - self.board.highest_end().min(state.nxt) + retransmitted
    }

    fn mark_retransmitted(&mut self, state: &SendState, seq: u32) {
        self.retransmitted_below = seq + 1;
        self.retransmissions.push_back((seq, state.snd_max));
    }

    fn take_blocks(&mut self, state: &SendState, header: &TcpHeader) {
        if self.ignores_sacks {
            return;
        }
        let fack = self.board.highest_end();
        self.board.update(state.una, state.snd_max, &header.sacks);
        self.trim = (self.trim - f64::from(self.board.highest_end() - fack) * self.trim_step).max(0.0);
        while let Some(&(seq, next)) = self.retransmissions.front() {
            if seq < state.una || self.board.contains(seq) {
                self.retransmissions.pop_front();
                continue;
            }
            // Sent after the retransmission, and here before it.
            self.ignores_sacks |= self.board.highest_end() > next;
            return;
        }
    }
}
