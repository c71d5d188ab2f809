//! The distributed coordination function of IEEE 802.11: carrier sense, random backoff, acknowledgements, retries.
//!
//! Source: IEEE Std 802.11-2007, clause 9.2, with the physical layers of clauses 17 (802.11a), 18 (802.11b) and 19 (802.11g).
//!
//! A station with a frame waits until the medium was idle for a DIFS (an EIFS, after a collision) and counts idle slots
//! from its backoff to zero. A frame to one receiver is answered after a SIFS; without an answer the station tries
//! again with twice the window. There are no events per slot. While the medium is idle, each station knows the time at
//! which it will send if no other sends before. The earliest is next, and the others count the idle slots until then.
//!
//! ASSUMPTION: all stations of a cell receive each other, without propagation delay: there are no hidden stations.
//!
//! ASSUMPTION: frames that two stations begin to send less than a slot apart collide, because a slot is the time in
//! which a station cannot detect that another has begun (§9.2.10). None of the frames of a collision is received (no
//! capture).
//!
//! ASSUMPTION: a probe request always waits for a DIFS and a backoff, because its station has not listened to the
//! channel before. Otherwise hosts that begin to scan at one instant would collide on each channel.
//!
//! ASSUMPTION: `frame_loss` loses only data; responses and RTS are lost by collisions alone.

mod params;
mod station;
mod timing;

use crate::medium::{Frame, Medium, Reached, Role, Transmission, TxOutcome};
pub use params::Params;
use params::{AfterCollision, Departed};
use roamlab_engine::{Duration, Rate, Rng, Time};
use station::Station;
use std::collections::{BTreeMap, VecDeque};
use timing::Timing;

/// Events on the medium.
#[derive(Clone, Debug)]
enum State {
    /// Nothing: stations count their backoffs.
    Idle,
    /// One station sends an RTS.
    Rts { sender: usize, started: Time, end: Time },
    /// One station sends data, or a broadcast; the whole exchange began at `began`.
    Data { sender: usize, began: Time, started: Time, end: Time },
    /// Its receiver has got the data and acknowledges.
    Ack { sender: usize, began: Time, started: Time, end: Time },
    /// Several stations send; when each ends.
    Collision { senders: Vec<(usize, Time, Time)>, end: Time },
}

/// Stations that contend.
#[derive(Clone, Debug)]
pub struct Dcf {
    params: Params,
    timing: Timing,
    rng: Rng,
    stations: Vec<Station>,
    places: BTreeMap<u32, usize>,
    /// Stations with something to send or a backoff to count.
    counting: Vec<usize>,
    /// When a station that counts nothing yet may begin.
    ready: Time,
    /// Until when the medium is reserved, though no station sends.
    reserved: Time,
    /// When the next beacon is due; `None`: there are none.
    next_beacon: Option<Time>,
    state: State,
    /// When the next station sends, if nothing comes before.
    next_start: Option<Time>,
    decided: VecDeque<Transmission>,
    /// Beacons and unanswered attempts are reported.
    reports: bool,
    /// When it was busy last, except now.
    fell_idle: Time,
}

impl Dcf {
    /// A silent medium. `rng` is its own stream.
    pub fn new(params: &Params, mut rng: Rng) -> Dcf {
        let timing =
            Timing::new(params.phy, params.preamble.unwrap_or(timing::Preamble::Long), params.basic_rate);
        let phase = (params.beacon_interval > Duration::ZERO)
            .then(|| Time::ZERO + rng.uniform_duration(params.beacon_interval));
        Dcf {
            params: params.clone(),
            timing,
            rng,
            stations: Vec::new(),
            places: BTreeMap::new(),
            counting: Vec::new(),
            ready: Time::ZERO,
            reserved: Time::ZERO,
            next_beacon: phase,
            state: State::Idle,
            next_start: None,
            decided: VecDeque::new(),
            reports: false,
            fell_idle: Time::ZERO,
        }
    }

    /// The medium becomes busy: who sends, sends.
    fn begin(&mut self, now: Time, reached: Reached<'_>) {
        let slot = self.timing.slot;
        let mut senders: Vec<(usize, Time)> = Vec::new();
        for &place in &self.counting {
            if let Some(start) = self.stations[place].start(slot).filter(|start| *start < now + slot) {
                senders.push((place, start));
            }
        }
        if self.params.departed == Departed::Discard {
            senders.retain(|&(place, start)| self.has_receiver(place, start, reached));
        }
        let sends = |place: usize| senders.iter().any(|&(sender, _)| sender == place);
        if let Some(&(_, first)) = senders.iter().min_by_key(|(_, start)| *start) {
            self.counting.retain(|&place| sends(place) || self.stations[place].freeze(first, slot));
        }
        match senders[..] {
            [] => self.look_ahead(),
            [(sender, started)] => self.send(sender, started),
            _ => {
                let ends =
                    senders.iter().map(|&(place, start)| (place, start, start + self.first_frame(place)));
                let senders: Vec<(usize, Time, Time)> = ends.collect();
                let end = senders.iter().map(|&(_, _, end)| end).max().unwrap_or(now);
                self.state = State::Collision { senders, end };
            }
        }
    }

