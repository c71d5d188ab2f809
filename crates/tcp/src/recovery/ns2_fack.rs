//! Forward acknowledgement as in ns-2's `Agent/TCP/Fack`, which differs from Mathis & Mahdavi 1996 in many points.
//!
//! Recovery begins when fack, the forward-most segment reported, is a threshold above the first hole, regardless of
//! earlier cuts. It leaves cwnd at one segment, and every ACK of the recovery opens it again. It lasts until an ACK
//! without blocks covers one segment more than had been sent at its start. A timeout does not end it.
//!
//! An overtaken ACK of the recovery takes back the acknowledgements of the overtaking ones, until the next ACK. Outside
//! a recovery such an ACK permits the rest of a limit on bursts, and an ACK with blocks permits nothing, even if it
//! advances. Every ACK except a plain new one is measured by the time that it echoes, and restarts the timer with the
//! RTO from before that. A retransmission overtaken by a later segment stops all sending until the timer expires.

use crate::recovery::LossRecovery;
use crate::recovery::scoreboard::Scoreboard;
use crate::state::{SendQuota, SendState};
use roamlab_congestion::RecoveryStep;
use roamlab_congestion::SenderEventKind;
use roamlab_engine::Time;
use roamlab_packet::TcpHeader;
use std::collections::BTreeMap;

/// ns-2's FACK.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ns2Fack {
    /// In a box, a sender with another recovery is not larger for it.
    board: Box<Scoreboard>,
    /// One above the forward-most segment known to have arrived (`fack_` + 1).
    fack: u32,
    /// How far fack was above the first hole when that was looked at last (`dupacks_`). At 0 any ACK permits segments.
    above: i32,
    recovering: bool,
    /// A retransmission was lost again: nothing is sent (`timeout_`).
    awaits_timeout: bool,
    /// Retransmissions not reported, each with the next segment to send when it was sent.
    retransmitted: BTreeMap<u32, u32>,
    /// How many retransmissions count as in the network (`retran_data_`).
    retransmissions: i32,
    /// Rampdown: segments above cwnd that may still be in the network (`wintrim_`).
    trim: f64,
    /// Reduction of `trim` per segment (`wintrimmult_`).
    trim_step: f64,
}

impl LossRecovery for Ns2Fack {
    fn on_new_ack(&mut self, state: &mut SendState, header: &TcpHeader, now: Time) {
        state.ece = false; // an ACK that echoes congestion opens the window as others do
        if self.recovering || !header.sacks.as_slice().is_empty() {
            return self.on_old_ack(state, header, now);
        }
        state.advance(header.ack, now);
        state.open_window(now);
        (self.fack, self.above) = (header.ack, 0);
        self.forget(header.ack);
        state.renew_quota();
    }

    fn on_dup_ack(&mut self, state: &mut SendState, header: &TcpHeader, now: Time) {
        state.ece = false;
        self.on_old_ack(state, header, now);
    }

    fn on_late_ack(&mut self, state: &mut SendState, header: &TcpHeader, now: Time) {
        state.ece = false;
        if self.recovering {
            self.on_old_ack(state, header, now);
        } else {
            self.renew_quota_outside(state);
        }
    }

    fn on_timeout(&mut self, state: &mut SendState, now: Time) {
        let (trim, recovery_point) = (self.trim, state.recovery_point);
        state.timeout(now);
        state.recovery_point = recovery_point;
        self.forget(state.una);
        (self.fack, self.trim) = (state.una, trim);
        state.quota = SendQuota::Window(u32::MAX); // no limit on bursts
    }

    fn next_segment(&mut self, state: &mut SendState) -> Option<u32> {
        if let Some(seq) = state.next_retransmission() {
            return Some(seq);
        }
        if !state.has_quota() || self.awaits_timeout || !self.has_room(state) {
            return None;
        }
        if let Some(hole) = self.next_hole(state.una) {
            self.mark_retransmitted(state, hole);
            state.use_quota();
            return Some(hole);
        }
        let window_end = state.una.saturating_add(state.params.window.0);
        if (self.recovering && state.nxt >= window_end) || state.nxt >= state.end {
            return None;
        }
        state.nxt += 1;
        state.use_quota();
        Some(state.nxt - 1)
    }
}

