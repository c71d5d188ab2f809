//! Requests of agents at their node: host routes, and buffers in which packets wait for their host.

use super::{Done, Network};
use crate::context::Context;
use crate::dataplane::buffer::{HostBuffer, Mode};
use crate::dataplane::route::HostRoute;
use crate::event::Event;
use crate::ids::{AgentIndex, HostAtAgent};
use roamlab_engine::{Duration, Time};
use roamlab_mobility::{Keeps, Via};
use roamlab_packet::{Addr, DropReason, Dscp, MarkingState, Packet, PacketId, PacketPool, Received};
use roamlab_qdisc::{Qdisc, QueueDisc};
use roamlab_record::Stop;
use roamlab_record::cause::{Cause, CauseId, CurrentCause, Kind};
use roamlab_record::ids::{Location, NodeId};
use std::collections::VecDeque;

/// A route for a host that an agent asks for: the origin of the packets, their way, and whether the agent is
/// notified of them.
pub type Asked = (Option<Addr>, Via, bool);

impl Network {
    /// Sets an agent's route for a host; as a further branch, if there is one for the same origin (`is_branch`).
    pub fn set_route(
        &mut self,
        node: NodeId,
        HostAtAgent { host, slot }: HostAtAgent,
        (from, via, watch): Asked,
        is_branch: bool,
        cx: &mut Context,
    ) -> Done {
        let cause = cx.current_cause();
        let here = &mut self.nodes[node];
        let agent = here.agent(slot);
        let link = match via {
            Via::Neighbour(next) => here.neighbours.get(&next).copied(),
            // With numbered bearers the packet gets its number first.
            Via::Air if here.numbers => None,
            Via::Air => here.serves.map(|cell| self.cells.air(cell)),
            _ => None,
        };
        let problem = match via {
            Via::Air if here.serves.is_none() && !here.is_central => {
                "routes over the air, and the node has no cell"
            }
            Via::Neighbour(_) if link.is_none() => "routes to a neighbour that the node does not have",
            Via::Buffer | Via::ReorderQueue if agent.buffering.is_none() => {
                "routes into a buffer, and has asked for none"
            }
            _ => {
                let may_redirect = here.serves.is_some() && matches!(via, Via::Neighbour(_));
                let domain = agent.domain;
                let route = HostRoute { from, via, link, watch, may_redirect, domain, slot, cause };
                match is_branch {
                    true => here.host_routes.add_branch(host, route),
                    false => here.host_routes.set_host(host, route),
                }
                return Ok(());
            }
        };
        Err(problem.into())
    }

    /// Forgets an agent's route for a host with its branches, or only the branch that leads this way.
    pub fn clear_route(
        &mut self,
        node: NodeId,
        HostAtAgent { host, slot }: HostAtAgent,
        (from, branch): (Option<Addr>, Option<Via>),
        cx: &mut Context,
    ) {
        let cause = cx.current_cause();
        let routes = &mut self.nodes[node].host_routes;
        routes.note_removal(host, cause);
        match branch {
            Some(via) => routes.remove_branch(host, slot, from, via),
            None => routes.clear_host(host, slot, from),
        }
    }

    /// Packets for the host wait from now on; at a base station also those that wait for the air, and with
    /// layer-2 acknowledgement those that the host did not get (interpretation A4).
    pub fn start_buffering(&mut self, node: NodeId, key: HostAtAgent, cx: &mut Context) -> Done {
        let agent = self.nodes[node].agent(key.slot);
        let (domain, slot) = (agent.domain, key.slot);
        let Some(keeps) = agent.buffering.as_ref().map(|buffering| buffering.keeps) else {
            return Err("buffers, and has asked for no buffer".into());
        };
        let cause = note_buffer(Kind::Buffering, "", node, key, cx);
        let route = HostRoute {
            from: None,
            via: Via::Buffer,
            link: None,
            watch: true,
            may_redirect: false,
            domain,
            slot,
            cause,
        };
        let here = &mut self.nodes[node];
        here.host_routes.set_host(key.host, route);
        let Some(buffer) = here.buffer_for(key) else { return Ok(()) };
        // Packets held back to stay behind forwarded packets are younger than those that have been sent.
        let held = match buffer.mode {
            Mode::Ordering { .. } => buffer.take_all(),
            _ => VecDeque::new(),
        };
        buffer.collect(cx.now, cause);
        let place = Location::Node(node);
        for packet in self.take_for_host(node, key, keeps, cx) {
            cx.trace(&packet, Stop::BufferHold, place);
            let Some(buffer) = self.nodes[node].buffer_for(key) else { continue };
            buffer.push(packet, place, cx);
        }
        let Some(buffer) = self.nodes[node].buffer_for(key) else { return Ok(()) };
        for packet in held {
            buffer.push(packet, place, cx);
        }
        self.watch_buffer(node, key, cx);
        Ok(())
    }

