//! Cellular IP: what a hard and a semisoft handoff lose, what the delay equaliser is for, and paging.

use super::lab::{GAP, HARD, Lab, MS, SOFT, TURNS, lost_and_again};
use crate::lab::record::{Record, Signal, Trouble};

const SEMISOFT: &str = "handoff = \"semisoft\"";
const TRIGGERED: &str = "handoff = \"semisoft\"\ntrigger = { by = \"source\" }";
const NO_EQUALISER: &str = "equaliser = { delay = \"0 ms\" }";
const NO_GAP: &str = "kind = \"hard\"";
const SHORT_GAP: &str = "kind = \"hard\"\ngap = \"10 ms\"";

fn lab(fields: &str, radio: &str) -> Lab {
    Lab::with(&format!("kind = \"cellular-ip\"\n{fields}"), radio)
}

fn lost(fields: &str, radio: &str) -> u64 {
    lost_and_again(&lab(fields, radio).run()).0
}

/// Packets that left the equaliser at the cross-over.
fn equalised(record: &Record) -> usize {
    record.releases.iter().filter(|release| &*release.node == "r1").count()
}

#[test]
fn a_hard_handoff_loses_what_comes_until_the_cross_over_knows() {
    // The route update takes 9 ms to the cross-over; what had passed it is lost too (6 ms, except packets on
    // the air).
    let without = lost("", NO_GAP);
    assert!((14..=18).contains(&without), "{without}");
    assert_eq!(lost("", HARD), without + GAP);
    assert_eq!(lost("", SOFT), 0, "the old base station is heard for long enough");
    // Copies to the old one have no effect.
    assert_eq!(lost("keep_stale = true", HARD), without + GAP);
}

#[test]
fn a_semisoft_handoff_with_an_overlap_loses_nothing() {
    for (fields, radio) in [
        (SEMISOFT, SOFT.to_owned()),
        (SEMISOFT, format!("{SOFT}\nuplink = \"oldest\"")),
        (&format!("{SEMISOFT}\n{NO_EQUALISER}"), SOFT.to_owned()),
        (&format!("{SEMISOFT}\ngateway_beacon_interval = \"1 s\""), SOFT.to_owned()),
    ] {
        let (lost, again) = lost_and_again(&lab(fields, &radio).run());
        // Copies for the semisoft delay of 100 ms.
        assert!(lost == 0 && (85..=115).contains(&again), "{fields} {radio}: {lost}, {again}");
    }
}

#[test]
fn the_equaliser_gives_the_host_time_to_come() {
    // A host without a cell for less than the delay: the packets that it misses are still on their way when
    // it arrives.
    let record = lab(TRIGGERED, SHORT_GAP).run();
    assert_eq!((lost_and_again(&record).0, equalised(&record) > 80), (0, true));
    // Without it the gap is lost, except packets on the air for 3 ms when it ends.
    let record = lab(&format!("{TRIGGERED}\n{NO_EQUALISER}"), SHORT_GAP).run();
    let (lost, _) = lost_and_again(&record);
    assert!((5..=9).contains(&lost) && equalised(&record) == 0, "{lost}");
    // Each copy waits for 20 ms: the first leaves so long after the cross-over got its second way.
    let record = lab(SEMISOFT, &format!("{SOFT}\nuplink = \"oldest\"")).run();
    let added = record.phase("route-added", TURNS).expect("a second way");
    let first = record.releases.iter().find(|release| &*release.node == "r1").expect("copies").time;
    assert!((20 * MS..=21 * MS + 100_000).contains(&(first - added)), "{}", first - added);
}

#[test]
fn a_lost_semisoft_packet_makes_the_handoff_a_hard_one() {
    let mut semisoft = lab(TRIGGERED, HARD);
    semisoft.troubles = vec![Trouble::lost("semisoft-trigger", 1)];
    assert_eq!(lost_and_again(&semisoft.run()).0, lost("", HARD));
}

