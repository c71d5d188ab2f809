//! The user equipment (the papers' "ME"): reports, executes the handover command, and recovers from failures.
//!
//! All other inputs have no effect.

use super::{Action, Forwarding, Input, Kind, Message, Params, Phase};
use crate::backoff::Backoff;
use crate::transitions::Role;
use crate::{Agent, Condition, Identification, L2Trigger};
use roamlab_engine::{Rng, Time};
use roamlab_packet::Addr;

crate::transitions! {
    UserEquipment, "state": Idle "idle", Requesting "requesting", Connected "connected", Detached "detached", Accessing "accessing", Selecting "selecting", Reestablishing "re-establishing";
    "idle, requesting, connected, accessing, re-establishing, detached" | "link up" | "elsewhere than at the target" | "service-request" | "requesting";
    "requesting" | "time" | "no connection setup" | "service-request" | "same";
    "requesting" | "connection-setup" | "of the last request" | "" | "connected";
    "connected" | "measurement-control" | "of its base station" | "measure, measurement-control-complete" | "same";
    "connected" | "neighbour better" | "reported" | "measurement-report" | "same";
    "connected" | "conditional-reconfiguration" | "not older, with other candidates" | "measure" | "same";
    "connected" | "neighbour better" | "a candidate meets the execution condition; starts T304" | "enter" | "detached";
    "connected" | "handover-command" | "newer; starts T304" | "enter" | "detached";
    "detached" | "link up" | "at the target" | "random-access-preamble" | "accessing";
    "accessing" | "time" | "no response" | "random-access-preamble" | "same";
    "accessing" | "random-access-response" | "of its handover" | "handover-confirm, report received, measure" | "connected";
    "connected" | "random-access-response" | "of its last handover" | "handover-confirm" | "same";
    "detached, accessing" | "time" | "T304" | "leave, search" | "selecting";
    "requesting, connected, accessing, re-establishing" | "link down, radio link failure" | "starts T311" | "leave, search" | "selecting";
    "selecting, idle" | "cell found" | "" | "enter" | "same";
    "selecting" | "link up" | "starts T301" | "reestablishment-request" | "re-establishing";
    "re-establishing" | "reestablishment" | "of its last request" | "reestablishment-complete, report received, measure" | "connected";
    "connected" | "reestablishment" | "of its last request" | "reestablishment-complete" | "same";
    "re-establishing" | "reestablishment-reject" | "of its last request" | "service-request" | "requesting";
    "re-establishing" | "time" | "T301" | "service-request" | "requesting";
    "selecting" | "time" | "T311" | "search" | "idle";
    "idle" | "time" | "T311 after the entry should be done" | "search" | "same";
    "any" | "packets received" | "layer 2 answers the request for a report" | "pdcp-status-report" | "same";
}

/// LTE at a user equipment.
#[derive(Clone, Debug)]
pub struct UserEquipment {
    address: Addr,
    /// Of detach times.
    draws: Rng,
    params: Params,
    state: State,
    /// Of the newest handover or service request.
    id: Identification,
    /// The base station that served it last.
    previous: Addr,
}

#[derive(Clone, Debug)]
enum State {
    /// Without a link; `retry`: searches again then.
    Idle {
        retry: Option<Time>,
    },
    Requesting {
        base_station: Addr,
        /// The first of the requests: a connection for any of them is what it waits for.
        since: Identification,
        retry: Backoff,
    },
    Connected {
        base_station: Addr,
        candidates: Candidates,
    },
    Detached {
        target: Addr,
        t304: Time,
    },
    Accessing {
        target: Addr,
        t304: Time,
        preamble: Time,
    },
    Selecting {
        t311: Time,
    },
    Reestablishing {
        base_station: Addr,
        t301: Time,
    },
}

/// The targets to which the host may go without a further command.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Candidates {
    /// Of the handover for which they are prepared.
    id: Identification,
    base_stations: Vec<Addr>,
}

/// The condition under which the host reports a neighbour.
const REPORT: &str = "report";

/// The condition under which it goes to a candidate.
const EXECUTE: &str = "execute";

impl UserEquipment {
    /// A user equipment without a link.
    pub fn new(address: Addr, draws: Rng, params: &Params) -> UserEquipment {
        UserEquipment {
            address,
            draws,
            params: params.clone(),
            state: State::Idle { retry: None },
            id: Identification(0),
            previous: address,
        }
    }

    fn send(&self, to: Addr, kind: Kind, out: &mut Vec<Action>) {
        out.push(Message::about(self.address, self.id, kind).to(to));
    }

    fn note(&self, phase: Phase, out: &mut Vec<Action>) {
        out.push(Action::Note { host: self.address, phase });
    }

    /// A new connection through this base station.
    fn request_service(&mut self, base_station: Addr, now: Time, out: &mut Vec<Action>) {
        self.note(Phase::ServiceRequested, out);
        self.id = self.id.newer(now);
        let (since, retry) = (self.id, self.params.timers.rrc_retry(now));
        self.state = State::Requesting { base_station, since, retry };
        self.send(base_station, Kind::ServiceRequest, out);
    }

