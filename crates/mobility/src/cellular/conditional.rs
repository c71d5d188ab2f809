//! The source base station's part in a conditional handover: prepare candidates, name them to the host, and hand over when
//! one of them has it.

use super::context::{Candidate, Context, Environment, Progress, State};
use super::message::{Message, Plan};
use super::params::Conditional;
use super::{Action, Phase};
use roamlab_packet::Addr;

impl Context {
    /// The host has reported a neighbour. A report of a prepared one is repeated: the host may not know its candidates.
    pub fn candidate_reported(&mut self, target: Addr, conditional: &Conditional, env: &mut Environment<'_>) {
        if matches!(self.state, State::Serving) {
            self.begin_handover(env);
            let until = env.now + env.rules.validity;
            self.state = State::Conditional { candidates: Vec::new(), until };
        }
        let State::Conditional { candidates, .. } = &mut self.state else { return };
        match candidates.iter().find(|known| known.target == target) {
            Some(Candidate { progress: Progress::Prepared, .. }) => self.name_candidates(env),
            None if candidates.len() < conditional.candidates as usize => {
                candidates.push(Candidate { target, progress: Progress::Asked });
                env.send(target, self.id, Message::HandoverRequest { plan: Plan::Condition });
            }
            Some(_) | None => {}
        }
    }

    /// A candidate has acknowledged.
    pub fn candidate_is_ready(&mut self, from: Addr, env: &mut Environment<'_>) {
        let State::Conditional { candidates, .. } = &mut self.state else { return };
        if let Some(candidate) = candidates.iter_mut().find(|candidate| candidate.target == from) {
            candidate.progress = Progress::Prepared;
            env.note(Phase::HandoverPrepared);
            self.name_candidates(env);
        }
    }

    /// A candidate does not admit the host.
    pub fn candidate_refuses(&mut self, from: Addr, env: &mut Environment<'_>) {
        let State::Conditional { candidates, .. } = &mut self.state else { return };
        let before = candidates.len();
        candidates.retain(|candidate| candidate.target != from);
        if candidates.len() < before {
            env.note(Phase::HandoverRejected);
        }
        if candidates.is_empty() {
            self.state = State::Serving;
        }
    }

    /// The candidates that are prepared.
    pub fn prepared(&self) -> Vec<Addr> {
        let State::Conditional { candidates, .. } = &self.state else { return Vec::new() };
        let prepared = candidates.iter().filter(|candidate| candidate.progress == Progress::Prepared);
        prepared.map(|candidate| candidate.target).collect()
    }

    fn name_candidates(&self, env: &mut Environment<'_>) {
        let candidates = self.prepared();
        if env.present {
            env.send(env.host, self.id, Message::ConditionalReconfiguration { candidates });
        }
    }

    /// The host has gone to this candidate, or to the target at which it was to arrive before it leaves.
    pub fn succeeded(&mut self, from: Addr, env: &mut Environment<'_>) {
        match self.state {
            State::Conditional { .. } if !env.present => self.cancel_candidates(Some(from), env),
            State::Dual { target, .. } if target == from => {}
            // The cancel has come after the host.
            State::Serving if !env.present => {}
            _ => return,
        }
        self.hand_over(from, false, env);
    }

    /// No candidate is needed any more, except one that has the host.
    pub fn cancel_candidates(&mut self, but: Option<Addr>, env: &mut Environment<'_>) {
        let State::Conditional { candidates, .. } = &mut self.state else { return };
        for candidate in std::mem::take(candidates) {
            if Some(candidate.target) != but {
                env.send(candidate.target, self.id, Message::HandoverCancel);
            }
        }
        if env.rules.numbered && but.is_none() {
            env.out.push(Action::ForwardBearer { host: env.host, to: Vec::new(), fresh: false });
        }
        self.state = State::Serving;
    }

    /// The host has not gone to any of them in time.
    pub fn candidates_time_out(&mut self, env: &mut Environment<'_>) {
        env.note(Phase::HandoverCancelled);
        self.cancel_candidates(None, env);
        if env.present {
            env.send(env.host, self.id, Message::ConditionalReconfiguration { candidates: Vec::new() });
        }
    }
}
