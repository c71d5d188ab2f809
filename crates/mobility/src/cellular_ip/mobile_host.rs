//! The mobile host: reports its place through its base station, often while it is active, rarely while it is idle.
//!
//! Without a base station it sends nothing.

use super::{ACTIVE_STATE_TIMEOUT, Action, Handoff, Input, Kind, Message, Params, Phase, SEMISOFT_DELAY};
use crate::blocks::{Detector, Found};
use crate::signal::send;
use crate::transitions::Role;
use crate::{Agent, Identification, L2Trigger};
use roamlab_engine::Time;
use roamlab_packet::Addr;
use std::collections::{BTreeMap, BTreeSet};

crate::transitions! {
    MobileHost, "state": Idle "idle", Active "active", Semisoft "semisoft";
    "any" | "link up, link down, base-station-beacon" | "" | "" | "same";
    "idle" | "link up, link down, base-station-beacon, time" | "its base station is in another paging area" | "paging-update" | "same";
    "active" | "link up, link down, base-station-beacon, time" | "its base station is another one" | "route-update" | "same";
    "active" | "link up, link down, base-station-beacon, time" | "the same, semisoft, and it hears the old one" | "route-update" | "semisoft";
    "semisoft" | "link up, link down, base-station-beacon, time" | "its base station is a third one" | "route-update" | "same";
    "semisoft" | "link up, link down, base-station-beacon, time" | "semisoft delay over, or the old base station gone" | "route-update" | "active";
    "active" | "time" | "route-update time over" | "route-update" | "same";
    "active, semisoft" | "time" | "active-state timeout" | "paging-update" | "idle";
    "idle" | "time" | "paging-update time over" | "paging-update" | "same";
    "idle" | "packet" | "" | "route-update" | "active";
    "active, semisoft" | "packet" | "restarts the active-state timeout" | "" | "same";
}

/// Cellular IP at a mobile host.
#[derive(Clone, Debug)]
pub struct MobileHost {
    address: Addr,
    params: Params,
    detector: Detector,
    /// The paging area of each base station, which its beacons tell.
    areas: BTreeMap<Addr, Addr>,
    id: Identification,
    /// Base stations that layer 2 hears.
    links: BTreeSet<Addr>,
    state: State,
    /// When the next update is due, and the paging area that the last paging update was sent in.
    next_update: Option<Time>,
    paged_in: Option<Addr>,
}

/// State of the network's route to the host.
#[derive(Copy, Clone, Debug)]
enum State {
    /// It has a paging area.
    Idle,
    /// Until that time, unless there is data.
    Active { until: Time },
    /// The same, and the regular update follows a semisoft one.
    Semisoft { until: Time, regular_at: Time },
}

impl MobileHost {
    /// A host that hears no base station; `areas`: the paging area of each base station.
    pub fn new(address: Addr, areas: BTreeMap<Addr, Addr>, params: &Params) -> MobileHost {
        MobileHost {
            address,
            params: params.clone(),
            detector: Detector::new(&params.detection),
            areas,
            id: Identification::default(),
            links: BTreeSet::new(),
            state: State::Idle,
            next_update: None,
            paged_in: None,
        }
    }

    fn found(&mut self, found: Option<Found>, now: Time, out: &mut Vec<Action>) {
        match (found, self.state) {
            (Some(Found::Moved(base_station)), State::Active { until } | State::Semisoft { until, .. }) => {
                let hears_another = self.links.iter().any(|link| *link != base_station);
                if self.params.handoff == Handoff::Semisoft && hears_another && self.paged_in.is_some() {
                    let regular_at = now + SEMISOFT_DELAY;
                    self.state = State::Semisoft { until, regular_at };
                    self.send(Kind::RouteUpdate { semisoft: true }, now, out);
                    out.push(Action::Note { host: self.address, phase: Phase::SemisoftSent });
                } else {
                    self.update_route(true, now, out);
                }
            }
            (Some(Found::Moved(base_station)), State::Idle)
                if self.paged_in != self.areas.get(&base_station).copied() =>
            {
                self.update_pages(now, out);
            }
            (Some(Found::Lost), State::Semisoft { until, .. }) => self.state = State::Active { until },
            _ => {}
        }
    }

