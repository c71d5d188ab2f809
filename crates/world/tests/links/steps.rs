//! Links whose rate, delay or loss follows a file.

use crate::lab::rows;
use roamlab_world::{Replication, RunOptions, Scenario, Table, run};

const DRAW: Replication = Replication { seed: 1, run: 0, trace: None };

/// The rates of the link in these tests: from 0, 500, 1200 and 1500 ms on, in Mbit/s.
const RATES: [(u64, u64); 4] = [(0, 12), (500, 2), (1200, 0), (1500, 24)];
/// The delays, from 0, 400, 700 and 1300 ms on, in ms.
const DELAYS: [(u64, u64); 4] = [(0, 20), (400, 90), (700, 15), (1300, 40)];

fn table(header: &str, rows: &[(u64, u64)]) -> String {
    let rows: String = rows.iter().map(|(time, value)| format!("{time},{value}\n")).collect();
    format!("time_ms,{header}\n{rows}")
}

fn files(path: &str) -> Result<String, String> {
    Ok(match path {
        "rates" => table("rate_mbit_s", &RATES),
        "open" => table("rate_mbit_s", &[(0, 12), (500, 2), (1200, 24)]),
        "constant" => table("rate_mbit_s", &[(0, 12)]),
        "silent" => table("rate_mbit_s", &[(0, 12), (500, 0)]),
        "delays" => table("delay_ms", &DELAYS),
        "lines" => (0..20).map(|step| format!("{}\n", if step < 10 { 20 } else { 35 })).collect(),
        "losses" => table("loss", &[(0, 0), (500, 1), (900, 0)]),
        "half" => "time_s,loss\n0,0.5\n".into(),
        "lost" => "0\n1\n0\n0\n1\n".into(),
        _ => return Err("there is none".into()),
    })
}

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse_with(text, "x.toml", &files).map_err(|problem| problem.to_string())
}

fn tables(text: &str) -> Vec<Table> {
    run(&parse(text).unwrap_or_else(|problem| panic!("{problem}")), DRAW, &RunOptions::default()).unwrap()
}

/// When the datagrams of the flow `load` arrive in ns, with their numbers.
fn arrivals(text: &str) -> Vec<(u64, u64)> {
    let rows = rows(&tables(text), "deliveries", ["flow", "time_ns", "seq"]);
    let own = rows.into_iter().filter(|[flow, ..]| flow == "load");
    own.map(|[_, time, number]| (time.parse().unwrap(), number.parse().unwrap())).collect()
}

/// A link between two nodes, with a stream of datagrams of 1500 B, `apart` after each other.
fn pair(link: &str, rate: &str) -> String {
    format!(
        "run = {{ duration = \"3 s\" }}\n[[links]]\nbetween = [\"a\", \"b\"]\n\
         queue = {{ kind = \"droptail\", limit = \"100000 pkt\" }}\n{link}\n[[flows]]\nname = \"load\"\n\
         path = [\"a\", \"b\"]\napp = {{ kind = \"cbr\", rate = \"{rate}\", packet = \"1500 B\" }}\n"
    )
}

const BUSY: &str = "60 Mbit/s";

#[test]
fn a_table_of_one_row_is_a_constant_rate() {
    let constant = pair("rate = \"12 Mbit/s\"\ndelay = \"20 ms\"", BUSY);
    let table = pair("rate = { table = \"constant\" }\ndelay = \"20 ms\"", BUSY);
    assert!(arrivals(&table) == arrivals(&constant));
}

