//! The roles at the nodes, the requirements of the parameters, and the capabilities that the protocol requests.

use super::node::TreePosition;
use super::{CellularIp, Handoff, Kind, MobileHost, Node, PAGING_TIMEOUT, Params, Phase, SEMISOFT_DELAY};
use crate::blocks::{AccessTree, Trigger, TriggerBy, check_times, check_unused, gateway};
use crate::{Installation, Placement, Protocol, Refusal, Topology};
use roamlab_engine::{Duration, Rng};
use roamlab_packet::Addr;
use std::collections::BTreeMap;

impl Protocol for Params {
    crate::protocol!(CellularIp, "Cellular IP", "{ kind = \"cellular-ip\", handoff = \"hard\" }");

    const TUNNELS: crate::Tunnels = crate::Tunnels::None;

    fn check(&self, topology: &Topology) -> Result<(), Refusal> {
        self.detection.check()?;
        self.trigger.check(topology)?;
        let lead = (&self.trigger.lead, &Trigger::default().lead);
        check_unused("trigger.lead", lead, "remove this: it is the semisoft delay")?;
        self.equaliser.check()?;
        self.check_caches()?;
        let Some(gateway) = gateway(topology)? else { return Ok(()) };
        let tree = AccessTree::new(topology, gateway)?;
        for (index, area) in self.paging_areas.iter().enumerate() {
            let nodes = || tree.nodes().map(|(node, _)| node);
            if !nodes().any(|node| node == area) {
                let message = format!("no node \"{area}\" lies between base stations and gateway");
                return Err(Refusal::at(format!("paging_areas[{index}]"), message).known(area, nodes()));
            }
        }
        self.check_handoff(topology)
    }

    fn broadcast_interval(&self) -> Option<Duration> {
        self.detection.interval()
    }

    fn install(&self, topology: &Topology, stream: &dyn Fn(&str) -> Rng) -> Installation<CellularIp> {
        let mut installed = Installation::empty();
        // The check ensures that there is one gateway, and a way to it from each cell.
        let Ok(Some(gateway)) = gateway(topology) else { return installed };
        let Ok(tree) = AccessTree::new(topology, gateway) else { return installed };
        let uplinks: BTreeMap<&str, Option<&str>> = tree.nodes().collect();
        let hosts: Vec<Addr> = topology.hosts.iter().map(|host| topology.address(&host.name)).collect();
        let sets = self.trigger.sets(topology);
        let mut areas = BTreeMap::new();
        for (&name, &uplink) in &uplinks {
            let at = topology.address(name);
            let cell = topology.cells.iter().any(|cell| cell.name == name);
            let area = self.area(name, &uplinks);
            if cell {
                areas.insert(at, topology.address(area));
            }
            let configured = self.gateway_beacon_interval.is_none();
            let in_area = self.paging_areas.iter().any(|root| root == area);
            let below = || tree.neighbours(name).filter(|other| uplinks[other] == Some(name));
            let phase = || stream(&format!("{name}/beacon")).uniform_duration(self.detection.beacon_interval);
            let position = TreePosition {
                address: at,
                uplink: uplink.filter(|_| configured).map(|uplink| topology.address(uplink)),
                neighbours: tree.neighbours(name).map(|other| topology.address(other)).collect(),
                floods: in_area.then(|| below().map(|other| topology.address(other)).collect()),
                is_gateway: name == gateway,
                set: sets.of(at).to_vec(),
                phase: cell.then(phase),
            };
            let role = Node::new(position, &hosts, self).into();
            let buffering = self.equaliser.buffering().filter(|_| self.handoff == Handoff::Semisoft);
            installed.roles.push(Placement { at, role, buffering, watches_uplink: true });
        }
        for &host in &hosts {
            let role = MobileHost::new(host, areas.clone(), self).into();
            installed.roles.push(Placement { at: host, role, buffering: None, watches_uplink: true });
        }
        let trigger = Trigger { lead: SEMISOFT_DELAY, ..self.trigger.clone() };
        installed.predictions = trigger.predictions(topology, stream);
        installed.discards_unknown = true;
        installed
    }
}

impl Params {
    fn check_caches(&self) -> Result<(), Refusal> {
        let times = [
            ("route_update_time", self.route_update_time),
            ("route_timeout", self.route_timeout),
            ("paging_update_time", self.paging_update_time),
            ("gateway_beacon_interval", self.gateway_beacon_interval.unwrap_or(self.route_timeout)),
        ];
        check_times("", times)?;
        let forgotten = "ways would be forgotten before they are refreshed";
        if self.route_timeout <= self.route_update_time {
            let help = format!("write more than \"{}\"", self.route_update_time);
            return Err(Refusal::at("route_timeout", forgotten).help(help));
        }
        if self.paging_update_time >= PAGING_TIMEOUT {
            let help = format!("write less than \"{PAGING_TIMEOUT}\"");
            return Err(Refusal::at("paging_update_time", forgotten).help(help));
        }
        Ok(())
    }

    /// Who can send the semisoft packet.
    fn check_handoff(&self, topology: &Topology) -> Result<(), Refusal> {
        let overlaps = topology.overlap > Duration::ZERO;
        match (self.handoff, self.trigger.by) {
            (Handoff::Hard, TriggerBy::None) => Ok(()),
            (Handoff::Hard, _) => {
                let refusal = Refusal::at("trigger.by", "a hard handoff prepares nothing");
                Err(refusal.help("leave `trigger` out, or write `handoff = \"semisoft\"`"))
            }
            (Handoff::Semisoft, TriggerBy::NoPath) => {
                let refusal = Refusal::at("trigger.by", "a semisoft packet is sent once, before a handoff");
                Err(refusal.help("write \"source\" or \"path\""))
            }
            (Handoff::Semisoft, TriggerBy::None) if !overlaps => {
                let message =
                    "hosts hear one base station at a time, so they cannot send the semisoft packet";
                let refusal = Refusal::at("handoff", message);
                Err(refusal.help(
                    "write `trigger = { by = \"source\" }`, or `[radio]` with `kind = \"soft\"` and an `overlap`",
                ))
            }
            (Handoff::Semisoft, _) => Ok(()),
        }
    }

    /// The root of the paging area that a node belongs to: the outermost one on its way to the gateway, or the node itself.
    fn area<'a>(&self, node: &'a str, uplinks: &BTreeMap<&'a str, Option<&'a str>>) -> &'a str {
        let way = std::iter::successors(Some(node), |node| uplinks.get(node).copied().flatten());
        way.filter(|node| self.paging_areas.iter().any(|area| area == node)).last().unwrap_or(node)
    }
}
