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
            "gap = \"30 ms\"\n[[links]]\nbetween = [\"ch\", \"ha\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nchanges = [{ at = \"1 s\", rate = \"1 Mbit/s\" }]",
            "links[2].changes[0].rate",
            33,
        ),
        ("segment = \"512 B\"", "segment = \"512 B\", ecn = true", "flows[0].transport", 46),
        (
            "[[faults]]",
            "[[flows]]\nname = \"pages\"\npath = [\"mh\", \"ch\"]\ntransport = { kind = \"tcp\" }\napp = { kind = \"web\" }\n[[faults]]",
            "flows[2].path",
            60,
        ),
        (
            "profile = \"rfc\"",
            "profile = \"own\"\n[tcp_profiles.own]\nbased_on = \"rfc\"\ntail_loss_probe = true",
            "tcp_profiles.own.tail_loss_probe",
            6,
        ),
        (
            "[network]",
            "[tcp_profiles.own]\nbased_on = \"rfc\"\ntail_loss_probe = true\n[network]",
            "tcp_profiles.own",
            5,
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
    let unsmooth = "smooth_handoff = false\nro_trigger = \"warning\"";
    let text = VALID.replacen("limit = \"60 pkt\"", "limit = \"90 pkt\"", 1).replacen(
        "at = \"0 s\" }",
        "at = \"0 s\", until = \"0.9 s\" }",
        1,
    );
    let text = text.replacen("route_optimisation = true", unsmooth, 1);
    let warnings = scenario(&text).warnings(&text, "lab.toml");
    let fields: Vec<_> = warnings.iter().map(|warning| warning.problem.field.as_str()).collect();
    assert_eq!(fields, ["mobility.ro_trigger", "mobility.buffer.at", "mobility.smooth_handoff"]);
}

/// A network with two cells, of which each part can be replaced.
const BASE: &str = r#"
[run]
duration = "6 s"

[network]
signalling_priority = true

[[links]]
between = ["server", "core"]
rate = "100 Mbit/s"
delay = "20 ms"

[[links]]
between = ["core", "r1"]
rate = "100 Mbit/s"
delay = "5 ms"

[[links]]
between = ["core", "r2"]
rate = "100 Mbit/s"
delay = "5 ms"

[cells.bs1]
router = "r1"
rate = "4 Mbit/s"
delay = "3 ms"
queue = { kind = "droptail", limit = "100 pkt" }
backhaul = { rate = "10 Mbit/s", delay = "1 ms" }

[cells.bs2]
router = "r2"
rate = "4 Mbit/s"
delay = "3 ms"
queue = { kind = "droptail", limit = "100 pkt" }
backhaul = { rate = "10 Mbit/s", delay = "1 ms" }

[radio]
kind = "hard"
gap = "50 ms"

[mobility]
kind = "mobile-ip"

[[hosts]]
name = "phone"
home = "core"
visits = [{ cell = "bs1", at = "0 s" }, { cell = "bs2", at = "3 s" }]

[[flows]]
name = "download"
path = ["server", "phone"]
transport = { kind = "tcp", variant = "newreno", window = "48 pkt", segment = "1000 B" }
app = { kind = "ftp", start = "0.5 s" }
"#;

const MOBILITY: &str = "kind = \"mobile-ip\"";
const GAP: &str = "gap = \"50 ms\"";
const QUEUE: &str = "queue = { kind = \"droptail\", limit = \"100 pkt\" }";
const TCP: &str =
    "transport = { kind = \"tcp\", variant = \"newreno\", window = \"48 pkt\", segment = \"1000 B\" }\n";
const FTP: &str = "app = { kind = \"ftp\", start = \"0.5 s\" }";

/// Replacements in the network, and the field that is warned of.
type Useless = (&'static [(&'static str, &'static str)], &'static str);

