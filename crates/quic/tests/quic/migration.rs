//! New addresses, their validation, and paths that are resumed.

use crate::common::{ack, at, bare, facts, from_address, kinds, ms, sender, sent, sent_data};
use roamlab_congestion::{CongestionControlSpec, SenderEventKind};
use roamlab_engine::{Bytes, Duration, Time};
use roamlab_packet::{QuicAck, QuicHeader};
use roamlab_quic::{Migration, QuicPacket, QuicReceiver, QuicSender, QuicSpec};
use std::sync::Arc;

/// A sender with 20 packets in flight and a window of 20 at 100 ms. At 150 ms the other end acknowledges the first ten
/// from a new address, and at 200 ms it answers the challenge.
fn migrated(migration: Migration) -> (QuicSender, Vec<QuicPacket>, Vec<QuicPacket>) {
    let mut sender = sender(QuicSpec { migration: Some(migration), ..bare() });
    sender.offer(None);
    sent(&mut sender, at(0));
    ack(&mut sender, &[(0, 10)], at(100));
    assert_eq!(sent(&mut sender, at(100)).len(), 20);
    let from_new = |number, ping, path_response| {
        let ack = Some(Box::new(QuicAck { ranges: vec![(0, 10)], delay: Duration::ZERO }));
        QuicHeader { number, ack, ping, path_response, path: 1, ..QuicHeader::default() }
    };
    sender.on_packet(&from_new(5, true, false), at(150));
    let before: Vec<QuicPacket> = std::iter::from_fn(|| sender.poll_transmit(at(150))).collect();
    // Nothing can time out at the limit. The challenge is repeated after 333 + 4 * 166.5 + 25 ms.
    assert_eq!(sender.next_deadline(), Some(at(150 + 1024)));
    sender.on_packet(&from_new(6, false, true), at(200));
    let after = std::iter::from_fn(|| sender.poll_transmit(at(200))).collect();
    (sender, before, after)
}

#[test]
fn a_new_address_gets_a_challenge_and_nothing_else_until_it_answers() {
    let (mut sender, before, after) = migrated(Migration::Rfc);
    // 29 + 5 + 1 bytes came, so 105 may go: the challenge has 29 + 5 + 9, a packet with data 1200.
    let [challenge, previous] = &before[..] else { panic!("{before:?}") };
    assert!(challenge.header.path_challenge && challenge.header.ack.is_some());
    assert_eq!((challenge.header.number, challenge.header.path, challenge.size), (30, 1, Bytes(71)));
    // §9.3.3: the previous path is validated too. Nothing limits it, so the datagram is expanded (§8.2.1).
    assert!(previous.header.path_challenge);
    assert_eq!((previous.header.number, previous.header.path, previous.size), (31, 0, Bytes(1228)));
    // §8.2.1: the first challenge was small, so one in 1200 B follows the answer, which it acknowledges.
    let (expanded, after) = after.split_first().unwrap();
    assert!(expanded.header.path_challenge && expanded.header.ack.as_ref().unwrap().ranges == [(6, 7)]);
    assert_eq!((expanded.header.number, expanded.header.path, expanded.size), (32, 1, Bytes(1228)));
    // §9.4: a window of ten, which the 20 packets of the old path do not fill.
    let numbers: Vec<u32> = after.iter().map(|packet| packet.header.number).collect();
    assert_eq!(numbers, (33..43).collect::<Vec<u32>>());
    assert!(after.iter().all(|packet| packet.header.path == 1 && !packet.header.retransmission));
    assert_eq!(kinds(&mut sender), [SenderEventKind::Window, SenderEventKind::Migration]);
    let variables = sender.variables();
    assert_eq!((variables.cwnd, variables.srtt, variables.rto), (10.0, Duration::ZERO, ms(1024)));
}

#[test]
fn the_old_path_s_packets_neither_grow_nor_cut_the_new_window() {
    let (mut sender, _, _) = migrated(Migration::Rfc);
    facts(&mut sender);
    // Packets 10 to 16 are lost; those that arrived measure nothing.
    ack(&mut sender, &[(20, 30), (0, 10)], at(210));
    assert_eq!((sender.variables().cwnd, sender.variables().srtt), (10.0, Duration::ZERO));
    assert_eq!((kinds(&mut sender), sender.in_flight()), (vec![], 10));
    // The new path measures itself, and what was lost goes out on it.
    ack(&mut sender, &[(33, 35), (20, 30), (0, 10)], at(280));
    assert_eq!((sender.variables().cwnd, sender.variables().srtt), (12.0, ms(80)));
    let next: Vec<u32> = sent(&mut sender, at(280)).iter().map(|&(_, segment)| segment).collect();
    assert_eq!(next, [11, 12, 13, 14]);
}

