//! The base station (gNB): receives messages, keeps a context for each host. The context is a block of
//! [`cellular`](crate::cellular), with the parts of the source and the target.
//!
//! "Takes the host back" means a handover cancel; the source still has the packets that it has forwarded. Messages of an
//! older handover are ignored.

use super::outbox::Outbox;
use super::{Action, Input, Kind, Message, Params, Phase, Procedure};
use crate::cellular::{self, Context, Environment, Plan, Rules, State};
use crate::transitions::Role;
use crate::{Agent, Identification, L2Trigger, Wire};
use roamlab_engine::Time;
use roamlab_packet::{Addr, Counts, Received};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

mod central;
mod copies;
mod reestablishment;
mod steps;
mod target;

crate::transitions! {
    GNodeB, "state of a host": None "none", Serving "serving", Preparing "preparing", Executing "executing", Dual "dual", Conditional "conditional", Prepared "prepared", Leaving "leaving", Retrieving "retrieving";
    "any" | "host arrived" | "" | "" | "same";
    "any" | "host gone" | "layer 2 repeats what is not confirmed: nothing is noticed" | "" | "same";
    "any" | "nas-service-request" | "of a present host, for the AMF" | "nas-service-request" | "same";
    "serving" | "ng-initial-context-setup" | "of a request before the last set-up" | "rrc-setup, rrc-measurement-configuration" | "same";
    "any" | "ng-initial-context-setup" | "newer, the host is present" | "no route, end bearer, route, adopt bearer, rrc-setup, rrc-measurement-configuration" | "serving";
    "serving" | "rrc-measurement-report" | "" | "xn-handover-request, ng-handover-required" | "preparing";
    "serving" | "rrc-measurement-report" | "handovers are conditional" | "xn-handover-request" | "conditional";
    "conditional" | "rrc-measurement-report" | "of a further target; of a prepared one" | "xn-handover-request, rrc-conditional-reconfiguration" | "same";
    "none" | "rrc-measurement-report, rrc-reestablishment-complete" | "of a present host" | "rrc-no-context" | "same";
    "preparing" | "xn-handover-request-acknowledge, ng-handover-command" | "of its target; immediately" | "rrc-reconfiguration, freeze bearer, report bearer, start buffering, release into tunnel, route to buffer, route to reorder queue" | "executing";
    "preparing" | "xn-handover-request-acknowledge" | "the command waits" | "" | "same";
    "preparing" | "time" | "the command is sent" | "rrc-reconfiguration, freeze bearer, report bearer, start buffering, release into tunnel, route to buffer" | "executing";
    "executing" | "time" | "the same, the target has acknowledged before" | "rrc-reconfiguration" | "same";
    "conditional" | "xn-handover-request-acknowledge" | "" | "rrc-conditional-reconfiguration" | "same";
    "preparing" | "xn-handover-request-acknowledge" | "hosts stay until they are at the target" | "rrc-reconfiguration, report bearer" | "dual";
    "dual, conditional" | "bearer reported" | "copies go to who is prepared" | "xn-early-status-transfer, forward bearer" | "same";
    "conditional" | "rrc-conditional-reconfiguration-complete" | "with early forwarding" | "report bearer" | "same";
    "conditional" | "time" | "candidates learn what need not be sent" | "report bearer" | "same";
    "prepared" | "xn-early-status-transfer" | "of packets that need not be sent" | "skip received" | "same";
    "dual" | "xn-handover-success" | "of its target" | "freeze bearer, report bearer, start buffering, release into tunnel, route to buffer" | "executing";
    "dual, conditional" | "xn-ue-context-release" | "the success was lost" | "freeze bearer, report bearer, start buffering, release into tunnel, route to buffer" | "executing";
    "executing" | "bearer reported" | "behind a lost success" | "xn-sn-status-transfer" | "leaving";
    "dual" | "rrc-failure-information, time" | "the target was not reached" | "xn-handover-cancel, forward bearer" | "serving";
    "serving" | "xn-sn-status-transfer" | "of a host that is still at its source" | "adopt bearer, rrc-source-release" | "same";
    "executing" | "bearer reported" | "" | "xn-sn-status-transfer, ng-uplink-ran-status-transfer" | "same";
    "preparing" | "xn-handover-preparation-failure, ng-handover-preparation-failure" | "of its target" | "" | "serving";
    "conditional" | "xn-handover-preparation-failure" | "another candidate is left; none is left" | "" | "conditional, serving";
    "preparing" | "time" | "TXnRELOCprep, TNGRELOCprep" | "xn-handover-cancel, ng-handover-cancel" | "serving";
    "conditional" | "xn-handover-success" | "the host has gone; cancels the others" | "xn-handover-cancel, freeze bearer, report bearer, start buffering, release into tunnel, route to buffer" | "executing";
    "serving" | "xn-handover-success" | "of the last handover, which is cancelled; the host has gone" | "freeze bearer, report bearer, start buffering, release into tunnel, route to buffer" | "executing";
    "conditional" | "time" | "the candidates' time is over, or the host is long gone: cancels all" | "xn-handover-cancel, rrc-conditional-reconfiguration" | "serving";
    "executing" | "time" | "TXnRELOCoverall, the host is present: takes it back" | "xn-handover-cancel, ng-handover-cancel, gtpu-end-marker, resume bearer, release, route, route to reorder queue" | "serving";
    "executing" | "time" | "TXnRELOCoverall, the host has gone, or asks for another connection" | "ng-ue-context-release-request" | "leaving";
    "serving, preparing, executing" | "xn-ue-context-release" | "not older, the host has gone" | "start buffering, release into tunnel, route to buffer" | "leaving";
    "serving, preparing, executing, leaving" | "xn-ue-context-release" | "the same, the end marker has passed, or nothing is forwarded" | "no route, end bearer" | "none";
    "executing" | "ng-ue-context-release-command" | "of its handover: forwards what still comes" | "ng-ue-context-release-complete" | "leaving";
    "serving, executing, leaving" | "ng-ue-context-release-command" | "not older, the host has gone" | "no route, end bearer, ng-ue-context-release-complete" | "none";
    "prepared" | "ng-ue-context-release-command" | "of its handover: returns its packets" | "release into tunnel, route to buffer, route to reorder queue, ng-ue-context-release-complete" | "leaving";
    "prepared" | "ng-ue-context-release-command" | "not older" | "no route, end bearer, ng-ue-context-release-complete" | "none";
    "preparing, conditional, dual" | "ng-ue-context-release-command" | "newer, the host has gone" | "no route, end bearer, ng-ue-context-release-complete" | "none";
    "any" | "ng-ue-context-release-command" | "of another handover, or the host is present" | "ng-ue-context-release-complete" | "same";
    "any" | "xn-handover-request, ng-handover-request" | "newer, admitted; immediately" | "gtpu-end-marker, no route, end bearer, start buffering, route to buffer, route to reorder queue, xn-handover-request-acknowledge" | "prepared";
    "any" | "xn-handover-request, ng-handover-request" | "newer, not admitted" | "xn-handover-preparation-failure, ng-handover-failure" | "same";
    "prepared" | "time" | "admitted" | "xn-handover-request-acknowledge, ng-handover-request-acknowledge" | "same";
    "serving, prepared" | "xn-sn-status-transfer, ng-downlink-ran-status-transfer" | "of the handover, the first one" | "adopt bearer" | "same";
    "prepared" | "rrc-reconfiguration-complete" | "of the handover; success if it is conditional" | "skip received, release, route, route to reorder queue, ng-path-switch-request, ng-handover-notify, xn-handover-success" | "serving";
    "serving" | "rrc-reconfiguration-complete" | "of a host whose connection continues here" | "resume bearer, skip received, release, route, route to reorder queue" | "same";
    "serving" | "time" | "no numbers have come: the bearer begins again" | "end bearer, start buffering, route to buffer, route, adopt bearer, freeze bearer, rrc-full-configuration" | "same";
    "any" | "rrc-reconfiguration-complete" | "of a present host, of no handover" | "rrc-no-context" | "same";
    "prepared" | "xn-handover-cancel" | "of its source: returns its packets" | "release into tunnel, route to buffer, route to reorder queue" | "leaving";
    "prepared" | "xn-handover-cancel" | "of its source, of copies or without forwarding" | "skip received, no route, end bearer" | "none";
    "prepared, leaving" | "time" | "joining timer; forwarding hold" | "no route, end bearer, rrc-no-context" | "none";
    "serving" | "time" | "the host is long gone" | "no route, end bearer, ng-ue-context-release-request" | "none";
    "any" | "gtpu-end-marker" | "continues to the target behind what was forwarded; of the source: direct packets follow" | "gtpu-end-marker, no route, release reorder queue, route, route to buffer" | "same";
    "leaving" | "gtpu-end-marker" | "the same, the last" | "gtpu-end-marker, no route, end bearer" | "none, retrieving";
    "any" | "packet" | "the first direct one: the guard begins" | "route, route to buffer, route to reorder queue" | "same";
    "any" | "time" | "guard over" | "no route, release reorder queue, route, route to buffer, gtpu-end-marker" | "same";
    "any" | "ng-path-switch-request-acknowledge" | "to the source" | "xn-ue-context-release" | "same";
    "serving, preparing, executing, conditional, dual" | "ng-path-switch-request-failure" | "the sessions are released" | "no route, end bearer, rrc-no-context" | "none, retrieving";
    "any" | "ng-path-switch-request-failure" | "the host is present" | "ng-path-switch-request" | "same";
    "serving, conditional, preparing, dual" | "retransmission limit" | "what follows waits" | "start buffering, route to buffer, rrc-no-context" | "same";
    "serving" | "rrc-reestablishment-request" | "of a present host that it has" | "start buffering, route to buffer, adopt bearer, rrc-reestablishment" | "same";
    "preparing, executing, conditional, dual" | "rrc-reestablishment-request" | "the same: takes it back" | "xn-handover-cancel, ng-handover-cancel, resume bearer, gtpu-end-marker, forward bearer, start buffering, route to buffer, route to reorder queue, rrc-reestablishment" | "serving";
    "prepared" | "rrc-reestablishment-request" | "of a host that is expected" | "rrc-reestablishment" | "same";
    "none" | "rrc-reestablishment-request" | "of a present host that another base station has" | "xn-retrieve-ue-context-request" | "retrieving";
    "any" | "rrc-reestablishment-request" | "the same, and the context here is older" | "xn-retrieve-ue-context-request" | "same";
    "any" | "rrc-reestablishment-request" | "of a present host without a context" | "rrc-fallback-setup" | "same";
    "any" | "xn-retrieve-ue-context-response" | "of the last request, perhaps in place of an older context" | "end bearer, gtpu-end-marker, start buffering, route to buffer, route to reorder queue, rrc-reestablishment, xn-u-address-indication" | "prepared";
    "retrieving" | "xn-retrieve-ue-context-response" | "of the last request, the host has gone" | "" | "none";
    "retrieving" | "xn-retrieve-ue-context-failure" | "of the last request" | "rrc-fallback-setup" | "none";
    "any" | "xn-retrieve-ue-context-failure" | "of the last request, with an older context" | "rrc-fallback-setup" | "same";
    "retrieving" | "time" | "T301" | "" | "none";
    "serving" | "xn-retrieve-ue-context-request" | "of a host that has gone" | "xn-retrieve-ue-context-response" | "same";
    "preparing, executing, conditional, dual" | "xn-retrieve-ue-context-request" | "the same: what was prepared is off" | "xn-handover-cancel, resume bearer, gtpu-end-marker, forward bearer, start buffering, route to buffer, xn-retrieve-ue-context-response" | "serving";
    "any" | "xn-retrieve-ue-context-request" | "of a host that it does not have" | "xn-retrieve-ue-context-failure" | "same";
    "serving" | "xn-u-address-indication" | "of who has got the context" | "freeze bearer, report bearer, start buffering, release into tunnel, route to buffer" | "executing";
    "prepared" | "rrc-reestablishment-complete" | "of the last request" | "ng-path-switch-request, xn-handover-success, rrc-resume-reconfiguration" | "serving";
    "serving" | "rrc-reestablishment-complete" | "of the last request" | "rrc-resume-reconfiguration" | "same";
    "serving, prepared" | "time" | "the host has not completed it" | "rrc-no-context" | "same";
}

