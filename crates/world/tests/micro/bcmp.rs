//! BCMP: what planned and unplanned handovers lose, and what follows when the host does not do what was prepared.

use super::lab::{GAP, HARD, Lab, MS, SOFT, TURNS, Trouble, lost_and_again};
use crate::lab::record::Record;

const PLANNED: &str = "trigger = { by = \"source\" }\nbuffer = { limit = \"500 pkt\" }";
const UNBUFFERED: &str = "trigger = { by = \"source\" }\nbuffer = { limit = \"0 pkt\" }";
const UNPLANNED: &str = "";
const UNFORWARDED: &str = "forward_after_notify = false";
const AT_OLD: &str = "buffer = { at = \"old\", limit = \"500 pkt\" }";

/// How long before the break the first datagram comes through the tunnel, in ms. 100 ms before it the prepare request (3 ms), the
/// prepare and its acknowledge (12 each) set out, and the tunnel takes 12 ms.
const TUNNELLED: u64 = 100 - 3 - 12 - 12 - 12;

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
fn a_host_that_moves_when_prepared_goes_before_its_plan_and_loses_nothing() {
    let left = |record: &Record| -> Vec<u64> {
        let down = record.phases.iter().filter(|phase| &*phase.phase == "link-down");
        down.map(|phase| phase.time / MS).collect()
    };
    let (planned, prepared) =
        (run(PLANNED, HARD), run(&format!("{PLANNED}\nmove_when_prepared = true"), HARD));
    loses(&prepared, 0, 0);
    // 100 ms before the break the prepare request sets out, and 30 ms later the host is notified.
    let earlier: Vec<u64> =
        left(&planned).iter().zip(left(&prepared)).map(|(plan, moved)| plan - moved).collect();
    assert!(!earlier.is_empty() && earlier.iter().all(|early| (60..=75).contains(early)), "{earlier:?}");
}

#[test]
fn planned_with_a_small_buffer_loses_what_does_not_fit() {
    let small = run(&PLANNED.replace("500", "61"), HARD);
    let overflow = small.losses.iter().filter(|loss| &*loss.reason == "buffer-overflow").count() as u64;
    assert_eq!(lost_and_again(&small).0, overflow);
    // It fills from the beginning of the tunnel to the attach (3 ms).
    assert!((TUNNELLED + GAP + 3 - 2..=TUNNELLED + GAP + 3).contains(&(overflow + 61)), "{overflow}");
}

#[test]
fn planned_without_a_buffer_loses_what_comes_before_the_host() {
    // Packets sent over the air before the host is there.
    loses(&run(UNBUFFERED, HARD), TUNNELLED + GAP - 5, TUNNELLED + GAP);
}

#[test]
fn unplanned_loses_what_comes_to_the_old_router_until_the_notify() {
    // The gap, the attach on the air (3 ms) and the notify from the new router to the old one (12).
    loses(&run(UNPLANNED, HARD), GAP + 13, GAP + 18);
}

