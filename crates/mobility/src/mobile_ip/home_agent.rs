//! The home agent: tunnels to the registered care-of address and notifies correspondents of it.
//!
//! Registrations, warnings and packets cause updates to a correspondent. It gets at most one per warning interval,
//! unless the binding has changed. A binding request is always answered.

use super::{
    Action, CORRESPONDENT_RETRANSMIT, Input, Kind, Message, Params, Phase, RETRANSMIT_LIMIT, ReplyCode,
    WARNING_INTERVAL,
};
use crate::backoff::Backoff;
use crate::signal::send;
use crate::transitions::Role;
use crate::{Agent, Identification, Via};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use std::collections::BTreeMap;

crate::transitions! {
    HomeAgent, "state of a host": None "none", Bound "bound";
    "none" | "registration-request" | "" | "tunnel, binding-update, registration-reply" | "bound";
    "bound" | "registration-request" | "newer; updates if the care-of address has changed" | "tunnel, binding-update, registration-reply" | "same";
    "bound" | "registration-request" | "not newer" | "registration-reply" | "same";
    "none" | "packet, binding-request" | "of a correspondent, which it remembers" | "" | "same";
    "bound" | "packet, binding-request" | "of a correspondent; at most one update in a warning interval" | "binding-update" | "same";
    "bound" | "binding-warning" | "of another agent than the bound one" | "binding-update" | "same";
    "any" | "binding-acknowledge" | "of the last update" | "" | "same";
    "bound" | "time" | "no acknowledge, at most [`MAX_UPDATES`] times" | "binding-update" | "same";
    "bound" | "time" | "lifetime over" | "no route" | "none";
}

/// How often an update is sent if no acknowledge comes: a correspondent may not know route optimisation.
pub const MAX_UPDATES: u32 = 5;

/// Mobile IP at the router of the home subnet.
#[derive(Clone, Debug)]
pub struct HomeAgent {
    address: Addr,
    params: Params,
    bindings: BTreeMap<Addr, Binding>,
    /// By host and correspondent.
    correspondents: BTreeMap<(Addr, Addr), Known>,
}

#[derive(Copy, Clone, Debug)]
struct Binding {
    care_of: Addr,
    identification: Identification,
    expires: Time,
}

/// A correspondent of a host.
#[derive(Copy, Clone, Debug)]
struct Known {
    /// It need not be notified of changes after this.
    until: Time,
    /// The last update it was sent, and when.
    told: Option<(Identification, Time)>,
    retransmit: Option<Backoff>,
    sent: u32,
}

impl HomeAgent {
    /// A home agent without bindings.
    pub fn new(address: Addr, params: &Params) -> HomeAgent {
        HomeAgent {
            address,
            params: params.clone(),
            bindings: BTreeMap::new(),
            correspondents: BTreeMap::new(),
        }
    }

    fn register(&mut self, from: Addr, request: Request, now: Time, out: &mut Vec<Action>) {
        let Request { host, care_of, identification, .. } = request;
        let known = self.bindings.get(&host).copied();
        let accepted = known.is_none_or(|known| identification > known.identification);
        let lifetime =
            if accepted { request.lifetime.min(self.params.registration_lifetime) } else { Duration::ZERO };
        let moved = accepted && known.is_none_or(|known| known.care_of != care_of);
        if accepted {
            self.bindings.insert(host, Binding { care_of, identification, expires: now + lifetime });
            let watch = self.params.route_optimisation;
            out.push(Action::SetRoute { host, from: None, via: Via::Tunnel(care_of), watch });
        }
        if moved {
            out.push(Action::Note { host, phase: Phase::HomeAgentRegistered });
            self.inform_all(host, now, out);
        }
        let code = if accepted { ReplyCode::ACCEPTED } else { ReplyCode::IDENTIFICATION_MISMATCH };
        send(from, (host, identification, Kind::RegistrationReply { code, lifetime }), out);
    }

    /// A new care-of address: notifies the correspondents, if the registration is to do that.
    fn inform_all(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        self.correspondents.retain(|key, known| key.0 != host || now < known.until);
        let mut stale = Vec::new();
        for (key, known) in self.correspondents.iter_mut().filter(|(key, _)| key.0 == host) {
            known.retransmit = None;
            stale.push(key.1);
        }
        if self.params.route_optimisation && self.params.ro_trigger.by_registration() {
            stale.into_iter().for_each(|correspondent| self.inform(host, correspondent, now, out));
        }
    }

    /// Notifies one correspondent of the binding, unless it was notified just now.
    fn inform(&mut self, host: Addr, correspondent: Addr, now: Time, out: &mut Vec<Action>) {
        let fresh =
            Known { until: now + self.params.binding_lifetime, told: None, retransmit: None, sent: 0 };
        let known = self.correspondents.entry((host, correspondent)).or_insert(fresh);
        let Some(binding) = self.bindings.get(&host) else {
            known.until = fresh.until;
            return;
        };
        let told_now = known.told.is_some_and(|(identification, at)| {
            identification == binding.identification && now < at + WARNING_INTERVAL
        });
        if self.params.route_optimisation && !told_now {
            known.sent = 0;
            let first = CORRESPONDENT_RETRANSMIT;
            known.retransmit = Some(Backoff::start(now, first, RETRANSMIT_LIMIT));
            self.send_update(host, correspondent, now, out);
        }
    }

