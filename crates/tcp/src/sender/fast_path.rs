//! The sender's fast path: new ACKs and segments in order, without options, while nothing unusual is in progress.
//!
//! Header prediction (Jacobson 1988): almost every ACK of a bulk transfer only moves the window. The path saves tests
//! and changes no result: after an input the sender is in the same state as after the slow path.

use crate::TcpSender;
use crate::params::Handshake;
use crate::short_cut::ShortCut;
use crate::state::SendQuota;
use roamlab_congestion::Pacer;
use roamlab_engine::{Bytes, Time};
use roamlab_packet::{BareTcpHeader, SackBlocks, TcpFlags};
use std::ops::Range;

impl TcpSender {
    /// An input was processed without a short cut: notes if the next one may take one.
    pub(crate) fn note_fast_path(&mut self) {
        self.records_or_paces = self.state.records_or_paces();
        self.short_cut = if !self.is_plain() {
            ShortCut::None
        } else if self.allows_bare() {
            ShortCut::Bare
        } else if self.allows_stamped() {
            ShortCut::Stamped
        } else {
            ShortCut::None
        };
    }

    /// True if the agreed options permit the short cut of segments without options.
    fn allows_bare(&self) -> bool {
        let (state, params) = (&self.state, &self.state.params);
        let agreed =
            !params.forms_bursts() && !params.ecn && !params.timestamps && !params.ns2_free_timestamps();
        let paced = !state.window.is_paced() || Pacer::paces(&state.window, state.data_segments());
        agreed && paced
    }

    /// True if the sender has no unusual state, and nothing unusual is due.
    fn is_plain(&self) -> bool {
        let (state, params) = (&self.state, &self.state.params);
        let recorded = state.sent_segments.as_ref().is_none_or(|sent| sent.is_plain() && !state.goes_back());
        let usual = state.una > 0
            && state.inflation == 0
            && state.probes == 0
            && state.una >= state.path_from
            && !state.persist.runs()
            && !state.spurious.is_watching();
        let due = self.ack_due || self.window_probe_due || self.peer_closed || self.handshake_ack_due;
        let counts_dup_acks = state.dup_acks > 0 && params.dup_acks_deliver();
        let closing = state.fin.is_some() || state.has_retransmission();
        recorded && usual && !due && !closing && !counts_dup_acks && self.recovery.allows_fast_path(state)
    }

    /// True if the segment is an ACK of new data and nothing else.
    #[inline(always)]
    pub(crate) fn takes_fast_path(&self, header: &BareTcpHeader) -> bool {
        self.short_cut == ShortCut::Bare && self.advances(header)
    }

    /// True if an ACK acknowledges new data, leaves the window open and does nothing else.
    #[inline(always)]
    pub(crate) fn advances(&self, header: &BareTcpHeader) -> bool {
        let state = &self.state;
        let opens = || header.ack.saturating_add(header.window) > state.nxt;
        header.flags == TcpFlags::ACK
            && header.ack > state.una
            && header.ack <= state.snd_max
            && (state.params.ns2_no_flow_control() || opens())
            && !state.has_facts()
    }

    /// Takes an ACK without options, if it is of new data and nothing else and nothing unusual is on. `false`, and no
    /// change: it is one for [`on_segment`](Self::on_segment).
    #[inline(always)]
    pub fn on_bare_ack(&mut self, header: &BareTcpHeader, now: Time) -> bool {
        if !self.takes_fast_path(header) {
            return false;
        }
        let state = &mut self.state;
        if !state.params.ns2_no_flow_control() {
            state.peer_end = header.ack.saturating_add(header.window);
        }
        let before = state.window.sizes();
        let delivered = state.acknowledge(header.ack, now);
        let recorded = match (self.records_or_paces, &mut state.sent_segments) {
            (true, Some(sent)) => sent.on_ack(header.ack, &SackBlocks::NONE, now),
            _ => delivered,
        };
        state.grow_by(&recorded, now);
        state.renew_quota();
        self.recovery.on_fast_ack(state, now);
        if state.window.sizes() != before {
            state.defer_growth(now);
        }
        self.follow();
        true
    }

    /// An ACK was processed: sets the pacing rate, and notes if segments are recorded from now on.
    #[inline(always)]
    pub(crate) fn follow(&mut self) {
        if self.records_or_paces {
            self.state.pace();
            self.state.record_as_needed();
            self.records_or_paces = self.state.records_or_paces();
        }
    }

    /// The segments, in order, that an ACK taken by [`on_bare_ack`](Self::on_bare_ack) permits to be sent now. Each has to
    /// be sent as [`bare_segment`](Self::bare_segment) makes it, and then [`end_quota`](Self::end_quota) be called;
    /// [`poll_transmit`](Self::poll_transmit) gives none of them.
    #[inline(always)]
    pub fn take_quota(&mut self) -> Range<u32> {
        let most = if self.records_or_paces {
            self.state.pacing.permits(&self.state.window, self.state.data_segments())
        } else {
            u32::MAX
        };
        self.state.take_quota(most)
    }

    /// The time of a deadline has come: if it is that of pacing alone and nothing unusual is on, the next burst may leave,
    /// which [`take_quota`](Self::take_quota) gives, or [`next_stamped`](Self::next_stamped). `false`, and no change: it is one for
    /// [`on_deadline`](Self::on_deadline).
    #[inline]
    pub fn on_pacing_deadline(&mut self, now: Time) -> bool {
        let state = &mut self.state;
        let others = state.timer.earlier(&state.recovery_timer).earlier(&state.persist);
        let alone = self.short_cut != ShortCut::None
            && matches!(state.quota, SendQuota::Window(_))
            && others.deadline().is_none_or(|other| other > now)
            && !state.has_facts();
        if alone {
            state.pacing.on_deadline(now);
        }
        alone
    }

    /// All segments of [`take_quota`](Self::take_quota) are sent.
    #[inline(always)]
    pub fn end_quota(&mut self, now: Time) {
        if self.records_or_paces {
            self.state.end_quota(now);
        }
    }

    /// A segment within the window that goes out now; all of them have the [same size](Self::segment_size).
    #[inline(always)]
    pub fn bare_segment(&mut self, seq: u32, now: Time) -> BareTcpHeader {
        let retransmission = self.state.sent(seq, now);
        if self.records_or_paces {
            self.state.record_and_pace(seq, retransmission, now);
        }
        self.recovery.on_fast_sent(&mut self.state, now);
        let params = &self.state.params;
        let connected = params.handshake == Handshake::ThreeWay;
        BareTcpHeader {
            seq,
            ack: u32::from(connected),
            flags: if connected { TcpFlags::ACK } else { TcpFlags::default() },
            payload: params.segment.0 as u32,
            window: 0,
            retransmission,
        }
    }

    /// Bytes on the wire of a full segment without options.
    #[inline(always)]
    pub fn segment_size(&self) -> Bytes {
        let params = &self.state.params;
        Bytes(params.segment.0 + params.header.0)
    }
}

#[cfg(test)]
mod tests;
