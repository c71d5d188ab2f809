//! Where packets go next: shortest paths to prefixes, and host routes that mobility protocols set.

use crate::event::LinkId;
use roamlab_engine::Duration;
use roamlab_mobility::Via;
use roamlab_packet::Addr;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A host route.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct HostRoute {
    /// Where to.
    pub via: Via,
    /// Tell the agent of packets that take it.
    pub watch: bool,
}

/// The host routes for one mobile host.
#[derive(Clone, Debug)]
struct HostRoutes {
    host: Addr,
    /// For packets from an adjacent node or out of a tunnel that begins there.
    by_origin: Vec<(Addr, HostRoute)>,
    /// For packets from anywhere else.
    any: Option<HostRoute>,
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
    pub fn host(
        &self,
        dst: Addr,
        tunnel: Option<Addr>,
        from: impl FnOnce() -> Option<Addr>,
    ) -> Option<HostRoute> {
        if !dst.is_mobile() {
            return None;
        }
        let routes = &self.hosts[self.place(dst).ok()?];
        if routes.by_origin.is_empty() {
            return routes.any;
        }
        let route =
            |origin| routes.by_origin.iter().find(|(from, _)| *from == origin).map(|(_, route)| *route);
        tunnel.into_iter().chain(from()).find_map(route).or(routes.any)
    }

    /// Sets a host route.
    pub fn set_host(&mut self, host: Addr, from: Option<Addr>, route: HostRoute) {
        debug_assert!(host.is_mobile(), "a host route for {host}");
        let place = self.place(host).unwrap_or_else(|place| {
            self.hosts.insert(place, HostRoutes { host, by_origin: Vec::new(), any: None });
            place
        });
        let routes = &mut self.hosts[place];
        let Some(from) = from else {
            routes.any = Some(route);
            return;
        };
        routes.by_origin.retain(|(origin, _)| *origin != from);
        routes.by_origin.push((from, route));
    }

    /// Forgets a host route.
    pub fn clear_host(&mut self, host: Addr, from: Option<Addr>) {
        let Ok(place) = self.place(host) else { return };
        let routes = &mut self.hosts[place];
        match from {
            Some(from) => routes.by_origin.retain(|(origin, _)| *origin != from),
            None => routes.any = None,
        }
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
        let to_bs = HostRoute { via: Via::Neighbour(old_bs), watch: false };
        let to_new = HostRoute { via: Via::Tunnel(Addr::new(3, 0)), watch: false };
        table.set_host(host, None, to_bs);
        table.set_host(host, Some(old_bs), to_new);
        assert_eq!(table.host(host, None, || None), Some(to_bs));
        assert_eq!(table.host(host, None, || Some(Addr::new(7, 0))), Some(to_bs));
        assert_eq!(table.host(host, None, || Some(old_bs)), Some(to_new));
        table.clear_host(host, Some(old_bs));
        assert_eq!(table.host(host, None, || Some(old_bs)), Some(to_bs));
    }
}
