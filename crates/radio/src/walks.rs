//! Random walks through media, scheduling, roaming, measurement, signals and losses end as they were recorded.

#[path = "../../../tests/recorded/digests.rs"]
mod digests;
#[expect(dead_code, reason = "other tests read the rest")]
#[path = "../../../tests/recorded/fields.rs"]
mod fields;

use crate::*;
use digests::{Digest, Digests, Records};
use fields::{Dice, Fields};
use roamlab_engine::{Bytes, Duration, Rate, Rng, Time};
use schemars::{JsonSchema, schema_for};
use serde::de::DeserializeOwned;
use serde_json::json;
use std::cell::Cell as Counter;
use std::fmt::Debug;

/// A value with random fields, if there is one of this number. `kinds`: those that may be drawn; none: all, or it has none.
fn drawn<T: JsonSchema + DeserializeOwned>(case: u64, name: &str, chance: f64, kinds: &[&str]) -> Option<T> {
    let root = serde_json::to_value(schema_for!(T)).unwrap();
    let mut schema = json!({ "$defs": root["$defs"] });
    schema["$defs"][name] = root;
    let fields = Fields { schema: &schema, case, often: &[] };
    let kind = match kinds {
        [] => fields.kind(name, name),
        _ => Dice::of(case, name).one_of(kinds),
    };
    let mut values = fields.some(fields.definition(name, kind), name, chance, &["sizes"]);
    if !kind.is_empty() {
        values.insert("kind".into(), kind.into());
    }
    serde_json::from_value(values.into()).ok()
}

fn note(digest: &mut Digest, what: impl Debug) {
    digest.add_text(&format!("{what:?}"));
}

/// A span up to some of these units.
fn span(dice: &mut Dice, most_us: f64) -> Duration {
    Duration::from_nanos((1e3 * dice.between(1.0, most_us)) as u64)
}

/// A report of a medium in the words of the recorded digests.
fn recorded(sent: &Transmission) -> String {
    let Transmission { station, started, outcome, air, free } = sent;
    let fate = outcome.map(|outcome| match outcome {
        TxOutcome::Received => "Received",
        TxOutcome::Beacon => "Beacon",
        TxOutcome::Retried => "Unanswered",
        TxOutcome::NotReceived => "Lost(OnAir)",
        TxOutcome::RetryLimit => "Lost(RetryLimit)",
        TxOutcome::Cancelled => "Lost(GivenUp)",
    });
    let fate = fate.map_or_else(|| "None".to_owned(), |fate| format!("Some({fate})"));
    format!(
        "Outcome {{ station: {station}, started: {started:?}, fate: {fate}, air: {air:?}, free: {free} }}"
    )
}

/// Stations with frames of all kinds, of which some give up and some have left.
fn medium(case: u64) -> Option<u16> {
    let mut dice = Dice::of(case, "medium");
    let chance = dice.one_of(&[0.1, 0.3]);
    let spec = |number| drawn::<MediumSpec>(number, "MediumSpec", chance, &["dcf", "dcf", "dcf", "shared"]);
    let spec = (8 * case..8 * case + 8).filter_map(spec).find(|spec| spec.check().is_ok())?;
    let rate =
        [1_000_000, 2_000_000, 5_500_000, 6_000_000, 11_000_000, 24_000_000, 54_000_000].map(Rate::from_bps);
    let rates: Vec<Rate> = rate.into_iter().filter(|rate| spec.refuses_rate(*rate).is_none()).collect();
    let mut medium = spec.build(Rng::named(case, 0, "medium"))?;
    if dice.chance(0.5) {
        medium.report();
    }
    let stations = 2 + dice.below(4) as u32;
    for number in 0..stations {
        let role = if number == 0 { Role::BaseStation } else { Role::Host };
        medium.join(number, role, Rng::named(case, u64::from(number), "station"));
    }
    let mut busy = vec![false; stations as usize];
    let (mut now, mut digest) = (Time::ZERO, Digest::EMPTY);
    let load = 10.0 * dice.between(10.0, 3000.0);
    let gone = Counter::new(u32::MAX);
    for _ in 0..300 {
        let until = now + span(&mut dice, load);
        while let Some(deadline) = medium.next_deadline().filter(|deadline| *deadline <= until) {
            now = now.max(deadline);
            let Some(sent) = medium.on_deadline(now, &|station, _| station != gone.get()) else {
                continue;
            };
            digest.add_text(&recorded(&sent));
            busy[sent.station as usize] &= !sent.free;
        }
        now = until;
        note(&mut digest, (medium.next_deadline(), medium.was_busy(now)));
        let station = dice.below(u64::from(stations)) as u32;
        match dice.below(12) {
            0 if busy[station as usize] => busy[station as usize] = !medium.withdraw(station, now),
            1 => gone.set(dice.one_of(&[u32::MAX, station])),
            _ if !busy[station as usize] => {
                let management = dice.chance(0.2);
                let size = Bytes(dice.between(30.0, 2300.0) as u64);
                let frame = Frame {
                    station,
                    size,
                    rate: dice.one_of(&rates),
                    broadcast: dice.chance(0.2),
                    management,
                };
                medium.offer(frame, now);
                busy[station as usize] = true;
            }
            _ => {}
        }
    }
    Some(digest.value())
}

