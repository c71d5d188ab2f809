//! The roles at the nodes, and the capabilities that the protocol requests.

use super::tree_position::TreePosition;
use super::{BaseStation, Hawaii, Kind, MobileHost, Params, Phase, Router, Scheme};
use crate::blocks::{AccessTree, BufferPlace, check_times, check_tree, gateway};
use crate::{Buffering, Installation, Keeps, Protocol, Refusal, Topology};
use roamlab_engine::{Duration, Rng};
use roamlab_packet::Addr;
use std::collections::{BTreeMap, BTreeSet};

impl Protocol for Params {
    crate::protocol!(Hawaii, "HAWAII", "{ kind = \"hawaii\", scheme = \"unf\" }");

    const TUNNELS: crate::Tunnels = crate::Tunnels::None;

    fn check(&self, topology: &Topology) -> Result<(), Refusal> {
        self.detection.check()?;
        self.buffer.check()?;
        self.entries.check("entries")?;
        let times = [("bicast", self.bicast), ("retransmit", self.retransmit)];
        check_times("", times)?;
        if self.scheme.forwards() && self.buffer.at == BufferPlace::New {
            let refusal = Refusal::at(
                "buffer.at",
                "with this scheme the base station that a host left keeps its packets",
            );
            return Err(refusal.help("write `at = \"old\"` in `buffer`"));
        }
        check_tree(topology)
    }

    fn broadcast_interval(&self) -> Option<Duration> {
        self.detection.interval()
    }

    fn install(&self, topology: &Topology, stream: &dyn Fn(&str) -> Rng) -> Installation<Hawaii> {
        let mut installed = Installation::empty();
        // The check ensures that there is one gateway, and a way to it from each cell.
        let Ok(Some(gateway)) = gateway(topology) else { return installed };
        let Ok(tree) = AccessTree::new(topology, gateway) else { return installed };
        let address = |name: &str| topology.address(name);
        let cells: BTreeSet<Addr> = topology.cells.iter().map(|cell| address(&cell.name)).collect();
        let mut below: BTreeMap<&str, BTreeMap<Addr, Addr>> = BTreeMap::new();
        for cell in &topology.cells {
            for (lower, upper) in tree.way(&cell.name).zip(tree.way(&cell.name).skip(1)) {
                below.entry(upper).or_default().insert(address(&cell.name), address(lower));
            }
        }
        for (name, uplink) in tree.nodes() {
            let at = address(name);
            let below = below.remove(name).unwrap_or_default();
            let position = TreePosition { address: at, uplink: uplink.map(address), below };
            let phase = |what: &str, end: Duration| stream(&format!("{name}/{what}")).uniform_duration(end);
            let refresh = phase("refresh", self.entries.refresh);
            if cells.contains(&at) {
                let phases = (phase("beacon", self.detection.beacon_interval), refresh);
                let others = cells.iter().copied().filter(|cell| *cell != at).collect();
                let role = BaseStation::new((&position, address(gateway)), others, phases, self);
                let buffering = self.buffer.buffering().filter(|_| self.scheme.forwards());
                installed.place_with(at, role, buffering);
            } else {
                let role = Router::new(position, refresh, self);
                let plain = Buffering::plain(self.buffer.limit, Keeps::Nothing);
                let buffering = Some(plain).filter(|_| self.holds_at_switch());
                installed.place_with(at, role, buffering);
            }
        }
        for host in &topology.hosts {
            let address = address(&host.name);
            installed.place(address, MobileHost::new(address, self));
        }
        installed.discards_unknown = true;
        installed
    }
}

impl Scheme {
    /// The message goes to the old base station first, which forwards what it keeps.
    pub fn forwards(self) -> bool {
        matches!(self, Scheme::Msf | Scheme::Ssf)
    }
}
