//! The start, losses, probes and the receiver's ACKs.

use crate::common::{ack, at, bare, facts, from_address, kinds, ms, numbered, sender, sent};
use roamlab_congestion::SenderEventKind;
use roamlab_engine::{Bytes, Duration};
use roamlab_packet::{QuicAck, QuicHeader};
use roamlab_quic::{Migration, QuicReceiver, QuicSpec};
use std::sync::Arc;

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
    assert_eq!(kinds(&mut sender), [SenderEventKind::Window]);
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
    // The stream's segments follow the handshake, which is segment 0; packet numbers begin again (§12.3).
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
    assert_eq!(kinds(&mut sender), [SenderEventKind::Timeout; 3]);
    // The answer to the second one is a separate sample: no packet number repeats.
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
    assert_eq!(
        (fact.kind, fact.seq, fact.cwnd, fact.ssthresh),
        (SenderEventKind::FastRetransmit, 1, 6.0, 6.0)
    );
    assert_eq!((sent(&mut sender, at(105)), sender.in_flight()), (vec![], 10));
    // Five more: the window permits one packet, and it has the segment of packet 0.
    ack(&mut sender, &[(1, 9)], at(106));
    assert_eq!(sent(&mut sender, at(106)), [(14, 1)]);
    // Packets sent before the loss do not grow the window, nor end the period.
    ack(&mut sender, &[(1, 14)], at(200));
    assert_eq!((sender.variables().cwnd, kinds(&mut sender)), (6.0, vec![]));
    sent(&mut sender, at(200));
    ack(&mut sender, &[(1, 15)], at(206));
    assert_eq!(kinds(&mut sender), [SenderEventKind::RecoveryExit]);
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
    assert_eq!(kinds(&mut sender), [SenderEventKind::FastRetransmit]);
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
    assert_eq!((fact.kind, fact.seq, fact.rto), (SenderEventKind::Timeout, 1, ms(2048)));
    assert_eq!(sender.next_deadline(), Some(at(1024 + 2048)));
    // An ACK of the second probe declares all but the first lost, and ends the backoff.
    ack(&mut sender, &[(11, 12)], at(1124));
    assert_eq!(sender.in_flight(), 1);
    assert_eq!((sender.variables().backoff, sender.variables().srtt), (1, ms(100)));
    assert_eq!(kinds(&mut sender), [SenderEventKind::FastRetransmit]);
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
fn each_probe_timeout_repeats_the_oldest_outstanding_segments() {
    let mut sender = sender(bare());
    sender.offer(Some(4));
    assert_eq!(sent(&mut sender, at(0)), [(0, 1), (1, 2), (2, 3), (3, 4)]);
    for (timeout, numbers) in [(1024, [4, 5]), (1024 + 2048, [6, 7])] {
        sender.on_deadline(at(timeout));
        assert_eq!(sent(&mut sender, at(timeout)), [(numbers[0], 1), (numbers[1], 2)]);
    }
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
    assert_eq!((fact.kind, fact.cwnd), (SenderEventKind::FastRetransmit, 10.0));
    let (times, fact) = outage(4);
    assert_eq!(times[3], at(4975));
    // Lost from 425 to 2375 ms. The window of 20 leaves a threshold of 10.
    assert_eq!((fact.kind, fact.cwnd, fact.ssthresh), (SenderEventKind::PersistentCongestion, 2.0, 10.0));
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

#[test]
fn what_asks_for_an_ack_gets_it_within_the_delay() {
    // RFC 9000 §13.2.1: "within its advertised max_ack_delay", 25 ms, though there is nothing else to send.
    let mut sender = sender(QuicSpec { migration: Some(Migration::Rfc), ..bare() });
    sender.offer(Some(10));
    sent(&mut sender, at(0));
    ack(&mut sender, &[(0, 10)], at(100));
    assert_eq!(sender.next_deadline(), None);
    for (number, ping, now) in [(3, true, 110), (4, false, 115), (5, true, 120)] {
        sender.on_packet(&from_address(0, number, ping, false), at(now));
        assert_eq!((sender.poll_transmit(at(now)), sender.next_deadline()), (None, Some(at(135))));
    }
    sender.on_deadline(at(135));
    let answer = sender.poll_transmit(at(135)).unwrap();
    assert_eq!(answer.header.ack.unwrap().ranges, [(5, 6), (3, 4)], "4 is an ACK alone");
    // 28 + 29 and the frame of two ranges.
    assert_eq!((answer.header.payload, answer.size), (0, Bytes(28 + 29 + 7)));
    assert_eq!((sender.poll_transmit(at(135)), sender.next_deadline()), (None, None));
}

#[test]
fn after_persistent_congestion_the_shortest_round_trip_is_the_newest() {
    // RFC 9002 §5.2. Lost from 425 to 2375 ms, as above; the probe of 4975 ms comes back after 300 ms.
    let mut sender = sender(bare());
    sender.offer(None);
    sent(&mut sender, at(0));
    ack(&mut sender, &[(0, 10)], at(100));
    sent(&mut sender, at(100));
    let mut probe = 0;
    for now in [at(425), at(1075), at(2375), at(4975)] {
        assert_eq!(sender.next_deadline(), Some(now));
        sender.on_deadline(now);
        probe = sent(&mut sender, now)[0].0;
    }
    ack(&mut sender, &[(probe, probe + 1)], at(5275));
    assert!(kinds(&mut sender).contains(&SenderEventKind::PersistentCongestion));
    assert_eq!(sender.variables().srtt, ms(125), "(7 * 100 + 300) / 8");
    let next = sent(&mut sender, at(5275))[0].0;
    // 310 ms, of which 20 were the delay of the ACK: less than 300 + 20, so they stay. (7 * 125 + 310) / 8.
    let late = QuicAck { ranges: vec![(next, next + 1)], delay: ms(20) };
    sender.on_packet(&QuicHeader { ack: Some(Box::new(late)), ..QuicHeader::default() }, at(5585));
    assert_eq!(sender.variables().srtt, Duration::from_micros(148_125));
}

#[test]
fn losses_from_before_and_within_a_recovery_period_begin_another_one() {
    // RFC 9002 §B.8: the newest of the lost packets decides. 10 to 29 go out at 100 ms, and a period begins at 200 ms.
    let mut sender = sender(bare());
    sender.offer(None);
    sent(&mut sender, at(0));
    ack(&mut sender, &[(0, 10)], at(100));
    assert_eq!(sent(&mut sender, at(100)).len(), 20);
    ack(&mut sender, &[(11, 14), (0, 10)], at(200));
    assert_eq!((sender.variables().reductions, sent(&mut sender, at(200))), (1, vec![]));
    ack(&mut sender, &[(11, 22), (0, 10)], at(201));
    assert_eq!(sent(&mut sender, at(201)).len(), 2, "a window of 10, of which 8 are in flight: 30 and 31");
    ack(&mut sender, &[(11, 28), (0, 10)], at(202));
    assert_eq!(sent(&mut sender, at(202)).len(), 6);
    // 28 and 29 are from before the period, 30 is from within it.
    ack(&mut sender, &[(33, 34), (11, 28), (0, 10)], at(303));
    assert_eq!(sender.variables().reductions, 2);
}
