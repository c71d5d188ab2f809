//! The standard handover without trouble: the message chart, and the fate of packets.

use super::lab::{Lab, Loss, MS, Record, TCP, TURNS, Trouble, UDP, assert_flawless};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Number of the step in TS 36.300 fig. 10.1.2.1.1-1; the end marker is sent twice, on each leg of its way.
fn step(message: &str) -> &'static str {
    match message {
        "measurement-control" => "1",
        "measurement-report" => "2",
        "handover-request" => "4",
        "handover-request-ack" => "6",
        "handover-command" => "7",
        "sn-status-transfer" => "8",
        "random-access-preamble" => "9",
        "random-access-response" => "10",
        "handover-confirm" => "11",
        "path-switch-request" => "12",
        "modify-bearer-request" => "13",
        "end-marker" => "14",
        "modify-bearer-response" => "15",
        "path-switch-request-ack" => "16",
        "ue-context-release" => "17",
        _ => "",
    }
}

/// Messages from `since` on and phases, by time, in µs.
fn chart(record: &Record, since: u64) -> String {
    let mut lines: Vec<(u64, String)> = Vec::new();
    for signal in record.signals.iter().filter(|signal| signal.sent >= since) {
        let (step, way) = (step(&signal.message), format!("{} -> {}", signal.source, signal.destination));
        let arrived = signal.arrived.map_or("lost".into(), |at| format!("{}", (at - since) / 1_000));
        lines.push((signal.sent, format!("{step:>2}  {:<28} {way:<14} {arrived:>7}", signal.message)));
    }
    for phase in record.phases.iter().filter(|phase| phase.time >= since) {
        lines.push((phase.time, format!("    {:<28} {}", phase.phase, phase.node)));
    }
    lines.sort_by_key(|(time, _)| *time);
    lines.iter().fold(String::new(), |mut text, (time, line)| {
        let _ = writeln!(text, "{:>7} {}", (time - since) / 1_000, line.trim_end());
        text
    })
}

#[test]
fn the_chart_is_that_of_ts_36_300() {
    let record = Lab::default().run();
    insta::assert_snapshot!(chart(&record, TURNS));

    // The steps that are messages, in order; 3, 5 and 18 are decisions, and the figure leaves the status report out.
    let steps: Vec<&str> = record
        .signals
        .iter()
        .filter(|signal| signal.sent >= TURNS || &*signal.message == "measurement-control")
        .filter(|signal| &*signal.message != "pdcp-status-report")
        .map(|signal| step(&signal.message))
        .collect();
    let standard = "1 2 4 6 7 8 9 10 11 12 13 14 15 16 14 17";
    let mut unordered: Vec<&str> = standard.split(' ').collect();
    let mut seen = steps.clone();
    // The end marker's second leg begins while the answers of the core are on their way.
    unordered.sort_unstable();
    seen.sort_unstable();
    assert_eq!(seen, unordered);
    let without_markers =
        |steps: &[&str]| steps.iter().filter(|step| **step != "14").copied().collect::<Vec<_>>().join(" ");
    assert_eq!(without_markers(&steps), standard.replace(" 14", ""));
}

#[test]
fn nothing_is_lost_repeated_or_out_of_order() {
    let record = Lab::default().run();
    for flow in ["tcp", "udp"] {
        assert_flawless(&record, flow);
    }
    assert_eq!(["timeouts", "fast_retransmits"].map(|name| record.total("tcp", name)), [0, 0]);
    // Packets in flight at the command were forwarded too, and the host took no notice.
    assert!(record.census("duplicate") > 0);
    assert_eq!(record.census("duplicate"), record.census("duplicated"));
    assert!(record.phase("order-restored", TURNS).is_some());
    assert!(record.phase("reordering-timed-out", TURNS).is_none());
}

