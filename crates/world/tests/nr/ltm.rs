//! Switches between distributed units of one central unit: L1/L2-triggered mobility, and handover without it.

use super::lab::{Run, Trouble};
use super::units::{Units, with};

/// The distributed unit has the report of layer 1, and orders the host to the other cell.
const ORDER: i64 = 500;

/// When a packet comes, from the order on.
fn packets(run: &Run, expected: &[(i64, i64)]) {
    run.assert_packets((0, ORDER), expected);
}

#[test]
fn the_worked_example_of_ltm() {
    let run = Units::default().run();
    run.assert_messages(
        ORDER,
        &[
            ("mac-cell-switch-command", "du1", 0, 500),
            ("f1-du-cu-cell-switch-notification", "du1", 0, 502),
            ("f1-cu-du-cell-switch-notification", "cu", 502, 1_004),
            ("rrc-reconfiguration-complete", "ue", 15_500, 16_000),
            ("mac-uplink-grant", "du2", 16_000, 16_500),
        ],
    );
    let reports = run.sent("f1u-delivery-status");
    assert_eq!(reports[0], 710 + ORDER, "the last confirmation has come");
    assert_eq!(run.phase("access-granted"), 16_500 + ORDER, "T304 stops");
    assert_eq!(run.phase("handover-confirmed"), 16_502 + ORDER);
    packets(&run, &[(-1, 210), (0, 17_500), (15, 32_500), (16, 34_210), (17, 36_210)]);
    assert_eq!(run.gap(), 17_290);
    run.assert_flawless();
    // Packet 0 alone has gone through F1 twice.
    assert_eq!(run.0.losses.iter().filter(|loss| &*loss.reason == "copy-released").count(), 1);
    assert_eq!(run.0.losses.iter().filter(|loss| &*loss.reason == "duplicate").count(), 0);
}

#[test]
fn a_handover_between_distributed_units_needs_no_path_switch() {
    let run = Units { ltm: None, ..Units::default() }.run();
    run.assert_messages(
        0,
        &[
            ("rrc-measurement-report", "ue", 0, 500),
            ("f1-ue-context-setup-request", "cu", 1_002, 1_504),
            ("f1-ue-context-setup-response", "du2", 1_504, 2_006),
            ("f1-ue-context-modification-request", "cu", 2_006, 2_508),
            ("rrc-reconfiguration", "du1", 2_508, 3_008),
            ("f1-ue-context-modification-response", "du1", 2_508, 3_010),
            ("rrc-reconfiguration-complete", "ue", 81_008, 81_508),
            ("f1-ue-context-release-command", "cu", 82_010, 82_512),
        ],
    );
    assert_eq!(run.phase("access-granted"), 80_008);
    packets(&run, &[(0, 2_210), (1, 82_508)]);
    assert_eq!(run.gap(), 80_298);
    run.assert_flawless();
}

#[test]
fn a_lost_command_is_given_again_while_the_host_is_there() {
    let run = with(vec![Trouble::lost("mac-cell-switch-command", 1)]).run();
    assert_eq!(run.sent("mac-cell-switch-command"), [ORDER, 20_000 + ORDER]);
    run.assert_messages(ORDER, &[("rrc-reconfiguration-complete", "ue", 35_500, 36_000)]);
    run.assert_flawless();
}

/// The packets that the source had, and those that arrived there later, are repeated when the host is at the target.
#[test]
fn lost_notifications_cost_time_and_no_packet() {
    for name in ["f1-du-cu-cell-switch-notification", "f1-cu-du-cell-switch-notification"] {
        let run = with(vec![Trouble::lost(name, 1)]).run();
        run.assert_messages(ORDER, &[("rrc-reconfiguration-complete", "ue", 15_500, 16_000)]);
        run.assert_flawless();
    }
}

/// Packets overtake the notification, and wait at the target, which has been prepared before (TS 38.401 §8.2.1).
#[test]
fn packets_that_overtake_the_notification_wait_at_the_target() {
    let late = Trouble { delay_ms: Some(8), ..Trouble::lost("f1-cu-du-cell-switch-notification", 1) };
    let run = with(vec![late]).run();
    packets(&run, &[(0, 17_500), (15, 32_500), (16, 34_210)]);
    run.assert_flawless();
    assert_eq!(run.0.losses.iter().filter(|loss| &*loss.reason == "copy-released").count(), 1);
}