    /// Packets of a base station for a host that its buffer takes over: packets that wait for the air, and those that it has
    /// sent and still has.
    fn take_for_host(
        &mut self,
        node: NodeId,
        key: HostAtAgent,
        keeps: Keeps,
        cx: &mut Context,
    ) -> Vec<PacketId> {
        let air = self.nodes[node].serves.map(|cell| self.cells.air(cell));
        if self.nodes[node].numbers
            && let Some(numbered) = self.collect_numbered(node, key, air, cx)
        {
            return numbered;
        }
        let Some(air) = air else { return Vec::new() };
        let for_host = |packet: &Packet, _: &PacketPool| packet.header.dst == key.host && !packet.is_signal();
        let mut taken = match keeps {
            Keeps::Sent | Keeps::InFlight => self.links.copy_in_flight(air, &for_host, cx),
            Keeps::Unacknowledged | Keeps::Nothing => Vec::new(),
        };
        let unacknowledged_too = keeps == Keeps::Unacknowledged && !self.cells.in_flight_survives();
        taken.extend(self.links.take_matching(air, unacknowledged_too, &for_host, cx));
        taken
    }

    /// A host's buffer is emptied, and what comes later passes through it.
    pub fn release(
        &mut self,
        node: NodeId,
        key: HostAtAgent,
        via: Via,
        mark: Option<Dscp>,
        cx: &mut Context,
    ) -> Done {
        let cause = note_buffer(Kind::Release, "", node, key, cx);
        let Some(buffer) = self.nodes[node].buffers.get_mut(&key) else {
            return Err("releases a buffer that it has not filled".into());
        };
        buffer.cause = cause;
        buffer.mode = match via {
            Via::Air => Mode::Attached,
            _ => Mode::Released { via, mark },
        };
        for packet in buffer.flush() {
            self.pass(node, packet, key, (via, mark, cause), cx);
        }
        Ok(())
    }

    /// Packets with this mark go before others for a while.
    pub fn await_forwarded(
        &mut self,
        node: NodeId,
        key: HostAtAgent,
        (mark, wait): (Dscp, Duration),
        cx: &mut Context,
    ) -> Done {
        let cause = note_buffer(Kind::Buffering, "await-forwarded", node, key, cx);
        match self.nodes[node].buffer_for(key) {
            Some(buffer) => (buffer.mode, buffer.cause) = (Mode::Ordering { mark, wait, until: None }, cause),
            None => return Err("waits for forwarded packets, and has asked for no buffer".into()),
        }
        Ok(())
    }

    /// Packets leave a host's buffer a constant time after they came.
    pub fn delay(
        &mut self,
        node: NodeId,
        key: HostAtAgent,
        via: Via,
        wait: Duration,
        cx: &mut Context,
    ) -> Done {
        let cause = note_buffer(Kind::Buffering, "delay", node, key, cx);
        match self.nodes[node].buffer_for(key) {
            Some(buffer) => (buffer.mode, buffer.cause) = (Mode::Delaying { via, wait }, cause),
            None => return Err("delays packets, and has asked for no buffer".into()),
        }
        Ok(())
    }

    /// Packets that waited behind a host's buffer follow.
    pub fn release_reorder_queue(&mut self, node: NodeId, key: HostAtAgent, via: Via, cx: &mut Context) {
        // Without a buffer nothing has waited.
        let Some(buffer) = self.nodes[node].buffers.get_mut(&key) else { return };
        let packets = buffer.take_reorder_queue();
        let cause = note_buffer(Kind::Release, "reorder-queue", node, key, cx);
        for packet in packets {
            match via {
                Via::Buffer => self.hold(node, packet, key, cx),
                _ => self.pass(node, packet, key, (via, None, cause), cx),
            }
        }
    }

