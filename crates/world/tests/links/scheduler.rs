//! Whole runs with a queue for each host behind an air-link scheduler.

use crate::lab::{results, rows};
use roamlab_world::{Replication, Table};
use std::collections::BTreeMap;

/// Two hosts in one cell, one of which leaves for another at 2 s, and more for each than the cell can send.
const SCENARIO: &str = r#"
run = { duration = "3 s" }
links = [
    { between = ["ch", "fa"], rate = "100 Mbit/s", delay = "1 ms" },
    { between = ["ch", "ha"], rate = "100 Mbit/s", delay = "1 ms" },
]
mobility = { kind = "mobile-ip", buffer = { at = "base-station", limit = "64 pkt" } }
[cells.bs1]
router = "fa"
rate = "4 Mbit/s"
delay = "1 ms"
queue = { kind = "droptail" }
backhaul = { rate = "100 Mbit/s", delay = "1 ms" }
scheduler = { kind = "wfq" }
bearers = { queue = { kind = "droptail", limit = "30 pkt" }, hosts = { heavy = { weight = 3.0 } } }
[cells.bs2]
router = "fa"
rate = "4 Mbit/s"
delay = "1 ms"
queue = { kind = "droptail" }
backhaul = { rate = "100 Mbit/s", delay = "1 ms" }
[[hosts]]
name = "heavy"
home = "ha"
visits = [{ cell = "bs1", at = "0 s" }]
[[hosts]]
name = "light"
home = "ha"
visits = [{ cell = "bs1", at = "0 s" }, { cell = "bs2", at = "2 s" }]
[[flows]]
name = "to-heavy"
path = ["ch", "heavy"]
app = { kind = "cbr", rate = "4 Mbit/s", packet = "500 B", start = "100 ms" }
[[flows]]
name = "to-light"
path = ["ch", "light"]
app = { kind = "cbr", rate = "4 Mbit/s", packet = "1000 B", start = "100 ms" }
"#;

const DRAW: Replication = Replication { seed: 1, run: 0, trace: None };

/// Bytes that each flow got delivered from 0.5 s to 1.9 s.
fn bytes(tables: &[Table]) -> BTreeMap<String, u64> {
    let mut bytes = BTreeMap::new();
    for [time, flow, size] in rows(tables, "deliveries", ["time_ns", "flow", "bytes"]) {
        if (500_000_000..1_900_000_000).contains(&time.parse::<u64>().unwrap()) {
            *bytes.entry(flow).or_default() += size.parse::<u64>().unwrap();
        }
    }
    bytes
}

/// Goodput of each flow, in Mbit/s.
fn rates(text: &str) -> [f64; 2] {
    let bytes = bytes(&results(text, DRAW));
    ["to-heavy", "to-light"].map(|flow| bytes[flow] as f64 * 8.0 / 1.4e6)
}

#[test]
fn wfq_shares_the_cell_by_weight() {
    let [heavy, light] = rates(SCENARIO);
    assert!((heavy - 3.0).abs() < 0.02 && (light - 1.0).abs() < 0.02, "{heavy} and {light} Mbit/s");
}

/// The scenario with a scheduler that has no weights.
fn without_weights(kind: &str) -> String {
    SCENARIO.replace("\"wfq\"", &format!("\"{kind}\"")).replace("weight = 3.0", "")
}

#[test]
fn round_robin_gives_each_a_packet() {
    let [heavy, light] = rates(&without_weights("round-robin"));
    assert!((light / heavy - 2.0).abs() < 0.02, "packets of 500 B and 1000 B: {heavy} and {light} Mbit/s");
}

#[test]
fn proportional_fair_gives_each_the_same_time_at_its_own_rate() {
    let text = SCENARIO.replace("\"wfq\"", "\"proportional-fair\"");
    let [heavy, light] = rates(&text.replace("weight = 3.0", "rate = \"2 Mbit/s\""));
    assert!((heavy - 1.0).abs() < 0.02 && (light - 2.0).abs() < 0.02, "{heavy} and {light} Mbit/s");
}