    /// The old base station of a semisoft handoff has gone: it is time to be there altogether.
    fn hurry(&mut self, now: Time, out: &mut Vec<Action>) {
        let current = self.detector.current();
        if matches!(self.state, State::Semisoft { .. })
            && self.links.iter().all(|link| Some(*link) == current)
        {
            self.update_route(true, now, out);
        }
    }

    fn update_route(&mut self, is_first: bool, now: Time, out: &mut Vec<Action>) {
        if let State::Semisoft { until, .. } = self.state {
            self.state = State::Active { until };
        }
        self.next_update = Some(now + self.params.route_update_time);
        if let Some(base_station) = self.detector.current() {
            self.paged_in = self.areas.get(&base_station).copied();
            self.send(Kind::RouteUpdate { semisoft: false }, now, out);
            if is_first {
                out.push(Action::Note { host: self.address, phase: Phase::RouteUpdateSent });
            }
        }
    }

    fn update_pages(&mut self, now: Time, out: &mut Vec<Action>) {
        self.next_update = Some(now + self.params.paging_update_time);
        if let Some(base_station) = self.detector.current() {
            self.paged_in = self.areas.get(&base_station).copied();
            self.send(Kind::PagingUpdate, now, out);
        }
    }

    fn send(&mut self, kind: Kind, now: Time, out: &mut Vec<Action>) {
        self.id = self.id.newer(now);
        if let Some(to) = self.detector.current() {
            send(to, (self.address, self.id, kind), out);
        }
    }

    fn data(&mut self, now: Time, out: &mut Vec<Action>) {
        let later = now + ACTIVE_STATE_TIMEOUT;
        match &mut self.state {
            State::Active { until } | State::Semisoft { until, .. } => *until = later,
            State::Idle => {
                self.state = State::Active { until: later };
                out.push(Action::Note { host: self.address, phase: Phase::HostActive });
                self.update_route(false, now, out);
            }
        }
    }

    fn on_time(&mut self, now: Time, out: &mut Vec<Action>) {
        let found = self.detector.on_time(now);
        self.found(found, now, out);
        if self.state.until().is_some_and(|until| until <= now) {
            self.state = State::Idle;
            out.push(Action::Note { host: self.address, phase: Phase::HostIdle });
            self.update_pages(now, out);
        }
        if self.state.regular_at().is_some_and(|at| at <= now) {
            self.update_route(true, now, out);
        }
        if self.next_update.is_some_and(|next| next <= now) {
            match self.state {
                State::Active { .. } => self.update_route(false, now, out),
                // The regular update is due soon.
                State::Semisoft { .. } => self.next_update = Some(now + self.params.route_update_time),
                State::Idle => self.update_pages(now, out),
            }
        }
    }
}

impl State {
    /// When the host is idle without more data.
    fn until(self) -> Option<Time> {
        match self {
            State::Idle => None,
            State::Active { until } | State::Semisoft { until, .. } => Some(until),
        }
    }

    fn regular_at(self) -> Option<Time> {
        match self {
            State::Semisoft { regular_at, .. } => Some(regular_at),
            State::Idle | State::Active { .. } => None,
        }
    }
}

impl Role for MobileHost {
    fn state(&self, _: Addr) -> StateName {
        match self.state {
            State::Idle => StateName::Idle,
            State::Active { .. } => StateName::Active,
            State::Semisoft { .. } => StateName::Semisoft,
        }
    }
}

impl Agent for MobileHost {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Trigger(trigger) => {
                match trigger {
                    L2Trigger::LinkUp { base_station } => self.links.insert(base_station),
                    L2Trigger::LinkDown { base_station } => self.links.remove(&base_station),
                    _ => return,
                };
                let found = self.detector.on_trigger(&trigger, now);
                self.found(found, now, out);
                self.hurry(now, out);
            }
            Input::Message { from, message: Message { kind: Kind::BaseStationBeacon, .. } } => {
                let found = self.detector.on_beacon(from, now);
                self.found(found, now, out);
            }
            Input::Data { .. } => self.data(now, out),
            Input::Deadline => self.on_time(now, out),
            Input::Message { .. } => {}
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        let own = [self.state.until(), self.state.regular_at(), self.next_update, self.detector.deadline()];
        own.into_iter().flatten().for_each(each);
    }
}
