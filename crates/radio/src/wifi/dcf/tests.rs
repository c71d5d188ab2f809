//! The medium alone, with stations that a test drives.

mod exact;
mod reference;

use super::bianchi::Saturated;
use super::timing::{Phy, Preamble};
use super::*;
use roamlab_engine::Bytes;

const MBPS_11: Rate = Rate::from_bps(11_000_000);
const QUIET: Duration = Duration::ZERO;

fn without_beacons() -> Params {
    Params { beacon_interval: QUIET, ..Params::default() }
}

fn micros(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e3
}

/// Frames that a station has got through.
#[derive(Clone, Default, Debug)]
struct Tally {
    received: u64,
    lost: u64,
    air: Duration,
}

/// A medium, its stations from 0 on, and the outcomes of their frames. The first is the base station.
struct Cell {
    medium: Dcf,
    now: Time,
    tallies: Vec<Tally>,
    /// Station, time and outcome of every frame.
    outcomes: Vec<(u32, Time, TxOutcome)>,
    frame: Frame,
    saturated: bool,
    absent: bool,
}

impl Cell {
    fn new(params: &Params, stations: u32, rate: Rate) -> Cell {
        params.check().unwrap();
        let mut medium = Dcf::new(params, Rng::named(1, 0, "medium"));
        for station in 0..stations {
            let role = if station == 0 { Role::BaseStation } else { Role::Host };
            medium.join(station, role, Rng::named(1, 0, &format!("medium/{station}")));
        }
        Cell {
            medium,
            now: Time::ZERO,
            tallies: vec![Tally::default(); stations as usize],
            outcomes: Vec::new(),
            frame: Frame { station: 0, size: Bytes(1500), rate, broadcast: false, management: false },
            saturated: false,
            absent: false,
        }
    }

    fn offer(&mut self, station: u32) {
        self.medium.offer(Frame { station, ..self.frame }, self.now);
    }

    /// Lets everything happen before `end`.
    fn play(&mut self, end: Time) {
        while let Some(deadline) = self.medium.next_deadline().filter(|deadline| *deadline < end) {
            self.now = deadline;
            let is_there = !self.absent;
            while let Some(sent) = self.medium.on_deadline(self.now, &|_, _| is_there) {
                let tally = &mut self.tallies[sent.station as usize];
                tally.air += sent.air;
                tally.received += u64::from(sent.outcome == Some(TxOutcome::Received));
                tally.lost += u64::from(sent.outcome.is_some_and(TxOutcome::is_loss));
                self.outcomes.extend(sent.outcome.map(|outcome| (sent.station, self.now, outcome)));
                if sent.free && self.saturated {
                    self.offer(sent.station);
                }
            }
        }
        self.now = end;
    }

    /// All stations always want to send, for this number of seconds.
    fn saturate(params: &Params, stations: u32, rate: Rate, seconds: u64) -> Cell {
        let mut cell = Cell::new(params, stations, rate);
        cell.saturated = true;
        (0..stations).for_each(|station| cell.offer(station));
        cell.play(Time::ZERO + Duration::from_secs(seconds));
        cell
    }

    fn received(&self) -> f64 {
        self.tallies.iter().map(|tally| tally.received).sum::<u64>() as f64
    }

    fn lost(&self) -> f64 {
        self.tallies.iter().map(|tally| tally.lost).sum::<u64>() as f64
    }

    /// How long a success and its acknowledgement, and how long the frame of a failed attempt is on the air,
    /// in µs.
    fn exchange(&self, rts: bool) -> (f64, f64) {
        let (timing, rate) = (&self.medium.timing, self.frame.rate);
        let [sifs, data, ack] =
            [timing.sifs, timing.data(self.frame.size, rate), timing.ack(rate)].map(micros);
        let [announce, clear] = [timing.rts(rate), timing.cts(rate)].map(micros);
        let plain = data + sifs + ack;
        if rts { (announce + sifs + clear + sifs + plain, announce) } else { (plain, data) }
    }

    /// The share of attempts that collided, from how long all were on the air.
    fn collision_probability(&self, rts: bool) -> f64 {
        let (success, vain) = self.exchange(rts);
        let air: f64 = self.tallies.iter().map(|tally| micros(tally.air)).sum();
        let vainly = (air - self.received() * success) / vain;
        vainly / (vainly + self.received())
    }

