//! A router's forwarding entries: one route for each host, and with single stream forwarding routes by the previous
//! hop.
//!
//! A host has one route only. Of all messages about it the later registration wins, for any route.

use super::Action;
use crate::{Identification, Via};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use std::collections::BTreeMap;

/// The entries of a router.
#[derive(Clone, Debug)]
pub struct Entries {
    lifetime: Duration,
    hosts: BTreeMap<Addr, Known>,
}

/// State of a host in a router.
#[derive(Clone, Debug, Default)]
struct Known {
    /// The last registration that was received, which remains after the entries.
    last: Identification,
    way: Option<Entry>,
    /// When this way replaces the present one (bicast).
    turn: Option<Later>,
    /// Ways of packets that come from an adjacent node, and when they end.
    streams: BTreeMap<Addr, (Addr, Time)>,
    /// Packets wait here, at most until they take this way.
    held: Option<Later>,
}

#[derive(Copy, Clone, Debug)]
struct Entry {
    way: Addr,
    /// The registration that set it.
    id: Identification,
    until: Time,
}

/// A way that packets take from a time on.
#[derive(Copy, Clone, Debug)]
struct Later {
    at: Time,
    way: Addr,
    id: Identification,
}

impl Entries {
    /// None; what is not refreshed ends after `lifetime`.
    pub fn new(lifetime: Duration) -> Entries {
        Entries { lifetime, hosts: BTreeMap::new() }
    }

