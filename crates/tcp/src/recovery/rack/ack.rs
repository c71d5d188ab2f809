//! Effects of an ACK that has been entered in the record: it may undo a cut, find losses, begin or end a recovery, and move the
//! window.

use super::record::{AckSummary, Marks};
use super::undo::Frto;
use super::{Phase, Rack};
use crate::params::Reduction;
use crate::state::SendState;
use roamlab_engine::Time;
use roamlab_packet::TcpHeader;

impl Rack {
    /// An ACK of any kind has been entered in the record; `advances`: it expects more than the one before.
    pub(super) fn on_ack(
        &mut self,
        state: &mut SendState,
        header: &TcpHeader,
        summary: &AckSummary,
        advances: bool,
        now: Time,
    ) {
        self.note_reordering(state, summary);
        let other_timer = state.recovery_timer.runs();
        if self.probe.reveals_loss(header, summary, advances) {
            state.tail_loss(now);
            state.echo_reduction = None;
        }
        let echoes = state.ece && state.params.hears_echoes_last();
        if echoes {
            self.undo.keep_cut();
        }
        self.new_first = false;
        state.window.leaving.end();
        state.acknowledge_in_buffer(header.window, &header.sacks);
        state.retransmit = state.retransmit.filter(|&seq| seq >= state.una);
        let undoes = self.undoes(state);
        let in_recovery = self.phase == Phase::Recovery && state.una < state.recovery_point;
        let is_reported = self.undo.all_reported();
        let undone = undoes && self.undo_if_needless(state, summary, advances, now);
        // An ACK of an original that ends a recovery cuts nothing (`tcp_try_undo_partial`).
        let only_undoes = undone && in_recovery && !is_reported;
        let only_late = undoes && !undone && self.is_only_late(state, advances);
        self.new_first |= only_late;
        let mut exits = false;
        if self.phase != Phase::Open && state.una >= state.recovery_point {
            exits = self.phase == Phase::Recovery;
            self.exit(state, now);
        }
        self.advanced |= summary.advances_rack;
        let looks = self.advanced || (undone && !state.params.undo_finds_no_losses());
        let marks = if looks && !only_late { self.detect(state, now) } else { Marks::default() };
        let rtt = summary.rtt(advances, state.echo, now);
        self.note_found(state, marks.count, rtt);
        let safe = advances && marks.count == 0;
        if self.finds_loss(state, &marks) {
            self.begin(state, summary.delivered, now);
        } else if self.phase == Phase::Recovery {
            self.reduce(state, summary.delivered, safe);
        } else {
            if echoes && self.phase == Phase::Open && !only_undoes {
                self.undo.end();
                state.ecn_echo(header.ack, state.in_use(), now);
            }
            let grows = advances && (!exits || state.params.grows_on_exit());
            self.reduce_for_echo_or_grow(state, summary.delivered, [safe, grows], now);
        }
        if advances && other_timer && self.phase != Phase::Open && !self.waits_for_reordering(state) {
            self.time_from_head(state, now);
        }
        self.arm_probe(state, None, now);
        state.renew_quota();
    }

    /// Notes what an ACK shows of the order of segments. A D-SACK is a sign of reordering, unless the probe explains it.
    #[inline]
    fn note_reordering(&mut self, state: &SendState, summary: &AckSummary) {
        if let Some(end) = summary.repeated_end {
            let counts = self.window.reordering_seen || !state.params.widens_if_reordered();
            if counts && !self.probe.explains(end) {
                self.window.on_dsack(state.una, state.snd_max);
            }
        }
        self.window.reordering_seen |= summary.reordered;
        self.undo.note(summary);
    }

    pub(super) fn undoes(&self, state: &SendState) -> bool {
        state.params.undoes_cuts()
    }

    /// Takes back a cut of the window that was not needed. True if there was one.
    fn undo_if_needless(
        &mut self,
        state: &mut SendState,
        summary: &AckSummary,
        advances: bool,
        now: Time,
    ) -> bool {
        let is_over = state.una >= state.recovery_point;
        let keeps_marks = match self.phase {
            Phase::Open if self.undo.all_reported() => true,
            Phase::Recovery if is_over && self.undo.may(state) => true,
            Phase::Recovery if self.undo.all_reported() => true,
            Phase::Recovery if advances && self.undo.answers_original(state) => {
                self.window.reordering_seen = true;
                if self.record.under_way() > 0 {
                    return false; // what was sent again is yet to be acknowledged
                }
                false
            }
            Phase::Timeout if advances && self.undo.may(state) => false,
            Phase::Timeout => match self.undo.frto(state, summary, advances) {
                Frto::Spurious => false,
                Frto::NewFirst => {
                    self.new_first = true;
                    return false;
                }
                Frto::Goes => return false,
            },
            _ => return false,
        };
        if !keeps_marks {
            self.record.unmark(state.una, state.params.undo_leaves_list());
        }
        self.phase = Phase::Open;
        self.undo.revert(state, now);
        true
    }

    /// True if an ACK in a recovery answers an original while retransmissions are under way. Then no loss is looked for
    /// and nothing is sent again.
    fn is_only_late(&self, state: &SendState, advances: bool) -> bool {
        state.params.late_original_repairs_nothing()
            && self.phase == Phase::Recovery
            && advances
            && state.una < state.recovery_point
            && self.undo.answers_original(state)
            && self.record.under_way() > 0
    }

    /// True if an ACK begins a recovery: it has found a loss, and none is repaired.
    #[inline]
    fn finds_loss(&self, state: &SendState, marks: &Marks) -> bool {
        match self.phase {
            Phase::Open => self.record.has_lost(state.una),
            Phase::Recovery => false,
            Phase::Timeout => marks.again > 0,
        }
    }

    /// The window of an ACK in a recovery.
    pub(super) fn reduce(&mut self, state: &mut SendState, delivered: u32, safe: bool) {
        if state.params.reduction != Reduction::Immediate {
            let in_flight = self.record.in_flight(state);
            state.reduce_by_prr(&mut self.prr, delivered, in_flight, safe);
        }
    }

    /// Outside of a recovery an ACK of `delivered` segments lets the window come down for an echo of congestion (`safe`:
    /// SafeACK), or grow.
    #[inline]
    fn reduce_for_echo_or_grow(
        &self,
        state: &mut SendState,
        delivered: u32,
        [safe, grows]: [bool; 2],
        now: Time,
    ) {
        let reduces = state.echo_reduction.as_deref().copied().filter(|_| self.phase == Phase::Open);
        if let Some(mut prr) = reduces {
            let in_flight = self.record.in_flight(state);
            state.reduce_by_prr(&mut prr, delivered, in_flight, safe);
            state.echo_reduction = Some(Box::new(prr));
        } else if grows {
            state.grow(now);
        }
    }
}
