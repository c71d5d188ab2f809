//! The path of flows that are made packet by packet, with numbers by hand.

use super::build::{Sketch, pcap};
use crate::{Kept, Path, explain_with_path, read};

const MSS: u16 = 1448;
/// The round trip in us, and the time of a packet at the bottleneck: 1,500 B at 12 Mbit/s. The capture is at the sender.
const TRIP: u64 = 40_000;
const PACKET: u64 = 1_000;

/// A sender that keeps a window of packets under way over a bottleneck, with acknowledgements in order.
struct Line {
    packets: Vec<(u64, Vec<u8>)>,
    next: u32,
}

impl Line {
    fn new() -> Line {
        let mut line = Line { packets: Vec::new(), next: 1 };
        line.add(0, Sketch::data(0, 0).flags(2).opening(7).stamped(1000, 0));
        line.add(TRIP, Sketch::ack(1).flags(18).opening(7).stamped(5000, 1000));
        line.add(TRIP + 100, Sketch::data(1, 0).stamped(1040, 5000));
        line
    }

    fn add(&mut self, time: u64, sketch: Sketch) {
        self.packets.push((1_000_000 + time, sketch.ipv4()));
    }

    /// A packet that is sent at one time and reported at another.
    fn pass(&mut self, sent: u64, told: u64) {
        let stamp = |time: u64| ((1_000_000 + time) / 1000) as u32;
        self.add(sent, Sketch::data(self.next, MSS).stamped(stamp(sent), stamp(sent) + 3960));
        self.next += u32::from(MSS);
        self.add(told, Sketch::ack(self.next).stamped(stamp(told) + 3980, stamp(sent)));
    }

    fn path(mut self) -> Option<Path> {
        self.packets.sort_by_key(|(time, _)| *time);
        explain_with_path(&read(&pcap(101, &self.packets)[..]).unwrap(), None, "").path
    }
}

#[test]
fn a_flow_that_fills_its_path_shows_rate_delay_and_queue() {
    let mut line = Line::new();
    // Twenty packets wait in front of each other for 3 s, behind the first window of ten.
    for number in 0..3_000_u64 {
        let told = 60_000 + TRIP + (number + 1) * PACKET;
        let waits = number.min(20) * PACKET;
        line.pass(told - TRIP - PACKET - waits, told);
    }
    let path = line.path().unwrap();
    let rate = path.rates[0];
    assert_eq!(path.rates.len(), 1);
    assert!((rate.bps / 12e6 - 1.0).abs() < 0.001, "{rate:?}");
    assert!(!rate.is_brief);
    assert!((path.base_s - 0.040).abs() < 0.001, "{}", path.base_s);
    assert!((path.wait_s - 0.020).abs() < 0.001, "{}", path.wait_s);
    assert_eq!((path.segment, path.headers, path.packets), (1448, 52, 3_000));
    assert_eq!(path.bytes, 3_000 * 1448);
    assert!(path.gaps.is_empty() && path.lost.is_empty() && path.full.is_empty());
    assert_eq!((path.bursts, path.longer, path.timeouts_s.map(|times| times.len())), (None, None, Some(0)));
}

#[test]
fn a_flow_that_never_waits_shows_a_bound_of_the_rate_alone() {
    let mut line = Line::new();
    // A packet each 10 ms: 1.2 Mbit/s pass, and no queue is seen.
    for number in 0..300_u64 {
        let sent = 60_000 + number * 10_000;
        line.pass(sent, sent + TRIP + PACKET);
    }
    let path = line.path().unwrap();
    assert!(path.rates.is_empty(), "{:?}", path.rates);
    assert!((path.at_least_bps / 1.2e6 - 1.0).abs() < 0.05, "{}", path.at_least_bps);
}

#[test]
fn packets_that_waited_in_a_silence_are_a_gap_with_its_times() {
    let mut line = Line::new();
    // Nothing passes from 1.06 s to 1.56 s at the receiver; what was sent meanwhile comes then.
    for number in 0..3_000_u64 {
        let at = 60_000 + number * PACKET;
        let is_held = (1_000_000..1_050_000).contains(&at);
        let is_later = at >= 1_050_000;
        let late = if is_held || is_later { 500_000 } else { 0 };
        let sent = if is_later { at + late } else { at };
        line.pass(sent, at + late + TRIP + PACKET);
    }
    let path = line.path().unwrap();
    let gap = path.gaps[0];
    assert_eq!((path.gaps.len(), gap.kept), (1, Kept::Held));
    // Half of the round trip is the way back: the last report before it is at 1.040 s, from the first sending at 0.06 s.
    assert!((gap.start_s.0 - 0.960).abs() < 0.005, "{gap:?}");
    assert!((gap.end_s.1 - 1.460).abs() < 0.005, "{gap:?}");
}

#[test]
fn one_direction_has_no_path() {
    let mut line = Line::new();
    for number in 0..100_u32 {
        line.add(60_000 + u64::from(number) * PACKET, Sketch::data(1 + number * 1448, MSS).stamped(2000, 1));
    }
    assert!(line.path().is_none_or(|path| path.course.is_empty()));
}