/// A station of 802.11 that hears answers, beacons and nothing.
fn roamer(case: u64) -> Option<u16> {
    let mut dice = Dice::of(case, "roamer");
    let chance = dice.one_of(&[0.1, 0.3]);
    let wifi = (8 * case..8 * case + 8).filter_map(|number| drawn::<Wifi>(number, "Wifi", chance, &[]));
    let wifi = wifi.into_iter().find(|wifi| wifi.check().is_ok())?;
    let wifi = Wifi { channels: 1 + dice.below(4) as u32, failed_attempts: dice.below(4) as u32, ..wifi };
    let levels = wifi.background_scan.is_some();
    let mut station = Station::new(wifi).with_candidates([vec![2, 1], vec![0]].into());
    let sent = |management, outcome| StationEvent::Sent { management, outcome };
    let (mut now, mut digest, mut actions) = (Time::ZERO, Digest::EMPTY, Vec::new());
    let quiet = dice.uniform();
    station.on(StationEvent::SwitchedOn, now, &mut actions);
    for _ in 0..400 {
        let cell = dice.below(3) as u32;
        let interval = Duration::from_micros(102_400);
        let strength = match levels {
            true => Strength::of_level(dice.between(-90.0, -60.0)),
            false => Strength::Since(Time::from_nanos(dice.below(4))),
        };
        let offer = Offer { cell, channel: cell + 1, interval, strength };
        let own = station.cell().unwrap_or(cell);
        let heard = match dice.below(20) {
            0..=1 => StationEvent::Cell { offer: Offer { cell: own, ..offer }, beacon: true },
            2..=3 => StationEvent::Cell { offer, beacon: dice.chance(0.5) },
            4 => sent(true, TxOutcome::Received),
            5 => sent(true, TxOutcome::RetryLimit),
            6 => StationEvent::Authenticated(cell),
            7 => StationEvent::Associated(cell),
            8 if dice.chance(0.2) => StationEvent::Deauthenticated(own),
            9 => sent(false, TxOutcome::Received),
            10 if dice.chance(0.5) => sent(false, TxOutcome::Retried),
            11..=12 => StationEvent::Level(own, strength),
            13 => StationEvent::Quiet,
            14 if dice.chance(0.3) => StationEvent::Waiting(own),
            15 if dice.chance(0.1) => {
                let mut channels = Channels::default();
                (0..dice.below(3)).for_each(|each| channels.insert(each as u32 + 1));
                StationEvent::Transition { cell: own, request: dice.below(3) as u32, channels }
            }
            15 if dice.chance(0.1) => StationEvent::Disassociated(own),
            _ => {
                now = station.next_deadline().unwrap_or(now).max(now);
                StationEvent::Deadline { busy: dice.chance(0.5) }
            }
        };
        if !matches!(heard, StationEvent::Deadline { .. }) {
            now += span(&mut dice, 3.0 + 3e4 * quiet);
        }
        station.on(heard, now, &mut actions);
        note(&mut digest, (&actions, station.next_deadline(), station.cell()));
        actions.clear();
    }
    Some(digest.value())
}

