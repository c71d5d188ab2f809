//! The base station: has the path to a host set up when it registers, and hands the host over when it has moved.
//!
//! A registration of a host that layer 2 does not have here, and messages older than the latest state known of the host, have no
//! effect.

use super::message::Ends;
use super::refresher::Refresher;
use super::tree_position::TreePosition;
use super::{Action, Input, Kind, Message, Params, Phase, RETRANSMISSIONS, Scheme};
use crate::blocks::{Beacons, PRUNE_TIMER};
use crate::signal::{broadcast, send};
use crate::transitions::Role;
use crate::{Agent, Identification, L2Trigger, Via};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use std::collections::{BTreeMap, BTreeSet};

crate::transitions! {
    BaseStation, "state of a host": None "none", Registering "registering", Serving "serving", Left "left", Moved "moved";
    "any" | "host arrived" | "" | "" | "same";
    "left" | "host arrived" | "it had registered here last" | "release, route, discard buffer" | "serving";
    "registering, serving" | "host gone" | "keeps its packets, with forwarding" | "start buffering" | "left";
    "moved" | "host gone" | "with forwarding" | "start buffering, release, route, discard buffer" | "same";
    "none, left" | "host gone" | "" | "" | "same";
    "none, left, moved" | "registration" | "of a present host, not older" | "release, route, discard buffer, path-power-up, path-update" | "registering";
    "registering" | "registration" | "of a present host, not older" | "route, path-power-up, path-update" | "same";
    "serving" | "registration" | "of a present host, which names no other base station" | "registration-acknowledge" | "same";
    "serving" | "registration" | "of a present host, which names others" | "route, path-update" | "registering";
    "registering" | "path-acknowledge, path-update" | "the last that was missing" | "path-switch, registration-acknowledge" | "serving";
    "registering" | "path-acknowledge, path-update" | "others are missing" | "" | "same";
    "none, registering, serving, left" | "path-update" | "to another base station, newer" | "route, release, discard buffer, path-update, path-acknowledge" | "moved";
    "moved" | "path-update" | "to another base station, not older" | "route, path-update, path-acknowledge" | "same";
    "any" | "path-switch" | "of the last handover" | "path-switch" | "same";
    "registering, serving, left, moved" | "time" | "no answer" | "path-power-up, path-update, path-switch" | "same";
    "serving" | "time" | "time to refresh, one host" | "path-refresh" | "same";
    "moved" | "time" | "bicast over" | "route" | "same";
    "left" | "time" | "prune timer" | "no route, discard buffer" | "none";
    "registering, serving, moved" | "time" | "lifetime over" | "no route" | "none";
}

/// HAWAII at a base station.
#[derive(Clone, Debug)]
pub struct BaseStation {
    address: Addr,
    uplink: Addr,
    gateway: Addr,
    /// The base stations of the domain.
    others: BTreeSet<Addr>,
    params: Params,
    beacons: Beacons,
    refresher: Refresher,
    /// Hosts that layer 2 has here.
    present: BTreeSet<Addr>,
    /// The last registration of each host, as far as it is known here.
    newest: BTreeMap<Addr, Identification>,
    members: BTreeMap<Addr, Member>,
}

