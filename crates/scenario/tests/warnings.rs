//! Warnings of valid scenarios, each with its field and line.

use roamlab_scenario::Scenario;

const VALID: &str = include_str!("bad_scenarios/valid.toml");

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "lab.toml").unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn what_has_no_effect_is_warned_of_by_field() {
    // The table's RED has its default thresholds, 40 and 80 packets.
    let valid = VALID.replacen("limit = \"60 pkt\"", "limit = \"90 pkt\"", 1).replacen(
        "at = \"0 s\" }",
        "at = \"0 s\", until = \"0.9 s\" }",
        1,
    );
    let none = scenario(&valid).warnings(&valid, "lab.toml");
    assert!(none.is_empty(), "{none:?}");
    let cases = [
        ("at = \"1 s\"", "at = \"100 s\"", "hosts[0].visits[1].at", 41),
        ("start = \"0.1 s\"", "start = \"2 s\"", "flows[0].app.start", 47),
        ("limit = \"90 pkt\"", "limit = \"60 pkt\"", "links[1].queue.max_threshold", 17),
        ("at = \"base-station\"", "at = \"none\"", "mobility.buffer.limit", 36),
        ("binding-update", "hack", "faults[0].message", 59),
        ("kind = \"mobile-ip\"", "kind = \"mobile-ip\"\ndomain = { hosts = [] }", "hosts[0].home", 41),
        (", until = \"0.9 s\"", "", "hosts[0].visits[1].cell", 41),
        (
            "gap = \"30 ms\"",
            "gap = \"30 ms\"\n[[links]]\nbetween = [\"ch\", \"x\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nchanges = [{ at = \"1 s\", rate = \"1 Mbit/s\" }]",
            "links[2].changes[0].rate",
            33,
        ),
        ("segment = \"512 B\"", "segment = \"512 B\", ecn = true", "flows[0].transport", 46),
        (
            "segment = \"512 B\"",
            "segment = \"512 B\", tail_loss_probe = true",
            "flows[0].transport.tail_loss_probe",
            46,
        ),
    ];
    for (find, replace, field, line) in cases {
        let text = valid.replacen(find, replace, 1);
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
        "cell = \"bs1\", at = \"0.9 s\", until = \"0.95 s\"",
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

#[test]
fn a_scenario_in_which_nothing_moves_or_is_sent_is_warned_of() {
    let visits = "[{ cell = \"bs1\", at = \"0 s\" }, { cell = \"bs1\", at = \"1 s\" }]";
    let fields = |text: &str| -> Vec<String> {
        assert_ne!(text, VALID);
        scenario(text).warnings(text, "lab.toml").into_iter().map(|it| it.problem.field.clone()).collect()
    };
    let nowhere = fields(&VALID.replacen(visits, "[]", 1));
    assert!(
        nowhere.contains(&"cells.bs1".into()) && nowhere.contains(&"hosts[0].visits".into()),
        "{nowhere:?}"
    );
    let (before, after) = VALID.split_at(VALID.find("[[flows]]").unwrap());
    let silent = fields(&format!("{before}{}", &after[after.find("[[faults]]").unwrap()..]));
    assert!(silent.contains(&"flows".into()), "{silent:?}");
    let late = fields(&VALID.replacen("gap = \"30 ms\"", "gap = \"1 s\"", 1));
    assert!(late.contains(&"hosts[0].visits[1].at".into()), "{late:?}");
    let plan = "plan = { kind = \"ping-pong\", cells = [\"bs1\"], dwell = \"5 s\" }";
    let still = fields(&VALID.replacen(&format!("visits = {visits}"), plan, 1));
    assert!(still.contains(&"hosts[0].plan.cells".into()), "{still:?}");
}

/// A usual value that is written is warned of as any other, and of a table whose fields are all idle only the first is named.
#[test]
fn a_field_that_nothing_reads_is_warned_of_whatever_its_value() {
    let unsmooth = "smooth_handoff = false\nro_trigger = \"warning\"\nupdate_retransmit = \"200 ms\"";
    let text = VALID.replacen("limit = \"60 pkt\"", "limit = \"90 pkt\"", 1).replacen(
        "at = \"0 s\" }",
        "at = \"0 s\", until = \"0.9 s\" }",
        1,
    );
    let text = text.replacen("route_optimisation = true", unsmooth, 1);
    let warnings = scenario(&text).warnings(&text, "lab.toml");
    let fields: Vec<_> = warnings.iter().map(|warning| warning.problem.field.as_str()).collect();
    assert_eq!(fields, ["mobility.ro_trigger", "mobility.update_retransmit", "mobility.buffer.at"]);
}