#[test]
fn unplanned_without_forwarding_loses_what_left_the_anchor_for_the_old_router() {
    // The gap, the attach on the air (3 ms), the path update to the anchor (11). The packets that the anchor
    // sent in the 11 ms before the break are lost too, those it sent before them have come.
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
    let mut lab = lab(&PLANNED.replacen("\" }", "\", lead = \"250 ms\" }", 1), HARD);
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
        let lab = Lab { visits: vec![("bs1", 0), ("bs2", 6_000)], flows: super::lab::DOWN.into(), ..lab };
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
        // 34 ms take a datagram to the host.
        assert_eq!(record.without_end("down", (1_000 * MS, 20 * MS), record.end - 40 * MS), [] as [u64; 0]);
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

/// Two anchors, one above bs1 and bs2, one above bs3, and a home agent at the gateway.
const ANCHORS: &str =
    "anchors = [\"r1\", \"r2\"]\nanchor_change = true\nanchor_grace = \"300 ms\"\nglobal = {}\n";

/// When a message was sent for the last time, and how often.
fn last(record: &Record, message: &str) -> (u64, usize) {
    let sent = record.signals.iter().filter(|signal| &*signal.message == message);
    (sent.clone().map(|signal| signal.sent).max().unwrap_or(0), sent.count())
}

#[test]
fn a_host_that_comes_to_another_anchor_changes_it_and_registers_with_its_home_agent() {
    for (trigger, loss) in [
        ("", GAP + 10..=GAP + 40),
        ("trigger = { by = \"source\" }\nbuffer = { limit = \"500 pkt\" }", 0..=0),
    ] {
        let mut lab = lab(&format!("{ANCHORS}{trigger}"), HARD);
        lab.visits = vec![("bs1", 0), ("bs3", 3_000)];
        let record = lab.run();
        let (lost, again) = lost_and_again(&record);
        assert!(loss.contains(&lost) && again == 0, "{lost}");
        let phases = |phase: &str| -> Vec<String> {
            let noted = record.phases.iter().filter(|noted| &*noted.phase == phase);
            noted.map(|noted| noted.node.to_string()).collect()
        };
        assert_eq!(phases("logged-in"), ["r1", "r2"]);
        assert_eq!(phases("home-agent-registered"), ["gw", "gw"]);
        assert_eq!(phases("logged-out"), ["r1"], "after the grace time");
        let (end, times) = last(&record, "logout-request");
        assert_eq!(times, 2, "through the access router to the old anchor");
        let registered = record.phase("globally-registered", TURNS).expect("one");
        assert!((300 * MS..320 * MS).contains(&(end - registered)), "{}", end - registered);
        assert_eq!(sent(&record, "anchor-change-request"), 1);
    }
}

#[test]
fn without_a_change_the_anchor_stays_and_the_path_is_longer() {
    let mut lab = lab(&ANCHORS.replace("anchor_change = true", "anchor_change = false"), HARD);
    lab.visits = vec![("bs1", 0), ("bs3", 3_000)];
    let record = lab.run();
    assert_eq!((sent(&record, "anchor-change-request"), sent(&record, "logout-request")), (0, 0));
    assert_eq!(record.phases.iter().filter(|noted| &*noted.phase == "logged-in").count(), 1);
    let delay = |from: u64| {
        let delivery = record.delivered("probe").find(|delivery| delivery.time >= from).expect("one");
        (delivery.time - delivery.sent) / MS
    };
    // ch 20, gw 5, r1 5, ar1 1, bs1 3 are 34 ms; from r1 back to gw and down to bs3 it is 44.
    assert_eq!((delay(2_000 * MS), delay(5_000 * MS)), (34, 44));
}

/// The host is idle 1 s after the data of the first call and goes to another cell; the second call pages it.
fn call_after_a_pause(area: &str, troubles: Vec<Trouble>) -> Record {
    let mut lab = lab(&format!("paging = {{ areas = [{area}], idle_after = \"1 s\" }}"), HARD);
    let call = |name: &str, start: u64, stop: u64| {
        format!(
            "[[flows]]\nname = \"{name}\"\npath = [\"ch\", \"mh\"]\napp = {{ kind = \"cbr\", start = \"{start} ms\", \
             stop = \"{stop} ms\", rate = \"40 kbit/s\", packet = \"100 B\" }}\n"
        )
    };
    lab.flows = call("first", 500, 1_500) + &call("second", 5_000, 7_000);
    lab.troubles = troubles;
    lab.run()
}

#[test]
fn an_idle_host_is_paged_where_it_is() {
    for (area, attaches) in [("[\"bs1\", \"bs2\"]", 2), ("[\"bs1\", \"bs3\"]", 3)] {
        let record = call_after_a_pause(area, Vec::new());
        // Idle, in another area if it is one, and paged.
        assert_eq!(sent(&record, "handover-attach"), attaches);
        assert_eq!(sent(&record, "page"), if attaches == 2 { 2 } else { 1 }, "in the cells of its area");
        assert_eq!(record.lost("second").count(), 0);
        let first = record.delivered("second").map(|delivery| delivery.time - delivery.sent).next();
        // 34 ms, and from the gateway the page (14 ms), the attach (3) and the path update (11).
        let page = first.expect("one") / MS;
        assert!((34 + 27..34 + 32).contains(&page), "{page}");
    }
}

#[test]
fn a_page_that_is_lost_is_repeated() {
    for message in ["page-request", "page"] {
        // Those for both cells.
        let troubles = vec![Trouble::lost(message, 1), Trouble::lost(message, 2)];
        let record = call_after_a_pause("[\"bs1\", \"bs2\"]", troubles);
        assert_eq!(record.lost("second").count(), 0, "{message}");
        let first = record.delivered("second").map(|delivery| delivery.time - delivery.sent).next();
        let late = first.expect("one") / MS;
        assert!((534 + 27..534 + 32).contains(&late), "{message}: {late}");
    }
    // Four times for two cells: what was kept is lost, and the next datagram pages again.
    let all = (1..=8).map(|number| Trouble::lost("page-request", number)).collect();
    let record = call_after_a_pause("[\"bs1\", \"bs2\"]", all);
    let lost: Vec<_> = record.lost("second").map(|loss| loss.reason.to_string()).collect();
    assert!(lost.len() <= 100 && lost.iter().all(|reason| reason == "buffer-expired"), "{lost:?}");
    assert!(record.delivered("second").count() + lost.len() == 100, "{}", lost.len());
}

#[test]
fn a_host_is_reached_between_login_and_logout() {
    let record = run("hours = { \"m*\" = { login = \"2 s\", logout = \"5 s\" } }", HARD);
    let times: Vec<u64> = record.delivered("probe").map(|delivery| delivery.time / MS).collect();
    // The login takes 14 ms to the anchor; what comes there then takes 14 ms more.
    assert!((2_028..2_034).contains(&times[0]), "{}", times[0]);
    // The logout goes the same way.
    assert!((5_024..5_031).contains(&times[times.len() - 1]), "{}", times[times.len() - 1]);
    assert!(record.losses.iter().filter(|loss| &*loss.flow == "probe").all(|loss| {
        &*loss.reason == "no-binding" || loss.time > TURNS - 12 * MS && loss.time < TURNS + 130 * MS
    }));
    assert_eq!((last(&record, "logout-request").1, record.census("inside")), (2, 0));
}

#[test]
fn a_lost_login_or_logout_is_repeated_until_it_is_answered() {
    for (message, most) in [
        ("login-request", 4_100),
        ("login-response", 4_100),
        ("logout-request", 2_200),
        ("logout-acknowledge", 2_200),
    ] {
        let mut lab = lab("hours = { \"mh\" = { login = \"1 s\", logout = \"5 s\" } }", HARD);
        lab.duration_ms = 12_000;
        lab.troubles = vec![Trouble::lost(message, 1), Trouble::lost(message, 2)];
        let record = lab.run();
        let noted = |phase: &str| record.phase(phase, 0).expect("a phase") / MS;
        match message {
            "login-request" | "login-response" => assert!((1_999..most).contains(&noted("session-known"))),
            _ => assert!((5_000..5_000 + 3_100).contains(&(last(&record, "logout-acknowledge").0 / MS))),
        }
        assert!(record.phase("logged-out", 5_000 * MS).is_some());
        assert_eq!(record.census("inside"), 0);
    }
}

/// A session that its anchor has forgotten is asked for again.
#[test]
fn a_host_whose_session_is_over_logs_in_again() {
    let mut lab = lab("session = { refresh = \"500 ms\", lifetime = \"1 s\" }", HARD);
    // Three refreshes are lost, each with its repetitions.
    lab.troubles = (3..=9).map(|number| Trouble::lost("handover-attach", number)).collect();
    let record = lab.run();
    assert_eq!(record.phases.iter().filter(|noted| &*noted.phase == "logged-in").count(), 2);
    let last = record.delivered("probe").last().expect("one").sent / MS;
    assert_eq!(last, 6_999, "it is reached to the end of the probe");
    let lost = record.losses.iter().filter(|loss| &*loss.flow == "probe" && &*loss.reason == "no-binding");
    assert!(lost.count() > 100);
}

#[test]
fn an_anchor_asks_the_server_before_it_opens_a_session() {
    let known = |fields: &str| run(fields, HARD).phase("session-known", 0);
    let open = known("").expect("a session");
    let with = |server: &str| known(&format!("authentication = {{ server = \"{server}\" }}"));
    assert_eq!(with("gw"), Some(open), "the anchor keeps the records itself");
    // The correspondent's node is 20 ms away over 10 Mbit/s: 100 B take 80 us there, 80 B 64 us back.
    assert_eq!(with("ch"), Some(open + 40 * MS + 144_000));
    let refused = run("authentication = { server = \"gw\", refuses = [\"mh\"] }", HARD);
    assert_eq!(refused.phase("session-known", 0), None);
    assert_eq!(refused.delivered("probe").count(), 0);
    // It asks for a session again and again: after 0, 1, 3 and 7 s, and at the handover.
    assert!(sent(&refused, "authentication-request") >= 4);
}
