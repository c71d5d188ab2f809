//! Stalls in captures that are made packet by packet, for what no run of the simulator shows.

use super::build::{Sketch, pcap};
use crate::{Answer, Kind, explain, read};

const MSS: u32 = 1448;
/// The round trip in µs; the capture is at the sender.
const TRIP: u64 = 40_000;

/// A sender at the capture, with its packets in order of time.
struct Story {
    packets: Vec<(u64, Vec<u8>)>,
    now: u64,
    next: u32,
    /// TSval of the last acknowledgement.
    echo: u32,
}

impl Story {
    /// A connection that was opened, with timestamps in ms and a scale of windows of 7.
    fn new() -> Story {
        let mut story = Story { packets: Vec::new(), now: 1_000_000, next: 1, echo: 5000 };
        story.add(0, Sketch::data(0, 0).flags(2).opening(7).stamped(1000, 0));
        story.add(TRIP, Sketch::ack(1).flags(18).opening(7).stamped(5000, 1000));
        story.add(TRIP + 100, Sketch::data(1, 0).stamped(1040, 5000));
        story
    }

    fn add(&mut self, after: u64, sketch: Sketch) {
        self.packets.push((self.now + after, sketch.ipv4()));
    }

    fn stamp(&self, after: u64) -> u32 {
        ((self.now + after) / 1000) as u32
    }

    /// Sends segments, each acknowledged a round trip later.
    fn send(&mut self, segments: u32) {
        for number in 0..u64::from(segments) {
            let after = number * 1000;
            let sent = self.stamp(after);
            self.add(after, Sketch::data(self.next, MSS as u16).stamped(sent, self.echo));
            self.next += MSS;
            self.add(after + TRIP, Sketch::ack(self.next).stamped(sent + 4020, sent));
        }
        self.now += TRIP + u64::from(segments) * 1000;
        self.echo = self.stamp(0) + 4020 - 41;
    }

    fn told(mut self) -> Answer {
        self.packets.sort_by_key(|(time, _)| *time);
        explain(&read(&pcap(101, &self.packets)[..]).unwrap(), None)
    }
}

fn kinds(answer: &Answer) -> Vec<(Kind, bool)> {
    let stalls = answer.flows[0].stalls.iter();
    stalls.map(|stall| (stall.causes[0].kind, stall.of_receiver)).collect()
}

#[test]
fn a_steady_flow_has_no_stall_and_its_round_trip_is_known() {
    let mut story = Story::new();
    for _ in 0..20 {
        story.send(10);
    }
    let answer = story.told();
    let flow = &answer.flows[0];
    assert!(flow.stalls.is_empty(), "{:?}", flow.stalls);
    assert_eq!(flow.place, "sender");
    let trips = flow.trips.unwrap();
    assert!((trips.base_s - 0.04).abs() < 0.002, "{trips:?}");
    assert_eq!((flow.bytes, flow.resends.packets), (200 * 1448, 0));
}

#[test]
fn a_closed_window_is_the_receivers_stall() {
    let mut story = Story::new();
    for _ in 0..10 {
        story.send(10);
    }
    let (next, sent) = (story.next, story.stamp(0));
    story.add(0, Sketch::data(next, MSS as u16).stamped(sent, sent - 40));
    story.add(TRIP, Sketch::ack(next).window(0).stamped(sent + 4020, sent));
    // Probes of one byte that was acknowledged, as Linux sends them.
    for probe in 1..5 {
        let time = TRIP + probe * 200_000;
        story.add(time, Sketch::data(next - 1, 0).stamped(story.stamp(time), sent));
        story.add(
            time + TRIP,
            Sketch::ack(next).window(0).stamped(story.stamp(time) + 4020, story.stamp(time)),
        );
    }
    story.now += 1_000_000;
    story.next += MSS;
    story.add(0, Sketch::ack(story.next).window(500).stamped(story.stamp(0) + 4020, sent));
    story.send(10);
    assert_eq!(kinds(&story.told()), [(Kind::ZeroWindow, true)]);
}

