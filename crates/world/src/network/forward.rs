//! The path of a packet: from a link's far end through a node to the next link, or to its endpoint.

use super::{Listener, Network, Up};
use crate::cause::CauseId;
use crate::cx::Cx;
use crate::ids::{CellId, LinkId, Location, NodeId, Served, Slot};
use crate::link::{End, Link};
use crate::probe::Stop;
use crate::route::{Lead, Taken};
use crate::tunnel::{self, Exit};
use roamlab_engine::Time;
use roamlab_mobility::{Direction, Via};
use roamlab_packet::{Addr, DropReason, Dscp, IpHeader, PacketId};

/// How a packet came to a node.
#[derive(Copy, Clone, Default)]
pub(super) struct Arrival {
    /// The adjacent node it comes from; `None`: it starts here.
    pub(super) from: Option<NodeId>,
    /// Where the tunnel began that it left here last.
    pub(super) tunnel: Option<Addr>,
    /// Agents whose tunnels it has entered here, only to leave them at once.
    taken: Taken,
}

impl Network {
    /// A packet comes out of a link that does not keep track of those in flight: such a link is always up, and no end of it
    /// moves. This and [`Links::enqueue`] are the whole way of a plain packet.
    ///
    /// [`Links::enqueue`]: crate::link::Links::enqueue
    #[inline(always)]
    pub fn arrive(
        &mut self,
        link: LinkId,
        packet: PacketId,
        listener: &mut impl Listener,
        cx: &mut Cx,
    ) -> Up {
        match self.links.landed(link) {
            (node, false) => self.come_to::<false>(node, packet, link, listener, cx),
            (node, true) => self.come_to::<true>(node, packet, link, listener, cx),
        }
    }

    /// A packet comes over a link to a node that is no mobile host. A plain packet passes even a special node here, as long
    /// as nobody there looks at packets and a route for its host leads straight on.
    #[inline(always)]
    fn come_to<const SPECIAL: bool>(
        &mut self,
        node: NodeId,
        packet: PacketId,
        link: LinkId,
        listener: &mut impl Listener,
        cx: &mut Cx,
    ) -> Up {
        let arriving = &cx.pool[&packet];
        let IpHeader { dst, ttl, .. } = arriving.header;
        if SPECIAL && (arriving.is_unusual() || self.nodes[node].looks_at_packets) {
            return self.receive(node, packet, self.links[link].from, listener, cx);
        }
        if dst == Addr::node(node.0) {
            return match () {
                () if arriving.tunnels() > 0 => {
                    self.receive(node, packet, self.links[link].from, listener, cx)
                }
                () if arriving.is_signal() => Up::Message(node, packet),
                () => Up::Data(node, packet),
            };
        }
        let next = if SPECIAL && dst.is_mobile() {
            match self.nodes[node].routes.lead(dst) {
                Lead::Straight(next) if !cx.pool.is_copy(arriving) => Some(next),
                _ => return self.receive(node, packet, self.links[link].from, listener, cx),
            }
        } else {
            self.ways.link(node, dst)
        };
        if ttl <= 1 {
            cx.lose(packet, DropReason::TtlExpired, Location::Node(node));
            return Up::Nothing;
        }
        cx.pool[&packet].header.ttl = ttl - 1;
        match next {
            Some(next) => self.links.enqueue(next, packet, cx),
            None => cx.lose(packet, DropReason::NoRoute, Location::Node(node)),
        }
        Up::Nothing
    }

