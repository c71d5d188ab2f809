//! The mobile host: announces its arrival, has its packets tunnelled, and updates its binding at the anchor.

use super::{
    Action, Input, Kind, Message, Params, Phase, RETRANSMIT, RETRANSMIT_LIMIT, RETRIES, STAY_TIMEOUT,
};
use crate::backoff::Backoff;
use crate::blocks::{Detector, Found, SoftState};
use crate::signal::send;
use crate::transitions::Role;
use crate::{Agent, Identification};
use roamlab_engine::Time;
use roamlab_packet::Addr;

crate::transitions! {
    MobileHost, "state": Away "away", Attaching "attaching", Attached "attached", Predicted "predicted";
    "any" | "link up, link down, ipv6-router-advertisement" | "" | "" | "same";
    "any" | "link up, link down, ipv6-router-advertisement, time" | "its access router is another one; fbu to the last one, unless an fback named the new one" | "una, local-binding-update, fbu, rtsolpr" | "attaching";
    "attaching, attached, predicted" | "link down, time" | "it has no access router any more" | "" | "away";
    "attaching" | "local-binding-acknowledge" | "of the last update" | "" | "attached";
    "away, predicted" | "local-binding-acknowledge" | "of the last update" | "" | "same";
    "attaching, attached" | "prrtadv" | "with another access router" | "fbu" | "predicted";
    "predicted" | "prrtadv" | "with a third access router" | "fbu" | "same";
    "any" | "prrtadv, fback" | "the answer" | "" | "same";
    "attaching" | "time" | "no acknowledge" | "una, local-binding-update" | "same";
    "attached" | "time" | "time to refresh" | "una, local-binding-update" | "attaching";
    "predicted" | "time" | "stay timeout: withdraws" | "fbu" | "attached, attaching";
    "any" | "time" | "no answer to an rtsolpr or fbu, three times" | "una, rtsolpr, fbu" | "same";
}

/// FMIPv6 at a mobile host.
#[derive(Clone, Debug)]
pub struct MobileHost {
    signalling: Signalling,
    detector: Detector,
    /// The last access router that it was at.
    last: Option<Addr>,
    state: State,
}

/// Fields that all messages of the host have.
#[derive(Clone, Debug)]
struct Signalling {
    address: Addr,
    anchor: Addr,
    /// Of the last message that began something.
    id: Identification,
}

/// Where the host is, and what it waits for there.
#[derive(Clone, Debug)]
enum State {
    /// It has no access router.
    Away {
        /// The last update of its binding, if it has no acknowledge.
        unacknowledged: Option<Identification>,
        /// The handover that was predicted when it left.
        expected: Option<Expected>,
    },
    /// It is at an access router.
    Here(Here),
}

/// The host at an access router.
#[derive(Clone, Debug)]
struct Here {
    router: Addr,
    /// The last update of its binding.
    id: Identification,
    binding: Binding,
    /// An rtsolpr that waits for its answer.
    solicitation: Option<Asked>,
    /// An fbu that waits for its answer.
    update: Option<Asked>,
    /// A predicted handover.
    expected: Option<Expected>,
}

/// The binding at the anchor.
#[derive(Copy, Clone, Debug)]
enum Binding {
    /// The update is repeated until it is acknowledged.
    Updating(Backoff),
    /// It is updated again at this time.
    Acknowledged(Time),
}

/// A message that waits for its answer.
#[derive(Clone, Debug)]
struct Asked {
    to: Addr,
    message: Message,
    timer: Backoff,
    left: u32,
}

/// A predicted handover.
#[derive(Clone, Debug)]
struct Expected {
    at: Addr,
    acknowledged: bool,
    /// When the host that has not moved stays.
    until: Time,
}

impl Asked {
    /// Sends the message again if it is time; nothing is left when it has been sent often enough.
    fn on_time(mut self, now: Time, out: &mut Vec<Action>) -> Option<Asked> {
        if self.timer.at <= now {
            self.left = self.left.checked_sub(1)?;
            self.timer = self.timer.again(now);
            out.push(Action::Send { to: self.to, message: self.message.clone() });
        }
        Some(self)
    }
}

