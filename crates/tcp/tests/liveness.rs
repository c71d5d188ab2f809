//! Whatever is lost, everything offered arrives, once and in order, and a wake-up that comes early changes nothing.

use proptest::prelude::*;
use roamlab_congestion::CONGESTION_CONTROLS;
use roamlab_engine::{Duration, Packets, Time};
use roamlab_packet::{Ecn, TcpHeader};
use roamlab_tcp::{Profile, RecoveryKind, TcpReceiver, TcpSender, TcpSpec, VARIANTS, Variant};
use serde::de::DeserializeOwned;
use std::collections::VecDeque;

const ONE_WAY: Duration = Duration::from_millis(20);
const OFFERED: u64 = 120;

/// Every variant, and every congestion control with SACK.
fn senders() -> Vec<TcpSpec> {
    fn parse<T: DeserializeOwned>(name: &str) -> Option<T> {
        Some(serde_json::from_value(name.into()).unwrap())
    }
    let variants = VARIANTS.iter().map(|(name, _)| TcpSpec { variant: parse(name), ..TcpSpec::default() });
    let controls = CONGESTION_CONTROLS.iter().map(|(name, _)| TcpSpec {
        variant: Some(Variant::Sack),
        congestion_control: parse(name),
        ..TcpSpec::default()
    });
    let rack = TcpSpec { recovery: Some(RecoveryKind::Rack), ..TcpSpec::default() };
    variants.chain(controls).chain([rack]).collect()
}

/// When the sender is woken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waking {
    AtDeadlines,
    /// After each event too, at which nothing may change.
    Early,
}

/// Runs one transfer over a path that loses the packets set in `losses`, in the order of sending, both ways.
fn transfer(
    profile: Profile,
    sender: TcpSpec,
    delayed_ack: bool,
    losses: &[bool],
    waking: Waking,
) -> Result<Time, TestCaseError> {
    let spec = TcpSpec {
        window: Some(Packets(32)),
        delayed_ack: Some(Duration::from_millis(if delayed_ack { 100 } else { 0 })),
        ..sender
    };
    let params = spec.resolve(profile).unwrap();
    let (mut sender, mut receiver) = (TcpSender::new(&params, Duration::ZERO), TcpReceiver::new(&params));
    let mut losses = losses.iter().copied().chain(std::iter::repeat(false));
    let (mut data, mut acks) = (VecDeque::<(Time, TcpHeader)>::new(), VecDeque::<(Time, TcpHeader)>::new());
    let (mut now, mut delivered, mut fresh) = (Time::ZERO, 0u64, 0u64);
    sender.offer(Some(OFFERED));
    while !sender.finished() {
        while let Some(segment) = sender.poll_transmit(now) {
            if !losses.next().unwrap_or_default() {
                data.push_back((now + ONE_WAY, segment.header));
            }
        }
        while let Some(segment) = receiver.poll_transmit(now) {
            if !losses.next().unwrap_or_default() {
                acks.push_back((now + ONE_WAY, segment.header));
            }
        }
        let heads = [data.front().map(|head| head.0), acks.front().map(|head| head.0)];
        let next =
            heads.into_iter().chain([sender.next_deadline(), receiver.next_deadline()]).flatten().min();
        now = next.ok_or_else(|| TestCaseError::fail("the transfer stalled with nothing pending"))?;
        prop_assert!(now < Time::ZERO + Duration::from_secs(20_000), "the transfer does not end");
        if data.front().is_some_and(|head| head.0 == now) {
            let (_, header) = data.pop_front().unwrap();
            let receipt = receiver.on_segment(&header, Ecn::NotEct, now);
            delivered += u64::from(receipt.in_order_segments);
            fresh += u64::from(receipt.fresh && header.payload > 0);
        } else if acks.front().is_some_and(|head| head.0 == now) {
            let (_, header) = acks.pop_front().unwrap();
            sender.on_segment(&header, Ecn::NotEct, now);
        } else {
            sender.on_deadline(now);
            receiver.on_deadline(now);
        }
        while sender.poll_fact().is_some() {}
        if waking == Waking::Early && sender.next_deadline() != Some(now) {
            let before = format!("{sender:?}");
            sender.on_deadline(now);
            prop_assert_eq!(before, format!("{:?}", sender));
        }
        prop_assert!(sender.in_flight() <= 32, "{} in flight", sender.in_flight());
    }
    prop_assert_eq!((delivered, fresh), (OFFERED, OFFERED));
    Ok(now)
}

/// The segments that an ACK permits are the first that are paced. By the next wake-up a segment may take the fast path.
#[test]
fn an_early_wake_up_behind_the_first_paced_segments_changes_nothing() {
    let losses = [false, false, false, false, false, false, true, true];
    for sender in senders() {
        transfer(Profile::Ns2_2001, sender, true, &losses, Waking::Early).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everything_arrives_once(losses in prop::collection::vec(prop::bool::weighted(0.2), 0..400), delayed: bool) {
        for profile in [Profile::Rfc, Profile::Linux6, Profile::Ns2_2001, Profile::Ns2_2003, Profile::Ns2_2009] {
            for sender in senders() {
                let ended = transfer(profile, sender.clone(), delayed, &losses, Waking::Early)?;
                let again = transfer(profile, sender, delayed, &losses, Waking::AtDeadlines)?;
                prop_assert_eq!(ended, again, "not deterministic, or it depends on early wake-ups");
            }
        }
    }
}
