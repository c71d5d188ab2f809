//! Whole runs in which a sender is notified of a new path: when, by whom, and what follows.

use crate::lab::{causes, results, rows};
use roamlab_world::{Replication, Table};

const DRAW: Replication = Replication { seed: 1, run: 0, trace: None };
const EXAMPLE: &str = include_str!("../../../../examples/today/path-change.toml");
const WRITTEN: &str = "path_change = { policy = \"nothing\", notice = \"message\" }\n";
/// From the phone to the server over the new cell: 5 ms of air, 62 + 2 + 15 ms of wires; and 52 B at 20 Mbit/s and, three
/// times, at 1 Gbit/s.
const WAY_NS: u64 = 84_000_000 + 20_800 + 3 * 416;

/// The tables of the example with another `path_change`, none if it is empty, and further changes of the text.
fn run(path_change: &str, changes: &[(&str, &str)]) -> Vec<Table> {
    let line = match path_change {
        "" => String::new(),
        fields => format!("path_change = {{ {fields} }}\n"),
    };
    let mut text = EXAMPLE.replace(WRITTEN, &line);
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    results(&text, DRAW)
}

fn number(word: &str) -> u64 {
    word.parse().unwrap_or_else(|error| panic!("{word}: {error}"))
}

/// When a phase of the handover was noted.
fn phase(tables: &[Table], name: &str) -> u64 {
    let phases = rows(tables, "handovers", ["time_ns", "visit", "phase"]);
    number(&phases.iter().find(|row| row[1] != "0" && row[2] == name).unwrap_or_else(|| panic!("{name}"))[0])
}

/// When the sender was notified, and when the path had changed.
fn told(tables: &[Table]) -> Vec<(u64, i64)> {
    let rows = rows(tables, "path_changes", ["time_ns", "changed_ns", "genuine", "flow"]);
    let row = |[time, changed, genuine, flow]: &[String; 4]| {
        let changed = changed.parse().unwrap();
        assert_eq!((genuine == "true", flow.as_str()), (changed >= 0, "download"));
        (number(time), changed)
    };
    rows.iter().map(row).collect()
}

fn messages(tables: &[Table]) -> Vec<[String; 4]> {
    let all = rows(tables, "signalling", ["message", "source", "destination", "arrived_ns"]);
    all.into_iter().filter(|row| row[0] == "path-change").collect()
}

/// Segments that arrived for the first time in these seconds.
fn delivered(tables: &[Table], seconds: std::ops::Range<u64>) -> usize {
    let arrivals = rows(tables, "deliveries", ["time_ns", "fresh"]);
    let within =
        |row: &&[String; 2]| row[1] == "true" && seconds.contains(&(number(&row[0]) / 1_000_000_000));
    arrivals.iter().filter(within).count()
}

#[test]
fn a_sender_that_does_nothing_runs_to_the_digit_as_one_that_is_not_told() {
    let (without, exact) = (run("", &[]), run("policy = \"nothing\"", &[]));
    for table in ["deliveries", "tcp", "drops", "queue", "handovers", "signalling", "flows", "links"] {
        let find =
            |tables: &[Table]| tables.iter().find(|other| other.name == table).unwrap().columns.clone();
        let columns = |tables: &[Table]| {
            find(tables).into_iter().filter(|(name, _)| *name != "cause").collect::<Vec<_>>()
        };
        assert_eq!(columns(&without), columns(&exact), "{table}");
    }
    assert_eq!((told(&without).len(), told(&exact).len()), (0, 1));
    let rows = rows(&exact, "path_changes", ["policy", "acted", "lost_pkts"]);
    assert_eq!(rows, [["nothing", "false", "0"].map(String::from)]);
}

#[test]
fn exact_news_comes_with_the_phase_and_a_message_takes_its_way() {
    let exact = run("policy = \"forget-min-rtt\"", &[]);
    let link_up = phase(&exact, "link-up");
    assert_eq!(told(&exact), [(link_up, link_up as i64)]);
    assert!(messages(&exact).is_empty());

    let by_message = run("policy = \"forget-min-rtt\", notice = \"message\"", &[]);
    let [(time, changed)] = told(&by_message)[..] else { panic!() };
    assert_eq!(changed, link_up as i64);
    // It leaves the phone behind the ACKs that have waited for the link: 40 ms of them, 1660 segments per second, 40 B.
    let waited = time - link_up - WAY_NS;
    assert!(waited < 40 * 1660 / 1000 * 40 * 400, "{waited}");
    let [message] = &messages(&by_message)[..] else { panic!() };
    assert_eq!(message[1..], ["phone".into(), "server".into(), time.to_string()]);
}

