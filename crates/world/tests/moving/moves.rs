//! A host that moves faster than its signalling leaves: what a move costs does not depend on how many came before it.
//!
//! Signalling of a host outruns the air here: each move adds a message or two to those that wait for an uplink, and all of
//! them change to the next one. Work is counted in instructions, by callgrind; without valgrind nothing is tested.

use crate::lab::sample;
use roamlab_mobility::PROTOCOLS;
use roamlab_world::{Replication, RunOptions, Scenario, run};
use std::fmt::Write;
use std::process::Command;

/// Which run [`one_run`] is to make: a protocol, and a number of moves.
const WANTED: &str = "ROAMLAB_MOVES";

/// Moves to and fro between two cells, 10 µs apart, and 8 s in which what waits can leave.
fn scenario(protocol: &str, moves: usize) -> String {
    let mut text = "[run]\nduration = \"8 s\"\n".to_owned();
    for (upper, lower, delay) in [("ch", "gw", 20), ("gw", "r1", 5), ("r1", "ar1", 5), ("r1", "ar2", 5)] {
        let _ = write!(
            text,
            "[[links]]\nbetween = [\"{upper}\", \"{lower}\"]\nrate = \"10 Mbit/s\"\ndelay = \"{delay} ms\"\n"
        );
    }
    for (cell, router) in [("bs1", "ar1"), ("bs2", "ar2")] {
        let _ = write!(
            text,
            "[cells.{cell}]\nrouter = \"{router}\"\nrate = \"2 Mbit/s\"\ndelay = \"3 ms\"\n\
             queue = {{ kind = \"droptail\", limit = \"100 pkt\" }}\n\
             backhaul = {{ rate = \"10 Mbit/s\", delay = \"1 ms\" }}\n"
        );
    }
    let visit = |number: usize| {
        let (cell, at) = (1 + number % 2, 1_000_000 + 10 * number);
        format!("{{ cell = \"bs{cell}\", at = \"{at} us\" }}")
    };
    let visits: Vec<String> = (0..moves).map(visit).collect();
    let _ = write!(
        text,
        "[mobility]\nkind = \"{protocol}\"\n[radio]\nkind = \"hard\"\n\
         [[hosts]]\nname = \"mh\"\nhome = \"gw\"\nvisits = [{}]\n\
         [[flows]]\nname = \"up\"\npath = [\"mh\", \"ch\"]\n\
         app = {{ kind = \"cbr\", start = \"1 s\", stop = \"2 s\", rate = \"400 kbit/s\", packet = \"100 B\" }}\n",
        visits.join(", ")
    );
    text
}

#[test]
#[ignore = "started by the other test, under callgrind"]
#[expect(clippy::disallowed_methods, reason = "the test that starts this one names its run")]
fn one_run() {
    let wanted = std::env::var(WANTED).expect("which run");
    let (protocol, moves) = wanted.split_once(' ').expect("a protocol and a number");
    let text = scenario(protocol, moves.parse().expect("a number"));
    let scenario = Scenario::parse(&text, "moves.toml").unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, Replication::default(), &RunOptions::default()).unwrap_or_else(|law| panic!("{law}"));
}

/// The number of instructions of a run with `moves` moves; `None` without valgrind.
fn instructions(protocol: &str, moves: usize) -> Option<u64> {
    let program = std::env::current_exe().expect("the program that runs");
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
    command
        .args(["--ignored", "--exact", "moving::moves::one_run"])
        .env(WANTED, format!("{protocol} {moves}"));
    let done = command.output().ok()?;
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{protocol}: {said}{}", String::from_utf8_lossy(&done.stdout));
    let (_, collected) = said.rsplit_once("Collected : ").expect("a count");
    Some(collected.split_whitespace().next()?.parse().expect("a number"))
}

#[test]
fn ten_times_the_moves_take_ten_times_the_work() {
    let taking_lists = PROTOCOLS.iter().map(|(name, _)| *name).filter(|name| *name != "lte-x2");
    for protocol in sample(taking_lists, 0, 9, "ROAMLAB_RACES") {
        let counts: Option<Vec<u64>> =
            [2, 12, 102].iter().map(|&moves| instructions(protocol, moves)).collect();
        let Some(counts) = counts else { return eprintln!("skipped: valgrind is not installed") };
        let [few, many] = [counts[1] - counts[0], counts[2] - counts[0]];
        assert!(many < 11 * few, "{protocol}: 10 more moves take {few} instructions, 100 more {many}");
    }
}

#[test]
fn hosts_of_lte_go_where_they_are_commanded() {
    let refused =
        Scenario::parse(&scenario("lte-x2", 2), "moves.toml").expect_err("LTE takes no list of moves");
    assert!(refused.to_string().contains("LTE hands over what hosts measure"), "{refused}");
}
