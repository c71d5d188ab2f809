//! Headers as values: IP (with ToS), TCP, QUIC, UDP.

use crate::addr::{Addr, MessageId};
use roamlab_engine::{Duration, Time};
use serde::{Deserialize, Serialize};

/// A DiffServ code point (RFC 2474): the upper six bits of the ToS octet.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Dscp(pub u8);

impl Dscp {
    /// The code point that marks packets forwarded by an old base station: 000011, from the pool for
    /// experimental and local use (RFC 2474 §6), so that it triggers no standard per-hop behaviour.
    pub const FORWARDED: Dscp = Dscp(0b00_0011);
}

/// The ECN field (RFC 3168 §5).
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ecn {
    /// The transport does not understand ECN.
    NotEct,
    /// ECN-capable, codepoint 01.
    Ect1,
    /// ECN-capable, codepoint 10.
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// Meaning of the ACE field of a handshake: the field in which a SYN arrived (RFC 9768 §3.1.1 table 2).
    pub const fn as_ace(self) -> u8 {
        match self {
            Ecn::NotEct => 0b010,
            Ecn::Ect1 => 0b011,
            Ecn::Ect0 => 0b100,
            Ecn::Ce => 0b110,
        }
    }
}

/// The type-of-service octet: DSCP and ECN field.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Tos(pub u8);

impl Tos {
    /// The code point.
    pub const fn dscp(self) -> Dscp {
        Dscp(self.0 >> 2)
    }

    /// The same octet with another code point.
    #[must_use]
    pub const fn with_dscp(self, dscp: Dscp) -> Tos {
        Tos(dscp.0 << 2 | self.0 & 0b11)
    }

    /// The ECN field.
    pub const fn ecn(self) -> Ecn {
        match self.0 & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// The same octet with another ECN field.
    #[must_use]
    pub const fn with_ecn(self, ecn: Ecn) -> Tos {
        let bits = match ecn {
            Ecn::NotEct => 0b00,
            Ecn::Ect1 => 0b01,
            Ecn::Ect0 => 0b10,
            Ecn::Ce => 0b11,
        };
        Tos(self.0 & !0b11 | bits)
    }
}

/// An IP header, inner or outer.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct IpHeader {
    /// Source.
    pub src: Addr,
    /// Destination.
    pub dst: Addr,
    /// Type of service.
    pub tos: Tos,
    /// Hops left.
    pub ttl: u8,
    /// Bytes this header adds to the datagram inside; 0 for the innermost header, whose bytes are part of the datagram's.
    pub overhead: u16,
}

impl IpHeader {
    /// Time to live of a new datagram or tunnel header.
    pub const DEFAULT_TTL: u8 = 64;

    /// The innermost header of a new datagram.
    pub const fn new(src: Addr, dst: Addr, tos: Tos) -> IpHeader {
        IpHeader { src, dst, tos, ttl: IpHeader::DEFAULT_TTL, overhead: 0 }
    }
}

/// TCP flags, one bit each.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// Synchronise.
    pub const SYN: TcpFlags = TcpFlags(1);
    /// No more data.
    pub const FIN: TcpFlags = TcpFlags(1 << 1);
    /// The acknowledgement number is valid.
    pub const ACK: TcpFlags = TcpFlags(1 << 2);
    /// ECN echo (RFC 3168 §6.1).
    pub const ECE: TcpFlags = TcpFlags(1 << 3);
    /// Congestion window reduced (RFC 3168 §6.1).
    pub const CWR: TcpFlags = TcpFlags(1 << 4);

    /// Accurate ECN (RFC 9768 §3.1).
    pub const AE: TcpFlags = TcpFlags(1 << 5);
    /// The receiver is to pass on what it has (RFC 9293 §3.9.1.2).
    pub const PSH: TcpFlags = TcpFlags(1 << 6);

    /// AE, CWR and ECE as a number, the ACE field (RFC 9768 §3.2.2).
    pub const fn ace(self) -> u8 {
        self.0 >> 3 & 0b111
    }

    /// The same with the lower three bits of `ace` as AE, CWR and ECE.
    #[must_use]
    pub const fn with_ace(self, ace: u8) -> TcpFlags {
        TcpFlags(self.0 & !(0b111 << 3) | (ace & 0b111) << 3)
    }

    /// True if all bits of `other` are set.
    pub const fn has(self, other: TcpFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both.
    #[must_use]
    pub const fn with(self, other: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 | other.0)
    }
}

