//! IP at a node: input, forwarding, output, and the next hop.
//!
//! Every packet that arrives at a node passes [`Network::ip_input`]; every packet that a node sends of its own passes
//! [`Network::ip_output`]. Both, and forwarding, find the next hop by [`Network::next_hop`].

use super::{Listener, LocalDelivery, Network};
use crate::context::Context;
use crate::dataplane::route::{AgentSet, HostLookup, HostRoute};
use crate::dataplane::tunnel::{self, Exit};
use crate::ids::{AgentIndex, HostAtAgent};
use roamlab_engine::Bytes;
use roamlab_mobility::{Direction, Via};
use roamlab_packet::{Addr, DropReason, IpHeader, Packet, PacketId, Waiting};
use roamlab_record::Stop;
use roamlab_record::ids::{LinkId, Location, NodeId};
use std::collections::VecDeque;

/// Where a packet at a node comes from.
#[derive(Copy, Clone, Default)]
pub(super) struct Origin {
    /// The link that it arrived over; `None`: it starts here.
    pub(super) link: Option<LinkId>,
    /// Where the tunnel began that it left here last.
    pub(super) tunnel: Option<Addr>,
    /// Agents whose tunnels it has entered here, and left immediately.
    passed: AgentSet,
}

impl Origin {
    /// A packet that arrived over a link and has left no tunnel here.
    pub(super) fn over(link: LinkId) -> Origin {
        Origin { link: Some(link), ..Origin::default() }
    }
}

/// Result of the short cuts of IP input for a packet.
pub enum PlainInput {
    /// It is on its way to the next node, and nothing else has happened.
    Forwarded,
    /// It is data for this node.
    Data(PacketId),
    /// It is one for the other path.
    Other(PacketId),
}

/// Where a packet goes from a node.
#[derive(Copy, Clone, Debug)]
pub(super) enum NextHop {
    /// Over this link.
    Link(LinkId),
    /// From a mobile host, over several uplinks or none.
    Uplinks,
    /// By a host route that its agent watches, that has branches, or that leads into a tunnel, a buffer or the air.
    HostRoute(HostRoute),
    /// To a mobile host for which there is no route here.
    NoHostRoute,
    /// To no link.
    NoRoute,
}

impl Network {
    /// A packet arrives at a node over a link.
    #[inline(always)]
    pub(super) fn ip_input(
        &mut self,
        node: NodeId,
        packet: PacketId,
        link: LinkId,
        listener: &mut impl Listener,
        cx: &mut Context,
    ) -> LocalDelivery {
        match self.ip_input_plain(node, packet, cx) {
            PlainInput::Forwarded => LocalDelivery::Nothing,
            PlainInput::Data(packet) => LocalDelivery::Data(node, packet),
            PlainInput::Other(packet) => self.ip_input_slow(node, packet, link, listener, cx),
        }
    }

    /// The short cuts of IP input. Every packet enters a node here. A packet with a direct link is forwarded over it. Plain
    /// data at its destination is delivered: it needs neither policing nor a notice to agents, except where an agent
    /// inspects packets.
    #[inline(always)]
    pub(super) fn ip_input_plain(&mut self, node: NodeId, packet: PacketId, cx: &mut Context) -> PlainInput {
        let arriving = &cx.pool[&packet];
        let IpHeader { dst, ttl, .. } = arriving.header;
        if dst.number() != node.0 as usize {
            if ttl > 1
                && let Some(next) = self.direct_link(node, arriving, false, cx)
            {
                cx.pool[&packet].header.ttl = ttl - 1;
                self.links.enqueue(next, packet, cx);
                return PlainInput::Forwarded;
            }
        } else if arriving.tunnels() == 0 && !arriving.is_signal() {
            let inspects = || arriving.has_code_point() || self.nodes[node].inspects_packets;
            if self.routes.is_plain(node) || !inspects() {
                return PlainInput::Data(packet);
            }
        }
        PlainInput::Other(packet)
    }

