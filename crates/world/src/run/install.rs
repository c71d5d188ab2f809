//! The roles of the mobility protocols at the nodes, and the capabilities that each protocol requests.

use crate::control::Alternative;
use crate::control::agent::Agent;
use crate::dataplane::bearer::RadioBearers;
use crate::dataplane::node::{Domain, Nodes};
use crate::ids::DomainId;
use crate::layer2::cells::Cells;
use roamlab_engine::Streams;
use roamlab_mobility::{Installation, Keeps, MobilityAgent, MobilitySpec, Placement, Prediction, Topology};
use roamlab_packet::{Addr, Dscp};
use roamlab_record::ids::NodeId;
use roamlab_scenario::Scenario;
use std::collections::{BTreeMap, BTreeSet};

/// Requests of the protocols of a run to the world.
pub struct Setting {
    /// The protocols.
    pub domains: Vec<Domain>,
    /// Handovers that base stations are notified of in advance.
    pub predictions: Vec<Prediction>,
    /// The code point that marks forwarded packets.
    pub mark: Dscp,
    /// The numbered radio bearers of hosts.
    pub bearers: RadioBearers,
}

/// A protocol as it is installed in a network.
struct Installed<'a> {
    spec: &'a MobilitySpec,
    topology: Topology,
    installation: Installation<MobilityAgent>,
}

/// The protocols of one scenario, installed in the network of another or the same.
fn installed<'a>(
    protocols: &'a Scenario,
    scenario: &Scenario,
    address: &dyn Fn(&str) -> Addr,
    (ids, streams): (&BTreeMap<&str, NodeId>, &Streams),
) -> Vec<Installed<'a>> {
    let addresses: BTreeMap<String, Addr> = ids.keys().map(|&name| (name.into(), address(name))).collect();
    let each = protocols.protocols().enumerate().map(|(number, (table, spec))| {
        let topology = Topology { addresses: addresses.clone(), ..scenario.topology_of(spec) };
        // Of two protocols each has its own streams, and a second one changes nothing for the first.
        let prefix = if number == 0 { String::new() } else { format!("{table}/") };
        let stream = |component: &str| streams.named(&format!("{prefix}{component}"));
        let installation = spec.install(&topology, &stream);
        Installed { spec, topology, installation }
    });
    each.collect()
}

/// The agents and predictions of an alternative, whose protocols alone are others; `None`: it asks the world for something else
/// than `scenario` does.
pub fn alternative(
    other: &Scenario,
    scenario: &Scenario,
    nodes: &Nodes,
    (ids, streams): (&BTreeMap<&str, NodeId>, &Streams),
) -> Option<Alternative> {
    let address = |name: &str| nodes[ids[name]].addr;
    let [own, others] = [scenario, other].map(|each| installed(each, scenario, &address, (ids, streams)));
    let alike = |(own, other): (&Installed<'_>, &Installed<'_>)| {
        let [own_part, other_part] = [own, other].map(|each| (each.spec.domain(), each.spec.mark()));
        own_part == other_part && own.installation.frame() == other.installation.frame()
    };
    if own.len() != others.len() || !own.iter().zip(&others).all(alike) {
        return None;
    }
    let by_address: BTreeMap<Addr, NodeId> = ids.iter().map(|(name, id)| (address(name), *id)).collect();
    let mut alternative = Alternative { machines: vec![Vec::new(); nodes.len()], predictions: Vec::new() };
    for Installation { roles, predictions, .. } in others.into_iter().map(|each| each.installation) {
        for Placement { at, role, .. } in roles {
            alternative.machines[by_address[&at].0 as usize].push(role);
        }
        alternative.predictions.extend(predictions);
    }
    Some(alternative)
}

/// Gives every node its agents.
pub fn install(
    scenario: &Scenario,
    (nodes, cells): (&mut Nodes, &mut Cells),
    (ids, streams): (&BTreeMap<&str, NodeId>, &Streams),
) -> Setting {
    let (domains, predictions) = (Vec::new(), Vec::new());
    let mut setting =
        Setting { domains, predictions, mark: Dscp::FORWARDED, bearers: RadioBearers::default() };
    let address = |name: &str| nodes[ids[name]].addr;
    let by_address: BTreeMap<Addr, NodeId> = ids.iter().map(|(name, id)| (address(name), *id)).collect();
    for (installed, number) in installed(scenario, scenario, &address, (ids, streams)).into_iter().zip(0..) {
        let Installed { spec, topology, installation: installed } = installed;
        let id = DomainId(number);
        for placement in installed.roles {
            let Placement { at, role, buffering, watches_uplink, .. } = placement;
            let node = by_address[&at];
            nodes[node].watches_uplink |= watches_uplink;
            nodes[node].keeps_copies |=
                buffering.as_ref().is_some_and(|buffering| buffering.keeps == Keeps::Sent);
            let discard = installed.bearers.and_then(|bearers| bearers.discard_timer);
            nodes[node].agents.push(Agent::new(id, role, buffering, (watches_uplink, discard)));
            nodes[node].numbers |= installed.bearers.is_some() && nodes[node].serves.is_some();
        }
        let units = installed.units.as_ref();
        for (base_station, central) in units.iter().flat_map(|units| &units.central) {
            nodes[by_address[base_station]].central = Some(*central);
            let central = &mut nodes[by_address[central]];
            (central.numbers, central.is_central) = (true, true);
        }
        let hosts: BTreeSet<Addr> = topology.hosts.iter().map(|host| topology.address(&host.name)).collect();
        for host in hosts.iter().map(|host| by_address[host]) {
            nodes[host].clears_code_point |= installed.clears_code_point;
            if let Some(values) = installed.bearers {
                nodes[host].numbers = true;
                cells.number(host);
                setting.bearers.add_host(host, values);
            } else if installed.drops_duplicates {
                cells.drop_duplicates(host);
            }
        }
        let base_stations = topology.cells.iter().map(|cell| topology.address(&cell.name)).collect();
        let overhead = scenario.network.tunnel_overhead;
        setting.domains.push(Domain {
            hosts,
            base_stations,
            tunnel_overhead: installed.tunnel_overhead.unwrap_or(overhead),
            forwarding_overhead: installed.forwarding_overhead.unwrap_or(overhead),
            discards_unknown: installed.discards_unknown,
            delivers_to_self: installed.delivers_to_self,
            bearers: installed.bearers,
            unit_overhead: units.map_or(overhead, |units| units.overhead),
        });
        setting.mark = spec.mark().unwrap_or(setting.mark);
        setting.predictions.extend(installed.predictions);
    }
    setting
}
