//! Early synchronisation: a host sends preambles to candidates, whose distributed units measure the timing advance (TS 38.300
//! §9.2.3.5.2).

use super::{Advance, Context, DistributedUnit, Kind, Message, ORDERS, StateName};
use crate::Identification;
use crate::nr::{Action, TimingAdvance};
use roamlab_engine::Time;
use roamlab_packet::Addr;

impl DistributedUnit {
    /// The host has candidates: those without a timing advance are to be measured, when it has processed their configuration.
    pub(super) fn synchronise_early(&mut self, host: Addr, now: Time) {
        let Some(ltm) = self.params.ltm.as_ref() else { return };
        let (address, at) = (self.address, now + self.params.times.rrc_processing);
        let Some(known) = self.hosts.get_mut(&host) else { return };
        if ltm.timing_advance != TimingAdvance::EarlyAccess || known.state != StateName::Active {
            return;
        }
        let Context { candidates, advances, .. } = known;
        advances.retain(|candidate, _| candidates.contains(candidate));
        for &candidate in candidates.iter().filter(|candidate| **candidate != address) {
            let new = Advance { is_known: false, order_at: None, left: 0 };
            let advance = advances.entry(candidate).or_insert(new);
            if !advance.is_known && advance.order_at.is_none() {
                (advance.order_at, advance.left) = (Some(at), ORDERS);
            }
        }
    }

    /// The times of orders have come.
    pub(super) fn order_preambles(&mut self, now: Time, out: &mut Vec<Action>) {
        let Some(again) = self.params.ltm.as_ref().map(|ltm| ltm.early_access_again) else { return };
        for (&host, known) in &mut self.hosts {
            for (&target, advance) in &mut known.advances {
                if advance.order_at.take_if(|at| *at <= now).is_none() {
                    continue;
                }
                if std::mem::take(&mut advance.is_known) {
                    advance.left = ORDERS;
                }
                if advance.left > 0 {
                    (advance.left, advance.order_at) = (advance.left - 1, Some(now + again));
                    out.push(Message::about(host, known.id, Kind::PreambleOrder { target }).to(host));
                }
            }
        }
    }

    /// The host has sent a preamble here. It may be in another cell.
    pub(super) fn preamble(&self, (host, id): (Addr, Identification), out: &mut Vec<Action>) {
        if self.hosts.contains_key(&host) {
            self.tell(host, id, Kind::UnitTimingAdvance, out);
        }
    }

    /// The timing advance of a candidate has come.
    pub(super) fn adopt_timing(&mut self, host: Addr, candidate: Addr, now: Time) {
        let lifetime = self.params.ltm.as_ref().and_then(|ltm| ltm.timing_advance_lifetime);
        let advance = self.hosts.get_mut(&host).and_then(|known| known.advances.get_mut(&candidate));
        if let Some(advance) = advance {
            (advance.is_known, advance.order_at) = (true, lifetime.map(|lifetime| now + lifetime));
        }
    }

    /// The host can send in the cell of this candidate without random access.
    pub(super) fn has_timing(&self, host: Addr, candidate: Addr) -> bool {
        let advance = self.hosts.get(&host).and_then(|known| known.advances.get(&candidate));
        match self.params.ltm.as_ref().map(|ltm| ltm.timing_advance) {
            Some(TimingAdvance::EarlyAccess) => advance.is_some_and(|advance| advance.is_known),
            Some(TimingAdvance::Measured) => true,
            Some(TimingAdvance::None) | None => false,
        }
    }
}

impl Advance {
    /// When the host is ordered to send a preamble.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.order_at
    }
}
