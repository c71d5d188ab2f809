//! Alternatives that share a beginning give the tables that each gives alone.

use roamlab_world::{Failure, Replication, RunOptions, Scenario, Table, run, run_alternatives};

const EVERYTHING: &str =
    "\n[record]\ndeliveries = true\ntcp = true\nvariables = true\npackets = true\nqueues = [\"*\"]\n";

fn parse(text: &str) -> Scenario {
    Scenario::parse(text, "branch.toml").unwrap_or_else(|error| panic!("{error}"))
}

/// The same scenario with other lines in place of one of its mobility protocol.
fn alternatives(text: &str, line: &str, others: &[&str]) -> Vec<Scenario> {
    assert_eq!(text.matches(line).count(), 1, "{line}");
    others.iter().map(|other| parse(&text.replace(line, other))).collect()
}

/// How many of the alternatives continued from a common beginning, after each has been compared with its own
/// run.
fn compare(scenarios: &[Scenario], draw: Replication) -> usize {
    let all: Vec<&Scenario> = scenarios.iter().collect();
    let mut results: Vec<Option<Result<Vec<Table>, Failure>>> = vec![None; scenarios.len()];
    let shared = run_alternatives(&all, draw, &RunOptions::default(), |place, tables| {
        assert!(results[place].replace(tables).is_none(), "alternative {place} came twice");
    });
    for (place, (scenario, found)) in scenarios.iter().zip(results).enumerate() {
        let alone = run(scenario, draw, &RunOptions::default()).unwrap();
        let found = found.unwrap_or_else(|| panic!("alternative {place} did not come")).unwrap();
        assert_eq!(found.len(), alone.len());
        for (found, alone) in found.iter().zip(&alone) {
            assert!(found == alone, "alternative {place}: table {}", alone.name);
        }
    }
    shared
}

#[test]
fn schemes_of_lte_branch_at_the_first_prediction_or_handover() {
    let text = include_str!("../../../../examples/lte.toml").to_owned() + EVERYTHING;
    let line = "path_switch = \"standard\"";
    let predicted = |list: &str| format!("path_switch = \"predictive\"\npredictions = {list}");
    let others = [
        line.to_owned(),
        "path_switch = \"fast\"".into(),
        "path_switch = \"predictive\"".into(),
        predicted("[]"),
        predicted("[{ host = \"ref\", cell = \"enb2\", at = \"2 s\" }]"),
        // A wrong prediction, at the instant of another's.
        predicted(
            "[{ host = \"me1\", cell = \"enb1\", at = \"2 s\" }, { host = \"ref\", cell = \"enb2\", at = \"3 s\" }]",
        ),
        "path_switch = \"fast\"\ndetach_time = \"80 ms\"".into(),
    ];
    let text = text.replace("detach_time = \"30 ms\"\n", "");
    let scenarios = alternatives(&text, line, &others.each_ref().map(String::as_str));
    for run in 0..3 {
        assert_eq!(compare(&scenarios, Replication { seed: 4, run, trace: None }), scenarios.len());
    }
}

#[test]
fn what_asks_the_world_for_something_else_runs_alone() {
    let text = include_str!("../../../../examples/lte.toml").to_owned() + EVERYTHING;
    let line = "path_switch = \"standard\"";
    let others = [line, "path_switch = \"fast\"", "buffer_limit = \"7 pkt\"", "forwarding = \"none\""];
    assert_eq!(compare(&alternatives(&text, line, &others), Replication::default()), 2);
}

/// The first of them asks for a timer at the first connection that the others do not ask for.
#[test]
fn what_differs_from_the_beginning_is_not_shared() {
    let text = include_str!("../../../../examples/lte.toml").to_owned() + EVERYTHING;
    let line = "path_switch = \"standard\"";
    let others = ["measurement = { hysteresis_db = 1.0 }", line];
    let text = text.replace("measurement = {", "# measurement = {");
    assert_eq!(compare(&alternatives(&text, line, &others), Replication::default()), 0);
}

/// The timer by which the host renews its registration differs, and nothing that an agent does.
#[test]
fn what_differs_in_a_timer_alone_is_not_shared() {
    let text = include_str!("../../../../examples/handover.toml");
    let line = "route_optimisation = true";
    let other = format!("{line}\nrenewal_margin = \"40 s\"");
    assert_eq!(compare(&alternatives(text, line, &[line, line]), Replication::default()), 2);
    assert_eq!(compare(&alternatives(text, line, &[line, &other]), Replication::default()), 0);
}