#[test]
fn a_phase_of_the_protocol_is_told_by_the_node_that_notes_it() {
    let told_of = |told: &str| {
        run(&format!("policy = \"restart\", phase = \"path-switched\", notice = \"{told}\""), &[])
    };
    let exact = told_of("exact");
    let switched = phase(&exact, "path-switched");
    assert!(switched > phase(&exact, "link-up"));
    assert_eq!(told(&exact), [(switched, switched as i64)]);
    // The gateway is 15 ms away from the server.
    let by_message = told_of("message");
    assert_eq!(messages(&by_message)[0][1..3], ["gw".to_string(), "server".to_string()]);
    let [(time, _)] = told(&by_message)[..] else { panic!() };
    let waited = time - switched - 15_000_000 - 416;
    assert!(waited < 1_000, "one ACK may be ahead: {waited}");
}

#[test]
fn a_sender_in_the_host_is_told_there() {
    let upload = [("path = [\"server\", \"phone\"]", "path = [\"phone\", \"server\"]")];
    let tables = run("policy = \"restart\", notice = \"message\", delay = \"7 ms\"", &upload);
    let link_up = phase(&tables, "link-up");
    assert_eq!(told(&tables), [(link_up + 7_000_000, link_up as i64)]);
    assert!(messages(&tables).is_empty());
}

#[test]
fn news_can_be_lost_late_or_missed() {
    let fault = ("[[hosts]]", "[[faults]]\nmessage = \"path-change\"\noccurrences = [1]\n\n[[hosts]]");
    let lost = run("policy = \"restart\", notice = \"message\"", &[fault]);
    assert!(told(&lost).is_empty());
    assert_eq!(messages(&lost)[0][3], "-1");

    let late =
        run("policy = \"restart\", delay = { kind = \"uniform\", least = \"20 ms\", most = \"90 ms\" }", &[]);
    let [(time, changed)] = told(&late)[..] else { panic!() };
    assert!((20_000_000..90_000_000).contains(&(time - changed as u64)), "{time} {changed}");

    assert!(told(&run("policy = \"restart\", missed = 0.999999999", &[])).is_empty());
}

#[test]
fn false_alarms_come_at_exponential_times_that_no_policy_changes() {
    let alarms = |policy: &str, told_by: &str| {
        let tables =
            run(&format!("policy = \"{policy}\", false_every = \"1 s\", notice = \"{told_by}\""), &[]);
        causes::check(&tables).unwrap();
        let times = told(&tables).into_iter().filter(|&(_, changed)| changed < 0).map(|(time, _)| time);
        times.collect::<Vec<u64>>()
    };
    let times = alarms("restart", "exact");
    // Poisson with mean 20: five standard deviations are 22.
    assert!((4..=42).contains(&times.len()), "{}", times.len());
    assert_eq!(times, alarms("forget-min-rtt", "exact"));
    // By message they come later, from the phone; what it sends in the gap waits.
    let by_message = alarms("restart", "message");
    let late = times.iter().zip(&by_message).all(|(alarm, told)| told > alarm);
    assert!(late && by_message.len() + 1 >= times.len(), "{} {}", times.len(), by_message.len());
}

/// Mbit/s that arrive new in these seconds.
fn rate(tables: &[Table], seconds: std::ops::Range<u64>) -> f64 {
    let span = (seconds.end - seconds.start) as f64;
    delivered(tables, seconds) as f64 * 1448.0 * 8.0 / 1e6 / span
}

/// The rates of the seconds 9, 10, 11 to 14, and 9 to 19: the phone is in its new cell just before 9 s.
fn rates(variant: &str, policy: &str) -> [f64; 4] {
    let variants = [("variant = \"bbr\"", format!("variant = \"{variant}\""))];
    let changes = variants.each_ref().map(|(from, to)| (*from, to.as_str()));
    let tables = run(&format!("policy = \"{policy}\", notice = \"message\""), &changes);
    let rates = [9..10, 10..11, 11..15, 9..20].map(|seconds| rate(&tables, seconds));
    let again = rows(&tables, "flows", ["retransmitted_pkts", "timeouts"]);
    let [first, second, later, all] = rates;
    println!("{variant} | {policy} | {first:.2} | {second:.2} | {later:.2} | {all:.2} | {:?}", again[0]);
    assert!((8_800_000_000..9_000_000_000).contains(&phase(&tables, "link-up")));
    let acted = rows(&tables, "path_changes", ["acted"]);
    assert_eq!(acted[0][0] == "true", policy != "nothing");
    rates
}

