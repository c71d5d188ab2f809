//! A router of the access network, and the gateway: it sets up a host's route as the messages between base stations
//! pass.
//!
//! A message of an earlier registration has no effect and is not passed on.

use super::entries::Entries;
use super::message::Ends;
use super::refresher::Refresher;
use super::tree_position::TreePosition;
use super::{Action, Input, Kind, Message, Params, Phase, Scheme};
use crate::blocks::PRUNE_TIMER;
use crate::signal::send;
use crate::transitions::Role;
use crate::{Agent, Identification};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;

crate::transitions! {
    Router, "state of a host": None "none", Routed "routed", Turning "turning", Streaming "streaming", Holding "holding";
    "any" | "path-power-up" | "route to where it came from; the gateway acknowledges" | "release, route, no route, discard buffer, path-power-up, path-acknowledge" | "routed";
    "none, routed, turning" | "path-update" | "route to the new base station, with UNF and MSF, or between it and where the paths part" | "route, path-update, path-power-up" | "routed";
    "routed, turning" | "path-update" | "MNF, where the paths part, and from there to the old base station" | "copies, path-update" | "turning";
    "none, routed, streaming" | "path-update" | "SSF, from the old base station to where the paths part" | "route, no route, path-update, path-power-up" | "streaming";
    "streaming, holding" | "path-update" | "of a later registration" | "release, route, no route, discard buffer, path-update" | "streaming, routed";
    "any" | "path-update" | "not older" | "path-update" | "same";
    "none, routed, turning" | "path-switch" | "not older" | "route, path-switch" | "routed";
    "routed, streaming" | "path-switch" | "SSF, where the paths part: holds packets from elsewhere back" | "start buffering, path-switch" | "holding";
    "streaming, holding, turning" | "path-switch" | "not older" | "route, path-switch" | "same";
    "streaming, holding" | "path-switch" | "it returns" | "release, route, no route, discard buffer, path-switch" | "routed";
    "none, routed, turning" | "path-refresh" | "newer" | "route" | "routed";
    "streaming" | "path-refresh" | "newer" | "route" | "same";
    "holding" | "path-refresh" | "newer" | "release, route, discard buffer" | "streaming, routed";
    "turning" | "time" | "bicast over" | "route" | "routed";
    "holding, streaming" | "time" | "prune timer, or lifetime of the stream over" | "release, route, no route, discard buffer" | "streaming, routed";
    "routed, streaming, holding" | "time" | "time to refresh, one host" | "path-refresh" | "same";
    "routed, turning, streaming" | "time" | "lifetime over" | "no route" | "none";
}

/// HAWAII at a router.
#[derive(Clone, Debug)]
pub struct Router {
    position: TreePosition,
    params: Params,
    entries: Entries,
    refresher: Refresher,
}

impl Router {
    /// A router that knows no host; its first refresh comes at `phase`.
    pub fn new(position: TreePosition, phase: Duration, params: &Params) -> Router {
        Router {
            entries: Entries::new(params.entries.lifetime),
            refresher: Refresher::new(position.uplink, phase, params),
            position,
            params: params.clone(),
        }
    }

    fn power_up(&mut self, of: Registration, (from, new): (Addr, Addr), now: Time, out: &mut Vec<Action>) {
        self.entries.end_stream(of.0, from, out);
        self.entries.set(of, from, now, out);
        match self.position.uplink {
            Some(uplink) => send(uplink, (of.0, of.1, Kind::PowerUp { new }), out),
            None => send(new, (of.0, of.1, Kind::PathAcknowledge), out),
        }
    }

