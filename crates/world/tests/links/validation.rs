//! Closed forms: queueing theory and sums by hand against the simulated world.

use crate::lab::{results, rows};
use roamlab_world::Replication;

const DRAW: Replication = Replication { seed: 1, run: 0, trace: None };

/// (time, sequence number) of each delivery of the only flow.
fn deliveries(text: &str) -> Vec<(u64, u64)> {
    let rows = rows(&results(text, DRAW), "deliveries", ["time_ns", "seq"]);
    rows.into_iter().map(|[time, seq]| (time.parse().unwrap(), seq.parse().unwrap())).collect()
}

#[test]
fn one_packet_takes_serialisation_and_propagation_at_each_hop() {
    let text = r#"
        run = { duration = "2 s" }
        links = [
            { between = ["a", "b"], rate = "10 Mbit/s", delay = "40 ms" },
            { between = ["b", "c"], rate = "3 Mbit/s", delay = "1 ns" },
            { between = ["c", "d"], rate = "56 kbit/s", delay = "0 s" },
            { between = ["d", "e"], rate = "2 Gbit/s", delay = "63 us" },
        ]
        [[flows]]
        name = "one"
        path = ["a", "e"]
        app = { kind = "cbr", start = "0.1 s", stop = "0.1001 s", rate = "80 kbit/s", packet = "200 B" }
    "#;
    // 1600 bit at each rate, rounded down to the nanosecond: a packet that finds a link idle owes it nothing.
    let serialisation = [160_000, 533_333, 28_571_428, 800];
    let propagation = [40_000_000, 1, 0, 63_000];
    let expected = 100_000_000 + serialisation.iter().sum::<u64>() + propagation.iter().sum::<u64>();
    assert_eq!(deliveries(text), [(expected, 0)]);
}

#[test]
fn a_link_carries_remainders_through_a_train() {
    let text = r#"
        run = { duration = "2 s" }
        links = [{ between = ["a", "b"], rate = "3 Mbit/s", delay = "5 ms" }]
        [[flows]]
        name = "train"
        path = ["a", "b"]
        app = { kind = "cbr", stop = "2.4 ms", rate = "1 Gbit/s", packet = "1000 B" }
    "#;
    // 8000 bit at 3 Mbit/s are 2 666 666 2/3 ns: the k-th packet of the train ends at the whole nanosecond below.
    let expected: Vec<(u64, u64)> =
        (0..300).map(|k| (5_000_000 + (k + 1) * 8_000_000_000 / 3_000, k)).collect();
    assert_eq!(deliveries(text), expected);
    assert_eq!(expected[299].0, 805_000_000, "300 packets of 8000 bit at 3 Mbit/s last 0.8 s");
}

/// Sent and lost datagrams of a source of `rate` behind a link of 1 Mbit/s with room for `limit` packets.
fn loss(rate: &str, limit: u32) -> (u64, u64) {
    let text = format!(
        r#"
        run = {{ duration = "20 s" }}
        links = [{{ between = ["a", "b"], rate = "1 Mbit/s", delay = "1 ms",
                    queue = {{ kind = "droptail", limit = "{limit} pkt" }} }}]
        [[flows]]
        name = "load"
        path = ["a", "b"]
        app = {{ kind = "cbr", stop = "10 s", rate = "{rate}", packet = "500 B" }}
        "#
    );
    let tables = results(&text, DRAW);
    let [flow] = rows(&tables, "flows", ["sent_pkts", "delivered_pkts", "dropped_pkts"]).try_into().unwrap();
    let [sent, delivered, dropped] = flow.map(|value| value.parse::<u64>().unwrap());
    assert_eq!(sent, delivered + dropped, "ten seconds later nothing is left inside");
    (sent, dropped)
}

#[test]
fn constant_bit_rate_through_a_bottleneck_loses_exactly_what_does_not_fit() {
    const SERVICE: u64 = 4_000_000; // 4000 bit at 1 Mbit/s, in ns
    for (rate, interval, limit) in [
        ("0.9 Mbit/s", 4_444_444, 5),
        ("1 Mbit/s", 4_000_000, 5),
        ("1.25 Mbit/s", 3_200_000, 5),
        ("1.5 Mbit/s", 2_666_666, 50),
        ("2 Mbit/s", 2_000_000, 1),
        ("10 Mbit/s", 400_000, 50),
    ] {
        let (sent, dropped) = loss(rate, limit);
        // By the last arrival the link has finished floor(t / S) packets, holds one more, and the queue is full.
        let last = (sent - 1) * interval;
        let room = 1 + u64::from(limit) + last / SERVICE;
        assert_eq!(dropped, sent.saturating_sub(room), "{rate}: of {sent}");
        assert_eq!(dropped == 0, interval >= SERVICE, "{rate}");
    }
}

#[test]
fn an_unloaded_tcp_gets_a_window_a_round_trip() {
    for (window, delay_ms, segment) in [(20, 25, 1000), (64, 45, 512), (7, 100, 1460)] {
        let text = format!(
            r#"
            run = {{ duration = "20 s", profile = "rfc" }}
            links = [{{ between = ["a", "b"], rate = "1 Gbit/s", delay = "{delay_ms} ms" }}]
            [[flows]]
            name = "file"
            path = ["a", "b"]
            transport = {{ kind = "tcp", window = "{window} pkt", segment = "{segment} B", delayed_ack = "0 s" }}
            app = {{ kind = "ftp" }}
            "#
        );
        let times: Vec<u64> = deliveries(&text).into_iter().map(|(time, _)| time).collect();
        let steady = times.iter().filter(|&&time| time >= 10_000_000_000).count() as f64;
        let goodput = steady * segment as f64 * 8.0 / 10.0;
        // Header and ACK of 40 B each count in the round trip, not in the goodput.
        let round_trip = 2.0 * delay_ms as f64 / 1e3 + ((segment + 40 + 40) * 8) as f64 / 1e9;
        let expected = (window * segment * 8) as f64 / round_trip;
        assert!(
            (goodput / expected - 1.0).abs() < 0.01,
            "window {window}: {goodput} bit/s, the law gives {expected}"
        );
    }
}
