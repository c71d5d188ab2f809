//! Reports to a user who wrote something wrong. Each case is one edit of a valid scenario; the reports are
//! kept in a snapshot so that they can be read and judged as a whole.

use roamlab_scenario::Scenario;
use roamlab_transport::{LinuxSpec, Parameters, QuinnSpec};
use std::fmt::Write;

#[path = "bad_scenarios/layer_2.rs"]
mod layer_2;
#[path = "bad_scenarios/writing.rs"]
mod writing;

use layer_2::{DCF, LTE};
use writing::{FIELDS, SYNTAX, VALUES};

const VALID: &str = include_str!("bad_scenarios/valid.toml");

const AIR: &str = "delay = \"3 ms\"";

const RADIO: &str = "[radio]\nkind = \"hard\"\ngap = \"30 ms\"";

const MOBILITY: &str = "[mobility]\nkind = \"mobile-ip\"\nroute_optimisation = true\n\n\
                        [mobility.buffer]\nat = \"base-station\"\nlimit = \"64 pkt\"";

/// The fault, the text of the valid scenario that is replaced, and its replacement.
type Edit = (&'static str, &'static str, &'static str);

/// Senders that are notified of a new path.
const PATHS: &[Edit] = &[
    (
        "a path change without a policy",
        "segment = \"512 B\" }",
        "segment = \"512 B\" }\npath_change = { notice = \"exact\" }",
    ),
    (
        "a policy that there is not",
        "segment = \"512 B\" }",
        "segment = \"512 B\" }\npath_change = { policy = \"reset\" }",
    ),
    (
        "ProbeRTT without a mode of that name",
        "segment = \"512 B\" }",
        "segment = \"512 B\" }\npath_change = { policy = \"probe-rtt\" }",
    ),
    (
        "a shortest round-trip time that no part keeps",
        "segment = \"512 B\" }",
        "segment = \"512 B\" }\npath_change = { policy = \"forget-min-rtt\" }",
    ),
    (
        "Careful Resume of TCP",
        "segment = \"512 B\" }",
        "segment = \"512 B\" }\npath_change = { policy = \"careful-resume\" }",
    ),
    (
        "another way of notice",
        "segment = \"512 B\" }",
        "segment = \"512 B\" }\npath_change = { policy = \"restart\", notice = \"soon\" }",
    ),
    (
        "a phase of another protocol",
        "segment = \"512 B\" }",
        "segment = \"512 B\" }\npath_change = { policy = \"restart\", phase = \"path-switched\" }",
    ),
    (
        "a delay by a law that there is not",
        "segment = \"512 B\" }",
        "segment = \"512 B\" }\npath_change = { policy = \"restart\", delay = { kind = \"normal\", mean = \"3 ms\" } }",
    ),
    (
        "a delay without length",
        "segment = \"512 B\" }",
        "segment = \"512 B\" }\npath_change = { policy = \"restart\", delay = { kind = \"uniform\", least = \"3 ms\", most = \"3 ms\" } }",
    ),
    (
        "a delay by data that there are not",
        "segment = \"512 B\" }",
        "segment = \"512 B\" }\npath_change = { policy = \"restart\", delay = { kind = \"measured\", table = \"sa_mgc\" } }",
    ),
    (
        "a delay by quantiles that fall",
        "segment = \"512 B\" }",
        "segment = \"512 B\" }\npath_change = { policy = \"restart\", delay = { kind = \"quantiles\", points = [[0.5, \"9 ms\"], [1.0, \"3 ms\"]] } }",
    ),
    (
        "a delay by no quantiles",
        "segment = \"512 B\" }",
        "segment = \"512 B\" }\npath_change = { policy = \"restart\", delay = { kind = \"quantiles\" } }",
    ),
    (
        "a delay as a number",
        "segment = \"512 B\" }",
        "segment = \"512 B\" }\npath_change = { policy = \"restart\", delay = 3 }",
    ),
    (
        "news that is always missed",
        "segment = \"512 B\" }",
        "segment = \"512 B\" }\npath_change = { policy = \"restart\", missed = 1.0 }",
    ),
    (
        "false alarms without end",
        "segment = \"512 B\" }",
        "segment = \"512 B\" }\npath_change = { policy = \"restart\", false_every = \"0 s\" }",
    ),
    (
        "news without a size",
        "segment = \"512 B\" }",
        "segment = \"512 B\" }\npath_change = { policy = \"restart\", size = \"0 B\" }",
    ),
    (
        "a path change of datagrams",
        "path = [\"ch\", \"mh\"]\n\n[flows.app]",
        "path = [\"ch\", \"mh\"]\npath_change = { policy = \"restart\" }\n\n[flows.app]",
    ),
    (
        "a path change between fixed nodes",
        "path = [\"ch\", \"mh\"]\ntransport = { kind = \"tcp\", variant = \"reno\", window = \"64 pkt\", segment = \"512 B\" }",
        "path = [\"ch\", \"ha\"]\npath_change = { policy = \"restart\" }\ntransport = { kind = \"tcp\" }",
    ),
    (
        "a path change together with a migration",
        "transport = { kind = \"tcp\", variant = \"reno\", window = \"64 pkt\", segment = \"512 B\" }",
        "transport = { kind = \"quic\", migration = \"rfc\" }\npath_change = { policy = \"restart\" }",
    ),
];

const LOSSES: &[Edit] = &[
    ("a loss in per cent", "delay = \"60 ms\"", "delay = \"60 ms\"\nloss = 1"),
    ("a loss as a text", "delay = \"60 ms\"", "delay = \"60 ms\"\nloss = \"1 %\""),
    ("a negative loss of a backhaul", "delay = \"1 ms\" }", "delay = \"1 ms\", reverse_loss = -0.1 }"),
    ("an unknown loss model", "delay = \"60 ms\"", "delay = \"60 ms\"\nloss = { kind = \"gilbert\" }"),
    (
        "a chain that never leaves its bad state",
        "delay = \"3 ms\"",
        "delay = \"3 ms\"\nloss = { kind = \"gilbert-elliott\", good_to_bad = 0.1, bad_to_good = 0 }",
    ),
    (
        "a chain without a parameter",
        "delay = \"3 ms\"",
        "delay = \"3 ms\"\nreverse_loss = { kind = \"gilbert-elliott\", good_to_bad = 0.1 }",
    ),
    (
        "a loss of a medium that has its own",
        "delay = \"3 ms\"",
        "delay = \"3 ms\"\nloss = 0.01\nmedium = { kind = \"shared\" }",
    ),
];

const NAMES: &[Edit] = &[
    ("unknown profile", "\"rfc\"", "\"ns3\""),
    ("unknown queue kind", "\"mblue\"", "\"mblu\""),
    ("unknown tcp variant", "\"reno\"", "\"renoo\""),
    ("unknown mobility protocol", "\"mobile-ip\"", "\"mobile-ipv6\""),
    ("unknown application", "\"ftp\"", "\"ftpp\""),
    ("unknown scheduler", AIR, "delay = \"3 ms\"\nscheduler = { kind = \"fair\" }"),
    ("unknown mode of tunnels", "\"20 B\"", "\"20 B\"\ntunnel_ecn = \"copy\""),
    ("unknown place of a buffer", "\"base-station\"", "\"router\""),
    (
        "unknown node of a flow",
        "name = \"file\"\npath = [\"ch\", \"mh\"]",
        "name = \"file\"\npath = [\"ch\", \"mh2\"]",
    ),
    ("unknown router", "router = \"fa1\"", "router = \"fa9\""),
    ("unknown home", "home = \"ha\"", "home = \"home-agent\""),
    ("unknown cell", "{ cell = \"bs1\", at = \"1 s\" }", "{ cell = \"bs7\", at = \"1 s\" }"),
    ("unknown message", "\"binding-update\"", "\"binding-updates\""),
    ("unknown host of a fault", "host = \"mh\"", "host = \"ch\""),
    ("unknown queue to record", "[\"bs1/air\"]", "[\"bs1/air\", \"bs2/air\"]"),
    ("a name that is not one", "[cells.bs1]", "[cells.\"bs.1 \"]"),
    ("an empty name", "name = \"file\"", "name = \"\""),
    (
        "two hosts of one name",
        "[[flows]]\nname = \"file\"",
        "[[hosts]]\nname = \"mh\"\nhome = \"ha\"\nvisits = []\n\n[[flows]]\nname = \"file\"",
    ),
    ("a host named as a node", "name = \"mh\"", "name = \"ch\""),
    ("two flows of one name", "name = \"voice\"", "name = \"file\""),
    ("a flow named as signalling is", "name = \"voice\"", "name = \"signalling\""),
    ("a cell named as a node", "[cells.bs1]", "[cells.fa1]"),
];

const SENSE: &[Edit] = &[
    ("duration zero", "\"2 s\"", "\"0 s\""),
    ("two links between the same nodes", "[\"fa1\", \"ha\"]", "[\"fa1\", \"ch\"]"),
    ("a link from a node to itself", "[\"fa1\", \"ha\"]", "[\"ha\", \"ha\"]"),
    ("nodes that no path joins", "[\"fa1\", \"ha\"]", "[\"ha2\", \"ha\"]"),
    ("a flow to itself", "path = [\"ch\", \"mh\"]\ntransport", "path = [\"mh\", \"mh\"]\ntransport"),
    (
        "ftp without tcp",
        "transport = { kind = \"tcp\", variant = \"reno\", window = \"64 pkt\", segment = \"512 B\" }\n",
        "",
    ),
    ("overlapping visits", "at = \"1 s\" }", "at = \"1 s\" }, { cell = \"bs1\", at = \"1010 ms\" }"),
    ("visits at one time", "at = \"1 s\"", "at = \"0 s\""),
    ("a visit that ends before it begins", "at = \"1 s\"", "at = \"1 s\", until = \"1 s\""),
    ("probability out of range", "d1 = 1e-4", "d1 = 1.5"),
    ("probability that is not a number", "d1 = 1e-4", "d1 = nan"),
    ("threshold above the limit", "threshold = \"80 pkt\"", "threshold = \"121 pkt\""),
    ("a queue that holds nothing", "limit = \"60 pkt\"", "limit = \"0 pkt\""),
    ("window zero", "window = \"64 pkt\"", "window = \"0 pkt\""),
    ("a rule of a profile in a flow", "segment = \"512 B\"", "reduction = \"prr\""),
    (
        "a parameter of a flow in a profile",
        "profile = \"rfc\"",
        "profile = \"own\"\n[tcp_profiles.own]\nbased_on = \"rfc\"\nmin_rto = \"1 s\"",
    ),
    ("a profile that does not exist", "profile = \"rfc\"", "profile = \"windows\""),
    ("a profile of a flow that does not exist", "segment = \"512 B\"", "profile = \"linux\""),
    (
        "a profile with the name of another",
        "profile = \"rfc\"",
        "profile = \"rfc\"\n[tcp_profiles.rfc]\nbased_on = \"rfc\"",
    ),
    (
        "a profile based on none",
        "profile = \"rfc\"",
        "profile = \"own\"\n[tcp_profiles.own]\ntick = \"1 ms\"",
    ),
    ("segment of no bytes", "segment = \"512 B\"", "segment = \"0 B\""),
    ("segment of 10^18 bytes", "segment = \"512 B\"", "segment = \"1000000000 GB\""),
    ("header of 10^18 bytes", "segment = \"512 B\"", "header = \"1000000000 GB\""),
    ("header of 2^64 - 1 bytes", "segment = \"512 B\"", "header = \"18446744073709551615 B\""),
    (
        "acknowledgement of 10^18 bytes",
        "profile = \"rfc\"",
        "profile = \"own\"\n[tcp_profiles.own]\nbased_on = \"rfc\"\nack_size = \"1000000000 GB\"",
    ),
    ("datagram of 10^18 bytes", "packet = \"200 B\"", "packet = \"1000000000 GB\""),
    ("datagram smaller than its headers", "packet = \"200 B\"", "packet = \"27 B\""),
    ("datagrams without a pause", "rate = \"80 kbit/s\"", "rate = \"18000000000 Gbit/s\""),
    ("tunnel header of a megabyte", "\"20 B\"", "\"1 MB\""),
    ("beacons without a pause", "route_optimisation = true", "beacon_interval = \"0 s\""),
    ("a hold time of zero", "limit = \"64 pkt\"", "hold = \"0 s\""),
    ("a size of a message", "route_optimisation = true", "sizes = { beacon = \"24 B\" }"),
    ("a code point of seven bits", "app = { kind = \"ftp\"", "dscp = 64\napp = { kind = \"ftp\""),
    (
        "measurements without a pause",
        RADIO,
        "[radio]\nkind = \"hard\"\n[radio.measurement]\nperiod = \"0 s\"",
    ),
    ("a peak that is not heard", RADIO, "[radio]\nkind = \"hard\"\n[radio.measurement]\npeak_dbm = -130.0"),
    (
        "a cell that does not fade",
        RADIO,
        "[radio]\nkind = \"hard\"\n[radio.measurement]\nslope_db_per_s = 0.0",
    ),
    (
        "an audible level that is no number",
        RADIO,
        "[radio]\nkind = \"hard\"\n[radio.measurement]\naudible_dbm = nan",
    ),
    (
        "shadowing of no distance",
        RADIO,
        "[radio]\nkind = \"hard\"\n[radio.measurement]\npath_loss = { correlation_m = 0.0 }",
    ),
    (
        "an offset of a cell beyond the standard",
        "delay = \"3 ms\"",
        "delay = \"3 ms\"\nindividual_offset_db = 30",
    ),
    (
        "a transmitter that no host measures",
        "delay = \"3 ms\"",
        "delay = \"3 ms\"\ntransmitter = { position_m = [0, 0] }",
    ),
    (
        "a trajectory without measurements",
        "home = \"ha\"",
        "home = \"ha\"\ntrajectory = { waypoints_m = [[0, 0]] }",
    ),
    ("measurements that move no host", RADIO, "[radio]\nkind = \"hard\"\n[radio.measurement]"),
    ("measurements without a protocol", MOBILITY, "measurement = {}"),
    ("LTE without measurements", MOBILITY, "[mobility]\nkind = \"lte-x2\""),
    ("a gap in LTE", MOBILITY, "measurement = {}\n[mobility]\nkind = \"lte-x2\""),
    (
        "no sender of the semisoft packet",
        MOBILITY,
        "[mobility]\nkind = \"cellular-ip\"\nhandoff = \"semisoft\"",
    ),
    ("a paging area of no node", MOBILITY, "[mobility]\nkind = \"cellular-ip\"\npaging_areas = [\"fa3\"]"),
    (
        "a candidate that is no cell",
        MOBILITY,
        "[mobility]\nkind = \"mandm\"\ntrigger = { by = \"path\", sets = { bs1 = [\"bs2\"] } }",
    ),
    (
        "entries that end before they are refreshed",
        MOBILITY,
        "[mobility]\nkind = \"hawaii\"\nentries = { refresh = \"40 s\" }",
    ),
    (
        "a buffer where a scheme keeps nothing",
        MOBILITY,
        "[mobility]\nkind = \"hawaii\"\nscheme = \"ssf\"\nbuffer = { limit = \"9 pkt\" }",
    ),
    (
        "a host without a position",
        RADIO,
        "[radio]\nkind = \"hard\"\n[radio.measurement]\nsignal = \"positions\"",
    ),
    (
        "a time constant of zero",
        AIR,
        "delay = \"3 ms\"\nscheduler = { kind = \"proportional-fair\", time_constant = \"0 s\" }",
    ),
    ("bearers without a scheduler", AIR, "delay = \"3 ms\"\nbearers = { hosts = { mh = { weight = 2 } } }"),
    (
        "a bearer of no host",
        AIR,
        "delay = \"3 ms\"\nscheduler = { kind = \"wfq\" }\nbearers = { hosts = { mn = { weight = 2 } } }",
    ),
    (
        "a bearer of no weight",
        AIR,
        "delay = \"3 ms\"\nscheduler = { kind = \"wfq\" }\nbearers = { hosts = { mh = { weight = 0 } } }",
    ),
    (
        "a bearer that holds nothing",
        AIR,
        "delay = \"3 ms\"\nscheduler = { kind = \"wfq\" }\nbearers = { queue = { kind = \"droptail\", limit = \"0 pkt\" } }",
    ),
    (
        "a weight without effect",
        AIR,
        "delay = \"3 ms\"\nscheduler = { kind = \"round-robin\" }\nbearers = { hosts = { mh = { weight = 2 } } }",
    ),
    (
        "a path trigger's count for a protocol without one",
        MOBILITY,
        "[mobility]\nkind = \"bcmp\"\ntrigger = { by = \"source\", candidates = 3 }",
    ),
    (
        "another count",
        MOBILITY,
        "[mobility]\nkind = \"fmipv6\"\ntrigger = { by = \"source\", candidates = 3 }",
    ),
    (
        "a lead that the semisoft delay replaces",
        MOBILITY,
        "[mobility]\nkind = \"cellular-ip\"\ntrigger = { by = \"source\", lead = \"50 ms\" }",
    ),
    ("a run of 2^64 - 1 ns", "\"2 s\"", "\"18446744073709551615 ns\""),
    ("a file of 2^64 - 1 bytes", "start = \"0.1 s\"", "size = \"18446744073709551615 B\""),
    ("a file of 2^32 - 1 segments", "start = \"0.1 s\"", "packets = \"4294967295 pkt\""),
    (
        "a threshold that no duplicate ACKs reach",
        "profile = \"rfc\"",
        "profile = \"own\"\n[tcp_profiles.own]\nbased_on = \"rfc\"\ndupack_threshold = 4294967295",
    ),
    ("a window of 2^32 - 1 segments", "window = \"64 pkt\"", "window = \"4294967295 pkt\""),
    (
        "thresholds in the wrong order",
        "segment = \"512 B\"",
        "congestion_control = { kind = \"vegas\", alpha = \"2 pkt\", beta = \"1 pkt\" }",
    ),
    (
        "a congestion control without a kind",
        "segment = \"512 B\"",
        "congestion_control = { alpha = \"2 pkt\" }",
    ),
    ("an unknown congestion control", "segment = \"512 B\"", "congestion_control = \"westwood\""),
    (
        "a tick of 2 h",
        "profile = \"rfc\"",
        "profile = \"own\"\n[tcp_profiles.own]\nbased_on = \"rfc\"\ntick = \"2 h\"",
    ),
    ("a mean packet of 2^64 - 1 bytes", "limit = \"60 pkt\"", "mean_packet = \"18446744073709551615 B\""),
    ("beacons each nanosecond", "route_optimisation = true", "beacon_interval = \"1 ns\""),
    (
        "measurements each nanosecond",
        RADIO,
        "[radio]\nkind = \"hard\"\n[radio.measurement]\nperiod = \"1 ns\"",
    ),
    ("the zeroth message", "occurrences = [1]", "occurrences = [0]"),
    ("no message", "occurrences = [1]", "occurrences = []"),
];

fn reports(edits: &[Edit]) -> String {
    reports_on(VALID, edits)
}

fn edited(valid: &str, (title, find, replace): Edit) -> String {
    assert!(valid.contains(find), "{title}: the scenario has no {find:?}");
    valid.replacen(find, replace, 1)
}

fn reports_on(valid: &str, edits: &[Edit]) -> String {
    let mut reports = String::new();
    for &edit in edits {
        let title = edit.0;
        let error = match Scenario::parse(&edited(valid, edit), "lab.toml") {
            Ok(_) => panic!("{title}: this passes"),
            Err(error) => error,
        };
        let _ = writeln!(reports, "--- {title}\n{error}\n");
        let problem = &error.problem;
        assert!(!problem.message.is_empty() && !problem.help.is_empty(), "{title}: the report is too short");
    }
    // Another row in a family's table changes no snapshot.
    let protocols: Vec<_> = roamlab_mobility::PROTOCOLS.iter().map(|(name, _)| *name).collect();
    let controls: Vec<_> = roamlab_congestion::CONGESTION_CONTROLS.iter().map(|(name, _)| *name).collect();
    for (names, family) in [
        (roamlab_qdisc::NAMES, "(all disciplines)"),
        (&protocols, "(all mobility protocols)"),
        (&controls, "(all congestion controls)"),
    ] {
        reports = reports.replace(&format!("\"{}\"", names.join("\", \"")), family);
    }
    reports
}

#[test]
fn the_scenario_that_is_edited_is_valid() {
    assert_eq!(Scenario::parse(VALID, "lab.toml").map(|_| ()).map_err(|error| error.to_string()), Ok(()));
}

#[test]
fn reports_on_syntax() {
    insta::assert_snapshot!(reports(SYNTAX));
}

#[test]
fn reports_on_fields() {
    insta::assert_snapshot!(reports(FIELDS));
}

#[test]
fn reports_on_values() {
    insta::assert_snapshot!(reports(VALUES));
}

#[test]
fn reports_on_losses() {
    insta::assert_snapshot!(reports(LOSSES));
}

#[test]
fn reports_on_paths() {
    insta::assert_snapshot!(reports(PATHS));
}

#[test]
fn reports_on_lte() {
    insta::assert_snapshot!(reports_on(include_str!("../../../examples/lte.toml"), LTE));
}

#[test]
fn reports_on_names() {
    insta::assert_snapshot!(reports(NAMES));
}

#[test]
fn reports_on_sense() {
    insta::assert_snapshot!(reports(SENSE));
}

/// The field and the message of the report on the example of Snoop with a change.
fn snoop_refused(from: &str, to: &str) -> Option<String> {
    let example = include_str!("../../../examples/snoop.toml");
    assert!(example.contains(from), "{from}");
    Scenario::parse(&example.replacen(from, to, 1), "lab.toml").err().map(|error| error.to_string())
}

#[test]
fn snoop_needs_tcp_to_a_host_and_values_in_range() {
    assert_eq!(snoop_refused("snoop = {}", "snoop = { threshold = 3 }"), None);
    let tcp = "{ kind = \"tcp\", variant = \"newreno\", window = \"80 pkt\", segment = \"1000 B\" }";
    let refused = [
        (tcp, "{ kind = \"quic\" }", "flows[0].snoop", "QUIC hides its own"),
        (
            "[\"server\", \"phone\"]",
            "[\"phone\", \"server\"]",
            "flows[0].snoop",
            "no base station sends to it",
        ),
        ("snoop = {}", "snoop = { threshold = 4 }", "flows[0].snoop.threshold", "expected 1 to 3, got 4"),
        ("snoop = {}", "snoop = { limit = \"0 pkt\" }", "flows[0].snoop.limit", "at least 1 pkt"),
        ("snoop = {}", "snoop = { treshold = 2 }", "treshold", "threshold"),
        (
            "kind = \"hard\"\ngap = \"50 ms\"",
            "kind = \"soft\"\noverlap = \"50 ms\"",
            "flows[0].snoop",
            "two cells at a time",
        ),
        (
            "[cells.bs1]",
            "[cells.bs1]\nscheduler = { kind = \"round-robin\" }",
            "flows[0].snoop",
            "has a scheduler",
        ),
    ];
    for (from, to, field, message) in refused {
        let report = snoop_refused(from, to).unwrap_or_else(|| panic!("{to} is accepted"));
        assert!(report.contains(field) && report.contains(message), "{report}");
    }
}

#[test]
fn a_file_has_no_more_segments_than_there_are_numbers() {
    let largest = 512 * (u64::from(u32::MAX) - 2);
    for (size, accepted) in [(largest, true), (largest + 1, false)] {
        let text = VALID.replace("kind = \"ftp\"", &format!("kind = \"ftp\", size = \"{size} B\""));
        assert_ne!(text, VALID);
        assert_eq!(Scenario::parse(&text, "lab.toml").is_ok(), accepted, "{size}");
    }
}

/// The report on the valid scenario over this transport, with these changes of the application.
fn report_over(transport: &str, app: &str) -> Option<String> {
    let tcp = "{ kind = \"tcp\", variant = \"reno\", window = \"64 pkt\", segment = \"512 B\" }";
    assert!(VALID.contains(tcp));
    let text = VALID.replace(tcp, transport).replace("kind = \"ftp\"", app);
    Scenario::parse(&text, "lab.toml").err().map(|error| error.to_string())
}

#[test]
fn a_build_with_or_without_quinn_says_what_it_has() {
    let [whole, small, voice] = [
        ("{ kind = \"quinn\" }", "kind = \"ftp\""),
        ("{ kind = \"quinn\", datagram = \"1199 B\" }", "kind = \"ftp\""),
        ("{ kind = \"quinn\" }", "kind = \"cbr\", rate = \"64 kbit/s\", packet = \"160 B\""),
    ]
    .map(|(transport, app)| report_over(transport, app));
    if QuinnSpec::default().check_build().is_err() {
        let report = whole.unwrap();
        assert!(report.contains("this build of the engine has no quinn"), "{report}");
        assert!(report.starts_with("lab.toml:46:22: ") && report.contains("help: write kind"), "{report}");
        return;
    }
    assert_eq!(whole, None);
    let (small, voice) = (small.unwrap(), voice.unwrap());
    assert!(small.contains("must be \"1200 B\" to \"1472 B\"") && small.contains("datagram"), "{small}");
    assert!(voice.contains("files alone"), "{voice}");
}

#[test]
fn a_build_with_or_without_kernels_says_what_it_has() {
    let [whole, large, setting, frames, voice, pages] = [
        ("{ kind = \"linux\" }", "kind = \"ftp\""),
        ("{ kind = \"linux\", segment = \"1460 B\" }", "kind = \"ftp\""),
        ("{ kind = \"linux\", sysctls = { \"ipv4.tcp_sack=1\" = \"0\" } }", "kind = \"ftp\""),
        ("{ kind = \"linux\" }", "kind = \"conference\""),
        ("{ kind = \"linux\" }", "kind = \"voip\""),
        ("{ kind = \"linux\" }", "kind = \"web\""),
    ]
    .map(|(transport, app)| report_over(transport, app));
    if LinuxSpec::default().check_build().is_err() {
        let report = whole.unwrap();
        assert!(report.contains("this build of the engine starts no kernel"), "{report}");
        assert!(report.starts_with("lab.toml:46:22: ") && report.contains("help: write kind"), "{report}");
        return;
    }
    assert_eq!([whole, voice, pages], [None, None, None]);
    let [large, setting, frames] = [large, setting, frames].map(Option::unwrap);
    assert!(large.contains("must be \"100 B\" to \"1448 B\"") && large.contains("segment"), "{large}");
    assert!(setting.contains("names below `net`") && setting.contains("sysctls"), "{setting}");
    assert!(frames.contains("sent in datagrams over UDP") && frames.contains("as \"dash\""), "{frames}");
}

#[test]
fn reports_on_dcf() {
    insta::assert_snapshot!(reports(DCF));
}

#[test]
fn junk_without_end_is_refused_in_a_report_that_can_be_read() {
    for junk in
        ["[".repeat(100_000), format!("a = {}", "[".repeat(100_000)), format!("a = {}", "{a=".repeat(50_000))]
    {
        let error = Scenario::parse(&junk, "lab.toml").map(|_| ()).map_err(|error| error.to_string());
        assert!(error.as_ref().is_err_and(|report| report.len() < 1000), "{error:?}");
    }
    let long = format!("{VALID}\n# comment\n[extra]\nfield = [{}nonsense]\n", "\"word\", ".repeat(1000));
    insta::assert_snapshot!(Scenario::parse(&long, "lab.toml").map(|_| ()).unwrap_err());
}