    /// A packet whose transmission began at `started` comes out of a link that keeps track of those in flight.
    #[inline(always)]
    pub fn arrive_generally(
        &mut self,
        link: LinkId,
        packet: PacketId,
        started: Time,
        listener: &mut impl Listener,
        cx: &mut Cx,
    ) -> Up {
        cx.trace(&packet, Stop::LinkArrive, Location::Link(link));
        let &Link { from, to, up, .. } = &self.links[link];
        if !up {
            let changed = self.links[link].changed;
            cx.lose_by(packet, DropReason::LinkDown, Location::Link(link), changed);
            return Up::Nothing;
        }
        if self.links[link].loss.is_some() && self.links.loses(link) {
            cx.lose(packet, DropReason::RandomLoss, Location::Link(link));
            return Up::Nothing;
        }
        match to {
            End::Node(node) => {
                let cell = self.nodes[node].serves;
                let for_all = cx.pool[&packet].is_for_all();
                if let Some(cell) = cell.filter(|&cell| self.cells.is_cut_off(from, cell, (started, for_all)))
                {
                    let cause = self.cells.why_unheard(from, cell, cx);
                    cx.lose_by(packet, DropReason::Detached, Location::Link(link), cause);
                    return Up::Nothing;
                }
                if self.cells.roam() && self.is_stranger(cell, from, &packet, cx) {
                    return Up::Stranger(link, packet);
                }
                self.come_to::<true>(node, packet, link, listener, cx)
            }
            End::Cell(cell) if cx.pool[&packet].header.dst == Addr::BROADCAST => Up::Broadcast(cell, packet),
            End::Cell(cell) => match self.cross_air((link, cell), packet, started, listener, cx) {
                None => Up::Nothing,
                Some((host, packet)) => {
                    let heard = &cx.pool[&packet];
                    if heard.tunnels() > 0 || heard.is_signal() || cx.is_tracing() {
                        return self.receive(host, packet, from, listener, cx);
                    }
                    Up::Data(host, packet)
                }
            },
        }
    }

    /// A packet that is for one host comes to the end of an air link; the host that hears it, and the packet.
    #[inline(always)]
    fn cross_air(
        &mut self,
        (link, cell): (LinkId, CellId),
        packet: PacketId,
        started: Time,
        listener: &mut impl Listener,
        cx: &mut Cx,
    ) -> Option<(NodeId, PacketId)> {
        let (from, IpHeader { src, dst, .. }) = (self.links[link].from, cx.pool[&packet].header);
        if self.nodes[from].keeps_copies {
            self.keep_copy(from, &packet, dst, cx);
        }
        let host = self.nodes.at(dst);
        let Some(hearing) = host.filter(|&host| self.cells.hears(host, cell, started)) else {
            let cause = host.map_or(CauseId::START, |host| self.cells.why_unheard(host, cell, cx));
            cx.lose_by(packet, DropReason::Detached, Location::Link(link), cause);
            return None;
        };
        let arrived = &cx.pool[&packet];
        if !arrived.is_signal() && self.cells.is_duplicate(hearing, cx.pool.original(arrived)) {
            let cause = self.cells.moved(dst);
            cx.lose_by(packet, DropReason::Duplicate, Location::Node(hearing), cause);
            return None;
        }
        // The mark of forwarded packets means nothing behind the air link ([mblue] §III.C, reading A13).
        cx.pool[&packet].set_inner_dscp(Dscp::default());
        if self.nodes[hearing].watches_uplink {
            let arrival = Arrival { from: Some(from), ..Arrival::default() };
            self.tell_watchers(hearing, &packet, (dst, src, Direction::Down), arrival, listener, cx);
        }
        Some((hearing, packet))
    }

    /// The same at any node, of any packet.
    #[inline(never)]
    fn receive(
        &mut self,
        node: NodeId,
        packet: PacketId,
        from: NodeId,
        listener: &mut impl Listener,
        cx: &mut Cx,
    ) -> Up {
        cx.trace(&packet, Stop::NodeReceive, Location::Node(node));
        let Some(packet) = self.police(node, packet, from, cx) else { return Up::Nothing };
        let mut arrival = Arrival { from: Some(from), ..Arrival::default() };
        let addr = self.nodes[node].addr;
        loop {
            let arrived = &mut cx.pool[&packet];
            let IpHeader { src, dst, ttl, .. } = arrived.header;
            if dst != addr {
                arrived.header.ttl = ttl.saturating_sub(1);
                cx.trace(&packet, Stop::NodeForward, Location::Node(node));
                match ttl {
                    0 | 1 => cx.lose(packet, DropReason::TtlExpired, Location::Node(node)),
                    _ => self.route(node, packet, (src, dst), arrival, listener, cx),
                }
                return Up::Nothing;
            }
            if arrived.tunnels() == 0 {
                let is_signal = arrived.is_signal();
                return if is_signal { Up::Message(node, packet) } else { Up::Data(node, packet) };
            }
            arrival.tunnel = Some(src);
            if tunnel::decap(&packet, self.rules.tunnel_ecn, Location::Node(node), cx) == Exit::Congested {
                cx.lose(packet, DropReason::TunnelCongestion, Location::Node(node));
                return Up::Nothing;
            }
        }
    }