/// NR at a base station.
#[derive(Clone, Debug)]
pub struct GNodeB {
    address: Addr,
    amf: Addr,
    params: Arc<Params>,
    rules: Box<Rules>,
    /// Hosts that layer 2 has here.
    present: BTreeSet<Addr>,
    hosts: BTreeMap<Addr, Host>,
    /// Contexts that other base stations are asked for.
    retrievals: BTreeMap<Addr, Retrieval>,
}

/// State of a host.
#[derive(Clone, Debug)]
struct Host {
    context: Context,
    /// The handover by which it has come, or is to come.
    origin: Identification,
    /// The numbers of its bearer are known here.
    numbered: bool,
    /// The numbers that the target of a handover from here has got.
    sent: Option<Counts>,
    /// The end marker of a handover from here has passed to the target.
    marked: bool,
    /// The next step of a handover, when its time has come.
    due: Option<(Time, Due)>,
    /// Until when the numbers of its bearer are awaited.
    numbers_by: Option<Time>,
    /// The host continues its connection here.
    resuming: Option<Resuming>,
    /// The target has reported that the host has come.
    succeeded: bool,
    /// The host has been handed over, and asks for another connection here.
    renounced: bool,
    /// The host is still at its source, too.
    dual: bool,
    /// The host may not know that its bearer has begun again.
    unsure: bool,
    /// It was set up by the AMF then, for this request.
    set_up: Option<(Time, Identification)>,
    /// Targets that were notified from which number on they get copies.
    told: BTreeSet<Addr>,
    /// When candidates are notified again which packets need not be sent.
    status_at: Option<Time>,
    /// The target has the path too, and has to get the numbers first.
    released: Option<Addr>,
    /// Another base station has got the context, with this handover.
    retrieved: Option<(Addr, Identification)>,
}