#[test]
fn a_way_that_no_handoff_followed_ends_with_its_timeout() {
    let fields = "handoff = \"semisoft\"\nroute_timeout = \"1500 ms\"\nroute_update_time = \"500 ms\"\n\
                  trigger = { by = \"source\", false_alarms = 1.0, missing = 1.0 }";
    let mut alarmed = lab(fields, HARD);
    // The false alarm is in the middle of the first stay.
    alarmed.visits = vec![("bs1", 0), ("bs2", 6_000)];
    let record = alarmed.run();
    assert_eq!(record.phase("semisoft-sent", 0), Some(TURNS));
    let copies = record.losses.iter().filter(|loss| &*loss.place == "bs2/air" && loss.time < 6_000 * MS);
    let times: Vec<u64> = copies.map(|loss| loss.time).collect();
    let (first, last) = (times[0], times[times.len() - 1]);
    assert!((1_450 * MS..1_600 * MS).contains(&(last - first)), "{} ms", (last - first) / MS);
    assert_eq!(record.census("inside"), 0);
}

/// A datagram each 20 s from 8.9 s on: the host is idle in between, and its ways in route caches have ended.
const RARE: &str = r#"
[[flows]]
name = "probe"
path = ["ch", "mh"]
app = { kind = "cbr", start = "8.9 s", rate = "40 bit/s", packet = "100 B" }
"#;

/// Paging updates that the host sends up to a time in ms.
fn paging_updates(record: &Record, until: u64) -> usize {
    let from_host =
        record.signals.iter().filter(|signal| &*signal.source == "mh" && signal.sent <= until * MS);
    from_host.filter(|signal| &*signal.message == "paging-update").count()
}

#[test]
fn an_idle_host_is_paged_where_it_is() {
    for (fields, in_time) in [("", 3), ("paging_areas = [\"r1\"]", 2), ("paging_areas = [\"gw\"]", 1)] {
        let mut idle = lab(fields, HARD);
        (idle.flows, idle.duration_ms) = (RARE.into(), 60_000);
        idle.visits = vec![("bs1", 0), ("bs2", 3_000), ("bs3", 6_000), ("bs2", 22_000), ("bs1", 42_000)];
        let record = idle.run();
        assert_eq!(lost_and_again(&record), (0, 0), "{fields}");
        assert_eq!(paging_updates(&record, 8_000), in_time, "{fields}");
        let became = |phase: &str| record.phases.iter().filter(|noted| &*noted.phase == phase).count();
        assert!(became("host-active") == 3 && became("host-idle") == 3, "{fields}");
        // Packets sent to all of an area end where the host is not.
        let flooded = record.losses.iter().filter(|loss| &*loss.reason == "detached").count();
        assert_eq!(flooded > 0, !fields.is_empty(), "{fields}: {flooded}");
    }
}

#[test]
fn nodes_that_learn_their_way_from_the_gateway_hear_its_beacons() {
    let record = lab("gateway_beacon_interval = \"500 ms\"", HARD).run();
    let beacon = |signal: &&Signal| &*signal.message == "gateway-beacon" && signal.sent < 8_000 * MS;
    let beacons = record.signals.iter().filter(beacon).count();
    // Each to the eight nodes below, 16 times from 0 to 7.5 s.
    assert_eq!(beacons, 16 * 8);
    let mut without = lab("gateway_beacon_interval = \"500 ms\"", HARD);
    without.troubles = vec![Trouble::lost("gateway-beacon", 1)];
    // The first beacon to r1 is lost; what nodes below hold they send up when they hear the next.
    assert!(lost_and_again(&without.run()).0 < GAP + 20);
}

#[test]
fn a_path_trigger_multicasts_to_all_candidates() {
    const SETS: &str = "candidates = 3, sets = { bs1 = [\"bs2\", \"bs3\"] }";
    let run = |by: &str| {
        let fields = format!("{SEMISOFT}\n{NO_EQUALISER}\ntrigger = {{ by = \"{by}\", {SETS} }}");
        let times = "route_update_time = \"500 ms\"\nroute_timeout = \"1500 ms\"";
        lab(&format!("{fields}\n{times}"), HARD).run()
    };
    let at = |record: &Record, cell: &str| {
        record.losses.iter().filter(|loss| loss.place.starts_with(cell)).count()
    };
    // The trigger takes 22 ms to bs3, the update from there 11 ms to the gateway. Copies come 11 ms later, and are sent on the
    // air of bs3 until its route ends, 1500 ms after the update: one a millisecond, of 1478 ms.
    let all = run("path");
    assert!((1475..=1481).contains(&at(&all, "bs3/air")), "{}", at(&all, "bs3/air"));
    assert_eq!(at(&run("source"), "bs3"), 0);
}
