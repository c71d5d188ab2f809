//! Whole runs with the queues that go by the time in the queue, and with those of a bearer.

use crate::lab::{results, rows};
use roamlab_world::{Replication, Table};

/// A host moves at 2 s into a cell that another host overloads; its old base station holds what comes meanwhile and
/// forwards it with a mark.
const SCENARIO: &str = r#"
run = { duration = "4 s" }
links = [
    { between = ["ch", "fa"], rate = "100 Mbit/s", delay = "1 ms" },
    { between = ["ch", "ha"], rate = "100 Mbit/s", delay = "1 ms" },
]
mobility = { kind = "mobile-ip", buffer = { at = "base-station", limit = "400 pkt", mark_forwarded = true } }
radio = { kind = "hard", gap = "200 ms" }
[cells.bs1]
router = "fa"
rate = "4 Mbit/s"
delay = "1 ms"
queue = { kind = "droptail", limit = "300 pkt" }
backhaul = { rate = "100 Mbit/s", delay = "1 ms" }
[cells.bs2]
router = "fa"
rate = "4 Mbit/s"
delay = "1 ms"
queue = QUEUE
backhaul = { rate = "100 Mbit/s", delay = "1 ms" }
[[hosts]]
name = "resident"
home = "ha"
visits = [{ cell = "bs2", at = "0 s" }]
[[hosts]]
name = "mover"
home = "ha"
visits = [{ cell = "bs1", at = "0 s" }, { cell = "bs2", at = "2 s" }]
[[flows]]
name = "to-resident"
path = ["ch", "resident"]
app = { kind = "cbr", rate = "5 Mbit/s", packet = "1000 B", start = "100 ms" }
[[flows]]
name = "to-mover"
path = ["ch", "mover"]
app = { kind = "cbr", rate = "3 Mbit/s", packet = "1000 B", start = "100 ms" }
"#;

const DRAW: Replication = Replication { seed: 1, run: 0, trace: None };

/// Disciplines whose rows have the time in the queue, and one whose rows have not.
const KINDS: [&str; 8] = ["codel", "pie", "fq-codel", "dualpi2", "rlc", "head-drop", "fq", "cake"];

fn run(queue: &str) -> Vec<Table> {
    results(&SCENARIO.replace("QUEUE", queue), DRAW)
}

/// Losses in the new cell for this reason, of packets with the mark or without.
fn lost(tables: &[Table], why: &str, marked: bool) -> usize {
    let rows = rows(tables, "drops", ["place", "reason", "forwarded"]);
    let is_meant = |row: &&[String; 3]| row[0] == "bs2/air" && row[1] == why && row[2] == marked.to_string();
    rows.iter().filter(is_meant).count()
}

/// The longest time in the new cell's queue in ms, and the largest probability, from 1 s on.
fn extremes(tables: &[Table]) -> (u64, f64) {
    let rows = rows(tables, "queue", ["time_ns", "queue", "sojourn_ns", "probability"]);
    let late =
        rows.iter().filter(|row| row[1] == "bs2/air" && row[0].parse::<u64>().unwrap() > 1_000_000_000);
    let number =
        |row: &[String; 4]| (row[2].parse::<u64>().unwrap() / 1_000_000, row[3].parse::<f64>().unwrap());
    late.map(number).fold((0, 0.0), |(time, chance), (a, b)| (time.max(a), f64::max(chance, b)))
}

#[test]
fn each_loses_what_an_overloaded_cell_cannot_send_and_the_cell_stays_busy() {
    for kind in KINDS {
        let limit = if kind == "rlc" { ", limit = \"60 pkt\"" } else { "" };
        let tables = run(&format!("{{ kind = \"{kind}\"{limit} }}"));
        let losses = lost(&tables, "early-drop", false) + lost(&tables, "queue-overflow", false);
        assert!(losses > 100, "{kind}: {losses}");
        let delivered = rows(&tables, "deliveries", ["time_ns", "flow"]).into_iter();
        let busy = delivered.filter(|row| row[0].parse::<u64>().unwrap() > 2_500_000_000).count();
        // 1,028 B with headers: 486 a second.
        assert!((700..760).contains(&busy), "{kind}: {busy} in 1.5 s");
        let (sojourn, probability) = extremes(&tables);
        assert_eq!(sojourn > 0, kind != "head-drop", "{kind}: {sojourn} ms");
        assert_eq!(probability > 0.0, ["pie", "dualpi2"].contains(&kind), "{kind}: {probability}");
    }
}

#[test]
fn forwarded_packets_are_spared_where_the_scenario_says_so() {
    for kind in ["codel", "pie", "fq-codel", "dualpi2"] {
        let losses = |spare: &str| {
            let fast = if kind.ends_with("codel") { ", interval = \"20 ms\"" } else { "" };
            lost(&run(&format!("{{ kind = \"{kind}\"{fast}{spare} }}")), "early-drop", true)
        };
        let (plain, spared) = (losses(""), losses(", spare_forwarded = true"));
        assert!(plain > 0 && spared == 0, "{kind}: {plain} and {spared}");
    }
}

