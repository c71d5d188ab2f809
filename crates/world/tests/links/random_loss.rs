//! Random loss on wired links, backhauls and air links: how much, in which bursts, and what it leaves alone.

use crate::lab::{results, rows};
use roamlab_world::{Replication, Scenario, Table};

const DRAW: Replication = Replication { seed: 1, run: 0, trace: None };

const BURSTS: &str = "{ kind = \"gilbert-elliott\", good_to_bad = 0.01, bad_to_good = 0.25 }";

/// 20,000 datagrams from `a` to `b`, and as many back, over a link with these fields.
fn both_ways(link: &str) -> Vec<Table> {
    results(
        &format!(
            r#"
            run = {{ duration = "21 s" }}
            links = [{{ between = ["a", "b"], rate = "10 Mbit/s", delay = "2 ms", {link} }}]
            flows = [
              {{ name = "there", path = ["a", "b"], app = {{ kind = "cbr", rate = "1 Mbit/s", packet = "125 B", packets = "20000 pkt" }} }},
              {{ name = "back", path = ["b", "a"], app = {{ kind = "cbr", rate = "1 Mbit/s", packet = "125 B", packets = "20000 pkt" }} }},
            ]
            "#
        ),
        DRAW,
    )
}

/// The numbers of the packets that this place lost at random.
fn lost(tables: &[Table], place: &str) -> Vec<u32> {
    let rows = rows(tables, "drops", ["reason", "place", "seq"]);
    let here = rows.iter().filter(|row| row[0] == "random-loss" && row[1] == place);
    here.map(|row| row[2].parse().unwrap()).collect()
}

fn bursts(lost: &[u32]) -> Vec<usize> {
    lost.chunk_by(|before, after| before + 1 == *after).map(<[u32]>::len).collect()
}

#[test]
fn a_number_loses_that_share_of_each_direction_independently() {
    let tables = both_ways("loss = 0.05");
    for place in ["a->b", "b->a"] {
        // 1000 and four standard deviations; a burst has 1 / 0.95 packets on average.
        let lost = lost(&tables, place);
        assert!((877..=1123).contains(&lost.len()), "{place}: {}", lost.len());
        let bursts = bursts(&lost);
        let mean = lost.len() as f64 / bursts.len() as f64;
        assert!((mean - 1.0 / 0.95).abs() < 4.0 * 0.2354 / (bursts.len() as f64).sqrt(), "{place}: {mean}");
    }
    assert_ne!(lost(&tables, "a->b"), lost(&tables, "b->a"), "each direction has its own stream");
    let delivered: Vec<u32> =
        rows(&tables, "flows", ["delivered_pkts"]).iter().map(|[n]| n.parse().unwrap()).collect();
    assert_eq!(delivered[0] as usize, 20_000 - lost(&tables, "a->b").len());
}

#[test]
fn gilbert_elliott_loses_in_bursts_and_the_way_back_can_be_another() {
    let tables = both_ways(&format!("loss = {BURSTS}, reverse_loss = 0"));
    assert!(lost(&tables, "b->a").is_empty());
    let lost = lost(&tables, "a->b");
    // Mean 1/26 of 20,000; the variance of the chain's mean as in the model's own test.
    assert!((769.0 - lost.len() as f64).abs() < 4.0 * 71.0, "{}", lost.len());
    let bursts = bursts(&lost);
    let mean = lost.len() as f64 / bursts.len() as f64;
    assert!((mean - 4.0).abs() < 4.0 * 3.46 / (bursts.len() as f64).sqrt(), "{mean}");
}

#[test]
fn a_lost_packet_has_taken_its_time_on_the_link() {
    let busy = |link| rows(&both_ways(link), "links", ["link", "busy_ns", "offered_pkts"]);
    assert_eq!(busy("loss = 0.3"), busy(""));
}

#[test]
fn a_loss_of_zero_is_the_same_run_as_none() {
    assert_eq!(both_ways("loss = 0.0"), both_ways(""));
    assert_eq!(both_ways("loss = 0.01, reverse_loss = 0"), both_ways("loss = 0.01, reverse_loss = 0.0"));
}

/// A RED queue under random traffic on one link, and a link next to it with or without random loss.
fn beside(link: &str) -> Vec<[String; 3]> {
    let source = format!(
        r#"
        run = {{ duration = "20 s" }}
        [[links]]
        between = ["a", "b"]
        rate = "1 Mbit/s"
        delay = "10 ms"
        queue = {{ kind = "red", limit = "30 pkt", min_threshold = "5 pkt", max_threshold = "15 pkt" }}
        [[links]]
        between = ["b", "c"]
        rate = "1 Mbit/s"
        delay = "10 ms"
        [[links]]
        between = ["c", "d"]
        rate = "1 Mbit/s"
        delay = "10 ms"
        {link}
        [[flows]]
        name = "file"
        path = ["a", "b"]
        transport = {{ kind = "tcp", variant = "reno", window = "64 pkt" }}
        app = {{ kind = "ftp" }}
        [[flows]]
        name = "talk"
        path = ["a", "b"]
        app = {{ kind = "cbr", rate = "300 kbit/s", packet = "200 B", start_within = "1 s" }}
        [[flows]]
        name = "other"
        path = ["c", "d"]
        app = {{ kind = "cbr", rate = "80 kbit/s", packet = "200 B" }}
        "#
    );
    let all = rows(&results(&source, DRAW), "deliveries", ["flow", "time_ns", "seq"]);
    all.into_iter().filter(|row| row[0] != "other").collect()
}

