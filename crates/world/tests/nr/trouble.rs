//! Messages that are late or lost: once, then SCTP repeats them after its retransmission time; or permanently.

use super::lab::{Lab, Run, Trouble};

/// More often than SCTP repeats.
fn for_good(message: &str) -> Vec<Trouble> {
    (1..=11).map(|number| Trouble::lost(message, number)).collect()
}

fn late(message: &str, delay_ms: u64) -> Vec<Trouble> {
    vec![Trouble { delay_ms: Some(delay_ms), ..Trouble::lost(message, 1) }]
}

fn with(troubles: Vec<Trouble>, mobility: &str) -> Run {
    Lab { troubles, duration_ms: 8_000, ..Lab::with(mobility) }.run()
}

#[test]
fn a_lost_message_of_the_network_comes_after_the_retransmission_time() {
    let lost = || vec![Trouble::lost("xn-handover-request", 1)];
    for (preset, ms) in [("srsran", 120), ("ocudu", 50)] {
        let run = with(lost(), &format!("sctp = \"{preset}\""));
        let requests: Vec<_> =
            run.0.signals.iter().filter(|one| &*one.message == "xn-handover-request").collect();
        assert_eq!(requests[1].sent - requests[0].sent, ms * 1_000_000);
        assert_eq!((requests[0].arrived, requests[1].arrived.is_some()), (None, true));
        run.assert_flawless();
    }
}

/// Over the air RLC repeats it.
#[test]
fn a_lost_message_of_the_radio_comes_after_the_poll_timer() {
    let run = with(vec![Trouble::lost("rrc-reconfiguration-complete", 1)], "");
    let sent: Vec<i64> = run.sent("rrc-reconfiguration-complete");
    assert_eq!(sent[..2], [89_004, 134_004]);
    run.assert_flawless();
}

/// RLC has sent a message as often as it may: at the host that is a radio link failure (TS 38.331 §5.3.10.3), one
/// t-PollRetransmit after the last repetition.
#[test]
fn the_limit_of_retransmissions_of_signalling_is_a_radio_link_failure() {
    let lost = |number| (1..=number).map(|number| Trouble::lost("rrc-measurement-report", number)).collect();
    let few = "signalling = { max_retx_threshold = 2 }";
    // By the first limit four transmissions of the second report, 240 ms later, are lost too.
    for (signalling, losses, limit) in [("", 9 + 4, 405_000), (few, 3, 135_000)] {
        let run = with(lost(losses), signalling);
        assert_eq!(run.phase("link-failed"), limit, "{}", run.chart());
        assert!(run.phase("reestablished") > limit);
        run.assert_flawless();
    }
    // The last repetition arrives.
    let run = with(lost(2), few);
    assert!(run.0.phase("link-failed", 0).is_none(), "{}", run.chart());
    run.assert_flawless();
    let quick = "signalling = { t_poll_retransmit = \"10 ms\", max_retx_threshold = 1 }";
    assert_eq!(with(lost(2), quick).phase("link-failed"), 20_000);
}

/// The same at a base station: it tells the host, which establishes its connection again.
#[test]
fn the_limit_of_retransmissions_at_a_base_station_ends_the_connection() {
    let lost = (1..=9).map(|number| Trouble::lost("rrc-measurement-configuration", number)).collect();
    let run = with(lost, "");
    assert!(run.0.phase("link-failed", 0).is_some(), "{}", run.chart());
    assert!(run.0.delivered("udp").any(|delivery| delivery.sent > 7_900_000_000), "{}", run.chart());
}

#[test]
fn a_request_that_is_lost_is_cancelled_and_the_source_serves_on() {
    let lab = Lab {
        troubles: for_good("xn-handover-request"),
        timers: "preparation = \"100 ms\",".into(),
        duration_ms: 8_000,
        ..Lab::with("sctp = \"ocudu\"")
    };
    let run = lab.run();
    run.assert_messages(0, &[("xn-handover-cancel", "gnb1", 102_000, 105_002)]);
    run.assert_flawless();
}

#[test]
fn an_acknowledgement_that_is_late_is_ignored() {
    let lab = Lab {
        troubles: late("xn-handover-request-acknowledge", 200),
        timers: "preparation = \"100 ms\",".into(),
        duration_ms: 8_000,
        ..Lab::default()
    };
    let run = lab.run();
    assert!(run.phase("handover-commanded") > 200_000, "the second preparation leads to a handover");
    run.assert_flawless();
}

#[test]
fn numbers_that_are_late_hold_back_what_has_none() {
    let run = with(late("xn-sn-status-transfer", 90), "");
    run.assert_packets((0, 0), &[(1, 10_010), (2, 105_006)]);
    run.assert_flawless();
    with(late("xn-sn-status-transfer", 20), "").assert_flawless();
}

/// The bearer begins again, with loss, when the guard is over.
#[test]
fn numbers_that_are_lost_cost_packets() {
    let run = with(for_good("xn-sn-status-transfer"), "");
    assert_eq!(run.phase("fully-configured"), 191_004);
    let lost = run.lost();
    assert!(lost.len() > 10 && lost.windows(2).all(|pair| pair[1] == pair[0] + 1), "{lost:?}");
}

#[test]
fn an_end_marker_that_is_lost_is_replaced_by_the_guard() {
    let run = with(vec![Trouble::lost("gtpu-end-marker", 1)], "");
    assert_eq!(run.phase("reordering-timed-out"), 203_010);
    run.assert_flawless();
    // Of two the first one may be lost, and the second one changes nothing.
    for troubles in [vec![Trouble::lost("gtpu-end-marker", 1)], Vec::new()] {
        let run = with(troubles, "end_markers = 2");
        assert!((105_014..105_020).contains(&run.phase("order-restored")));
        run.assert_flawless();
    }
    let twice = vec![Trouble::lost("gtpu-end-marker", 1).copied(1)];
    with(twice, "").assert_flawless();
}

#[test]
fn a_path_switch_request_that_is_late_prolongs_the_forwarding() {
    let run = with(vec![Trouble::lost("ng-path-switch-request", 1)], "");
    assert_eq!(run.phase("path-switched"), 97_010 + 1_000_000);
    run.assert_flawless();
}

/// The host goes back while the first path switch is under way.
#[test]
fn ping_pong_while_the_path_is_switched_loses_nothing_and_keeps_the_order() {
    for path_switch in ["0 s", "200 ms", "500 ms"] {
        let lab = Lab {
            visits: vec![("gnb1", 0), ("gnb2", 3_000), ("gnb1", 3_150)],
            duration_ms: 8_000,
            ..Lab::with(&format!("path_switch = \"{path_switch}\""))
        };
        let run = lab.run();
        let confirmed = run.0.phases.iter().filter(|phase| &*phase.phase == "handover-confirmed").count();
        assert_eq!(confirmed, 2, "{path_switch}\n{}", run.chart());
        run.assert_flawless();
    }
}

/// The host does not reach the target in time, and the source is the best cell again.
#[test]
fn a_source_that_has_commanded_takes_its_host_back() {
    let lab = Lab {
        visits: vec![("gnb1", 0), ("gnb2", 3_000), ("gnb1", 3_030)],
        timers: "t304 = \"50 ms\",".into(),
        duration_ms: 8_000,
        ..Lab::default()
    };
    let run = lab.run();
    run.assert_messages(0, &[("xn-handover-cancel", "gnb1", 208_000, 211_002)]);
    assert!(run.phase("reestablished") > 0);
    run.assert_flawless();
}
