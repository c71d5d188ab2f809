//! Where packets go next: shortest paths to prefixes, and host routes that mobility protocols set.

use crate::agents::{DomainId, Slot};
use crate::cause::CauseId;
use crate::event::{LinkId, NodeId};
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
    /// What led to it.
    pub cause: CauseId,
}

/// The host routes for one mobile host.
#[derive(Clone, Debug)]
struct HostRoutes {
    host: Addr,
    /// Each with the adjacent node, or the beginning of a tunnel, that its packets come from; `None`: anywhere. Those
    /// of the innermost domain first, in a domain in the order of its agents.
    routes: Vec<(Option<Addr>, HostRoute)>,
    /// What led to the removal of one, if any was removed.
    removed: CauseId,
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

/// The host routes of one node.
#[derive(Clone, Debug, Default)]
pub struct RouteTable {
    /// In the order of the hosts.
    hosts: Vec<HostRoutes>,
}

impl RouteTable {
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
            self.hosts.insert(place, HostRoutes { host, routes: Vec::new(), removed: CauseId::NONE });
            place
        });
        let routes = &mut self.hosts[place].routes;
        routes.retain(|(origin, known)| (*origin, known.slot) != (from, route.slot));
        let order = |route: &HostRoute| (std::cmp::Reverse(route.domain), route.slot);
        let at = routes.partition_point(|(_, known)| order(known) <= order(&route));
        routes.insert(at, (from, route));
    }

    /// Forgets a host route of an agent.
    pub fn clear_host(&mut self, host: Addr, slot: Slot, from: Option<Addr>, cause: CauseId) {
        let Ok(place) = self.place(host) else { return };
        self.hosts[place].removed = cause;
        self.hosts[place].routes.retain(|(origin, known)| (*origin, known.slot) != (from, slot));
    }

    /// What led to the last removal of a route of a host.
    pub fn removed(&self, host: Addr) -> CauseId {
        self.place(host).map_or(CauseId::NONE, |place| self.hosts[place].removed)
    }

    /// What led to the route by which an agent sends a host's packets this way.
    pub fn cause(&self, host: Addr, slot: Slot, via: Via) -> CauseId {
        let Ok(place) = self.place(host) else { return CauseId::NONE };
        let mut routes = self.hosts[place].routes.iter().map(|(_, route)| route);
        routes.find(|route| (route.slot, route.via) == (slot, via)).map_or(CauseId::NONE, |route| route.cause)
    }

    /// Where the routes of a host are, or would be.
    fn place(&self, host: Addr) -> Result<usize, usize> {
        self.hosts.binary_search_by_key(&host, |routes| routes.host)
    }
}

/// The shortest paths of a network: which link leads from a node towards another. Four bytes a node: the only link out of
/// it, or the place of its row in a table by destination.
#[derive(Clone, Debug, Default)]
pub struct Ways {
    from: Vec<u32>,
    rows: Vec<u32>,
    /// Of a mobile host's node: the node that its packets are routed to.
    homes: Vec<u32>,
}

/// In [`Ways::from`]: the other bits are the place of a row.
const ROW: u32 = 1 << 31;
/// In a row: no link leads there.
const NOWHERE: u32 = u32::MAX;

impl Ways {
    /// Link from `node` towards `dst`; for a mobile host, towards its home.
    #[inline]
    pub fn link(&self, node: NodeId, dst: Addr) -> Option<LinkId> {
        let way = self.from[node.0 as usize];
        if way & ROW == 0 {
            return Some(LinkId(way));
        }
        let to = if dst.is_mobile() { self.home(dst)?.0 as usize } else { dst.number() };
        let link = *self.rows.get((way & !ROW) as usize + to)?;
        (link != NOWHERE).then_some(LinkId(link))
    }

    /// The node that packets for a mobile host are routed to.
    pub fn home(&self, host: Addr) -> Option<NodeId> {
        self.homes.get(host.number()).copied().filter(|&home| home != NOWHERE).map(NodeId)
    }

