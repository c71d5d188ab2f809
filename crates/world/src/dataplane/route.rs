//! Routes: static routes, which are shortest paths, and host routes that mobility protocols set.

use crate::ids::{AgentIndex, DomainId};
use roamlab_engine::{Duration, prefetch_at};
use roamlab_mobility::Via;
use roamlab_packet::Addr;
use roamlab_record::cause::CauseId;
use roamlab_record::ids::{LinkId, NodeId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A host route. It belongs to the agent that set it, and only that agent replaces or forgets it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct HostRoute {
    /// The adjacent node, or the beginning of a tunnel, that its packets come from; `None`: anywhere.
    pub from: Option<Addr>,
    /// Where to.
    pub via: Via,
    /// (To a neighbour, over the air) the link there.
    pub link: Option<LinkId>,
    /// Tell the agent of packets that take it.
    pub watch: bool,
    /// It may send packets back to where they come from.
    pub may_redirect: bool,
    /// The domain of the agent.
    pub domain: DomainId,
    /// The agent.
    pub slot: AgentIndex,
    /// Its cause.
    pub cause: CauseId,
}

impl HostRoute {
    /// True if both are ways of the same packets.
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
    /// Those of the innermost domain first, in a domain in the order of its agents. Several of one agent for one origin
    /// are branches: packets take the first, and copies of them the others.
    routes: Vec<HostRoute>,
    /// Cause of the removal, if one was removed.
    removed: CauseId,
}

/// Agents of a node whose routes a packet has taken there.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct AgentSet(u64);

impl AgentSet {
    /// With one more agent.
    #[must_use]
    pub fn with(self, slot: AgentIndex) -> AgentSet {
        AgentSet(self.0 | 1 << u32::from(slot.0).min(63))
    }

    fn has(self, slot: AgentIndex) -> bool {
        self.0 & 1 << u32::from(slot.0).min(63) != 0
    }
}

/// Where the routes of a host are.
#[derive(Copy, Clone, Debug)]
struct Place {
    /// Their place in [`HostRouteTable::hosts`]; [`NOWHERE`], if it has had none.
    routes: u32,
    /// The link of [`HostLookup::Link`]; else [`NO_ROUTE`] or [`NOWHERE`].
    lookup: u32,
}

const NO_PLACE: Place = Place { routes: NOWHERE, lookup: NO_ROUTE };

/// A node's host routes for a host, as far as they do not depend on the origin of a packet.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum HostLookup {
    /// One route, for packets from anywhere, over this link; no agent watches it.
    Link(LinkId),
    /// No route.
    None,
    /// Several routes, or one that has to be looked at: see [`HostRouteTable::host`].
    Several,
}

/// The host routes of one node.
#[derive(Clone, Debug, Default)]
pub struct HostRouteTable {
    /// Of each host that has had a route, in the order of the first ones.
    hosts: Vec<HostRoutes>,
    /// The places of hosts there, by the numbers of their nodes from `first` on: every packet of a host asks.
    places: Vec<Place>,
    first: usize,
    /// Routes that are the second branch of another, or a further one.
    branches: usize,
}

impl HostRouteTable {
    /// Result of a look-up of routes for the host.
    #[inline]
    pub fn lookup(&self, host: Addr) -> HostLookup {
        match self.places.get(host.number().wrapping_sub(self.first)) {
            Some(&Place { lookup, .. }) if lookup < NO_ROUTE => HostLookup::Link(LinkId(lookup)),
            None | Some(Place { lookup: NO_ROUTE, .. }) => HostLookup::None,
            Some(_) => HostLookup::Several,
        }
    }

    /// The host route for `dst` for a packet that left a tunnel from `tunnel` here, or else came from the adjacent node
    /// `from`, who is asked for only if origins matter.
    ///
    /// Routes of the innermost domain that has any win. In a domain a route for where the packet comes from
    /// wins over one for packets from anywhere. Among those it is the first agent's, or, for a packet that
    /// left a tunnel here, the last agent's, because the entry of a tunnel (a home agent) precedes its exit
    /// (a foreign agent). Agents in `passed` have had their turn.
    #[inline]
    pub fn host(
        &self,
        dst: Addr,
        tunnel: Option<Addr>,
        from: impl FnOnce() -> Option<Addr>,
        passed: AgentSet,
    ) -> Option<&HostRoute> {
        let routes = self.routes(dst)?.routes.as_slice();
        if let [only @ HostRoute { from: None, .. }] = routes {
            return (!passed.has(only.slot)).then_some(only);
        }
        HostRouteTable::choose(routes, tunnel.or_else(from), tunnel.is_some(), passed)
    }