/// A host that is here or was.
#[derive(Clone, Debug)]
struct Member {
    state: State,
    /// The registration that what is sent is about; renewals are later.
    id: Identification,
    /// Whose answer is missing: old base stations, or the gateway to a power-up.
    pending: BTreeSet<Addr>,
    /// Old base stations whose switch has not returned.
    switching: BTreeSet<Addr>,
    /// When what is missing is sent again, and how often yet.
    again: Option<(Time, u32)>,
    /// Its packets go to the buffer.
    buffering: bool,
    /// When its packets turn back to the router (bicast).
    turn: Option<Time>,
    /// When it is forgotten.
    until: Time,
    /// (Of a host that left while its path existed) end of the time in which its registration holds.
    registered: Option<Time>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum State {
    Registering,
    Serving,
    Left,
    Moved,
}

impl BaseStation {
    /// A base station that knows no host, among the domain's; the first beacon and refresh come at `phases`.
    pub fn new(
        (position, gateway): (&TreePosition, Addr),
        others: BTreeSet<Addr>,
        phases: (Duration, Duration),
        params: &Params,
    ) -> BaseStation {
        BaseStation {
            address: position.address,
            uplink: position.uplink.unwrap_or(gateway),
            gateway,
            others,
            params: params.clone(),
            beacons: Beacons::new(phases.0, &params.detection),
            refresher: Refresher::new(position.uplink, phases.1, params),
            present: BTreeSet::new(),
            newest: BTreeMap::new(),
            members: BTreeMap::new(),
        }
    }

    fn newest(&self, host: Addr) -> Identification {
        self.newest.get(&host).copied().unwrap_or_default()
    }

    fn register(
        &mut self,
        (host, id): (Addr, Identification),
        previous: &[Addr],
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let newest = self.newest(host);
        if !self.present.contains(&host) || id < newest {
            return;
        }
        self.newest.insert(host, id);
        let until = now + self.params.entries.lifetime;
        let others: BTreeSet<Addr> = previous.iter().copied().filter(|at| self.others.contains(at)).collect();
        let known = self.members.get_mut(&host);
        if let Some(member) = known
            && member.state == State::Serving
            && (id == newest || others.is_empty())
        {
            member.until = until;
            return send(host, (host, id, Kind::RegistrationAcknowledge), out);
        }
        let known = self.members.remove(&host);
        if known.as_ref().is_some_and(|member| member.buffering) {
            give_back(host, out);
        }
        let pending = match known {
            // The host waits for the answer to the same registration: what has been answered is not asked again.
            Some(Member { state: State::Registering, pending, .. }) if id == newest => pending,
            _ if others.is_empty() => BTreeSet::from([self.gateway]),
            _ => others,
        };
        route_to_air(host, out);
        let member = Member {
            state: State::Registering,
            id,
            pending,
            switching: BTreeSet::new(),
            again: self.first_retransmission(now),
            buffering: false,
            turn: None,
            until,
            registered: None,
        };
        self.ask(host, &member, out);
        self.members.insert(host, member);
    }

    fn first_retransmission(&self, now: Time) -> Option<(Time, u32)> {
        Some((now + self.params.retransmit, RETRANSMISSIONS))
    }

    /// Sends what has not been answered.
    fn ask(&self, host: Addr, member: &Member, out: &mut Vec<Action>) {
        let (new, of) = (self.address, (host, member.id));
        for &old in &member.pending {
            let ends = Ends { new, old };
            match self.params.scheme {
                _ if old == self.gateway => send(self.uplink, (of.0, of.1, Kind::PowerUp { new }), out),
                scheme if scheme.forwards() => send(old, (of.0, of.1, Kind::Update { ends }), out),
                _ => send(self.uplink, (of.0, of.1, Kind::Update { ends }), out),
            }
        }
        for &old in &member.switching {
            let kind = Kind::Switch { ends: Ends { new, old }, returns: false };
            send(self.uplink, (of.0, of.1, kind), out);
        }
    }

    /// The path from an old base station, or from the gateway, is set up.
    fn answered(&mut self, (host, id): (Addr, Identification), by: Addr, now: Time, out: &mut Vec<Action>) {
        let again = self.first_retransmission(now);
        let switches = self.params.scheme == Scheme::Ssf && by != self.gateway;
        let Some(member) = self.members.get_mut(&host) else { return };
        if id != member.id || member.state != State::Registering || !member.pending.remove(&by) {
            return;
        }
        if switches {
            member.switching.insert(by);
            let kind = Kind::Switch { ends: Ends { new: self.address, old: by }, returns: false };
            send(self.uplink, (host, id, kind), out);
        }
        if member.pending.is_empty() {
            member.state = State::Serving;
            member.again = again.filter(|_| !member.switching.is_empty());
            out.push(Action::Note { host, phase: Phase::PathSetUp });
            send(host, (host, id, Kind::RegistrationAcknowledge), out);
        }
    }

