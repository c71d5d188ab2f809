//! Conditional handover over Xn.

use super::lab::{Lab, Run, Trouble};

/// The host reports the neighbour when it gets near, and goes to it at the report of the other examples.
pub fn lab(mobility: &str) -> Lab {
    let conditional = r#"conditional = { candidates = 2, events = [{ kind = "a3", offset_db = 0.0, time_to_trigger = "0 s" }] }"#;
    Lab {
        measurement: "offset_db = -10.0, time_to_trigger = \"0 ms\"",
        bearer: ", t_poll_retransmit = \"100 ms\"".into(),
        ..Lab::with(&format!("{conditional}\n{mobility}"))
    }
}

fn run(mobility: &str) -> Run {
    lab(mobility).run()
}

#[test]
fn the_worked_example_of_late_forwarding() {
    let run = run("");
    assert_eq!(run.phase("handover-executed"), 0);
    assert_eq!(run.phase("access-granted"), 77_000);
    run.assert_messages(
        0,
        &[
            ("rrc-reconfiguration-complete", "ue", 78_000, 80_000),
            ("xn-handover-success", "gnb2", 80_000, 83_002),
            ("ng-path-switch-request", "gnb2", 80_000, 84_002),
            ("xn-sn-status-transfer", "gnb1", 83_002, 86_004),
            ("gtpu-end-marker", "upf", 86_006, 91_012),
            ("gtpu-end-marker", "gnb1", 91_012, 94_022),
            ("ng-path-switch-request-acknowledge", "amf", 88_010, 92_012),
            ("xn-ue-context-release", "gnb2", 92_012, 95_014),
        ],
    );
    // A packet that is on the air as the host leaves is lost, and so is its confirmation of -5. The example takes it as accepted:
    // -5 is forwarded too, and takes 10 µs on the wire.
    run.assert_packets((0, 0), &[(-5, -1_990), (-4, 89_024), (86, 180_010)]);
    assert_eq!(run.gap(), 91_014);
    run.assert_flawless();
    assert_eq!(run.released("gnb1"), 49);
}

#[test]
fn with_early_forwarding_the_target_has_what_the_host_misses() {
    let run = run("candidate_forwarding = \"early\"");
    run.assert_packets((0, 0), &[(-5, -1_990), (-4, 83_000)]);
    assert_eq!(run.gap(), 84_990);
    run.assert_flawless();
}

/// The source learns from the release that the host has come, and the numbers follow.
#[test]
fn a_success_that_is_lost_for_good_costs_time_alone() {
    let lost = (1..=11).map(|number| Trouble::lost("xn-handover-success", number)).collect();
    let run = Lab { troubles: lost, ..lab("") }.run();
    run.assert_messages(
        0,
        &[
            ("xn-ue-context-release", "gnb2", 92_012, 95_014),
            ("xn-sn-status-transfer", "gnb1", 95_014, 98_016),
        ],
    );
    run.assert_flawless();
}

/// A lab whose host goes to a candidate that meets both events.
fn both(second: &str) -> Lab {
    let a3 = r#"{ kind = "a3", offset_db = 0.0, time_to_trigger = "0 s" }"#;
    let conditional = format!("conditional = {{ events = [{a3}, {second}] }}");
    Lab { mobility: conditional, ..lab("") }
}

/// Event T1 holds at measurements in its window, and the neighbour has been better before.
#[test]
fn a_host_goes_when_both_events_are_met() {
    let run = both(r#"{ kind = "t1", t1_threshold = "3200 ms", duration = "500 ms" }"#).run();
    assert_eq!(run.phase("handover-executed"), 200_000);
    run.assert_flawless();
}

/// The window is over before the neighbour is better: the host stays at the source, and its packets come from there.
#[test]
fn a_host_whose_window_is_over_stays() {
    let run = both(r#"{ kind = "t1", t1_threshold = "2500 ms", duration = "500 ms" }"#).run();
    assert_eq!(run.0.phase("handover-executed", 0), None);
    assert!(run.0.phase("handover-prepared", 0).is_some());
}

/// A target that waits for the numbers has the path switched 6,004 µs later than the worked example.
#[test]
fn the_path_may_be_switched_when_the_numbers_have_come() {
    let run = run("path_switch_after = \"sn-status\"");
    run.assert_messages(
        0,
        &[
            ("xn-sn-status-transfer", "gnb1", 83_002, 86_004),
            ("ng-path-switch-request", "gnb2", 86_004, 90_006),
            ("xn-ue-context-release", "gnb2", 98_016, 101_018),
        ],
    );
    assert_eq!(run.gap(), 91_014);
    run.assert_flawless();
}

/// The numbers never come: the bearer begins again after the guard timer, and the path is switched then.
#[test]
fn without_numbers_the_path_is_switched_when_the_bearer_begins_again() {
    let lost = (1..=11).map(|number| Trouble::lost("xn-sn-status-transfer", number)).collect();
    let run = Lab { troubles: lost, ..lab("path_switch_after = \"sn-status\"") }.run();
    run.assert_messages(0, &[("ng-path-switch-request", "gnb2", 180_000, 184_002)]);
}
