//! A node of the access network: it sends packets for a host to the neighbour from which the host's packets arrive.
//! Base stations and the gateway are such nodes.
//!
//! An update that is not newer than the last one about its host has no effect and is not passed on, except a semisoft one
//! of the same trigger from another way. Data packets of the host keep an existing route alive.

use super::caches::{Caches, Change};
use super::{Action, Input, Kind, Message, Params, Phase};
use crate::blocks::{Beacons, Trigger};
use crate::signal::{broadcast, send};
use crate::transitions::Role;
use crate::{Agent, Direction, Identification, L2Trigger};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use std::collections::BTreeMap;

crate::transitions! {
    Node, "state of a host": None "none", Paged "paged", Routed "routed", Delaying "delaying", Bicasting "bicasting";
    "none, paged" | "route-update, semisoft-trigger" | "newer" | "route, route-update" | "routed";
    "routed, delaying, bicasting" | "route-update, semisoft-trigger" | "newer, the same way or another one" | "route, copies, copies to buffer, route-update" | "same";
    "routed, bicasting" | "route-update, semisoft-trigger" | "S, another way; newer, or of the same trigger" | "delay, route, copies, copies to buffer, route-update" | "delaying";
    "routed" | "route-update, semisoft-trigger" | "another way, without equaliser or with stale routes kept" | "route, copies, route-update" | "bicasting";
    "delaying" | "route-update" | "regular, the new way" | "release, route, discard buffer, route-update" | "routed";
    "bicasting" | "route-update" | "regular, the new way" | "route, route-update" | "routed";
    "none, routed" | "paging-update" | "newer" | "route, paging-update" | "paged";
    "paged" | "paging-update" | "newer" | "route, paging-update" | "same";
    "routed" | "paging-update" | "newer, the same way" | "paging-update" | "same";
    "delaying, bicasting" | "paging-update" | "newer" | "release, route, discard buffer, paging-update" | "routed";
    "none" | "paging-update" | "newer, in a paging area" | "route, copies" | "same";
    "routed" | "paging-update" | "newer, in a paging area" | "route, copies" | "none";
    "routed, delaying, bicasting" | "handover predicted" | "to those that it names" | "semisoft-trigger" | "same";
    "any" | "packet" | "of the host, restarts the timeouts" | "route, copies" | "same";
    "delaying" | "packet" | "of the host, the new way" | "release, route, copies, discard buffer" | "bicasting";
    "any" | "gateway-beacon" | "its uplink is another one" | "route-update, paging-update" | "same";
    "none" | "time" | "in a paging area, at the start" | "route, copies" | "same";
    "delaying, bicasting" | "time" | "one route timeout" | "route, discard buffer" | "routed";
    "delaying" | "time" | "one route timeout" | "route to buffer" | "same";
    "routed, delaying, bicasting" | "time" | "route timeouts" | "route, discard buffer" | "paged";
    "routed, delaying, bicasting" | "time" | "route timeouts and paging timeout" | "no route, route, copies, discard buffer" | "none";
    "paged" | "time" | "paging timeout" | "no route" | "none";
}

/// The position of a node in the access network.
#[derive(Clone, Debug)]
pub struct TreePosition {
    /// Its address.
    pub address: Addr,
    /// The next one towards the gateway, if it is known from the beginning.
    pub uplink: Option<Addr>,
    /// Adjacent nodes of the access network.
    pub neighbours: Vec<Addr>,
    /// In a paging area there is no paging cache; packets for hosts that are not in the route cache go to these nodes, or
    /// over the air if there are none.
    pub floods: Option<Vec<Addr>>,
    /// It is the gateway.
    pub is_gateway: bool,
    /// (Of a base station) those that its hosts may go to.
    pub set: Vec<Addr>,
    /// (Of a base station) when its first beacon is due.
    pub phase: Option<Duration>,
}

/// Cellular IP at a node of the access network.
#[derive(Clone, Debug)]
pub struct Node {
    position: TreePosition,
    caches: Caches,
    trigger: Trigger,
    beacons: Option<Beacons>,
    /// (At the gateway) the next beacon for all nodes, and the time between two.
    gateway_beacon: Option<(Time, Duration)>,
    /// The number of the last one.
    sequence: u64,
    /// The last update about each host.
    last: BTreeMap<Addr, Message>,
    /// Hosts whose packets go to all below from the beginning, until that is set.
    unset: Vec<Addr>,
}

impl Node {
    /// A node that knows no host; `hosts` are those of the domain.
    pub fn new(position: TreePosition, hosts: &[Addr], params: &Params) -> Node {
        let interval = params.gateway_beacon_interval.filter(|_| position.is_gateway);
        Node {
            caches: Caches::new(position.floods.clone(), params),
            trigger: params.trigger.clone(),
            beacons: position.phase.map(|phase| Beacons::new(phase, &params.detection)),
            gateway_beacon: interval.map(|interval| (Time::ZERO, interval)),
            sequence: 0,
            last: BTreeMap::new(),
            unset: if position.floods.is_none() { Vec::new() } else { hosts.to_vec() },
            position,
        }
    }