/// The bits that a link has carried when a packet ends are those of the packets so far, whatever the steps.
#[test]
fn a_saturated_link_carries_the_integral_of_its_rate() {
    for (at_end, period) in [("repeat", Some(1800)), ("hold", None)] {
        let link = format!("rate = {{ table = \"rates\", at_end = \"{at_end}\" }}\ndelay = \"0 s\"");
        let found = arrivals(&pair(&link, BUSY));
        // In bits, at a time in ns: 1 Mbit/s is a bit in 1000 ns.
        let carried = |time: u64| {
            let until = |end: u64| -> u64 {
                let ends = RATES.iter().skip(1).map(|(at, _)| at * 1_000_000).chain([u64::MAX]);
                let steps = RATES.iter().zip(ends);
                steps.map(|((at, rate), next)| rate * next.min(end).saturating_sub(at * 1_000_000)).sum()
            };
            let period = period.map_or(u64::MAX, |ms: u64| ms * 1_000_000);
            let whole = if time >= period { (time / period) * until(period) } else { 0 };
            (whole + until(time % period)) / 1000
        };
        assert!(found.len() > 1800, "{}", found.len());
        for (number, (time, _)) in (1..).zip(&found) {
            let bits = number * 12_000;
            assert!(
                carried(*time) <= bits && bits < carried(*time + 1000),
                "{at_end}: packet {number} at {time}"
            );
        }
    }
}

#[test]
fn steps_that_no_packet_is_sent_across_are_changes() {
    let changes =
        "changes = [{ at = \"500 ms\", rate = \"2 Mbit/s\" }, { at = \"1200 ms\", rate = \"24 Mbit/s\" }]";
    let by_changes = pair(&format!("rate = \"12 Mbit/s\"\ndelay = \"20 ms\"\n{changes}"), "1.2 Mbit/s");
    let by_table = pair("rate = { table = \"open\", at_end = \"hold\" }\ndelay = \"20 ms\"", "1.2 Mbit/s");
    // A packet each 10 ms, of 1, 6 and 0.5 ms: none is sent when the rate changes.
    assert!(arrivals(&by_table) == arrivals(&by_changes));
}

#[test]
fn delays_of_a_file_are_changes_of_the_delay() {
    let changes: Vec<String> = DELAYS[1..]
        .iter()
        .map(|(at, delay)| format!("{{ at = \"{at} ms\", delay = \"{delay} ms\" }}"))
        .collect();
    let by_changes =
        pair(&format!("rate = \"12 Mbit/s\"\ndelay = \"20 ms\"\nchanges = [{}]", changes.join(", ")), BUSY);
    let delay = "delay = { trace = \"delays\", at_end = \"hold\", order = \"spaced\" }";
    let by_file = pair(&format!("rate = \"12 Mbit/s\"\n{delay}"), BUSY);
    assert!(arrivals(&by_file) == arrivals(&by_changes));
}

/// When a packet of this number arrives, without regard to the others.
fn alone(number: u64) -> u64 {
    let (begins, takes) = (number * 1_000_000, 1_000_000);
    let delay = DELAYS.iter().rfind(|(at, _)| at * 1_000_000 <= begins).unwrap().1;
    begins + takes + delay * 1_000_000
}

#[test]
fn the_order_behind_a_cut_of_the_delay_is_a_choice() {
    let link = |order: &str| {
        format!("rate = \"12 Mbit/s\"\ndelay = {{ trace = \"delays\", at_end = \"hold\"{order} }}")
    };
    let kept = arrivals(&pair(&link(""), BUSY));
    let mut latest = 0;
    for (place, (time, number)) in (0..).zip(&kept) {
        latest = latest.max(alone(place));
        assert_eq!((*time, *number), (latest, kept[0].1 + place), "the later of the two arrivals");
    }
    let overtaking = arrivals(&pair(&link(", order = \"overtaking\""), BUSY));
    let mut expected: Vec<(u64, u64)> = (0..3000)
        .map(|place| (alone(place), kept[0].1 + place))
        .filter(|(time, _)| *time < 3_000_000_000)
        .collect();
    expected.sort_unstable();
    assert!(overtaking == expected);
    assert!(overtaking.windows(2).any(|pair| pair[1].1 < pair[0].1), "some overtake");
}

#[test]
fn a_line_holds_for_its_step_and_the_file_begins_again() {
    let text = pair("rate = \"12 Mbit/s\"\ndelay = { trace = \"lines\", step = \"10 ms\" }", "1.2 Mbit/s");
    let mut latest = 0;
    for (place, (time, _)) in (0..).zip(arrivals(&text)) {
        let delay = if place * 10 % 200 < 100 { 20 } else { 35 };
        latest = latest.max((place * 10 + 1 + delay) * 1_000_000);
        assert_eq!(time, latest, "packet {place}");
    }
}