/// Of protocols, measurements and tunnels.
const OF_PROTOCOLS: &[Useless] = &[
    (
        &[(MOBILITY, "kind = \"mobile-ip\"\nbuffer = { at = \"base-station\", hold = \"20 ms\" }")],
        "mobility.buffer.hold",
    ),
    (
        &[(GAP, ""), (MOBILITY, "kind = \"mobile-ip\"\nbuffer = { at = \"base-station\", hold = \"1 ns\" }")],
        "mobility.buffer.hold",
    ),
    (
        &[(MOBILITY, "kind = \"mobile-ip\"\nbuffer = { at = \"base-station\", longest_wait = \"10 ms\" }")],
        "mobility.buffer.longest_wait",
    ),
    (
        &[(MOBILITY, "kind = \"mobile-ip\"\nbuffer = { at = \"base-station\", in_order_wait = \"50 s\" }")],
        "mobility.buffer.in_order_wait",
    ),
    (&[(MOBILITY, "kind = \"mobile-ip\"\nbeacon_interval = \"4 s\"")], "mobility.beacon_interval"),
    (&[(MOBILITY, "kind = \"fmipv6\"\nbuffer_lifetime = \"10 ms\"")], "mobility.buffer_lifetime"),
    (&[(MOBILITY, "kind = \"fmipv6\"\ntunnel_lifetime = \"10 ms\"")], "mobility.tunnel_lifetime"),
    (
        &[(MOBILITY, "kind = \"bcmp\"\ntrigger = { by = \"source\" }\npreparation_lifetime = \"10 ms\"")],
        "mobility.preparation_lifetime",
    ),
    (&[(MOBILITY, "kind = \"bcmp\"\ntrigger = { by = \"source\" }\nmove_when_prepared = true")], "radio.gap"),
    (
        &[(
            MOBILITY,
            "kind = \"mandm\"\ntrigger = { by = \"source\" }\nbuffer = { longest_wait = \"10 ms\" }",
        )],
        "mobility.buffer.longest_wait",
    ),
    (
        &[(MOBILITY, "kind = \"mandm\"\ntrigger = { by = \"source\", sets = { bs1 = [\"bs1\"] } }")],
        "mobility.trigger.sets",
    ),
    (
        &[(GAP, "measurement = {}"), (MOBILITY, "kind = \"lte-x2\"\ntimers = { reloc_prep = \"1 ms\" }")],
        "mobility.timers.reloc_prep",
    ),
    (
        &[(GAP, "measurement = {}"), (MOBILITY, "kind = \"lte-x2\"\ntimers = { t304 = \"20 ms\" }")],
        "mobility.timers.t304",
    ),
    (
        &[(GAP, "measurement = { slope_db_per_s = 20000.0 }"), (MOBILITY, "kind = \"lte-x2\"")],
        "radio.measurement.slope_db_per_s",
    ),
    (
        &[(GAP, "measurement = { peak_dbm = 80.0 }"), (MOBILITY, "kind = \"lte-x2\"")],
        "radio.measurement.peak_dbm",
    ),
    (
        &[
            ("signalling_priority = true", "tunnel_ecn = \"always-ect\""),
            (MOBILITY, "kind = \"cellular-ip\""),
        ],
        "network.tunnel_ecn",
    ),
    (&[("signalling_priority = true", "tunnel_ecn = \"always-ect\"")], "network.tunnel_ecn"),
    (
        &[
            ("signalling_priority = true", "tunnel_overhead = \"44 B\""),
            (GAP, "measurement = {}"),
            (MOBILITY, "kind = \"lte-x2\""),
        ],
        "network.tunnel_overhead",
    ),
    (
        &[
            ("\"6 s\"", "\"6 s\"\nprofile = \"ns2-2001\""),
            (TCP, ""),
            (FTP, "app = { kind = \"conference\" }"),
        ],
        "run.profile",
    ),
];

const OF_FLOWS: &[Useless] = &[
    (&[(TCP, ""), (FTP, "app = { kind = \"conference\", frame_rate = 0.1 }")], "flows[0].app.frame_rate"),
    (
        &[(TCP, ""), (FTP, "app = { kind = \"conference\", intra_every = 1, intra_factor = 10.0 }")],
        "flows[0].app.intra_factor",
    ),
    (&[(FTP, "dscp = 46\napp = { kind = \"ftp\" }")], "flows[0].dscp"),
    (&[(FTP, "stagger = \"1 s\"\ncount = 1\napp = { kind = \"ftp\" }")], "flows[0].stagger"),
    (
        &[(FTP, "path_change = { policy = \"restart\", false_every = \"1 ms\" }\napp = { kind = \"ftp\" }")],
        "flows[0].path_change.false_every",
    ),
    (
        &[(
            "duration = \"6 s\"",
            "duration = \"6 s\"\nprofile = \"own\"\n[tcp_profiles.own]\nbased_on = \"rfc\"\ntick = \"10 s\"",
        )],
        "tcp_profiles.own.tick",
    ),
    (&[("segment = \"1000 B\"", "initial_rto = \"10 s\"")], "flows[0].transport.initial_rto"),
    (&[("segment = \"1000 B\"", "header = \"4 kB\"")], "flows[0].transport.header"),
    (
        &[(
            "duration = \"6 s\"",
            "duration = \"6 s\"\nprofile = \"own\"\n[tcp_profiles.own]\nbased_on = \"rfc\"\nack_size = \"4 kB\"",
        )],
        "tcp_profiles.own.ack_size",
    ),
    (&[(TCP, "transport = { kind = \"quic\", datagram = \"12 kB\" }\n")], "flows[0].transport.datagram"),
    (
        &[
            (TCP, "transport = { kind = \"quic\", migration = \"rfc\" }\n"),
            ("[\"server\", \"phone\"]", "[\"server\", \"core\"]"),
        ],
        "flows[0].transport.migration",
    ),
];

