//! Copies of packets for targets to which the host has not come yet: early forwarding to candidates (TS 38.300 §9.2.3.4.2), and
//! a source that serves the host until it is at the target (DAPS, §9.2.3.2.2).

use super::{GNodeB, Host};
use crate::Identification;
use crate::cellular::{Action as BlockAction, Environment, State};
use crate::nr::{Action, CandidateForwarding, Kind};
use roamlab_engine::Time;
use roamlab_packet::{Addr, BearerState, Received};

impl Host {
    /// The target has the host.
    pub(super) fn succeed(&mut self, target: Addr, env: &mut Environment<'_>) {
        let is_dual = matches!(self.context.state, State::Dual { .. });
        (self.marked, self.status_at) = (false, None);
        self.told.clear();
        self.context.succeeded(target, env);
        self.succeeded |= is_dual && matches!(self.context.state, State::Executing { .. });
    }

    /// Who gets copies although the host has not come.
    fn early_targets(&self) -> Vec<Addr> {
        match self.context.state {
            State::Dual { target, .. } => vec![target],
            _ => self.context.prepared(),
        }
    }
}

impl GNodeB {
    /// The state of a host's bearer, which the source has asked for.
    pub(super) fn bearer_reported(
        &mut self,
        host: Addr,
        state: Option<BearerState>,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let mut early = None;
        self.with(host, now, out, |known, env| {
            if known.context.awaits_success() {
                early = state.map(|state| (known.early_targets(), known.context.id, state.unconfirmed));
            } else {
                known.sent = state.map(|state| state.counts);
                known.context.bearer_reported(state, env);
                if let Some(target) = known.released.take() {
                    return known.context.released(target, env);
                }
            }
            true
        });
        let Some((targets, id, count)) = early else { return };
        let Some(known) = self.hosts.get_mut(&host) else { return };
        let is_new = targets.iter().any(|target| !known.told.contains(target));
        let told = std::mem::replace(&mut known.told, targets.iter().copied().collect());
        for &target in &targets {
            let kind = Kind::EarlyStatusTransfer { count, discard: told.contains(&target) };
            self.send(host, (target, id), kind, out);
        }
        if is_new {
            out.push(Action::ForwardBearer { host, to: targets, fresh: false });
        }
    }

    /// A message about copies.
    pub(super) fn on_copies(
        &mut self,
        (host, id): (Addr, Identification),
        kind: &Kind,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let early = self.params.candidate_forwarding == CandidateForwarding::Early;
        let interval = self.params.early_status_interval;
        self.with(host, now, out, |known, env| {
            let current = id == known.context.id;
            match (kind, &known.context.state) {
                (Kind::ConditionalComplete, State::Conditional { .. }) if current && early && env.present => {
                    known.status_at = Some(now + interval);
                    env.out.push(BlockAction::ReportBearer { host });
                }
                (Kind::FailureInformation, State::Dual { .. }) if env.present => known.context.withdraw(env),
                (&Kind::EarlyStatusTransfer { count, discard: true }, State::Prepared { .. }) if current => {
                    let received = Received::Status { first_missing: count, later: [].into() };
                    env.out.push(BlockAction::SkipReceived { host, received });
                }
                _ => {}
            }
            true
        });
    }

    /// Candidates learn again which packets need not be sent.
    pub(super) fn refresh_status(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        let Some(known) = self.hosts.get_mut(&host) else { return };
        if known.status_at.take_if(|at| *at <= now).is_some() && known.context.awaits_success() {
            known.status_at = Some(now + self.params.early_status_interval);
            out.push(Action::ReportBearer { host });
        }
    }
}
