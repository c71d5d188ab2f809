//! The mobility management entity: requests path switches, one after the other for each host, by a block of
//! [`cellular`](crate::cellular).

use super::{Action, Input, Kind, Message, Params, Phase};
use crate::Agent;
use crate::cellular::{Asks, PathSwitching, Request, Rules};
use crate::transitions::Role;
use roamlab_engine::Time;
use roamlab_packet::Addr;

crate::transitions! {
    Mme, "state of a host": Unknown "unknown", Idle "idle", Modifying "modifying";
    "unknown" | "path-switch-request" | "" | "path-switch-request-failure" | "same";
    "unknown, idle" | "service-request" | "newer" | "modify-bearer-request" | "modifying";
    "idle" | "path-switch-request" | "newer" | "modify-bearer-request" | "modifying";
    "idle" | "path-switch-request" | "of the handover that is done" | "path-switch-request-ack" | "same";
    "idle, modifying" | "path-switch-request" | "older" | "path-switch-request-failure" | "same";
    "modifying" | "path-switch-request, service-request" | "newer: waits for its turn; of the handover under way: is answered too" | "" | "same";
    "modifying" | "modify-bearer-response" | "of the last request; the next request follows" | "path-switch-request-ack, initial-context-setup, ue-context-release-command" | "idle";
    "modifying" | "modify-bearer-response" | "the same, and another request waits" | "path-switch-request-ack, modify-bearer-request" | "same";
    "modifying" | "time" | "no response" | "modify-bearer-request" | "same";
}

/// LTE at the mobility management entity.
#[derive(Clone, Debug)]
pub struct Mme {
    paths: PathSwitching,
    rules: Rules,
}

impl Mme {
    /// An entity that knows no host; the gateway of all is `gateway`.
    pub fn new(gateway: Addr, params: &Params) -> Mme {
        Mme { paths: PathSwitching::new(gateway), rules: params.rules() }
    }
}

impl Role for Mme {
    fn state(&self, host: Addr) -> StateName {
        match self.paths.is_busy(host) {
            None => StateName::Unknown,
            Some(false) => StateName::Idle,
            Some(true) => StateName::Modifying,
        }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.paths.hosts()
    }
}

impl Agent for Mme {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Deadline => self.paths.on_timer(now, (&self.rules, out)),
            Input::Message { from, message } => {
                let Message { host: Some(host), id, kind } = message else { return };
                let request = match kind {
                    Kind::PathSwitchRequest { base_station } => {
                        Request { from, id, base_station, asks: Asks::Switch }
                    }
                    Kind::ServiceRequest => Request { from, id, base_station: from, asks: Asks::Service },
                    Kind::ModifyBearerResponse => {
                        self.paths.modified(host, id, now, (&self.rules, out));
                        return;
                    }
                    _ => return,
                };
                self.paths.requested(host, request, now, (&self.rules, out));
            }
            Input::Trigger(_) | Input::Data { .. } => {}
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        self.paths.deadlines(each);
    }
}
