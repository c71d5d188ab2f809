//! The scoreboard is never gone through: an ACK costs about the same with a thousand holes as with none.

use roamlab_engine::{Duration, Packets, Time};
use roamlab_packet::{Ecn, SackBlocks, TcpFlags, TcpHeader};
use roamlab_tcp::{Profile, TcpSender, TcpSpec, Variant};

const OUTSTANDING: u32 = 4000;

/// A sender with 4000 segments outstanding, and every other one of the first `2 * holes` reported.
fn sender(profile: Profile, variant: Variant, holes: u32) -> TcpSender {
    let spec = TcpSpec {
        variant: Some(variant),
        window: Some(Packets(10_000)),
        initial_window: Some(Packets(OUTSTANDING)),
        ..TcpSpec::default()
    };
    let mut sender = TcpSender::new(spec.resolve(profile).unwrap(), Duration::ZERO);
    sender.offer(None);
    while sender.poll_transmit(Time::ZERO).is_some() {}
    sender.on_segment(&ack(1, &[]), Ecn::NotEct, Time::ZERO + Duration::from_millis(1));
    while sender.poll_transmit(Time::ZERO + Duration::from_millis(1)).is_some() {}
    for hole in 0..holes {
        step(&mut sender, &[(2 * hole + 2, 2 * hole + 3)]);
    }
    sender
}

fn ack(ack: u32, blocks: &[(u32, u32)]) -> TcpHeader {
    let mut sacks = SackBlocks::default();
    blocks.iter().for_each(|&(start, end)| sacks.push(start, end));
    TcpHeader { ack, flags: TcpFlags::ACK, window: 10_000, sacks, ..TcpHeader::default() }
}

fn step(sender: &mut TcpSender, blocks: &[(u32, u32)]) {
    let now = Time::ZERO + Duration::from_millis(2);
    sender.on_segment(&ack(1, blocks), Ecn::NotEct, now);
    while sender.poll_transmit(now).is_some() {}
    while sender.poll_fact().is_some() {}
}

/// Time for the next 1000 ACKs, the best of several attempts.
#[expect(clippy::disallowed_methods, reason = "a measurement needs a clock")]
fn cost(profile: Profile, variant: Variant, holes: u32) -> std::time::Duration {
    let sender = sender(profile, variant, holes);
    let attempt = |_| {
        let mut sender = sender.clone();
        let begin = std::time::Instant::now();
        (2100..3100).for_each(|end| step(&mut sender, &[(2099, end), (1001, 1002), (999, 1000)]));
        begin.elapsed()
    };
    (0..20).map(attempt).min().unwrap()
}

#[test]
fn a_thousand_holes_cost_at_most_three_times_none() {
    for (profile, variant) in [
        (Profile::Rfc, Variant::Sack),
        (Profile::Linux6, Variant::Sack),
        (Profile::Ns2_2009, Variant::Sack),
        (Profile::Rfc, Variant::Fack),
    ] {
        let (none, many) = (cost(profile, variant, 1), cost(profile, variant, 1000));
        assert!(many < none * 3, "{profile:?} {variant:?}: {none:?} without holes, {many:?} with a thousand");
        println!("{profile:?} {variant:?}: {none:?} {many:?}");
    }
}
