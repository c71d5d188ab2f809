//! The foreign agent: advertises, relays registrations, and forwards departed hosts' packets.
//!
//! The remaining state of a departed host is a *drain* (`visitor.rs`). Packets *from* its old base station are
//! forwarded to the host's present agent. With the detour (\[mblue\] fig. 4) packets from any other node pass that base
//! station's buffer first. A host that moves between two base stations of one agent leaves a drain too; the agent is
//! then old and new at the same time. ASSUMPTION: the papers do not treat that case. The detour cannot end for lack of
//! packets there, because they continue to arrive at this agent; it ends the hold time after the move.
//!
//! An agent that keeps copies (\[ipf\] II.A) forwards all that it has when it is notified of the departure, also those that
//! the host has received: it does not know which. Within one agent they go to the new base station; no paper treats that.
//!
//! ASSUMPTION: a reply to any request of a host that is pending counts, and an acceptance even behind the time-out that
//! was reported to the host (code 78). Otherwise no host would register whose home agent is farther away than that time.

use super::visitor::{Host, Location};
use super::{
    Action, Input, Kind, Message, PENDING_TIMEOUT, Params, Phase, UPDATE_RETRANSMIT, UPDATE_RETRANSMIT_LIMIT,
    WARNING_INTERVAL,
};
use crate::backoff::Backoff;
use crate::signal::send;
use crate::transitions::Role;
use crate::{Agent, Identification};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use std::collections::{BTreeMap, BTreeSet};

crate::transitions! {
    ForeignAgent, "state of a host": None "none", Pending "pending", Visitor "visitor", Departed "departed";
    "any" | "notification, agent-solicitation" | "through its base station" | "agent-advertisement" | "same";
    "none, departed" | "registration-request" | "newer" | "no route, route, registration-request, binding-update" | "pending";
    "pending, visitor" | "registration-request" | "newer" | "no route, route, forward, registration-request, binding-update" | "same";
    "pending, visitor" | "registration-request" | "newer, with copies" | "start buffering, release, discard buffer, route, registration-request, binding-update" | "same";
    "pending" | "registration-reply" | "accepted" | "registration-reply" | "visitor";
    "pending" | "registration-reply" | "denied" | "registration-reply, no route, discard buffer" | "none";
    "none" | "registration-reply" | "accepted, behind the time-out" | "route, registration-reply" | "visitor";
    "pending" | "registration-reply" | "denied, and a later request is pending" | "" | "same";
    "visitor" | "registration-reply" | "to a pending request" | "registration-reply" | "same";
    "none" | "binding-update" | "" | "tunnel, binding-acknowledge" | "departed";
    "pending, visitor" | "binding-update" | "newer; forwards if there is a buffer" | "tunnel, route, forward, binding-acknowledge" | "departed";
    "pending, visitor" | "binding-update" | "newer, with copies" | "start buffering, release into tunnel, discard buffer, tunnel, binding-acknowledge" | "departed";
    "departed" | "binding-update" | "newer or the same" | "tunnel, route, forward, binding-acknowledge" | "same";
    "pending, visitor, departed" | "binding-update" | "older" | "binding-acknowledge" | "same";
    "any" | "binding-acknowledge" | "of the last update" | "" | "same";
    "none, departed" | "packet" | "through a tunnel, at most one warning in an interval" | "binding-warning" | "same";
    "pending, visitor, departed" | "packet" | "prolongs the detour, or ends the forward messages" | "" | "same";
    "pending, visitor, departed" | "time" | "no acknowledge" | "binding-update" | "same";
    "pending, visitor, departed" | "time" | "no packet from the old base station" | "forward" | "same";
    "pending, visitor, departed" | "time" | "the detour is over" | "tunnel, route" | "same";
    "visitor" | "time" | "no reply" | "registration-reply" | "same";
    "pending, visitor, departed" | "time" | "no reply, or lifetime over" | "registration-reply, no route, discard buffer" | "none";
}

