//! A gap of 700 ms and a new address: how long a download over QUIC stops, by the reaction of its sender.

use crate::lab::{results, rows};
use roamlab_world::{Replication, Table};

const DRAW: Replication = Replication { seed: 1, run: 0, trace: None };
const EXAMPLE: &str = include_str!("../../../../examples/quic.toml");
/// The phone leaves its cell at 6 s.
const ENTERS: f64 = 6.7;

fn run(transport: &str) -> Vec<Table> {
    let text = EXAMPLE.replace("migration = \"rfc\"", transport).replace("300 ms", "700 ms");
    assert_ne!(text, EXAMPLE);
    results(&text, DRAW)
}

/// When new data arrives again after 6.1 s.
fn resumes(tables: &[Table]) -> f64 {
    let arrivals =
        rows(tables, "deliveries", ["time_ns", "fresh"]).into_iter().filter(|row| row[1] == "true");
    let mut times = arrivals.map(|row| row[0].parse::<f64>().unwrap() / 1e9);
    times.find(|&time| time > 6.1).unwrap()
}

/// The timeouts from 6 s on until new data arrives: when, and the probe timeout after it.
fn timeouts(tables: &[Table]) -> Vec<(f64, f64)> {
    let end = resumes(tables);
    let events = rows(tables, "tcp", ["time_ns", "event", "rto_ns"]).into_iter();
    let times = events.filter(|row| row[1] == "timeout").map(|row| {
        let [time, _, rto] = row.map(|word| word.parse::<f64>().unwrap_or_default() / 1e9);
        (time, rto)
    });
    times.filter(|&(time, _)| (6.0..end).contains(&time)).collect()
}

#[test]
fn with_a_new_window_the_data_follows_the_answer_to_the_challenge() {
    // Two round trips of 42 ms: PING and challenge, answer and data. In front of the answer is the ACK of the challenge to the
    // old address, which shows a gap (RFC 9000 §13.2.1): 130 B take 0.1 ms.
    for transport in ["migration = \"rfc\"", "migration = \"quic-go\"", "migration = \"careful-resume\""] {
        let resumed = resumes(&run(transport));
        assert!((ENTERS + 0.083..ENTERS + 0.0885).contains(&resumed), "{transport}: {resumed}");
    }
}

#[test]
fn a_sender_that_keeps_its_estimate_waits_for_a_probe_timeout_that_has_measured_the_gap() {
    let tables = run("migration = \"keep\"");
    let timeouts = timeouts(&tables);
    // Three in the gap, each after twice the time. Those before 6.7 s are lost with the rest of the window.
    let [.., (before, _), (last_in_gap, _), (last, rto)] = timeouts[..] else { panic!("{timeouts:?}") };
    assert_eq!(timeouts.len(), 4);
    assert!(before < last_in_gap && last_in_gap < ENTERS, "{timeouts:?}");
    // The window is full of lost packets, so the next packet is the next probe: RFC 9002 §A.8, from the last one.
    assert!((last - last_in_gap - rto / 2.0).abs() < 1e-6, "{timeouts:?}");
    // Two acknowledgements waited for the gap at least. RFC 9002 §5.3 by hand, from a probe timeout of 0.093 s and samples of
    // 0.7 s less 25 ms: rttvar at least 0.152 and 0.247 s, srtt 0.144 and 0.210 s. 0.210 + 4 * 0.247 + 0.025 s.
    assert!(rto / 2.0 > 1.22, "{timeouts:?}");
    let resumed = resumes(&tables);
    assert!((last..last + 0.03).contains(&resumed) && resumed > 7.88, "{resumed}");
}

#[test]
fn a_window_that_counts_the_old_path_waits_for_a_probe_timeout_of_a_new_path() {
    // 3 * 333 + 25 ms from the last probe; with 50 ms it is over before the phone is there.
    let wait = |transport| resumes(&run(transport)) - ENTERS;
    let counts = wait("migration = \"msquic\"");
    assert!((0.98..1.03).contains(&counts), "{counts}");
    let sooner = wait("migration = \"msquic\", initial_rtt = \"50 ms\"");
    assert!(sooner < 0.2, "{sooner}");
}

#[test]
fn a_resumed_window_fills_the_new_path_sooner() {
    let in_400_ms = |transport| {
        let tables = run(transport);
        let arrivals = rows(&tables, "deliveries", ["time_ns", "fresh"]).into_iter();
        let times = arrivals.filter(|row| row[1] == "true").map(|row| row[0].parse::<f64>().unwrap() / 1e9);
        let packets = times.filter(|time| (ENTERS..ENTERS + 0.4).contains(time)).count();
        let events = rows(&tables, "tcp", ["event", "cwnd"]).into_iter();
        (
            packets,
            events.filter(|row| ["jump", "safe-retreat"].contains(&row[0].as_str())).collect::<Vec<_>>(),
        )
    };
    let (slow_start, none) = in_400_ms("migration = \"rfc\"");
    assert!(none.is_empty());
    let (resumed, events) = in_400_ms("migration = \"careful-resume\"");
    let [[event, cwnd]] = &events[..] else { panic!("{events:?}") };
    // Half of a window of some 70 packets.
    assert!(event == "jump" && (30.0..40.0).contains(&f64::from_bits(cwnd.parse().unwrap())));
    println!("{slow_start} packets by slow start, {resumed} with the jump");
    assert!(resumed > slow_start, "{resumed} {slow_start}");
}
