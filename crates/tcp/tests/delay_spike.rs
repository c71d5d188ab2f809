//! One loss and a delay longer than the RTO, as in a handover: segments that have arrived are not sent again.

use roamlab_engine::{Duration, Packets, Time};
use roamlab_packet::{Ecn, TcpHeader};
use roamlab_tcp::{Profile, TcpReceiver, TcpSender, TcpSpec, Variant};
use std::collections::VecDeque;

const ONE_WAY: Duration = Duration::from_millis(20);
const SERVICE: Duration = Duration::from_millis(1);
/// Segments that would arrive between the two times arrive at the second.
const SPIKE: [Duration; 2] = [Duration::from_millis(300), Duration::from_millis(2000)];
const WINDOW: u32 = 40;

/// Number of segments that a transfer sends again in addition to the lost one. `before`: segments before that one in
/// the spike.
fn sent_again(variant: Variant, before: u32) -> u32 {
    let spec = TcpSpec { variant: Some(variant), window: Some(Packets(WINDOW)), ..TcpSpec::default() };
    let params = spec.resolve(Profile::Rfc).unwrap();
    let (mut sender, mut receiver) = (TcpSender::new(&params, Duration::ZERO), TcpReceiver::new(&params));
    let (mut data, mut acks) = (VecDeque::<(Time, TcpHeader)>::new(), VecDeque::<(Time, TcpHeader)>::new());
    let (mut now, mut again, mut held, mut timeouts) = (Time::ZERO, 0, 0, 0);
    let [begin, end] = SPIKE.map(|span| Time::ZERO + span);
    sender.offer(Some(400));
    while !sender.finished() {
        while let Some(segment) = sender.poll_transmit(now) {
            again += u32::from(segment.header.retransmission);
            let free = data.back().map_or(Time::ZERO, |last| last.0 + SERVICE);
            let arrives = (now + ONE_WAY).max(free);
            let in_spike = (begin..end).contains(&(now + ONE_WAY));
            held += u32::from(in_spike);
            if !in_spike || held != before + 1 {
                data.push_back((if in_spike { arrives.max(end) } else { arrives }, segment.header));
            }
        }
        while let Some(segment) = receiver.poll_transmit(now) {
            acks.push_back((now + ONE_WAY, segment.header));
        }
        let heads = [data.front().map(|head| head.0), acks.front().map(|head| head.0)];
        let deadlines = [sender.next_deadline(), receiver.next_deadline()];
        now = heads.into_iter().chain(deadlines).flatten().min().expect("a transfer does not stall");
        if heads[0] == Some(now) {
            receiver.on_segment(&data.pop_front().unwrap().1, Ecn::NotEct, now);
        } else if heads[1] == Some(now) {
            sender.on_segment(&acks.pop_front().unwrap().1, Ecn::NotEct, now);
        } else {
            sender.on_deadline(now);
            receiver.on_deadline(now);
        }
        timeouts = sender.variables().timeouts;
    }
    assert!(held > before, "{variant:?}: only {held} segments in the spike");
    assert!(timeouts > 0, "{variant:?}: the spike is shorter than the RTO");
    again - 1
}

#[test]
fn at_most_two_segments_are_sent_again_beside_the_lost_one() {
    for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack, Variant::Fack] {
        let again: Vec<u32> = (0..WINDOW).map(|before| sent_again(variant, before)).collect();
        assert!(again.iter().all(|&segments| segments <= 2), "{variant:?}: {again:?}");
    }
}

#[test]
fn vegas_sends_again_what_its_clock_has_given_up() {
    // Behind a spike the oldest segment is always older than Vegas' fine-grained timeout.
    let again: Vec<u32> = (0..15).map(|before| sent_again(Variant::Vegas, before)).collect();
    assert!(again.iter().all(|&segments| segments <= 7), "{again:?}");
}
