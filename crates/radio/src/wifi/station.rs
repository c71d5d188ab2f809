//! A roaming station of 802.11: it detects the loss of its cell, scans, authenticates and associates, and gets keys.
//!
//! ```text
//!   station                     base station
//!      |  probe-request (to all)     |        on each channel; then MinChannelTime, or MaxChannelTime
//!      |---------------------------->|
//!      |        probe-response       |
//!      |<----------------------------|
//!      |  authentication-request     |        to the best that it has found
//!      |---------------------------->|
//!      |  authentication-response    |
//!      |<----------------------------|
//!      |  association-request        |        reassociation-request, if it had a cell before
//!      |---------------------------->|
//!      |  association-response       |
//!      |<----------------------------|
//! ```
//!
//! Source: IEEE Std 802.11-2007, clauses 11.1.3 (scanning) and 11.3 (authentication and association). A request without
//! an answer is repeated, then the next cell of the scan is tried, then the station scans again. The automaton has no
//! clock and sends nothing: it gets the station's inputs ([`StationEvent`]) and answers with [`StationAction`]s.
//!
//! A station whose beacons stay out, and none of whose frames was acknowledged since, asks its base station with frames
//! without data, as Linux does (mac80211: `max_nullfunc_tries`, `probe_wait_ms`). In a crowded cell beacons collide too.
//!
//! With [`Security`](super::Security) the base station's authenticator asks for EAP and the four-way handshake behind
//! the association, and the station answers. Data pass when the base station has authorised it. With fast transition a
//! station that was authorised once gets its keys with authentication and reassociation (802.11r-2008 §11A.5). With
//! neighbour reports it scans the channels of the last report first, and then all.
//!
//! ASSUMPTION: a station waits 10 s for its keys, or 70 s with EAP, as wpa_supplicant does. A station whose fast
//! transition is not answered is authenticated from the beginning.

use super::background::Schedule;
use super::params::{Scan, Wifi};
use super::reception::Channels;
use super::security::{Authentication, KeyCaching};
use crate::medium::TxOutcome;
use roamlab_engine::{Duration, Time};
use std::collections::BTreeSet;
use std::sync::Arc;

mod absence;
mod away;
mod interface;

use absence::{Away, Then};
pub use interface::{Offer, StationAction, StationEvent};

/// The step of a scan on one channel.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Step {
    /// It listens before it sends.
    Delay,
    /// Its probe request waits for the air.
    Sending,
    /// It waits for the first sign of life; the latest time that it would wait until.
    Min { max: Time },
    /// It waits for responses, or with a passive scan for beacons.
    Max,
    /// The scan has found nothing, and the next one begins later.
    Rest,
}

/// Present activity of a station.
#[derive(Clone, PartialEq, Eq, Debug)]
enum State {
    /// It is switched off.
    Off,
    /// It looks for cells on this channel.
    Scanning { channel: u32, step: Step },
    /// It waits for the answer to this number of authentication requests.
    Authenticating { offer: Offer, sent: u32 },
    /// The same for association requests.
    Associating { offer: Offer, sent: u32 },
    /// It has a cell; this number of attempts in a row were not acknowledged. So often it has asked whether
    /// the cell is there.
    Associated { offer: Offer, unanswered: u32, asked: u32 },
    /// It has a cell, and waits until its announcement that it is away has been sent.
    Announcing { home: Offer },
    /// It has a cell, and waits until its announcement that it is back, or its answer to a request, has been sent.
    Returning { home: Offer, then: Then },
}

/// How long it waits until a frame that asks for its base station has been sent (mac80211's `probe_wait_ms`).
const NULL_DATA_WAIT: Duration = Duration::from_millis(500);
/// How long it waits for its keys, without and with EAP (wpa_supplicant's timeouts of authentication).
const KEY_PATIENCE: Duration = Duration::from_secs(10);
const EAP_PATIENCE: Duration = Duration::from_secs(70);

