//! The way of a packet: its stops, what may happen to it, and what it carries.

use crate::table::vocabulary;
use roamlab_packet::{Packet, TcpFlags};

vocabulary! {
    /// The stops on the way of a packet, in order, and where it may wait or end.
    Stop {
        /// The application offers data.
        AppOffer => "app.offer";
        /// TCP makes a segment.
        TcpPollTransmit => "tcp.poll_transmit";
        /// UDP makes a datagram.
        UdpDatagram => "udp.datagram";
        /// QUIC makes a packet.
        QuicPollTransmit => "quic.poll_transmit";
        /// The host sends the packet.
        NodeSend => "node.send";
        /// A node looks up where it goes.
        NodeForward => "node.forward";
        /// It enters a tunnel.
        TunnelEncap => "tunnel.encap";
        /// It is handed to a link.
        LinkEnqueue => "link.enqueue";
        /// It is handed to the link's queue discipline.
        QdiscEnqueue => "qdisc.enqueue";
        /// It is on the wire.
        LinkTxDone => "link.tx_done";
        /// It comes out at the far end.
        LinkArrive => "link.arrive";
        /// A node receives it.
        NodeReceive => "node.receive";
        /// It leaves a tunnel.
        TunnelDecap => "tunnel.decap";
        /// TCP takes the segment.
        TcpOnSegment => "tcp.on_segment";
        /// UDP takes the datagram.
        UdpOnDatagram => "udp.on_datagram";
        /// QUIC takes the packet.
        QuicOnPacket => "quic.on_packet";
        /// The application gets the data, and what waited for it.
        AppDeliver => "app.deliver";
        /// It waits in a base station's buffer for its host.
        BufferHold => "buffer.hold";
        /// It leaves that buffer.
        BufferRelease => "buffer.release";
        /// It is lost.
        Drop => "drop";
        /// Another transport makes a packet.
        TransportPoll => "transport.poll";
        /// Another transport takes the packet.
        TransportDeliver => "transport.deliver";
    }
}

impl Stop {
    /// The stop of this name; of any other name that of an unknown transport.
    pub fn named(name: &str) -> Stop {
        Stop::ALL.iter().copied().find(|stop| stop.name() == name).unwrap_or(Stop::TransportPoll)
    }
}

vocabulary! {
    /// Possible events of a packet.
    PacketStep {
        /// Its endpoint or agent sends it.
        Send => "send";
        /// It arrives at a queue.
        Enqueue => "enqueue";
        /// It leaves a queue with the mark of congestion (ECN's CE).
        Mark => "mark";
        /// It is lost.
        Drop => "drop";
    }
}

vocabulary! {
    /// Content of a packet.
    PacketKind {
        /// A signalling message.
        Signal => "signal";
        /// A UDP datagram.
        Datagram => "datagram";
        /// A TCP segment or QUIC packet with data.
        Data => "data";
        /// An acknowledgement, or another packet of QUIC without data.
        Ack => "ack";
        /// The request for a connection, or another packet of QUIC's handshake.
        Syn => "syn";
    }
}

impl PacketKind {
    /// The kind of a packet, its number (of an acknowledgement the segment expected next), and whether it was sent before.
    #[inline]
    pub fn of(packet: &Packet) -> (PacketKind, u32, bool) {
        let (seq, again) = (packet.seq(), packet.is_retransmission());
        match () {
            () if packet.is_signal() => (PacketKind::Signal, seq, false),
            () if packet.is_udp() => (PacketKind::Datagram, seq, false),
            () if packet.payload() > 0 => (PacketKind::Data, seq, again),
            () if packet.flags().has(TcpFlags::ACK) => (PacketKind::Ack, packet.ack(), false),
            () if packet.is_over_udp() && !packet.flags().has(TcpFlags::SYN) => {
                (PacketKind::Ack, packet.ack(), false)
            }
            () => (PacketKind::Syn, seq, again),
        }
    }
}