/// Up to four SACK blocks (RFC 2018 §3) `[start, end)` in segments, most recent first.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct SackBlocks {
    blocks: [(u32, u32); 4],
    len: u8,
}

impl SackBlocks {
    /// No blocks.
    pub const NONE: SackBlocks = SackBlocks { blocks: [(0, 0); 4], len: 0 };

    /// Adds a block behind those present; the fifth and later ones are ignored.
    pub fn push(&mut self, start: u32, end: u32) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.len)) {
            *slot = (start, end);
            self.len += 1;
        }
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The blocks.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.len)]
    }
}

/// The timestamps option (RFC 7323 §3).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Timestamps {
    /// When this segment was sent, by its sender's clock.
    pub value: Time,
    /// The value being echoed.
    pub echo: Time,
}

/// The option of accurate ECN (RFC 9768 §3.2.3): bytes of payload that have arrived with each codepoint, modulo 2^24.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct AccEcnOption {
    /// In the order on the wire: that of an ECT codepoint, of CE, of the other ECT codepoint.
    counters: [[u8; 3]; 3],
    /// How many of them there are, 0 to 3; with [`AccEcnOption::ECT1_FIRST`] the first is that of ECT(1).
    shape: u8,
}

impl AccEcnOption {
    const ECT1_FIRST: u8 = 1 << 2;

    /// The first `count` of the counters of ECT(0), CE and ECT(1), or of ECT(1), CE and ECT(0); none: no option.
    pub const fn new(ect0: u32, ce: u32, ect1: u32, ect1_first: bool, count: u8) -> AccEcnOption {
        const fn lower(counter: u32) -> [u8; 3] {
            let [_, high, middle, low] = counter.to_be_bytes();
            [high, middle, low]
        }
        let count = if count > 3 { 3 } else { count };
        let (first, last) = if ect1_first { (ect1, ect0) } else { (ect0, ect1) };
        let order = if ect1_first { AccEcnOption::ECT1_FIRST } else { 0 };
        AccEcnOption { counters: [lower(first), lower(ce), lower(last)], shape: count | order }
    }

    /// The counters present, in the order on the wire.
    pub fn counters(&self) -> &[[u8; 3]] {
        &self.counters[..usize::from(self.shape & 0b11)]
    }

    /// True if there is no option.
    pub const fn is_absent(&self) -> bool {
        self.shape & 0b11 == 0
    }

    /// Its kind: 172 if the counter of ECT(0) is first, 174 if that of ECT(1) does.
    pub const fn kind(&self) -> u8 {
        if self.shape & AccEcnOption::ECT1_FIRST == 0 { 172 } else { 174 }
    }

    /// The counter of CE, if it is there.
    pub fn ce(&self) -> Option<u32> {
        self.counters().get(1).map(|&[high, middle, low]| u32::from_be_bytes([0, high, middle, low]))
    }

    /// Bytes that it takes among other options, filled up to words.
    pub fn padded_size(&self) -> u64 {
        match self.counters().len() as u64 {
            0 => 0,
            count => (2 + 3 * count).next_multiple_of(4),
        }
    }
}

