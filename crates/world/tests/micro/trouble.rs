//! Handovers in trouble: each signalling message lost, late or sent twice, pairs of them lost, copies of those of the host; a second
//! handover before the first has ended, and ping-pong.
//!
//! Each run ends with its laws intact and nothing left inside, no packet circles, and the host is reached to the end.

use super::lab::{DOWN, Lab, MS, TURNS, Trouble};
use crate::lab::Share;
use crate::lab::record::Record;
use std::collections::{BTreeMap, BTreeSet};

/// A protocol as it is tried: its name, lines of `[mobility]`, lines of `[radio]`.
#[derive(Debug)]
pub struct Variant(pub &'static str, pub &'static str, pub &'static str);

const GAP: &str = "kind = \"hard\"\ngap = \"30 ms\"";
const NO_GAP: &str = "kind = \"hard\"\nin_flight_at_break = \"lost\"";
const OVERLAP: &str = "kind = \"soft\"\noverlap = \"150 ms\"";
const ALL: &str = "kind = \"soft\"\noverlap = \"150 ms\"\nuplink = \"all\"";

pub const MANDM: [Variant; 10] = [
    Variant(
        "authentication",
        "kind = \"mandm\"\ntrigger = { by = \"source\" }\nauthentication = { server = \"r2\" }",
        GAP,
    ),
    Variant("reactive", "kind = \"mandm\"", NO_GAP),
    Variant(
        "no buffer",
        "kind = \"mandm\"\ntrigger = { by = \"source\" }\nbuffer = { limit = \"0 pkt\" }",
        GAP,
    ),
    Variant("buffer", "kind = \"mandm\"\ntrigger = { by = \"source\" }", GAP),
    Variant("path", "kind = \"mandm\"\ntrigger = { by = \"path\", wrong = 0.5 }", OVERLAP),
    Variant("no path", "kind = \"mandm\"\ntrigger = { by = \"no-path\" }", GAP),
    Variant("bicast", "kind = \"mandm\"\nredundancy = { bicast = \"100 ms\" }", OVERLAP),
    Variant("old", "kind = \"mandm\"\nbuffer = { at = \"old\" }", GAP),
    Variant("copies", "kind = \"mandm\"\ntrigger = { by = \"source\" }", ALL),
    Variant(
        "beacons",
        "kind = \"mandm\"\ndetection = { by = \"advertisement\", beacon_interval = \"40 ms\" }",
        OVERLAP,
    ),
];

/// Idle hosts page as often as active ones update, so that the bound is the same for both.
macro_rules! cellular_ip {
    ($rest:literal) => {
        concat!("kind = \"cellular-ip\"\npaging_update_time = \"3 s\"\n", $rest)
    };
}

pub const CELLULAR_IP: [Variant; 8] = [
    Variant(
        "all candidates",
        cellular_ip!(
            "handoff = \"semisoft\"\ntrigger = { by = \"path\", candidates = 3, sets = { bs1 = [\"bs2\", \"bs3\"] } }"
        ),
        GAP,
    ),
    Variant("hard", cellular_ip!(""), NO_GAP),
    Variant("stale ways", cellular_ip!("keep_stale = true"), GAP),
    Variant("semisoft", cellular_ip!("handoff = \"semisoft\""), OVERLAP),
    Variant("triggered", cellular_ip!("handoff = \"semisoft\"\ntrigger = { by = \"source\" }"), GAP),
    Variant(
        "beacons",
        cellular_ip!(
            "gateway_beacon_interval = \"1 s\"\ndetection = { by = \"beacon-loss\", beacon_interval = \"30 ms\" }"
        ),
        OVERLAP,
    ),
    Variant("areas", cellular_ip!("paging_areas = [\"r1\"]"), GAP),
    Variant("copies", cellular_ip!("handoff = \"semisoft\""), ALL),
];

pub const HAWAII: [Variant; 13] = [
    Variant("unf", "kind = \"hawaii\"", NO_GAP),
    Variant("unf, overlap", "kind = \"hawaii\"", OVERLAP),
    Variant("mnf", "kind = \"hawaii\"\nscheme = \"mnf\"", OVERLAP),
    Variant("mnf, gap", "kind = \"hawaii\"\nscheme = \"mnf\"", GAP),
    Variant("msf", "kind = \"hawaii\"\nscheme = \"msf\"", GAP),
    Variant("msf, overlap", "kind = \"hawaii\"\nscheme = \"msf\"", OVERLAP),
    Variant("ssf", "kind = \"hawaii\"\nscheme = \"ssf\"", GAP),
    Variant("ssf, overlap", "kind = \"hawaii\"\nscheme = \"ssf\"", OVERLAP),
    Variant("ssf, no hold", "kind = \"hawaii\"\nscheme = \"ssf\"\nordered_switch = false", NO_GAP),
    Variant("unf, copies", "kind = \"hawaii\"", ALL),
    Variant("msf, copies", "kind = \"hawaii\"\nscheme = \"msf\"", ALL),
    Variant("ssf, copies", "kind = \"hawaii\"\nscheme = \"ssf\"", ALL),
    Variant(
        "beacons",
        "kind = \"hawaii\"\nscheme = \"mnf\"\n\
         detection = { by = \"advertisement\", beacon_interval = \"40 ms\" }",
        OVERLAP,
    ),
];

pub const FMIPV6: [Variant; 7] = [
    Variant("reactive", "kind = \"fmipv6\"", NO_GAP),
    Variant("reactive, buffer", "kind = \"fmipv6\"\nbuffer = { at = \"old\" }", GAP),
    Variant("predictive", "kind = \"fmipv6\"\ntrigger = { by = \"source\" }", GAP),
    Variant(
        "no buffer",
        "kind = \"fmipv6\"\ntrigger = { by = \"source\" }\nbuffer = { limit = \"0 pkt\" }",
        NO_GAP,
    ),
    Variant(
        "mispredicted",
        "kind = \"fmipv6\"\ntrigger = { by = \"source\", wrong = 0.5, false_alarms = 0.5 }",
        OVERLAP,
    ),
    Variant("copies", "kind = \"fmipv6\"\ntrigger = { by = \"source\" }", ALL),
    Variant(
        "advertisements",
        "kind = \"fmipv6\"\ndetection = { by = \"advertisement\", beacon_interval = \"40 ms\" }",
        OVERLAP,
    ),
];

/// Two anchors with a home agent above them; the host changes its anchor when it reaches the third cell.
macro_rules! bcmp_anchors {
    ($rest:literal) => {
        concat!(
            "kind = \"bcmp\"\nanchors = [\"r1\", \"r2\"]\nanchor_change = true\nanchor_grace = \"300 ms\"\n",
            "global = { retransmit = \"200 ms\", retransmit_limit = \"1 s\" }\n",
            $rest
        )
    };
}

pub const BCMP: [Variant; 12] = [
    Variant("authentication", bcmp_anchors!("authentication = { server = \"gw\" }"), GAP),
    Variant("unplanned", "kind = \"bcmp\"", NO_GAP),
    Variant("no forwarding", "kind = \"bcmp\"\nforward_after_notify = false", GAP),
    Variant("unplanned, buffer", "kind = \"bcmp\"\nbuffer = { at = \"old\" }", GAP),
    Variant("planned", "kind = \"bcmp\"\ntrigger = { by = \"source\" }", GAP),
    Variant(
        "returned",
        "kind = \"bcmp\"\nunused = \"returned\"\ntrigger = { by = \"source\", wrong = 0.5, false_alarms = 0.5 }",
        GAP,
    ),
    Variant(
        "no buffer",
        "kind = \"bcmp\"\ntrigger = { by = \"source\" }\nbuffer = { limit = \"0 pkt\" }",
        NO_GAP,
    ),
    Variant(
        "mispredicted",
        "kind = \"bcmp\"\ntrigger = { by = \"source\", wrong = 0.5, false_alarms = 0.5 }",
        OVERLAP,
    ),
    Variant("copies", "kind = \"bcmp\"\ntrigger = { by = \"source\" }", ALL),
    Variant("anchors", bcmp_anchors!(""), GAP),
    Variant("anchors, planned", bcmp_anchors!("trigger = { by = \"source\" }"), OVERLAP),
    Variant(
        "advertisements",
        "kind = \"bcmp\"\ndetection = { by = \"advertisement\", beacon_interval = \"40 ms\" }",
        OVERLAP,
    ),
];

/// Hosts that become idle between two datagrams and are paged for each.
pub const BCMP_PAGING: [Variant; 2] = [
    Variant(
        "anchors, paging",
        bcmp_anchors!("paging = { areas = [[\"bs1\", \"bs3\"]], idle_after = \"15 ms\" }"),
        NO_GAP,
    ),
    Variant(
        "paging",
        "kind = \"bcmp\"\npaging = { areas = [[\"bs1\", \"bs2\"]], idle_after = \"15 ms\" }",
        GAP,
    ),
];

/// Time of the repetitions after two losses. At M&M and FMIPv6 0.1 and 0.2 s for an attach or a join, and the
/// prune timer. At HAWAII the same for a registration. At Cellular IP twice the route-update time.
pub fn bound(variant: &Variant) -> u64 {
    if variant.1.contains("cellular-ip") { 7_000 * MS } else { 2_000 * MS }
}

pub fn lab(variant: &Variant) -> Lab {
    let mut lab = Lab::with(variant.1, variant.2);
    lab.flows = DOWN.into();
    lab.duration_ms = 3_500 + bound(variant) / MS + 2_500;
    lab
}

/// Faults of a run.
pub fn problems(lab: &Lab, record: &Record, bound: u64) -> Vec<String> {
    let mut problems = Vec::new();
    problems.extend(record.reached_again("down", bound).err());
    // Where the way is set up from the old base station on, packets circle until the last router has been
    // notified.
    let may_circle = ["msf", "ssf"].iter().any(|scheme| lab.mobility.contains(scheme));
    if let Some(loss) = record.losses.iter().find(|loss| &*loss.reason == "ttl-expired" && !may_circle) {
        problems.push(format!("a packet circled: {loss:?}"));
    }
    // A permanent candidate set holds full buffers to the end, perhaps with the only copies of some
    // datagrams.
    let holds = lab.mobility.contains("no-path");
    let inside = record.census("inside");
    if inside > if holds { 112 } else { 12 } {
        problems.push(format!("{inside} packets are still inside"));
    }
    let (first, step) = (1_000 * MS, 20 * MS);
    let forgotten = record.without_end("down", (first, step), record.end - 500 * MS);
    if !forgotten.is_empty() && !holds {
        problems.push(format!("datagrams {forgotten:?} have no end"));
    }
    // Two seconds before the end all is well.
    let delivered: BTreeSet<u64> = record.delivered("down").map(|delivery| delivery.seq).collect();
    let late = (record.end - 1_500 * MS - first) / step..(record.end - 500 * MS - first) / step;
    let missing: Vec<u64> = late.filter(|seq| !delivered.contains(seq)).collect();
    if !missing.is_empty() {
        problems.push(format!("still lost at the end: {missing:?}"));
    }
    problems
}

/// The messages about the host from before the handover to a second after it.
fn messages(record: &Record) -> Vec<Trouble> {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let mut found = Vec::new();
    for signal in &record.signals {
        let occurrence = seen.entry(&signal.message).or_default();
        *occurrence += 1;
        let near = (TURNS - 200 * MS..TURNS + 1_200 * MS).contains(&signal.sent);
        if near && !signal.host.is_empty() {
            found.push(Trouble::lost(&*signal.message, *occurrence));
        }
    }
    found
}

fn nothing_wrong(problems: &[String]) {
    assert!(problems.is_empty(), "{}:\n{}", problems.len(), problems[..problems.len().min(20)].join("\n"));
}

fn each(variants: &[Variant], what: impl Fn(&Variant, &Lab, &mut dyn FnMut(&Lab))) {
    let (mut wrong, mut share) = (Vec::new(), Share::new(6, 0));
    for variant in variants {
        let lab = lab(variant);
        what(variant, &lab, &mut |lab| {
            if !share.takes_next() {
                return;
            }
            let found = problems(lab, &lab.run(), bound(variant));
            let case = format!("{}, {:?}, {:?}", variant.0, lab.visits, lab.troubles);
            wrong.extend(found.into_iter().map(|problem| format!("{case}: {problem}")));
        });
    }
    nothing_wrong(&wrong);
}

/// When the copy of a message sets out: with it, close behind it, behind what answers it, behind all timers.
const COPIES_MS: [u64; 4] = [0, 3, 40, 500];

/// Each message lost, late or sent twice, and each two of the first ten lost.
fn one_or_two(variants: &[Variant]) {
    each(variants, |_, lab, check| {
        let found = messages(&lab.run());
        assert!(!found.is_empty());
        for (number, trouble) in found.iter().enumerate() {
            for delay_ms in [None, Some(40), Some(500), Some(2_000)] {
                check(&Lab { troubles: vec![Trouble { delay_ms, ..trouble.clone() }], ..lab.clone() });
            }
            for after_ms in COPIES_MS {
                check(&Lab { troubles: vec![trouble.copied(after_ms)], ..lab.clone() });
            }
            for other in found[number + 1..].iter().take(9) {
                check(&Lab { troubles: vec![trouble.clone(), other.clone()], ..lab.clone() });
            }
        }
    });
}

/// Stays in the second cell, in ms: before the next steps of the handover, and after it.
const STAYS: [u64; 9] = [1, 4, 9, 16, 31, 50, 105, 140, 220];

/// A second handover, onward or back, with no message lost and with each.
fn twice(variants: &[Variant]) {
    each(variants, |variant, lab, check| {
        for (stay, third) in STAYS.into_iter().flat_map(|stay| [(stay, "bs3"), (stay, "bs1")]) {
            // A visit that ends within the gap of its beginning is none.
            if variant.2 == GAP && stay <= 30 {
                continue;
            }
            let mut lab = lab.clone();
            lab.visits.push((third, 3_000 + stay));
            check(&lab);
            for trouble in messages(&lab.run()).into_iter().take(16) {
                check(&Lab { troubles: vec![trouble], ..lab.clone() });
            }
        }
    });
}

#[test]
fn mandm_with_one_or_two_messages_in_trouble() {
    one_or_two(&MANDM);
}

#[test]
fn mandm_with_a_second_handover() {
    twice(&MANDM);
}

#[test]
fn cellular_ip_with_one_or_two_messages_in_trouble() {
    one_or_two(&CELLULAR_IP);
}

#[test]
fn cellular_ip_with_a_second_handover() {
    twice(&CELLULAR_IP);
}

#[test]
fn hawaii_with_one_or_two_messages_in_trouble() {
    one_or_two(&HAWAII);
}

#[test]
fn hawaii_with_a_second_handover() {
    twice(&HAWAII);
}

#[test]
fn fmipv6_with_one_or_two_messages_in_trouble() {
    one_or_two(&FMIPV6);
}

#[test]
fn fmipv6_with_a_second_handover() {
    twice(&FMIPV6);
}

#[test]
fn bcmp_with_one_or_two_messages_in_trouble() {
    one_or_two(&BCMP);
}

#[test]
fn bcmp_with_a_second_handover() {
    twice(&BCMP);
    twice(&BCMP_PAGING);
}
