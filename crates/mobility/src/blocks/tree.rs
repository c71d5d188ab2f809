//! The paths between base stations and the gateway.

use crate::{Refusal, Topology};
use roamlab_engine::Duration;
use std::collections::{BTreeMap, BTreeSet};

/// The gateway of a domain: the one that is named, or else the home of all its hosts.
///
/// # Errors
/// A host has another home than the first, and no gateway is named.
pub fn gateway(topology: &Topology) -> Result<Option<&str>, Refusal> {
    if let Some(gateway) = &topology.gateway {
        return Ok(Some(gateway));
    }
    let Some(first) = topology.hosts.first() else { return Ok(None) };
    match topology.hosts.iter().find(|host| host.home != first.home) {
        None => Ok(Some(&first.home)),
        Some(other) => {
            let message =
                format!("\"{}\" is the home of another host, and one gateway serves all", first.home);
            let refusal = Refusal::elsewhere(format!("hosts[{}].home", other.number), message);
            Err(refusal.help("write the same node, or name the gateway: `domain = { gateway = \"...\" }`"))
        }
    }
}

/// Refuses a domain without one gateway, or with a base station that no link leads to.
///
/// # Errors
/// As of [`gateway`] and [`AccessTree::new`].
pub fn check_tree(topology: &Topology) -> Result<(), Refusal> {
    gateway(topology)?.map_or(Ok(()), |gateway| AccessTree::new(topology, gateway).map(|_| ()))
}

/// The nodes on the shortest ways from a domain's base stations to its gateway, and who is next to whom.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessTree {
    uplinks: BTreeMap<String, Option<String>>,
    neighbours: BTreeMap<String, BTreeSet<String>>,
    /// Delay and hops from the gateway to the router of each cell.
    distances: BTreeMap<String, (Duration, u32)>,
}

impl AccessTree {
    /// Shortest by delay, then by hops, then by name.
    ///
    /// # Errors
    /// A base station's router that no link leads to from the gateway.
    pub fn new(topology: &Topology, gateway: &str) -> Result<AccessTree, Refusal> {
        let mut links: BTreeMap<&str, Vec<(&str, Duration)>> = BTreeMap::new();
        for link in &topology.links {
            let [one, other] = link.between.each_ref().map(String::as_str);
            links.entry(one).or_default().push((other, link.delay));
            links.entry(other).or_default().push((one, link.delay));
        }
        // By the distance from the gateway; the node before it on the way.
        let mut before: BTreeMap<&str, Option<&str>> = BTreeMap::new();
        let mut distances: BTreeMap<&str, (Duration, u32)> = BTreeMap::new();
        let mut open = BTreeSet::from([(Duration::ZERO, 0u32, gateway, None)]);
        while let Some((distance, hops, node, from)) = open.pop_first() {
            if before.contains_key(node) {
                continue;
            }
            before.insert(node, from);
            distances.insert(node, (distance, hops));
            for (next, delay) in links.get(node).into_iter().flatten() {
                open.insert((distance + *delay, hops + 1, next, Some(node)));
            }
        }
        let mut tree =
            AccessTree { uplinks: BTreeMap::new(), neighbours: BTreeMap::new(), distances: BTreeMap::new() };
        tree.uplinks.insert(gateway.into(), None);
        for cell in &topology.cells {
            if !before.contains_key(cell.router.as_str()) {
                let message = format!("no links lead from \"{gateway}\" to \"{}\"", cell.router);
                let refusal = Refusal::elsewhere(format!("cells.{}.router", cell.name), message);
                return Err(refusal.help("link them, or leave the cell out: `domain = { cells = [...] }`"));
            }
            tree.uplinks.insert(cell.name.clone(), Some(cell.router.clone()));
            tree.distances.insert(cell.name.clone(), distances[cell.router.as_str()]);
            let mut node = cell.router.as_str();
            while let Some(Some(next)) = before.get(node) {
                tree.uplinks.insert(node.into(), Some((*next).into()));
                node = next;
            }
        }
        let wired = topology.links.iter().map(|link| link.between.clone());
        let backhauls = topology.cells.iter().map(|cell| [cell.name.clone(), cell.router.clone()]);
        for [one, other] in wired.chain(backhauls) {
            if tree.uplinks.contains_key(&one) && tree.uplinks.contains_key(&other) {
                tree.neighbours.entry(one.clone()).or_default().insert(other.clone());
                tree.neighbours.entry(other).or_default().insert(one);
            }
        }
        Ok(tree)
    }

