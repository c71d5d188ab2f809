//! The sender's fast path: new ACKs and segments in order, without options, while nothing unusual is in progress.
//!
//! Header prediction (Jacobson 1988): almost every ACK of a bulk transfer only moves the window. The path saves tests
//! and changes no result: after an input the sender is in the same state as after the slow path.

use crate::params::Handshake;
use crate::tcp::TcpSender;
use roamlab_engine::{Bytes, Time};
use roamlab_packet::{BareTcpHeader, TcpFlags};
use std::ops::Range;

impl TcpSender {
    /// Whether nothing unusual is on, in what has been agreed, in what has happened and in what is due.
    pub(super) fn allows_fast_path(&self) -> bool {
        let (state, params) = (&self.state, &self.state.params);
        let agreed = !params.ecn
            && !params.timestamps
            && !params.ns2_free_timestamps()
            && state.control.allows_fast_path(&state.window)
            && !params.pacing;
        let usual = state.una > 0
            && state.inflation == 0
            && state.probes == 0
            && state.una >= state.path_from
            && !state.persist.runs()
            && !state.spurious.is_watching();
        let due = self.answer || self.probe || self.peer_closed;
        let closing = state.fin.is_some() || state.retransmit.is_some();
        agreed && usual && !due && !closing && self.recovery.allows_fast_path(state)
    }

    /// Whether the segment is an ACK of new data and nothing else.
    #[inline(always)]
    pub(super) fn takes_fast_path(&self, header: &BareTcpHeader) -> bool {
        let state = &self.state;
        let opens = || header.ack.saturating_add(header.window) > state.nxt;
        self.fast
            && header.flags == TcpFlags::ACK
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
        state.grow_by(&delivered, now);
        state.renew_quota();
        self.recovery.on_fast_ack(state, now);
        if state.window.sizes() != before {
            state.defer_growth(now);
        }
        true
    }

    /// The segments, in order, that an ACK taken by [`on_bare_ack`](Self::on_bare_ack) permits. Each has to be sent as
    /// [`bare_segment`](Self::bare_segment) makes it; [`poll_transmit`](Self::poll_transmit) gives none of them.
    #[inline(always)]
    pub fn take_quota(&mut self) -> Range<u32> {
        self.state.take_quota()
    }

    /// A segment within the window that goes out now; all of them have the [same size](Self::segment_size).
    #[inline(always)]
    pub fn bare_segment(&mut self, seq: u32, now: Time) -> BareTcpHeader {
        let retransmission = self.state.sent(seq, now);
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
