//! Stalls in captures that are made packet by packet, for what no run of the simulator shows.

use super::build::{Sketch, pcap};
use crate::{Answer, Explored, Kind, Row, explain, explore, read};

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

#[test]
fn losses_that_fit_a_token_bucket_are_those_of_a_policer() {
    let mut story = Story::new();
    // 30 segments in a round trip of 70 ms; the bucket passes 20 of them.
    for _ in 0..40 {
        let (first, sent) = (story.next, story.stamp(0));
        for number in 0..30_u32 {
            let after = u64::from(number) * 1000;
            story.add(
                after,
                Sketch::data(first + number * MSS, MSS as u16).stamped(sent + number, story.echo),
            );
            if number < 20 {
                let ack =
                    Sketch::ack(first + (number + 1) * MSS).stamped(sent + 4020 + number, sent + number);
                story.add(after + TRIP, ack);
            }
        }
        // The ten that were dropped are sent again in the next round trip, and pass.
        story.now += TRIP + 30_000;
        let again = story.stamp(0);
        for number in 20..30_u32 {
            let after = u64::from(number - 20) * 1000;
            story.add(
                after,
                Sketch::data(first + number * MSS, MSS as u16).stamped(again + number, story.echo),
            );
            let ack = Sketch::ack(first + (number + 1) * MSS).stamped(again + 4020 + number, again + number);
            story.add(after + TRIP, ack);
        }
        story.next = first + 30 * MSS;
        story.now += TRIP + 30_000;
        story.echo = story.stamp(0) + 4020 - 41;
    }
    let answer = story.told();
    let rate = answer.flows[0].policed_bps.unwrap();
    assert!((rate / 2.48e6 - 1.0).abs() < 0.1, "{rate}");
    // A steady flow has no policer.
    let mut story = Story::new();
    for _ in 0..40 {
        story.send(10);
    }
    assert_eq!(story.told().flows[0].policed_bps, None);
}

#[test]
fn super_segments_are_split_where_they_are_acknowledged_and_sent_again() {
    let mut story = Story::new();
    for round in 0..10_u32 {
        let (first, sent) = (story.next, story.stamp(0));
        story.add(0, Sketch::data(first, (10 * MSS) as u16).stamped(sent, story.echo));
        story.next = first + 10 * MSS;
        let stamp = sent + 4020;
        story.add(TRIP, Sketch::ack(first + 2 * MSS).stamped(stamp, sent));
        if round == 5 {
            // The third segment is lost, and repaired in a round trip.
            for number in 3..10 {
                let told = Sketch::ack(first + 2 * MSS).stamped(stamp, sent);
                story.add(TRIP + 1000, told.sack(&[(first + 3 * MSS, first + (number + 1) * MSS)]));
            }
            let again = story.stamp(TRIP + 2000);
            story.add(TRIP + 2000, Sketch::data(first + 2 * MSS, MSS as u16).stamped(again, stamp));
            story.add(2 * TRIP + 2000, Sketch::ack(story.next).stamped(again + 4020, again));
        } else {
            story.add(TRIP, Sketch::ack(story.next).stamped(stamp, sent));
        }
        story.now += 2 * TRIP + 10_000;
        story.echo = stamp;
    }
    let answer = story.told();
    let flow = &answer.flows[0];
    assert_eq!((flow.bytes, flow.resends.packets, flow.resends.recoveries), (100 * 1448, 1, 1));
    assert_eq!((flow.resends.needless, flow.reordered, flow.stalls.len()), (0, 0, 0));
}

/// The packets of a receiver: each data packet half a round trip later, by a clock that is 3.217 s ahead
/// and goes 40 millionths faster.
fn at_receiver(packets: &[(u64, Vec<u8>)], lost: std::ops::Range<u64>) -> Vec<(u64, Vec<u8>)> {
    let mut made = Vec::new();
    for (time, packet) in packets {
        let is_data = packet[15] == 1;
        if is_data && lost.contains(time) {
            continue;
        }
        let there = if is_data { time + TRIP / 2 } else { time - TRIP / 2 };
        made.push((there + 3_217_000 + there / 25_000, packet.clone()));
    }
    made.sort_by_key(|(time, _)| *time);
    made
}

#[test]
fn the_clocks_of_a_pair_are_aligned_and_a_silence_is_found_on_the_senders() {
    let mut story = Story::new();
    for _ in 0..60 {
        story.send(10);
    }
    let begin = story.now;
    let (first, sent) = (story.next, story.stamp(0));
    for number in 0..10 {
        let after = u64::from(number) * 1000;
        story.add(after, Sketch::data(first + number * MSS, MSS as u16).stamped(sent + number, story.echo));
    }
    let lost = begin..begin + 500_000;
    for after in [300_000, 700_000] {
        let again = story.stamp(after);
        story.add(after, Sketch::data(first, MSS as u16).stamped(again, story.echo));
    }
    let told = story.stamp(700_000);
    story.add(700_000 + TRIP, Sketch::ack(first + MSS).stamped(told + 4020, told));
    story.now += 700_000 + TRIP + 1000;
    story.next = first + MSS;
    for _ in 0..60 {
        story.send(10);
    }
    story.packets.sort_by_key(|(time, _)| *time);
    let here = read(&pcap(101, &story.packets)[..]).unwrap();
    let there = read(&pcap(101, &at_receiver(&story.packets, lost))[..]).unwrap();
    for answer in [explain(&here, Some(&there)), explain(&there, Some(&here))] {
        let flow = &answer.flows[0];
        let aligned = flow.aligned.unwrap();
        assert!((aligned.drift_ppm - 40.0).abs() < 2.0, "{aligned:?}");
        assert!((aligned.offset_s - 3.217).abs() < aligned.interval_s, "{aligned:?}");
        assert_eq!((aligned.lost.0, flow.place), (11, "both ends"));
        assert_eq!(kinds(&answer), [(Kind::PathLost, true)]);
        assert!((flow.stalls[0].length_s - 0.7).abs() < 0.1, "{:?}", flow.stalls);
    }
}

