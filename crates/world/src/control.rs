//! The control plane: mobility agents get their inputs and have their actions done.
//!
//! An action that its node cannot carry out violates a law: the run ends with a report. Where an action finds nothing
//! to do instead, a comment says why that may be.

use crate::buffer::Mode;
use crate::cause::{Cause, CauseId, Kind, Led};
use crate::event::Event;
use crate::fault::Fate;
use crate::ids::{DomainId, Location, NodeId, Slot};
use crate::node::{Mobile, Resident, Served, SetBy};
use crate::probe::{HandoverPhase, Stop};
use crate::route::HostRoute;
use crate::world::World;
use roamlab_engine::Duration;
use roamlab_mobility::{Action, Input, Keeps, L2Trigger, Message, Via};
use roamlab_packet::{Addr, Body, DropReason, Dscp, FlowId, IpHeader, Packet, PacketId, PacketPool, Tos};
use std::collections::{BTreeSet, VecDeque};

impl World {
    /// Does something that `led` leads to.
    pub(crate) fn because<T>(&mut self, led: Led, what: impl FnOnce(&mut World) -> T) -> T {
        let before = self.cx.probes.causes.lead(led);
        let result = what(self);
        self.cx.probes.causes.lead(before);
        result
    }

    /// Gives one of a node's agents an input and does what it asks for.
    pub(crate) fn agent_input(&mut self, node: NodeId, slot: Slot, input: Input) {
        self.agent_input_set_by(node, slot, input, CauseId::NONE);
    }

    /// The same; the deadlines that the agent sets are put down to `set_by`, if that is a row.
    fn agent_input_set_by(&mut self, node: NodeId, slot: Slot, input: Input, set_by: CauseId) {
        let mut actions = Vec::new();
        self.nodes[node.0 as usize].agents[slot.0 as usize].agent.on(input, self.cx.now, &mut actions);
        self.arm_agent(node);
        self.note_timers(node, slot, set_by);
        for action in actions {
            self.act(node, slot, action);
        }
    }

    /// Gives an input about a host to the agents of its domains at a node.
    pub(crate) fn tell(&mut self, node: NodeId, host: Addr, input: &Input) {
        for slot in 0..self.nodes[node.0 as usize].agents.len() {
            let domain = self.nodes[node.0 as usize].agents[slot].domain;
            if self.domains[domain.0 as usize].hosts.contains(&host) {
                self.agent_input(node, Slot(slot as u16), input.clone());
            }
        }
    }

    /// Gives a message to the agents of its domain at a node.
    pub(crate) fn hand_over(&mut self, node: NodeId, domain: DomainId, from: Addr, message: &Message) {
        for slot in 0..self.nodes[node.0 as usize].agents.len() {
            if self.nodes[node.0 as usize].agents[slot].domain == domain {
                let message = message.clone();
                self.agent_input(node, Slot(slot as u16), Input::Message { from, message });
            }
        }
    }

    /// The deadline of some agent of a node may have come.
    pub(crate) fn agent_wake(&mut self, node: NodeId) {
        self.nodes[node.0 as usize].agent_armed.pop();
        for slot in 0..self.nodes[node.0 as usize].agents.len() {
            let deadline = self.nodes[node.0 as usize].agents[slot].agent.next_deadline();
            if deadline.is_some_and(|deadline| deadline <= self.cx.now) {
                let slot = Slot(slot as u16);
                let (row, set_by) = self.timer(node, slot);
                self.because(Led::ByThis(row), |world| {
                    world.agent_input_set_by(node, slot, Input::Deadline, set_by)
                });
            }
        }
        self.arm_agent(node);
    }

    /// The row for the deadline of an agent that has come, and what set it.
    fn timer(&mut self, node: NodeId, slot: Slot) -> (Cause, CauseId) {
        let place = Location::Node(node);
        let timers = &mut self.nodes[node.0 as usize].agents[slot.0 as usize].timers;
        // A deadline that was there from the beginning has been set by nothing else.
        let start = SetBy { cause: CauseId::START, sent_by: CauseId::START };
        let SetBy { cause, sent_by } = timers.first_key_value().map_or(start, |(_, set_by)| *set_by);
        let missing = self.cx.probes.causes.missing(sent_by, place);
        (Cause::of(Kind::Timer, "", missing.unwrap_or(cause)).at(place), cause)
    }

