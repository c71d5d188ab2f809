//! Losses by ordinal, links that change in mid-run, files that end, and the verdicts on timeouts.

use crate::lab::{results, rows};
use roamlab_world::{Replication, Table};

const DRAW: Replication = Replication { seed: 1, run: 0, trace: None };

/// A file from `a` over `r` to `b`; `link` has the drops and changes of the second link.
fn transfer(app: &str, link: &str) -> Vec<Table> {
    transfer_of(8, app, link)
}

/// The same with a window of this number of segments.
fn transfer_of(window: u32, app: &str, link: &str) -> Vec<Table> {
    results(
        &format!(
            r#"
            run = {{ duration = "20 s", profile = "ns2-2009" }}
            record = {{ packets = true }}
            [[links]]
            between = ["a", "r"]
            rate = "10 Mbit/s"
            delay = "2 ms"
            [[links]]
            between = ["r", "b"]
            rate = "1 Mbit/s"
            delay = "30 ms"
            {link}
            [[flows]]
            name = "file"
            path = ["a", "b"]
            transport = {{ kind = "tcp", variant = "newreno", window = "{window} pkt" }}
            app = {{ kind = "ftp", {app} }}
            "#
        ),
        DRAW,
    )
}

/// The numbers of lost packets by reason, in order.
fn lost(tables: &[Table], reason: &str) -> Vec<u32> {
    let rows = rows(tables, "drops", ["reason", "seq"]);
    rows.iter().filter(|row| row[0] == reason).map(|row| row[1].parse().unwrap()).collect()
}

/// (segment, verdict) of each timeout.
fn timeouts(tables: &[Table]) -> Vec<(u32, String)> {
    let rows = rows(tables, "tcp", ["event", "seq", "timeout"]);
    let timeouts = rows.into_iter().filter(|row| row[0] == "timeout");
    timeouts.map(|[_, seq, verdict]| (seq.parse().unwrap(), verdict)).collect()
}

fn flow<const N: usize>(tables: &[Table], columns: [&str; N]) -> [i64; N] {
    rows(tables, "flows", columns)[0].clone().map(|value| value.parse().unwrap())
}

#[test]
fn a_list_loses_packets_of_a_flow_and_their_retransmissions() {
    let tables = transfer("packets = \"60 pkt\"", "drops = [{ flow = \"file\", packets = [20, 21] }]");
    assert_eq!(lost(&tables, "forced-loss"), [20, 21], "the SYN is number 0");
    assert_eq!(flow(&tables, ["retransmitted_pkts", "delivered_pkts"]), [2, 60]);
    // The retransmission of 20 is the 8th packet after it: the window lets 21 to 27 go before.
    let again = transfer("packets = \"60 pkt\"", "drops = [{ flow = \"file\", packets = [20, 30] }]");
    let entered = rows(&again, "packets", ["event", "place", "number"]);
    let sent: Vec<&str> =
        entered.iter().filter(|row| row[0] == "send" && row[1] == "a").map(|row| row[2].as_str()).collect();
    assert_eq!(lost(&again, "forced-loss"), [20, sent[30].parse().unwrap()]);
}

#[test]
fn acknowledgements_and_packets_of_all_flows_are_lost_by_ordinal_too() {
    let tables = transfer("packets = \"60 pkt\"", "reverse_drops = [{ packets = [5, 6, 7] }]");
    let dropped = rows(&tables, "packets", ["event", "kind", "number"]);
    let dropped: Vec<&[String; 3]> = dropped.iter().filter(|row| row[0] == "drop").collect();
    assert!(dropped.iter().all(|row| row[1] == "ack") && dropped.len() == 3, "{dropped:?}");
    assert_eq!(flow(&tables, ["retransmitted_pkts", "dropped_pkts", "delivered_pkts"]), [0, 3, 60]);
    let both = transfer(
        "packets = \"60 pkt\"",
        "drops = [{ flow = \"file\", packets = [9] }, { packets = [9, 10] }]",
    );
    assert_eq!(lost(&both, "forced-loss"), [9, 10], "each list counts what the other loses");
}

#[test]
fn a_link_that_is_down_loses_what_arrives_and_nothing_else() {
    let changes = "changes = [{ at = \"1 s\", up = false }, { at = \"1.4 s\", up = true }]";
    let tables = transfer("", changes);
    let rows = rows(&tables, "drops", ["time_ns", "place", "reason"]);
    assert!(rows.iter().any(|row| row[1] == "r->b") && rows.iter().any(|row| row[1] == "b->r"));
    for [time, _, reason] in rows {
        let time: u64 = time.parse().unwrap();
        assert!((1_000_000_000..1_400_000_000).contains(&time) && reason == "link-down", "{time} {reason}");
    }
    assert!(!timeouts(&tables).is_empty());
}