    fn host_gone(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        self.present.remove(&host);
        let keeps = self.params.keeps();
        let Some(member) = self.members.get_mut(&host) else { return };
        match member.state {
            State::Registering | State::Serving => {
                member.registered = (member.state == State::Serving).then_some(member.until);
                member.state = State::Left;
                member.pending.clear();
                member.until = now + PRUNE_TIMER;
                member.buffering = keeps;
                if keeps {
                    out.push(Action::StartBuffering { host });
                }
            }
            State::Moved if keeps => {
                out.push(Action::StartBuffering { host });
                forward(host, self.uplink, out);
            }
            State::Left | State::Moved => {}
        }
    }

    /// The host is here. If it has not missed its base station it does not register again.
    fn host_arrived(&mut self, host: Addr, out: &mut Vec<Action>) {
        self.present.insert(host);
        let Some(member) = self.members.get_mut(&host) else { return };
        let Some(until) = member.registered.take() else { return };
        (member.state, member.until) = (State::Serving, until);
        if std::mem::take(&mut member.buffering) {
            give_back(host, out);
        }
    }

    /// The host is at another base station.
    fn update(&mut self, of: (Addr, Identification), ends: Ends, now: Time, out: &mut Vec<Action>) {
        let (host, id) = of;
        if ends.new == self.address {
            return self.answered(of, ends.old, now, out);
        }
        let newest = self.newest(host);
        let has_moved = self.members.get(&host).is_some_and(|member| member.state == State::Moved);
        if ends.old != self.address || id < newest || (id == newest && !has_moved) {
            return;
        }
        self.newest.insert(host, id);
        let scheme = self.params.scheme;
        if scheme == Scheme::Ssf {
            // The path is there before the first packet.
            send(self.uplink, (of.0, of.1, Kind::Update { ends }), out);
        }
        if id > newest {
            self.hand_over(host, now, out);
        }
        match scheme {
            Scheme::Unf | Scheme::Mnf => send(ends.new, (of.0, of.1, Kind::PathAcknowledge), out),
            Scheme::Msf => send(self.uplink, (of.0, of.1, Kind::Update { ends }), out),
            Scheme::Ssf => {}
        }
    }

    /// The host's packets go back to the router from now on, or after the bicast time.
    fn hand_over(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        let until = now + self.params.entries.lifetime;
        let known = self.members.remove(&host);
        // The switches of an earlier handover to here are on their way, and no other node repeats them.
        let (id, switching, again) = match &known {
            Some(member) => (member.id, member.switching.clone(), member.again),
            None => (Identification::default(), BTreeSet::new(), None),
        };
        let mut member = Member {
            state: State::Moved,
            id,
            pending: BTreeSet::new(),
            again: again.filter(|_| !switching.is_empty()),
            switching,
            buffering: false,
            turn: None,
            until,
            registered: None,
        };
        if known.as_ref().is_some_and(|known| known.buffering) {
            out.push(Action::Note { host, phase: Phase::ForwardingBegun });
            forward(host, self.uplink, out);
        } else if self.params.scheme == Scheme::Mnf {
            // Not before the routers, or packets circle.
            member.turn = Some(now + self.params.bicast);
        } else {
            turn_back(host, self.uplink, out);
        }
        self.members.insert(host, member);
    }

