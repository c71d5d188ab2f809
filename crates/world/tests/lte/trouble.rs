//! Handovers in trouble: every message lost or late, alone and in pairs; every timer at its extremes; a second handover
//! before the first ends; ping-pong.
//!
//! Each run must end with its laws intact, every flow continues, every datagram is delivered or lost for a
//! reason, and nothing is forwarded any more. A host that keeps its connection loses nothing.

use super::lab::{Lab, Loss, MS, Record, TURNS, Trouble};
use super::races::{self, COMMAND_LATE, SITUATIONS};
use crate::lab::Share;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

pub type Variant = (&'static str, &'static str);

/// The schemes: a name, and lines of `[mobility]`.
pub const SCHEMES: [Variant; 3] =
    [("standard", ""), ("fast", "path_switch = \"fast\""), ("predictive", "path_switch = \"predictive\"")];

/// Other ways to run the standard.
pub const OTHERS: [Variant; 4] = [
    ("seamless", "forwarding = \"seamless\""),
    ("without forwarding", "forwarding = \"none\""),
    ("without reordering", "reordering = false"),
    ("dropped when cancelled", "cancelled = \"drop\""),
];

fn is_data(loss: &Loss) -> bool {
    &*loss.flow != "signalling" && loss.loses_data()
}

/// True if the host had one connection all the time.
fn stayed_connected(record: &Record) -> bool {
    let failure = |phase: &str| record.phases.iter().filter(|noted| &*noted.phase == phase).count();
    failure("link-failed") == 0 && failure("service-requested") == 1
}

/// Packets that may be on their way at the end: a window of segments and one of acknowledgements, the datagrams of
/// 20 ms, and signalling.
const ON_THE_WAY: u64 = 16 + 16 + 10 + 5;

/// Faults of a run that are independent of its trouble.
fn unsettled(record: &Record) -> Vec<String> {
    let mut problems = Vec::new();
    let mut expect = |holds: bool, what: &dyn Fn() -> String| {
        if !holds {
            problems.push(what());
        }
    };
    let until = record.end - 1_000 * MS;
    let forgotten = record.without_end("udp", (2_500 * MS, 2 * MS), until);
    expect(forgotten.is_empty(), &|| format!("datagrams {forgotten:?} have no end"));
    let inside = record.census("inside");
    expect(inside <= ON_THE_WAY, &|| format!("{inside} packets are still inside"));
    for flow in ["tcp", "udp"] {
        let resumed = record.delivered(flow).any(|delivery| delivery.fresh && delivery.time > until);
        expect(resumed, &|| format!("{flow} has not resumed"));
    }
    let late: Vec<&Loss> = record.losses.iter().filter(|loss| is_data(loss) && loss.time > until).collect();
    expect(late.is_empty(), &|| format!("{} still lost at the end: {:?}", late.len(), late[0]));
    let forwarded = record.releases.iter().filter(|release| release.time > until).count();
    expect(forwarded == 0, &|| format!("{forwarded} packets still go through buffers"));
    let reasons = ["detached", "bearer-ended", "no-binding"];
    for loss in record.losses.iter().filter(|loss| is_data(loss) && !reasons.contains(&&*loss.reason)) {
        expect(false, &|| format!("{loss:?}"));
    }
    let duplicates = record.total("udp", "duplicate_pkts");
    expect(duplicates == 0, &|| format!("{duplicates} duplicates"));
    problems
}

fn problems_of(lab: &Lab, name: &str) -> Vec<String> {
    judge(lab, &lab.run(), name)
}

