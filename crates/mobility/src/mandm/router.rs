//! A router of the tree: a host's packets go down every branch that has been joined. The border router is the root.
//!
//! A message that is older than the last one about a branch has no effect.

use super::graft::Graft;
use super::{Action, Input, Kind, Message, Phase, RETRANSMIT};
use crate::blocks::{Refreshed, SoftRoutes, SoftState};
use crate::signal::send;
use crate::transitions::Role;
use crate::{Agent, Direction, Identification, Via};
use roamlab_engine::Time;
use roamlab_packet::Addr;
use std::collections::BTreeMap;

crate::transitions! {
    Router, "state of a host": Off "off", Joining "joining", On "on";
    "off" | "join" | "" | "copies, join" | "joining";
    "off" | "join" | "at the root" | "copies, join-acknowledge" | "on";
    "joining" | "join" | "of another node" | "copies" | "same";
    "on" | "join" | "" | "copies, join-acknowledge" | "same";
    "joining" | "join-acknowledge" | "of the last join" | "join-acknowledge" | "on";
    "on" | "join-acknowledge" | "of the last join" | "" | "same";
    "joining, on" | "time" | "no acknowledge, or time to refresh" | "join" | "same";
    "joining, on" | "prune, time" | "a branch is pruned, or its lifetime over" | "no copies" | "same";
    "joining, on" | "prune, time" | "the last branch is" | "no copies, prune" | "off";
    "off" | "prune" | "again" | "" | "same";
    "off" | "packet" | "from above, not just after the prune" | "prune" | "same";
}

/// M&M at a router.
#[derive(Clone, Debug)]
pub struct Router {
    /// The next one towards the border router; `None`: it is the border router.
    parent: Option<Addr>,
    branches: SoftRoutes,
    grafts: BTreeMap<Addr, Graft>,
    /// Of the last prune about each host.
    pruned: BTreeMap<Addr, Identification>,
    /// Joins that wait for the acknowledge from above: host and node, and the join's identification.
    waiting: BTreeMap<(Addr, Addr), Identification>,
}

impl Router {
    /// A router without branches below `parent`.
    pub fn new(parent: Option<Addr>) -> Router {
        Router {
            parent,
            branches: SoftRoutes::default(),
            grafts: BTreeMap::new(),
            pruned: BTreeMap::new(),
            waiting: BTreeMap::new(),
        }
    }

    fn join(&mut self, host: Addr, child: Addr, id: Identification, now: Time, out: &mut Vec<Action>) {
        let first = self.branches.of(host).next().is_none();
        let until = now + SoftState::USUAL.lifetime;
        match self.branches.refresh(host, child, id, until) {
            Refreshed::Stale => return,
            Refreshed::Known => {}
            Refreshed::New => {
                out.push(Action::AddBranch { host, from: None, via: Via::Neighbour(child), watch: false });
                if !first {
                    out.push(Action::Note { host, phase: Phase::CrossOverJoined });
                }
            }
        }
        if let Some(parent) = self.parent {
            let last = self.pruned.get(&host).copied().unwrap_or_default();
            let graft = self.grafts.entry(host).or_insert_with(|| Graft::start(host, parent, last, now, out));
            if !graft.is_on_tree() {
                self.waiting.insert((host, child), id);
                return;
            }
        }
        acknowledge(host, child, id, out);
    }

    fn acknowledged(&mut self, host: Addr, id: Identification, now: Time, out: &mut Vec<Action>) {
        let is_new = self.grafts.get_mut(&host).is_some_and(|graft| graft.acknowledged(id, now));
        if !is_new {
            return;
        }
        self.waiting.retain(|&(waiting, child), id| {
            if waiting == host {
                acknowledge(host, child, *id, out);
            }
            waiting != host
        });
    }

    /// A branch is gone.
    fn cut(&mut self, host: Addr, child: Addr, now: Time, out: &mut Vec<Action>) {
        out.push(Action::RemoveBranch { host, from: None, via: Via::Neighbour(child) });
        self.waiting.remove(&(host, child));
        if self.branches.of(host).next().is_none()
            && let Some(graft) = self.grafts.remove(&host)
        {
            self.pruned.insert(host, graft.prune(now, out));
        }
    }

    /// The next one up has not heard that there are no branches, unless the packet was on its way before the prune.
    fn prune_again(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        let wait = RETRANSMIT;
        let pruned = self.pruned.get_mut(&host).filter(|id| now >= Time::from_nanos(id.0) + wait);
        if let Some((parent, id)) = self.parent.zip(pruned) {
            *id = id.newer(now);
            send(parent, (host, *id, Kind::Prune), out);
        }
    }
}

fn acknowledge(host: Addr, child: Addr, id: Identification, out: &mut Vec<Action>) {
    send(child, (host, id, Kind::JoinAcknowledge), out);
}

impl Role for Router {
    fn state(&self, host: Addr) -> StateName {
        match self.grafts.get(&host) {
            _ if self.branches.of(host).next().is_none() => StateName::Off,
            Some(graft) if !graft.is_on_tree() => StateName::Joining,
            Some(_) | None => StateName::On,
        }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.branches.hosts()
    }
}

impl Agent for Router {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Message { from, message: Message { host: Some(host), id, kind } } => match kind {
                Kind::Join => self.join(host, from, id, now, out),
                Kind::JoinAcknowledge if Some(from) == self.parent => self.acknowledged(host, id, now, out),
                Kind::Prune if self.branches.remove(host, from, id) => self.cut(host, from, now, out),
                _ => {}
            },
            Input::Data { host, direction: Direction::Down, from, lost: true, .. }
                if from.is_some() && from == self.parent && self.branches.of(host).next().is_none() =>
            {
                self.prune_again(host, now, out);
            }
            Input::Deadline => {
                for (host, child) in self.branches.expire(now) {
                    self.cut(host, child, now, out);
                }
                self.grafts.values_mut().for_each(|graft| graft.on_time(now, out));
            }
            _ => {}
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        self.grafts.values().map(Graft::deadline).chain(self.branches.deadline()).for_each(each);
    }
}
