//! One loss and a delay longer than the RTO, as in a handover: what had arrived is not sent again.

use roamlab_engine::{Duration, Packets, Time};
use roamlab_packet::{Ecn, TcpHeader};
use roamlab_transport::{Profile, SpuriousDetection, TcpReceiver, TcpSender, TcpSpec, Variant};
use std::collections::VecDeque;

const ONE_WAY: Duration = Duration::from_millis(20);
/// No segment arrives between the beginning and the end of the delay spike.
const SPIKE: [Duration; 2] = [Duration::from_millis(300), Duration::from_millis(2000)];
const WINDOW: u32 = 40;

/// What a transfer did: segments sent again, not counting the lost one's first, and when it ended.
fn transfer(spec: TcpSpec, lost: u32) -> (u32, Time) {
    let params = spec.resolve(Profile::Rfc).unwrap();
    let (mut sender, mut receiver) = (TcpSender::new(&params, Duration::ZERO), TcpReceiver::new(&params));
    let (mut data, mut acks) = (VecDeque::<(Time, TcpHeader)>::new(), VecDeque::<(Time, TcpHeader)>::new());
    let (mut now, mut again, mut held) = (Time::ZERO, 0, 0);
    let [begin, end] = SPIKE.map(|span| Time::ZERO + span);
    sender.offer(Some(400));
    while !sender.finished() {
        while let Some(segment) = sender.poll_transmit(now) {
            again += u32::from(segment.header.retransmission);
            let arrives = now + ONE_WAY;
            let in_spike = (begin..end).contains(&arrives);
            held += u32::from(in_spike);
            let is_lost = in_spike && held == lost + 1;
            // One after the other, 1 ms each, behind what is under way.
            let free = data.back().map_or(Time::ZERO, |last| last.0 + Duration::from_millis(1));
            if !is_lost {
                data.push_back((if in_spike { end.max(free) } else { arrives.max(free) }, segment.header));
            }
        }
        while let Some(segment) = receiver.poll_transmit(now) {
            acks.push_back((now + ONE_WAY, segment.header));
        }
        let heads = [data.front().map(|head| head.0), acks.front().map(|head| head.0)];
        let deadlines = [sender.next_deadline(), receiver.next_deadline()];
        now = heads.into_iter().chain(deadlines).flatten().min().expect("a transfer does not stall");
        if data.front().is_some_and(|head| head.0 == now) {
            receiver.on_segment(&data.pop_front().unwrap().1, Ecn::NotEct, now);
        } else if acks.front().is_some_and(|head| head.0 == now) {
            sender.on_segment(&acks.pop_front().unwrap().1, Ecn::NotEct, now);
        } else {
            sender.on_deadline(now);
            receiver.on_deadline(now);
        }
    }
    (again.saturating_sub(1), now)
}

#[test]
fn print() {
    for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack, Variant::Fack, Variant::Vegas] {
        for detection in [SpuriousDetection::None, SpuriousDetection::FRto, SpuriousDetection::Eifel, SpuriousDetection::DSack] {
            let mut line = format!("{variant:?} {detection:?}:");
            for lost in [0, 1, 2, 3, 5, 10, 20, 38, 39] {
                let spec = TcpSpec {
                    variant: Some(variant),
                    window: Some(Packets(WINDOW)),
                    spurious_detection: Some(detection),
                    timestamps: Some(detection == SpuriousDetection::Eifel),
                    dsack: Some(true),
                    ..TcpSpec::default()
                };
                let (again, end) = transfer(spec, lost);
                line += &format!(" {again} ({:.2})", end.since(Time::ZERO).as_secs_f64());
            }
            println!("{line}");
        }
    }
}