#[test]
fn packets_that_an_lte_handover_forwards_are_spared_if_they_are_marked() {
    let mobile_ip = SCENARIO.lines().find(|line| line.starts_with("mobility")).unwrap();
    let run = |mark: &str, spare: &str| {
        let lte = format!(
            "mobility = {{ kind = \"lte-x2\", {mark} buffer_limit = \"400 pkt\", detach_time = \"150 ms\", \
             measurement = {{ hysteresis_db = 0.0, time_to_trigger = \"0 ms\", filter_coefficient = 0 }} }}"
        );
        // Cells behind two access routers: the mark enters the second one's from the core, in a base station's tunnel.
        let text = SCENARIO
            .replace(mobile_ip, &lte)
            .replace("gap = \"200 ms\"", "measurement = { period = \"10 ms\" }")
            .replace("[cells.bs2]\nrouter = \"fa\"", "[cells.bs2]\nrouter = \"fa2\"")
            .replace(
                "links = [",
                "links = [\n    { between = [\"ch\", \"fa2\"], rate = \"100 Mbit/s\", delay = \"1 ms\" },",
            )
            .replace("QUEUE", &format!("{{ kind = \"codel\", interval = \"20 ms\"{spare} }}"));
        let tables = results(&text, DRAW);
        let released = rows(&tables, "releases", ["node", "forwarded"]).into_iter();
        let marked = released.filter(|row| row[0] == "bs1" && row[1] == "true").count();
        (marked, lost(&tables, "early-drop", true))
    };
    let (marked, plain) = run("mark = 3,", "");
    assert!(marked > 20 && plain > 0, "{marked} and {plain}");
    assert_eq!(run("mark = 3,", ", spare_forwarded = true"), (marked, 0));
    assert_eq!(run("", ", spare_forwarded = true"), (0, 0), "without a mark nothing is forwarded with one");
}

#[test]
fn they_hold_each_hosts_packets_behind_a_scheduler_too() {
    for kind in KINDS {
        let bearers = format!(
            "{{ kind = \"droptail\" }}\nscheduler = {{ kind = \"round-robin\" }}\nbearers = {{ queue = {{ kind = \"{kind}\" }} }}"
        );
        let tables = run(&bearers);
        let delivered = rows(&tables, "deliveries", ["time_ns", "flow"]).into_iter();
        let busy = delivered.filter(|row| row[0].parse::<u64>().unwrap() > 3_000_000_000);
        let to_mover = busy.filter(|row| row[1] == "to-mover").count();
        // Half of the cell, 243 packets a second.
        assert!((220..260).contains(&to_mover), "{kind}: {to_mover}");
    }
}

#[test]
fn a_link_can_have_them() {
    for kind in KINDS {
        let slow = format!("rate = \"4 Mbit/s\", delay = \"1 ms\", queue = {{ kind = \"{kind}\" }}");
        let text = SCENARIO.replacen("rate = \"100 Mbit/s\", delay = \"1 ms\"", &slow, 2);
        let tables = results(&text.replace("QUEUE", "{ kind = \"droptail\" }"), DRAW);
        let losses = rows(&tables, "drops", ["place"]).into_iter().filter(|[place]| place.contains("->"));
        let sampled = rows(&tables, "queue", ["queue"]).into_iter().filter(|[queue]| queue.contains("ch"));
        assert!(sampled.count() > 100, "{kind}");
        assert!(losses.count() > 0 || kind == "rlc", "{kind}");
    }
}

#[test]
fn a_discard_timer_bounds_what_is_forwarded() {
    let released = |queue: &str| {
        let old = "queue = { kind = \"droptail\", limit = \"300 pkt\" }";
        let overloaded = SCENARIO
            .replace("3 Mbit/s", "6 Mbit/s")
            .replace("400 pkt", "4000 pkt")
            .replace(old, &format!("queue = {queue}"));
        let tables = results(&overloaded.replace("QUEUE", "{ kind = \"droptail\" }"), DRAW);
        rows(&tables, "releases", ["flow"]).len()
    };
    let (all, young) =
        (released("{ kind = \"rlc\" }"), released("{ kind = \"rlc\", discard_timer = \"100 ms\" }"));
    // 2 Mbit/s too much for 1.9 s are 462 packets of 1,028 B; of these 49 are younger than 100 ms.
    assert!((350..450).contains(&(all - young)), "{young} and {all}");
}

#[test]
fn an_l4s_flow_is_marked_in_time_and_a_classic_one_keeps_its_share() {
    let tcp = |flow: &str, variant: &str| {
        format!(
            "[[flows]]\nname = \"{flow}\"\npath = [\"ch\", \"resident\"]\ntransport = {{ kind = \"tcp\", variant = \"{variant}\", window = \"200 pkt\" }}\napp = {{ kind = \"ftp\", start = \"100 ms\" }}\n"
        )
    };
    let network = SCENARIO
        .split("[[flows]]")
        .next()
        .unwrap()
        .replace("\"4 s\"", "\"8 s\"")
        .replace("QUEUE", "{ kind = \"dualpi2\" }");
    let text = format!(
        "{network}{}{}[record]\npackets = true\n",
        tcp("scalable", "prague"),
        tcp("classic", "cubic")
    );
    let tables = results(&text, DRAW);
    let marks = rows(&tables, "packets", ["event", "flow"]);
    assert!(marks.iter().filter(|row| row[0] == "mark" && row[1] == "scalable").count() > 50);
    assert!(!marks.iter().any(|row| row[0] == "mark" && row[1] == "classic"));
    let delivered = rows(&tables, "deliveries", ["time_ns", "flow"]);
    let share = |flow: &str| {
        delivered
            .iter()
            .filter(|row| row[1] == flow && row[0].parse::<u64>().unwrap() > 3_000_000_000)
            .count()
    };
    let (scalable, classic) = (share("scalable"), share("classic"));
    assert!(classic * 5 > scalable && scalable * 5 > classic, "{scalable} and {classic}");
    let coupled = rows(&tables, "queue", ["coupled"])
        .into_iter()
        .any(|[coupled]| coupled.parse::<f64>().unwrap() > 0.0);
    assert!(coupled);
}
