//! A station that has a cell and scans: it announces that it is away, and returns.
//!
//! ```text
//!   station                     base station
//!      |  power-save                 |        it holds frames for the station from here on
//!      |---------------------------->|
//!      |  (other channels: for `most_away` at most, or one channel)
//!      |  awake                      |        and sends them
//!      |---------------------------->|
//!      |  (on the channel of its cell for `home_time`, then the same again, until all channels are scanned)
//! ```
//!
//! Sources: IEEE Std 802.11-2007 §11.2.1 (power management), mac80211 (`scan.c`, `offchannel.c`).
//!
//! DEVIATION: Linux also returns while it has frames to send. Here these wait until the time away is over.

use super::super::background::{Schedule, Strength};
use super::super::params::Scan;
use super::super::reception::Channels;
use super::super::transition::{ACCEPTED, NO_CANDIDATE, OnTransition, REJECTED};
use super::absence::{Away, Then};
use super::{NULL_DATA_WAIT, Offer, State, Station, StationAction, StationEvent};
use roamlab_engine::Time;

impl Station {
    /// An input of a station that has a cell: the level of the cell, requests of its base station, the air.
    pub(super) fn hear_with_cell(
        &mut self,
        heard: StationEvent,
        state: &State,
        now: Time,
        out: &mut Vec<StationAction>,
    ) {
        let own = self.cell();
        match (heard, state) {
            (StationEvent::Deauthenticated(cell), _) if own == Some(cell) => {
                self.lose(cell, "deauthenticated", now, out);
            }
            (StationEvent::Disassociated(cell), _) if own == Some(cell) => {
                self.lose(cell, "disassociated", now, out);
            }
            (StationEvent::Level(cell, strength), State::Associated { .. }) if own == Some(cell) => {
                self.measure(strength, now);
            }
            (StationEvent::Quiet, State::Announcing { .. }) => self.go_away(now, out),
            (StationEvent::Waiting(cell), State::Associated { .. }) if own == Some(cell) => {
                out.push(StationAction::Wake(cell));
            }
            (StationEvent::Transition { cell, request, channels }, state) if own == Some(cell) => match state
            {
                State::Associated { offer, .. } if self.authorised => {
                    self.away = None;
                    self.on_request(*offer, (request, channels), now, out);
                }
                _ => self.request = Some((request, channels)),
            },
            _ => {}
        }
    }

    /// It has entered a cell, whose level counts from now on.
    pub(super) fn watch_level(&mut self, offer: Offer, now: Time) {
        let level = |strength| match strength {
            Strength::Level(level) => Some(level),
            Strength::Since(_) => None,
        };
        let spec = self.wifi.background_scan.as_deref().zip(level(offer.strength));
        self.schedule = spec.map(|(spec, level)| Schedule::begin(spec.clone(), level, now));
        self.watch();
    }

    /// When it begins to scan, or continues.
    pub fn scans_at(&self) -> Option<Time> {
        match &self.away {
            Some(away) => away.resumes,
            None => self.schedule.as_ref().and_then(Schedule::due).filter(|_| self.authorised),
        }
    }

    /// The level of its cell.
    fn measure(&mut self, strength: Strength, now: Time) {
        if let (Some(schedule), Strength::Level(level)) = (&mut self.schedule, strength) {
            schedule.measure(level, now);
            self.watch();
        }
    }

    /// Begins a scan, or continues one.
    pub(super) fn scan_in_background(&mut self, home: Offer, now: Time, out: &mut Vec<StationAction>) {
        if self.away.is_none() {
            if let Some(schedule) = &mut self.schedule {
                schedule.scan_begins(now);
            }
            self.look_around(home, (None, self.neighbours), out);
        }
        self.announce(home, now, out);
    }

    /// A scan for a request, or by level, is what it does next.
    fn look_around(
        &mut self,
        home: Offer,
        (request, channels): (Option<u32>, Option<Channels>),
        out: &mut Vec<StationAction>,
    ) {
        self.found.clear();
        self.away = Some(Away { home, request, channels, left: Time::ZERO, next: None, resumes: None });
        let first = self.next_channel(0);
        self.away.iter_mut().for_each(|away| away.next = first);
        out.push(StationAction::Note("background-scan"));
    }

    fn announce(&mut self, home: Offer, now: Time, out: &mut Vec<StationAction>) {
        self.away.iter_mut().for_each(|away| away.resumes = None);
        (self.state, self.deadline) = (State::Announcing { home }, Some(now + NULL_DATA_WAIT));
        out.push(StationAction::Doze(home.cell));
    }

    /// Its announcement has been sent, or cannot be.
    pub(super) fn go_away(&mut self, now: Time, out: &mut Vec<StationAction>) {
        let Some(away) = &mut self.away else { return };
        away.left = now;
        if let Some(next) = away.next {
            self.look_at(next, now, out);
        }
    }

