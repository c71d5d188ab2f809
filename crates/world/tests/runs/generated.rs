//! A run of a scenario that generates its network and traffic equals one of a scenario that lists them.

use roamlab_world::{Replication, RunOptions, Scenario, run};
use std::fmt::Write;

const RUN: &str = "[run]\nduration = \"10 s\"\n";

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "lab.toml").unwrap_or_else(|problem| panic!("{problem}"))
}

/// The same network and traffic, spelled out and by rule, give the same run.
#[test]
fn what_is_generated_runs_like_what_is_written() {
    let by_rule = "[[topology]]\nkind = \"line\"\nname = \"r\"\nnodes = 3\nlink = { rate = \"1 Mbit/s\", delay = \"2 ms\" }\n\
        cells = { at = \"leaves\", rate = \"1 Mbit/s\", delay = \"1 ms\", queue = { kind = \"droptail\", limit = \"9 pkt\" }, \
        backhaul = { rate = \"2 Mbit/s\", delay = \"1 ms\" } }\n\
        [[hosts]]\nname = \"mh\"\ncount = 2\nstagger = \"1 s\"\nhome = \"r-1\"\nplan = { kind = \"ping-pong\", dwell = \"3 s\" }\n\
        [[flows]]\nname = \"f\"\ncount = 3\nstagger = \"100 ms\"\npath = [\"r-1\", \"mh-*\"]\n\
        app = { kind = \"cbr\", rate = \"100 kbit/s\", packet = \"500 B\", start = \"1 s\", stop = \"9 s\" }\n";
    let mut written = String::new();
    for (from, to) in [(0, 1), (1, 2)] {
        writeln!(
            written,
            "[[links]]\nbetween = [\"r-{from}\", \"r-{to}\"]\nrate = \"1 Mbit/s\"\ndelay = \"2 ms\""
        )
        .unwrap();
    }
    for (cell, router) in [(0, 0), (1, 2)] {
        writeln!(
            written,
            "[cells.r-bs-{cell}]\nrouter = \"r-{router}\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
             queue = {{ kind = \"droptail\", limit = \"9 pkt\" }}\nbackhaul = {{ rate = \"2 Mbit/s\", delay = \"1 ms\" }}"
        )
        .unwrap();
    }
    for host in 0..2 {
        let visits: Vec<String> = (0..4)
            .map(|step| (step, 3 * step + host))
            .filter(|(_, at)| *at < 10)
            .map(|(step, at)| format!("{{ cell = \"r-bs-{}\", at = \"{at} s\" }}", (step + host) % 2))
            .collect();
        let visits = visits.join(", ");
        writeln!(written, "[[hosts]]\nname = \"mh-{host}\"\nhome = \"r-1\"\nvisits = [{visits}]").unwrap();
    }
    for flow in 0..3 {
        writeln!(
            written,
            "[[flows]]\nname = \"f-{flow}\"\npath = [\"r-1\", \"mh-{}\"]\napp = {{ kind = \"cbr\", rate = \"100 kbit/s\", \
             packet = \"500 B\", start = \"{} ms\", stop = \"{} ms\" }}",
            flow % 2,
            1000 + 100 * flow,
            9000 + 100 * flow
        )
        .unwrap();
    }
    let tables = |rest: &str| {
        let text = format!("{RUN}[mobility]\nkind = \"mobile-ip\"\n{rest}");
        run(&scenario(&text), Replication::default(), &RunOptions::default()).unwrap()
    };
    let (generated, spelled) = (tables(by_rule), tables(&written));
    for (one, other) in generated.iter().zip(&spelled) {
        assert_eq!(one, other, "{}", one.name);
    }
}
