//! Orders of MAC to go to a cell that was prepared before (LTM, TS 38.300 §9.2.3.5, TS 38.321 §5.18.35).

use super::{Action, Candidates, Condition, Identification, Kind, LAYER_ONE, State, UserEquipment};
use crate::nr::Phase;
use roamlab_engine::Time;
use roamlab_packet::{Addr, Received};

impl UserEquipment {
    /// The condition on measurements of layer 1; nothing without candidates.
    pub(super) fn layer_one(&self, serving: Option<Addr>) -> Option<Condition> {
        let ltm = self.params.ltm.as_ref()?;
        let others = self.ltm.base_stations.iter().copied().filter(|candidate| Some(*candidate) != serving);
        let filter_coefficient = self.params.measurement.filter_coefficient;
        Some(ltm.event.condition(LAYER_ONE, others.collect(), filter_coefficient))
    }

    /// Its base station has named the cells to which MAC may order it.
    pub(super) fn configure(&mut self, from: Addr, new: Candidates, out: &mut Vec<Action>) {
        let complete = Kind::LtmComplete;
        if self.ltm != new {
            self.ltm = new;
            out.push(Action::Measure { conditions: self.layer_one(Some(from)).into_iter().collect() });
        }
        self.send(from, complete, out);
    }

    /// PDCCH orders it to send a preamble to a candidate: that waits for an occasion of random access there.
    pub(super) fn prepare_preamble(&mut self, from: Addr, target: Addr, now: Time) {
        let is_ordered = self.preambles.iter().any(|&(other, _)| other == target);
        if target != from && !is_ordered && self.ltm.base_stations.contains(&target) {
            self.preambles.push((target, now + self.params.times.access_occasion));
        }
    }

    /// No order of MAC is possible, and none to send a preamble is left.
    pub(super) fn forget_cells(&mut self) {
        self.ltm = Candidates::default();
        self.preambles.clear();
    }

    /// The occasions of random access have come.
    pub(super) fn send_preambles(&mut self, now: Time, out: &mut Vec<Action>) {
        let due: Vec<(Addr, Time)> = self.preambles.extract_if(.., |&mut (_, at)| at <= now).collect();
        for (target, _) in due {
            self.send(target, Kind::Preamble, out);
        }
    }

    /// MAC orders it to a candidate.
    pub(super) fn ordered(
        &mut self,
        (target, timing): (Addr, bool),
        id: Identification,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let Some(ltm) = &self.params.ltm else { return };
        if id <= self.id || !self.ltm.base_stations.contains(&target) {
            return;
        }
        self.preambles.clear();
        let times = &self.params.times;
        let access = (!timing).then(|| times.access_occasion + times.random_access);
        let after = ltm.entry(access);
        let t304 = now + self.params.timers.t304;
        (self.id, self.t304) = (id, Some(t304));
        self.state = match timing {
            true => State::Switching { target, t304, ready: false },
            false => State::Syncing { target, t304 },
        };
        let recover = Action::RecoverBearer { host: self.address, repeat: true };
        out.extend([recover, Action::Enter { base_station: target, after }]);
    }

    /// It has found a candidate after a failure: one attempt, with random access.
    pub(super) fn attempt(&mut self, target: Addr, now: Time, out: &mut Vec<Action>) -> bool {
        let Some(ltm) = self.params.ltm.as_ref().filter(|ltm| ltm.attempt_candidate) else { return false };
        if !self.attempts || !self.ltm.base_stations.contains(&target) {
            return false;
        }
        let times = &self.params.times;
        let after = ltm.entry(Some(times.access_occasion + times.random_access));
        let t304 = now + self.params.timers.t304;
        (self.attempts, self.t304) = (false, Some(t304));
        // The central unit may have begun a handover of which the host knows nothing.
        self.id = self.id.newer(now);
        self.note(Phase::HandoverExecuted, out);
        self.state = State::Syncing { target, t304 };
        let recover = Action::RecoverBearer { host: self.address, repeat: true };
        out.extend([recover, Action::Enter { base_station: target, after }]);
        true
    }

    /// The cell is ready, and the configured grant comes: its first message leaves.
    pub(super) fn switched(&mut self, out: &mut Vec<Action>) {
        let State::Switching { target, ready, .. } = &mut self.state else { return };
        let target = *target;
        *ready = true;
        if self.params.reports() {
            // The answer of layer 2 sends the message.
            self.report_status(target, out);
        } else {
            self.send(target, Kind::ReconfigurationComplete { received: None }, out);
        }
    }

    /// Layer 2 has reported what it has received.
    pub(super) fn complete(&self, packets: Received, out: &mut Vec<Action>) {
        if let State::Switching { target, ready: true, .. } = self.state {
            self.send(target, Kind::ReconfigurationComplete { received: Some(packets) }, out);
        }
    }

    /// The network has its first message.
    pub(super) fn granted(&mut self, out: &mut Vec<Action>) {
        let State::Switching { target, ready: true, .. } = self.state else { return };
        (self.previous, self.attempts) = (target, true);
        self.stored = Candidates::default();
        self.state = State::Connected { base_station: target, candidates: Candidates::default() };
        self.note(Phase::AccessGranted, out);
        self.measure(out);
    }
}