    fn update(&mut self, host: Addr, way: Addr, message: Message, now: Time, out: &mut Vec<Action>) {
        if let Some(last) = self.last.get(&host) {
            // One trigger has semisoft updates sent from several base stations: each adds its way.
            let is_semisoft = |of: &Message| of.kind == Kind::RouteUpdate { semisoft: true };
            let of_one_trigger = message.id == last.id && is_semisoft(last) && is_semisoft(&message);
            let adds = of_one_trigger && !self.caches.leads(host, way);
            if message.id <= last.id && !adds {
                return;
            }
        }
        let when = (message.id, now);
        let change = match message.kind {
            Kind::RouteUpdate { semisoft: true } => self.caches.add(host, way, when, out),
            Kind::RouteUpdate { semisoft: false } => self.caches.update(host, way, when, out),
            _ => {
                self.caches.page(host, way, when, out);
                Change::None
            }
        };
        let phase = match change {
            Change::Added => Some(Phase::RouteAdded),
            Change::Switched => Some(Phase::RouteSwitched),
            Change::None => None,
        };
        out.extend(phase.map(|phase| Action::Note { host, phase }));
        self.pass_on(&message, out);
        self.last.insert(host, message);
    }

    fn pass_on(&self, message: &Message, out: &mut Vec<Action>) {
        if let Some(uplink) = self.position.uplink {
            out.push(Action::Send { to: uplink, message: message.clone() });
        }
    }

    /// The host will turn to another base station: that one sends the semisoft packet.
    fn predicted(&self, host: Addr, expected: Addr, now: Time, out: &mut Vec<Action>) {
        if matches!(self.state(host), StateName::None | StateName::Paged) {
            return;
        }
        let id = self.last.get(&host).map_or(Identification::default(), |last| last.id).newer(now);
        out.push(Action::Note { host, phase: Phase::SemisoftSent });
        for to in self.trigger.names(expected, &self.position.set) {
            if to != self.position.address {
                send(to, (host, id, Kind::SemisoftTrigger), out);
            }
        }
    }

    /// The gateway's beacon shows the way to the gateway: the link on which its first copy arrives.
    fn hear_gateway(&mut self, from: Addr, id: Identification, out: &mut Vec<Action>) {
        if self.position.is_gateway || id.0 <= self.sequence {
            return;
        }
        self.sequence = id.0;
        let is_new = self.position.uplink.replace(from) != Some(from);
        self.send_gateway_beacon(Some(from), out);
        if is_new {
            self.last.values().for_each(|last| self.pass_on(last, out));
        }
    }

    fn send_gateway_beacon(&self, from: Option<Addr>, out: &mut Vec<Action>) {
        for &to in self.position.neighbours.iter().filter(|to| Some(**to) != from) {
            let id = Identification(self.sequence);
            out.push(Action::Send { to, message: Message { host: None, id, kind: Kind::GatewayBeacon } });
        }
    }

    fn on_time(&mut self, now: Time, out: &mut Vec<Action>) {
        for host in std::mem::take(&mut self.unset) {
            self.caches.apply(host, out);
        }
        if self.beacons.as_mut().is_some_and(|beacons| beacons.are_due(now)) {
            broadcast(Kind::BaseStationBeacon, out);
        }
        if let Some((next, interval)) = &mut self.gateway_beacon
            && *next <= now
        {
            *next += *interval;
            self.sequence += 1;
            self.send_gateway_beacon(None, out);
        }
        self.caches.expire(now, out);
    }
}

impl Role for Node {
    fn state(&self, host: Addr) -> StateName {
        match self.caches.routes(host) {
            _ if self.caches.is_delaying(host) => StateName::Delaying,
            0 if self.caches.is_paged(host) => StateName::Paged,
            0 => StateName::None,
            1 => StateName::Routed,
            _ => StateName::Bicasting,
        }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.caches.hosts()
    }
}

impl Agent for Node {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Message { from, message } => match (&message.kind, message.host) {
                (Kind::RouteUpdate { .. } | Kind::PagingUpdate, Some(host)) => {
                    self.update(host, from, message, now, out);
                }
                (Kind::SemisoftTrigger, Some(host)) => {
                    let kind = Kind::RouteUpdate { semisoft: true };
                    self.update(host, host, Message { kind, ..message }, now, out);
                }
                (Kind::GatewayBeacon, _) => self.hear_gateway(from, message.id, out),
                _ => {}
            },
            Input::Trigger(L2Trigger::HandoverPredicted { host, base_station }) => {
                self.predicted(host, base_station, now, out);
            }
            Input::Data { host, direction: Direction::Up, from: Some(from), .. } => {
                self.caches.refresh(host, from, now, out);
            }
            Input::Deadline => self.on_time(now, out),
            _ => {}
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        let start = (!self.unset.is_empty()).then_some(Time::ZERO);
        let beacon = self.beacons.as_ref().and_then(Beacons::deadline);
        let gateway = self.gateway_beacon.map(|(next, _)| next);
        [start, beacon, gateway, self.caches.deadline()].into_iter().flatten().for_each(each);
    }
}
