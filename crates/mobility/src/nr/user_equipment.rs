//! The user equipment: reports, executes commands, and recovers from failures.
//!
//! Random access is a time, not messages: layer 2 is up at the target when it is done. A target that has no context of the
//! host answers its first message with `rrc-no-context`, and the host continues waiting until T304.
//!
//! All other inputs have no effect.

use super::{Action, Input, Kind, Message, Params, Phase};
use crate::transitions::Role;
use crate::{Agent, Condition, Identification, L2Trigger, Wire};
use roamlab_engine::{Duration, Rng, Time};
use roamlab_packet::{Addr, Received};
use std::sync::Arc;

mod failure;
mod ltm;

crate::transitions! {
    UserEquipment, "state": Idle "idle", Requesting "requesting", Connected "connected", Syncing "syncing", Dual "dual", Switching "switching", Confirming "confirming", Searching "searching", Reestablishing "re-establishing", Resuming "resuming";
    "idle, requesting, connected, re-establishing, resuming" | "link up" | "not of a cell that it continues in" | "freeze bearer" | "requesting";
    "requesting" | "time" | "the service request leaves, and again each T300" | "nas-service-request" | "same";
    "requesting" | "rrc-setup" | "of one of the requests" | "resume bearer" | "connected";
    "connected" | "rrc-measurement-configuration" | "of its base station" | "measure" | "same";
    "connected" | "neighbour better" | "reported" | "rrc-measurement-report" | "same";
    "connected" | "rrc-conditional-reconfiguration" | "not older, with other candidates" | "measure" | "same";
    "connected" | "neighbour better" | "a candidate meets the execution condition; starts T304" | "re-establish bearers, enter" | "syncing";
    "connected" | "rrc-reconfiguration" | "newer; starts T304" | "re-establish bearers, enter" | "syncing";
    "connected" | "rrc-reconfiguration" | "newer, and it stays here too; starts T304" | "enter too" | "dual";
    "connected" | "rrc-conditional-reconfiguration" | "not older" | "rrc-conditional-reconfiguration-complete" | "same";
    "dual" | "link up" | "random access is done, stops T304" | "use uplink, report received" | "confirming";
    "dual" | "link down, radio link failure" | "of the source: T304 decides" | "leave cell" | "same";
    "dual" | "time" | "T304, the source is there" | "rrc-failure-information" | "connected";
    "dual" | "time" | "T304, the source is gone; starts T311" | "leave" | "searching";
    "connected" | "rrc-source-release" | "of its base station" | "leave cell, measure" | "same";
    "connected" | "link up" | "of a target that it has given up" | "leave cell" | "same";
    "searching" | "cell found" | "a candidate, once; starts T304" | "re-establish bearers, enter" | "syncing";
    "connected" | "rrc-full-configuration" | "of its base station" | "re-establish bearers, rrc-reconfiguration-complete" | "same";
    "connected" | "rrc-ltm-configuration" | "other candidates of MAC; the same" | "measure, rrc-ltm-configuration-complete" | "same";
    "connected" | "neighbour better" | "a candidate of MAC is better on layer 1" | "l1-measurement-report" | "same";
    "connected" | "mac-cell-switch-command" | "newer, of a candidate; starts T304; without timing advance" | "recover bearer, enter" | "switching, syncing";
    "connected" | "pdcch-order" | "of a candidate of MAC" | "" | "same";
    "connected" | "time" | "the occasion of an ordered access" | "ltm-random-access-preamble" | "same";
    "switching" | "link up" | "the cell is ready, without random access" | "report received, rrc-reconfiguration-complete" | "same";
    "switching" | "packets received" | "layer 2 answers the request for a report" | "rrc-reconfiguration-complete" | "same";
    "switching" | "mac-uplink-grant" | "its message has come, stops T304" | "measure" | "connected";
    "switching" | "time" | "T304; starts T311" | "leave" | "searching";
    "searching" | "cell found" | "a candidate of MAC, once; starts T304" | "recover bearer, enter" | "syncing";
    "syncing" | "link up" | "random access is done, stops T304" | "report received" | "confirming";
    "confirming" | "time" | "its first message leaves" | "rrc-reconfiguration-complete, measure" | "connected";
    "connected" | "rrc-no-context" | "before T304 would have expired" | "leave" | "syncing";
    "syncing" | "time" | "T304; starts T311" | "leave, search" | "searching";
    "connected" | "rrc-no-context, link down, radio link failure" | "starts T311" | "leave, search" | "searching";
    "confirming, re-establishing, resuming" | "rrc-no-context, link down, radio link failure" | "starts T311" | "leave, search" | "searching";
    "requesting" | "link down, radio link failure" | "" | "leave, re-establish bearers, freeze bearer, search" | "idle";
    "searching" | "time" | "the search begins" | "search" | "same";
    "searching" | "cell found" | "a cell is chosen" | "re-establish bearers, freeze bearer, enter" | "same";
    "idle" | "cell found" | "" | "enter" | "same";
    "searching" | "time" | "its system information is read: stops T311, starts T301" | "" | "re-establishing";
    "searching" | "time" | "T311" | "leave, re-establish bearers, freeze bearer, search" | "idle";
    "re-establishing" | "link up" | "of the cell that it has chosen" | "" | "same";
    "re-establishing" | "time" | "its first message leaves" | "rrc-reestablishment-request" | "same";
    "re-establishing" | "rrc-reestablishment" | "of its request, stops T301" | "" | "resuming";
    "re-establishing" | "rrc-fallback-setup" | "of its request, stops T301" | "re-establish bearers, freeze bearer" | "requesting";
    "re-establishing" | "time" | "T301" | "leave, re-establish bearers, freeze bearer, search" | "idle";
    "resuming" | "time" | "the answer is processed" | "rrc-reestablishment-complete" | "same";
    "resuming" | "rrc-resume-reconfiguration" | "of its base station" | "" | "same";
    "resuming" | "time" | "and this one too: bearers continue" | "resume bearer, report received, rrc-reconfiguration-complete, measure" | "connected";
    "confirming" | "packets received" | "layer 2 answers the request for a report" | "" | "same";
    "connected" | "packets received" | "the same" | "rrc-reconfiguration-complete" | "same";
    "idle" | "time" | "T311 after the entry should be done" | "search" | "same";
}

