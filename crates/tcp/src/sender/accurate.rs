//! The sender's part of accurate ECN (RFC 9768): the offer in the SYN, what the SYN/ACK agrees on, and how many segments
//! an ACK reports to be marked.
//!
//! The sender gets no data. So its own counters stay at the start.
//!
//! DEVIATION: by the RFCs' profile ACKs and the SYN are not ECN-capable (`control_packets.rs`); RFC 9768 leaves it open.

use roamlab_packet::{AccEcnOption, Ecn, TcpFlags, TcpHeader};

/// The use of ECN to which the SYN/ACK has agreed.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
enum Agreed {
    /// It has not arrived.
    #[default]
    Open,
    /// Accurate ECN.
    Accurate,
    /// ECN of RFC 3168.
    Classic,
    /// No ECN.
    Nothing,
}

/// Counters begin with this (RFC 9768 §3.2.1): packets with CE, and bytes with either ECT.
pub(crate) const FIRST_COUNT: u32 = 5;
pub(crate) const FIRST_BYTES: u32 = 1;
/// A SYN/ACK for later use.
const RESERVED: u8 = 0b101;
/// Number of values of the ACE field, and of the counters of bytes in the option.
const VALUES: u32 = 8;
const BYTES: u32 = 1 << 24;

/// The sender's state of accurate ECN.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accurate {
    agreed: Agreed,
    /// The ECN field of the SYN.
    syn: Option<Ecn>,
    /// The path changes the ECN field, or clears the ACE field (§3.2.2.3, §3.2.2.4).
    mangled: bool,
    cleared: bool,
    /// Marked packets that have arrived (r.cep).
    arrived: u32,
    /// Marked packets and bytes that the other end has reported (s.cep, s.ceb).
    reported: u32,
    reported_bytes: u32,
    /// Feedback has arrived after the handshake.
    has_feedback: bool,
    /// The ECN field of the SYN/ACK, until it is acknowledged.
    syn_ack: Option<Ecn>,
    /// One above the highest segment in a SACK block so far.
    sacked_end: u32,
    /// Of the latest ACK.
    latest: u32,
}

impl Accurate {
    /// Of a connection whose SYN has this ECN field.
    pub fn new(syn: Ecn) -> Accurate {
        Accurate { syn: Some(syn), ..Accurate::default() }
    }

    /// Marked segments among those that this ACK acknowledges. `segments`: their number.
    pub fn latest(&self, segments: u32) -> u32 {
        if self.agreed == Agreed::Accurate { self.latest.min(segments) } else { segments }
    }

    /// The ACE field of the ACK of the SYN/ACK, once.
    pub fn third_ack(&mut self) -> Option<u8> {
        Some(self.syn_ack.take()?.as_ace())
    }

    /// The option of the ACK of the SYN/ACK and of the first data segment, by which the path is tested (§3.2.3.2.1).
    pub fn first_option(&self) -> AccEcnOption {
        match self.agreed {
            Agreed::Accurate => AccEcnOption::new(FIRST_BYTES, 0, FIRST_BYTES, false, 3),
            _ => AccEcnOption::default(),
        }
    }

    /// The SYN/ACK agrees, or not (§3.1.1 table 2; §3.1.3: a reserved value agrees too).
    fn on_syn_ack(&mut self, header: &TcpHeader, ecn: Ecn) {
        let sent = self.syn.unwrap_or(Ecn::NotEct);
        let may_be_marked = sent != Ecn::NotEct && header.flags.ace() == Ecn::Ce.as_ace();
        self.agreed = match header.flags.ace() {
            0b001 => Agreed::Classic,
            0b000 | 0b111 => Agreed::Nothing,
            _ => Agreed::Accurate,
        };
        if self.agreed == Agreed::Accurate {
            self.mangled = ![sent.as_ace(), RESERVED].contains(&header.flags.ace()) && !may_be_marked;
            self.syn_ack = Some(ecn);
            (self.arrived, self.reported) = (FIRST_COUNT + u32::from(ecn == Ecn::Ce), FIRST_COUNT);
        }
    }

