//! The gateway: the near end of the tunnels.

use super::{Action, Input, Kind, Message, Phase};
use crate::signal::send;
use crate::transitions::Role;
use crate::{Agent, Identification, Via};
use roamlab_engine::Time;
use roamlab_packet::Addr;
use std::collections::BTreeMap;

crate::transitions! {
    Gateway, "state of a host": Unknown "unknown", Bound "bound";
    "any" | "location-update" | "newer" | "tunnel, location-acknowledge" | "bound";
}

/// The protocol at the gateway.
#[derive(Clone, Debug, Default)]
pub struct Gateway {
    /// The newest update of each host.
    known: BTreeMap<Addr, Identification>,
}

impl Role for Gateway {
    fn state(&self, host: Addr) -> StateName {
        if self.known.contains_key(&host) { StateName::Bound } else { StateName::Unknown }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.known.keys().copied()
    }
}

impl Agent for Gateway {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, _: Time, out: &mut Vec<Action>) {
        let Input::Message { from, message } = input else { return };
        let Message { host: Some(host), id, kind: Kind::Update { base_station } } = message else { return };
        if self.known.get(&host).is_some_and(|known| id <= *known) {
            return;
        }
        self.known.insert(host, id);
        out.push(Action::SetRoute { host, from: None, via: Via::Tunnel(base_station), watch: false });
        out.push(Action::Note { host, phase: Phase::PathSwitched });
        send(from, (host, id, Kind::Acknowledge), out);
    }

    fn deadlines(&self, _: &mut dyn FnMut(Time)) {}
}
