//! The serving gateway: the near end of the tunnels.

use super::{Action, Input, Kind, Message, Params, Phase};
use crate::Agent;
use crate::cellular::Paths;
use crate::transitions::Role;
use roamlab_engine::Time;
use roamlab_packet::Addr;

crate::transitions! {
    ServingGateway, "state of a host": Unknown "unknown", Bound "bound";
    "unknown" | "modify-bearer-request" | "" | "tunnel, modify-bearer-response" | "bound";
    "bound" | "modify-bearer-request" | "newer or the same; end markers if the base station is another one" | "end-marker, tunnel, modify-bearer-response" | "same";
}

/// LTE at the serving gateway.
#[derive(Clone, Debug)]
pub struct ServingGateway {
    paths: Paths,
}

impl ServingGateway {
    /// A gateway that knows no host.
    pub fn new(params: &Params) -> ServingGateway {
        ServingGateway { paths: Paths::new(params.end_markers) }
    }
}

impl Role for ServingGateway {
    fn state(&self, host: Addr) -> StateName {
        if self.paths.has(host) { StateName::Bound } else { StateName::Unknown }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.paths.hosts()
    }
}

impl Agent for ServingGateway {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, _: Time, out: &mut Vec<Action>) {
        let Input::Message { from, message } = input else { return };
        let Message { host: Some(host), id, kind: Kind::ModifyBearerRequest { base_station } } = message
        else {
            return;
        };
        if self.paths.switch(host, base_station, id, out) {
            out.push(Message::about(host, id, Kind::ModifyBearerResponse).to(from));
        }
    }

    fn deadlines(&self, _: &mut dyn FnMut(Time)) {}
}