/// A station that roams.
#[derive(Clone, Debug)]
pub struct Station {
    wifi: Wifi,
    state: State,
    deadline: Option<Time>,
    /// With a cell: when a beacon has to have come, and when it tells the base station that it is there.
    beacon_by: Option<Time>,
    keep_alive_at: Time,
    /// Cells that the scan has found and that were not tried yet, the best one last.
    found: Vec<Offer>,
    /// It had a cell before.
    had_cell: bool,
    /// The cell that it is associated with lets its data pass.
    authorised: bool,
    /// With a cell that does not yet: how long it waits for that.
    authorised_by: Option<Time>,
    /// It turns to its next cell by fast transition, and the cell with the first key for that.
    fast: bool,
    first_key_at: Option<u32>,
    /// Cells with which it has a key of EAP.
    cached: BTreeSet<u32>,
    /// Channels of the last neighbour report, while a scan of them may find something.
    neighbours: Option<Channels>,
    /// With a cell whose level counts: when it scans.
    schedule: Option<Schedule>,
    /// The scan that it makes although it has a cell.
    away: Option<Away>,
    /// A request to go to another cell that it has not looked at yet.
    request: Option<(u32, Channels)>,
    /// The candidates of each request, the preferred one first.
    candidates: Arc<[Vec<u32>]>,
}

impl Station {
    /// One that is switched off.
    pub fn new(wifi: Wifi) -> Station {
        Station {
            wifi,
            state: State::Off,
            deadline: None,
            beacon_by: None,
            keep_alive_at: Time::ZERO,
            found: Vec::new(),
            had_cell: false,
            authorised: false,
            authorised_by: None,
            fast: false,
            first_key_at: None,
            cached: BTreeSet::new(),
            neighbours: None,
            schedule: None,
            away: None,
            request: None,
            candidates: Arc::new([]),
        }
    }

    /// The same with the candidates of each request to go to another cell, the preferred one first.
    #[must_use]
    pub fn with_candidates(self, candidates: Arc<[Vec<u32>]>) -> Station {
        Station { candidates, ..self }
    }

    /// When it wants [`StationEvent::Deadline`]; `None`: never.
    pub fn next_deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// The cell that it is associated with.
    pub fn cell(&self) -> Option<u32> {
        match self.state {
            State::Associated { offer, .. } => Some(offer.cell),
            State::Announcing { home } | State::Returning { home, .. } => Some(home.cell),
            _ => self.away.as_ref().map(|away| away.home.cell),
        }
    }

    /// The cell whose base station has the first key of its fast transitions.
    pub fn first_key_at(&self) -> Option<u32> {
        self.first_key_at
    }

    /// Rounds of EAP that it needs at a cell, before the four-way handshake.
    pub fn rounds_at(&self, cell: u32) -> u32 {
        let security = &self.wifi.security;
        let is_cached = match security.key_caching {
            KeyCaching::Off => false,
            KeyCaching::Own => self.cached.contains(&cell),
            KeyCaching::Opportunistic => !self.cached.is_empty(),
        };
        if security.kind == Authentication::Eap && !is_cached { security.eap_rounds } else { 0 }
    }

