//! The base station (eNodeB): receives messages, keeps a context for each host. `source.rs` has its part as a source,
//! `target.rs` that as a target, and `bearer.rs` the routes of packets.
//!
//! | state of a host | input | does | next |
//! | --- | --- | --- | --- |
//! | any | service request of a present host | relays it to the MME | same |
//! | any | initial context setup, newer, host present | ends the old bearer, connection setup, measurement control | serving |
//! | serving | measurement control is not confirmed | sends it again | serving |
//! | serving | measurement report; prediction | handover request | preparing |
//! | preparing, by a prediction | measurement report of the same target | remembers it | preparing |
//! | preparing, by a prediction | measurement report of another target | handover cancel; handover request | preparing |
//! | preparing | ack | command, SN status, forwards; (fast) path switch request | executing |
//! | preparing, by a prediction | ack | path switch request | ready |
//! | preparing | failure | | serving |
//! | preparing | T_RELOCprep | handover cancel | serving |
//! | ready | measurement report of the same target | command, SN status, forwards | executing |
//! | ready | prediction timeout | takes the host back | serving |
//! | ready | measurement report of another target | takes the host back, handover request | preparing |
//! | executing | UE context release | | leaving |
//! | executing | T_X2RELOCoverall, host present | takes the host back | serving |
//! | executing | T_X2RELOCoverall, host gone | | leaving |
//! | ready | prediction timeout, host gone | forwards | leaving |
//! | executing, leaving | end marker | goes on to the target, behind what was forwarded | same |
//! | ready | end marker, then nothing left on the air | end marker to the target, and again behind the command | ready |
//! | leaving | hold time over | ends the bearer | none |
//! | serving, preparing, ready | host gone | keeps its packets | same |
//! | serving, host gone | T_X2RELOCoverall | ends the bearer | none |
//! | serving, ready, host gone | UE context release, newer | forwards what it has kept | leaving |
//! | any without the host | handover request, newer, admitted | holds, ack | prepared |
//! | the same | handover request, newer, not admitted | failure | same |
//! | prepared | preamble | random access response, again until confirmed; stops the joining timer | prepared |
//! | prepared | handover confirm | what it holds goes over the air, path switch request | serving |
//! | prepared, neither begun | handover cancel | returns or drops what it holds | leaving, none |
//! | prepared, random access or re-establishment begun | handover cancel | | prepared |
//! | prepared | joining timer | ends the bearer | none |
//! | serving | forwarded packet | restarts the reordering wait | serving |
//! | serving | end marker of the source, reordering wait | direct packets follow | serving |
//! | serving | path switch ack | UE context release to the source | serving |
//! | serving | path switch failure, host present | path switch request, newer | serving |
//! | any | path switch request unanswered | sends it again | same |
//! | prepared, serving, preparing, ready, executing | re-establishment request | re-establishment, again until completed | same |
//! | prepared | re-establishment complete | as handover confirm | serving |
//! | serving, preparing | re-establishment complete | releases what it has kept | same |
//! | ready, executing | re-establishment complete | takes the host back | serving |
//! | any with the host | PDCP status report | does not send what the host has | same |
//! | none, leaving, or of an older handover | re-establishment request | reject | same |
//! | any without the host | UE context release command, newer | ends the bearer | none |
//!
//! "Takes the host back" means a handover cancel. The target returns its packets, which go first; a path that was
//! switched is switched back. Messages of an older handover are ignored.

use super::bearer::{EnodebBearer, Outlet};
use super::{Action, Input, Kind, Message, Params, Phase};
use crate::backoff::Backoff;
use crate::{Agent, Identification, L2Trigger};
use roamlab_engine::Time;
use roamlab_packet::Addr;
use std::collections::{BTreeMap, BTreeSet};

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

/// What a base station knows of a host.
#[derive(Clone, Debug)]
pub(super) struct Context {
    /// Of the newest handover, service request or path switch.
    pub id: Identification,
    pub role: Role,
    pub bearer: EnodebBearer,
    /// The path switch request that is not answered.
    pub path: Option<Path>,
    /// Measurement control that is not confirmed.
    pub measuring: Option<Backoff>,
    /// When a serving base station forgets a host that has gone.
    pub forget_at: Option<Time>,
    /// Re-establishment that the host has not completed.
    pub resuming: Option<Resuming>,
}

#[derive(Copy, Clone, Debug)]
pub(super) enum Role {
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
    /// Target: expects the host. `granted`: it has begun random access, and is answered again then, for as long as it is
    /// here.
    Prepared {
        source: Addr,
        until: Time,
        granted: Option<Time>,
        early: bool,
    },
    /// The host is elsewhere: passes on what still comes.
    Leaving {
        until: Time,
    },
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
    /// Who is told when it is done.
    pub release: Option<Addr>,
    pub retry: Backoff,
}

/// What a context's reaction may use.
pub(super) struct Cx<'a> {
    pub address: Addr,
    pub mme: Addr,
    pub params: &'a Params,
    pub host: Addr,
    /// Layer 2 has the host here.
    pub present: bool,
    pub now: Time,
    pub out: &'a mut Vec<Action>,
}