#[test]
fn a_new_rate_and_delay_hold_from_the_next_transmission_and_nothing_overtakes() {
    let source = |changes: &str| {
        let text = format!(
            r#"
            run = {{ duration = "2 s" }}
            links = [{{ between = ["a", "b"], rate = "1 Mbit/s", delay = "40 ms", changes = {changes} }}]
            [[flows]]
            name = "train"
            path = ["a", "b"]
            app = {{ kind = "cbr", packets = "4 pkt", rate = "1 Gbit/s", packet = "1000 B" }}
            "#
        );
        let rows = rows(&results(&text, DRAW), "deliveries", ["time_ns"]);
        rows.iter().map(|[time]| time.parse::<u64>().unwrap() / 1000).collect::<Vec<_>>()
    };
    // 8 ms each. The change comes when the second is in service.
    assert_eq!(source("[]"), [48_000, 56_000, 64_000, 72_000]);
    assert_eq!(source("[{ at = \"9 ms\", rate = \"2 Mbit/s\" }]"), [48_000, 56_000, 60_000, 64_000]);
    assert_eq!(source("[{ at = \"9 ms\", delay = \"60 ms\" }]"), [48_000, 56_000, 84_000, 92_000]);
    // 1 ms after 24 and 32 ms would overtake: they follow at their own 8 ms. The fourth starts at 24 ms.
    assert_eq!(source("[{ at = \"9 ms\", delay = \"1 ms\" }]"), [48_000, 56_000, 64_000, 72_000]);
}

#[test]
fn files_end_by_count_or_by_time_and_say_when_they_are_complete() {
    let counted = transfer("packets = \"25 pkt\"", "");
    let [finish, completed, delivered] = flow(&counted, ["finish_ns", "completed_ns", "delivered_pkts"]);
    assert!(finish == completed && completed > 0 && delivered == 25);
    let sized = transfer("size = \"24001 B\"", "");
    assert_eq!(flow(&sized, ["completed_ns", "delivered_bytes"]), [completed, 25_000]);
    let stopped = transfer("stop = \"1 s\"", "drops = [{ packets = [80, 81] }]");
    let [sent, again, delivered, completed] =
        flow(&stopped, ["sent_pkts", "retransmitted_pkts", "delivered_pkts", "completed_ns"]);
    assert!(sent - again == delivered && again >= 2, "{sent} {again} {delivered}");
    assert!((1_000_000_000..1_500_000_000).contains(&completed), "{completed}");
    assert_eq!(flow(&transfer("", ""), ["completed_ns"]), [-1], "an endless file is never complete");
    assert_eq!(
        flow(&transfer("packets = \"30000 pkt\"", ""), ["completed_ns"]),
        [-1],
        "too long for the run"
    );
}

#[test]
fn a_delay_spike_makes_a_spurious_timeout() {
    let spike = "changes = [{ at = \"2 s\", delay = \"900 ms\" }, { at = \"2.2 s\", delay = \"30 ms\" }]";
    let tables = transfer("", spike);
    let timeouts = timeouts(&tables);
    assert!(
        !timeouts.is_empty() && timeouts.iter().all(|(_, verdict)| verdict == "spurious"),
        "{timeouts:?}"
    );
    assert_eq!(
        flow(&tables, ["timeouts", "spurious_timeouts", "dropped_pkts"])[1..],
        [timeouts.len() as i64, 0]
    );
}

#[test]
fn a_loss_that_the_timer_finds_is_a_genuine_timeout() {
    // All of a window, so that nothing can cause duplicate ACKs.
    let tables = transfer("packets = \"40 pkt\"", "drops = [{ packets = [33, 34, 35, 36, 37, 38, 39, 40] }]");
    assert_eq!(timeouts(&tables), [(33, "genuine".to_owned())]);
    assert_eq!(flow(&tables, ["timeouts", "spurious_timeouts"]), [1, 0]);
}