/// Bearers of other weights and rates that have packets at times.
fn scheduler(case: u64) -> Option<u16> {
    let mut dice = Dice::of(case, "scheduler");
    let spec: SchedulerSpec = drawn(case, "SchedulerSpec", 0.5, &[])?;
    let bearers: Vec<BearerShare> = (0..2 + dice.below(4))
        .map(|_| BearerShare {
            weight: dice.between(0.2, 5.0),
            rate: Rate::from_bps(dice.between(1e5, 1e7) as u64),
        })
        .collect();
    let mut scheduler = CellScheduler::new(&spec, &bearers);
    let mut waiting = vec![Vec::<Bytes>::new(); bearers.len()];
    let (mut now, mut digest) = (Time::ZERO, Digest::EMPTY);
    for _ in 0..400 {
        let bearer = dice.below(bearers.len() as u64) as usize;
        if dice.chance(0.5) {
            if waiting[bearer].is_empty() {
                scheduler.wakes(bearer);
            }
            waiting[bearer].push(Bytes(dice.between(40.0, 1500.0) as u64));
        } else {
            let heads =
                waiting.iter().enumerate().filter_map(|(bearer, line)| Some((bearer, *line.first()?)));
            let chosen = scheduler.choose(heads, now);
            note(&mut digest, chosen);
            if let Some(bearer) = chosen {
                let size = waiting[bearer].remove(0);
                scheduler.sends(bearer, size, now);
            }
        }
        now += span(&mut dice, 2e4);
    }
    Some(digest.value())
}

/// A path among cells, of which one does not transmit.
fn positions(case: u64, dice: &mut Dice) -> Positions {
    let loss = PathLoss {
        shadowing_db: dice.one_of(&[0.0, 3.0, 8.0]),
        correlation_m: dice.between(5.0, 80.0),
        ..PathLoss::default()
    };
    let mut point = || [1000.0 * dice.uniform(), 300.0 * dice.uniform()];
    let waypoints_m = (0..4).map(|_| point()).collect();
    let cells: Vec<[f64; 2]> = (0..4).map(|_| point()).collect();
    let start = span(dice, 1e6);
    let path = Trajectory { waypoints_m, speed_m_per_s: dice.between(5.0, 400.0), times: Vec::new(), start };
    let transmitter = |(number, position_m): (usize, [f64; 2])| {
        Some((
            Transmitter { position_m, reference_signal_dbm: 15.0 },
            Rng::named(case, number as u64, "shadow"),
        ))
        .filter(|_| number != 3)
    };
    Positions::new(loss, path, cells.into_iter().enumerate().map(transmitter).collect())
}

/// Levels by position and by schedule, as a meter with two conditions finds them.
fn measurement(case: u64) -> Option<u16> {
    let mut dice = Dice::of(case, "measurement");
    let positions = positions(case, &mut dice);
    let mut at = Duration::ZERO;
    let visits: Vec<Visit> = (0..5)
        .map(|_| {
            at += span(&mut dice, 2e6);
            let until = dice.chance(0.2).then(|| at + Duration::from_millis(100));
            Visit { cell: dice.below(4).to_string(), at, until }
        })
        .collect();
    let schedule = Schedule::new((-80.0, dice.between(3.0, 60.0)), 4, &visits, |cell| cell.parse().unwrap());
    let mut signal = if dice.chance(0.5) { Signal::Positions(positions) } else { Signal::Schedule(schedule) };
    let period = Duration::from_millis(dice.one_of(&[10, 40, 120]));
    let audible = dice.one_of(&[-140.0, -110.0, -90.0]);
    let mut meter = Meter::new(period, span(&mut dice, 1e6), audible, vec![0.0, 1.5, -2.0, 0.0]);
    let (mut now, mut digest) = (Time::ZERO, Digest::EMPTY);
    for sample in 0..250 {
        if sample == 0 || dice.chance(0.03) {
            let mut condition = |name, candidates: Option<Vec<usize>>| Condition {
                name,
                candidates,
                event: Event {
                    test: Test::Offset {
                        offset_db: 0.5 * dice.below(8) as f64,
                        hysteresis_db: 0.5 * dice.below(8) as f64,
                    },
                    time_to_trigger: Duration::from_millis(dice.one_of(&[0, 40, 256])),
                },
                second: None,
                leaves_at_once: true,
                unfiltered: false,
                report_interval: [None, Some(Duration::from_millis(240))][dice.below(2) as usize],
            };
            let conditions =
                vec![condition("report", None), condition("execution", Some(vec![sample % 4, 2]))];
            meter.evaluate(dice.one_of(&[0, 4, 8]), conditions);
        }
        if sample == 0 || dice.chance(0.05) {
            meter.serve(Some(dice.below(4) as usize).filter(|_| dice.chance(0.9)));
        }
        if dice.chance(0.05) {
            meter.search();
        }
        let levels = signal.levels(now);
        levels.iter().for_each(|level| digest.add(level.to_bits()));
        note(&mut digest, (meter.sample(now, &levels), meter.is_deaf()));
        now += period;
    }
    Some(digest.value())
}

