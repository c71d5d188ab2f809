//! The control plane: mobility agents get their inputs and have their actions done.

use crate::buffer::Mode;
use crate::cx::Place;
use crate::event::{Event, NodeId};
use crate::fault::Fate;
use crate::node::Mobile;
use crate::probe::{HandoverPhase, Stop};
use crate::route::HostRoute;
use crate::world::{Keeps, World};
use roamlab_mobility::{Action, Identification, Input, L2Trigger, Message, MobilityAgent, Via, lte_x2};
use roamlab_packet::{Addr, Body, DropReason, FlowId, IpHeader, Packet, PacketId, PacketPool, Tos};
use std::collections::{BTreeSet, VecDeque};

impl World {
    /// Gives a node's agent an input and does what it asks for.
    pub(crate) fn agent_input(&mut self, node: NodeId, input: Input) {
        let Some(agent) = &mut self.nodes[node.0 as usize].agent else { return };
        let mut actions = Vec::new();
        agent.on(input, self.cx.now, &mut actions);
        self.arm_agent(node);
        for action in actions {
            self.act(node, action);
        }
    }

    /// An agent's deadline may have come.
    pub(crate) fn agent_wake(&mut self, node: NodeId) {
        let state = &mut self.nodes[node.0 as usize];
        state.agent_armed.pop();
        let deadline = state.agent.as_deref().and_then(MobilityAgent::next_deadline);
        if deadline.is_some_and(|deadline| deadline <= self.cx.now) {
            self.agent_input(node, Input::Deadline);
        } else {
            self.arm_agent(node);
        }
    }

    /// Sets an agent's wake-up, if it must come earlier than those that are pending. A later one stays, and serves when
    /// its time has come: were it forgotten, each deadline brought forward would leave a wake-up behind for good.
    pub(crate) fn arm_agent(&mut self, node: NodeId) {
        let state = &mut self.nodes[node.0 as usize];
        let deadline = state.agent.as_deref().and_then(MobilityAgent::next_deadline);
        let Some(deadline) = deadline.map(|deadline| deadline.max(self.cx.now)) else { return };
        if state.agent_armed.last().is_none_or(|&pending| deadline < pending) {
            state.agent_armed.push(deadline);
            self.cx.scheduler.push(deadline, Event::Agent { node });
        }
    }

    fn act(&mut self, node: NodeId, action: Action) {
        let here = &mut self.nodes[node.0 as usize];
        match action {
            Action::Send { to, message } => self.send_message(node, to, message),
            Action::SetRoute { host, from, via, watch } => {
                here.routes.set_host(host, from, HostRoute { via, watch });
            }
            Action::ClearRoute { host, from } => here.routes.clear_host(host, from),
            Action::StartBuffering { host } => self.start_buffering(node, host),
            Action::Release { host, via, mark } => {
                let Some(buffer) = here.buffers.get_mut(&host) else { return };
                buffer.mode = match via {
                    Via::Air => Mode::Attached,
                    _ => Mode::Released { via, mark },
                };
                for packet in buffer.take_all() {
                    self.pass(node, packet, host, (via, mark));
                }
            }
            Action::AwaitForwarded { host, wait } => {
                let Some(buffering) = &self.buffering else { return };
                here.buffer_for(host, buffering.limit).mode = Mode::Ordering { wait, until: None };
            }
            Action::ReleaseBehind { host, via } => self.release_behind(node, host, via),
            Action::EndBearer { host } => self.end_bearer(node, host),
            Action::DiscardBuffer { host } => {
                let Some(mut buffer) = here.buffers.remove(&host) else { return };
                for packet in buffer.take_all() {
                    self.cx.lose(packet, DropReason::BufferExpired, Place::Node(node));
                }
            }
            Action::Measure { event } => self.evaluate(node, event),
            Action::ReportReceived { to, id } => self.report_received(node, to, id),
            Action::AwaitDrained { host } => {
                here.draining.insert(host);
                self.look_for_drained(node, host);
            }
            Action::SkipReceived { host, received } => self.skip_received(node, host, received),
            Action::Leave => self.leave(node),
            Action::Enter { base_station, after } => self.command_entry(node, base_station, after),
            Action::Search => self.search(node),
            Action::Note { host, phase } => self.note(host, phase.name(), node),
        }
    }

    fn send_message(&mut self, node: NodeId, to: Addr, message: Message) {
        let fate = self.faults.iter_mut().filter_map(|fault| fault.strike(&message)).last();
        let src = self.nodes[node.0 as usize].addr;
        let size = message.size(&self.sizing);
        let in_band = message.in_band();
        let id = self.cx.probes.sent(self.cx.now, (src, to), size, message);
        let inner = IpHeader::new(src, to, Tos::default());
        let packet = Packet::new(FlowId::CONTROL, inner, size, self.cx.now, Body::Signal(id));
        let packet = self.cx.pool.create(packet.in_band(in_band));
        self.cx.probes.message_serial(id, self.cx.pool[&packet].serial);
        match fate {
            None => self.dispatch(node, packet),
            Some(Fate::Lost) => self.cx.lose(packet, DropReason::ForcedLoss, Place::Node(node)),
            Some(Fate::Late(delay)) => {
                let slot = self.delayed.len() as u32;
                self.delayed.push(Some((node, packet)));
                self.cx.scheduler.push(self.cx.now + delay, Event::Delayed { slot });
            }
        }
    }

    /// A message that a fault has held back sets out.
    pub(crate) fn release_delayed(&mut self, slot: u32) {
        if let Some((node, packet)) = self.delayed[slot as usize].take() {
            self.dispatch(node, packet);
        }
    }