    /// How many packets an ACK reports to be marked that acknowledges `acked` segments and holds blocks of SACK (§3.2.2.5.2;
    /// appendix A.2).
    fn on_ack(&mut self, header: &TcpHeader, acked: u32, segment: u32) -> u32 {
        let ace = u32::from(header.flags.ace());
        if !std::mem::replace(&mut self.has_feedback, true) {
            self.cleared = ace == 0;
        }
        let sacked = self.newly_sacked(header);
        // An ACK that acknowledges nothing may have been overtaken. Its report is in the next one too.
        if acked + sacked == 0 {
            return 0;
        }
        let least = ace.wrapping_sub(self.reported) % VALUES;
        let most = (acked + sacked).max(least);
        let safe = most - (most - least) % VALUES;
        // A counter that is not in the option has not changed.
        let has_option = !header.accecn.is_absent();
        let ce = header.accecn.ce().unwrap_or(self.reported_bytes);
        let bytes = has_option.then(|| ce.wrapping_sub(self.reported_bytes) % BYTES);
        let fits = |bytes: u32| bytes <= segment * least && 2 * bytes < segment.saturating_mul(safe);
        let count = if bytes.is_some_and(fits) { least } else { safe };
        self.reported = self.reported.wrapping_add(count);
        self.reported_bytes = ce;
        count
    }

    /// Segments in SACK blocks above all that were in one before.
    fn newly_sacked(&mut self, header: &TcpHeader) -> u32 {
        let from = self.sacked_end.max(header.ack);
        let above = header.sacks.as_slice().iter().map(|&(start, end)| end.saturating_sub(start.max(from)));
        let count = above.sum();
        let end = header.sacks.as_slice().iter().map(|&(_, end)| end).max();
        self.sacked_end = end.map_or(self.sacked_end, |end| self.sacked_end.max(end));
        count
    }

    /// True if data may be ECN-capable.
    pub fn permits_ecn(&self) -> bool {
        self.agreed != Agreed::Nothing && !self.mangled && !self.cleared
    }

    /// True if ACKs count marked packets.
    pub fn counts(&self) -> bool {
        self.agreed == Agreed::Accurate
    }

    /// True if the other end waits for CWR (RFC 3168 §6.1.2).
    pub fn uses_cwr(&self) -> bool {
        self.agreed == Agreed::Classic
    }

    /// The flags of the ACE field.
    pub fn ace(&self) -> TcpFlags {
        let ace = if self.counts() { self.arrived as u8 } else { 0 };
        TcpFlags::default().with_ace(ace)
    }

    /// The number of marked segments among the `acked` ones, if a segment echoes congestion.
    #[inline(never)]
    pub fn echoed(&mut self, header: &TcpHeader, ecn: Ecn, acked: u32, segment: u32) -> Option<u32> {
        let syn = header.flags.has(TcpFlags::SYN);
        match self.agreed {
            Agreed::Open if syn => {
                self.on_syn_ack(header, ecn);
                None
            }
            Agreed::Accurate if syn => {
                // It was sent again, and its ACK tells in which ECN field it arrived; CE counts once (§3.2.2.1, §3.2.2.2).
                self.syn_ack = Some(ecn);
                self.arrived = self.arrived.max(FIRST_COUNT + u32::from(ecn == Ecn::Ce));
                None
            }
            Agreed::Accurate => {
                self.arrived += u32::from(ecn == Ecn::Ce);
                self.latest = self.on_ack(header, acked, segment);
                // §3.2.2.4: a cleared field reports nothing.
                (self.latest > 0 && !self.cleared).then_some(self.latest)
            }
            Agreed::Classic => (header.flags.has(TcpFlags::ECE) && !syn).then_some(acked),
            _ => None,
        }
    }
}