#[test]
fn each_policy_has_its_own_window_after_a_migration() {
    let after = |migration| {
        let (sender, _, after) = migrated(migration);
        let again = after.iter().filter(|packet| packet.header.retransmission).count();
        let data = after.iter().filter(|packet| packet.header.payload > 0).count();
        (sender.variables().cwnd, data, again)
    };
    assert_eq!(after(Migration::Rfc), (10.0, 10, 0));
    assert_eq!(after(Migration::Quinn), (10.0, 10, 0));
    assert_eq!(after(Migration::PerPath), (10.0, 10, 0));
    assert_eq!(after(Migration::CarefulResume), (10.0, 10, 0));
    // Everything in flight is sent again, though it may arrive.
    assert_eq!(after(Migration::QuicGo), (10.0, 10, 10));
    // The 20 packets of the old path fill the new window.
    assert_eq!(after(Migration::Msquic), (10.0, 0, 0));
    assert_eq!(after(Migration::Keep), (20.0, 0, 0));
}

/// A sender whose old path had a window of 160 in slow start and round trips of 100 ms. The new path is validated at
/// 500 ms; at 580 ms its first ten packets, 313 to 322, are acknowledged, and all of the old path's are lost.
fn resuming(control: &str) -> QuicSender {
    let control: CongestionControlSpec = serde_json::from_value(control.into()).unwrap();
    let migration = Some(Migration::CarefulResume);
    let mut sender = sender(QuicSpec { migration, congestion_control: control, ..bare() });
    sender.offer(None);
    sent(&mut sender, at(0));
    for (round, end) in [(1, 10), (2, 30), (3, 70), (4, 150)] {
        ack(&mut sender, &[(0, end)], at(100 * round));
        sent(&mut sender, at(100 * round));
    }
    assert_eq!((sender.in_flight(), sender.variables().cwnd), (160, 160.0));
    let from_new = |number, ping, path_response| {
        let ack = Some(Box::new(QuicAck { ranges: vec![(0, 150)], delay: Duration::ZERO }));
        QuicHeader { number, ack, ping, path_response, path: 1, ..QuicHeader::default() }
    };
    sender.on_packet(&from_new(5, true, false), at(450));
    sent(&mut sender, at(450));
    sender.on_packet(&from_new(6, false, true), at(500));
    assert_eq!(sent_data(&mut sender, at(500)).len(), 10, "the initial window");
    facts(&mut sender);
    ack(&mut sender, &[(313, 323), (0, 150)], at(580));
    sender
}

/// The packets that leave until `end`, by the sender's deadlines: times and numbers.
fn sent_until(sender: &mut QuicSender, end: Time) -> Vec<(Time, u32)> {
    let mut log = Vec::new();
    while let Some(now) = sender.next_deadline().filter(|&now| now <= end) {
        sender.on_deadline(now);
        log.extend(sent(sender, now).into_iter().map(|(number, _)| (now, number)));
    }
    log
}

#[test]
fn a_resumed_path_jumps_to_half_of_what_the_old_one_carried() {
    let mut sender = resuming("reno");
    // The window of the reconnaissance is 20. Half of 160 was validated, and half of that is the jump.
    assert_eq!(sent(&mut sender, at(580)).len(), 20);
    let jump = facts(&mut sender).pop().unwrap();
    assert_eq!((jump.kind, jump.cwnd, sender.in_flight()), (SenderEventKind::Jump, 40.0, 20));
    // Without pacing otherwise, the jump has the rhythm of 80 ms / 40.
    let unvalidated: Vec<(Time, u32)> =
        (0..20).map(|place| (at(582 + 2 * place), 343 + place as u32)).collect();
    assert_eq!(sent_until(&mut sender, at(640)), unvalidated);
    assert_eq!((sender.in_flight(), sender.variables().cwnd), (40, 40.0));
    // The jump is spent, so what is acknowledged grows the window, and the last one ends it.
    ack(&mut sender, &[(313, 343), (0, 150)], at(660));
    assert_eq!((sender.variables().cwnd, sent(&mut sender, at(660)).len()), (60.0, 40));
    ack(&mut sender, &[(313, 363), (0, 150)], at(700));
    assert_eq!(sender.variables().cwnd, 80.0);
    // A loss is an ordinary one from now on: packet 363.
    sent(&mut sender, at(700));
    facts(&mut sender);
    ack(&mut sender, &[(364, 367), (313, 363), (0, 150)], at(740));
    let fact = facts(&mut sender)[0];
    assert_eq!((fact.kind, fact.cwnd), (SenderEventKind::FastRetransmit, 40.0));
}