/// Mobile IP at the router of a foreign subnet.
#[derive(Clone, Debug)]
pub struct ForeignAgent {
    address: Addr,
    base_stations: Vec<Addr>,
    params: Params,
    next_advertisement: Time,
    hosts: BTreeMap<Addr, Host>,
    /// Home agents of all hosts that were ever here, to warn them.
    home_agents: BTreeMap<Addr, Addr>,
    /// Unacknowledged updates, by host and previous agent.
    updates: BTreeMap<(Addr, Addr), Update>,
    /// Next allowed warning, by host and correspondent.
    warnings: BTreeMap<(Addr, Addr), Time>,
    /// Hosts whose base station accepts no buffered packets.
    refused: BTreeSet<Addr>,
}

/// A binding update that waits for its acknowledge.
#[derive(Copy, Clone, Debug)]
struct Update {
    identification: Identification,
    lifetime: Duration,
    forward: Option<bool>,
    retransmit: Backoff,
}

/// A registration request.
#[derive(Clone)]
struct Request {
    host: Addr,
    home_agent: Addr,
    lifetime: Duration,
    identification: Identification,
    previous: Vec<Addr>,
    base_station: Addr,
}

impl ForeignAgent {
    /// The agent at router `address`, above `base_stations`.
    ///
    /// Periodic advertisements, sent only without the local handoff protocol, begin at `advertisement_phase`.
    pub fn new(
        address: Addr,
        base_stations: &[Addr],
        advertisement_phase: Duration,
        params: &Params,
    ) -> ForeignAgent {
        ForeignAgent {
            address,
            base_stations: base_stations.to_vec(),
            params: params.clone(),
            next_advertisement: Time::ZERO + advertisement_phase,
            hosts: BTreeMap::new(),
            home_agents: BTreeMap::new(),
            updates: BTreeMap::new(),
            warnings: BTreeMap::new(),
            refused: BTreeSet::new(),
        }
    }

    fn advertise(&self, to: &[Addr], host: Option<Addr>, out: &mut Vec<Action>) {
        let kind = Kind::AgentAdvertisement { agent: self.address };
        let message = Message { host, id: Identification::default(), kind };
        out.extend(to.iter().map(|&to| message.clone().to(to)));
    }

    fn register(&mut self, request: Request, now: Time, out: &mut Vec<Action>) {
        let Request { host, home_agent, identification, base_station, .. } = request;
        let accepts = !self.refused.contains(&host);
        let entry = self.hosts.entry(host).or_default();
        if entry.outdates(identification) {
            return;
        }
        let previous_place = entry.location;
        let first = match previous_place {
            Location::Here { pending: Some((first, _)), .. } | Location::GivenUp { first, .. } => first,
            _ => identification,
        };
        let pending = Some((first, now + PENDING_TIMEOUT));
        entry.identification = Some(identification);
        match previous_place {
            Location::Here { base_station: old, confirmed, .. } => {
                entry.location = Location::Here { base_station, pending, confirmed };
                if old != base_station {
                    out.push(Action::Note { host, phase: Phase::NewAgentNotified });
                    entry.move_within(host, (old, base_station), accepts, &self.params, now, out);
                }
            }
            Location::Unknown | Location::GivenUp { .. } | Location::Departed { .. } => {
                entry.location = Location::Here { base_station, pending, confirmed: None };
                out.push(Action::Note { host, phase: Phase::NewAgentNotified });
                entry.arrive(host, base_station, &self.params, out);
            }
        }
        self.home_agents.insert(host, home_agent);
        send(home_agent, (host, identification, self.relayed(&request)), out);
        self.update_previous(&request, now, out);
    }

    fn relayed(&self, request: &Request) -> Kind {
        Kind::RegistrationRequest {
            home_agent: request.home_agent,
            care_of: self.address,
            lifetime: request.lifetime,
            previous: Vec::new(),
            base_station: request.base_station,
        }
    }

