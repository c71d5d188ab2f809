//! A cell in which each station senses the carrier and counts each slot, against random traffic on the medium.
//!
//! The model is written from IEEE Std 802.11-2007, clause 9.2. It uses the random numbers of the medium's streams.

use super::*;

/// A station, which listens also when it has nothing to send.
struct Listener {
    rng: Rng,
    frame: Option<Frame>,
    /// Slots still to count, and from when the next one runs: the end of a pause, or of the slot before.
    slots: u32,
    ready: Time,
    /// Its network allocation vector (§9.2.5.4).
    nav: Time,
    window: u32,
    retries: [u32; 2],
    given_up: bool,
    air: Duration,
    sends: bool,
    /// It has found the medium busy.
    defers: bool,
}

#[derive(Copy, Clone, PartialEq)]
enum Phase {
    First,
    Data,
    Ack,
}

/// Transmissions on the air since `began`, with the senders' first frames, and when the present frame began
/// and ends.
struct Burst {
    began: Time,
    sensed: bool,
    senders: Vec<(usize, Time, Time)>,
    phase: Phase,
    started: Time,
    end: Time,
}

struct Reference {
    params: Params,
    rng: Rng,
    stations: Vec<Listener>,
    burst: Option<Burst>,
    now: Time,
    outcomes: Vec<Transmission>,
}

fn us(count: u64) -> Duration {
    Duration::from_micros(count)
}

impl Reference {
    /// Slot, SIFS and the delay of PHY-RXSTART in µs, and the mandatory rates in kbit/s (§15.3.3, §18.3.3, §17.5.2, §19.8.4).
    fn phy(&self) -> ([u64; 3], &'static [u64]) {
        match self.params.phy {
            Phy::B => {
                let start = if self.params.preamble == Some(Preamble::Short) { 96 } else { 192 };
                ([20, 10, start], &[1_000, 2_000, 5_500, 11_000])
            }
            Phy::A => ([9, 16, 25], &[6_000, 12_000, 24_000]),
            Phy::G => ([9, 10, 24], &[6_000, 12_000, 24_000]),
        }
    }

    fn slot(&self) -> Duration {
        us(self.phy().0[0])
    }

    fn sifs(&self) -> Duration {
        us(self.phy().0[1])
    }

    fn difs(&self) -> Duration {
        self.sifs() + self.slot() * 2
    }

    fn basic(&self) -> Rate {
        let usual = if self.params.phy == Phy::B { 2_000_000 } else { 24_000_000 };
        self.params.basic_rate.unwrap_or(Rate::from_bps(usual))
    }

    /// A frame on the air: preamble and PLCP header, and the bits of a whole number of symbols.
    fn air(&self, bytes: u64, rate: Rate) -> Duration {
        let kbps = rate.as_bps() / 1_000;
        if self.params.phy == Phy::B {
            let short = self.params.preamble == Some(Preamble::Short) && kbps > 1_000;
            return us(if short { 96 } else { 192 })
                + Duration::from_nanos((bytes * 8_000_000).div_ceil(kbps));
        }
        let bits_per_symbol = 4 * kbps / 1_000;
        us(20
            + 4 * (22 + 8 * bytes).div_ceil(bits_per_symbol)
            + if self.params.phy == Phy::G { 6 } else { 0 })
    }

    /// §9.6: a response is sent at the highest mandatory rate up to that of the frame.
    fn response(&self, bytes: u64, rate: Rate) -> Duration {
        let most = self.basic().min(rate).as_bps() / 1_000;
        let kbps = self.phy().1.iter().filter(|&&kbps| kbps <= most).max().unwrap();
        self.air(bytes, Rate::from_bps(kbps * 1_000))
    }

    /// A station's frame: how long it is on the air, and whether an RTS announces it.
    fn data(&self, place: usize) -> (Duration, bool) {
        let Frame { size, rate, broadcast, management, .. } = self.stations[place].frame.unwrap();
        let mpdu = if management { size.0 } else { size.0 + 36 };
        let rate = if management || broadcast { self.basic() } else { rate };
        (self.air(mpdu, rate), !broadcast && mpdu > self.params.rts_threshold.0)
    }

    fn rate(&self, place: usize) -> Rate {
        let Frame { rate, management, .. } = self.stations[place].frame.unwrap();
        if management { self.basic() } else { rate }
    }

    fn draw(&mut self, place: usize) {
        let station = &mut self.stations[place];
        station.slots = (station.rng.uniform() * f64::from(station.window + 1)) as u32;
    }

