//! ns-2's one stream of random numbers in a whole world.

use crate::lab::{results, rows};
use roamlab_world::{Replication, Scenario};

/// Three senders whose clocks start where ns-2's do. A round trip is measured in whole ticks of 10 ms, how
/// many depends on the phase of the clock, and after one sample the timeout is three times that.
#[test]
fn clocks_start_where_those_of_ns2_start() {
    let text = r#"
        run = { duration = "0.4 s", profile = "ns2-2009", random_numbers = "ns2" }
        links = [
            { between = ["r1", "r2"], rate = "1 Gbit/s", delay = "40 ms" },
            { between = ["s0", "r1"], rate = "1 Gbit/s", delay = "1 ms" },
            { between = ["r2", "d0"], rate = "1 Gbit/s", delay = "1 ms" },
            { between = ["s1", "r1"], rate = "1 Gbit/s", delay = "2.25 ms" },
            { between = ["r2", "d1"], rate = "1 Gbit/s", delay = "1 ms" },
            { between = ["s2", "r1"], rate = "1 Gbit/s", delay = "2.25 ms" },
            { between = ["r2", "d2"], rate = "1 Gbit/s", delay = "1 ms" },
        ]
        [[flows]]
        name = "f0"
        path = ["s0", "d0"]
        transport = { kind = "tcp", variant = "reno" }
        app = { kind = "ftp", start = "0.1 s" }
        [[flows]]
        name = "f1"
        path = ["s1", "d1"]
        transport = { kind = "tcp", variant = "reno" }
        app = { kind = "ftp", start = "0.1 s" }
        [[flows]]
        name = "f2"
        path = ["s2", "d2"]
        transport = { kind = "tcp", variant = "reno" }
        app = { kind = "ftp", start = "0.1 s" }
    "#;
    let draws = include_str!("../../../../tests/golden/ns2/default_rng_seed1_first1000.csv");
    let draw = |index: usize| -> f64 {
        let line = draws.lines().nth(index + 1).expect("a draw");
        line.split_once(',').expect("two fields").1.parse().expect("a number")
    };
    let samples =
        rows(&results(text, Replication { seed: 1, run: 0, trace: None }), "tcp", ["flow", "rto_ns"]);
    // Nodes 2, 4 and 6 have the senders; Tcl lists 4 0 5 1 6 2 7 3. All start with 0.1 s, a whole number of ticks.
    for (flow, draw_index, round_trip) in [("f1", 3, 86.5), ("f2", 4, 86.5), ("f0", 5, 84.0)] {
        let ticks = (round_trip / 10.0 + draw(draw_index)) as u64;
        let of_flow = |row: &&[String; 2]| row[0] == flow && row[1] != "3000000000";
        let first = samples.iter().find(of_flow).expect("a sample");
        assert_eq!(first[1], (3 * ticks * 10_000_000).to_string(), "{flow}");
    }
}

#[test]
fn the_generator_of_ns2_begins_at_each_seed_that_it_has() {
    let text = "run = { duration = \"1 s\", random_numbers = \"ns2\" }\n\
                links = [{ between = [\"a\", \"b\"], rate = \"1 Mbit/s\", delay = \"1 ms\" }]\n";
    let scenario = Scenario::parse(text, "lab.toml").unwrap();
    let largest = (1 << 31) - 2;
    for (seed, taken) in [(0, false), (1, true), (largest, true), (largest + 1, false)] {
        assert_eq!(scenario.check_seed(seed, text, "lab.toml").is_ok(), taken, "{seed}");
    }
}
