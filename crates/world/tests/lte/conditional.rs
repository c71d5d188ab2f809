//! Conditional handover: two targets are prepared, and the host goes to the one that meets the execution condition.

use super::lab::{Lab, MS, Record, TURNS, Trouble, assert_flawless};
use super::reached::{BOUND, walk};
use super::trouble::{judge, messages, nothing_wrong};
use crate::lab::record::walks;

/// The execution condition is 3 dB, which take 150 ms from the moment when two cells are equal.
const CONDITIONAL: &str = "conditional = { candidates = 2 }";

/// The second cell is 2 dB better than the first one, which is not enough; the third one becomes better still.
fn two_candidates() -> Lab {
    let visits = vec![("enb1", 0), ("enb2", TURNS / MS), ("enb3", TURNS / MS + 100)];
    Lab { visits, ..Lab::with(CONDITIONAL) }
}

fn of_phase<'a>(record: &'a Record, phase: &'a str) -> impl Iterator<Item = u64> + 'a {
    record.phases.iter().filter(move |noted| &*noted.phase == phase).map(|noted| noted.time)
}

fn destinations(record: &Record, message: &str) -> Vec<String> {
    let signals = record.signals.iter().filter(|signal| &*signal.message == message);
    signals.map(|signal| signal.destination.to_string()).collect()
}

#[test]
fn the_host_goes_to_the_candidate_that_meets_the_condition() {
    let record = two_candidates().run();
    assert_eq!(destinations(&record, "handover-request"), ["enb2", "enb3"]);
    assert_eq!(of_phase(&record, "handover-prepared").count(), 2);
    let executed: Vec<u64> = of_phase(&record, "handover-executed").collect();
    assert_eq!(executed, [TURNS + 160 * MS], "the first measurement at which the third cell is 3 dB better");
    assert!(of_phase(&record, "handover-prepared").all(|prepared| prepared + 60 * MS < executed[0]));
    assert_eq!(destinations(&record, "random-access-preamble"), ["enb3"]);
    assert_eq!(destinations(&record, "handover-success"), ["enb1"]);
    assert_eq!(destinations(&record, "handover-cancel"), ["enb2"]);
    assert_eq!(destinations(&record, "handover-command"), [""; 0]);
    // The source has held what came, and forwards it late.
    assert!(of_phase(&record, "forwarding-started").all(|started| started > executed[0] + 30 * MS));
    ["tcp", "udp"].iter().for_each(|flow| assert_flawless(&record, flow));
}

/// A command has to cross the cell that fades; candidates have been named before.
#[test]
fn a_link_that_fails_fast_loses_the_command_and_not_the_candidates() {
    // The first cell fades by 1.6 dB in 1 ms. At the measurement 20 ms after the second one has become the better one it is
    // not heard any more, and the command comes after 28 ms.
    let radio = "t310 = \"60 ms\"\nslope_db_per_s = 1600.0";
    let outcome = |mobility: &str, report_db: &str| {
        let lab = Lab { radio: radio.into(), ..Lab::with(mobility) };
        let report = format!("offset_db = {report_db}, hysteresis_db = 0.0");
        let record = Record::of(&lab.text().replace("hysteresis_db = 0.0", &report), 1, lab.duration_ms);
        ["link-failed", "access-granted"].map(|phase| of_phase(&record, phase).count())
    };
    assert_eq!(outcome("", "0.0"), [1, 0]);
    assert_eq!(outcome(CONDITIONAL, "-15.0"), [0, 1]);
}

#[test]
fn a_message_that_is_lost_costs_no_connected_host_a_packet() {
    let mut lab = two_candidates();
    let mut problems = Vec::new();
    for trouble in messages(&lab) {
        lab.troubles = vec![trouble];
        problems.extend(judge(&lab, &lab.run(), &format!("{:?}", lab.troubles)));
    }
    nothing_wrong(&problems);
}

#[test]
fn every_covered_host_is_reached_again_within_the_bound() {
    walks(60, |number| {
        let mut lab = Lab { mobility: CONDITIONAL.into(), ..walk(number) };
        let own = ["conditional-reconfiguration", "handover-success", "handover-cancel"];
        lab.troubles.extend([Trouble::lost(own[number as usize % 3], 1 + number as u32 % 2)]);
        lab.run().reached_again("udp", BOUND).map_err(|problem| format!("{problem}\n{lab:?}"))
    });
}