    /// The same of several routes, or of one for an origin.
    #[inline(never)]
    fn choose(
        routes: &[HostRoute],
        origin: Option<Addr>,
        left_tunnel: bool,
        passed: AgentSet,
    ) -> Option<&HostRoute> {
        let mut left = routes;
        while let Some(first) = left.first() {
            let (domain, inward) = left.split_at(left.partition_point(|route| route.domain == first.domain));
            let open = || domain.iter().filter(|route| !passed.has(route.slot));
            let of = |origin: Addr| open().find(|route| route.from == Some(origin));
            let mut anywhere = open().filter(|route| route.from.is_none());
            let any = if left_tunnel { anywhere.next_back() } else { anywhere.next() };
            if let Some(route) = origin.and_then(of).or(any) {
                return Some(route);
            }
            left = inward;
        }
        None
    }

    /// True if any route has branches.
    pub fn has_branches(&self) -> bool {
        self.branches > 0
    }

    /// The other branches of a route for `dst`: each gets a copy of the packets that take it.
    pub fn branches(&self, dst: Addr, route: &HostRoute) -> Vec<Via> {
        let beside = |other: &&HostRoute| other.is_branch_of(route) && other.via != route.via;
        self.all(dst).iter().filter(beside).map(|other| other.via).collect()
    }

    /// Sets a host route, in place of that of the same agent for the same origin and of its branches.
    pub fn set_host(&mut self, host: Addr, route: HostRoute) {
        self.clear_host(host, route.slot, route.from);
        self.insert(host, route);
    }

    /// Adds a branch to the agent's route for the same origin; without one it is the route.
    pub fn add_branch(&mut self, host: Addr, route: HostRoute) {
        let beside = self.all(host).iter().filter(|other| other.is_branch_of(&route));
        let vias: Vec<Via> = beside.map(|other| other.via).collect();
        if !vias.contains(&route.via) {
            self.branches += usize::from(!vias.is_empty());
            self.insert(host, route);
        }
    }

    /// Forgets one branch, or the route if there is no other.
    pub fn remove_branch(&mut self, host: Addr, slot: AgentIndex, from: Option<Addr>, via: Via) {
        self.forget(host, |known| (known.from, known.slot, known.via) == (from, slot, via));
    }

    /// Forgets a host route of an agent, and its branches.
    pub fn clear_host(&mut self, host: Addr, slot: AgentIndex, from: Option<Addr>) {
        self.forget(host, |known| (known.from, known.slot) == (from, slot));
    }

    fn insert(&mut self, host: Addr, route: HostRoute) {
        debug_assert!(host.is_mobile(), "a host route for {host}");
        let place = self.place(host).unwrap_or_else(|| self.add_host(host));
        let routes = &mut self.hosts[place].routes;
        let order = |route: &HostRoute| (Reverse(route.domain), route.slot);
        let at = routes.partition_point(|known| order(known) <= order(&route));
        routes.insert(at, route);
        self.update_lookup(host);
    }

    /// The routes of a host have changed.
    fn update_lookup(&mut self, host: Addr) {
        let lookup = match self.all(host) {
            [HostRoute { from: None, watch: false, may_redirect: false, link: Some(link), .. }] => link.0,
            [] => NO_ROUTE,
            _ => NOWHERE,
        };
        self.places[host.number() - self.first].lookup = lookup;
    }

    /// Makes a place for the routes of a host.
    fn add_host(&mut self, host: Addr) -> usize {
        let number = host.number();
        if self.places.is_empty() {
            self.first = number;
        }
        let before = self.first.saturating_sub(number);
        self.places.splice(..0, std::iter::repeat_n(NO_PLACE, before));
        self.first -= before;
        let end = self.places.len().max(number - self.first + 1);
        self.places.resize(end, NO_PLACE);
        self.places[number - self.first].routes = self.hosts.len() as u32;
        self.hosts.push(HostRoutes { routes: Vec::new(), removed: CauseId::NONE });
        self.hosts.len() - 1
    }

    fn forget(&mut self, host: Addr, unwanted: impl Fn(&HostRoute) -> bool) {
        let Some(place) = self.place(host) else { return };
        let routes = &mut self.hosts[place].routes;
        self.branches -= further_branches(routes);
        routes.retain(|known| !unwanted(known));
        self.branches += further_branches(routes);
        self.update_lookup(host);
    }