impl Cx<'_> {
    pub fn send(&mut self, to: Addr, id: Identification, kind: Kind) {
        self.out.push(Message::about(self.host, id, kind).to(to));
    }

    pub fn note(&mut self, phase: Phase) {
        self.out.push(Action::Note { host: self.host, phase });
    }
}

impl Context {
    /// The context of a host that `bearer` serves from now on.
    pub fn new(id: Identification, role: Role, bearer: EnodebBearer) -> Context {
        Context { id, role, bearer, path: None, measuring: None, forget_at: None, resuming: None }
    }

    const fn state(&self) -> &'static str {
        match self.role {
            Role::Serving => "serving",
            Role::Preparing { .. } => "preparing",
            Role::Ready { .. } => "ready",
            Role::Executing { .. } => "executing",
            Role::Prepared { .. } => "prepared",
            Role::Leaving { .. } => "leaving",
        }
    }

    pub fn switch_path(&mut self, base_station: Addr, release: Option<Addr>, cx: &mut Cx<'_>) {
        let retry = cx.params.timers.s1_retry(cx.now);
        let path = Path { id: self.id, base_station, release, retry };
        cx.send(cx.mme, path.id, Kind::PathSwitchRequest { base_station });
        self.path = Some(path);
    }

    fn path_switched(&mut self, cx: &mut Cx<'_>) {
        let Some(path) = self.path.take() else { return };
        cx.note(Phase::PathSwitchAcknowledged);
        if let Some(source) = path.release {
            cx.send(source, path.id, Kind::ContextRelease);
        }
    }

    /// The MME knows a newer handover: the base station that has the host wins.
    fn path_refused(&mut self, cx: &mut Cx<'_>) {
        let Some(path) = self.path.take() else { return };
        if path.base_station == cx.address && cx.present && matches!(self.role, Role::Serving) {
            self.id = self.id.newer(cx.now);
            self.bearer.since(self.id);
            self.switch_path(path.base_station, path.release, cx);
        }
    }

    /// A message about the host; whether the context stays.
    fn on_message(&mut self, from: Addr, id: Identification, kind: &Kind, cx: &mut Cx<'_>) -> bool {
        let current = id == self.id;
        let of_path = self.path.is_some_and(|path| path.id == id);
        match *kind {
            Kind::MeasurementControlComplete if cx.present => self.measuring = None,
            Kind::MeasurementReport { target } if cx.present => self.reported(target, cx),
            Kind::HandoverRequestAck if current => self.target_is_ready(from, cx),
            Kind::HandoverPreparationFailure if current => self.target_refuses(from, cx),
            Kind::ContextRelease if id >= self.id && !cx.present => return self.released(from, cx),
            Kind::HandoverCancel if current => return self.cancelled(from, cx),
            Kind::RandomAccessPreamble if current && cx.present => self.accessed(cx),
            Kind::HandoverConfirm if current && cx.present => self.confirmed(cx),
            Kind::ReestablishmentComplete
                if cx.present && self.resuming.take_if(|resuming| resuming.id == id).is_some() =>
            {
                self.continue_here(cx);
            }
            Kind::StatusReport { ref received } if cx.present => {
                cx.out.push(Action::SkipReceived { host: cx.host, received: received.clone() });
            }
            Kind::PathSwitchRequestAck if of_path => self.path_switched(cx),
            Kind::PathSwitchRequestFailure if of_path => self.path_refused(cx),
            Kind::EndMarker => self.end_marker(from, id, cx),
            Kind::ContextReleaseCommand if id > self.id && !cx.present => {
                self.bearer.end(cx.out);
                return false;
            }
            _ => {}
        }
        true
    }

    fn end_marker(&mut self, from: Addr, id: Identification, cx: &mut Cx<'_>) {
        let waited = self.bearer.waits();
        let relayed = self.bearer.end_marker(from, id, cx.out);
        if waited && !self.bearer.waits() {
            cx.note(Phase::OrderRestored);
        }
        if relayed {
            cx.note(Phase::ForwardingEnded);
        }
        if matches!(self.role, Role::Ready { .. }) && self.bearer.path_has_left() && !self.bearer.waits() {
            cx.out.push(Action::AwaitDrained { host: cx.host });
        }
    }

    fn wait_is_over(&mut self, cx: &mut Cx<'_>) {
        if self.bearer.on_timer(cx.now, cx.out) {
            cx.note(Phase::ReorderingTimedOut);
            if self.bearer.relay_end(cx.out) {
                cx.note(Phase::ForwardingEnded);
            }
        }
    }

    /// Whether the context stays.
    fn on_timer(&mut self, cx: &mut Cx<'_>) -> bool {
        self.wait_is_over(cx);
        if let Some(path) = self.path.as_mut().filter(|path| path.retry.at <= cx.now) {
            path.retry = path.retry.again(cx.now);
            let Path { id, base_station, .. } = *path;
            cx.send(cx.mme, id, Kind::PathSwitchRequest { base_station });
        }
        if let Some(timer) = self.measuring.filter(|timer| timer.at <= cx.now) {
            self.measuring = cx.present.then(|| timer.again(cx.now));
            if cx.present {
                cx.send(cx.host, self.id, Kind::MeasurementControl);
            }
        }
        if let Some(resuming) = self.resuming.as_mut().filter(|resuming| resuming.retry.at <= cx.now) {
            resuming.retry = resuming.retry.again(cx.now);
            let id = resuming.id;
            cx.send(cx.host, id, Kind::Reestablishment);
        }
        let stays = match self.role {
            Role::Serving => {
                self.forget_at = self.forget_at.filter(|_| !cx.present);
                self.forget_at.is_none_or(|at| cx.now < at)
            }
            Role::Preparing { until, .. } | Role::Ready { until, .. } | Role::Executing { until, .. } => {
                if until <= cx.now {
                    self.source_times_out(cx);
                }
                true
            }
            Role::Prepared { until, granted, .. } => {
                if granted.is_some_and(|at| at <= cx.now) {
                    self.accessed(cx);
                }
                granted.is_some() || self.resuming.is_some() || cx.now < until
            }
            Role::Leaving { until } => cx.now < until,
        };
        if !stays {
            self.bearer.end(cx.out);
        }
        stays
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        let role = match self.role {
            Role::Serving => self.forget_at,
            Role::Prepared { until, granted, .. } => granted.or(self.resuming.is_none().then_some(until)),
            Role::Preparing { until, .. }
            | Role::Ready { until, .. }
            | Role::Executing { until, .. }
            | Role::Leaving { until } => Some(until),
        };
        let path = self.path.map(|path| path.retry.at);
        let measuring = self.measuring.map(|timer| timer.at);
        let resuming = self.resuming.map(|resuming| resuming.retry.at);
        [role, path, measuring, resuming, self.bearer.next_deadline()].into_iter().flatten().for_each(each);
    }
}

