//! One packet.

use crate::addr::{FlowId, MessageId};
use crate::header::{Dscp, IpHeader, TcpHeader, UdpHeader};
use roamlab_engine::{Bytes, Time};

/// What a packet carries.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Body {
    /// A TCP segment.
    Tcp(TcpHeader),
    /// A UDP datagram.
    Udp(UdpHeader),
    /// A signalling message, by its place in the run's record.
    Signal(MessageId),
}

/// Tunnel headers a packet can wear at once: two mobility agents chained, and one to spare.
const MAX_TUNNELS: usize = 3;

/// A packet: an inner datagram and the tunnel headers around it.
///
/// What every hop reads stands first and fills one cache line: with thousands of packets in flight the rest is
/// in the cache only where it is needed, at the ends.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Packet {
    /// The innermost header.
    pub inner: IpHeader,
    /// The flow it belongs to; signalling, and only signalling, belongs to [`FlowId::CONTROL`].
    pub flow: FlowId,
    /// Size of the inner datagram, its IP header included.
    pub size: Bytes,
    tunnels: u8,
    /// Signalling that travels with data: it waits with them and overtakes none.
    pub in_band: bool,
    outer: [IpHeader; MAX_TUNNELS],
    /// Number of the packet in order of creation; 0 until it enters the pool.
    pub serial: u64,
    /// The packet that this one is a copy of, or its own serial.
    pub copy_of: u64,
    /// When the sender made it.
    pub created: Time,
    /// What it carries.
    pub body: Body,
}

const _: () = assert!(std::mem::offset_of!(Packet, serial) == 64);

impl Packet {
    /// A datagram without tunnels.
    pub fn new(flow: FlowId, inner: IpHeader, size: Bytes, created: Time, body: Body) -> Packet {
        debug_assert_eq!(flow == FlowId::CONTROL, matches!(body, Body::Signal(_)));
        Packet {
            serial: 0,
            copy_of: 0,
            flow,
            inner,
            size,
            created,
            body,
            outer: [inner; MAX_TUNNELS],
            tunnels: 0,
            in_band: false,
        }
    }

    /// The header that routers look at.
    pub fn header(&self) -> &IpHeader {
        match self.tunnels {
            0 => &self.inner,
            depth => &self.outer[usize::from(depth) - 1],
        }
    }

    /// The header that routers look at, to change.
    pub fn header_mut(&mut self) -> &mut IpHeader {
        match self.tunnels {
            0 => &mut self.inner,
            depth => &mut self.outer[usize::from(depth) - 1],
        }
    }

    /// Bytes on the wire, tunnel headers included.
    pub fn wire_size(&self) -> Bytes {
        let overhead: u64 =
            self.outer[..usize::from(self.tunnels)].iter().map(|h| u64::from(h.overhead)).sum();
        Bytes(self.size.0 + overhead)
    }

    /// The number of tunnel headers.
    pub fn tunnels(&self) -> usize {
        usize::from(self.tunnels)
    }

    /// Puts a tunnel header around the packet. `false`, and no change, if it wears too many already.
    #[must_use]
    pub fn encapsulate(&mut self, outer: IpHeader) -> bool {
        let Some(slot) = self.outer.get_mut(usize::from(self.tunnels)) else { return false };
        *slot = outer;
        self.tunnels += 1;
        true
    }

    /// Takes the outermost tunnel header off; `None` if there is none.
    pub fn decapsulate(&mut self) -> Option<IpHeader> {
        self.tunnels = self.tunnels.checked_sub(1)?;
        Some(self.outer[usize::from(self.tunnels)])
    }

    /// Clears the code point of every header, so that nobody on the way believes it.
    pub fn clear_dscp(&mut self) {
        for header in std::iter::once(&mut self.inner).chain(&mut self.outer[..usize::from(self.tunnels)]) {
            header.tos = header.tos.with_dscp(Dscp::default());
        }
    }

    /// Whether it is signalling.
    pub fn is_signal(&self) -> bool {
        self.flow == FlowId::CONTROL
    }

    /// Whether it may overtake data.
    pub fn may_overtake(&self) -> bool {
        self.is_signal() && !self.in_band
    }
}