/// NR at a user equipment.
#[derive(Clone, Debug)]
pub struct UserEquipment {
    address: Addr,
    params: Arc<Params>,
    draws: Rng,
    state: State,
    /// Of the newest handover or connection.
    id: Identification,
    /// The base station that has its context.
    previous: Addr,
    /// When T304 would expire had random access failed.
    t304: Option<Time>,
    /// The report that rides with the next message.
    report: Option<Received>,
    /// The candidates of its last cell, for one attempt after a failure.
    stored: Candidates,
    /// The cells to which MAC may order it.
    ltm: Candidates,
    /// The candidates to which its distributed unit has ordered preambles, and when these leave.
    preambles: Vec<(Addr, Time)>,
    /// It may go to one of them after a failure: its base station has answered since the last attempt.
    attempts: bool,
    /// The last message by which its bearers have begun again, and who has sent it.
    begun_again: Option<(Addr, Identification)>,
    /// The source that it has not left yet.
    source: Option<Addr>,
    /// The target that it has given up.
    given_up: Option<Addr>,
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
        since: Option<Identification>,
        /// When the next request leaves.
        at: Time,
    },
    Connected {
        base_station: Addr,
        candidates: Candidates,
    },
    Syncing {
        target: Addr,
        t304: Time,
    },
    /// Goes to the target and stays at the source (DAPS), if that is `alive`.
    Dual {
        source: Addr,
        target: Addr,
        t304: Time,
        alive: bool,
    },
    /// MAC has ordered it to a cell; `ready`: it is there, and waits for the answer to its first message.
    Switching {
        target: Addr,
        t304: Time,
        ready: bool,
    },
    /// Random access is done, and the first message leaves then.
    Confirming {
        base_station: Addr,
        at: Time,
    },
    Searching {
        t311: Time,
        step: Step,
    },
    Reestablishing {
        base_station: Addr,
        t301: Time,
        /// When the request leaves.
        at: Option<Time>,
    },
    Resuming {
        base_station: Addr,
        /// When a message has been processed; true: it is the last one.
        at: Option<(Time, bool)>,
    },
}