    fn offer(&mut self, frame: Frame) {
        let place = frame.station as usize;
        self.stations[place].frame = Some(frame);
        let asks = frame.broadcast && frame.management;
        let busy = self.burst.is_some() || self.now < self.stations[place].nav;
        self.stations[place].defers |= self.burst.is_some();
        if asks {
            let ready = self.now + self.difs();
            self.stations[place].ready = self.stations[place].ready.max(ready);
        }
        if asks || busy && self.stations[place].slots == 0 {
            self.draw(place);
        }
    }

    fn withdraw(&mut self, place: usize) {
        let station = &mut self.stations[place];
        match station.sends {
            true => station.given_up = true,
            false => (station.frame, station.retries, station.air) = (None, [0; 2], Duration::ZERO),
        }
    }

    /// When a station's present slot is over, or its pause if it has none to count.
    fn tick(&self, station: &Listener) -> Option<Time> {
        let waits = !station.sends && !station.defers && (station.slots > 0 || station.frame.is_some());
        let end = if station.slots > 0 { station.ready + self.slot() } else { station.ready };
        waits.then_some(end.max(self.now))
    }

    /// Plays up to `end`, and with what happens then.
    fn play(&mut self, end: Time, reached: Reached<'_>) {
        loop {
            let sensed = self.burst.as_ref().filter(|burst| !burst.sensed);
            let sensed = sensed.map(|burst| burst.began + self.slot());
            let over = self.burst.as_ref().map(|burst| burst.end);
            let tick = (0..self.stations.len())
                .filter_map(|place| Some((self.tick(&self.stations[place])?, place)))
                .min();
            let times = [sensed, over, tick.map(|(time, _)| time)];
            let Some(next) = times.into_iter().flatten().min().filter(|&next| next <= end) else { break };
            self.now = next;
            if sensed == Some(next) {
                self.sense();
            } else if let Some((_, place)) = tick.filter(|&(time, _)| time == next) {
                self.count(place);
            } else {
                self.end_of_frame(reached);
            }
        }
        self.now = end;
    }

    /// A slot behind its beginning, all notice what is on the air. Who was to send without a backoff needs one (§9.2.5.1).
    fn sense(&mut self) {
        self.burst.as_mut().unwrap().sensed = true;
        for place in 0..self.stations.len() {
            let station = &mut self.stations[place];
            let needs_one = station.frame.is_some() && station.slots == 0;
            if !station.sends && !std::mem::replace(&mut station.defers, true) && needs_one {
                self.draw(place);
            }
        }
    }

    /// The end of a slot, or of a pause. A slot in which a frame began was not idle.
    fn count(&mut self, place: usize) {
        let station = &mut self.stations[place];
        if station.slots <= 1 && station.frame.is_some() {
            station.slots = 0;
            return self.send(place);
        }
        if self.burst.as_ref().is_some_and(|burst| burst.began < self.now) {
            station.defers = true;
            return;
        }
        (station.slots, station.ready) = (station.slots - 1, self.now);
    }

    fn send(&mut self, place: usize) {
        let (data, announced) = self.data(place);
        let end = self.now + if announced { self.response(20, self.rate(place)) } else { data };
        self.stations[place].sends = true;
        let burst = self.burst.get_or_insert(Burst {
            began: self.now,
            sensed: false,
            senders: Vec::new(),
            phase: Phase::First,
            started: self.now,
            end,
        });
        burst.senders.push((place, self.now, end));
        burst.end = burst.end.max(end);
    }

    fn is_noisy(&mut self) -> bool {
        self.params.frame_loss > 0.0 && self.rng.uniform() < self.params.frame_loss
    }

    fn end_of_frame(&mut self, reached: Reached<'_>) {
        let Burst { began, senders, phase, started, .. } = self.burst.take().unwrap();
        let (now, sifs) = (self.now, self.sifs());
        if senders.len() > 1 {
            let ack = self.air(14, Rate::from_bps(self.phy().1[0] * 1_000));
            let eifs = self.params.after_collision == AfterCollision::Eifs;
            self.idle(if eifs { sifs + ack + self.difs() } else { self.difs() }, now);
            for (place, started, ended) in senders {
                self.stations[place].air += ended - started;
                match self.stations[place].frame.unwrap().broadcast {
                    true => self.done(place, started, Some(TxOutcome::NotReceived)),
                    false => self.fail(place, ended, 0),
                }
            }
            return;
        }
        let (place, number) = (senders[0].0, senders[0].0 as u32);
        let (data, announced) = self.data(place);
        let broadcast = self.stations[place].frame.unwrap().broadcast;
        let rate = self.rate(place);
        let ack = now + sifs + self.response(14, rate);
        let goes_on = |phase, started, end| {
            Some(Burst { began, sensed: true, senders: senders.clone(), phase, started, end })
        };
        if phase == Phase::First && announced {
            let cts = self.response(14, rate);
            if reached(number, began) {
                let started = now + sifs + cts + sifs;
                self.burst = goes_on(Phase::Data, started, started + data);
                return;
            }
            self.stations[place].air += now - began;
            // §9.2.5.4: without a CTS, those who heard the RTS reset their NAV.
            let start = us(self.phy().0[2]);
            self.idle(self.difs(), now + sifs * 2 + cts + start + self.slot() * 2);
            return self.fail(place, now, 0);
        }
        if phase == Phase::Ack || broadcast {
            let noisy = broadcast && self.is_noisy();
            let outcome = if noisy { TxOutcome::NotReceived } else { TxOutcome::Received };
            self.stations[place].air += now - began;
            self.idle(self.difs(), now);
            return self.done(place, started, Some(outcome).filter(|_| broadcast));
        }
        if reached(number, started) && !self.is_noisy() {
            let (station, air, outcome) = (number, Duration::ZERO, Some(TxOutcome::Received));
            self.outcomes.push(Transmission { station, started, outcome, air, free: false });
            self.burst = goes_on(Phase::Ack, started, ack);
            return;
        }
        self.stations[place].air += now - began;
        self.idle(self.difs(), ack);
        self.fail(place, now, usize::from(announced));
    }

