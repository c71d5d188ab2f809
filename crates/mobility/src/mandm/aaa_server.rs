//! The server that knows the users: it tells base stations whether a host may attach.

use super::{Action, Input, Kind, Message, Phase};
use crate::Agent;
use crate::signal::send;
use crate::transitions::Role;
use roamlab_engine::Time;
use roamlab_packet::Addr;
use std::collections::BTreeSet;

crate::transitions! {
    AaaServer, "state": Ready "ready";
    "ready" | "aaa-request" | "" | "aaa-answer" | "same";
}

/// The server, which accepts all users but these.
#[derive(Clone, Debug)]
pub struct AaaServer {
    refused: BTreeSet<Addr>,
}

impl AaaServer {
    /// A server that refuses these hosts.
    pub fn new(refused: BTreeSet<Addr>) -> AaaServer {
        AaaServer { refused }
    }
}

impl Role for AaaServer {
    fn state(&self, _: Addr) -> StateName {
        StateName::Ready
    }
}

impl Agent for AaaServer {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, _: Time, out: &mut Vec<Action>) {
        if let Input::Message { from, message: Message { host: Some(host), id, kind: Kind::AaaRequest } } =
            input
        {
            let accepted = !self.refused.contains(&host);
            send(from, (host, id, Kind::AaaAnswer { accepted }), out);
        }
    }

    fn deadlines(&self, _: &mut dyn FnMut(Time)) {}
}
