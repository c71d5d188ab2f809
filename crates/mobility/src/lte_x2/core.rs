//! The core network at one node.

use super::{Action, Input, Message, Mme, Params, Phase, ServingGateway};
use crate::Agent;
use crate::transitions::Machine;
use roamlab_engine::Time;
use roamlab_packet::Addr;

/// The serving gateway and the MME at one node.
#[derive(Clone, Debug)]
pub struct Core {
    gateway: ServingGateway,
    mme: Mme,
}

impl Core {
    /// Both at the node `address`.
    pub fn new(address: Addr, params: &Params) -> Core {
        Core { gateway: ServingGateway::new(params), mme: Mme::new(address, params) }
    }
}

impl Agent for Core {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        self.gateway.step(input.clone(), now, out);
        self.mme.step(input, now, out);
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        self.mme.deadlines(each);
    }
}

/// Both run by their own tables.
impl Machine for Core {
    fn step(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        self.on(input, now, out);
    }

    #[cfg(test)]
    fn word(&self, host: Addr) -> &'static str {
        self.mme.word(host)
    }

    #[cfg(test)]
    fn table(&self) -> Option<crate::lab::TableOf> {
        None
    }
}