    fn link_up(&mut self, base_station: Addr, now: Time, out: &mut Vec<Action>) {
        match self.state {
            State::Detached { target, t304 } if target == base_station => {
                let preamble = now + self.params.timers.random_access;
                self.state = State::Accessing { target, t304, preamble };
                self.send(target, Kind::RandomAccessPreamble, out);
            }
            State::Selecting { .. } => {
                let t301 = now + self.params.timers.t301;
                self.state = State::Reestablishing { base_station, t301 };
                self.send(base_station, Kind::ReestablishmentRequest { previous: self.previous }, out);
            }
            _ => self.request_service(base_station, now, out),
        }
    }

    /// The link has failed: another cell, the old one or none.
    fn select(&mut self, now: Time, out: &mut Vec<Action>) {
        self.note(Phase::LinkFailed, out);
        self.state = State::Selecting { t311: now + self.params.timers.t311 };
        out.extend([Action::Leave, Action::Search]);
    }

    fn cell_found(&mut self, base_station: Addr, now: Time, out: &mut Vec<Action>) {
        if let State::Idle { retry } = &mut self.state {
            // Another search before the entry is done would postpone it again, without end.
            *retry = Some(now + self.params.timers.cell_entry + self.params.timers.t311);
        } else if !matches!(self.state, State::Selecting { .. }) {
            return;
        }
        out.push(Action::Enter { base_station, after: self.params.timers.cell_entry });
    }

    fn connect(&mut self, base_station: Addr, phase: Phase, out: &mut Vec<Action>) {
        self.previous = base_station;
        self.state = State::Connected { base_station, candidates: Candidates::default() };
        self.note(phase, out);
    }

    /// Packets that the host has received need not be sent to it again.
    fn report_status(&self, base_station: Addr, out: &mut Vec<Action>) {
        if self.params.status_report && self.params.forwarding == Forwarding::Lossless {
            out.push(Action::ReportReceived { to: base_station });
        }
    }

    /// DEVIATION: one measurement at which the leaving condition holds ends the event; by TS 36.331 §5.5.4.1 it has to hold
    /// for the time to trigger.
    fn measure(&self, out: &mut Vec<Action>) {
        let report = Condition { leaves_at_once: true, ..self.params.measurement.condition(REPORT, None) };
        let conditions = std::iter::once(report).chain(self.execution(&[])).collect();
        out.push(Action::Measure { conditions });
    }

    /// The condition under which the host goes to one of these; nothing if it is commanded.
    fn execution(&self, candidates: &[Addr]) -> Option<Condition> {
        let conditional = self.params.conditional.as_ref()?;
        let condition = conditional.condition(EXECUTE, candidates, &self.params.measurement);
        Some(Condition { leaves_at_once: true, ..condition })
    }

    fn reconfigure(&mut self, new: Candidates, out: &mut Vec<Action>) {
        let State::Connected { candidates, .. } = &mut self.state else { return };
        if new.id > self.id && new.id >= candidates.id && *candidates != new {
            *candidates = new.clone();
            let conditions = self.execution(&new.base_stations).into_iter().collect();
            out.push(Action::Measure { conditions });
        }
    }

    /// Leaves for the target of a handover.
    fn detach(&mut self, target: Addr, id: Identification, now: Time, out: &mut Vec<Action>) {
        self.id = id;
        self.state = State::Detached { target, t304: now + self.params.timers.t304 };
        let after = self.params.detach_time.draw(&mut self.draws);
        out.push(Action::Enter { base_station: target, after });
    }

    /// A neighbour meets a condition.
    fn neighbour_better(&mut self, target: Addr, condition: &str, now: Time, out: &mut Vec<Action>) {
        let State::Connected { base_station, candidates } = &self.state else { return };
        let (base_station, id) = (*base_station, candidates.id);
        if condition == EXECUTE && candidates.base_stations.contains(&target) {
            self.note(Phase::HandoverExecuted, out);
            self.detach(target, id, now, out);
        } else if condition == REPORT && target != base_station {
            self.note(Phase::NeighbourReported, out);
            self.send(base_station, Kind::MeasurementReport { target }, out);
        }
    }

