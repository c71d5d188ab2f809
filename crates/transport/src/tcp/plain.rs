//! The sender's straight path: new ACKs and segments in order while nothing unusual is on.
//!
//! Header prediction (Jacobson 1988): almost every ACK of a bulk transfer only moves the window on. The path saves
//! questions, it changes no answer: an input that it takes leaves the sender as the general path would.

use crate::params::{CongestionControlKind, Handshake};
use crate::tcp::recovery::LossRecovery;
use crate::tcp::{Segment, TcpSender};
use roamlab_engine::{Bytes, Time};
use roamlab_packet::{Ecn, TcpFlags, TcpHeader};

impl TcpSender {
    /// Whether nothing unusual is on, in what has been agreed, in what has happened and in what is due.
    pub(super) fn is_plain(&self) -> bool {
        let (state, params) = (&self.state, &self.state.params);
        let agreed = !params.ecn
            && !params.timestamps
            && !params.free_timestamps
            && params.congestion_control == CongestionControlKind::Reno;
        let usual = state.una > 0
            && state.window.inflation == 0
            && state.probes == 0
            && !state.persist.runs()
            && !state.spurious.is_watching();
        let due = self.answer || self.probe || self.peer_closed;
        let closing = state.fin.is_some() || state.retransmit.is_some();
        agreed && usual && !due && !closing && self.recovery.is_plain(state)
    }

    /// Whether the segment is an ACK of new data and nothing else.
    #[inline]
    pub(super) fn takes_plainly(&self, header: &TcpHeader) -> bool {
        let state = &self.state;
        let opens = || header.ack.saturating_add(header.window) > state.nxt;
        self.plain
            && header.flags == TcpFlags::ACK
            && header.ack > state.una
            && header.ack <= state.snd_max
            && header.timestamps.is_none()
            && header.sacks.as_slice().is_empty()
            && (!state.params.flow_control || opens())
            && !state.has_facts()
    }

    /// Deals with such an ACK.
    #[inline]
    pub(super) fn on_plain_ack(&mut self, header: &TcpHeader, now: Time) {
        let state = &mut self.state;
        if state.params.flow_control {
            state.peer_end = header.ack.saturating_add(header.window);
        }
        let cwnd = state.window.cwnd;
        state.advance(header.ack, now);
        state.open_window(now);
        state.permit_window();
        self.recovery.on_plain_ack(header.ack);
        if state.window.cwnd != cwnd {
            state.note_growth(now);
        }
    }

    /// The next segment within the window.
    #[inline]
    pub(super) fn next_plain_segment(&mut self, now: Time) -> Option<Segment> {
        let seq = self.state.next_in_window()?;
        let retransmission = self.state.sent(seq, now);
        let params = &self.state.params;
        let connected = params.handshake == Handshake::ThreeWay;
        let header = TcpHeader {
            seq,
            ack: u32::from(connected),
            flags: if connected { TcpFlags::ACK } else { TcpFlags::default() },
            payload: params.segment.0 as u32,
            retransmission,
            ..TcpHeader::default()
        };
        Some(Segment { header, size: Bytes(params.segment.0 + params.header.0), ecn: Ecn::NotEct })
    }
}

#[cfg(test)]
mod tests;
