//! Random walks with up to six signalling messages lost or late: the host is reached again within the bound that the
//! protocol's page states.
//!
//! `ROAMLAB_WALKS=10000 cargo test -p roamlab-world --test runs micro::reached` runs more than the 300 of each protocol.

use super::lab::{Dice, Lab, MS, Trouble, walks};
use super::trouble::{BCMP, BCMP_PAGING, CELLULAR_IP, FMIPV6, HAWAII, MANDM, Variant, lab, problems};

const MANDM_MESSAGES: [&str; 7] =
    ["attach", "attach-acknowledge", "join", "join-acknowledge", "prune", "trigger", "moved"];
const HAWAII_MESSAGES: [&str; 6] = [
    "registration",
    "registration-acknowledge",
    "path-update",
    "path-acknowledge",
    "path-switch",
    "path-refresh",
];
const CELLULAR_IP_MESSAGES: [&str; 4] =
    ["route-update", "paging-update", "semisoft-trigger", "gateway-beacon"];
const FMIPV6_MESSAGES: [&str; 9] = [
    "prrtadv",
    "rtsolpr",
    "fbu",
    "fback",
    "hi",
    "hack",
    "una",
    "local-binding-update",
    "local-binding-acknowledge",
];

const BCMP_MESSAGES: [&str; 18] = [
    "login-request",
    "login-response",
    "logout-request",
    "logout-acknowledge",
    "handover-prepare-request",
    "handover-prepare",
    "handover-prepare-acknowledge",
    "handover-prepared",
    "handover-attach",
    "anchor-path-update",
    "anchor-path-acknowledge",
    "handover-attach-acknowledge",
    "handover-notify",
    "anchor-change-request",
    "page-request",
    "page",
    "global-registration-request",
    "global-registration-reply",
];

/// Of M&M and BCMP with a server.
const AUTHENTICATION_MESSAGES: [&str; 4] =
    ["aaa-request", "aaa-answer", "authentication-request", "authentication-answer"];

/// From the last entry of a cell to the first datagram: what six repetitions of M&M take (0.1, 0.2, 0.4, 0.8, 1 and 1 s),
/// with its prune timer.
const MANDM_BOUND: u64 = 5_000 * MS;
/// Time of six repetitions of a registration of HAWAII, and of the path set-up.
const HAWAII_BOUND: u64 = 5_000 * MS;
/// Six route-update times of Cellular IP, the active-state timeout, and a beacon of the gateway.
const CELLULAR_IP_BOUND: u64 = 25_000 * MS;
/// Time of six repetitions of una and update, with the tunnel's lifetime.
const FMIPV6_BOUND: u64 = 5_500 * MS;
/// Time of six repetitions of an attach, or here of a login, with the tunnel's lifetime.
const BCMP_BOUND: u64 = 5_500 * MS;

fn walk(number: u64, variants: &[Variant], messages: &[&str], bound: u64) -> Result<u64, String> {
    let mut dice = Dice::of(number, "micro");
    let mut lab: Lab = lab(dice.one_of(variants));
    lab.draw = number;
    if lab.mobility.contains("bcmp") {
        // A login is repeated as fast as an attach, so that the bound is the same for both.
        lab.mobility += "\nlogin_retransmit = \"200 ms\"\nlogin_retransmit_limit = \"1 s\"\n";
    }
    lab.visits.truncate(1);
    let mut at = 3_000;
    for _ in 0..1 + dice.below(5) {
        lab.visits.push((*dice.one_of(&["bs1", "bs2", "bs3"]), at));
        at += 31 + if dice.below(2) == 0 { dice.below(300) } else { dice.below(3_000) };
    }
    // Those of the server are drawn where there is one.
    let asks = |name: &&&str| lab.mobility.contains("bcmp") == name.contains("authentication");
    let server = AUTHENTICATION_MESSAGES.iter().filter(asks).copied();
    let server = server.filter(|_| lab.mobility.contains("authentication"));
    let messages: Vec<&str> = messages.iter().copied().chain(server).collect();
    let messages = &messages[..];
    let (burst, first) = (*dice.one_of(messages), 1 + dice.below(12) as u32);
    let in_a_row = dice.below(2) == 0;
    for number in 0..dice.below(7) as u32 {
        let message = if in_a_row { burst } else { *dice.one_of(messages) };
        let occurrence = if in_a_row { first + number } else { 1 + dice.below(24) as u32 };
        let delay_ms = (dice.below(3) == 0).then(|| 1 + dice.below(2_000));
        lab.troubles.push(Trouble { delay_ms, ..Trouble::lost(message, occurrence) });
    }
    lab.duration_ms = lab.visits[lab.visits.len() - 1].1 + bound / MS + 3_000;
    let record = lab.run();
    match problems(&lab, &record, bound).as_slice() {
        [] => record.reached_again("down", bound),
        problems => Err(format!("{}\n{lab:?}", problems.join("\n"))),
    }
}

#[test]
fn a_host_under_mandm_is_reached_again_within_the_bound() {
    walks(300, |number| walk(number, &MANDM, &MANDM_MESSAGES, MANDM_BOUND));
}

#[test]
fn a_host_under_cellular_ip_is_reached_again_within_the_bound() {
    walks(300, |number| walk(number, &CELLULAR_IP, &CELLULAR_IP_MESSAGES, CELLULAR_IP_BOUND));
}

#[test]
fn a_host_under_hawaii_is_reached_again_within_the_bound() {
    walks(300, |number| walk(number, &HAWAII, &HAWAII_MESSAGES, HAWAII_BOUND));
}

#[test]
fn a_host_under_fmipv6_is_reached_again_within_the_bound() {
    walks(300, |number| walk(number, &FMIPV6, &FMIPV6_MESSAGES, FMIPV6_BOUND));
}

#[test]
fn a_host_under_bcmp_is_reached_again_within_the_bound() {
    walks(300, |number| {
        let variants = if number % 5 == 0 { &BCMP_PAGING[..] } else { &BCMP };
        walk(number, variants, &BCMP_MESSAGES, BCMP_BOUND)
    });
}
