use super::measured::MeasuredChannel;
use super::*;
use crate::series::{AtEnd, CERTAIN, Player};
use crate::stepped::SteppedTransmitter;
use roamlab_engine::{Bytes, Time};

fn spec(json: &str) -> ChannelSpec {
    serde_json::from_str(json).unwrap()
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn drawn(channel: &ChannelSpec, duration: Duration, moves: &[Duration], back: bool) -> Drawn {
    channel.check(duration).unwrap();
    channel.draw(&Setting { back, duration, moves }, Rng::named(5, 0, "a->b/channel"))
}

/// The rate at each of the first steps, `count` of them.
fn rates(drawn: &Drawn, step: Duration, count: u64) -> Vec<f64> {
    let mut player = Player::new(drawn.rates.clone(), Duration::ZERO, AtEnd::Hold);
    let at = |number| {
        player.seek(number * step.as_nanos());
        player.value() as f64
    };
    (0..count).map(at).collect()
}

const TWO: &str = r#"{"kind": "states", "step": "100 ms", "next": [[0.95, 0.05], [0.2, 0.8]],
    "states": [{"rate_mbit_s": [8.0, 12.0]}, {"rate_mbit_s": [1.0], "loss": 0.1, "extra_delay": "20 ms"}]}"#;

#[test]
fn a_chain_has_the_shares_runs_and_correlation_of_its_closed_form() {
    let count = 100_000;
    let found = drawn(&spec(TWO), secs(10_000), &[], false);
    let rates = rates(&found, Duration::from_millis(100), count);
    // Share of the slow state 0.05 / 0.25; the chain's correlation falls by 0.75 a step. The spread of a mean of n steps is
    // sqrt(pi (1 - pi) (2 - p - r) / ((p + r) n)).
    let slow = rates.iter().filter(|rate| **rate == 1e6).count() as f64 / count as f64;
    let spread = (0.2 * 0.8 * 1.75 / (0.25 * count as f64)).sqrt();
    assert!((slow - 0.2).abs() < 4.0 * spread, "{slow}");
    let runs = rates.windows(2).filter(|pair| pair[0] == 1e6 && pair[1] != 1e6).count() as f64;
    let mean = slow * count as f64 / runs;
    assert!(
        (mean - 5.0).abs() < 4.0 * (0.8f64).sqrt() / 0.2 / runs.sqrt(),
        "steps in the slow state: {mean}"
    );
    let fast: Vec<f64> = rates.iter().copied().filter(|rate| *rate != 1e6).collect();
    let mean = fast.iter().sum::<f64>() / fast.len() as f64;
    // Uniform from 8 to 12 Mbit/s.
    assert!((mean - 10e6).abs() < 4.0 * 4e6 / (12.0 * fast.len() as f64).sqrt(), "{mean}");
    assert!(fast.iter().all(|rate| (8e6..=12e6).contains(rate)));
    assert_eq!(spec(TWO).mean_rate(false), Rate::from_bps(8_200_000));
}

#[test]
fn rate_loss_and_delay_are_those_of_one_state() {
    let found = drawn(&spec(TWO), secs(100), &[], false);
    let mut rates = Player::new(found.rates, Duration::ZERO, AtEnd::Hold);
    let mut delays = Player::new(Arc::new(found.delays.unwrap()), Duration::ZERO, AtEnd::Hold);
    let mut losses = Player::new(Arc::new(found.losses.unwrap()), Duration::ZERO, AtEnd::Hold);
    for step in 0..1000 {
        let at = step * 100_000_000;
        rates.seek(at);
        delays.seek(at);
        losses.seek(at);
        let slow = rates.value() == 1_000_000;
        assert_eq!((delays.value(), losses.value()), if slow { (20_000_000, CERTAIN / 10) } else { (0, 0) });
    }
}