impl Signalling {
    fn next_id(&mut self, now: Time) -> Identification {
        self.id = self.id.newer(now);
        self.id
    }

    fn first_timer(&self, now: Time) -> Backoff {
        Backoff::start(now, RETRANSMIT, RETRANSMIT_LIMIT)
    }

    /// Sends what will be repeated until it is answered.
    fn ask(&mut self, to: Addr, kind: Kind, now: Time, out: &mut Vec<Action>) -> Option<Asked> {
        let message = Message::about(self.address, self.next_id(now), kind);
        out.push(Action::Send { to, message: message.clone() });
        Some(Asked { to, message, timer: self.first_timer(now), left: RETRIES })
    }

    /// Tells the access router that the host is there, and the anchor where it is.
    fn announce(&self, router: Addr, id: Identification, out: &mut Vec<Action>) {
        for (to, kind) in [(router, Kind::Una), (self.anchor, Kind::BindingUpdate { care_of: router })] {
            send(to, (self.address, id, kind), out);
        }
    }

    /// A new update of the binding.
    fn bind(&mut self, router: Addr, now: Time, out: &mut Vec<Action>) -> (Identification, Binding) {
        let id = self.next_id(now);
        self.announce(router, id, out);
        (id, Binding::Updating(self.first_timer(now)))
    }
}

impl State {
    fn expected_mut(&mut self) -> &mut Option<Expected> {
        match self {
            State::Away { expected, .. } | State::Here(Here { expected, .. }) => expected,
        }
    }

    /// True if this is the acknowledge of the last update, and the first one. The next update is due at
    /// `refresh`.
    fn acknowledge(&mut self, id: Identification, refresh: Time) -> bool {
        match self {
            State::Away { unacknowledged, .. } => unacknowledged.take_if(|last| *last == id).is_some(),
            State::Here(here) => {
                let is_first = id == here.id && matches!(here.binding, Binding::Updating(_));
                if is_first {
                    here.binding = Binding::Acknowledged(refresh);
                }
                is_first
            }
        }
    }
}

impl Here {
    /// The access router expects the host to go to another one.
    fn predicted(&mut self, to: Addr, now: Time, signalling: &mut Signalling, out: &mut Vec<Action>) {
        if to == self.router || self.expected.as_ref().is_some_and(|expected| expected.at == to) {
            return;
        }
        let until = now + STAY_TIMEOUT;
        self.expected = Some(Expected { at: to, acknowledged: false, until });
        let kind = Kind::FastBindingUpdate { to, from_new_link: false };
        self.update = signalling.ask(self.router, kind, now, out);
    }

    fn on_time(&mut self, now: Time, signalling: &mut Signalling, out: &mut Vec<Action>) {
        if self.expected.take_if(|expected| expected.until <= now).is_some() {
            out.push(Action::Note { host: signalling.address, phase: Phase::Stayed });
            let kind = Kind::FastBindingUpdate { to: self.router, from_new_link: false };
            self.update = signalling.ask(self.router, kind, now, out);
        }
        match self.binding {
            Binding::Acknowledged(refresh) if refresh <= now => {
                (self.id, self.binding) = signalling.bind(self.router, now, out);
            }
            Binding::Updating(timer) if timer.at <= now => {
                self.binding = Binding::Updating(timer.again(now));
                signalling.announce(self.router, self.id, out);
            }
            _ => {}
        }
        let is_repeated = |asked: &Asked| asked.timer.at <= now && asked.left > 0;
        if matches!(self.binding, Binding::Acknowledged(_))
            && self.solicitation.as_ref().is_some_and(is_repeated)
        {
            // It has no answer where the una has been lost, and the update comes with no una any more.
            send(self.router, (signalling.address, self.id, Kind::Una), out);
        }
        self.solicitation = self.solicitation.take().and_then(|asked| asked.on_time(now, out));
        self.update = self.update.take().and_then(|asked| asked.on_time(now, out));
    }
}

impl MobileHost {
    /// A host without an access router.
    pub fn new(address: Addr, anchor: Addr, params: &Params) -> MobileHost {
        MobileHost {
            signalling: Signalling { address, anchor, id: Identification::default() },
            detector: Detector::new(&params.detection),
            last: None,
            state: State::Away { unacknowledged: None, expected: None },
        }
    }

