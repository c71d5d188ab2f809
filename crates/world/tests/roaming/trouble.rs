//! Roaming in trouble, with each mobility protocol: management frames lost or late, pairs of them lost, on a medium that loses
//! frames; a second handover before the first has ended; random walks. The host is reached again.

use super::lab::{DOWN, Dice, LEAVES, Lab, MS, Record, Trouble, UP, walks};
use std::collections::BTreeMap;

/// A protocol as it is tried: its name, lines of `[mobility]`, and how long it may take to reach a host again behind its
/// association if messages of its own are lost.
#[derive(Debug)]
struct Variant(&'static str, &'static str, u64);

const MOBILE_IP: &str = "kind = \"mobile-ip\"\nlocal_handoff = false\nadvertisement_interval = \"200 ms\"";
const SMOOTH: &str =
    "kind = \"mobile-ip\"\nadvertisement_interval = \"200 ms\"\nbuffer = { at = \"base-station\" }";

const VARIANTS: [Variant; 12] = [
    Variant("mobile ip", MOBILE_IP, 6_000 * MS),
    Variant("mobile ip, smooth", SMOOTH, 6_000 * MS),
    Variant("mandm", "kind = \"mandm\"", 5_000 * MS),
    Variant("mandm, buffer", "kind = \"mandm\"\ntrigger = { by = \"source\" }", 5_000 * MS),
    Variant("mandm, old", "kind = \"mandm\"\nbuffer = { at = \"old\" }", 5_000 * MS),
    Variant("mandm, bicast", "kind = \"mandm\"\nredundancy = { bicast = \"100 ms\" }", 5_000 * MS),
    Variant("cellular ip", "kind = \"cellular-ip\"\npaging_update_time = \"3 s\"", 25_000 * MS),
    Variant("hawaii, unf", "kind = \"hawaii\"", 5_000 * MS),
    Variant("hawaii, msf", "kind = \"hawaii\"\nscheme = \"msf\"", 5_000 * MS),
    Variant("hawaii, ssf", "kind = \"hawaii\"\nscheme = \"ssf\"", 5_000 * MS),
    Variant("fmipv6", "kind = \"fmipv6\"\nbuffer = { at = \"old\" }", 5_500 * MS),
    Variant("fmipv6, predictive", "kind = \"fmipv6\"\ntrigger = { by = \"source\" }", 5_500 * MS),
];

/// The longest time without a datagram at the host, from `from` on.
fn silence(record: &Record, from: u64) -> u64 {
    let arrivals = record.delivered("down").map(|delivery| delivery.time).filter(|&time| time >= from);
    let times: Vec<u64> = std::iter::once(from).chain(arrivals).chain([record.end]).collect();
    times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(u64::MAX)
}

/// Faults of a run whose host stays covered from `covered` on: it is reached again within the bound.
fn problems(lab: &Lab, covered: u64, bound: u64) -> Result<u64, String> {
    let record = lab.run();
    let silence = silence(&record, covered);
    let inside = record.census("inside");
    if silence > bound {
        return Err(format!("silent for {} ms: {lab:?}\n{:?}", silence / MS, record.phases));
    }
    // A noisy medium may have cost the host its cell just now.
    let link = record.phases.iter().rfind(|noted| noted.phase.starts_with("link-"));
    let is_settled =
        link.is_some_and(|noted| &*noted.phase == "link-up" && noted.time + 500 * MS < record.end);
    if inside > 12 && is_settled {
        return Err(format!("{inside} packets are still inside: {lab:?}"));
    }
    if let Some(loss) = record.losses.iter().find(|loss| &*loss.reason == "ttl-expired") {
        // Where the way is set up from the old base station on, packets circle until the last router has been
        // notified.
        if !lab.mobility.contains("scheme") {
            return Err(format!("a packet circled: {loss:?} {lab:?}"));
        }
    }
    Ok(silence)
}

/// The management frames of the handover.
fn frames(record: &Record) -> Vec<Trouble> {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let mut found = Vec::new();
    for signal in &record.signals {
        let occurrence = seen.entry(&signal.message).or_default();
        *occurrence += 1;
        let is_frame =
            ["probe", "authentication", "reassociation"].iter().any(|kind| signal.message.starts_with(kind));
        if is_frame && signal.sent > LEAVES {
            found.push(Trouble::lost(&*signal.message, *occurrence));
        }
    }
    found
}

