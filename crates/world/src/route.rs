//! Where packets go next: shortest paths to prefixes, and host routes that mobility protocols set.

use crate::agents::{DomainId, Slot};
use crate::event::LinkId;
use roamlab_engine::Duration;
use roamlab_mobility::Via;
use roamlab_packet::Addr;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A host route. It belongs to the agent that set it, and only that agent replaces or forgets it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct HostRoute {
    /// Where to.
    pub via: Via,
    /// Tell the agent of packets that take it.
    pub watch: bool,
    /// The domain of the agent.
    pub domain: DomainId,
    /// The agent.
    pub slot: Slot,
}

/// The host routes for one mobile host.
#[derive(Clone, Debug)]
struct HostRoutes {
    host: Addr,
    /// Each with the adjacent node, or the beginning of a tunnel, that its packets come from; `None`: anywhere. Those
    /// of the innermost domain first, in a domain in the order of its agents.
    routes: Vec<(Option<Addr>, HostRoute)>,
}

/// Agents of a node whose routes a packet has taken there.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Taken(u64);

impl Taken {
    /// With one more agent.
    #[must_use]
    pub fn with(self, slot: Slot) -> Taken {
        Taken(self.0 | 1 << u32::from(slot.0).min(63))
    }

    fn has(self, slot: Slot) -> bool {
        self.0 & 1 << u32::from(slot.0).min(63) != 0
    }
}

/// The routes of one node.
#[derive(Clone, Debug, Default)]
pub struct RouteTable {
    /// Link towards everything that no other route names.
    pub default: Option<LinkId>,
    /// Link towards each subnet, by its number.
    prefixes: Vec<Option<LinkId>>,
    /// In the order of the hosts.
    hosts: Vec<HostRoutes>,
}

impl RouteTable {
    /// Link towards the subnet of `dst`.
    pub fn prefix(&self, dst: Addr) -> Option<LinkId> {
        self.prefixes.get(dst.subnet()).copied().flatten().or(self.default)
    }

    /// The host route for `dst` for a packet that left a tunnel from `tunnel` here, or else came from the adjacent node
    /// `from`, who is asked for only if origins matter.
    ///
    /// Routes of the innermost domain that has any win. In a domain a route for where the packet comes from wins over
    /// one for packets from anywhere; among those the first agent's, or, for a packet that left a tunnel here, the last
    /// agent's: the entry of a tunnel (a home agent) stands before its exit (a foreign agent). Agents in `taken` have
    /// had their turn.
    pub fn host(
        &self,
        dst: Addr,
        tunnel: Option<Addr>,
        from: impl FnOnce() -> Option<Addr>,
        taken: Taken,
    ) -> Option<HostRoute> {
        if !dst.is_mobile() {
            return None;
        }
        let routes = &self.hosts[self.place(dst).ok()?].routes;
        if let [(None, only)] = routes.as_slice() {
            return (!taken.has(only.slot)).then_some(*only);
        }
        let origins = [tunnel, from()];
        let mut left = routes.as_slice();
        while let Some((_, first)) = left.first() {
            let (domain, inward) =
                left.split_at(left.partition_point(|(_, route)| route.domain == first.domain));
            let open = || domain.iter().filter(|(_, route)| !taken.has(route.slot));
            let of = |origin: Addr| open().find(|(from, _)| *from == Some(origin));
            let mut anywhere = open().filter(|(from, _)| from.is_none());
            let any = if tunnel.is_some() { anywhere.next_back() } else { anywhere.next() };
            if let Some((_, route)) = origins.into_iter().flatten().find_map(of).or(any) {
                return Some(*route);
            }
            left = inward;
        }
        None
    }

    /// Sets a host route.
    pub fn set_host(&mut self, host: Addr, from: Option<Addr>, route: HostRoute) {
        debug_assert!(host.is_mobile(), "a host route for {host}");
        let place = self.place(host).unwrap_or_else(|place| {
            self.hosts.insert(place, HostRoutes { host, routes: Vec::new() });
            place
        });
        let routes = &mut self.hosts[place].routes;
        routes.retain(|(origin, known)| (*origin, known.slot) != (from, route.slot));
        let order = |route: &HostRoute| (std::cmp::Reverse(route.domain), route.slot);
        let at = routes.partition_point(|(_, known)| order(known) <= order(&route));
        routes.insert(at, (from, route));
    }

    /// Forgets a host route of an agent.
    pub fn clear_host(&mut self, host: Addr, slot: Slot, from: Option<Addr>) {
        let Ok(place) = self.place(host) else { return };
        self.hosts[place].routes.retain(|(origin, known)| (*origin, known.slot) != (from, slot));
    }

    /// Where the routes of a host are, or would be.
    fn place(&self, host: Addr) -> Result<usize, usize> {
        self.hosts.binary_search_by_key(&host, |routes| routes.host)
    }
}

/// An edge of the static topology.
#[derive(Copy, Clone, Debug)]
pub struct Edge {
    /// The link.
    pub link: LinkId,
    /// Index of the node where it begins.
    pub from: usize,
    /// Index of the node where it ends.
    pub to: usize,
    /// Its length.
    pub delay: Duration,
}

