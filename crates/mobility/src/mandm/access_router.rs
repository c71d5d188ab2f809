//! The base station: joins the tree for present and expected hosts, keeps their packets, and prunes.
//!
//! Without a buffer a candidate has no route to the host: copies end here until it attaches. An attach of a host that
//! layer 2 does not have here, and messages older than the latest state known of the host, have no effect.

use super::graft::Graft;
use super::{Action, Input, Kind, Message, Params, Phase};
use crate::blocks::{Beacons, BufferPlace, Gate, Knock, PRUNE_TIMER, TriggerBy};
use crate::signal::{broadcast, send};
use crate::transitions::Role;
use crate::{Agent, Identification, L2Trigger, Newest, Via};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use std::collections::{BTreeMap, BTreeSet};

crate::transitions! {
    AccessRouter, "state of a host": None "none", Candidate "candidate", Serving "serving", Left "left";
    "any" | "host arrived" | "" | "" | "same";
    "none, candidate, left" | "host gone" | "" | "" | "same";
    "serving" | "host gone" | "starts the prune timer; buffers at the old base station" | "start buffering" | "left";
    "serving" | "handover predicted" | "to those that it names" | "trigger" | "same";
    "none, candidate, left" | "attach" | "of a present host, not older" | "join, release, route, discard buffer, attach-acknowledge, moved, trigger" | "serving";
    "serving" | "attach" | "of a present host, not older" | "route, attach-acknowledge, moved, trigger" | "same";
    "any" | "attach" | "of a present host, with authentication" | "aaa-request" | "same";
    "none, candidate, left" | "aaa-answer" | "accepted: the attach that waits" | "join, release, route, discard buffer, attach-acknowledge, moved, trigger" | "serving";
    "none, candidate, left" | "aaa-answer" | "refused" | "" | "same";
    "none, candidate, left" | "time" | "no answer of the server, five times" | "aaa-request" | "same";
    "none, left" | "trigger" | "not older" | "join, start buffering, no route" | "candidate";
    "candidate, serving" | "trigger" | "not older; restarts the prune timer" | "" | "same";
    "left" | "moved" | "newer" | "release into tunnel, tunnel, discard buffer" | "same";
    "none, candidate, serving" | "moved" | "newer" | "" | "same";
    "serving" | "join-acknowledge" | "of the last join" | "moved" | "same";
    "candidate, left" | "join-acknowledge" | "of the last join" | "" | "same";
    "candidate, serving, left" | "time" | "no acknowledge, or time to refresh" | "join" | "same";
    "serving, left" | "time" | "no-path trigger, half the prune timer" | "trigger" | "same";
    "candidate, serving, left" | "time" | "prune timer, prune delay or bicast over" | "no route, discard buffer, prune" | "none";
}

/// M&M at a base station.
#[derive(Clone, Debug)]
pub struct AccessRouter {
    address: Addr,
    parent: Addr,
    params: Params,
    /// Base stations that its hosts may go to.
    set: Vec<Addr>,
    beacons: Beacons,
    /// Hosts that layer 2 has here.
    present: BTreeSet<Addr>,
    /// The last attach of each host, as far as it is known here.
    newest: Newest,
    /// Of the last prune about each host.
    pruned: BTreeMap<Addr, Identification>,
    members: BTreeMap<Addr, Member>,
    /// Hosts of this stay, and what waits for the server: the base stations that an attach names.
    gate: Gate<Vec<Addr>>,
}

/// A host for which it is in the tree.
#[derive(Clone, Debug)]
struct Member {
    graft: Graft,
    state: State,
    /// Its packets go to the buffer.
    buffering: bool,
    /// When it is given up.
    until: Option<Time>,
    /// The host is attached elsewhere by now.
    moved: bool,
    /// Base stations to notify that the host is here, once this one is on the tree.
    previous: Vec<Addr>,
    /// Time of the next notice to the candidate set (no-path trigger).
    announce: Option<Time>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum State {
    Candidate,
    Serving,
    Left,
}

impl AccessRouter {
    /// A base station below `parent`, whose hosts may go to those of `set`, and which asks `server` about them; the first
    /// beacon comes at `phase`.
    pub fn new(
        (address, parent): (Addr, Addr),
        (set, server): (&[Addr], Option<Addr>),
        phase: Duration,
        params: &Params,
    ) -> AccessRouter {
        AccessRouter {
            address,
            parent,
            params: params.clone(),
            set: set.to_vec(),
            beacons: Beacons::new(phase, &params.detection),
            present: BTreeSet::new(),
            newest: Newest::default(),
            pruned: BTreeMap::new(),
            members: BTreeMap::new(),
            gate: Gate::new(server),
        }
    }

