//! The parts outside a run: ends of flows, and the datagrams that leave for them.

use roamlab_engine::{Bytes, Time};
use roamlab_packet::{Addr, FlowId, QuicHeader, TcpHeader, Tos, UdpHeader};
use roamlab_record::ids::NodeId;

/// A datagram that enters the network or leaves it.
#[derive(Clone, PartialEq, Debug)]
pub struct Datagram {
    /// Of which flow.
    pub flow: FlowId,
    /// Its source.
    pub source: Addr,
    /// Its destination.
    pub destination: Addr,
    /// Code point and ECN field.
    pub tos: Tos,
    /// Its size on the wire.
    pub size: Bytes,
    /// Its transport.
    pub payload: Payload,
}

/// Content of a datagram.
#[derive(Clone, PartialEq, Debug)]
pub enum Payload {
    /// A TCP segment.
    Tcp(TcpHeader),
    /// A QUIC packet.
    Quic(QuicHeader),
    /// A UDP datagram.
    Udp(UdpHeader),
    /// Of a flow over a stack outside: the IPv4 and TCP headers as it wrote them. Their payload is zeros. Of a program: its
    /// whole IPv4 packet.
    Written(Box<[u8]>),
}

/// A datagram that left the network.
#[derive(Clone, PartialEq, Debug)]
pub struct Egress {
    /// When.
    pub time: Time,
    /// At which node.
    pub node: NodeId,
    /// The datagram.
    pub datagram: Datagram,
}
