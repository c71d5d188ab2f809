//! Faults with one right outcome each (shared specification of NR, section 7), alone and in pairs.

use super::conditional;
use super::lab::{Lab, Run, Trouble};

/// More often than SCTP or RLC repeats.
fn for_good(message: &str) -> Vec<Trouble> {
    (1..=11).map(|number| Trouble::lost(message, number)).collect()
}

fn late(message: &str, occurrence: u32, delay_ms: u64) -> Trouble {
    Trouble { delay_ms: Some(delay_ms), ..Trouble::lost(message, occurrence) }
}

fn run(troubles: Vec<Trouble>, lab: &Lab) -> Run {
    Lab { troubles, duration_ms: 8_000, ..lab.clone() }.run()
}

/// The host goes back while the path is being switched.
fn there_and_back(mobility: &str) -> Lab {
    Lab { visits: vec![("gnb1", 0), ("gnb2", 3_000), ("gnb1", 3_150)], ..Lab::with(mobility) }
}

/// Fault 3: the target keeps one context, and answers once.
#[test]
fn a_request_that_comes_twice_prepares_one_handover() {
    for delay in [0, 1, 60, 400] {
        let run = run(vec![Trouble::lost("xn-handover-request", 1).copied(delay)], &Lab::default());
        assert_eq!(run.sent("xn-handover-request-acknowledge").len(), 1, "{delay} ms\n{}", run.chart());
        run.assert_flawless();
    }
}

/// Fault 6: numbers of a handover that is over are ignored.
#[test]
fn numbers_of_another_handover_are_ignored() {
    for delay in [100, 250, 600] {
        let twice = Trouble::lost("xn-sn-status-transfer", 1).copied(delay);
        run(vec![twice], &there_and_back("")).assert_flawless();
    }
}

/// The lab whose link between the base stations delays these data packets, counted from the first that is forwarded.
fn delayed(packets: &str, delay_ms: u64, lab: Lab) -> Lab {
    let drop = format!("drops = [{{ flow = \"udp\", packets = [{packets}], delay = \"{delay_ms} ms\" }}]\n");
    Lab { of_xn: drop, duration_ms: 8_000, ..lab }
}

/// Fault 9: the end marker overtakes data in the tunnel. Direct packets go first; they get the numbers that follow, so PDCP
/// finds no gap, and the transport sees the order.
#[test]
fn a_marker_that_overtakes_data_costs_order_alone() {
    let run = delayed("47, 48", 20, Lab::default()).run();
    assert_eq!(run.lost(), Vec::<i64>::new(), "{}", run.chart());
    let overtaken: Vec<u64> =
        run.0.delivered("udp").filter(|each| each.late_by > 0).map(|each| each.seq).collect();
    assert_eq!(overtaken, [1_047, 1_048], "{}", run.chart());
    assert!(run.0.expiries.is_empty(), "{}", run.chart());
}

/// Fault 9 with t-Reordering: a packet that has a number comes behind the marker, and later than the host waits for it.
#[test]
fn a_numbered_packet_behind_the_marker_costs_the_reordering_timer_and_is_late() {
    let run = delayed("3", 300, conditional::lab("")).run();
    assert_eq!(run.lost(), [-2], "{}", run.chart());
    let reasons: Vec<&str> = run.0.lost("udp").map(|loss| &*loss.reason).collect();
    assert_eq!(reasons, ["late"], "{}", run.chart());
    assert_eq!(run.0.expiries.len(), 1, "{}", run.chart());
    // Behind the gap the packets wait for t-Reordering, from the first of them on.
    assert_eq!(run.packet(-1) - run.packet(-3), 100_000 + 1_000, "{}", run.chart());
}

/// Fault 14: the SMF does not confirm the path switch. The sessions are released, what was forwarded for them is lost by that
/// name, and the host gets another connection.
#[test]
fn a_path_switch_that_is_not_confirmed_releases_the_sessions() {
    // The first one is of the first connection. Nothing repeats it.
    let lost = || vec![Trouble::lost("n4-session-modification-request", 2)];
    for mobility in ["", "procedure = \"n2\"\nforwarding = \"direct\""] {
        let timers = "path_switch = \"100 ms\", t311 = \"1000 ms\",".into();
        let run = run(lost(), &Lab { timers, ..Lab::with(mobility) });
        let failures = run.sent("ng-path-switch-request-failure");
        assert_eq!(failures.len(), 1, "{mobility}\n{}", run.chart());
        let reasons: Vec<&str> = run.0.lost("udp").map(|loss| &*loss.reason).collect();
        assert!(!reasons.is_empty(), "{mobility}\n{}", run.chart());
        // One is on the air.
        let named = ["bearer-ended", "no-binding", "detached"];
        assert!(reasons.iter().all(|reason| named.contains(reason)), "{reasons:?}");
        assert!(run.phase("service-restored") > failures[0], "{mobility}\n{}", run.chart());
        assert!(run.0.delivered("udp").any(|delivery| delivery.sent > 7_900_000_000), "{}", run.chart());
    }
}