    /// A host attaches. It waits for the server, if there is one.
    fn attach_requested(
        &mut self,
        (host, id): (Addr, Identification),
        previous: Vec<Addr>,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        if !self.present.contains(&host) {
            return;
        }
        match self.gate.knock((host, id), previous, now) {
            Knock::In(previous) => self.attach((host, id), previous, now, out),
            Knock::Ask(asked) => self.ask(host, asked, out),
            Knock::Wait => {}
        }
    }

    fn ask(&self, host: Addr, id: Identification, out: &mut Vec<Action>) {
        if let Some(server) = self.gate.server {
            send(server, (host, id, Kind::AaaRequest), out);
        }
    }

    /// The host's membership, which begins now if there is none.
    fn member(&mut self, host: Addr, state: State, now: Time, out: &mut Vec<Action>) -> &mut Member {
        let last = self.pruned.get(&host).copied().unwrap_or_default();
        let parent = self.parent;
        self.members.entry(host).or_insert_with(|| Member {
            graft: Graft::start(host, parent, last, now, out),
            state,
            buffering: false,
            until: None,
            moved: false,
            previous: Vec::new(),
            announce: None,
        })
    }

    fn attach(
        &mut self,
        (host, id): (Addr, Identification),
        previous: Vec<Addr>,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        if !self.newest.is_news(host, id) {
            return;
        }
        let announces = self.params.trigger.by == TriggerBy::NoPath;
        let member = self.member(host, State::Candidate, now, out);
        if std::mem::take(&mut member.buffering) {
            out.push(Action::Note { host, phase: Phase::Flushed });
            out.push(Action::Release { host, via: Via::Air, mark: None });
            out.push(Action::DiscardBuffer { host });
        }
        if member.state != State::Serving || member.moved {
            out.push(Action::SetRoute { host, from: None, via: Via::Air, watch: false });
        }
        (member.state, member.until, member.moved) = (State::Serving, None, false);
        member.announce = announces.then_some(now);
        member.previous = previous;
        send(host, (host, id, Kind::AttachAcknowledge), out);
        self.tell_previous(host, out);
        self.announce(host, now, out);
    }

    /// Tells base stations where the host was that it is here, once this one is on the tree.
    fn tell_previous(&mut self, host: Addr, out: &mut Vec<Action>) {
        let id = self.newest.of(host);
        let Some(member) = self.members.get_mut(&host) else { return };
        if member.state == State::Serving && member.graft.is_on_tree() {
            for previous in member.previous.drain(..) {
                send(previous, (host, id, Kind::Moved), out);
            }
        }
    }

    /// Tells the candidate set of a host, and again before its prune timers end.
    fn announce(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        let Some(member) = self.members.get_mut(&host) else { return };
        if member.announce.is_none_or(|at| at > now) {
            return;
        }
        member.announce = Some(now + Duration::from_nanos(PRUNE_TIMER.as_nanos() / 2));
        let named = self.params.trigger.names(self.address, &self.set);
        self.trigger(host, &named, out);
    }

    fn trigger(&self, host: Addr, named: &[Addr], out: &mut Vec<Action>) {
        let id = self.newest.of(host);
        for candidate in named.iter().filter(|candidate| **candidate != self.address) {
            send(*candidate, (host, id, Kind::Trigger), out);
        }
    }

    fn predicted(&self, host: Addr, expected: Addr, out: &mut Vec<Action>) {
        if self.members.get(&host).is_some_and(|member| member.state == State::Serving && !member.moved) {
            out.push(Action::Note { host, phase: Phase::TriggerSent });
            self.trigger(host, &self.params.trigger.names(expected, &self.set), out);
        }
    }

    /// The host may come.
    fn triggered(&mut self, host: Addr, id: Identification, now: Time, out: &mut Vec<Action>) {
        let serves = self.members.get(&host).is_some_and(|member| member.state == State::Serving);
        if !self.newest.is_news(host, id) || serves {
            return;
        }
        let until = now + PRUNE_TIMER;
        let keeps = self.params.buffer.is_at(BufferPlace::New);
        let member = self.member(host, State::Candidate, now, out);
        if member.state == State::Left && member.buffering {
            // Packets that wait here are for the base station where the host is, which will report this.
            member.until = Some(until);
            return;
        }
        let left = std::mem::replace(&mut member.state, State::Candidate) == State::Left;
        (member.until, member.moved, member.announce) = (Some(until), false, None);
        if keeps && !member.buffering {
            member.buffering = true;
            out.push(Action::StartBuffering { host });
        } else if left && !keeps {
            end_way(host, member, out);
        }
    }

