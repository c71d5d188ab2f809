//! M&M: what the schemes that it composes lose and deliver twice.

use super::lab::{GAP, HARD, Lab, MS, OVERLAP, SOFT, TURNS, Trouble, lost_and_again};
use crate::lab::record::Record;

/// The schemes of \[ripple\], as compositions.
const NO_BUFFER: &str = "trigger = { by = \"source\" }\nbuffer = { limit = \"0 pkt\" }";
const BUFFER: &str = "trigger = { by = \"source\" }\nbuffer = { limit = \"500 pkt\" }";
const BICAST: &str = "redundancy = { bicast = \"100 ms\" }\nbuffer = { limit = \"0 pkt\" }";
const REACTIVE: &str = "buffer = { limit = \"0 pkt\" }";
const AT_OLD: &str = "buffer = { at = \"old\", limit = \"500 pkt\" }";

fn run(fields: &str, radio: &str) -> Record {
    Lab::with(&format!("kind = \"mandm\"\n{fields}"), radio).run()
}

/// Datagrams that were lost, at one a millisecond, lie between two times in ms.
fn lasts(record: &Record, least: u64, most: u64) {
    let (lost, _) = lost_and_again(record);
    assert!((least..=most).contains(&lost), "{lost}, and not {least} to {most}");
}

#[test]
fn reactive_loses_what_comes_until_the_branch_is_there() {
    // The gap, the attach (3 ms), the join to the cross-over (6 ms), and what had passed it (6 ms, except
    // packets on the air: 3 ms of delay are delivered).
    lasts(&run(REACTIVE, HARD), GAP + 14, GAP + 18);
}

#[test]
fn proactive_without_a_buffer_loses_the_gap_and_the_attach() {
    lasts(&run(NO_BUFFER, HARD), GAP + 2, GAP + 5);
    // Duplicates there are none: nothing is kept.
    assert_eq!(lost_and_again(&run(NO_BUFFER, HARD)).1, 0);
}

#[test]
fn proactive_with_a_buffer_loses_nothing_and_repeats_what_came_before_the_break() {
    for by in ["source", "path", "no-path"] {
        let record = run(&BUFFER.replace("source", by), HARD);
        let (lost, again) = lost_and_again(&record);
        assert_eq!(lost, if by == "no-path" { GAP + 3 } else { 0 }, "{by}");
        assert!(again > 50, "{by}: the old base station delivered them too: {again}");
    }
    // A permanent set keeps the newest if the parameter asks for it.
    let record =
        run("trigger = { by = \"no-path\" }\nbuffer = { limit = \"500 pkt\", drop = \"oldest\" }", HARD);
    assert_eq!(lost_and_again(&record).0, 0);
}

#[test]
fn a_small_buffer_keeps_what_fits() {
    let small = "trigger = { by = \"source\" }\nbuffer = { limit = \"30 pkt\" }";
    let record = run(small, HARD);
    let overflow = record.losses.iter().filter(|loss| &*loss.reason == "buffer-overflow").count();
    assert!(overflow > 100, "{overflow}");
    // The 30 that it keeps came while the old base station still had the host.
    assert!(lost_and_again(&record).0 > GAP - 10);
    let oldest = run(&small.replace("limit", "drop = \"oldest\", limit"), HARD);
    lasts(&oldest, GAP - 35, GAP - 20);
}

#[test]
fn a_buffer_at_the_old_base_station_is_tunnelled_to_the_new_one() {
    for trigger in ["", "\ntrigger = { by = \"no-path\" }"] {
        let mut lab = Lab::with(&format!("kind = \"mandm\"\n{AT_OLD}{trigger}"), HARD);
        // Two neighbours, so that the new base station tells the old one that the host may come back.
        lab.visits.push(("bs1", 6_900));
        let record = lab.run();
        assert_eq!(lost_and_again(&record).0, 0, "{trigger}");
        assert!(record.losses.iter().all(|loss| &*loss.reason != "buffer-expired"), "{trigger}");
    }
}

#[test]
fn bicast_with_an_overlap_loses_nothing_and_repeats_what_both_send() {
    let (lost, again) = lost_and_again(&run(BICAST, SOFT));
    assert_eq!(lost, 0);
    assert!((100..125).contains(&again), "both branches for the bicast time: {again}");
    let (lost, again) = lost_and_again(&run(BICAST, HARD));
    assert!(lost >= GAP + 14 && again == 0, "only the wires carry copies: {lost}, {again}");
}

#[test]
fn with_an_overlap_no_scheme_loses_anything() {
    for fields in [REACTIVE, NO_BUFFER, BUFFER, BICAST, AT_OLD] {
        let (lost, again) = lost_and_again(&run(fields, SOFT));
        assert_eq!(lost, 0, "{fields}");
        // Without a bicast time the old branch stays until the host has gone.
        let least = if fields == BICAST { 100 } else { OVERLAP - 20 };
        assert!(again >= least, "{fields}: {again}");
    }
}