/// Faults of a run in which a connection that is kept loses nothing.
pub fn judge(lab: &Lab, record: &Record, name: &str) -> Vec<String> {
    let mut problems = unsettled(record);
    let forwards = !lab.mobility.contains("none") && !lab.mobility.contains("drop");
    if forwards && stayed_connected(record) {
        problems
            .extend(record.losses.iter().find(|loss| is_data(loss)).map(|loss| format!("lost: {loss:?}")));
        let ordered =
            !lab.mobility.contains("reordering") && record.phase("reordering-timed-out", 0).is_none();
        let reordered = record.total("udp", "reordered_pkts");
        if ordered && onward(lab, record) && reordered > 0 {
            problems.push(format!("{reordered} datagrams are out of order"));
        }
    }
    problems.iter().map(|problem| format!("{name}: {problem}")).collect()
}

/// True if neither the host nor, by a handover that was cancelled and begun again, its path comes back to a
/// cell. Such a cell keeps the packets that it had held (and those may be the younger part).
fn onward(lab: &Lab, record: &Record) -> bool {
    let cells: BTreeSet<&str> = lab.visits.iter().map(|visit| visit.0).collect();
    let switches = record.phases.iter().filter(|noted| &*noted.phase == "path-switched").count();
    cells.len() == lab.visits.len() && switches <= cells.len() + 1
}

/// Fails with all problems.
pub fn nothing_wrong(problems: &[String]) {
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
}

/// Every message of an undisturbed run, from the first connection on, as the trouble that loses it.
pub fn messages(lab: &Lab) -> Vec<Trouble> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let record = lab.run();
    let troubles = record.signals.iter().map(|signal| {
        let occurrence = seen.entry(signal.message.to_string()).or_default();
        *occurrence += 1;
        Trouble::lost(&*signal.message, *occurrence)
    });
    troubles.collect()
}

fn each_message(variants: &[Variant], delays_ms: &[Option<u64>]) {
    each_troubled(variants, delays_ms, |trouble, delay_ms| Trouble { delay_ms, ..trouble.clone() });
}

fn each_troubled<T: Copy>(variants: &[Variant], cases: &[T], trouble_of: impl Fn(&Trouble, T) -> Trouble) {
    let (mut problems, mut share) = (Vec::new(), Share::new(6, 0));
    for (variant, mobility) in variants {
        let mut lab = Lab::with(mobility);
        for trouble in messages(&lab) {
            for &case in cases.iter().filter(|_| share.takes_next()) {
                lab.troubles = vec![trouble_of(&trouble, case)];
                problems.extend(problems_of(&lab, &format!("{variant}, {:?}", lab.troubles)));
            }
        }
    }
    nothing_wrong(&problems);
}

#[test]
fn the_messages_are_those_of_the_chart() {
    let names = |mobility: &str| -> BTreeSet<String> {
        messages(&Lab::with(mobility)).into_iter().map(|trouble| trouble.message).collect()
    };
    assert_eq!(names("").len(), 20);
    assert!(SCHEMES.iter().all(|(_, mobility)| names(mobility) == names("")));
}

#[test]
fn each_message_is_lost() {
    each_message(&SCHEMES, &[None]);
}

#[test]
fn each_message_is_lost_in_other_variants() {
    each_message(&OTHERS, &[None]);
}

/// Late by enough to come behind any other message of the procedure, and then behind every timer.
#[test]
fn each_message_comes_behind_its_rivals() {
    each_message(&SCHEMES, &[4, 12, 25, 60].map(Some));
}

#[test]
fn each_message_comes_very_late() {
    each_message(&SCHEMES, &[150, 500, 1_500].map(Some));
}

#[test]
fn each_message_is_sent_twice() {
    each_troubled(&SCHEMES, &[0, 3, 25, 150, 1_500], Trouble::copied);
}

#[test]
fn any_two_messages_are_lost() {
    let (mut problems, mut share) = (Vec::new(), Share::new(6, 0));
    for (variant, mobility) in SCHEMES {
        let mut lab = Lab { duration_ms: 8_000, ..races::lab(mobility) };
        let all = messages(&lab);
        for (index, first) in all.iter().enumerate() {
            let again = Trouble { occurrence: first.occurrence + 1, ..first.clone() };
            for second in all[index + 1..].iter().chain([&again]).filter(|_| share.takes_next()) {
                lab.troubles = vec![first.clone(), second.clone()];
                problems.extend(problems_of(&lab, &format!("{variant}, {:?}", lab.troubles)));
            }
        }
    }
    nothing_wrong(&problems);
}

