//! The parts outside a run: ends of flows, and the datagrams that leave for them.

use roamlab_congestion::{SenderEventKind, SenderVariables};
use roamlab_engine::{Bytes, Time};
use roamlab_packet::{Addr, FlowId, Header, Tos};
use roamlab_record::TcpInfoRow;
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
    /// Of a flow whose other end is inside: a packet of its transport.
    Header(Header),
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

/// Reports of a stack about a sender.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The sender's variables. The round-trip time is measured here.
    pub variables: SenderVariables,
    /// Events since the last report. The segments are those that the packets show.
    pub facts: Vec<SenderEventKind>,
    /// Its counts. The time and the flow are written when it is taken.
    pub info: Option<TcpInfoRow>,
}