    /// It has looked at a channel: it looks at the next one or returns. `false`: it has no cell.
    pub(super) fn channel_is_done(
        &mut self,
        next: Option<u32>,
        now: Time,
        out: &mut Vec<StationAction>,
    ) -> bool {
        let longest = match self.wifi.scan {
            Scan::Active => self.wifi.probe_delay + self.wifi.max_channel_time,
            Scan::Passive => self.wifi.passive_channel_time,
        };
        let Some(away) = &mut self.away else { return false };
        away.next = next;
        let home = away.home;
        match next {
            Some(next) if now + longest <= away.left + self.wifi.most_away => self.look_at(next, now, out),
            _ => {
                if next.is_none() {
                    out.push(StationAction::Note("scanned"));
                }
                out.push(StationAction::Tune(home.channel));
                out.push(StationAction::Wake(home.cell));
                self.wait_for_frame(home, Then::Stay, now);
            }
        }
        true
    }

    fn wait_for_frame(&mut self, home: Offer, then: Then, now: Time) {
        (self.state, self.deadline) = (State::Returning { home, then }, Some(now + NULL_DATA_WAIT));
    }

    /// Its frame has been sent, or cannot be.
    pub(super) fn has_sent(&mut self, home: Offer, then: Then, now: Time, out: &mut Vec<StationAction>) {
        match then {
            Then::Roam => self.turn_away(home.cell, "transition", now, out),
            Then::Stay => self.settle(home, now, out),
        }
    }

    /// It is on the channel of its cell: it continues later, or decides where it goes.
    fn settle(&mut self, home: Offer, now: Time, out: &mut Vec<StationAction>) {
        if let Some((request, channels)) = self.request.take() {
            self.away = None;
            return self.on_request(home, (request, channels), now, out);
        }
        match &mut self.away {
            Some(away) if away.next.is_some() => away.resumes = Some(now + self.wifi.home_time),
            Some(away) => {
                let request = away.request;
                self.away = None;
                match request {
                    Some(request) => return self.choose_candidate(home, request, now, out),
                    None if self.found_better(home) => return self.turn_away(home.cell, "roam", now, out),
                    None => {}
                }
            }
            None => {}
        }
        self.stay(home, now);
    }

    /// It stays in its cell, whose next beacons it waits for.
    fn stay(&mut self, home: Offer, now: Time) {
        if let (Some(schedule), None) = (&mut self.schedule, &self.away)
            && schedule.due().is_none()
        {
            schedule.scan_ends(now);
        }
        self.is_alive(home, 0, now);
    }

    /// The best cell that it has found is another one, and better by enough, or its own was not found.
    fn found_better(&mut self, home: Offer) -> bool {
        self.sort_found();
        let Some(best) = self.found.last().filter(|best| best.cell != home.cell) else { return false };
        let own = self.found.iter().find(|offer| offer.cell == home.cell);
        match (own.map(|own| own.strength), best.strength, &self.wifi.background_scan) {
            (Some(Strength::Level(own)), Strength::Level(best), Some(spec)) => spec.prefers(own, best),
            (own, ..) => own.is_none(),
        }
    }

    /// Its base station asks it to go to another cell.
    fn on_request(
        &mut self,
        home: Offer,
        (request, channels): (u32, Channels),
        now: Time,
        out: &mut Vec<StationAction>,
    ) {
        out.push(StationAction::Note("transition-requested"));
        match self.wifi.on_transition {
            OnTransition::Refuse => self.respond(home, (request, REJECTED), now, out),
            OnTransition::Follow => {
                self.look_around(home, (Some(request), Some(channels)), out);
                self.announce(home, now, out);
            }
        }
    }

    /// The first candidate of a request that the scan has found becomes the best.
    fn choose_candidate(&mut self, home: Offer, request: u32, now: Time, out: &mut Vec<StationAction>) {
        let candidates = self.candidates.get(request as usize).map_or(&[][..], Vec::as_slice);
        let rank = |offer: &Offer| candidates.iter().position(|&cell| cell == offer.cell);
        self.found.retain(|offer| offer.cell != home.cell && rank(offer).is_some());
        self.found.sort_by_key(|offer| std::cmp::Reverse(rank(offer)));
        let status = if self.found.is_empty() { NO_CANDIDATE } else { ACCEPTED };
        self.respond(home, (request, status), now, out);
    }

    fn respond(
        &mut self,
        home: Offer,
        (request, status): (u32, u32),
        now: Time,
        out: &mut Vec<StationAction>,
    ) {
        let then = if status == ACCEPTED { Then::Roam } else { Then::Stay };
        if then == Then::Stay {
            out.push(StationAction::Note("transition-refused"));
        }
        out.push(StationAction::Respond { cell: home.cell, request, status });
        self.wait_for_frame(home, then, now);
    }

    /// It leaves its cell for the best one that it has found.
    fn turn_away(&mut self, cell: u32, sign: &'static str, now: Time, out: &mut Vec<StationAction>) {
        self.give_up(cell, sign, out);
        self.try_next(now, out);
    }
}