/// The next step of a handover.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Due {
    /// Target: it admits the host.
    Admit,
    /// Source: the target is ready.
    Ready(Addr),
    /// Source: the command is sent over the air.
    Command(Addr),
}

/// Re-establishment, or full configuration, that is not complete.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Resuming {
    /// Of the host's request.
    id: Identification,
    /// The bearers are to continue.
    reconfigured: bool,
    /// They begin again, by full configuration.
    begins_again: bool,
    /// Until when the host completes it.
    until: Time,
}

/// A context that another base station is asked for.
#[derive(Copy, Clone, Debug)]
struct Retrieval {
    /// Of the host's request.
    ue: Identification,
    /// Of the handover.
    id: Identification,
    source: Addr,
    until: Time,
}

impl Host {
    fn new(context: Context) -> Host {
        Host {
            origin: context.id,
            context,
            numbered: false,
            sent: None,
            marked: false,
            due: None,
            numbers_by: None,
            resuming: None,
            succeeded: false,
            renounced: false,
            dual: false,
            unsure: false,
            set_up: None,
            told: BTreeSet::new(),
            status_at: None,
            released: None,
            retrieved: None,
        }
    }

    /// The numbers of the bearer are known: packets get further ones.
    fn adopt(&mut self, counts: Counts, env: &mut Environment<'_>) {
        if !std::mem::replace(&mut self.numbered, true) {
            self.numbers_by = None;
            env.out.push(cellular::Action::AdoptBearer { host: env.host, counts });
        }
    }

