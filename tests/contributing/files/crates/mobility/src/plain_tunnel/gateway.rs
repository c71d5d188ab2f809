//! The gateway: the near end of the tunnels.
//!
//! | state of a host | input | does | next |
//! | --- | --- | --- | --- |
//! | unknown, bound | update, newer | tunnel to its base station, acknowledge | bound |
//! | bound | update, not newer | | bound |

use super::{Action, Input, Message, Phase};
use crate::{Agent, Identification, Via};
use roamlab_engine::Time;
use roamlab_packet::Addr;
use std::collections::BTreeMap;

/// The protocol at the gateway.
#[derive(Clone, Debug, Default)]
pub struct Gateway {
    /// The newest update of each host.
    known: BTreeMap<Addr, Identification>,
}

impl Gateway {
    /// The state of `host` in one word.
    pub fn state(&self, host: Addr) -> &'static str {
        if self.known.contains_key(&host) { "bound" } else { "unknown" }
    }
}

impl Agent for Gateway {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, _: Time, out: &mut Vec<Action>) {
        let Input::Message { from, message: Message::Update { host, base_station, id } } = input else {
            return;
        };
        if self.known.get(&host).is_some_and(|known| id <= *known) {
            return;
        }
        self.known.insert(host, id);
        out.push(Action::SetRoute { host, from: None, via: Via::Tunnel(base_station), watch: false });
        out.push(Action::Note { host, phase: Phase::PathSwitched });
        out.push(Action::Send { to: from, message: Message::Acknowledge { host, id } });
    }

    fn deadlines(&self, _: &mut dyn FnMut(Time)) {}
}