    /// True if a station has something to send whose receiver is there; otherwise its frame is given up.
    fn has_receiver(&mut self, place: usize, now: Time, reached: Reached<'_>) -> bool {
        let station = &self.stations[place];
        let is_for_one = !station.beacon && station.frame.as_ref().is_some_and(|frame| !frame.broadcast);
        if !is_for_one || reached(station.number, now) {
            return true;
        }
        self.lose(place, now, TxOutcome::Cancelled);
        false
    }

    /// How long the first frame takes that a station sends.
    fn first_frame(&self, place: usize) -> Duration {
        match self.stations[place].frame {
            Some(Frame { rate, .. }) if self.announces(place) => self.timing.rts(rate),
            _ => self.data(place),
        }
    }

    /// How long a station's beacon or data frame takes.
    fn data(&self, place: usize) -> Duration {
        let station = &self.stations[place];
        match station.frame {
            Some(Frame { size, management: true, .. }) if !station.beacon => self.timing.management(size),
            Some(Frame { size, rate, broadcast, .. }) if !station.beacon => {
                self.timing.data(size, if broadcast { self.timing.basic_rate } else { rate })
            }
            _ => self.timing.management(self.params.beacon_size),
        }
    }

    /// True if a station sends data to one receiver.
    fn has_unicast(&self, place: usize) -> bool {
        let station = &self.stations[place];
        !station.beacon && station.frame.is_some_and(|frame| !frame.broadcast)
    }

    /// True if a station's frame is so long that an RTS announces it.
    fn announces(&self, place: usize) -> bool {
        let length = |frame: Frame| if frame.management { frame.size } else { Timing::mpdu(frame.size) };
        let is_long = |frame: Frame| length(frame) > self.params.rts_threshold;
        self.has_unicast(place) && self.stations[place].frame.is_some_and(is_long)
    }

    fn send(&mut self, sender: usize, started: Time) {
        let end = started + self.first_frame(sender);
        self.state = match self.announces(sender) {
            true => State::Rts { sender, started, end },
            false => State::Data { sender, began: started, started, end },
        };
    }

