//! Echoes of congestion: the offer of the SYN, the ECN field of segments, and the reports of ACKs.

use super::SendState;
use roamlab_packet::{Ecn, TcpFlags, TcpHeader};

impl SendState {
    /// The offer of a SYN (RFC 3168 §6.1.1; RFC 9768 §3.1.1). The second retransmission offers nothing: a middlebox may
    /// be dropping SYNs with an offer (RFC 9768 §3.1.4.1).
    pub fn offer(&self) -> TcpFlags {
        match (&self.accurate, self.params.ecn) {
            (Some(_), _) if self.timeouts < 2 => TcpFlags::default().with_ace(0b111),
            // RFC 3168 §6.1.1.1: a SYN that is sent again need not offer it.
            (None, true) if self.timeouts == 0 || !self.params.offers_ecn_once() => {
                TcpFlags::ECE.with(TcpFlags::CWR)
            }
            _ => TcpFlags::default(),
        }
    }

    /// True if data is ECN-capable.
    pub fn uses_ecn(&self) -> bool {
        let permits = self.accurate.as_ref().is_none_or(|accurate| accurate.permits_ecn());
        self.params.ecn && !self.without_ecn && permits
    }

    /// The codepoint of data that is ECN-capable.
    pub fn codepoint(&mut self) -> Ecn {
        let counts = self.accurate.as_ref().is_some_and(|accurate| accurate.counts());
        if counts && self.control.algorithm().properties().sends_ect1 { Ecn::Ect1 } else { Ecn::Ect0 }
    }

    /// The ECN field of a SYN, or of another segment that is not new data.
    pub fn codepoint_of_others(&self, syn: bool) -> Ecn {
        match syn {
            true => self.control_packets.syn,
            false if self.uses_ecn() => self.control_packets.others,
            false => Ecn::NotEct,
        }
    }

    /// True if the sender reports by CWR that it has cut its window (RFC 3168 §6.1.2).
    pub fn uses_cwr(&self) -> bool {
        self.accurate.as_ref().is_none_or(|accurate| accurate.uses_cwr())
    }

    /// The flags of the ACE field.
    pub fn ace(&self) -> TcpFlags {
        self.accurate.as_ref().map_or(TcpFlags::default(), |accurate| accurate.ace())
    }

    /// The number of marked segments among those that a segment acknowledges, if it echoes congestion.
    #[inline]
    pub fn echoed(&mut self, header: &TcpHeader, ecn: Ecn) -> Option<u32> {
        let acked = header.ack.saturating_sub(self.una);
        let echoes = header.flags.has(TcpFlags::ECE) && !header.flags.has(TcpFlags::SYN);
        if header.flags.has(TcpFlags::SYN) && self.accurate.is_none() && self.params.agrees_on_ecn() {
            self.without_ecn = !header.flags.has(TcpFlags::ECE);
        }
        match &mut self.accurate {
            None => (self.uses_ecn() && echoes).then_some(acked),
            Some(accurate) => accurate.echoed(header, ecn, acked, self.params.segment.0 as u32),
        }
    }
}