/// Packets that are lost at random, and those that go with a recording.
fn links(case: u64) -> Option<u16> {
    let mut dice = Dice::of(case, "links");
    let chain = GilbertElliott {
        good_to_bad: dice.between(0.01, 0.5),
        bad_to_good: dice.between(0.05, 1.0),
        loss_in_bad: dice.between(0.3, 1.0),
        loss_in_good: 0.1 * dice.uniform(),
    };
    let spec = if dice.chance(0.3) {
        LossSpec::Independent(dice.uniform())
    } else {
        LossSpec::Correlated(Box::new(CorrelatedLoss::GilbertElliott(chain)))
    };
    let mut digest = Digest::EMPTY;
    let trace: String = (0..30)
        .scan(0, |at, _| {
            *at += dice.below(9);
            Some(format!("{at}\n"))
        })
        .collect();
    let trace = <Opportunities as roamlab_engine::input::Recording>::read(&trace).ok()?;
    let mut transmitter = RecordedTransmitter::new(std::sync::Arc::new(trace));
    let mut now = Time::ZERO;
    for replication in 0..20 {
        let mut losses = LossProcess::new(&spec, Rng::named(case, replication, "losses"));
        for _ in 0..20 {
            digest.add(losses.loses(now).into());
            let waited = dice.chance(0.6);
            if !waited {
                now += span(&mut dice, 3e4);
            }
            now = transmitter.transmission_end(now, Bytes(dice.between(40.0, 4000.0) as u64), waited);
            digest.add(now.as_nanos());
        }
    }
    Some(digest.value())
}

/// The motions that follow from visits.
fn plans(case: u64) -> Option<u16> {
    let mut dice = Dice::of(case, "plans");
    let mut digest = Digest::EMPTY;
    for nth in 0..20 {
        let radio: RadioSpec =
            drawn(20 * case + nth, "RadioSpec", 0.3, &["hard", "soft"]).unwrap_or_default();
        let mut at = Duration::ZERO;
        let visits: Vec<Visit> = (0..5)
            .map(|_| {
                at += span(&mut dice, 1e6);
                let until = dice.chance(0.3).then(|| at + span(&mut dice, 5e5));
                Visit { cell: dice.one_of(&["a", "b", "c"]).into(), at, until }
            })
            .collect();
        note(&mut digest, radio.plan(&visits, None));
    }
    Some(digest.value())
}

/// The walks of a case; of one that cannot be there is nothing.
fn walks(case: u64) -> Digests {
    [medium, roamer, scheduler, measurement, links, plans].map(|walk| walk(case).unwrap_or_default()).to_vec()
}

#[test]
fn random_walks_end_as_recorded() {
    const RECORDS: Records =
        Records::new("radio.txt", &["media", "roaming", "scheduling", "measurement", "links", "plans"]);
    let cases: Vec<_> = (0..250).map(|case| (case.to_string(), walks(case))).collect();
    for group in 0..6 {
        let walked = cases.iter().filter(|(_, digests)| digests[group] != 0).count();
        assert!(walked > 100, "group {group}: {walked}");
    }
    RECORDS.check(&cases, "Look at the walk at both commits.");
}
