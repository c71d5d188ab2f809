//! The server that knows the users: it tells anchors whether a host may have a session.

use super::{Action, Input, Kind, Message, Phase};
use crate::Agent;
use crate::signal::send;
use crate::transitions::Role;
use roamlab_engine::Time;
use roamlab_packet::Addr;
use std::collections::BTreeSet;

crate::transitions! {
    AuthenticationServer, "state": Ready "ready";
    "ready" | "authentication-request" | "" | "authentication-answer" | "same";
}

/// The server, which accepts all users but these.
#[derive(Clone, Debug)]
pub struct AuthenticationServer {
    refused: BTreeSet<Addr>,
}

impl AuthenticationServer {
    /// A server that refuses these hosts.
    pub fn new(refused: BTreeSet<Addr>) -> AuthenticationServer {
        AuthenticationServer { refused }
    }
}

impl Role for AuthenticationServer {
    fn state(&self, _: Addr) -> StateName {
        StateName::Ready
    }
}

impl Agent for AuthenticationServer {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, _: Time, out: &mut Vec<Action>) {
        if let Input::Message {
            from,
            message: Message { host: Some(host), id, kind: Kind::AuthenticationRequest },
        } = input
        {
            let accepted = !self.refused.contains(&host);
            send(from, (host, id, Kind::AuthenticationAnswer { accepted }), out);
        }
    }

    fn deadlines(&self, _: &mut dyn FnMut(Time)) {}
}