    /// Takes an input; its actions are appended to `out`.
    pub fn on(&mut self, heard: StationEvent, now: Time, out: &mut Vec<StationAction>) {
        match (heard, self.state.clone()) {
            (StationEvent::SwitchedOn, State::Off) => self.scan(now, out),
            (StationEvent::Sent { management, outcome }, state) => {
                self.on_sent((management, outcome), state, now, out);
            }
            (StationEvent::Cell { offer, .. }, State::Scanning { step, .. }) if step != Step::Rest => {
                self.find(offer)
            }
            (
                StationEvent::Cell { offer: heard, beacon: true },
                State::Associated { offer, unanswered, .. },
            ) if heard.cell == offer.cell => {
                self.is_alive(offer, unanswered, now);
            }
            (StationEvent::Authenticated(cell), State::Authenticating { offer, .. })
                if cell == offer.cell =>
            {
                out.push(StationAction::Note("authenticated"));
                self.associate(offer, 0, now, out);
            }
            (StationEvent::Associated(cell), State::Associating { offer, .. }) if cell == offer.cell => {
                self.had_cell = true;
                self.found.clear();
                self.keep_alive_at = now + self.wifi.keep_alive;
                self.authorised = self.fast || !self.wifi.security.has_keys();
                self.authorised_by = (!self.authorised).then(|| now + self.patience());
                self.is_alive(offer, 0, now);
                match self.authorised {
                    true => self.enter(offer, now, out),
                    false => out.push(StationAction::Note("associated")),
                }
            }
            (StationEvent::Authorised(cell), State::Associated { offer, .. })
                if cell == offer.cell && !self.authorised =>
            {
                (self.authorised, self.authorised_by) = (true, None);
                self.cached.insert(cell);
                self.first_key_at = Some(cell);
                self.enter(offer, now, out);
            }
            (StationEvent::Neighbours { cell, channels }, State::Associated { offer, .. })
                if cell == offer.cell =>
            {
                self.neighbours = (!channels.is_empty()).then_some(channels);
            }
            (StationEvent::Deadline { busy }, state)
                if self.deadline.is_some_and(|deadline| deadline <= now) =>
            {
                self.deadline = None;
                self.on_deadline(state, busy, now, out);
            }
            (heard, state) => self.hear_with_cell(heard, &state, now, out),
        }
    }

    /// An attempt to send a frame, with management or data, has ended.
    fn on_sent(
        &mut self,
        (management, outcome): (bool, TxOutcome),
        state: State,
        now: Time,
        out: &mut Vec<StationAction>,
    ) {
        let received = outcome == TxOutcome::Received;
        match state {
            // A management frame that is sent again is still on its way.
            _ if management && outcome == TxOutcome::Retried => {}
            State::Returning { home, then } if management => self.has_sent(home, then, now, out),
            State::Associated { offer, unanswered, .. } if management && received => {
                self.is_alive(offer, unanswered, now);
            }
            State::Associated { offer, asked, .. } if management && asked > 0 => self.ask(offer, now, out),
            State::Associated { offer, .. } if !management && received => {
                self.keep_alive_at = now + self.wifi.keep_alive;
                self.is_alive(offer, 0, now);
            }
            State::Associated { offer, unanswered, asked } if !management => {
                self.state = State::Associated { offer, unanswered: unanswered + 1, asked };
                if unanswered + 1 == self.wifi.failed_attempts {
                    self.lose(offer.cell, "retry-loss", now, out);
                }
            }
            State::Scanning { channel, step: Step::Sending | Step::Min { .. } } if management => {
                let Wifi { min_channel_time, max_channel_time, .. } = self.wifi;
                self.step(channel, Step::Min { max: now + max_channel_time }, now + min_channel_time);
            }
            _ => {}
        }
    }