/// Of the copies only what was on the air when the report came crosses it.
#[test]
fn the_status_report_spares_the_air_of_what_the_host_has() {
    let dropped = |record: &Record, place: &str| {
        let copies = record.losses.iter().filter(|loss| &*loss.reason == "duplicate");
        copies.filter(|loss| &*loss.place == place).count()
    };
    let [asked, unasked] = ["", "status_report = false"].map(without);
    assert_eq!(
        (dropped(&unasked, "ue"), dropped(&unasked, "enb2")),
        (unasked.census("duplicated") as usize, 0)
    );
    assert_eq!((dropped(&asked, "ue"), dropped(&asked, "enb2")), (1, dropped(&unasked, "ue") - 1));
    for (record, sent) in [(&asked, 1), (&unasked, 0)] {
        let reports = record.signals.iter().filter(|signal| &*signal.message == "pdcp-status-report");
        assert_eq!(reports.count(), sent);
        assert_flawless(record, "udp");
    }
    // Lost, it changes only that.
    let lab = Lab { troubles: vec![Trouble::lost("pdcp-status-report", 1)], ..Lab::default() };
    assert_eq!(dropped(&lab.run(), "ue"), dropped(&unasked, "ue"));
    // Nothing is copied, nothing is asked.
    let seamless = without("forwarding = \"seamless\"");
    assert!(seamless.signals.iter().all(|signal| &*signal.message != "pdcp-status-report"));
}

/// A stream that fills a quarter of the target's wire, so that forwarded and direct packets meet.
fn without(part: &str) -> Record {
    Lab::with(part).run()
}

#[test]
fn without_reordering_packets_overtake_each_other_and_it_is_measured() {
    let record = without("reordering = false");
    assert!(record.total("udp", "reordered_pkts") > 0);
    let overtaken = record.delivered("udp").map(|delivery| delivery.late_by).max();
    assert_eq!(Some(record.total("udp", "reordering_extent_pkts")), overtaken);
    assert!(record.lost("udp").next().is_none() && record.lost("tcp").next().is_none());
    assert_eq!(record.total("udp", "duplicate_pkts"), 0);
}

#[test]
fn duplicates_reach_the_host_if_its_layer_2_does_not_drop_them() {
    let record = Lab { flows: UDP.into(), ..Lab::with("drop_duplicates = false") }.run();
    assert_eq!(record.census("duplicate"), 0);
    assert_eq!(record.total("udp", "duplicate_pkts"), record.census("duplicated"));
    assert!(record.census("duplicated") > 0);
    // TCP takes them for a sign of loss.
    let record = without("drop_duplicates = false");
    assert!(record.total("tcp", "fast_retransmits") > 0 && record.lost("tcp").next().is_none());
}

/// The command overtakes what waits, and what is in flight at it arrives, so that nothing unacknowledged is lacking.
#[test]
fn seamless_forwarding_makes_no_copies() {
    let record = without("forwarding = \"seamless\"");
    assert_eq!(record.census("duplicated"), 0);
    assert!(record.signals.iter().all(|signal| &*signal.message != "sn-status-transfer"));
    assert!(record.lost("udp").next().is_none());
}

#[test]
fn without_forwarding_what_comes_to_the_source_is_lost() {
    let record = without("forwarding = \"none\"");
    let lost: Vec<_> = record.lost("udp").collect();
    // From the command at the host until the path is switched: detached, random access, S1, some 60 ms.
    assert!((15..45).contains(&lost.len()), "{}", lost.len());
    assert!(lost.iter().all(|loss| matches!(&*loss.reason, "detached" | "bearer-ended")), "{lost:?}");
    assert_eq!(record.releases.iter().filter(|release| &*release.node == "enb1").count(), 0);
    assert!(record.total("tcp", "delivered_pkts") > 1_000);
}

