//! The user plane function: the near end of the tunnels, end markers, and indirect forwarding.

use super::outbox::Outbox;
use super::{Action, Input, Kind, Message, Params, Phase, Step};
use crate::cellular::Paths;
use crate::transitions::Role;
use crate::{Agent, Identification, Via, Wire};
use roamlab_engine::Time;
use roamlab_packet::Addr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

crate::transitions! {
    Upf, "state of a host": Unknown "unknown", Bound "bound";
    "unknown" | "n4-session-modification-request" | "switch" | "tunnel, n4-session-modification-response" | "bound";
    "bound" | "n4-session-modification-request" | "switch, newer or the same; end markers if the base station is another one" | "gtpu-end-marker, tunnel, no route, n4-session-modification-response" | "same";
    "unknown, bound" | "n4-session-modification-request" | "forwarding from a source begins or ends, perhaps before the switch" | "tunnel, no route, discard route, n4-session-modification-response" | "same";
    "bound" | "gtpu-end-marker" | "of a source from which packets are forwarded" | "gtpu-end-marker" | "same";
}

/// NR at the user plane function.
#[derive(Clone, Debug)]
pub struct Upf {
    paths: Paths,
    params: Arc<Params>,
    /// Targets by host and source, for which packets are forwarded, and since which handover.
    relays: BTreeMap<(Addr, Addr), (Addr, Identification)>,
    /// Hosts and sources from which nothing is forwarded any more, while the path goes there still: what they forward would
    /// come back to them.
    ended: BTreeSet<(Addr, Addr)>,
}

impl Upf {
    /// A function that knows no host.
    pub fn new(params: &Arc<Params>) -> Upf {
        let paths = Paths::new(params.end_markers);
        Upf { paths, params: Arc::clone(params), relays: BTreeMap::new(), ended: BTreeSet::new() }
    }

    /// A session changes; true if it has.
    fn modify(&mut self, host: Addr, id: Identification, step: Step, out: &mut Vec<Action>) -> bool {
        match step {
            Step::Prepare => {}
            Step::Switch { base_station, .. } => {
                let sending = &mut Outbox { out, amf: base_station, by_core: false, dual: false };
                let changed = self.paths.switch(host, base_station, id, sending);
                let Upf { paths, ended, .. } = self;
                ended.retain(|&(of, source)| {
                    let stays = of != host || paths.is_at(host, source);
                    out.extend((!stays).then_some(Action::ClearRoute { host, from: Some(source) }));
                    stays
                });
                return changed;
            }
            Step::Forward { source, target } => {
                self.relays.insert((host, source), (target, id));
                self.ended.remove(&(host, source));
                let via = Via::Relay { source, to: target };
                out.push(Action::SetRoute { host, from: Some(source), via, watch: false });
            }
            Step::EndForwarding { source } => {
                // The source of an older handover may have handed the host over again.
                let is_over = |(_, since): &(Addr, Identification)| *since <= id;
                if !self.relays.get(&(host, source)).is_some_and(is_over) {
                    return true;
                }
                self.relays.remove(&(host, source));
                if self.paths.is_at(host, source) {
                    self.ended.insert((host, source));
                    out.push(Action::SetRoute { host, from: Some(source), via: Via::Discard, watch: false });
                } else {
                    out.push(Action::ClearRoute { host, from: Some(source) });
                }
            }
        }
        true
    }
}

impl Role for Upf {
    fn state(&self, host: Addr) -> StateName {
        if self.paths.has(host) { StateName::Bound } else { StateName::Unknown }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.paths.hosts()
    }
}

impl Agent for Upf {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, _: Time, out: &mut Vec<Action>) {
        let Input::Message { from, message: Message { host: Some(host), id, kind } } = input else { return };
        match kind {
            Kind::ModificationRequest { step } => {
                let answer = Message::about(host, id, Kind::ModificationResponse { step });
                let changed = self.modify(host, id, step, out);
                out.extend(changed.then(|| answer.to(from)));
            }
            Kind::EndMarker { .. } => {
                if let Some(&(target, _)) = self.relays.get(&(host, from)) {
                    let kind = Kind::EndMarker { source: Some(from) };
                    out.push(Message::about(host, id, kind).to(target));
                }
            }
            _ => {}
        }
    }

    fn wire(&self, message: &Message) -> Option<Wire> {
        Some(self.params.wire(&message.kind))
    }

    fn deadlines(&self, _: &mut dyn FnMut(Time)) {}
}
