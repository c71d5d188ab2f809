//! The target base station's part: expect the host, admit it, request the path switch; or return its packets.

use super::bearer::{Bearer, Outlet};
use super::context::{Context, Environment, State};
use super::message::{Message, Out, Plan};
use super::{Action, Cancelled, Forwarding, Phase, Rules};
use crate::identification::Identification;
use roamlab_engine::{Duration, Time};
use roamlab_packet::{Addr, Received};
use std::collections::BTreeSet;

impl Context {
    /// The context of a host that `source` hands over by the handover `id`, in place of one that is `known`.
    pub fn expecting(
        (host, id): (Addr, Identification),
        known: Option<&Context>,
        (source, plan): (Addr, Plan),
        now: Time,
        (rules, out): (&Rules, &mut dyn Out),
    ) -> Context {
        if let Some(known) = known {
            if let Outlet::Tunnel(target) = known.bearer.outlet() {
                known.bearer.stop_forwarding(target, known.id, out);
            }
            known.bearer.expect_no_more(out);
            if rules.numbered {
                out.push(Action::EndBearer { host });
            }
        }
        let bearer = Bearer::expecting(host, id, source, rules, out);
        let validity = rules.conditional.as_ref().filter(|_| plan == Plan::Condition);
        let until = now + validity.map_or(Duration::ZERO, |_| rules.validity) + rules.timers.joining;
        Context::new(id, State::Prepared { source, until, granted: None, plan }, bearer)
    }

    /// The host accesses the cell.
    pub fn accessed(&mut self, env: &mut Environment<'_>) {
        if let State::Prepared { granted, .. } = &mut self.state {
            *granted = Some(env.now + env.rules.timers.random_access);
            env.send(env.host, self.id, Message::RandomAccessResponse);
        }
    }

    /// The host is here.
    pub fn confirmed(&mut self, env: &mut Environment<'_>) {
        let State::Prepared { source, plan, .. } = self.state else { return };
        env.note(Phase::HandoverConfirmed);
        self.state = State::Serving;
        if let Some(state) = self.marking.take() {
            env.out.push(Action::AdoptMarking { host: env.host, state });
        }
        self.bearer.attach(env.now, env.rules, env.out);
        if env.rules.path_awaits_numbers {
            self.awaits_path = Some(source);
        } else {
            self.fetch_path(source, env);
        }
        if plan.reports_success() {
            env.send(source, self.id, Message::HandoverSuccess);
        }
    }

    /// The connection of the host continues here, and its packets still wait.
    pub fn rejoined(&mut self, env: &mut Environment<'_>) {
        let State::Prepared { source, plan, .. } = self.state else { return };
        self.state = State::Serving;
        self.switch_path(env.address, Some(source), env);
        if plan.reports_success() {
            env.send(source, self.id, Message::HandoverSuccess);
        }
    }

    /// The source keeps the host; whether the context stays. A host that has begun random access has received
    /// the command anyway, and one that re-establishes its connection here has lost the source: they do not
    /// go back.
    pub fn cancelled(&mut self, from: Addr, env: &mut Environment<'_>) -> bool {
        let State::Prepared { source, plan, granted: None, .. } = self.state else { return true };
        if source != from || self.resuming.is_some() {
            return true;
        }
        let drops = env.rules.cancelled == Cancelled::Drop || env.rules.forwarding == Forwarding::None;
        // A candidate has no packets, or copies: the source forwards others only to the one that the host has arrived at.
        if drops || plan.reports_success() {
            if env.rules.numbered && plan.reports_success() {
                let received = Received::Status { first_missing: u32::MAX, later: BTreeSet::new() };
                env.out.push(Action::SkipReceived { host: env.host, received });
            }
            self.bearer.end(env.out);
            return false;
        }
        self.state = State::Leaving { until: env.now + env.rules.timers.forwarding_hold };
        self.bearer.forward(env.rules.way_to(source), env.now, env.rules, env.out);
        if plan != Plan::SwitchEarly {
            // Nothing comes but what the source has forwarded.
            self.bearer.ends_with_inflow(self.id, env.out);
        }
        true
    }

    /// A host whose link has failed continues here.
    pub fn continue_here(&mut self, env: &mut Environment<'_>) {
        match self.state {
            State::Prepared { .. } => self.confirmed(env),
            State::Serving | State::Preparing { .. } => self.bearer.attach(env.now, env.rules, env.out),
            State::Ready { .. } | State::Executing { .. } => self.take_back(env),
            State::Conditional { .. } => {
                self.cancel_candidates(None, env);
                self.bearer.attach(env.now, env.rules, env.out);
            }
            State::Dual { .. } | State::Leaving { .. } => {}
        }
    }
}