    /// The closed form for this cell. `after_collision` is the pause behind a collision: Bianchi has a DIFS, the standard
    /// an EIFS.
    fn closed_form(&self, rts: bool, after_collision: Duration) -> Saturated {
        let (success, vain) = self.exchange(rts);
        let (timing, window) = (&self.medium.timing, f64::from(self.medium.params.cw_min() + 1));
        Saturated {
            stations: self.tallies.len() as i32,
            window,
            doublings: libm::log2(1024.0 / window) as i32,
            attempts: self.medium.params.short_retry_limit as i32,
            slot: micros(timing.slot),
            success: success + micros(timing.difs),
            collision: vain + micros(after_collision),
        }
    }
}

/// Payload rates of one station with 1500 B, where the mean backoff is half of the smallest window.
#[test]
fn one_station_alone_gets_what_a_frame_costs() {
    for (bps, expected) in [(1_000_000, 0.91), (2_000_000, 1.73), (5_500_000, 3.94), (11_000_000, 6.23)] {
        let cell = Cell::saturate(&without_beacons(), 1, Rate::from_bps(bps), 400);
        let mbps = cell.received() * 12_000.0 / 400.0 / 1e6;
        assert_eq!(format!("{mbps:.2}"), format!("{expected:.2}"), "{bps}");
        let exact = cell.closed_form(false, QUIET).frames_per_second() * 400.0;
        assert!((cell.received() / exact - 1.0).abs() < 0.002, "{bps}: {} {exact}", cell.received());
    }
}

#[test]
fn saturation_throughput_is_that_of_the_closed_form() {
    for rts in [false, true] {
        let params = Params { rts_threshold: Bytes(if rts { 0 } else { 2347 }), ..without_beacons() };
        for stations in [1, 2, 3, 5, 10, 15, 20] {
            let cell = Cell::saturate(&params, stations, MBPS_11, 200);
            let frames = cell.received() / 200.0;
            let Timing { difs, eifs, .. } = cell.medium.timing;
            let standard = frames / cell.closed_form(rts, eifs).frames_per_second() - 1.0;
            let paper = frames / cell.closed_form(rts, difs).frames_per_second() - 1.0;
            let (p, expected) =
                (cell.collision_probability(rts), cell.closed_form(rts, eifs).collision_probability());
            println!(
                "rts {rts}, {stations}: {:.3} Mbit/s, {:+.2} %, with a DIFS {:+.2} %; p {p:.4}, closed {expected:.4}",
                frames * 0.012,
                100.0 * standard,
                100.0 * paper
            );
            assert!(standard.abs() < 0.015, "rts {rts}, {stations}: {standard}");
            // Without an EIFS, as in the paper, a collision costs less.
            assert!((-0.05..0.001).contains(&paper), "rts {rts}, {stations}: {paper}");
            assert!((p - expected).abs() <= 0.008, "rts {rts}, {stations}: {p} {expected}");
            if stations == 20 {
                let given_up = cell.lost() / (cell.lost() + cell.received());
                assert!((given_up / libm::pow(p, 7.0) - 1.0).abs() < 0.3, "{given_up} {}", libm::pow(p, 7.0));
            }
        }
    }
}

/// The paper has no EIFS: a collision costs its frames and a DIFS.
#[test]
fn without_an_eifs_saturation_is_that_of_the_paper() {
    for stations in [2, 3, 5, 10, 15, 20] {
        let params = Params { after_collision: AfterCollision::Difs, ..without_beacons() };
        let cell = Cell::saturate(&params, stations, MBPS_11, 200);
        let expected = cell.closed_form(false, cell.medium.timing.difs).frames_per_second() * 200.0;
        let error = cell.received() / expected - 1.0;
        println!("{stations}: {:+.2} %, p {:.4}", 100.0 * error, cell.collision_probability(false));
        assert!(error.abs() < 0.015, "{stations}: {error}");
    }
}

#[test]
fn ofdm_saturates_as_the_closed_form_says() {
    for (phy, bps) in [(Phy::A, 54_000_000), (Phy::A, 6_000_000), (Phy::G, 24_000_000)] {
        let params = Params { phy, ..without_beacons() };
        for stations in [1, 10] {
            let cell = Cell::saturate(&params, stations, Rate::from_bps(bps), 100);
            let expected = cell.closed_form(false, cell.medium.timing.eifs).frames_per_second() * 100.0;
            let error = cell.received() / expected - 1.0;
            println!("{phy:?} {bps} {stations}: {error:+.4}");
            assert!(error.abs() < 0.03, "{phy:?} at {bps}, {stations}: {error}");
        }
    }
}