const TIMERS: [&str; 11] = [
    "reloc_prep",
    "reloc_overall",
    "joining",
    "forwarding_hold",
    "t304",
    "t311",
    "t301",
    "cell_entry",
    "random_access",
    "rrc_retransmit",
    "s1_retransmit",
];

/// The host may lose its connection, but not permanently.
#[test]
fn each_timer_at_its_extremes() {
    let mut problems = Vec::new();
    for (variant, mobility) in SCHEMES {
        for timer in TIMERS {
            for extreme in ["1 ms", "1000 s"] {
                let timers = format!("{timer} = \"{extreme}\"");
                // A cell that the host would enter after a quarter of an hour is none.
                let lab = Lab { timers, ..Lab::with(mobility) };
                let problem = unsettled(&lab.run());
                problems
                    .extend(problem.iter().map(|problem| format!("{variant}, {}: {problem}", lab.timers)));
            }
        }
    }
    nothing_wrong(&problems);
}

/// The same where the handover fails without a fault, so that the timers of failures run.
#[test]
fn each_timer_at_its_extremes_in_every_situation() {
    let (mut problems, mut share) = (Vec::new(), Share::new(6, 0));
    for (variant, mobility) in SCHEMES {
        for (situation, change) in &SITUATIONS[1..] {
            let mut lab = Lab { duration_ms: 8_000, ..races::lab(mobility) };
            change(&mut lab);
            let own = lab.timers.clone();
            for timer in TIMERS.iter().filter(|timer| !own.contains(**timer)) {
                // A cell that a host would enter after a quarter of an hour is none, and T304 is what ends a
                // handover to a target that has been asked to remove it.
                let only_way_out = *timer == "cell_entry" || (*timer == "t304" && *situation == COMMAND_LATE);
                let extremes: &[&str] = if only_way_out { &["1 ms"] } else { &["1 ms", "1000 s"] };
                for extreme in extremes.iter().filter(|_| share.takes_next()) {
                    lab.timers = format!("{own}, {timer} = \"{extreme}\"").trim_start_matches(", ").into();
                    let problem = unsettled(&lab.run());
                    let case = format!("{variant}, {situation}, {timer} {extreme}");
                    problems.extend(problem.iter().map(|problem| format!("{case}: {problem}")));
                }
            }
        }
    }
    nothing_wrong(&problems);
}

/// The same for the times near the timers, and with the messages lost whose timers they are.
#[test]
fn waits_at_their_extremes() {
    let mut problems = Vec::new();
    let waits = ["prediction_timeout", "prediction_lead", "detach_time"];
    let lost = ["handover-command", "path-switch-request", "handover-confirm"];
    for (variant, mobility) in SCHEMES {
        for (wait, message) in waits.iter().zip(lost) {
            for extreme in ["1 ms", "100 ms", "1 s"] {
                let mut lab = Lab::with(&format!("{mobility}\n{wait} = \"{extreme}\""));
                for troubles in [Vec::new(), vec![Trouble::lost(message, 1)]] {
                    lab.troubles = troubles;
                    let problem = unsettled(&lab.run());
                    let case = format!("{variant}, {wait} {extreme}, {:?}", lab.troubles);
                    problems.extend(problem.iter().map(|problem| format!("{case}: {problem}")));
                }
            }
        }
    }
    nothing_wrong(&problems);
}

/// Stays in the second cell, in ms: before the report, at each step of the handover, at its end and after.
const STAYS: [u64; 12] = [10, 20, 30, 50, 60, 70, 80, 90, 100, 120, 200, 400];