    /// IP input of any packet at any node: it is policed, and leaves the tunnels that end here.
    #[inline(never)]
    pub fn ip_input_slow(
        &mut self,
        node: NodeId,
        packet: PacketId,
        link: LinkId,
        listener: &mut impl Listener,
        cx: &mut Context,
    ) -> LocalDelivery {
        cx.trace(&packet, Stop::NodeReceive, Location::Node(node));
        let from = self.links[link].from;
        let Some(packet) = self.police(node, packet, from, cx) else { return LocalDelivery::Nothing };
        let mut origin = Origin::over(link);
        loop {
            let IpHeader { src, dst, .. } = cx.pool[&packet].header;
            if dst.number() != node.0 as usize {
                self.ip_forward(node, packet, origin, listener, cx);
                return LocalDelivery::Nothing;
            }
            if cx.pool[&packet].tunnels() == 0 {
                return LocalDelivery::of(node, packet, cx);
            }
            origin.tunnel = Some(src);
            if tunnel::decap(&packet, self.rules.tunnel_ecn, Location::Node(node), cx) == Exit::Congested {
                cx.lose(packet, DropReason::TunnelCongestion, Location::Node(node));
                return LocalDelivery::Nothing;
            }
            if self.nodes[node].is_central && self.is_from_unit(node, &packet, src, cx) {
                self.receive_from_unit((node, link), packet, cx);
                return LocalDelivery::Nothing;
            }
        }
    }

    /// A node forwards a packet that is for another.
    #[inline(always)]
    fn ip_forward(
        &mut self,
        node: NodeId,
        packet: PacketId,
        origin: Origin,
        listener: &mut impl Listener,
        cx: &mut Context,
    ) {
        let header = &mut cx.pool[&packet].header;
        let ttl = header.ttl;
        header.ttl = ttl.saturating_sub(1);
        cx.trace(&packet, Stop::NodeForward, Location::Node(node));
        if ttl <= 1 {
            return cx.lose(packet, DropReason::TtlExpired, Location::Node(node));
        }
        self.pass_on(node, packet, origin, listener, cx);
    }

    /// A node sends a packet that starts there. The short cut is the direct link, if the packet has one.
    #[inline(always)]
    pub fn ip_output(
        &mut self,
        node: NodeId,
        packet: PacketId,
        listener: &mut impl Listener,
        cx: &mut Context,
    ) {
        match self.direct_link(node, &cx.pool[&packet], false, cx) {
            Some(link) => self.links.enqueue(link, packet, cx),
            None => self.ip_output_slow(node, packet, listener, cx),
        }
    }

    /// IP output of any packet at any node.
    #[inline(never)]
    fn ip_output_slow(
        &mut self,
        node: NodeId,
        packet: PacketId,
        listener: &mut impl Listener,
        cx: &mut Context,
    ) {
        cx.trace(&packet, Stop::NodeSend, Location::Node(node));
        self.pass_on(node, packet, Origin::default(), listener, cx);
    }

    /// Passes a packet to its next hop. Agents that watch what hosts send are notified before: they may change the routes.
    #[inline(always)]
    fn pass_on(
        &mut self,
        node: NodeId,
        packet: PacketId,
        origin: Origin,
        listener: &mut impl Listener,
        cx: &mut Context,
    ) {
        if !self.routes.is_plain(node) && self.nodes[node].watches_uplink {
            self.notify_watchers(node, &packet, Direction::Up, origin, listener, cx);
        }
        match self.next_hop(node, &cx.pool[&packet], origin, cx) {
            NextHop::Link(link) => self.links.enqueue(link, packet, cx),
            hop => self.pass_on_slow(node, packet, hop, origin, listener, cx),
        }
    }

