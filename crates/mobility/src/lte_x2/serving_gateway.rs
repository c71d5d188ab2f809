//! The serving gateway: the near end of the tunnels.

use super::bearer::end_marker;
use super::{Action, Input, Kind, Message, Params, Phase};
use crate::transitions::Role;
use crate::{Agent, Identification, Via};
use roamlab_engine::Time;
use roamlab_packet::Addr;
use std::collections::BTreeMap;

crate::transitions! {
    ServingGateway, "state of a host": Unknown "unknown", Bound "bound";
    "unknown" | "modify-bearer-request" | "" | "tunnel, modify-bearer-response" | "bound";
    "bound" | "modify-bearer-request" | "newer or the same; end markers if the base station is another one" | "end-marker, tunnel, modify-bearer-response" | "same";
}

/// LTE at the serving gateway.
#[derive(Clone, Debug)]
pub struct ServingGateway {
    end_markers: usize,
    /// Where each host's path goes, and since which request.
    paths: BTreeMap<Addr, (Addr, Identification)>,
}

impl ServingGateway {
    /// A gateway that knows no host.
    pub fn new(params: &Params) -> ServingGateway {
        ServingGateway { end_markers: params.end_markers as usize, paths: BTreeMap::new() }
    }

    fn modify(&mut self, host: Addr, base_station: Addr, id: Identification, out: &mut Vec<Action>) -> bool {
        let old = self.paths.get(&host).copied();
        match old {
            Some((_, known)) if id <= known => return id == known,
            Some((old, _)) if old != base_station => {
                let marker = end_marker(host, id).to(old);
                out.extend(std::iter::repeat_n(marker, self.end_markers));
            }
            _ => {}
        }
        self.paths.insert(host, (base_station, id));
        if old.is_none_or(|(old, _)| old != base_station) {
            out.push(Action::SetRoute { host, from: None, via: Via::Tunnel(base_station), watch: false });
            out.push(Action::Note { host, phase: Phase::PathSwitched });
        }
        true
    }
}

impl Role for ServingGateway {
    fn state(&self, host: Addr) -> StateName {
        if self.paths.contains_key(&host) { StateName::Bound } else { StateName::Unknown }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.paths.keys().copied()
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
        if self.modify(host, base_station, id, out) {
            out.push(Message::about(host, id, Kind::ModifyBearerResponse).to(from));
        }
    }

    fn deadlines(&self, _: &mut dyn FnMut(Time)) {}
}
