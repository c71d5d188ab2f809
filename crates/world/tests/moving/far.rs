//! Home agents, gateways and anchors that are seconds away: a host in an open cell is registered, and its
//! flow continues.
//!
//! ```text
//!   ch -10- gw -distance- r -5- ar1 -1- bs1      (one-way delays in ms; air: 3)
//!                          `-5- ar2 -1- bs2
//! ```

use crate::lab::record::{Dice, MS, Record, Trouble};
use std::fmt::Write;

/// A protocol, its lines of `[mobility]`, the messages of a registration, and the phases at both ends of one.
struct Row {
    mobility: &'static str,
    messages: &'static [&'static str],
    phases: [&'static str; 2],
}

const MOBILE_IP: Row = Row {
    mobility: "kind = \"mobile-ip\"",
    messages: &["registration-request", "registration-reply", "handoff-request", "agent-advertisement"],
    phases: ["registration-sent", "registered"],
};
const BCMP: Row = Row {
    mobility: "kind = \"bcmp\"\nanchors = [\"ar1\", \"ar2\"]\nanchor_change = true\nglobal = {}",
    messages: &[
        "global-registration-request",
        "global-registration-reply",
        "login-request",
        "handover-attach",
    ],
    phases: ["session-known", "globally-registered"],
};
const LTE: Row = Row {
    mobility: "kind = \"lte-x2\"\nmme = \"gw2\"",
    messages: &["service-request", "initial-context-setup", "modify-bearer-request", "path-switch-request"],
    phases: ["service-requested", "service-restored"],
};
const OTHERS: [Row; 5] = [
    Row { mobility: "kind = \"bcmp\"", messages: &["login-request", "handover-attach"], phases: ["", ""] },
    Row {
        mobility: "kind = \"hawaii\"",
        messages: &["registration", "path-power-up", "path-update"],
        phases: ["", ""],
    },
    Row {
        mobility: "kind = \"cellular-ip\"\npaging_update_time = \"3 s\"",
        messages: &["route-update"],
        phases: ["", ""],
    },
    Row { mobility: "kind = \"mandm\"", messages: &["attach", "join"], phases: ["", ""] },
    Row { mobility: "kind = \"fmipv6\"", messages: &["una", "local-binding-update"], phases: ["", ""] },
];

/// When the host comes into its second cell, and the end of a run, in ms.
const TURNS: u64 = 60_000;
const END: u64 = 160_000;

fn run(row: &Row, radio: &str, distance: u64, troubles: &[Trouble], draw: u64) -> Record {
    let mut text = format!("[run]\nduration = \"{END} ms\"\n");
    let wires = [("ch", "gw", 10), ("gw", "gw2", 1), ("gw", "r", distance), ("r", "ar1", 5), ("r", "ar2", 5)];
    for (upper, lower, delay) in wires {
        let _ = write!(
            text,
            "[[links]]\nbetween = [\"{upper}\", \"{lower}\"]\nrate = \"100 Mbit/s\"\ndelay = \"{delay} ms\"\n"
        );
    }
    let (rate, medium) = if radio == "802.11" { (11, "medium = { kind = \"dcf\" }") } else { (2, "") };
    for (cell, router) in [("bs1", "ar1"), ("bs2", "ar2")] {
        let _ = write!(
            text,
            "[cells.{cell}]\nrouter = \"{router}\"\nrate = \"{rate} Mbit/s\"\ndelay = \"3 ms\"\n\
             queue = {{ kind = \"droptail\", limit = \"1000 pkt\" }}\n\
             backhaul = {{ rate = \"10 Mbit/s\", delay = \"1 ms\" }}\n{medium}\n"
        );
    }
    let measurement = if row.mobility.contains("lte") { "[radio.measurement]" } else { "" };
    let _ = write!(
        text,
        "[radio]\nkind = \"{radio}\"\n{measurement}\n[mobility]\n{}\n[[hosts]]\nname = \"mh\"\nhome = \"gw\"\n\
         visits = [{{ cell = \"bs1\", at = \"0 s\" }}, {{ cell = \"bs2\", at = \"{TURNS} ms\" }}]\n\
         [[flows]]\nname = \"down\"\npath = [\"ch\", \"mh\"]\n\
         app = {{ kind = \"cbr\", start = \"1 s\", rate = \"8 kbit/s\", packet = \"100 B\" }}\n\
         [record]\ndeliveries = true\nqueues = []\n",
        row.mobility
    );
    troubles.iter().for_each(|trouble| trouble.write(&mut text));
    Record::of(&text, draw, END)
}

/// The first exchange with the far end takes its round trip, however often the request was repeated meanwhile.
#[test]
fn a_registration_takes_one_round_trip_at_any_distance() {
    for row in [MOBILE_IP, BCMP, LTE] {
        for distance in [20, 600, 1_500, 4_500] {
            let record = run(&row, "hard", distance, &[], 1);
            let sent = record.phase(row.phases[0], 0).unwrap_or_else(|| panic!("{:?}", record.phases));
            let Some(done) = record.phase(row.phases[1], sent) else {
                panic!("{}, {distance} ms: never\n{:?}", row.mobility, record.phases)
            };
            let took = (done - sent) / MS;
            let least = 2 * distance;
            assert!((least..least + 60).contains(&took), "{}, {distance} ms: {took} ms", row.mobility);
        }
    }
}

/// A host that has registered once waits for two round trips and 100 ms before it repeats a request (RFC 5944 §3.6.3).
#[test]
fn a_measured_round_trip_makes_repetitions_needless() {
    for (distance, first) in [(20, 1), (600, 2), (4_500, 4)] {
        let record = run(&MOBILE_IP, "hard", distance, &[], 1);
        let requests = |from: u64, to: u64| {
            let is_one = |message: &str| message == "registration-request";
            let sent =
                record.signals.iter().filter(|signal| is_one(&signal.message) && &*signal.source == "mh");
            sent.filter(|signal| (from * MS..to * MS).contains(&signal.sent)).count()
        };
        assert_eq!((requests(0, TURNS), requests(TURNS, END)), (first, 1), "{distance} ms");
    }
}

/// In a random protocol, radio and distance, with some messages lost. A cell is entered permanently at 60 s:
/// the way to the host and back is at most 10 s, a lost message is repeated within 8 s and the next one as
/// late again.
#[test]
fn hosts_are_reached_however_far_their_registrations_go() {
    #[expect(clippy::disallowed_methods, reason = "how many draws are tried is no input of a run")]
    let draws = if std::env::var("ROAMLAB_DEEP").is_ok() { 1_000 } else { 30 };
    let mut wrong = Vec::new();
    for draw in 0..draws {
        let mut dice = Dice::of(draw, "far");
        let rows: Vec<&Row> = [&MOBILE_IP, &BCMP, &LTE].into_iter().chain(&OTHERS).collect();
        let row = rows[(draw % rows.len() as u64) as usize];
        let radio =
            if row.mobility.contains("lte") { "hard" } else { *dice.one_of(&["hard", "soft", "802.11"]) };
        let distance = dice.below(5_001);
        let lose = |_| Trouble::lost(*dice.one_of(row.messages), 1 + dice.below(4) as u32);
        let troubles: Vec<Trouble> = (0..draw % 3).map(lose).collect();
        let record = run(row, radio, distance, &troubles, draw + 1);
        if let Err(problem) = record.reached_again("down", 45_000 * MS) {
            let losses: Vec<_> = troubles.iter().map(|one| (&one.message, one.occurrence)).collect();
            wrong
                .push(format!("draw {draw}: {problem}: {:?} {radio} {distance} ms {losses:?}", row.mobility));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
