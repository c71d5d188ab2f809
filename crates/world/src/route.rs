//! Where packets go next: shortest paths to prefixes, and host routes that mobility protocols set.

use crate::cause::CauseId;
use crate::ids::{DomainId, LinkId, NodeId, Slot};
use roamlab_engine::Duration;
use roamlab_mobility::Via;
use roamlab_packet::Addr;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A host route. It belongs to the agent that set it, and only that agent replaces or forgets it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct HostRoute {
    /// The adjacent node, or the beginning of a tunnel, that its packets come from; `None`: anywhere.
    pub from: Option<Addr>,
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

impl HostRoute {
    /// Whether both are ways of the same packets.
    fn is_branch_of(&self, other: &HostRoute) -> bool {
        (self.from, self.slot) == (other.from, other.slot)
    }
}

/// Routes among those of a host that are not the first of their branches.
fn further_branches(routes: &[HostRoute]) -> usize {
    let is_further = |(index, route): (usize, &HostRoute)| {
        routes[..index].iter().any(|earlier| earlier.is_branch_of(route))
    };
    routes.iter().enumerate().filter(|&each| is_further(each)).count()
}

/// The host routes for one mobile host.
#[derive(Clone, Debug)]
struct HostRoutes {
    host: Addr,
    /// Those of the innermost domain first, in a domain in the order of its agents. Several of one agent for one origin
    /// are branches: packets take the first, and copies of them the others.
    routes: Vec<HostRoute>,
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
    /// Routes that are the second branch of another, or a further one.
    branches: usize,
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
        if let [only @ HostRoute { from: None, .. }] = routes.as_slice() {
            return (!taken.has(only.slot)).then_some(*only);
        }
        let origins = [tunnel, from()];
        let mut left = routes.as_slice();
        while let Some(first) = left.first() {
            let (domain, inward) = left.split_at(left.partition_point(|route| route.domain == first.domain));
            let open = || domain.iter().filter(|route| !taken.has(route.slot));
            let of = |origin: Addr| open().find(|route| route.from == Some(origin));
            let mut anywhere = open().filter(|route| route.from.is_none());
            let any = if tunnel.is_some() { anywhere.next_back() } else { anywhere.next() };
            if let Some(route) = origins.into_iter().flatten().find_map(of).or(any) {
                return Some(*route);
            }
            left = inward;
        }
        None
    }

    /// Whether any route has branches.
    pub fn has_branches(&self) -> bool {
        self.branches > 0
    }

    /// The other branches of a route for `dst`: each gets a copy of the packets that take it.
    pub fn branches(&self, dst: Addr, route: &HostRoute) -> Vec<Via> {
        let Ok(place) = self.place(dst) else { return Vec::new() };
        let beside = |other: &&HostRoute| other.is_branch_of(route) && other.via != route.via;
        self.hosts[place].routes.iter().filter(beside).map(|other| other.via).collect()
    }

    /// Sets a host route, in place of that of the same agent for the same origin and of its branches.
    pub fn set_host(&mut self, host: Addr, route: HostRoute) {
        self.clear_host(host, route.slot, route.from);
        self.insert(host, route);
    }

    /// Adds a branch to the agent's route for the same origin; without one it is the route.
    pub fn add_branch(&mut self, host: Addr, route: HostRoute) {
        let known = self.place(host).map_or(&[][..], |place| &self.hosts[place].routes);
        let beside = known.iter().filter(|other| other.is_branch_of(&route));
        let vias: Vec<Via> = beside.map(|other| other.via).collect();
        if !vias.contains(&route.via) {
            self.branches += usize::from(!vias.is_empty());
            self.insert(host, route);
        }
    }

    /// Forgets one branch, or the route if there is no other.
    pub fn remove_branch(&mut self, host: Addr, slot: Slot, from: Option<Addr>, via: Via) {
        self.forget(host, |known| (known.from, known.slot, known.via) == (from, slot, via));
    }

    /// Forgets a host route of an agent, and its branches.
    pub fn clear_host(&mut self, host: Addr, slot: Slot, from: Option<Addr>) {
        self.forget(host, |known| (known.from, known.slot) == (from, slot));
    }

    fn insert(&mut self, host: Addr, route: HostRoute) {
        debug_assert!(host.is_mobile(), "a host route for {host}");
        let place = self.place(host).unwrap_or_else(|place| {
            self.hosts.insert(place, HostRoutes { host, routes: Vec::new(), removed: CauseId::NONE });
            place
        });
        let routes = &mut self.hosts[place].routes;
        let order = |route: &HostRoute| (Reverse(route.domain), route.slot);
        let at = routes.partition_point(|known| order(known) <= order(&route));
        routes.insert(at, route);
    }

    fn forget(&mut self, host: Addr, unwanted: impl Fn(&HostRoute) -> bool) {
        let Ok(place) = self.place(host) else { return };
        let routes = &mut self.hosts[place].routes;
        self.branches -= further_branches(routes);
        routes.retain(|known| !unwanted(known));
        self.branches += further_branches(routes);
    }

    /// Notes what leads to the removal of a route of a host.
    pub fn note_removal(&mut self, host: Addr, cause: CauseId) {
        if let Ok(place) = self.place(host) {
            self.hosts[place].removed = cause;
        }
    }

    /// What led to the last removal of a route of a host.
    pub fn removed(&self, host: Addr) -> CauseId {
        self.place(host).map_or(CauseId::NONE, |place| self.hosts[place].removed)
    }

    /// What led to the route by which an agent sends a host's packets this way.
    pub fn cause(&self, host: Addr, slot: Slot, via: Via) -> CauseId {
        let Ok(place) = self.place(host) else { return CauseId::NONE };
        let mut routes = self.hosts[place].routes.iter();
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
    let mut incoming: Vec<Vec<&Edge>> = vec![Vec::new(); nodes];
    for edge in edges {
        outgoing[edge.from].push(*edge);
        incoming[edge.to].push(edge);
    }
    // A node that is joined to one other only is reached like that one: paths are searched without such nodes.
    let stub = |node: usize| match (outgoing[node].as_slice(), incoming[node].as_slice()) {
        ([out], [into]) if out.to == into.from => Some(**into),
        _ => None,
    };
    let stubs: Vec<Edge> = (0..nodes).filter_map(stub).collect();
    let core: Vec<Vec<Edge>> = outgoing
        .iter()
        .map(|edges| edges.iter().filter(|edge| stub(edge.to).is_none()).copied().collect())
        .collect();
    let mut ways = Ways::default();
    for (source, out) in outgoing.iter().enumerate() {
        if let [only] = out.as_slice() {
            ways.from.push(only.link.0);
            continue;
        }
        let start = ways.rows.len();
        ways.from.push(ROW | start as u32);
        ways.rows.extend(first_links(source, &core).map(|link| link.map_or(NOWHERE, |link| link.0)));
        let row = &mut ways.rows[start..];
        for into in &stubs {
            row[into.to] = if into.from == source { into.link.0 } else { row[into.from] };
        }
    }
    ways
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
                heap.push(Reverse((next, edge.to)));
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

    /// Routes to nodes that are joined to one other only are those of a search that knows of no such nodes.
    #[test]
    fn nodes_at_the_edge_are_reached_like_their_neighbours() {
        let mut edges = Vec::new();
        let mut join = |from: usize, to: usize, millis: u64| {
            let link = edges.len() as u32;
            edges.push(edge(link, from, to, millis));
            edges.push(edge(link + 1, to, from, millis));
        };
        // A ring of five with a chain of two and three nodes at its edge.
        for node in 0..5 {
            join(node, (node + 1) % 5, node as u64 + 1);
        }
        for (from, to) in [(0, 5), (5, 6), (0, 7), (2, 8), (2, 9)] {
            join(from, to, 1);
        }
        let ways = shortest_paths(10, &edges);
        let outgoing: Vec<Vec<Edge>> =
            (0..10).map(|node| edges.iter().filter(|edge| edge.from == node).copied().collect()).collect();
        for source in 0..10 {
            for (to, link) in first_links(source, &outgoing).enumerate().filter(|(to, _)| *to != source) {
                assert_eq!(ways.link(NodeId(source as u32), Addr::node(to as u32)), link, "{source} to {to}");
            }
        }
    }

    #[test]
    fn a_route_for_where_the_packet_comes_from_wins() {
        let (host, old_bs) = (Addr::new(5, 1), Addr::new(2, 0));
        let mut table = RouteTable::default();
        let (domain, slot) = (DomainId(0), Slot(0));
        let to_bs = HostRoute {
            from: None,
            via: Via::Neighbour(old_bs),
            watch: false,
            domain,
            slot,
            cause: CauseId::NONE,
        };
        let to_new = HostRoute { from: Some(old_bs), via: Via::Tunnel(Addr::new(3, 0)), ..to_bs };
        table.set_host(host, to_bs);
        table.set_host(host, to_new);
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
            HostRoute {
                from: None,
                via,
                watch: false,
                domain: DomainId(domain),
                slot: Slot(slot),
                cause: CauseId::NONE,
            }
        };
        let mut table = RouteTable::default();
        let (entry, exit, local) = (route(0, 0), route(0, 1), route(1, 2));
        for route in [exit, local, entry] {
            table.set_host(host, route);
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
        let of_here = HostRoute { from: from_here, ..exit };
        table.set_host(host, of_here);
        assert_eq!(
            table.host(host, None, || from_here, none),
            Some(of_here),
            "where it comes from counts more"
        );
    }

    #[test]
    fn branches_are_the_further_ways_of_one_agent_for_one_origin() {
        let host = Addr::new(5, 1);
        let to = |slot, next| HostRoute {
            from: None,
            via: Via::Neighbour(Addr::new(next, 0)),
            watch: false,
            domain: DomainId(0),
            slot: Slot(slot),
            cause: CauseId::NONE,
        };
        let mut table = RouteTable::default();
        let found = |table: &RouteTable| {
            let route = table.host(host, None, || None, Taken::default());
            route.map(|route| (route.via, table.branches(host, &route)))
        };
        table.add_branch(host, to(0, 1));
        assert_eq!(found(&table), Some((to(0, 1).via, vec![])), "the first branch is the route");
        table.add_branch(host, to(0, 2));
        table.add_branch(host, to(0, 1));
        table.add_branch(host, to(1, 3));
        assert_eq!(
            found(&table),
            Some((to(0, 1).via, vec![to(0, 2).via])),
            "another agent's is none of them"
        );
        table.remove_branch(host, Slot(0), None, to(0, 1).via);
        assert_eq!(found(&table), Some((to(0, 2).via, vec![])));
        table.add_branch(host, to(0, 4));
        table.set_host(host, to(0, 5));
        assert_eq!(found(&table), Some((to(0, 5).via, vec![])), "a new route has no branches");
        table.add_branch(host, to(0, 6));
        table.clear_host(host, Slot(0), None);
        assert_eq!((found(&table), table.branches), (Some((to(1, 3).via, vec![])), 0));
    }
}
