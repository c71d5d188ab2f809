//! The anchor: the gateway, which tunnels a host's packets to the access router that the host names.
//!
//! | state of a host | input | does | next |
//! | --- | --- | --- | --- |
//! | none | local binding update | tunnel to its access router, acknowledge | bound |
//! | bound | local binding update, not older than the last | the same | bound |
//! | bound | lifetime over | no route | none |

use super::{Action, Input, Kind, Message, Params, Phase};
use crate::signal::send;
use crate::{Agent, Identification, Via};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use std::collections::BTreeMap;

/// FMIPv6 at the gateway.
#[derive(Clone, Debug)]
pub struct Anchor {
    lifetime: Duration,
    bindings: BTreeMap<Addr, Binding>,
}

#[derive(Clone, Debug)]
struct Binding {
    care_of: Addr,
    id: Identification,
    until: Time,
}

impl Anchor {
    /// An anchor without bindings.
    pub fn new(params: &Params) -> Anchor {
        Anchor { lifetime: params.binding.lifetime, bindings: BTreeMap::new() }
    }

    /// The state for `host` in one word.
    pub fn state(&self, host: Addr) -> &'static str {
        if self.bindings.contains_key(&host) { "bound" } else { "none" }
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
                self.bindings.insert(host, Binding { care_of, id, until: now + self.lifetime });
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