#[test]
fn an_outage_makes_both_kinds_by_what_it_lost() {
    let mut seen = [0, 0];
    for begin in (1000..1100).step_by(7) {
        let end = begin + 900;
        let changes =
            format!("changes = [{{ at = \"{begin} ms\", up = false }}, {{ at = \"{end} ms\", up = true }}]");
        // With two segments there are times without an ACK on the way: what is lost then is the data.
        let tables = transfer_of(2, "size = \"500 kB\"", &changes);
        let delivered = rows(&tables, "deliveries", ["seq", "sent_ns"]);
        for [event, at, seq, verdict] in rows(&tables, "tcp", ["event", "time_ns", "seq", "timeout"]) {
            if event != "timeout" {
                continue;
            }
            let at: u64 = at.parse().unwrap();
            let earlier = |row: &&[String; 2]| row[0] == seq && row[1].parse::<u64>().unwrap() < at;
            let arrived = delivered.iter().any(|row| earlier(&row));
            assert_eq!(
                verdict,
                if arrived { "spurious" } else { "genuine" },
                "{seq} at {at}, outage at {begin} ms"
            );
            seen[usize::from(arrived)] += 1;
        }
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
}

#[test]
fn a_timeout_for_want_of_the_acknowledgement_is_spurious() {
    // The last segments arrive, and all of their acknowledgements are lost.
    let tables = transfer("packets = \"16 pkt\"", "reverse_drops = [{ packets = [13, 14, 15, 16] }]");
    assert_eq!(timeouts(&tables), [(13, "spurious".to_owned())]);
    assert_eq!(lost(&tables, "forced-loss").len(), 4);
}

#[test]
fn what_is_on_the_way_at_the_end_is_undecided() {
    // The SYN is two seconds short of its end when the run is over.
    let timeouts = timeouts(&transfer("start = \"10 s\"", "changes = [{ at = \"9 s\", delay = \"12 s\" }]"));
    assert!(
        !timeouts.is_empty() && timeouts.iter().all(|(_, verdict)| verdict == "undecided"),
        "{timeouts:?}"
    );
}

/// When (µs) the four packets of a train and its answers arrive over a link of 1 Mbit/s and 40 ms with these fields.
fn both_ways(link: &str) -> [Vec<u64>; 2] {
    let text = format!(
        r#"
        run = {{ duration = "2 s" }}
        links = [{{ between = ["a", "b"], rate = "1 Mbit/s", delay = "40 ms", {link} }}]
        [[flows]]
        name = "there"
        path = ["a", "b"]
        app = {{ kind = "cbr", packets = "4 pkt", rate = "1 Gbit/s", packet = "1000 B" }}
        [[flows]]
        name = "back"
        path = ["b", "a"]
        app = {{ kind = "cbr", packets = "4 pkt", rate = "1 Gbit/s", packet = "1000 B" }}
        "#
    );
    let arrivals = rows(&results(&text, DRAW), "deliveries", ["flow", "time_ns"]);
    ["there", "back"].map(|flow| {
        let of_flow = arrivals.iter().filter(|row| row[0] == flow);
        of_flow.map(|row| row[1].parse::<u64>().unwrap() / 1000).collect()
    })
}

#[test]
fn the_way_back_may_have_another_rate_and_delay() {
    let there = vec![48_000, 56_000, 64_000, 72_000];
    assert_eq!(both_ways(""), [there.clone(), there.clone()]);
    let slow = both_ways("reverse_rate = \"500 kbit/s\", reverse_delay = \"10 ms\"");
    assert_eq!(slow, [there.clone(), vec![26_000, 42_000, 58_000, 74_000]]);
    // The change comes when the second is in service.
    let changed =
        both_ways("changes = [{ at = \"9 ms\", reverse_rate = \"500 kbit/s\", reverse_delay = \"50 ms\" }]");
    assert_eq!(changed, [there, vec![48_000, 56_000, 82_000, 98_000]]);
}

#[test]
fn a_list_with_a_delay_holds_packets_back_and_others_overtake_them() {
    // The second enters when the others have been sent (at 32 ms), the third behind it.
    let late =
        both_ways("drops = [{ packets = [1], delay = \"40 ms\" }, { packets = [2], delay = \"41 ms\" }]");
    assert_eq!(late[0], [48_000, 56_000, 88_008, 96_008]);
    let tables = transfer("packets = \"60 pkt\"", "drops = [{ packets = [20, 21], delay = \"25 ms\" }]");
    assert_eq!(lost(&tables, "forced-loss"), [0; 0]);
    assert_eq!(flow(&tables, ["dropped_pkts", "delivered_pkts"]), [0, 60]);
    assert!(flow(&tables, ["reordered_pkts"])[0] >= 2);
    let both = "drops = [{ packets = [9], delay = \"1 ms\" }, { packets = [9] }]";
    assert_eq!(lost(&transfer("packets = \"60 pkt\"", both), "forced-loss"), [9], "a loss prevails");
}

#[test]
fn a_file_is_complete_with_its_last_fresh_segment_and_not_with_a_copy() {
    let sound = transfer("packets = \"25 pkt\"", "");
    let tables = transfer("packets = \"25 pkt\"", "reverse_drops = [{ packets = [24, 25] }]");
    let columns = ["completed_ns", "delivered_pkts", "duplicate_pkts"];
    let [completed, ..] = flow(&sound, columns);
    let [again, delivered, duplicates] = flow(&tables, columns);
    assert!((again, delivered) == (completed, 25) && duplicates > 0, "{again} {delivered} {duplicates}");
    assert!(flow(&tables, ["finish_ns"])[0] > completed, "the copies come later");
}

#[test]
fn goodput_counts_from_the_flows_start() {
    let tables = transfer("packets = \"25 pkt\", start = \"4 s\"", "");
    let [goodput] = rows(&tables, "flows", ["goodput_bps"])[0].clone();
    let expected = 25_000.0 * 8.0 / 16.0;
    assert!((f64::from_bits(goodput.parse().unwrap()) - expected).abs() < 1e-6, "{goodput}");
}

#[test]
fn the_extent_of_reordering_is_the_largest() {
    let late = "drops = [{ packets = [20], delay = \"60 ms\" }, { packets = [60], delay = \"20 ms\" }]";
    let tables = transfer("packets = \"100 pkt\"", late);
    let extents = rows(&tables, "deliveries", ["late_by_pkts"]);
    let extents: Vec<i64> = extents.iter().map(|[extent]| extent.parse().unwrap()).collect();
    let last = *extents.iter().rfind(|extent| **extent > 0).unwrap();
    let [found] = flow(&tables, ["reordering_extent_pkts"]);
    assert!(found == *extents.iter().max().unwrap() && found > last, "{found} {last}");
}
