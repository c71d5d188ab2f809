//! Hosts that move as a file specifies.

use crate::lab::rows;
use roamlab_scenario::Located;
use roamlab_world::{Replication, RunOptions, Scenario, Table, run};

const MOVES: &str = "time_s,host,from,to,gap_s\n1,mh,bs1,bs2,\n2.5,mh,bs2,bs1,0.3\n3.5,mh,bs1,,\n4,mh,,bs2,0.25\n\
                     2,car-7,bs2,bs1,0.02\n";

const NETWORK: &str = r#"
    run = { duration = "6 s" }
    links = [{ between = ["a", "r"], rate = "10 Mbit/s", delay = "5 ms" }]
    radio = { kind = "hard", gap = "20 ms" }
    mobility = { kind = "mobile-ip" }
    flows = [{ name = "load", path = ["a", "mh"], app = { kind = "cbr", rate = "1 Mbit/s", packet = "500 B" } }]
    [cells.bs1]
    router = "r"
    rate = "5 Mbit/s"
    delay = "1 ms"
    queue = { kind = "droptail", limit = "50 pkt" }
    backhaul = { rate = "10 Mbit/s", delay = "1 ms" }
    [cells.bs2]
    router = "r"
    rate = "5 Mbit/s"
    delay = "1 ms"
    queue = { kind = "droptail", limit = "50 pkt" }
    backhaul = { rate = "10 Mbit/s", delay = "1 ms" }
    [[hosts]]
    name = "mh"
    home = "a"
"#;

fn parse(plan: &str, file: &str) -> Result<Scenario, Box<Located>> {
    let files =
        |path: &str| if path == "moves.csv" { Ok(file.to_owned()) } else { Err("there is none".into()) };
    Scenario::parse_with(&format!("{NETWORK}    {plan}\n"), "x.toml", &files)
}

fn tables(plan: &str) -> Vec<Table> {
    run(&parse(plan, MOVES).unwrap(), Replication::default(), &RunOptions::default()).unwrap()
}

const PLAN: &str = "plan = { kind = \"schedule\", file = \"moves.csv\" }";

/// Link-downs and link-ups of the host, in ms.
fn links(tables: &[Table]) -> Vec<(String, u64)> {
    let rows = rows(tables, "handovers", ["phase", "time_ns"]).into_iter();
    let changes = rows.filter(|[phase, _]| phase.starts_with("link-"));
    changes.map(|[phase, time]| (phase, time.parse::<u64>().unwrap() / 1_000_000)).collect()
}

#[test]
fn a_host_leaves_and_enters_when_the_file_says() {
    let expected = [
        ("link-up", 0),
        ("link-down", 1000),
        ("link-up", 1020), // the radio's gap
        ("link-down", 2500),
        ("link-up", 2800), // the row's own
        ("link-down", 3500),
        ("link-up", 4250),
    ];
    assert_eq!(links(&tables(PLAN)), expected.map(|(phase, time)| (phase.to_owned(), time)));
    let called = "plan = { kind = \"schedule\", file = \"moves.csv\", host = \"car-7\" }";
    let expected = [("link-up", 0), ("link-down", 2000), ("link-up", 2020)];
    assert_eq!(links(&tables(called)), expected.map(|(phase, time)| (phase.to_owned(), time)));
}

#[test]
fn a_schedule_is_the_same_as_its_visits() {
    let visits = "visits = [{ cell = \"bs1\", at = \"0 s\" }, { cell = \"bs2\", at = \"1 s\", until = \"2.5 s\" }, \
                  { cell = \"bs1\", at = \"2.8 s\", until = \"3.5 s\" }, { cell = \"bs2\", at = \"4.25 s\" }]";
    assert!(tables(PLAN) == tables(visits));
}

#[test]
fn the_digest_of_a_schedule_is_part_of_the_scenario() {
    let written = parse(PLAN, MOVES).unwrap().to_json();
    let at = written.find("{\"path\":\"moves.csv\",\"digest\":\"").unwrap();
    let digest = written[at..].split('"').nth(7).unwrap();
    let with = |digest: &str| {
        format!("plan = {{ kind = \"schedule\", file = {{ path = \"moves.csv\", digest = \"{digest}\" }} }}")
    };
    assert_eq!(parse(&with(digest), MOVES).unwrap().to_json(), written);
    let changed = parse(&with(digest), &MOVES.replace("3.5,", "3.4,")).unwrap_err().to_string();
    assert!(
        changed.contains("field `hosts[0].plan.file`") && changed.contains("has another content"),
        "{changed}"
    );
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let row = |rest: &str| format!("time_s,host,from,to,gap_s\n1,mh,bs1,bs2,\n{rest}\n");
    let report = |plan: &str, file: &str| parse(plan, file).unwrap_err().to_string();
    let cases = [
        (PLAN, row("2,mh,bs1,bs2,"), "moves.csv:3:1: it leaves bs1, and was in bs2"),
        (
            PLAN,
            row("2,mh,bs2,bs9,"),
            "field `hosts[0].plan.file`: there is no cell \"bs9\", which is named in moves.csv:3",
        ),
        (PLAN, row("1.01,mh,bs2,bs1,"), "field `hosts[0].plan`: this visit overlaps the one before it"),
        (PLAN, "time_s,host,from,to\n1,me,bs1,bs2\n".into(), "\"moves.csv\" has no row of the host \"mh\""),
        (
            "plan = { kind = \"schedule\", file = \"no.csv\" }",
            String::new(),
            "the file \"no.csv\" cannot be read",
        ),
        (
            "plan = { kind = \"schedule\", file = \"moves.csv\", host = \"x\" }",
            MOVES.into(),
            "field `hosts[0].plan.host`",
        ),
        ("plan = { kind = \"schedule\" }", String::new(), "file"),
    ];
    for (plan, file, said) in cases {
        let told = report(plan, &file);
        assert!(told.contains(said) && told.contains("help: "), "{told}");
    }
    let both = report(&format!("{PLAN}\n    visits = []"), MOVES);
    assert!(both.contains("has `visits` already"), "{both}");
    let group = report(&format!("{PLAN}\n    count = 2"), MOVES);
    assert!(group.contains("field `hosts[0].count`"), "{group}");
}