#[test]
fn stations_get_equal_shares() {
    let cell = Cell::saturate(&without_beacons(), 10, MBPS_11, 400);
    let fair = cell.received() / 10.0;
    for tally in &cell.tallies {
        // Some 20 000 frames each; the stations' luck evens out more slowly than independent draws.
        assert!((tally.received as f64 / fair - 1.0).abs() < 0.05, "{tally:?} of {fair}");
    }
}

#[test]
fn a_first_frame_goes_at_once_and_later_ones_wait_for_their_backoff() {
    let mut cell = Cell::new(&without_beacons(), 2, MBPS_11);
    cell.play(Time::from_nanos(1_000_000));
    cell.offer(0);
    cell.play(Time::from_nanos(1_500_000));
    // While the first is on the air the second draws a backoff, for after the acknowledgement.
    cell.offer(1);
    let backoff = cell.medium.stations[1].backoff;
    cell.play(Time::from_nanos(9_000_000));
    let nanos: Vec<u64> = cell.outcomes.iter().map(|(_, at, _)| at.as_nanos()).collect();
    let data = 192_000 + 1_117_091;
    let gap = 10_000 + 248_000 + 50_000 + 20_000 * u64::from(backoff);
    assert_eq!(nanos, [1_000_000 + data, 1_000_000 + data + gap + data]);
    // The backoff behind a frame is over by now: the next one need not wait either.
    cell.offer(0);
    cell.play(Time::from_nanos(20_000_000));
    assert_eq!(cell.outcomes[2].1.as_nanos(), 9_000_000 + data);
}

#[test]
fn what_two_stations_begin_in_one_slot_collides() {
    for (apart, received_at_once) in [(0, 0), (19_999, 0), (20_000, 1)] {
        let mut cell = Cell::new(&without_beacons(), 2, MBPS_11);
        cell.play(Time::from_nanos(1_000_000));
        cell.medium.offer(cell.frame, cell.now);
        cell.now += Duration::from_nanos(apart);
        cell.medium.stations[1].ready = cell.now;
        cell.medium.ready = cell.now;
        cell.offer(1);
        cell.play(Time::from_nanos(1_000_000 + 1_400_000));
        assert_eq!(cell.received() as u64, received_at_once, "{apart} ns apart");
        // Both get through in the end.
        cell.play(Time::from_nanos(50_000_000));
        assert_eq!(cell.received() as u64, 2, "{apart} ns apart");
    }
}

#[test]
fn frames_for_a_host_that_is_gone_are_retried_and_hold_up_the_next() {
    let mut cell = Cell::new(&without_beacons(), 2, MBPS_11);
    cell.absent = true;
    let mut held_up = 0.0;
    for _ in 0..200 {
        let begun = cell.now;
        cell.offer(0);
        let limit = begun + Duration::from_secs(1);
        cell.play(limit);
        let (_, at, outcome) = cell.outcomes.pop().unwrap();
        assert_eq!(outcome, TxOutcome::RetryLimit);
        held_up += micros(at.since(begun)) / 200.0;
    }
    let attempts = micros(cell.tallies[0].air) / 200.0 / (192.0 + 1_117.091);
    assert!((attempts - 7.0).abs() < 1e-6, "{attempts}");
    // Seven frames, six failed waits and mean backoffs of 31.5, 63.5, 127.5, 255.5, 511.5 and 511.5 slots.
    let expected = 7.0 * 1_309.091 + 6.0 * 222.0 + 1_501.0 * 20.0;
    assert!((held_up / expected - 1.0).abs() < 0.05, "{held_up} {expected}");

    cell.medium.params.departed = Departed::Discard;
    let begun = cell.now;
    cell.offer(0);
    cell.play(begun + Duration::from_secs(1));
    let (_, at, outcome) = cell.outcomes[0];
    assert_eq!((at, outcome), (begun, TxOutcome::Cancelled), "immediately, and nothing is sent");
}

#[test]
fn an_rts_for_a_host_that_is_gone_counts_as_a_short_frame() {
    let mut cell = Cell::new(&Params { rts_threshold: Bytes(0), ..without_beacons() }, 1, MBPS_11);
    cell.absent = true;
    cell.offer(0);
    cell.play(Time::from_nanos(1_000_000_000));
    assert_eq!(micros(cell.tallies[0].air), 7.0 * 272.0);
}

