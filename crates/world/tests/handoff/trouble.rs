//! Handoffs in trouble: every signalling message lost or late, alone and in pairs; a second handoff before the first
//! ends; ping-pong; replies out of order.
//!
//! Each run must end with its laws intact, every flow resumes, every datagram is delivered or lost for a reason, and the
//! host ends registered and is reached on the shortest way.

use super::lab::{Delivery, LEAVES, Lab, Loss, MS, RED, Record, Signal, Trouble};
use crate::lab::Share;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::LazyLock;

type Variant = (&'static str, fn(&mut Lab));

/// Ways to run the protocol under which every row of the tables is tried: a name, and what it changes.
const VARIANTS: [Variant; 15] = [
    ("unchanged", |_| {}),
    ("without layer-2 acknowledgement", |lab| {
        lab.buffer = "limit = \"64 pkt\", layer2_ack = false".into();
    }),
    ("without detour", |lab| lab.buffer += "detour = false"),
    ("in order to the end", |lab| lab.buffer += "in_order_wait = \"10 ms\""),
    ("with copies at foreign agents", |lab| {
        lab.buffer = "at = \"foreign-agent\", limit = \"64 pkt\"".into();
    }),
    ("with base stations that may refuse", |lab| {
        lab.discipline = RED;
        lab.buffer += "forward_below = \"1 pkt\"";
    }),
    ("without buffering", |lab| lab.buffer += "at = \"none\""),
    ("without local handoff", |lab| lab.mobility = "local_handoff = false".into()),
    ("with packets in flight lost at the break", |lab| {
        lab.radio = "kind = \"hard\"\nin_flight_at_break = \"lost\"".into()
    }),
    ("without smooth handoff", |lab| lab.mobility = "smooth_handoff = false".into()),
    ("without route optimisation", |lab| lab.mobility = "route_optimisation = false".into()),
    ("with an overlap", |lab| lab.radio = "kind = \"soft\"\noverlap = \"80 ms\"".into()),
    ("on a shared medium", |lab| lab.cell = "medium = { kind = \"shared\", per_frame = \"200 us\" }"),
    ("on a medium with contention", |lab| lab.cell = "medium = { kind = \"dcf\" }"),
    ("with a gap", |lab| lab.radio = "kind = \"hard\"\ngap = \"30 ms\"".into()),
];

/// The variants in which pairs of messages are lost.
const IN_PAIRS: [&str; 6] = [
    "unchanged",
    "without layer-2 acknowledgement",
    "without detour",
    "without buffering",
    "without local handoff",
    "with packets in flight lost at the break",
];

/// A message of the handoff: its name, who sends it, and to whom.
type Row = (&'static str, &'static str, &'static str);

/// Declares the rows of the table: one module each, with a test for each kind of trouble.
macro_rules! rows {
    ($(#[$doc:meta])* $rows:ident: $($name:ident: $message:literal, $from:literal => $to:literal;)+) => {
        $(#[$doc])*
        const $rows: &[Row] = &[$(($message, $from, $to),)+];

        $(mod $name {
            const ROW: super::Row = ($message, $from, $to);

            #[test]
            fn lost() {
                super::in_trouble(ROW, None);
            }

            #[test]
            fn late_by_half_a_second() {
                super::in_trouble(ROW, Some(500));
            }

            #[test]
            fn late_by_three_seconds() {
                super::in_trouble(ROW, Some(3_000));
            }

            #[test]
            fn sent_twice() {
                for (first, after_ms) in [0, 3, 60, 500].into_iter().enumerate() {
                    super::troubled(ROW, first, |trouble| trouble.copied(after_ms));
                }
            }

            #[test]
            fn lost_with_any_later_one() {
                super::lost_in_pairs(ROW);
            }
        })+
    };
}

rows! {
    /// The messages of a handoff, in order.
    ROWS:
    beacon: "beacon", "bs2" => "*";
    handoff_request: "handoff-request", "mh" => "bs2";
    notification: "notification", "bs2" => "fa2";
    advertisement_to_base_station: "agent-advertisement", "fa2" => "bs2";
    advertisement_to_host: "agent-advertisement", "bs2" => "mh";
    registration_request: "registration-request", "mh" => "fa2";
    relayed_registration_request: "registration-request", "fa2" => "ha";
    update_to_old_agent: "binding-update", "fa2" => "fa1";
    forward: "forward", "fa1" => "bs1";
    acknowledge_of_old_agent: "binding-acknowledge", "fa1" => "fa2";
    warning: "binding-warning", "fa1" => "ha";
    update_to_correspondent: "binding-update", "ha" => "ch";
    registration_reply: "registration-reply", "ha" => "fa2";
    acknowledge_of_correspondent: "binding-acknowledge", "ch" => "ha";
    relayed_registration_reply: "registration-reply", "fa2" => "mh";
}

rows! {
    /// Without the local handoff protocol.
    PERIODIC_ROWS:
    periodic_advertisement: "agent-advertisement", "bs2" => "*";
}

#[test]
fn the_rows_are_the_messages_of_the_handoff() {
    let sent: Vec<Row> = STEPS[0].iter().map(|step| (&*step.row[0], &*step.row[1], &*step.row[2])).collect();
    assert_eq!(sent, ROWS);
    let known = |step: &&Step| ROWS.iter().chain(PERIODIC_ROWS).any(|&row| step.is(row));
    let other: Vec<_> = STEPS.iter().flatten().filter(|step| !known(step)).collect();
    assert!(other.is_empty(), "a variant has other messages: {other:#?}");
}

/// The buffer is released after this time without a packet.
const HOLD: u64 = 2_000 * MS;

/// Packets that may be on their way at the end: a window of segments and one of acknowledgements, the datagrams of
/// 44 ms, and signalling.
const ON_THE_WAY: u64 = 8 + 8 + 3 + 5;

/// Faults of a run; empty if the host has recovered from the trouble.
fn problems_of(lab: &Lab, name: &str) -> Vec<String> {
    let record = lab.run();
    let mut problems = unsettled(lab, &record);
    // A host that is registered again before the hold time is over lacks nothing. (What it sent itself is another
    // matter.)
    let buffered = !lab.buffer.contains("none")
        && !lab.buffer.contains("forward_below")
        && !lab.mobility.contains("smooth_handoff")
        && !keeps_copies(lab);
    let in_time = record.phase("registered", last_arrival(&record)).is_some_and(|time| time < LEAVES + HOLD);
    let mut lost = record.losses.iter().filter(|loss| is_data(loss) && !loss.place.starts_with("mh->"));
    if let Some(loss) = lost.next().filter(|_| buffered && in_time) {
        problems.push(format!("lost although buffered: {loss:?}"));
    }
    // An agent gives a registration up after 7 s; no one or two losses take that long.
    if record.census("no-binding") > 0 {
        problems.push("an agent has given the host up".into());
    }
    problems.iter().map(|problem| format!("{name}: {problem}")).collect()
}

fn keeps_copies(lab: &Lab) -> bool {
    lab.buffer.contains("layer2_ack = false") || lab.buffer.contains("foreign-agent")
}

fn is_data(loss: &Loss) -> bool {
    &*loss.flow != "signalling" && &*loss.reason != "copy-released"
}

/// When the host entered its last cell.
fn last_arrival(record: &Record) -> u64 {
    record.phases.iter().rfind(|phase| &*phase.phase == "link-up").expect("the host moves").time
}

/// Faults of a run that are independent of its trouble.
fn unsettled(lab: &Lab, record: &Record) -> Vec<String> {
    let mut problems = Vec::new();
    let mut expect = |holds: bool, what: &dyn Fn() -> String| {
        if !holds {
            problems.push(what());
        }
    };
    let copies = keeps_copies(lab);
    let until = record.end - 2_000 * MS;
    let forgotten = record.without_end("udp", (1_600 * MS, 20 * MS), until);
    expect(forgotten.is_empty(), &|| format!("datagrams {forgotten:?} have no end"));
    let inside = record.census("inside");
    let most_inside = ON_THE_WAY + if copies { 64 } else { 0 };
    expect(inside <= most_inside, &|| format!("{inside} packets are still inside"));

    // Two seconds before the end all is well: the host is registered, both flows continue, nothing is lost,
    // and packets take the shortest way: 44 ms of propagation, or 164 ms through the home agent.
    let registered = record.phase("registered", last_arrival(record));
    expect(registered.is_some_and(|time| time < until), &|| "the host is not registered".into());
    for flow in ["tcp", "udp"] {
        let resumed = record.delivered(flow).any(|delivery| delivery.fresh && delivery.time > until);
        expect(resumed, &|| format!("{flow} has not resumed"));
    }
    for loss in record.losses.iter().filter(|loss| is_data(loss) && loss.time > until) {
        expect(false, &|| format!("still lost at the end: {loss:?}"));
    }
    let way = if lab.mobility.contains("route_optimisation = false") { 170 * MS } else { 50 * MS };
    // A window of segments and their acknowledgements on one medium, with their backoffs, take that time.
    let way = way + if lab.cell.contains("medium") { 60 * MS } else { 0 };
    let slow = |delivery: &&Delivery| delivery.sent > until && delivery.time > delivery.sent + way;
    expect(!record.delivered("udp").any(|delivery| slow(&delivery)), &|| "not the shortest way".into());

    // No packet circles, and none is lost but by the handoff.
    let mut reasons = vec!["detached", "buffer-expired", "no-binding"];
    reasons.extend(copies.then_some("buffer-overflow"));
    for loss in record.losses.iter().filter(|loss| is_data(loss) && !reasons.contains(&&*loss.reason)) {
        expect(false, &|| format!("{loss:?}"));
    }
    if !copies {
        let copied = lab.troubles.iter().filter(|trouble| trouble.copied).count() as u64;
        let duplicates = record.census("duplicated") - copied + record.total("udp", "duplicate_pkts");
        expect(duplicates == 0, &|| format!("{duplicates} duplicates"));
    }
    problems
}

/// A message of the handoff, and the trouble that loses it.
#[derive(Clone, Debug)]
struct Step {
    row: [String; 3],
    trouble: Trouble,
}

impl Step {
    fn is(&self, (message, from, to): Row) -> bool {
        self.row == [message, from, to]
    }
}

/// The messages from the first break until all handoffs are complete: those about the host, and of those
/// without a host the one beacon or periodic advertisement by which it detects its move.
fn steps(record: &Record) -> Vec<Step> {
    let moved = record.phase("movement-detected", LEAVES).expect("the host moves");
    let complete = record.phase("registered", last_arrival(record)).expect("the handoff ends");
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let mut steps = Vec::new();
    for Signal { message, host, source, destination, sent, arrived, .. } in &record.signals {
        let occurrence = seen.entry(message).or_default();
        *occurrence += 1;
        let periodic = host.is_empty();
        let tells = matches!(&**source, "bs2" | "fa2") && arrived.is_some_and(|at| at <= moved);
        if *sent >= LEAVES && *sent <= complete && (tells || !periodic) {
            let row = [message, source, destination].map(|word| word.to_string());
            steps.push(Step { row, trouble: Trouble::lost(&**message, *occurrence) });
        }
    }
    steps
}

/// The steps of an undisturbed handoff in each variant.
static STEPS: LazyLock<Vec<Vec<Step>>> = LazyLock::new(|| {
    let steps_of = |(_, change): &Variant| {
        let mut lab = Lab::default();
        change(&mut lab);
        steps(&lab.run())
    };
    VARIANTS.iter().map(steps_of).collect()
});

/// Each variant in which the row is sent: its name, its laboratory, and the steps from the row on.
fn variants_with(row: Row) -> impl Iterator<Item = (&'static str, Lab, &'static [Step])> {
    VARIANTS.iter().zip(STEPS.iter()).filter_map(move |((name, change), steps)| {
        let mut lab = Lab::default();
        change(&mut lab);
        let first = steps.iter().position(|step| step.is(row))?;
        Some((*name, lab, &steps[first..]))
    })
}

fn nothing_wrong(problems: &[String]) {
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn in_trouble(row: Row, delay_ms: Option<u64>) {
    let first = delay_ms.map_or(0, |delay| 1 + usize::from(delay > 1_000));
    troubled(row, first, |trouble| Trouble { delay_ms, ..trouble.clone() });
}

/// One variant in three, others for each row and each `first`.
fn troubled(row: Row, first: usize, trouble: impl Fn(&Trouble) -> Trouble) {
    let mut problems = Vec::new();
    let mut share = Share::new(3, first + ROWS.iter().position(|other| *other == row).unwrap_or(0));
    for (variant, mut lab, steps) in variants_with(row).filter(|_| share.takes_next()) {
        lab.troubles = vec![trouble(&steps[0].trouble)];
        problems.extend(problems_of(&lab, &format!("{row:?} {variant}")));
    }
    nothing_wrong(&problems);
}

/// The message and each later one of the handoff; and the message and the next of its kind, which as a rule is its
/// repetition.
fn lost_in_pairs(row: Row) {
    let (mut problems, mut share) = (Vec::new(), Share::new(3, 0));
    for (variant, mut lab, steps) in variants_with(row).filter(|(variant, ..)| IN_PAIRS.contains(variant)) {
        let first = &steps[0].trouble;
        let repetition = Trouble { occurrence: first.occurrence + 1, ..first.clone() };
        let others = steps[1..].iter().map(|step| &step.trouble).chain([&repetition]);
        for second in others.filter(|_| share.takes_next()) {
            lab.troubles = vec![first.clone(), second.clone()];
            problems.extend(problems_of(&lab, &format!("{row:?} and {second:?} {variant}")));
        }
    }
    nothing_wrong(&problems);
}

/// Stays in the second cell, in ms: before the beacon, at each step of the handoff, at its end and after.
const STAYS: [u64; 10] = [20, 55, 60, 63, 64, 100, 122, 150, 182, 200];

fn second_handoff(third_cell: &'static str, stay: u64) {
    let (mut problems, mut share) = (Vec::new(), Share::new(3, stay as usize));
    for (variant, change) in VARIANTS.into_iter().filter(|_| share.takes_next()) {
        if variant == "with a gap" && stay < 30 {
            continue;
        }
        let mut lab = Lab::default();
        change(&mut lab);
        lab.visits.push((third_cell, 3_000 + stay));
        problems.extend(problems_of(&lab, &format!("to {third_cell} after {stay} ms {variant}")));
    }
    nothing_wrong(&problems);
}

/// The same with each message lost, from the first break to the end of the second handoff.
fn second_handoff_with_losses(third_cell: &'static str, stay: u64) {
    let mut lab = Lab::default();
    lab.visits.push((third_cell, 3_000 + stay));
    let mut problems = Vec::new();
    for Step { trouble, .. } in steps(&lab.run()) {
        lab.troubles = vec![trouble.clone()];
        problems.extend(problems_of(&lab, &format!("to {third_cell} after {stay} ms, {trouble:?}")));
    }
    nothing_wrong(&problems);
}

macro_rules! stays {
    ($($name:ident: $stay:literal;)+) => {
        $(mod $name {
            #[test]
            fn onward() {
                super::second_handoff("bs3", $stay);
                super::second_handoff_with_losses("bs3", $stay);
            }

            #[test]
            fn ping_pong() {
                super::second_handoff("bs1", $stay);
                super::second_handoff_with_losses("bs1", $stay);
            }
        })+

        #[test]
        fn the_stays_are_those_of_the_table() {
            assert_eq!(STAYS, [$($stay),+]);
        }
    };
}

stays! {
    second_handoff_after_20_ms: 20;
    second_handoff_after_55_ms: 55;
    second_handoff_after_60_ms: 60;
    second_handoff_after_63_ms: 63;
    second_handoff_after_64_ms: 64;
    second_handoff_after_100_ms: 100;
    second_handoff_after_122_ms: 122;
    second_handoff_after_150_ms: 150;
    second_handoff_after_182_ms: 182;
    second_handoff_after_200_ms: 200;
}

/// The home agent's first reply comes so late that the answer to a later request is there first. That is the
/// request that the host repeats (late by more than a second), or that of its next handoff.
#[test]
fn registration_replies_come_out_of_order() {
    let mut problems = Vec::new();
    for (variant, lab, steps) in variants_with(("registration-reply", "ha", "fa2")) {
        for (third_cell, delay) in [
            (None, 1_000),
            (None, 1_500),
            (None, 3_500),
            (Some("bs1"), 100),
            (Some("bs1"), 300),
            (Some("bs3"), 100),
        ] {
            let mut lab = lab.clone();
            lab.visits.extend(third_cell.map(|cell| (cell, 3_150)));
            lab.troubles = vec![Trouble { delay_ms: Some(delay), ..steps[0].trouble.clone() }];
            problems.extend(problems_of(&lab, &format!("{third_cell:?} {delay} ms late, {variant}")));
        }
    }
    nothing_wrong(&problems);
}

/// Walks that once ended badly: a handoff request that came after its host had left emptied the buffer onto
/// the air. An advertisement left from an earlier stay let the host register past its base station. A host
/// that came back for less than a registration left its packets behind.
#[test]
fn walks_that_once_ended_badly() {
    let lost = "kind = \"hard\"\nin_flight_at_break = \"lost\"";
    let hard = "kind = \"hard\"";
    let walk = |radio: &str, visits: &[(&'static str, u64)], troubles: &[Trouble]| {
        let radio = radio.into();
        let lab = Lab { visits: visits.to_vec(), radio, troubles: troubles.to_vec(), ..Lab::default() };
        problems_of(&lab, &format!("{visits:?}"))
    };
    let request_lost = [Trouble::lost("handoff-request", 3)];
    let problems = [
        walk(hard, &[("bs1", 0), ("bs3", 3_000), ("bs3", 3_109), ("bs1", 3_210)], &request_lost),
        walk(lost, &[("bs1", 0), ("bs3", 3_000), ("bs3", 3_056)], &[]),
        walk(lost, &[("bs1", 0), ("bs1", 3_000), ("bs2", 3_064), ("bs1", 3_126), ("bs2", 3_180)], &[]),
    ];
    nothing_wrong(&problems.concat());
}

/// Packets on the air when the host left are lost by that, though the host is back when the medium gives them
/// up.
#[test]
fn a_host_that_comes_back_at_once_on_a_medium_with_contention() {
    let visits = vec![("bs1", 0), ("bs1", 3_000), ("bs1", 3_064)];
    let lab = Lab { visits, duration_ms: 45_000, cell: "medium = { kind = \"dcf\" }", ..Lab::default() };
    nothing_wrong(&unsettled(&lab, &lab.run()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any walk, with any few messages lost or late.
    #[test]
    fn any_walk_in_any_trouble_ends_well(
        walk in prop::collection::vec((0usize..3, 20u64..400), 1..8),
        troubles in prop::collection::vec((0..MESSAGES.len(), 1u32..12, prop::option::of(1u64..2_000)), 0..5),
        variant in 0..VARIANTS.len(),
    ) {
        let mut lab = Lab { duration_ms: 45_000, ..Lab::default() };
        VARIANTS[variant].1(&mut lab);
        lab.visits.truncate(1);
        let mut at = 3_000;
        for (cell, stay) in walk {
            lab.visits.push((["bs1", "bs2", "bs3"][cell], at));
            at += stay.max(31);
        }
        for (message, occurrence, delay_ms) in troubles {
            let (message, before) = MESSAGES[message];
            lab.troubles.push(Trouble { delay_ms, ..Trouble::lost(message, before + occurrence) });
        }
        // A stay too short to register in may cost packets: the next agent has no notice of it.
        let problems = unsettled(&lab, &lab.run());
        let case = format!("{:?} {:?} {}", lab.visits, lab.troubles, VARIANTS[variant].0);
        prop_assert!(problems.is_empty(), "{case}\n{}", problems.join("\n"));
    }
}

/// Every kind of message of a handoff but beacon and advertisement, which come again by themselves, and how many the
/// first registration and the start of the flows take.
const MESSAGES: [(&str, u32); 8] = [
    ("handoff-request", 1),
    ("notification", 1),
    ("registration-request", 2),
    ("registration-reply", 2),
    ("forward", 0),
    ("binding-warning", 0),
    ("binding-update", 1),
    ("binding-acknowledge", 1),
];
