//! Whole runs in which base stations keep the segments of a flow and repair losses of the air.

use crate::lab::{results, rows};
use roamlab_world::{Replication, Table};
use std::collections::BTreeSet;

const EXAMPLE: &str = include_str!("../../../../examples/snoop.toml");
const ASKED: &str = "snoop = {}\n";

/// The tables of the example with changes of its text.
fn run(seed: u64, changes: &[(&str, &str)]) -> Vec<Table> {
    let mut text = EXAMPLE.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    results(&text, Replication { seed, run: 0, trace: None })
}

/// The data segments that arrived for the first time, in the order of their arrival.
fn fresh(tables: &[Table]) -> Vec<u64> {
    let arrivals = rows(tables, "deliveries", ["seq", "fresh"]);
    arrivals.into_iter().filter(|[_, fresh]| fresh == "true").map(|[seq, _]| seq.parse().unwrap()).collect()
}

fn reasons(tables: &[Table], reason: &str) -> usize {
    rows(tables, "drops", ["reason"]).into_iter().filter(|[each]| each == reason).count()
}

fn cuts(tables: &[Table]) -> usize {
    let cuts = ["timeout", "fast-retransmit"];
    rows(tables, "tcp", ["event"]).into_iter().filter(|[event]| cuts.contains(&event.as_str())).count()
}

#[test]
fn base_stations_repair_losses_of_the_air_and_the_sender_cuts_less() {
    for seed in 1..=3 {
        let (with, without) = (run(seed, &[]), run(seed, &[(ASKED, "")]));
        assert!(reasons(&with, "suppressed-ack") > 0);
        assert_eq!(reasons(&without, "suppressed-ack"), 0);
        assert!(reasons(&with, "random-loss") > 20, "{}", reasons(&with, "random-loss"));
        let (helped, plain) = (cuts(&with), cuts(&without));
        assert!(helped * 4 < plain, "seed {seed}: {helped} cuts with Snoop, {plain} without");
        let (helped, plain) = (fresh(&with).len(), fresh(&without).len());
        assert!(helped > plain, "seed {seed}: {helped} segments with Snoop, {plain} without");
    }
}

#[test]
fn no_segment_is_lost_or_delivered_twice_at_moves_back_and_forth() {
    let visits = "{ cell = \"bs2\", at = \"10 s\" }";
    let back = "{ cell = \"bs2\", at = \"4 s\" }, { cell = \"bs1\", at = \"4.2 s\" }, { cell = \"bs2\", at = \"9 s\" }, \
                { cell = \"bs1\", at = \"9.06 s\" }";
    for gap in ["\"50 ms\"", "\"0 s\""] {
        for buffer in ["limit = \"100 pkt\"", "limit = \"0 pkt\""] {
            let tables = run(
                1,
                &[
                    (visits, back),
                    ("gap = \"50 ms\"", &format!("gap = {gap}")),
                    ("limit = \"100 pkt\" }\n\n[[hosts]]", &format!("{buffer} }}\n\n[[hosts]]")),
                    ("kind = \"ftp\"", "kind = \"ftp\", packets = \"4000 pkt\""),
                ],
            );
            let arrived = fresh(&tables);
            let distinct: BTreeSet<u64> = arrived.iter().copied().collect();
            assert_eq!(arrived.len(), distinct.len(), "a segment was delivered twice: {gap} {buffer}");
            assert_eq!(distinct.len(), 4000, "{gap} {buffer}");
        }
    }
}

#[test]
fn without_losses_of_the_air_snoop_changes_nothing() {
    let quiet: &[(&str, &str)] = &[("loss = 0.01\n", ""), ("{ cell = \"bs1\", at = \"0 s\" }, ", "")];
    let stays = ("{ cell = \"bs2\", at = \"10 s\" }", "{ cell = \"bs2\", at = \"0 s\" }");
    let with = run(1, &[quiet, &[stays]].concat());
    let without = run(1, &[quiet, &[stays, (ASKED, "")]].concat());
    for table in ["deliveries", "drops"] {
        let columns = ["time_ns", "serial"];
        assert_eq!(rows(&with, table, columns), rows(&without, table, columns), "{table}");
    }
    assert!(fresh(&with).len() > 10_000);
}