    /// Packets in a host's buffer are lost.
    pub fn discard_buffer(&mut self, node: NodeId, key: HostAtAgent, cx: &mut Context) {
        // A buffer that is not there holds nothing.
        let Some(mut buffer) = self.nodes[node].buffers.remove(&key) else { return };
        let reason = buffer.reason_to_discard();
        for packet in buffer.take_all().into_iter().chain(buffer.take_reorder_queue()) {
            let cause = cx.current_cause();
            cx.lose_by(packet, reason, Location::Node(node), cause);
        }
    }

    /// Whatever waits for the host here is lost.
    pub fn end_bearer(&mut self, node: NodeId, key: HostAtAgent, cx: &mut Context) {
        let here = &mut self.nodes[node];
        let mut lost = VecDeque::new();
        if let Some(mut buffer) = here.buffers.remove(&key) {
            lost.append(&mut buffer.take_all());
            lost.append(&mut buffer.take_reorder_queue());
        }
        if let Some(cell) = here.serves {
            let air = self.cells.air(cell);
            let for_host =
                |packet: &Packet, _: &PacketPool| packet.header.dst == key.host && !packet.is_signal();
            lost.extend(self.links.take_matching(air, false, &for_host, cx));
        }
        let has_copy = |packet: &PacketId, cx: &Context| {
            let number = cx.pool.number(&cx.pool[packet]);
            number.is_some_and(|number| self.is_elsewhere(node, key.host, number))
        };
        let lost = lost.into_iter().map(|packet| (has_copy(&packet, cx), packet)).collect::<Vec<_>>();
        let ended = self.end_numbered(node, key, cx).into_iter().map(|(packet, copied)| (copied, packet));
        for (has_copy, packet) in lost.into_iter().chain(ended) {
            let cause = cx.current_cause();
            let reason = if has_copy { DropReason::CopyReleased } else { DropReason::BearerEnded };
            cx.lose_by(packet, reason, Location::Node(node), cause);
        }
    }

    /// Packets that a host has received already are not sent to it again: neither those that wait for the air
    /// nor later ones.
    pub fn skip_received(
        &mut self,
        node: NodeId,
        key: HostAtAgent,
        received: Received,
        cx: &mut Context,
    ) -> Done {
        let received = match received {
            Received::Serials(received) => received,
            Received::Status { first_missing, later } => {
                return self.skip_numbers(node, key, (first_missing, later), cx);
            }
        };
        let cause = cx.current_cause();
        let here = &mut self.nodes[node];
        let Some(cell) = here.serves else {
            return Err("skips packets on the air, and the node has no cell".into());
        };
        // Without a buffer nothing has been forwarded to here or held here that the host could have got before.
        let Some(buffer) = here.buffers.get_mut(&key) else { return Ok(()) };
        let air = self.cells.air(cell);
        let known = |packet: &Packet, pool: &PacketPool| {
            packet.header.dst == key.host && received.contains(&pool.original(packet))
        };
        for packet in self.links.take_matching(air, false, &known, cx) {
            cx.lose_by(packet, DropReason::Duplicate, Location::Node(node), cause);
        }
        buffer.received = received;
        Ok(())
    }

    /// The estimate by which the queue that the host's packets wait in before the air drops or marks. A protocol that
    /// asks has had its scenario checked: each host has such a queue in each of its cells. Another host has no state.
    pub fn marking_state(&mut self, node: NodeId, host: Addr) -> Done<Option<MarkingState>> {
        let queue = self.queue_of(node, host)?;
        Ok(queue.and_then(|queue| queue.marking_state()))
    }

    /// The host's own queue before the air continues from another's estimate.
    pub fn adopt_marking_state(&mut self, node: NodeId, host: Addr, state: &MarkingState, now: Time) -> Done {
        if let Some(queue) = self.queue_of(node, host)? {
            queue.adopt(state, now);
        }
        Ok(())
    }

