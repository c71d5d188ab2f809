//! Why something happened: whole chains from a loss, a timeout or a phase to the root.

use crate::lab::causes::{Causes, Row, check};
use crate::lab::{results, rows};
use roamlab_record::cause::Kind;
use roamlab_world::{Replication, RunOptions, Scenario, Table, run};

const DRAW: Replication = Replication { seed: 1, run: 0, trace: None };
const MBLUE: &str = include_str!("../../../python/roamlab/papers/mblue/scenario.toml");

/// The chain from a row in words: kind, name and place of each row.
fn words(causes: &Causes, id: i64) -> Vec<String> {
    let word = |row: &&Row| {
        let parts = [row.kind.as_str(), &row.name, &row.place];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    };
    causes.chain(id).unwrap_or_else(|problem| panic!("{problem}")).iter().map(word).collect()
}

/// The chain of the first row of a table in which these columns have these values.
fn chain(tables: &[Table], table: &str, columns: [&str; 2], values: [&str; 2]) -> Vec<String> {
    let found = rows(tables, table, ["cause", columns[0], columns[1]]).into_iter();
    let row = found.into_iter().find(|row| [row[1].as_str(), &row[2]] == values);
    let [cause, ..] = row.unwrap_or_else(|| panic!("{table}: no row with {values:?}"));
    words(&Causes::of(tables), cause.parse().unwrap())
}

/// The network of the MBLUE paper with another text in place of one.
fn mblue(find: &str, replace: &str) -> Vec<Table> {
    let text = MBLUE.replacen(find, replace, 1);
    assert_ne!(text, MBLUE);
    let tables = results(&text, DRAW);
    check(&tables).unwrap();
    tables
}

#[test]
fn a_loss_at_a_handover_leads_to_the_motion() {
    let tables = mblue("at = \"base-station\", limit = \"64 pkt\", mark_forwarded = true", "at = \"none\"");
    let expected = ["loss detached bs1/air", "phase link-down mh", "motion"];
    assert_eq!(chain(&tables, "drops", ["reason", "flow"], ["detached", "moving"]), expected);
    let timeout = ["timeout", "loss detached bs1/air", "phase link-down mh", "motion"];
    assert_eq!(chain(&tables, "tcp", ["event", "flow"], ["timeout", "moving"]), timeout);
}

#[test]
fn a_timeout_after_an_early_drop_leads_to_it() {
    let tables = results(MBLUE, DRAW);
    check(&tables).unwrap();
    let expected = ["timeout", "loss early-drop bs2/air"];
    assert_eq!(chain(&tables, "tcp", ["event", "timeout"], ["timeout", "genuine"]), expected);
}

#[test]
fn a_timeout_while_a_buffer_holds_the_segment_leads_to_the_motion() {
    // One segment at a time: the host leaves when it is on its way, and no acknowledgement waits at the host.
    let motion =
        "path = [\"ch\", \"mh\"]\ntransport = { kind = \"tcp\", variant = \"reno\", window = \"64 pkt\"";
    let text = MBLUE.replacen(motion, &motion.replace("64", "1"), 1);
    let text = text.replacen("[mobility]", "[radio]\nkind = \"hard\"\ngap = \"600 ms\"\n[mobility]", 1);
    let tables = results(&text, DRAW);
    check(&tables).unwrap();
    let expected = ["timeout", "buffering bs1", "phase link-down mh", "motion"];
    assert_eq!(chain(&tables, "tcp", ["flow", "timeout"], ["moving", "spurious"]), expected);
}

#[test]
fn a_message_that_is_sent_again_leads_to_the_loss_of_the_first() {
    let fault = "[[faults]]\nmessage = \"registration-request\"\nhost = \"mh\"\noccurrences = [3]\n";
    let tables = mblue("[mobility]", &format!("{fault}[mobility]"));
    let lost = ["loss forced-loss mh"];
    assert_eq!(chain(&tables, "drops", ["reason", "flow"], ["forced-loss", "signalling"]), lost);
    let causes = Causes::of(&tables);
    let lost = causes.0.iter().position(|row| row.name == "forced-loss").unwrap() as i64;
    let timer = causes.0.iter().position(|row| row.kind == "timer" && row.cause == lost).unwrap() as i64;
    let again = causes.0.iter().find(|row| row.cause == timer && row.kind == "message").unwrap();
    assert_eq!((again.name.as_str(), again.place.as_str()), ("handoff-request", "mh"));
    let serial = rows(&tables, "signalling", ["message", "arrived_ns", "serial"]).into_iter();
    let mut serial = serial.filter(|row| row[0] == "registration-request" && row[1] == "-1");
    assert_eq!(serial.next().unwrap()[2], causes.0[lost as usize].serial.to_string());
}