impl ENodeB {
    /// A base station without hosts.
    pub fn new(address: Addr, mme: Addr, params: &Params) -> ENodeB {
        let params = params.clone();
        ENodeB { address, mme, params, present: BTreeSet::new(), hosts: BTreeMap::new() }
    }

    /// The state for `host` in one word.
    pub fn state(&self, host: Addr) -> &'static str {
        self.hosts.get(&host).map_or("none", Context::state)
    }

    /// Hands the host's context, if there is one, to `react`, which says whether it stays.
    fn with(
        &mut self,
        host: Addr,
        now: Time,
        out: &mut Vec<Action>,
        react: impl FnOnce(&mut Context, &mut Cx<'_>) -> bool,
    ) {
        let Some(context) = self.hosts.get_mut(&host) else { return };
        let present = self.present.contains(&host);
        let (address, mme, params) = (self.address, self.mme, &self.params);
        if !react(context, &mut Cx { address, mme, params, host, present, now, out }) {
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
            Kind::HandoverRequest { early } => self.handover_requested((host, id), from, early, now, out),
            Kind::ReestablishmentRequest { previous } if self.present.contains(&host) => {
                self.reestablish((host, id), previous, now, out);
            }
            _ => self.with(host, now, out, |context, cx| context.on_message(from, id, &kind, cx)),
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
        let context = Context { measuring, ..Context::new(id, Role::Serving, bearer) };
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
        self.with(host, now, out, |context, cx| {
            continues = context.id >= id && !matches!(context.role, Role::Leaving { .. });
            let retry = cx.params.timers.rrc_retry(cx.now);
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
        early: bool,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let known = self.hosts.get(&host);
        if known.is_some_and(|known| id <= known.id) {
            return;
        }
        let active = |(&other, context): (&Addr, &Context)| {
            other != host && !matches!(context.role, Role::Leaving { .. })
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
        let until = now + self.params.timers.joining;
        let role = Role::Prepared { source, until, granted: None, early };
        self.hosts.insert(host, Context::new(id, role, bearer));
        out.push(Message::about(host, id, Kind::HandoverRequestAck).to(source));
    }

    fn layer_2(&mut self, trigger: L2Trigger, now: Time, out: &mut Vec<Action>) {
        match trigger {
            L2Trigger::HostArrived { host } => {
                self.present.insert(host);
            }
            L2Trigger::HostGone { host } => {
                self.present.remove(&host);
                self.with(host, now, out, |context, cx| {
                    context.host_gone(cx);
                    true
                });
            }
            L2Trigger::Drained { host } => {
                self.with(host, now, out, |context, cx| {
                    context.drained(cx);
                    true
                });
            }
            L2Trigger::HandoverPredicted { host, base_station } => {
                self.with(host, now, out, |context, cx| {
                    context.predicted(base_station, cx);
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
            self.with(host, now, out, |context, cx| context.on_timer(cx));
        }
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
                    context.bearer.forwarded(now, &self.params);
                }
            }
            Input::Message { from, message } => self.on_message(from, message, now, out),
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        self.hosts.values().for_each(|context| context.deadlines(each));
    }
}
