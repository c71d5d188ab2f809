//! The view of the network for the check and the installation of a protocol.

use roamlab_engine::{Duration, Rate};
use roamlab_packet::Addr;
use std::collections::BTreeMap;

/// A protocol's domain in its network: nodes, cells, hosts and ends of flows, by their names in the scenario.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Topology {
    /// Nodes that links join, in the order of their names.
    pub routers: Vec<String>,
    /// Wired links, without the backhauls of cells.
    pub links: Vec<LinkSite>,
    /// The node where packets for the hosts come in, if the scenario names it.
    pub gateway: Option<String>,
    /// Cells of the domain, in the order of their names.
    pub cells: Vec<CellSite>,
    /// Mobile hosts of the domain, in the order of the scenario.
    pub hosts: Vec<HostSite>,
    /// Both ends of all flows, in the order of their names.
    pub flow_ends: Vec<String>,
    /// Hosts measure their cells.
    pub measured: bool,
    /// T310: how long a host is out of sync until its link has failed; zero if it measures nothing.
    pub t310: Duration,
    /// Hosts and cells have positions.
    pub positions: bool,
    /// Time that layer 2 needs to change cells by default.
    pub gap: Duration,
    /// How long hosts are in two cells when they change.
    pub overlap: Duration,
    /// The address of every node; empty while a scenario is checked.
    pub addresses: BTreeMap<String, Addr>,
}

/// A wired link.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkSite {
    /// Its ends.
    pub between: [String; 2],
    /// Its one-way delay.
    pub delay: Duration,
}

/// A cell with its base station, which has the same name.
#[derive(Clone, PartialEq, Debug)]
pub struct CellSite {
    /// Its name.
    pub name: String,
    /// The access router.
    pub router: String,
    /// Rate of the air link.
    pub rate: Rate,
    /// One-way delay of the air link.
    pub delay: Duration,
}

/// A mobile host.
#[derive(Clone, PartialEq, Debug)]
pub struct HostSite {
    /// Its place in the scenario's list.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// The node that its home address belongs to.
    pub home: String,
    /// The cells that it visits, in order.
    pub visits: Vec<Stay>,
}

/// A visit of a host.
#[derive(Clone, PartialEq, Debug)]
pub struct Stay {
    /// The cell.
    pub cell: String,
    /// When the host turns to it.
    pub at: Duration,
    /// When it leaves it, if not for the next one.
    pub until: Option<Duration>,
}

impl Topology {
    /// The address of a node.
    ///
    /// # Panics
    /// If there is no node of this name: the check has refused it.
    pub fn address(&self, name: &str) -> Addr {
        self.addresses[name]
    }
}