    /// The link of a packet's [next hop](Self::next_hop), if it does not depend on where the packet comes from: by a
    /// shortest path, a host's only uplink, or the only host route. `inspected`: policer and agents have seen the packet;
    /// if not, there is no such link at a node where one of them has to.
    #[inline(always)]
    fn direct_link(&self, node: NodeId, packet: &Packet, inspected: bool, cx: &Context) -> Option<LinkId> {
        let dst = packet.header.dst;
        if self.routes.is_plain(node) {
            return self.routes.link(node, dst);
        }
        let here = &self.nodes[node];
        if !inspected && (!packet.is_plain() || here.inspects_packets) {
            return None;
        }
        if here.is_host() {
            return self.cells.only_uplink(node);
        }
        if !dst.is_mobile() {
            return self.routes.link(node, dst);
        }
        match here.host_routes.lookup(dst) {
            HostLookup::Link(link) if !cx.pool.is_copy(packet) => Some(link),
            HostLookup::Link(_) | HostLookup::None | HostLookup::Several => None,
        }
    }

    /// The next hop of a packet at a node.
    #[inline(always)]
    fn next_hop(&self, node: NodeId, packet: &Packet, origin: Origin, cx: &Context) -> NextHop {
        let link = self.direct_link(node, packet, true, cx).filter(|_| origin.passed == AgentSet::default());
        if let Some(link) = link {
            return NextHop::Link(link);
        }
        if self.routes.is_plain(node) {
            return NextHop::NoRoute;
        }
        if self.nodes[node].is_host() {
            return NextHop::Uplinks;
        }
        match packet.header.dst.is_mobile() {
            true => self.next_hop_to_host(node, packet.header.dst, origin),
            false => NextHop::NoRoute,
        }
    }

    /// The next hop to a mobile host, at a node that may have host routes of which each packet takes its own.
    #[inline(always)]
    fn next_hop_to_host(&self, node: NodeId, dst: Addr, origin: Origin) -> NextHop {
        let routes = &self.nodes[node].host_routes;
        match routes.lookup(dst) {
            HostLookup::None if origin.link.is_none() && origin.tunnel.is_none() => {
                let link = self.routes.link(node, dst).filter(|_| self.routes.home(dst) != Some(node));
                link.map_or(NextHop::NoHostRoute, NextHop::Link)
            }
            HostLookup::None => NextHop::NoHostRoute,
            HostLookup::Link(_) | HostLookup::Several => {
                let from = || self.previous_hop(origin).map(|from| self.nodes[from].addr);
                let route = routes.host(dst, origin.tunnel, from, origin.passed);
                route.map_or(NextHop::NoHostRoute, |route| NextHop::HostRoute(*route))
            }
        }
    }

    /// The adjacent node that a packet comes from; `None`: it starts here.
    pub(super) fn previous_hop(&self, origin: Origin) -> Option<NodeId> {
        origin.link.map(|link| self.links[link].from)
    }

    /// Passes a packet on that does not simply take a link.
    #[inline(never)]
    fn pass_on_slow(
        &mut self,
        node: NodeId,
        packet: PacketId,
        hop: NextHop,
        origin: Origin,
        listener: &mut impl Listener,
        cx: &mut Context,
    ) {
        match hop {
            NextHop::Link(link) => self.links.enqueue(link, packet, cx),
            NextHop::Uplinks => self.send_uplink(node, packet, cx),
            NextHop::NoRoute => cx.lose(packet, DropReason::NoRoute, Location::Node(node)),
            NextHop::NoHostRoute => self.route_without(node, packet, origin, listener, cx),
            NextHop::HostRoute(route) if route.watch || self.nodes[node].host_routes.has_branches() => {
                self.route_watched(node, packet, route, origin, listener, cx);
            }
            NextHop::HostRoute(route) => {
                let host = HostAtAgent { host: cx.pool[&packet].header.dst, slot: route.slot };
                self.follow(node, packet, (host, route.via), origin, listener, cx);
            }
        }
    }

