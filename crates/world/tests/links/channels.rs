//! Links and cells whose rate, delay and losses are drawn by a channel.

use crate::lab::rows;
use roamlab_world::{Replication, RunOptions, Scenario, Table, run};

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, "x.toml").map_err(|problem| problem.to_string())
}

fn tables(text: &str, seed: u64) -> Vec<Table> {
    let draw = Replication { seed, run: 0, trace: None };
    run(&parse(text).unwrap_or_else(|problem| panic!("{problem}")), draw, &RunOptions::default()).unwrap()
}

/// When the datagrams of the flow `load` arrive in ns, with their numbers.
fn arrivals(text: &str, seed: u64) -> Vec<(u64, u64)> {
    let rows = rows(&tables(text, seed), "deliveries", ["time_ns", "seq"]);
    rows.into_iter().map(|[time, number]| (time.parse().unwrap(), number.parse().unwrap())).collect()
}

/// A link between two nodes, with a stream of datagrams of 1500 B, faster than it.
fn pair(link: &str, path: &str) -> String {
    format!(
        "run = {{ duration = \"20 s\" }}\n[[links]]\nbetween = [\"a\", \"b\"]\n\
         queue = {{ kind = \"droptail\", limit = \"20 pkt\" }}\n{link}\n[[flows]]\nname = \"load\"\n\
         path = {path}\napp = {{ kind = \"cbr\", rate = \"40 Mbit/s\", packet = \"1500 B\" }}\n"
    )
}

const THERE: &str = "[\"a\", \"b\"]";
const BACK: &str = "[\"b\", \"a\"]";

fn states(states: &str, next: &str) -> String {
    format!(
        "rate = {{ channel = {{ kind = \"states\", step = \"100 ms\", states = [{states}], next = {next} }} }}"
    )
}

#[test]
fn a_channel_of_one_state_is_a_constant_link() {
    let one = states("{ rate_mbit_s = [12.0], extra_delay = \"5 ms\" }", "[[1.0]]");
    let (drawn, constant) = (format!("{one}\ndelay = \"15 ms\""), "rate = \"12 Mbit/s\"\ndelay = \"20 ms\"");
    assert_eq!(arrivals(&pair(&drawn, THERE), 1), arrivals(&pair(constant, THERE), 1));
}

#[test]
fn a_saturated_link_carries_what_its_states_carry_and_each_seed_is_another_drive() {
    let two = states("{ rate_mbit_s = [4.0, 8.0] }, { rate_mbit_s = [0.0] }", "[[0.9, 0.1], [0.3, 0.7]]");
    let link = format!("{two}\ndelay = \"15 ms\"");
    let bits = |seed| arrivals(&pair(&link, THERE), seed).len() as f64 * 12_000.0;
    // 3/4 of the time 6 Mbit/s; the spread of a mean of 200 steps of the chain is 0.06 of the time.
    let mean = (1..=10).map(bits).sum::<f64>() / 10.0 / 20.0;
    assert!((mean / 4.5e6 - 1.0).abs() < 4.0 * 0.06 / 0.75 / 10f64.sqrt(), "{mean}");
    assert_ne!(arrivals(&pair(&link, THERE), 1), arrivals(&pair(&link, THERE), 2));
    assert_eq!(arrivals(&pair(&link, THERE), 1), arrivals(&pair(&link, THERE), 1));
}

#[test]
fn losses_are_those_of_the_states_and_have_their_reason() {
    let lossy =
        states("{ rate_mbit_s = [40.0], loss = 0.5 }, { rate_mbit_s = [40.0] }", "[[0.5, 0.5], [0.5, 0.5]]");
    let text = pair(&format!("{lossy}\ndelay = \"1 ms\""), THERE);
    let tables = tables(&text, 3);
    let reasons = rows(&tables, "drops", ["reason"]);
    let lost = reasons.iter().filter(|[reason]| reason == "random-loss").count() as f64;
    let arrived = rows(&tables, "deliveries", ["seq"]).len() as f64;
    // A quarter; 200 steps with a deviation of 0.25 each.
    assert!((lost / (lost + arrived) - 0.25).abs() < 4.0 * 0.25 / 200f64.sqrt(), "{lost} of {arrived}");
}

#[test]
fn the_two_directions_of_slots_have_their_own_rates() {
    let slots = "rate = { channel = { kind = \"slots\", rate = \"12 Mbit/s\", reverse_rate = \"3 Mbit/s\", growth = 1.0, \
                 reverse_growth = 1.0, edge_loss = 0.0, loss = 0.0, reverse_loss = 0.0 } }\ndelay = \"20 ms\"\n\
                 reverse_queue = { kind = \"droptail\", limit = \"20 pkt\" }";
    let count = |path| arrivals(&pair(slots, path), 1).len() as f64;
    let (there, back) = (count(THERE), count(BACK));
    assert!((there / 20_000.0 - 1.0).abs() < 0.01 && (back / 5_000.0 - 1.0).abs() < 0.02, "{there} {back}");
}

#[test]
fn a_rate_grows_while_packets_wait() {
    let slots = |growth: &str| {
        format!(
            "rate = {{ channel = {{ kind = \"slots\", rate = \"10 Mbit/s\", growth = {growth}, edge_loss = 0.0, loss = 0.0 }} }}\n\
             delay = \"20 ms\""
        )
    };
    let count = |growth| arrivals(&pair(&slots(growth), THERE), 1).len() as f64;
    // Two slots of which 0.4 s each have half of the growth.
    let expected = 10e6 / 12_000.0 * (20.0 * 2.0 - 2.0 * 0.2);
    let grown = count("2.0");
    assert!((grown / expected - 1.0).abs() < 0.02, "{grown} {expected}");
}

