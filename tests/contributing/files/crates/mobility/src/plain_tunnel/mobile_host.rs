//! The mobile host: reports its place until the gateway acknowledges it.

use super::{Action, Input, Kind, Message, Params, Phase};
use crate::signal::send;
use crate::transitions::Role;
use crate::{Agent, Identification, L2Trigger};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;

crate::transitions! {
    MobileHost, "state": Away "away", Asking "asking", Settled "settled";
    "any" | "link up" | "" | "location-update" | "asking";
    "asking" | "time" | "no acknowledge" | "location-update" | "same";
    "asking" | "location-acknowledge" | "of the last update" | "" | "settled";
    "asking, settled" | "link down" | "of its cell" | "" | "away";
}

/// The protocol at a mobile host.
#[derive(Clone, Debug)]
pub struct MobileHost {
    address: Addr,
    gateway: Addr,
    retransmit: Duration,
    base_station: Option<Addr>,
    id: Identification,
    /// When the update is sent again; `None`: it has been acknowledged.
    again: Option<Time>,
}

impl MobileHost {
    /// A host without a link.
    pub fn new(address: Addr, gateway: Addr, params: &Params) -> MobileHost {
        let id = Identification::default();
        MobileHost { address, gateway, retransmit: params.retransmit, base_station: None, id, again: None }
    }

    fn update(&mut self, now: Time, out: &mut Vec<Action>) {
        let Some(base_station) = self.base_station else { return };
        self.id = self.id.newer(now);
        self.again = Some(now + self.retransmit);
        send(self.gateway, (self.address, self.id, Kind::Update { base_station }), out);
    }
}

impl Role for MobileHost {
    fn state(&self, _: Addr) -> StateName {
        match (self.base_station, self.again) {
            (None, _) => StateName::Away,
            (_, Some(_)) => StateName::Asking,
            (_, None) => StateName::Settled,
        }
    }
}

impl Agent for MobileHost {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        let host = self.address;
        match input {
            Input::Trigger(L2Trigger::LinkUp { base_station }) => {
                self.base_station = Some(base_station);
                self.update(now, out);
                out.push(Action::Note { host, phase: Phase::UpdateSent });
            }
            Input::Trigger(L2Trigger::LinkDown { base_station })
                if self.base_station == Some(base_station) =>
            {
                (self.base_station, self.again) = (None, None);
            }
            Input::Message { message: Message { id, kind: Kind::Acknowledge, .. }, .. }
                if id == self.id && self.again.take().is_some() =>
            {
                out.push(Action::Note { host, phase: Phase::Completed });
            }
            Input::Deadline if self.again.is_some_and(|again| again <= now) => self.update(now, out),
            _ => {}
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        self.again.into_iter().for_each(each);
    }
}