#[test]
fn a_jump_that_loses_packets_is_taken_back() {
    let mut sender = resuming("reno");
    sent(&mut sender, at(580));
    sent_until(&mut sender, at(640));
    ack(&mut sender, &[(313, 343), (0, 150)], at(660));
    sent(&mut sender, at(660));
    facts(&mut sender);
    // Packet 343 is lost: 20 and 3 have arrived, of which a half is the window.
    ack(&mut sender, &[(344, 347), (313, 343), (0, 150)], at(662));
    let fact = facts(&mut sender)[0];
    assert_eq!(
        (fact.kind, fact.cwnd, sender.variables().reductions),
        (SenderEventKind::SafeRetreat, 11.5, 1)
    );
    // The window stays until the last unvalidated packet, 362. Then 20 + 19 leave a threshold of 19.5.
    ack(&mut sender, &[(344, 362), (313, 343), (0, 150)], at(698));
    assert_eq!(sender.variables().cwnd, 11.5);
    ack(&mut sender, &[(344, 363), (313, 343), (0, 150)], at(700));
    assert_eq!((sender.variables().cwnd, sender.variables().ssthresh), (11.5, 19.5));
    assert_eq!(kinds(&mut sender), [SenderEventKind::Window]);
}

#[test]
fn cubic_resumes_too_and_others_are_refused() {
    let mut sender = resuming("cubic");
    sent(&mut sender, at(580));
    assert_eq!(sender.variables().cwnd, 40.0);
    for (name, is_accepted) in [("reno", true), ("cubic", true), ("vegas", false), ("bbr", false)] {
        let control: CongestionControlSpec = serde_json::from_value(name.into()).unwrap();
        let migration = Some(Migration::CarefulResume);
        let spec = QuicSpec { migration, congestion_control: control, ..QuicSpec::default() };
        assert_eq!(
            spec.check().err().map(|(field, _)| field),
            (!is_accepted).then_some("migration"),
            "{name}"
        );
    }
}

#[test]
fn a_second_change_of_paths_resumes_what_the_first_new_path_showed() {
    let mut sender = resuming("reno");
    sent(&mut sender, at(580));
    // Within the jump: 20 packets are the pipe, and half of them are not more than the window of the next path.
    sender.on_path_change(at(590));
    assert_eq!(sender.variables().cwnd, 10.0);
    let first = sent(&mut sender, at(590));
    assert_eq!(first.len(), 10);
    let (start, end) = (first[0].0, first[9].0 + 1);
    ack(&mut sender, &[(start, end), (0, 150)], at(670));
    sent(&mut sender, at(670));
    assert_eq!((sender.variables().cwnd, sender.in_flight()), (20.0, 20), "no jump");
}

#[test]
fn an_address_that_does_not_answer_is_given_up() {
    let mut sender = sender(QuicSpec { migration: Some(Migration::Rfc), ..bare() });
    sender.offer(None);
    sent(&mut sender, at(0));
    let ping = QuicAck::default();
    let ping = QuicHeader { path: 1, ping: true, ack: Some(Box::new(ping)), ..QuicHeader::default() };
    sender.on_packet(&ping, at(50));
    let mut challenges = Vec::new();
    while sender.next_deadline() < Some(at(50 + 3 * 1024)) {
        let now = sender.next_deadline().unwrap();
        sender.on_deadline(now);
        let out: Vec<QuicPacket> = std::iter::from_fn(|| sender.poll_transmit(now)).collect();
        challenges.extend(out.iter().map(|packet| (now, packet.header.path_challenge, packet.header.path)));
    }
    // The limit is 3 * 30 bytes of the PING; a challenge has 43, and those after it 38. One goes to the previous address.
    assert_eq!(challenges, [(at(50), true, 1), (at(50), true, 0), (at(1074), true, 1)]);
    sender.on_deadline(at(50 + 3 * 1024));
    // The timeout of the old path's packets is overdue: probes go to the old address.
    assert_eq!(kinds(&mut sender), [SenderEventKind::Timeout]);
    let probe = sender.poll_transmit(at(3122)).unwrap();
    assert_eq!((probe.header.path, probe.header.payload), (0, 1161));
}

/// A sender with 20 packets in flight at 100 ms, whose other end may move.
fn before_a_migration() -> QuicSender {
    let mut sender = sender(QuicSpec { migration: Some(Migration::Rfc), ..bare() });
    sender.offer(None);
    sent(&mut sender, at(0));
    ack(&mut sender, &[(0, 10)], at(100));
    assert_eq!(sent(&mut sender, at(100)).len(), 20);
    facts(&mut sender);
    sender
}

