//! Failures: search of a cell, re-establishment, or a new connection (TS 38.331 §5.3.7).

use super::{Action, Candidates, Identification, Kind, Phase, State, Step, UserEquipment};
use crate::L2Trigger;
use crate::cellular::Conditional;
use roamlab_engine::Time;
use roamlab_packet::Addr;

impl UserEquipment {
    /// The link has failed: another cell, the old one or none.
    pub(super) fn search(&mut self, now: Time, out: &mut Vec<Action>) {
        self.note(Phase::LinkFailed, out);
        self.store_candidates();
        (self.t304, self.source, self.given_up) = (None, None, None);
        self.preambles.clear();
        out.push(Action::Leave);
        if matches!(self.state, State::Requesting { .. }) {
            self.give_up(out);
            return;
        }
        let (t311, at) = (now + self.params.timers.t311, now + self.params.times.cell_search);
        self.state = State::Searching { t311, step: Step::Search(at) };
        if at == now {
            self.recover(now, out);
        }
    }

    /// The target was not reached, and the source is there still (TS 38.331 §5.3.5.8.3).
    pub(super) fn stay(&mut self, (source, target): (Addr, Addr), out: &mut Vec<Action>) {
        self.note(Phase::HandoverCancelled, out);
        (self.t304, self.given_up) = (None, Some(target));
        self.state = State::Connected { base_station: source, candidates: Candidates::default() };
        self.send(source, Kind::FailureInformation, out);
    }

    /// The source has failed before the target was reached: only T304 decides (TS 38.331 §5.3.10.3).
    pub(super) fn lose_source(&mut self, trigger: &L2Trigger, out: &mut Vec<Action>) {
        let State::Dual { source, alive, .. } = &mut self.state else { return };
        let source = *source;
        let is_source = trigger.base_station().is_none_or(|base_station| base_station == source);
        if is_source && std::mem::take(alive) && matches!(trigger, L2Trigger::RadioLinkFailure) {
            out.push(Action::LeaveCell { base_station: source });
        }
    }

    /// Without a connection: looks for any cell.
    fn give_up(&mut self, out: &mut Vec<Action>) {
        self.state = State::Idle { retry: None };
        out.push(Action::Reestablish { reset: true });
        self.suspend(out);
        out.push(Action::Search);
    }

    pub(super) fn cell_found(&mut self, base_station: Addr, now: Time, out: &mut Vec<Action>) {
        if matches!(self.state, State::Searching { .. }) && self.attempt(base_station, now, out) {
            return;
        }
        let may_attempt = self.may_attempt(base_station, now);
        match &mut self.state {
            State::Idle { retry } => {
                // Another search before the entry is done would postpone it again, without end.
                *retry = Some(now + self.params.timers.t311);
                let after = self.entry();
                out.push(Action::Enter { base_station, after });
            }
            State::Searching { .. } if may_attempt => {
                let Candidates { id, .. } = std::mem::take(&mut self.stored);
                self.note(Phase::HandoverExecuted, out);
                self.synchronise(base_station, id.max(self.id), now, out);
            }
            State::Searching { step, .. } => {
                *step = Step::Read(base_station, now + self.params.times.system_information);
                self.forget_cells();
                let after = self.entry();
                self.note(Phase::CellChosen, out);
                out.push(Action::Reestablish { reset: false });
                self.suspend(out);
                out.push(Action::Enter { base_station, after });
            }
            _ => {}
        }
    }

    /// A candidate is left from the last cell, and none of its events excludes this time.
    fn may_attempt(&self, base_station: Addr, now: Time) -> bool {
        let allows = |conditional: &Conditional| conditional.events.allow(now);
        self.params.attempt_candidate
            && self.stored.base_stations.contains(&base_station)
            && self.params.conditional.as_ref().is_some_and(allows)
    }

    /// The time of a step has come.
    pub(super) fn recover(&mut self, now: Time, out: &mut Vec<Action>) {
        match &mut self.state {
            State::Searching { step: Step::Read(base_station, at), .. } if *at <= now => {
                let (base_station, t301) = (*base_station, now + self.params.timers.t301);
                self.state = State::Reestablishing { base_station, t301, at: None };
            }
            State::Searching { t311, .. } if *t311 <= now => {
                out.push(Action::Leave);
                self.give_up(out);
            }
            State::Searching { step: step @ Step::Search(_), .. } => {
                let Step::Search(at) = *step else { return };
                if at <= now {
                    *step = Step::Choose;
                    out.push(Action::Search);
                }
            }
            State::Reestablishing { t301, .. } if *t301 <= now => {
                out.push(Action::Leave);
                self.give_up(out);
            }
            State::Reestablishing { base_station, at, .. } => {
                let base_station = *base_station;
                if at.take_if(|at| *at <= now).is_some() {
                    self.send(base_station, Kind::ReestablishmentRequest { previous: self.previous }, out);
                }
            }
            State::Resuming { base_station, at } => {
                let base_station = *base_station;
                match at.take_if(|(at, _)| *at <= now) {
                    None => {}
                    Some((_, false)) => {
                        self.previous = base_station;
                        self.send(base_station, Kind::ReestablishmentComplete, out);
                    }
                    Some((_, true)) => self.resume(base_station, out),
                }
            }
            _ => {}
        }
    }

    /// The bearers continue.
    fn resume(&mut self, base_station: Addr, out: &mut Vec<Action>) {
        self.attempts = true;
        self.note(Phase::Reestablished, out);
        self.resume_bearers(out);
        if self.params.reports() {
            // The answer of layer 2 sends the message.
            self.state = State::Connected { base_station, candidates: Candidates::default() };
            self.report_status(base_station, out);
            self.measure(out);
        } else {
            self.confirm(base_station, None, out);
        }
    }

    /// A message while it recovers, of the base station where it does.
    pub(super) fn when_recovering(
        &mut self,
        from: Addr,
        (id, kind): (Identification, Kind),
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let processed = now + self.params.times.rrc_processing;
        match (&mut self.state, kind) {
            (State::Reestablishing { .. }, Kind::Reestablishment) if id == self.id => {
                self.state = State::Resuming { base_station: from, at: Some((processed, false)) };
            }
            (State::Reestablishing { .. }, Kind::FallbackSetup) if id == self.id => {
                out.push(Action::Reestablish { reset: true });
                self.request_service(from, now, out);
            }
            (State::Resuming { at: at @ None, .. }, Kind::ResumeReconfiguration) => {
                *at = Some((processed, true));
                // Base stations that had it before know from its next request that it has been elsewhere.
                self.id = self.id.max(id);
            }
            (_, Kind::NoContext) => self.search(now, out),
            _ => {}
        }
    }
}
