//! The marking state that goes with a host: from the source's queue for it to the target's, by message.

use super::lab::{Lab, MS, Trouble};
use crate::lab::{results, rows};
use roamlab_world::{Replication, Scenario, Table};

const DRAW: Replication = Replication { seed: 1, run: 0, trace: None };
const SHARED: &str = "queue = { kind = \"droptail\", limit = \"2000 pkt\" }\n";

/// 64 segments of 1500 B at 6 Mbit/s, 2 ms each, to a host that moves. The round trip without queues is some 24 ms, so that
/// some 50 segments wait at the source, 100 ms long. That is too short for a mark there; the target marks above 5 ms.
fn text(queues: [&str; 2], carry: bool, troubles: &[Trouble]) -> String {
    let flow = r#"
[[flows]]
name = "tcp"
path = ["server", "ue"]
transport = { kind = "tcp", variant = "newreno", window = "64 pkt", segment = "1460 B", ecn = true }
app = { kind = "ftp", start = "1 s" }
[record]
packets = true
"#;
    let lab = Lab {
        duration_ms: 4_000,
        mobility: format!("carry_marking_state = {carry}"),
        flows: flow.into(),
        troubles: troubles.to_vec(),
        ..Lab::default()
    };
    let mut text = lab.text().replace("24 Mbit/s", "6 Mbit/s");
    for queue in [queues[0], queues[1], queues[1]] {
        let own = format!(
            "queue = {{ kind = \"droptail\" }}\nscheduler = {{ kind = \"round-robin\" }}\n\
             bearers = {{ queue = {{ {queue} }} }}\n"
        );
        text = text.replacen(SHARED, &own, 1);
    }
    text
}

const NEVER: &str = "kind = \"rlc\", mark_above = \"1 s\", mark_weight = 0.1";
const ABOVE_5_MS: &str = "kind = \"rlc\", mark_above = \"5 ms\", mark_weight = 0.1";

/// When the host has confirmed, and when a packet leaves the target's queue with a mark for the first time, in ns.
fn confirmed_and_marked(tables: &[Table]) -> (u64, u64) {
    let phases = rows(tables, "handovers", ["time_ns", "phase"]);
    let confirmed = phases.iter().find(|row| row[1] == "handover-confirmed").expect("a handover");
    let events = rows(tables, "packets", ["time_ns", "event", "place"]);
    let mut marks = events.iter().filter(|row| row[1] == "mark");
    let first = marks.next().expect("a mark");
    assert_eq!(first[2], "enb2/air/ue", "the source marks nothing");
    (confirmed[0].parse().unwrap(), first[0].parse().unwrap())
}

/// The time from the confirmation to the first mark at the target, in ms.
fn first_mark_ms(carry: bool, troubles: &[Trouble]) -> f64 {
    let tables = results(&text([NEVER, ABOVE_5_MS], carry, troubles), DRAW);
    let (confirmed, marked) = confirmed_and_marked(&tables);
    (marked - confirmed) as f64 / MS as f64
}

/// Packets that wait at the target when the host has confirmed leave at one each 2 ms. Packet k has waited 2k
/// ms, and the mean is 2k − 18·(1 − 0.9^k) ms: 4.61 at k = 7 and 5.75 at k = 8, at 16 ms. The source's mean
/// is some 100 ms, of which 0.9 are left after a packet that has not waited: the first one is marked.
#[test]
fn the_target_marks_the_first_packet_by_the_sources_estimate() {
    let late = Trouble { delay_ms: Some(200), ..Trouble::lost("sn-status-transfer", 1) };
    for (carry, troubles, expected) in [
        (true, vec![], 0.0),
        (false, vec![], 16.0),
        (true, vec![Trouble::lost("sn-status-transfer", 1)], 16.0),
        (true, vec![late], 16.0),
    ] {
        let waited = first_mark_ms(carry, &troubles);
        assert!((waited - expected).abs() < 0.1, "{waited} ms, carried: {carry}, {troubles:?}");
    }
}

/// A fresh queue of PIE has probability 0; with the carried state its first row has the probability of the source's last one.
#[test]
fn the_target_has_the_sources_probability() {
    let pie = "kind = \"pie\", mark_ecn = true, mark_p_max = 1.0, max_burst = \"0 ms\"";
    let first_probability = |carry| {
        let tables = results(&text([pie, pie], carry, &[]), DRAW);
        let queue = rows(&tables, "queue", ["queue", "probability"]);
        let probability = |row: &[String; 2]| f64::from_bits(row[1].parse().unwrap());
        let last = queue.iter().rfind(|row| row[0] == "enb1/air/ue").map(probability).unwrap();
        (last, queue.iter().find(|row| row[0] == "enb2/air/ue").map(probability).unwrap())
    };
    let (source, target) = first_probability(true);
    assert!(source > 0.0 && source.to_bits() == target.to_bits(), "{source} and {target}");
    assert_eq!(first_probability(false).1, 0.0);
}

/// A report without its first line.
fn refusal(queues: [&str; 2], edit: (&str, &str)) -> String {
    let text = text(queues, true, &[]).replacen(edit.0, edit.1, 1);
    Scenario::parse(&text, "lab.toml").expect_err("it is refused").to_string()
}

#[test]
fn queues_without_an_estimate_of_the_host_are_refused() {
    let none = ("", "");
    for (queues, edit, expected) in [
        (
            ["kind = \"droptail\""; 2],
            none,
            "the `droptail` queue of host \"ue\" in cell \"enb1\" has no estimate",
        ),
        (["kind = \"fq-codel\""; 2], none, "the `fq-codel` queue of host"),
        (["kind = \"rlc\""; 2], none, "`mark_above` and a `mark_weight` below 1"),
        (
            ["kind = \"pie\"", "kind = \"red\""],
            none,
            "has a `pie` queue in cell \"enb1\" and a `red` queue in \"enb2\"",
        ),
        (
            ["kind = \"pie\""; 2],
            ("scheduler = { kind = \"round-robin\" }\nbearers = { queue = { kind = \"pie\" } }\n", ""),
            "in cell \"enb1\" all hosts share a queue",
        ),
        (
            ["kind = \"pie\""; 2],
            ("[mobility]\n", "[mobility]\nforwarding = \"none\"\n"),
            "`forwarding = \"lossless\"`",
        ),
    ] {
        let report = refusal(queues, edit);
        assert!(report.contains(expected) && report.contains("carry_marking_state"), "{report}");
    }
    for kind in ["codel", "pie", "dualpi2", "red", "mred", "blue", "mblue"] {
        let own = format!("kind = \"{kind}\"");
        Scenario::parse(&text([&own, &own], true, &[]), "lab.toml").unwrap_or_else(|error| panic!("{error}"));
    }
}