#[test]
fn a_packet_that_was_overtaken_does_not_change_the_address() {
    // RFC 9000 §9.3: only the one with the highest number does.
    let mut sender = before_a_migration();
    sender.on_packet(&from_address(0, 9, false, false), at(140));
    sender.on_packet(&from_address(1, 8, true, false), at(150));
    assert_eq!(sender.poll_transmit(at(150)), None);
    sender.on_packet(&from_address(1, 10, true, false), at(160));
    assert!(sender.poll_transmit(at(160)).unwrap().header.path_challenge);
}

#[test]
fn a_full_packet_waits_for_a_third_of_its_bytes_from_the_address() {
    // RFC 9000 §8.1: 43 B of the challenge and 1200 B are three times 415 B: a PING of 35 B and twelve ACKs of 34 B.
    let mut sender = before_a_migration();
    sender.on_packet(&from_address(1, 5, true, false), at(150));
    assert!(sender.poll_transmit(at(150)).unwrap().header.path_challenge);
    // That for the previous address counts in no limit.
    assert_eq!(sender.poll_transmit(at(150)).unwrap().header.path, 0);
    for number in 6..17 {
        ack_from(&mut sender, 1, number, 12, at(155));
        assert_eq!(sender.poll_transmit(at(155)), None, "{number}");
    }
    ack_from(&mut sender, 1, 17, 12, at(155));
    assert_eq!(sender.poll_transmit(at(155)).unwrap().header.payload, 1161);
    assert_eq!(sender.poll_transmit(at(155)), None, "it has gone too");
}

/// Packets from 0 to `end` are acknowledged from the address `path`.
fn ack_from(sender: &mut QuicSender, path: u32, number: u32, end: u32, now: Time) {
    let ack = Some(Box::new(QuicAck { ranges: vec![(0, end)], delay: Duration::ZERO }));
    sender.on_packet(&QuicHeader { number, ack, path, ..QuicHeader::default() }, now);
}

#[test]
fn a_new_path_does_not_back_off_for_timeouts_of_the_old_one() {
    // RFC 9000 §9.4: the estimates of a new path begin again; its probe timeout is 333 + 4 * 166.5 + 25 ms.
    let mut sender = before_a_migration();
    (0..3).for_each(|_| {
        let now = sender.next_deadline().unwrap();
        sender.on_deadline(now);
        sent(&mut sender, now);
    });
    assert_eq!(sender.variables().backoff, 8);
    sender.on_path_change(at(5000));
    assert_eq!((sender.variables().backoff, sender.variables().rto), (1, ms(1024)));
}

#[test]
fn bytes_from_the_old_address_are_no_credit_for_the_new_one() {
    // RFC 9000 §8.1: three times what came from the address. Late packets of the old one do not count: a PING of 35 B allows
    // 105 B, of which the challenge takes 43.
    let mut sender = before_a_migration();
    sender.on_packet(&from_address(1, 100, true, false), at(150));
    assert!(sender.poll_transmit(at(150)).unwrap().header.path_challenge);
    assert_eq!(sender.poll_transmit(at(150)).unwrap().header.path, 0, "the old path is challenged too");
    for number in 5..100 {
        ack_from(&mut sender, 0, number, 12, at(155));
        assert_eq!(sender.poll_transmit(at(155)), None, "{number}");
    }
}

#[test]
fn an_answer_from_an_older_address_validates_nothing() {
    let mut sender = before_a_migration();
    sender.on_packet(&from_address(1, 5, true, false), at(150));
    assert!(sender.poll_transmit(at(150)).unwrap().header.path_challenge);
    sender.on_packet(&from_address(2, 6, true, false), at(170));
    assert!(sender.poll_transmit(at(170)).unwrap().header.path_challenge, "the second address gets its own");
    // The previous address that was validated is the first of all.
    assert_eq!(sender.poll_transmit(at(170)).unwrap().header.path, 0);
    sender.on_packet(&from_address(1, 7, false, true), at(190));
    assert_eq!(sender.poll_transmit(at(190)), None);
    assert_eq!(kinds(&mut sender), []);
    sender.on_packet(&from_address(2, 8, false, true), at(220));
    assert_eq!(sender.poll_transmit(at(220)).unwrap().header.path, 2);
    assert_eq!(kinds(&mut sender), [SenderEventKind::Migration]);
}