#[test]
fn a_pause_of_the_application_is_no_stall() {
    let mut story = Story::new();
    for _ in 0..5 {
        story.send(10);
        story.now += 800_000;
    }
    let answer = story.told();
    assert!(answer.flows[0].stalls.is_empty());
    assert!(answer.flows[0].limits.unwrap().application > 0.6, "{:?}", answer.flows[0].limits);
}

#[test]
fn lost_acknowledgements_are_no_stall_of_the_receiver() {
    let mut story = Story::new();
    for _ in 0..10 {
        story.send(10);
    }
    let (first, sent) = (story.next, story.stamp(0));
    for number in 0..10 {
        story.add(
            u64::from(number) * 1000,
            Sketch::data(first + number * MSS, MSS as u16).stamped(sent + number, sent - 40),
        );
    }
    story.next += 10 * MSS;
    // The timer expires; all had arrived.
    let again = story.stamp(300_000);
    story.add(300_000, Sketch::data(first, MSS as u16).stamped(again, sent - 40));
    let told = Sketch::ack(story.next).stamped(again + 4020, sent + 9).sack(&[(first, first + MSS)]);
    story.add(300_000 + TRIP, told);
    story.now += 400_000;
    for _ in 0..10 {
        story.send(10);
    }
    let answer = story.told();
    assert_eq!(kinds(&answer), [(Kind::AcksLost, false)]);
    let flow = &answer.flows[0];
    assert_eq!((flow.timeouts.len(), flow.timeouts[0].needless, flow.resends.needless), (1, true, 1));
}

#[test]
fn a_capture_that_ends_in_a_stall_has_it() {
    let mut story = Story::new();
    for _ in 0..10 {
        story.send(10);
    }
    let (first, sent) = (story.next, story.stamp(0));
    for number in 0..10 {
        story.add(
            u64::from(number) * 1000,
            Sketch::data(first + number * MSS, MSS as u16).stamped(sent + number, sent - 40),
        );
    }
    for after in [300_000, 700_000, 1_500_000] {
        story.add(after, Sketch::data(first, MSS as u16).stamped(story.stamp(after), sent - 40));
    }
    let answer = story.told();
    assert_eq!(kinds(&answer), [(Kind::PathLost, true)]);
    assert!(answer.flows[0].stalls[0].cut_off);
    let waits: Vec<f64> =
        answer.flows[0].timeouts.iter().map(|timeout| (timeout.rto_s * 10.0).round() / 10.0).collect();
    assert_eq!(waits, [0.3, 0.4, 0.8]);
}

#[test]
fn data_that_was_overtaken_is_no_loss() {
    let mut story = Story::new();
    for _ in 0..10 {
        story.send(10);
    }
    let (first, sent) = (story.next, story.stamp(0));
    for number in 0..3 {
        story.add(
            u64::from(number) * 1000,
            Sketch::data(first + number * MSS, MSS as u16).stamped(sent + number, sent - 40),
        );
    }
    story
        .add(TRIP, Sketch::ack(first).stamped(sent + 4020, sent - 1).sack(&[(first + MSS, first + 2 * MSS)]));
    story.add(TRIP + 500, Sketch::ack(first + 2 * MSS).stamped(sent + 4021, sent));
    story.add(TRIP + 2000, Sketch::ack(first + 3 * MSS).stamped(sent + 4023, sent + 2));
    let answer = story.told();
    assert_eq!((answer.flows[0].reordered, answer.flows[0].resends.packets), (1, 0));
}

#[test]
fn one_direction_alone_is_explained_and_its_limits_are_told() {
    let mut story = Story::new();
    for _ in 0..10 {
        story.send(10);
    }
    story.now += 500_000;
    for _ in 0..10 {
        story.send(10);
    }
    story.packets.retain(|(_, packet)| packet[15] == 1);
    let answer = story.told();
    assert!(
        answer.flows[0].notes.iter().any(|note| note.contains("only the data")),
        "{:?}",
        answer.flows[0].notes
    );
    assert!(answer.flows[0].trips.is_none());
}
