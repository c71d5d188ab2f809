//! Outages of links and cells at random times: what waits, what is lost, and that both directions have the same ones.

use crate::lab::{results, rows};
use roamlab_engine::Rng;
use roamlab_world::{Replication, Scenario, Table};

const DRAW: Replication = Replication { seed: 1, run: 0, trace: None };

/// Datagrams each 10 ms from `a` to `b` and back for 100 s, over a link with these outages.
fn both_ways(outages: &str) -> Vec<Table> {
    results(
        &format!(
            r#"
            run = {{ duration = "103 s" }}
            links = [{{ between = ["a", "b"], rate = "10 Mbit/s", delay = "2 ms", {outages} }}]
            flows = [
              {{ name = "there", path = ["a", "b"], app = {{ kind = "cbr", rate = "0.1 Mbit/s", packet = "125 B", packets = "10000 pkt" }} }},
              {{ name = "back", path = ["b", "a"], app = {{ kind = "cbr", rate = "0.1 Mbit/s", packet = "125 B", packets = "10000 pkt" }} }},
            ]
            "#
        ),
        DRAW,
    )
}

fn regular(packets: &str) -> String {
    format!(r#"outages = {{ between = "900 ms", length = "100 ms", packets = "{packets}" }}"#)
}

/// When packets of a flow arrived, in ms.
fn arrivals(tables: &[Table], flow: &str) -> Vec<f64> {
    let rows = rows(tables, "deliveries", ["flow", "time_ns"]);
    let own = rows.iter().filter(|row| row[0] == flow);
    own.map(|row| row[1].parse::<f64>().unwrap() / 1e6).collect()
}

/// When packets were lost in an outage here, in ms.
fn lost(tables: &[Table], place: &str) -> Vec<f64> {
    let rows = rows(tables, "drops", ["reason", "place", "time_ns"]);
    let here = rows.iter().filter(|row| row[0] == "link-down" && row[1] == place);
    here.map(|row| row[2].parse::<f64>().unwrap() / 1e6).collect()
}

#[test]
fn in_outages_that_lose_all_is_lost_and_outside_of_them_nothing() {
    let tables = both_ways(&regular("lost"));
    for (place, flow) in [("a->b", "there"), ("b->a", "back")] {
        let lost = lost(&tables, place);
        assert!(lost.iter().all(|time| time % 1000.0 >= 900.0), "{place}");
        assert!(arrivals(&tables, flow).iter().all(|time| time % 1000.0 < 900.0), "{flow}");
        assert_eq!(lost.len() + arrivals(&tables, flow).len(), 10_000);
        assert!((995..=1005).contains(&lost.len()), "{}", lost.len());
    }
}

#[test]
fn in_outages_that_hold_packets_none_is_lost_and_all_come_behind_them() {
    let tables = both_ways(&regular("held"));
    assert!(rows(&tables, "drops", ["reason"]).is_empty());
    for flow in ["there", "back"] {
        let arrivals = arrivals(&tables, flow);
        assert_eq!(arrivals.len(), 10_000);
        // A packet leaves no later than 0.1 ms behind the beginning, and arrives 2 ms later.
        assert!(arrivals.iter().all(|time| time % 1000.0 < 902.1 || time % 1000.0 == 0.0), "{flow}");
        // Ten waited, and come together: each takes 0.1 ms and more of the link.
        let together = arrivals.iter().filter(|&&time| time > 1000.0 && time % 1000.0 < 3.6).count();
        assert!(together >= 99 * 9, "{together}");
    }
}

#[test]
fn both_directions_have_the_outages_of_one_random_stream() {
    let law = |mean: &str| format!(r#"{{ kind = "exponential", mean = "{mean}" }}"#);
    let outages = |packets: &str| {
        let (between, length) = (law("800 ms"), law("200 ms"));
        format!(r#"outages = {{ between = {between}, length = {length}, packets = "{packets}" }}"#)
    };
    let tables = both_ways(&outages("lost"));
    let (there, back) = (lost(&tables, "a->b"), lost(&tables, "b->a"));
    assert_eq!(there, back, "both flows send at the same times");
    // A fifth of the time; 100 cycles give a deviation of 0.16 * sqrt(2 / 100).
    let share = there.len() as f64 / 10_000.0;
    assert!((share - 0.2).abs() < 4.0 * 0.0226, "{share}");
    // The same outages hold packets: none arrives where one would be lost, but those that were on the way.
    let held = arrivals(&both_ways(&outages("held")), "there");
    assert_eq!(held.len(), 10_000);
    let amid = there.windows(2).filter(|pair| pair[1] - pair[0] < 10.5).map(|pair| pair[1]);
    for time in amid {
        assert!(!held.iter().any(|arrival| (arrival - time).abs() < 1e-6), "{time}");
    }
    assert_eq!(both_ways(&outages("lost")), tables, "the same seed gives the same run");
}

/// The index of dispersion of the numbers of outages in windows of 10 s, from 4,000 s.
fn dispersion(between: &str) -> f64 {
    let tables = results(
        &format!(
            r#"
            run = {{ duration = "4001 s" }}
            links = [{{ between = ["a", "b"], rate = "10 Mbit/s", delay = "2 ms",
                       outages = {{ between = {between}, length = "60 ms", packets = "lost" }} }}]
            flows = [{{ name = "there", path = ["a", "b"], app = {{ kind = "cbr", rate = "20 kbit/s", packet = "125 B", packets = "80000 pkt" }} }}]
            "#
        ),
        DRAW,
    );
    let mut begins = lost(&tables, "a->b");
    begins.dedup_by(|later, earlier| *later - *earlier < 70.0);
    let mut counts = [0.0; 400];
    begins.iter().for_each(|time| counts[(time / 10_000.0).min(399.0) as usize] += 1.0);
    let mean = counts.iter().sum::<f64>() / 400.0;
    counts.iter().map(|count| (count - mean) * (count - mean)).sum::<f64>() / 399.0 / mean
}

#[test]
fn a_mixture_between_outages_makes_groups_of_them() {
    // Of a Poisson process it is 1 with a deviation of sqrt(2 / 399).
    let alone = dispersion(r#"{ kind = "exponential", mean = "2 s" }"#);
    assert!((alone - 1.0).abs() < 0.35, "{alone}");
    let grouped = dispersion(
        r#"{ kind = "mixture", components = [
            { weight = 0.8, law = { kind = "exponential", mean = "0.4 s" } },
            { weight = 0.2, law = { kind = "exponential", mean = "8.4 s" } } ] }"#,
    );
    assert!(grouped > 2.5, "{grouped}");
}

/// A download by a host whose cell has these outages.
fn cell(outages: &str, scheduler: &str) -> Vec<Table> {
    results(
        &format!(
            r#"
            run = {{ duration = "30 s" }}
            links = [{{ between = ["s", "r"], rate = "100 Mbit/s", delay = "5 ms" }}]
            hosts = [{{ name = "mh", home = "r", visits = [{{ cell = "bs", at = "0 s" }}] }}]
            mobility = {{ kind = "mobile-ip" }}
            flows = [{{ name = "file", path = ["s", "mh"], transport = {{ kind = "tcp" }}, app = {{ kind = "ftp", packets = "2000 pkt" }} }}]
            [cells.bs]
            router = "r"
            rate = "4 Mbit/s"
            delay = "5 ms"
            queue = {{ kind = "droptail", limit = "200 pkt" }}
            backhaul = {{ rate = "100 Mbit/s", delay = "1 ms" }}
            {outages}
            {scheduler}
            "#
        ),
        DRAW,
    )
}

#[test]
fn a_cells_outages_are_those_of_its_hosts_both_ways() {
    for scheduler in ["", r#"scheduler = { kind = "round-robin" }"#] {
        for packets in ["held", "lost"] {
            let outages =
                format!(r#"outages = {{ between = "2 s", length = "500 ms", packets = "{packets}" }}"#);
            let tables = cell(&outages, scheduler);
            let lost = [lost(&tables, "bs/air").len(), lost(&tables, "mh->bs").len()];
            assert_eq!(lost.iter().all(|&lost| lost > 0), packets == "lost", "{lost:?} {scheduler}");
            assert_eq!(rows(&tables, "flows", ["delivered_pkts"])[0][0], "2000", "{packets} {scheduler}");
            let begins = |time: f64| time % 2500.0 >= 2000.0;
            let amid = arrivals(&tables, "file")
                .into_iter()
                .filter(|&time| begins(time - 5.1) && begins(time))
                .count();
            assert_eq!(amid, 0, "{packets} {scheduler}: nothing arrives in an outage");
            let causes = rows(&tables, "causes", ["kind", "place"]);
            assert!(causes.iter().any(|row| row[0] == "link-outage"), "{packets} {scheduler}");
        }
    }
}

/// A law of times around this number of ms, of a kind that is drawn.
fn drawn_law(rng: &mut Rng, ms: f64) -> String {
    let exponential = |mean: f64| format!(r#"{{ kind = "exponential", mean = "{mean:.3} ms" }}"#);
    match (rng.uniform() * 6.0) as usize {
        0 => format!(r#""{ms:.3} ms""#),
        1 => format!(r#"{{ kind = "uniform", least = "{:.3} ms", most = "{:.3} ms" }}"#, ms / 2.0, ms * 1.5),
        2 => exponential(ms),
        3 => format!(
            r#"{{ kind = "quantiles", points = [[0.0, "0 ms"], [0.5, "{ms:.3} ms"], [1.0, "{:.3} ms"]] }}"#,
            2.0 * ms
        ),
        4 => r#"{ kind = "measured", table = "drive_silence_att_2023" }"#.to_owned(),
        _ => {
            let (short, long) = (exponential(ms / 4.0), exponential(4.0 * ms));
            format!(
                r#"{{ kind = "mixture", components = [{{ weight = 4, law = {short} }}, {{ weight = 1, law = {long} }}] }}"#
            )
        }
    }
}

/// Each run ends with its laws intact (`results` checks them). A file arrives whole where outages hold packets.
#[test]
fn laws_hold_in_random_outages() {
    let mut rng = Rng::named(5, 0, "outages");
    for number in 0..60 {
        let (between, length) = (300.0 + 3000.0 * rng.uniform(), 1.0 + 300.0 * rng.uniform());
        let packets = ["held", "lost"][number % 2];
        let transport = ["tcp", "quic"][number / 2 % 2];
        let loss = 0.02 * rng.uniform();
        let outages = format!(
            r#"{{ between = {}, length = {}, packets = "{packets}" }}"#,
            drawn_law(&mut rng, between),
            drawn_law(&mut rng, length)
        );
        let link = format!(r#"rate = "3.7 Mbit/s", delay = "20 ms", loss = {loss:.4}, outages = {outages}"#);
        let network = match number / 4 % 2 {
            0 => format!(r#"links = [{{ between = ["n-0", "n-1"], {link} }}]"#),
            _ => format!(r#"topology = [{{ kind = "line", name = "n", nodes = 2, link = {{ {link} }} }}]"#),
        };
        let tables = results(
            &format!(
                r#"
                run = {{ duration = "200 s" }}
                {network}
                flows = [{{ name = "file", path = ["n-0", "n-1"], transport = {{ kind = "{transport}" }}, app = {{ kind = "ftp", packets = "1500 pkt" }} }}]
                "#
            ),
            Replication { run: number as u64, ..DRAW },
        );
        let delivered: u32 = rows(&tables, "flows", ["delivered_pkts"])[0][0].parse().unwrap();
        // A link that is out for half of the time and loses all lets little through in its timeouts.
        assert!(
            delivered > 0 && (packets == "lost" || delivered == 1500),
            "{number}: {outages}: {delivered}"
        );
        let is_random = |row: &[String; 1]| row[0] == "random-loss" || row[0] == "queue-overflow";
        let others = rows(&tables, "drops", ["reason"]).into_iter().filter(|row| !is_random(row)).count();
        assert!(packets == "lost" || others == 0, "{number}: {outages}");
    }
}

/// A download by a host in a cell of a tree of one level, with this network.
fn below_a_root(network: &str) -> Vec<Table> {
    results(
        &format!(
            r#"
            run = {{ duration = "60 s" }}
            hosts = [{{ name = "mh", home = "n-0-0", visits = [{{ cell = "n-bs-1", at = "0 s" }}] }}]
            mobility = {{ kind = "mobile-ip" }}
            flows = [{{ name = "file", path = ["n-0-0", "mh"], transport = {{ kind = "tcp" }}, app = {{ kind = "ftp", packets = "2000 pkt" }} }}]
            {network}
            "#
        ),
        DRAW,
    )
}

#[test]
fn links_and_cells_of_a_topology_have_the_outages_of_the_same_ones_written_one_by_one() {
    let outages = |ms: u64, packets: &str| {
        format!(
            r#"outages = {{ between = {{ kind = "exponential", mean = "{ms} ms" }}, length = "90 ms", packets = "{packets}" }}"#
        )
    };
    let link = format!(r#"rate = "20 Mbit/s", delay = "5 ms", {}"#, outages(1_000, "lost"));
    let queue = r#"queue = { kind = "droptail", limit = "200 pkt" }"#;
    let cell = format!(
        r#"rate = "4 Mbit/s", delay = "5 ms", {queue}, {}, backhaul = {{ rate = "20 Mbit/s", delay = "1 ms", {} }}"#,
        outages(2_000, "held"),
        outages(700, "lost")
    );
    let generated = below_a_root(&format!(
        r#"topology = [{{ kind = "tree", name = "n", depth = 1, fan_out = 2, link = {{ {link} }}, cells = {{ {cell} }} }}]"#
    ));
    let written = below_a_root(&format!(
        r#"
        links = [{{ between = ["n-0-0", "n-1-0"], {link} }}, {{ between = ["n-0-0", "n-1-1"], {link} }}]
        cells = {{ n-bs-0 = {{ router = "n-1-0", {cell} }}, n-bs-1 = {{ router = "n-1-1", {cell} }} }}
        "#
    ));
    assert_eq!(generated, written);
    assert_eq!(rows(&generated, "flows", ["delivered_pkts"])[0][0], "2000");
    // Those of the link lose packets, those of the backhaul too, and those of the air hold them.
    let lost = ["n-0-0->n-1-1", "n-1-1->n-bs-1", "n-bs-1/air"].map(|place| lost(&generated, place).len());
    assert!(lost[0] > 0 && lost[1] > 0 && lost[2] == 0, "{lost:?}");
    let places = rows(&generated, "causes", ["kind", "place"]);
    let begun = |place: &str| places.iter().filter(|row| row[0] == "link-outage" && row[1] == place).count();
    // The other router and its cell have no packets to lose.
    let other = begun("n-0-0->n-1-0") + begun("n-1-0->n-bs-0");
    assert!(begun("n-0-0->n-1-1") > 0 && begun("n-1-1->n-bs-1") > 0 && other == 0, "{other}");
}

#[test]
fn what_a_topology_cannot_have_is_refused_with_what_to_write() {
    let report = |link: &str, cells: &str| {
        let text = format!(
            "run = {{ duration = \"1 s\" }}\ntopology = [{{ kind = \"tree\", name = \"n\", depth = 1, fan_out = 2, \
             link = {{ rate = \"1 Mbit/s\", delay = \"1 ms\"{link} }}{cells} }}]\n"
        );
        Scenario::parse(&text, "test.toml").err().map(|error| error.to_string()).unwrap_or_default()
    };
    let never = r#", outages = { between = "0 s", length = "1 s", packets = "lost" }"#;
    let cells = |part: &str, medium: &str| {
        format!(
            r#", cells = {{ rate = "1 Mbit/s", delay = "1 ms", queue = {{ kind = "droptail", limit = "9 pkt" }}, backhaul = {{ rate = "1 Mbit/s", delay = "1 ms" }}{part}{medium} }}"#
        )
    };
    assert_eq!(report("", &cells("", "")), "");
    let of_links = report(never, "");
    assert!(of_links.contains("topology[0].link.outages.between"), "{of_links}");
    let of_cells = report("", &cells(never, ""));
    assert!(of_cells.contains("topology[0].cells.outages.between"), "{of_cells}");
    let once = r#", outages = { between = "1 s", length = "1 s", packets = "lost" }"#;
    let shared = report("", &cells(once, r#", medium = { kind = "shared" }"#));
    assert!(shared.contains("outages") && shared.contains("dedicated"), "{shared}");
    let recorded = report(r#", loss = { kind = "recorded", trace = "loss.csv" }"#, "");
    assert!(recorded.contains("[[links]]"), "{recorded}");
}

#[test]
fn what_makes_no_sense_is_refused_with_what_to_write() {
    let report = |link: &str, run: &str| {
        let text = format!(
            "run = {{ duration = \"1 s\"{run} }}\nlinks = [{{ between = [\"a\", \"b\"], rate = \"1 Mbit/s\", delay = \"1 ms\", outages = {link} }}]\n"
        );
        Scenario::parse(&text, "test.toml").err().map(|error| error.to_string()).unwrap_or_default()
    };
    let whole = r#"{ between = "1 s", length = "1 s", packets = "lost" }"#;
    assert_eq!(report(whole, ""), "");
    let of_ns2 = report(whole, ", random_numbers = \"ns2\"");
    assert!(
        of_ns2.contains("links[0].outages") && of_ns2.contains("random_numbers = \"chacha\""),
        "{of_ns2}"
    );
    let never = report(r#"{ between = "0 s", length = "1 s", packets = "lost" }"#, "");
    assert!(never.contains("links[0].outages.between") && never.contains("write for example"), "{never}");
    let fast = report(r#"{ between = "1 us", length = "1 us", packets = "held" }"#, "");
    assert!(fast.contains("got one in 2 us") || fast.contains("outages.between"), "{fast}");
    let alone = report(
        r#"{ between = { kind = "mixture", components = [{ weight = 1, law = "1 s" }] }, length = "1 s", packets = "held" }"#,
        "",
    );
    assert!(alone.contains("outages.between.components") && alone.contains("two laws at least"), "{alone}");
}