fn second_handover(third: &'static str) {
    let mut problems = Vec::new();
    for (variant, mobility) in SCHEMES.iter().chain(&OTHERS) {
        for stay in STAYS {
            let mut lab = Lab::with(mobility);
            lab.visits.push((third, TURNS / MS + stay));
            problems.extend(problems_of(&lab, &format!("{variant}, to {third} after {stay} ms")));
        }
    }
    nothing_wrong(&problems);
}

#[test]
fn a_second_handover_onward() {
    second_handover("enb3");
}

#[test]
fn a_second_handover_back() {
    second_handover("enb1");
}

/// With each message lost.
#[test]
fn a_second_handover_with_losses() {
    let (mut problems, mut share) = (Vec::new(), Share::new(6, 0));
    for (variant, mobility) in SCHEMES {
        for (third, stay) in [("enb3", 60), ("enb1", 60), ("enb1", 90)] {
            let mut lab = Lab::with(mobility);
            lab.visits.push((third, TURNS / MS + stay));
            for trouble in messages(&lab).into_iter().filter(|_| share.takes_next()) {
                lab.troubles = vec![trouble];
                let case = format!("{variant}, to {third} after {stay} ms, {:?}", lab.troubles);
                problems.extend(problems_of(&lab, &case));
            }
        }
    }
    nothing_wrong(&problems);
}

#[test]
fn ping_pong_ten_times() {
    let mut problems = Vec::new();
    for (variant, mobility) in SCHEMES.iter().chain(&OTHERS) {
        for interval in [40, 70, 100, 150, 250] {
            let mut lab = Lab::with(mobility);
            let times = (0..10).map(|turn| TURNS / MS + turn * interval);
            lab.visits.truncate(1);
            lab.visits.extend(["enb2", "enb1"].into_iter().cycle().zip(times));
            problems.extend(problems_of(&lab, &format!("{variant}, every {interval} ms")));
        }
    }
    nothing_wrong(&problems);
}

/// The host ends in the cell that its schedule has it in, also if it had to search.
#[test]
fn a_radio_link_failure_ends_in_a_new_connection_or_the_old_one() {
    // The command is lost, and the source waits longer than the host can hear it.
    let mut lab = Lab { timers: "reloc_overall = \"5 s\", joining = \"5 s\"".into(), ..Lab::default() };
    lab.radio = "t310 = \"100 ms\"\nslope_db_per_s = 60.0".into();
    lab.troubles = vec![Trouble::lost("handover-command", 1)];
    let record = lab.run();
    nothing_wrong(&unsettled(&record));
    // The target was prepared: it continues, and what was forwarded to it arrives.
    let reestablished = record.phases.iter().find(|phase| &*phase.phase == "reestablished");
    assert_eq!(reestablished.map(|phase| &*phase.node), Some("ue"));
    assert!(record.signals.iter().any(|signal| &*signal.message == "rlf-indication"));
    assert_eq!(record.phases.iter().filter(|phase| &*phase.phase == "service-requested").count(), 1);
    assert!(record.lost("udp").next().is_none());

    // No request got through: no target knows the host.
    lab.troubles = (1..40).map(|number| Trouble::lost("handover-request", number)).collect();
    let record = lab.run();
    nothing_wrong(&unsettled(&record));
    assert!(record.signals.iter().any(|signal| &*signal.message == "reestablishment-reject"));
    assert_eq!(record.phases.iter().filter(|phase| &*phase.phase == "service-restored").count(), 2);
    let ended = record.lost("udp").filter(|loss| &*loss.reason == "bearer-ended").count();
    assert!(ended > 0, "the source drops what it kept, and the record has it");
}

