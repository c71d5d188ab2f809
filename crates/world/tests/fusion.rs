//! Links that are computed with their feeder (`engine.fusion`) change nothing but the order of events at one instant.

mod lab;

use lab::{results, rows};
use roamlab_engine::Rng;
use roamlab_world::{Conduct, Replication, Scenario, Table, run};
use std::fmt::Write;

const DRAW: Replication = Replication { seed: 1, run: 0, trace: None };
const FUSED: &str = "\n[engine]\nfusion = true\n";

/// Numbers that a scenario is made of.
struct Draws(Rng);

impl Draws {
    /// One of `least` to `most`.
    fn number(&mut self, least: u64, most: u64) -> u64 {
        least + (self.0.uniform() * (most - least + 1) as f64) as u64
    }

    fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.number(0, words.len() as u64 - 1) as usize]
    }

    /// A queue that overflows at times.
    fn queue(&mut self) -> String {
        let limit = self.number(1, 25);
        match self.number(0, 4) {
            0 => format!("{{ kind = \"red\", limit = \"{} pkt\", max_p = 0.1 }}", limit + 20),
            1 => format!("{{ kind = \"droptail\", limit = \"{} pkt\", count_in_service = true }}", limit + 1),
            _ => format!("{{ kind = \"droptail\", limit = \"{limit} pkt\" }}"),
        }
    }

    /// A wired link with rates and delays that make no two events meet.
    fn link(&mut self, text: &mut String, ends: [&str; 2], most_bps: u64) {
        let rate = match self.number(0, 5) {
            // A whole number of nanoseconds a byte.
            0 => 1_000_000 * self.number(1, 2),
            _ => self.number(300_000, most_bps),
        };
        let (delay, back) = (self.number(100_000, 20_000_000), self.number(100_000, 20_000_000));
        let queues = [self.queue(), self.queue()];
        let _ = write!(
            text,
            "\n[[links]]\nbetween = {ends:?}\nrate = \"{rate} bit/s\"\ndelay = \"{delay} ns\"\n\
             reverse_delay = \"{back} ns\"\nqueue = {}\nreverse_queue = {}\n",
            queues[0], queues[1]
        );
    }

    /// Routers in a line, sources and sinks that hang off them, each by one or two links, and flows between any of these.
    fn scenario(&mut self) -> String {
        let (routers, ends) = (self.number(1, 4), self.number(2, 6));
        let mut text = "[run]\nduration = \"3 s\"\n\n[record]\nqueues = []\npackets = true\n".to_owned();
        for router in 1..routers {
            self.link(&mut text, [&format!("r{}", router - 1), &format!("r{router}")], 6_000_000);
        }
        for end in 0..ends {
            let (router, end) = (format!("r{}", self.number(0, routers - 1)), format!("e{end}"));
            if self.number(0, 2) == 0 {
                let between = format!("{end}-gateway");
                self.link(&mut text, [&router, &between], 4_000_000);
                self.link(&mut text, [&between, &end], 4_000_000);
            } else {
                self.link(&mut text, [&router, &end], 4_000_000);
            }
        }
        for flow in 0..self.number(1, 5) {
            let from = self.number(0, ends - 1);
            let to = (from + self.number(1, ends - 1)) % ends;
            let start = self.number(1, 500_000_000);
            let (dscp, carried) = (self.number(0, 9) / 9 * 3, self.carried(start));
            let _ = write!(
                text,
                "\n[[flows]]\nname = \"f{flow}\"\npath = [\"e{from}\", \"e{to}\"]\ndscp = {dscp}\n{carried}\n"
            );
        }
        text
    }

    fn carried(&mut self, start: u64) -> String {
        if self.number(0, 3) == 0 {
            let (rate, packet) = (self.number(50_000, 900_000), self.number(100, 1400));
            return format!(
                "app = {{ kind = \"cbr\", start = \"{start} ns\", rate = \"{rate} bit/s\", packet = \"{packet} B\" }}"
            );
        }
        let variant = self.one_of(&["tahoe", "reno", "newreno", "sack", "vegas"]);
        let (window, segment) = (self.number(2, 60), self.number(200, 1460));
        format!(
            "transport = {{ kind = \"tcp\", variant = \"{variant}\", window = \"{window} pkt\", \
             segment = \"{segment} B\" }}\napp = {{ kind = \"ftp\", start = \"{start} ns\" }}"
        )
    }
}

/// How many events a run has had.
fn events(tables: &[Table]) -> u64 {
    let census = rows(tables, "census", ["name", "value"]);
    census.iter().find(|[name, _]| name == "events").unwrap()[1].parse().unwrap()
}

/// The tables of a run as it is and fused; all are the same, but for the number of events.
fn compared(text: &str) -> [Vec<Table>; 2] {
    let [plain, fused] = [text.to_owned(), text.to_owned() + FUSED].map(|text| results(&text, DRAW));
    for (plain, fused) in plain.iter().zip(&fused) {
        let name = plain.name;
        if name == "census" {
            let [plain, fused] = [plain, fused].map(|table| {
                let mut rows = rows(std::slice::from_ref(table), "census", ["name", "value"]);
                rows.retain(|[name, _]| name != "events");
                rows
            });
            assert_eq!(plain, fused, "{text}");
        } else {
            for ((column, plain), (_, fused)) in plain.columns.iter().zip(&fused.columns) {
                assert_eq!(plain, fused, "column {column} of {} differs in\n{text}", name);
            }
        }
    }
    [plain, fused]
}