    fn queue_of(&mut self, node: NodeId, host: Addr) -> Done<Option<&mut Qdisc>> {
        let cell = self.nodes[node].serves.ok_or("wants a host's queue, and the node has no cell")?;
        Ok(self.links.queue_of(self.cells.air(cell), host))
    }

    /// A base station without layer-2 acknowledgement, or a foreign agent, cannot know what its host has got: it keeps
    /// copies of what it sent last.
    pub(super) fn keep_copy(&mut self, node: NodeId, packet: &PacketId, host: Addr, cx: &mut Context) {
        if cx.pool[packet].is_signal() {
            return;
        }
        for slot in 0..self.nodes[node].agents.len() {
            let agent = &self.nodes[node].agents[slot];
            let keeps = agent.buffering.as_ref().map(|buffering| buffering.keeps);
            if keeps != Some(Keeps::Sent) || !self.domains[agent.domain.0 as usize].hosts.contains(&host) {
                continue;
            }
            let key = HostAtAgent { host, slot: AgentIndex(slot as u16) };
            let Some(buffer) = self.nodes[node].buffer_for(key) else { continue };
            if buffer.mode == Mode::Attached {
                buffer.keep_copy(packet, Location::Node(node), cx);
            }
        }
    }

    /// A packet for a host that has left: into its buffer, or straight through it.
    pub(super) fn hold(&mut self, node: NodeId, packet: PacketId, key: HostAtAgent, cx: &mut Context) {
        if cx.pool[&packet].is_signal() && self.nodes[node].serves.is_some() {
            // Signalling is repeated by those who need it; held back, it would only be stale. At a node without a cell
            // there is no way past the buffer.
            return self.send_air(node, packet, cx);
        }
        let place = Location::Node(node);
        cx.trace(&packet, Stop::BufferHold, place);
        let Some(buffer) = self.nodes[node].buffers.get_mut(&key) else {
            let cause = self.cells.moved(key.host);
            return cx.lose_by(packet, DropReason::Detached, place, cause);
        };
        let cause = buffer.cause;
        match buffer.mode {
            Mode::Released { via, mark } => self.pass(node, packet, key, (via, mark, cause), cx),
            Mode::Attached | Mode::Collecting | Mode::Delaying { .. } => {
                buffer.push(packet, place, cx);
                self.note_lost_numbers(cx);
                self.watch_buffer(node, key, cx);
            }
            Mode::Ordering { mark, .. } if cx.pool[&packet].inner_tos().dscp() == mark => {
                self.pass(node, packet, key, (Via::Air, None, cause), cx);
            }
            Mode::Ordering { mark, wait, until } => {
                if until.is_none() {
                    let until = cx.now + wait;
                    buffer.mode = Mode::Ordering { mark, wait, until: Some(until) };
                    cx.scheduler.push(until, Event::Ordered { node });
                }
                buffer.push(packet, place, cx);
                self.watch_buffer(node, key, cx);
            }
        }
    }

    /// A packet that must not go before what comes into the host's buffer.
    pub(super) fn hold_in_reorder_queue(
        &mut self,
        node: NodeId,
        packet: PacketId,
        key: HostAtAgent,
        cx: &mut Context,
    ) {
        let place = Location::Node(node);
        cx.trace(&packet, Stop::BufferHold, place);
        let cause = self.nodes[node].host_routes.cause(key.host, key.slot, Via::ReorderQueue);
        match self.nodes[node].buffer_for(key) {
            Some(buffer) => {
                buffer.cause = buffer.cause.or(|| cause);
                buffer.push_to_reorder_queue(packet, place, cx);
                self.watch_buffer(node, key, cx);
            }
            None => cx.lose_by(packet, DropReason::Detached, place, cause),
        }
    }

    /// Looks at a buffer again when its first packet has waited too long.
    fn watch_buffer(&mut self, node: NodeId, key: HostAtAgent, cx: &mut Context) {
        let Some(buffer) = self.nodes[node].buffers.get_mut(&key) else { return };
        // A packet that comes through a tunnel may have waited too long before.
        let Some(due) = buffer.next_expiry().map(|due| due.max(cx.now)) else { return };
        if buffer.watched.is_none_or(|watched| due < watched) {
            buffer.watched = Some(due);
            cx.scheduler.push(due, Event::Ordered { node });
        }
    }