    fn update(&mut self, of: Registration, (from, ends): (Addr, Ends), now: Time, out: &mut Vec<Action>) {
        let (host, _) = of;
        let Ends { new, old } = ends;
        let to_old = !self.params.scheme.forwards();
        let next = self.position.towards(if to_old { old } else { new });
        let Some((way, next)) = self.position.towards(new).zip(next) else { return };
        let parts = self.position.parts(new, old);
        let before = self.entries.way(host);
        match self.params.scheme {
            _ if before == Some(way) || before.is_none() => self.entries.set(of, way, now, out),
            Scheme::Unf | Scheme::Msf => {
                self.entries.set(of, way, now, out);
                note_if(parts, host, Phase::CrossOverSwitched, out);
            }
            Scheme::Mnf if parts || Some(from) == self.position.uplink => {
                if !self.entries.waits(of) {
                    let at = now + self.params.bicast;
                    self.entries.turn(of, way, (at, parts), out);
                    note_if(parts, host, Phase::BicastBegun, out);
                }
            }
            Scheme::Ssf if Some(from) != self.position.uplink => {}
            Scheme::Mnf | Scheme::Ssf => self.entries.set(of, way, now, out),
        }
        if self.params.scheme == Scheme::Ssf {
            // Nothing turns the stream back that comes now.
            self.entries.end_stream(host, next, out);
            if Some(from) != self.position.uplink {
                self.entries.stream(host, from, way, now, out);
            }
        }
        if parts
            && before.is_none()
            && let Some(uplink) = self.position.uplink
        {
            send(uplink, (of.0, of.1, Kind::PowerUp { new }), out);
        }
        send(next, (of.0, of.1, Kind::Update { ends }), out);
    }

    fn switch(
        &mut self,
        of: Registration,
        (from, ends, returns): (Addr, Ends, bool),
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let (host, _) = of;
        let next = self.position.towards(if returns { ends.new } else { ends.old });
        let Some((way, next)) = self.position.towards(ends.new).zip(next) else { return };
        let parts = self.position.parts(ends.new, ends.old);
        if returns {
            self.entries.end_stream(host, from, out);
            self.entries.set(of, way, now, out);
        } else if parts && self.entries.way(host) != Some(way) && !self.entries.waits(of) {
            out.push(Action::Note { host, phase: Phase::CrossOverSwitched });
            if self.params.holds_at_switch() && self.entries.way(host).is_some() {
                out.push(Action::Note { host, phase: Phase::HoldBegun });
                self.entries.hold(of, way, now + PRUNE_TIMER, out);
            } else {
                self.entries.set(of, way, now, out);
            }
        }
        send(next, (of.0, of.1, Kind::Switch { ends, returns }), out);
    }
}

type Registration = (Addr, Identification);

fn note_if(condition: bool, host: Addr, phase: Phase, out: &mut Vec<Action>) {
    if condition {
        out.push(Action::Note { host, phase });
    }
}

impl Role for Router {
    fn state(&self, host: Addr) -> StateName {
        match self.entries.way(host) {
            _ if self.entries.is_held(host) => StateName::Holding,
            _ if self.entries.turns(host) => StateName::Turning,
            _ if self.entries.has_streams(host) => StateName::Streaming,
            Some(_) => StateName::Routed,
            None => StateName::None,
        }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.entries.hosts()
    }
}

impl Agent for Router {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Message { from, message: Message { kind: Kind::Refresh { hosts }, .. } } => {
                for (host, id) in hosts {
                    if self.entries.heeds(host, id) && !self.entries.waits((host, id)) {
                        self.entries.set((host, id), from, now, out);
                    }
                }
            }
            Input::Message { from, message: Message { host: Some(host), id, kind } } => {
                let is_later = self.entries.is_later(host, id);
                if !self.entries.heeds(host, id) {
                    return;
                }
                if is_later {
                    self.entries.end_hold(host, now, out);
                }
                match kind {
                    Kind::PowerUp { new } => self.power_up((host, id), (from, new), now, out),
                    Kind::Update { ends } => self.update((host, id), (from, ends), now, out),
                    Kind::Switch { ends, returns } => {
                        self.switch((host, id), (from, ends, returns), now, out);
                    }
                    _ => {}
                }
            }
            Input::Deadline => {
                self.entries.on_time(now, out);
                if self.refresher.is_due(now) {
                    self.refresher.send(self.entries.refreshed(self.position.uplink), out);
                }
            }
            _ => {}
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        self.entries.deadlines(each);
        self.refresher.deadline().into_iter().for_each(each);
    }
}