    /// A packet takes a host route, or a branch of one.
    #[inline(always)]
    pub(super) fn follow(
        &mut self,
        node: NodeId,
        packet: PacketId,
        (host, via): (HostAtAgent, Via),
        origin: Origin,
        listener: &mut impl Listener,
        cx: &mut Context,
    ) {
        if self.is_redirected(node, via, origin) {
            let cause = self.nodes[node].host_routes.cause(host.host, host.slot, via);
            cx.note_move(&packet, cause);
        }
        match via {
            // Its agent has the host itself: the packet enters the tunnel and leaves it immediately.
            Via::Tunnel(end) if end == self.nodes[node].addr => {
                let origin = Origin { tunnel: Some(end), passed: origin.passed.with(host.slot), ..origin };
                self.pass_on_again(node, packet, origin, listener, cx);
            }
            via => self.send_via(node, packet, host, via, cx),
        }
    }

    /// True if a node forwards packets for a host that has left: back to their origin, or into a tunnel, at a
    /// base station or at an access router where they leave another one.
    fn is_redirected(&self, node: NodeId, via: Via, origin: Origin) -> bool {
        let here = &self.nodes[node];
        match via {
            Via::Neighbour(next) => {
                self.previous_hop(origin).is_some_and(|from| self.nodes[from].addr == next)
            }
            Via::Tunnel(end) if end != here.addr => {
                here.serves.is_some() || here.is_access_router && origin.tunnel.is_some()
            }
            Via::Tunnel(_)
            | Via::Relay { .. }
            | Via::Air
            | Via::Discard
            | Via::Buffer
            | Via::ReorderQueue => false,
        }
    }

    /// Passes a packet on that has entered a tunnel here only to leave it.
    #[inline(never)]
    fn pass_on_again(
        &mut self,
        node: NodeId,
        packet: PacketId,
        origin: Origin,
        listener: &mut impl Listener,
        cx: &mut Context,
    ) {
        self.pass_on(node, packet, origin, listener, cx);
    }

