//! The mobile host: reports its place through its base station, often while it is active, rarely while it is idle.
//!
//! Without a base station it sends nothing.

use super::{Action, Handoff, Input, Kind, Message, Params, Phase};
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
    /// When it is idle unless there is data; `None`: it is.
    active_until: Option<Time>,
    /// When the regular update follows a semisoft one.
    regular_at: Option<Time>,
    /// When the next update is due, and the paging area that the last paging update was sent in.
    next_update: Option<Time>,
    paged_in: Option<Addr>,
}

impl MobileHost {
    /// A host that hears nobody; `areas`: the paging area of each base station.
    pub fn new(address: Addr, areas: BTreeMap<Addr, Addr>, params: &Params) -> MobileHost {
        MobileHost {
            address,
            params: params.clone(),
            detector: Detector::new(&params.detection),
            areas,
            id: Identification::default(),
            links: BTreeSet::new(),
            active_until: None,
            regular_at: None,
            next_update: None,
            paged_in: None,
        }
    }

    fn found(&mut self, found: Option<Found>, now: Time, out: &mut Vec<Action>) {
        match found {
            Some(Found::Moved(base_station)) if self.active_until.is_some() => {
                let hears_another = self.links.iter().any(|link| *link != base_station);
                if self.params.handoff == Handoff::Semisoft && hears_another && self.paged_in.is_some() {
                    self.regular_at = Some(now + self.params.semisoft_delay);
                    self.send(Kind::RouteUpdate { semisoft: true }, now, out);
                    out.push(Action::Note { host: self.address, phase: Phase::SemisoftSent });
                } else {
                    self.update_route(true, now, out);
                }
            }
            Some(Found::Moved(base_station)) if self.paged_in != self.areas.get(&base_station).copied() => {
                self.update_pages(now, out);
            }
            Some(Found::Lost) => self.regular_at = None,
            Some(Found::Moved(_)) | None => {}
        }
    }

    /// The old base station of a semisoft handoff has gone: it is time to be there altogether.
    fn hurry(&mut self, now: Time, out: &mut Vec<Action>) {
        let current = self.detector.current();
        if self.regular_at.is_some() && self.links.iter().all(|link| Some(*link) == current) {
            self.update_route(true, now, out);
        }
    }

    fn update_route(&mut self, is_first: bool, now: Time, out: &mut Vec<Action>) {
        self.regular_at = None;
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
        let until = now + self.params.active_state_timeout;
        if self.active_until.replace(until).is_none() {
            out.push(Action::Note { host: self.address, phase: Phase::HostActive });
            self.update_route(false, now, out);
        }
    }

    fn on_time(&mut self, now: Time, out: &mut Vec<Action>) {
        let found = self.detector.on_time(now);
        self.found(found, now, out);
        if self.active_until.take_if(|until| *until <= now).is_some() {
            self.regular_at = None;
            out.push(Action::Note { host: self.address, phase: Phase::HostIdle });
            self.update_pages(now, out);
        }
        if self.regular_at.is_some_and(|at| at <= now) {
            self.update_route(true, now, out);
        }
        if self.next_update.is_some_and(|next| next <= now) {
            match self.active_until {
                Some(_) if self.regular_at.is_none() => self.update_route(false, now, out),
                // The regular update is due soon.
                Some(_) => self.next_update = Some(now + self.params.route_update_time),
                None => self.update_pages(now, out),
            }
        }
    }
}

impl Role for MobileHost {
    fn state(&self, _: Addr) -> StateName {
        match (self.active_until, self.regular_at) {
            (None, _) => StateName::Idle,
            (_, Some(_)) => StateName::Semisoft,
            (_, None) => StateName::Active,
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
        let own = [self.active_until, self.regular_at, self.next_update, self.detector.deadline()];
        own.into_iter().flatten().for_each(each);
    }
}