#[test]
fn forwarding_is_in_the_record() {
    let record = Lab { flows: UDP.into(), ..Lab::default() }.run();
    let command = record.phase("handover-commanded", TURNS).expect("a handover");
    let marker = record.phase("forwarding-ended", command).expect("an end marker");
    let at = |node: &str| record.releases.iter().filter(|release| &*release.node == node).collect::<Vec<_>>();
    let forwarded = at("enb1");
    assert!(forwarded.len() > 20);
    // Packets in flight, in copies, at the command itself.
    let copies: BTreeSet<_> = record.released_at(command).map(|release| release.serial).collect();
    let dropped = record.losses.iter().filter(|loss| &*loss.reason == "duplicate" && !loss.forwarded);
    assert_eq!(dropped.map(|loss| loss.serial).collect::<BTreeSet<_>>(), copies);
    assert!(forwarded.iter().all(|release| (command..=marker).contains(&release.time) && !release.forwarded));
    // All of them go through the target's lines, whether they wait there or not, and come late.
    let held: Vec<_> = at("enb2").iter().map(|release| release.serial).collect();
    assert!(forwarded.iter().take(10).all(|release| held.contains(&release.serial)));
    let slowest = record.delivered("udp").map(|delivery| delivery.time - delivery.sent).max();
    assert!(slowest > Some(40 * MS), "{slowest:?}");
    assert!(record.releases.iter().all(|release| &*release.flow == "udp"));
}

/// The target's lines hold what comes until the host has its link and has confirmed, and no more than their limit.
#[test]
fn what_the_target_cannot_hold_is_lost_and_the_rest_arrives_in_order() {
    let text = Lab { flows: UDP.into(), ..Lab::default() }.text().replace("1000 pkt", "10 pkt");
    let record = Record::of(&text, 1, 8_000);
    let lost: Vec<&Loss> = record.lost("udp").collect();
    assert!(!lost.is_empty() && lost.iter().all(|loss| &*loss.reason == "buffer-overflow"), "{lost:?}");
    // A datagram each 2 ms from the command until the confirmation, less the ten.
    let held = record.phase("handover-confirmed", TURNS).expect("a handover")
        - record.phase("handover-commanded", TURNS).expect("a handover");
    let expected = held / (2 * MS) - 10;
    assert!(lost.len().abs_diff(expected as usize) <= 3, "{} of {expected}", lost.len());
    assert!(record.without_end("udp", (2_500 * MS, 2 * MS), 7_000 * MS).is_empty());
    assert_eq!(["duplicate_pkts", "reordered_pkts"].map(|name| record.total("udp", name)), [0, 0]);
}

#[test]
fn tunnel_headers_take_time_on_the_wire() {
    let arrival = |mobility: &str| {
        let record = Lab { flows: UDP.into(), ..Lab::with(mobility) }.run();
        let first = record.delivered("udp").next().expect("a delivery");
        first.time - first.sent
    };
    // 36 B more between gateway and router at 100 Mbit/s and between router and base station at 12 Mbit/s.
    assert_eq!(arrival("tunnel_overhead = \"36 B\"") - arrival(""), 36 * 80 + 24_000);
}

#[test]
fn a_full_cell_admits_nobody_and_the_host_stays() {
    let resident =
        "[[hosts]]\nname = \"other\"\nhome = \"gw\"\nvisits = [{ cell = \"enb2\", at = \"0 s\" }]\n";
    let mut lab = Lab::with("admission_limit = 1");
    lab.flows = format!("{resident}{TCP}{UDP}");
    lab.duration_ms = 4_000;
    let record = lab.run();
    let count = |name: &str| record.signals.iter().filter(|signal| &*signal.message == name).count();
    // A report each 240 ms.
    assert!(
        (3..=6).contains(&count("handover-preparation-failure")),
        "{}",
        count("handover-preparation-failure")
    );
    assert_eq!((count("handover-request-ack"), count("handover-command")), (0, 0));
    assert_flawless(&record, "udp");
}

/// Gateway and MME at one node: their messages to each other take no time.
#[test]
fn the_mme_may_stand_at_the_gateway() {
    let text = Lab::default().text().replace("mme = \"mme\"\n", "");
    let record = Record::of(&text, 1, 8_000);
    for flow in ["tcp", "udp"] {
        assert_flawless(&record, flow);
    }
    let mut asked = record.signals.iter().filter(|signal| &*signal.message == "modify-bearer-request");
    assert!(asked.all(|signal| signal.source == signal.destination && signal.arrived == Some(signal.sent)));
}