/// Of queues, cells, links and hosts.
const OF_NETWORKS: &[Useless] = &[
    (&[(QUEUE, "queue = { kind = \"pie\", target = \"15 us\" }")], "cells.bs1.queue.target"),
    (&[(QUEUE, "queue = { kind = \"codel\", target = \"0 s\" }")], "cells.bs1.queue.target"),
    (&[(QUEUE, "queue = { kind = \"dualpi2\", step = \"2 ms\" }")], "cells.bs1.queue.step"),
    (
        &[(
            QUEUE,
            "queue = { kind = \"red\" }\nscheduler = { kind = \"wfq\" }\nbearers = { hosts = { phone = { weight = 1.0 } } }",
        )],
        "cells.bs1.queue",
    ),
    (
        &[(
            QUEUE,
            "queue = { kind = \"droptail\" }\nscheduler = { kind = \"wfq\" }\nbearers = { hosts = { phone = { weight = 2.0 } } }",
        )],
        "cells.bs1.bearers.hosts.phone.weight",
    ),
    (
        &[(
            QUEUE,
            "queue = { kind = \"droptail\" }\nscheduler = { kind = \"wfq\" }\nbearers = { hosts = { phone = { rate = \"40 Gbit/s\" } } }",
        )],
        "cells.bs1.bearers.hosts.phone.rate",
    ),
    (
        &[(QUEUE, "queue = { kind = \"droptail\" }\nmedium = { kind = \"shared\", per_frame = \"500 ms\" }")],
        "cells.bs1.medium.per_frame",
    ),
    (&[("delay = \"3 ms\"", "delay = \"3 s\"")], "cells.bs1.delay"),
    (&[("delay = \"20 ms\"", "delay = \"20 ms\"\nreverse_delay = \"20 s\"")], "links[0].reverse_delay"),
    (
        &[("delay = \"20 ms\"", "delay = \"20 ms\"\ndrops = [{ packets = [3] }, { packets = [4, 3] }]")],
        "links[0].drops[1].packets",
    ),
    (&[("[[hosts]]", "[record]\nqueues = [\"*\", \"core->r1\"]\n\n[[hosts]]")], "record.queues"),
    (
        &[(
            "visits = [{ cell = \"bs1\", at = \"0 s\" }, { cell = \"bs2\", at = \"3 s\" }]",
            "plan = { kind = \"ping-pong\", dwell = \"1 s\", at = \"10 s\" }",
        )],
        "hosts[0].plan.at",
    ),
];

/// Times that end before another has passed, and what nothing reads next to other fields.
#[test]
fn what_other_parts_make_useless_is_warned_of_by_field() {
    let none = scenario(BASE).warnings(BASE, "lab.toml");
    assert!(none.is_empty(), "{none:?}");
    let mut silent = Vec::new();
    for (edits, field) in OF_PROTOCOLS.iter().chain(OF_FLOWS).chain(OF_NETWORKS) {
        let text = edits.iter().fold(BASE.to_owned(), |text, (find, replace)| {
            assert!(text.contains(find), "{find}");
            text.replacen(find, replace, 1)
        });
        let warnings = scenario(&text).warnings(&text, "lab.toml");
        match warnings.iter().find(|warning| warning.problem.field == *field) {
            Some(warning) => assert!(!warning.problem.help.is_empty(), "{warning}"),
            None => silent.push((field, warnings)),
        }
    }
    assert!(silent.is_empty(), "{silent:#?}");
}