#[test]
fn a_lost_frame_is_sent_again_up_to_the_limit() {
    // Seven attempts each; above the RTS threshold four.
    for (threshold, limit) in [(2347, 7), (0, 4)] {
        let params = Params { frame_loss: 0.5, rts_threshold: Bytes(threshold), ..without_beacons() };
        let cell = Cell::saturate(&params, 1, MBPS_11, 400);
        let (lost, all) = (cell.lost(), cell.lost() + cell.received());
        let expected = all * libm::pow(0.5, f64::from(limit));
        assert!((lost - expected).abs() < 4.0 * expected.sqrt(), "{limit}: {lost} {expected}");
    }
}

#[test]
fn broadcasts_go_at_the_basic_rate_and_nobody_answers() {
    let mut cell = Cell::new(&Params { frame_loss: 0.5, ..without_beacons() }, 2, MBPS_11);
    cell.frame.broadcast = true;
    for second in 1..=400 {
        cell.offer(1);
        cell.play(Time::ZERO + Duration::from_secs(second));
    }
    let tally = &cell.tallies[1];
    assert_eq!(micros(tally.air), 400.0 * (192.0 + 8.0 * 1536.0 / 2.0));
    assert_eq!(tally.received + tally.lost, 400);
    assert!((160..=240).contains(&tally.lost), "{}", tally.lost);
    assert!(cell.outcomes.iter().all(|(.., outcome)| *outcome != TxOutcome::RetryLimit));
}

#[test]
fn a_frame_can_be_taken_back_unless_it_is_on_the_air() {
    let mut cell = Cell::new(&without_beacons(), 2, MBPS_11);
    cell.offer(0);
    cell.play(Time::from_nanos(500_000));
    assert!(!cell.medium.withdraw(0, cell.now), "it is on the air");
    cell.offer(1);
    assert!(cell.medium.withdraw(1, cell.now));
    assert!(!cell.medium.withdraw(1, cell.now), "there is none");
    cell.play(Time::from_nanos(100_000_000));
    assert_eq!((cell.tallies[0].received, cell.tallies[1].received), (1, 0));
    // One that is not wanted any more and was sent without result is not sent again.
    cell.absent = true;
    cell.offer(1);
    cell.play(Time::from_nanos(100_500_000));
    assert!(!cell.medium.withdraw(1, cell.now));
    cell.play(Time::from_nanos(200_000_000));
    assert_eq!(cell.outcomes[1].2, TxOutcome::Cancelled);
    assert_eq!(micros(cell.tallies[1].air), 192.0 + 1_117.091);
}

#[test]
fn the_rts_threshold_is_of_the_frame_with_its_headers() {
    // 802.11-2012 annex C, dot11RTSThreshold: octets of the MPDU. 1500 B have 24 + 8 + 4 around them.
    for (threshold, announces) in [(1535, true), (1536, false)] {
        let params = Params { rts_threshold: Bytes(threshold), ..without_beacons() };
        let mut cell = Cell::new(&params, 2, MBPS_11);
        cell.offer(1);
        assert_eq!(cell.medium.announces(1), announces, "{threshold}");
    }
}

#[test]
fn a_frame_that_collides_is_on_the_air_and_is_given_up_when_it_has_ended() {
    let mut cell = Cell::new(&without_beacons(), 2, MBPS_11);
    cell.play(Time::from_nanos(1_000_000));
    (0..2).for_each(|station| cell.offer(station));
    cell.play(Time::from_nanos(1_500_000));
    assert!(matches!(cell.medium.state, State::Collision { .. }));
    assert!(!cell.medium.withdraw(1, cell.now));
    cell.play(Time::from_nanos(50_000_000));
    assert_eq!((cell.tallies[0].received, cell.tallies[1].received), (1, 0));
    let (station, at, outcome) = cell.outcomes[0];
    assert_eq!((station, outcome), (1, TxOutcome::Cancelled));
    assert!(at > Time::from_nanos(2_000_000), "a frame of 1.309 ms");
}

