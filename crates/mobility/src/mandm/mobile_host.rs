//! The mobile host: learns that it is in another cell, and attaches there.
//!
//! | state | input | does | next |
//! | --- | --- | --- | --- |
//! | away, attaching, attached | its base station is another one | attach | attaching |
//! | attaching | no acknowledge in time | attach again | attaching |
//! | attaching | acknowledge of the last attach | | attached |
//! | attaching, attached | it has no base station any more | | away |
//!
//! An acknowledge of an earlier attach changes nothing.

use super::{Action, Input, Kind, Message, Params, Phase};
use crate::backoff::Backoff;
use crate::blocks::{Detector, Found};
use crate::{Agent, Identification};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;

/// M&M at a mobile host.
#[derive(Clone, Debug)]
pub struct MobileHost {
    address: Addr,
    detector: Detector,
    retransmit: (Duration, Duration),
    /// Of the last attach.
    id: Identification,
    /// When the attach is repeated; `None`: it has been acknowledged, or there is nobody to attach to.
    again: Option<Backoff>,
    /// Base stations that may have a branch for it: the last one that acknowledged, and those tried since.
    visited: Vec<Addr>,
}

impl MobileHost {
    /// A host that hears nobody.
    pub fn new(address: Addr, params: &Params) -> MobileHost {
        MobileHost {
            address,
            detector: Detector::new(&params.detection),
            retransmit: (params.retransmit, params.retransmit_limit),
            id: Identification::default(),
            again: None,
            visited: Vec::new(),
        }
    }

    /// The state in one word.
    pub fn state(&self, _: Addr) -> &'static str {
        match (self.detector.current(), self.again) {
            (None, _) => "away",
            (_, Some(_)) => "attaching",
            (_, None) => "attached",
        }
    }

    fn found(&mut self, found: Option<Found>, now: Time, out: &mut Vec<Action>) {
        match found {
            Some(Found::Moved(base_station)) => {
                self.id = self.id.newer(now);
                self.again = Some(Backoff::start(now, self.retransmit.0, self.retransmit.1));
                self.attach(base_station, out);
                self.visited.retain(|visited| *visited != base_station);
                self.visited.push(base_station);
                out.push(Action::Note { host: self.address, phase: Phase::AttachSent });
            }
            Some(Found::Lost) => self.again = None,
            None => {}
        }
    }

    fn attach(&self, base_station: Addr, out: &mut Vec<Action>) {
        let previous = self.visited.iter().copied().filter(|visited| *visited != base_station).collect();
        let message = Message { host: Some(self.address), id: self.id, kind: Kind::Attach { previous } };
        out.push(Action::Send { to: base_station, message });
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
                if id == self.id && self.again.take().is_some() =>
            {
                self.visited = vec![from];
                out.push(Action::Note { host: self.address, phase: Phase::Attached });
            }
            Input::Deadline => {
                let found = self.detector.on_time(now);
                self.found(found, now, out);
                if let Some((again, base_station)) = self.again.zip(self.detector.current())
                    && again.at <= now
                {
                    self.again = Some(again.again(now));
                    self.attach(base_station, out);
                }
            }
            _ => {}
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        self.again.map(|again| again.at).into_iter().chain(self.detector.deadline()).for_each(each);
    }
}