    /// The numbers of the bearer begin again here.
    fn begin_again(&self, env: &mut Environment<'_>) {
        env.out.push(cellular::Action::AdoptBearer { host: env.host, counts: Counts::default() });
    }

    /// The source has given away the numbers of the host's bearer, and what it had.
    fn has_discarded(&self, env: &Environment<'_>) -> bool {
        env.rules.forwarding == cellular::Forwarding::None
            && matches!(self.context.state, State::Executing { .. })
    }

    /// A bearer that was given away continues here, from the numbers that the target has got.
    fn restart(&self, restarts: bool, env: &mut Environment<'_>) {
        if let Some(counts) = self.sent.filter(|_| restarts) {
            env.out.push(cellular::Action::AdoptBearer { host: env.host, counts });
        }
    }

    /// The host is here: what waits follows.
    fn attach(&mut self, received: Option<&Received>, env: &mut Environment<'_>) {
        if let Some(received) = received.cloned() {
            env.out.push(cellular::Action::SkipReceived { host: env.host, received });
        }
        self.numbers_by = (!self.numbered).then(|| env.now + env.rules.reordering_wait);
        self.context.bearer.attach(env.now, env.rules, env.out);
    }
}

impl GNodeB {
    /// A base station without hosts. `relay`: the node through which packets are forwarded.
    pub fn new(address: Addr, (amf, relay): (Addr, Option<Addr>), params: &Arc<Params>) -> GNodeB {
        GNodeB {
            address,
            amf,
            params: Arc::clone(params),
            rules: Box::new(params.rules(relay)),
            present: BTreeSet::new(),
            hosts: BTreeMap::new(),
            retrievals: BTreeMap::new(),
        }
    }

