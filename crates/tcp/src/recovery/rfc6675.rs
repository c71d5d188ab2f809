//! SACK with a pipe computed from the scoreboard: RFC 6675.
//!
//! Recovery begins with the threshold-th duplicate ACK, or when the scoreboard reports the loss of the first
//! outstanding segment. Each ACK recomputes the pipe (SetPipe), and while it is below cwnd NextSeg selects the next
//! segment. The counts of both are updated as blocks arrive, never by a search of the scoreboard. `reduction` may leave
//! the reduction of the window to PRR (RFC 9937 §5).

use crate::params::Reduction;
use crate::recovery::LossRecovery;
use crate::recovery::prr::Prr;
use crate::recovery::scoreboard::Scoreboard;
use crate::state::{LastReduction, SendQuota, SendState};
use roamlab_congestion::SenderEventKind;
use roamlab_engine::Time;
use roamlab_packet::TcpHeader;
use std::ops::Range;

/// RFC 6675's recovery.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rfc6675 {
    board: Scoreboard,
    recovering: bool,
    /// One above HighRxt: every hole below has been retransmitted in this recovery.
    high_rxt: u32,
    /// RescueRxt: no rescue retransmission before a segment above it is acknowledged.
    rescue_rxt: u32,
    /// In a recovery whose window PRR reduces.
    prr: Option<Prr>,
    /// After a timeout: the segments below are to be sent again, except those that the receiver holds.
    resend_below: u32,
}

impl LossRecovery for Rfc6675 {
    fn on_new_ack(&mut self, state: &mut SendState, header: &TcpHeader, now: Time) {
        let before = self.lost_and_held(state);
        let acked = header.ack - state.una;
        let in_recovery = self.recovering && header.ack < state.recovery_point;
        if in_recovery {
            // (B) Not covering RecoveryPoint: the timer restarts (RFC 6298 §5.3), cwnd stays.
            state.advance_partially(header.ack, true, now);
        } else {
            let exits = self.recovering;
            state.advance(header.ack, now);
            if exits {
                // (A) The recovery is over; cwnd is ssthresh since it began, or by PRR from now on.
                self.recovering = false;
                if self.prr.take().is_some() {
                    state.end_prr();
                }
                state.record(SenderEventKind::RecoveryExit, header.ack, now);
            } else {
                state.grow(now);
            }
        }
        let news = self.board.update(state.una, state.snd_max, &header.sacks);
        let delivered = acked + self.board.count() - before.held;
        if in_recovery {
            self.reduce(state, delivered, !self.finds_loss(state, &before));
        } else if news > 0 {
            self.count_dup_ack(state, delivered, now); // §2: also an ACK that advances, if its blocks are news
        }
        state.renew_quota();
    }

    fn on_dup_ack(&mut self, state: &mut SendState, header: &TcpHeader, now: Time) {
        let news = self.board.update(state.una, state.snd_max, &header.sacks);
        state.quota = SendQuota::Nothing;
        if self.recovering {
            self.reduce(state, news, false);
            state.renew_quota();
        } else if news > 0 {
            self.count_dup_ack(state, news, now);
        }
    }

    fn on_timeout(&mut self, state: &mut SendState, now: Time) {
        state.timeout(now);
        self.recovering = false;
        self.prr = None;
        self.resend_below = state.snd_max;
        // §5.1: reported segments need not be sent again. A receiver that reported `una` and does not acknowledge it
        // has dropped the segments that it held (RFC 2018 §8).
        if self.board.contains(state.una) {
            self.board.clear(state.una);
        }
    }

    /// The window of the new path is not reduced.
    fn on_new_path(&mut self) {
        self.prr = None;
    }

    fn on_sent(&mut self, _state: &mut SendState, _seq: u32, _now: Time) {
        if let Some(prr) = &mut self.prr {
            prr.sent();
        }
    }

    fn lost(&self, state: &SendState) -> Range<u32> {
        match self.recovering {
            true => self.high_rxt.max(state.una)..self.board.lost_below(state.params.dupack_threshold),
            false => state.nxt..self.resend_below,
        }
    }

    fn allows_fast_path(&self, state: &SendState) -> bool {
        !self.recovering && state.una >= self.resend_below && self.board.count() == 0
    }

    fn on_fast_ack(&mut self, state: &mut SendState, _now: Time) {
        self.board.advance(state.una);
    }

    fn next_segment(&mut self, state: &mut SendState) -> Option<u32> {
        if let Some(seq) = state.next_retransmission() {
            return Some(seq);
        }
        if !self.recovering {
            return self.next_outside_recovery(state);
        }
        if !state.has_quota() || self.pipe(state) >= state.window.cwnd() as u32 {
            return None; // (C) while cwnd - pipe >= 1 SMSS
        }
        let seq = self.next_seg(state)?;
        state.use_quota();
        Some(seq)
    }
}

/// The scoreboard before an ACK.
struct Before {
    /// Holes below are lost.
    lost_below: u32,
    /// Segments that the receiver holds.
    held: u32,
}