/// The values of a column.
fn column<'e>(explored: &'e Explored, table: &str, name: &str) -> &'e [f64] {
    let table = explored.tables.iter().find(|each| each.name == table).unwrap();
    &table.columns.iter().find(|each| each.name == name).unwrap().values
}

#[test]
fn every_packet_of_a_flow_is_drawn_once() {
    let mut story = Story::new();
    for _ in 0..6 {
        story.send(10);
    }
    story.packets.sort_by_key(|(time, _)| *time);
    let here = read(&pcap(101, &story.packets)[..]).unwrap();
    let drawn = explore(&here, None);
    assert_eq!(drawn.answer, explain(&here, None));
    let packets = &here.flows[0].packets;
    let data: Vec<Row> = packets.rows().filter(|row| row.length > 0).collect();
    let kinds = column(&drawn, "packets", "kind");
    assert_eq!(kinds.iter().filter(|kind| **kind == 0.0).count(), data.len());
    let sent = kinds.iter().zip(column(&drawn, "packets", "number")).filter(|(kind, _)| **kind == 0.0);
    let numbers: Vec<f64> = sent.map(|(_, number)| *number).collect();
    assert_eq!(numbers, (0..data.len()).map(|number| number as f64).collect::<Vec<_>>());
    let times = column(&drawn, "packets", "time_ns");
    assert!(times.is_sorted());
    let expected = data.iter().map(|row| (row.time_ns - here.start_ns) as f64);
    let drawn_at = kinds.iter().zip(times).filter(|(kind, _)| **kind == 0.0).map(|(_, time)| *time);
    assert!(drawn_at.eq(expected));
    let most = column(&drawn, "flights", "outstanding").iter().copied().fold(0.0, f64::max);
    assert_eq!(most, 10.0);
    let trips = column(&drawn, "trips", "rtt_ns");
    assert!(!trips.is_empty() && trips.iter().all(|rtt| *rtt >= (TRIP * 1000) as f64), "{trips:?}");
    assert!(column(&drawn, "deliveries", "seq").is_empty());
}

#[test]
fn a_pair_is_drawn_with_what_arrived_and_what_did_not() {
    let mut story = Story::new();
    for _ in 0..30 {
        story.send(10);
    }
    let begin = story.now;
    let first = story.next;
    story.send(10);
    let again = story.stamp(300_000);
    for number in 0..10 {
        story.add(
            300_000 + u64::from(number),
            Sketch::data(first + number * MSS, MSS as u16).stamped(again, story.echo),
        );
    }
    story.now += 400_000;
    for _ in 0..30 {
        story.send(10);
    }
    story.packets.sort_by_key(|(time, _)| *time);
    let here = read(&pcap(101, &story.packets)[..]).unwrap();
    let there = read(&pcap(101, &at_receiver(&story.packets, begin..begin + 100_000))[..]).unwrap();
    let drawn = explore(&here, Some(&there));
    let sent = here.flows[0].packets.rows().filter(|row| row.length > 0).count();
    let arrived = column(&drawn, "deliveries", "serial");
    let lost = column(&drawn, "drops", "serial");
    assert_eq!((arrived.len() + lost.len(), lost.len()), (sent, 10));
    let each: std::collections::BTreeSet<u64> =
        arrived.iter().chain(lost).map(|serial| *serial as u64).collect();
    assert_eq!(each.len(), sent);
    let delays = column(&drawn, "deliveries", "time_ns").iter().zip(column(&drawn, "deliveries", "sent_ns"));
    for (came, sent) in delays {
        assert!((came - sent - (TRIP * 500) as f64).abs() < 2e6, "{came} {sent}");
    }
    let mut alone = at_receiver(&story.packets, begin..begin + 100_000);
    alone.retain(|(_, packet)| packet[15] == 1);
    let alone = explore(&read(&pcap(101, &alone)[..]).unwrap(), None);
    assert_eq!(alone.answer.flows[0].place, "receiver");
    assert_eq!(column(&alone, "deliveries", "seq").len(), arrived.len());
    assert!(column(&alone, "deliveries", "sent_ns").iter().all(|sent| *sent == -1.0));
}

#[test]
fn a_slow_period_is_found_and_a_pause_of_the_application_is_none() {
    let mut story = Story::new();
    for _ in 0..60 {
        story.send(10);
    }
    let begin = story.now as f64 / 1e6 - 1.0;
    // A round trip with two segments each, as by a small window.
    for _ in 0..60 {
        story.send(2);
    }
    let end = story.now as f64 / 1e6 - 1.0;
    for _ in 0..60 {
        story.send(10);
    }
    let answer = story.told();
    let [slow] = &answer.flows[0].slow[..] else { panic!("{:?}", answer.flows[0].slow) };
    assert!((slow.start_s - begin).abs() < 0.1 && (slow.end_s - end).abs() < 0.1, "{slow:?}");
    assert!(slow.rate_bps < slow.before_bps / 2.0 && slow.cause.is_none(), "{slow:?}");
    let mut story = Story::new();
    for _ in 0..60 {
        story.send(10);
    }
    for _ in 0..20 {
        story.send(2);
        story.now += 150_000;
    }
    assert_eq!(story.told().flows[0].slow, []);
}
