//! Warnings of valid scenarios, each with its field and line.

use roamlab_scenario::Scenario;

const VALID: &str = include_str!("bad_scenarios/valid.toml");

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "lab.toml").unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn what_has_no_effect_is_warned_of_by_field() {
    // The table's RED has its default thresholds, 40 and 80 packets.
    let valid = VALID.replacen("limit = \"60 pkt\"", "limit = \"90 pkt\"", 1);
    let none = scenario(&valid).warnings(&valid, "lab.toml");
    assert!(none.is_empty(), "{none:?}");
    let cases = [
        ("at = \"1 s\"", "at = \"100 s\"", "hosts[0].visits[1].at", 41),
        ("start = \"0.1 s\"", "start = \"2 s\"", "flows[0].app.start", 47),
        ("limit = \"90 pkt\"", "limit = \"60 pkt\"", "links[1].queue.max_threshold", 17),
        (
            "route_optimisation = true",
            "smooth_handoff = false\nro_trigger = \"warning\"",
            "mobility.ro_trigger",
            33,
        ),
        ("cell = \"bs1\", at = \"0 s\" }, { cell = \"bs1\", at = \"1 s\"", "", "cells.bs1", 19),
    ];
    for (find, replace, field, line) in cases {
        let text = match replace {
            "" => valid.replacen(
                "[{ cell = \"bs1\", at = \"0 s\" }, { cell = \"bs1\", at = \"1 s\" }]",
                "[]",
                1,
            ),
            _ => valid.replacen(find, replace, 1),
        };
        assert_ne!(text, valid, "{find}");
        let warnings = scenario(&text).warnings(&text, "lab.toml");
        let [warning] = warnings.as_slice() else { panic!("{find}: {warnings:?}") };
        assert_eq!((warning.problem.field.as_str(), warning.line), (field, line));
        assert!(!warning.problem.help.is_empty(), "{warning}");
    }
}

#[test]
fn flows_that_start_before_their_host_enters_a_cell_are_warned_of() {
    let text = VALID.replacen("limit = \"60 pkt\"", "limit = \"90 pkt\"", 1).replacen(
        "cell = \"bs1\", at = \"0 s\"",
        "cell = \"bs1\", at = \"0.9 s\"",
        1,
    );
    let warnings = scenario(&text).warnings(&text, "lab.toml");
    let fields: Vec<_> = warnings.iter().map(|warning| warning.problem.field.as_str()).collect();
    assert_eq!(fields, ["flows[0].app.start", "flows[1].app.start"]);
    assert!(
        warnings[0].problem.message.contains("before its host \"mh\" enters a cell at 900 ms"),
        "{}",
        warnings[0]
    );
}
