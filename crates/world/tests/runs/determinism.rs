//! A run is a function of its scenario, seed and number: twins are equal bit by bit, on any thread, traced or
//! not. Changes that do not concern a host change nothing for it.

use crate::lab::{results, rows};
use roamlab_world::{Replication, Table};
use std::fmt::Write;

/// The simulation model of the MBLUE paper.
const MBLUE: &str = include_str!("../../../../python/roamlab/papers/mblue/scenario.toml");

const DRAW: Replication = Replication { seed: 1, run: 0, trace: None };

/// Long enough for the handover at 10 s and the losses behind it.
fn short() -> String {
    MBLUE.replace("duration = \"40 s\"", "duration = \"14 s\"")
}

/// Everything that happened, in words and packet content: no serial number, no handle of a node or a link.
fn trajectory(tables: &[Table], keep: impl Fn(&str) -> bool) -> Vec<String> {
    let mut lines = Vec::new();
    let mut add = |table: &str, rows: Vec<Vec<String>>| {
        lines.extend(rows.into_iter().filter(|row| row.iter().all(|word| keep(word))).map(|row| {
            let words = row.join(" ");
            format!("{table} {words}")
        }));
    };
    let of = |rows: Vec<[String; 7]>| rows.into_iter().map(Vec::from).collect();
    let deliveries = ["time_ns", "flow", "seq", "bytes", "sent_ns", "fresh", "late_by_pkts"];
    add("delivery", of(rows(tables, "deliveries", deliveries)));
    add("tcp", of(rows(tables, "tcp", ["time_ns", "flow", "event", "cwnd", "ssthresh", "rto_ns", "seq"])));
    add(
        "drop",
        of(rows(tables, "drops", ["time_ns", "place", "reason", "flow", "seq", "forwarded", "forwarded"])),
    );
    let queue = ["time_ns", "queue", "packets", "bytes", "average", "probability", "probability"];
    add("queue", of(rows(tables, "queue", queue)));
    let handover = ["time_ns", "host", "visit", "phase", "node", "host", "host"];
    add("handover", of(rows(tables, "handovers", handover)));
    let signal = ["sent_ns", "arrived_ns", "message", "host", "source", "destination", "size_bytes"];
    add("signal", of(rows(tables, "signalling", signal)));
    lines
}

#[test]
fn twins_are_equal_bit_by_bit_on_threads_of_their_own_at_once() {
    let twins: Vec<Vec<Table>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| results(&short(), DRAW))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(twins.windows(2).all(|pair| pair[0] == pair[1]));
    assert!(rows(&twins[0], "deliveries", ["serial"]).len() > 1000, "the twins did something");
    let other = results(&short(), Replication { run: 1, ..DRAW });
    assert_ne!(
        trajectory(&other, |_| true),
        trajectory(&twins[0], |_| true),
        "another run draws other numbers"
    );
}

/// A host that moves between two separate cells and a correspondent, neither of which any flow uses.
const IDLE: &str = r#"
[[links]]
between = ["idle-ch", "idle-fa"]
rate = "1 Mbit/s"
delay = "1 ms"

[[links]]
between = ["idle-fa", "ha"]
rate = "1 Mbit/s"
delay = "200 ms"

[cells.a-idle-bs]
router = "idle-fa"
rate = "1 Mbit/s"
delay = "1 ms"
queue = { kind = "red" }
backhaul = { rate = "1 Mbit/s", delay = "1 ms" }

[cells.z-idle-bs]
router = "idle-fa"
rate = "1 Mbit/s"
delay = "1 ms"
queue = { kind = "mblue" }
backhaul = { rate = "1 Mbit/s", delay = "1 ms" }

[[hosts]]
name = "idle-mh"
home = "ha"
visits = [{ cell = "z-idle-bs", at = "0 s" }, { cell = "a-idle-bs", at = "10 s" }]
"#;