/// A TCP header. Sequence numbers count segments of one MSS, as ns-2 and Linux do.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct TcpHeader {
    /// Number of this segment; meaningful if it carries data, SYN or FIN.
    pub seq: u32,
    /// The next segment the receiver expects; valid with [`TcpFlags::ACK`].
    pub ack: u32,
    /// Flags.
    pub flags: TcpFlags,
    /// Payload bytes.
    pub payload: u32,
    /// Receive window in segments, already scaled.
    pub window: u32,
    /// Selective acknowledgements.
    pub sacks: SackBlocks,
    /// Timestamps, if negotiated.
    pub timestamps: Option<Timestamps>,
    /// Counters of marked bytes, if accurate ECN is negotiated.
    pub accecn: AccEcnOption,
    /// Ground truth for the record, not on the wire: this is a retransmission.
    pub retransmission: bool,
}

impl TcpHeader {
    /// The header, if it has no options.
    pub fn bare(&self) -> Option<BareTcpHeader> {
        let is_bare = self.sacks.is_empty() && self.timestamps.is_none() && self.accecn.is_absent();
        is_bare.then(|| self.without_options())
    }

    /// The header and its timestamps, if it has these and no other option.
    pub fn stamped(&self) -> Option<(BareTcpHeader, Timestamps)> {
        let is_stamped = self.sacks.is_empty() && self.accecn.is_absent();
        self.timestamps.filter(|_| is_stamped).map(|stamps| (self.without_options(), stamps))
    }

    pub(crate) fn without_options(&self) -> BareTcpHeader {
        let TcpHeader { seq, ack, flags, payload, window, retransmission, .. } = *self;
        BareTcpHeader { seq, ack, flags, payload, window, retransmission }
    }
}

/// A [`TcpHeader`] without options: a quarter of it, and what almost every segment has.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct BareTcpHeader {
    /// Number of this segment; meaningful if it carries data, SYN or FIN.
    pub seq: u32,
    /// The next segment the receiver expects; valid with [`TcpFlags::ACK`].
    pub ack: u32,
    /// Flags.
    pub flags: TcpFlags,
    /// Payload bytes.
    pub payload: u32,
    /// Receive window in segments, already scaled.
    pub window: u32,
    /// Ground truth for the record, not on the wire: this is a retransmission.
    pub retransmission: bool,
}

impl From<BareTcpHeader> for TcpHeader {
    fn from(bare: BareTcpHeader) -> TcpHeader {
        let BareTcpHeader { seq, ack, flags, payload, window, retransmission } = bare;
        let (sacks, timestamps, accecn) = (SackBlocks::default(), None, AccEcnOption::default());
        TcpHeader { seq, ack, flags, payload, window, sacks, timestamps, accecn, retransmission }
    }
}

/// An ACK frame (RFC 9000 §19.3).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct QuicAck {
    /// Packet numbers `[start, end)` that have arrived, the largest first.
    pub ranges: Vec<(u32, u32)>,
    /// How long the arrival of the largest one has waited for this frame.
    pub delay: Duration,
}

/// Content of a QUIC packet. Stream data is numbered in segments of one size, as that of TCP is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct QuicHeader {
    /// The packet number, which no other packet of its end has.
    pub number: u32,
    /// Number of the segment, from 1; 0 of a packet of the handshake.
    pub segment: u32,
    /// Bytes of stream data.
    pub payload: u32,
    /// A packet of the handshake.
    pub handshake: bool,
    /// It has a PING frame: a packet without data asks for an ACK by that.
    pub ping: bool,
    /// The ACK frame, if there is one.
    pub ack: Option<Box<QuicAck>>,
    /// The address of the end that moves: how often it has changed. On the wire it is the address itself.
    pub path: u32,
    /// It has a PATH_CHALLENGE frame.
    pub path_challenge: bool,
    /// It has a PATH_RESPONSE frame.
    pub path_response: bool,
    /// Ground truth for the record, not on the wire: the first segment that has not arrived, if the packet
    /// has no data.
    pub expected: u32,
    /// Ground truth for the record, not on the wire: the segment was sent before.
    pub retransmission: bool,
    /// The UDP payload itself, of a stack that writes it. The fields above are then for the record, except
    /// the address.
    pub datagram: Option<Box<[u8]>>,
}

