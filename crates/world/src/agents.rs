//! Who plays which role of the mobility protocol.

use crate::event::NodeId;
use crate::node::{Cell, Node};
use crate::scenario::Scenario;
use crate::world::Buffering;
use roamlab_engine::{Bytes, Duration, Streams};
use roamlab_mobility::message::SizeOptions;
use roamlab_mobility::mobile_ip::{BaseStation, Correspondent, ForeignAgent, HomeAgent, MobileHost, Params};
use roamlab_mobility::{MobileIp, MobilitySpec};
use roamlab_packet::{Addr, Dscp};
use std::collections::{BTreeMap, BTreeSet};

/// What the world itself has to know of the protocol.
pub struct Setting {
    /// Buffering at base stations.
    pub buffering: Option<Buffering>,
    /// What the sizes of messages depend on.
    pub message_options: SizeOptions,
    /// The code point that marks forwarded packets.
    pub mark: Dscp,
}

/// Gives every node its agent.
pub fn install(
    scenario: &Scenario,
    nodes: &mut [Node],
    cells: &[Cell],
    ids: &BTreeMap<&str, NodeId>,
    streams: &Streams,
) -> Setting {
    let Some(MobilitySpec::MobileIp(params)) = &scenario.mobility else {
        return Setting { buffering: None, message_options: SizeOptions::default(), mark: Dscp::FORWARDED };
    };
    let cast = Cast { scenario, params, ids, streams };
    cast.hosts(nodes);
    cast.base_stations(nodes, cells);
    cast.foreign_agents(nodes, cells);
    cast.correspondents(nodes);
    let (limit, layer2_ack) = (params.buffer.limit.0 as usize, params.buffer.layer2_ack);
    let buffering = params.buffers().then_some(Buffering { limit, layer2_ack });
    Setting { buffering, message_options: params.sizes.clone(), mark: params.buffer.mark }
}

struct Cast<'a> {
    scenario: &'a Scenario,
    params: &'a Params,
    ids: &'a BTreeMap<&'a str, NodeId>,
    streams: &'a Streams,
}

impl Cast<'_> {
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
            nodes[home].agent = Some(Box::new(HomeAgent::new(home_addr, self.params).into()));
            nodes[host].agent =
                Some(Box::new(MobileHost::new(nodes[host].addr, home_addr, self.params).into()));
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
            station.agent =
                Some(Box::new(BaseStation::new(station.addr, router, phase, latency, self.params).into()));
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
            node.agent = Some(Box::new(ForeignAgent::new(node.addr, &stations, phase, self.params).into()));
        }
    }

    /// Fixed ends of flows are correspondents, unless they have a role already.
    fn correspondents(&self, nodes: &mut [Node]) {
        let ends: BTreeSet<&String> = self.scenario.flows.iter().flat_map(|flow| &flow.path).collect();
        for name in ends {
            let node = &mut nodes[self.id(name)];
            if node.agent.is_none() && self.params.route_optimisation {
                node.agent = Some(Box::new(MobileIp::from(Correspondent::new(self.params))));
            }
        }
    }
}
