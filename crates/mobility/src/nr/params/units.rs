//! Central and distributed units: what they require, and their places.

use super::{Forwarding, Params};
use crate::nr::central_unit::Units;
use crate::nr::{CentralUnit, DistributedUnit, Nr};
use crate::{Buffering, Installation, Keeps, Refusal, Topology};
use roamlab_engine::{Bytes, Duration};
use roamlab_packet::Addr;
use std::sync::Arc;

impl Params {
    /// Refuses what is not modelled with central units.
    pub(in crate::nr) fn check_units(&self) -> Result<(), (String, String)> {
        let refuse = |field: &str, message: &str| Err((field.into(), message.into()));
        if let Some(ltm) = &self.ltm {
            ltm.check()?;
            if self.central_units.is_empty() {
                let message = "LTM is between distributed units of one central unit: write `central_units`";
                return refuse("ltm", message);
            }
        }
        if self.central_units.is_empty() {
            return Ok(());
        }
        if self.conditional.is_some() || self.daps {
            let (field, name) = match self.daps {
                true => ("daps", "DAPS"),
                false => ("conditional", "conditional handover"),
            };
            let message = format!(
                "expected a handover by command, got {name} with `central_units`: remove `{field}`, or remove \
                 `central_units` for whole base stations"
            );
            return refuse(field, &message);
        }
        if self.forwarding == Forwarding::None {
            let message = "expected forwarding, got \"none\" with `central_units`: write \"direct\", or remove \
                           `central_units` for whole base stations";
            return refuse("forwarding", message);
        }
        if !self.continues() {
            let message = "central units are modelled with bearers whose numbers continue: write \"am\"";
            return refuse("bearer.rlc", message);
        }
        if self.command_delay > Duration::ZERO {
            let message =
                "with central units the distributed unit sends the command immediately: remove this";
            return refuse("command_delay", message);
        }
        if self.delivery_status_interval == Duration::ZERO {
            let message = "this time cannot be zero: write for example \"10 ms\"";
            return refuse("delivery_status_interval", message);
        }
        if self.unit_overhead > Bytes(u64::from(u16::MAX)) {
            return refuse("unit_overhead", "expected at most 65535 B: write \"44 B\"");
        }
        Ok(())
    }

    /// Central units are routers, and all cells hang off them.
    pub(in crate::nr) fn check_unit_places(&self, topology: &Topology) -> Result<(), Refusal> {
        for (number, name) in self.central_units.iter().enumerate() {
            if !topology.routers.contains(name) {
                let refusal =
                    Refusal::at(format!("central_units[{number}]"), format!("there is no node \"{name}\""));
                return Err(refusal.known(name, topology.routers.iter().map(String::as_str)));
            }
            if topology.hosts.iter().any(|host| host.home == *name) {
                let message = "this is the home of hosts, and the user plane function";
                let refusal = Refusal::at(format!("central_units[{number}]"), message);
                return Err(refusal.help("give the central unit another node"));
            }
        }
        let whole = topology.cells.iter().find(|cell| !self.central_units.contains(&cell.router));
        match whole.filter(|_| !self.central_units.is_empty()) {
            None => Ok(()),
            Some(cell) => {
                let message = format!("cell \"{}\" hangs off \"{}\"", cell.name, cell.router);
                Err(Refusal::at("central_units", message)
                    .help("add this router: all base stations are split, or none"))
            }
        }
    }

    /// Gives central and distributed units their places. `core`: the AMF, and the node through which packets are forwarded.
    pub(in crate::nr) fn place_units(
        self: &Arc<Params>,
        core: (Addr, Option<Addr>),
        topology: &Topology,
        installed: &mut Installation<Nr>,
    ) {
        let unit = |cell: &crate::CellSite| (topology.address(&cell.name), topology.address(&cell.router));
        let units: Units = topology.cells.iter().map(unit).collect();
        let buffers = || Some(Buffering::plain(self.buffer_limit, Keeps::Unacknowledged));
        for name in &self.central_units {
            let at = topology.address(name);
            installed.place_with(at, CentralUnit::new(at, core, &units, self), buffers());
        }
        for &at in units.keys() {
            installed.place_with(at, DistributedUnit::new(at, &units, self), buffers());
        }
        let central = units.into_iter().collect();
        installed.units = Some(crate::Units { central, overhead: self.unit_overhead });
    }
}
