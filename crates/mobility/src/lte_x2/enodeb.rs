//! The base station (eNodeB): receives messages, keeps a context for each host. `source.rs` has its part as a source,
//! `target.rs` that as a target, and `bearer.rs` the routes of packets.
//!
//! "Takes the host back" means a handover cancel. The target returns its packets, which go first; a path that was
//! switched is switched back. Messages of an older handover are ignored.

use super::bearer::{EnodebBearer, Outlet};
use super::message::Plan;
use super::{Action, Input, Kind, Message, Params, Phase, VALIDITY};
use crate::backoff::Backoff;
use crate::transitions::Role;
use crate::{Agent, Identification, L2Trigger};
use roamlab_engine::{Duration, Time};
use roamlab_packet::{Addr, MarkingState};
use std::collections::{BTreeMap, BTreeSet};

crate::transitions! {
    ENodeB, "state of a host": None "none", Serving "serving", Preparing "preparing", Ready "ready", Executing "executing", Conditional "conditional", Prepared "prepared", Leaving "leaving";
    "any" | "host arrived" | "" | "" | "same";
    "serving, preparing, ready, conditional" | "host gone" | "keeps its packets" | "start buffering, route to buffer, route to reorder queue" | "same";
    "none, executing, prepared, leaving" | "host gone" | "" | "" | "same";
    "any" | "service-request" | "of a present host, for the MME" | "service-request" | "same";
    "any" | "initial-context-setup" | "newer, the host is present" | "no route, end bearer, route, connection-setup, measurement-control" | "serving";
    "any" | "measurement-control-complete" | "" | "" | "same";
    "serving" | "measurement-report, handover predicted" | "" | "handover-request" | "preparing";
    "serving" | "measurement-report" | "handovers are conditional" | "handover-request" | "conditional";
    "conditional" | "measurement-report" | "of a further target; of a prepared one" | "handover-request, conditional-reconfiguration" | "same";
    "conditional" | "handover-request-ack" | "" | "conditional-reconfiguration" | "same";
    "conditional" | "handover-preparation-failure" | "another candidate is left; none is left" | "" | "conditional, serving";
    "conditional" | "handover-success" | "the host has gone; cancels the others" | "handover-cancel, sn-status-transfer, release into tunnel, route to buffer" | "executing";
    "conditional" | "time" | "validity, or T_X2RELOCoverall of a host that has gone: cancels all" | "handover-cancel, conditional-reconfiguration" | "serving";
    "conditional" | "reestablishment-complete" | "of the last request: cancels all" | "handover-cancel, release, route" | "serving";
    "conditional" | "ue-context-release" | "not older, the host has gone; cancels the others" | "handover-cancel, release into tunnel, route to buffer" | "leaving";
    "conditional" | "ue-context-release" | "the same, without forwarding" | "handover-cancel, no route, end bearer" | "none";
    "preparing" | "measurement-report" | "after a prediction: of the same target, or of another one" | "handover-cancel, handover-request" | "same";
    "ready" | "measurement-report" | "of the same target" | "handover-command, sn-status-transfer, report marking, start buffering, release into tunnel, route to buffer, end-marker" | "executing";
    "ready" | "measurement-report" | "of another target: takes the host back" | "handover-cancel, end-marker, path-switch-request, route, route to reorder queue, handover-request" | "preparing";
    "preparing" | "handover-request-ack" | "the host has reported; path switch request if fast" | "handover-command, sn-status-transfer, report marking, start buffering, release into tunnel, route to buffer, route to reorder queue, path-switch-request" | "executing";
    "preparing" | "handover-request-ack" | "by a prediction" | "path-switch-request" | "ready";
    "preparing" | "handover-preparation-failure" | "" | "" | "serving";
    "preparing" | "time" | "T_RELOCprep" | "handover-cancel" | "serving";
    "ready, executing" | "time" | "prediction timeout or T_X2RELOCoverall, the host is present: takes it back" | "handover-cancel, end-marker, path-switch-request, release, route, route to reorder queue" | "serving";
    "executing" | "time" | "T_X2RELOCoverall, the host has gone" | "" | "leaving";
    "ready" | "time" | "prediction timeout, the host has gone" | "release into tunnel, route to buffer" | "leaving";
    "serving, preparing, ready, executing" | "ue-context-release" | "not older, the host has gone" | "release into tunnel, route to buffer" | "leaving";
    "serving, preparing, ready, executing" | "ue-context-release" | "the same, without forwarding" | "no route, end bearer" | "none";
    "any" | "handover-request" | "newer, admitted" | "end-marker, no route, start buffering, route to buffer, route to reorder queue, handover-request-ack" | "prepared";
    "any" | "handover-request" | "newer, not admitted" | "handover-preparation-failure" | "same";
    "prepared" | "random-access-preamble" | "of the handover" | "random-access-response" | "same";
    "prepared" | "handover-confirm" | "of the handover; success if it is conditional" | "adopt marking, release, route, route to reorder queue, path-switch-request, handover-success" | "serving";
    "prepared" | "handover-cancel" | "random access not begun: returns its packets" | "release into tunnel, route to buffer, route to reorder queue, end-marker" | "leaving";
    "prepared" | "handover-cancel" | "random access not begun: drops its packets" | "no route, end bearer" | "none";
    "any" | "end-marker" | "continues to the target behind what was forwarded; of the source: direct packets follow" | "end-marker, no route, release reorder queue, route, route to buffer, await drained" | "same";
    "ready" | "drained" | "and again behind the command" | "end-marker" | "same";
    "executing" | "marking reported" | "the marking state is carried" | "sn-status-transfer" | "same";
    "prepared" | "sn-status-transfer" | "of the handover: keeps the marking state until the host is here" | "" | "same";
    "any" | "packet" | "forwarded, restarts the reordering wait" | "" | "same";
    "any" | "path-switch-request-ack" | "to the source" | "ue-context-release" | "same";
    "any" | "path-switch-request-failure" | "the host is present" | "path-switch-request" | "same";
    "any" | "pdcp-status-report" | "of a present host" | "skip received" | "same";
    "any" | "reestablishment-request" | "of a present host" | "rlf-indication, reestablishment, reestablishment-reject" | "same";
    "prepared" | "reestablishment-complete" | "of the last request" | "adopt marking, release, route, route to reorder queue, path-switch-request" | "serving";
    "serving, preparing" | "reestablishment-complete" | "of the last request" | "release, route" | "same";
    "ready, executing" | "reestablishment-complete" | "of the last request: takes the host back" | "handover-cancel, end-marker, path-switch-request, release, route, route to reorder queue" | "serving";
    "any" | "ue-context-release-command" | "newer, the host has gone" | "no route, end bearer" | "none";
    "any" | "time" | "no answer" | "measurement-control, reestablishment, random-access-response, path-switch-request" | "same";
    "any" | "time" | "reordering wait over" | "no route, release reorder queue, route, route to buffer, end-marker" | "same";
    "serving, prepared, leaving" | "time" | "T_X2RELOCoverall of a host that has gone, joining timer, hold time" | "no route, end bearer" | "none";
}

