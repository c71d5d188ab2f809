//! Flows over a stack outside of the simulation: its packets, and its reports. A program's packets are of no stack that the
//! simulation follows.

use super::endpoint::note_delivery;
use super::{Carrier, Flows};
use crate::context::Context;
use crate::endpoints::outside::{Datagram, Egress, Payload, Report};
use roamlab_packet::{DropReason, FlowId, IpHeader, Packet, PacketId, wire};
use roamlab_record::ids::{Location, NodeId, Side};
use roamlab_record::{Stop, TcpInfoRow};
use roamlab_transport::{FlowPacket, Offer, Stack};

impl Flows {
    fn stack(&mut self, FlowId(flow): FlowId) -> Option<&mut Stack> {
        self.flows.get_mut(flow as usize)?.transport.stack_mut()
    }

    /// Next step of the application of a flow over a stack.
    pub fn poll_offer(&mut self, flow: FlowId) -> Option<Offer> {
        self.stack(flow)?.poll_offer()
    }

    /// The stack reports of a flow's sender. Retransmissions are under way in the record only from now on: what they repair
    /// is looked up first.
    pub fn report(&mut self, flow: FlowId, report: &Report, net: &mut impl Carrier) {
        let (now, latest) = (net.cx().now, net.cx().pool.last_serial());
        let Some(stack) = self.stack(flow) else { return };
        let last_serial = stack.take_report(report.variables, &report.facts, now).unwrap_or(latest);
        if let Some(info) = report.info {
            net.cx().probes.tcp_info(TcpInfoRow { time_ns: now, flow, ..info });
        }
        self.record_sender(flow.0, last_serial, net);
        let explained = self.stack(flow).map(Stack::explained).unwrap_or_default();
        explained.into_iter().for_each(|seq| net.cx().probes.causes.sent_again(flow, seq));
    }

    /// The application of a flow over a stack has stopped after it had written this number of bytes.
    pub fn wrote(&mut self, flow: FlowId, bytes: u64) {
        if let Some(stack) = self.stack(flow) {
            stack.written = Some(bytes);
        }
    }

    /// The application at the receiver of a flow over a stack has read this number of further bytes. Units are complete once they are read,
    /// so the packets' own numbers do not matter.
    pub fn read(&mut self, flow: FlowId, bytes: u64, net: &mut impl Carrier) {
        let Some(stack) = self.stack(flow) else { return };
        for _ in 0..stack.reads(bytes) {
            self.unit_arrived(flow.0, 0, net.cx());
        }
    }

    /// A segment of a stack sets out from a node.
    #[cold]
    pub(super) fn inject_written(
        &mut self,
        node: NodeId,
        datagram: &Datagram,
        headers: &[u8],
        net: &mut impl Carrier,
    ) {
        let Datagram { flow, source, destination, tos, size, .. } = *datagram;
        if self.flows[flow.0 as usize].transport.segment().is_none() {
            return self.inject_packet(node, datagram, headers, net);
        }
        let at = (net.cx().now, net.cx().pool.last_serial());
        let side = if self.flows[flow.0 as usize].src == node { Side::Sender } else { Side::Receiver };
        let (Some(stack), Some((segment, _))) = (self.stack(flow), wire::read(headers)) else { return };
        let tcp = stack.sends(side, &segment, at);
        if side == Side::Sender && tcp.payload > 0 {
            let stats = &mut self.flows[flow.0 as usize].stats;
            stats.sent += 1;
            stats.retransmitted += u64::from(tcp.retransmission);
        }
        let header = IpHeader::new(source, destination, tos);
        let cx = net.cx();
        let made = Packet::make(flow, header, size, cx.now, tcp).written(headers.into());
        let packet = cx.pool.create(made);
        self.flows[flow.0 as usize].send_first(node, side, packet, net);
    }

    /// A packet of a program sets out from a node.
    fn inject_packet(&mut self, node: NodeId, datagram: &Datagram, bytes: &[u8], net: &mut impl Carrier) {
        let Datagram { flow, source, destination, tos, size, .. } = *datagram;
        let cx = net.cx();
        let state = &mut self.flows[flow.0 as usize];
        let Some(FlowPacket { header, size, .. }) = state.transport.datagram(size) else { return };
        state.offered = cx.now;
        state.stats.started.get_or_insert(cx.now);
        state.stats.sent += 1;
        let ip = IpHeader::new(source, destination, tos);
        let made = Packet::make(flow, ip, size, cx.now, header).written(bytes.into());
        let packet = cx.pool.create(made);
        self.flows[flow.0 as usize].send_first(node, Side::Sender, packet, net);
    }

    /// A packet of a program has arrived at the node of another one.
    fn deliver_packet(&mut self, node: NodeId, packet: PacketId, bytes: Box<[u8]>, cx: &mut Context) {
        let Packet { header: IpHeader { src: source, dst: destination, tos, .. }, flow, .. } =
            cx.pool[&packet];
        let (size, payload) = (cx.pool[&packet].wire_size(), Payload::Written(bytes));
        self.take_data(flow.0, node, packet, cx);
        let datagram = Datagram { flow, source, destination, tos, size, payload };
        self.egress.push_back(Egress { time: cx.now, node, datagram });
    }

    /// A segment of a stack has arrived at a node where its end is.
    #[cold]
    pub(super) fn deliver_written(
        &mut self,
        node: NodeId,
        packet: PacketId,
        headers: Box<[u8]>,
        cx: &mut Context,
    ) {
        let flow = cx.pool[&packet].flow;
        if self.flows[flow.0 as usize].transport.segment().is_none() {
            return self.deliver_packet(node, packet, headers, cx);
        }
        let Some((segment, _)) = wire::read(&headers) else {
            return cx.lose(packet, DropReason::NoEndpoint, Location::Node(node));
        };
        cx.trace(&packet, Stop::TcpOnSegment, Location::Node(node));
        let (size, original) = (cx.pool[&packet].wire_size(), cx.pool.original(&cx.pool[&packet]));
        let state = &mut self.flows[flow.0 as usize];
        let Some(stack) = state.transport.stack_mut() else {
            return cx.lose(packet, DropReason::NoEndpoint, Location::Node(node));
        };
        let data = cx.pool.deliver(packet);
        let Packet { header: IpHeader { src: source, dst: destination, tos, .. }, .. } = *data;
        let side = if node == state.dst { Side::Sender } else { Side::Receiver };
        let is_present = stack.is_present(side, &segment);
        if node == state.dst && segment.payload > 0 {
            let all = segment.payload as u64;
            let fresh = if is_present { stack.receives(stack.bytes(&segment)) } else { 0 };
            state.timeouts.arrived(data, original);
            let taken = (fresh > 0, if fresh > 0 { fresh } else { all });
            note_delivery(state, data, original, taken, cx.now, &mut cx.probes);
        } else if node == state.src && is_present {
            stack.takes_acknowledgement(&segment, cx.now);
        }
        let payload = Payload::Written(headers);
        let datagram = Datagram { flow, source, destination, tos, size, payload };
        self.egress.push_back(Egress { time: cx.now, node, datagram });
    }
}