/// Fault 10: direct packets that come before the target is notified of the path switch wait. When the source alone expects the host,
/// packets find no context, and are lost by that name.
#[test]
fn direct_packets_wait_and_packets_without_a_context_are_lost_by_name() {
    for message in ["ng-path-switch-request-acknowledge", "sbi-update-sm-context-response"] {
        run(vec![late(message, 2, 300)], &Lab::default()).assert_flawless();
    }
    let lab = Lab {
        visits: vec![("gnb1", 0), ("gnb2", 3_000), ("gnb1", 3_030)],
        timers: "t304 = \"500 ms\", joining = \"30 ms\",".into(),
        ..Lab::default()
    };
    let run = run(Vec::new(), &lab);
    let reasons: Vec<&str> = run.0.lost("udp").map(|loss| &*loss.reason).collect();
    assert!(reasons.contains(&"no-binding"), "{reasons:?}\n{}", run.chart());
    assert!(reasons.iter().all(|reason| ["no-binding", "bearer-ended"].contains(reason)), "{reasons:?}");
}

/// Fault 12: RLC repeats the message; if that fails too, the target's own wait ends the handover, and the host re-establishes its
/// connection.
#[test]
fn a_complete_message_that_is_lost_for_good_ends_in_another_connection() {
    let lost = (1..=9).map(|number| Trouble::lost("rrc-reconfiguration-complete", number)).collect();
    let lab = Lab { timers: "t304 = \"200 ms\", joining = \"600 ms\",".into(), ..Lab::default() };
    let run = run(lost, &lab);
    assert!(run.0.delivered("udp").any(|delivery| delivery.sent > 7_900_000_000), "{}", run.chart());
}

/// Fault 19: the source fails under T304. Packets that it has sent without result are at the target.
#[test]
fn a_source_that_fails_while_the_host_has_both_links_costs_time_alone() {
    let lab = Lab {
        radio: "t310 = \"50 ms\"\nslope_db_per_s = 4000.0".into(),
        bearer: ", t_poll_retransmit = \"4 s\"".into(),
        ..Lab::with("daps = true")
    };
    let run = run(Vec::new(), &lab);
    assert!(run.gap() > 50_000, "the source is silent: {}", run.gap());
    run.assert_flawless();
}

/// Fault 20: candidates are cancelled and the host is not notified. It has a connection again.
#[test]
fn a_host_that_does_not_know_that_its_candidates_are_cancelled_comes_back() {
    let lab = Lab {
        timers: "candidate = \"200 ms\", t304 = \"200 ms\",".into(),
        troubles: (2..=11).map(|number| Trouble::lost("rrc-conditional-reconfiguration", number)).collect(),
        duration_ms: 8_000,
        ..conditional::lab("")
    };
    let run = lab.run();
    assert!(run.0.delivered("udp").any(|delivery| delivery.sent > 7_900_000_000), "{}", run.chart());
}

/// Faults 7 and 15: the marker of the first path switch is lost, and the host goes back.
#[test]
fn a_lost_end_marker_and_a_return() {
    for number in 1..=4 {
        for path_switch in ["0 s", "200 ms"] {
            let lab = there_and_back(&format!("path_switch = \"{path_switch}\""));
            let run = run(vec![Trouble::lost("gtpu-end-marker", number)], &lab);
            assert!(run.lost().is_empty(), "marker {number}\n{}", run.chart());
        }
    }
}

/// Faults 4 and 5: the numbers come behind the first packets, and then never.
#[test]
fn numbers_that_are_late_and_then_lost() {
    let mut troubles = vec![late("xn-sn-status-transfer", 1, 40)];
    troubles.extend((2..=12).map(|number| Trouble::lost("xn-sn-status-transfer", number)));
    let run = run(troubles, &there_and_back(""));
    assert!(run.0.delivered("udp").any(|delivery| delivery.sent > 7_900_000_000), "{}", run.chart());
}

/// Faults 11 and 13: the source takes its host back, and the path switch is late.
#[test]
fn a_host_that_is_taken_back_and_a_late_path_switch() {
    let lab = Lab {
        visits: vec![("gnb1", 0), ("gnb2", 3_000), ("gnb1", 3_030), ("gnb2", 3_400)],
        timers: "t304 = \"50 ms\",".into(),
        ..Lab::default()
    };
    run(vec![late("ng-path-switch-request", 1, 400)], &lab);
}

/// Fault 16 with a discardTimer: packets are discarded before the source learns where the host is.
#[test]
fn a_lost_success_and_a_discard_timer() {
    let bearer = ", discard_timer = \"50 ms\"";
    let lab = conditional::lab("");
    let lab = Lab { bearer: format!("{}{bearer}", lab.bearer), ..lab };
    let run = run(for_good("xn-handover-success"), &lab);
    let reasons: Vec<&str> = run.0.lost("udp").map(|loss| &*loss.reason).collect();
    assert!(!reasons.is_empty() && reasons.iter().all(|reason| *reason == "discard-timer"), "{reasons:?}");
}

/// Faults 18 and 2: the host returns to its source, and the acknowledgement of its next handover is late.
#[test]
fn a_target_that_is_not_reached_and_a_late_acknowledgement() {
    let lab =
        Lab { timers: "t304 = \"50 ms\", preparation = \"100 ms\",".into(), ..Lab::with("daps = true") };
    run(vec![late("xn-handover-request-acknowledge", 2, 200)], &lab).assert_flawless();
}
