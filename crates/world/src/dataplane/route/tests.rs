//! Shortest paths, and the host route that a packet takes.

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

/// Routes to nodes that are joined to one other only are those of a search without such nodes.
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
    let mut table = HostRouteTable::default();
    let (domain, slot) = (DomainId(0), AgentIndex(0));
    let to_bs = HostRoute {
        from: None,
        via: Via::Neighbour(old_bs),
        link: None,
        watch: false,
        may_redirect: false,
        domain,
        slot,
        cause: CauseId::NONE,
    };
    let to_new = HostRoute { from: Some(old_bs), via: Via::Tunnel(Addr::new(3, 0)), ..to_bs };
    table.set_host(host, to_bs);
    table.set_host(host, to_new);
    assert_eq!(table.host(host, None, || None, AgentSet::default()), Some(&to_bs));
    assert_eq!(table.host(host, None, || Some(Addr::new(7, 0)), AgentSet::default()), Some(&to_bs));
    assert_eq!(table.host(host, None, || Some(old_bs), AgentSet::default()), Some(&to_new));
    table.clear_host(host, slot, Some(old_bs));
    assert_eq!(table.host(host, None, || Some(old_bs), AgentSet::default()), Some(&to_bs));
}

#[test]
fn the_innermost_domain_wins_and_in_a_domain_the_entry_of_tunnels_before_the_exit() {
    let host = Addr::new(5, 1);
    let route = |domain, slot| {
        let via = Via::Tunnel(Addr::new(u32::from(slot), 0));
        HostRoute {
            from: None,
            via,
            link: None,
            watch: false,
            may_redirect: false,
            domain: DomainId(domain),
            slot: AgentIndex(slot),
            cause: CauseId::NONE,
        }
    };
    let mut table = HostRouteTable::default();
    let (entry, exit, local) = (route(0, 0), route(0, 1), route(1, 2));
    for route in [exit, local, entry] {
        table.set_host(host, route);
    }
    let found = |table: &HostRouteTable, tunnel, taken| table.host(host, tunnel, || None, taken).copied();
    let (none, tunnel) = (AgentSet::default(), Some(Addr::new(9, 0)));
    assert_eq!(found(&table, None, none), Some(local));
    assert_eq!(found(&table, None, none.with(AgentIndex(2))), Some(entry), "it has had its turn");
    table.clear_host(host, AgentIndex(2), None);
    assert_eq!(found(&table, None, none), Some(entry));
    assert_eq!(found(&table, tunnel, none), Some(exit));
    assert_eq!(found(&table, tunnel, none.with(AgentIndex(1))), Some(entry));
    table.clear_host(host, AgentIndex(0), Some(Addr::new(9, 0)));
    assert_eq!(found(&table, None, none.with(AgentIndex(0)).with(AgentIndex(1))), None);
    let from_here = Some(Addr::new(7, 0));
    let of_here = HostRoute { from: from_here, ..exit };
    table.set_host(host, of_here);
    assert_eq!(table.host(host, None, || from_here, none), Some(&of_here), "where it comes from counts more");
}

#[test]
fn hosts_of_any_numbers_have_routes_of_their_own() {
    let mut table = HostRouteTable::default();
    let numbers = [40, 7, 41, 3, 1000, 6];
    let route = |number: u32| HostRoute {
        from: None,
        via: Via::Tunnel(Addr::node(number)),
        link: None,
        watch: false,
        may_redirect: false,
        domain: DomainId(0),
        slot: AgentIndex(0),
        cause: CauseId(number),
    };
    let found = |table: &HostRouteTable, addr| table.host(addr, None, || None, AgentSet::default()).copied();
    for number in numbers {
        table.set_host(Addr::mobile(number), route(number));
    }
    for number in 0..1010 {
        let known = numbers.contains(&number).then(|| route(number));
        assert_eq!(found(&table, Addr::mobile(number)), known, "{number}");
        assert_eq!(found(&table, Addr::node(number)), None, "a fixed node of that number");
    }
    assert_eq!(found(&table, Addr::BROADCAST), None);
}