#[test]
fn the_directions_of_a_chain_are_the_same_and_those_of_a_drive_are_not() {
    let two = spec(TWO);
    assert!(two.is_shared());
    assert_eq!(drawn(&two, secs(10), &[], false).rates, drawn(&two, secs(10), &[], true).rates);
    let drive = spec(r#"{"kind": "measured", "table": "lte"}"#);
    assert!(!drive.is_shared());
    assert!(drive.mean_rate(false) > drive.mean_rate(true));
}

#[test]
fn tables_of_drives_are_chains_with_the_mean_of_their_draws() {
    for name in MeasuredChannel::ALL {
        for back in [false, true] {
            let drive = spec(&format!(r#"{{"kind": "measured", "table": "{}"}}"#, name.name()));
            let ChannelSpec::Measured(params) = &drive else { unreachable!() };
            params.chain(back).check().unwrap();
            let found = drawn(&drive, secs(200_000), &[], back);
            let rates = rates(&found, Duration::from_millis(500), 400_000);
            let (mean, expected) = (rates.iter().sum::<f64>() / 4e5, drive.mean_rate(back).as_bps() as f64);
            // Correlation lasts for some 30 s: 3,000 independent parts with a deviation of about the mean.
            assert!((mean / expected - 1.0).abs() < 0.08, "{} {back}: {mean} {expected}", name.name());
        }
    }
}

#[test]
fn before_a_move_the_rate_falls_and_behind_it_rises() {
    let steady = r#"{"kind": "states", "step": "1 s", "states": [{"rate_mbit_s": [10.0]}], "next": [[1.0]],
        "moves": {"before": [["2 s", 1.0], ["0 s", 0.5]], "after": [["0 s", 0.25], ["1 s", 1.0]]}}"#;
    let found = drawn(&spec(steady), secs(20), &[secs(10)], false);
    let rates = rates(&found, Duration::from_millis(10), 2000);
    assert!(rates[..800].iter().chain(&rates[1100..]).all(|rate| *rate == 1e7));
    assert!(rates[800..1000].windows(2).all(|pair| pair[1] <= pair[0]), "it falls");
    assert!(rates[1000..1100].windows(2).all(|pair| pair[1] >= pair[0]), "it rises");
    // The areas of the trapezia: 0.75 of 2 s, and 0.625 of 1 s.
    let mean = |rates: &[f64]| rates.iter().sum::<f64>() / rates.len() as f64;
    assert!((mean(&rates[800..1000]) - 7.5e6).abs() < 2e4, "{}", mean(&rates[800..1000]));
    assert!((mean(&rates[1000..1100]) - 6.25e6).abs() < 1e5, "{}", mean(&rates[1000..1100]));
    let without = drawn(&spec(steady), secs(20), &[], false);
    assert_eq!(without.rates.count(), 21);
}

#[test]
fn of_two_moves_the_smaller_factor_counts() {
    let moves = Moves { between: None, before: vec![], after: vec![(secs(0), 0.5), (secs(4), 0.5)] };
    let other = Moves { before: vec![(secs(4), 0.2), (secs(0), 0.2)], ..moves.clone() };
    let at = [secs(10).as_nanos(), secs(12).as_nanos()];
    let value = |moves: &Moves, second: u64| {
        let factors = moves.factors(&at);
        let next = factors.partition_point(|factor| factor.0 <= secs(second).as_nanos());
        next.checked_sub(1).map_or(1.0, |last| factors[last].1)
    };
    assert_eq!([9, 11, 13, 15, 17].map(|second| value(&moves, second)), [1.0, 0.5, 0.5, 0.5, 1.0]);
    assert_eq!([5, 7, 11, 13, 17].map(|second| value(&other, second)), [1.0, 0.2, 0.2, 0.5, 1.0]);
}

#[test]
fn slots_have_edges_at_their_seconds_with_new_delays() {
    let found = drawn(&spec(r#"{"kind": "slots"}"#), secs(120), &[], false);
    let mut delays = Player::new(Arc::new(found.delays.unwrap()), Duration::ZERO, AtEnd::Hold);
    let mut changes = Vec::new();
    while let Some(next) = delays.next().filter(|next| *next < secs(60).as_nanos()) {
        changes.push(next / 1_000_000);
        delays.seek(next);
    }
    assert_eq!(changes, [12_000, 12_500, 27_000, 27_500, 42_000, 42_500, 57_000, 57_500]);
    let mut losses = Player::new(Arc::new(found.losses.unwrap()), Duration::ZERO, AtEnd::Hold);
    let mut loss = |millis: u64| {
        losses.seek(millis * 1_000_000);
        losses.value() as f64 / CERTAIN as f64
    };
    let seen = [0, 11_499, 11_500, 12_499, 12_500, 26_600].map(&mut loss);
    assert_eq!(seen, [1e-4, 1e-4, 0.01, 0.01, 1e-4, 0.01]);
}

#[test]
fn both_directions_of_slots_share_the_round_trip_time() {
    let slots = spec(r#"{"kind": "slots", "switches": {"kind": "exponential", "mean": "7 s"}}"#);
    let [there, back] = [false, true].map(|back| drawn(&slots, secs(300), &[], back));
    assert_eq!(there.delays, back.delays);
    assert!(there.delays.unwrap().count() > 2 * 300 / 15, "further edges");
    assert_ne!(there.rates, back.rates);
}

#[test]
fn a_rate_grows_while_packets_wait_and_falls_back_at_an_edge() {
    let slots = r#"{"kind": "slots", "rate": "12 Mbit/s", "growth": 3.0, "growth_time": "1 s"}"#;
    let found = drawn(&spec(slots), secs(60), &[], false);
    let mut link = SteppedTransmitter::new(found.rates, AtEnd::Hold).growing(found.growth);
    let mut takes = |at: Time, waited| link.transmission_end(at, Bytes(1500), waited).since(at).as_nanos();
    // 1 ms for a packet at 12 Mbit/s, as long as none has waited.
    let begin = Time::ZERO + secs(1);
    assert_eq!([takes(begin, false), takes(begin + secs(1), false)], [1_000_000; 2]);
    let mut now = begin + secs(2);
    for _ in 0..3000 {
        now = now + Duration::from_nanos(takes(now, true));
    }
    let third = [333_333, 333_334];
    assert!(third.contains(&takes(now, true)), "three times the rate, a second later");
    assert!(third.contains(&takes(now + secs(1), false)), "and it stays");
    assert_eq!(takes(Time::ZERO + secs(12), true), 1_000_000, "until the edge at 12 s");
}

#[test]
fn what_is_no_channel_is_refused_with_its_field() {
    let fault = |json: &str| spec(json).check(secs(3600)).err().map(|(field, _)| field);
    let states = |step: &str, states: &str, next: &str| {
        fault(&format!(r#"{{"kind": "states", "step": "{step}", "states": {states}, "next": {next}}}"#))
    };
    let one = r#"[{"rate_mbit_s": [1.0]}]"#;
    assert_eq!(states("1 s", one, "[[1.0]]"), None);
    for (step, list, next, field) in [
        ("1 us", one, "[[1.0]]", "step"),
        ("1 ms", one, "[[1.0]]", "step"),
        ("1 s", "[]", "[]", "states"),
        ("1 s", r#"[{"rate_mbit_s": [0.0]}]"#, "[[1.0]]", "states"),
        ("1 s", r#"[{"rate_mbit_s": []}]"#, "[[1.0]]", "states[0].rate_mbit_s"),
        ("1 s", r#"[{"rate_mbit_s": [2.0, 1.0]}]"#, "[[1.0]]", "states[0].rate_mbit_s"),
        ("1 s", r#"[{"rate_mbit_s": [2.0], "loss": 1.5}]"#, "[[1.0]]", "states[0].loss"),
        ("1 s", r#"[{"rate_mbit_s": [2.0], "extra_delay": "2 h"}]"#, "[[1.0]]", "states[0].extra_delay"),
        ("1 s", one, "[]", "next"),
        ("1 s", one, "[[0.5, 0.5]]", "next[0]"),
        ("1 s", one, "[[0.5]]", "next[0]"),
    ] {
        assert_eq!(states(step, list, next).as_deref(), Some(field), "{step} {list} {next}");
    }
    let measured =
        |moves: &str| fault(&format!(r#"{{"kind": "measured", "table": "nsa", "moves": {moves}}}"#));
    assert_eq!(measured("{}"), None);
    for law in [r#""1 ms""#, r#""20 ms""#] {
        let fault = measured(&format!(r#"{{"between": {law}}}"#));
        assert_eq!(fault.as_deref(), Some("moves.between"), "{law}");
    }
    assert_eq!(measured(r#"{"before": [["0 s", 0.5], ["1 s", 1.0]]}"#).as_deref(), Some("moves.before"));
    assert_eq!(measured(r#"{"after": [["0 s", -0.5]]}"#).as_deref(), Some("moves.after"));
    for (part, field) in [
        (r#""period": "1 ms""#, "period"),
        (r#""growth": 0.5"#, "growth"),
        (r#""edge_loss": 1.0"#, "edge_loss"),
        (r#""edge_span": "20 s""#, "edge_span"),
        (r#""switches": "1 ms""#, "switches"),
        (r#""rtt": {"kind": "exponential", "mean": "0 s"}"#, "rtt.mean"),
    ] {
        assert_eq!(fault(&format!(r#"{{"kind": "slots", {part}}}"#)).as_deref(), Some(field));
    }
}