/// A release of the last handover is late, and comes when the distributed unit expects the host again: it does not end the new
/// context.
#[test]
fn a_late_release_does_not_end_a_newer_context() {
    for number in 1..=2 {
        let late =
            Trouble { delay_ms: Some(1_400), ..Trouble::lost("f1-ue-context-release-command", number) };
        let visits = vec![("du1", 0), ("du2", 3_000), ("du1", 3_400), ("du2", 4_100)];
        Units { ltm: None, visits, ..with(vec![late]) }.run().assert_flawless();
    }
}

#[test]
fn a_lost_delivery_status_leads_to_copies_alone() {
    let run = with((1..=400).map(|number| Trouble::lost("f1u-delivery-status", number)).collect()).run();
    run.assert_flawless();
}

/// The candidate is configured, and the host has 10 ms to process that. Then it waits 10 ms for an occasion of random access. The
/// timing advance comes through the central unit.
#[test]
fn early_synchronisation_has_the_timing_advance_measured_before_the_switch() {
    let run = Units::default().run();
    let all = |name: &str| -> Vec<(u64, Option<u64>)> {
        let of = run.0.signals.iter().filter(|signal| &*signal.message == name);
        of.map(|signal| (signal.sent / 1_000, signal.arrived.map(|time| time / 1_000))).collect()
    };
    let configured = all("rrc-ltm-configuration")[0].0;
    let after = |name: &str, number: usize| {
        let (sent, arrived) = all(name)[number];
        (sent - configured, arrived.expect("it arrives") - configured)
    };
    assert_eq!(after("pdcch-order", 0), (10_000, 10_500));
    assert_eq!(after("ltm-random-access-preamble", 0), (20_500, 21_000));
    assert_eq!(after("f1-du-cu-ta-information-transfer", 0), (21_000, 21_502));
    assert_eq!(after("f1-cu-du-ta-information-transfer", 0), (21_502, 22_004));
    // Once, and then that of the first cell when the host is in the second one.
    run.assert_messages(
        ORDER,
        &[("pdcch-order", "du2", 26_000, 26_500), ("ltm-random-access-preamble", "ue", 36_500, 37_000)],
    );
    assert_eq!(all("pdcch-order").len(), 2, "{}", run.chart());
}

/// A message that is lost costs another order, or the repetition of SCTP.
#[test]
fn lost_messages_of_early_synchronisation_cost_time_alone() {
    let names = [
        "pdcch-order",
        "ltm-random-access-preamble",
        "f1-du-cu-ta-information-transfer",
        "f1-cu-du-ta-information-transfer",
    ];
    for name in names {
        let run = with((1..=3).map(|number| Trouble::lost(name, number)).collect()).run();
        run.assert_messages(ORDER, &[("rrc-reconfiguration-complete", "ue", 15_500, 16_000)]);
        run.assert_flawless();
    }
}

/// The candidate has heard no preamble.
#[test]
fn a_switch_without_early_synchronisation_has_random_access() {
    let lost = (1..=40).map(|number| Trouble::lost("ltm-random-access-preamble", number)).collect();
    let run = with(lost).run();
    assert_eq!(run.phase("access-granted"), 28_500 + ORDER);
    assert_eq!(run.gap(), 31_290);
    run.assert_flawless();
}

/// Eight orders for each configuration of the candidates. A timing advance that is too old is measured again.
#[test]
fn orders_are_repeated_and_a_timing_advance_has_a_lifetime() {
    let orders = |lab: Units| {
        let run = lab.run();
        let of = run.0.signals.iter().filter(|signal| &*signal.message == "pdcch-order");
        of.filter(|signal| &*signal.source == "du1").count()
    };
    let lost = (1..=40).map(|number| Trouble::lost("ltm-random-access-preamble", number)).collect();
    assert_eq!(
        orders(with(lost)),
        9,
        "the third configuration, 10.5 ms before the switch, permits another eight"
    );
    let lifetime = |time: &str| Some(format!(", timing_advance_lifetime = \"{time}\""));
    // The next order comes 112 ms after one: 12 ms until the timing advance is known, and its lifetime.
    assert_eq!(orders(Units { ltm: lifetime("100 ms"), ..Units::default() }), 5);
    assert_eq!(orders(Units { ltm: lifetime("1 s"), ..Units::default() }), 1);
}

/// The host measures the timing advance itself (ltm-UE-MeasuredTA-ID): no messages, and no random access.
#[test]
fn a_timing_advance_that_the_host_measures_needs_no_message() {
    let run = Units { ltm: Some(", timing_advance = \"measured\"".into()), ..Units::default() }.run();
    run.assert_messages(ORDER, &[("rrc-reconfiguration-complete", "ue", 15_500, 16_000)]);
    assert!(run.0.signals.iter().all(|signal| &*signal.message != "pdcch-order"));
}

