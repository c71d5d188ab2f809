//! Keys, fast transition and neighbour reports: durations against sums by hand, what each lost frame costs, and walks.

use super::lab::{DOWN, Dice, LEAVES, Lab, MS, Record, Trouble, walks};

const PSK: &str = "security = { kind = \"psk\" }";
const EAP: &str = "security = { kind = \"eap\", server = \"gw\" }";
const FAST: &str = "security = { kind = \"psk\", fast_transition = true }";
const REPORTS: &str = "neighbour_reports = true";

fn quiet(radio: &str) -> Lab {
    Lab { flows: String::new(), radio: radio.into(), duration_ms: 7_000, ..Lab::default() }
}

/// The time from one phase behind the end of the first coverage to another, in ns.
fn between(record: &Record, phases: [&str; 2]) -> u64 {
    let [from, to] = phases.map(|phase| {
        record.phase(phase, LEAVES).unwrap_or_else(|| panic!("no {phase}: {:?}", record.phases))
    });
    to - from
}

/// Frames of these sizes at 2 Mbit/s, each behind a DIFS; a SIFS and an acknowledgement follow each but the last.
fn on_air(sizes: &[u64]) -> u64 {
    let frames: u64 = sizes.iter().map(|size| 192 + 4 * size + 50).sum();
    1_000 * (frames + (sizes.len() as u64 - 1) * (10 + 248))
}

/// A backoff of 31 slots for each frame, and beacons that come before some.
fn slack(frames: u64) -> u64 {
    frames * 31 * 20_000 + 3 * 1_000_000
}

fn check(time: u64, least: u64, frames: u64) {
    // Where the air was idle, a frame needs no DIFS.
    assert!((least - 100_000..least + slack(frames)).contains(&time), "{time}: {least}");
}

#[test]
fn a_key_that_both_know_costs_four_frames() {
    for draw in 1..=10 {
        let record = Lab { draw, ..quiet(PSK) }.run();
        check(between(&record, ["associated", "link-up"]), on_air(&[157, 157, 191, 135]), 4);
    }
}

#[test]
fn each_round_of_eap_costs_two_frames_and_a_round_trip_to_the_server() {
    for draw in 1..=10 {
        let record = Lab { draw, ..quiet(EAP) }.run();
        // Eight rounds. From bs2 to gw 1 + 5 + 5 ms, and 700 B of a request or an answer on three links of 10 Mbit/s.
        let wires = 8 * 2 * (11 * MS + 3 * 560_000);
        let air = 8 * on_air(&[540, 540]) + on_air(&[157, 157, 191, 135]);
        let time = between(&record, ["associated", "link-up"]);
        check(time, wires + air, 20);
        assert!((150 * MS..350 * MS).contains(&time), "published totals of WPA2 with EAP: {time}");
        assert_eq!(record.signals.iter().filter(|signal| &*signal.message == "radius-answer").count(), 16);
    }
}

#[test]
fn a_server_that_computes_adds_its_time_to_each_round() {
    let time = |radio: &str| between(&quiet(radio).run(), ["associated", "link-up"]);
    let slow = "security = { kind = \"eap\", server = \"gw\", server_time = \"30 ms\" }";
    let more = time(slow).abs_diff(time(EAP) + 8 * 30 * MS);
    assert!(more < 8 * MS, "{more}");
}

#[test]
fn cached_keys_leave_the_four_way_handshake() {
    let back = |caching: &str| {
        let radio = format!("security = {{ kind = \"eap\", server = \"gw\", key_caching = \"{caching}\" }}");
        let visits = vec![("bs1", 0, None), ("bs2", 3_000, None), ("bs1", 6_000, None)];
        let record = Lab { visits, duration_ms: 9_000, ..quiet(&radio) }.run();
        let times = [LEAVES, 6_000 * MS].map(|from| {
            let associated = record.phase("associated", from).expect("it associates");
            (record.phase("link-up", associated).expect("it is up") - associated) / MS
        });
        times.map(|time| time < 10)
    };
    assert_eq!(back("off"), [false, false]);
    assert_eq!(back("own"), [false, true]);
    assert_eq!(back("opportunistic"), [true, true]);
}

#[test]
fn a_fast_transition_costs_the_request_for_the_key_once() {
    for draw in 1..=10 {
        let visits = vec![("bs1", 0, None), ("bs2", 3_000, None), ("bs1", 6_000, None), ("bs2", 9_000, None)];
        let record = Lab { draw, visits, duration_ms: 12_000, ..quiet(FAST) }.run();
        let times = [LEAVES, 6_000 * MS, 9_000 * MS].map(|from| {
            let scanned = record.phase("scanned", from).expect("it scans");
            record.phase("link-up", scanned).expect("it is up") - scanned
        });
        // From bs2 to bs1 and back 1 + 5 + 5 + 1 ms each way, with 200 B on four links of 10 Mbit/s.
        let air = on_air(&[190, 190, 250, 250]);
        let asked = on_air(&[190]) + 2 * (12 * MS + 4 * 160_000);
        check(times[0], asked + on_air(&[190, 250, 250]), 4);
        check(times[1], air, 4);
        check(times[2], air, 4);
        assert!(times.iter().all(|time| *time < 50 * MS), "the aim of 802.11r: {times:?}");
        assert!(
            !record
                .signals
                .iter()
                .any(|signal| { signal.sent > LEAVES && signal.message.starts_with("key-message") })
        );
    }
}