    /// The medium is idle: all wait for a pause, and for a DIFS behind their NAV.
    fn idle(&mut self, pause: Duration, nav: Time) {
        let (now, difs) = (self.now, self.difs());
        for station in &mut self.stations {
            if !station.sends {
                station.nav = station.nav.max(nav);
                let reserved = if station.nav > now { station.nav + difs } else { now };
                station.ready = (now + pause).max(reserved);
            }
            station.defers = false;
        }
    }

    /// It is done with its frame, and counts a backoff of the smallest window behind it (§9.2.5.2).
    fn done(&mut self, place: usize, started: Time, outcome: Option<TxOutcome>) {
        let ready = self.now + self.difs();
        let station = &mut self.stations[place];
        (station.ready, station.window, station.sends) = (ready, self.params.cw_min(), false);
        (station.frame, station.retries, station.given_up) = (None, [0; 2], false);
        let air = std::mem::take(&mut station.air);
        self.outcomes.push(Transmission { station: place as u32, started, outcome, air, free: true });
        self.draw(place);
    }

    /// No answer: §9.2.5.3, and the backoff begins when the timeout of the answer is over (§9.2.8).
    fn fail(&mut self, place: usize, ended: Time, long: usize) {
        let [slot, sifs, start] = self.phy().0;
        let ready = (self.now + self.difs()).max(ended + us(slot + sifs + start));
        let limits = [self.params.short_retry_limit, self.params.long_retry_limit];
        let station = &mut self.stations[place];
        station.retries[long] += 1;
        if station.given_up || station.retries[long] >= limits[long] {
            let loss = if station.given_up { TxOutcome::Cancelled } else { TxOutcome::RetryLimit };
            self.done(place, self.now, Some(loss));
        } else {
            (station.window, station.sends) = ((2 * station.window + 1).min(self.params.cw_max), false);
            let (outcome, air) = (Some(TxOutcome::Retried), Duration::ZERO);
            self.outcomes.push(Transmission {
                station: place as u32,
                started: ended,
                outcome,
                air,
                free: false,
            });
            self.draw(place);
        }
        self.stations[place].ready = ready;
    }
}

/// The same cell twice.
struct Walk {
    medium: Dcf,
    model: Reference,
    /// Of this number of receivers one is out of reach; zero: none.
    absent: u64,
    seed: u64,
    saturated: u64,
    rng: Rng,
    transmissions: usize,
}