/// A host that moves from one cell to another at 10 s.
fn moving(rate: &str) -> String {
    let cell = |name: &str| {
        format!(
            "[cells.{name}]\nrouter = \"a\"\nrate = {rate}\ndelay = \"1 ms\"\n\
             queue = {{ kind = \"droptail\", limit = \"20 pkt\" }}\nbackhaul = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n"
        )
    };
    format!(
        "run = {{ duration = \"20 s\" }}\nmobility = {{ kind = \"mobile-ip\" }}\n[[links]]\nbetween = [\"s\", \"a\"]\nrate = \"1 Gbit/s\"\n\
         delay = \"1 ms\"\n{}{}[[hosts]]\nname = \"h\"\nhome = \"a\"\nvisits = [{{ cell = \"one\", at = \"0 s\" }}, {{ cell = \"two\", at = \"10 s\" }}]\n\
         [[flows]]\nname = \"load\"\npath = [\"s\", \"h\"]\napp = {{ kind = \"cbr\", rate = \"40 Mbit/s\", packet = \"1500 B\" }}\n",
        cell("one"),
        cell("two")
    )
}

#[test]
fn the_rate_of_a_cell_falls_before_its_host_moves() {
    let steady = "{ channel = { kind = \"states\", step = \"1 s\", states = [{ rate_mbit_s = [12.0] }], next = [[1.0]], \
                  moves = { before = [[\"4 s\", 1.0], [\"0 s\", 0.0]], after = [[\"0 s\", 0.0], [\"4 s\", 1.0]] } } }";
    let arrivals = arrivals(&moving(steady), 1);
    let within = |from: u64, until: u64| {
        arrivals
            .iter()
            .filter(|(time, _)| (from * 1_000_000_000..until * 1_000_000_000).contains(time))
            .count() as f64
    };
    assert!((within(3, 6) / 3000.0 - 1.0).abs() < 0.03, "{}", within(3, 6));
    // Half of the rate on average in 4 s before and behind; a little more is lost by the move itself.
    assert!((within(6, 10) / 2000.0 - 1.0).abs() < 0.05, "{}", within(6, 10));
    assert!((within(10, 14) / 2000.0 - 1.0).abs() < 0.1, "{}", within(10, 14));
    assert!((within(15, 19) / 4000.0 - 1.0).abs() < 0.03, "{}", within(15, 19));
}

#[test]
fn what_a_channel_excludes_is_refused_with_what_to_write() {
    let lossy = states("{ rate_mbit_s = [4.0], loss = 0.1, extra_delay = \"1 ms\" }", "[[1.0]]");
    let drive = "rate = { channel = { kind = \"measured\", table = \"lte\", moves = {} } }";
    let link = |text: &str| parse(&pair(text, THERE)).unwrap_err();
    for (text, field, help) in [
        (format!("{drive}\ndelay = \"1 ms\""), "links[0].rate.channel.moves", "between"),
        (format!("{lossy}\ndelay = \"1 ms\"\nloss = 0.1"), "links[0].loss", "remove it"),
        (
            format!("{lossy}\ndelay = \"1 ms\"\nreverse_rate = \"1 Mbit/s\""),
            "links[0].reverse_rate",
            "reverse_channel",
        ),
        (
            format!("{lossy}\ndelay = \"1 ms\"\nchanges = [{{ at = \"1 s\", rate = \"1 Mbit/s\" }}]"),
            "links[0].changes[0].rate",
            "constant",
        ),
        (
            format!("{lossy}\ndelay = \"1 ms\"\nchanges = [{{ at = \"1 s\", delay = \"9 ms\" }}]"),
            "links[0].changes[0].delay",
            "one delay",
        ),
        (
            format!(
                "{lossy}\ndelay = \"1 ms\"\noutages = {{ between = \"2 s\", length = \"1 s\", packets = \"held\" }}"
            ),
            "links[0].outages.packets",
            "lost",
        ),
        (
            "rate = { channel = { kind = \"measured\", table = \"sa\" } }\ndelay = \"1 ms\"".into(),
            "rate.channel.table",
            "nsa",
        ),
        ("rate = { reverse_channel = { kind = \"slots\" } }\ndelay = \"1 ms\"".into(), "rate", "write both"),
        (
            "rate = { channel = { kind = \"slots\", period = \"1 us\" } }\ndelay = \"1 ms\"".into(),
            "links[0].rate.channel.period",
            "15 s",
        ),
    ] {
        let error = link(&text);
        assert!(error.contains(field) && error.contains(help), "{text}\n{error}");
    }
    let ns2 = pair(&format!("{lossy}\ndelay = \"1 ms\""), THERE)
        .replace("\"20 s\"", "\"20 s\", random_numbers = \"ns2\"");
    let error = parse(&ns2).unwrap_err();
    assert!(error.contains("links[0].rate.channel") && error.contains("chacha"), "{error}");
    let cell = "{ channel = { kind = \"measured\", table = \"nsa\", moves = {} } }";
    let two = moving(cell)
        .replace("name = \"h\"\n", "name = \"h\"\ncount = 2\n")
        .replace("\"s\", \"h\"", "\"s\", \"h-0\"");
    let error = parse(&two).unwrap_err();
    assert!(error.contains("rate.channel.moves") && error.contains("more than one host"), "{error}");
    let shared = moving(cell).replace("[cells.two]\n", "[cells.two]\nscheduler = { kind = \"wfq\" }\n");
    assert!(parse(&shared).unwrap_err().contains("expected a constant rate"));
}
