//! The way of a packet, stop by stop, as `docs/follow-a-packet.md` tells it. The traces are goldens, so that the
//! page cannot go stale.

use crate::lab::{results, rows};
use roamlab_world::Replication;
use std::path::Path;

const MBLUE: &str = include_str!("../../../python/roamlab/papers/mblue/scenario.toml");
const PAGE: &str = include_str!("../../../docs/follow-a-packet.md");

/// The stops, in order.
const STOPS: [&str; 13] = [
    "app.offer",
    "tcp.poll_transmit",
    "node.send",
    "node.forward",
    "tunnel.encap",
    "link.enqueue",
    "qdisc.enqueue",
    "link.tx_done",
    "link.arrive",
    "node.receive",
    "tunnel.decap",
    "tcp.on_segment",
    "app.deliver",
];

/// Where a packet may wait or end, and what UDP calls its two stops.
const OTHER_STOPS: [&str; 5] = ["buffer.hold", "buffer.release", "drop", "udp.datagram", "udp.on_datagram"];

fn short() -> String {
    MBLUE.replace("duration = \"40 s\"", "duration = \"12 s\"")
}

fn number(text: &str) -> u64 {
    text.parse().unwrap()
}

/// The lines of a packet's trace: time, stop, place, serial, wire bytes, tunnels, detail.
fn trace(text: &str, serial: u64) -> Vec<[String; 7]> {
    let tables = results(text, Replication { trace: Some(serial), ..Replication::default() });
    rows(&tables, "trace", ["time_ns", "stop", "place", "serial", "wire_bytes", "tunnels", "detail"])
}

/// The trace as it is printed; times in seconds.
fn printed(trace: &[[String; 7]]) -> String {
    let line = |[time, stop, place, serial, bytes, tunnels, detail]: &[String; 7]| {
        let time = number(time);
        let (secs, nanos) = (time / 1_000_000_000, time % 1_000_000_000);
        let line =
            format!("{secs:>2}.{nanos:09} {stop:<17} {place:<9} {serial:>6} {bytes:>4} {tunnels} {detail}");
        line.trim_end().to_owned() + "\n"
    };
    trace.iter().map(line).collect()
}

fn golden(name: &str, content: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../../tests/golden/world");
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(name, content));
}

fn stops(trace: &[[String; 7]]) -> Vec<&str> {
    trace.iter().map(|line| line[1].as_str()).collect()
}

/// True if all of `wanted` pass in this order, others in between.
fn in_order(stops: &[&str], wanted: &[&str]) -> bool {
    let mut stops = stops.iter();
    wanted.iter().all(|stop| stops.any(|other| other == stop))
}

#[test]
fn a_packet_that_meets_no_trouble_passes_the_thirteen_stops_in_order() {
    // Without route optimisation the way leads through the home agent, which forwards before it tunnels.
    let text = short().replace("route_optimisation = true", "route_optimisation = false");
    let tables = results(&text, Replication::default());
    let deliveries = rows(&tables, "deliveries", ["flow", "serial"]);
    let first = deliveries.iter().find(|row| row[0] == "moving").unwrap();
    let trace = trace(&text, number(&first[1]));
    assert!(in_order(&stops(&trace), &STOPS), "{:?}", stops(&trace));
    assert!(stops(&trace).iter().all(|stop| STOPS.contains(stop)), "no other stop: {:?}", stops(&trace));
    let times: Vec<u64> = trace.iter().map(|line| number(&line[0])).collect();
    assert!(times.is_sorted());
    // The segment is 512 B; the tunnel of the home agent adds 20 B until the foreign agent takes it off.
    assert!(trace.iter().all(|line| number(&line[4]) == 512 + 20 * number(&line[5])));
    golden("packet-without-trouble", &printed(&trace));
}

