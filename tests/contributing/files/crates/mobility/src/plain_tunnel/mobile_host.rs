//! The mobile host: reports its place until the gateway acknowledges it.
//!
//! | state of a host | input | does | next |
//! | --- | --- | --- | --- |
//! | away, asking, settled | link up | update | asking |
//! | asking | no acknowledge in time | update again | asking |
//! | asking | acknowledge of the last update | | settled |
//! | away, settled | acknowledge | | same |
//! | asking, settled | link down | | away |

use super::{Action, Input, Message, Params, Phase};
use crate::{Agent, Identification, L2Trigger};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;

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

    /// The state in one word.
    pub fn state(&self, _: Addr) -> &'static str {
        match (self.base_station, self.again) {
            (None, _) => "away",
            (_, Some(_)) => "asking",
            (_, None) => "settled",
        }
    }

    fn update(&mut self, now: Time, out: &mut Vec<Action>) {
        let Some(base_station) = self.base_station else { return };
        self.id = self.id.newer(now);
        self.again = Some(now + self.retransmit);
        let message = Message::Update { host: self.address, base_station, id: self.id };
        out.push(Action::Send { to: self.gateway, message });
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
            Input::Message { message: Message::Acknowledge { id, .. }, .. }
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