/// A UDP header with the application's sequence number.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct UdpHeader {
    /// Datagrams sent before this one in the flow.
    pub seq: u32,
}

/// Meaning of a packet's content.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// A TCP segment.
    #[default]
    Tcp,
    /// A packet of another connection, in a UDP datagram.
    OverUdp,
    /// A datagram of no connection.
    Udp,
    /// A signalling message.
    Signal,
}

/// Content of a packet, of any transport: each fills in the fields that it has.
///
/// The transports' own headers convert into it and back.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Header {
    /// Meaning of the other fields.
    pub format: Format,
    /// Number of the segment or datagram, or of the message.
    pub seq: u32,
    /// The next segment that the receiver expects; valid with [`TcpFlags::ACK`].
    pub ack: u32,
    /// [`TcpFlags::SYN`]: it opens the connection; [`TcpFlags::ACK`]: it acknowledges.
    pub flags: TcpFlags,
    /// Payload bytes of a connection's packet.
    pub payload: u32,
    /// Receive window in segments, or another number of the transport.
    pub window: u32,
    /// Ground truth for the record, not on the wire: the data was sent before.
    pub retransmission: bool,
    /// Selective acknowledgements.
    pub sacks: SackBlocks,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
    /// Counters of marked bytes.
    pub accecn: AccEcnOption,
    /// Ranges of numbers that have arrived.
    pub ranges: Option<Box<QuicAck>>,
    /// The bytes themselves, of a stack that writes them.
    pub datagram: Option<Box<[u8]>>,
}

impl Header {
    /// True if it has data: a datagram has, and a packet of a connection with payload.
    #[inline]
    pub fn has_data(&self) -> bool {
        self.format == Format::Udp || self.payload > 0
    }

    /// True if a packet of it has more than fits into its slot of the pool.
    #[inline]
    pub(crate) fn needs_side(&self) -> bool {
        let has_options = !self.sacks.is_empty() || self.timestamps.is_some() || !self.accecn.is_absent();
        has_options || self.ranges.is_some() || self.datagram.is_some()
    }
}

impl From<TcpHeader> for Header {
    #[inline]
    fn from(tcp: TcpHeader) -> Header {
        let TcpHeader { seq, ack, flags, payload, window, sacks, timestamps, accecn, retransmission } = tcp;
        let (format, ranges, datagram) = (Format::Tcp, None, None);
        Header {
            format,
            seq,
            ack,
            flags,
            payload,
            window,
            retransmission,
            sacks,
            timestamps,
            accecn,
            ranges,
            datagram,
        }
    }
}

impl From<Header> for TcpHeader {
    #[inline]
    fn from(header: Header) -> TcpHeader {
        let Header { seq, ack, flags, payload, window, retransmission, sacks, timestamps, accecn, .. } =
            header;
        TcpHeader { seq, ack, flags, payload, window, sacks, timestamps, accecn, retransmission }
    }
}

impl From<UdpHeader> for Header {
    fn from(udp: UdpHeader) -> Header {
        Header { format: Format::Udp, seq: udp.seq, ..Header::default() }
    }
}

impl From<Header> for UdpHeader {
    fn from(header: Header) -> UdpHeader {
        UdpHeader { seq: header.seq }
    }
}

impl From<MessageId> for Header {
    fn from(MessageId(seq): MessageId) -> Header {
        Header { format: Format::Signal, seq, ..Header::default() }
    }
}

/// Flags of a QUIC packet with a PING, PATH_CHALLENGE or PATH_RESPONSE frame. The first is AE of TCP, whose segments are
/// no QUIC packets.
const PING: TcpFlags = TcpFlags(1 << 5);
const CHALLENGE: TcpFlags = TcpFlags(1 << 6);
const RESPONSE: TcpFlags = TcpFlags(1 << 7);