    /// Marks are honoured only from within the access network: from base stations and, through tunnels, from
    /// other foreign agents. Anything else is policed where it enters ([ipf] §III, reading A13).
    #[inline(always)]
    fn police(&self, node: NodeId, packet: PacketId, from: NodeId, cx: &mut Cx) -> Option<PacketId> {
        match &self.rules.policer {
            Some(policer) if cx.pool[&packet].inner_tos().dscp() == policer.mark => {
                self.police_marked(node, packet, (from, policer.drop), cx)
            }
            _ => Some(packet),
        }
    }

    #[inline(never)]
    fn police_marked(
        &self,
        node: NodeId,
        packet: PacketId,
        (from, drops): (NodeId, bool),
        cx: &mut Cx,
    ) -> Option<PacketId> {
        let (here, from) = (&self.nodes[node], &self.nodes[from]);
        let at_edge =
            (here.is_access_router && !from.is_access()) || (here.serves.is_some() && from.is_host());
        if !at_edge {
            return Some(packet);
        }
        let outer = cx.pool[&packet].header;
        let from_agent = self.nodes.at(outer.src).is_some_and(|src| self.nodes[src].is_access_router);
        if from_agent && cx.pool[&packet].tunnels() > 0 {
            return Some(packet);
        }
        let action = if drops { "dropped" } else { "cleared" };
        cx.probes.policed(cx.now, node, &cx.pool[&packet], action);
        if drops {
            cx.lose(packet, DropReason::PolicedMark, Location::Node(node));
            return None;
        }
        cx.pool.clear_dscp(&packet);
        Some(packet)
    }

    /// A node sends a packet of a flow.
    #[inline(never)]
    pub fn send_own(&mut self, node: NodeId, packet: PacketId, listener: &mut impl Listener, cx: &mut Cx) {
        match self.first_link(node, cx.pool[&packet].header.dst) {
            Some(link) => self.links.enqueue(link, packet, cx),
            None => self.send(node, packet, listener, cx),
        }
    }

    /// A node sends a packet of its own.
    #[inline(never)]
    pub fn send(&mut self, node: NodeId, packet: PacketId, listener: &mut impl Listener, cx: &mut Cx) {
        cx.trace(&packet, Stop::NodeSend, Location::Node(node));
        let IpHeader { src, dst, .. } = cx.pool[&packet].header;
        self.route(node, packet, (src, dst), Arrival::default(), listener, cx);
    }

    /// Looks up once more where a packet goes: it has entered a tunnel here only to leave it.
    #[inline(never)]
    fn route_again(
        &mut self,
        node: NodeId,
        packet: PacketId,
        arrival: Arrival,
        listener: &mut impl Listener,
        cx: &mut Cx,
    ) {
        let IpHeader { src, dst, .. } = cx.pool[&packet].header;
        self.route(node, packet, (src, dst), arrival, listener, cx);
    }

    /// Looks up where a packet goes that is from `src` and for `dst`. What few packets meet here stands in `rare.rs`.
    #[inline(always)]
    fn route(
        &mut self,
        node: NodeId,
        packet: PacketId,
        (src, dst): (Addr, Addr),
        arrival: Arrival,
        listener: &mut impl Listener,
        cx: &mut Cx,
    ) {
        if self.nodes[node].watches_uplink && src.is_mobile() {
            self.tell_watchers(node, &packet, (src, dst, Direction::Up), arrival, listener, cx);
        }
        let here = &self.nodes[node];
        if here.is_host() {
            return self.send_uplink(node, packet, cx);
        }
        let next = if dst.is_mobile() {
            let from = || arrival.from.map(|from| self.nodes[from].addr);
            let Some(route) = here.routes.host(dst, arrival.tunnel, from, arrival.taken) else {
                return self.route_without(node, packet, arrival, listener, cx);
            };
            if route.watch || here.routes.has_branches() {
                return self.route_watched(node, packet, *route, arrival, listener, cx);
            }
            match route.via {
                Via::Neighbour(_) => route.link,
                Via::Air if !cx.pool.is_copy(&cx.pool[&packet]) => route.link,
                via => {
                    let served = Served { host: dst, slot: route.slot };
                    return self.follow(node, packet, (served, via), arrival, listener, cx);
                }
            }
        } else {
            self.ways.link(node, dst)
        };
        match next {
            Some(link) => self.links.enqueue(link, packet, cx),
            None => cx.lose(packet, DropReason::NoRoute, Location::Node(node)),
        }
    }

