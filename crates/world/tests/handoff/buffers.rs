//! Effects of the base station buffer's parameters on a handoff.

use super::lab::{LEAVES, Lab, MS, PROBE, RED, Record};
use std::collections::BTreeSet;

/// Probes, one each millisecond, in a handoff with this buffer.
fn handoff(buffer: &str) -> Record {
    Lab { buffer: buffer.into(), flows: PROBE.into(), duration_ms: 6_000, ..Lab::default() }.run()
}

/// The probes that the handoff loses for a reason.
fn lost(record: &Record, reason: &str) -> Vec<u64> {
    record.lost("probe").filter(|loss| &*loss.reason == reason).map(|loss| loss.seq).collect()
}

fn released(record: &Record) -> Vec<u64> {
    let released: Vec<u64> = record.releases.iter().map(|release| release.serial).collect();
    let first = record.releases.first().map_or(0, |release| release.time);
    let at_once = record.releases.iter().take_while(|release| release.time == first).count();
    released[..at_once].to_vec()
}

#[test]
fn a_full_buffer_loses_the_newest_or_the_oldest() {
    let [newest, oldest] =
        ["newest", "oldest"].map(|drop| handoff(&format!("limit = \"20 pkt\", drop = \"{drop}\",")));
    let [of_newest, of_oldest] = [&newest, &oldest].map(|record| lost(record, "buffer-overflow"));
    assert_eq!(of_newest.len(), of_oldest.len());
    assert!(of_newest.len() > 30, "{of_newest:?}");
    // The oldest 20 wait in the one case, the newest 20 in the other.
    assert_eq!(of_newest[0], of_oldest[0] + 20);
    assert!(of_newest.windows(2).chain(of_oldest.windows(2)).all(|pair| pair[1] == pair[0] + 1));
}

#[test]
fn a_buffer_is_emptied_in_the_order_asked_for() {
    let [fifo, lifo] =
        ["oldest-first", "newest-first"].map(|flush| released(&handoff(&format!("flush = \"{flush}\","))));
    assert!(fifo.len() > 50 && fifo.is_sorted());
    assert!(lifo.len() == fifo.len() && lifo.is_sorted_by(|earlier, later| earlier > later));
}

#[test]
fn a_packet_waits_no_longer_than_it_may() {
    let record = handoff("longest_wait = \"30 ms\",");
    let expired = lost(&record, "buffer-expired");
    let started = record.phase("forwarding-started", LEAVES).expect("a handoff");
    // Of the 64 ms of T_loss all but the last 30 ms.
    assert!((30..=36).contains(&expired.len()), "{expired:?}");
    let expired = record.lost("probe").filter(|loss| &*loss.reason == "buffer-expired");
    let times: Vec<u64> = expired.map(|loss| loss.time).collect();
    assert!(times.iter().all(|&time| time >= LEAVES + 30 * MS && time <= started));
    assert!(times.is_sorted());
}

/// Probes that never arrive, and deliveries beyond the first.
fn missing_and_twice(record: &Record) -> (usize, usize) {
    let arrived: Vec<u64> = record.delivered("probe").map(|delivery| delivery.seq).collect();
    let all: BTreeSet<u64> = arrived.iter().copied().collect();
    let last = all.last().copied().unwrap_or_default();
    (last as usize + 1 - all.len(), arrived.len() - all.len())
}

#[test]
fn a_foreign_agent_forwards_the_last_packets_whether_the_host_has_them_or_not() {
    // The old agent is notified of the handoff after T_loss, 63 ms. It is 1 ms from the base station: with the times of
    // transmission the last 65 probes have not gone on the air in time.
    for limit in [20, 100] {
        let record = handoff(&format!("at = \"foreign-agent\", limit = \"{limit} pkt\","));
        assert_eq!(released(&record).len(), limit);
        let (missing, twice) = missing_and_twice(&record);
        let undelivered = missing + limit - twice;
        assert_eq!(undelivered, 65, "{missing} missing, {twice} twice");
        assert_eq!(missing == 0, limit == 100);
        assert_eq!(twice == 0, limit == 20);
    }
    assert_eq!(missing_and_twice(&handoff("limit = \"100 pkt\",")), (0, 0), "a base station knows");
}

#[test]
fn a_congested_base_station_accepts_no_buffered_packets() {
    // The correspondent learns at 2.12 s where the resident is. Its 5100 packets a second come 80 ms earlier from then on,
    // 408 of them at the same time, and the cell sends 5000 a second: 510 wait when the host comes at 3 s.
    const RESIDENT: &str = r#"
[[hosts]]
name = "resident"
home = "ha"
visits = [{ cell = "bs2", at = "0 s" }]
[[flows]]
name = "load"
path = ["ch", "resident"]
app = { kind = "cbr", start = "2 s", stop = "3.2 s", rate = "2.04 Mbit/s", packet = "50 B" }
"#;
    let [accepted, refused] = [600, 400].map(|below| {
        let flows = format!("{PROBE}{RESIDENT}");
        let buffer = format!("limit = \"1000 pkt\", forward_below = \"{below} pkt\",");
        Lab { buffer, flows, discipline: RED, duration_ms: 8_000, ..Lab::default() }.run()
    });
    assert_eq!(missing_and_twice(&accepted), (0, 0));
    assert!(accepted.phase("forwarding-started", LEAVES).is_some());
    assert!(refused.phase("forwarding-started", LEAVES).is_none());
    // All that waited at the old base station is lost, and nothing else.
    // They came in the 63 ms of T_loss and the 1 ms to the base station, with the times of transmission.
    assert_eq!(released(&accepted).len(), 65);
    assert_eq!(lost(&refused, "buffer-expired").len(), 65);
    assert_eq!(missing_and_twice(&refused), (65, 0));
}
