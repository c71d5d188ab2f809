//! The interface of a loss recovery.

use crate::state::SendState;
use roamlab_engine::Time;
use roamlab_packet::TcpHeader;
use std::ops::Range;

/// A loss recovery. It acts on the state it is given: what to retransmit, when to cut, what may be sent.
pub(crate) trait LossRecovery {
    /// An ACK arrived that expects `header.ack`, above everything acknowledged so far.
    fn on_new_ack(&mut self, state: &mut SendState, header: &TcpHeader, now: Time);

    /// One more ACK arrived that expects `state.una`. The recovery decides whether it counts in `state.dup_acks`.
    fn on_dup_ack(&mut self, state: &mut SendState, header: &TcpHeader, now: Time);

    /// An ACK arrived that expects less than `state.una`: later ones have overtaken it.
    fn on_late_ack(&mut self, _state: &mut SendState, _header: &TcpHeader, _now: Time) {}

    /// How many segments an ACK reports as delivered that is yet to be taken in. By RFC 8257 §3.3 SACK blocks do not count.
    fn delivered_by(&self, state: &SendState, header: &TcpHeader) -> u32 {
        header.ack - state.una
    }

    /// The retransmission timer expired with data outstanding.
    fn on_timeout(&mut self, state: &mut SendState, now: Time);

    /// The segments in flight are given up with their path. All is as after a timeout, which `state` knows was none.
    fn give_up(&mut self, state: &mut SendState, now: Time) {
        self.on_timeout(state, now);
    }

    /// The sender begins again on another path: no reduction of the old window is undone or continued.
    fn on_new_path(&mut self) {}

    /// The shortest round-trip time, if it keeps one, is that of an old path.
    fn forget_min_rtt(&mut self) {}

    /// The recovery's own timer expired.
    fn on_timer(&mut self, _state: &mut SendState, _now: Time) {}

    /// A segment goes out.
    fn on_sent(&mut self, _state: &mut SendState, _seq: u32, _now: Time) {}

    /// The range of segments that are lost and wait to be sent again, except those that the receiver holds.
    fn lost(&self, state: &SendState) -> Range<u32> {
        state.nxt..state.snd_max
    }

    /// True if the next segment waits for the next ACK, though the window permits it. Asked before each segment, if
    /// bursts may wait.
    fn waits(&mut self, _state: &mut SendState, _now: Time) -> bool {
        false
    }

    /// Nothing more leaves now, so the application may write. True if more may leave then.
    fn writes(&mut self, _state: &mut SendState, _now: Time) -> bool {
        false
    }

    /// The next segment to send.
    fn next_segment(&mut self, state: &mut SendState) -> Option<u32> {
        state.next_segment()
    }

    /// True if a new ACK without SACK blocks would only advance, grow the window and send the segments that it permits,
    /// in order and without a note. Asked with the window not inflated and no retransmission due.
    fn allows_fast_path(&self, _state: &SendState) -> bool {
        false
    }

    /// Such an ACK, which expects `state.una`, was processed.
    fn on_fast_ack(&mut self, _state: &mut SendState, _now: Time) {}

    /// A new segment goes out on the fast path.
    fn on_fast_sent(&mut self, _state: &mut SendState, _now: Time) {}
}
