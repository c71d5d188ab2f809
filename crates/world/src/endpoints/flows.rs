//! All flows, and their ends outside the simulation.
//!
//! Flows use the network through a [`Carrier`] only: no node, link, cell or agent.

use crate::context::{Announcement, Context};
use crate::endpoints::flow::Flow;
use crate::endpoints::outside::{Datagram, Egress, Payload};
use crate::endpoints::path_notice::{Informed, Notice};
use crate::event::Event;
use crate::notices::Notices;
use roamlab_packet::{DropReason, FlowId, IpHeader, Packet, PacketId};
use roamlab_record::Names;
use roamlab_record::cause::CauseId;
use roamlab_record::cause::segment;
use roamlab_record::ids::{Location, NodeId, Side};
use roamlab_record::{PacketStep, Stop};
use std::collections::{BTreeMap, VecDeque};

mod endpoint;
mod explain;
mod notified;
mod stack;
mod units;

/// Transport of the packets of flows.
pub trait Carrier {
    /// The clock, the pending events, the packets and the record.
    fn cx(&mut self) -> &mut Context;
    /// A node sends a packet.
    fn send(&mut self, from: NodeId, packet: PacketId);
    /// A node tells the sender of a flow of a new path.
    fn announce(&mut self, from: NodeId, announcement: Announcement);
    /// Cause of the buffer that holds a packet, or of one of these nodes waiting for a link with it.
    fn holder(&self, ends: [NodeId; 2], serial: u64) -> Option<CauseId>;
    /// The row of the causes of a node's last change of cells; none, if it has made none.
    fn last_change(&self, node: NodeId) -> CauseId;
}

/// All flows, by [`FlowId`].
#[derive(Clone, Debug)]
pub struct Flows {
    flows: Vec<Flow>,
    /// Those whose ends may get new addresses.
    migrating: Vec<u32>,
    /// Those whose senders are notified of new paths, and the notices of new paths.
    informed: Vec<Informed>,
    notices: Vec<Notice>,
    /// Packets that have come out for ends that are outside.
    egress: VecDeque<Egress>,
}

impl Flows {
    /// Flows that have not begun, and notices to those whose senders are notified of new paths.
    pub fn new(flows: Vec<Flow>, informed: Vec<Informed>) -> Flows {
        let places = flows.iter().zip(0..);
        let migrating =
            places.filter(|(flow, _)| flow.transport.migrates()).map(|(_, place)| place).collect();
        Flows { flows, migrating, informed, notices: Vec::new(), egress: VecDeque::new() }
    }

    /// Schedules the first wake-up of every application, and the first false alarms.
    pub fn start(&mut self, notices: &mut Notices, cx: &mut Context) {
        self.await_phases(notices, cx);
        for (flow, id) in self.flows.iter().zip(0..) {
            if let Some(time) = flow.app.next_wake() {
                cx.scheduler.push(time, Event::App { flow: id });
            }
        }
    }

    /// The flow with this number, if there is one.
    #[inline(always)]
    pub fn get(&self, flow: FlowId) -> Option<&Flow> {
        self.flows.get(flow.0 as usize)
    }

