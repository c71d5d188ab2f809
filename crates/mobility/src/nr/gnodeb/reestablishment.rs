//! Re-establishment of a connection at a base station: the one that has the context, one that is prepared, or one that asks
//! for the context (TS 38.300 §9.2.3.3).

use super::{GNodeB, Host, Resuming, Retrieval};
use crate::Identification;
use crate::cellular::{Context, Plan, State};
use crate::nr::{Action, Kind};
use roamlab_engine::Time;
use roamlab_packet::Addr;

impl GNodeB {
    /// A host whose link has failed asks to continue here.
    pub(super) fn reestablish(
        &mut self,
        (host, id): (Addr, Identification),
        previous: Addr,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let mut continues = false;
        self.with(host, now, out, |known, env| {
            // A host that has been at the target of a handover from here has its context there.
            let was_there =
                matches!(known.context.state, State::Executing { target, .. } if target == previous);
            continues = known.context.id >= id && known.context.is_active() && !was_there && !known.unsure;
            if continues {
                let restarts = known.has_discarded(env);
                known.context.abandon(env);
                known.restart(restarts, env);
                if !env.rules.continues {
                    known.begin_again(env);
                }
                let until = env.now + env.rules.timers.joining;
                known.resuming = Some(Resuming { id, reconfigured: false, begins_again: false, until });
            }
            true
        });
        if continues {
            return self.send(host, (host, id), Kind::Reestablishment, out);
        }
        let may_ask = previous != self.address && previous != host && !self.by_core();
        if !may_ask {
            return self.fall_back((host, id), out);
        }
        let new = id.newer(now);
        let retrieval = Retrieval { ue: id, id: new, source: previous, until: now + self.params.timers.t301 };
        self.retrievals.insert(host, retrieval);
        self.send(host, (previous, new), Kind::RetrieveContextRequest { ue: id }, out);
    }

    /// The connection of a host does not continue: it asks for a new one.
    fn fall_back(&self, (host, id): (Addr, Identification), out: &mut Vec<Action>) {
        if !self.hosts.contains_key(&host) {
            out.push(Action::EndBearer { host });
        }
        self.send(host, (host, id), Kind::FallbackSetup, out);
    }

    /// Another base station has a host of this one.
    pub(super) fn retrieve(
        &mut self,
        (host, id): (Addr, Identification),
        (asks, ue): (Addr, Identification),
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let mut is_given = false;
        self.with(host, now, out, |known, env| {
            let has = known.context.is_active() && !matches!(known.context.state, State::Prepared { .. });
            is_given =
                has && !known.unsure && known.context.id >= ue && id > known.context.id && !env.present;
            if is_given {
                known.context.withdraw(env);
                known.retrieved = Some((asks, id));
            }
            true
        });
        let kind = if is_given { Kind::RetrieveContextResponse } else { Kind::RetrieveContextFailure };
        self.send(host, (asks, id), kind, out);
    }

    /// The base station that was asked has answered.
    pub(super) fn retrieved(
        &mut self,
        (host, id): (Addr, Identification),
        is_given: bool,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let Some(retrieval) = self.retrievals.get(&host).filter(|retrieval| retrieval.id == id).copied()
        else {
            return;
        };
        self.retrievals.remove(&host);
        let Retrieval { ue, source, .. } = retrieval;
        if !self.present.contains(&host) {
            return;
        }
        if !is_given {
            return self.fall_back((host, ue), out);
        }
        let known = self.hosts.get(&host).map(|known| &known.context);
        let mut sender = self.outbox(out);
        let from = (source, Plan::Command);
        let context = Context::expecting((host, id), known, from, now, (&self.rules, &mut sender));
        let until = now + self.rules.timers.joining;
        let resuming = Some(Resuming { id: ue, reconfigured: false, begins_again: false, until });
        self.hosts.insert(host, Host { resuming, ..Host::new(context) });
        self.begin_numbers(host, now, out);
        self.send(host, (host, ue), Kind::Reestablishment, out);
        self.send(host, (source, id), Kind::AddressIndication, out);
    }

    /// A host that does not complete its re-establishment learns that its link has failed.
    pub(super) fn give_up_resuming(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        let Some(known) = self.hosts.get_mut(&host) else { return };
        let over = known.resuming.take_if(|resuming| resuming.until <= now).is_some();
        let id = known.context.id;
        if over && self.present.contains(&host) {
            self.send(host, (host, id), Kind::NoContext, out);
        }
    }

    /// The host has accepted that its connection continues here: its bearers are to continue too.
    pub(super) fn host_continues(
        &mut self,
        (host, id): (Addr, Identification),
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let mut continues = None;
        self.with(host, now, out, |known, env| {
            if let Some(resuming) = known.resuming.as_mut().filter(|resuming| resuming.id == id) {
                let is_first = !std::mem::replace(&mut resuming.reconfigured, true);
                known.context.rejoined(env);
                resuming.id = known.context.id.max(id);
                continues = Some(resuming.id).filter(|_| is_first);
            }
            true
        });
        if let Some(id) = continues {
            self.send(host, (host, id), Kind::ResumeReconfiguration, out);
        }
    }
}