#[test]
fn a_trigger_comes_before_the_handover_and_the_branch_before_the_host() {
    let record = run(BUFFER, HARD);
    let at = |phase: &str| record.phase(phase, TURNS - 200 * MS).expect("a phase");
    assert_eq!(at("trigger-sent"), TURNS - 100 * MS);
    let order =
        ["trigger-sent", "cross-over-joined", "candidate-joined", "link-down", "link-up", "buffer-flushed"];
    let times = order.map(at);
    assert!(times.is_sorted(), "{times:?}");
    assert!(at("attached") < at("branch-released"));
    // Packets on their way when a branch ends are lost there and do not circle.
    assert!(record.losses.iter().any(|loss| &*loss.reason == "no-binding" && &*loss.place == "ar1"));
    assert!(record.losses.iter().all(|loss| &*loss.reason != "ttl-expired"));
}

/// After a false alarm and after a wrong prediction nothing is kept and no base station is left on the tree.
#[test]
fn a_trigger_without_handover_leaves_nothing_behind() {
    for wrong in ["wrong = 1.0", "false_alarms = 1.0"] {
        let mut lab = Lab::with(
            &format!("kind = \"mandm\"\n{BUFFER}")
                .replace("\" }\nbuffer", &format!("\", {wrong} }}\nbuffer")),
            HARD,
        );
        lab.mobility += "\n";
        lab.visits = vec![("bs1", 0), ("bs2", 2_000), ("bs1", 3_000), ("bs3", 4_000), ("bs1", 5_000)];
        let record = lab.run();
        let joined = record.phases.iter().filter(|phase| &*phase.phase == "candidate-joined").count();
        let released = record.phases.iter().filter(|phase| &*phase.phase == "branch-released").count();
        assert!(joined >= 2, "{wrong}: {joined}");
        // Each membership but the last base station's ends; the same one may begin as a candidate's.
        let serving = record.phases.iter().filter(|phase| &*phase.phase == "path-joined").count();
        assert_eq!(released, joined + serving - 1, "{wrong}: {joined} and {serving}");
        assert_eq!(record.census("inside"), 0, "{wrong}");
    }
}

/// A router that gets packets for a host without a branch prunes again, but not for those that were on their way.
#[test]
fn a_lost_prune_of_a_router_is_repeated() {
    let mut lab = Lab::with(&format!("kind = \"mandm\"\n{REACTIVE}"), HARD);
    let strays = |lab: &Lab| {
        let record = lab.run();
        let at = record.losses.iter().filter(|loss| &*loss.reason == "no-binding" && &*loss.place == "ar1");
        at.count() as u64
    };
    let on_the_way = strays(&lab);
    assert!((8..=12).contains(&on_the_way), "a round trip of 10 ms: {on_the_way}");
    lab.troubles = vec![Trouble::lost("prune", 2)];
    assert!((100..=125).contains(&strays(&lab)), "100 ms and a round trip: {}", strays(&lab));
}

#[test]
fn movement_is_detected_by_beacons_if_so_asked() {
    let beacons =
        |by: &str| format!("{REACTIVE}\ndetection = {{ by = \"{by}\", beacon_interval = \"50 ms\" }}");
    let lost = |by: &str| lost_and_again(&run(&beacons(by), HARD)).0;
    // Up to an interval for the first beacon; three intervals and a half without one, counted from the last in the old cell.
    let advertisement = lost("advertisement");
    assert!((GAP + 14..=GAP + 70).contains(&advertisement), "{advertisement}");
    let loss = lost("beacon-loss");
    assert!((150..=200).contains(&loss), "{loss}");
    let late = format!("{REACTIVE}\ndetection = {{ delay = \"40 ms\" }}");
    lasts(&run(&late, HARD), GAP + 54, GAP + 58);
}

#[test]
fn authentication_adds_a_round_trip_to_the_server_to_each_attach() {
    // From the base station to the gateway 11 ms, over three wires of 10 Mbit/s: 100 B take 0.24 ms, 80 B 0.19 ms back.
    let server = |refuses: &str| format!("authentication = {{ server = \"gw\"{refuses} }}");
    for fields in [REACTIVE, NO_BUFFER] {
        let open = lost_and_again(&run(fields, HARD)).0;
        let asked = run(&format!("{fields}\n{}", server("")), HARD);
        lasts(&asked, open + 22, open + 23);
        let asked: Vec<&str> = asked
            .signals
            .iter()
            .filter(|signal| &*signal.message == "aaa-request")
            .map(|signal| &*signal.source)
            .collect();
        assert_eq!(asked, ["bs1", "bs2"]);
    }
    // Its buffer waits for the answer too.
    let kept = run(&format!("{BUFFER}\n{}", server("")), HARD);
    assert_eq!(lost_and_again(&kept).0, 0);
    // A lost question is repeated after 100 ms.
    let mut lab = Lab::with(&format!("kind = \"mandm\"\n{REACTIVE}\n{}", server("")), HARD);
    let usual = lost_and_again(&lab.run()).0;
    lab.troubles = vec![Trouble::lost("aaa-request", 2)];
    assert_eq!(lost_and_again(&lab.run()).0, usual + 100);
    let refused = run(&server(", refuses = [\"m*\"]"), HARD);
    assert_eq!(refused.delivered("probe").count(), 0);
}
