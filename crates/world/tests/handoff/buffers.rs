//! Effects of the base station buffer's parameters on a handoff.

use super::lab::{LEAVES, Lab, MS, PROBE, Record};

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
