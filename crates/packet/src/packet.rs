//! One packet.

use crate::addr::{Addr, FlowId, MessageId};
use crate::header::{
    AccEcnOption, BareTcpHeader, Dscp, Format, Header, IpHeader, QuicAck, SackBlocks, TcpFlags, Timestamps,
    Tos,
};

use roamlab_engine::{Bytes, Time};

/// Tunnel headers of one packet: two mobility agents chained, and one to spare.
pub(crate) const MAX_TUNNELS: usize = 3;

/// Parts of a packet's state of one bit each.
mod bit {
    pub(super) const UDP: u8 = 1;
    pub(super) const SIGNAL: u8 = 1 << 1;
    pub(super) const IN_BAND: u8 = 1 << 2;
    pub(super) const RETRANSMISSION: u8 = 1 << 3;
    /// It has a side slot for its tunnels alone.
    pub(super) const TUNNEL_SIDE: u8 = 1 << 4;
    pub(super) const MANAGEMENT: u8 = 1 << 5;
    /// Of management: for all who hear it.
    pub(super) const FOR_ALL: u8 = 1 << 6;
    /// Of anything else: a handover has held it up or redirected it.
    pub(super) const MOVED: u8 = 1 << 6;
    pub(super) const OVER_UDP: u8 = 1 << 7;
}

/// No slot of the pool.
pub(crate) const NONE: u32 = u32::MAX;

/// Fields that every hop and both ends need: one cache line. Rare fields (SACK blocks, timestamps, the
/// headers inside a tunnel, the packet that this one is a copy of) are in a side slot of the pool.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Packet {
    /// The outermost header, which routers look at.
    pub header: IpHeader,
    /// The flow it belongs to; signalling, and only signalling, belongs to [`FlowId::CONTROL`].
    pub flow: FlowId,
    /// Number of the packet in order of creation.
    pub serial: u64,
    /// When the sender made it.
    pub created: Time,
    /// Bytes on the wire, all headers included.
    pub(crate) wire: u32,
    /// Its side slot, if it has one.
    pub(crate) side: u32,
    /// (Of a free slot) the next free slot.
    pub(crate) next: u32,
    /// Number of the segment or datagram, or of the message.
    seq: u32,
    ack: u32,
    window: u32,
    payload: u32,
    flags: TcpFlags,
    /// Type of service of the innermost header while it is in a tunnel.
    pub(crate) covered_tos: Tos,
    pub(crate) tunnels: u8,
    bits: u8,
}

const _: () = assert!(size_of::<Packet>() == 64);

/// Content of a side slot.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub(crate) sacks: SackBlocks,
    pub(crate) timestamps: Option<Timestamps>,
    pub(crate) accecn: AccEcnOption,
    /// Ranges of numbers that have arrived, until they are taken out.
    pub(crate) ranges: Option<Box<QuicAck>>,
    /// The bytes of a packet whose stack writes them, until they are taken out.
    pub(crate) datagram: Option<Box<[u8]>>,
    /// The headers inside the outermost one, innermost first.
    pub(crate) covered: [IpHeader; MAX_TUNNELS],
    /// The packet that this one is a copy of, or its own serial number.
    pub(crate) original: u64,
    /// Its number in a radio bearer, if it has one.
    pub(crate) number: Option<u32>,
    /// When it reached the base station or host that has it in a numbered bearer.
    pub(crate) since: Option<Time>,
}

impl Side {
    /// That of a packet with this header and serial number.
    pub(crate) fn of(header: IpHeader, original: u64) -> Side {
        let covered = [header; MAX_TUNNELS];
        let (sacks, accecn) = (SackBlocks::default(), AccEcnOption::default());
        let (number, since) = (None, None);
        Side {
            sacks,
            timestamps: None,
            accecn,
            ranges: None,
            datagram: None,
            covered,
            original,
            number,
            since,
        }
    }
}

impl Packet {
    /// A datagram without tunnels: a [`NewPacket`] for [`PacketPool::create`](crate::PacketPool::create).
    #[inline]
    pub fn make(
        flow: FlowId,
        header: IpHeader,
        size: Bytes,
        created: Time,
        content: impl Into<Header>,
    ) -> NewPacket {
        let content = content.into();
        NewPacket { packet: Packet::with(flow, header, size, created, &content), content }
    }

