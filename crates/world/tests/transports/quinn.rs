//! Flows over quinn-proto, against our own model of QUIC.

use crate::lab::{results, rows};
use roamlab_world::{Replication, RunOptions, Scenario, Table, run_alternatives};

const DRAW: Replication = Replication { seed: 1, run: 0, trace: None };
const MOVE: &str = include_str!("../../../../examples/quic.toml");

/// A plain link of 10 Mbit/s and 20 ms each way, and a flow from `a` to `b` over this transport.
fn link(transport: &str, app: &str) -> String {
    format!(
        "[run]\nduration = \"20 s\"\n[[links]]\nbetween = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n\
         queue = {{ kind = \"droptail\", limit = \"60 pkt\" }}\n[[flows]]\nname = \"download\"\npath = [\"a\", \"b\"]\n\
         transport = {transport}\napp = {app}\n"
    )
}

/// The example with a move, over this transport.
fn moving(transport: &str) -> String {
    MOVE.replace("transport = { kind = \"quic\", migration = \"rfc\" }", &format!("transport = {transport}"))
}

fn number(tables: &[Table], table: &str, column: &str) -> f64 {
    rows(tables, table, [column])[0][0].parse().unwrap()
}

/// Mbit/s of new data from 5 s on.
fn steady(tables: &[Table], until: f64) -> f64 {
    let payload = number(tables, "flows", "delivered_bytes") / number(tables, "flows", "delivered_pkts");
    let late = |row: &&[String; 2]| row[1] == "true" && row[0].parse::<f64>().unwrap() >= 5e9;
    let packets = rows(tables, "deliveries", ["time_ns", "fresh"]).iter().filter(late).count();
    packets as f64 * payload * 8.0 / 1e6 / (until - 5.0)
}

const FTP: &str = "{ kind = \"ftp\" }";

#[test]
fn the_same_seed_gives_the_same_tables() {
    for text in [link("{ kind = \"quinn\" }", FTP), moving("{ kind = \"quinn\", migration = true }")] {
        let first = results(&text, DRAW);
        assert_eq!(first, results(&text, DRAW));
        assert!(rows(&first, "deliveries", ["time_ns"]).len() > 5000, "it did something");
        assert_ne!(
            first,
            results(&text, Replication { seed: 2, ..DRAW }),
            "another seed, other random numbers"
        );
    }
}

#[test]
fn a_plain_link_is_used_as_by_our_own_quic() {
    let goodput = |transport| steady(&results(&link(transport, FTP), DRAW), 20.0);
    for (quinn, own) in [
        (
            "{ kind = \"quinn\", congestion_control = \"new-reno\" }",
            "{ kind = \"quic\", migration = \"quinn\" }",
        ),
        (
            "{ kind = \"quinn\" }",
            "{ kind = \"quic\", migration = \"quinn\", congestion_control = \"cubic\" }",
        ),
    ] {
        let (quinn, own) = (goodput(quinn), goodput(own));
        println!("quinn {quinn:.3} Mbit/s, quic {own:.3} Mbit/s, {:+.2} %", 100.0 * (quinn / own - 1.0));
        assert!((quinn / own - 1.0).abs() < 0.01, "quinn {quinn}, quic {own}");
    }
}

#[test]
fn a_file_arrives_as_a_whole_in_either_direction() {
    for host in ["[\"server\", \"phone\"]", "[\"phone\", \"server\"]"] {
        let text = moving("{ kind = \"quinn\", migration = true }").replace("[\"server\", \"phone\"]", host);
        let text = text.replace("start = \"0.1 s\"", "start = \"0.1 s\", size = \"4 MB\"");
        let tables = results(&text, DRAW);
        // 3452 segments of 1159 B.
        assert_eq!(number(&tables, "flows", "delivered_bytes"), 3452.0 * 1159.0, "{host}");
        assert!(number(&tables, "flows", "completed_ns") > 3e9, "{host}");
    }
}

