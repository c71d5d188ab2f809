//! The mobile host: registers in each cell it comes to, naming where it was, and renews its registration.
//!
//! | state | input | does | next |
//! | --- | --- | --- | --- |
//! | away, registering, registered | its base station is another one | registration | registering |
//! | registering | no acknowledge in time | registration again | registering |
//! | registering | acknowledge of the last registration | | registered |
//! | registered | time to renew | registration | registering |
//! | registering, registered | it has no base station any more | | away |
//!
//! An acknowledge of an earlier registration changes nothing.

use super::{Action, Input, Kind, Message, Params, Phase};
use crate::backoff::Backoff;
use crate::blocks::{Detector, Found};
use crate::{Agent, Identification};
use roamlab_engine::Time;
use roamlab_packet::Addr;

/// HAWAII at a mobile host.
#[derive(Clone, Debug)]
pub struct MobileHost {
    address: Addr,
    detector: Detector,
    params: Params,
    /// Of the last registration.
    id: Identification,
    /// When the registration is repeated; `None`: it has been acknowledged, or there is nobody to register with.
    again: Option<Backoff>,
    /// When it is renewed.
    renew: Option<Time>,
    /// Base stations that may have a way to it: the last one that acknowledged, and those tried since.
    visited: Vec<Addr>,
}

impl MobileHost {
    /// A host that hears nobody.
    pub fn new(address: Addr, params: &Params) -> MobileHost {
        MobileHost {
            address,
            detector: Detector::new(&params.detection),
            params: params.clone(),
            id: Identification::default(),
            again: None,
            renew: None,
            visited: Vec::new(),
        }
    }

    /// The state in one word.
    pub fn state(&self, _: Addr) -> &'static str {
        match (self.detector.current(), self.again) {
            (None, _) => "away",
            (_, Some(_)) => "registering",
            (_, None) => "registered",
        }
    }

    fn found(&mut self, found: Option<Found>, now: Time, out: &mut Vec<Action>) {
        match found {
            Some(Found::Moved(base_station)) => {
                self.register(base_station, now, out);
                self.visited.retain(|visited| *visited != base_station);
                self.visited.push(base_station);
                out.push(Action::Note { host: self.address, phase: Phase::RegistrationSent });
            }
            Some(Found::Lost) => (self.again, self.renew) = (None, None),
            None => {}
        }
    }

    /// A new registration.
    fn register(&mut self, base_station: Addr, now: Time, out: &mut Vec<Action>) {
        self.id = self.id.newer(now);
        self.again = Some(Backoff::start(now, self.params.retransmit, self.params.retransmit_limit));
        self.renew = None;
        self.send(base_station, out);
    }

    fn send(&self, base_station: Addr, out: &mut Vec<Action>) {
        let previous = self.visited.iter().copied().filter(|visited| *visited != base_station).collect();
        let kind = Kind::Registration { previous };
        out.push(Action::Send {
            to: base_station,
            message: Message { host: Some(self.address), id: self.id, kind },
        });
    }

    fn on_time(&mut self, now: Time, out: &mut Vec<Action>) {
        let found = self.detector.on_time(now);
        self.found(found, now, out);
        let Some(base_station) = self.detector.current() else { return };
        if let Some(again) = self.again.filter(|again| again.at <= now) {
            self.again = Some(again.again(now));
            self.send(base_station, out);
        } else if self.renew.is_some_and(|renew| renew <= now) {
            self.register(base_station, now, out);
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
                if id == self.id && self.again.take().is_some() =>
            {
                self.visited = vec![from];
                self.renew = Some(now + self.params.entries.refresh);
                out.push(Action::Note { host: self.address, phase: Phase::Registered });
            }
            Input::Deadline => self.on_time(now, out),
            _ => {}
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        let again = self.again.map(|again| again.at);
        [again, self.renew, self.detector.deadline()].into_iter().flatten().for_each(each);
    }
}
