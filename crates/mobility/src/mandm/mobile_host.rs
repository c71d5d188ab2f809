//! The mobile host: detects that it is in another cell, and attaches there.
//!
//! An acknowledge of an earlier attach has no effect.

use super::{Action, Input, Kind, Message, Params, Phase, RETRANSMIT, RETRANSMIT_LIMIT};
use crate::Agent;
use crate::blocks::{Detector, Found, Registration};
use crate::signal::send;
use crate::transitions::Role;
use roamlab_engine::Time;
use roamlab_packet::Addr;

crate::transitions! {
    MobileHost, "state": Away "away", Attaching "attaching", Attached "attached";
    "any" | "link up, link down, access-router-beacon" | "" | "" | "same";
    "away, attaching, attached" | "link up, link down, access-router-beacon, time" | "its base station is another one" | "attach" | "attaching";
    "attaching, attached" | "link down, time" | "it has no base station any more" | "" | "away";
    "attaching" | "time" | "no acknowledge" | "attach" | "same";
    "attaching" | "attach-acknowledge" | "of the last attach" | "" | "attached";
}

/// M&M at a mobile host.
#[derive(Clone, Debug)]
pub struct MobileHost {
    address: Addr,
    detector: Detector,
    /// The last attach.
    attach: Registration,
}

impl MobileHost {
    /// A host that hears no base station.
    pub fn new(address: Addr, params: &Params) -> MobileHost {
        MobileHost {
            address,
            detector: Detector::new(&params.detection),
            attach: Registration::new((RETRANSMIT, RETRANSMIT_LIMIT)),
        }
    }

    fn found(&mut self, found: Option<Found>, now: Time, out: &mut Vec<Action>) {
        match found {
            Some(Found::Moved(base_station)) => {
                self.attach.begin(base_station, now);
                self.send(base_station, out);
                out.push(Action::Note { host: self.address, phase: Phase::AttachSent });
            }
            Some(Found::Lost) => self.attach.give_up(),
            None => {}
        }
    }

    fn send(&self, base_station: Addr, out: &mut Vec<Action>) {
        let kind = Kind::Attach { previous: self.attach.previous(base_station) };
        send(base_station, (self.address, self.attach.id(), kind), out);
    }
}

impl Role for MobileHost {
    fn state(&self, _: Addr) -> StateName {
        match (self.detector.current(), self.attach.is_pending()) {
            (None, _) => StateName::Away,
            (_, true) => StateName::Attaching,
            (_, false) => StateName::Attached,
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
            Input::Message { from, message: Message { kind: Kind::AttachAcknowledge, id, .. } }
                if self.attach.is_acknowledged(id, from) =>
            {
                out.push(Action::Note { host: self.address, phase: Phase::Attached });
            }
            Input::Deadline => {
                let found = self.detector.on_time(now);
                self.found(found, now, out);
                if let Some(base_station) = self.detector.current()
                    && self.attach.repeats(now)
                {
                    self.send(base_station, out);
                }
            }
            _ => {}
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        self.attach.deadline().into_iter().chain(self.detector.deadline()).for_each(each);
    }
}