    /// Notes what set an agent's deadlines: `set_by` or, if that is no row, what led to the present input.
    fn note_timers(&mut self, node: NodeId, slot: Slot, set_by: CauseId) {
        if !self.cx.probes.causes.is_on() {
            return;
        }
        let Resident { agent, timers, .. } = &self.nodes[node.0 as usize].agents[slot.0 as usize];
        let mut all = Vec::new();
        agent.deadlines(&mut |time| all.push(time));
        if all.len() == timers.len() && all.iter().all(|time| timers.contains_key(time)) {
            return;
        }
        let is_new = all.iter().any(|time| !timers.contains_key(time));
        let sent_by = if is_new { self.cx.led() } else { CauseId::NONE };
        let new = SetBy { cause: set_by.or(|| sent_by), sent_by };
        let timers = &mut self.nodes[node.0 as usize].agents[slot.0 as usize].timers;
        timers.retain(|time, _| all.contains(time));
        for time in all {
            timers.entry(time).or_insert(new);
        }
    }

    /// Sets the first wake-up of a node's agents.
    pub(crate) fn start_agents(&mut self, node: NodeId) {
        self.arm_agent(node);
        for slot in 0..self.nodes[node.0 as usize].agents.len() {
            self.note_timers(node, Slot(slot as u16), CauseId::START);
        }
    }

    /// Sets the wake-up of a node's agents, if it must come earlier than those that are pending. A later one stays, and
    /// serves when its time has come: were it forgotten, each deadline brought forward would leave a wake-up behind
    /// for good.
    fn arm_agent(&mut self, node: NodeId) {
        let state = &mut self.nodes[node.0 as usize];
        let deadline = state.agents.iter().filter_map(|resident| resident.agent.next_deadline()).min();
        let Some(deadline) = deadline.map(|deadline| deadline.max(self.cx.now)) else { return };
        if state.agent_armed.last().is_none_or(|&pending| deadline < pending) {
            state.agent_armed.push(deadline);
            self.cx.scheduler.push(deadline, Event::Agent { node });
        }
    }

    /// An agent wants what its node cannot do: the run ends.
    fn cannot(&mut self, node: NodeId, what: &str) {
        let name = &self.nodes[node.0 as usize].name;
        self.broken.get_or_insert_with(|| format!("an agent at \"{name}\" {what}"));
    }

    fn act(&mut self, node: NodeId, slot: Slot, action: Action) {
        let served = |host| Served { host, slot };
        match action {
            Action::Send { to, message } => self.send_message(node, slot, to, message),
            Action::SetRoute { host, from, via, watch } => {
                if let Some(route) = self.host_route(node, slot, (from, via, watch)) {
                    self.nodes[node.0 as usize].routes.set_host(host, route);
                }
            }
            Action::ClearRoute { host, from } => {
                let cause = self.cx.led();
                self.nodes[node.0 as usize].routes.note_removal(host, cause);
                self.nodes[node.0 as usize].routes.clear_host(host, slot, from);
            }
            Action::AddBranch { host, from, via, watch } => {
                if let Some(route) = self.host_route(node, slot, (from, via, watch)) {
                    self.nodes[node.0 as usize].routes.add_branch(host, route);
                }
            }
            Action::RemoveBranch { host, from, via } => {
                let cause = self.cx.led();
                self.nodes[node.0 as usize].routes.note_removal(host, cause);
                self.nodes[node.0 as usize].routes.remove_branch(host, slot, from, via);
            }
            Action::StartBuffering { host } => self.start_buffering(node, served(host)),
            Action::Release { host, via, mark } => self.release(node, served(host), via, mark),
            Action::AwaitForwarded { host, wait } => self.await_forwarded(node, served(host), wait),
            Action::Delay { host, via, wait } => self.delay(node, served(host), via, wait),
            Action::ReleaseReorderQueue { host, via } => self.release_reorder_queue(node, served(host), via),
            Action::EndBearer { host } => self.end_bearer(node, served(host)),
            Action::DiscardBuffer { host } => self.discard_buffer(node, served(host)),
            Action::Measure { event } if self.measures(node) => self.evaluate(node, event),
            Action::Search if self.measures(node) => self.search(node),
            Action::Measure { .. } | Action::Search => {
                self.cannot(node, "wants measurements, and the node makes none");
            }
            Action::ReportReceived { to } => self.report_received(node, slot, to),
            Action::AwaitDrained { host } if self.nodes[node.0 as usize].serves.is_some() => {
                let cause = self.cx.led();
                self.nodes[node.0 as usize].draining.insert(served(host), cause);
                self.look_for_drained(node, host);
            }
            Action::AwaitDrained { .. } => self.cannot(node, "waits for the air, and the node has no cell"),
            Action::SkipReceived { host, received } => self.skip_received(node, served(host), received),
            Action::Leave if self.nodes[node.0 as usize].mobile.is_some() => self.leave_all(node),
            Action::Enter { base_station, after } if self.nodes[node.0 as usize].mobile.is_some() => {
                self.command_entry(node, base_station, after);
            }
            Action::Leave | Action::Enter { .. } => {
                self.cannot(node, "changes cells, and the node is no mobile host");
            }
            Action::Note { host, phase } => {
                self.note(host, phase, node);
            }
        }
    }