    /// The core network prepares handovers.
    fn by_core(&self) -> bool {
        self.params.procedure == Procedure::N2
    }

    fn outbox<'a>(&self, out: &'a mut Vec<Action>) -> Outbox<'a> {
        Outbox { out, amf: self.amf, by_core: self.by_core(), dual: self.params.daps }
    }

    fn send(&self, host: Addr, (to, id): (Addr, Identification), kind: Kind, out: &mut Vec<Action>) {
        out.push(Message::about(host, id, kind).to(to));
    }

    /// Hands the host, if it is known, to `react`, which returns true if it stays so.
    fn with(
        &mut self,
        host: Addr,
        now: Time,
        out: &mut Vec<Action>,
        react: impl FnOnce(&mut Host, &mut Environment<'_>) -> bool,
    ) {
        let by_core = self.by_core();
        let Some(known) = self.hosts.get_mut(&host) else { return };
        let present = self.present.contains(&host);
        let (address, core, rules) = (self.address, self.amf, &self.rules);
        // A host that has reached the target is not taken back, even if it has not left yet, or has given its connection up.
        let present = present && !known.succeeded && !known.renounced;
        let out = &mut Outbox { out, amf: core, by_core, dual: self.params.daps };
        if !react(known, &mut Environment { address, core, rules, host, present, now, out }) {
            self.hosts.remove(&host);
        }
    }

    fn on_message(&mut self, from: Addr, message: Message, now: Time, out: &mut Vec<Action>) {
        let Message { host: Some(host), id, kind } = message else { return };
        let about = (host, id);
        match kind {
            Kind::ServiceRequest { first } if self.present.contains(&host) => {
                if let Some(known) = self.hosts.get_mut(&host) {
                    known.renounced |= known.context.has_handed_over();
                }
                if self.has_answered(host, first) {
                    // The request and the answer to the one before have crossed.
                    self.connected_again(about, now, out);
                } else {
                    self.send(host, (self.amf, id), kind, out);
                }
            }
            Kind::InitialContextSetup => self.set_up(about, now, out),
            Kind::HandoverRequest { plan, .. } => {
                self.handover_requested(about, (from, from), plan, now, out)
            }
            Kind::NgHandoverRequest { source, .. } => {
                self.handover_requested(about, (source, from), Plan::Command, now, out);
            }
            Kind::ReestablishmentRequest { previous } if self.present.contains(&host) => {
                self.reestablish(about, previous, now, out);
            }
            Kind::ReconfigurationComplete { received } if self.present.contains(&host) => {
                self.completed(about, received.as_ref(), now, out);
            }
            Kind::ConditionalComplete | Kind::FailureInformation | Kind::EarlyStatusTransfer { .. } => {
                self.on_copies(about, &kind, now, out);
            }
            Kind::MeasurementReport { .. } | Kind::ReestablishmentComplete
                if self.present.contains(&host) && !self.hosts.contains_key(&host) =>
            {
                self.send(host, (host, id), Kind::NoContext, out);
            }
            Kind::ReestablishmentComplete => self.host_continues(about, now, out),
            Kind::RetrieveContextRequest { ue } => self.retrieve(about, (from, ue), now, out),
            Kind::RetrieveContextResponse | Kind::RetrieveContextFailure => {
                self.retrieved(about, kind == Kind::RetrieveContextResponse, now, out);
            }
            Kind::ContextReleaseCommand => self.release_commanded(about, now, out),
            Kind::PathSwitchRequestFailure { released: true } => self.sessions_released(about, now, out),
            Kind::SnStatusTransfer { counts } | Kind::DownlinkStatusTransfer { counts } => {
                self.numbers_known(about, counts, now, out);
            }
            _ => self.with(host, now, out, |known, env| on_message(known, (from, id), &kind, env)),
        }
    }

    /// The AMF has the host elsewhere, or in no base station.
    fn release_commanded(&mut self, (host, id): (Addr, Identification), now: Time, out: &mut Vec<Action>) {
        self.with(host, now, out, |known, env| {
            let context = &known.context;
            let expected = matches!(context.state, State::Prepared { .. });
            let leaves = id >= context.id && (!env.present || expected);
            if let State::Executing { target, .. } = context.state
                && id == context.id
                && !known.marked
            {
                // Packets that still arrive are forwarded.
                return known.context.released(target, env);
            }
            if let State::Prepared { source, granted: None, .. } = context.state
                && id == context.id
                && env.rules.cancelled == cellular::Cancelled::Return
            {
                // The source waits for what it has forwarded.
                return known.context.cancelled(source, env);
            }
            if leaves && !expected {
                env.note(cellular::Phase::SourceReleased);
            }
            if leaves {
                context.bearer.end(env.out);
            }
            !leaves
        });
        self.send(host, (self.amf, id), Kind::ContextReleaseComplete, out);
    }

    fn layer_2(&mut self, trigger: L2Trigger, now: Time, out: &mut Vec<Action>) {
        match trigger {
            L2Trigger::HostArrived { host } => {
                self.present.insert(host);
            }
            L2Trigger::HostGone { host } => {
                self.present.remove(&host);
                self.with(host, now, out, |known, env| {
                    known.resuming = None;
                    known.context.host_gone(env);
                    true
                });
            }
            L2Trigger::BearerReported { host, state } => {
                self.bearer_reported(host, state, now, out);
            }
            L2Trigger::RetransmissionLimit { host } => self.link_failed(host, now, out),
            _ => {}
        }
    }

    /// RLC gives a packet up: what follows waits. A host that is here still learns that its link has failed.
    fn link_failed(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        let mut id = None;
        self.with(host, now, out, |known, env| {
            if !matches!(known.context.state, State::Executing { .. } | State::Leaving { .. }) {
                known.context.bearer.hold(env.out);
                id = env.present.then_some(known.context.id);
            }
            true
        });
        if let Some(id) = id {
            self.send(host, (host, id), Kind::NoContext, out);
        }
    }

    fn on_timer(&mut self, now: Time, out: &mut Vec<Action>) {
        self.retrievals.retain(|_, retrieval| now < retrieval.until);
        let due = |known: &Host| {
            let mut due = false;
            known.deadlines(&mut |at| due |= at <= now);
            due
        };
        let hosts: Vec<Addr> =
            self.hosts.iter().filter(|(_, known)| due(known)).map(|(&host, _)| host).collect();
        for host in hosts {
            self.next_step(host, now, out);
            self.refresh_status(host, now, out);
            self.reconfigure_fully(host, now, out);
            self.give_up_resuming(host, now, out);
            let was =
                |all: &BTreeMap<Addr, Host>| all.get(&host).map(|known| (known.context.id, known.name()));
            let before = was(&self.hosts);
            self.with(host, now, out, |known, env| {
                let restarts = known.has_discarded(env);
                let stays = known.context.on_timer(env);
                known.restart(restarts && matches!(known.context.state, State::Serving), env);
                stays
            });
            let after = was(&self.hosts).map(|(_, name)| name);
            let is_present = self.present.contains(&host);
            match before {
                // The source gives up the host that it has commanded.
                Some((id, StateName::Executing)) if after == Some(StateName::Leaving) => {
                    self.send(host, (self.amf, id), Kind::ContextReleaseRequest, out);
                }
                Some((id, StateName::Serving)) if after.is_none() => {
                    self.send(host, (self.amf, id), Kind::ContextReleaseRequest, out);
                }
                Some((id, StateName::Prepared)) if after.is_none() && is_present => {
                    self.send(host, (host, id), Kind::NoContext, out);
                }
                _ => {}
            }
        }
    }
}