    fn switched(&mut self, of: (Addr, Identification), (ends, returns): (Ends, bool), out: &mut Vec<Action>) {
        let (host, id) = of;
        if ends.old == self.address && !returns && id == self.newest(host) {
            send(self.uplink, (of.0, of.1, Kind::Switch { ends, returns: true }), out);
        } else if ends.new == self.address
            && returns
            && let Some(member) = self.members.get_mut(&host)
            && id == member.id
        {
            member.switching.remove(&ends.old);
            if member.switching.is_empty() && member.pending.is_empty() {
                member.again = None;
            }
        }
    }

    fn on_time(&mut self, now: Time, out: &mut Vec<Action>) {
        if self.beacons.are_due(now) {
            broadcast(Kind::Beacon, out);
        }
        for (host, mut member) in std::mem::take(&mut self.members) {
            if member.until <= now {
                out.push(Action::ClearRoute { host, from: None });
                if member.buffering {
                    out.push(Action::DiscardBuffer { host });
                }
                continue;
            }
            if let Some((_, left)) = member.again.take_if(|(at, _)| *at <= now) {
                self.ask(host, &member, out);
                member.again = (left > 1).then_some((now + self.params.retransmit, left - 1));
            }
            if member.turn.take_if(|at| *at <= now).is_some() {
                turn_back(host, self.uplink, out);
            }
            self.members.insert(host, member);
        }
        if self.refresher.is_due(now) {
            let serves = |(host, member): (&Addr, &Member)| (member.state == State::Serving).then_some(*host);
            let hosts = self.members.iter().filter_map(serves).map(|host| (host, self.newest(host)));
            self.refresher.send(hosts.collect(), out);
        }
    }
}

fn route_to_air(host: Addr, out: &mut Vec<Action>) {
    out.push(Action::SetRoute { host, from: None, via: Via::Air, watch: false });
}

/// The host gets what was kept for it.
fn give_back(host: Addr, out: &mut Vec<Action>) {
    out.push(Action::Note { host, phase: Phase::Flushed });
    out.push(Action::Release { host, via: Via::Air, mark: None });
    route_to_air(host, out);
    out.push(Action::DiscardBuffer { host });
}

/// Packets for the host go back to the router.
fn turn_back(host: Addr, uplink: Addr, out: &mut Vec<Action>) {
    out.push(Action::SetRoute { host, from: None, via: Via::Neighbour(uplink), watch: false });
}

/// Packets in the host's buffer go before them.
fn forward(host: Addr, uplink: Addr, out: &mut Vec<Action>) {
    out.push(Action::Release { host, via: Via::Neighbour(uplink), mark: None });
    turn_back(host, uplink, out);
    out.push(Action::DiscardBuffer { host });
}

impl Role for BaseStation {
    fn state(&self, host: Addr) -> StateName {
        match self.members.get(&host).map(|member| member.state) {
            None => StateName::None,
            Some(State::Registering) => StateName::Registering,
            Some(State::Serving) => StateName::Serving,
            Some(State::Left) => StateName::Left,
            Some(State::Moved) => StateName::Moved,
        }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.members.keys().copied()
    }
}

impl Agent for BaseStation {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Trigger(L2Trigger::HostArrived { host }) => self.host_arrived(host, out),
            Input::Trigger(L2Trigger::HostGone { host }) => self.host_gone(host, now, out),
            Input::Message { from, message: Message { host: Some(host), id, kind } } => match kind {
                Kind::Registration { previous } if from == host => {
                    self.register((host, id), &previous, now, out);
                }
                Kind::PathAcknowledge => self.answered((host, id), from, now, out),
                Kind::Update { ends } => self.update((host, id), ends, now, out),
                Kind::Switch { ends, returns } => self.switched((host, id), (ends, returns), out),
                _ => {}
            },
            Input::Deadline => self.on_time(now, out),
            _ => {}
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        for member in self.members.values() {
            let times = [Some(member.until), member.again.map(|(at, _)| at), member.turn];
            times.into_iter().flatten().for_each(&mut *each);
        }
        [self.beacons.deadline(), self.refresher.deadline()].into_iter().flatten().for_each(each);
    }
}