    /// Adds a mobile host, whose node has the next number.
    pub fn add_host(&mut self, home: NodeId) {
        // It has one way only, its uplink, and that changes.
        let number = self.from.len();
        self.from.push(NOWHERE);
        self.homes.resize(number, NOWHERE);
        self.homes.push(home.0);
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

/// The ways between `nodes` nodes: shortest paths by delay, then by number of hops, then by the order of the links. A node
/// with one way out sends everything that way.
pub fn shortest_paths(nodes: usize, edges: &[Edge]) -> Ways {
    let mut outgoing = vec![Vec::new(); nodes];
    for edge in edges {
        outgoing[edge.from].push(*edge);
    }
    let mut ways = Ways::default();
    for source in 0..nodes {
        if let [only] = outgoing[source].as_slice() {
            ways.from.push(only.link.0);
            continue;
        }
        ways.from.push(ROW | ways.rows.len() as u32);
        ways.rows.extend(first_links(source, &outgoing).map(|link| link.map_or(NOWHERE, |link| link.0)));
    }
    ways
}

/// Whether the only way out is to `node`: nothing else is reached through there.
fn leads_back(outgoing: &[Edge], node: usize) -> bool {
    matches!(outgoing, [only] if only.to == node)
}

/// The first link of the shortest path from `source` to every node (Dijkstra).
fn first_links(source: usize, outgoing: &[Vec<Edge>]) -> impl Iterator<Item = Option<LinkId>> {
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
                if !leads_back(&outgoing[edge.to], node) {
                    heap.push(Reverse((next, edge.to)));
                }
            }
        }
    }
    first.into_iter()
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
        let mut ways = shortest_paths(3, &edges);
        ways.add_host(NodeId(1));
        let link = |node, dst| ways.link(NodeId(node), dst);
        assert_eq!(link(0, Addr::node(1)), Some(LinkId(1)));
        assert_eq!(link(0, Addr::mobile(3)), Some(LinkId(1)), "towards its home");
        assert_eq!(link(1, Addr::node(0)), None, "links are one-way");
        assert_eq!((link(0, Addr::node(9)), link(0, Addr::BROADCAST)), (None, None));
        assert_eq!(link(2, Addr::node(9)), Some(LinkId(2)), "one way out is a default route");
    }

    #[test]
    fn a_route_for_where_the_packet_comes_from_wins() {
        let (host, old_bs) = (Addr::new(5, 1), Addr::new(2, 0));
        let mut table = RouteTable::default();
        let (domain, slot) = (DomainId(0), Slot(0));
        let to_bs =
            HostRoute { via: Via::Neighbour(old_bs), watch: false, domain, slot, cause: CauseId::NONE };
        let to_new = HostRoute { via: Via::Tunnel(Addr::new(3, 0)), ..to_bs };
        table.set_host(host, None, to_bs);
        table.set_host(host, Some(old_bs), to_new);
        assert_eq!(table.host(host, None, || None, Taken::default()), Some(to_bs));
        assert_eq!(table.host(host, None, || Some(Addr::new(7, 0)), Taken::default()), Some(to_bs));
        assert_eq!(table.host(host, None, || Some(old_bs), Taken::default()), Some(to_new));
        table.clear_host(host, slot, Some(old_bs), CauseId::NONE);
        assert_eq!(table.host(host, None, || Some(old_bs), Taken::default()), Some(to_bs));
    }

    #[test]
    fn the_innermost_domain_wins_and_in_a_domain_the_entry_of_tunnels_before_the_exit() {
        let host = Addr::new(5, 1);
        let route = |domain, slot| {
            let via = Via::Tunnel(Addr::new(u32::from(slot), 0));
            HostRoute { via, watch: false, domain: DomainId(domain), slot: Slot(slot), cause: CauseId::NONE }
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
        table.clear_host(host, Slot(2), None, CauseId::NONE);
        assert_eq!(found(&table, None, none), Some(entry));
        assert_eq!(found(&table, tunnel, none), Some(exit));
        assert_eq!(found(&table, tunnel, none.with(Slot(1))), Some(entry));
        table.clear_host(host, Slot(0), Some(Addr::new(9, 0)), CauseId::NONE);
        assert_eq!(found(&table, None, none.with(Slot(0)).with(Slot(1))), None);
        let from_here = Some(Addr::new(7, 0));
        table.set_host(host, from_here, exit);
        assert_eq!(table.host(host, None, || from_here, none), Some(exit), "where it comes from counts more");
    }
}