/// A message about a host that is known; whether it stays so.
fn on_message(
    known: &mut Host,
    (from, id): (Addr, Identification),
    kind: &Kind,
    env: &mut Environment<'_>,
) -> bool {
    let context = &mut known.context;
    let current = id == context.id;
    let of_path = context.path.is_some_and(|path| path.id == id);
    match *kind {
        Kind::MeasurementReport { target } if env.present && !known.unsure => context.reported(target, env),
        Kind::HandoverPreparationFailure if current => context.target_refuses(from, env),
        Kind::NgHandoverPreparationFailure { target } if current => context.target_refuses(target, env),
        Kind::HandoverSuccess if current => known.succeed(from, env),
        // A host that continues its connection here has lost the source.
        Kind::HandoverCancel if current && known.resuming.is_some() => {}
        Kind::HandoverCancel if current => return context.cancelled(from, env),
        Kind::ContextRelease if current && context.awaits_success() => {
            // The success was lost: the numbers go first.
            known.released = Some(from);
            known.succeed(from, env);
        }
        Kind::ContextRelease if id >= context.id && !env.present => {
            let stays = context.released(from, env);
            if known.marked {
                context.bearer.end(env.out);
            }
            return stays && !known.marked;
        }
        Kind::AddressIndication if context.is_active() => {
            if let Some((target, id)) = known.retrieved.take_if(|retrieved| *retrieved == (from, id)) {
                context.bearer.since(context.id);
                context.id = id;
                known.marked = false;
                context.hand_over(target, false, env);
            }
        }
        Kind::PathSwitchRequestAcknowledge if of_path => context.path_switched(env),
        Kind::PathSwitchRequestFailure { released: false } if of_path => context.path_refused(env),
        Kind::EndMarker { source } => {
            known.marked |= context.end_marker(source.unwrap_or(from), id, env);
            if known.marked && matches!(context.state, State::Leaving { .. }) {
                context.bearer.end(env.out);
                return false;
            }
        }
        _ => {}
    }
    true
}