/// LTE at a base station.
#[derive(Clone, Debug)]
pub struct ENodeB {
    address: Addr,
    mme: Addr,
    params: Params,
    /// Hosts that layer 2 has here.
    present: BTreeSet<Addr>,
    hosts: BTreeMap<Addr, Context>,
}

/// State of a host in a base station.
#[derive(Clone, Debug)]
pub(super) struct Context {
    /// Of the newest handover, service request or path switch.
    pub id: Identification,
    pub state: State,
    pub bearer: EnodebBearer,
    /// The path switch request that is not answered.
    pub path: Option<Path>,
    /// Measurement control that is not confirmed.
    pub measuring: Option<Backoff>,
    /// When a serving base station forgets a host that has gone.
    pub forget_at: Option<Time>,
    /// Re-establishment that the host has not completed.
    pub resuming: Option<Resuming>,
    /// The estimate that the source's queue for the host had, until the host is here.
    pub marking: Option<MarkingState>,
}

#[derive(Clone, Debug)]
pub(super) enum State {
    Serving,
    /// Source: has asked the target. `wanted`: the host has reported it.
    Preparing {
        target: Addr,
        until: Time,
        early: bool,
        wanted: bool,
    },
    /// Source: the target is prepared and the path switched for a predicted handover.
    Ready {
        target: Addr,
        until: Time,
    },
    /// Source: has commanded.
    Executing {
        target: Addr,
        until: Time,
        early: bool,
    },
    /// Source: the host goes to one of these without a further command.
    Conditional {
        candidates: Vec<Candidate>,
        until: Time,
    },
    /// Target: expects the host. `granted`: it has begun random access, and is answered again then, for as long as it is
    /// here.
    Prepared {
        source: Addr,
        until: Time,
        granted: Option<Time>,
        plan: Plan,
    },
    /// The host is elsewhere: passes on what still comes.
    Leaving {
        until: Time,
    },
}

