//! The home agent of Mobile IP above BCMP: it tunnels a host's packets to the host's anchor.
//!
//! It is the home agent of [Mobile IP](crate::mobile_ip), without route optimisation.

use super::params::Global;
use super::{Action, Input, Kind, Message, Phase};
use crate::transitions::Role;
use crate::{Agent, mobile_ip};
use roamlab_engine::Time;
use roamlab_packet::Addr;

crate::transitions! {
    HomeAgent, "state of a host": None "none", Bound "bound";
    "any" | "global-registration-request" | "newer" | "tunnel, global-registration-reply" | "bound";
    "bound" | "global-registration-request" | "not newer" | "global-registration-reply" | "same";
    "bound" | "time" | "lifetime over" | "no route" | "none";
}

/// Mobile IP's home agent.
#[derive(Clone, Debug)]
pub struct HomeAgent(mobile_ip::HomeAgent);

impl HomeAgent {
    /// A home agent without bindings.
    pub fn new(address: Addr, global: &Global) -> HomeAgent {
        let params = mobile_ip::Params {
            route_optimisation: false,
            registration_lifetime: global.lifetime,
            ..mobile_ip::Params::default()
        };
        HomeAgent(mobile_ip::HomeAgent::new(address, &params))
    }
}

impl Role for HomeAgent {
    fn state(&self, host: Addr) -> StateName {
        match self.0.hosts().any(|known| known == host) {
            true => StateName::Bound,
            false => StateName::None,
        }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.0.hosts()
    }
}

impl Agent for HomeAgent {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        let own = |Message { host, id, kind }| match kind {
            Kind::GlobalRequest { request } => Some(mobile_ip::Message { host, id, kind: request }),
            _ => None,
        };
        let Some(input) = input.try_map(own) else { return };
        let mut actions = Vec::new();
        self.0.on(input, now, &mut actions);
        let message = |message: mobile_ip::Message| message.map(|reply| Kind::GlobalReply { reply });
        // Without route optimisation this is the only phase that it notes.
        out.extend(actions.into_iter().map(|action| action.map(message, |_| Phase::HomeAgentRegistered)));
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        self.0.deadlines(each);
    }
}
