//! The roles at the nodes, the requirements of the parameters, and the capabilities that the protocol requests.

use super::timers::{T310, cannot_be_signalled};
use super::{Amf, Forwarding, GNodeB, Kind, Nr, Params, Phase, Smf, Upf, UserEquipment};
use crate::{Buffering, Installation, Keeps, Protocol, Refusal, Topology};
use roamlab_engine::{Bytes, Duration, Rng};
use std::sync::Arc;

impl Protocol for Params {
    crate::protocol!(Nr, "NR", "{ kind = \"nr\", procedure = \"xn\" }");

    const COMMANDS_HOSTS: bool = true;
    const NUMBERS_PACKETS: bool = true;
    const TUNNELS: crate::Tunnels = crate::Tunnels::Own;

    fn check(&self, topology: &Topology) -> Result<(), Refusal> {
        Params::check(self).map_err(|(field, message)| Refusal::at(field, message))?;
        let overheads =
            [("tunnel_overhead", self.tunnel_overhead), ("forwarding_overhead", self.forwarding_overhead())];
        if let Some((part, overhead)) =
            overheads.iter().find(|(_, overhead)| *overhead > Bytes(u64::from(u16::MAX)))
        {
            let refusal = Refusal::at(*part, format!("expected at most 65535 B, got \"{overhead}\""));
            return Err(refusal.help("write \"44 B\" for GTP-U with one extension over UDP and IPv4"));
        }
        if !topology.measured {
            let message = "NR hands over what hosts measure, and they measure nothing";
            return Err(Refusal::at("kind", message)
                .help("add `[radio]` with `kind = \"hard\"` and `measurement = {}`"));
        }
        self.conditional.as_ref().map_or(Ok(()), |conditional| conditional.check_radio(topology))?;
        if topology.gap != Duration::ZERO {
            let message = "in NR a handover interrupts for `mobility.times`";
            return Err(Refusal::elsewhere("radio.gap", message).help("remove this"));
        }
        if !self.nonstandard && !T310.iter().any(|&ms| topology.t310 == Duration::from_millis(ms)) {
            let message = cannot_be_signalled(topology.t310, &T310, "mobility.nonstandard = true");
            return Err(Refusal::elsewhere("radio.measurement.t310", message));
        }
        self.check_places(topology)?;
        self.check_unit_places(topology)
    }

    fn install(&self, topology: &Topology, stream: &dyn Fn(&str) -> Rng) -> Installation<Nr> {
        let mut installed = Installation::empty();
        let params = &Arc::new(self.clone());
        // The check ensures that all hosts have the same home.
        let Some(host) = topology.hosts.first() else { return installed };
        let upf = topology.address(&host.home);
        let node = |name: &Option<String>| name.as_ref().map_or(upf, |name| topology.address(name));
        let (amf, smf) = (node(&self.amf), node(&self.smf));
        installed.place(upf, Upf::new(params));
        installed.place(smf, Smf::new(upf, stream("nr/path-switch"), params));
        installed.place(amf, Amf::new(smf, params));
        let relay = (self.forwarding == Forwarding::Indirect).then_some(upf);
        if !self.central_units.is_empty() {
            params.place_units((amf, relay), topology, &mut installed);
        }
        for cell in topology.cells.iter().filter(|_| self.central_units.is_empty()) {
            let at = topology.address(&cell.name);
            let buffers = Buffering::plain(self.buffer_limit, Keeps::Unacknowledged);
            installed.place_with(at, GNodeB::new(at, (amf, relay), params), Some(buffers));
        }
        for host in &topology.hosts {
            let address = topology.address(&host.name);
            installed.place(
                address,
                UserEquipment::new(address, stream(&format!("{}/handover", host.name)), params),
            );
        }
        installed.tunnel_overhead = Some(self.tunnel_overhead);
        installed.forwarding_overhead = Some(self.forwarding_overhead());
        installed.bearers = Some(self.bearer.values());
        installed.discards_unknown = true;
        installed.delivers_to_self = true;
        installed
    }
}

impl Params {
    /// Nodes of the core network.
    fn check_places(&self, topology: &Topology) -> Result<(), Refusal> {
        let home = topology.common_home("user plane function")?;
        for (field, name) in [("amf", &self.amf), ("smf", &self.smf), ("upf", &self.upf)] {
            topology.check_router(field, name.as_ref())?;
        }
        match (&self.upf, home) {
            (Some(upf), Some(home)) if upf != home => {
                let refusal = Refusal::at("upf", "the user plane function is the home of the hosts");
                Err(refusal.help(format!("write \"{home}\", or leave this out")))
            }
            _ => Ok(()),
        }
    }
}
