//! Handover over N2.

use super::lab::{Lab, Run};
use std::collections::BTreeSet;

fn run(forwarding: &str) -> Run {
    let mobility = format!("procedure = \"n2\"\nforwarding = \"{forwarding}\"");
    Lab { xn: false, first_us: 700, ..Lab::with(&mobility) }.run()
}

#[test]
fn the_worked_example_of_indirect_forwarding() {
    let run = run("indirect");
    run.assert_messages(
        0,
        &[
            ("ng-handover-required", "gnb1", 2_000, 6_002),
            ("ng-handover-request", "amf", 8_006, 12_008),
            ("ng-handover-request-acknowledge", "gnb2", 13_008, 17_010),
            ("n4-session-modification-request", "smf", 18_012, 19_014),
            ("n4-session-modification-response", "upf", 19_014, 20_016),
            ("ng-handover-command", "amf", 21_018, 25_020),
            ("rrc-reconfiguration", "gnb1", 25_020, 27_020),
            ("ng-uplink-ran-status-transfer", "gnb1", 25_020, 29_022),
            ("ng-downlink-ran-status-transfer", "amf", 29_022, 33_024),
            ("rrc-reconfiguration-complete", "ue", 105_020, 107_020),
            ("ng-handover-notify", "gnb2", 107_020, 111_022),
            ("gtpu-end-marker", "gnb1", 118_028, 123_030),
            ("ng-ue-context-release-command", "amf", 411_022, 415_024),
            ("ng-ue-context-release-complete", "gnb1", 415_024, 419_026),
        ],
    );
    assert_eq!(run.phase("access-granted"), 104_020);
    assert_eq!(run.phase("path-switched"), 113_026);
    assert_eq!(run.phase("order-restored"), 128_032);
    // 9 is the last one over the source, 10 the first one over the target, and 92 the first one with the usual delay.
    run.assert_packets((0, 0), &[(9, 26_710), (10, 110_020), (92, 192_710)]);
    assert_eq!(run.gap(), 83_310);
    run.assert_flawless();
    assert_eq!(run.released("gnb1"), 49);
}

#[test]
fn without_forwarding_the_source_loses_packets_and_no_number_is_missing() {
    let run = run("none");
    // Nothing is set up in the user plane function either, which makes it 2 ms shorter than the example.
    assert_eq!(run.lost(), (9..=55).collect::<Vec<i64>>());
    run.assert_packets((0, 0), &[(8, 24_710), (56, 120_710)]);
    assert_eq!(run.gap(), 96_000);
}

#[test]
fn direct_forwarding_over_n2_goes_over_the_link_of_the_base_stations() {
    let mobility = "procedure = \"n2\"\nforwarding = \"direct\"";
    let run = Lab { first_us: 700, ..Lab::with(mobility) }.run();
    run.assert_flawless();
    // Nothing is set up in the user plane function.
    run.assert_messages(0, &[("gtpu-end-marker", "gnb1", 116_024, 119_026)]);
}

/// The AMF releases the source, and the indirect tunnel ends, before the path is switched: what the source forwards from then
/// on is lost at the user plane function. It does not return to the source.
#[test]
fn a_path_switch_behind_the_release_loses_what_is_forwarded_in_vain() {
    let mobility = "procedure = \"n2\"\nforwarding = \"indirect\"\npath_switch = \"2 s\"";
    let run = Lab { xn: false, first_us: 700, duration_ms: 8_000, ..Lab::with(mobility) }.run();
    // The release timer of 300 ms runs from the notice on.
    let release = run.message("ng-ue-context-release-command", "amf").0;
    assert_eq!(release, 411_022);
    let reasons: BTreeSet<&str> = run.0.lost("udp").map(|loss| &*loss.reason).collect();
    assert_eq!(reasons, BTreeSet::from(["no-binding"]), "{}", run.chart());
    let at_upf = run.0.lost("udp").filter(|loss| &*loss.place == "upf").count();
    assert!(at_upf > 400, "{at_upf}");
    // Until the path is switched a packet leaves each 2 ms.
    let lost = run.lost();
    assert!((820..=860).contains(&lost.len()), "{}", lost.len());
    assert_eq!(lost.len() as i64, lost[lost.len() - 1] - lost[0] + 1, "one block");
}

#[test]
fn a_late_path_switch_costs_nothing_with_forwarding_and_all_until_then_without() {
    let late = |forwarding: &str| {
        let mobility = format!(
            "procedure = \"n2\"\nforwarding = \"{forwarding}\"\npath_switch = \"2 s\"\nrelease_after = \"4 s\""
        );
        Lab { xn: false, first_us: 700, duration_ms: 8_000, ..Lab::with(&mobility) }.run()
    };
    late("indirect").assert_flawless();
    assert_eq!(late("none").lost().len(), 1_047);
}

/// A host that re-establishes its connection at the target has the path switched without a notice: the tunnel of indirect
/// forwarding lasts until that is done, and longer than the release timer of 300 ms.
#[test]
fn a_host_that_continues_at_the_target_gets_what_is_forwarded_until_the_path_is_switched() {
    let mobility = "procedure = \"n2\"\nforwarding = \"indirect\"\npath_switch = \"2 s\"";
    let lab = Lab {
        xn: false,
        first_us: 700,
        timers: "t304 = \"50 ms\",".into(),
        duration_ms: 8_000,
        ..Lab::with(mobility)
    };
    let run = lab.run();
    assert!(run.phase("path-switched") > run.phase("reestablished") + 1_900_000, "{}", run.chart());
    run.assert_flawless();
}

/// The source of a handover has the host back, and hands it over again, before the tunnel of the first handover ends: that of
/// the second one stays.
#[test]
fn the_end_of_a_tunnel_leaves_that_of_a_newer_handover() {
    let mobility = "procedure = \"n2\"\nforwarding = \"indirect\"\npath_switch = \"500 ms\"\nrelease_after = \"1500 ms\"";
    let lab = Lab {
        visits: vec![("gnb1", 0), ("gnb2", 3_000), ("gnb1", 3_600), ("gnb2", 4_200)],
        xn: false,
        first_us: 700,
        duration_ms: 9_000,
        ..Lab::with(mobility)
    };
    let run = lab.run();
    let confirmed = run.0.phases.iter().filter(|phase| &*phase.phase == "handover-confirmed").count();
    assert_eq!(confirmed, 3, "{}", run.chart());
    assert_eq!(run.lost(), Vec::<i64>::new(), "{}", run.chart());
}