#[test]
fn a_reverse_file_and_a_reverse_delay_are_those_of_the_other_direction() {
    let there = |link: &str| arrivals(&pair(link, "1.2 Mbit/s"));
    let back = |link: &str| {
        arrivals(&pair(link, "1.2 Mbit/s").replace("[\"a\", \"b\"]\napp", "[\"b\", \"a\"]\napp"))
    };
    let constant = "rate = \"12 Mbit/s\"\ndelay = \"5 ms\"";
    let file = "rate = \"12 Mbit/s\"\ndelay = { trace = \"delays\" }";
    assert!(there(file) == back(file));
    assert!(back(&format!("{file}\nreverse_delay = \"5 ms\"")) == there(constant));
    let rates = "rate = { table = \"rates\", reverse = \"constant\" }\ndelay = \"5 ms\"";
    assert!(back(rates) == there(constant));
}

#[test]
fn the_air_of_a_cell_follows_files_both_ways() {
    let cell = |shape: &str| {
        format!(
            r#"
            run = {{ duration = "3 s" }}
            links = [{{ between = ["a", "r"], rate = "1 Gbit/s", delay = "0 s" }}]
            hosts = [{{ name = "mh", home = "r", visits = [{{ cell = "bs", at = "0 s" }}] }}]
            [cells.bs]
            router = "r"
            {shape}
            queue = {{ kind = "droptail", limit = "5000 pkt" }}
            backhaul = {{ rate = "1 Gbit/s", delay = "0 s" }}
            [mobility]
            kind = "mobile-ip"
            [[flows]]
            name = "load"
            path = PATH
            app = {{ kind = "cbr", start = "1 s", rate = "1.2 Mbit/s", packet = "1500 B" }}
        "#
        )
    };
    for path in ["[\"a\", \"mh\"]", "[\"mh\", \"a\"]"] {
        let of = |shape: &str| arrivals(&cell(shape).replace("PATH", path));
        let constant = of("rate = \"24 Mbit/s\"\ndelay = \"40 ms\"");
        let files = "rate = { table = \"rates\", at_end = \"hold\" }\ndelay = { trace = \"delays\", at_end = \"hold\" }";
        let files = of(files);
        let late = |found: &[(u64, u64)]| -> Vec<(u64, u64)> {
            found.iter().copied().filter(|(time, _)| *time > 1_600_000_000).collect()
        };
        assert!(late(&files) == late(&constant), "from 1.5 s on it has 24 Mbit/s and 40 ms");
        assert!(files != constant, "before it has not");
        // From 1.2 to 1.5 s nothing is sent.
        assert!(!files.iter().any(|(time, _)| (1_225_000_000..1_500_000_000).contains(time)), "{path}");
    }
}

#[test]
fn losses_follow_a_table_or_are_listed() {
    let link = |loss: &str| pair(&format!("rate = \"12 Mbit/s\"\ndelay = \"20 ms\"\n{loss}"), "1.2 Mbit/s");
    let all = arrivals(&link(""));
    let by_table = arrivals(&link("loss = { kind = \"recorded\", trace = \"losses\", at_end = \"hold\" }"));
    let dead = |time: u64| (500_000_000..900_000_000).contains(&time);
    assert!(by_table == all.iter().copied().filter(|(time, _)| !dead(*time)).collect::<Vec<_>>());
    let listed = arrivals(&link("loss = { kind = \"recorded\", trace = \"lost\" }"));
    let kept = |place: usize| ![1, 4].contains(&(place % 5));
    assert!(
        listed
            == all
                .iter()
                .copied()
                .enumerate()
                .filter(|(place, _)| kept(*place))
                .map(|it| it.1)
                .collect::<Vec<_>>()
    );
    // A probability of a table is that of an independent loss, with the same draws.
    let half = arrivals(&link("loss = { kind = \"recorded\", trace = \"half\" }"));
    assert!(half == arrivals(&link("loss = 0.5")));
}