#[test]
fn branches_are_the_further_ways_of_one_agent_for_one_origin() {
    let host = Addr::new(5, 1);
    let to = |slot, next| HostRoute {
        from: None,
        via: Via::Neighbour(Addr::new(next, 0)),
        link: None,
        watch: false,
        may_redirect: false,
        domain: DomainId(0),
        slot: AgentIndex(slot),
        cause: CauseId::NONE,
    };
    let mut table = HostRouteTable::default();
    let found = |table: &HostRouteTable| {
        let route = table.host(host, None, || None, AgentSet::default());
        route.map(|route| (route.via, table.branches(host, route)))
    };
    table.add_branch(host, to(0, 1));
    assert_eq!(found(&table), Some((to(0, 1).via, vec![])), "the first branch is the route");
    table.add_branch(host, to(0, 2));
    table.add_branch(host, to(0, 1));
    table.add_branch(host, to(1, 3));
    assert_eq!(found(&table), Some((to(0, 1).via, vec![to(0, 2).via])), "another agent's is none of them");
    table.remove_branch(host, AgentIndex(0), None, to(0, 1).via);
    assert_eq!(found(&table), Some((to(0, 2).via, vec![])));
    table.add_branch(host, to(0, 4));
    table.set_host(host, to(0, 5));
    assert_eq!(found(&table), Some((to(0, 5).via, vec![])), "a new route has no branches");
    table.add_branch(host, to(0, 6));
    table.clear_host(host, AgentIndex(0), None);
    assert_eq!((found(&table), table.branches), (Some((to(1, 3).via, vec![])), 0));
}

#[test]
fn only_a_single_route_that_nobody_watches_names_the_link() {
    let host = Addr::mobile(7);
    let to = |slot, link| HostRoute {
        from: None,
        via: Via::Neighbour(Addr::node(link)),
        link: Some(LinkId(link)),
        watch: false,
        may_redirect: false,
        domain: DomainId(0),
        slot: AgentIndex(slot),
        cause: CauseId::NONE,
    };
    let mut table = HostRouteTable::default();
    assert_eq!(table.lookup(host), HostLookup::None);
    table.set_host(host, to(0, 3));
    assert_eq!(table.lookup(host), HostLookup::Link(LinkId(3)));
    assert_eq!(table.lookup(Addr::mobile(5)), HostLookup::None);
    table.set_host(Addr::mobile(5), to(0, 4));
    assert_eq!(table.lookup(host), HostLookup::Link(LinkId(3)), "places have moved");
    table.set_host(host, to(1, 4));
    assert_eq!(table.lookup(host), HostLookup::Several, "a second agent has a route");
    table.clear_host(host, AgentIndex(0), None);
    assert_eq!(table.lookup(host), HostLookup::Link(LinkId(4)));
    table.add_branch(host, to(1, 5));
    assert_eq!(table.lookup(host), HostLookup::Several, "a branch");
    for other in
        [HostRoute { watch: true, ..to(1, 4) }, HostRoute { link: None, via: Via::Buffer, ..to(1, 4) }]
    {
        table.set_host(host, other);
        assert_eq!(table.lookup(host), HostLookup::Several, "{other:?}");
    }
    table.set_host(host, HostRoute { from: Some(Addr::node(1)), ..to(1, 4) });
    assert_eq!(table.lookup(host), HostLookup::Several, "nor one for an origin");
    table.clear_host(host, AgentIndex(1), None);
    assert_eq!(table.lookup(host), HostLookup::Several, "that for an origin is left");
    table.clear_host(host, AgentIndex(1), Some(Addr::node(1)));
    assert_eq!(table.lookup(host), HostLookup::None, "it has no route any more");
}
