//! Where flows meet the network: applications wake, endpoints send and receive.

use crate::cx::Place;
use crate::event::{Event, NodeId, Side};
use crate::flow::Transport;
use crate::probe::{Delivery, Stop, TcpChange};
use crate::world::World;
use roamlab_engine::{Bytes, Time};
use roamlab_packet::{Body, DropReason, FlowId, IpHeader, Packet, PacketId, Tos};
use roamlab_traffic::Offer;
use roamlab_transport::{Segment, TcpFactKind};

impl World {
    /// An application wakes.
    pub(crate) fn app_wake(&mut self, flow: u32) {
        let now = self.cx.now;
        let state = &mut self.flows[flow as usize];
        let offer = state.app.wake();
        if let Some(next) = state.app.next_wake() {
            self.cx.scheduler.push(next, Event::App { flow });
        }
        let Some(offer) = offer else { return };
        state.offered = now;
        state.stats.started.get_or_insert(now);
        match (&mut state.transport, offer) {
            (Transport::Tcp { sender, .. }, Offer::Unlimited) => sender.offer(None),
            (Transport::Tcp { sender, segment, .. }, Offer::Bytes(bytes)) => {
                sender.offer(Some(bytes.0.div_ceil(segment.0)));
            }
            (Transport::Udp { sender, .. }, Offer::Bytes(bytes)) => {
                let (header, size) = sender.datagram(bytes);
                state.stats.sent += 1;
                return self.emit(flow, Side::Sender, Body::Udp(header), size, Tos::default());
            }
            (Transport::Udp { .. }, Offer::Unlimited) => {}
        }
        self.pump(flow, Side::Sender);
    }

    /// An endpoint's deadline may have come.
    pub(crate) fn endpoint_wake(&mut self, flow: u32, side: Side) {
        let now = self.cx.now;
        let state = &mut self.flows[flow as usize];
        state.armed[World::side_index(side)] = Time::MAX;
        if let Transport::Tcp { sender, receiver, .. } = &mut state.transport {
            match side {
                Side::Sender if sender.next_deadline().is_some_and(|deadline| deadline <= now) => {
                    sender.on_deadline(now);
                }
                Side::Receiver if receiver.next_deadline().is_some_and(|deadline| deadline <= now) => {
                    receiver.on_deadline(now);
                }
                Side::Sender | Side::Receiver => return self.arm(flow, side),
            }
        }
        self.pump(flow, side);
    }

    /// A data packet or an acknowledgement reaches the node of its endpoint.
    pub(crate) fn deliver_data(&mut self, node: NodeId, packet: PacketId) {
        let FlowId(flow) = self.cx.pool[&packet].flow;
        let Some(state) = self.flows.get_mut(flow as usize) else {
            return self.cx.lose(packet, DropReason::NoEndpoint, Place::Node(node));
        };
        let side = match node {
            node if node == state.dst => Side::Receiver,
            node if node == state.src => Side::Sender,
            _ => return self.cx.lose(packet, DropReason::NoEndpoint, Place::Node(node)),
        };
        self.cx.trace(&packet, Stop::TcpOnSegment, Place::Node(node));
        let now = self.cx.now;
        let Packet { body, inner, serial, created, size, .. } = self.cx.pool[&packet];
        let (receipt, seq, payload) = match (&mut state.transport, body) {
            (Transport::Tcp { sender, .. }, Body::Tcp(header)) if side == Side::Sender => {
                self.cx.pool.deliver(packet);
                sender.on_segment(&header, inner.tos.ecn(), now);
                return self.pump(flow, side);
            }
            (Transport::Tcp { receiver, .. }, Body::Tcp(header)) => {
                (receiver.on_segment(&header, inner.tos.ecn(), now), header.seq, u64::from(header.payload))
            }
            (Transport::Udp { receiver, .. }, Body::Udp(header)) => {
                (receiver.on_datagram(&header), header.seq, size.0 - u64::from(UDP_HEADERS))
            }
            _ => return self.cx.lose(packet, DropReason::NoEndpoint, Place::Node(node)),
        };
        if receipt.fresh {
            self.cx.trace(&packet, Stop::AppDeliver, Place::Node(node));
        }
        self.cx.pool.deliver(packet);
        let late_by_pkts = state.arrived(serial, receipt.fresh, payload, now);
        if self.cx.probes.wanted.deliveries {
            self.cx.probes.deliveries.push(Delivery {
                time_ns: now,
                flow: FlowId(flow),
                seq,
                bytes: size.0,
                sent_ns: created,
                fresh: receipt.fresh,
                late_by_pkts,
                serial,
            });
        }
        self.pump(flow, side);
    }