    /// Packets in a buffer may have waited too long; or a base station has waited long enough for forwarded packets, and
    /// what came directly follows them.
    pub fn order_restored(&mut self, node: NodeId, cx: &mut Context) {
        let now = cx.now;
        let here = &mut self.nodes[node];
        let watched = |buffer: &HostBuffer| buffer.watched.is_some_and(|time| time <= now);
        let all: Vec<HostAtAgent> =
            here.buffers.iter().filter(|(_, buffer)| watched(buffer)).map(|(key, _)| *key).collect();
        for key in all {
            while let Some(buffer) = self.nodes[node].buffers.get_mut(&key)
                && let Some((via, packet)) = buffer.take_delayed(now)
            {
                let cause = buffer.cause;
                self.pass(node, packet, key, (via, None, cause), cx);
            }
            let Some(buffer) = self.nodes[node].buffers.get_mut(&key) else { continue };
            buffer.watched = None;
            buffer.expire(Location::Node(node), cx);
            self.watch_buffer(node, key, cx);
        }
        let here = &mut self.nodes[node];
        let due = |mode: Mode| matches!(mode, Mode::Ordering { until: Some(until), .. } if until <= now);
        let all: Vec<HostAtAgent> =
            here.buffers.iter().filter(|(_, buffer)| due(buffer.mode)).map(|(key, _)| *key).collect();
        for key in all {
            let here = &mut self.nodes[node];
            let (slot, domain) = (key.slot, here.agent(key.slot).domain);
            let Some(held_by) = here.buffers.get(&key).map(|buffer| buffer.cause) else { continue };
            let cause = cx.with_cause(CurrentCause::Row(held_by), |cx| {
                note_buffer(Kind::Release, "in-order-wait", node, key, cx)
            });
            let here = &mut self.nodes[node];
            let link = here.serves.filter(|_| !here.numbers).map(|cell| self.cells.air(cell));
            let route = HostRoute {
                from: None,
                via: Via::Air,
                link,
                watch: false,
                may_redirect: false,
                domain,
                slot,
                cause,
            };
            here.host_routes.set_host(key.host, route);
            let Some(buffer) = here.buffers.get_mut(&key) else { continue };
            (buffer.mode, buffer.cause) = (Mode::Attached, cause);
            for packet in buffer.flush() {
                self.pass(node, packet, key, (Via::Air, None, cause), cx);
            }
        }
    }

    /// A packet leaves a buffer, which `cause` let it do.
    fn pass(
        &mut self,
        node: NodeId,
        packet: PacketId,
        key: HostAtAgent,
        (via, mark, cause): (Via, Option<Dscp>, CauseId),
        cx: &mut Context,
    ) {
        cx.trace(&packet, Stop::BufferRelease, Location::Node(node));
        if let (Via::Tunnel(next), Some(number)) = (via, cx.pool.number(&cx.pool[&packet]))
            && self.is_copied_to(node, key.host, next, number)
        {
            return cx.lose(packet, DropReason::CopyReleased, Location::Node(node));
        }
        let to = match via {
            Via::Neighbour(next) | Via::Tunnel(next) | Via::Relay { to: next, .. } => Some(next),
            Via::Air | Via::Discard | Via::Buffer | Via::ReorderQueue => None,
        };
        cx.note_move(&packet, cause);
        let how = (to, mark.is_some(), cause);
        cx.probes.released(cx.now, key.host, node, &cx.pool[&packet], how);
        if let Some(mark) = mark.filter(|_| !cx.pool[&packet].is_signal()) {
            cx.pool[&packet].set_inner_dscp(mark);
        }
        self.send_via(node, packet, key, via, cx);
    }
}

/// A buffer changes what it does with a host's packets.
fn note_buffer(kind: Kind, name: &'static str, node: NodeId, key: HostAtAgent, cx: &mut Context) -> CauseId {
    let led = cx.current_cause();
    cx.add_cause(Cause::of(kind, name, led).at(Location::Node(node)).about(Some(key.host)))
}