    /// Notes what leads to the removal of a route of a host.
    pub fn note_removal(&mut self, host: Addr, cause: CauseId) {
        if let Some(place) = self.place(host) {
            self.hosts[place].removed = cause;
        }
    }

    /// Cause of the last removal of a route of a host.
    pub fn removed(&self, host: Addr) -> CauseId {
        self.routes(host).map_or(CauseId::NONE, |routes| routes.removed)
    }

    /// Cause of the route by which an agent sends a host's packets this way.
    pub fn cause(&self, host: Addr, slot: AgentIndex, via: Via) -> CauseId {
        let mut routes = self.all(host).iter();
        routes.find(|route| (route.slot, route.via) == (slot, via)).map_or(CauseId::NONE, |route| route.cause)
    }

    fn all(&self, host: Addr) -> &[HostRoute] {
        self.routes(host).map_or(&[], |routes| &routes.routes)
    }

    #[inline]
    fn routes(&self, host: Addr) -> Option<&HostRoutes> {
        self.hosts.get(self.place(host)?)
    }

    /// Where the routes of a host are, if it has had any.
    #[inline]
    fn place(&self, host: Addr) -> Option<usize> {
        let place = *self.places.get(host.number().wrapping_sub(self.first))?;
        (host.is_mobile() && place.routes != NOWHERE).then_some(place.routes as usize)
    }
}

/// The static routes of a network: the link of the shortest path from a node towards another. Four bytes a node: the only
/// link out of it, or the place of its row in a table by destination.
#[derive(Clone, Debug, Default)]
pub struct StaticRoutes {
    from: Vec<u32>,
    rows: Vec<u32>,
    /// Of a mobile host's node: the node that its packets are routed to.
    homes: Vec<u32>,
}

/// In [`StaticRoutes::from`]: the other bits are the place of a row.
const ROW: u32 = 1 << 31;
/// In [`StaticRoutes::from`]: packets at this node may need more than the shortest path.
const SPECIAL: u32 = 1 << 30;
/// In a row: no link leads there. Among places of hosts: it has none.
const NOWHERE: u32 = u32::MAX;
/// See [`HostLookup::None`].
const NO_ROUTE: u32 = u32::MAX - 1;

impl StaticRoutes {
    /// Link from `node` towards `dst`; for a mobile host, towards its home.
    #[inline(always)]
    pub fn link(&self, node: NodeId, dst: Addr) -> Option<LinkId> {
        let entry = self.from[node.0 as usize] & !SPECIAL;
        if entry & ROW == 0 {
            return Some(LinkId(entry));
        }
        let to = if dst.is_mobile() { self.home(dst)?.0 as usize } else { dst.number() };
        let link = *self.rows.get((entry & !ROW) as usize + to)?;
        (link != NOWHERE).then_some(LinkId(link))
    }

    /// Brings what [`link`](Self::link) reads into the cache.
    #[inline(always)]
    pub fn prefetch(&self, node: NodeId, dst: Addr) {
        prefetch_at(&self.from, node.0 as usize);
        if let Some(&entry) = self.from.get(node.0 as usize)
            && entry & ROW != 0
        {
            prefetch_at(&self.rows, (entry & !SPECIAL & !ROW) as usize + dst.number());
        }
    }

    /// True if the shortest path is all that packets need at a node.
    #[inline]
    pub fn is_plain(&self, node: NodeId) -> bool {
        self.from[node.0 as usize] & SPECIAL == 0
    }

    /// Packets at a node may need more than the shortest path.
    pub fn mark_special(&mut self, node: NodeId) {
        self.from[node.0 as usize] |= SPECIAL;
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

/// The static routes between `nodes` nodes: shortest paths by delay, then by number of hops, then by the order of the links. A node
/// with one way out sends everything that way.
pub fn shortest_paths(nodes: usize, edges: &[Edge]) -> StaticRoutes {
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
    let mut routes = StaticRoutes::default();
    for (source, out) in outgoing.iter().enumerate() {
        if let [only] = out.as_slice() {
            routes.from.push(only.link.0);
            continue;
        }
        let start = routes.rows.len();
        routes.from.push(ROW | start as u32);
        routes.rows.extend(first_links(source, &core).map(|link| link.map_or(NOWHERE, |link| link.0)));
        let row = &mut routes.rows[start..];
        for into in &stubs {
            row[into.to] = if into.from == source { into.link.0 } else { row[into.from] };
        }
    }
    routes
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
mod tests;