#[test]
fn bbr_uses_the_longer_path_if_it_is_told() {
    // 20 Mbit/s with 1448 of 1488 B are 19.46. Two products of the old round trip are 170 segments of 282.
    let [nothing, forget, probe] =
        ["nothing", "forget-min-rtt", "probe-rtt"].map(|policy| rates("bbr", policy));
    assert!(nothing[0] < 19.46 * 170.0 / 282.0 && nothing[1] < 19.46 * 170.0 / 282.0, "{nothing:?}");
    assert!(forget[1] > 19.0 && probe[1] > 19.0, "{forget:?} {probe:?}");
    // ProbeRTT costs what 200 ms and a round trip of four segments cost.
    assert!(probe[0] < forget[0] - 19.46 * 0.368, "{forget:?} {probe:?}");
    assert!(nothing[3] < probe[3] && probe[3] < forget[3], "{nothing:?} {probe:?} {forget:?}");
}

#[test]
fn a_restart_gives_up_what_the_window_had_found() {
    // Ten segments of the initial window are 320 after five round trips of 168 ms, more than the product of 282.
    for variant in ["bbr3", "cubic", "sack"] {
        let [nothing, restart, lost] =
            ["nothing", "restart", "count-lost"].map(|policy| rates(variant, policy));
        assert!(restart[0] < 6.0 && restart[0] < lost[0], "{variant}: {restart:?} {lost:?}");
        assert!(variant != "cubic" || restart[3] < nothing[3], "{variant}: {restart:?} {nothing:?}");
    }
    let restart = rates("bbr", "restart");
    assert!(restart[0] < 6.0 && restart[1] > 18.0, "{restart:?}");
}

#[test]
fn the_record_says_what_changed_and_why() {
    let tables = run("policy = \"count-lost\", notice = \"message\"", &[]);
    let columns =
        ["acted", "lost_pkts", "cwnd_before", "cwnd", "srtt_before_ns", "srtt_ns", "rto_ns", "cause"];
    let all = rows(&tables, "path_changes", columns);
    let [row] = &all[..] else { panic!("{all:?}") };
    let cwnd = |word: &String| f64::from_bits(number(word));
    assert_eq!((row[0].as_str(), cwnd(&row[3])), ("true", 10.0));
    assert!(number(&row[1]) > 50 && cwnd(&row[2]) > 50.0 && number(&row[4]) > 40_000_000, "{row:?}");
    assert_eq!((row[5].as_str(), number(&row[6])), ("0", 1_000_000_000));
    // All that was counted lost is sent again.
    let again = rows(&tables, "flows", ["retransmitted_pkts"]);
    assert!(number(&again[0][0]) >= number(&row[1]), "{again:?} {row:?}");
    // The chain: notified by the message, by the phase at the phone.
    causes::check(&tables).unwrap();
    let causes = rows(&tables, "causes", ["kind", "name", "cause"]);
    let mut chain = vec![];
    let mut next = row[7].parse::<i64>().unwrap();
    while let Ok(place) = usize::try_from(next) {
        chain.push([causes[place][0].as_str(), causes[place][1].as_str()]);
        next = causes[place][2].parse().unwrap();
    }
    assert_eq!(
        chain[..3],
        [["path-change", "count-lost"], ["message", "path-change"], ["phase", "link-up"]],
        "{chain:?}"
    );
    // Its event in the table of the sender has the same row.
    let events = rows(&tables, "tcp", ["event", "cause"]);
    assert_eq!(events.iter().find(|event| event[0] == "path-change").unwrap()[1], row[7]);
}

#[test]
fn quic_is_told_too() {
    let quic = |policy: &str| {
        let transport = "transport = { kind = \"tcp\", variant = \"bbr\", segment = \"1448 B\" }";
        let other = "transport = { kind = \"quic\", congestion_control = \"cubic\" }";
        run(&format!("policy = \"{policy}\", notice = \"message\""), &[(transport, other)])
    };
    for policy in ["nothing", "forget-min-rtt", "careful-resume", "restart", "count-lost"] {
        let tables = quic(policy);
        let changes = rows(&tables, "path_changes", ["acted", "cwnd"]);
        let [row] = &changes[..] else { panic!("{changes:?}") };
        println!("quic {policy}: {} packets from 8 s on", delivered(&tables, 8..20));
        assert_eq!(row[0] == "true", policy != "nothing");
        let begins = ["careful-resume", "restart", "count-lost"].contains(&policy);
        assert_eq!(f64::from_bits(number(&row[1])) == 10.0, begins, "{policy}");
    }
}