    /// The route that an agent asks for, if its node can have it.
    fn host_route(
        &mut self,
        node: NodeId,
        slot: Slot,
        (from, via, watch): (Option<Addr>, Via, bool),
    ) -> Option<HostRoute> {
        let cause = self.cx.led();
        let here = &self.nodes[node.0 as usize];
        let resident = &here.agents[slot.0 as usize];
        let problem = match via {
            Via::Air if here.serves.is_none() => "routes over the air, and the node has no cell",
            Via::Neighbour(next) if !here.neighbours.contains_key(&next) => {
                "routes to a neighbour that the node does not have"
            }
            Via::Buffer | Via::ReorderQueue if resident.buffering.is_none() => {
                "routes into a buffer, and has asked for none"
            }
            _ => return Some(HostRoute { from, via, watch, domain: resident.domain, slot, cause }),
        };
        self.cannot(node, problem);
        None
    }

    fn send_message(&mut self, node: NodeId, slot: Slot, to: Addr, message: Message) {
        let concerned = (message.name(), message.host());
        let fate = self.faults.iter_mut().filter_map(|fault| fault.strike(concerned)).last();
        let here = &self.nodes[node.0 as usize];
        let (src, domain) = (here.addr, here.agents[slot.0 as usize].domain);
        let (size, in_band) = (message.size(), message.in_band());
        let place = Location::Node(node);
        let row = self.cx.probes.causes.message(self.cx.now, concerned.0, (place, concerned.1));
        let id = self.cx.probes.sent(self.cx.now, (src, to), (domain, row), message);
        let inner = IpHeader::new(src, to, Tos::default());
        let packet = Packet::make(FlowId::CONTROL, inner, size, self.cx.now, Body::Signal(id));
        let packet = self.cx.pool.create(packet.in_band(in_band));
        self.cx.probes.message_serial(id, self.cx.pool[&packet].serial);
        match fate {
            None => self.set_out(node, domain, packet),
            Some(Fate::Lost) => self.cx.lose(packet, DropReason::ForcedLoss, place),
            Some(Fate::Late(delay)) => {
                self.cx.probes.causes.held_back(self.cx.now, id, place);
                let index = self.delayed.len() as u32;
                self.delayed.push(Some((node, domain, packet)));
                self.cx.scheduler.push(self.cx.now + delay, Event::Delayed { slot: index });
            }
        }
    }

    /// A message that a fault has held back sets out.
    pub(crate) fn release_delayed(&mut self, slot: u32) {
        if let Some((node, domain, packet)) = self.delayed[slot as usize].take() {
            self.set_out(node, domain, packet);
        }
    }

    fn set_out(&mut self, node: NodeId, domain: DomainId, packet: PacketId) {
        let dst = self.cx.pool[&packet].header.dst;
        let here = &self.nodes[node.0 as usize];
        // What a base station itself has to say to its hosts does not go where their data go.
        if here.serves.is_some() && (dst == Addr::BROADCAST || dst.is_mobile()) {
            self.cx.trace(&packet, Stop::NodeSend, Location::Node(node));
            self.send_air(node, packet);
        } else if dst == here.addr && self.domains[domain.0 as usize].delivers_to_self {
            self.cx.trace(&packet, Stop::NodeSend, Location::Node(node));
            self.deliver(node, packet);
        } else {
            self.send(node, packet);
        }
    }

    /// An agent learns which packets its host has received.
    fn report_received(&mut self, node: NodeId, slot: Slot, to: Addr) {
        let Some(mobile) = &self.nodes[node.0 as usize].mobile else {
            return self.cannot(node, "reports what it has received, and the node is no mobile host");
        };
        let packets = mobile.received.clone();
        self.agent_input(node, slot, Input::Trigger(L2Trigger::Received { to, packets }));
    }