/// Route tables of `nodes` nodes, whose subnets are numbered as they are: shortest paths by delay, then by
/// number of hops, then by the order of the links. A node with one way out sends everything that way.
pub fn shortest_paths(nodes: usize, edges: &[Edge]) -> Vec<RouteTable> {
    let mut outgoing = vec![Vec::new(); nodes];
    for edge in edges {
        outgoing[edge.from].push(*edge);
    }
    let table = |source: usize| match outgoing[source].as_slice() {
        [only] => RouteTable { default: Some(only.link), ..RouteTable::default() },
        _ => RouteTable { prefixes: first_links(source, &outgoing), ..RouteTable::default() },
    };
    (0..nodes).map(table).collect()
}

/// The first link of the shortest path from `source` to every node (Dijkstra).
fn first_links(source: usize, outgoing: &[Vec<Edge>]) -> Vec<Option<LinkId>> {
    let mut first = vec![None; outgoing.len()];
    let mut best = vec![None; outgoing.len()];
    best[source] = Some((0, 0, 0));
    let mut heap = BinaryHeap::from([Reverse(((0u64, 0u32, 0u32), source))]);
    while let Some(Reverse((distance, node))) = heap.pop() {
        if best[node] != Some(distance) {
            continue;
        }
        for edge in &outgoing[node] {
            let far = distance.0.saturating_add(edge.delay.as_nanos());
            let next = (far, distance.1 + 1, edge.link.0);
            if best[edge.to].is_none_or(|known| next < known) {
                best[edge.to] = Some(next);
                first[edge.to] = if node == source { Some(edge.link) } else { first[node] };
                heap.push(Reverse((next, edge.to)));
            }
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(link: u32, from: usize, to: usize, millis: u64) -> Edge {
        Edge { link: LinkId(link), from, to, delay: Duration::from_millis(millis) }
    }

    #[test]
    fn the_shorter_delay_wins_over_fewer_hops() {
        let edges = [edge(0, 0, 1, 10), edge(1, 0, 2, 3), edge(2, 2, 1, 3)];
        let tables = shortest_paths(3, &edges);
        assert_eq!(tables[0].prefix(Addr::new(1, 0)), Some(LinkId(1)));
        assert_eq!(tables[1].prefix(Addr::new(0, 0)), None, "links are one-way");
        assert_eq!(tables[0].prefix(Addr::new(9, 0)), None);
        assert_eq!(tables[2].prefix(Addr::new(9, 0)), Some(LinkId(2)), "one way out is a default route");
    }

    #[test]
    fn a_route_for_where_the_packet_comes_from_wins() {
        let (host, old_bs) = (Addr::new(5, 1), Addr::new(2, 0));
        let mut table = RouteTable::default();
        let (domain, slot) = (DomainId(0), Slot(0));
        let to_bs = HostRoute { via: Via::Neighbour(old_bs), watch: false, domain, slot };
        let to_new = HostRoute { via: Via::Tunnel(Addr::new(3, 0)), ..to_bs };
        table.set_host(host, None, to_bs);
        table.set_host(host, Some(old_bs), to_new);
        assert_eq!(table.host(host, None, || None, Taken::default()), Some(to_bs));
        assert_eq!(table.host(host, None, || Some(Addr::new(7, 0)), Taken::default()), Some(to_bs));
        assert_eq!(table.host(host, None, || Some(old_bs), Taken::default()), Some(to_new));
        table.clear_host(host, slot, Some(old_bs));
        assert_eq!(table.host(host, None, || Some(old_bs), Taken::default()), Some(to_bs));
    }

    #[test]
    fn the_innermost_domain_wins_and_in_a_domain_the_entry_of_tunnels_before_the_exit() {
        let host = Addr::new(5, 1);
        let route = |domain, slot| {
            let via = Via::Tunnel(Addr::new(u32::from(slot), 0));
            HostRoute { via, watch: false, domain: DomainId(domain), slot: Slot(slot) }
        };
        let mut table = RouteTable::default();
        let (entry, exit, local) = (route(0, 0), route(0, 1), route(1, 2));
        for route in [exit, local, entry] {
            table.set_host(host, None, route);
        }
        let found = |table: &RouteTable, tunnel, taken| table.host(host, tunnel, || None, taken);
        let (none, tunnel) = (Taken::default(), Some(Addr::new(9, 0)));
        assert_eq!(found(&table, None, none), Some(local));
        assert_eq!(found(&table, None, none.with(Slot(2))), Some(entry), "it has had its turn");
        table.clear_host(host, Slot(2), None);
        assert_eq!(found(&table, None, none), Some(entry));
        assert_eq!(found(&table, tunnel, none), Some(exit));
        assert_eq!(found(&table, tunnel, none.with(Slot(1))), Some(entry));
        table.clear_host(host, Slot(0), Some(Addr::new(9, 0)));
        assert_eq!(found(&table, None, none.with(Slot(0)).with(Slot(1))), None);
        let from_here = Some(Addr::new(7, 0));
        table.set_host(host, from_here, exit);
        assert_eq!(table.host(host, None, || from_here, none), Some(exit), "where it comes from counts more");
    }
}
