//! QUIC's two ends: numbers worked out by hand from RFC 9000 and RFC 9002.

use roamlab_engine::{Bytes, Duration, Rng, Time};
use roamlab_packet::{QuicAck, QuicHeader};
use roamlab_transport::{
    QuicHandshake, QuicPacket, QuicReceiver, QuicSender, QuicSpec, TcpFact, TcpFactKind,
};
use std::collections::BTreeMap;
use std::sync::Arc;

fn at(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Without handshake and pacing, so that a test can follow the packets.
fn bare() -> QuicSpec {
    QuicSpec { handshake: QuicHandshake::None, pacing: false, ..QuicSpec::default() }
}

fn sender(spec: QuicSpec) -> QuicSender {
    QuicSender::new(Arc::new(spec))
}

/// What goes out at `now`: the packet numbers and the segments.
fn sent(sender: &mut QuicSender, now: Time) -> Vec<(u32, u32)> {
    std::iter::from_fn(|| sender.poll_transmit(now))
        .map(|QuicPacket { header, .. }| (header.number, header.segment))
        .collect()
}

/// An ACK of these ranges, the largest first, arrives.
fn ack(sender: &mut QuicSender, ranges: &[(u32, u32)], now: Time) {
    let ack = QuicAck { ranges: ranges.to_vec(), delay: Duration::ZERO };
    sender.on_packet(&QuicHeader { ack: Some(Box::new(ack)), ..QuicHeader::default() }, now);
}

fn facts(sender: &mut QuicSender) -> Vec<TcpFact> {
    std::iter::from_fn(|| sender.poll_fact()).collect()
}

fn kinds(sender: &mut QuicSender) -> Vec<TcpFactKind> {
    facts(sender).into_iter().map(|fact| fact.kind).collect()
}

/// New packets with new segments, of which the first is 1.
fn numbered(numbers: std::ops::Range<u32>) -> Vec<(u32, u32)> {
    numbers.map(|number| (number, number + 1)).collect()
}

#[test]
fn the_initial_window_goes_out_and_each_acknowledged_packet_lets_two_follow() {
    let mut sender = sender(bare());
    sender.offer(None);
    assert_eq!(sent(&mut sender, at(0)), numbered(0..10));
    ack(&mut sender, &[(0, 2)], at(100));
    assert_eq!(sent(&mut sender, at(100)), numbered(10..14));
    let variables = sender.variables();
    assert_eq!((variables.cwnd, variables.srtt, variables.rttvar), (12.0, ms(100), ms(50)));
    // §6.2.1: 100 + 4 * 50 + 25, from the last packet.
    assert_eq!((variables.rto, sender.next_deadline()), (ms(325), Some(at(425))));
    assert_eq!(kinds(&mut sender), [TcpFactKind::Window]);
}

#[test]
fn data_waits_for_a_round_trip_of_the_handshake() {
    let mut sender = sender(QuicSpec { pacing: false, ..QuicSpec::default() });
    let mut receiver = QuicReceiver::new(Arc::new(QuicSpec::default()));
    assert_eq!(sender.poll_transmit(at(0)), None, "nothing is offered");
    sender.offer(Some(3));
    let initial = sender.poll_transmit(at(0)).unwrap();
    assert_eq!((initial.header.handshake, initial.size), (true, Bytes(1228)));
    assert_eq!((sender.poll_transmit(at(0)), sender.next_deadline()), (None, Some(at(999))));
    receiver.on_packet(&initial.header, at(30));
    let answer = receiver.poll_transmit(at(30)).unwrap();
    assert_eq!((answer.header.handshake, answer.size), (true, Bytes(1228)));
    sender.on_packet(&answer.header, at(60));
    // The stream's segments follow the handshake, which is segment 0; packet numbers begin anew (§12.3).
    assert_eq!(sent(&mut sender, at(60)), [(0, 1), (1, 2), (2, 3)]);
    assert_eq!(sender.variables().srtt, ms(60));
}

#[test]
fn a_lost_handshake_is_repeated_with_backoff() {
    let mut sender = sender(QuicSpec::default());
    sender.offer(Some(1));
    let mut times = Vec::new();
    let mut now = at(0);
    for _ in 0..3 {
        let packet = sender.poll_transmit(now).unwrap();
        times.push((now, packet.header.number));
        now = sender.next_deadline().unwrap();
        sender.on_deadline(now);
    }
    // §6.2.2: 333 + 4 * 166.5 ms, then twice that.
    assert_eq!(times, [(at(0), 0), (at(999), 1), (at(2997), 2)]);
    assert_eq!(kinds(&mut sender), [TcpFactKind::Timeout; 3]);
    // The answer to the second one is a sample of its own: no packet number repeats.
    let ack = QuicAck { ranges: vec![(1, 2)], delay: Duration::ZERO };
    let answer = QuicHeader { handshake: true, ack: Some(Box::new(ack)), ..QuicHeader::default() };
    sender.on_packet(&answer, at(3000));
    assert_eq!(sender.variables().srtt, ms(2001));
    assert_eq!(sender.variables().backoff, 1);
}

#[test]
fn three_later_packets_make_a_loss_and_its_segment_goes_out_under_a_new_number() {
    let mut sender = sender(bare());
    sender.offer(None);
    sent(&mut sender, at(0));
    ack(&mut sender, &[(1, 3)], at(100));
    // Packet 0 is two below the largest: 12.5 ms more make it 9/8 of a round trip old.
    assert_eq!(sent(&mut sender, at(100)), numbered(10..14));
    assert_eq!(sender.next_deadline(), Some(at(112) + Duration::from_micros(500)));
    facts(&mut sender);
    ack(&mut sender, &[(1, 4)], at(105));
    let fact = facts(&mut sender)[0];
    // §7.3.2: 12 packets are halved. 10 are in flight, so nothing goes out.
    assert_eq!((fact.kind, fact.seq, fact.cwnd, fact.ssthresh), (TcpFactKind::FastRetransmit, 1, 6.0, 6.0));
    assert_eq!((sent(&mut sender, at(105)), sender.in_flight()), (vec![], 10));
    // Five more: the window permits one packet, and it has the segment of packet 0.
    ack(&mut sender, &[(1, 9)], at(106));
    assert_eq!(sent(&mut sender, at(106)), [(14, 1)]);
    // Packets sent before the loss do not grow the window, nor end the period.
    ack(&mut sender, &[(1, 14)], at(200));
    assert_eq!((sender.variables().cwnd, kinds(&mut sender)), (6.0, vec![]));
    sent(&mut sender, at(200));
    ack(&mut sender, &[(1, 15)], at(206));
    assert_eq!(kinds(&mut sender), [TcpFactKind::RecoveryExit]);
    assert_eq!(sender.variables().cwnd, 6.0 + 1.0 / 6.0);
}

#[test]
fn the_time_threshold_needs_no_further_ack() {
    let mut sender = sender(bare());
    sender.offer(Some(3));
    sent(&mut sender, at(0));
    ack(&mut sender, &[(1, 3)], at(80));
    assert_eq!(sender.next_deadline(), Some(at(90)));
    sender.on_deadline(at(90));
    assert_eq!(kinds(&mut sender), [TcpFactKind::FastRetransmit]);
    assert_eq!(sent(&mut sender, at(90)), [(3, 1)]);
    ack(&mut sender, &[(1, 4)], at(170));
    assert!(sender.finished());
    assert_eq!(sender.next_deadline(), None);
}

#[test]
fn a_probe_timeout_sends_two_packets_beyond_the_window_and_cuts_nothing() {
    let mut sender = sender(bare());
    sender.offer(None);
    sent(&mut sender, at(0));
    assert_eq!(sender.next_deadline(), Some(at(1024)), "333 + 4 * 166.5 + 25");
    sender.on_deadline(at(1024));
    assert_eq!(sent(&mut sender, at(1024)), numbered(10..12));
    assert_eq!((sender.in_flight(), sender.variables().cwnd), (12, 10.0));
    let fact = facts(&mut sender)[0];
    assert_eq!((fact.kind, fact.seq, fact.rto), (TcpFactKind::Timeout, 1, ms(2048)));
    assert_eq!(sender.next_deadline(), Some(at(1024 + 2048)));
    // An ACK of the second probe declares all but the first lost, and ends the backoff.
    ack(&mut sender, &[(11, 12)], at(1124));
    assert_eq!(sender.in_flight(), 1);
    assert_eq!((sender.variables().backoff, sender.variables().srtt), (1, ms(100)));
    assert_eq!(kinds(&mut sender), [TcpFactKind::FastRetransmit]);
    // A window of five, of which one is in flight.
    assert_eq!(sent(&mut sender, at(1124)), [(12, 1), (13, 2), (14, 3), (15, 4)]);
}

#[test]
fn a_probe_repeats_what_is_outstanding_if_there_is_nothing_else() {
    let mut sender = sender(bare());
    sender.offer(Some(2));
    sent(&mut sender, at(0));
    ack(&mut sender, &[(0, 1)], at(100));
    sender.on_deadline(at(325));
    assert_eq!(sent(&mut sender, at(325)), [(2, 2), (3, 2)]);
}

#[test]
fn an_outage_of_several_probe_timeouts_is_persistent_congestion() {
    let outage = |probe_timeouts: u32| {
        let mut sender = sender(bare());
        sender.offer(None);
        sent(&mut sender, at(0));
        ack(&mut sender, &[(0, 10)], at(100));
        assert_eq!(sent(&mut sender, at(100)).len(), 20);
        let mut times = Vec::new();
        let mut last = 0;
        for _ in 0..probe_timeouts {
            let now = sender.next_deadline().unwrap();
            sender.on_deadline(now);
            last = sent(&mut sender, now)[0].0;
            times.push(now);
        }
        facts(&mut sender);
        // Of all these, the first probe of the last timeout arrives.
        ack(&mut sender, &[(last, last + 1)], *times.last().unwrap() + ms(100));
        (times, facts(&mut sender)[0])
    };
    // The timeouts: 325, 650, 1300, 2600 ms. The period: srtt 100, rttvar 37.5, so 3 * (100 + 150 + 25) = 825 ms. Packets
    // sent at 100 ms, with the first sample, do not count.
    let (times, fact) = outage(3);
    assert_eq!(times, [at(425), at(1075), at(2375)]);
    // Lost from 425 to 1075 ms: 650 ms.
    assert_eq!((fact.kind, fact.cwnd), (TcpFactKind::FastRetransmit, 10.0));
    let (times, fact) = outage(4);
    assert_eq!(times[3], at(4975));
    // Lost from 425 to 2375 ms. The window of 20 leaves a threshold of 10.
    assert_eq!((fact.kind, fact.cwnd, fact.ssthresh), (TcpFactKind::PersistentCongestion, 2.0, 10.0));
}

#[test]
fn pacing_spreads_the_window_over_less_than_a_round_trip() {
    let mut sender = sender(QuicSpec { pacing: true, ..bare() });
    sender.offer(None);
    assert_eq!(sent(&mut sender, at(0)).len(), 10, "the burst of the initial window");
    ack(&mut sender, &[(0, 10)], at(100));
    // A window of 20 in 100 ms: 100 / (1.25 * 20) = 4 ms for each packet; the bucket was filled meanwhile.
    assert_eq!(sent(&mut sender, at(100)).len(), 10);
    for packet in 1..=10 {
        let now = at(100 + 4 * packet);
        assert_eq!(sender.next_deadline(), Some(now));
        sender.on_deadline(now);
        assert_eq!(sent(&mut sender, now).len(), 1);
    }
    assert_eq!((sender.in_flight(), sender.next_deadline()), (20, Some(at(140 + 325))));
}

#[test]
fn a_stop_keeps_what_was_sent() {
    let mut sender = sender(bare());
    sender.offer(None);
    sent(&mut sender, at(0));
    sender.stop();
    ack(&mut sender, &[(1, 10)], at(100));
    assert_eq!(sent(&mut sender, at(100)), [(10, 1)]);
    ack(&mut sender, &[(1, 11)], at(200));
    assert!(sender.finished());
    assert_eq!(sent(&mut sender, at(200)), []);
}

/// A transfer over a path that loses packets at random: what the sender sent, by packet number.
fn transfer(spec: QuicSpec, segments: u64, loss: f64, seed: u64) -> Vec<QuicHeader> {
    let spec = Arc::new(spec);
    let mut sender = QuicSender::new(Arc::clone(&spec));
    let mut receiver = QuicReceiver::new(spec);
    let mut rng = Rng::named(seed, 0, "quic");
    let mut wire: BTreeMap<(Time, u32), (bool, QuicHeader)> = BTreeMap::new();
    let (mut order, mut log, mut now, mut arrived) = (0, Vec::new(), at(0), 0);
    sender.offer(Some(segments));
    while !sender.finished() {
        let mut carry = |to_receiver: bool, header: QuicHeader| {
            order += 1;
            if rng.uniform() >= loss {
                // Packets overtake each other where any are lost.
                let jitter = if loss > 0.0 { rng.uniform() * 3e6 } else { 0.0 };
                let delay = ms(20) + Duration::from_nanos(jitter as u64);
                wire.insert((now + delay, order), (to_receiver, header));
            }
        };
        while let Some(packet) = sender.poll_transmit(now) {
            log.push(packet.header.clone());
            carry(true, packet.header);
        }
        while let Some(packet) = receiver.poll_transmit(now) {
            carry(false, packet.header);
        }
        let arrival = wire.keys().next().map(|&(time, _)| time);
        let due = [arrival, sender.next_deadline(), receiver.next_deadline()];
        now = due.into_iter().flatten().min().expect("a sender that waits has a timer").max(now);
        if arrival.is_some_and(|arrival| arrival <= now)
            && let Some((_, (to_receiver, header))) = wire.pop_first()
        {
            match to_receiver {
                true => arrived += u64::from(receiver.on_packet(&header, now).in_order_segments),
                false => sender.on_packet(&header, now),
            }
        }
        sender.on_deadline(now);
        receiver.on_deadline(now);
    }
    assert_eq!(arrived, segments);
    log
}

#[test]
fn a_transfer_ends_whatever_is_lost() {
    for seed in 0..60 {
        let loss = [0.0, 0.02, 0.1, 0.3][seed as usize % 4];
        let log = transfer(QuicSpec::default(), 300, loss, seed);
        let data: Vec<&QuicHeader> = log.iter().filter(|header| !header.handshake).collect();
        assert!(data.windows(2).all(|pair| pair[1].number == pair[0].number + 1), "a number repeats");
        let mut seen = std::collections::BTreeSet::new();
        assert!(data.iter().all(|header| header.retransmission != seen.insert(header.segment)));
        assert!(loss > 0.0 || data.len() == 300, "nothing was lost, and {} packets were sent", data.len());
    }
}

#[test]
fn other_parameters_end_too() {
    let specs = [
        QuicSpec { probes: 1, ..QuicSpec::default() },
        QuicSpec {
            reordering_threshold: 0,
            ack_threshold: roamlab_engine::Packets(9),
            ..QuicSpec::default()
        },
        QuicSpec { ack_ranges: 1, ..bare() },
        QuicSpec { max_ack_delay: Duration::ZERO, ..bare() },
    ];
    for (spec, seed) in specs.into_iter().zip(0..) {
        transfer(spec, 200, 0.15, seed);
    }
}