#[test]
fn the_server_begins_a_new_window_after_a_move() {
    let tables = results(&moving("{ kind = \"quinn\", migration = true }"), DRAW);
    let events = rows(&tables, "tcp", ["time_ns", "event", "cwnd"]);
    let migrations: Vec<_> = events.iter().filter(|row| row[1] == "migration").collect();
    let [migration] = migrations[..] else { panic!("{migrations:?}") };
    let seconds = migration[0].parse::<f64>().unwrap() / 1e9;
    // The phone is in the new cell at 6.3 s, and its PING takes half a round trip of 42 ms.
    assert!((6.32..6.33).contains(&seconds), "{seconds}");
    // quinn's initial window: 14720 B, or ten packets.
    assert!(f64::from_bits(migration[2].parse().unwrap()) <= 12.3, "{migration:?}");
    let fixed = results(&moving("{ kind = \"quinn\" }"), DRAW);
    assert!(rows(&fixed, "tcp", ["event"]).iter().all(|row| row[0] != "migration"));
}

#[test]
fn a_move_costs_what_our_own_policy_of_quinn_s_server_does() {
    // New data after the phone's arrival at 6.3 s: when it begins, and packets in a second from then on.
    let after = |transport: &str| {
        let tables = results(&moving(transport), DRAW);
        let fresh =
            rows(&tables, "deliveries", ["time_ns", "fresh"]).into_iter().filter(|row| row[1] == "true");
        let times: Vec<f64> = fresh.map(|row| row[0].parse::<f64>().unwrap() / 1e9).collect();
        let first = *times.iter().find(|&&time| time > 6.3).unwrap();
        (first, times.iter().filter(|&&time| (first..first + 1.0).contains(&time)).count() as f64)
    };
    let quinn = after("{ kind = \"quinn\", congestion_control = \"new-reno\", migration = true }");
    let own = after("{ kind = \"quic\", migration = \"quinn\" }");
    println!("after the move: quinn {quinn:?}, quic {own:?}");
    assert!((quinn.0 - own.0).abs() < 0.01 && (quinn.1 / own.1 - 1.0).abs() < 0.03, "{quinn:?} {own:?}");
}

#[test]
fn alternatives_share_no_beginning_because_a_connection_of_quinn_has_no_copy() {
    let parse = |text: &str| Scenario::parse(text, "quinn.toml").unwrap_or_else(|error| panic!("{error}"));
    let shared = |transport: &str| {
        let text = include_str!("../../../../examples/lte.toml");
        let tcp = "{ kind = \"tcp\", variant = \"reno\", window = \"44 pkt\", segment = \"1460 B\", min_rto = \"200 ms\" }";
        let text = text.replace(tcp, transport);
        let schemes = ["standard", "fast"].map(|scheme| format!("path_switch = \"{scheme}\""));
        let scenarios = schemes.map(|scheme| parse(&text.replace("path_switch = \"standard\"", &scheme)));
        let mut count = 0;
        let shared = run_alternatives(&scenarios.each_ref(), DRAW, &RunOptions::default(), |_, tables| {
            count += usize::from(tables.is_ok());
        });
        assert_eq!(count, 2);
        shared
    };
    assert_eq!(shared("{ kind = \"quic\", migration = \"rfc\" }"), 2);
    assert_eq!(shared("{ kind = \"quinn\", migration = true }"), 0);
}

#[test]
fn losses_are_repaired_and_told() {
    let tables = results(&link("{ kind = \"quinn\" }", FTP), DRAW);
    assert!(!rows(&tables, "drops", ["reason"]).is_empty());
    let kinds: Vec<String> = rows(&tables, "tcp", ["event"]).into_iter().map(|[event]| event).collect();
    for kind in ["window", "fast-retransmit"] {
        assert!(kinds.iter().any(|other| other == kind), "{kind}");
    }
    assert!(number(&tables, "flows", "retransmitted_pkts") > 0.0);
}
