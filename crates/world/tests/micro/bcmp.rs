//! BCMP: what planned and unplanned handovers lose, and what follows when the host does not do what was prepared.

use crate::lab::{GAP, HARD, Lab, MS, SOFT, TURNS, Trouble, lost_and_again};
use crate::record::Record;

const PLANNED: &str = "trigger = { by = \"source\" }\nbuffer = { limit = \"500 pkt\" }";
const UNBUFFERED: &str = "trigger = { by = \"source\" }\nbuffer = { limit = \"0 pkt\" }";
const UNPLANNED: &str = "";
const UNFORWARDED: &str = "forward_after_notify = false";
const AT_OLD: &str = "buffer = { at = \"old\", limit = \"500 pkt\" }";

fn lab(fields: &str, radio: &str) -> Lab {
    Lab::with(&format!("kind = \"bcmp\"\n{fields}"), radio)
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
fn a_planned_handover_loses_nothing() {
    loses(&run(PLANNED, HARD), 0, 0);
}

#[test]
fn planned_with_a_small_buffer_loses_what_does_not_fit() {
    let small = run(&PLANNED.replace("500", "61"), HARD);
    let overflow = small.losses.iter().filter(|loss| &*loss.reason == "buffer-overflow").count() as u64;
    assert_eq!(lost_and_again(&small).0, overflow);
    assert_eq!(overflow + 61, lost_and_again(&run(UNBUFFERED, HARD)).0);
}

#[test]
fn planned_without_a_buffer_loses_what_comes_before_the_host() {
    // 100 ms before the break: the prepare request (3 ms), the prepare and its acknowledge (12 each), 12 ms through the tunnel
    // to the new router; from there until the host comes, a gap after the break.
    let tunnelled = 100 - 3 - 12 - 12 - 12;
    loses(&run(UNBUFFERED, HARD), tunnelled + GAP - 3, tunnelled + GAP + 3);
}

#[test]
fn unplanned_loses_what_comes_to_the_old_router_until_the_notify() {
    // The gap, the attach on the air (3 ms) and the notify from the new router to the old one (12).
    loses(&run(UNPLANNED, HARD), GAP + 13, GAP + 18);
}

#[test]
fn unplanned_without_forwarding_loses_what_left_the_anchor_for_the_old_router() {
    // The gap, the attach on the air (3 ms), the path update to the anchor (11); the packets that the anchor sent in the 11 ms
    // before the break are lost too, those it sent before them have come.
    loses(&run(UNFORWARDED, HARD), GAP + 3 + 11 + 11 - 2, GAP + 3 + 11 + 11 + 4);
}

#[test]
fn unplanned_with_a_buffer_at_the_old_router_loses_nothing() {
    loses(&run(AT_OLD, HARD), 0, 0);
}

#[test]
fn with_an_overlap_nothing_is_lost_and_nothing_comes_twice() {
    for fields in [UNPLANNED, UNFORWARDED, PLANNED, AT_OLD] {
        loses(&run(fields, SOFT), 0, 0);
    }
}

#[test]
fn a_lost_message_of_the_preparation_is_repeated_in_time() {
    for message in
        ["handover-prepare-request", "handover-prepare", "handover-prepare-acknowledge", "handover-prepared"]
    {
        let mut lab = lab(PLANNED, HARD);
        lab.troubles = vec![Trouble::lost(message, 1)];
        loses(&lab.run(), 0, 0);
    }
    // All four requests are lost: the handover is an unplanned one.
    let mut lab = lab(&PLANNED.replace("\" }", "\", lead = \"250 ms\" }"), HARD);
    lab.troubles = (1..=4).map(|number| Trouble::lost("handover-prepare-request", number)).collect();
    let record = lab.run();
    assert_eq!(sent(&record, "handover-prepare-request"), 4);
    loses(&record, GAP + 13, GAP + 18);
}

#[test]
fn a_host_that_stays_is_served_again_when_the_preparation_is_over() {
    let fields = PLANNED.replace("\" }\nbuffer", "\", false_alarms = 1.0, missing = 1.0 }\nbuffer");
    for (unused, lost) in [("dropped", true), ("returned", false)] {
        let lab = lab(&format!("{fields}\nunused = \"{unused}\""), HARD);
        let lab = Lab { visits: vec![("bs1", 0), ("bs2", 6_000)], flows: crate::lab::DOWN.into(), ..lab };
        let record = lab.run();
        // The alarm comes in the middle of the stay; the acknowledge 27 ms later, and the preparation ends 1 s after that.
        let stays = record.phases.iter().filter(|phase| &*phase.phase == "preparation-expired").count();
        assert_eq!(stays, 1);
        let times: Vec<u64> = record.delivered("down").map(|delivery| delivery.time).collect();
        let quiet = |from: u64, until: u64| !times.iter().any(|at| (from * MS..until * MS).contains(at));
        assert!(quiet(3_050, 4_000) && !quiet(4_028, 4_060), "{unused}");
        let expired = record.lost("down").filter(|loss| &*loss.reason == "buffer-expired").count();
        assert_eq!(expired > 0, lost, "{unused}: {expired}");
        let late =
            record.delivered("down").filter(|delivery| delivery.time - delivery.sent > 500 * MS).count();
        assert_eq!(late > 0, !lost, "{unused}: {late}");
        assert_eq!(record.census("inside"), 0);
    }
}

#[test]
fn a_wrong_preparation_becomes_an_unplanned_handover() {
    let mut lab = lab(&PLANNED.replace("\" }\nbuffer", "\", wrong = 1.0 }\nbuffer"), HARD);
    lab.visits = vec![("bs1", 0), ("bs2", 3_000), ("bs1", 4_000), ("bs3", 5_000), ("bs1", 6_000)];
    let record = lab.run();
    // Only bs1 has two neighbours, so its handovers are the wrong ones: the tunnel is redirected by the notify.
    assert_eq!(sent(&record, "handover-prepare"), 2);
    let tunnels = record.phases.iter().filter(|phase| &*phase.phase == "temporary-tunnel-started").count();
    assert_eq!(tunnels, 6, "one to the wrong router and one to the right one, and two unplanned");
    assert_eq!(record.census("inside"), 0);
}

/// The temporary tunnel carries data until the anchor has switched, and ends a lifetime after the notify.
#[test]
fn the_tunnel_is_temporary() {
    let record = run(PLANNED, HARD);
    let at = |phase: &str| record.phase(phase, TURNS - 200 * MS).expect("a phase");
    let order = [
        "preparation-sent",
        "new-router-prepared",
        "temporary-tunnel-started",
        "link-up",
        "attach-sent",
        "buffer-flushed",
        "anchor-path-switched",
        "host-attached",
        "old-router-released",
    ];
    let times = order.map(at);
    assert!(times.is_sorted(), "{times:?}");
    let notified = record.signals.iter().find(|signal| &*signal.message == "handover-notify").expect("one");
    assert_eq!(Some(at("old-router-released")), notified.arrived.map(|arrived| arrived + 1_000 * MS));
    assert!(record.losses.iter().all(|loss| &*loss.reason != "no-binding"), "none comes after its end");
}
