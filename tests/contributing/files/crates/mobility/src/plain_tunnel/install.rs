//! Who plays which role, and what the world is asked for.

use super::{BaseStation, Gateway, Kind, MobileHost, Params, Phase, PlainTunnel};
use crate::{Installation, Protocol, Refusal, Topology};
use roamlab_engine::{Duration, Rng};
use std::collections::BTreeSet;

impl Protocol for Params {
    crate::protocol!(PlainTunnel, "the plain tunnel", "{ kind = \"plain-tunnel\" }");

    fn check(&self, _: &Topology) -> Result<(), Refusal> {
        if self.retransmit == Duration::ZERO {
            return Err(Refusal::at("retransmit", "this time cannot be zero").help("write \"200 ms\""));
        }
        Ok(())
    }

    fn install(&self, topology: &Topology, _: &dyn Fn(&str) -> Rng) -> Installation<PlainTunnel> {
        let mut installed = Installation::empty();
        let mut gateways = BTreeSet::new();
        for host in &topology.hosts {
            let gateway = topology.address(topology.gateway.as_ref().unwrap_or(&host.home));
            if gateways.insert(gateway) {
                installed.place(gateway, Gateway::default());
            }
            let address = topology.address(&host.name);
            installed.place(address, MobileHost::new(address, gateway, self));
        }
        for cell in &topology.cells {
            installed.place(topology.address(&cell.name), BaseStation::default());
        }
        installed.discards_unknown = true;
        installed
    }
}