    /// The same, without what a side slot has.
    #[inline(always)]
    pub(crate) fn with(
        flow: FlowId,
        header: IpHeader,
        size: Bytes,
        created: Time,
        content: &Header,
    ) -> Packet {
        debug_assert_eq!(flow == FlowId::CONTROL, content.format == Format::Signal);
        let format = match content.format {
            Format::Tcp => 0,
            Format::OverUdp => bit::OVER_UDP,
            Format::Udp => bit::UDP,
            Format::Signal => bit::SIGNAL,
        };
        let again = if content.retransmission { bit::RETRANSMISSION } else { 0 };
        let mut packet = Packet::blank(flow, header, size, created, (content.seq, format | again));
        (packet.ack, packet.window, packet.payload) = (content.ack, content.window, content.payload);
        packet.flags = content.flags;
        packet
    }

    #[inline(always)]
    pub(crate) fn blank(
        flow: FlowId,
        header: IpHeader,
        size: Bytes,
        created: Time,
        (seq, bits): (u32, u8),
    ) -> Packet {
        let (serial, wire) = (0, u32::try_from(size.0).unwrap_or(u32::MAX));
        let (side, next, ack, window, payload) = (NONE, NONE, 0, 0, 0);
        let (flags, covered_tos, tunnels) = (TcpFlags(0), header.tos, 0);
        Packet {
            header,
            flow,
            serial,
            created,
            wire,
            side,
            next,
            seq,
            ack,
            window,
            payload,
            flags,
            covered_tos,
            tunnels,
            bits,
        }
    }

    #[inline(always)]
    pub(crate) fn set_tcp(&mut self, tcp: &BareTcpHeader) {
        (self.seq, self.ack, self.window) = (tcp.seq, tcp.ack, tcp.window);
        (self.payload, self.flags) = (tcp.payload, tcp.flags);
        self.bits = if tcp.retransmission { bit::RETRANSMISSION } else { 0 };
    }

    /// The TCP header without its options.
    #[inline(always)]
    pub(crate) fn tcp(&self) -> BareTcpHeader {
        let Packet { seq, ack, flags, payload, window, .. } = *self;
        BareTcpHeader { seq, ack, flags, payload, window, retransmission: self.is_retransmission() }
    }

    /// Meaning of its content.
    #[inline]
    pub fn format(&self) -> Format {
        match self.bits & (bit::UDP | bit::SIGNAL | bit::OVER_UDP) {
            bit::UDP => Format::Udp,
            bit::SIGNAL => Format::Signal,
            bit::OVER_UDP => Format::OverUdp,
            _ => Format::Tcp,
        }
    }

    /// Its content, except what is in its side slot.
    #[inline(always)]
    pub(crate) fn content(&self) -> Header {
        let Packet { seq, ack, flags, payload, window, .. } = *self;
        let (format, retransmission) = (self.format(), self.is_retransmission());
        Header { format, seq, ack, flags, payload, window, retransmission, ..Header::default() }
    }

    /// Bytes on the wire, tunnel headers included.
    #[inline]
    pub fn wire_size(&self) -> Bytes {
        Bytes(u64::from(self.wire))
    }

    /// The number of tunnel headers.
    pub fn tunnels(&self) -> usize {
        usize::from(self.tunnels)
    }

    /// Type of service of the innermost header.
    pub fn inner_tos(&self) -> Tos {
        if self.tunnels == 0 { self.header.tos } else { self.covered_tos }
    }

    /// Gives the innermost header this code point.
    pub fn set_inner_dscp(&mut self, dscp: Dscp) {
        let tos = if self.tunnels == 0 { &mut self.header.tos } else { &mut self.covered_tos };
        *tos = tos.with_dscp(dscp);
    }

    /// Its side slot, from now on, is there for its tunnels alone, or is not.
    pub(crate) fn set_tunnel_side(&mut self, side: u32, for_tunnels: bool) {
        self.side = side;
        self.bits = self.bits & !bit::TUNNEL_SIDE | if for_tunnels { bit::TUNNEL_SIDE } else { 0 };
    }

    /// True if its side slot is there for its tunnels alone.
    pub(crate) fn has_tunnel_side(&self) -> bool {
        self.bits & bit::TUNNEL_SIDE != 0
    }

    /// True if it carries a TCP segment.
    pub fn is_tcp(&self) -> bool {
        self.bits & (bit::UDP | bit::SIGNAL | bit::OVER_UDP) == 0
    }