    fn host_gone(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        self.present.remove(&host);
        self.gate.forget(host);
        let keeps = self.params.buffer.is_at(BufferPlace::Old);
        let Some(member) = self.members.get_mut(&host) else { return };
        if member.state != State::Serving {
            return;
        }
        member.state = State::Left;
        let wait = if member.moved { Duration::ZERO } else { PRUNE_TIMER };
        member.until = member.until.or(Some(now + wait));
        if keeps && !member.moved {
            member.buffering = true;
            out.push(Action::StartBuffering { host });
        }
    }

    /// The host is attached at another base station.
    fn moved(&mut self, host: Addr, to: Addr, id: Identification, now: Time, out: &mut Vec<Action>) {
        if id <= self.newest.of(host) {
            return;
        }
        self.newest.is_news(host, id);
        let bicast = self.params.redundancy.bicast;
        let Some(member) = self.members.get_mut(&host) else { return };
        member.moved = true;
        member.announce = None;
        if member.buffering && member.state == State::Left {
            let via = Via::Tunnel(to);
            out.push(Action::Release { host, via, mark: None });
            out.push(Action::SetRoute { host, from: None, via, watch: false });
            out.push(Action::DiscardBuffer { host });
            member.buffering = false;
        }
        if bicast > Duration::ZERO {
            member.until = Some(now + bicast);
        } else if member.state != State::Serving {
            member.until = Some(now);
        }
    }

    fn acknowledged(&mut self, host: Addr, id: Identification, now: Time, out: &mut Vec<Action>) {
        let Some(member) = self.members.get_mut(&host) else { return };
        if !member.graft.acknowledged(id, now) {
            return;
        }
        let phase = match member.state {
            State::Candidate => Phase::CandidateJoined,
            State::Serving | State::Left => Phase::PathJoined,
        };
        out.push(Action::Note { host, phase });
        self.tell_previous(host, out);
    }

    fn on_time(&mut self, now: Time, out: &mut Vec<Action>) {
        if self.beacons.are_due(now) {
            broadcast(Kind::Beacon, out);
        }
        for (host, id) in self.gate.on_time(now) {
            self.ask(host, id, out);
        }
        let pruned = &mut self.pruned;
        for (host, mut member) in std::mem::take(&mut self.members) {
            if member.until.is_some_and(|until| until <= now) {
                end_way(host, &mut member, out);
                pruned.insert(host, member.graft.prune(now, out));
                out.push(Action::Note { host, phase: Phase::BranchReleased });
            } else {
                member.graft.on_time(now, out);
                self.members.insert(host, member);
            }
        }
        let hosts: Vec<Addr> = self.members.keys().copied().collect();
        hosts.into_iter().for_each(|host| self.announce(host, now, out));
    }
}

/// Packets for the host have no way here any more.
fn end_way(host: Addr, member: &mut Member, out: &mut Vec<Action>) {
    out.push(Action::ClearRoute { host, from: None });
    if std::mem::take(&mut member.buffering) {
        out.push(Action::DiscardBuffer { host });
    }
}

impl Role for AccessRouter {
    fn state(&self, host: Addr) -> StateName {
        match self.members.get(&host).map(|member| member.state) {
            None => StateName::None,
            Some(State::Candidate) => StateName::Candidate,
            Some(State::Serving) => StateName::Serving,
            Some(State::Left) => StateName::Left,
        }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.members.keys().copied()
    }
}

impl Agent for AccessRouter {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Trigger(L2Trigger::HostArrived { host }) => {
                self.present.insert(host);
            }
            Input::Trigger(L2Trigger::HostGone { host }) => self.host_gone(host, now, out),
            Input::Trigger(L2Trigger::HandoverPredicted { host, base_station }) => {
                self.predicted(host, base_station, out);
            }
            Input::Message { from, message: Message { host: Some(host), id, kind } } => match kind {
                Kind::Attach { previous } if from == host => {
                    self.attach_requested((host, id), previous, now, out);
                }
                Kind::AaaAnswer { accepted } if Some(from) == self.gate.server => {
                    if let Some((id, previous)) = self.gate.answered((host, id), accepted) {
                        self.attach((host, id), previous, now, out);
                    }
                }
                Kind::JoinAcknowledge if from == self.parent => self.acknowledged(host, id, now, out),
                Kind::Trigger => self.triggered(host, id, now, out),
                Kind::Moved => self.moved(host, from, id, now, out),
                _ => {}
            },
            Input::Deadline => self.on_time(now, out),
            _ => {}
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        let members = self.members.values();
        let times = members.flat_map(|member| [Some(member.graft.deadline()), member.until, member.announce]);
        let own = [self.beacons.deadline()];
        times.chain(own).flatten().chain(self.gate.deadlines()).for_each(each);
    }
}
