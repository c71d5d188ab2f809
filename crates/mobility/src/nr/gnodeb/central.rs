//! The base station as part of a central unit.

use super::{GNodeB, StateName};
use crate::Identification;
use crate::cellular::{Context, State};
use crate::nr::Action;
use crate::transitions::Role as _;
use roamlab_engine::Time;
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

    /// The host asks for a new connection: nothing of the last one goes to it any more.
    pub(in crate::nr) fn hold(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        self.with(host, now, out, |known, env| {
            known.context.bearer.hold(env.out);
            true
        });
    }

    /// The host was ordered to another distributed unit with this identification before the command of a handover to another
    /// base station had reached it: that handover is off.
    pub(in crate::nr) fn is_overtaken(&self, host: Addr, id: Identification) -> bool {
        let hands_over = |context: &Context| {
            let unfinished = matches!(context.state, State::Preparing { .. } | State::Executing { .. });
            unfinished && id > context.bearer.before()
        };
        self.present.contains(&host) && self.hosts.get(&host).is_some_and(|known| hands_over(&known.context))
    }

    /// A handover to another base station is off: the host is served here.
    pub(in crate::nr) fn take_back(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        self.with(host, now, out, |known, env| {
            match known.context.state {
                State::Executing { .. } => known.context.take_back(env),
                _ => known.context.withdraw(env),
            }
            known.due = None;
            true
        });
    }

    /// The target of a handover has acknowledged it: whether the host is to be commanded, and is served until then.
    pub(in crate::nr) fn commands(
        &mut self,
        host: Addr,
        (from, id): (Addr, Identification),
        by: Time,
    ) -> bool {
        let Some(known) = self.hosts.get_mut(&host).filter(|known| known.context.id == id) else {
            return false;
        };
        match &mut known.context.state {
            State::Preparing { target, until, .. } if *target == from => {
                *until = by;
                true
            }
            _ => false,
        }
    }

    /// Packets that have waited for the host, as its link had failed, follow.
    pub(in crate::nr) fn attach(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        self.with(host, now, out, |known, env| {
            known.context.bearer.attach(env.now, env.rules, env.out);
            true
        });
    }
}
