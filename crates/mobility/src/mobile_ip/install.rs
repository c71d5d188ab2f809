//! The roles at the nodes, the requirements of the parameters, and the capabilities that the protocol requests.

use super::message::SIZES;
use super::{
    BaseStation, BufferParams, Correspondent, ForeignAgent, HomeAgent, Kind, MobileHost, MobileIp, Params,
    Phase, RoTrigger,
};
use crate::{Buffering, Installation, Keeps, Placement, Protocol, Refusal, Topology};
use roamlab_engine::{Duration, Rng};
use roamlab_packet::{Addr, Dscp};
use std::collections::{BTreeMap, BTreeSet};

impl Protocol for Params {
    crate::protocol!(MobileIp, "Mobile IP", "{ kind = \"mobile-ip\", route_optimisation = true }");

    fn mark(&self) -> Option<Dscp> {
        Some(self.buffer.mark)
    }

    fn check(&self, topology: &Topology) -> Result<(), Refusal> {
        if topology.gateway.is_some() {
            let message = "Mobile IP has no gateway: its home agents are at the homes of its hosts";
            return Err(Refusal::at("domain.gateway", message).help("remove this"));
        }
        Params::check(self).map_err(|(field, message)| Refusal::at(field, message))?;
        if !(1..=63).contains(&self.buffer.mark.0) {
            let message = format!("expected a code point from 1 to 63, got {}", self.buffer.mark.0);
            return Err(Refusal::at("buffer.mark", message).help("write a number from 1 to 63"));
        }
        Ok(())
    }

    /// Warnings come from the old agent, which is notified of the handoff only with smooth handoff.
    fn warnings(&self, _end: Duration) -> Vec<Refusal> {
        let alone = self.route_optimisation && !self.smooth_handoff && self.ro_trigger == RoTrigger::Warning;
        let message = "without smooth handoff no old agent knows that a host has left, and none warns the home \
                       agent: correspondents that know a care-of address send there until their binding ends";
        let warning = || {
            Refusal::at("ro_trigger", message)
                .help("write \"both\" or \"registration\", or `smooth_handoff = true`")
        };
        alone.then(warning).into_iter().collect()
    }

    fn needs_average(&self) -> Option<&'static str> {
        self.forward_below().map(|_| "buffer.forward_below")
    }

    fn broadcast_interval(&self) -> Option<Duration> {
        Some(if self.local_handoff { self.beacon_interval } else { self.advertisement_interval })
    }

    fn install(&self, topology: &Topology, stream: &dyn Fn(&str) -> Rng) -> Installation<MobileIp> {
        // A phase uniform in an interval, from the stream of the component that has it.
        let phase = |component: String, interval: Duration| stream(&component).uniform_duration(interval);
        let mut installed = Installation::empty();
        let mut taken = BTreeSet::new();
        for host in &topology.hosts {
            let (home, address) = (topology.address(&host.home), topology.address(&host.name));
            if taken.insert(home) {
                installed.place(home, HomeAgent::new(home, self));
            }
            taken.insert(address);
            installed.place(address, MobileHost::new(address, home, self));
        }
        let mut stations: BTreeMap<&str, Vec<Addr>> = BTreeMap::new();
        for cell in &topology.cells {
            let (router, address) = (topology.address(&cell.router), topology.address(&cell.name));
            stations.entry(&cell.router).or_default().push(address);
            let latency = cell.rate.transmission_time(SIZES.beacon, &mut 0) + cell.delay;
            let phase = phase(format!("{}/beacon", cell.name), self.beacon_interval);
            let role = BaseStation::new(router, phase, latency, self).into();
            installed.roles.push(Placement {
                at: address,
                role,
                buffering: self.buffering(),
                watches_uplink: false,
            });
        }
        for (router, stations) in stations {
            let phase = phase(format!("{router}/advertisement"), self.advertisement_interval);
            let address = topology.address(router);
            taken.insert(address);
            installed.place_with(address, ForeignAgent::new(address, &stations, phase, self), self.copies());
        }
        // Fixed ends of flows are correspondents, unless they have a role already.
        for end in topology.flow_ends.iter().filter(|_| self.route_optimisation) {
            let address = topology.address(end);
            if taken.insert(address) {
                installed.place(address, Correspondent::new(self));
            }
        }
        // A home agent and a foreign agent at one node talk to each other.
        let mut homes = topology.hosts.iter().map(|host| &host.home);
        installed.delivers_to_self = homes.any(|home| topology.cells.iter().any(|cell| cell.router == *home));
        installed.discards_unknown = true;
        // The mark of forwarded packets has no meaning behind the air link ([mblue] §III.C).
        installed.clears_code_point = true;
        installed
    }
}

impl Params {
    fn buffering(&self) -> Option<Buffering> {
        let keeps = if self.buffer.layer2_ack { Keeps::Unacknowledged } else { Keeps::Sent };
        let BufferParams { limit, drop, longest_wait, flush, .. } = self.buffer;
        self.buffers().then_some(Buffering { limit, drop, longest_wait, flush, keeps })
    }

    /// The copies of foreign agents.
    fn copies(&self) -> Option<Buffering> {
        let BufferParams { limit, flush, .. } = self.buffer;
        self.keeps_copies().then_some(Buffering { flush, ..Buffering::plain(limit, Keeps::Sent) })
    }
}
