//! Soft handover: a host in two cells for a while, through whole runs.

use crate::lab::{results, rows};
use roamlab_world::{Replication, Table};

/// Datagrams each 10 ms, both ways, to and from a host that changes cells at 3 s and at 6 s.
const NETWORK: &str = r#"
[run]
duration = "9 s"
[mobility]
kind = "mobile-ip"
local_handoff = false
route_optimisation = false
smooth_handoff = false
advertisement_interval = "50 ms"
[[links]]
between = ["ch", "ha"]
rate = "10 Mbit/s"
delay = "5 ms"
[[links]]
between = ["ha", "r1"]
rate = "10 Mbit/s"
delay = "2 ms"
[[links]]
between = ["ha", "r2"]
rate = "10 Mbit/s"
delay = "2 ms"
[[hosts]]
name = "mh"
home = "ha"
visits = [{ cell = "bs1", at = "0 s" }, { cell = "bs2", at = "3 s" }, { cell = "bs1", at = "6 s" }]
[[flows]]
name = "down"
path = ["ch", "mh"]
app = { kind = "cbr", start = "1 s", stop = "8 s", rate = "80 kbit/s", packet = "100 B" }
[[flows]]
name = "up"
path = ["mh", "ch"]
app = { kind = "cbr", start = "1.004 s", stop = "8 s", rate = "80 kbit/s", packet = "100 B" }
"#;

fn run(radio: &str) -> Vec<Table> {
    let mut text = format!("{NETWORK}[radio]\n{radio}\n");
    for (cell, router) in [("bs1", "r1"), ("bs2", "r2")] {
        text += &format!(
            "[cells.{cell}]\nrouter = \"{router}\"\nrate = \"2 Mbit/s\"\ndelay = \"3 ms\"\n\
             queue = {{ kind = \"droptail\" }}\nbackhaul = {{ rate = \"10 Mbit/s\", delay = \"1 ms\" }}\n"
        );
    }
    results(&text, Replication { seed: 1, run: 0, trace: None })
}

/// Of a flow: sent, delivered for the first time, duplicates.
fn totals(tables: &[Table], flow: &str) -> [u64; 3] {
    let rows = rows(tables, "flows", ["flow", "sent_pkts", "delivered_pkts", "duplicate_pkts"]);
    let [_, counts @ ..] = rows.into_iter().find(|[name, ..]| name == flow).unwrap();
    counts.map(|count| count.parse().unwrap())
}

fn census(tables: &[Table], what: &str) -> u64 {
    let rows = rows(tables, "census", ["name", "value"]);
    rows.into_iter().find(|[name, _]| name == what).unwrap()[1].parse().unwrap()
}

/// Packets that were offered to each uplink.
fn uplinks(tables: &[Table]) -> [u64; 2] {
    let rows = rows(tables, "links", ["link", "offered_pkts"]);
    ["mh->bs1", "mh->bs2"].map(|link| {
        let row = rows.iter().find(|[name, _]| name == link).unwrap();
        row[1].parse().unwrap()
    })
}

#[test]
fn an_overlap_that_covers_the_registration_loses_nothing() {
    let lost = |radio: &str| {
        let [sent, delivered, _] = totals(&run(radio), "down");
        sent - delivered
    };
    // The next advertisement, 50 ms at most, and the registration at the home agent, some 15 ms: until then packets come
    // through the old cell.
    let hard = lost("kind = \"hard\"");
    assert!((4..=16).contains(&hard), "two handovers: {hard}");
    assert_eq!(lost("kind = \"soft\"\noverlap = \"100 ms\""), 0);
    let short = lost("kind = \"soft\"\noverlap = \"20 ms\"");
    assert!(0 < short && short < hard, "{short}");
}

#[test]
fn the_uplink_is_the_one_that_is_chosen() {
    let sent = |uplink: &str| {
        let tables = run(&format!("kind = \"soft\"\noverlap = \"400 ms\"\nuplink = \"{uplink}\""));
        (uplinks(&tables), totals(&tables, "up"), census(&tables, "duplicated"))
    };
    let (newest, [offered, delivered, again], copies) = sent("newest");
    assert_eq!((offered, delivered, again, copies), (700, 700, 0, 0));
    let (oldest, [offered, delivered, again], copies) = sent("oldest");
    assert_eq!((offered, delivered, again, copies), (700, 700, 0, 0));
    // It changes over 400 ms, or 40 datagrams, later, from and to either cell.
    assert_eq!((newest, oldest), ([400, 300], [400, 300]));
    let (all, [offered, delivered, again], copies) = sent("all");
    assert_eq!((offered, delivered), (700, 700));
    assert_eq!(again, 80, "copies of what it sends in 2 x 400 ms");
    assert_eq!(all, [440, 340], "40 in each cell");
    // Copies of its signalling are among them, but signalling is not among what queues are offered.
    assert!((80..=86).contains(&copies), "{copies}");
}