fn sum(tables: &[Table], column: &str) -> u64 {
    rows(tables, "flows", [column]).iter().map(|[value]| value.parse::<u64>().unwrap()).sum()
}

#[test]
fn a_thousand_random_scenarios_give_the_same_tables() {
    let (mut fewer, mut all, mut dropped, mut timeouts, mut far) = (0, 0, 0, 0, 0);
    for number in 0..1000 {
        let text = Draws(Rng::named(1, number, "fusion")).scenario();
        let [plain, fused] = compared(&text);
        all += events(&plain);
        fewer += events(&plain) - events(&fused);
        dropped += sum(&plain, "dropped_pkts");
        timeouts += sum(&plain, "timeouts");
        // A link from a router to an end that others reach too is computed ahead, unless it is RED's.
        let lost = rows(&plain, "drops", ["place"]);
        far += lost.iter().filter(|[place]| place.starts_with('r') && place.contains("->e")).count();
    }
    assert!(fewer * 10 > all, "{fewer} of {all} events less");
    assert!(dropped > 10_000 && timeouts > 500 && far > 5_000, "{dropped} {timeouts} {far}");
}

/// Packets come to the second link at the instants at which it ends to send others: these have their order from the
/// beginnings of both transmissions, fused or not. `seconds`: the end, which finds packets everywhere.
fn in_step(second: &str, limit: u32, seconds: f64) -> String {
    format!(
        r#"
        run = {{ duration = "{seconds} s" }}
        record = {{ queues = [], packets = true }}
        links = [
            {{ between = ["s", "a"], rate = "8 Mbit/s", delay = "1 ms" }},
            {{ between = ["a", "b"], rate = "4 Mbit/s", delay = "4 ms" }},
            {{ between = ["b", "d"], {second}, queue = {{ kind = "droptail", limit = "{limit} pkt", count_in_service = true }} }},
        ]
        [[flows]]
        name = "f"
        path = ["s", "d"]
        transport = {{ kind = "tcp", window = "30 pkt", segment = "960 B", header = "40 B" }}
        app = {{ kind = "ftp", start = "1 ms" }}
        "#
    )
}

#[test]
fn links_in_step_with_their_feeder_keep_their_order() {
    for (second, limit) in [
        (r#"rate = "4 Mbit/s", delay = "3 ms""#, 2),
        (r#"rate = "4 Mbit/s", delay = "0 s""#, 3),
        (r#"rate = "2 Mbit/s", delay = "3 ms""#, 5),
        (r#"rate = "1 Mbit/s", delay = "2 ms""#, 7),
    ] {
        for seconds in [0.011, 0.052, 0.35, 5.0] {
            let [plain, fused] = compared(&in_step(second, limit, seconds));
            assert!(events(&fused) < events(&plain), "{second} {seconds}");
        }
    }
}

#[test]
fn only_what_is_the_link_of_one_feeder_and_plain_is_computed_ahead() {
    let text = in_step(r#"rate = "4 Mbit/s", delay = "3 ms""#, 9, 5.0);
    let saved = |text: &str| {
        let [plain, fused] = compared(text);
        (events(&plain) - events(&fused)) * 10 / events(&plain)
    };
    assert!(saved(&text) >= 3, "two of three links each way are computed ahead");
    let recorded = text.replace("queues = []", "queues = [\"*\"]");
    assert_eq!(saved(&recorded), 0, "recorded queues");
    let marked = text.replace("path =", "dscp = 5\n path =");
    assert_eq!(saved(&marked), 0, "code points, which are counted at each link");
    let down = "changes = [{ at = \"1 s\", up = false }, { at = \"1.1 s\", up = true }]";
    let changed = text.replace("delay = \"4 ms\"", &format!("delay = \"4 ms\", {down}"));
    assert_eq!(
        saved(&changed),
        0,
        "a link that changes neither feeds others nor is fed, and it is every link's neighbour"
    );
    let traced = Replication { trace: Some(1), ..DRAW };
    let [plain, fused] = [text.clone(), text.clone() + FUSED].map(|text| results(&text, traced));
    assert!(plain == fused, "a traced run");
    let places = ["*".to_owned()];
    let [plain, fused] = [text.clone(), text + FUSED].map(|text| {
        let scenario = Scenario::parse(&text, "lab.toml").unwrap();
        run(&scenario, DRAW, &Conduct { capture: Some(&places), ..Conduct::default() }).unwrap()
    });
    assert!(plain == fused, "a captured run");
}

#[test]
fn a_network_in_which_hosts_move_is_not_fused() {
    let text = include_str!("../../../examples/handover.toml").to_owned() + FUSED;
    let report = Scenario::parse(&text, "lab.toml").unwrap_err().to_string();
    assert!(report.contains("engine.fusion") && report.contains("lab.toml:"), "{report}");
    assert!(report.contains("help: write `fusion = false`"), "{report}");
}