    fn send_update(&mut self, host: Addr, correspondent: Addr, now: Time, out: &mut Vec<Action>) {
        let Some(binding) = self.bindings.get(&host) else { return };
        let Some(known) = self.correspondents.get_mut(&(host, correspondent)) else { return };
        let lifetime = self.params.binding_lifetime.min(binding.expires.since(now));
        known.until = now + lifetime;
        known.told = Some((binding.identification, now));
        known.sent += 1;
        let Binding { care_of, identification, .. } = *binding;
        let update = Kind::BindingUpdate { care_of, lifetime, forward: None };
        send(correspondent, (host, identification, update), out);
    }

    fn acknowledged(&mut self, host: Addr, correspondent: Addr, identification: Identification) {
        if let Some(known) = self.correspondents.get_mut(&(host, correspondent))
            && known.told.is_some_and(|(told, _)| told == identification)
        {
            known.retransmit = None;
        }
    }

    fn on_timer(&mut self, now: Time, out: &mut Vec<Action>) {
        self.bindings.retain(|&host, binding| {
            let alive = now < binding.expires;
            if !alive {
                out.push(Action::ClearRoute { host, from: None });
            }
            alive
        });
        let mut again = Vec::new();
        for (&key, known) in &mut self.correspondents {
            if let Some(timer) = known.retransmit.filter(|timer| timer.at <= now) {
                let more = known.sent < MAX_UPDATES && self.bindings.contains_key(&key.0);
                known.retransmit = more.then(|| timer.again(now));
                again.extend(more.then_some(key));
            }
        }
        again.into_iter().for_each(|(host, correspondent)| self.send_update(host, correspondent, now, out));
    }
}

/// The part of a registration request that the home agent looks at.
struct Request {
    host: Addr,
    care_of: Addr,
    lifetime: Duration,
    identification: Identification,
}

impl Role for HomeAgent {
    fn state(&self, host: Addr) -> StateName {
        if self.bindings.contains_key(&host) { StateName::Bound } else { StateName::None }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.bindings.keys().copied()
    }
}

impl Agent for HomeAgent {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Data { host, peer, .. } => self.inform(host, peer, now, out),
            Input::Deadline => self.on_timer(now, out),
            Input::Message { from, message: Message { host: Some(host), id: identification, kind } } => {
                match kind {
                    Kind::RegistrationRequest { home_agent, care_of, lifetime, .. }
                        if home_agent == self.address && from != host =>
                    {
                        self.register(from, Request { host, care_of, lifetime, identification }, now, out);
                    }
                    Kind::BindingWarning { target } => {
                        // The bound agent itself warns if it has lost the host; there is nothing better to tell then.
                        let elsewhere =
                            self.bindings.get(&host).is_some_and(|binding| binding.care_of != from);
                        if elsewhere && self.params.ro_trigger.by_warning() {
                            self.inform(host, target, now, out);
                        }
                    }
                    Kind::BindingRequest => {
                        if let Some(known) = self.correspondents.get_mut(&(host, from)) {
                            known.told = None;
                        }
                        self.inform(host, from, now, out);
                    }
                    Kind::BindingAcknowledge => {
                        self.acknowledged(host, from, identification);
                    }
                    _ => {}
                }
            }
            Input::Message { .. } | Input::Trigger(_) => {}
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        let lifetimes = self.bindings.values().map(|binding| binding.expires);
        let retransmissions = self.correspondents.values().filter_map(|known| Some(known.retransmit?.at));
        lifetimes.chain(retransmissions).for_each(each);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Action as Act;

    #[test]
    fn a_correspondent_is_told_of_a_binding_for_no_longer_than_it_is_registered() {
        // draft-ietf-mobileip-optim-11 §4.2: the lifetime is at most what remains of the registration.
        let [home, host, care_of, correspondent] = [1, 2, 3, 4].map(|number| Addr::new(0, number));
        let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
        let told = |expires| {
            let mut agent = HomeAgent::new(home, &Params::default());
            let binding = Binding { care_of, identification: Identification(7), expires: at(expires) };
            agent.bindings.insert(host, binding);
            let mut out = Vec::new();
            agent.inform(host, correspondent, at(4), &mut out);
            let lifetimes = out.iter().filter_map(|action| match action {
                Act::Send { message: Message { kind: Kind::BindingUpdate { lifetime, .. }, .. }, .. } => {
                    Some(*lifetime)
                }
                _ => None,
            });
            lifetimes.collect::<Vec<Duration>>()
        };
        assert_eq!(told(10), [Duration::from_secs(6)]);
        assert_eq!(told(300), [Duration::from_secs(60)]);
    }
}
