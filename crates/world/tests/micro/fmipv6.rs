//! FMIPv6: what predictive and reactive handovers lose, and what follows when the host does not do what was predicted.

use super::lab::{GAP, HARD, Lab, MS, SOFT, TURNS, Trouble, lost_and_again};
use crate::lab::record::Record;

const PREDICTIVE: &str = "trigger = { by = \"source\" }\nbuffer = { limit = \"500 pkt\" }";
const UNBUFFERED: &str = "trigger = { by = \"source\" }\nbuffer = { limit = \"0 pkt\" }";
const REACTIVE: &str = "buffer = { limit = \"0 pkt\" }";
const AT_OLD: &str = "buffer = { at = \"old\", limit = \"500 pkt\" }";

fn lab(fields: &str, radio: &str) -> Lab {
    Lab::with(&format!("kind = \"fmipv6\"\n{fields}"), radio)
}

fn run(fields: &str, radio: &str) -> Record {
    lab(fields, radio).run()
}

/// Datagrams that were lost, at one a millisecond, lie between two numbers; none comes twice.
fn loses(record: &Record, least: u64, most: u64) {
    let (lost, again) = lost_and_again(record);
    assert!((least..=most).contains(&lost), "{lost}, and not {least} to {most}");
    assert_eq!(again, 0);
}

fn sent(record: &Record, message: &str) -> usize {
    record.signals.iter().filter(|signal| &*signal.message == message).count()
}

#[test]
fn predictive_with_a_buffer_at_the_new_access_router_loses_nothing() {
    loses(&run(PREDICTIVE, HARD), 0, 0);
}

#[test]
fn predictive_with_a_small_buffer_loses_what_does_not_fit() {
    let small = run(&PREDICTIVE.replace("500", "61"), HARD);
    let overflow = small.losses.iter().filter(|loss| &*loss.reason == "buffer-overflow").count() as u64;
    assert_eq!(lost_and_again(&small).0, overflow);
    // As many come as are lost without a buffer.
    assert_eq!(overflow + 61, lost_and_again(&run(UNBUFFERED, HARD)).0);
}

#[test]
fn predictive_without_a_buffer_loses_what_comes_from_the_hack_to_the_una() {
    // 100 ms before the break the prrtadv (3 ms), fbu (3), hi and hack (12 each); 12 ms through the tunnel; una (3) after the gap.
    let tunnelled = 100 - 3 - 3 - 12 - 12 - 12;
    loses(&run(UNBUFFERED, HARD), tunnelled + GAP + 3 - 2, tunnelled + GAP + 3 + 2);
}

#[test]
fn reactive_loses_what_comes_until_the_fbu() {
    // The gap, the fbu on the air (3 ms) and from the new access router to the old one (12).
    loses(&run(REACTIVE, HARD), GAP + 14, GAP + 18);
}

#[test]
fn reactive_with_a_buffer_at_the_previous_access_router_loses_nothing() {
    loses(&run(AT_OLD, HARD), 0, 0);
}

#[test]
fn with_an_overlap_nothing_is_lost_and_nothing_comes_twice() {
    for fields in [REACTIVE, PREDICTIVE, AT_OLD] {
        loses(&run(fields, SOFT), 0, 0);
    }
}

#[test]
fn a_lost_message_of_the_preparation_is_repeated_or_the_handover_is_reactive() {
    for message in ["prrtadv", "fbu", "hi", "hack"] {
        let mut lab = lab(PREDICTIVE, HARD);
        // The first prrtadv answers an rtsolpr.
        let occurrence = if message == "prrtadv" { 2 } else { 1 };
        lab.troubles = vec![Trouble::lost(message, occurrence)];
        let record = lab.run();
        match message {
            "prrtadv" | "fbu" => loses(&record, GAP + 14, GAP + 18),
            // The hi is repeated 100 ms after the first (7 ms after the break), and the hack comes 24 ms later.
            _ => loses(&record, 30, 34),
        }
    }
    // Without the fback the tunnel is there, and the host asks for it again from the new link.
    let mut lab = lab(PREDICTIVE, HARD);
    lab.troubles = vec![Trouble::lost("fback", 1)];
    let record = lab.run();
    loses(&record, 0, 0);
    let new_link = record.signals.iter().filter(|signal| &*signal.message == "fbu" && signal.sent > TURNS);
    assert_eq!(new_link.count(), 1);
    assert_eq!(sent(&run(PREDICTIVE, HARD), "fbu"), 1);
}

#[test]
fn a_host_that_stays_withdraws_and_is_reached_again() {
    let mut lab =
        lab(&PREDICTIVE.replace("\" }\nbuffer", "\", false_alarms = 1.0, missing = 1.0 }\nbuffer"), HARD);
    lab.visits.push(("bs1", 6_500));
    let record = lab.run();
    // A false alarm comes in the middle of each stay; the second one expects the cell where the host was.
    let stays = record.phases.iter().filter(|phase| &*phase.phase == "prediction-withdrawn").count();
    assert_eq!(stays, 2);
    let times: Vec<u64> = record.delivered("probe").map(|delivery| delivery.time).collect();
    // From the hack (30 ms) to the withdrawal (500 ms) and its fbu.
    let quiet = |from: u64, until: u64| !times.iter().any(|at| (from * MS..until * MS).contains(at));
    assert!(quiet(1_540, 1_995) && !quiet(2_012, 2_020));
    assert_eq!(record.census("inside"), 0);
}

#[test]
fn a_wrong_prediction_becomes_a_reactive_handover() {
    let mut lab = lab(&PREDICTIVE.replace("\" }\nbuffer", "\", wrong = 1.0 }\nbuffer"), HARD);
    lab.visits = vec![("bs1", 0), ("bs2", 3_000), ("bs1", 4_000), ("bs3", 5_000), ("bs1", 6_000)];
    let record = lab.run();
    // Only bs1 has two neighbours, so its handovers are the wrong ones.
    assert_eq!(sent(&record, "hi"), 2);
    let ends = record.phases.iter().filter(|phase| &*phase.phase == "tunnel-started").count();
    assert_eq!(ends, 6, "one to the wrong access router and one to the right one, and two reactive");
    assert_eq!(record.census("inside"), 0);
}

/// The tunnel between access routers carries data only until the anchor has switched, and adds an IPv6 header.
#[test]
fn the_tunnel_is_temporary() {
    let record = run(PREDICTIVE, HARD);
    let at = |phase: &str| record.phase(phase, TURNS - 200 * MS).expect("a phase");
    let order =
        ["prediction-sent", "nar-prepared", "tunnel-started", "link-up", "una-flushed", "anchor-bound"];
    let times = order.map(at);
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!(at("tunnel-ended") - at("tunnel-started"), 2_000 * MS);
    assert!(record.losses.iter().all(|loss| &*loss.reason != "no-binding"), "none comes after its end");
}
