//! Racing messages: each two that can be under way or awaited at one time come in both orders.
//!
//! The pairs are found in the record of a run. The earlier message is then held back until the later one has
//! come, and the record of that run shows whether it did come first. If it did not, the record must have the
//! reason. The later message is an effect of the earlier one and sets out behind its arrival or never, or the
//! earlier one comes too late to be received.

use super::lab::{Lab, MS, Record, Signal, TURNS, Trouble};
use super::trouble::{OTHERS, SCHEMES, Variant, judge, nothing_wrong};
use crate::lab::sample;
use std::collections::{BTreeMap, BTreeSet};

/// Two messages race if the later one sets out this long after the earlier one has come at most: its rivals in the
/// procedure ...
const CLOSE: u64 = 30 * MS;

/// ... or, to the same node, while a timer of the procedure runs there (T_RELOCprep, T304, repetitions: 200 ms).
const AWAITED: u64 = 200 * MS;

/// A message of a run: its kind, and which one of that kind.
type Name = (String, u32);

/// Every message of the run by its name.
fn named(record: &Record) -> Vec<(Name, &Signal)> {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let mut names = Vec::new();
    for signal in &record.signals {
        let occurrence = seen.entry(&signal.message).or_default();
        *occurrence += 1;
        names.push(((signal.message.to_string(), *occurrence), signal));
    }
    names
}

/// True if the message that comes later may race the other.
fn may_race((earlier, earlier_at): (&Signal, u64), (later, later_at): (&Signal, u64)) -> bool {
    let gap = later.sent.saturating_sub(earlier_at);
    earlier_at < later_at && (gap <= CLOSE || (gap <= AWAITED && earlier.destination == later.destination))
}

/// How a race ended with the earlier message held back.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Outcome {
    /// The later message came first.
    Reversed,
    /// The later message waits for the earlier one.
    Waits,
    /// One of them found no host, or had too old an air.
    Unheard,
}

/// The lab with a message held back for so long, on top of what else befalls it.
fn held_back(lab: &Lab, (message, occurrence): &Name, delay_ms: u64) -> Lab {
    let mut lab = lab.clone();
    let known = |trouble: &&mut Trouble| (&trouble.message, trouble.occurrence) == (message, *occurrence);
    match lab.troubles.iter_mut().find(known) {
        Some(trouble) => trouble.delay_ms = trouble.delay_ms.map(|already| already + delay_ms),
        None => lab
            .troubles
            .push(Trouble { delay_ms: Some(delay_ms), ..Trouble::lost(message.clone(), *occurrence) }),
    }
    lab
}

/// Holds the earlier message of a pair back until the later one has come.
fn race(lab: &Lab, [earlier, later]: [&Name; 2], gap: u64) -> (Outcome, Lab, Record) {
    let mut delay_ms = gap / MS + 1;
    for round in 0..8 {
        let lab = held_back(lab, earlier, delay_ms);
        let record = lab.run();
        let signals: BTreeMap<Name, &Signal> = named(&record).into_iter().collect();
        let held = signals[earlier];
        let behind = match (held.arrived, signals.get(later).map(|rival| (rival.sent, rival.arrived))) {
            (None, _) => return (Outcome::Unheard, lab, record),
            (Some(at), Some((_, Some(rival)))) if rival < at => return (Outcome::Reversed, lab, record),
            (Some(at), Some((sent, Some(rival)))) if sent < at => rival - at,
            (Some(at), Some((sent, None))) if sent < at => return (Outcome::Unheard, lab, record),
            _ => return (Outcome::Waits, lab, record),
        };
        // Behind data in a queue it may have been late already.
        delay_ms += (behind / MS + 1) << round;
    }
    panic!(
        "{earlier:?} and {later:?} come in one order only, and the record has no reason: {:?}",
        lab.troubles
    );
}

/// Pairs of kinds, and how their races ended.
type Races = BTreeSet<(Outcome, String, String)>;

/// Every race of a run.
fn races(lab: &Lab, since: u64, case: &str, found: &mut Races) -> Vec<String> {
    let record = lab.run();
    let mut problems = judge(lab, &record, case);
    let messages: Vec<(Name, (&Signal, u64))> = named(&record)
        .into_iter()
        .filter_map(|(name, signal)| Some((name, (signal, signal.arrived?))))
        .filter(|(_, (signal, _))| &*signal.host == "ue" && signal.sent >= since)
        .collect();
    for (earlier, first) in &messages {
        for (later, second) in messages.iter().filter(|(_, second)| may_race(*first, *second)) {
            let (outcome, lab, record) = race(lab, [earlier, later], second.1 - first.1);
            found.insert((outcome, earlier.0.clone(), later.0.clone()));
            problems.extend(judge(&lab, &record, &format!("{case}, {earlier:?} behind {later:?}")));
        }
    }
    problems
}