    /// What a host has received already is not sent to it: neither what waits for the air nor what comes to it later.
    fn skip_received(&mut self, node: NodeId, served: Served, received: BTreeSet<u64>) {
        let cause = self.cx.led();
        let here = &mut self.nodes[node.0 as usize];
        let Some(cell) = here.serves else {
            return self.cannot(node, "skips packets on the air, and the node has no cell");
        };
        // Without a buffer nothing has been forwarded to here or held here that the host could have got before.
        let Some(buffer) = here.buffers.get_mut(&served) else { return };
        let air = self.cells[cell.0 as usize].air;
        let known = |packet: &Packet, pool: &PacketPool| {
            packet.header.dst == served.host && received.contains(&pool.original(packet))
        };
        for packet in self.links.take_matching(air, false, &known, &mut self.cx) {
            self.cx.lose_by(packet, DropReason::Duplicate, Location::Node(node), cause);
        }
        buffer.received = received;
    }

    /// Tells the agents that wait for it when nothing is left for the host on the air.
    pub(crate) fn look_for_drained(&mut self, node: NodeId, host: Addr) {
        let here = &mut self.nodes[node.0 as usize];
        let Some(cell) = here.serves else { return };
        let air = self.cells[cell.0 as usize].air;
        if self.links.has_for(air, host, &self.cx) {
            return;
        }
        for slot in (0..here.agents.len()).map(|slot| Slot(slot as u16)) {
            if let Some(cause) = self.nodes[node.0 as usize].draining.remove(&Served { host, slot }) {
                let drained = Input::Trigger(L2Trigger::Drained { host });
                self.because(Led::By(cause), |world| world.agent_input(node, slot, drained));
            }
        }
    }

    /// A host's buffer is emptied, and what comes later passes through it.
    fn release(&mut self, node: NodeId, served: Served, via: Via, mark: Option<Dscp>) {
        let cause = self.note_buffer(Kind::Release, "", node, served);
        let Some(buffer) = self.nodes[node.0 as usize].buffers.get_mut(&served) else {
            return self.cannot(node, "releases a buffer that it has not filled");
        };
        buffer.cause = cause;
        buffer.mode = match via {
            Via::Air => Mode::Attached,
            _ => Mode::Released { via, mark },
        };
        for packet in buffer.flush() {
            self.pass(node, packet, served, (via, mark, cause));
        }
    }

    /// Forwarded packets go before direct ones for a while.
    fn await_forwarded(&mut self, node: NodeId, served: Served, wait: Duration) {
        let cause = self.note_buffer(Kind::Buffering, "await-forwarded", node, served);
        match self.nodes[node.0 as usize].buffer_for(served) {
            Some(buffer) => (buffer.mode, buffer.cause) = (Mode::Ordering { wait, until: None }, cause),
            None => self.cannot(node, "waits for forwarded packets, and has asked for no buffer"),
        }
    }

    /// Packets leave a host's buffer a constant time after they came.
    fn delay(&mut self, node: NodeId, served: Served, via: Via, wait: Duration) {
        let cause = self.note_buffer(Kind::Buffering, "delay", node, served);
        match self.nodes[node.0 as usize].buffer_for(served) {
            Some(buffer) => (buffer.mode, buffer.cause) = (Mode::Delaying { via, wait }, cause),
            None => self.cannot(node, "delays packets, and has asked for no buffer"),
        }
    }

    /// What has waited behind a host's buffer follows.
    fn release_reorder_queue(&mut self, node: NodeId, served: Served, via: Via) {
        // Without a buffer nothing has waited.
        let Some(buffer) = self.nodes[node.0 as usize].buffers.get_mut(&served) else { return };
        let packets = buffer.take_reorder_queue();
        let cause = self.note_buffer(Kind::Release, "reorder-queue", node, served);
        for packet in packets {
            match via {
                Via::Buffer => self.hold(node, packet, served),
                _ => self.pass(node, packet, served, (via, None, cause)),
            }
        }
    }

    /// A buffer changes what it does with a host's packets.
    pub(crate) fn note_buffer(
        &mut self,
        kind: Kind,
        name: &'static str,
        node: NodeId,
        served: Served,
    ) -> CauseId {
        let led = self.cx.led();
        self.cx.add_cause(Cause::of(kind, name, led).at(Location::Node(node)).about(Some(served.host)))
    }