#[test]
fn each_frame_and_each_two_lost_or_late_are_made_good() {
    let mut wrong = Vec::new();
    for Variant(name, mobility, _) in &VARIANTS {
        let lab = Lab { mobility: (*mobility).into(), duration_ms: 9_000, ..Lab::default() };
        let found = frames(&lab.run());
        assert_eq!(found.len(), 6, "{name}: probe, authentication, reassociation, two each: {found:?}");
        // Detection, two scans, two timeouts; and what the protocol takes of itself.
        let mut check = |troubles: Vec<Trouble>| {
            let case = Lab { troubles, ..lab.clone() };
            wrong.extend(
                problems(&case, LEAVES, 2_500 * MS).err().map(|problem| format!("{name}: {problem}")),
            );
        };
        for (number, trouble) in found.iter().enumerate() {
            for delay_ms in [40, 250, 2_000] {
                check(vec![Trouble { delay_ms: Some(delay_ms), ..trouble.clone() }]);
            }
            for after_ms in [0, 40, 250] {
                check(vec![trouble.copied(after_ms)]);
            }
            check(vec![trouble.clone()]);
            // Again: the one that makes it good is lost, too.
            check(vec![trouble.clone(), Trouble { occurrence: trouble.occurrence + 1, ..trouble.clone() }]);
            for other in &found[number + 1..] {
                check(vec![trouble.clone(), other.clone()]);
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong[..wrong.len().min(6)].join("\n"));
}

#[test]
fn a_lost_frame_costs_its_timeout_or_a_scan() {
    let up = |troubles: &[(&str, u32)]| {
        let troubles = troubles.iter().map(|&(message, number)| Trouble::lost(message, number)).collect();
        let record = Lab { troubles, flows: String::new(), ..Lab::default() }.run();
        record.phase("link-up", LEAVES).expect("it is up again") / MS
    };
    let usual = up(&[]);
    let near = |time: u64, expected: u64| assert!(time.abs_diff(expected) <= 4, "{time} {expected}");
    for message in ["authentication-request", "authentication-response"] {
        near(up(&[(message, 2)]), usual + 200);
        near(up(&[(message, 2), (message, 3)]), usual + 400);
    }
    for message in ["reassociation-request", "reassociation-response"] {
        near(up(&[(message, 1)]), usual + 200);
        near(up(&[("authentication-request", 2), (message, 1)]), usual + 400);
    }
    // Without a response the scan finds nothing. It waited for MaxChannelTime anyway, because it heard the
    // request's answer...
    near(up(&[("probe-response", 2)]), usual + 56);
    // Three times without result: there is no other cell to try, and it scans again.
    let thrice = [("reassociation-request", 1), ("reassociation-request", 2), ("reassociation-request", 3)];
    near(up(&thrice), usual + 600 + 62 + 1);
}

#[test]
fn a_second_handover_before_the_first_has_ended_ends_well() {
    let mut wrong = Vec::new();
    for Variant(name, mobility, _) in &VARIANTS {
        for stay in [1, 50, 150, 290, 310, 330, 345, 365, 370, 372, 380, 400, 500, 700] {
            for third in ["bs3", "bs1"] {
                let visits = vec![("bs1", 0, None), ("bs2", 3_000, None), (third, 3_000 + stay, None)];
                let lab =
                    Lab { mobility: (*mobility).into(), visits, duration_ms: 9_000 + stay, ..Lab::default() };
                let checked = problems(&lab, LEAVES + stay * MS, 2_500 * MS);
                wrong.extend(checked.err().map(|problem| format!("{name}: {problem}")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong[..wrong.len().min(6)].join("\n"));
}

const FRAMES: [&str; 10] = [
    "probe-request",
    "probe-response",
    "authentication-request",
    "authentication-response",
    "association-request",
    "association-response",
    "reassociation-request",
    "reassociation-response",
    "deauthentication",
    "null-data",
];

/// Detection by beacons, passive scans of 11 channels, and lost frames of a walk in a row.
const LAYER_2: u64 = 4_500 * MS;

fn walk(number: u64) -> Result<u64, String> {
    let mut dice = Dice::of(number, "roaming");
    let Variant(_, mobility, bound) = dice.one_of(&VARIANTS);
    let mut at = 2_000;
    let mut visits = vec![("bs1", 0, None)];
    let mut last = at;
    for _ in 0..1 + dice.below(5) {
        let hole = if dice.below(4) == 0 { 1 + dice.below(1_500) } else { 0 };
        if let Some((_, _, until)) = visits.last_mut().filter(|_| hole > 0) {
            *until = Some(at);
        }
        at += hole;
        visits.push((*dice.one_of(&["bs1", "bs2", "bs3"]), at, None));
        last = at;
        at += 1 + if dice.below(2) == 0 { dice.below(500) } else { dice.below(3_000) };
    }
    let overlap =
        if visits.iter().any(|(_, _, until)| until.is_some()) { 0 } else { *dice.one_of(&[0, 20, 400]) };
    let scan = *dice.one_of(&["active", "active", "passive"]);
    let attempts = *dice.one_of(&[0, 3, 7]);
    let radio = format!(
        "overlap = \"{overlap} ms\"\nscan = \"{scan}\"\nfailed_attempts = {attempts}\nap_failed_frames = {}\n\
         ap_inactivity = \"{} s\"\nkeep_alive = \"1 s\"",
        dice.one_of(&[2, 10, 50]),
        dice.one_of(&[1, 300]),
    );
    let medium = format!(", frame_loss = {}", dice.one_of(&["0.0", "0.0", "0.05", "0.1"]));
    let flows = if dice.below(2) == 0 { DOWN.to_owned() } else { format!("{DOWN}{UP}") };
    let mut troubles = Vec::new();
    for _ in 0..dice.below(7) {
        let delay_ms = (dice.below(3) == 0).then(|| 1 + dice.below(1_000));
        troubles.push(Trouble { delay_ms, ..Trouble::lost(*dice.one_of(&FRAMES), 1 + dice.below(5) as u32) });
    }
    let bound = bound + LAYER_2;
    let lab = Lab {
        duration_ms: last + bound / MS + 3_000,
        visits,
        mobility: (*mobility).into(),
        radio,
        medium,
        flows,
        troubles,
        draw: number,
    };
    problems(&lab, (last + overlap) * MS, bound)
}

#[test]
fn a_roaming_host_is_reached_again_within_the_bound() {
    walks(200, walk);
}
