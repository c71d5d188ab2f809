//! The roles at the nodes, and the capabilities that the protocol requests.

use super::{AccessRouter, Anchor, Fmipv6, Kind, MobileHost, Params, Phase};
use crate::blocks::{Trigger, TriggerBy, check_times, check_tree, check_unused, gateway};
use crate::{Installation, Protocol, Refusal, Topology};
use roamlab_engine::{Bytes, Duration, Rng};

/// An IPv6 header.
const TUNNEL_OVERHEAD: Bytes = Bytes(40);

impl Protocol for Params {
    crate::protocol!(Fmipv6, "FMIPv6", "{ kind = \"fmipv6\", trigger = { by = \"source\" } }");

    const TUNNELS: crate::Tunnels = crate::Tunnels::Own;

    fn check(&self, topology: &Topology) -> Result<(), Refusal> {
        self.detection.check()?;
        self.trigger.check(topology)?;
        let candidates = (&self.trigger.candidates, &Trigger::default().candidates);
        check_unused("trigger.candidates", candidates, "remove this: a trigger names one cell")?;
        if matches!(self.trigger.by, TriggerBy::Path | TriggerBy::NoPath) {
            let refusal = Refusal::at("trigger.by", "a fast binding update names one access router");
            return Err(refusal.help("write \"source\", or \"none\" for reactive handovers"));
        }
        self.buffer.check()?;
        let times = [("buffer_lifetime", self.buffer_lifetime), ("tunnel_lifetime", self.tunnel_lifetime)];
        check_times("", times)?;
        check_tree(topology)
    }

    fn broadcast_interval(&self) -> Option<Duration> {
        self.detection.interval()
    }

    fn install(&self, topology: &Topology, stream: &dyn Fn(&str) -> Rng) -> Installation<Fmipv6> {
        let mut installed = Installation::empty();
        // The check ensures that there is one gateway, and a way to it from each cell.
        let Ok(Some(gateway)) = gateway(topology) else { return installed };
        let anchor = topology.address(gateway);
        installed.place(anchor, Anchor::default());
        for cell in &topology.cells {
            let at = topology.address(&cell.name);
            let phase = self.detection.phase(&cell.name, stream);
            installed.place_with(at, AccessRouter::new(at, phase, self), self.buffer.buffering());
        }
        for host in &topology.hosts {
            let address = topology.address(&host.name);
            installed.place(address, MobileHost::new(address, anchor, self));
        }
        installed.predictions = self.trigger.predictions(topology, stream);
        installed.tunnel_overhead = Some(TUNNEL_OVERHEAD);
        installed.forwarding_overhead = Some(TUNNEL_OVERHEAD);
        installed.discards_unknown = true;
        installed
    }
}