    /// Transmissions on the air end.
    fn end(&mut self, now: Time, reached: Reached<'_>) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => {}
            State::Rts { sender, started, .. } => self.end_rts(sender, started, now, reached),
            State::Data { sender, began, started, .. } if self.has_unicast(sender) => {
                self.end_data(sender, (began, started), now, reached);
            }
            State::Data { sender, began, started, .. } => {
                self.stations[sender].air += now - began;
                let outcome = if self.is_noisy() { TxOutcome::NotReceived } else { TxOutcome::Received };
                self.broadcast_ends(sender, started, now, outcome);
                self.release(now, self.timing.difs);
                self.complete(sender, now);
            }
            State::Ack { sender, began, started, .. } => {
                let station = &mut self.stations[sender];
                station.air += now - began;
                let (station, air) = (station.number, station.forget_frame());
                self.decided.push_back(Transmission { station, started, outcome: None, air, free: true });
                self.release(now, self.timing.difs);
                self.complete(sender, now);
            }
            State::Collision { senders, .. } => self.end_collision(senders, now),
        }
        self.note_beacon(now, true);
        self.look_ahead();
    }

    /// An RTS ends: its receiver answers with a CTS, or it is not there.
    fn end_rts(&mut self, sender: usize, began: Time, now: Time, reached: Reached<'_>) {
        let Timing { sifs, difs, .. } = self.timing;
        let rate = self.rate(sender);
        if reached(self.stations[sender].number, began) {
            let started = now + sifs + self.timing.cts(rate) + sifs;
            let end = started + self.data(sender);
            self.state = State::Data { sender, began, started, end };
            return;
        }
        self.stations[sender].air += now - began;
        self.reserved = now + self.timing.reservation_lapse(rate);
        self.release(now, difs);
        self.fail(sender, (now, now), false);
    }

    /// A frame for one receiver ends, whose exchange began at `began`.
    fn end_data(&mut self, sender: usize, (began, started): (Time, Time), now: Time, reached: Reached<'_>) {
        let answered = now + self.timing.sifs + self.timing.ack(self.rate(sender));
        let station = self.stations[sender].number;
        if reached(station, started) && !self.is_noisy() {
            let (outcome, air) = (Some(TxOutcome::Received), Duration::ZERO);
            self.decided.push_back(Transmission { station, started, outcome, air, free: false });
            self.state = State::Ack { sender, began, started, end: answered };
            return;
        }
        // The others have read the acknowledgement in the frame's header.
        self.stations[sender].air += now - began;
        self.reserved = answered;
        self.release(now, self.timing.difs);
        self.fail(sender, (now, now), self.announces(sender));
    }

    /// The last of the frames that have collided ends. Each of `senders`: the station, when it began and when it ended.
    fn end_collision(&mut self, senders: Vec<(usize, Time, Time)>, now: Time) {
        let pause = match self.params.after_collision {
            AfterCollision::Eifs => self.timing.eifs,
            AfterCollision::Difs => self.timing.difs,
        };
        self.release(now, pause);
        for (sender, started, ended) in senders {
            self.stations[sender].air += ended - started;
            if self.has_unicast(sender) {
                self.fail(sender, (now, ended), false);
            } else {
                self.broadcast_ends(sender, started, now, TxOutcome::NotReceived);
                self.complete(sender, now);
            }
        }
    }

    /// The rate of a station's frame.
    fn rate(&self, place: usize) -> Rate {
        self.stations[place].frame.map_or(self.timing.basic_rate, |frame| frame.rate)
    }

    /// True if a frame that did not collide is lost. Without losses no number is drawn.
    fn is_noisy(&mut self) -> bool {
        self.params.frame_loss > 0.0 && self.rng.uniform() < self.params.frame_loss
    }

    /// A beacon or a broadcast has been sent, without an answer.
    fn broadcast_ends(&mut self, sender: usize, started: Time, now: Time, outcome: TxOutcome) {
        let station = &mut self.stations[sender];
        if std::mem::take(&mut station.beacon) {
            station.since = now;
            if outcome == TxOutcome::Received {
                self.report_attempt(sender, started, TxOutcome::Beacon);
            }
            return;
        }
        let (station, air) = (station.number, station.forget_frame());
        self.decided.push_back(Transmission { station, started, outcome: Some(outcome), air, free: true });
    }

    /// Reports a beacon, or an attempt that is not the last one, if that is wanted.
    fn report_attempt(&mut self, sender: usize, started: Time, outcome: TxOutcome) {
        if self.reports {
            let (station, outcome, air) = (self.stations[sender].number, Some(outcome), Duration::ZERO);
            self.decided.push_back(Transmission { station, started, outcome, air, free: false });
        }
    }

    /// The medium falls idle: all count again behind a pause, and a DIFS behind what is still reserved, senders apart. A
    /// frame that reserves nothing does not shorten a reservation (§9.2.5.4).
    fn release(&mut self, now: Time, pause: Duration) {
        let reserved = if self.reserved > now { self.reserved + self.timing.difs } else { now };
        let ready = reserved.max(now + pause);
        self.fell_idle = now;
        self.ready = ready;
        for &place in &self.counting {
            self.stations[place].ready = ready;
        }
    }

    /// A sender is done with its frame or beacon, on a medium that fell idle at `now`: it draws a backoff behind it
    /// (§9.2.5.2).
    fn complete(&mut self, sender: usize, now: Time) {
        let station = &mut self.stations[sender];
        station.ready = now + self.timing.difs;
        station.reset_window(self.params.cw_min());
        station.draw();
    }

    /// A sender's transmission, which ended at `ended`, was not answered or has collided, and the medium fell idle at
    /// `now`. It draws a backoff: for the next attempt, or behind its last one. A station that waits without result for a
    /// response counts from when it gives up waiting.
    fn fail(&mut self, sender: usize, (now, ended): (Time, Time), is_long: bool) {
        let Params { short_retry_limit, long_retry_limit, cw_max, .. } = self.params;
        let Timing { difs, response_timeout, .. } = self.timing;
        let station = &mut self.stations[sender];
        station.ready = (now + difs).max(ended + response_timeout);
        let (retries, limit) = match is_long {
            true => (&mut station.long_retries, long_retry_limit),
            false => (&mut station.short_retries, short_retry_limit),
        };
        *retries += 1;
        if *retries >= limit || station.given_up {
            let loss = if station.given_up { TxOutcome::Cancelled } else { TxOutcome::RetryLimit };
            station.reset_window(self.params.cw_min());
            self.lose(sender, now, loss);
        } else {
            station.double_window(cw_max);
            self.report_attempt(sender, ended, TxOutcome::Retried);
        }
        self.stations[sender].draw();
    }

    /// A station's frame is lost.
    fn lose(&mut self, place: usize, now: Time, loss: TxOutcome) {
        let station = &mut self.stations[place];
        let (station, air) = (station.number, station.forget_frame());
        self.decided.push_back(Transmission { station, started: now, outcome: Some(loss), air, free: true });
    }

    /// A station has something new to send. With a backoff behind its last frame still to count, or a busy medium, it waits;
    /// else it sends as soon as the medium has been idle for a DIFS.
    fn contend(&mut self, place: usize, now: Time, is_busy: bool) {
        let station = &mut self.stations[place];
        station.since = now;
        let asks = station.frame.is_some_and(|frame| frame.management && frame.broadcast);
        let counts = self.counting.contains(&place);
        if counts && !asks {
            return;
        }
        // One that counts has its own pause: what it has reserved itself does not hold it back.
        let ready = if counts { station.ready } else { self.ready };
        station.ready = if asks { ready.max(now + self.timing.difs) } else { ready };
        if is_busy || asks {
            station.draw();
        } else {
            station.need_not_wait();
        }
        if !counts {
            self.counting.push(place);
        }
    }

    /// True if a station sends or may be about to answer.
    fn is_busy(&self, now: Time) -> bool {
        !matches!(self.state, State::Idle) || now < self.reserved
    }

    /// A beacon may have become due: it is the next frame that the base station sends (§11.1.2.1).
    fn note_beacon(&mut self, now: Time, is_busy: bool) {
        let Some(due) = self.next_beacon.filter(|due| *due <= now) else { return };
        self.next_beacon = Some(due + self.params.beacon_interval);
        let Some(place) = self.stations.iter().position(|station| station.role == Role::BaseStation) else {
            return;
        };
        if std::mem::replace(&mut self.stations[place].beacon, true) || self.stations[place].frame.is_some() {
            return;
        }
        self.contend(place, now, is_busy);
    }

    /// Finds out who sends next.
    fn look_ahead(&mut self) {
        let slot = self.timing.slot;
        let starts = self.counting.iter().filter_map(|&place| self.stations[place].start(slot));
        self.next_start = starts.min();
    }
}