/// A target of a conditional handover.
#[derive(Copy, Clone, Debug)]
pub(super) struct Candidate {
    pub target: Addr,
    pub progress: Progress,
}

/// State of a candidate at the source.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    Asked,
    Prepared,
}

/// Re-establishment that was granted and not completed.
#[derive(Copy, Clone, Debug)]
pub(super) struct Resuming {
    /// Of the host's request.
    pub id: Identification,
    pub retry: Backoff,
}

/// A path switch request that is not answered.
#[derive(Copy, Clone, Debug)]
pub(super) struct Path {
    pub id: Identification,
    pub base_station: Addr,
    /// Recipient of the notice when it is done.
    pub release: Option<Addr>,
    pub retry: Backoff,
}

/// Data for the reaction of a context.
pub(super) struct Environment<'a> {
    pub address: Addr,
    pub mme: Addr,
    pub params: &'a Params,
    pub host: Addr,
    /// Layer 2 has the host here.
    pub present: bool,
    pub now: Time,
    pub out: &'a mut Vec<Action>,
}

impl Environment<'_> {
    pub fn send(&mut self, to: Addr, id: Identification, kind: Kind) {
        self.out.push(Message::about(self.host, id, kind).to(to));
    }

    pub fn note(&mut self, phase: Phase) {
        self.out.push(Action::Note { host: self.host, phase });
    }
}

impl Context {
    /// The context of a host that `bearer` serves from now on.
    pub fn new(id: Identification, state: State, bearer: EnodebBearer) -> Context {
        Context {
            id,
            state,
            bearer,
            path: None,
            measuring: None,
            forget_at: None,
            resuming: None,
            marking: None,
        }
    }

    pub fn switch_path(&mut self, base_station: Addr, release: Option<Addr>, env: &mut Environment<'_>) {
        let retry = env.params.timers.s1_retry(env.now);
        let path = Path { id: self.id, base_station, release, retry };
        env.send(env.mme, path.id, Kind::PathSwitchRequest { base_station });
        self.path = Some(path);
    }

    fn path_switched(&mut self, env: &mut Environment<'_>) {
        let Some(path) = self.path.take() else { return };
        env.note(Phase::PathSwitchAcknowledged);
        if let Some(source) = path.release {
            env.send(source, path.id, Kind::ContextRelease);
        }
    }

    /// The MME knows a newer handover: the base station that has the host wins.
    fn path_refused(&mut self, env: &mut Environment<'_>) {
        let Some(path) = self.path.take() else { return };
        if path.base_station == env.address && env.present && matches!(self.state, State::Serving) {
            self.id = self.id.newer(env.now);
            self.bearer.since(self.id);
            self.switch_path(path.base_station, path.release, env);
        }
    }

