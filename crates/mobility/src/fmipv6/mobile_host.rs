//! The mobile host: announces its arrival, has its packets tunnelled, and updates its binding at the anchor.

use super::{Action, Input, Kind, Message, Params, Phase};
use crate::backoff::Backoff;
use crate::blocks::{Detector, Found};
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
    address: Addr,
    anchor: Addr,
    params: Params,
    detector: Detector,
    /// Of the last message that began something.
    id: Identification,
    /// The last access router that it was at.
    last: Option<Addr>,
    binding: Binding,
    solicitation: Option<Asked>,
    update: Option<Asked>,
    expected: Option<Expected>,
}

/// The binding at the anchor.
#[derive(Clone, Debug, Default)]
struct Binding {
    id: Identification,
    acknowledged: bool,
    /// When the update is repeated, or refreshed.
    timer: Option<Backoff>,
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

impl MobileHost {
    /// A host that hears nobody.
    pub fn new(address: Addr, anchor: Addr, params: &Params) -> MobileHost {
        MobileHost {
            address,
            anchor,
            params: params.clone(),
            detector: Detector::new(&params.detection),
            id: Identification::default(),
            last: None,
            binding: Binding::default(),
            solicitation: None,
            update: None,
            expected: None,
        }
    }

    fn first_timer(&self, now: Time) -> Backoff {
        Backoff::start(now, self.params.retransmit, self.params.retransmit_limit)
    }

    /// Sends what will be repeated until it is answered.
    fn ask(&mut self, to: Addr, kind: Kind, now: Time, out: &mut Vec<Action>) -> Option<Asked> {
        self.id = self.id.newer(now);
        let message = Message::about(self.address, self.id, kind);
        out.push(Action::Send { to, message: message.clone() });
        Some(Asked { to, message, timer: self.first_timer(now), left: self.params.retries })
    }

    fn found(&mut self, found: Option<Found>, now: Time, out: &mut Vec<Action>) {
        match found {
            Some(Found::Moved(router)) => {
                out.push(Action::Note { host: self.address, phase: Phase::UnaSent });
                let expected = self.expected.take();
                let prepared = expected.is_some_and(|one| one.acknowledged && one.at == router);
                self.bind(now, out);
                self.update = None;
                if let Some(last) = self.last.filter(|last| *last != router && !prepared) {
                    let kind = Kind::FastBindingUpdate { to: router, from_new_link: true };
                    self.update = self.ask(last, kind, now, out);
                }
                self.last = Some(router);
                self.solicitation = self.ask(router, Kind::RtSolPr, now, out);
            }
            Some(Found::Lost) => {
                // An fback may still say that the next access router is prepared.
                (self.binding.timer, self.solicitation, self.update) = (None, None, None);
            }
            None => {}
        }
    }

    /// A new update of the binding.
    fn bind(&mut self, now: Time, out: &mut Vec<Action>) {
        self.id = self.id.newer(now);
        self.binding = Binding { id: self.id, acknowledged: false, timer: Some(self.first_timer(now)) };
        self.announce(out);
    }

    fn announce(&self, out: &mut Vec<Action>) {
        let Some(care_of) = self.detector.current() else { return };
        for (to, kind) in [(care_of, Kind::Una), (self.anchor, Kind::BindingUpdate { care_of })] {
            send(to, (self.address, self.binding.id, kind), out);
        }
    }

    /// The access router expects the host to go to another one.
    fn predicted(&mut self, from: Addr, to: Addr, now: Time, out: &mut Vec<Action>) {
        let known = self.expected.as_ref().is_some_and(|expected| expected.at == to);
        if self.detector.current() != Some(from) || from == to || known {
            return;
        }
        self.expected = Some(Expected { at: to, acknowledged: false, until: now + self.params.stay_timeout });
        self.update = self.ask(from, Kind::FastBindingUpdate { to, from_new_link: false }, now, out);
    }

    fn on_time(&mut self, now: Time, out: &mut Vec<Action>) {
        let found = self.detector.on_time(now);
        self.found(found, now, out);
        if let Some(router) = self.detector.current()
            && self.expected.take_if(|expected| expected.until <= now).is_some()
        {
            out.push(Action::Note { host: self.address, phase: Phase::Stayed });
            let kind = Kind::FastBindingUpdate { to: router, from_new_link: false };
            self.update = self.ask(router, kind, now, out);
        }
        if let Some(timer) = self.binding.timer.filter(|timer| timer.at <= now) {
            if self.binding.acknowledged {
                self.bind(now, out);
            } else {
                self.binding.timer = Some(timer.again(now));
                self.announce(out);
            }
        }
        let asked = self.solicitation.as_ref().filter(|asked| asked.timer.at <= now && asked.left > 0);
        if let Some(asked) = asked.filter(|_| self.binding.acknowledged) {
            // It has no answer where the una has been lost, and the update comes with no una any more.
            send(asked.to, (self.address, self.binding.id, Kind::Una), out);
        }
        self.solicitation = self.solicitation.take().and_then(|asked| asked.on_time(now, out));
        self.update = self.update.take().and_then(|asked| asked.on_time(now, out));
    }

    fn heard(&mut self, from: Addr, Message { id, kind, .. }: &Message, now: Time, out: &mut Vec<Action>) {
        match *kind {
            Kind::PrRtAdv { expected: Some(to) } => self.predicted(from, to, now, out),
            Kind::PrRtAdv { expected: None } => {
                self.solicitation.take_if(|asked| asked.message.id == *id);
            }
            Kind::FastBindingAcknowledge
                if self.update.take_if(|asked| asked.message.id == *id).is_some() =>
            {
                if let Some(expected) = &mut self.expected {
                    expected.acknowledged = true;
                }
            }
            Kind::BindingAcknowledge if *id == self.binding.id && !self.binding.acknowledged => {
                self.binding.acknowledged = true;
                if let Some(timer) = &mut self.binding.timer {
                    timer.at = now + self.params.binding.refresh;
                }
                out.push(Action::Note { host: self.address, phase: Phase::Bound });
            }
            _ => {}
        }
    }
}

impl Role for MobileHost {
    fn state(&self, _: Addr) -> StateName {
        match (self.detector.current(), &self.expected, self.binding.acknowledged) {
            (None, _, _) => StateName::Away,
            (_, Some(_), _) => StateName::Predicted,
            (_, None, true) => StateName::Attached,
            (_, None, false) => StateName::Attaching,
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
        let asked = self.solicitation.iter().chain(&self.update).map(|asked| asked.timer.at);
        let here = self.detector.current().is_some();
        let stays = self.expected.iter().filter(|_| here).map(|expected| expected.until);
        let binding = self.binding.timer.map(|timer| timer.at);
        asked.chain(stays).chain(binding).chain(self.detector.deadline()).for_each(each);
    }
}