#[test]
fn an_idle_host_and_its_links_change_nothing_for_the_others() {
    let alone = results(&short(), DRAW);
    let (head, tail) = {
        let text = short();
        let at = text.find("# CH - FA").unwrap();
        (text[..at].to_owned(), text[at..].to_owned())
    };
    for with_idle in [format!("{}{IDLE}", short()), format!("{head}{IDLE}\n{tail}")] {
        let accompanied = results(&with_idle, DRAW);
        let moved = rows(&accompanied, "handovers", ["host", "phase"]);
        assert!(
            moved.contains(&["idle-mh".to_owned(), "registered".to_owned()]),
            "the idle host is there and registers"
        );
        let others = trajectory(&accompanied, |word| !word.contains("idle"));
        let expected = trajectory(&alone, |_| true);
        let difference = others.iter().zip(&expected).find(|(left, right)| left != right);
        assert_eq!((difference, others.len()), (None, expected.len()));
    }
}

#[test]
fn tracing_a_packet_changes_nothing() {
    let plain = results(&short(), DRAW);
    let traced = results(&short(), Replication { trace: Some(1000), ..DRAW });
    for (left, right) in plain.iter().zip(&traced).filter(|(table, _)| table.name != "trace") {
        assert_eq!(left, right, "{}", left.name);
    }
    assert!(rows(&plain, "trace", ["stop"]).is_empty());
    assert!(rows(&traced, "trace", ["stop"]).len() > 5);
}