    /// The flows, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Flow> {
        self.flows.iter()
    }

    /// Writes into the record which timeouts were genuine, as far as it is known by now. The first row of the table `tcp` of
    /// which it is not.
    pub fn judge_timeouts(&mut self, cx: &mut Context, names: &Names) -> Option<usize> {
        if !self.flows.iter().any(|flow| flow.timeouts.is_waiting()) {
            return None;
        }
        let mut underway: BTreeMap<(FlowId, u32), u64> = BTreeMap::new();
        for packet in cx.pool.inside() {
            let waits =
                |flow: FlowId| self.flows.get(flow.0 as usize).is_some_and(|flow| flow.timeouts.is_waiting());
            if let Some(seq) = segment(packet).filter(|_| waits(packet.flow)) {
                let original = cx.pool.original(packet);
                let earliest = underway.entry((packet.flow, seq)).or_insert(original);
                *earliest = original.min(*earliest);
            }
        }
        let tcp = &mut cx.probes.tcp;
        let waiting = self.flows.iter_mut().zip(0..).filter(|(flow, _)| flow.timeouts.is_waiting());
        let first = waiting.filter_map(|(flow, id)| {
            let of = |seq| underway.get(&(FlowId(id), seq)).copied();
            flow.timeouts.judge(of, |row, verdict| tcp.judged(row, verdict, names))
        });
        first.min()
    }

    /// The flow in the other direction of a session of requests and answers.
    pub fn partner(&self, flow: FlowId) -> Option<FlowId> {
        self.flows.get(flow.0 as usize)?.units.as_ref()?.partner.map(FlowId)
    }

    /// Takes an end of a flow out: it sends nothing more, and its packets come out.
    pub fn take_out(&mut self, flow: FlowId, side: Side) {
        self.flows[flow.0 as usize].here[side.index()] = NodeId::NOWHERE;
    }

    /// A host has entered a cell, with the row of the causes. With its first cell it gets its address; with
    /// every other one its connections may get a new one.
    ///
    /// ASSUMPTION: the network delivers to the old address and to the new one, as the mobility protocol does.
    /// What is between the two is the ends' behaviour alone.
    pub fn host_entered(&mut self, host: NodeId, row: CauseId, net: &mut impl Carrier) {
        for place in 0..self.migrating.len() {
            let flow = self.migrating[place];
            for side in [Side::Sender, Side::Receiver] {
                let state = &mut self.flows[flow as usize];
                let attached = &mut state.attached[side.index()];
                if state.here[side.index()] != host || !std::mem::replace(attached, true) {
                    continue;
                }
                state.transport.on_path_change(side, net.cx().now);
                state.cause = row;
                self.pump(flow, side, net);
            }
        }
    }

    /// A datagram sets out from a node.
    pub fn inject(&mut self, node: NodeId, datagram: &Datagram, net: &mut impl Carrier) {
        let Datagram { flow, source, destination, tos, size, ref payload } = *datagram;
        let content = match payload {
            Payload::Written(headers) => return self.inject_written(node, datagram, headers, net),
            Payload::Header(content) => content.clone(),
        };
        let header = IpHeader::new(source, destination, tos);
        let cx = net.cx();
        let packet = cx.pool.create(Packet::make(flow, header, size, cx.now, content));
        cx.packet_event(PacketStep::Send, &packet, Location::Node(node), (0, CauseId::NONE));
        net.send(node, packet);
    }

    /// The next datagram that came out.
    pub fn poll_egress(&mut self) -> Option<Egress> {
        self.egress.pop_front()
    }

    /// A packet has arrived at a node where no end of its flow takes it: its end there is outside, or there
    /// is none.
    #[cold]
    fn deliver_outside(&mut self, node: NodeId, packet: PacketId, cx: &mut Context) {
        let flow = self.flows.get(cx.pool[&packet].flow.0 as usize);
        if !flow.is_some_and(|flow| [flow.src, flow.dst].contains(&node)) {
            return cx.lose(packet, DropReason::NoEndpoint, Location::Node(node));
        }
        if let Some(headers) = cx.pool.take_headers(&packet) {
            return self.deliver_written(node, packet, headers, cx);
        }
        let payload = Payload::Header(cx.pool.take_header(&packet));
        cx.trace(&packet, Stop::AppDeliver, Location::Node(node));
        let size = cx.pool[&packet].wire_size();
        let Packet { header: IpHeader { src: source, dst: destination, tos, .. }, flow, .. } =
            *cx.pool.deliver(packet);
        let datagram = Datagram { flow, source, destination, tos, size, payload };
        self.egress.push_back(Egress { time: cx.now, node, datagram });
    }
}