impl Host {
    fn name(&self) -> StateName {
        match self.context.state {
            State::Serving | State::Ready { .. } => StateName::Serving,
            State::Preparing { .. } => StateName::Preparing,
            State::Executing { .. } => StateName::Executing,
            State::Dual { .. } => StateName::Dual,
            State::Conditional { .. } => StateName::Conditional,
            State::Prepared { .. } => StateName::Prepared,
            State::Leaving { .. } => StateName::Leaving,
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        self.context.deadlines(each);
        let due = self.due.map(|(at, _)| at);
        let resuming = self.resuming.map(|resuming| resuming.until);
        [due, self.numbers_by, self.status_at, resuming].into_iter().flatten().for_each(each);
    }
}

impl Role for GNodeB {
    fn state(&self, host: Addr) -> StateName {
        match self.hosts.get(&host) {
            None if self.retrievals.contains_key(&host) => StateName::Retrieving,
            None => StateName::None,
            Some(known) => known.name(),
        }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        let retrievals = self.retrievals.keys().filter(|host| !self.hosts.contains_key(host));
        self.hosts.keys().chain(retrievals).copied()
    }
}

impl Agent for GNodeB {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Trigger(trigger) => self.layer_2(trigger, now, out),
            Input::Deadline => self.on_timer(now, out),
            Input::Data { host, .. } => {
                self.with(host, now, out, |known, env| {
                    known.context.bearer.watched(env.now, env.rules, env.out);
                    true
                });
            }
            Input::Message { from, message } => {
                let Message { host, id, ref kind } = message;
                let ready = match *kind {
                    Kind::HandoverRequestAcknowledge => Some(from),
                    Kind::HandoverCommand { target } => Some(target),
                    _ => None,
                };
                match ready.zip(host) {
                    Some((target, host)) => self.target_is_ready(host, (target, id), now, out),
                    None => self.on_message(from, message, now, out),
                }
            }
        }
    }

    fn wire(&self, message: &Message) -> Option<Wire> {
        Some(self.params.wire(&message.kind))
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        self.hosts.values().for_each(|known| known.deadlines(each));
        self.retrievals.values().for_each(|retrieval| each(retrieval.until));
    }
}
