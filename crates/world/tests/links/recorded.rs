//! Links that are driven by a recording, and hosts that are.

mod schedule;

use crate::lab::{results, rows};
use roamlab_scenario::Located;
use roamlab_world::{Replication, RunOptions, Scenario, run};

const DOWN: &str = include_str!("recorded/walk.down");
const UP: &str = include_str!("recorded/walk.up");
const DRAW: Replication = Replication { seed: 1, run: 0, trace: None };

fn files(path: &str) -> Result<String, String> {
    match path {
        "walk.down" => Ok(DOWN.into()),
        "walk.up" => Ok(UP.into()),
        "steady" => Ok("1\n".into()),
        "backwards" => Ok("1\n5\n4\n".into()),
        _ => Err("there is none".into()),
    }
}

fn parse(text: &str) -> Result<Scenario, Box<Located>> {
    Scenario::parse_with(text, "x.toml", &files)
}

/// When datagrams of a flow arrive, in ns, and their sizes.
fn arrivals(text: &str, flow: &str) -> Vec<(u64, u64)> {
    let tables = run(&parse(text).unwrap(), DRAW, &RunOptions::default()).unwrap();
    let rows = rows(&tables, "deliveries", ["flow", "time_ns", "bytes"]);
    let own = rows.into_iter().filter(|[name, ..]| name == flow);
    own.map(|[_, time, bytes]| (time.parse().unwrap(), bytes.parse().unwrap())).collect()
}

/// Opportunities of a trace after 0 and before `end`, in ns.
fn opportunities(trace: &str, end: u64) -> Vec<u64> {
    let times: Vec<u64> = trace.lines().map(|line| line.parse().unwrap()).collect();
    let period = times[times.len() - 1];
    let rounds = (0..).flat_map(|round| times.iter().map(move |time| (round * period + time) * 1_000_000));
    rounds.skip_while(|time| *time == 0).take_while(|time| *time < end).collect()
}

const PAIR: &str = r#"
    run = { duration = "13 s" }
    links = [{ between = ["a", "b"], rate = { trace = "walk.down", reverse = "walk.up" }, delay = "20 ms",
               queue = { kind = "droptail", limit = "50 pkt" } }]
    [[flows]]
    name = "load"
    two_way = true
    path = ["a", "b"]
    app = { kind = "cbr", rate = "60 Mbit/s", packet = "1500 B" }
"#;

#[test]
fn a_saturated_link_delivers_exactly_the_traces_opportunities() {
    // Three times through the one, five times through the other.
    for (flow, trace) in [("load", DOWN), ("load-back", UP)] {
        let times: Vec<u64> = arrivals(PAIR, flow).into_iter().map(|(time, _)| time - 20_000_000).collect();
        assert!(times == opportunities(trace, 12_980_000_000), "{flow}");
    }
}

