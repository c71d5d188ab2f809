//! Handover over Xn.

use super::lab::Lab;

#[test]
fn the_worked_example_of_forwarding_from_the_command() {
    let run = Lab::default().run();
    run.assert_messages(
        0,
        &[
            ("rrc-measurement-report", "ue", 0, 2_000),
            ("xn-handover-request", "gnb1", 2_000, 5_002),
            ("xn-handover-request-acknowledge", "gnb2", 6_002, 9_004),
            ("rrc-reconfiguration", "gnb1", 9_004, 11_004),
            ("xn-sn-status-transfer", "gnb1", 9_004, 12_006),
            ("rrc-reconfiguration-complete", "ue", 89_004, 91_004),
            ("ng-path-switch-request", "gnb2", 91_004, 95_006),
            ("sbi-update-sm-context-request", "amf", 95_006, 96_008),
            ("n4-session-modification-request", "smf", 96_008, 97_010),
            ("n4-session-modification-response", "upf", 97_010, 98_012),
            ("sbi-update-sm-context-response", "smf", 98_012, 99_014),
            ("ng-path-switch-request-acknowledge", "amf", 99_014, 103_016),
            ("xn-ue-context-release", "gnb2", 103_016, 106_018),
            ("gtpu-end-marker", "upf", 97_010, 102_012),
            ("gtpu-end-marker", "gnb1", 102_012, 105_014),
        ],
    );
    assert_eq!(run.phase("access-granted"), 88_004);
    assert_eq!(run.phase("order-restored"), 105_014);
    // 1 is the last one over the source, 2 the first one over the target, and 84 the first one with the usual delay.
    run.assert_packets((0, 0), &[(0, 8_010), (1, 10_010), (2, 94_004), (83, 175_004), (84, 176_010)]);
    assert_eq!(run.gap(), 83_994);
    run.assert_flawless();
    // Two that the host had, and 47 from the cut on; the target releases those that the host has not, and direct ones.
    assert_eq!(run.released("gnb1"), 49);
}

#[test]
fn a_source_may_wait_with_the_command_and_forward_from_the_acknowledgement() {
    let waits = "command_delay = \"20 ms\"\n";
    let from_command = Lab::with(waits).run();
    from_command.assert_messages(
        0,
        &[("rrc-reconfiguration", "gnb1", 29_004, 31_004), ("xn-sn-status-transfer", "gnb1", 29_004, 32_006)],
    );
    from_command.assert_flawless();
    assert_eq!(from_command.gap(), 83_994);
    let from_acknowledge = Lab::with(&format!("{waits}forward_from = \"acknowledge\"")).run();
    from_acknowledge.assert_messages(
        0,
        &[("rrc-reconfiguration", "gnb1", 29_004, 31_004), ("xn-sn-status-transfer", "gnb1", 9_004, 12_006)],
    );
    from_acknowledge.assert_flawless();
    assert_eq!(from_acknowledge.gap(), 103_994);
}