/// A way for a handover to go, and lines of `[mobility]` for it.
pub type Situation = (&'static str, fn(&mut Lab));

/// The command reaches the host when its source has given the handover up.
pub const COMMAND_LATE: &str = "command late, host taken back";

pub const SITUATIONS: [Situation; 12] = [
    ("undisturbed", |_| {}),
    ("preparation cancelled", |lab| {
        lab.troubles.push(Trouble { delay_ms: Some(197), ..Trouble::lost("handover-request-ack", 1) });
    }),
    ("not admitted, then onward", |lab| {
        lab.mobility.push_str("\nadmission_limit = 1");
        lab.flows.push_str(
            "[[hosts]]\nname = \"other\"\nhome = \"gw\"\nvisits = [{ cell = \"enb2\", at = \"0 s\" }]\n",
        );
        lab.visits.push(("enb3", TURNS / MS + 30));
    }),
    ("command lost, host taken back", |lab| {
        lab.timers = "reloc_overall = \"100 ms\"".into();
        lab.troubles.push(Trouble::lost("handover-command", 1));
    }),
    (COMMAND_LATE, |lab| {
        lab.timers = "reloc_overall = \"100 ms\"".into();
        lab.troubles.push(Trouble { delay_ms: Some(97), ..Trouble::lost("handover-command", 1) });
    }),
    ("command lost, re-established at the target", |lab| {
        lab.timers = "reloc_overall = \"5 s\", joining = \"5 s\"".into();
        lab.radio = "t310 = \"100 ms\"\nslope_db_per_s = 60.0".into();
        lab.troubles.push(Trouble::lost("handover-command", 1));
    }),
    ("no access, re-established", |lab| {
        lab.timers = "t304 = \"50 ms\"".into();
        lab.troubles.extend((1..4).map(|number| Trouble::lost("random-access-preamble", number)));
    }),
    ("confirmation late, re-established at the source", |lab| {
        lab.radio = "t310 = \"50 ms\"\nslope_db_per_s = 400.0".into();
        lab.visits.push(("enb1", TURNS / MS + 60));
        let late = |number| Trouble { delay_ms: Some(150), ..Trouble::lost("handover-confirm", number) };
        lab.troubles.extend((1..9).map(late));
    }),
    ("no request comes through, new connection", |lab| {
        lab.radio = "t310 = \"100 ms\"\nslope_db_per_s = 60.0".into();
        lab.troubles.extend((1..10).map(|number| Trouble::lost("handover-request", number)));
    }),
    ("onward before the end marker", |lab| lab.visits.push(("enb3", TURNS / MS + 60))),
    ("back before the end marker", |lab| lab.visits.push(("enb1", TURNS / MS + 60))),
    ("path switch refused", |lab| {
        lab.visits.push(("enb3", TURNS / MS + 60));
        lab.troubles.push(Trouble { delay_ms: Some(80), ..Trouble::lost("path-switch-request", 1) });
    }),
];

/// A lab for many runs: the packets of a small window and of a datagram stream.
pub fn lab(mobility: &str) -> Lab {
    let tcp = super::lab::TCP.replace("16 pkt", "4 pkt");
    Lab { duration_ms: 6_200, flows: format!("{tcp}{}", super::lab::UDP), ..Lab::with(mobility) }
}

/// Predictions that are wrong.
const MISPREDICTED: [Situation; 2] = [
    ("another cell predicted", |lab| {
        lab.mobility.push_str("\npredictions = [{ host = \"ue\", cell = \"enb3\", at = \"2.87 s\" }]");
        lab.visits.push(("enb3", TURNS / MS + 400));
    }),
    ("stays, and goes as it is called off", |lab| {
        lab.mobility.push_str("\npredictions = [{ host = \"ue\", cell = \"enb2\", at = \"2.69 s\" }]");
    }),
];

fn all_races(variants: &[Variant], situations: &[Situation]) -> Races {
    let (mut problems, mut found) = (Vec::new(), Races::new());
    for (variant, mobility) in variants {
        for (situation, change) in situations {
            let mut lab = lab(mobility);
            change(&mut lab);
            // The first connection is the same in all situations.
            let since = if *situation == "undisturbed" { 0 } else { TURNS - 500 * MS };
            problems.extend(races(&lab, since, &format!("{variant}, {situation}"), &mut found));
        }
    }
    nothing_wrong(&problems);
    found
}

/// The kinds that came in both orders.
fn in_both_orders(races: &Races) -> BTreeSet<[&str; 2]> {
    let reversed = races.iter().filter(|(outcome, ..)| *outcome == Outcome::Reversed);
    reversed.map(|(_, earlier, later)| [earlier.min(later).as_str(), earlier.max(later)]).collect()
}

/// Every 18th situation, from `first` on; all of them with the variable `ROAMLAB_RACES`.
fn situations(first: usize) -> Vec<Situation> {
    sample(SITUATIONS, first, 18, "ROAMLAB_RACES")
}

#[test]
fn races_with_the_standard_path_switch() {
    let races = all_races(&SCHEMES[..1], &SITUATIONS);
    let both: Vec<String> = in_both_orders(&races).iter().map(|pair| pair.join(", ")).collect();
    insta::assert_snapshot!(both.join("\n"));
    for pair in [
        "handover-cancel, handover-request-ack",
        "handover-cancel, handover-command",
        "handover-cancel, handover-confirm",
        "handover-cancel, random-access-preamble",
        "handover-confirm, rlf-indication",
        "handover-confirm, reestablishment",
        "end-marker, ue-context-release",
        "path-switch-request-ack, path-switch-request-failure",
    ] {
        assert!(both.iter().any(|known| known == pair), "{pair}");
    }
}

#[test]
fn races_with_the_fast_path_switch() {
    let races = all_races(&SCHEMES[1..2], &situations(0));
    assert!(in_both_orders(&races).contains(&["end-marker", "handover-command"]));
}

#[test]
fn races_with_a_predicted_path_switch() {
    let races = all_races(&SCHEMES[2..], &[&situations(1)[..], &MISPREDICTED].concat());
    assert!(in_both_orders(&races).contains(&["end-marker", "handover-cancel"]));
}

#[test]
fn races_with_seamless_or_no_forwarding() {
    all_races(&OTHERS[..2], &situations(2));
}

#[test]
fn races_without_reordering_or_return() {
    all_races(&OTHERS[2..], &situations(0));
}