    fn update_previous(&mut self, request: &Request, now: Time, out: &mut Vec<Action>) {
        for &previous in request.previous.iter().filter(|previous| **previous != self.address) {
            let update = Update {
                identification: request.identification,
                lifetime: request.lifetime,
                forward: self.params.forward_below().map(|_| !self.refused.contains(&request.host)),
                retransmit: Backoff::start(now, UPDATE_RETRANSMIT, UPDATE_RETRANSMIT_LIMIT),
            };
            self.updates.insert((request.host, previous), update);
            out.push(self.update(request.host, previous, update));
        }
    }

    fn update(&self, host: Addr, to: Addr, update: Update) -> Action {
        let Update { lifetime, forward, .. } = update;
        let kind = Kind::BindingUpdate { care_of: self.address, lifetime, forward };
        Message::about(host, update.identification, kind).to(to)
    }

    fn relay_reply(&mut self, message: Message, now: Time, out: &mut Vec<Action>) {
        let Message { host: Some(host), id, kind: Kind::RegistrationReply { code, lifetime } } = message
        else {
            return;
        };
        let Some(entry) = self.hosts.get_mut(&host) else { return };
        let is_last = entry.identification == Some(id);
        let is_of = |first: Identification| first <= id && entry.identification >= Some(id);
        match &mut entry.location {
            Location::Here { pending, confirmed, .. } if pending.is_some_and(|(first, _)| is_of(first)) => {
                if code.accepted() {
                    *confirmed = Some(now + lifetime);
                } else if !is_last {
                    return;
                }
                pending.take_if(|_| is_last);
            }
            &mut Location::GivenUp { base_station, first, .. } if is_of(first) && code.accepted() => {
                entry.location =
                    Location::Here { base_station, pending: None, confirmed: Some(now + lifetime) };
                entry.arrive(host, base_station, &self.params, out);
            }
            _ => return,
        }
        let refused = matches!(entry.location, Location::Here { confirmed: None, .. });
        out.push(message.to(host));
        if refused {
            self.forget(host, out);
        }
    }

    fn forget(&mut self, host: Addr, out: &mut Vec<Action>) {
        if let Some(entry) = self.hosts.remove(&host) {
            entry.clear_routes(host, &self.params, out);
        }
        self.updates.retain(|key, _| key.0 != host);
    }

    /// The host is at another agent now, whose base station accepts buffered packets or not.
    fn host_moved(
        &mut self,
        (host, identification): (Addr, Identification),
        (care_of, accepts): (Addr, bool),
        lifetime: Duration,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let entry = self.hosts.entry(host).or_default();
        let same = entry.identification == Some(identification) && entry.departed();
        if same || entry.outdates(identification) {
            if same {
                entry.forward_again(host, out);
            }
            return;
        }
        let previous_place = entry.location;
        entry.identification = Some(identification);
        if !accepts {
            entry.stop_forwarding();
        }
        entry.location = Location::Departed { care_of, expires: now + lifetime };
        match previous_place {
            Location::Departed { care_of: known, .. } if known == care_of && accepts => {
                entry.ask_again(host, out);
            }
            Location::Here { base_station, .. } => {
                out.push(Action::Note { host, phase: Phase::OldAgentInformed });
                entry.leave(host, base_station, accepts, &self.params, now, out);
            }
            Location::Unknown | Location::GivenUp { .. } | Location::Departed { .. } => {
                out.push(Action::Note { host, phase: Phase::OldAgentInformed });
                entry.set_routes(host, &self.params, out);
                if accepts {
                    entry.ask_again(host, out);
                }
            }
        }
    }

    fn packet_seen(&mut self, host: Addr, source: Addr, tunnelled: bool, now: Time, out: &mut Vec<Action>) {
        let entry = self.hosts.get_mut(&host);
        let here = entry.as_ref().is_some_and(|entry| matches!(entry.location, Location::Here { .. }));
        if let Some(drain) = entry.and_then(|entry| entry.drain.as_mut()) {
            if !tunnelled {
                // Only the base station sends such packets here without a tunnel.
                drain.forward = None;
            } else if let Some(until) = &mut drain.detour_until {
                *until = now + self.params.buffer.hold;
            }
        }
        let stale = tunnelled && !here;
        if stale && self.params.route_optimisation && self.params.ro_trigger.by_warning() {
            self.warn(host, source, now, out);
        }
    }

