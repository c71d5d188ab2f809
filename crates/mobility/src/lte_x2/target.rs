//! The target base station's part: expect the host, admit it, request the path switch; or return its packets.

use super::enodeb::{Context, Environment, State};
use super::message::Plan;
use super::{Action, Cancelled, Forwarding, Kind, Phase};
use roamlab_packet::Addr;

impl Context {
    /// The host accesses the cell.
    pub fn accessed(&mut self, env: &mut Environment<'_>) {
        if let State::Prepared { granted, .. } = &mut self.state {
            *granted = Some(env.now + env.params.timers.random_access);
            env.send(env.host, self.id, Kind::RandomAccessResponse);
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
        self.bearer.attach(env.now, env.out);
        self.switch_path(env.address, Some(source), env);
        if plan == Plan::Condition {
            env.send(source, self.id, Kind::HandoverSuccess);
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
        let drops = env.params.cancelled == Cancelled::Drop || env.params.forwarding == Forwarding::None;
        // A candidate has no packets: the source forwards only to the one that the host has arrived at.
        if drops || plan == Plan::Condition {
            self.bearer.end(env.out);
            return false;
        }
        self.state = State::Leaving { until: env.now + env.params.timers.forwarding_hold };
        self.bearer.forward(source, env.now, env.params, env.out);
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
            State::Serving | State::Preparing { .. } => self.bearer.attach(env.now, env.out),
            State::Ready { .. } | State::Executing { .. } => self.take_back(env),
            State::Conditional { .. } => {
                self.cancel_candidates(None, env);
                self.bearer.attach(env.now, env.out);
            }
            State::Leaving { .. } => {}
        }
    }
}
