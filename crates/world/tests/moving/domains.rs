//! Several agents at a node, and several mobility protocols in a run.

use crate::lab::{results, rows};
use roamlab_world::{Replication, Scenario, Table};

/// A correspondent, a home agent and two access routers, each with two cells.
const NETWORK: &str = r#"
[run]
duration = "9 s"
[[links]]
between = ["ch", "core"]
rate = "10 Mbit/s"
delay = "20 ms"
[[links]]
between = ["core", "ha"]
rate = "10 Mbit/s"
delay = "10 ms"
[[links]]
between = ["core", "r1"]
rate = "10 Mbit/s"
delay = "2 ms"
[[links]]
between = ["core", "r2"]
rate = "10 Mbit/s"
delay = "2 ms"
"#;

const CELLS: [(&str, &str); 4] = [("bs1", "r1"), ("bs2", "r2"), ("bs3", "r1"), ("bs4", "r2")];

/// A host with a datagram each 20 ms, in two cells by turns.
struct Host {
    name: &'static str,
    home: &'static str,
    cells: [&'static str; 2],
    /// When its datagrams begin.
    start: &'static str,
}

fn text(mobility: &str, hosts: &[Host]) -> String {
    let mut text = format!("{NETWORK}{mobility}\n");
    for (cell, router) in CELLS {
        text += &format!(
            "[cells.{cell}]\nrouter = \"{router}\"\nrate = \"2 Mbit/s\"\ndelay = \"3 ms\"\n\
             queue = {{ kind = \"droptail\" }}\nbackhaul = {{ rate = \"10 Mbit/s\", delay = \"1 ms\" }}\n"
        );
    }
    for Host { name, home, cells: [first, second], start } in hosts {
        text += &format!(
            "[[hosts]]\nname = \"{name}\"\nhome = \"{home}\"\nvisits = [{{ cell = \"{first}\", at = \"0 s\" }}, \
             {{ cell = \"{second}\", at = \"3 s\" }}, {{ cell = \"{first}\", at = \"6 s\" }}]\n\
             [[flows]]\nname = \"to-{name}\"\npath = [\"ch\", \"{name}\"]\n\
             app = {{ kind = \"cbr\", start = \"{start}\", stop = \"8 s\", rate = \"40 kbit/s\", packet = \"100 B\" }}\n"
        );
    }
    text
}

const A: Host = Host { name: "a", home: "ha", cells: ["bs1", "bs2"], start: "1 s" };
const B: Host = Host { name: "b", home: "core", cells: ["bs3", "bs4"], start: "1.01 s" };

fn at_its_home(name: &'static str) -> Host {
    Host { name, home: "r1", ..A }
}

fn run(text: &str) -> Vec<Table> {
    results(text, Replication { seed: 1, run: 0, trace: None })
}

/// (time in ms, node) of a phase of a host.
fn phases(tables: &[Table], host: &str, phase: &str) -> Vec<(u64, String)> {
    let rows = rows(tables, "handovers", ["time_ns", "host", "phase", "node"]).into_iter();
    let wanted = rows.filter(|[_, whose, which, _]| whose == host && which == phase);
    wanted.map(|[time, _, _, node]| (time.parse::<u64>().unwrap() / 1_000_000, node)).collect()
}

/// The losses of a flow's packets, with their reasons.
fn losses(tables: &[Table], flow: &str) -> Vec<[String; 3]> {
    let rows = rows(tables, "drops", ["flow", "reason", "place"]);
    rows.into_iter().filter(|[whose, reason, _]| whose == flow && reason != "copy-released").collect()
}

#[test]
fn home_agent_and_foreign_agent_at_one_node() {
    for (options, optimised) in [("", true), ("route_optimisation = false", false)] {
        let tables =
            run(&text(&format!("[mobility]\nkind = \"mobile-ip\"\n{options}"), &[at_its_home("mh")]));
        let registered = phases(&tables, "mh", "registered");
        assert_eq!(registered.len(), 3, "{registered:?}");
        let bound: Vec<String> =
            phases(&tables, "mh", "home-agent-registered").into_iter().map(|(_, node)| node).collect();
        assert_eq!(bound, ["r1", "r1", "r1"], "at, from and back at the foreign agent next to it");
        assert_eq!(losses(&tables, "to-mh"), [] as [[String; 3]; 0]);
        let delivered = rows(&tables, "flows", ["flow", "delivered_pkts", "duplicate_pkts"]);
        assert_eq!(delivered, [["to-mh", "350", "0"].map(String::from)]);
        // A message between the two is delivered immediately.
        let own: Vec<[String; 5]> =
            rows(&tables, "signalling", ["message", "source", "destination", "sent_ns", "arrived_ns"])
                .into_iter()
                .filter(|[_, source, destination, ..]| source == destination)
                .collect();
        let names: Vec<&str> = own.iter().map(|[name, ..]| name.as_str()).collect();
        for message in ["registration-request", "registration-reply"] {
            assert_eq!(names.iter().filter(|name| **name == message).count(), 2, "{names:?}");
        }
        assert!(own.iter().all(|[.., sent, arrived]| sent == arrived), "{own:?}");
        let informed = phases(&tables, "mh", "correspondent-informed");
        assert_eq!(informed.is_empty(), !optimised, "{informed:?}");
    }
}

const TWO: &str = r#"
[[mobility]]
kind = "mobile-ip"
domain = { cells = ["bs1", "bs2"], hosts = ["a"] }
[[mobility]]
kind = "mobile-ip"
local_handoff = false
solicitation = true
domain = { cells = ["bs3", "bs4"], hosts = ["b"] }
"#;

#[test]
fn two_protocols_with_hosts_of_their_own_do_not_know_of_each_other() {
    let both = run(&text(TWO, &[A, B]));
    assert_eq!(phases(&both, "b", "registered").len(), 3);
    let of_b = rows(&both, "signalling", ["message", "host"]).into_iter().filter(|[_, host]| host == "b");
    let of_b: Vec<String> = of_b.map(|[message, _]| message).collect();
    assert!(of_b.contains(&"agent-solicitation".into()) && !of_b.contains(&"handoff-request".into()));
    // Host "a" and its agents do as they do without the other protocol.
    let alone = run(&text(TWO.split("[[mobility]]\nkind = \"mobile-ip\"\nlocal").next().unwrap(), &[A]));
    let of_a = |tables: &[Table], table, columns: [&str; 4]| {
        let rows = rows(tables, table, columns).into_iter();
        rows.filter(|row| row.iter().any(|word| word == "a" || word == "to-a")).collect::<Vec<_>>()
    };
    for (table, columns) in [
        ("handovers", ["time_ns", "host", "phase", "node"]),
        ("signalling", ["sent_ns", "message", "host", "arrived_ns"]),
        ("deliveries", ["time_ns", "flow", "seq", "late_by_pkts"]),
    ] {
        assert!(of_a(&both, table, columns).len() > 10, "{table}");
        assert!(of_a(&both, table, columns) == of_a(&alone, table, columns), "{table}");
    }
}

#[test]
fn two_protocols_share_cells_home_agents_and_routers() {
    let mobility =
        TWO.replace("cells = [\"bs1\", \"bs2\"], ", "").replace("cells = [\"bs3\", \"bs4\"], ", "");
    let tables = run(&text(&mobility, &[A, Host { home: "ha", ..B }]));
    for host in ["a", "b"] {
        assert_eq!(phases(&tables, host, "registered").len(), 3, "{host}");
        assert_eq!(losses(&tables, &format!("to-{host}")), [] as [[String; 3]; 0]);
    }
    let rows = rows(&tables, "signalling", ["message", "source"]);
    let count = |message, host| rows.iter().filter(|row| **row == [message, host].map(String::from)).count();
    assert_eq!((count("handoff-request", "a"), count("handoff-request", "b")), (3, 0));
    assert_eq!((count("agent-solicitation", "a"), count("agent-solicitation", "b")), (0, 3));
}

/// Mobile IP everywhere, and inside it another one in two cells whose hosts ask each base station that they
/// detect.
const NESTED: &str = r#"
[[mobility]]
kind = "mobile-ip"
[[mobility]]
kind = "mobile-ip"
local_handoff = false
solicitation = true
domain = { cells = ["bs1", "bs2"] }
"#;

#[test]
fn an_agent_hears_of_no_cell_outside_its_domain() {
    // From the inner domain out of it, and back.
    let tables = run(&text(NESTED, &[Host { cells: ["bs1", "bs3"], ..A }]));
    let sent = rows(&tables, "signalling", ["message", "destination"]).into_iter();
    let solicitations = sent.filter(|[message, _]| message == "agent-solicitation");
    let asked: Vec<String> = solicitations.map(|[_, destination]| destination).collect();
    assert_eq!(asked, ["bs1", "r1", "bs1", "r1"], "each base station asks its router");
    let arrived = phases(&tables, "a", "link-up");
    assert_eq!(arrived.len(), 3, "layer 2 is up in every cell: {arrived:?}");
}

#[test]
fn a_list_of_one_is_the_table() {
    let table = "[mobility]\nkind = \"mobile-ip\"\n";
    let (one, list) = (text(table, &[A]), text(&format!("[{}", table.replace("y]", "y]]")), &[A]));
    assert!(list.contains("[[mobility]]"));
    assert_eq!(run(&one), run(&list));
}

/// Reasons why a scenario with these protocols is refused.
fn refused(mobility: &str) -> String {
    match Scenario::parse(&text(mobility, &[A, B]), "lab.toml") {
        Ok(_) => panic!("{mobility} passes"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn reports_on_domains() {
    let edits = [
        ("an unknown cell", "\"bs4\"", "\"bs5\""),
        ("an unknown host", "hosts = [\"b\"]", "hosts = [\"c\"]"),
        ("an unknown gateway", "hosts = [\"b\"]", "gateway = \"gw\""),
        ("a gateway of a protocol that has none", "hosts = [\"b\"]", "hosts = [\"b\"], gateway = \"core\""),
        ("an unknown field of a domain", "cells = [\"bs1\"", "cell = [\"bs1\""),
        ("an unknown field of the second protocol", "solicitation", "solicitations"),
        ("an unknown kind", "kind = \"mobile-ip\"\nlocal", "kind = \"mobile-ipv6\"\nlocal"),
        ("a wrong value in the second protocol", "solicitation", "beacon_interval = \"0 s\"\nsolicitation"),
        ("one host in two domains side by side", ", hosts = [\"b\"]", ""),
        ("two marks", "local_handoff", "buffer = { mark = 4 }\nlocal_handoff"),
    ];
    let mut reports = String::new();
    for (title, find, replace) in edits {
        assert!(TWO.contains(find), "{title}");
        reports += &format!("--- {title}\n{}\n\n", refused(&TWO.replacen(find, replace, 1)));
    }
    insta::assert_snapshot!(reports);
    let same = refused(&NESTED.replace("[\"bs1\", \"bs2\"]", "[\"bs*\"]"));
    assert!(same.contains("does not lie around this"), "a domain as large as the one around it: {same}");
}
