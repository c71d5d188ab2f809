//! The correspondent: tunnels to the care-of address of its binding.

use super::{Action, Input, Kind, Message, Params, Phase, WARNING_INTERVAL};
use crate::signal::send;
use crate::transitions::Role;
use crate::{Agent, Identification, Via};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use std::collections::BTreeMap;

crate::transitions! {
    Correspondent, "state of a host": None "none", Bound "bound", Expiring "expiring";
    "any" | "binding-update" | "not older" | "tunnel, binding-acknowledge" | "bound";
    "bound, expiring" | "binding-update" | "older" | "binding-acknowledge" | "same";
    "bound" | "time" | "lifetime nearly over; watches the route" | "tunnel" | "expiring";
    "expiring" | "packet" | "at most one in a warning interval" | "binding-request" | "same";
    "bound, expiring" | "time" | "lifetime over" | "no route" | "none";
}

/// Mobile IP at a correspondent host.
#[derive(Clone, Debug)]
pub struct Correspondent {
    params: Params,
    bindings: BTreeMap<Addr, Binding>,
}

#[derive(Copy, Clone, Debug)]
struct Binding {
    care_of: Addr,
    identification: Identification,
    /// Sender of the notice, and recipient of the request for more.
    home_agent: Addr,
    watch: Watch,
    expires: Time,
}

/// Use of the binding, as the packets to the host show it.
#[derive(Copy, Clone, Debug)]
enum Watch {
    /// Not before this time.
    From(Time),
    /// A packet asks the home agent for more, not before this time.
    Packets { next_request: Time },
}

impl Correspondent {
    /// A correspondent that knows no care-of address.
    pub fn new(params: &Params) -> Correspondent {
        Correspondent { params: params.clone(), bindings: BTreeMap::new() }
    }

    fn bind(
        &mut self,
        host: Addr,
        (home_agent, care_of): (Addr, Addr),
        identification: Identification,
        lifetime: Duration,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let known = self.bindings.get(&host);
        if known.is_some_and(|known| identification < known.identification) {
            return;
        }
        if known.is_none_or(|known| known.care_of != care_of) {
            out.push(Action::Note { host, phase: Phase::CorrespondentInformed });
        }
        out.push(Action::SetRoute { host, from: None, via: Via::Tunnel(care_of), watch: false });
        let watch = Watch::From(now + lifetime.saturating_sub(self.params.binding_request_margin));
        let binding = Binding { care_of, identification, home_agent, watch, expires: now + lifetime };
        self.bindings.insert(host, binding);
    }

    fn packet_sent(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        let Some(binding) = self.bindings.get_mut(&host) else { return };
        if let Watch::Packets { next_request } = &mut binding.watch
            && *next_request <= now
        {
            *next_request = now + WARNING_INTERVAL;
            send(binding.home_agent, (host, binding.identification, Kind::BindingRequest), out);
        }
    }

    fn on_timer(&mut self, now: Time, out: &mut Vec<Action>) {
        self.bindings.retain(|&host, binding| {
            if binding.expires <= now {
                out.push(Action::ClearRoute { host, from: None });
                return false;
            }
            if matches!(binding.watch, Watch::From(at) if at <= now) {
                binding.watch = Watch::Packets { next_request: Time::ZERO };
                let via = Via::Tunnel(binding.care_of);
                out.push(Action::SetRoute { host, from: None, via, watch: true });
            }
            true
        });
    }
}

impl Role for Correspondent {
    fn state(&self, host: Addr) -> StateName {
        match self.bindings.get(&host).map(|binding| binding.watch) {
            None => StateName::None,
            Some(Watch::From(_)) => StateName::Bound,
            Some(Watch::Packets { .. }) => StateName::Expiring,
        }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.bindings.keys().copied()
    }
}

impl Agent for Correspondent {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Message {
                from,
                message: Message { host: Some(host), id, kind: Kind::BindingUpdate { care_of, lifetime, .. } },
            } => {
                self.bind(host, (from, care_of), id, lifetime, now, out);
                send(from, (host, id, Kind::BindingAcknowledge), out);
            }
            Input::Data { host, .. } => self.packet_sent(host, now, out),
            Input::Deadline => self.on_timer(now, out),
            Input::Message { .. } | Input::Trigger(_) => {}
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        let next = |binding: &Binding| match binding.watch {
            Watch::From(at) => at,
            Watch::Packets { .. } => binding.expires,
        };
        self.bindings.values().map(next).for_each(each);
    }
}
