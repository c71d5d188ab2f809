//! The mobile host: registers in each cell that it enters, names its earlier base stations, and renews its
//! registration.
//!
//! An acknowledge of an earlier registration has no effect.

use super::{Action, Input, Kind, Message, Params, Phase, RETRANSMIT_LIMIT};
use crate::Agent;
use crate::blocks::{Detector, Found, Registration};
use crate::signal::send;
use crate::transitions::Role;
use roamlab_engine::Time;
use roamlab_packet::Addr;

crate::transitions! {
    MobileHost, "state": Away "away", Registering "registering", Registered "registered";
    "any" | "link up, link down, foreign-agent-beacon" | "" | "" | "same";
    "away, registering, registered" | "link up, link down, foreign-agent-beacon, time" | "its base station is another one" | "registration" | "registering";
    "registering, registered" | "link down, time" | "it has no base station any more" | "" | "away";
    "registering" | "time" | "no acknowledge" | "registration" | "same";
    "registering" | "registration-acknowledge" | "of the last registration" | "" | "registered";
    "registered" | "time" | "time to renew" | "registration" | "registering";
}

/// HAWAII at a mobile host.
#[derive(Clone, Debug)]
pub struct MobileHost {
    address: Addr,
    detector: Detector,
    params: Params,
    registration: Registration,
    /// When it is renewed.
    renew: Option<Time>,
}

impl MobileHost {
    /// A host that hears no base station.
    pub fn new(address: Addr, params: &Params) -> MobileHost {
        MobileHost {
            address,
            detector: Detector::new(&params.detection),
            params: params.clone(),
            registration: Registration::new((params.retransmit, RETRANSMIT_LIMIT)),
            renew: None,
        }
    }

    fn found(&mut self, found: Option<Found>, now: Time, out: &mut Vec<Action>) {
        match found {
            Some(Found::Moved(base_station)) => {
                self.register(base_station, now, out);
                out.push(Action::Note { host: self.address, phase: Phase::RegistrationSent });
            }
            Some(Found::Lost) => {
                self.registration.give_up();
                self.renew = None;
            }
            None => {}
        }
    }

    /// A new registration.
    fn register(&mut self, base_station: Addr, now: Time, out: &mut Vec<Action>) {
        self.registration.begin(base_station, now);
        self.renew = None;
        self.send(base_station, out);
    }

    fn send(&self, base_station: Addr, out: &mut Vec<Action>) {
        let kind = Kind::Registration { previous: self.registration.previous(base_station) };
        send(base_station, (self.address, self.registration.id(), kind), out);
    }

    fn on_time(&mut self, now: Time, out: &mut Vec<Action>) {
        let found = self.detector.on_time(now);
        self.found(found, now, out);
        let Some(base_station) = self.detector.current() else { return };
        if self.registration.repeats(now) {
            self.send(base_station, out);
        } else if self.renew.is_some_and(|renew| renew <= now) {
            self.register(base_station, now, out);
        }
    }
}

impl Role for MobileHost {
    fn state(&self, _: Addr) -> StateName {
        match (self.detector.current(), self.registration.is_pending()) {
            (None, _) => StateName::Away,
            (_, true) => StateName::Registering,
            (_, false) => StateName::Registered,
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
            Input::Message { from, message: Message { kind: Kind::Beacon, .. } } => {
                let found = self.detector.on_beacon(from, now);
                self.found(found, now, out);
            }
            Input::Message { from, message: Message { kind: Kind::RegistrationAcknowledge, id, .. } }
                if self.registration.is_acknowledged(id, from) =>
            {
                self.renew = Some(now + self.params.entries.refresh);
                out.push(Action::Note { host: self.address, phase: Phase::Registered });
            }
            Input::Deadline => self.on_time(now, out),
            _ => {}
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        [self.registration.deadline(), self.renew, self.detector.deadline()]
            .into_iter()
            .flatten()
            .for_each(each);
    }
}