impl Medium for Dcf {
    fn join(&mut self, station: u32, role: Role, rng: Rng) {
        self.places.insert(station, self.stations.len());
        self.stations.push(Station::new(station, role, self.params.cw_min(), rng));
    }

    fn offer(&mut self, mut frame: Frame, now: Time) {
        let place = self.places[&frame.station];
        if frame.management {
            frame.rate = self.timing.basic_rate;
        }
        self.stations[place].frame = Some(frame);
        // With a beacon it contends already.
        if !self.stations[place].beacon {
            self.contend(place, now, self.is_busy(now));
        }
        self.look_ahead();
    }

    fn withdraw(&mut self, station: u32, _: Time) -> bool {
        let place = self.places[&station];
        let is_sent = match &self.state {
            State::Idle => false,
            State::Rts { sender, .. } | State::Data { sender, .. } | State::Ack { sender, .. } => {
                *sender == place && !self.stations[place].beacon
            }
            State::Collision { senders, .. } => {
                !self.stations[place].beacon && senders.iter().any(|&(sender, ..)| sender == place)
            }
        };
        let station = &mut self.stations[place];
        if is_sent {
            station.given_up = true;
            return false;
        }
        let had = station.frame.is_some();
        station.forget_frame();
        self.look_ahead();
        had
    }

    fn next_deadline(&self) -> Option<Time> {
        if !self.decided.is_empty() {
            return Some(Time::ZERO);
        }
        match &self.state {
            State::Idle => self.next_start.into_iter().chain(self.next_beacon).min(),
            State::Rts { end, .. }
            | State::Data { end, .. }
            | State::Ack { end, .. }
            | State::Collision { end, .. } => Some(*end),
        }
    }

    fn on_deadline(&mut self, now: Time, reached: Reached<'_>) -> Option<Transmission> {
        while self.decided.is_empty() && self.next_deadline().is_some_and(|deadline| deadline <= now) {
            if !matches!(self.state, State::Idle) {
                self.end(now, reached);
            } else if self.next_beacon.is_some_and(|due| due <= now) {
                self.note_beacon(now, self.is_busy(now));
                self.look_ahead();
            } else {
                self.begin(now, reached);
            }
        }
        self.decided.pop_front()
    }

    fn report(&mut self) {
        self.reports = true;
    }

    fn was_busy(&self, since: Time) -> bool {
        !matches!(self.state, State::Idle) || self.fell_idle > since
    }
}

#[cfg(test)]
mod bianchi;
#[cfg(test)]
mod tests;
