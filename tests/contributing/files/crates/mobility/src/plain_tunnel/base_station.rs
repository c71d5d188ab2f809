//! A base station: hosts that are here get their packets over the air.

use super::{Action, Input, Kind, Message, Phase};
use crate::transitions::Role;
use crate::{Agent, L2Trigger, Via};
use roamlab_engine::Time;
use roamlab_packet::Addr;
use std::collections::BTreeSet;

crate::transitions! {
    BaseStation, "state of a host": Absent "absent", Here "here";
    "any" | "host arrived" | "" | "route" | "here";
    "here" | "host gone" | "" | "no route" | "absent";
}

/// The protocol at a base station.
#[derive(Clone, Debug, Default)]
pub struct BaseStation {
    here: BTreeSet<Addr>,
}

impl Role for BaseStation {
    fn state(&self, host: Addr) -> StateName {
        if self.here.contains(&host) { StateName::Here } else { StateName::Absent }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.here.iter().copied()
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
