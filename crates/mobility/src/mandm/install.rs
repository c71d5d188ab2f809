//! The roles at the nodes, and the capabilities that the protocol requests.

use super::{AaaServer, AccessRouter, Kind, Mandm, MobileHost, Params, Phase, Router};
use crate::blocks::{AccessTree, check_tree, gateway};
use crate::{Installation, Protocol, Refusal, Topology};
use roamlab_engine::{Duration, Rng};

impl Protocol for Params {
    crate::protocol!(Mandm, "M&M", "{ kind = \"mandm\", trigger = { by = \"source\" } }");

    fn check(&self, topology: &Topology) -> Result<(), Refusal> {
        self.detection.check()?;
        self.trigger.check(topology)?;
        self.buffer.check()?;
        self.authentication.as_ref().map_or(Ok(()), |server| server.check(topology))?;
        check_tree(topology)
    }

    fn broadcast_interval(&self) -> Option<Duration> {
        self.detection.interval()
    }

    fn install(&self, topology: &Topology, stream: &dyn Fn(&str) -> Rng) -> Installation<Mandm> {
        let mut installed = Installation::empty();
        // The check ensures that there is one gateway, and a way to it from each cell.
        let Ok(Some(gateway)) = gateway(topology) else { return installed };
        let Ok(tree) = AccessTree::new(topology, gateway) else { return installed };
        let sets = self.trigger.sets(topology);
        let server = self.authentication.as_ref().map(|of| of.addresses(topology));
        let asks = server.as_ref().map(|(at, _)| *at);
        for (name, parent) in tree.nodes() {
            let (at, parent) = (topology.address(name), parent.map(|parent| topology.address(parent)));
            if let Some((cell, parent)) = topology.cells.iter().find(|cell| cell.name == name).zip(parent) {
                let phase = self.detection.phase(&cell.name, stream);
                installed.place_with(
                    at,
                    AccessRouter::new((at, parent), (sets.of(at), asks), phase, self),
                    self.buffer.buffering(),
                );
            } else {
                installed.place(at, Router::new(parent));
            }
        }
        if let Some((at, refused)) = server {
            installed.place(at, AaaServer::new(refused));
        }
        for host in &topology.hosts {
            let address = topology.address(&host.name);
            installed.place(address, MobileHost::new(address, self));
        }
        installed.predictions = self.trigger.predictions(topology, stream);
        installed.discards_unknown = true;
        installed
    }
}