impl From<QuicHeader> for Header {
    #[inline]
    fn from(quic: QuicHeader) -> Header {
        // A packet with data has the number of its segment, another one the expected number; the place of the
        // other is its path's.
        let (seq, ack) = match quic.payload {
            0 => (quic.path, quic.expected),
            _ => (quic.segment, quic.path),
        };
        let flag = |set: bool, flag: TcpFlags| if set { flag } else { TcpFlags::default() };
        let acknowledges = flag(quic.ack.is_some(), TcpFlags::ACK);
        let tests_path = flag(quic.path_challenge, CHALLENGE).with(flag(quic.path_response, RESPONSE));
        let asks = flag(quic.ping, PING).with(tests_path);
        Header {
            format: Format::OverUdp,
            seq,
            ack,
            flags: flag(quic.handshake, TcpFlags::SYN).with(acknowledges).with(asks),
            payload: quic.payload,
            window: quic.number,
            retransmission: quic.retransmission,
            ranges: quic.ack,
            datagram: quic.datagram,
            ..Header::default()
        }
    }
}

impl From<Header> for QuicHeader {
    #[inline]
    fn from(header: Header) -> QuicHeader {
        let (segment, path, expected) = match header.payload {
            0 => (0, header.seq, header.ack),
            _ => (header.seq, header.ack, 0),
        };
        QuicHeader {
            number: header.window,
            segment,
            payload: header.payload,
            handshake: header.flags.has(TcpFlags::SYN),
            ping: header.flags.has(PING),
            ack: header.ranges,
            path,
            path_challenge: header.flags.has(CHALLENGE),
            path_response: header.flags.has(RESPONSE),
            expected,
            retransmission: header.retransmission,
            datagram: header.datagram,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dscp_and_ecn_share_the_octet_without_touching_each_other() {
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            let tos = Tos(0xff).with_ecn(ecn).with_dscp(Dscp::FORWARDED);
            assert_eq!((tos.ecn(), tos.dscp()), (ecn, Dscp::FORWARDED));
        }
    }

    #[test]
    fn the_ace_field_is_three_flags() {
        let flags = TcpFlags::ACK.with_ace(0b101);
        assert!(flags.has(TcpFlags::AE.with(TcpFlags::ECE).with(TcpFlags::ACK)) && !flags.has(TcpFlags::CWR));
        assert_eq!((flags.ace(), flags.with_ace(0b1010).ace(), flags.with_ace(0)), (5, 2, TcpFlags::ACK));
    }

    #[test]
    fn counters_of_accurate_ecn_are_24_bits_in_two_orders() {
        let full = AccEcnOption::new(0x0102_0304, 0x0500_0000, 7, false, 3);
        assert_eq!((full.kind(), full.counters()), (172, &[[2, 3, 4], [0, 0, 0], [0, 0, 7]][..]));
        let short = AccEcnOption::new(1, 0x00ab_cdef, 7, true, 2);
        assert_eq!((short.kind(), short.counters()), (174, &[[0, 0, 7], [0xab, 0xcd, 0xef]][..]));
        assert_eq!((short.ce(), AccEcnOption::new(1, 2, 3, true, 1).ce()), (Some(0xab_cdef), None));
        let sizes = [0, 1, 2, 3].map(|count| AccEcnOption::new(1, 2, 3, false, count).padded_size());
        assert_eq!((sizes, AccEcnOption::new(1, 2, 3, true, 0).is_absent()), ([0, 8, 8, 12], true));
    }

    #[test]
    fn a_fifth_sack_block_is_ignored() {
        let mut blocks = SackBlocks::default();
        (0..5).for_each(|i| blocks.push(i * 2, i * 2 + 1));
        assert_eq!(blocks.as_slice().len(), 4);
    }
}
