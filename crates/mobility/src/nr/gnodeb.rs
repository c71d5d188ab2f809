//! The base station (gNB): receives messages, keeps a context for each host. The context is a block of
//! [`cellular`](crate::cellular), with the parts of the source and the target.
//!
//! "Takes the host back" means a handover cancel; the source still has the packets that it has forwarded. Messages of an
//! older handover are ignored.

use super::outbox::Outbox;
use super::{Action, ForwardFrom, Input, Kind, Message, Params, Phase, Procedure};
use crate::cellular::{self, Bearer, Context, Environment, Plan, Rules, State};
use crate::transitions::Role;
use crate::{Agent, Identification, L2Trigger, Wire};
use roamlab_engine::Time;
use roamlab_packet::{Addr, Counts, Received};
use std::collections::{BTreeMap, BTreeSet};

mod central;
mod copies;
mod reestablishment;
mod table;

pub use table::StateName;

/// NR at a base station.
#[derive(Clone, Debug)]
pub struct GNodeB {
    address: Addr,
    amf: Addr,
    params: Params,
    rules: Rules,
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
    /// The host is still at its source, too.
    dual: bool,
    /// Who was told from which number on it gets copies.
    told: BTreeSet<Addr>,
    /// When candidates are told again which packets need not be sent.
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
    /// Source: the command goes on the air.
    Command(Addr),
}

