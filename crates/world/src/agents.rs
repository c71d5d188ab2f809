//! Who plays which role of the mobility protocols, and what each protocol asks of the world.

use crate::ids::{DomainId, NodeId};
use crate::node::{Node, Resident};
use crate::scenario::Scenario;
use roamlab_engine::{Bytes, Streams};
use roamlab_mobility::{CellSite, HostSite, LinkSite, MobilitySpec, Placement, Prediction, Stay, Topology};
use roamlab_packet::{Addr, Dscp};
use std::collections::{BTreeMap, BTreeSet};

/// A mobility protocol in its part of the network.
#[derive(Debug)]
pub struct Domain {
    /// Home addresses of its hosts.
    pub hosts: BTreeSet<Addr>,
    /// Bytes that a tunnel adds.
    pub tunnel_overhead: Bytes,
    /// Bytes that a tunnel from a base station adds.
    pub forwarding_overhead: Bytes,
    /// A packet that leaves a tunnel, or comes to the host's home, without a route is discarded.
    pub discards_unknown: bool,
    /// A message from a node to itself is delivered at once.
    pub delivers_to_self: bool,
}

/// What the protocols of a run ask of the world.
pub struct Setting {
    /// The protocols.
    pub domains: Vec<Domain>,
    /// Handovers that base stations are told of in advance.
    pub predictions: Vec<Prediction>,
    /// The code point that marks forwarded packets.
    pub mark: Dscp,
}

/// Gives every node its agents.
pub fn install(
    scenario: &Scenario,
    nodes: &mut [Node],
    ids: &BTreeMap<&str, NodeId>,
    streams: &Streams,
) -> Setting {
    let mut setting = Setting { domains: Vec::new(), predictions: Vec::new(), mark: Dscp::FORWARDED };
    let address = |name: &str| nodes[ids[name].0 as usize].addr;
    let by_address: BTreeMap<Addr, NodeId> = ids.iter().map(|(name, id)| (address(name), *id)).collect();
    let addresses: BTreeMap<String, Addr> = ids.keys().map(|&name| (name.into(), address(name))).collect();
    for (number, (table, spec)) in scenario.protocols().enumerate() {
        let topology = Topology { addresses: addresses.clone(), ..topology(scenario, spec) };
        // Of two protocols each has streams of its own, and a second one changes nothing for the first.
        let prefix = if number == 0 { String::new() } else { format!("{table}/") };
        let installed = spec.install(&topology, &|component| streams.named(&format!("{prefix}{component}")));
        let id = DomainId(number as u16);
        for placement in installed.roles {
            let node = &mut nodes[by_address[&placement.at].0 as usize];
            node.watches_uplink |= placement.watches_uplink;
            let Placement { role: agent, buffering, watches_uplink, .. } = placement;
            let timers = BTreeMap::new();
            node.agents.push(Resident { domain: id, agent, buffering, watches_uplink, timers });
        }
        let hosts: BTreeSet<Addr> = topology.hosts.iter().map(|host| topology.address(&host.name)).collect();
        for host in hosts.iter().filter(|_| installed.drops_duplicates) {
            if let Some(mobile) = &mut nodes[by_address[host].0 as usize].mobile {
                mobile.drops_duplicates = true;
            }
        }
        let overhead = scenario.network.tunnel_overhead;
        setting.domains.push(Domain {
            hosts,
            tunnel_overhead: installed.tunnel_overhead.unwrap_or(overhead),
            forwarding_overhead: installed.forwarding_overhead.unwrap_or(overhead),
            discards_unknown: installed.discards_unknown,
            delivers_to_self: installed.delivers_to_self,
        });
        setting.mark = spec.mark().unwrap_or(setting.mark);
        setting.predictions.extend(installed.predictions);
    }
    setting
}

/// The part of the network that a protocol is about, without addresses.
pub fn topology(scenario: &Scenario, spec: &MobilitySpec) -> Topology {
    let domain = spec.domain();
    let routers: BTreeSet<&String> = scenario.links.iter().flat_map(|link| &link.between).collect();
    let flow_ends: BTreeSet<&String> = scenario.flows.iter().flat_map(|flow| &flow.path).collect();
    let cells = scenario.cells.iter().filter(|(name, _)| domain.has_cell(name));
    let cells = cells.map(|(name, cell)| CellSite {
        name: name.clone(),
        router: cell.router.clone(),
        rate: cell.rate,
        delay: cell.delay,
    });
    let hosts = scenario.hosts.iter().enumerate().filter(|(_, host)| domain.has_host(&host.name));
    let hosts = hosts.map(|(number, host)| HostSite {
        number,
        name: host.name.clone(),
        home: host.home.clone(),
        visits: host
            .stays()
            .iter()
            .map(|visit| Stay { cell: visit.cell.clone(), at: visit.at, until: visit.until })
            .collect(),
    });
    let links = scenario.links.iter();
    let links = links.map(|link| LinkSite { between: link.between.clone(), delay: link.delay });
    Topology {
        links: links.collect(),
        routers: routers.into_iter().cloned().collect(),
        gateway: domain.gateway.clone(),
        cells: cells.collect(),
        hosts: hosts.collect(),
        flow_ends: flow_ends.into_iter().cloned().collect(),
        measured: scenario.radio.measurement().is_some(),
        gap: scenario.radio.gap(),
        overlap: scenario.radio.overlap(),
        addresses: BTreeMap::new(),
    }
}
