//! Analyses of small tables made by hand.

use crate::causes::Causes;
use crate::senders::{Part, Role};
use crate::suspects::suspects;
use crate::{Fault, Index, Record, SlowPeriod, Stall, Table};
use roamlab_record::Column;
use serde_json::{Value, json};

const S: i64 = 1_000_000_000;

fn ns(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

fn times(seconds: &[f64]) -> Column {
    Column::I64(seconds.iter().map(|&each| ns(each)).collect())
}

fn numbers(values: &[i64]) -> Column {
    Column::I64(values.to_vec())
}

fn words(values: &[&str]) -> Column {
    Column::words(values.iter().copied())
}

fn same(word: &str, count: usize) -> Column {
    Column::words(std::iter::repeat_n(word, count))
}

fn table(name: &'static str, columns: Vec<(&'static str, Column)>) -> roamlab_record::Table {
    roamlab_record::Table { name, columns }
}

fn stall(start: f64, end: f64, round_trip: f64, is_slow: bool) -> Stall {
    let (start_ns, end_ns, round_trip_ns) = (ns(start), ns(end), ns(round_trip));
    Stall { flow: "f".to_owned(), start_ns, end_ns, round_trip_ns, cut_off: false, is_slow }
}

/// A question about a record of these tables.
fn ask<T>(
    tables: &[roamlab_record::Table],
    scenario: &Value,
    question: impl FnOnce(&Record<'_>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let index = Index::default();
    question(&Record::new(tables.iter().map(Table::from).collect(), &index, scenario, 0))
}

/// The spec of a queue, and the sentence about an early drop behind its name.
fn disciplines() -> Vec<(Value, &'static str)> {
    vec![
        (
            json!({"kind": "codel", "limit": "1000 pkt", "target": "5 ms"}),
            "CoDel: the last packet had waited 23.46 ms, target 5 ms, ",
        ),
        (
            json!({"kind": "fq-codel", "limit": "10240 pkt", "target": "5 ms"}),
            "FQ-CoDel: the last packet had waited 23.46 ms, target 5 ms, ",
        ),
        (
            json!({"kind": "fq", "limit": "10000 pkt", "mark_above": "30 ms"}),
            "fq: the last packet had waited 23.46 ms, marks above 30 ms, ",
        ),
        (
            json!({"kind": "pie", "limit": "1000 pkt", "target": "15 ms"}),
            "PIE: probability 3.13 %, the last packet had waited 23.46 ms, target 15 ms, ",
        ),
        (
            json!({"kind": "dualpi2", "limit": "10000 pkt", "target": "15 ms"}),
            "DualPI2: probability 3.13 %, of the low-latency queue 35.36 %, the last packet had waited 23.46 ms, target 15 ms, ",
        ),
        (
            json!({"kind": "red", "limit": "60 pkt", "min_threshold": "10 pkt", "max_threshold": "30 pkt"}),
            "RED: average 17.30 packets, thresholds 10 pkt and 30 pkt, probability 3.13 %, ",
        ),
        // Thresholds that RED derives from the link.
        (
            json!({"kind": "red", "limit": "60 pkt", "min_threshold": "0 pkt", "max_threshold": "0 pkt"}),
            "RED: average 17.30 packets, probability 3.13 %, ",
        ),
        (json!({"kind": "blue", "limit": "120 pkt"}), "BLUE: probability 3.13 %, "),
        (
            json!({"kind": "rlc", "limit": "16384 pkt", "five_qi": 82, "mark_above": null}),
            "RLC: the last packet had waited 23.46 ms, 5QI 82, ",
        ),
        (json!({"kind": "other", "limit": "9 pkt"}), "other: "),
    ]
}

fn network(spec: &Value) -> Value {
    json!({
        "network": {"queue": {"kind": "droptail", "limit": "7 pkt"}, "uplink_queue": {"kind": "red"}},
        "links": [{"between": ["a", "b"], "queue": spec}],
        "hosts": [{"name": "host"}],
        "cells": {"bs1": {
            "router": "r1",
            "queue": spec,
            "backhaul": {"queue": spec},
            "bearers": {"queue": spec, "hosts": {"other": {"queue": {"kind": "codel"}}}},
        }},
    })
}

/// Two early drops and an overflow at a place, three marks of two packets, and three rows of a queue.
fn dropped(place: &str, queue: &str) -> Vec<roamlab_record::Table> {
    vec![
        table(
            "drops",
            vec![
                ("time_ns", times(&[0.95, 1.0, 1.1, 3.0])),
                ("place", same(place, 4)),
                ("reason", words(&["early-drop", "early-drop", "queue-overflow", "early-drop"])),
                ("flow", same("f", 4)),
            ],
        ),
        table(
            "packets",
            vec![
                ("time_ns", times(&[0.91, 0.92, 0.96])),
                ("place", words(&[place, "b->c", place])),
                ("event", same("mark", 3)),
                ("flow", same("f", 3)),
                ("serial", numbers(&[1, 1, 2])),
            ],
        ),
        table(
            "queue",
            vec![
                ("time_ns", times(&[0.9, 0.95, 0.96])),
                ("queue", same(queue, 3)),
                ("packets", numbers(&[3, 17, 9])),
                ("average", Column::F64(vec![0.0, 17.3, 0.0])),
                ("probability", Column::F64(vec![0.0, 0.03126, 0.5])),
                ("coupled", Column::F64(vec![0.0, 0.35361, 0.0])),
                ("sojourn_ns", numbers(&[0, 23_456_789, 0])),
            ],
        ),
    ]
}

fn early(tables: &[roamlab_record::Table], spec: &Value, is_slow: bool) -> Vec<String> {
    let stall = stall(1.0, 2.0, 0.1, is_slow);
    ask(tables, &Value::Null, |record| record.early(&network(spec), &stall, ns(0.9))).unwrap()
}

#[test]
fn the_gauges_at_the_first_early_drop_are_told() {
    for (spec, told) in disciplines() {
        let (title, parts) = told.split_once(": ").unwrap();
        let limit = spec["limit"].as_str().unwrap();
        let said = format!(
            "{title} at bs1/air dropped 2 packets of it early, at 0.950 s first: {parts}17 pkt waited with a limit of {limit}"
        );
        assert_eq!(early(&dropped("bs1/air", "bs1/air"), &spec, false), [said]);
    }
}

#[test]
fn marks_are_told_of_slow_periods_and_belong_to_the_first_queue() {
    let spec = json!({"kind": "codel", "limit": "1000 pkt", "target": "5 ms"});
    let told = early(&dropped("bs1/air", "bs1/air"), &spec, true);
    assert!(told[0].contains(" dropped 2 packets "));
    assert_eq!(
        told[1],
        "CoDel at bs1/air marked 2 packets of it early, at 0.910 s first: the last packet had waited 0.00 ms, target 5 ms, \
         3 pkt waited with a limit of 1000 pkt"
    );
}

#[test]
fn where_the_queue_is_not_recorded_the_way_to_record_it_is_told() {
    let pie = json!({"kind": "pie"});
    let mut empty = dropped("bs1/air", "bs1/air");
    for (_, column) in &mut empty[2].columns {
        *column = if matches!(column, Column::Words(..)) { words(&[]) } else { numbers(&[]) };
    }
    for tables in [dropped("bs1/air", "bs2/air"), empty] {
        assert_eq!(
            early(&tables, &pie, false),
            [
                "PIE at bs1/air dropped 2 packets of it early, at 0.950 s first: write \"bs1/air\" into `record.queues` to see why"
            ]
        );
    }
}

#[test]
fn a_queue_is_found_by_its_place() {
    for (place, title) in [
        ("a->b", "PIE"),
        ("b->a", "droptail"),
        ("bs1/air", "PIE"),
        ("bs1/air/host", "PIE"),
        ("bs1/air/other", "CoDel"),
        ("r1->bs1", "PIE"),
        ("bs1->r1", "droptail"),
        ("host->bs1", "RED"),
        ("host-12->bs1", "RED"),
        ("bs9/air", "the queue"),
        ("x->y", "the queue"),
    ] {
        let told = early(&dropped(place, "none"), &json!({"kind": "pie"}), false);
        assert!(told[0].starts_with(&format!("{title} at {place} dropped")), "{told:?}");
    }
}

/// Events of a sender and their times in s.
type Events<'a> = &'a [(f64, &'a str)];
/// Parts of a sender: kind, time in s and role.
type Parts<'a> = &'a [(&'static str, f64, Role)];

/// A flow that is silent from 1 to 2 s. The data that ends it was sent at `sent`; later data takes `later`.
fn silent(events: &[(f64, &str)], kind: &str, sent: f64, later: f64) -> Vec<roamlab_record::Table> {
    let (at, names): (Vec<f64>, Vec<&str>) = events.iter().copied().unzip();
    vec![
        table("flows", vec![("flow", words(&["f"])), ("kind", words(&[kind]))]),
        table(
            "deliveries",
            vec![
                ("time_ns", times(&[0.5, 1.0, 2.0, 2.5])),
                ("sent_ns", times(&[0.45, 0.95, sent, 2.5 - later])),
                ("flow", same("f", 4)),
                ("fresh", Column::Bool(vec![true; 4])),
            ],
        ),
        table("tcp", vec![("time_ns", times(&at)), ("flow", same("f", at.len())), ("event", words(&names))]),
        table("drops", vec![("time_ns", numbers(&[])), ("flow", words(&[]))]),
    ]
}

#[test]
fn what_ends_a_stall() {
    use Role::{Ended, Found, Slow};
    let cases: [(Events<'_>, &str, Parts<'_>); 9] = [
        (&[(1.95, "tail-loss-probe")], "tcp", &[("tail loss probe", 1.95, Ended)]),
        (&[(1.95, "rack-mark")], "tcp", &[("RACK mark", 1.95, Ended)]),
        // Data that was sent on an acknowledgement ended it. The acknowledgement of that data found the losses.
        (&[(2.05, "rack-mark")], "tcp", &[("RACK mark", 2.05, Found)]),
        (&[(2.5, "rack-mark")], "tcp", &[]),
        // The acknowledgement of the probe's data found the losses.
        (
            &[(1.95, "tail-loss-probe"), (2.05, "rack-mark")],
            "tcp",
            &[("tail loss probe", 1.95, Ended), ("RACK mark", 2.05, Found)],
        ),
        // A suspect names it.
        (&[(1.95, "timeout")], "tcp", &[]),
        (&[(1.95, "timeout")], "quic", &[("probe timeout", 1.95, Ended)]),
        // One that did not send what came.
        (&[(1.5, "timeout")], "quic", &[]),
        (
            &[(1.95, "timeout"), (2.02, "persistent-congestion")],
            "quic",
            &[("probe timeout", 1.95, Ended), ("persistent congestion", 2.02, Slow)],
        ),
    ];
    for (events, kind, expected) in cases {
        let tables = silent(events, kind, 1.95, 0.05);
        let found =
            ask(&tables, &Value::Null, |record| record.parts(&stall(1.0, 2.0, 0.1, false), None)).unwrap();
        let part = |&(kind, at, role): &(&'static str, f64, Role)| Part { kind, time_ns: ns(at), role };
        assert_eq!(found, expected.iter().map(part).collect::<Vec<_>>(), "{events:?}");
    }
}

#[test]
fn the_sender_is_told_by_what_it_did() {
    let said = |role| Part { kind: "RACK mark", time_ns: ns(2.0), role }.sentence();
    assert_eq!(said(Role::Ended), "the sender's RACK mark at 2.000 s ended it");
    assert_eq!(said(Role::Found), "the sender's RACK mark at 2.000 s found its losses");
    assert_eq!(said(Role::Slow), "the sender's RACK mark, from 2.000 s on, kept it slow");
}

#[test]
fn bbr_has_the_round_trip_time_of_the_shorter_path() {
    let slow = SlowPeriod {
        flow: "f".to_owned(),
        start_ns: S,
        end_ns: 3 * S,
        before_bps: 1e6,
        rate_bps: 1e5,
        cut_off: false,
    };
    let parts = |later: f64, scenario: &Value| {
        let tables = silent(&[], "tcp", 2.0 - later, later);
        ask(&tables, scenario, |record| record.parts(&stall(1.0, 3.0, 0.1, true), Some(&slow))).unwrap()
    };
    let stale = Part { kind: "stale min_rtt", time_ns: 2 * S, role: Role::Slow };
    let control = |transport: Value| json!({"flows": [{"name": "f", "transport": transport}]});
    let bbr = control(json!({"kind": "tcp", "variant": "bbr"}));
    assert_eq!(parts(0.05, &bbr), []);
    assert_eq!(parts(0.09, &bbr), []);
    assert_eq!(parts(0.11, &bbr), std::slice::from_ref(&stale));
    // A flow that names no congestion control has that of its profile.
    let profile = |profile: &str, transport: Value| json!({"run": {"profile": profile}, "flows": [{"name": "f", "transport": transport}]});
    let quic = json!({"kind": "quic", "congestion_control": {"kind": "bbr3"}});
    for (scenario, is_told) in [
        (control(json!({"kind": "tcp", "variant": "cubic"})), false),
        (profile("rfc", json!({"kind": "tcp"})), false),
        (profile("linux-6", json!({"kind": "tcp"})), false),
        (profile("linux-6-bbr", json!({"kind": "tcp"})), true),
        (profile("linux-6-bbr", json!({"kind": "quic"})), false),
        (profile("linux-6-bbr", json!({"kind": "tcp", "variant": "sack"})), false),
        (profile("rfc", quic), true),
    ] {
        assert_eq!(parts(0.11, &scenario) == [stale.clone()], is_told, "{scenario}");
    }
}

/// A row of `causes`: time in s, kind, name, place, host, flow, cause.
type Cause<'a> = (f64, &'a str, &'a str, &'a str, &'a str, &'a str, i64);

/// Tables with these causes, and a loss of the flow "f" by a full queue: time in s, and row of `causes`.
fn caused(causes: &[Cause<'_>], lost: f64, cause: i64) -> Vec<roamlab_record::Table> {
    let column = |word: fn(&Cause<'_>) -> String| {
        let all: Vec<String> = causes.iter().map(word).collect();
        Column::words(all.iter().map(String::as_str))
    };
    let phases: Vec<_> = causes.iter().filter(|each| each.1 == "phase").collect();
    let of_phases = |word: fn(&Cause<'_>) -> String| {
        let all: Vec<String> = phases.iter().map(|each| word(each)).collect();
        Column::words(all.iter().map(String::as_str))
    };
    let zeros = Column::U64(vec![0; causes.len()]);
    let none = || words(&[]);
    vec![
        table(
            "causes",
            vec![
                ("time_ns", times(&causes.iter().map(|each| each.0).collect::<Vec<_>>())),
                ("kind", column(|each| each.1.to_owned())),
                ("name", column(|each| each.2.to_owned())),
                ("place", column(|each| each.3.to_owned())),
                ("host", column(|each| each.4.to_owned())),
                ("flow", column(|each| each.5.to_owned())),
                ("seq", zeros.clone()),
                ("serial", zeros),
                ("cause", numbers(&causes.iter().map(|each| each.6).collect::<Vec<_>>())),
            ],
        ),
        table(
            "drops",
            vec![
                ("flow", words(&["f"])),
                ("time_ns", times(&[lost])),
                ("reason", words(&["queue-overflow"])),
                ("cause", numbers(&[cause])),
            ],
        ),
        table(
            "flows",
            vec![("flow", words(&["f"])), ("source", words(&["ch"])), ("destination", words(&["mh"]))],
        ),
        table(
            "handovers",
            vec![
                ("time_ns", times(&phases.iter().map(|each| each.0).collect::<Vec<_>>())),
                ("visit", numbers(&vec![0; phases.len()])),
                ("host", of_phases(|each| each.4.to_owned())),
                ("phase", of_phases(|each| each.2.to_owned())),
            ],
        ),
        table("signalling", vec![("serial", numbers(&[])), ("message", none()), ("host", none())]),
        table("tcp", vec![("flow", none()), ("event", none()), ("time_ns", numbers(&[]))]),
    ]
}

type Suspected = (Vec<(&'static str, String)>, Vec<String>);

/// The suspects of a stall from 1 to 2 s, with their kinds and hosts, and the sentences about the first.
fn suspected(tables: &[roamlab_record::Table]) -> Result<Suspected, Fault> {
    let network = json!({"hosts": [{"name": "ue-2", "visits": [{"cell": "enb1"}, {"cell": "enb2"}]}]});
    ask(tables, &Value::Null, |record| {
        let causes = Causes::new(record, &network)?;
        let found = suspects(record, &causes, &network, &stall(1.0, 2.0, 0.02, false))?;
        let told = causes.told(&found[0].chain, ns(2.0));
        Ok((found.into_iter().map(|each| (each.kind, each.host)).collect(), told))
    })
}

#[test]
fn a_queue_that_is_full_when_a_stall_begins_comes_before_the_handover() {
    for (lost, first) in [(1.05, "queue full"), (1.25, "handover")] {
        let causes = [
            (0.95, "motion", "", "", "mh", "f", -1),
            (0.95, "phase", "link-down", "", "mh", "f", 0),
            (lost, "loss", "queue-overflow", "bs1/air", "", "f", -1),
        ];
        let (found, _) = suspected(&caused(&causes, lost, 2)).unwrap();
        assert_eq!((found.len(), found[0].0), (2, first));
    }
}

/// The loss of one host's packet has the move of another one as its cause: full queue first, then that handover.
#[test]
fn a_queue_that_forwarded_packets_fill_leads_to_the_move_of_their_host() {
    for (root, said) in [
        ("motion", None),
        ("measurement", Some("because ue-2 measured another cell as better at 0.900 s")),
        ("out-of-range", Some("because ue-2 did not receive from its cell at 0.900 s")),
        (
            "on-air",
            Some("because ue-2 heard its cell, or missed beacons or acknowledgements of it at 0.900 s"),
        ),
    ] {
        let causes = [
            (0.90, root, "", "", "ue-2", "", -1),
            (0.90, "phase", "link-down", "", "ue-2", "", 0),
            (0.94, "release", "", "enb1", "ue-2", "", 1),
            (0.99, "loss", "queue-overflow", "enb2/air", "", "f", 2),
        ];
        let (found, told) = suspected(&caused(&causes, 0.99, 3)).unwrap();
        assert_eq!(found, [("queue full", String::new()), ("handover", "ue-2".to_owned())]);
        let first = [
            "because a packet of f was lost at enb2/air at 0.990 s: the queue was full",
            "because enb1 released the packets for ue-2 at 0.940 s",
            "because ue-2 left enb1 at 0.900 s",
        ];
        assert_eq!(told, first.into_iter().chain(said).collect::<Vec<_>>());
    }
}

#[test]
fn a_record_that_contradicts_itself_is_named() {
    let causes = [(0.9, "motion", "", "", "mh", "f", 0), (0.95, "loss", "detached", "bs1", "mh", "f", 7)];
    for (cause, named) in [(0, 0), (1, 7)] {
        assert_eq!(suspected(&caused(&causes, 0.95, cause)), Err(Fault::Cause(named)));
    }
    let mut tables = caused(&causes, 0.95, -1);
    tables.retain(|table| table.name != "signalling");
    assert_eq!(suspected(&tables).unwrap_err().to_string(), "the record has no table `signalling`");
    assert_eq!(
        ask(&tables, &Value::Null, |record| record.stalls("f")).unwrap_err(),
        Fault::Table("deliveries")
    );
}