#[test]
fn the_hosts_queues_are_on_record_by_name_and_losses_are_theirs() {
    let tables = results(SCENARIO, DRAW);
    let mut most: BTreeMap<String, u32> = BTreeMap::new();
    for [queue, packets] in rows(&tables, "queue", ["queue", "packets"]) {
        let most = most.entry(queue).or_default();
        *most = (*most).max(packets.parse().unwrap());
    }
    let most: Vec<_> = most.iter().map(|(queue, packets)| (queue.as_str(), *packets)).collect();
    assert_eq!(most[..2], [("bs1/air/heavy", 30), ("bs1/air/light", 30)]);
    assert_eq!(most[2].0, "bs2/air", "a cell without a scheduler has one queue");
    let places = |flow: &str| {
        let mut places: Vec<_> = rows(&tables, "drops", ["place", "reason", "flow"]).into_iter().collect();
        places.retain(|row| row[2] == flow && row[1] == "queue-overflow");
        places.dedup();
        places.into_iter().map(|[place, ..]| place).collect::<Vec<_>>()
    };
    assert_eq!(places("to-heavy"), ["bs1/air/heavy"]);
    assert_eq!(places("to-light")[0], "bs1/air/light");
}

#[test]
fn only_what_is_asked_for_is_recorded() {
    let text = format!("{SCENARIO}\n[record]\nqueues = [\"bs1/air/light\"]\n");
    let queues = rows(&results(&text, DRAW), "queue", ["queue"]);
    assert!(!queues.is_empty() && queues.iter().all(|[queue]| queue == "bs1/air/light"));
}

#[test]
fn a_host_that_leaves_takes_its_packets_along_and_the_other_gets_the_cell() {
    let tables = results(SCENARIO, DRAW);
    let queue = rows(&tables, "queue", ["time_ns", "queue", "packets"]);
    let after: Vec<_> = queue
        .iter()
        .filter(|row| row[1] == "bs1/air/light" && row[0].parse::<u64>().unwrap() >= 2_000_000_000)
        .map(|row| row[2].as_str())
        .collect();
    assert_eq!(after[0], "0", "all of its packets are taken out at the same time");
    let released = rows(&tables, "releases", ["flow", "node"]);
    assert!(released.len() >= 30 && released.iter().all(|row| row[0] == "to-light"), "{}", released.len());
    let late = rows(&tables, "deliveries", ["time_ns", "flow"]);
    let heavy = late.iter().filter(|row| {
        row[1] == "to-heavy" && (2_500_000_000..3_000_000_000).contains(&row[0].parse::<u64>().unwrap())
    });
    let mbps = heavy.count() as f64 * 500.0 * 8.0 / 0.5e6;
    assert!((mbps - 4.0).abs() < 0.05, "{mbps} Mbit/s");
}

/// The queues in which something waited before there was any data.
fn early_queues(text: &str) -> Vec<String> {
    let mut rows = rows(&results(text, DRAW), "queue", ["time_ns", "queue"]);
    rows.retain(|[time, _]| time.parse::<u64>().unwrap() < 100_000_000);
    let mut queues: Vec<_> = rows.into_iter().map(|[_, queue]| queue).collect();
    queues.sort();
    queues.dedup();
    queues
}

#[test]
fn signalling_without_priority_waits_in_its_hosts_queue_and_broadcasts_in_the_common_one() {
    let plain = format!("network = {{ signalling_priority = false }}\n{SCENARIO}");
    assert_eq!(early_queues(&plain), ["bs1/air", "bs1/air/heavy", "bs1/air/light", "bs2/air"]);
    assert!(early_queues(SCENARIO).is_empty());
}

#[test]
fn twins_are_equal() {
    for text in [SCENARIO.to_owned(), without_weights("round-robin"), without_weights("proportional-fair")] {
        assert!(results(&text, DRAW) == results(&text, DRAW), "{text}");
    }
}
