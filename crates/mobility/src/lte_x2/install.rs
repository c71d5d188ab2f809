//! The roles at the nodes, the requirements of the parameters, and the capabilities that the protocol requests.

use super::{
    Core, ENodeB, FORWARDING_OVERHEAD, Forwarding, Kind, LteX2, Mme, Params, PathSwitch, Phase,
    ServingGateway, UserEquipment,
};
use crate::{Buffering, Installation, Keeps, Prediction, Protocol, Refusal, Topology};
use roamlab_engine::{Duration, Rng, Time};
use roamlab_packet::Dscp;

impl Protocol for Params {
    crate::protocol!(LteX2, "LTE", "{ kind = \"lte-x2\", path_switch = \"standard\" }");

    const COMMANDS_HOSTS: bool = true;
    const TUNNELS: crate::Tunnels = crate::Tunnels::Own;

    fn mark(&self) -> Option<Dscp> {
        self.mark
    }

    fn check(&self, topology: &Topology) -> Result<(), Refusal> {
        Params::check(self).map_err(|(field, message)| Refusal::at(field, message))?;
        let overheads =
            [("tunnel_overhead", self.tunnel_overhead), ("forwarding_overhead", FORWARDING_OVERHEAD)];
        if let Some((part, overhead)) =
            overheads.iter().find(|(_, overhead)| overhead.0 > u64::from(u16::MAX))
        {
            let refusal = Refusal::at(*part, format!("expected at most 65535 B, got \"{overhead}\""));
            return Err(refusal.help("write \"36 B\" for GTP-U over UDP and IPv4"));
        }
        if let Some(mark) = self.mark.filter(|mark| !(1..=63).contains(&mark.0)) {
            let message = format!("expected a code point from 1 to 63, got {}", mark.0);
            return Err(Refusal::at("mark", message).help("write a number from 1 to 63"));
        }
        if !topology.measured {
            let message = "LTE hands over what hosts measure, and they measure nothing";
            return Err(Refusal::at("kind", message)
                .help("add `[radio]` with `kind = \"hard\"` and `measurement = {}`"));
        }
        self.conditional.as_ref().map_or(Ok(()), |conditional| conditional.check_radio(topology))?;
        if topology.gap != Duration::ZERO {
            let message = "in LTE a handover interrupts for `mobility.detach_time`";
            return Err(Refusal::elsewhere("radio.gap", message).help("remove this"));
        }
        self.check_places(topology)?;
        self.check_predictions(topology)
    }

    fn carries_marking_state(&self) -> bool {
        self.carry_marking_state
    }

    fn warnings(&self, end: Duration) -> Vec<Refusal> {
        let late =
            self.predictions.iter().flatten().enumerate().filter(|(_, prediction)| prediction.at >= end);
        let warning = |(number, prediction): (usize, &super::params::Prediction)| {
            let message = format!("this prediction at {} never comes: the run ends at {end}", prediction.at);
            Refusal::at(format!("predictions[{number}].at"), message)
                .help("lengthen `run.duration`, or write an earlier time")
        };
        late.map(warning).collect()
    }

    fn install(&self, topology: &Topology, stream: &dyn Fn(&str) -> Rng) -> Installation<LteX2> {
        let mut installed = Installation::empty();
        // The check ensures that all hosts have the same home.
        let Some(host) = topology.hosts.first() else { return installed };
        let gateway = topology.address(&host.home);
        let mme = self.mme.as_ref().map_or(gateway, |name| topology.address(name));
        if mme == gateway {
            installed.place(gateway, Core::new(gateway, self));
        } else {
            installed.place(gateway, ServingGateway::new(self));
            installed.place(mme, Mme::new(gateway, self));
        }
        for cell in &topology.cells {
            let at = topology.address(&cell.name);
            installed.place_with(at, ENodeB::new(at, mme, self), Some(self.buffering()));
        }
        for host in &topology.hosts {
            let address = topology.address(&host.name);
            let draws = stream(&format!("{}/handover", host.name));
            installed.place(address, UserEquipment::new(address, draws, self));
        }
        installed.tunnel_overhead = Some(self.tunnel_overhead);
        installed.forwarding_overhead = Some(FORWARDING_OVERHEAD);
        installed.drops_duplicates = self.drop_duplicates && self.forwarding == Forwarding::Lossless;
        installed.discards_unknown = true;
        installed.delivers_to_self = true;
        installed.predictions = self.predicted(topology);
        installed
    }
}

impl Params {
    /// Nodes of gateway and MME.
    fn check_places(&self, topology: &Topology) -> Result<(), Refusal> {
        topology.common_home("serving gateway")?;
        topology.check_router("mme", self.mme.as_ref())
    }

    fn check_predictions(&self, topology: &Topology) -> Result<(), Refusal> {
        let hosts = || topology.hosts.iter().map(|host| host.name.as_str());
        let cells = || topology.cells.iter().map(|cell| cell.name.as_str());
        for (index, prediction) in self.predictions.iter().flatten().enumerate() {
            let at = |part: &str| format!("predictions[{index}].{part}");
            if !hosts().any(|host| host == prediction.host) {
                let refusal = Refusal::at(at("host"), format!("there is no host \"{}\"", prediction.host));
                return Err(refusal.known(&prediction.host, hosts()));
            }
            if !cells().any(|cell| cell == prediction.cell) {
                let refusal = Refusal::at(at("cell"), format!("there is no cell \"{}\"", prediction.cell));
                return Err(refusal.known(&prediction.cell, cells()));
            }
        }
        Ok(())
    }

    fn buffering(&self) -> Buffering {
        let keeps = match self.forwarding {
            Forwarding::Lossless => Keeps::InFlight,
            Forwarding::Seamless | Forwarding::None => Keeps::Nothing,
        };
        Buffering::plain(self.buffer_limit, keeps)
    }

    /// The predictions of the scenario, in its order; those that follow from visits by host.
    fn predicted(&self, topology: &Topology) -> Vec<Prediction> {
        if self.path_switch != PathSwitch::Predictive {
            return Vec::new();
        }
        let prediction = |at: Duration, host: &str, cell: &str| Prediction {
            at: Time::ZERO + at,
            host: topology.address(host),
            base_station: topology.address(cell),
        };
        if let Some(listed) = &self.predictions {
            return listed.iter().map(|one| prediction(one.at, &one.host, &one.cell)).collect();
        }
        let of_visits = topology.hosts.iter().flat_map(|host| {
            let handovers = host.visits.windows(2).filter(|pair| pair[0].until.is_none());
            let at = |visit: Duration| visit.saturating_sub(self.prediction_lead);
            handovers.map(move |pair| prediction(at(pair[1].at), &host.name, &pair[1].cell))
        });
        of_visits.collect()
    }
}
