//! A host that stays at the source until it is at the target (DAPS).

use super::lab::{Lab, Run};

/// The command reaches the host this long after the report.
const COMMAND: i64 = 11_004;

/// Packet 0 of the worked example is number 5 of the run.
const FIRST: i64 = 5;

fn run(mobility: &str) -> Run {
    Lab { first_us: 1_004, ..Lab::with(&format!("daps = true\n{mobility}")) }.run()
}

#[test]
fn the_worked_example() {
    let run = run("");
    run.assert_messages(
        COMMAND,
        &[
            ("rrc-reconfiguration", "gnb1", -2_000, 0),
            ("xn-early-status-transfer", "gnb1", -2_000, 1_002),
            ("rrc-reconfiguration-complete", "ue", 78_000, 80_000),
            ("xn-handover-success", "gnb2", 80_000, 83_002),
            ("xn-sn-status-transfer", "gnb1", 83_002, 86_004),
            ("rrc-source-release", "gnb2", 86_004, 88_004),
            ("gtpu-end-marker", "gnb1", 91_012, 94_022),
        ],
    );
    assert_eq!(run.phase("access-granted"), COMMAND + 77_000);
    run.assert_packets(
        (FIRST, COMMAND),
        &[
            (35, 78_010),
            (36, 80_010),
            (37, 82_010),
            (38, 84_010),
            (39, 89_020),
            (43, 97_020),
            (44, 98_020),
            (45, 99_020),
            (46, 100_020),
            (47, 102_010),
        ],
    );
    assert_eq!(run.gap(), 5_010);
    run.assert_flawless();
}

/// The target cannot be reached: the host tells the source, which has never stopped.
#[test]
fn a_target_that_is_not_reached_costs_nothing() {
    // T304 is over before random access could be done.
    let timers = "t304 = \"50 ms\",".into();
    let run = Lab { timers, duration_ms: 4_300, ..Lab::with("daps = true") }.run();
    run.assert_messages(0, &[("rrc-failure-information", "ue", 61_004, 63_004)]);
    assert_eq!(run.gap(), 2_000);
    run.assert_flawless();
}
