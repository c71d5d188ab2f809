//! Topologies, groups and plans: a scenario with them equals the one that spells everything out.

use roamlab_scenario::{LinkSpec, Scenario, Way};
use std::fmt::Write;

const EXAMPLE: &str = include_str!("../../../examples/access-network.toml");

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "lab.toml").unwrap_or_else(|problem| panic!("{problem}"))
}

/// A scenario's links, as "a-b rate delay".
fn links(text: &str) -> Vec<String> {
    let scenario = scenario(text);
    let link = |link: &LinkSpec| {
        format!("{} {} {}", link.between.join(" "), link.rate.mean(Way::There), link.delay.mean(Way::There))
    };
    scenario.links.iter().map(link).collect()
}

fn problem(text: &str) -> String {
    match Scenario::parse(text, "lab.toml") {
        Ok(_) => panic!("it is accepted:\n{text}"),
        Err(located) => located.to_string(),
    }
}

const RUN: &str = "[run]\nduration = \"10 s\"\n";
const LINK: &str = "link = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n";
const CELLS: &str = "cells = { rate = \"1 Mbit/s\", delay = \"1 ms\", queue = { kind = \"droptail\" }, backhaul = { rate = \
                     \"1 Mbit/s\", delay = \"1 ms\" } }\n";

fn topology(kind: &str, rest: &str) -> String {
    format!("{RUN}[[topology]]\nkind = \"{kind}\"\nname = \"an\"\n{rest}")
}

#[test]
fn a_line_joins_neighbours_and_a_grid_rows_and_columns() {
    let line = topology("line", &format!("nodes = 3\n{LINK}"));
    assert_eq!(links(&line), ["an-0 an-1 1 Mbit/s 1 ms", "an-1 an-2 1 Mbit/s 1 ms"]);
    let grid = links(&topology("grid", &format!("rows = 2\ncolumns = 3\n{LINK}")));
    let pairs: Vec<&str> = grid.iter().map(|link| link.split(" 1 M").next().unwrap()).collect();
    let expected = [
        "an-0-0 an-0-1",
        "an-0-0 an-1-0",
        "an-0-1 an-0-2",
        "an-0-1 an-1-1",
        "an-0-2 an-1-2",
        "an-1-0 an-1-1",
        "an-1-1 an-1-2",
    ];
    assert_eq!(pairs, expected);
}

/// The trees of the ripple and BCMP papers, as far as they are known: 12 wired nodes, 24 in all.
#[test]
fn irregular_trees_are_data() {
    let each =
        "link = [{ rate = \"3 Mbit/s\", delay = \"3 ms\" }, { rate = \"2 Mbit/s\", delay = \"2 ms\" }]\n";
    let ripple = links(&topology("tree", &format!("fan_out = [3, [3, 2, 2]]\n{each}")));
    let expected = [
        "an-0-0 an-1-0 3 Mbit/s 3 ms",
        "an-0-0 an-1-1 3 Mbit/s 3 ms",
        "an-0-0 an-1-2 3 Mbit/s 3 ms",
        "an-1-0 an-2-0 2 Mbit/s 2 ms",
        "an-1-0 an-2-1 2 Mbit/s 2 ms",
        "an-1-0 an-2-2 2 Mbit/s 2 ms",
        "an-1-1 an-2-3 2 Mbit/s 2 ms",
        "an-1-1 an-2-4 2 Mbit/s 2 ms",
        "an-1-2 an-2-5 2 Mbit/s 2 ms",
        "an-1-2 an-2-6 2 Mbit/s 2 ms",
    ];
    assert_eq!(ripple, expected);
    let bcmp = format!("fan_out = [2, [2, 1], 2, 2]\n{LINK}{CELLS}");
    let scenario = scenario(&topology("tree", &bcmp));
    assert_eq!((scenario.links.len(), scenario.cells.len()), (2 + 3 + 6 + 12, 12));
    assert_eq!(scenario.cells["an-bs-11"].router, "an-4-11");
}

#[test]
fn a_mesh_is_a_tree_whose_levels_are_joined() {
    let cross = "cross_link = { rate = \"9 Mbit/s\", delay = \"9 ms\" }\n";
    let mesh = links(&topology("mesh", &format!("roots = 2\nfan_out = [1, 2]\n{LINK}{cross}")));
    let crossing: Vec<&str> = mesh.iter().filter_map(|link| link.strip_suffix(" 9 Mbit/s 9 ms")).collect();
    let expected = ["an-0-0 an-0-1", "an-1-0 an-1-1", "an-2-0 an-2-1", "an-2-1 an-2-2", "an-2-2 an-2-3"];
    assert_eq!(crossing, expected);
    assert_eq!(mesh.len(), 6 + 5);
}