/// The steps of a search.
#[derive(Copy, Clone, Debug)]
enum Step {
    /// Searches until then.
    Search(Time),
    /// Waits for a cell that can be heard.
    Choose,
    /// Has chosen a cell, whose system information it has read then.
    Read(Addr, Time),
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

/// The condition under which it reports a candidate to its distributed unit.
const LAYER_ONE: &str = "layer-1";

impl UserEquipment {
    /// A user equipment without a link, with the random stream of its times.
    pub fn new(address: Addr, draws: Rng, params: &Arc<Params>) -> UserEquipment {
        UserEquipment {
            address,
            params: Arc::clone(params),
            draws,
            state: State::Idle { retry: None },
            id: Identification(0),
            previous: address,
            t304: None,
            report: None,
            stored: Candidates::default(),
            ltm: Candidates::default(),
            preambles: Vec::new(),
            attempts: true,
            begun_again: None,
            source: None,
            given_up: None,
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
        self.forget_cells();
        self.note(Phase::ServiceRequested, out);
        self.suspend(out);
        let at = now + self.params.times.service_request;
        self.state = State::Requesting { base_station, since: None, at };
        if at == now {
            self.ask_for_service(now, out);
        }
    }

    fn ask_for_service(&mut self, now: Time, out: &mut Vec<Action>) {
        let State::Requesting { base_station, since, at } = &mut self.state else { return };
        self.id = self.id.newer(now);
        let first = *since.get_or_insert(self.id);
        *at = now + self.params.timers.t300;
        let base_station = *base_station;
        self.send(base_station, Kind::ServiceRequest { first }, out);
    }

    fn link_up(&mut self, base_station: Addr, now: Time, out: &mut Vec<Action>) {
        let at = now + self.params.times.first_message;
        match &mut self.state {
            State::Syncing { target, .. } if *target == base_station => {
                self.state = State::Confirming { base_station, at };
                self.accessed(base_station, out);
            }
            State::Switching { target, .. } if *target == base_station => self.switched(out),
            State::Dual { target, source, alive, .. } if *target == base_station => {
                self.source = alive.then_some(*source);
                self.state = State::Confirming { base_station, at };
                out.push(Action::UseUplink { base_station });
                self.accessed(base_station, out);
            }
            State::Connected { .. } if self.given_up == Some(base_station) => {
                self.given_up = None;
                out.push(Action::LeaveCell { base_station });
            }
            State::Reestablishing { base_station: chosen, at: request, .. } if *chosen == base_station => {
                *request = Some(at);
            }
            State::Syncing { .. }
            | State::Dual { .. }
            | State::Switching { .. }
            | State::Confirming { .. }
            | State::Searching { .. } => {}
            State::Idle { .. }
            | State::Requesting { .. }
            | State::Connected { .. }
            | State::Reestablishing { .. }
            | State::Resuming { .. } => self.request_service(base_station, now, out),
        }
    }

    /// Random access is done.
    fn accessed(&mut self, base_station: Addr, out: &mut Vec<Action>) {
        self.stored = Candidates::default();
        self.note(Phase::AccessGranted, out);
        self.report_status(base_station, out);
    }

    fn connect(&mut self, base_station: Addr, phase: Phase, out: &mut Vec<Action>) {
        (self.previous, self.attempts) = (base_station, true);
        self.state = State::Connected { base_station, candidates: Candidates::default() };
        self.note(phase, out);
    }

    /// Its bearers are suspended until it has a connection.
    fn suspend(&self, out: &mut Vec<Action>) {
        out.push(Action::FreezeBearer { host: self.address });
    }

    fn resume_bearers(&self, out: &mut Vec<Action>) {
        out.push(Action::ResumeBearer { host: self.address });
    }

    /// Packets that the host has received need not be sent to it again.
    fn report_status(&self, base_station: Addr, out: &mut Vec<Action>) {
        if self.params.reports() {
            out.push(Action::ReportReceived { to: base_station });
        }
    }

    fn measure(&self, out: &mut Vec<Action>) {
        let report = self.params.measurement.condition(REPORT, None);
        let own = self.layer_one(Some(self.previous));
        let conditions = std::iter::once(report).chain(self.execution(&[])).chain(own).collect();
        out.push(Action::Measure { conditions });
    }

    /// The condition under which the host goes to one of these; nothing if it is commanded.
    fn execution(&self, candidates: &[Addr]) -> Option<Condition> {
        let conditional = self.params.conditional.as_ref()?;
        Some(conditional.condition(EXECUTE, candidates, &self.params.measurement))
    }

    fn reconfigure(&mut self, new: Candidates, out: &mut Vec<Action>) {
        let State::Connected { candidates, base_station } = &mut self.state else { return };
        if new.id <= self.id || new.id < candidates.id {
            return;
        }
        let base_station = *base_station;
        if *candidates != new {
            *candidates = new.clone();
            let conditions = self.execution(&new.base_stations).into_iter().collect();
            out.push(Action::Measure { conditions });
        }
        let complete = Message::about(self.address, new.id, Kind::ConditionalComplete);
        out.push(complete.to(base_station));
    }

    /// Leaves for the target of a handover.
    fn synchronise(&mut self, target: Addr, id: Identification, now: Time, out: &mut Vec<Action>) {
        self.store_candidates();
        self.forget_cells();
        self.id = id;
        let t304 = now + self.params.timers.t304;
        self.t304 = Some(t304);
        self.state = State::Syncing { target, t304 };
        let after = self.params.times.access(&mut self.draws);
        out.extend([Action::Reestablish { reset: false }, Action::Enter { base_station: target, after }]);
    }

    /// Goes to the target of a handover and stays here too.
    fn synchronise_too(
        &mut self,
        (source, target): (Addr, Addr),
        id: Identification,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        self.id = id;
        let t304 = now + self.params.timers.t304;
        self.t304 = Some(t304);
        self.state = State::Dual { source, target, t304, alive: true };
        let after = self.params.times.access(&mut self.draws);
        out.push(Action::EnterToo { base_station: target, after });
    }

    /// Keeps the candidates for an attempt after a failure.
    fn store_candidates(&mut self) {
        if let State::Connected { candidates, .. } = &mut self.state {
            self.stored = std::mem::take(candidates);
        }
    }

    /// A neighbour meets a condition.
    fn neighbour_better(&mut self, target: Addr, condition: &str, now: Time, out: &mut Vec<Action>) {
        let State::Connected { base_station, candidates } = &self.state else { return };
        let (base_station, id) = (*base_station, candidates.id);
        if condition == EXECUTE && candidates.base_stations.contains(&target) {
            self.note(Phase::HandoverExecuted, out);
            self.synchronise(target, id, now, out);
        } else if condition == LAYER_ONE && self.ltm.base_stations.contains(&target) {
            self.send(base_station, Kind::LayerOneReport { target }, out);
        } else if condition == REPORT && target != base_station {
            self.note(Phase::NeighbourReported, out);
            self.send(base_station, Kind::MeasurementReport { target }, out);
        }
    }

    /// Its first message to the base station that has it now, with the report that it has made.
    fn confirm(&mut self, base_station: Addr, phase: Option<Phase>, out: &mut Vec<Action>) {
        let received = self.report.take();
        self.previous = base_station;
        self.state = State::Connected { base_station, candidates: Candidates::default() };
        if let Some(phase) = phase {
            self.note(phase, out);
        }
        self.send(base_station, Kind::ReconfigurationComplete { received }, out);
        if self.source.is_none() {
            self.measure(out);
        }
    }

    fn on_message(&mut self, from: Addr, message: Message, now: Time, out: &mut Vec<Action>) {
        let (id, kind) = (message.id, message.kind);
        match (&mut self.state, kind) {
            (State::Requesting { base_station, since: Some(since), .. }, Kind::ConnectionSetup)
                if (*since..=self.id).contains(&id) =>
            {
                let base_station = *base_station;
                self.connect(base_station, Phase::ServiceRestored, out);
                self.resume_bearers(out);
            }
            (State::Connected { base_station, .. }, kind) if from == *base_station => {
                self.when_connected(from, (id, kind), now, out);
            }
            (State::Switching { target, .. }, Kind::UplinkGrant) if from == *target => self.granted(out),
            (
                State::Confirming { base_station, .. }
                | State::Reestablishing { base_station, .. }
                | State::Resuming { base_station, .. },
                kind,
            ) if from == *base_station => self.when_recovering(from, (id, kind), now, out),
            _ => {}
        }
    }

    /// A message of its base station.
    fn when_connected(
        &mut self,
        from: Addr,
        (id, kind): (Identification, Kind),
        now: Time,
        out: &mut Vec<Action>,
    ) {
        self.attempts |= kind != Kind::NoContext;
        match kind {
            Kind::MeasurementConfiguration => self.measure(out),
            Kind::Reconfiguration { target, dual: false } if id > self.id => {
                self.synchronise(target, id, now, out);
            }
            Kind::Reconfiguration { target, dual: true } if id > self.id => {
                self.synchronise_too((from, target), id, now, out);
            }
            Kind::SourceRelease => {
                if let Some(source) = self.source.take() {
                    out.push(Action::LeaveCell { base_station: source });
                    self.measure(out);
                }
            }
            Kind::ConditionalReconfiguration { candidates: base_stations } => {
                self.reconfigure(Candidates { id, base_stations }, out);
            }
            Kind::LtmConfiguration { candidates: base_stations } => {
                self.configure(from, Candidates { id, base_stations }, out);
            }
            Kind::PreambleOrder { target } => self.prepare_preamble(from, target, now),
            Kind::CellSwitchCommand { target, timing } => self.ordered((target, timing), id, now, out),
            Kind::FullConfiguration => {
                // The message may come again.
                if self.begun_again.replace((from, id)) != Some((from, id)) {
                    out.push(Action::Reestablish { reset: true });
                }
                let complete = Kind::ReconfigurationComplete { received: None };
                out.push(Message::about(self.address, id, complete).to(from));
            }
            Kind::NoContext => match self.t304.filter(|&t304| t304 > now) {
                Some(t304) => {
                    self.state = State::Syncing { target: from, t304 };
                    out.push(Action::Leave);
                }
                None => self.search(now, out),
            },
            _ => {}
        }
    }

    fn on_timer(&mut self, now: Time, out: &mut Vec<Action>) {
        match self.state {
            State::Idle { retry: Some(at) } if at <= now => {
                self.state = State::Idle { retry: None };
                out.push(Action::Search);
            }
            State::Requesting { at, .. } if at <= now => self.ask_for_service(now, out),
            State::Syncing { t304, .. }
            | State::Switching { t304, .. }
            | State::Dual { t304, alive: false, .. }
                if t304 <= now =>
            {
                self.search(now, out);
            }
            State::Dual { source, target, t304, .. } if t304 <= now => self.stay((source, target), out),
            State::Connected { .. } => self.send_preambles(now, out),
            State::Confirming { base_station, at } if at <= now => self.confirm(base_station, None, out),
            State::Searching { .. } | State::Reestablishing { .. } | State::Resuming { .. } => {
                self.recover(now, out);
            }
            _ => {}
        }
    }

    fn layer_2(&mut self, trigger: L2Trigger, now: Time, out: &mut Vec<Action>) {
        match (trigger.clone(), &self.state) {
            (L2Trigger::LinkUp { base_station }, _) => self.link_up(base_station, now, out),
            (L2Trigger::CellFound { base_station }, _) => self.cell_found(base_station, now, out),
            (L2Trigger::Received { packets, .. }, State::Confirming { .. }) => self.report = Some(packets),
            (L2Trigger::Received { packets, .. }, State::Switching { .. }) => self.complete(packets, out),
            (L2Trigger::Received { to, packets }, State::Connected { base_station, .. })
                if to == *base_station =>
            {
                self.send(to, Kind::ReconfigurationComplete { received: Some(packets) }, out);
            }
            // Its own doing.
            (
                L2Trigger::LinkDown { .. } | L2Trigger::RadioLinkFailure,
                State::Syncing { .. }
                | State::Switching { .. }
                | State::Searching { .. }
                | State::Idle { .. },
            ) => {}
            (L2Trigger::LinkDown { .. } | L2Trigger::RadioLinkFailure, State::Dual { .. }) => {
                self.lose_source(&trigger, out);
            }
            (L2Trigger::LinkDown { base_station }, State::Connected { base_station: own, .. })
                if base_station != *own => {}
            (L2Trigger::LinkDown { .. } | L2Trigger::RadioLinkFailure, _) => self.search(now, out),
            (L2Trigger::NeighbourBetter { base_station, condition }, _) => {
                self.neighbour_better(base_station, condition, now, out);
            }
            _ => {}
        }
    }

    /// Time until a chosen cell's link is up.
    fn entry(&self) -> Duration {
        let times = &self.params.times;
        times.system_information + times.access_occasion + times.random_access
    }
}

impl Role for UserEquipment {
    fn state(&self, _: Addr) -> StateName {
        match self.state {
            State::Idle { .. } => StateName::Idle,
            State::Requesting { .. } => StateName::Requesting,
            State::Connected { .. } => StateName::Connected,
            State::Syncing { .. } => StateName::Syncing,
            State::Dual { .. } => StateName::Dual,
            State::Switching { .. } => StateName::Switching,
            State::Confirming { .. } => StateName::Confirming,
            State::Searching { .. } => StateName::Searching,
            State::Reestablishing { .. } => StateName::Reestablishing,
            State::Resuming { .. } => StateName::Resuming,
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

    fn wire(&self, message: &Message) -> Option<Wire> {
        Some(self.params.wire(&message.kind))
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        let timers = match self.state {
            State::Idle { retry } => [retry, None],
            State::Connected { .. } => [self.preambles.iter().map(|&(_, at)| at).min(), None],
            State::Requesting { at, .. } | State::Confirming { at, .. } => [Some(at), None],
            State::Syncing { t304, .. } | State::Switching { t304, .. } | State::Dual { t304, .. } => {
                [Some(t304), None]
            }
            State::Searching { t311, step } => match step {
                Step::Search(at) | Step::Read(_, at) => [Some(t311), Some(at)],
                Step::Choose => [Some(t311), None],
            },
            State::Reestablishing { t301, at, .. } => [Some(t301), at],
            State::Resuming { at, .. } => [at.map(|(at, _)| at), None],
        };
        timers.into_iter().flatten().for_each(each);
    }
}