impl Walk {
    fn new(seed: u64) -> Walk {
        let mut rng = Rng::named(seed, 0, "walk");
        let mut of = |choices: &[u32]| choices[(rng.uniform() * choices.len() as f64) as usize];
        let phy = [Phy::B, Phy::B, Phy::A, Phy::G][of(&[0, 1, 2, 3]) as usize];
        let basic = if phy == Phy::B { [0, 1_000, 2_000, 11_000] } else { [0, 6_000, 12_000, 24_000] };
        let params = Params {
            phy,
            basic_rate: Some(of(&basic))
                .filter(|&kbps| kbps > 0)
                .map(|kbps| Rate::from_bps(u64::from(kbps) * 1_000)),
            preamble: [None, Some(Preamble::Long), Some(Preamble::Short)][of(&[0, 1, 2]) as usize]
                .filter(|_| phy == Phy::B),
            rts_threshold: Bytes(of(&[0, 536, 2347]).into()),
            short_retry_limit: of(&[1, 2, 7]),
            long_retry_limit: of(&[1, 2, 4]),
            cw_min: Some(of(&[0, 1, 3, 15])).filter(|&window| window > 0),
            cw_max: of(&[31, 63, 1023]),
            frame_loss: f64::from(of(&[0, 1, 3])) / 10.0,
            after_collision: [AfterCollision::Eifs, AfterCollision::Difs][of(&[0, 1]) as usize],
            ..without_beacons()
        };
        params.check().unwrap();
        let absent = of(&[0, 2, 5]).into();
        let mut medium = Dcf::new(&params, Rng::named(seed, 0, "medium"));
        medium.report();
        let stations = (0..2 + of(&[0, 1, 2])).map(|number| {
            let rng = Rng::named(seed, 0, &format!("medium/{number}"));
            let role = if number == 0 { Role::BaseStation } else { Role::Host };
            medium.join(number, role, rng.clone());
            let (window, [ready, nav]) = (params.cw_min(), [Time::ZERO; 2]);
            Listener {
                rng,
                frame: None,
                slots: 0,
                ready,
                nav,
                window,
                retries: [0; 2],
                given_up: false,
                air: Duration::ZERO,
                sends: false,
                defers: false,
            }
        });
        let stations = stations.collect();
        let (now, rng_of_losses) = (Time::ZERO, Rng::named(seed, 0, "medium"));
        let saturated = of(&[0, 1, 3]).into();
        let model =
            Reference { params, rng: rng_of_losses, stations, burst: None, now, outcomes: Vec::new() };
        Walk { medium, model, absent, seed, saturated, rng, transmissions: 0 }
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.rng.uniform() * end as f64) as u64
    }

    fn offer(&mut self, station: u32, now: Time) {
        let kbps: &[u64] = match self.model.params.phy {
            Phy::B => &[1_000, 2_000, 5_500, 11_000],
            _ => &[6_000, 9_000, 18_000, 24_000, 54_000],
        };
        let rate = Rate::from_bps(kbps[self.below(kbps.len() as u64) as usize] * 1_000);
        let size = Bytes([20, 500, 501, 1500][self.below(4) as usize]);
        let (broadcast, management) =
            [(false, false), (false, false), (false, true), (true, false), (true, true)]
                [self.below(5) as usize];
        let frame = Frame { station, size, rate, broadcast, management };
        self.medium.offer(frame, now);
        self.model.offer(frame);
    }

    /// Both play until then, and the same happens.
    fn play(&mut self, end: Time) {
        let (absent, seed) = (self.absent, self.seed);
        let reached = move |station: u32, started: Time| {
            absent == 0 || !(started.as_nanos() / 1_000 + u64::from(station)).is_multiple_of(absent)
        };
        while let Some(now) = self.medium.next_deadline().filter(|deadline| *deadline <= end) {
            let mut outcomes: Vec<Transmission> =
                std::iter::from_fn(|| self.medium.on_deadline(now, &reached)).collect();
            self.model.play(now, &reached);
            let mut wanted = std::mem::take(&mut self.model.outcomes);
            outcomes.sort_by_key(|sent| sent.station);
            wanted.sort_by_key(|sent| sent.station);
            assert_eq!(outcomes, wanted, "sequence {seed}, at {now}: {:?}", self.model.params);
            self.transmissions += outcomes.len();
            for station in outcomes.iter().filter(|sent| sent.free).map(|sent| sent.station) {
                if self.below(4) < self.saturated {
                    self.offer(station, now);
                }
            }
            let station = self.below(self.model.stations.len() as u64) as u32;
            let counts = self.model.stations[station as usize].slots > 0;
            if !outcomes.is_empty() && counts && self.below(20) == 0 {
                self.medium.withdraw(station, now);
                self.model.withdraw(station as usize);
            }
        }
        self.model.play(end, &reached);
        assert_eq!(self.model.outcomes, [], "sequence {seed}, at {end}: {:?}", self.model.params);
    }
}

#[test]
fn random_traffic_takes_the_air_as_in_a_cell_that_counts_each_slot() {
    #[expect(clippy::disallowed_methods, reason = "a test may be asked for more")]
    let wanted = std::env::var("ROAMLAB_SEQUENCES").ok().and_then(|count| count.parse().ok());
    let mut transmissions = 0;
    for seed in 0..wanted.unwrap_or(300) {
        let mut walk = Walk::new(seed);
        let mut now = Time::ZERO;
        let longest = [300, 2_000, 20_000][walk.below(3) as usize];
        for _ in 0..100 {
            now += us(walk.below(longest));
            walk.play(now);
            let station = walk.below(walk.model.stations.len() as u64) as usize;
            if walk.model.stations[station].frame.is_none() {
                walk.offer(station as u32, now);
            }
        }
        transmissions += walk.transmissions;
    }
    assert!(transmissions > 20_000, "{transmissions}");
}
