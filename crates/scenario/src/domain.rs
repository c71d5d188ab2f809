//! The part of a scenario's network that a mobility protocol serves.

use crate::schema::{LinkSpec, Scenario, Way};
use roamlab_engine::Duration;
use roamlab_mobility::{CellSite, HostSite, LinkSite, MobilitySpec, Stay, Topology};
use roamlab_radio::SignalSpec;
use std::collections::{BTreeMap, BTreeSet};

impl Scenario {
    /// The part of the network that a mobility protocol serves, without addresses.
    pub fn topology_of(&self, spec: &MobilitySpec) -> Topology {
        let domain = spec.domain();
        let routers: BTreeSet<&String> = self.links.iter().flat_map(|link| &link.between).collect();
        let flow_ends: BTreeSet<&String> = self.flows.iter().flat_map(|flow| &flow.path).collect();
        let cells = self.cells.iter().filter(|(name, _)| domain.has_cell(name));
        let cells = cells.map(|(name, cell)| CellSite {
            name: name.clone(),
            router: cell.router.clone(),
            rate: cell.rate.mean(Way::There),
            delay: (cell.delay.mean(Way::There) + cell.delay.mean(Way::Back)) / 2,
        });
        let hosts = self.hosts.iter().enumerate().filter(|(_, host)| domain.has_host(&host.name));
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
        let links = self.links.iter();
        let mean = |link: &LinkSpec| (link.delay(Way::There) + link.delay(Way::Back)) / 2;
        let links = links.map(|link| LinkSite { between: link.between.clone(), delay: mean(link) });
        Topology {
            links: links.collect(),
            routers: routers.into_iter().cloned().collect(),
            gateway: domain.gateway.clone(),
            cells: cells.collect(),
            hosts: hosts.collect(),
            flow_ends: flow_ends.into_iter().cloned().collect(),
            measured: self.radio.measurement().is_some(),
            t310: self.radio.measurement().map_or(Duration::ZERO, |spec| spec.t310),
            positions: self.radio.measurement().is_some_and(|spec| spec.signal == SignalSpec::Positions),
            gap: self.radio.gap(),
            overlap: self.radio.overlap(),
            addresses: BTreeMap::new(),
        }
    }
}