/// A base station repeats a grant until the host completes it.
#[test]
fn a_lost_re_establishment_or_completion_is_repeated() {
    let mut lab = Lab { timers: "reloc_overall = \"5 s\", joining = \"5 s\"".into(), ..Lab::default() };
    lab.radio = "t310 = \"100 ms\"\nslope_db_per_s = 60.0".into();
    for message in ["reestablishment", "reestablishment-complete"] {
        lab.troubles = ["handover-command", message].map(|lost| Trouble::lost(lost, 1)).into();
        let record = lab.run();
        nothing_wrong(&judge(&lab, &record, message));
        let count = |name: &str| record.signals.iter().filter(|signal| &*signal.message == name).count();
        assert_eq!((count(message), count("service-request")), (2, 2), "{message}");
        let reestablished = record.phase("reestablished", 0).expect("a connection");
        let confirmed = record.phase("handover-confirmed", reestablished).expect("a completion");
        // The retransmission takes 200 ms on whichever side of the host's answer it falls.
        let late = confirmed - reestablished;
        assert_eq!(late > 100 * MS, message == "reestablishment-complete", "{late}");
        assert!(record.lost("udp").next().is_none());
    }
}

/// One end marker of several is enough.
#[test]
fn end_markers_may_be_lost_if_one_comes() {
    let mut lab = Lab::with("end_markers = 3");
    // Of each copy that the gateway sends the source sends one on.
    assert_eq!(messages(&lab).iter().filter(|trouble| trouble.message == "end-marker").count(), 6);
    let restored = |lost: &[u32]| {
        let mut lab = lab.clone();
        lab.troubles = lost.iter().map(|&number| Trouble::lost("end-marker", number)).collect();
        let record = lab.run();
        nothing_wrong(&judge(&lab, &record, &format!("{lost:?}")));
        record.phase("order-restored", TURNS).is_some()
    };
    assert!(restored(&[1, 2]) && restored(&[2, 4]) && !restored(&[1, 2, 3]));
    lab.mobility = "end_markers = 1".into();
    assert_eq!(messages(&lab).iter().filter(|trouble| trouble.message == "end-marker").count(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any walk, with any few messages lost or late.
    #[test]
    fn any_walk_in_any_trouble_ends_well(
        walk in prop::collection::vec((0usize..3, 10u64..400), 1..8),
        troubles in prop::collection::vec((0..MESSAGES.len(), 1u32..6, prop::option::of(1u64..2_000)), 0..5),
        variant in 0..SCHEMES.len() + OTHERS.len(),
    ) {
        let variants = [&SCHEMES[..], &OTHERS[..]].concat();
        let mut lab = Lab { duration_ms: 12_000, ..Lab::with(variants[variant].1) };
        lab.visits.truncate(1);
        let mut at = TURNS / MS;
        for (cell, stay) in walk {
            lab.visits.push((["enb1", "enb2", "enb3"][cell], at));
            at += stay;
        }
        for (message, occurrence, delay_ms) in troubles {
            lab.troubles.push(Trouble { delay_ms, ..Trouble::lost(MESSAGES[message], occurrence) });
        }
        let problems = unsettled(&lab.run());
        let case = format!("{:?} {:?} {}", lab.visits, lab.troubles, variants[variant].0);
        prop_assert!(problems.is_empty(), "{case}\n{}", problems.join("\n"));
    }
}

/// Every kind of message that a run may have.
pub const MESSAGES: [&str; 27] = [
    "measurement-control",
    "measurement-control-complete",
    "measurement-report",
    "handover-request",
    "handover-request-ack",
    "handover-command",
    "sn-status-transfer",
    "random-access-preamble",
    "random-access-response",
    "handover-confirm",
    "pdcp-status-report",
    "path-switch-request",
    "modify-bearer-request",
    "end-marker",
    "modify-bearer-response",
    "path-switch-request-ack",
    "path-switch-request-failure",
    "ue-context-release",
    "handover-cancel",
    "reestablishment-request",
    "reestablishment",
    "reestablishment-complete",
    "reestablishment-reject",
    "service-request",
    "initial-context-setup",
    "connection-setup",
    "ue-context-release-command",
];