    fn on_message(&mut self, from: Addr, message: Message, now: Time, out: &mut Vec<Action>) {
        let current = message.id == self.id;
        match (self.state.clone(), message.kind) {
            (State::Requesting { base_station, since, .. }, Kind::ConnectionSetup)
                if (since..=self.id).contains(&message.id) =>
            {
                self.connect(base_station, Phase::ServiceRestored, out);
            }
            (State::Connected { base_station, .. }, Kind::MeasurementControl) if from == base_station => {
                self.measure(out);
                self.send(base_station, Kind::MeasurementControlComplete, out);
            }
            (State::Connected { base_station, .. }, Kind::HandoverCommand { target })
                if from == base_station && message.id > self.id =>
            {
                self.detach(target, message.id, now, out);
            }
            (
                State::Connected { base_station, .. },
                Kind::ConditionalReconfiguration { candidates: base_stations },
            ) if from == base_station => {
                self.reconfigure(Candidates { id: message.id, base_stations }, out);
            }
            (State::Accessing { target, .. }, Kind::RandomAccessResponse) if from == target && current => {
                self.connect(target, Phase::AccessGranted, out);
                self.send(target, Kind::HandoverConfirm, out);
                self.report_status(target, out);
                self.measure(out);
            }
            (State::Connected { base_station, .. }, Kind::RandomAccessResponse)
                if from == base_station && current =>
            {
                self.send(base_station, Kind::HandoverConfirm, out);
            }
            (State::Reestablishing { base_station, .. }, Kind::Reestablishment)
                if from == base_station && current =>
            {
                self.connect(base_station, Phase::Reestablished, out);
                self.send(base_station, Kind::ReestablishmentComplete, out);
                self.report_status(base_station, out);
                self.measure(out);
            }
            (State::Connected { base_station, .. }, Kind::Reestablishment)
                if from == base_station && current =>
            {
                self.send(base_station, Kind::ReestablishmentComplete, out);
            }
            (State::Reestablishing { base_station, .. }, Kind::ReestablishmentReject)
                if from == base_station && current =>
            {
                self.request_service(base_station, now, out);
            }
            _ => {}
        }
    }

    fn on_timer(&mut self, now: Time, out: &mut Vec<Action>) {
        match self.state {
            State::Idle { retry: Some(at) } if at <= now => {
                self.state = State::Idle { retry: None };
                out.push(Action::Search);
            }
            State::Requesting { base_station, since, retry } if retry.at <= now => {
                self.id = self.id.newer(now);
                self.state = State::Requesting { base_station, since, retry: retry.again(now) };
                self.send(base_station, Kind::ServiceRequest, out);
            }
            State::Detached { t304, .. } | State::Accessing { t304, .. } if t304 <= now => {
                self.select(now, out)
            }
            State::Accessing { target, t304, preamble } if preamble <= now => {
                let preamble = now + self.params.timers.random_access;
                self.state = State::Accessing { target, t304, preamble };
                self.send(target, Kind::RandomAccessPreamble, out);
            }
            State::Selecting { t311 } if t311 <= now => {
                self.state = State::Idle { retry: None };
                out.push(Action::Search);
            }
            State::Reestablishing { base_station, t301 } if t301 <= now => {
                self.request_service(base_station, now, out);
            }
            _ => {}
        }
    }

    fn layer_2(&mut self, trigger: L2Trigger, now: Time, out: &mut Vec<Action>) {
        match (trigger, &self.state) {
            (L2Trigger::LinkUp { base_station }, _) => self.link_up(base_station, now, out),
            (L2Trigger::CellFound { base_station }, _) => self.cell_found(base_station, now, out),
            (L2Trigger::Received { to, packets: received }, _) => {
                self.send(to, Kind::StatusReport { received }, out);
            }
            // Its own doing.
            (
                L2Trigger::LinkDown { .. } | L2Trigger::RadioLinkFailure,
                State::Detached { .. } | State::Selecting { .. } | State::Idle { .. },
            ) => {}
            (L2Trigger::LinkDown { .. } | L2Trigger::RadioLinkFailure, _) => self.select(now, out),
            (L2Trigger::NeighbourBetter { base_station, condition }, _) => {
                self.neighbour_better(base_station, condition, now, out);
            }
            _ => {}
        }
    }
}

impl Role for UserEquipment {
    fn state(&self, _: Addr) -> StateName {
        match self.state {
            State::Idle { .. } => StateName::Idle,
            State::Requesting { .. } => StateName::Requesting,
            State::Connected { .. } => StateName::Connected,
            State::Detached { .. } => StateName::Detached,
            State::Accessing { .. } => StateName::Accessing,
            State::Selecting { .. } => StateName::Selecting,
            State::Reestablishing { .. } => StateName::Reestablishing,
        }
    }
}

impl Agent for UserEquipment {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Trigger(trigger) => self.layer_2(trigger, now, out),
            Input::Message { from, message } => {
                if message.host == Some(self.address) {
                    self.on_message(from, message, now, out);
                }
            }
            Input::Deadline => self.on_timer(now, out),
            Input::Data { .. } => {}
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        let timers = match self.state {
            State::Idle { retry } => [retry, None],
            State::Connected { .. } => [None, None],
            State::Requesting { retry, .. } => [Some(retry.at), None],
            State::Detached { t304, .. } => [Some(t304), None],
            State::Accessing { t304, preamble, .. } => [Some(t304), Some(preamble)],
            State::Selecting { t311 } => [Some(t311), None],
            State::Reestablishing { t301, .. } => [Some(t301), None],
        };
        timers.into_iter().flatten().for_each(each);
    }
}
