//! ns-2's one stream of random numbers in a whole world.

mod lab;

use lab::{results, rows};
use roamlab_world::Draw;

/// Three senders whose clocks start where ns-2's do, as their first samples of the round trip tell: it is measured in
/// ticks, and the clock's phase decides how many a round trip of 85.2 ms is.
#[test]
fn clocks_start_where_those_of_ns2_start() {
    let text = r#"
        run = { duration = "1 s", random_numbers = "ns2" }
        links = [
            { between = ["r1", "r2"], rate = "1 Gbit/s", delay = "40 ms" },
            { between = ["s0", "r1"], rate = "1 Gbit/s", delay = "1 ms" },
            { between = ["r2", "d0"], rate = "1 Gbit/s", delay = "1 ms" },
            { between = ["s1", "r1"], rate = "1 Gbit/s", delay = "1 ms" },
            { between = ["r2", "d1"], rate = "1 Gbit/s", delay = "1 ms" },
            { between = ["s2", "r1"], rate = "1 Gbit/s", delay = "1 ms" },
            { between = ["r2", "d2"], rate = "1 Gbit/s", delay = "1 ms" },
        ]
        [[flows]]
        name = "f0"
        path = ["s0", "d0"]
        tcp = { variant = "reno" }
        app = { kind = "ftp", start = "0.1 s" }
        [[flows]]
        name = "f1"
        path = ["s1", "d1"]
        tcp = { variant = "reno" }
        app = { kind = "ftp", start = "0.1 s" }
        [[flows]]
        name = "f2"
        path = ["s2", "d2"]
        tcp = { variant = "reno" }
        app = { kind = "ftp", start = "0.1 s" }
    "#;
    let draws = include_str!("../../../tests/golden/ns2/default_rng_seed1_first1000.csv");
    let draw = |index: usize| -> f64 {
        let line = draws.lines().nth(index + 1).expect("a draw");
        line.split_once(',').expect("two fields").1.parse().expect("a number")
    };
    let samples = rows(&results(text, Draw { seed: 1, run: 0, trace: None }), "tcp", ["flow", "rtt_ns"]);
    // Nodes 2, 4 and 6 have the senders; Tcl lists 4 0 5 1 6 2 7 3.
    for (flow, index) in [("f1", 3), ("f2", 4), ("f0", 5)] {
        // 10 ms ticks from 0.1 s on: the phase is what the round trip's whole ticks have to start from.
        let ticks = (84.0 / 10.0 + draw(index)) as u64;
        let first = samples.iter().find(|[name, rtt]| name == flow && rtt != "0").expect("a sample");
        assert_eq!(first[1], (ticks * 10_000_000).to_string(), "{flow}");
    }
}