    fn warn(&mut self, host: Addr, source: Addr, now: Time, out: &mut Vec<Action>) {
        let Some(&home_agent) = self.home_agents.get(&host) else { return };
        let allowed = self.warnings.entry((host, source)).or_insert(now);
        if now < *allowed {
            return;
        }
        *allowed = now + WARNING_INTERVAL;
        send(home_agent, (host, Identification::default(), Kind::BindingWarning { target: source }), out);
    }

    fn on_timer(&mut self, now: Time, out: &mut Vec<Action>) {
        if !self.params.local_handoff && self.next_advertisement <= now {
            self.next_advertisement += self.params.advertisement_interval;
            let all = self.base_stations.clone();
            self.advertise(&all, None, out);
        }
        self.hosts.retain(|&host, entry| {
            if entry.pending_too_long(now) {
                out.push(entry.timeout_reply(host).to(host));
            }
            entry.on_timer(host, &self.params, now, out)
        });
        // An update holds only as long as the host is, or was last, here.
        let mut again = Vec::new();
        self.updates.retain(|&key, update| {
            let known = self.hosts.get(&key.0);
            let alive = known.is_some_and(|host| !matches!(host.location, Location::GivenUp { .. }));
            if alive && update.retransmit.at <= now {
                update.retransmit = update.retransmit.again(now);
                again.push((key, *update));
            }
            alive
        });
        out.extend(again.into_iter().map(|((host, to), update)| self.update(host, to, update)));
    }

    fn on_message(&mut self, from: Addr, message: Message, now: Time, out: &mut Vec<Action>) {
        let Some(host) = message.host else { return };
        let identification = message.id;
        match message.kind {
            Kind::Notification { accepts } if self.base_stations.contains(&from) => {
                if accepts {
                    self.refused.remove(&host)
                } else {
                    self.refused.insert(host)
                };
                self.advertise(&[from], Some(host), out);
            }
            Kind::AgentSolicitation if self.base_stations.contains(&from) => {
                self.advertise(&[from], Some(host), out);
            }
            Kind::RegistrationRequest { home_agent, care_of, lifetime, previous, base_station }
                if care_of == self.address && self.base_stations.contains(&base_station) =>
            {
                let request = Request { host, home_agent, lifetime, identification, previous, base_station };
                self.register(request, now, out);
            }
            Kind::RegistrationReply { .. } => self.relay_reply(message, now, out),
            Kind::BindingUpdate { care_of, lifetime, forward } => {
                let to = (care_of, forward != Some(false));
                self.host_moved((host, identification), to, lifetime, now, out);
                send(from, (host, identification, Kind::BindingAcknowledge), out);
            }
            Kind::BindingAcknowledge => {
                self.updates
                    .retain(|key, update| *key != (host, from) || update.identification != identification);
            }
            _ => {}
        }
    }
}

impl Role for ForeignAgent {
    fn state(&self, host: Addr) -> StateName {
        match self.hosts.get(&host).map(|host| host.location) {
            None | Some(Location::Unknown | Location::GivenUp { .. }) => StateName::None,
            Some(Location::Here { confirmed: None, .. }) => StateName::Pending,
            Some(Location::Here { .. }) => StateName::Visitor,
            Some(Location::Departed { .. }) => StateName::Departed,
        }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.hosts.keys().copied()
    }
}

impl Agent for ForeignAgent {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Data { host, peer, tunnelled, .. } => self.packet_seen(host, peer, tunnelled, now, out),
            Input::Deadline => self.on_timer(now, out),
            Input::Message { from, message } => self.on_message(from, message, now, out),
            Input::Trigger(_) => {}
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        let advertisement = (!self.params.local_handoff).then_some(self.next_advertisement);
        let updates = self.updates.values().map(|update| update.retransmit.at);
        self.hosts.values().for_each(|host| host.deadlines(each));
        updates.chain(advertisement).for_each(each);
    }
}