#[test]
fn a_packet_can_cross_a_handover_in_the_old_base_stations_buffer() {
    let tables = results(&short(), Replication::default());
    let phases = rows(&tables, "handovers", ["host", "phase", "time_ns"]);
    let time_of = |phase: &str| {
        let row =
            phases.iter().find(|row| row[0] == "mh" && row[1] == phase && number(&row[2]) >= 10_000_000_000);
        number(&row.unwrap()[2])
    };
    let (left, forwarding) = (time_of("link-down"), time_of("forwarding-started"));
    let deliveries = rows(&tables, "deliveries", ["flow", "serial", "sent_ns", "time_ns"]);
    let crossing = deliveries
        .iter()
        .find(|row| row[0] == "moving" && number(&row[2]) < left && number(&row[3]) > forwarding)
        .unwrap();
    let trace = trace(&short(), number(&crossing[1]));
    let crossed =
        ["qdisc.enqueue", "buffer.hold", "buffer.release", "tunnel.encap", "tunnel.decap", "app.deliver"];
    assert!(in_order(&stops(&trace), &crossed), "{:?}", stops(&trace));
    let at = |stop: &str, place: &str| trace.iter().find(|line| line[1] == stop && line[2] == place).unwrap();
    assert!(number(&at("buffer.hold", "bs1")[0]) >= left);
    assert!(number(&at("buffer.release", "bs1")[0]) >= forwarding);
    assert!(number(&at("link.arrive", "bs2/air")[0]) > forwarding, "it continues through the new cell");
    golden("packet-across-a-handover", &printed(&trace));
}

#[test]
fn a_datagram_passes_the_same_stops_under_the_names_of_udp() {
    let text = r#"
        run = { duration = "1 s" }
        links = [{ between = ["a", "b"], rate = "1 Mbit/s", delay = "1 ms" }]
        [[flows]]
        name = "one"
        path = ["a", "b"]
        app = { kind = "cbr", stop = "1 ms", rate = "80 kbit/s", packet = "200 B" }
    "#;
    let trace = trace(text, 1);
    let expected = [
        "app.offer",
        "udp.datagram",
        "node.send",
        "link.enqueue",
        "qdisc.enqueue",
        "link.tx_done",
        "link.arrive",
        "node.receive",
        "udp.on_datagram",
        "app.deliver",
    ];
    assert_eq!(stops(&trace), expected);
}

#[test]
fn a_link_without_length_shows_all_its_stops() {
    let text = r#"
        run = { duration = "1 s" }
        links = [{ between = ["a", "b"], rate = "1 Mbit/s", delay = "0 s" }]
        [[flows]]
        name = "one"
        path = ["a", "b"]
        app = { kind = "cbr", stop = "1 ms", rate = "80 kbit/s", packet = "200 B" }
    "#;
    assert!(in_order(&stops(&trace(text, 1)), &["qdisc.enqueue", "link.tx_done", "link.arrive"]));
}

#[test]
fn a_lost_packet_ends_with_the_reason() {
    let text = r#"
        run = { duration = "1 s" }
        links = [{ between = ["a", "b"], rate = "1 kbit/s", delay = "1 ms",
                   queue = { kind = "droptail", limit = "1 pkt" } }]
        [[flows]]
        name = "flood"
        path = ["a", "b"]
        app = { kind = "cbr", rate = "80 kbit/s", packet = "200 B" }
    "#;
    let trace = trace(text, 3);
    let last = trace.last().unwrap();
    assert_eq!((last[1].as_str(), last[2].as_str(), last[6].as_str()), ("drop", "a->b", "queue-overflow"));
}

#[test]
fn the_page_names_every_stop_and_links_to_files_that_exist() {
    for stop in STOPS.iter().chain(&OTHER_STOPS) {
        assert!(PAGE.contains(&format!("`{stop}`")), "the page does not name {stop}");
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let links: Vec<&str> = PAGE
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|link| !link.starts_with("http"))
        .collect();
    for link in &links {
        assert!(docs.join(link).exists(), "the page links to {link}, which is not there");
    }
    assert!(links.len() >= STOPS.len(), "each stop has its file");
    let headings: Vec<&str> =
        PAGE.lines().filter_map(|line| line.strip_prefix("## ")).filter(|line| line.contains('`')).collect();
    let walked: Vec<&str> = headings.iter().flat_map(|line| line.split('`').skip(1).step_by(2)).collect();
    assert!(in_order(&walked, &STOPS), "the page walks the stops in order: {walked:?}");
}