/// Without it the host waits for an occasion of random access, 10 ms, and for the access, 5 ms; then for a grant, 1 ms.
#[test]
fn without_a_timing_advance_the_host_makes_random_access() {
    let run = Units { ltm: Some(", timing_advance = \"none\"".into()), ..Units::default() }.run();
    assert_eq!(run.phase("access-granted"), 28_500 + ORDER);
    run.assert_messages(ORDER, &[("rrc-reconfiguration-complete", "ue", 29_500, 30_000)]);
    assert_eq!(run.gap(), 31_290);
    run.assert_flawless();
}

/// The host does not reach the second cell, and the first one is the best again. It may try it once, or re-establishes its
/// connection there.
fn failure(ltm: &str) -> Run {
    let complete = "rrc-reconfiguration-complete";
    let lab = Units {
        ltm: Some(ltm.into()),
        timers: "t304 = \"100 ms\"".into(),
        visits: vec![("du1", 0), ("du2", 3_000), ("du1", 3_080)],
        ..with(vec![Trouble::lost(complete, 1), Trouble::lost(complete, 2)])
    };
    lab.run()
}

#[test]
fn a_host_that_has_not_reached_its_cell_goes_to_another_candidate() {
    let run = failure("");
    let executed = run.phase("handover-executed");
    assert_eq!(run.phase("access-granted"), executed + 28_000);
    run.assert_flawless();
}

/// The second recovery is not made: what the first one has sent to the cell that was not reached is lost (fault 17).
#[test]
fn a_recovery_that_is_not_repeated_loses_packets_in_acknowledged_mode() {
    let run = failure(", repeat_recovery = false");
    let lost = run.lost();
    assert!(lost.len() > 50 && lost[0] == 0, "{lost:?}");
    assert!(lost.windows(2).all(|pair| pair[1] == pair[0] + 1), "{lost:?}");
    // They had numbers: the receiver waits for them.
    assert!(run.gap() > failure("").gap() + 50_000);
}

#[test]
fn without_an_attempt_the_connection_is_re_established() {
    let run = failure(", attempt_candidate = false");
    assert!(run.phase("reestablished") > run.phase("cell-chosen"));
    run.assert_flawless();
}

/// Packets of the host are delivered in order by the central unit, and none is lost.
#[test]
fn packets_of_the_host_go_through_distributed_units_to_the_central_unit() {
    let up = "[[flows]]\nname = \"up\"\npath = [\"ue\", \"server\"]\n\
              app = { kind = \"cbr\", start = \"1 s\", rate = \"2 Mbit/s\", packet = \"1000 B\" }\n";
    for ltm in [Some(String::new()), None] {
        let run = Units { more: up.into(), ltm, ..Units::default() }.run();
        assert_eq!(run.0.lost("up").count(), 0, "{}", run.chart());
        let order: Vec<u64> = run.0.delivered("up").map(|delivery| delivery.seq).collect();
        assert!(order.len() > 900 && order.windows(2).all(|pair| pair[0] < pair[1]), "{}", run.chart());
        run.assert_flawless();
    }
}

/// Between central units a handover is the one over Xn.
#[test]
fn a_handover_to_another_central_unit_goes_over_xn() {
    let run = Units { ltm: None, two: true, ..Units::default() }.run();
    for (name, source) in [
        ("xn-handover-request", "cu"),
        ("f1-ue-context-setup-request", "cu2"),
        ("xn-handover-request-acknowledge", "cu2"),
        ("xn-sn-status-transfer", "cu"),
        ("ng-path-switch-request", "cu2"),
        ("xn-ue-context-release", "cu2"),
        ("f1-ue-context-release-command", "cu"),
    ] {
        run.message(name, source);
    }
    run.assert_flawless();
}

/// Or over N2: the AMF passes the cell on, and the numbers.
#[test]
fn a_handover_to_another_central_unit_goes_over_n2() {
    for forwarding in ["direct", "indirect"] {
        let mobility = format!("procedure = \"n2\"\nforwarding = \"{forwarding}\"");
        let run = Units { ltm: None, two: true, mobility, ..Units::default() }.run();
        for (name, source) in [
            ("ng-handover-required", "cu"),
            ("ng-handover-request", "amf"),
            ("f1-ue-context-setup-request", "cu2"),
            ("ng-handover-request-acknowledge", "cu2"),
            ("ng-handover-command", "amf"),
            ("f1-ue-context-modification-request", "cu"),
            ("ng-uplink-ran-status-transfer", "cu"),
            ("ng-handover-notify", "cu2"),
            ("f1-ue-context-release-command", "cu"),
        ] {
            run.message(name, source);
        }
        run.assert_flawless();
    }
}