/// A random walk is a function of seed and run, and the JSON of a drawn scenario has its visits.
#[test]
fn a_random_walk_is_drawn_for_each_run() {
    let text = EXAMPLE.replace("kind = \"ping-pong\"", "kind = \"random-neighbour\"");
    let scenario = scenario(&text);
    let drawn = |seed| scenario.expanded_json(seed, 0);
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
    assert!(scenario.to_json().contains("random-neighbour"), "the scenario itself has the rule");
}

#[test]
fn grid_neighbours_are_those_around() {
    let text = format!(
        "{}{CELLS}[[hosts]]\nname = \"mh\"\nhome = \"an-0-0\"\nplan = {{ kind = \"random-neighbour\", dwell = \"10 ms\", \
         neighbours = \"links\" }}\n",
        topology("grid", &format!("rows = 3\ncolumns = 3\n{LINK}"))
    );
    let scenario = scenario(&text);
    let drawn = scenario.expanded_json(3, 0);
    let drawn: serde_json::Value = serde_json::from_str(&drawn).unwrap();
    let visits = drawn["hosts"][0]["visits"].as_array().unwrap();
    let cells: Vec<i64> = visits
        .iter()
        .map(|visit| visit["cell"].as_str().unwrap().rsplit('-').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(cells.len(), 1000);
    for pair in cells.windows(2) {
        let [(row, column), (next_row, next_column)] = [pair[0], pair[1]].map(|cell| (cell / 3, cell % 3));
        assert_eq!((row - next_row).abs() + (column - next_column).abs(), 1, "{pair:?}");
    }
}

#[test]
fn problems_name_the_table_that_generates() {
    let tree = |rest: &str| topology("tree", rest);
    let host = |rest: &str| {
        format!(
            "{}\n[[hosts]]\nname = \"mh\"\nhome = \"an-0-0\"\n{rest}\n",
            tree(&format!("depth = 1\nfan_out = 2\n{LINK}{CELLS}"))
        )
    };
    let flows = |rest: &str| {
        format!(
            "{}[[flows]]\nname = \"f\"\napp = {{ kind = \"cbr\", rate = \"1 kbit/s\", packet = \"100 B\" }}\n{rest}\n",
            tree(&format!("depth = 1\nfan_out = 2\n{LINK}"))
        )
    };
    let cases = [
        ("no such family", topology("ring", LINK)),
        ("an unknown field", tree(&format!("depth = 1\nfanout = 2\n{LINK}"))),
        ("no depth", tree(&format!("fan_out = 2\n{LINK}"))),
        ("a depth with a list", tree(&format!("depth = 3\nfan_out = [2, 2]\n{LINK}"))),
        ("a level without nodes", tree(&format!("fan_out = [2, 0]\n{LINK}"))),
        ("a list for other nodes", tree(&format!("fan_out = [3, [1, 2]]\n{LINK}"))),
        ("a text for a number", tree(&format!("depth = 1\nfan_out = \"2\"\n{LINK}"))),
        ("a link without delay", tree("depth = 1\nfan_out = 2\nlink = { rate = \"1 Mbit/s\" }\n")),
        ("too few links", tree("fan_out = [2, 2]\nlink = [{ rate = \"1 Mbit/s\", delay = \"1 ms\" }]\n")),
        ("too many nodes", tree(&format!("depth = 30\nfan_out = 2\n{LINK}"))),
        ("a queue that holds nothing", tree("depth = 1\nfan_out = 2\nlink = { rate = \"1 Mbit/s\", delay = \"1 ms\", queue = { kind = \"droptail\", limit = \"0 pkt\" } }\n")),
        ("a name that is not one", format!("{RUN}[[topology]]\nkind = \"line\"\nname = \"a n\"\nnodes = 2\n{LINK}")),
        ("one node", topology("line", &format!("nodes = 1\n{LINK}"))),
        ("leaves of a grid", topology("grid", &format!("rows = 2\ncolumns = 2\n{LINK}{}", CELLS.replace("{ rate", "{ at = \"leaves\", rate")))),
        ("a link that is there", format!("[[links]]\nbetween = [\"an-0\", \"an-1\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n{}", topology("line", &format!("nodes = 2\n{LINK}")))),
        ("no link reaches it", format!("[[links]]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n{}", topology("line", &format!("nodes = 2\n{LINK}")))),
        ("neither visits nor plan", host("")),
        ("visits and plan", host("visits = []\nplan = { kind = \"stay\" }")),
        ("no such plan", host("plan = { kind = \"circle\" }")),
        ("no such cell", host("plan = { kind = \"stay\", cells = [\"an-bs-7\"] }")),
        ("no cell of this pattern", host("plan = { kind = \"stay\", cells = [\"ar-*\"] }")),
        ("a beginning elsewhere", host("plan = { kind = \"stay\", begin = \"an-bs-9\" }")),
        ("no time in a cell", host("plan = { kind = \"line\", dwell = \"0 s\" }")),
        ("visits without end", host("plan = { kind = \"ping-pong\", dwell = \"1 ns\" }")),
        ("an empty group", host("count = 0\nvisits = []")),
        ("stagger of one", host("stagger = \"1 s\"\nvisits = []")),
        ("a home that is no pattern's", host("count = 2\nvisits = []").replace("home = \"an-0-0\"", "home = \"hq-*\"")),
        ("no node of this pattern", flows("count = 2\npath = [\"an-0-0\", \"mh-*\"]")),
        ("a pattern of a single flow", flows("path = [\"an-0-0\", \"an-1-*\"]")),
        ("an unknown end of a group", flows("count = 2\npath = [\"an-0-0\", \"an-2-0\"]")),
        ("two flows of one name", flows("count = 2\npath = [\"an-0-0\", \"an-1-0\"]").replace("[[flows]]", "[[flows]]\nname = \"f-1\"\npath = [\"an-0-0\", \"an-1-0\"]\napp = { kind = \"cbr\", rate = \"1 kbit/s\", packet = \"100 B\" }\n[[flows]]")),
    ];
    let mut reports = String::new();
    for (what, text) in cases {
        writeln!(reports, "## {what}\n{}\n", problem(&text)).unwrap();
    }
    insta::assert_snapshot!(reports);
}

/// The reports of its warnings.
fn warnings(text: &str) -> Vec<String> {
    scenario(text).warnings(text, "lab.toml").iter().map(ToString::to_string).collect()
}

#[test]
fn cells_that_come_by_a_rule_need_not_all_be_visited() {
    let host = |cell: &str| {
        let tree = topology("tree", &format!("fan_out = [2, 2]\n{LINK}{CELLS}"));
        format!(
            "{tree}[[hosts]]\nname = \"mh\"\nhome = \"an-0-0\"\nvisits = [{{ cell = \"{cell}\", at = \"0 s\" }}]\n"
        )
    };
    let flow = "[[flows]]\nname = \"down\"\npath = [\"an-0-0\", \"mh\"]\napp = { kind = \"voip\" }\n[mobility]\nkind = \"mobile-ip\"\n";
    assert_eq!(warnings(&format!("{}{flow}", host("an-bs-2"))), [""; 0]);
    let own = "[cells.own]\nrouter = \"an-0-0\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
               queue = { kind = \"droptail\" }\nbackhaul = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n";
    // One that is written alone, and a topology with no host in any cell, have a warning each.
    let of_own = warnings(&format!("{}{flow}{own}", host("an-bs-2")));
    assert!(
        of_own.len() == 1 && of_own[0].contains("field `cells.own`: no host visits this cell"),
        "{of_own:?}"
    );
    let of_all = warnings(&format!("{}{flow}{own}", host("own")));
    let said = "field `topology[0].cells`: no host visits any of these cells";
    assert!(of_all.len() == 1 && of_all[0].contains(said), "{of_all:?}");
}

/// A host's visits, as "cell at until".
fn visits(scenario: &Scenario, host: usize) -> Vec<String> {
    let visits = scenario.hosts[host].visits.as_deref().unwrap_or_default();
    let until = |until: Option<roamlab_engine::Duration>| until.map_or("-".into(), |until| until.to_string());
    visits.iter().map(|visit| format!("{} {} {}", visit.cell, visit.at, until(visit.until))).collect()
}

#[test]
fn hosts_of_a_group_come_later_and_leave_later() {
    let line = topology("line", &format!("nodes = 3\n{LINK}{CELLS}"));
    let host = |rest: &str| {
        format!("{line}[[hosts]]\nname = \"mh\"\nhome = \"an-1\"\ncount = 2\nstagger = \"1 s\"\n{rest}\n")
    };
    let written = scenario(&host(
        "visits = [{ cell = \"an-bs-0\", at = \"0 s\", until = \"3 s\" }, { cell = \"an-bs-1\", at = \"5 s\" }]",
    ));
    assert_eq!(visits(&written, 0), ["an-bs-0 0 ns 3 s", "an-bs-1 5 s -"]);
    assert_eq!(visits(&written, 1), ["an-bs-0 1 s 4 s", "an-bs-1 6 s -"]);
    // Each begins one cell further than the one before it, from where the plan begins.
    let planned = scenario(&host("plan = { kind = \"ping-pong\", dwell = \"6 s\", begin = \"an-bs-1\" }"));
    let begin = |host| visits(&planned, host)[0].clone();
    assert_eq!([begin(0), begin(1)].map(|visit| visit.replace(" -", "")), ["an-bs-1 0 ns", "an-bs-2 1 s"]);
}