    /// Each node with the next one on its way to the gateway; the gateway itself with none.
    pub fn nodes(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.uplinks.iter().map(|(node, uplink)| (node.as_str(), uplink.as_deref()))
    }

    /// Delay and hops from the gateway to the router of a cell; `None`: the cell is not in the tree.
    pub fn distance(&self, cell: &str) -> Option<(Duration, u32)> {
        self.distances.get(cell).copied()
    }

    /// The nodes of the tree that are adjacent to one.
    pub fn neighbours(&self, node: &str) -> impl Iterator<Item = &str> {
        self.neighbours.get(node).into_iter().flatten().map(String::as_str)
    }

    /// A node, and those on its way to the gateway, in order.
    pub fn way<'a>(&'a self, node: &'a str) -> impl Iterator<Item = &'a str> {
        std::iter::successors(Some(node), |node| self.uplinks.get(*node)?.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CellSite, HostSite, LinkSite};
    use roamlab_engine::Rate;

    /// gw – a – b and, shorter, gw – c – b; d hangs on c and is a dead end.
    fn network() -> Topology {
        let links = [("gw", "a", 5), ("a", "b", 5), ("gw", "c", 1), ("b", "c", 2), ("c", "d", 1)];
        let link = |(one, other, delay): (&str, &str, u64)| LinkSite {
            between: [one.into(), other.into()],
            delay: Duration::from_millis(delay),
        };
        let cell = |(name, router): (&str, &str)| CellSite {
            name: name.into(),
            router: router.into(),
            rate: Rate::from_bps(1),
            delay: Duration::ZERO,
        };
        let host = |number: usize, home: &str| HostSite {
            number,
            name: format!("mh{number}"),
            home: home.into(),
            visits: Vec::new(),
        };
        Topology {
            links: links.map(link).into(),
            cells: [("bs1", "b"), ("bs2", "c")].map(cell).into(),
            hosts: vec![host(0, "gw"), host(1, "gw")],
            ..Topology::default()
        }
    }

    #[test]
    fn ways_to_the_gateway_are_the_shortest() {
        let tree = AccessTree::new(&network(), "gw").unwrap();
        let nodes: Vec<_> = tree.nodes().collect();
        let expected = [("b", Some("c")), ("bs1", Some("b")), ("bs2", Some("c")), ("c", Some("gw"))];
        assert_eq!(nodes, [&expected[..], &[("gw", None)]].concat());
        assert_eq!(tree.neighbours("c").collect::<Vec<_>>(), ["b", "bs2", "gw"]);
        assert_eq!(tree.way("bs1").collect::<Vec<_>>(), ["bs1", "b", "c", "gw"]);
        let far = |cell| tree.distance(cell);
        let ms = Duration::from_millis;
        assert_eq!((far("bs1"), far("bs2"), far("b")), (Some((ms(3), 2)), Some((ms(1), 1)), None));
    }

    #[test]
    fn one_gateway_serves_all() {
        let mut network = network();
        assert_eq!(gateway(&network), Ok(Some("gw")));
        network.hosts[1].home = "a".into();
        assert_eq!(gateway(&network).unwrap_err().field, "hosts[1].home");
        network.gateway = Some("d".into());
        assert_eq!(gateway(&network), Ok(Some("d")));
        assert_eq!(gateway(&Topology::default()), Ok(None));
    }

    #[test]
    fn a_cell_that_no_link_leads_to_is_refused() {
        let mut network = network();
        network.cells[1].router = "island".into();
        let refusal = AccessTree::new(&network, "gw").unwrap_err();
        assert_eq!((refusal.field.as_str(), refusal.elsewhere), ("cells.bs2.router", true));
    }
}