    /// What a host's buffer holds is lost.
    fn discard_buffer(&mut self, node: NodeId, served: Served) {
        // A buffer that is not there holds nothing.
        let Some(mut buffer) = self.nodes[node.0 as usize].buffers.remove(&served) else { return };
        for packet in buffer.take_all().into_iter().chain(buffer.take_reorder_queue()) {
            let cause = self.cx.led();
            self.cx.lose_by(packet, DropReason::BufferExpired, Location::Node(node), cause);
        }
    }

    /// Whatever waits for the host here is lost.
    fn end_bearer(&mut self, node: NodeId, served: Served) {
        let here = &mut self.nodes[node.0 as usize];
        let mut lost = VecDeque::new();
        if let Some(mut buffer) = here.buffers.remove(&served) {
            lost.append(&mut buffer.take_all());
            lost.append(&mut buffer.take_reorder_queue());
        }
        if let Some(cell) = here.serves {
            let air = self.cells[cell.0 as usize].air;
            let for_host =
                |packet: &Packet, _: &PacketPool| packet.header.dst == served.host && !packet.is_signal();
            lost.extend(self.links.take_matching(air, false, &for_host, &mut self.cx));
        }
        for packet in lost {
            let cause = self.cx.led();
            self.cx.lose_by(packet, DropReason::BearerEnded, Location::Node(node), cause);
        }
    }

    /// What comes for the host waits from now on; at a base station also what waits for the air, and with layer-2
    /// acknowledgement what the host did not get (reading A4).
    fn start_buffering(&mut self, node: NodeId, served: Served) {
        let resident = &self.nodes[node.0 as usize].agents[served.slot.0 as usize];
        let (domain, slot) = (resident.domain, served.slot);
        let Some(keeps) = resident.buffering.as_ref().map(|buffering| buffering.keeps) else {
            return self.cannot(node, "buffers, and has asked for no buffer");
        };
        let cause = self.note_buffer(Kind::Buffering, "", node, served);
        let route = HostRoute { from: None, via: Via::Buffer, watch: true, domain, slot, cause };
        let here = &mut self.nodes[node.0 as usize];
        here.routes.set_host(served.host, route);
        here.draining.remove(&served);
        let serves = here.serves;
        let Some(buffer) = here.buffer_for(served) else { return };
        // What was held back to stay behind forwarded packets is younger than what has got on.
        let held = match buffer.mode {
            Mode::Ordering { .. } => buffer.take_all(),
            _ => VecDeque::new(),
        };
        buffer.collect(self.cx.now, cause);
        let place = Location::Node(node);
        if let Some(cell) = serves {
            let air = self.cells[cell.0 as usize].air;
            let for_host =
                |packet: &Packet, _: &PacketPool| packet.header.dst == served.host && !packet.is_signal();
            if matches!(keeps, Keeps::Sent | Keeps::InFlight) {
                for copy in self.links.copy_in_flight(air, &for_host, &mut self.cx) {
                    self.cx.trace(&copy, Stop::BufferHold, place);
                    buffer.push(copy, place, &mut self.cx);
                }
            }
            let unacknowledged_too = keeps == Keeps::Unacknowledged && !self.in_flight_survives;
            for packet in self.links.take_matching(air, unacknowledged_too, &for_host, &mut self.cx) {
                self.cx.trace(&packet, Stop::BufferHold, place);
                buffer.push(packet, place, &mut self.cx);
            }
        }
        for packet in held {
            buffer.push(packet, place, &mut self.cx);
        }
        self.watch_buffer(node, served);
    }

    /// A phase of a host's handover; its row among the causes.
    pub(crate) fn note(&mut self, host: Addr, phase: &'static str, node: NodeId) -> CauseId {
        let Some(id) = self.node_at(host) else {
            self.cannot(node, "notes a phase of a host that does not exist");
            return CauseId::NONE;
        };
        let led = self.cx.led();
        let row = Cause::of(Kind::Phase, phase, led).at(Location::Node(node)).about(Some(host));
        let cause = self.cx.add_cause(row);
        let visit = self.nodes[id.0 as usize].mobile.as_deref().map_or(0, |mobile: &Mobile| mobile.visit);
        let time_ns = self.cx.now;
        self.cx.probes.handovers.push(HandoverPhase { time_ns, host: id, visit, phase, node, cause });
        cause
    }
}

#[cfg(test)]
mod tests;