impl Ns2Fack {
    /// Any ACK but a plain new one outside a recovery.
    fn on_old_ack(&mut self, state: &mut SendState, header: &TcpHeader, now: Time) {
        state.advance_partially(header.ack, true, now);
        if let Some(timestamps) = header.timestamps {
            state.rtt.sample(timestamps.echo, now);
        }
        let sent = |&&(_, end): &&(u32, u32)| end <= state.snd_max; // any other block is not to be believed
        let ends = header.sacks.as_slice().iter().filter(sent).map(|&(_, end)| end);
        let forward_most = ends.max().unwrap_or(0);
        let before = self.fack.max(header.ack);
        self.fack = before.max(forward_most);
        state.nxt = state.nxt.max(self.fack);
        self.take_blocks(state, header);
        if !self.recovering {
            return self.outside(state, now);
        }
        self.trim = (self.trim - f64::from(self.fack - before) * self.trim_step).max(0.0);
        self.awaits_timeout |= self.lost_again(header);
        state.open_window(now);
        if header.sacks.as_slice().is_empty() && header.ack >= state.recovery_point {
            (self.recovering, self.above) = (false, 0);
            self.forget(header.ack);
            state.record(SenderEventKind::RecoveryExit, header.ack, now);
        }
        state.renew_quota();
    }

    /// Outside a recovery: enough segments above the first hole begin one, fewer let nothing go.
    fn outside(&mut self, state: &mut SendState, now: Time) {
        let above = i64::from(self.fack) - i64::from(state.una) - 1;
        self.above = above.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
        self.renew_quota_outside(state);
        if above < i64::from(state.params.dupack_threshold) {
            return;
        }
        self.recovering = true;
        self.trim_step = 0.5;
        if state.params.fack_overdamping && state.window.cwnd() <= state.window.ssthresh() + 0.5 {
            state.recovery_step(RecoveryStep::Overshoot);
            self.trim_step = 0.75;
        }
        state.fast_retransmit(now);
        state.recovery_point = state.nxt + 1;
        state.recovery_step(RecoveryStep::SlowStart(1.0));
        if state.params.fack_rampdown {
            self.trim = f64::from(state.nxt - self.fack) * self.trim_step;
        }
        self.mark_retransmitted(state, state.una);
    }

    fn renew_quota_outside(&self, state: &mut SendState) {
        state.quota = SendQuota::Nothing;
        if self.above == 0 {
            state.renew_quota();
        }
    }

    /// True if the estimate of the segments in the network leaves room in the window.
    fn has_room(&self, state: &SendState) -> bool {
        let window = state.window.cwnd().min(f64::from(state.params.window.0)) + self.trim;
        i64::from(state.nxt) + i64::from(self.retransmissions) < i64::from(self.fack) + window as i64
    }

    /// The lowest segment below the highest block that is neither reported nor on its way again.
    fn next_hole(&self, una: u32) -> Option<u32> {
        let mut hole = self.board.next_hole(una);
        while self.retransmitted.contains_key(&hole) {
            hole = self.board.next_hole(hole + 1);
        }
        (hole < self.board.highest_end()).then_some(hole)
    }

    fn mark_retransmitted(&mut self, state: &SendState, seq: u32) {
        self.retransmitted.insert(seq, state.nxt);
        self.retransmissions += 1;
    }

    fn take_blocks(&mut self, state: &SendState, header: &TcpHeader) {
        if self.board.count() == 0 && !header.sacks.as_slice().is_empty() {
            self.board.clear(state.una); // an overtaken ACK may have taken back some of what an empty one begins with
        }
        self.board.update(state.una, state.snd_max, &header.sacks);
        let before = self.retransmitted.len();
        let board = &self.board;
        self.retransmitted.retain(|&seq, _| seq >= state.una && !board.contains(seq));
        self.retransmissions -= (before - self.retransmitted.len()) as i32;
    }

    /// True if a block reports a segment that was sent after a retransmission that is not reported. That retransmission
    /// may be sent again, though it still counts.
    fn lost_again(&mut self, header: &TcpHeader) -> bool {
        let before = self.retransmitted.len();
        for &(_, end) in header.sacks.as_slice() {
            self.retransmitted.retain(|&seq, &mut next| seq >= end || next >= end);
        }
        self.retransmitted.len() < before
    }

    fn forget(&mut self, una: u32) {
        self.board.clear(una);
        self.retransmitted.clear();
        self.retransmissions = 0;
        self.awaits_timeout = false;
        self.trim = 0.0;
    }
}