/// Re-establishment that is not complete.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Resuming {
    /// Of the host's request.
    id: Identification,
    /// The bearers are to continue.
    reconfigured: bool,
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
            dual: false,
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
    pub fn new(address: Addr, (amf, relay): (Addr, Option<Addr>), params: &Params) -> GNodeB {
        GNodeB {
            address,
            amf,
            params: params.clone(),
            rules: params.rules(relay),
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
        // A host that has come to the target is not taken back, even if it has not left yet.
        let present = present && !known.succeeded;
        let out = &mut Outbox { out, amf: core, by_core, dual: self.params.daps };
        if !react(known, &mut Environment { address, core, rules, host, present, now, out }) {
            self.hosts.remove(&host);
        }
    }

    fn on_message(&mut self, from: Addr, message: Message, now: Time, out: &mut Vec<Action>) {
        let Message { host: Some(host), id, kind } = message else { return };
        let about = (host, id);
        match kind {
            Kind::ServiceRequest if self.present.contains(&host) => {
                self.send(host, (self.amf, id), kind, out);
            }
            Kind::InitialContextSetup => self.set_up(about, out),
            Kind::HandoverRequest { plan, .. } => {
                self.handover_requested(about, (from, from), plan, now, out)
            }
            Kind::NgHandoverRequest { source } => {
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
            Kind::SnStatusTransfer { counts } | Kind::DownlinkStatusTransfer { counts } => {
                self.numbers_known(about, counts, now, out);
            }
            _ => self.with(host, now, out, |known, env| on_message(known, (from, id), &kind, env)),
        }
    }

    /// The AMF has given the host a new connection here.
    fn set_up(&mut self, (host, id): (Addr, Identification), out: &mut Vec<Action>) {
        let known = self.hosts.get(&host);
        if !self.present.contains(&host) || known.is_some_and(|known| id <= known.context.id) {
            return;
        }
        let sender = &mut self.outbox(out);
        if let Some(known) = known {
            known.context.bearer.end(sender);
        }
        let bearer = Bearer::attached(host, id, sender);
        self.retrievals.remove(&host);
        let context = Context::new(id, State::Serving, bearer);
        let mut new = Host::new(context);
        new.numbered = true;
        self.hosts.insert(host, new);
        out.push(Action::AdoptBearer { host, counts: Counts::default() });
        for kind in [Kind::ConnectionSetup, Kind::MeasurementConfiguration] {
            self.send(host, (host, id), kind, out);
        }
    }

    /// `asks` gets the answer: the source, or the AMF.
    fn handover_requested(
        &mut self,
        (host, id): (Addr, Identification),
        (source, asks): (Addr, Addr),
        plan: Plan,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let known = self.hosts.get(&host).map(|known| &known.context);
        if known.is_some_and(|known| id <= known.id) {
            return;
        }
        let others = self.hosts.iter().filter(|&(&other, known)| other != host && known.context.is_active());
        let full = self.params.admission_limit.is_some_and(|limit| others.count() >= limit as usize);
        // A source that still forwards has one context of the host: it cannot be a candidate too.
        let forwards = plan == Plan::Condition
            && known.is_some_and(|known| known.has_handed_over() || known.awaits_success());
        if full || forwards || self.present.contains(&host) {
            let kind = if self.by_core() { Kind::HandoverFailure } else { Kind::HandoverPreparationFailure };
            return self.send(host, (asks, id), kind, out);
        }
        self.retrievals.remove(&host);
        let mut sender = self.outbox(out);
        let context = Context::expecting((host, id), known, (source, plan), now, (&self.rules, &mut sender));
        let due = Some((now + self.params.admission, Due::Admit));
        let dual = plan == Plan::Dual;
        self.hosts.insert(host, Host { due, dual, ..Host::new(context) });
        self.begin_numbers(host, now, out);
        self.on_timer(now, out);
    }

    /// The numbers of a bearer that do not continue begin here.
    fn begin_numbers(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        if !self.rules.continues {
            self.with(host, now, out, |known, env| {
                known.adopt(Counts::default(), env);
                true
            });
        }
    }

    /// The numbers of a host's bearer have come. A host that is still at its source may leave it.
    fn numbers_known(
        &mut self,
        (host, id): (Addr, Identification),
        counts: Counts,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let mut leaves_source = false;
        self.with(host, now, out, |known, env| {
            if id == known.origin && !known.numbered {
                known.adopt(counts, env);
                leaves_source = env.present && std::mem::take(&mut known.dual);
                if matches!(known.context.state, State::Executing { .. }) {
                    // The next target waits for them already.
                    env.out.push(cellular::Action::FreezeBearer { host });
                    env.out.push(cellular::Action::ReportBearer { host });
                }
            }
            true
        });
        if leaves_source {
            self.send(host, (host, id), Kind::SourceRelease, out);
        }
    }

    /// The host is here, or its bearers continue here.
    fn completed(
        &mut self,
        (host, id): (Addr, Identification),
        received: Option<&Received>,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let mut is_known = false;
        self.with(host, now, out, |known, env| {
            let resumes = |resuming: &mut Resuming| resuming.id == id && resuming.reconfigured;
            is_known = id == known.context.id || known.resuming.is_some_and(|resuming| resuming.id == id);
            if known.resuming.take_if(resumes).is_some() {
                env.note(cellular::Phase::HandoverConfirmed);
                known.attach(received, env);
            } else if id == known.context.id && matches!(known.context.state, State::Prepared { .. }) {
                known.attach(received, env);
                known.context.confirmed(env);
            }
            true
        });
        if !is_known {
            self.send(host, (host, id), Kind::NoContext, out);
        }
    }

    /// The AMF has the host elsewhere, or nowhere.
    fn release_commanded(&mut self, (host, id): (Addr, Identification), now: Time, out: &mut Vec<Action>) {
        self.with(host, now, out, |known, env| {
            let context = &known.context;
            let expected = matches!(context.state, State::Prepared { .. });
            let leaves = id >= context.id && (!env.present || expected);
            if let State::Executing { target, .. } = context.state
                && id == context.id
                && !known.marked
            {
                // What still comes is forwarded.
                return known.context.released(target, env);
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
            self.begin_anew(host, now, out);
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

    /// The time of the next step of a handover has come.
    fn next_step(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        let Some(known) = self.hosts.get_mut(&host) else { return };
        let Some((_, due)) = known.due.take_if(|(at, _)| *at <= now) else { return };
        let id = known.context.id;
        match due {
            Due::Admit => {
                let State::Prepared { source, .. } = known.context.state else { return };
                let (to, kind) = match self.by_core() {
                    true => (self.amf, Kind::NgHandoverRequestAcknowledge),
                    false => (source, Kind::HandoverRequestAcknowledge),
                };
                self.send(host, (to, id), kind, out);
            }
            Due::Ready(target) => {
                self.with(host, now, out, |known, env| {
                    known.context.target_is_ready(target, env);
                    true
                });
            }
            Due::Command(target) => {
                let dual = self.params.daps;
                self.send(host, (host, id), Kind::Reconfiguration { target, dual }, out);
            }
        }
    }

    /// The numbers of a host's bearer have not come: it begins anew.
    fn begin_anew(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        let Some(known) = self.hosts.get_mut(&host) else { return };
        if known.numbers_by.take_if(|at| *at <= now).is_none() {
            return;
        }
        known.numbered = true;
        let id = known.context.id;
        let leaves_source = std::mem::take(&mut known.dual);
        let by_core = self.params.procedure == Procedure::N2;
        let mut sender = Outbox { out, amf: self.amf, by_core, dual: self.params.daps };
        known.context.bearer.begin_anew(&mut sender);
        out.push(Action::AdoptBearer { host, counts: Counts::default() });
        out.push(Action::Note { host, phase: Phase::FullyConfigured });
        self.send(host, (host, id), Kind::FullConfiguration, out);
        if leaves_source {
            self.send(host, (host, id), Kind::SourceRelease, out);
        }
    }

    /// The target has acknowledged.
    fn target_is_ready(
        &mut self,
        host: Addr,
        (target, id): (Addr, Identification),
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let (delay, from) = (self.params.command_delay, self.params.forward_from);
        let conditional = self.params.conditional.is_some();
        let mut command_later = false;
        self.with(host, now, out, |known, env| {
            let prepares = matches!(known.context.state, State::Preparing { target: expected, .. } if expected == target);
            if id != known.context.id || !(prepares || conditional) {
                return true;
            }
            if !conditional && delay > roamlab_engine::Duration::ZERO {
                match from {
                    ForwardFrom::Command => {
                        known.due = Some((now + delay, Due::Ready(target)));
                        if let State::Preparing { until, .. } = &mut known.context.state {
                            *until = now + delay + env.rules.timers.reloc_prep;
                        }
                        return true;
                    }
                    ForwardFrom::Acknowledge => {
                        known.due = Some((now + delay, Due::Command(target)));
                        command_later = true;
                    }
                }
            }
            known.marked = false;
            known.context.target_is_ready(target, env);
            true
        });
        if command_later {
            let is_command = |action: &Action| matches!(action, Action::Send { message, .. } if matches!(message.kind, Kind::Reconfiguration { .. }));
            out.retain(|action| !is_command(action));
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
        Kind::MeasurementReport { target } if env.present => context.reported(target, env),
        Kind::HandoverPreparationFailure if current => context.target_refuses(from, env),
        Kind::NgHandoverPreparationFailure { target } if current => context.target_refuses(target, env),
        Kind::HandoverSuccess if current => known.succeed(from, env),
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
        Kind::AddressIndication => {
            if let Some((target, id)) = known.retrieved.take_if(|retrieved| *retrieved == (from, id)) {
                context.bearer.since(context.id);
                context.id = id;
                known.marked = false;
                context.hand_over(target, false, env);
            }
        }
        Kind::PathSwitchRequestAcknowledge if of_path => context.path_switched(env),
        Kind::PathSwitchRequestFailure if of_path => context.path_refused(env),
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
        [due, self.numbers_by, self.status_at].into_iter().flatten().for_each(each);
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
