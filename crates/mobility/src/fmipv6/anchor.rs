//! The anchor: the gateway, which tunnels a host's packets to the access router that the host names.

use super::{Action, Input, Kind, Message, Phase};
use crate::blocks::SoftState;
use crate::signal::send;
use crate::transitions::Role;
use crate::{Agent, Identification, Via};
use roamlab_engine::Time;
use roamlab_packet::Addr;
use std::collections::BTreeMap;

crate::transitions! {
    Anchor, "state of a host": None "none", Bound "bound";
    "any" | "local-binding-update" | "not older" | "tunnel, local-binding-acknowledge" | "bound";
    "bound" | "time" | "lifetime over" | "no route" | "none";
}

/// FMIPv6 at the gateway.
#[derive(Clone, Debug, Default)]
pub struct Anchor {
    bindings: BTreeMap<Addr, Binding>,
}

#[derive(Clone, Debug)]
struct Binding {
    care_of: Addr,
    id: Identification,
    until: Time,
}

impl Role for Anchor {
    fn state(&self, host: Addr) -> StateName {
        if self.bindings.contains_key(&host) { StateName::Bound } else { StateName::None }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.bindings.keys().copied()
    }
}

impl Agent for Anchor {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Message {
                from,
                message: Message { host: Some(host), id, kind: Kind::BindingUpdate { care_of } },
            } if from == host => {
                let known = self.bindings.get(&host);
                if known.is_some_and(|known| id < known.id) {
                    return;
                }
                if known.is_none_or(|known| known.care_of != care_of) {
                    out.push(Action::SetRoute { host, from: None, via: Via::Tunnel(care_of), watch: false });
                    out.push(Action::Note { host, phase: Phase::AnchorSwitched });
                }
                self.bindings.insert(host, Binding { care_of, id, until: now + SoftState::USUAL.lifetime });
                send(host, (host, id, Kind::BindingAcknowledge), out);
            }
            Input::Deadline => self.bindings.retain(|&host, binding| {
                if binding.until <= now {
                    out.push(Action::ClearRoute { host, from: None });
                }
                binding.until > now
            }),
            _ => {}
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        self.bindings.values().map(|binding| binding.until).for_each(each);
    }
}
