//! The way of a packet: from a link's far end through a node to the next link, or to its endpoint.

use crate::buffer::{HostBuffer, Mode};
use crate::cause::{Cause, CauseId, Kind, Led, data_seq};
use crate::event::Event;
use crate::ids::{CellId, LinkId, Location, NodeId, Slot};
use crate::link::End;
use crate::node::{Mobile, Node, Resident, Served};
use crate::probe::Stop;
use crate::route::{HostRoute, Taken};
use crate::tunnel::{self, Exit};
use crate::world::World;
use roamlab_engine::Time;
use roamlab_mobility::{Direction, Input, Keeps, Via};
use roamlab_packet::{Addr, DropReason, Dscp, IpHeader, PacketId};

/// How a packet came to a node.
#[derive(Copy, Clone, Default)]
pub(crate) struct Arrival {
    /// The adjacent node it comes from; `None`: it starts here.
    pub(crate) from: Option<NodeId>,
    /// Where the tunnel began that it left here last.
    pub(crate) tunnel: Option<Addr>,
    /// Agents whose tunnels it has entered here, only to leave them at once.
    pub(crate) taken: Taken,
}

impl World {
    /// A packet comes out of a link that does not keep track of those in flight. This and [`Links::enqueue`] are the whole
    /// way of a plain packet through a plain router.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, link: LinkId, packet: PacketId) {
        let Some(node) = self.links.landed(link) else {
            return self.arrive_generally(link, packet, Time::ZERO);
        };
        let header = &mut self.cx.pool[&packet].header;
        if header.dst == Addr::node(node.0) {
            return self.receive_plainly(node, packet, link);
        }
        if header.ttl <= 1 {
            return self.cx.lose(packet, DropReason::TtlExpired, Location::Node(node));
        }
        header.ttl -= 1;
        match self.ways.link(node, header.dst) {
            Some(next) => self.links.enqueue(next, packet, &mut self.cx),
            None => self.cx.lose(packet, DropReason::NoRoute, Location::Node(node)),
        }
    }

    #[inline]
    fn receive_plainly(&mut self, node: NodeId, packet: PacketId, link: LinkId) {
        let arriving = &self.cx.pool[&packet];
        if arriving.tunnels() > 0 {
            return self.receive(node, packet, self.links[link].from);
        }
        if arriving.is_signal() {
            return self.deliver(node, packet);
        }
        self.deliver_data(node, packet);
    }

    /// A packet whose transmission began at `started` comes out of a link.
    pub(crate) fn arrive_generally(&mut self, link: LinkId, packet: PacketId, started: Time) {
        self.cx.trace(&packet, Stop::LinkArrive, Location::Link(link));
        if !self.links[link].up {
            let changed = self.links[link].changed;
            return self.cx.lose_by(packet, DropReason::LinkDown, Location::Link(link), changed);
        }
        let (from, to) = (self.links[link].from, self.links[link].to);
        match to {
            End::Node(node) if self.is_cut_off(from, node, started) => {
                let cause = self.nodes[node.0 as usize]
                    .serves
                    .map_or(CauseId::START, |cell| self.why_unheard(from, cell));
                self.cx.lose_by(packet, DropReason::Detached, Location::Link(link), cause);
            }
            End::Node(node) => self.receive(node, packet, from),
            End::Cell(cell) => {
                let dst = self.cx.pool[&packet].header.dst;
                if dst == Addr::BROADCAST {
                    return self.broadcast(cell, packet);
                }
                self.keep_copy(from, &packet, dst);
                let host = self.node_at(dst);
                match host.filter(|&host| self.hears(host, cell, started)) {
                    Some(host) if self.is_duplicate(host, &packet) => {
                        let cause = self.moved(dst);
                        self.cx.lose_by(packet, DropReason::Duplicate, Location::Node(host), cause);
                    }
                    Some(host) => {
                        self.clear_mark(&packet);
                        self.tell_host(host, &packet, from);
                        self.receive(host, packet, from);
                    }
                    None => {
                        let cause = host.map_or(CauseId::START, |host| self.why_unheard(host, cell));
                        self.cx.lose_by(packet, DropReason::Detached, Location::Link(link), cause);
                    }
                }
                if !self.nodes[from.0 as usize].draining.is_empty() {
                    self.look_for_drained(from, dst);
                }
            }
        }
    }

    /// Without layer-2 acknowledgement the base station cannot know what its host has got: it keeps copies of
    /// what it sent last.
    fn keep_copy(&mut self, base_station: NodeId, packet: &PacketId, host: Addr) {
        if self.cx.pool[packet].is_signal() {
            return;
        }
        for slot in 0..self.nodes[base_station.0 as usize].agents.len() {
            let resident = &self.nodes[base_station.0 as usize].agents[slot];
            let keeps = resident.buffering.as_ref().map(|buffering| buffering.keeps);
            if keeps != Some(Keeps::Sent) || !self.domains[resident.domain.0 as usize].hosts.contains(&host) {
                continue;
            }
            let served = Served { host, slot: Slot(slot as u16) };
            let Some(buffer) = self.nodes[base_station.0 as usize].buffer_for(served) else { continue };
            if buffer.mode == Mode::Attached {
                buffer.keep_copy(packet, Location::Node(base_station), &mut self.cx);
            }
        }
    }

    /// Whether the host's layer 2 drops a data packet because it has got it already.
    fn is_duplicate(&mut self, host: NodeId, packet: &PacketId) -> bool {
        let packet = &self.cx.pool[packet];
        let original = self.cx.pool.original(packet);
        let mobile = self.nodes[host.0 as usize].mobile.as_mut().filter(|mobile| mobile.drops_duplicates);
        mobile.is_some_and(|mobile| !packet.is_signal() && !mobile.is_new(original))
    }

    /// Whether a packet whose transmission in the cell began at `started` gets across between it and the host.
    fn hears(&self, host: NodeId, cell: CellId, started: Time) -> bool {
        let Some(mobile) = &self.nodes[host.0 as usize].mobile else { return false };
        let just_left = |(at, _): &(Time, CauseId)| self.in_flight_survives && started < *at;
        mobile.is_in(cell) || mobile.left.get(&cell).is_some_and(just_left)
    }

    /// Whether a packet on an uplink, whose transmission began at `started`, was cut off when its host left, or its
    /// host is out of hearing.
    fn is_cut_off(&self, host: NodeId, base_station: NodeId, started: Time) -> bool {
        let (Some(mobile), Some(cell)) =
            (&self.nodes[host.0 as usize].mobile, self.nodes[base_station.0 as usize].serves)
        else {
            return false;
        };
        let gone = !mobile.attachments.contains(&cell);
        let survives = gone && self.in_flight_survives;
        !survives && !self.hears(host, cell, started)
    }

    /// The mark of forwarded packets means nothing behind the air link ([mblue] §III.C, reading A13).
    fn clear_mark(&mut self, packet: &PacketId) {
        self.cx.pool[packet].set_inner_dscp(Dscp::default());
    }

    fn receive(&mut self, node: NodeId, packet: PacketId, from: NodeId) {
        self.cx.trace(&packet, Stop::NodeReceive, Location::Node(node));
        let Some(packet) = self.police(node, packet, from) else { return };
        let mut arrival = Arrival { from: Some(from), ..Arrival::default() };
        let addr = self.nodes[node.0 as usize].addr;
        loop {
            let IpHeader { src, dst, .. } = self.cx.pool[&packet].header;
            if dst != addr {
                let Some(packet) = self.spend_hop(node, packet) else { return };
                return self.route(node, packet, arrival);
            }
            match tunnel::decap(&packet, self.tunnel_ecn, Location::Node(node), &mut self.cx) {
                Exit::Bare => return self.deliver_or_egress(node, packet),
                Exit::Left => arrival.tunnel = Some(src),
                Exit::Congested => {
                    return self.cx.lose(packet, DropReason::TunnelCongestion, Location::Node(node));
                }
            }
        }
    }

    /// Marks are honoured only from within the access network: from base stations and, through tunnels, from
    /// other foreign agents. Anything else is policed where it enters ([ipf] §III, reading A13).
    fn police(&mut self, node: NodeId, packet: PacketId, from: NodeId) -> Option<PacketId> {
        let Some(policer) = &self.policer else { return Some(packet) };
        if self.cx.pool[&packet].inner_tos().dscp() != policer.mark {
            return Some(packet);
        }
        let here = &self.nodes[node.0 as usize];
        let from = &self.nodes[from.0 as usize];
        let at_edge =
            (here.is_access_router && !from.is_access()) || (here.serves.is_some() && from.mobile.is_some());
        if !at_edge {
            return Some(packet);
        }
        let outer = self.cx.pool[&packet].header;
        let from_agent =
            self.node_at(outer.src).is_some_and(|src| self.nodes[src.0 as usize].is_access_router);
        if from_agent && self.cx.pool[&packet].tunnels() > 0 {
            return Some(packet);
        }
        let action = if policer.drop { "dropped" } else { "cleared" };
        self.cx.probes.policed(self.cx.now, node, &self.cx.pool[&packet], action);
        if policer.drop {
            self.cx.lose(packet, DropReason::PolicedMark, Location::Node(node));
            return None;
        }
        self.cx.pool.clear_dscp(&packet);
        Some(packet)
    }

    /// A node sends a packet of its own.
    pub(crate) fn send(&mut self, node: NodeId, packet: PacketId) {
        self.cx.trace(&packet, Stop::NodeSend, Location::Node(node));
        self.route(node, packet, Arrival::default());
    }

    /// A packet that is forwarded has one hop less to live; `None`: it had none left and is lost.
    fn spend_hop(&mut self, node: NodeId, packet: PacketId) -> Option<PacketId> {
        self.cx.trace(&packet, Stop::NodeForward, Location::Node(node));
        let header = &mut self.cx.pool[&packet].header;
        header.ttl = header.ttl.saturating_sub(1);
        if header.ttl > 0 {
            return Some(packet);
        }
        self.cx.lose(packet, DropReason::TtlExpired, Location::Node(node));
        None
    }

    fn route(&mut self, node: NodeId, packet: PacketId, arrival: Arrival) {
        let IpHeader { src, dst, .. } = self.cx.pool[&packet].header;
        let signal = self.cx.pool[&packet].is_signal();
        if self.nodes[node.0 as usize].watches_uplink && src.is_mobile() && !signal {
            for (slot, input) in self.watchers(node, (src, dst, Direction::Up), arrival) {
                let row = self.data_row(node, &packet, self.moved(src)).about(Some(src));
                self.because(Led::ByThis(row), |world| world.agent_input(node, slot, input));
            }
        }
        if self.nodes[node.0 as usize].mobile.is_some() {
            return self.send_uplink(node, packet);
        }
        let here = &self.nodes[node.0 as usize];
        let from = || arrival.from.map(|from| self.nodes[from.0 as usize].addr);
        let data = |lost| Input::Data {
            host: dst,
            peer: src,
            direction: Direction::Down,
            from: from(),
            tunnelled: arrival.tunnel.is_some(),
            lost,
        };
        if let Some(route) = here.routes.host(dst, arrival.tunnel, from, arrival.taken) {
            let branches = here.routes.has_branches().then(|| here.routes.branches(dst, &route));
            if route.watch && !signal {
                let (input, row) = (data(false), self.data_row(node, &packet, route.cause));
                self.because(Led::ByThis(row), |world| world.agent_input(node, route.slot, input));
            }
            let served = Served { host: dst, slot: route.slot };
            let Some(branches) = branches else {
                return self.follow(node, packet, (served, route.via), arrival);
            };
            let copies: Vec<(Via, PacketId)> =
                branches.into_iter().map(|via| (via, self.cx.pool.duplicate(&packet))).collect();
            self.follow(node, packet, (served, route.via), arrival);
            for (via, copy) in copies {
                self.follow(node, copy, (served, via), arrival);
            }
            return;
        }
        // A protocol may ask for this where it has an agent: there is nobody else who knows the host.
        let at_home = self.ways.home(dst) == Some(node);
        if dst.is_mobile()
            && (arrival.tunnel.is_some() || at_home || self.would_return(node, dst, arrival))
            && self.discards_unknown(node, dst)
        {
            let removed = self.nodes[node.0 as usize].routes.removed(dst).or(|| self.moved(dst));
            if !signal {
                let (input, row) = (data(true), self.data_row(node, &packet, removed));
                self.because(Led::ByThis(row), |world| world.tell(node, dst, &input));
            }
            return self.cx.lose_by(packet, DropReason::NoBinding, Location::Node(node), removed);
        }
        // A base station hands what comes by wire to its cell or not at all: its router would only send it back.
        let by_wire = arrival.from.is_some_and(|from| self.nodes[from.0 as usize].mobile.is_none());
        if here.serves.is_some() && by_wire && dst.is_mobile() {
            let cause = self.moved(dst);
            return self.cx.lose_by(packet, DropReason::Detached, Location::Node(node), cause);
        }
        match self.ways.link(node, dst) {
            Some(link) if !at_home => self.links.enqueue(link, packet, &mut self.cx),
            _ => self.cx.lose(packet, DropReason::NoRoute, Location::Node(node)),
        }
    }

    /// The row for a data packet that an agent of a node may act on; `cause` led to its route, or to the lack of one.
    fn data_row(&self, node: NodeId, packet: &PacketId, cause: CauseId) -> Cause {
        let packet = &self.cx.pool[packet];
        let row = Cause::of(Kind::Data, "", cause).at(Location::Node(node)).about(Some(packet.header.dst));
        Cause { serial: packet.serial, ..row.segment(packet.flow, data_seq(packet)) }
    }

    /// A packet takes a host route, or a branch of one.
    fn follow(&mut self, node: NodeId, packet: PacketId, (served, via): (Served, Via), arrival: Arrival) {
        match via {
            // Its agent has the host itself: the packet enters the tunnel and leaves it at once.
            Via::Tunnel(end) if end == self.nodes[node.0 as usize].addr => {
                let taken = arrival.taken.with(served.slot);
                self.route(node, packet, Arrival { tunnel: Some(end), taken, ..arrival })
            }
            via => self.send_via(node, packet, served, via),
        }
    }

    /// What agents of a node are told of a packet from or to a mobile host: those of its domain that watch the uplink.
    pub(crate) fn watchers(
        &self,
        node: NodeId,
        (host, peer, direction): (Addr, Addr, Direction),
        arrival: Arrival,
    ) -> Vec<(Slot, Input)> {
        let watches = |(_, resident): &(usize, &Resident)| {
            resident.watches_uplink && self.domains[resident.domain.0 as usize].hosts.contains(&host)
        };
        let input = || Input::Data {
            host,
            peer,
            direction,
            from: arrival.from.map(|from| self.nodes[from.0 as usize].addr),
            tunnelled: arrival.tunnel.is_some(),
            lost: false,
        };
        let agents = self.nodes[node.0 as usize].agents.iter().enumerate();
        agents.filter(watches).map(|(slot, _)| (Slot(slot as u16), input())).collect()
    }

    /// Whether a packet for a host without a route would go back to the router that it comes from.
    fn would_return(&self, node: NodeId, host: Addr, arrival: Arrival) -> bool {
        let next = self.ways.link(node, host).map(|link| self.links[link].to);
        self.nodes[node.0 as usize].serves.is_none()
            && arrival.from.is_some_and(|from| next == Some(End::Node(from)))
    }

    /// Agents of a mobile host that watch are told of a data packet that arrives.
    fn tell_host(&mut self, node: NodeId, packet: &PacketId, from: NodeId) {
        if !self.nodes[node.0 as usize].watches_uplink || self.cx.pool[packet].is_signal() {
            return;
        }
        let IpHeader { src: peer, dst: host, .. } = self.cx.pool[packet].header;
        let arrival = Arrival { from: Some(from), ..Arrival::default() };
        for (slot, input) in self.watchers(node, (host, peer, Direction::Down), arrival) {
            let row = self.data_row(node, packet, self.moved(host));
            self.because(Led::ByThis(row), |world| world.agent_input(node, slot, input));
        }
    }

    /// Whether an agent of a node has asked that packets for a host without a route end there.
    fn discards_unknown(&self, node: NodeId, host: Addr) -> bool {
        let domains = self.nodes[node.0 as usize].agents.iter().map(|resident| resident.domain);
        let mut domains = domains.map(|domain| &self.domains[domain.0 as usize]);
        domains.any(|domain| domain.discards_unknown && domain.hosts.contains(&host))
    }

    pub(crate) fn send_uplink(&mut self, node: NodeId, packet: PacketId) {
        let Some(mobile) = &mut self.nodes[node.0 as usize].mobile else { return };
        for link in mobile.copy_uplinks() {
            let copy = self.cx.pool.duplicate(&packet);
            self.links.enqueue(link, copy, &mut self.cx);
        }
        match mobile.uplink() {
            Some(link) => self.links.enqueue(link, packet, &mut self.cx),
            None if mobile.waiting.len() < Mobile::WAITING_LIMIT => mobile.waiting.push_back(packet),
            None => {
                let cause = mobile.moved.or(|| CauseId::START);
                self.cx.lose_by(packet, DropReason::LinkDown, Location::Node(node), cause);
            }
        }
    }

    /// Sends a packet for a host the way its agent says.
    pub(crate) fn send_via(&mut self, node: NodeId, packet: PacketId, served: Served, via: Via) {
        let here = &mut self.nodes[node.0 as usize];
        match via {
            Via::Neighbour(next) => match here.neighbours.get(&next) {
                Some(&link) => self.links.enqueue(link, packet, &mut self.cx),
                None => self.cx.lose(packet, DropReason::NoRoute, Location::Node(node)),
            },
            Via::Air => self.send_air(node, packet),
            Via::Buffer => self.hold(node, packet, served),
            Via::ReorderQueue => self.hold_in_reorder_queue(node, packet, served),
            Via::Tunnel(end) => {
                let ends = (here.addr, end);
                let domain = &self.domains[here.agents[served.slot.0 as usize].domain.0 as usize];
                let overhead = match here.serves {
                    Some(_) => domain.forwarding_overhead,
                    None => domain.tunnel_overhead,
                };
                let shape = (overhead, self.tunnel_ecn);
                match tunnel::encap(packet, ends, shape, Location::Node(node), &mut self.cx) {
                    Ok(packet) => self.route_tunnel(node, packet, end),
                    Err(packet) => self.cx.lose(packet, DropReason::TtlExpired, Location::Node(node)),
                }
            }
        }
    }

    fn route_tunnel(&mut self, node: NodeId, packet: PacketId, end: Addr) {
        let here = &self.nodes[node.0 as usize];
        match self.ways.link(node, end) {
            Some(link) if end != here.addr => self.links.enqueue(link, packet, &mut self.cx),
            _ => self.cx.lose(packet, DropReason::NoRoute, Location::Node(node)),
        }
    }

    pub(crate) fn send_air(&mut self, node: NodeId, packet: PacketId) {
        let here = &self.nodes[node.0 as usize];
        let Some(cell) = here.serves else {
            return self.cx.lose(packet, DropReason::NoRoute, Location::Node(node));
        };
        let (original, serial) =
            (self.cx.pool.original(&self.cx.pool[&packet]), self.cx.pool[&packet].serial);
        let dst = self.cx.pool[&packet].header.dst;
        let known = |slot: usize| {
            let served = Served { host: dst, slot: Slot(slot as u16) };
            here.buffers.get(&served).is_some_and(|buffer| buffer.received.contains(&original))
        };
        if original != serial && (0..here.agents.len()).any(known) {
            let cause = self.moved(dst);
            return self.cx.lose_by(packet, DropReason::Duplicate, Location::Node(node), cause);
        }
        let air = self.cells[cell.0 as usize].air;
        self.links.enqueue(air, packet, &mut self.cx);
    }

    /// A packet for a host that has left: into its buffer, or straight through it.
    pub(crate) fn hold(&mut self, node: NodeId, packet: PacketId, served: Served) {
        if self.cx.pool[&packet].is_signal() && self.nodes[node.0 as usize].serves.is_some() {
            // Signalling is repeated by those who need it; held back, it would only be stale. At a node without a cell
            // there is no way past the buffer.
            return self.send_air(node, packet);
        }
        let place = Location::Node(node);
        self.cx.trace(&packet, Stop::BufferHold, place);
        let Some(buffer) = self.nodes[node.0 as usize].buffers.get_mut(&served) else {
            let cause = self.moved(served.host);
            return self.cx.lose_by(packet, DropReason::Detached, place, cause);
        };
        let cause = buffer.cause;
        match buffer.mode {
            Mode::Released { via, mark } => self.pass(node, packet, served, (via, mark, cause)),
            Mode::Attached | Mode::Collecting | Mode::Delaying { .. } => {
                buffer.push(packet, place, &mut self.cx);
                self.watch_buffer(node, served);
            }
            Mode::Ordering { .. } if self.cx.is_forwarded(&packet) => {
                self.pass(node, packet, served, (Via::Air, None, cause));
            }
            Mode::Ordering { wait, until } => {
                if until.is_none() {
                    let until = self.cx.now + wait;
                    buffer.mode = Mode::Ordering { wait, until: Some(until) };
                    self.cx.scheduler.push(until, Event::Ordered { node });
                }
                buffer.push(packet, place, &mut self.cx);
                self.watch_buffer(node, served);
            }
        }
    }

    /// A packet that must not go before what comes into the host's buffer.
    fn hold_in_reorder_queue(&mut self, node: NodeId, packet: PacketId, served: Served) {
        let place = Location::Node(node);
        self.cx.trace(&packet, Stop::BufferHold, place);
        let cause = self.nodes[node.0 as usize].routes.cause(served.host, served.slot, Via::ReorderQueue);
        match self.nodes[node.0 as usize].buffer_for(served) {
            Some(buffer) => {
                buffer.cause = buffer.cause.or(|| cause);
                buffer.push_to_reorder_queue(packet, place, &mut self.cx);
                self.watch_buffer(node, served);
            }
            None => self.cx.lose_by(packet, DropReason::Detached, place, cause),
        }
    }

    /// Looks at a buffer again when its first packet has waited too long.
    pub(crate) fn watch_buffer(&mut self, node: NodeId, served: Served) {
        let Some(buffer) = self.nodes[node.0 as usize].buffers.get_mut(&served) else { return };
        let Some(due) = buffer.next_expiry() else { return };
        if buffer.watched.is_none_or(|watched| due < watched) {
            buffer.watched = Some(due);
            self.cx.scheduler.push(due, Event::Ordered { node });
        }
    }

    /// Packets in a buffer may have waited too long; or a base station has waited long enough for forwarded packets, and
    /// what came directly follows them.
    pub(crate) fn order_restored(&mut self, node: NodeId) {
        let now = self.cx.now;
        let here = &mut self.nodes[node.0 as usize];
        let watched = |buffer: &HostBuffer| buffer.watched.is_some_and(|time| time <= now);
        let all: Vec<Served> =
            here.buffers.iter().filter(|(_, buffer)| watched(buffer)).map(|(served, _)| *served).collect();
        for served in all {
            while let Some(buffer) = self.nodes[node.0 as usize].buffers.get_mut(&served)
                && let Some((via, packet)) = buffer.take_delayed(now)
            {
                let cause = buffer.cause;
                self.pass(node, packet, served, (via, None, cause));
            }
            let Some(buffer) = self.nodes[node.0 as usize].buffers.get_mut(&served) else { continue };
            buffer.watched = None;
            buffer.expire(Location::Node(node), &mut self.cx);
            self.watch_buffer(node, served);
        }
        let here = &mut self.nodes[node.0 as usize];
        let due = |mode: Mode| matches!(mode, Mode::Ordering { until: Some(until), .. } if until <= now);
        let all: Vec<Served> =
            here.buffers.iter().filter(|(_, buffer)| due(buffer.mode)).map(|(served, _)| *served).collect();
        for served in all {
            let here = &mut self.nodes[node.0 as usize];
            let (slot, domain) = (served.slot, here.agents[served.slot.0 as usize].domain);
            let Some(held_by) = here.buffers.get(&served).map(|buffer| buffer.cause) else { continue };
            let cause = self.because(Led::By(held_by), |world| {
                world.note_buffer(Kind::Release, "in-order-wait", node, served)
            });
            let route = HostRoute { from: None, via: Via::Air, watch: false, domain, slot, cause };
            let here = &mut self.nodes[node.0 as usize];
            here.routes.set_host(served.host, route);
            let Some(buffer) = here.buffers.get_mut(&served) else { continue };
            (buffer.mode, buffer.cause) = (Mode::Attached, cause);
            for packet in buffer.flush() {
                self.pass(node, packet, served, (Via::Air, None, cause));
            }
        }
    }

    /// A packet leaves a buffer, which `cause` let it do.
    pub(crate) fn pass(
        &mut self,
        node: NodeId,
        packet: PacketId,
        served: Served,
        (via, mark, cause): (Via, Option<Dscp>, CauseId),
    ) {
        self.cx.trace(&packet, Stop::BufferRelease, Location::Node(node));
        let to = match via {
            Via::Neighbour(next) | Via::Tunnel(next) => Some(next),
            Via::Air | Via::Buffer | Via::ReorderQueue => None,
        };
        let how = (to, mark.is_some(), cause);
        self.cx.probes.released(self.cx.now, served.host, node, &self.cx.pool[&packet], how);
        if let Some(mark) = mark.filter(|_| !self.cx.pool[&packet].is_signal()) {
            self.cx.pool[&packet].set_inner_dscp(mark);
        }
        self.send_via(node, packet, served, via);
    }

    pub(crate) fn deliver(&mut self, node: NodeId, packet: PacketId) {
        let Some(id) = self.cx.pool[&packet].message() else { return self.deliver_data(node, packet) };
        let from = self.cx.pool.deliver(packet).header.src;
        let (domain, message) = self.cx.probes.received(self.cx.now, id);
        let led = Led::By(self.cx.probes.causes.message_row(id));
        self.because(led, |world| world.hand_over(node, domain, from, &message));
    }

    fn broadcast(&mut self, cell: CellId, packet: PacketId) {
        let packet = self.cx.pool.deliver(packet);
        let (Some(id), from) = (packet.message(), packet.header.src) else { return };
        let (domain, message) = self.cx.probes.received(self.cx.now, id);
        for index in 0..self.cells[cell.0 as usize].hosts.len() {
            let host = self.cells[cell.0 as usize].hosts[index];
            let Node { addr, mobile, .. } = &self.nodes[host.0 as usize];
            let Some(mobile) = mobile.as_ref().filter(|mobile| mobile.is_in(cell)) else { continue };
            let led = self.cx.probes.causes.heard(id, *addr, mobile.moved);
            self.because(led, |world| world.hand_over(host, domain, from, &message));
        }
    }
}

#[cfg(test)]
mod tests;
