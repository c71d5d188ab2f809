//! A base station: hosts that are here get their packets over the air.
//!
//! | state of a host | input | does | next |
//! | --- | --- | --- | --- |
//! | absent | host arrived | route over the air | here |
//! | here | host gone | no route | absent |

use super::{Action, Input, Message, Phase};
use crate::{Agent, L2Trigger, Via};
use roamlab_engine::Time;
use roamlab_packet::Addr;
use std::collections::BTreeSet;

/// The protocol at a base station.
#[derive(Clone, Debug, Default)]
pub struct BaseStation {
    here: BTreeSet<Addr>,
}

impl BaseStation {
    /// The state of `host` in one word.
    pub fn state(&self, host: Addr) -> &'static str {
        if self.here.contains(&host) { "here" } else { "absent" }
    }
}

impl Agent for BaseStation {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, _: Time, out: &mut Vec<Action>) {
        match input {
            Input::Trigger(L2Trigger::HostArrived { host }) => {
                self.here.insert(host);
                out.push(Action::SetRoute { host, from: None, via: Via::Air, watch: false });
            }
            Input::Trigger(L2Trigger::HostGone { host }) if self.here.remove(&host) => {
                out.push(Action::ClearRoute { host, from: None });
            }
            _ => {}
        }
    }

    fn deadlines(&self, _: &mut dyn FnMut(Time)) {}
}
