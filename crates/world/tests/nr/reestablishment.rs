//! Re-establishment at a base station that was not prepared.

use super::lab::{Lab, Run};

/// The link to the first cell is dead from the report of the other examples on. The radio's T310 has N310 in it.
fn run(bearer: &str) -> Run {
    let lab = Lab {
        radio: "t310 = \"240 ms\"\nslope_db_per_s = 4000.0".into(),
        measurement: "offset_db = 15.0, time_to_trigger = \"5120 ms\"",
        bearer: format!(", t_poll_retransmit = \"4 s\"{bearer}"),
        ..Lab::with("nonstandard = true")
    };
    lab.run()
}

#[test]
fn the_worked_example() {
    let run = run("");
    assert_eq!(run.phase("link-failed"), 240_000);
    assert_eq!(run.phase("cell-chosen"), 340_000);
    run.assert_messages(
        0,
        &[
            ("rrc-reestablishment-request", "ue", 376_000, 378_000),
            ("xn-retrieve-ue-context-request", "gnb2", 378_000, 381_002),
            ("xn-retrieve-ue-context-response", "gnb1", 381_002, 384_004),
            ("rrc-reestablishment", "gnb2", 384_004, 386_004),
            ("xn-u-address-indication", "gnb2", 384_004, 387_006),
            ("xn-sn-status-transfer", "gnb1", 387_006, 390_008),
            ("rrc-reestablishment-complete", "ue", 396_004, 398_004),
            ("ng-path-switch-request", "gnb2", 398_004, 402_006),
            ("rrc-resume-reconfiguration", "gnb2", 398_004, 400_004),
            ("rrc-reconfiguration-complete", "ue", 410_004, 412_004),
            ("gtpu-end-marker", "upf", 404_010, 409_012),
            ("gtpu-end-marker", "gnb1", 409_012, 412_022),
            ("ng-path-switch-request-acknowledge", "amf", 406_014, 410_016),
            ("xn-ue-context-release", "gnb2", 410_016, 413_018),
        ],
    );
    run.assert_packets((0, 0), &[(-5, -1_990), (-4, 415_004), (411, 830_010)]);
    assert_eq!(run.gap(), 416_994);
    run.assert_flawless();
}

/// A packet that is discarded with a number leaves a gap, which costs t-Reordering.
#[test]
fn the_worked_example_with_a_discard_timer() {
    let run = run(", discard_timer = \"300 ms\"");
    assert_eq!(run.lost(), (-4..=40).collect::<Vec<i64>>());
    run.assert_packets((0, 0), &[(41, 515_004), (141, 515_004)]);
    assert_eq!(run.gap(), 516_994);
}