#[test]
fn beacons_take_their_time_even_where_everybody_sends() {
    let beacon = 192.0 + 8.0 * 90.0 / 2.0;
    // Alone on the air: ten times a second.
    let mut cell = Cell::new(&Params::default(), 1, MBPS_11);
    cell.play(Time::ZERO + Duration::from_secs(100));
    let heard = micros(cell.medium.stations[0].air) / beacon;
    assert!((heard - 100.0 / 0.1024).abs() <= 1.0, "{heard}");
    // Among others: each costs them at least its own time.
    let [with, without] = [Params::default(), without_beacons()].map(|params| {
        let params =
            Params { beacon_interval: params.beacon_interval.min(Duration::from_micros(10_240)), ..params };
        Cell::saturate(&params, 2, MBPS_11, 100)
    });
    let air = |cell: &Cell| micros(cell.tallies[0].air);
    let (gain, frames) = (air(&with) - air(&without), with.tallies[0].received);
    assert!(with.received() < without.received());
    // The base station sends beacons instead of frames: about 9766 of them.
    let data = air(&without) / without.tallies[0].received as f64;
    let beacons = (gain + (without.tallies[0].received - frames) as f64 * data) / beacon;
    assert!((beacons / 9_765.0 - 1.0).abs() < 0.1, "{beacons}");
}

#[test]
fn parameters_that_no_medium_has_are_refused() {
    let field = |params: Params| params.check().unwrap_err().0;
    let params = Params::default;
    assert_eq!(field(Params { basic_rate: Some(Rate::from_bps(3_000_000)), ..params() }), "basic_rate");
    assert_eq!(field(Params { phy: Phy::A, preamble: Some(Preamble::Short), ..params() }), "preamble");
    assert_eq!(field(Params { short_retry_limit: 0, ..params() }), "short_retry_limit");
    assert_eq!(field(Params { long_retry_limit: 256, ..params() }), "long_retry_limit");
    assert_eq!(field(Params { cw_min: Some(30), ..params() }), "cw_min");
    assert_eq!(field(Params { cw_min: Some(u32::MAX), ..params() }), "cw_min");
    assert_eq!(field(Params { cw_max: 15, ..params() }), "cw_max");
    assert_eq!(field(Params { frame_loss: 1.0, ..params() }), "frame_loss");
    assert_eq!(field(Params { beacon_interval: Duration::from_micros(1), ..params() }), "beacon_interval");
    assert_eq!(field(Params { beacon_size: Bytes(3000), ..params() }), "beacon_size");
    assert!(
        params().refuses_rate(Rate::from_bps(2_500_000)).unwrap().contains("\"5500 kbit/s\", \"11 Mbit/s\"")
    );
}

#[test]
fn a_station_that_comes_within_a_reservation_finds_the_medium_busy() {
    // IEEE 802.11-2020 §10.3.2.1: the duration of a frame reserves the medium for its ACK, also for one that does not come.
    let mut cell = Cell::new(&without_beacons(), 40, MBPS_11);
    cell.absent = true;
    cell.offer(1);
    let end = cell.medium.next_deadline().unwrap() + cell.medium.timing.data(Bytes(1500), MBPS_11);
    cell.play(end + Duration::from_nanos(1));
    let reserved = end + cell.medium.timing.sifs + cell.medium.timing.ack(MBPS_11);
    cell.now = end + Duration::from_micros(5);
    assert!(cell.now < reserved);
    (2..40).for_each(|station| cell.offer(station));
    let waiting = cell.medium.stations[2..].iter().filter(|station| station.backoff > 0).count();
    assert!(waiting > 25, "{waiting} of 38 have drawn a backoff above 0 out of 0 to 31");
}

#[test]
fn a_frame_that_collides_is_on_the_air_for_its_own_time() {
    // A frame of 1536 B and one of 136 B with their headers, at 11 Mbit/s behind a long preamble.
    let mut cell = Cell::new(&Params { short_retry_limit: 1, ..without_beacons() }, 2, MBPS_11);
    cell.play(Time::from_nanos(1_000_000));
    cell.offer(0);
    cell.frame.size = Bytes(100);
    cell.offer(1);
    cell.play(Time::from_nanos(50_000_000));
    assert_eq!([0, 1].map(|station| cell.tallies[station].lost), [1, 1]);
    assert_eq!([0, 1].map(|station| cell.tallies[station].air.as_nanos()), [1_309_091, 290_910]);
}

#[test]
fn a_management_frame_and_its_answer_go_at_the_basic_rate() {
    // 192 us and 100 B at 2 Mbit/s, a SIFS, 192 us and 14 B at 2 Mbit/s: whatever the rate of the host's data.
    let mut cell = Cell::new(&without_beacons(), 1, Rate::from_bps(1_000_000));
    (cell.frame.management, cell.frame.size) = (true, Bytes(100));
    cell.offer(0);
    cell.play(Time::from_nanos(50_000_000));
    assert_eq!(micros(cell.tallies[0].air), 592.0 + 10.0 + 248.0);
}