    fn on_deadline(&mut self, state: State, busy: bool, now: Time, out: &mut Vec<StationAction>) {
        let tries = self.wifi.tries;
        match state {
            State::Off => {}
            State::Scanning { step: Step::Rest, .. } => self.scan(now, out),
            State::Scanning { channel, step: Step::Delay } => {
                // If the air is not free for this time, it continues without an answer.
                self.step(channel, Step::Sending, now + self.wifi.max_channel_time);
                out.push(StationAction::Probe);
            }
            State::Scanning { channel, step: Step::Min { max } } if busy && max > now => {
                self.step(channel, Step::Max, max);
            }
            State::Scanning { channel, .. } if self.channel_is_done(self.next_channel(channel), now, out) => {
            }
            State::Scanning { channel, .. } if let Some(next) = self.next_channel(channel) => {
                self.look_at(next, now, out);
            }
            State::Scanning { channel, .. } if self.found.is_empty() => {
                out.push(StationAction::Note("nothing-found"));
                if self.neighbours.take().is_some() {
                    return self.scan(now, out);
                }
                match self.wifi.rescan_after {
                    Duration::ZERO => self.scan(now, out),
                    pause => self.step(channel, Step::Rest, now + pause),
                }
            }
            State::Scanning { .. } => {
                out.push(StationAction::Note("scanned"));
                self.sort_found();
                self.try_next(now, out);
            }
            State::Authenticating { offer, sent } if sent < tries => self.authenticate(offer, sent, now, out),
            State::Associating { offer, sent } if sent < tries => self.associate(offer, sent, now, out),
            State::Authenticating { offer, .. } => {
                self.failed(offer, "authentication-failed", now, out);
            }
            State::Associating { offer, .. } => self.failed(offer, "association-failed", now, out),
            State::Associated { .. } | State::Announcing { .. } | State::Returning { .. } => {
                self.on_deadline_with_cell(state, now, out);
            }
        }
    }

    fn on_deadline_with_cell(&mut self, state: State, now: Time, out: &mut Vec<StationAction>) {
        match state {
            State::Announcing { .. } => self.go_away(now, out),
            State::Returning { home, then } => self.has_sent(home, then, now, out),
            State::Associated { offer, .. } if self.authorised_by.is_some_and(|time| time <= now) => {
                self.lose(offer.cell, "keys-failed", now, out);
            }
            State::Associated { offer, .. } if self.beacon_by.is_some_and(|time| time <= now) => {
                self.ask(offer, now, out);
            }
            State::Associated { offer, .. } if self.scans_at().is_some_and(|time| time <= now) => {
                self.scan_in_background(offer, now, out);
            }
            State::Associated { offer, .. } => {
                self.keep_alive_at = now + self.wifi.keep_alive;
                self.watch();
                out.push(StationAction::KeepAlive(offer.cell));
            }
            _ => {}
        }
    }

    fn step(&mut self, channel: u32, step: Step, deadline: Time) {
        (self.state, self.deadline) = (State::Scanning { channel, step }, Some(deadline));
    }

    fn lose(&mut self, cell: u32, sign: &'static str, now: Time, out: &mut Vec<StationAction>) {
        self.give_up(cell, sign, out);
        self.scan(now, out);
    }

    /// Its cell is no longer its own, for the reason in `sign`.
    fn give_up(&mut self, cell: u32, sign: &'static str, out: &mut Vec<StationAction>) {
        out.push(StationAction::Note(sign));
        if self.authorised {
            out.push(StationAction::Leave(cell));
        }
        (self.authorised, self.authorised_by) = (false, None);
        (self.schedule, self.away, self.request) = (None, None, None);
    }

    /// Data pass: layer 2 is up.
    fn enter(&mut self, offer: Offer, now: Time, out: &mut Vec<StationAction>) {
        out.push(StationAction::Enter(offer.cell));
        if self.wifi.neighbour_reports {
            out.push(StationAction::AskNeighbours(offer.cell));
        }
        self.watch_level(offer, now);
    }

    /// The cells found, the best one last.
    fn sort_found(&mut self) {
        self.found.sort_by_key(|offer| (offer.strength, std::cmp::Reverse(offer.cell)));
    }

    /// How long it waits for its keys.
    fn patience(&self) -> Duration {
        match self.wifi.security.kind {
            Authentication::Eap => EAP_PATIENCE,
            _ => KEY_PATIENCE,
        }
    }

    /// A cell has not answered. After a fast transition it is tried again, with authentication from the beginning.
    fn failed(&mut self, offer: Offer, sign: &'static str, now: Time, out: &mut Vec<StationAction>) {
        out.push(StationAction::Note(sign));
        if self.fast {
            self.first_key_at = None;
            return self.turn_to(offer, now, out);
        }
        self.try_next(now, out);
    }