#[test]
fn random_loss_changes_no_other_random_number() {
    let without = beside("");
    assert!(without.len() > 1000);
    assert_eq!(beside("loss = 0.2"), without);
    assert_eq!(beside(&format!("loss = {BURSTS}")), without);
}

const CELL: &str = r#"
run = { duration = "20 s" }
links = [{ between = ["ch", "fa"], rate = "10 Mbit/s", delay = "5 ms" }]
hosts = [{ name = "mh", home = "fa", visits = [{ cell = "bs", at = "0 s" }] }]
mobility = { kind = "mobile-ip" }
[cells.bs]
router = "fa"
rate = "2 Mbit/s"
delay = "2 ms"
queue = { kind = "droptail" }
backhaul = { rate = "10 Mbit/s", delay = "1 ms" }
[[flows]]
name = "call"
path = ["ch", "mh"]
two_way = true
app = { kind = "cbr", rate = "160 kbit/s", packet = "200 B", start = "2 s" }
"#;

#[test]
fn cells_and_backhauls_lose_in_each_direction() {
    let cell = |air: &str, backhaul: &str| {
        let text = CELL.replace("router = \"fa\"", &format!("router = \"fa\"\n{air}"));
        let tables = results(&text.replace("delay = \"1 ms\"", &format!("delay = \"1 ms\"{backhaul}")), DRAW);
        ["bs/air", "mh->bs", "fa->bs", "bs->fa"].map(|place| lost(&tables, place).len())
    };
    // 1,800 datagrams each way, and some signalling.
    let within = |count: usize, share: f64| {
        let mean = 1800.0 * share;
        (count as f64 - mean).abs() < 4.0 * (mean * (1.0 - share)).sqrt() + 2.0
    };
    let both = cell("loss = 0.1", "");
    assert!(within(both[0], 0.1) && within(both[1], 0.1) && both[2..] == [0, 0], "{both:?}");
    let up = cell("loss = 0\nreverse_loss = 0.2", "");
    assert!(up[0] == 0 && within(up[1], 0.2), "{up:?}");
    let backhaul = cell("", ", loss = 0.1, reverse_loss = 0.3");
    assert!(backhaul[..2] == [0, 0] && within(backhaul[2], 0.1) && within(backhaul[3], 0.3), "{backhaul:?}");
}

#[test]
fn signalling_is_lost_too_and_the_causes_say_so() {
    let tables = results(&CELL.replace("router = \"fa\"", "router = \"fa\"\nloss = 0.3"), DRAW);
    let causes = rows(&tables, "causes", ["kind", "name", "place", "cause"]);
    let losses: Vec<_> = causes.iter().filter(|row| row[0] == "loss" && row[1] == "random-loss").collect();
    assert!(losses.iter().all(|row| row[3] == "-1"), "a random loss is a root");
    let drops = rows(&tables, "drops", ["reason", "flow"]);
    assert!(drops.iter().any(|row| row[0] == "random-loss" && row[1] == "signalling"), "{drops:?}");
    assert_eq!(losses.len(), drops.iter().filter(|row| row[0] == "random-loss").count());
}

#[test]
fn a_topology_gives_its_links_and_cells_the_loss() {
    let text = r#"
        run = { duration = "1 s" }
        [[topology]]
        kind = "line"
        name = "n"
        nodes = 3
        link = { rate = "1 Mbit/s", delay = "1 ms", loss = 0.01 }
        [topology.cells]
        rate = "1 Mbit/s"
        delay = "1 ms"
        queue = { kind = "droptail" }
        loss = 0.02
        reverse_loss = 0
        backhaul = { rate = "1 Mbit/s", delay = "1 ms", loss = 0.03 }
    "#;
    let scenario = Scenario::parse(text, "line.toml").expect("a valid scenario");
    let expected: Vec<String> = scenario.links.iter().map(|link| format!("{:?}", link.loss)).collect();
    assert_eq!(expected, ["Some(Independent(0.01))"; 2]);
    for cell in scenario.cells.values() {
        assert_eq!(
            format!("{:?} {:?}", cell.loss, cell.reverse_loss),
            "Some(Independent(0.02)) Some(Independent(0.0))"
        );
        assert_eq!(format!("{:?}", cell.backhaul.loss), "Some(Independent(0.03))");
    }
    let bad = Scenario::parse(&text.replace("loss = 0.01", "loss = 1"), "line.toml").unwrap_err().to_string();
    assert!(bad.contains("topology[0].link.loss") && bad.contains("write for 1 % `loss = 0.01`"), "{bad}");
}
