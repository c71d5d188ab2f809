//! How a receiver echoes the marks of segments: classic ECN, DCTCP's, or accurate ECN.

use super::TcpReceiver;
use super::accurate::Agreed;
use roamlab_engine::Time;
use roamlab_packet::{Ecn, TcpFlags, TcpHeader};

impl TcpReceiver {
    /// RFC 3168 §6.1.3: congestion is echoed from its arrival until the sender reports by CWR that it has cut its
    /// window. True if the ACK of the segment is sent immediately.
    pub(super) fn note_congestion(&mut self, header: &TcpHeader, ecn: Ecn, now: Time) -> bool {
        if !self.params.ecn || self.without_ecn {
            return false;
        }
        if let Some(accurate) = &mut self.accurate {
            if header.flags.has(TcpFlags::SYN) {
                accurate.on_syn(header.flags, ecn);
                return false;
            }
            match accurate.agreed() {
                Agreed::Accurate => return accurate.on_segment(ecn, header.payload),
                Agreed::Nothing => return false,
                Agreed::Classic => {}
            }
        }
        let syn = header.flags.has(TcpFlags::SYN);
        if syn && self.params.agrees_on_ecn() && self.received.base() == 0 {
            let offers = header.flags.has(TcpFlags::ECE) && header.flags.has(TcpFlags::CWR);
            self.without_ecn = !offers;
        }
        let tells_cwr = header.flags.has(TcpFlags::CWR) && !syn;
        let at_once = tells_cwr && header.payload > 0 && self.params.acks_cwr_at_once();
        if self.reports_marks {
            if syn {
                return false; // RFC 8257 §3.6: the mark of a SYN is ignored
            }
            let is_copy = header.seq < self.received.base() && self.params.skips_marks_of_copies();
            return (!is_copy && self.report_mark(ecn == Ecn::Ce, now)) || at_once;
        }
        if tells_cwr {
            self.echoes = false;
        }
        let held = self.delayed.runs() && self.held_mark;
        self.held_mark = self.params.ns2_holds_marks() && ecn == Ecn::Ce;
        // RFC 3168 §6.1.5: the mark of a segment outside the window is ignored.
        let is_old = header.seq < self.received.base() && !self.params.ns2_holds_marks();
        let begins = ecn == Ecn::Ce && !is_old && !self.echoes;
        let sent_again = ecn == Ecn::NotEct && self.seen_ect && !is_old;
        self.asks_two = begins || sent_again;
        self.seen_ect |= ecn != Ecn::NotEct && !is_old;
        self.echoes |= held || (ecn == Ecn::Ce && !is_old);
        at_once
    }

    /// RFC 8257 §3.2: an ACK echoes congestion if the segments that it acknowledges were marked. Where that changes, an
    /// ACK that is held back is sent first (`dctcp_ece_ack_update`). True if it changes.
    fn report_mark(&mut self, marked: bool, now: Time) -> bool {
        let changes = marked != self.echoes;
        if changes && self.delayed.runs() {
            self.acknowledge(now);
        }
        self.echoes = marked;
        changes
    }

    /// The flags with which an ACK echoes congestion; those of a SYN (`syn`) agree on ECN (RFC 3168 §6.1.1).
    pub(super) fn echo(&self, syn: bool) -> TcpFlags {
        let agreed = self.accurate.as_ref().map(|accurate| (accurate.agreed(), accurate.ace(syn)));
        match agreed {
            Some((Agreed::Accurate, ace)) => TcpFlags::default().with_ace(ace),
            Some((Agreed::Nothing, _)) => TcpFlags::default(),
            _ if self.echoes || syn && self.params.ecn && !self.without_ecn => TcpFlags::ECE,
            _ => TcpFlags::default(),
        }
    }
}
