//! Who plays which role of the mobility protocol.

use crate::event::NodeId;
use crate::node::{Cell, Node};
use crate::scenario::Scenario;
use crate::world::{Buffering, Keeps, Prediction};
use roamlab_engine::{Bytes, Duration, Streams, Time};
use roamlab_mobility::lte_x2::{
    self, Core, ENodeB, Forwarding, Mme, PathSwitch, ServingGateway, UserEquipment,
};
use roamlab_mobility::message::Sizing;
use roamlab_mobility::mobile_ip::{BaseStation, Correspondent, ForeignAgent, HomeAgent, MobileHost, Params};
use roamlab_mobility::{LteX2, MobileIp, MobilityAgent, MobilitySpec};
use roamlab_packet::{Addr, Dscp};
use std::collections::{BTreeMap, BTreeSet};

/// What the world itself has to know of the protocol.
pub struct Setting {
    /// Buffering at base stations.
    pub buffering: Option<Buffering>,
    /// What the sizes of messages depend on.
    pub sizing: Sizing,
    /// The code point that marks forwarded packets.
    pub mark: Dscp,
    /// Bytes that a tunnel adds.
    pub tunnel_overhead: Bytes,
    /// Bytes that a tunnel from a base station adds.
    pub forwarding_overhead: Bytes,
    /// Hosts drop packets that they have got already.
    pub drops_duplicates: bool,
}

/// Gives every node its agent.
pub fn install(
    scenario: &Scenario,
    nodes: &mut [Node],
    cells: &[Cell],
    ids: &BTreeMap<&str, NodeId>,
    streams: &Streams,
) -> Setting {
    let overhead = scenario.network.tunnel_overhead;
    let plain = Setting {
        buffering: None,
        sizing: Sizing::default(),
        mark: Dscp::FORWARDED,
        tunnel_overhead: overhead,
        forwarding_overhead: overhead,
        drops_duplicates: false,
    };
    match &scenario.mobility {
        None => plain,
        Some(MobilitySpec::MobileIp(params)) => {
            Cast { scenario, params, ids, streams }.install(nodes, cells);
            let sizing = Sizing { mobile_ip: params.sizes.clone(), ..plain.sizing };
            Setting { buffering: mobile_ip_buffering(params), sizing, mark: params.buffer.mark, ..plain }
        }
        Some(MobilitySpec::LteX2(params)) => {
            install_lte(scenario, params, nodes, cells, ids);
            Setting {
                buffering: Some(lte_buffering(params)),
                sizing: Sizing { lte_x2: params.sizes.clone(), ..plain.sizing },
                tunnel_overhead: params.tunnel_overhead,
                forwarding_overhead: params.forwarding_overhead,
                drops_duplicates: params.drop_duplicates && params.forwarding == Forwarding::Lossless,
                ..plain
            }
        }
    }
}

fn mobile_ip_buffering(params: &Params) -> Option<Buffering> {
    let keeps = if params.buffer.layer2_ack { Keeps::Unacknowledged } else { Keeps::Sent };
    params.buffers().then_some(Buffering { limit: params.buffer.limit.0 as usize, keeps })
}

fn lte_buffering(params: &lte_x2::Params) -> Buffering {
    let keeps = match params.forwarding {
        Forwarding::Lossless => Keeps::InFlight,
        Forwarding::Seamless | Forwarding::None => Keeps::Nothing,
    };
    Buffering { limit: params.buffer_limit.0 as usize, keeps }
}

fn install_lte(
    scenario: &Scenario,
    params: &lte_x2::Params,
    nodes: &mut [Node],
    cells: &[Cell],
    ids: &BTreeMap<&str, NodeId>,
) {
    // The check has seen to it that there is a host, and that all have the same home.
    let Some(host) = scenario.hosts.first() else { return };
    let gateway = ids[host.home.as_str()];
    let mme = params.mme.as_ref().map_or(gateway, |name| ids[name.as_str()]);
    let [gateway_addr, mme_addr] = [gateway, mme].map(|id| nodes[id.0 as usize].addr);
    let mut cast = |id: NodeId, agent: LteX2| nodes[id.0 as usize].agent = Some(Box::new(agent.into()));
    if mme == gateway {
        cast(gateway, Core::new(gateway_addr, params).into());
    } else {
        cast(gateway, ServingGateway::new(params).into());
        cast(mme, Mme::new(gateway_addr, params).into());
    }
    for id in cells.iter().map(|cell| cell.base_station) {
        let agent = ENodeB::new(nodes[id.0 as usize].addr, mme_addr, params);
        nodes[id.0 as usize].agent = Some(Box::new(LteX2::from(agent).into()));
    }
    for spec in &scenario.hosts {
        let host = &mut nodes[ids[spec.name.as_str()].0 as usize];
        host.agent = Some(Box::new(LteX2::from(UserEquipment::new(host.addr, params)).into()));
    }
}