/// FNV-1a, 64 bits.
fn fingerprint(lines: &[String]) -> u64 {
    let bytes = lines.iter().flat_map(|line| line.bytes().chain([b'\n']));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The same file is compared in a debug and in a release build, so the two agree: an optimiser that changed an
/// order or a rounding would fail one of them.
#[test]
fn golden_of_the_mblue_model() {
    let tables = results(MBLUE, DRAW);
    let counts = [
        "flow",
        "sent_pkts",
        "retransmitted_pkts",
        "delivered_pkts",
        "duplicate_pkts",
        "dropped_pkts",
        "timeouts",
        "fast_retransmits",
    ];
    let flows = rows(&tables, "flows", counts);
    let mut golden = String::from(
        "expect: four transfers of 512 B segments over air links of 2 Mbit/s, 488 segments a second. For nine seconds\n\
         the moving host has cell 1 alone and fills it; then it shares cell 2 with the residents for thirty. So it\n\
         gets some 4000 and then as much as they get; no flow starves, and of a hundred segments one or two are lost.\n\n",
    );
    let _ = writeln!(golden, "{}", counts.map(|name| format!("{name:>18}")).join(" "));
    for row in &flows {
        let _ = writeln!(golden, "{}", row.clone().map(|value| format!("{value:>18}")).join(" "));
    }
    let lines = trajectory(&tables, |_| true);
    let _ = writeln!(golden, "\nrows of the trajectory: {}", lines.len());
    let _ = writeln!(golden, "fingerprint: {:016x}", fingerprint(&lines));

    // 2 Mbit/s / (512 B × 8) = 488.28 segments a second.
    let number = |text: &String| text.parse::<u64>().unwrap();
    let second = 488.28;
    let delivered: Vec<u64> = flows.iter().map(|row| number(&row[3])).collect();
    let in_cell_2: u64 = delivered[1..].iter().sum();
    assert!((in_cell_2 as f64) < 40.0 * second, "no more than the air link carries: {in_cell_2}");
    assert!((in_cell_2 as f64) > 0.5 * 40.0 * second, "the air link is used: {in_cell_2}");
    assert!((delivered[0] as f64) < 40.0 * second && delivered[0] > 4000, "moving: {}", delivered[0]);
    for row in &flows {
        let [sent, again, delivered, copies, dropped] = [1, 2, 3, 4, 5].map(|column| number(&row[column]));
        let account = delivered + copies + dropped;
        assert!(account.abs_diff(sent) <= 64, "{}: sent {sent}, accounted for {account}", row[0]);
        assert!(again < sent / 20 && delivered > 1000, "{}: {again} of {sent} again", row[0]);
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../../../tests/golden/world");
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!("mblue", golden));
}

/// Two flows and a datagram stream through plain and odd links: drop-tail by packets and by bytes, a rate with parts of
/// nanoseconds, RED, a path that is cut in mid-run, forced losses.
const DUMBBELL: &str = r#"
[run]
duration = "8 s"
profile = "rfc"

[record]
queues = ["r2->r3"]

[[links]]
between = ["a", "r1"]
rate = "10 Mbit/s"
delay = "1 ms"

[[links]]
between = ["r1", "r2"]
rate = "3 Mbit/s"
delay = "7 ms"
queue = { kind = "droptail", limit = "9 pkt" }
drops = [{ flow = "one", packets = [40, 41, 90] }]

[[links]]
between = ["r2", "r3"]
rate = "2 Mbit/s"
delay = "5 ms"
queue = { kind = "red", limit = "30 pkt" }
changes = [{ at = "3 s", delay = "2 ms" }, { at = "4 s", up = false }, { at = "4.5 s", up = true, rate = "1 Mbit/s" }]

[[links]]
between = ["r3", "b"]
rate = "700 kbit/s"
delay = "0 ms"
queue = { kind = "droptail", limit_bytes = "12 kB" }

[[flows]]
name = "one"
path = ["a", "b"]
transport = { kind = "tcp", variant = "sack", window = "40 pkt", segment = "1000 B" }
app = { kind = "ftp", start = "0.1 s" }

[[flows]]
name = "two"
path = ["b", "a"]
transport = { kind = "tcp", variant = "reno", window = "20 pkt", segment = "512 B", ecn = true }
app = { kind = "ftp", start = "0.3 s" }

[[flows]]
name = "stream"
path = ["a", "b"]
dscp = 3
app = { kind = "cbr", start = "0.2 s", rate = "100 kbit/s", packet = "200 B" }
"#;

/// The short way of a plain packet and the general way, which every packet takes in a run that traces one, though none has
/// that number: all tables are equal.
#[test]
fn the_plain_way_and_the_general_way_agree() {
    let lte = include_str!("../../../../examples/lte.toml");
    let ipf = include_str!("../../../../python/roamlab/papers/ipf/scenario.toml");
    let ipf = ipf.replace("duration = \"200 s\"", "duration = \"12 s\"");
    for (name, scenario) in [("dumbbell", DUMBBELL), ("mblue", &short()), ("lte", lte), ("ipf", &ipf)] {
        let plain = results(scenario, DRAW);
        let general = results(scenario, Replication { trace: Some(u64::MAX), ..DRAW });
        let delivered = rows(&plain, "flows", ["delivered_pkts"]);
        assert!(delivered.iter().all(|[count]| count.parse::<u64>().unwrap() > 20), "{name}: {delivered:?}");
        for (plain, general) in plain.iter().zip(&general) {
            assert_eq!(plain, general, "{name}: table {}", plain.name);
        }
    }
}

/// A recorded drop-tail queue goes past the disciplines; with a limit in bytes too, which it never reaches, it is one of them.
#[test]
fn a_recorded_line_and_the_discipline_agree() {
    let (threshold, all) =
        ("threshold = \"80 pkt\", d1 = 1e-4, d2 = 1e-5, freeze_time = \"1 ms\"", "queues = [\"*\"]");
    let mblue = short()
        .replace("kind = \"mblue\", limit = \"120 pkt\", ", "kind = \"droptail\", limit = \"60 pkt\" ");
    let mblue = mblue.replace(threshold, "");
    let dumbbell = DUMBBELL.replace("queues = [\"r2->r3\"]", all);
    let lte = include_str!("../../../../examples/lte.toml");
    for (name, scenario) in [("dumbbell", dumbbell.as_str()), ("mblue", &mblue), ("lte", lte)] {
        let written = "kind = \"droptail\", limit =";
        assert!(scenario.contains(written), "{name}");
        let line = results(scenario, DRAW);
        let with_bytes = scenario.replace(written, "kind = \"droptail\", limit_bytes = \"1 GB\", limit =");
        let discipline = results(&with_bytes, DRAW);
        let samples = rows(&line, "queue", ["forwarded"]);
        assert!(samples.len() > 1000, "{name}");
        assert!(name == "lte" || samples.iter().any(|[marked]| marked != "0"), "{name}");
        for (line, discipline) in line.iter().zip(&discipline) {
            assert_eq!(line, discipline, "{name}: table {}", line.name);
        }
    }
}
