//! The base station (eNodeB): receives messages, keeps a context for each host. The context is a block of
//! [`cellular`](crate::cellular), with the parts of the source and the target.
//!
//! "Takes the host back" means a handover cancel. The target returns its packets, which go first; a path that was
//! switched is switched back. Messages of an older handover are ignored.

use super::{Action, Input, Kind, Message, Params, Phase};
use crate::cellular::{self, Bearer, Context, Environment, Plan, Resuming, Rules, State};
use crate::transitions::Role;
use crate::{Agent, Identification, L2Trigger};
use roamlab_engine::Time;
use roamlab_packet::Addr;
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
    "serving" | "handover-success" | "of the last handover, which is cancelled; the host has gone" | "sn-status-transfer, release into tunnel, route to buffer" | "executing";
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
    /// Hosts that the cell admits, handed over or expected; `None`: any number.
    admission_limit: Option<u32>,
    rules: Rules,
    /// Hosts that layer 2 has here.
    present: BTreeSet<Addr>,
    hosts: BTreeMap<Addr, Context>,
}

impl ENodeB {
    /// A base station without hosts.
    pub fn new(address: Addr, mme: Addr, params: &Params) -> ENodeB {
        let (admission_limit, rules) = (params.admission_limit, params.rules());
        ENodeB { address, mme, admission_limit, rules, present: BTreeSet::new(), hosts: BTreeMap::new() }
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
        let (address, core, rules) = (self.address, self.mme, &self.rules);
        if !react(context, &mut Environment { address, core, rules, host, present, now, out }) {
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
            _ => self.with(host, now, out, |context, env| on_message(context, (from, id), &kind, env)),
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
        let bearer = Bearer::attached(host, id, out);
        let measuring = Some(self.rules.timers.rrc_retry(now));
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
            let retry = Some(env.rules.timers.rrc_retry(env.now));
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
        let others = self.hosts.iter().filter(|&(&other, context)| other != host && context.is_active());
        let full = self.admission_limit.is_some_and(|limit| others.count() >= limit as usize);
        if full || self.present.contains(&host) {
            let message = Message::about(host, id, Kind::HandoverPreparationFailure);
            return out.push(message.to(source));
        }
        let context = Context::expecting((host, id), known, (source, plan), now, (&self.rules, out));
        self.hosts.insert(host, context);
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

/// A message about a host with this context; whether the context stays.
fn on_message(
    context: &mut Context,
    (from, id): (Addr, Identification),
    kind: &Kind,
    env: &mut Environment<'_>,
) -> bool {
    let current = id == context.id;
    let of_path = context.path.is_some_and(|path| path.id == id);
    match *kind {
        Kind::MeasurementControlComplete if env.present => context.measuring = None,
        Kind::MeasurementReport { target } if env.present => context.reported(target, env),
        Kind::HandoverRequestAck if current => context.target_is_ready(from, env),
        Kind::HandoverPreparationFailure if current => context.target_refuses(from, env),
        Kind::ContextRelease if id >= context.id && !env.present => return context.released(from, env),
        Kind::SnStatusTransfer { marking } if current && matches!(context.state, State::Prepared { .. }) => {
            context.marking = marking;
        }
        Kind::HandoverSuccess if current => context.succeeded(from, env),
        Kind::HandoverCancel if current => return context.cancelled(from, env),
        Kind::RandomAccessPreamble if current && env.present => context.accessed(env),
        Kind::HandoverConfirm if current && env.present => context.confirmed(env),
        Kind::ReestablishmentComplete
            if env.present && context.resuming.take_if(|resuming| resuming.id == id).is_some() =>
        {
            context.continue_here(env);
        }
        Kind::StatusReport { ref received } if env.present => {
            env.out.push(cellular::Action::SkipReceived { host: env.host, received: received.clone() });
        }
        Kind::PathSwitchRequestAck if of_path => context.path_switched(env),
        Kind::PathSwitchRequestFailure if of_path => context.path_refused(env),
        Kind::EndMarker => {
            context.end_marker(from, id, env);
        }
        Kind::ContextReleaseCommand if id > context.id && !env.present => {
            context.bearer.end(env.out);
            return false;
        }
        _ => {}
    }
    true
}

impl Role for ENodeB {
    fn state(&self, host: Addr) -> StateName {
        match self.hosts.get(&host).map(|context| &context.state) {
            None => StateName::None,
            Some(State::Serving) => StateName::Serving,
            Some(State::Preparing { .. }) => StateName::Preparing,
            Some(State::Ready { .. }) => StateName::Ready,
            Some(State::Executing { .. } | State::Dual { .. }) => StateName::Executing,
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
                    context.bearer.watched(now, &self.rules, out);
                }
            }
            Input::Message { from, message } => self.on_message(from, message, now, out),
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        self.hosts.values().for_each(|context| context.deadlines(each));
    }
}