/// A file over a slow link, and what happens to it by force.
fn transfer(trouble: &str) -> Vec<Table> {
    transfer_by(r#"variant = "newreno""#, r#"{ kind = "ftp" }"#, trouble)
}

/// The same by a TCP with these parameters, of what an application offers.
fn transfer_by(tcp: &str, app: &str, trouble: &str) -> Vec<Table> {
    let tables = results(
        &format!(
            r#"
            run = {{ duration = "5 s" }}
            record = {{ packets = true }}
            [[links]]
            between = ["a", "r"]
            rate = "10 Mbit/s"
            delay = "2 ms"
            [[links]]
            between = ["r", "b"]
            rate = "1 Mbit/s"
            delay = "30 ms"
            {trouble}
            [[flows]]
            name = "file"
            path = ["a", "b"]
            transport = {{ kind = "tcp", window = "8 pkt", {tcp} }}
            app = {app}
            "#
        ),
        DRAW,
    );
    check(&tables).unwrap();
    tables
}

#[test]
fn what_is_sent_again_leads_to_the_forced_loss() {
    let tables = transfer("drops = [{ packets = [20] }]");
    let lost = "loss forced-loss r->b";
    let reduced = chain(&tables, "tcp", ["event", "flow"], ["fast-retransmit", "file"]);
    assert_eq!(reduced, ["fast-retransmit", lost]);
    assert_eq!(chain(&tables, "packets", ["event", "retransmission"], ["send", "true"]), [lost]);
    assert_eq!(chain(&tables, "packets", ["event", "flow"], ["drop", "file"]), [lost]);
}

const RACK: &str = r#"variant = "sack", recovery = "rack""#;

#[test]
fn a_cut_by_rack_leads_over_its_mark_to_the_loss() {
    let tables = transfer_by(RACK, r#"{ kind = "ftp" }"#, "drops = [{ packets = [20] }]");
    let reduced = chain(&tables, "tcp", ["event", "flow"], ["fast-retransmit", "file"]);
    assert_eq!(reduced, ["fast-retransmit", "rack-mark", "loss forced-loss r->b"]);
    let marked = chain(&tables, "tcp", ["event", "flow"], ["rack-mark", "file"]);
    assert_eq!(marked, ["rack-mark", "loss forced-loss r->b"]);
}

#[test]
fn a_probe_of_the_tail_leads_to_what_was_lost() {
    let app = r#"{ kind = "ftp", packets = "20 pkt" }"#;
    let tables = transfer_by(RACK, app, "drops = [{ packets = [19, 20] }]");
    let probed = chain(&tables, "tcp", ["event", "flow"], ["tail-loss-probe", "file"]);
    assert_eq!(probed, ["tail-loss-probe", "loss forced-loss r->b"]);
    let marked = chain(&tables, "tcp", ["event", "flow"], ["rack-mark", "file"]);
    assert_eq!(marked, ["rack-mark", "loss forced-loss r->b"]);
}

#[test]
fn a_timeout_for_a_link_that_changes_leads_to_the_change() {
    let late = transfer("changes = [{ at = \"2 s\", delay = \"2 s\" }]");
    let expected = ["timeout", "link-change r->b"];
    assert_eq!(chain(&late, "tcp", ["event", "flow"], ["timeout", "file"]), expected);
    let down = transfer("changes = [{ at = \"2 s\", up = false }]");
    let expected = ["timeout", "loss link-down b->r", "link-change b->r"];
    assert_eq!(chain(&down, "tcp", ["event", "flow"], ["timeout", "file"]), expected);
}

#[test]
fn a_timeout_for_want_of_acknowledgements_leads_to_their_loss() {
    let tables = transfer("reverse_drops = [{ packets = [13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24] }]");
    let expected = ["timeout", "loss forced-loss b->r"];
    assert_eq!(chain(&tables, "tcp", ["event", "timeout"], ["timeout", "spurious"]), expected);
}

#[test]
fn every_kind_is_described() {
    let page = include_str!("../../../docs/tables.md");
    for kind in Kind::ALL {
        assert!(page.contains(&format!("\n| `{}` | ", kind.name())), "{kind:?}");
    }
}

#[test]
fn a_timeout_in_an_outage_of_a_recorded_link_leads_to_it() {
    // Opportunities each millisecond for 2 s, then none for 3 s.
    let steady: String = (1..=2000).map(|time| format!("{time}\n")).collect();
    let outage = |path: &str| match path {
        "outage" => Ok(format!("{steady}5000\n")),
        _ => Err("there is none".to_owned()),
    };
    let text = r#"
        run = { duration = "6 s" }
        [[links]]
        between = ["a", "b"]
        rate = { trace = "outage" }
        delay = "20 ms"
        queue = { kind = "droptail", limit = "500 pkt" }
        [[flows]]
        name = "file"
        path = ["a", "b"]
        transport = { kind = "tcp", variant = "newreno", window = "8 pkt" }
        app = { kind = "ftp" }
    "#;
    let scenario = Scenario::parse_with(text, "x.toml", &outage).unwrap();
    let tables = run(&scenario, DRAW, &RunOptions::default()).unwrap();
    check(&tables).unwrap();
    let expected = ["timeout", "link-outage a->b"];
    assert_eq!(chain(&tables, "tcp", ["event", "flow"], ["timeout", "file"]), expected);
    let causes = Causes::of(&tables);
    let outages = causes.0.iter().filter(|row| row.kind == "link-outage");
    let begun: Vec<(&str, u64)> = outages.map(|row| (row.place.as_str(), row.time / 1_000_000)).collect();
    // The way back has the same recording: an acknowledgement waits, and then the segments that earlier ones
    // released.
    assert_eq!(begun, [("b->a", 2002), ("a->b", 2020)]);
}