/// The predictions of a scenario, in its order; those that follow from visits by host.
pub fn predictions(scenario: &Scenario, ids: &BTreeMap<&str, NodeId>, nodes: &[Node]) -> Vec<Prediction> {
    let Some(MobilitySpec::LteX2(params)) = &scenario.mobility else { return Vec::new() };
    if params.path_switch != PathSwitch::Predictive {
        return Vec::new();
    }
    let prediction = |at: Duration, host: &str, cell: &str| Prediction {
        at: Time::ZERO + at,
        host: ids[host],
        base_station: nodes[ids[cell].0 as usize].addr,
    };
    if let Some(listed) = &params.predictions {
        return listed.iter().map(|one| prediction(one.at, &one.host, &one.cell)).collect();
    }
    let of_visits = scenario.hosts.iter().flat_map(|host| {
        let handovers = host.visits.windows(2).filter(|pair| pair[0].until.is_none());
        let at = |visit: Duration| visit.saturating_sub(params.prediction_lead);
        handovers.map(move |pair| prediction(at(pair[1].at), &host.name, &pair[1].cell))
    });
    of_visits.collect()
}

struct Cast<'a> {
    scenario: &'a Scenario,
    params: &'a Params,
    ids: &'a BTreeMap<&'a str, NodeId>,
    streams: &'a Streams,
}

impl Cast<'_> {
    fn install(&self, nodes: &mut [Node], cells: &[Cell]) {
        self.hosts(nodes);
        self.base_stations(nodes, cells);
        self.foreign_agents(nodes, cells);
        self.correspondents(nodes);
    }

    fn id(&self, name: &str) -> usize {
        self.ids[name].0 as usize
    }

    /// A phase uniform in [0, `interval`), from the stream of the component that has it.
    fn phase(&self, component: &str, interval: Duration) -> Duration {
        self.streams.named(component).uniform_duration(interval)
    }

    fn hosts(&self, nodes: &mut [Node]) {
        for spec in &self.scenario.hosts {
            let (home, host) = (self.id(&spec.home), self.id(&spec.name));
            let home_addr = nodes[home].addr;
            nodes[home].agent = agent(HomeAgent::new(home_addr, self.params));
            nodes[host].agent = agent(MobileHost::new(nodes[host].addr, home_addr, self.params));
        }
    }

    fn base_stations(&self, nodes: &mut [Node], cells: &[Cell]) {
        for cell in cells {
            let spec = &self.scenario.cells[&cell.name];
            let router = nodes[self.id(&spec.router)].addr;
            let beacon: Bytes = self.params.sizes.beacon;
            let latency = spec.rate.transmission_time(beacon, &mut 0) + spec.delay;
            let phase = self.phase(&format!("{}/beacon", cell.name), self.params.beacon_interval);
            let station = &mut nodes[cell.base_station.0 as usize];
            station.agent = agent(BaseStation::new(station.addr, router, phase, latency, self.params));
        }
    }

    fn foreign_agents(&self, nodes: &mut [Node], cells: &[Cell]) {
        let mut stations: BTreeMap<&str, Vec<Addr>> = BTreeMap::new();
        for cell in cells {
            let router = self.scenario.cells[&cell.name].router.as_str();
            stations.entry(router).or_default().push(nodes[cell.base_station.0 as usize].addr);
        }
        for (router, stations) in stations {
            let phase = self.phase(&format!("{router}/advertisement"), self.params.advertisement_interval);
            let node = &mut nodes[self.id(router)];
            node.agent = agent(ForeignAgent::new(node.addr, &stations, phase, self.params));
        }
    }

    /// Fixed ends of flows are correspondents, unless they have a role already.
    fn correspondents(&self, nodes: &mut [Node]) {
        let ends: BTreeSet<&String> = self.scenario.flows.iter().flat_map(|flow| &flow.path).collect();
        for name in ends {
            let node = &mut nodes[self.id(name)];
            if node.agent.is_none() && self.params.route_optimisation {
                node.agent = agent(Correspondent::new(self.params));
            }
        }
    }
}

/// A role of Mobile IP, as a node holds it.
fn agent(role: impl Into<MobileIp>) -> Option<Box<MobilityAgent>> {
    Some(Box::new(role.into().into()))
}