#[test]
fn a_station_with_a_neighbour_report_scans_the_channels_of_the_neighbours() {
    for draw in 1..=10 {
        let record = Lab { draw, ..quiet(REPORTS) }.run();
        // Channels 6 and 11: a request and MaxChannelTime on the first, MinChannelTime on the second.
        let least = 2 * 100_000 + 50_000 + 384_000 + 11 * MS + 5 * MS;
        check(between(&record, ["link-down", "scanned"]), least, 1);
    }
    // Where no neighbour covers it, all channels follow: it returns to its own cell.
    let visits = vec![("bs1", 0, Some(3_000)), ("bs1", 4_000, None)];
    let record = Lab { visits, ..quiet(REPORTS) }.run();
    let rest: Vec<&str> = record.phases.iter().map(|noted| &*noted.phase).collect();
    assert!(rest.contains(&"nothing-found"), "{rest:?}");
    assert_eq!(rest.iter().filter(|phase| **phase == "link-up").count(), 2, "{rest:?}");
}

#[test]
fn a_lost_frame_costs_the_timeout_of_the_one_that_repeats_it() {
    let up = |radio: &str, troubles: &[(&str, u32)]| {
        let troubles = troubles.iter().map(|&(message, number)| Trouble::lost(message, number)).collect();
        let record = Lab { troubles, duration_ms: 12_000, ..quiet(radio) }.run();
        record.phase("link-up", LEAVES).unwrap_or_else(|| panic!("{:?}", record.phases)) / MS
    };
    let near = |radio: &str, troubles: &[(&str, u32)], more: u64| {
        let (time, usual) = (up(radio, troubles), up(radio, &[]));
        assert!(time.abs_diff(usual + more) <= 6, "{troubles:?}: {time}, {usual} + {more}");
    };
    for message in ["key-message-1", "key-message-2", "key-message-3", "key-message-4"] {
        near(PSK, &[(message, 2)], 100);
        near(PSK, &[(message, 2), (message, 3)], 1_100);
    }
    near(EAP, &[("eap-request", 10)], 3_000);
    near(EAP, &[("eap-response", 10)], 3_000);
    near(EAP, &[("radius-request", 10)], 2_000);
    near(EAP, &[("radius-answer", 10)], 2_000);
    near(FAST, &[("fast-authentication-request", 1)], 200);
    near(FAST, &[("fast-reassociation-response", 1)], 200);
    near(FAST, &[("key-request", 1)], 200);
}

#[test]
fn a_fast_transition_without_an_answer_falls_back_to_full_authentication() {
    let troubles = (1..=3).map(|number| Trouble::lost("fast-authentication-response", number)).collect();
    let record = Lab { troubles, ..quiet(FAST) }.run();
    let usual = quiet(FAST).run();
    let time = |record: &Record| between(record, ["scanned", "link-up"]) / MS;
    let more = time(&record) - time(&usual);
    assert!((500..800).contains(&more), "published costs of a failed fast transition: {more}");
    assert!(record.signals.iter().any(|signal| signal.sent > LEAVES && &*signal.message == "key-message-4"));
}

/// A drawn security, with names as in a scenario.
fn security(dice: &mut Dice) -> String {
    let fast = dice.below(2) == 1;
    let kind = ["psk", "eap"][dice.below(2) as usize];
    let server = if kind == "eap" { ", server = \"gw\", eap_rounds = 3" } else { "" };
    let caching = ["off", "own", "opportunistic"][dice.below(3) as usize];
    let reports = dice.below(2) == 1;
    format!(
        "security = {{ kind = \"{kind}\", fast_transition = {fast}, key_caching = \"{caching}\"{server} }}\n\
         neighbour_reports = {reports}"
    )
}

#[test]
fn random_walks_with_lost_late_and_copied_frames_end_with_data() {
    walks(60, |number| {
        let dice = &mut Dice::of(number, "keys");
        let radio = security(dice);
        let names = [
            "key-message-1",
            "key-message-2",
            "key-message-3",
            "key-message-4",
            "eap-request",
            "eap-response",
            "radius-request",
            "radius-answer",
            "fast-authentication-request",
            "fast-authentication-response",
            "fast-reassociation-request",
            "fast-reassociation-response",
            "key-request",
            "key-answer",
            "neighbour-report-response",
        ];
        let mut troubles = Vec::new();
        for _ in 0..dice.below(4) {
            let trouble =
                Trouble::lost(names[dice.below(names.len() as u64) as usize], 1 + dice.below(6) as u32);
            troubles.push(match dice.below(3) {
                0 => trouble,
                1 => trouble.copied(dice.below(300)),
                _ => Trouble { delay_ms: Some(1 + dice.below(2_500)), ..trouble },
            });
        }
        let mut visits = vec![("bs1", 0, None)];
        let mut at = 2_000 + dice.below(1_500);
        for _ in 0..1 + dice.below(3) {
            visits.push((["bs1", "bs2", "bs3"][dice.below(3) as usize], at, None));
            at += 20 + dice.below(2_500);
        }
        visits.dedup_by_key(|visit| visit.0);
        let lab = Lab { duration_ms: 40_000, visits, radio, troubles, flows: DOWN.into(), ..Lab::default() };
        let record = lab.run();
        let late = record.delivered("down").filter(|delivery| delivery.time > 38_000 * MS).count();
        if late < 90 {
            return Err(format!("{late} of 100 datagrams at the end: {lab:?}\n{:?}", record.phases));
        }
        Ok(0)
    });
}