impl Rfc6675 {
    fn lost_and_held(&self, state: &SendState) -> Before {
        let lost_below = self.board.lost_below(state.params.dupack_threshold);
        Before { lost_below, held: self.board.count() }
    }

    /// True if an ACK reports a further loss: of a segment that was not lost before, or that of a retransmission, for
    /// which a rescue retransmission is sent (RFC 9937 §6.2).
    fn finds_loss(&self, state: &SendState, before: &Before) -> bool {
        let lost_below = self.board.lost_below(state.params.dupack_threshold);
        self.board.holes(before.lost_below, lost_below) > 0 || self.rescue_is_next(state)
    }

    /// True if only rule 4 of NextSeg has a segment.
    fn rescue_is_next(&self, state: &SendState) -> bool {
        let hole = self.board.next_hole(self.high_rxt.max(state.una));
        hole >= self.board.highest_end() && !state.has_new_data() && state.una > self.rescue_rxt + 1
    }

    fn reduce(&mut self, state: &mut SendState, delivered: u32, safe: bool) {
        let pipe = self.pipe(state);
        if let Some(prr) = &mut self.prr {
            state.reduce_by_prr(prr, delivered, pipe, safe);
        }
    }

    /// SetPipe(): holes that are not lost, and retransmissions that have not been reported.
    fn pipe(&self, state: &SendState) -> u32 {
        let threshold = state.params.dupack_threshold;
        let lost_below = self.board.lost_below(threshold);
        let above = self.board.count().min(if lost_below > state.una { threshold } else { u32::MAX });
        let retransmitted = if self.recovering { self.board.holes(state.una, self.high_rxt) } else { 0 };
        if state.is_of_old_path(state.una) {
            return self.board.holes(lost_below.max(state.path_from), state.snd_max) + retransmitted;
        }
        state.snd_max - lost_below.max(state.una) - above + retransmitted
    }

    fn count_dup_ack(&mut self, state: &mut SendState, delivered: u32, now: Time) {
        let threshold = state.params.dupack_threshold;
        state.dup_acks += 1;
        let lost = self.board.lost_below(threshold) > state.una; // IsLost(HighACK + 1)
        // RecoveryPoint is that of a recovery: an echo of congestion that cut the window repairs nothing (RFC 3168 §6.1.2).
        let may = state.una >= state.recovery_point || state.last_reduction == LastReduction::Ecn;
        if (state.dup_acks >= threshold || lost) && may {
            let cwnd = state.window.cwnd();
            state.fast_retransmit(now); // (4.1) to (4.3)
            self.recovering = true;
            self.rescue_rxt = state.una; // (4.3): no premature rescue retransmission
            if state.params.reduction != Reduction::Immediate && state.una >= state.path_from {
                self.high_rxt = state.una; // what is in flight without the retransmission
                self.prr = Some(state.begin_prr(cwnd, self.board.count(), delivered));
                self.reduce(state, delivered, false);
            }
            self.high_rxt = state.una + 1;
            state.renew_quota(); // (4.5)
        } else if state.params.limited_transmit {
            state.quota = SendQuota::LimitedTransmit;
        }
    }

    /// (3) Limited transmit is governed by pipe and cwnd; otherwise the window, without what the receiver holds.
    fn next_outside_recovery(&mut self, state: &mut SendState) -> Option<u32> {
        if state.quota == SendQuota::LimitedTransmit {
            if state.goes_back() || self.pipe(state) >= state.window.cwnd() as u32 {
                return None; // RFC 3042 is about new data
            }
            let seq = state.next_new()?;
            state.limited_transmits += 1;
            return Some(seq);
        }
        if state.nxt < self.resend_below {
            state.nxt = self.board.next_hole(state.nxt).min(state.snd_max);
            let in_network = self.board.holes(state.una, state.nxt);
            if state.nxt < self.resend_below && state.has_quota() && in_network < state.usable_window() {
                state.use_quota();
                state.nxt += 1;
                return Some(state.nxt - 1);
            }
        }
        if state.nxt >= self.resend_below {
            state.nxt = state.nxt.max(state.snd_max); // what F-RTO has sent since the timeout is not lost by it
        }
        state.next_segment()
    }

    /// NextSeg(), rules 1 to 4.
    fn next_seg(&mut self, state: &mut SendState) -> Option<u32> {
        let hole = self.board.next_hole(self.high_rxt.max(state.una));
        let threshold = state.params.dupack_threshold;
        if hole < self.board.lost_below(threshold) {
            return Some(self.retransmit(hole)); // (1)
        }
        if let Some(seq) = state.next_new() {
            return Some(seq); // (2)
        }
        if hole < self.board.highest_end() {
            return Some(self.retransmit(hole)); // (3)
        }
        // (4) Once per recovery, the highest outstanding segment that was not reported, if HighACK (`una - 1`) is above
        // RescueRxt; HighRxt stays.
        if state.una <= self.rescue_rxt + 1 {
            return None;
        }
        self.rescue_rxt = state.recovery_point; // above every HighACK of this recovery
        self.board.last_hole(state.snd_max)
    }

    fn retransmit(&mut self, seq: u32) -> u32 {
        self.high_rxt = seq + 1;
        seq
    }
}