    /// A message about the host; whether the context stays.
    fn on_message(&mut self, from: Addr, id: Identification, kind: &Kind, env: &mut Environment<'_>) -> bool {
        let current = id == self.id;
        let of_path = self.path.is_some_and(|path| path.id == id);
        match *kind {
            Kind::MeasurementControlComplete if env.present => self.measuring = None,
            Kind::MeasurementReport { target } if env.present => self.reported(target, env),
            Kind::HandoverRequestAck if current => self.target_is_ready(from, env),
            Kind::HandoverPreparationFailure if current => self.target_refuses(from, env),
            Kind::ContextRelease if id >= self.id && !env.present => return self.released(from, env),
            Kind::SnStatusTransfer { marking } if current && matches!(self.state, State::Prepared { .. }) => {
                self.marking = marking;
            }
            Kind::HandoverSuccess if current => self.succeeded(from, env),
            Kind::HandoverCancel if current => return self.cancelled(from, env),
            Kind::RandomAccessPreamble if current && env.present => self.accessed(env),
            Kind::HandoverConfirm if current && env.present => self.confirmed(env),
            Kind::ReestablishmentComplete
                if env.present && self.resuming.take_if(|resuming| resuming.id == id).is_some() =>
            {
                self.continue_here(env);
            }
            Kind::StatusReport { ref received } if env.present => {
                env.out.push(Action::SkipReceived { host: env.host, received: received.clone() });
            }
            Kind::PathSwitchRequestAck if of_path => self.path_switched(env),
            Kind::PathSwitchRequestFailure if of_path => self.path_refused(env),
            Kind::EndMarker => self.end_marker(from, id, env),
            Kind::ContextReleaseCommand if id > self.id && !env.present => {
                self.bearer.end(env.out);
                return false;
            }
            _ => {}
        }
        true
    }

    fn end_marker(&mut self, from: Addr, id: Identification, env: &mut Environment<'_>) {
        let waited = self.bearer.waits();
        let relayed = self.bearer.end_marker(from, id, env.out);
        if waited && !self.bearer.waits() {
            env.note(Phase::OrderRestored);
        }
        if relayed {
            env.note(Phase::ForwardingEnded);
        }
        if matches!(self.state, State::Ready { .. }) && self.bearer.path_has_left() && !self.bearer.waits() {
            env.out.push(Action::AwaitDrained { host: env.host });
        }
    }

    fn wait_is_over(&mut self, env: &mut Environment<'_>) {
        if self.bearer.on_timer(env.now, env.out) {
            env.note(Phase::ReorderingTimedOut);
            if self.bearer.relay_end(env.out) {
                env.note(Phase::ForwardingEnded);
            }
        }
    }

    /// True if the context stays.
    fn on_timer(&mut self, env: &mut Environment<'_>) -> bool {
        self.wait_is_over(env);
        if let Some(path) = self.path.as_mut().filter(|path| path.retry.at <= env.now) {
            path.retry = path.retry.again(env.now);
            let Path { id, base_station, .. } = *path;
            env.send(env.mme, id, Kind::PathSwitchRequest { base_station });
        }
        if let Some(timer) = self.measuring.filter(|timer| timer.at <= env.now) {
            self.measuring = env.present.then(|| timer.again(env.now));
            if env.present {
                env.send(env.host, self.id, Kind::MeasurementControl);
            }
        }
        if let Some(resuming) = self.resuming.as_mut().filter(|resuming| resuming.retry.at <= env.now) {
            resuming.retry = resuming.retry.again(env.now);
            let id = resuming.id;
            env.send(env.host, id, Kind::Reestablishment);
        }
        let stays = match self.state {
            State::Serving => {
                self.forget_at = self.forget_at.filter(|_| !env.present);
                self.forget_at.is_none_or(|at| env.now < at)
            }
            State::Preparing { until, .. }
            | State::Ready { until, .. }
            | State::Executing { until, .. }
            | State::Conditional { until, .. } => {
                if until <= env.now {
                    self.source_times_out(env);
                }
                true
            }
            State::Prepared { until, granted, .. } => {
                if granted.is_some_and(|at| at <= env.now) {
                    self.accessed(env);
                }
                granted.is_some() || self.resuming.is_some() || env.now < until
            }
            State::Leaving { until } => env.now < until,
        };
        if !stays {
            self.bearer.end(env.out);
        }
        stays
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        let due = match self.state {
            State::Serving => self.forget_at,
            State::Prepared { until, granted, .. } => granted.or(self.resuming.is_none().then_some(until)),
            State::Preparing { until, .. }
            | State::Ready { until, .. }
            | State::Executing { until, .. }
            | State::Conditional { until, .. }
            | State::Leaving { until } => Some(until),
        };
        let path = self.path.map(|path| path.retry.at);
        let measuring = self.measuring.map(|timer| timer.at);
        let resuming = self.resuming.map(|resuming| resuming.retry.at);
        [due, path, measuring, resuming, self.bearer.next_deadline()].into_iter().flatten().for_each(each);
    }
}