    fn scan(&mut self, now: Time, out: &mut Vec<StationAction>) {
        self.found.clear();
        self.look_at(self.next_channel(0).unwrap_or(1), now, out);
    }

    /// The channel that a scan looks at behind this one.
    fn next_channel(&self, channel: u32) -> Option<u32> {
        let is_listed = |channel: &u32| match &self.away {
            Some(away) => away.looks_at(*channel),
            None => self.neighbours.is_none_or(|known| known.contains(*channel)),
        };
        (channel + 1..=self.wifi.channels).find(is_listed)
    }

    fn look_at(&mut self, channel: u32, now: Time, out: &mut Vec<StationAction>) {
        out.push(StationAction::Tune(channel));
        match self.wifi.scan {
            Scan::Active => self.step(channel, Step::Delay, now + self.wifi.probe_delay),
            Scan::Passive => self.step(channel, Step::Max, now + self.wifi.passive_channel_time),
        }
    }

    fn find(&mut self, offer: Offer) {
        if !self.found.iter().any(|known| known.cell == offer.cell) {
            self.found.push(offer);
        }
    }

    /// Turns to the best cell that is left of the scan, or scans again.
    fn try_next(&mut self, now: Time, out: &mut Vec<StationAction>) {
        match self.found.pop() {
            Some(offer) => {
                out.push(StationAction::Tune(offer.channel));
                self.turn_to(offer, now, out);
            }
            None => self.scan(now, out),
        }
    }

    /// Begins to authenticate to a cell, by fast transition if it can.
    fn turn_to(&mut self, offer: Offer, now: Time, out: &mut Vec<StationAction>) {
        self.fast = self.wifi.security.fast_transition && self.first_key_at.is_some();
        self.authenticate(offer, 0, now, out);
    }

    fn authenticate(&mut self, offer: Offer, sent: u32, now: Time, out: &mut Vec<StationAction>) {
        self.state = State::Authenticating { offer, sent: sent + 1 };
        self.deadline = Some(now + self.wifi.authentication_timeout);
        out.push(match self.fast {
            true => StationAction::FastAuthenticate(offer.cell),
            false => StationAction::Authenticate(offer.cell),
        });
    }

    fn associate(&mut self, offer: Offer, sent: u32, now: Time, out: &mut Vec<StationAction>) {
        self.state = State::Associating { offer, sent: sent + 1 };
        self.deadline = Some(now + self.wifi.association_timeout);
        out.push(match self.fast {
            true => StationAction::FastAssociate(offer.cell),
            false => StationAction::Associate { cell: offer.cell, again: self.had_cell },
        });
    }

    /// Asks whether the cell is there, or takes it as lost.
    fn ask(&mut self, offer: Offer, now: Time, out: &mut Vec<StationAction>) {
        match &mut self.state {
            State::Associated { asked, .. } if *asked < self.wifi.null_data_tries => {
                *asked += 1;
                self.beacon_by = Some(now + NULL_DATA_WAIT);
                self.watch();
                out.push(StationAction::KeepAlive(offer.cell));
            }
            _ => self.lose(offer.cell, "beacon-loss", now, out),
        }
    }

    /// It has a sign of life of its cell.
    fn is_alive(&mut self, offer: Offer, unanswered: u32, now: Time) {
        self.state = State::Associated { offer, unanswered, asked: 0 };
        let Wifi { missed_beacons, beacon_grace, .. } = self.wifi;
        let span = offer.interval.saturating_mul(u64::from(missed_beacons));
        self.beacon_by = (missed_beacons > 0).then(|| now + span + beacon_grace);
        self.watch();
    }

    /// With a cell it waits for whatever comes first.
    fn watch(&mut self) {
        let others = self.beacon_by.into_iter().chain(self.authorised_by).chain(self.scans_at());
        self.deadline = others.chain([self.keep_alive_at]).min();
    }
}

#[cfg(test)]
mod tests;
