//! The base station as part of a central unit.

use super::{GNodeB, StateName};
use crate::Identification;
use crate::transitions::Role as _;
use roamlab_packet::Addr;

impl GNodeB {
    /// It has a context of the host.
    pub(in crate::nr) fn has(&self, host: Addr) -> bool {
        self.hosts.contains_key(&host)
    }

    /// The host is here, and there is no handover.
    pub(in crate::nr) fn serves(&self, host: Addr) -> bool {
        self.present.contains(&host) && self.state(host) == StateName::Serving
    }

    /// The host has been commanded to another base station.
    pub(in crate::nr) fn has_commanded(&self, host: Addr) -> bool {
        self.state(host) == StateName::Executing
    }

    /// The host is here.
    pub(in crate::nr) fn is_present(&self, host: Addr) -> bool {
        self.present.contains(&host)
    }

    /// The newest handover of the host.
    pub(in crate::nr) fn newest(&self, host: Addr) -> Identification {
        self.hosts.get(&host).map_or(Identification::default(), |known| known.context.id)
    }

    /// The host has a newer identification.
    pub(in crate::nr) fn renew(&mut self, host: Addr, id: Identification) {
        if let Some(known) = self.hosts.get_mut(&host) {
            known.context.bearer.since(known.context.id);
            known.context.id = known.context.id.max(id);
        }
    }
}