    /// Lets an endpoint send all it wants to send now, takes its facts into the record and sets its wake-up.
    fn pump(&mut self, flow: u32, side: Side) {
        while let Some(segment) = self.poll_transmit(flow, side) {
            let tos = Tos::default().with_ecn(segment.ecn);
            self.emit(flow, side, Body::Tcp(segment.header), segment.size, tos);
        }
        if side == Side::Sender {
            self.take_facts(flow);
        }
        self.arm(flow, side);
    }

    fn poll_transmit(&mut self, flow: u32, side: Side) -> Option<Segment> {
        let state = &mut self.flows[flow as usize];
        let Transport::Tcp { sender, receiver, .. } = &mut state.transport else { return None };
        let segment = match side {
            Side::Sender => sender.poll_transmit(self.cx.now)?,
            Side::Receiver => return receiver.poll_transmit(self.cx.now),
        };
        state.stats.sent += 1;
        state.stats.retransmitted += u64::from(segment.header.retransmission);
        Some(segment)
    }

    /// Makes a packet and sends it from the end of the flow on this side.
    fn emit(&mut self, flow: u32, side: Side, body: Body, size: Bytes, tos: Tos) {
        let state = &self.flows[flow as usize];
        let (here, there) = match side {
            Side::Sender => (state.src, state.dst),
            Side::Receiver => (state.dst, state.src),
        };
        let addr = |node: NodeId| self.nodes[node.0 as usize].addr;
        let inner = IpHeader::new(addr(here), addr(there), tos);
        let packet = Packet::new(FlowId(flow), inner, size, self.cx.now, body);
        let packet = self.cx.pool.create(packet);
        if side == Side::Sender {
            let now = std::mem::replace(&mut self.cx.now, state.offered);
            self.cx.trace(&packet, Stop::AppOffer, Place::Node(here));
            self.cx.now = now;
        }
        self.cx.trace(&packet, Stop::TcpPollTransmit, Place::Node(here));
        self.send(here, packet);
    }

    fn take_facts(&mut self, flow: u32) {
        let state = &mut self.flows[flow as usize];
        let Transport::Tcp { sender, .. } = &mut state.transport else { return };
        while let Some(fact) = sender.poll_fact() {
            state.stats.timeouts += u64::from(fact.kind == TcpFactKind::Timeout);
            state.stats.fast_retransmits += u64::from(fact.kind == TcpFactKind::FastRetransmit);
            if self.cx.probes.wanted.tcp {
                let cause_serial = match fact.kind {
                    TcpFactKind::Timeout | TcpFactKind::FastRetransmit => {
                        self.cx.probes.cause(FlowId(flow), fact.seq)
                    }
                    _ => 0,
                };
                self.cx.probes.tcp.push(TcpChange {
                    time_ns: self.cx.now,
                    flow: FlowId(flow),
                    event: fact.kind.name(),
                    cwnd: fact.cwnd,
                    ssthresh: fact.ssthresh,
                    rto_ns: fact.rto.as_nanos(),
                    seq: fact.seq,
                    cause_serial,
                });
            }
        }
    }

    /// One pending wake-up for each end; it is set again only when it must come earlier.
    fn arm(&mut self, flow: u32, side: Side) {
        let state = &mut self.flows[flow as usize];
        let Transport::Tcp { sender, receiver, .. } = &state.transport else { return };
        let deadline = match side {
            Side::Sender => sender.next_deadline(),
            Side::Receiver => receiver.next_deadline(),
        };
        let armed = &mut state.armed[World::side_index(side)];
        if let Some(deadline) = deadline.filter(|deadline| deadline < armed) {
            *armed = deadline;
            self.cx.scheduler.push(deadline, Event::Endpoint { flow, side });
        }
    }
}

/// Bytes of the IP and UDP headers of a datagram.
const UDP_HEADERS: u32 = 28;