    /// A packet takes a host route, or a branch of one.
    #[inline(always)]
    pub(super) fn follow(
        &mut self,
        node: NodeId,
        packet: PacketId,
        (served, via): (Served, Via),
        arrival: Arrival,
        listener: &mut impl Listener,
        cx: &mut Cx,
    ) {
        match via {
            // Its agent has the host itself: the packet enters the tunnel and leaves it at once.
            Via::Tunnel(end) if end == self.nodes[node].addr => {
                let taken = arrival.taken.with(served.slot);
                self.route_again(node, packet, Arrival { tunnel: Some(end), taken, ..arrival }, listener, cx);
            }
            via => self.send_via(node, packet, served, via, cx),
        }
    }

    pub(super) fn send_uplink(&mut self, host: NodeId, packet: PacketId, cx: &mut Cx) {
        if self.cells.sends_copies(host) {
            for link in self.cells.copy_uplinks(host) {
                let copy = cx.pool.duplicate(&packet);
                self.links.enqueue(link, copy, cx);
            }
        }
        match self.cells.uplink(host) {
            Some(link) => self.links.enqueue(link, packet, cx),
            None => self.cells.wait(host, packet, cx),
        }
    }

    /// Sends a packet for a host the way its agent says.
    #[inline(never)]
    pub(super) fn send_via(&mut self, node: NodeId, packet: PacketId, served: Served, via: Via, cx: &mut Cx) {
        let here = &self.nodes[node];
        let (next, packet) = match via {
            Via::Neighbour(next) => (here.neighbours.get(&next).copied(), packet),
            Via::Air => return self.send_air(node, packet, cx),
            Via::Buffer => return self.hold(node, packet, served, cx),
            Via::ReorderQueue => return self.hold_in_reorder_queue(node, packet, served, cx),
            Via::Tunnel(end) => {
                let ends = (here.addr, end);
                let domain = &self.domains[here.resident(served.slot).domain.0 as usize];
                let overhead = match here.serves {
                    Some(_) => domain.forwarding_overhead,
                    None => domain.tunnel_overhead,
                };
                let shape = (overhead, self.rules.tunnel_ecn);
                match tunnel::encap(packet, ends, shape, Location::Node(node), cx) {
                    Ok(packet) => (self.ways.link(node, end).filter(|_| end != ends.0), packet),
                    Err(packet) => return cx.lose(packet, DropReason::TtlExpired, Location::Node(node)),
                }
            }
        };
        match next {
            Some(link) => self.links.enqueue(link, packet, cx),
            None => cx.lose(packet, DropReason::NoRoute, Location::Node(node)),
        }
    }

    /// A base station sends a packet into its cell.
    pub fn send_air(&mut self, node: NodeId, packet: PacketId, cx: &mut Cx) {
        let here = &self.nodes[node];
        let Some(cell) = here.serves else {
            return cx.lose(packet, DropReason::NoRoute, Location::Node(node));
        };
        if cx.pool.is_copy(&cx.pool[&packet]) {
            let (original, dst) = (cx.pool.original(&cx.pool[&packet]), cx.pool[&packet].header.dst);
            let known = |slot: usize| {
                let served = Served { host: dst, slot: Slot(slot as u16) };
                here.buffers.get(&served).is_some_and(|buffer| buffer.received.contains(&original))
            };
            if (0..here.residents.len()).any(known) {
                let cause = self.cells.moved(dst);
                return cx.lose_by(packet, DropReason::Duplicate, Location::Node(node), cause);
            }
        }
        self.links.enqueue(self.cells.air(cell), packet, cx);
    }
}

#[cfg(test)]
mod tests;