    fn note(&self, phase: Phase, out: &mut Vec<Action>) {
        out.push(Action::Note { host: self.signalling.address, phase });
    }

    fn found(&mut self, found: Option<Found>, now: Time, out: &mut Vec<Action>) {
        match found {
            Some(Found::Moved(router)) => self.arrive(router, now, out),
            Some(Found::Lost) => {
                if let State::Here(here) = &mut self.state {
                    let is_updating = matches!(here.binding, Binding::Updating(_));
                    let unacknowledged = is_updating.then_some(here.id);
                    self.state = State::Away { unacknowledged, expected: here.expected.take() };
                }
            }
            None => {}
        }
    }

    /// The host is at another access router.
    fn arrive(&mut self, router: Addr, now: Time, out: &mut Vec<Action>) {
        self.note(Phase::UnaSent, out);
        let expected = self.state.expected_mut().take();
        let is_prepared = expected.is_some_and(|one| one.acknowledged && one.at == router);
        let (id, binding) = self.signalling.bind(router, now, out);
        let previous = self.last.replace(router).filter(|last| *last != router && !is_prepared);
        let update = previous.and_then(|last| {
            let kind = Kind::FastBindingUpdate { to: router, from_new_link: true };
            self.signalling.ask(last, kind, now, out)
        });
        let solicitation = self.signalling.ask(router, Kind::RtSolPr, now, out);
        self.state = State::Here(Here { router, id, binding, solicitation, update, expected: None });
    }

    fn on_time(&mut self, now: Time, out: &mut Vec<Action>) {
        let found = self.detector.on_time(now);
        self.found(found, now, out);
        if let State::Here(here) = &mut self.state {
            here.on_time(now, &mut self.signalling, out);
        }
    }

    fn heard(&mut self, from: Addr, Message { id, kind, .. }: &Message, now: Time, out: &mut Vec<Action>) {
        match (kind, &mut self.state) {
            (Kind::PrRtAdv { expected: Some(to) }, State::Here(here)) if here.router == from => {
                here.predicted(*to, now, &mut self.signalling, out);
            }
            (Kind::PrRtAdv { expected: None }, State::Here(here)) => {
                here.solicitation.take_if(|asked| asked.message.id == *id);
            }
            (Kind::FastBindingAcknowledge, State::Here(here)) => {
                let is_answer = here.update.take_if(|asked| asked.message.id == *id).is_some();
                here.expected.iter_mut().filter(|_| is_answer).for_each(|one| one.acknowledged = true);
            }
            (Kind::BindingAcknowledge, state) => {
                let refresh = now + SoftState::USUAL.refresh;
                let is_first = state.acknowledge(*id, refresh);
                if is_first {
                    self.note(Phase::Bound, out);
                }
            }
            _ => {}
        }
    }
}

impl Role for MobileHost {
    fn state(&self, _: Addr) -> StateName {
        match &self.state {
            State::Away { .. } => StateName::Away,
            State::Here(Here { expected: Some(_), .. }) => StateName::Predicted,
            State::Here(Here { binding: Binding::Acknowledged(_), .. }) => StateName::Attached,
            State::Here(Here { binding: Binding::Updating(_), .. }) => StateName::Attaching,
        }
    }
}

impl Agent for MobileHost {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Trigger(trigger) => {
                let found = self.detector.on_trigger(&trigger, now);
                self.found(found, now, out);
            }
            Input::Message { from, message: Message { kind: Kind::Advertisement, .. } } => {
                let found = self.detector.on_beacon(from, now);
                self.found(found, now, out);
            }
            Input::Message { from, message } => self.heard(from, &message, now, out),
            Input::Deadline => self.on_time(now, out),
            Input::Data { .. } => {}
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        if let State::Here(here) = &self.state {
            each(match here.binding {
                Binding::Updating(timer) => timer.at,
                Binding::Acknowledged(refresh) => refresh,
            });
            here.solicitation.iter().chain(&here.update).for_each(|asked| each(asked.timer.at));
            here.expected.iter().for_each(|expected| each(expected.until));
        }
        self.detector.deadline().into_iter().for_each(each);
    }
}