    /// Marks are honoured only from within the access network: from base stations and, through tunnels, from
    /// other access routers and base stations. Anything else is policed where it enters ([ipf] §III).
    #[inline(always)]
    fn police(&self, node: NodeId, packet: PacketId, from: NodeId, cx: &mut Context) -> Option<PacketId> {
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
        cx: &mut Context,
    ) -> Option<PacketId> {
        let (here, from) = (&self.nodes[node], &self.nodes[from]);
        let at_edge =
            (here.is_access_router && !from.is_access()) || (here.serves.is_some() && from.is_host());
        if !at_edge {
            return Some(packet);
        }
        let outer = cx.pool[&packet].header;
        let from_access = self.nodes.at(outer.src).is_some_and(|src| self.nodes[src].is_access());
        if from_access && cx.pool[&packet].tunnels() > 0 {
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

    /// A host sends a packet, and copies of it on further uplinks if it sends on all; without one the packet waits.
    pub(super) fn send_uplink(&mut self, host: NodeId, packet: PacketId, cx: &mut Context) {
        if self.nodes[host].numbers {
            return self.send_uplink_numbered(host, packet, cx);
        }
        if self.cells.sends_copies(host) {
            for link in self.cells.copy_uplinks(host) {
                let copy = cx.duplicate(&packet);
                self.links.enqueue(link, copy, cx);
            }
        }
        match self.cells.uplink(host) {
            Some(link) => self.links.enqueue(link, packet, cx),
            None => self.cells.wait(host, packet, cx),
        }
    }

    /// Signalling that has overtaken data at a host's last uplink does so at the present one.
    pub(super) fn send_overtaking(&mut self, host: NodeId, packets: VecDeque<Waiting>, cx: &mut Context) {
        match self.cells.uplink(host) {
            Some(link) if self.cells.copy_uplinks(host).is_empty() => {
                self.links.overtake_all(link, packets, cx);
            }
            _ => packets.into_iter().for_each(|packet| self.send_uplink(host, packet.take(), cx)),
        }
    }

    /// Sends a packet for a host the way that its agent has set.
    #[inline(never)]
    pub(super) fn send_via(
        &mut self,
        node: NodeId,
        packet: PacketId,
        host: HostAtAgent,
        via: Via,
        cx: &mut Context,
    ) {
        let here = &self.nodes[node];
        if here.numbers && matches!(via, Via::Neighbour(_) | Via::Tunnel(_)) {
            self.leave_bearer(node, &packet, host, cx);
        }
        let here = &self.nodes[node];
        let (ends, forwards) = match via {
            Via::Neighbour(next) => {
                return match here.neighbours.get(&next) {
                    Some(&link) => self.links.enqueue(link, packet, cx),
                    None => cx.lose(packet, DropReason::NoRoute, Location::Node(node)),
                };
            }
            Via::Air if here.numbers => return self.send_numbered(node, packet, host, cx),
            Via::Air => return self.send_air(node, packet, cx),
            Via::Discard => {
                let cause = here.host_routes.cause(host.host, host.slot, via);
                return cx.lose_by(packet, DropReason::NoBinding, Location::Node(node), cause);
            }
            Via::Buffer => return self.hold(node, packet, host, cx),
            Via::ReorderQueue => return self.hold_in_reorder_queue(node, packet, host, cx),
            Via::Tunnel(end) => ((here.addr, end), here.serves.is_some() || here.is_central),
            Via::Relay { source, to } => ((source, to), true),
        };
        let overhead = self.overhead(node, host.slot, forwards);
        self.send_tunnelled(node, packet, (ends, overhead), cx);
    }

    /// Bytes that a tunnel of an agent adds; `forwards`: for a base station that forwards packets.
    fn overhead(&self, node: NodeId, slot: AgentIndex, forwards: bool) -> Bytes {
        let domain = &self.domains[self.nodes[node].agent(slot).domain.0 as usize];
        if forwards { domain.forwarding_overhead } else { domain.tunnel_overhead }
    }

    /// Sends a packet through a tunnel with these ends, which adds this number of bytes.
    #[inline]
    pub(super) fn send_tunnelled(
        &mut self,
        node: NodeId,
        packet: PacketId,
        (ends, overhead): ((Addr, Addr), Bytes),
        cx: &mut Context,
    ) {
        let (here, place) = (&self.nodes[node], Location::Node(node));
        let packet = match tunnel::encap(packet, ends, (overhead, self.rules.tunnel_ecn), place, cx) {
            Ok(packet) => packet,
            Err(packet) => return cx.lose(packet, DropReason::TtlExpired, place),
        };
        match self.routes.link(node, ends.1).filter(|_| ends.1 != here.addr) {
            Some(link) => self.links.enqueue(link, packet, cx),
            None => cx.lose(packet, DropReason::NoRoute, place),
        }
    }

    /// A base station sends a packet into its cell.
    pub fn send_air(&mut self, node: NodeId, packet: PacketId, cx: &mut Context) {
        let here = &self.nodes[node];
        let Some(cell) = here.serves else {
            return cx.lose(packet, DropReason::NoRoute, Location::Node(node));
        };
        if cx.pool.is_copy(&cx.pool[&packet]) {
            let (original, dst) = (cx.pool.original(&cx.pool[&packet]), cx.pool[&packet].header.dst);
            let known = |slot: usize| {
                let host = HostAtAgent { host: dst, slot: AgentIndex(slot as u16) };
                here.buffers.get(&host).is_some_and(|buffer| buffer.received.contains(&original))
            };
            if (0..here.agents.len()).any(known) {
                let cause = self.cells.moved(dst);
                return cx.lose_by(packet, DropReason::Duplicate, Location::Node(node), cause);
            }
        }
        self.links.enqueue(self.cells.air(cell), packet, cx);
    }
}

#[cfg(test)]
mod tests;