impl ENodeB {
    /// A base station without hosts.
    pub fn new(address: Addr, mme: Addr, params: &Params) -> ENodeB {
        let params = params.clone();
        ENodeB { address, mme, params, present: BTreeSet::new(), hosts: BTreeMap::new() }
    }

    /// Hands the host's context, if there is one, to `react`, which returns true if it stays.
    fn with(
        &mut self,
        host: Addr,
        now: Time,
        out: &mut Vec<Action>,
        react: impl FnOnce(&mut Context, &mut Environment<'_>) -> bool,
    ) {
        let Some(context) = self.hosts.get_mut(&host) else { return };
        let present = self.present.contains(&host);
        let (address, mme, params) = (self.address, self.mme, &self.params);
        if !react(context, &mut Environment { address, mme, params, host, present, now, out }) {
            self.hosts.remove(&host);
        }
    }

    fn on_message(&mut self, from: Addr, message: Message, now: Time, out: &mut Vec<Action>) {
        let Message { host: Some(host), id, kind } = message else { return };
        match kind {
            Kind::ServiceRequest if self.present.contains(&host) => {
                out.push(Message::about(host, id, kind).to(self.mme));
            }
            Kind::InitialContextSetup => self.set_up(host, id, now, out),
            Kind::HandoverRequest { plan } => self.handover_requested((host, id), from, plan, now, out),
            Kind::ReestablishmentRequest { previous } if self.present.contains(&host) => {
                self.reestablish((host, id), previous, now, out);
            }
            _ => self.with(host, now, out, |context, env| context.on_message(from, id, &kind, env)),
        }
    }

    /// The MME has given the host a new connection here.
    fn set_up(&mut self, host: Addr, id: Identification, now: Time, out: &mut Vec<Action>) {
        let known = self.hosts.get(&host);
        if !self.present.contains(&host) || known.is_some_and(|known| id < known.id) {
            return;
        }
        if let Some(known) = known.filter(|known| known.id != id) {
            known.bearer.end(out);
        }
        let bearer = EnodebBearer::attached(host, id, out);
        let measuring = Some(self.params.timers.rrc_retry(now));
        let context = Context { measuring, ..Context::new(id, State::Serving, bearer) };
        self.hosts.insert(host, context);
        for kind in [Kind::ConnectionSetup, Kind::MeasurementControl] {
            out.push(Message::about(host, id, kind).to(host));
        }
    }

    /// A host whose link has failed asks to continue here.
    fn reestablish(
        &mut self,
        (host, id): (Addr, Identification),
        previous: Addr,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let mut continues = false;
        self.with(host, now, out, |context, env| {
            continues = context.id >= id && !matches!(context.state, State::Leaving { .. });
            let retry = env.params.timers.rrc_retry(env.now);
            context.resuming = continues.then_some(Resuming { id, retry });
            true
        });
        if previous != self.address && previous != host {
            out.push(Message::about(host, id, Kind::RlfIndication).to(previous));
        }
        let kind = if continues { Kind::Reestablishment } else { Kind::ReestablishmentReject };
        out.push(Message::about(host, id, kind).to(host));
    }

    fn handover_requested(
        &mut self,
        (host, id): (Addr, Identification),
        source: Addr,
        plan: Plan,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let known = self.hosts.get(&host);
        if known.is_some_and(|known| id <= known.id) {
            return;
        }
        let active = |(&other, context): (&Addr, &Context)| {
            other != host && !matches!(context.state, State::Leaving { .. })
        };
        let others = self.hosts.iter().filter(|&entry| active(entry)).count();
        let full = self.params.admission_limit.is_some_and(|limit| others >= limit as usize);
        if full || self.present.contains(&host) {
            let message = Message::about(host, id, Kind::HandoverPreparationFailure);
            return out.push(message.to(source));
        }
        if let Some(known) = known
            && let Outlet::Tunnel(target) = known.bearer.outlet()
        {
            known.bearer.stop_forwarding(target, known.id, out);
        }
        if let Some(known) = known {
            known.bearer.expect_no_more(out);
        }
        let bearer = EnodebBearer::expecting(host, id, source, &self.params, out);
        let validity = self.params.conditional.as_ref().filter(|_| plan == Plan::Condition);
        let until = now + validity.map_or(Duration::ZERO, |_| VALIDITY) + self.params.timers.joining;
        let state = State::Prepared { source, until, granted: None, plan };
        self.hosts.insert(host, Context::new(id, state, bearer));
        out.push(Message::about(host, id, Kind::HandoverRequestAck).to(source));
    }

    fn layer_2(&mut self, trigger: L2Trigger, now: Time, out: &mut Vec<Action>) {
        match trigger {
            L2Trigger::HostArrived { host } => {
                self.present.insert(host);
            }
            L2Trigger::HostGone { host } => {
                self.present.remove(&host);
                self.with(host, now, out, |context, env| {
                    context.host_gone(env);
                    true
                });
            }
            L2Trigger::Drained { host } => {
                self.with(host, now, out, |context, env| {
                    context.drained(env);
                    true
                });
            }
            L2Trigger::MarkingReported { host, state } => {
                self.with(host, now, out, |context, env| {
                    context.marking_reported(state, env);
                    true
                });
            }
            L2Trigger::HandoverPredicted { host, base_station } => {
                self.with(host, now, out, |context, env| {
                    context.predicted(base_station, env);
                    true
                });
            }
            _ => {}
        }
    }

    fn on_timer(&mut self, now: Time, out: &mut Vec<Action>) {
        let due = |context: &Context| {
            let mut due = false;
            context.deadlines(&mut |at| due |= at <= now);
            due
        };
        let hosts: Vec<Addr> =
            self.hosts.iter().filter(|(_, context)| due(context)).map(|(&host, _)| host).collect();
        for host in hosts {
            self.with(host, now, out, |context, env| context.on_timer(env));
        }
    }
}

impl Role for ENodeB {
    fn state(&self, host: Addr) -> StateName {
        match self.hosts.get(&host).map(|context| &context.state) {
            None => StateName::None,
            Some(State::Serving) => StateName::Serving,
            Some(State::Preparing { .. }) => StateName::Preparing,
            Some(State::Ready { .. }) => StateName::Ready,
            Some(State::Executing { .. }) => StateName::Executing,
            Some(State::Conditional { .. }) => StateName::Conditional,
            Some(State::Prepared { .. }) => StateName::Prepared,
            Some(State::Leaving { .. }) => StateName::Leaving,
        }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.hosts.keys().copied()
    }
}

impl Agent for ENodeB {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Trigger(trigger) => self.layer_2(trigger, now, out),
            Input::Deadline => self.on_timer(now, out),
            Input::Data { host, .. } => {
                if let Some(context) = self.hosts.get_mut(&host) {
                    context.bearer.forwarded(now);
                }
            }
            Input::Message { from, message } => self.on_message(from, message, now, out),
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        self.hosts.values().for_each(|context| context.deadlines(each));
    }
}