    /// The hosts that have registered.
    pub fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.hosts.keys().copied()
    }

    /// True if the host's packets wait here.
    pub fn is_held(&self, host: Addr) -> bool {
        self.hosts.get(&host).is_some_and(|known| known.held.is_some())
    }

    /// True if another route replaces the host's at a later time.
    pub fn turns(&self, host: Addr) -> bool {
        self.hosts.get(&host).is_some_and(|known| known.turn.is_some())
    }

    /// True if packets for the host have routes by the previous hop.
    pub fn has_streams(&self, host: Addr) -> bool {
        self.hosts.get(&host).is_some_and(|known| !known.streams.is_empty())
    }

    /// A message about this registration comes: whether it is to be heeded.
    pub fn heeds(&mut self, host: Addr, id: Identification) -> bool {
        let known = self.hosts.entry(host).or_default();
        let heeds = id >= known.last;
        known.last = known.last.max(id);
        heeds
    }

    /// Where the host's packets go.
    pub fn way(&self, host: Addr) -> Option<Addr> {
        Some(self.hosts.get(&host)?.way?.way)
    }

    /// True if this registration is later than all that were received.
    pub fn is_later(&self, host: Addr, id: Identification) -> bool {
        self.hosts.get(&host).is_none_or(|known| id > known.last)
    }

    /// True if the host's packets take another way later, by this registration.
    pub fn waits(&self, (host, id): (Addr, Identification)) -> bool {
        let later = self.hosts.get(&host).and_then(|known| known.turn.or(known.held));
        later.is_some_and(|later| later.id == id)
    }

    /// By this registration the host's packets go this way alone.
    pub fn set(&mut self, (host, id): (Addr, Identification), way: Addr, now: Time, out: &mut Vec<Action>) {
        let until = now + self.lifetime;
        let known = self.hosts.entry(host).or_default();
        let via = Via::Neighbour(way);
        let turned = known.turn.take().is_some();
        let before = known.way.replace(Entry { way, id, until });
        let held = known.held.take().is_some();
        if held {
            out.push(Action::Release { host, via, mark: None });
        }
        if held || turned || before.is_none_or(|before| before.way != way) {
            out.push(Action::SetRoute { host, from: None, via, watch: false });
        }
        if held {
            out.push(Action::DiscardBuffer { host });
        }
    }

    /// This way replaces the present one at a later time; until then packets go there too, if `copies`.
    pub fn turn(
        &mut self,
        (host, id): (Addr, Identification),
        way: Addr,
        (at, copies): (Time, bool),
        out: &mut Vec<Action>,
    ) {
        self.hosts.entry(host).or_default().turn = Some(Later { at, way, id });
        if copies {
            out.push(Action::AddBranch { host, from: None, via: Via::Neighbour(way), watch: false });
        }
    }

    /// Packets that come from an adjacent node go this way.
    pub fn stream(&mut self, host: Addr, from: Addr, way: Addr, now: Time, out: &mut Vec<Action>) {
        let until = now + self.lifetime;
        let known = self.hosts.entry(host).or_default();
        if known.streams.insert(from, (way, until)).is_none_or(|(before, _)| before != way) {
            let via = Via::Neighbour(way);
            out.push(Action::SetRoute { host, from: Some(from), via, watch: false });
        }
    }

    /// Packets that come from there have no way of their own any more.
    pub fn end_stream(&mut self, host: Addr, from: Addr, out: &mut Vec<Action>) {
        let known = self.hosts.entry(host).or_default();
        if known.streams.remove(&from).is_some() {
            out.push(Action::ClearRoute { host, from: Some(from) });
        }
    }

    /// The host's packets wait here, and take this way at a time or before.
    pub fn hold(&mut self, (host, id): (Addr, Identification), way: Addr, at: Time, out: &mut Vec<Action>) {
        self.hosts.entry(host).or_default().held = Some(Later { at, way, id });
        out.push(Action::StartBuffering { host });
    }

    /// Packets that wait here follow its way.
    pub fn end_hold(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        if let Some(Later { way, id, .. }) = self.hosts.get(&host).and_then(|known| known.held) {
            self.set((host, id), way, now, out);
        }
    }

    /// Hosts whose entries lead elsewhere than `uplink`, and the registrations that set them.
    pub fn refreshed(&self, uplink: Option<Addr>) -> Vec<(Addr, Identification)> {
        let hosts = self.hosts.iter().filter_map(|(host, known)| {
            let entry = known.way.filter(|entry| Some(entry.way) != uplink)?;
            Some((*host, entry.id))
        });
        hosts.collect()
    }

    /// Does what is due.
    pub fn on_time(&mut self, now: Time, out: &mut Vec<Action>) {
        let due = |known: &Known| known.turn.or(known.held).filter(|later| later.at <= now);
        let all: Vec<(Addr, Later)> =
            self.hosts.iter().filter_map(|(host, known)| Some((*host, due(known)?))).collect();
        for (host, Later { way, id, .. }) in all {
            self.set((host, id), way, now, out);
        }
        for (&host, known) in &mut self.hosts {
            known.streams.retain(|from, (_, until)| {
                let lives = *until > now;
                if !lives {
                    out.push(Action::ClearRoute { host, from: Some(*from) });
                }
                lives
            });
            if known.held.is_none() && known.way.take_if(|entry| entry.until <= now).is_some() {
                known.turn = None;
                out.push(Action::ClearRoute { host, from: None });
            }
        }
    }

    /// When something is due.
    pub fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        for known in self.hosts.values() {
            let later = [known.turn, known.held].into_iter().flatten().map(|later| later.at);
            let streams = known.streams.values().map(|(_, until)| *until);
            let way = known.way.filter(|_| known.held.is_none()).map(|entry| entry.until);
            later.chain(way).chain(streams).for_each(&mut *each);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lasts_a_lifetime_is_gone_when_it_is_over() {
        let [host, from, way] = [1, 2, 3].map(|number| Addr::new(0, number));
        let (at, mut out) = (|millis| Time::ZERO + Duration::from_millis(millis), Vec::new());
        let mut entries = Entries::new(Duration::from_millis(100));
        entries.stream(host, from, way, at(0), &mut out);
        out.clear();
        entries.on_time(at(99), &mut out);
        assert!(out.is_empty() && entries.has_streams(host));
        entries.on_time(at(100), &mut out);
        assert_eq!(out, [Action::ClearRoute { host, from: Some(from) }]);
        entries.deadlines(&mut |due| panic!("nothing is due, also not at {due:?}"));
    }
}
