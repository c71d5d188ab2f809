//! The slow path at a node: agents that watch packets, routes with branches, or no route for a host.
//!
//! Each is a function that is not inlined, so a packet without such a case pays only for a test.

use super::ip::Origin;
use super::{Listener, Network};
use crate::context::Context;
use crate::control::agent::Agent;
use crate::dataplane::link::End;
use crate::dataplane::route::HostRoute;
use crate::ids::{AgentIndex, HostAtAgent};
use roamlab_mobility::{Direction, Input, MobilityInput, Via};
use roamlab_packet::{Addr, DropReason, IpHeader, PacketId};
use roamlab_record::cause::{Cause, CauseId, CurrentCause, Kind, data_seq};
use roamlab_record::ids::{Location, NodeId};

impl Network {
    /// A packet takes a host route that its agent watches, or that may have branches.
    #[inline(never)]
    pub(super) fn route_watched(
        &mut self,
        node: NodeId,
        packet: PacketId,
        route: HostRoute,
        origin: Origin,
        listener: &mut impl Listener,
        cx: &mut Context,
    ) {
        let IpHeader { src, dst, .. } = cx.pool[&packet].header;
        let routes = &self.nodes[node].host_routes;
        let branches = if routes.has_branches() { routes.branches(dst, &route) } else { Vec::new() };
        if route.watch && !cx.pool[&packet].is_signal() {
            let input = self.input((dst, src, Direction::Down), origin, false);
            let row = data_row(node, &packet, route.cause, cx);
            cx.with_cause(CurrentCause::New(row), |cx| listener.notify(node, route.slot, input, self, cx));
        }
        if self.nodes[node].keeps_copies && matches!(route.via, Via::Neighbour(_)) {
            self.keep_copy(node, &packet, dst, cx);
        }
        let host = HostAtAgent { host: dst, slot: route.slot };
        let copies: Vec<(Via, PacketId)> =
            branches.into_iter().map(|via| (via, cx.duplicate(&packet))).collect();
        self.follow(node, packet, (host, route.via), origin, listener, cx);
        for (via, copy) in copies {
            self.follow(node, copy, (host, via), origin, listener, cx);
        }
    }

    /// A packet for a mobile host without a route here goes towards the host's home, or ends.
    #[inline(never)]
    pub(super) fn route_without(
        &mut self,
        node: NodeId,
        packet: PacketId,
        origin: Origin,
        listener: &mut impl Listener,
        cx: &mut Context,
    ) {
        let IpHeader { src, dst, .. } = cx.pool[&packet].header;
        if let Some(number) = cx.pool.number(&cx.pool[&packet])
            && (self.nodes[node].central.is_some() || self.is_elsewhere(node, dst, number))
        {
            // Its central unit has it, or the base station that has sent a copy.
            return cx.lose(packet, DropReason::CopyReleased, Location::Node(node));
        }
        // A protocol may ask for this where it has an agent: no other component knows the host.
        let at_home = self.routes.home(dst) == Some(node);
        if (origin.tunnel.is_some() || at_home || self.would_return(node, dst, origin))
            && self.discards_unknown(node, dst)
        {
            let removed = self.nodes[node].host_routes.removed(dst).or(|| self.cells.moved(dst));
            if !cx.pool[&packet].is_signal() {
                let input = self.input((dst, src, Direction::Down), origin, true);
                let row = data_row(node, &packet, removed, cx);
                let agents: Vec<AgentIndex> = self.agents_for(node, dst, None).collect();
                cx.with_cause(CurrentCause::New(row), |cx| {
                    agents.into_iter().for_each(|slot| listener.notify(node, slot, input.clone(), self, cx));
                });
            }
            return cx.lose_by(packet, DropReason::NoBinding, Location::Node(node), removed);
        }
        // A base station hands packets from the wire to its cell or not at all: its router would only send it
        // back.
        let by_wire = self.previous_hop(origin).is_some_and(|from| !self.nodes[from].is_host());
        if self.nodes[node].serves.is_some() && by_wire {
            let cause = self.cells.moved(dst);
            return cx.lose_by(packet, DropReason::Detached, Location::Node(node), cause);
        }
        match self.routes.link(node, dst) {
            Some(link) if !at_home => self.links.enqueue(link, packet, cx),
            _ => cx.lose(packet, DropReason::NoRoute, Location::Node(node)),
        }
    }

    /// The input for an agent about a data packet from or to `host`; `lost`: it ends here.
    fn input(
        &self,
        (host, peer, direction): (Addr, Addr, Direction),
        origin: Origin,
        lost: bool,
    ) -> MobilityInput {
        let from = self.previous_hop(origin).map(|from| self.nodes[from].addr);
        Input::Data { host, peer, direction, from, tunnelled: origin.tunnel.is_some(), lost }
    }

    /// The agents of a node that watch the packets of a mobile host, with their inputs about one.
    pub(super) fn watchers(
        &self,
        node: NodeId,
        about: (Addr, Addr, Direction),
        origin: Origin,
    ) -> Vec<(AgentIndex, MobilityInput)> {
        let watches = |agent: &Agent| {
            agent.watches_uplink && self.domains[agent.domain.0 as usize].hosts.contains(&about.0)
        };
        let input = self.input(about, origin, false);
        self.slots_of(node, watches).map(|slot| (slot, input.clone())).collect()
    }

    /// Agents that watch what a host sends or receives are notified of a data packet.
    #[inline(never)]
    pub(super) fn notify_watchers(
        &mut self,
        node: NodeId,
        packet: &PacketId,
        direction: Direction,
        origin: Origin,
        listener: &mut impl Listener,
        cx: &mut Context,
    ) {
        let IpHeader { src, dst, .. } = cx.pool[packet].header;
        let (host, peer) = match direction {
            Direction::Up => (src, dst),
            Direction::Down => (dst, src),
        };
        if !host.is_mobile() || cx.pool[packet].is_signal() {
            return;
        }
        for (slot, input) in self.watchers(node, (host, peer, direction), origin) {
            let row = data_row(node, packet, self.cells.moved(host), cx).about(Some(host));
            cx.with_cause(CurrentCause::New(row), |cx| listener.notify(node, slot, input, self, cx));
        }
    }

    /// True if a packet for a host without a route would go back to the router that it comes from.
    fn would_return(&self, node: NodeId, host: Addr, origin: Origin) -> bool {
        let next = self.routes.link(node, host).map(|link| self.links[link].to);
        self.nodes[node].serves.is_none()
            && self.previous_hop(origin).is_some_and(|from| next == Some(End::Node(from)))
    }

    /// True if an agent of a node has asked that packets for a host without a route end there.
    fn discards_unknown(&self, node: NodeId, host: Addr) -> bool {
        let domains = self.nodes[node].agents.iter().map(|agent| agent.domain);
        let mut domains = domains.map(|domain| &self.domains[domain.0 as usize]);
        domains.any(|domain| domain.discards_unknown && domain.hosts.contains(&host))
    }
}

/// The row for a data packet that an agent of a node may act on; `cause` led to its route, or to the lack of one.
fn data_row(node: NodeId, packet: &PacketId, cause: CauseId, cx: &Context) -> Cause {
    let packet = &cx.pool[packet];
    let row = Cause::of(Kind::Data, "", cause).at(Location::Node(node)).about(Some(packet.header.dst));
    Cause { serial: packet.serial, ..row.segment(packet.flow, data_seq(packet)) }
}