    fn dispatch(&mut self, node: NodeId, packet: PacketId) {
        let dst = self.cx.pool[&packet].header.dst;
        let here = &self.nodes[node.0 as usize];
        // What a base station itself has to say to its hosts does not go where their data go.
        if here.serves.is_some() && (dst == Addr::BROADCAST || dst.is_mobile()) {
            self.cx.trace(&packet, Stop::NodeSend, Place::Node(node));
            self.send_air(node, packet);
        } else if dst == here.addr && matches!(here.agent.as_deref(), Some(MobilityAgent::LteX2(_))) {
            // Gateway and MME at one node.
            self.cx.trace(&packet, Stop::NodeSend, Place::Node(node));
            self.deliver(node, packet);
        } else {
            self.send(node, packet);
        }
    }

    /// A host tells a base station which packets it has received.
    fn report_received(&mut self, node: NodeId, to: Addr, id: Identification) {
        let here = &self.nodes[node.0 as usize];
        let received = here.mobile.as_ref().map_or_else(BTreeSet::new, |mobile| mobile.received.clone());
        let kind = lte_x2::Kind::StatusReport { received };
        let message = Message::LteX2(lte_x2::Message { host: here.addr, id, kind });
        self.send_message(node, to, message);
    }

    /// What a host has received already is not sent to it: neither what waits for the air nor what comes to it later.
    fn skip_received(&mut self, node: NodeId, host: Addr, received: BTreeSet<u64>) {
        let here = &mut self.nodes[node.0 as usize];
        let (Some(cell), Some(buffer)) = (here.serves, here.buffers.get_mut(&host)) else { return };
        let air = self.cells[cell.0 as usize].air;
        let known = |packet: &Packet, pool: &PacketPool| {
            packet.header.dst == host && received.contains(&pool.original(packet))
        };
        for packet in self.links.take_matching(air, false, &known, &mut self.cx) {
            self.cx.lose(packet, DropReason::PdcpDuplicate, Place::Node(node));
        }
        buffer.received = received;
    }

    /// If the agent waits for it and nothing is left for the host on the air, tells it so.
    pub(crate) fn look_for_drained(&mut self, node: NodeId, host: Addr) {
        let here = &mut self.nodes[node.0 as usize];
        let Some(cell) = here.serves else { return };
        let air = self.cells[cell.0 as usize].air;
        if !self.links.has_for(air, host, &self.cx) && here.draining.remove(&host) {
            self.agent_input(node, Input::Trigger(L2Trigger::Drained { host }));
        }
    }

    /// What has waited behind a host's buffer follows.
    fn release_behind(&mut self, node: NodeId, host: Addr, via: Via) {
        let Some(buffer) = self.nodes[node.0 as usize].buffers.get_mut(&host) else { return };
        for packet in buffer.take_behind() {
            match via {
                Via::Buffer => self.hold(node, packet, host),
                _ => self.pass(node, packet, host, (via, None)),
            }
        }
    }

    /// Whatever waits for the host here is lost.
    fn end_bearer(&mut self, node: NodeId, host: Addr) {
        let here = &mut self.nodes[node.0 as usize];
        let mut lost = VecDeque::new();
        if let Some(mut buffer) = here.buffers.remove(&host) {
            lost.append(&mut buffer.take_all());
            lost.append(&mut buffer.take_behind());
        }
        if let Some(cell) = here.serves {
            let air = self.cells[cell.0 as usize].air;
            let for_host = |packet: &Packet, _: &PacketPool| packet.header.dst == host && !packet.is_signal();
            lost.extend(self.links.take_matching(air, false, &for_host, &mut self.cx));
        }
        for packet in lost {
            self.cx.lose(packet, DropReason::BearerEnded, Place::Node(node));
        }
    }

    /// The host has left: what waits for it, and with layer-2 acknowledgement what it did not get, goes into its
    /// buffer, and so does what comes later (reading A4).
    fn start_buffering(&mut self, node: NodeId, host: Addr) {
        let Some(buffering) = &self.buffering else { return };
        let here = &mut self.nodes[node.0 as usize];
        let Some(cell) = here.serves else { return };
        here.routes.set_host(host, None, HostRoute { via: Via::Buffer, watch: true });
        here.draining.remove(&host);
        let buffer = here.buffer_for(host, buffering.limit);
        // What was held back to stay behind forwarded packets is younger than what has got on.
        let held = match buffer.mode {
            Mode::Ordering { .. } => buffer.take_all(),
            _ => VecDeque::new(),
        };
        buffer.mode = Mode::Collecting;
        buffer.received.clear();
        let air = self.cells[cell.0 as usize].air;
        let place = Place::Node(node);
        let for_host = |packet: &Packet, _: &PacketPool| packet.header.dst == host && !packet.is_signal();
        if matches!(buffering.keeps, Keeps::Sent | Keeps::InFlight) {
            for copy in self.links.copy_in_flight(air, &for_host, &mut self.cx) {
                self.cx.trace(&copy, Stop::BufferHold, place);
                buffer.push(copy, place, &mut self.cx);
            }
        }
        let unacknowledged_too = buffering.keeps == Keeps::Unacknowledged && !self.in_flight_survives;
        for packet in self.links.take_matching(air, unacknowledged_too, &for_host, &mut self.cx) {
            self.cx.trace(&packet, Stop::BufferHold, place);
            buffer.push(packet, place, &mut self.cx);
        }
        for packet in held {
            buffer.push(packet, place, &mut self.cx);
        }
    }

    pub(crate) fn note(&mut self, host: Addr, phase: &'static str, node: NodeId) {
        let Some(id) = self.node_at(host) else { return };
        let visit = self.nodes[id.0 as usize].mobile.as_deref().map_or(0, |mobile: &Mobile| mobile.visit);
        self.cx.probes.handovers.push(HandoverPhase { time_ns: self.cx.now, host: id, visit, phase, node });
    }
}
