//! A host that is expected at a base station, and comes: its admission, the numbers of its bearer, and its first message.

use super::{Due, GNodeB, Host, Resuming};
use crate::Identification;
use crate::cellular::{self, Context, Plan, State};
use crate::nr::outbox::Outbox;
use crate::nr::{Action, Kind, Phase, Procedure};
use roamlab_engine::Time;
use roamlab_packet::{Addr, Counts, Received};

impl GNodeB {
    /// `asks` gets the answer: the source, or the AMF.
    pub(super) fn handover_requested(
        &mut self,
        (host, id): (Addr, Identification),
        (source, asks): (Addr, Addr),
        plan: Plan,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let known = self.hosts.get(&host).map(|known| &known.context);
        if known.is_some_and(|known| id <= known.id) {
            return;
        }
        let others = self.hosts.iter().filter(|&(&other, known)| other != host && known.context.is_active());
        let full = self.params.admission_limit.is_some_and(|limit| others.count() >= limit as usize);
        // A source that still forwards has one context of the host: it cannot be a candidate too, nor get copies.
        let forwards = plan.reports_success()
            && known.is_some_and(|known| known.has_handed_over() || known.awaits_success());
        if full || forwards || self.present.contains(&host) {
            let kind = if self.by_core() { Kind::HandoverFailure } else { Kind::HandoverPreparationFailure };
            return self.send(host, (asks, id), kind, out);
        }
        self.retrievals.remove(&host);
        let mut sender = self.outbox(out);
        let context = Context::expecting((host, id), known, (source, plan), now, (&self.rules, &mut sender));
        let due = Some((now + self.params.admission, Due::Admit));
        let dual = plan == Plan::Dual;
        self.hosts.insert(host, Host { due, dual, ..Host::new(context) });
        self.begin_numbers(host, now, out);
        self.on_timer(now, out);
    }

    /// The numbers of a bearer that do not continue begin here.
    pub(super) fn begin_numbers(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        if !self.rules.continues {
            self.with(host, now, out, |known, env| {
                known.adopt(Counts::default(), env);
                true
            });
        }
    }

    /// The numbers of a host's bearer have come. A host that is still at its source may leave it.
    pub(super) fn numbers_known(
        &mut self,
        (host, id): (Addr, Identification),
        counts: Counts,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let mut leaves_source = false;
        self.with(host, now, out, |known, env| {
            if id == known.origin && !known.numbered {
                known.adopt(counts, env);
                known.context.numbers_are_known(env);
                leaves_source = env.present && std::mem::take(&mut known.dual);
                if matches!(known.context.state, State::Executing { .. }) {
                    // The next target waits for them already.
                    env.out.push(cellular::Action::FreezeBearer { host });
                    env.out.push(cellular::Action::ReportBearer { host });
                }
            }
            true
        });
        if leaves_source {
            self.send(host, (host, id), Kind::SourceRelease, out);
        }
    }

    /// The host is here, or its bearers continue here.
    pub(super) fn completed(
        &mut self,
        (host, id): (Addr, Identification),
        received: Option<&Received>,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let mut is_known = false;
        self.with(host, now, out, |known, env| {
            let resumes = |resuming: &mut Resuming| resuming.id == id && resuming.reconfigured;
            // A context that returns its packets, as the source has cancelled, takes no host.
            is_known = id == known.context.id && known.context.is_active()
                || known.resuming.is_some_and(|resuming| resuming.id == id);
            if let Some(resumed) = known.resuming.take_if(resumes) {
                if !resumed.begins_again {
                    env.note(cellular::Phase::HandoverConfirmed);
                }
                known.unsure = false;
                if !known.context.has_handed_over() {
                    if resumed.begins_again {
                        env.out.push(cellular::Action::ResumeBearer { host });
                    }
                    known.attach(received, env);
                }
            } else if id == known.context.id && matches!(known.context.state, State::Prepared { .. }) {
                known.attach(received, env);
                known.context.confirmed(env);
                if known.numbered {
                    known.context.numbers_are_known(env);
                }
            }
            true
        });
        if !is_known {
            self.send(host, (host, id), Kind::NoContext, out);
        }
    }

    /// The numbers of a host's bearer have not come: it begins again.
    pub(super) fn reconfigure_fully(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        let Some(known) = self.hosts.get_mut(&host) else { return };
        let is_over = known.numbers_by.take_if(|at| *at <= now).is_some();
        if !is_over || known.context.has_handed_over() {
            return;
        }
        (known.numbered, known.unsure) = (true, true);
        let id = known.context.id;
        let leaves_source = std::mem::take(&mut known.dual);
        let by_core = self.params.procedure == Procedure::N2;
        let mut sender = Outbox { out, amf: self.amf, by_core, dual: self.params.daps };
        known.context.bearer.reconfigure_fully(&mut sender);
        // The host takes nothing of the new bearer before it has begun it, too.
        known.context.bearer.hold(&mut sender);
        let until = now + self.rules.timers.joining;
        known.resuming = Some(Resuming { id, reconfigured: true, begins_again: true, until });
        out.push(Action::AdoptBearer { host, counts: Counts::default() });
        out.push(Action::FreezeBearer { host });
        out.push(Action::Note { host, phase: Phase::FullyConfigured });
        self.send(host, (host, id), Kind::FullConfiguration, out);
        self.with(host, now, out, |known, env| {
            known.context.numbers_are_known(env);
            true
        });
        if leaves_source {
            self.send(host, (host, id), Kind::SourceRelease, out);
        }
    }
}