    /// True if it carries a packet of a connection in a UDP datagram.
    pub fn is_over_udp(&self) -> bool {
        self.bits & bit::OVER_UDP != 0
    }

    /// True if it is of a connection: a TCP segment or a packet in a UDP datagram, with numbered segments and
    /// acknowledgements.
    pub fn is_of_connection(&self) -> bool {
        self.bits & (bit::UDP | bit::SIGNAL) == 0
    }

    /// True if it is a UDP datagram.
    pub fn is_udp(&self) -> bool {
        self.bits & bit::UDP != 0
    }

    /// True if it is signalling.
    #[inline]
    pub fn is_signal(&self) -> bool {
        self.bits & bit::SIGNAL != 0
    }

    /// True if it is data without a code point in any header.
    #[inline]
    pub fn is_plain(&self) -> bool {
        !self.is_signal() && !self.has_code_point()
    }

    /// True if it is plain and no handover has held it up or redirected it.
    #[inline]
    pub fn is_ordinary(&self) -> bool {
        self.bits & (bit::SIGNAL | bit::MOVED) == 0 && !self.has_code_point()
    }

    /// True if it has a code point in any header.
    #[inline]
    pub fn has_code_point(&self) -> bool {
        // The inner octet is that of the header as it was made for a packet without tunnels.
        (self.header.tos.0 | self.covered_tos.0) > 0b11
    }

    /// The message that it carries, if it is signalling.
    pub fn message(&self) -> Option<MessageId> {
        self.is_signal().then_some(MessageId(self.seq))
    }

    /// True if it may overtake data: signalling that does not travel in band.
    pub fn may_overtake(&self) -> bool {
        self.bits & (bit::SIGNAL | bit::IN_BAND) == bit::SIGNAL
    }

    /// True if it is signalling of layer 2: a management frame, with nothing around it on the air.
    pub fn is_management(&self) -> bool {
        self.bits & bit::MANAGEMENT != 0
    }

    /// True if a frame with it is for all who hear it, so that no station acknowledges it.
    pub fn is_for_all(&self) -> bool {
        self.header.dst == Addr::BROADCAST || self.is_management() && self.bits & bit::FOR_ALL != 0
    }

    /// True if a handover has held it up or redirected it.
    #[inline(always)]
    pub fn is_moved(&self) -> bool {
        self.bits & (bit::MANAGEMENT | bit::MOVED) == bit::MOVED
    }

    /// A handover holds it up or redirects it. Management frames are never redirected.
    pub fn set_moved(&mut self) {
        if !self.is_management() {
            self.bits |= bit::MOVED;
        }
    }

    /// Number of the segment or UDP datagram.
    pub fn seq(&self) -> u32 {
        self.seq
    }

    /// (TCP) the acknowledgement number; (QUIC) the first segment that has not arrived, of a packet without data.
    pub fn ack(&self) -> u32 {
        self.ack
    }

    /// (TCP, QUIC) payload bytes; 0 of anything else.
    pub fn payload(&self) -> u32 {
        self.payload
    }

    /// (TCP) the flags; (QUIC) SYN for a packet of the handshake, ACK for one with an ACK frame; none of anything else.
    pub fn flags(&self) -> TcpFlags {
        self.flags
    }

    /// (TCP, QUIC) whether it carries data that was sent before.
    pub fn is_retransmission(&self) -> bool {
        self.bits & bit::RETRANSMISSION != 0
    }
}

/// A packet that has not entered the pool.
#[derive(Clone, Debug)]
pub struct NewPacket {
    pub(crate) packet: Packet,
    pub(crate) content: Header,
}

impl NewPacket {
    /// A TCP segment whose stack wrote these headers.
    #[must_use]
    pub fn written(mut self, headers: Box<[u8]>) -> NewPacket {
        self.content.datagram = Some(headers);
        self
    }

    /// Signalling that travels with data, waits with them and overtakes none.
    #[must_use]
    pub fn in_band(mut self, in_band: bool) -> NewPacket {
        self.packet.bits |= if in_band { bit::IN_BAND } else { 0 };
        self
    }

    /// Signalling of layer 2, perhaps for all who hear it.
    #[must_use]
    pub fn management(mut self, for_all: bool) -> NewPacket {
        self.packet.bits |= bit::MANAGEMENT | if for_all { bit::FOR_ALL } else { 0 };
        self
    }
}