#[test]
fn an_unrequested_answer_does_nothing() {
    let mut sender = before_a_migration();
    sender.on_packet(&from_address(0, 5, false, true), at(150));
    assert_eq!((sender.variables().cwnd, kinds(&mut sender)), (20.0, vec![]));
}

#[test]
fn round_trip_times_of_the_new_path_begin_with_its_own_packets() {
    // RFC 9000 §9.4, RFC 9002 §5.2: packets of the old path measure nothing, also not the least of all.
    let mut sender = before_a_migration();
    sender.on_packet(&from_address(1, 5, true, false), at(150));
    sent(&mut sender, at(150));
    sender.on_packet(&from_address(1, 6, false, true), at(200));
    assert_eq!(sent_data(&mut sender, at(200)).len(), 10);
    ack_from(&mut sender, 1, 7, 43, at(450));
    assert_eq!(sender.variables().srtt, ms(250), "250 ms, though the old path had 100");
}

#[test]
fn a_new_address_waits_for_the_end_of_the_handshake() {
    // RFC 9000 §9: "An endpoint MUST NOT initiate connection migration before the handshake is confirmed".
    let spec = Arc::new(QuicSpec { migration: Some(Migration::Rfc), ..QuicSpec::default() });
    let (mut sender, mut receiver) =
        (QuicSender::new(Arc::clone(&spec)), QuicReceiver::new(Arc::clone(&spec)));
    sender.offer(None);
    let initial = sender.poll_transmit(at(0)).unwrap().header;
    receiver.on_packet(&initial, at(20));
    receiver.on_path_change(at(20));
    let answer = receiver.poll_transmit(at(20)).unwrap().header;
    assert_eq!((answer.path, receiver.poll_transmit(at(20)), receiver.next_deadline()), (0, None, None));
    // The data confirms it.
    sender.on_packet(&answer, at(40));
    receiver.on_packet(&sender.poll_transmit(at(40)).unwrap().header, at(60));
    let ping = receiver.poll_transmit(at(60)).unwrap().header;
    assert!(ping.ping && ping.path == 1);
    // A sender takes its address with the answer.
    let mut sender = QuicSender::new(spec);
    sender.offer(None);
    sender.poll_transmit(at(0)).unwrap();
    sender.on_path_change(at(10));
    assert_eq!(kinds(&mut sender), []);
    sender.on_packet(&answer, at(40));
    assert_eq!(kinds(&mut sender), [SenderEventKind::Migration]);
    assert_eq!(sender.poll_transmit(at(40)).unwrap().header.path, 1);
}

#[test]
fn a_receiver_tells_its_new_address_until_it_is_used() {
    let spec = QuicSpec { migration: Some(Migration::Rfc), ..bare() };
    let mut receiver = QuicReceiver::new(Arc::new(spec));
    receiver.on_packet(&QuicHeader { segment: 1, payload: 1161, ..QuicHeader::default() }, at(0));
    receiver.on_path_change(at(10));
    let ping = receiver.poll_transmit(at(10)).unwrap();
    assert!(ping.header.ping && ping.header.path == 1);
    assert_eq!(ping.header.ack.unwrap().delay, ms(10));
    assert_eq!(receiver.poll_transmit(at(10)), None);
    // Without a round-trip time: 1024 ms, then twice that.
    assert_eq!(receiver.next_deadline(), Some(at(1034)));
    assert!(receiver.poll_transmit(at(1034)).unwrap().header.ping);
    assert_eq!(receiver.next_deadline(), Some(at(1034 + 2048)));
    let challenge = QuicHeader { number: 1, path: 1, path_challenge: true, ..QuicHeader::default() };
    let receipt = receiver.on_packet(&challenge, at(1100));
    assert_eq!(receipt.in_order_segments, 0);
    let answer = receiver.poll_transmit(at(1100)).unwrap().header;
    assert!(answer.path_response && !answer.ping && answer.path == 1);
    assert_eq!(receiver.next_deadline(), None);
}

#[test]
fn a_sender_that_moves_restarts_or_keeps_its_window() {
    let after = |migration| {
        let mut sender = sender(QuicSpec { migration, ..bare() });
        sender.offer(None);
        sent(&mut sender, at(0));
        ack(&mut sender, &[(0, 10)], at(100));
        sender.on_path_change(at(110));
        let packet = sender.poll_transmit(at(110)).unwrap();
        (sender.variables().cwnd, packet.header.path)
    };
    assert_eq!(after(Some(Migration::Rfc)), (10.0, 1));
    assert_eq!(after(Some(Migration::Keep)), (20.0, 1));
    assert_eq!(after(None), (20.0, 0), "its address stays");
}