/// The rate that a queue sees, and the row of an outage, are those of the table.
#[test]
fn a_time_without_rate_is_an_outage() {
    let text = pair("rate = { table = \"rates\", at_end = \"hold\" }\ndelay = \"0 s\"", BUSY);
    let found = rows(&tables(&text), "causes", ["kind", "time_ns"]);
    let outages: Vec<u64> = found
        .iter()
        .filter(|[kind, _]| kind == "link-outage")
        .map(|[_, time]| time.parse().unwrap())
        .collect();
    assert!(!outages.is_empty(), "{found:?}");
    assert!(outages.iter().all(|time| (1_190_000_000..1_500_000_001).contains(time)), "{outages:?}");
}

#[test]
fn what_a_file_excludes_is_refused_with_what_to_write() {
    let constant = "rate = \"1 Mbit/s\"\n";
    for (link, said) in [
        ("rate = { table = \"rates\", trace = \"x\" }\ndelay = \"0 s\"", "a rate is from one file"),
        ("rate = { reverse = \"x\" }\ndelay = \"0 s\"", "no file is named"),
        ("rate = { trace = \"x\", at_end = \"hold\" }\ndelay = \"0 s\"", "begins again at its end"),
        ("rate = { table = \"nowhere\" }\ndelay = \"0 s\"", "links[0].rate.table`: the file \"nowhere\""),
        (
            "rate = { table = \"lines\" }\ndelay = \"0 s\"",
            "lines:1:1: the first line has no names of columns",
        ),
        (
            "rate = { table = \"silent\", at_end = \"hold\" }\ndelay = \"0 s\"",
            "the last rate of this file is 0",
        ),
        (
            "rate = { table = \"rates\" }\ndelay = \"0 s\"\nreverse_rate = \"1 Mbit/s\"",
            "links[0].reverse_rate`",
        ),
        (
            "rate = { table = \"rates\" }\ndelay = \"0 s\"\nchanges = [{ at = \"1 s\", rate = \"1 Mbit/s\" }]",
            "links[0].changes[0].rate`: expected no rate: the rates of this link are in its table",
        ),
        ("delay = { trace = \"lines\" }", "links[0].delay.trace`: this file has a delay on each line"),
        ("delay = { trace = \"delays\", step = \"10 ms\" }", "links[0].delay.step`: this file is a table"),
        ("delay = { trace = \"lines\", step = \"0 s\" }", "links[0].delay.step`: expected more than 0 s"),
        (
            "delay = { trace = \"delays\" }\nchanges = [{ at = \"1 s\", reverse_delay = \"1 ms\" }]",
            "links[0].changes[0].reverse_delay`: expected no delay",
        ),
        (
            "delay = { trace = \"delays\", reverse = \"delays\" }\nreverse_delay = \"1 ms\"",
            "links[0].reverse_delay`: the delay of the other direction is in a file already",
        ),
        (
            "delay = \"0 s\"\nloss = { kind = \"recorded\", trace = \"lines\" }",
            "lines:1:1: expected a probability",
        ),
    ] {
        let link = if link.starts_with("rate") { link.to_owned() } else { format!("{constant}{link}") };
        let told = parse(&pair(&link, BUSY)).map(|_| ()).expect_err(&link);
        assert!(told.contains(said) && told.contains("= help: "), "{link}: {told}");
    }
}

#[test]
fn the_resolved_scenario_has_the_digest_of_each_file() {
    let link = "rate = { table = \"rates\" }\ndelay = { trace = \"delays\" }\nloss = { kind = \"recorded\", trace = \"lost\" }";
    let json = parse(&pair(link, BUSY)).unwrap().to_json();
    assert_eq!(json.matches("\"digest\":\"").count(), 3, "{json}");
    let again = parse(&pair(&link.replace("\"rates\"", "{ path = \"rates\", digest = \"0\" }"), BUSY));
    assert!(again.map(|_| ()).unwrap_err().contains("has another content"));
}