#[test]
fn an_opportunity_a_millisecond_is_a_link_of_12_mbit_per_second() {
    let pair = |rate: &str| PAIR.replace(r#"{ trace = "walk.down", reverse = "walk.up" }"#, rate);
    let constant = results(&pair("\"12 Mbit/s\""), DRAW);
    let columns = ["flow", "time_ns", "seq"];
    let recorded = parse(&pair("{ trace = \"steady\" }")).unwrap();
    let recorded = run(&recorded, DRAW, &RunOptions::default()).unwrap();
    assert!(rows(&recorded, "deliveries", columns) == rows(&constant, "deliveries", columns));
}

#[test]
fn small_packets_share_an_opportunity_and_large_ones_take_several() {
    for size in [40, 200, 700, 2_000, 9_000] {
        let packets = 6_000_000 / size;
        let text = PAIR
            .replace("packet = \"1500 B\"", &format!("packet = \"{size} B\", packets = \"{packets} pkt\""));
        let text = text.replace("60 Mbit/s", "200 Mbit/s").replace("50 pkt", "200000 pkt");
        let found = arrivals(&text, "load");
        // The last byte of packet k is the k·size-th: it goes with the opportunity that holds it, as the link never idles.
        let all = opportunities(DOWN, 14_000_000_000);
        for (number, (time, bytes)) in found.iter().enumerate() {
            let last = (number as u64 + 1) * size;
            assert_eq!(
                (*time - 20_000_000, *bytes),
                (all[last.div_ceil(1500) as usize - 1], size),
                "{size} B, {number}"
            );
        }
        assert_eq!(found.len() as u64, packets);
    }
}

#[test]
fn the_air_of_a_cell_is_recorded_both_ways() {
    let text = r#"
        run = { duration = "9 s" }
        links = [{ between = ["a", "r"], rate = "1 Gbit/s", delay = "0 s" }]
        hosts = [{ name = "mh", home = "r", visits = [{ cell = "bs", at = "0 s" }] }]
        [cells.bs]
        router = "r"
        rate = { trace = "walk.down", reverse = "walk.up" }
        delay = "5 ms"
        queue = { kind = "droptail", limit = "50 pkt" }
        backhaul = { rate = "1 Gbit/s", delay = "0 s" }
        [mobility]
        kind = "mobile-ip"
        beacon_interval = "400 ms"
        [[flows]]
        name = "load"
        two_way = true
        path = ["a", "mh"]
        app = { kind = "cbr", start = "1 s", rate = "60 Mbit/s", packet = "1500 B" }
    "#;
    // Behind the uplink come two wires, 12 us of transmission each; before the downlink they do not count.
    for (flow, trace, behind) in [("load", DOWN, 5_000_000), ("load-back", UP, 5_024_000)] {
        let times: Vec<u64> = arrivals(text, flow).into_iter().map(|(time, _)| time - behind).collect();
        // Beacons and registrations go first: each takes a part of an opportunity, which shifts one packet to the next.
        let mut due = opportunities(trace, 8_995_000_000).into_iter().filter(|time| *time > 1_200_000_000);
        let times: Vec<u64> = times.into_iter().filter(|time| *time > 1_200_000_000).collect();
        assert!(
            times.iter().all(|time| due.any(|opportunity| opportunity == *time)),
            "{flow}: at opportunities only"
        );
        let all =
            opportunities(trace, 8_995_000_000).into_iter().filter(|time| *time > 1_200_000_000).count();
        assert!((0..=40).contains(&(all - times.len())), "{flow}: {} of {all}", times.len());
    }
}

/// The report about a text that is wrong.
fn report(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn a_bad_trace_is_a_located_error_of_its_file() {
    let told = report(&PAIR.replace("walk.up", "backwards"));
    assert!(told.starts_with("backwards:3:1: 4 ms is earlier than the line before, 5 ms"), "{told}");
    assert!(told.contains("= help: write a time from 5 on"), "{told}");
    assert!(
        !told.contains(" | "),
        "the file may be any that the scenario names: its lines are not shown: {told}"
    );
    let told = report(&PAIR.replace("walk.up", "nowhere"));
    assert!(told.starts_with("x.toml:3:"), "{told}");
    assert!(told.contains("field `links[0].rate.reverse`: the file \"nowhere\" cannot be read"), "{told}");
}

#[test]
fn the_digest_of_a_trace_is_part_of_the_scenario() {
    let resolved = parse(PAIR).unwrap().to_json();
    let file = |name: &str| {
        let at = resolved.find(&format!("{{\"path\":\"{name}\",\"digest\":\"")).unwrap();
        resolved[at..].split('"').nth(7).unwrap().to_owned()
    };
    let (down, up) = (file("walk.down"), file("walk.up"));
    assert_ne!(down, up);
    let with = |digest: &str| {
        PAIR.replace("\"walk.down\"", &format!("{{ path = \"walk.down\", digest = \"{digest}\" }}"))
    };
    assert_eq!(parse(&with(&down)).unwrap(), parse(PAIR).unwrap());
    let told = report(&with(&up));
    assert!(told.contains("field `links[0].rate.trace`") && told.contains("has another content"), "{told}");
}

#[test]
fn what_a_recorded_link_cannot_be_is_refused() {
    let changed = PAIR.replace(
        "delay = \"20 ms\",",
        "delay = \"20 ms\", changes = [{ at = \"1 s\", rate = \"1 bit/s\" }],",
    );
    assert!(report(&changed).contains("field `links[0].changes[0].rate`"), "{}", report(&changed));
    let typo = PAIR.replace("reverse =", "back =");
    assert!(report(&typo).contains("reverse"), "{}", report(&typo));
}
