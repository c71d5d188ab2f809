//! The fast paths of both ends compared with the slow ones: a copy that may not use the fast path gets the same input.

use crate::short_cut::ShortCut;
use crate::state::SendQuota;
use crate::{
    Profile, RecoveryKind, Segment, SpuriousDetection, TcpParams, TcpProfile, TcpReceiver, TcpSender,
    TcpSpec, VARIANTS,
};
use roamlab_congestion::CONGESTION_CONTROLS;
use roamlab_engine::{Duration, Packets, Rng, Time};
use roamlab_packet::{Ecn, TcpHeader};
use std::collections::BTreeMap;
use std::fmt::Debug;

const PROFILES: [Profile; 5] =
    [Profile::Rfc, Profile::Linux6, Profile::Ns2_2001, Profile::Ns2_2003, Profile::Ns2_2009];

/// An end with its twin, which always goes the general way.
struct Twins<E> {
    quick: E,
    slow: E,
}

impl<E: Clone + Debug> Twins<E> {
    fn new(end: E) -> Twins<E> {
        Twins { slow: end.clone(), quick: end }
    }

    /// Gives both the same input; `short_cut` is their permission to take the short way, `settle` brings what they leave for
    /// later up to date.
    fn step<T: PartialEq + Debug>(
        &mut self,
        short_cut: fn(&mut E) -> &mut ShortCut,
        settle: fn(&mut E),
        input: impl Fn(&mut E) -> T,
    ) -> T {
        *short_cut(&mut self.slow) = ShortCut::None;
        let (quick, slow) = (input(&mut self.quick), input(&mut self.slow));
        *short_cut(&mut self.slow) = *short_cut(&mut self.quick);
        let settled = |end: &E| {
            let mut end = end.clone();
            settle(&mut end);
            format!("{end:?}")
        };
        assert_eq!(settled(&self.quick), settled(&self.slow));
        assert_eq!(quick, slow);
        quick
    }
}

fn sender_step<T: PartialEq + Debug>(ends: &mut Twins<TcpSender>, input: impl Fn(&mut TcpSender) -> T) -> T {
    ends.step(|sender| &mut sender.short_cut, |sender| sender.state.record_growth(), input)
}

fn receiver_step<T: PartialEq + Debug>(
    ends: &mut Twins<TcpReceiver>,
    input: impl Fn(&mut TcpReceiver) -> T,
) -> T {
    ends.step(|receiver| &mut receiver.short_cut, TcpReceiver::queue_bare_ack, input)
}

/// The segments that a sender permits together are those that it gives one by one, and its state after both is the
/// same.
fn permits_what_it_would_send(sender: &TcpSender, now: Time) {
    if sender.short_cut != ShortCut::Bare || !matches!(sender.state.quota, SendQuota::Window(_)) {
        return;
    }
    let (mut one_by_one, mut at_once) = (sender.clone(), sender.clone());
    let polled: Vec<Segment> = std::iter::from_fn(|| one_by_one.poll_transmit(now)).collect();
    let (ecn, size) = (Ecn::NotEct, at_once.segment_size());
    let permitted = at_once.take_quota();
    let segment = |seq| Segment { header: at_once.bare_segment(seq, now).into(), size, ecn };
    let permitted: Vec<Segment> = permitted.map(segment).collect();
    at_once.end_quota(now);
    assert_eq!(permitted, polled);
    assert_eq!(format!("{at_once:?}"), format!("{one_by_one:?}"));
}

/// The segments that a sender gives together are those that it gives one by one, and its state after both is the same.
/// They follow an ACK with timestamps, or the end of the wait for pacing (`None`).
fn gives_stamped_what_it_would_send(sender: &TcpSender, ack: Option<&TcpHeader>, now: Time) {
    let stamped = ack.map(TcpHeader::stamped);
    if sender.short_cut != ShortCut::Stamped || stamped == Some(None) {
        return;
    }
    let (mut one_by_one, mut at_once) = (sender.clone(), sender.clone());
    let taken = match stamped.flatten() {
        Some((bare, stamps)) => at_once.on_stamped_ack(&bare, stamps, now),
        None => at_once.on_pacing_deadline(now),
    };
    if !taken {
        return assert_eq!(format!("{at_once:?}"), format!("{sender:?}"));
    }
    match ack {
        Some(header) => one_by_one.on_segment(header, Ecn::NotEct, now),
        None => one_by_one.on_deadline(now),
    }
    let polled: Vec<Segment> = std::iter::from_fn(|| one_by_one.poll_transmit(now)).collect();
    let given = std::iter::from_fn(|| {
        let bare = at_once.next_stamped(now)?;
        let header = TcpHeader { timestamps: Some(at_once.stamps(now)), ..bare.into() };
        Some(Segment { header, size: at_once.data_size(bare.seq), ecn: Ecn::NotEct })
    });
    let given: Vec<Segment> = given.collect();
    at_once.end_stamped(ack.is_some(), !given.is_empty(), now);
    assert_eq!(given, polled);
    assert_eq!(format!("{at_once:?}"), format!("{one_by_one:?}"));
}

/// Random parameters of a variant, or of another congestion control with its recovery.
fn random_params(
    profile: Profile,
    plain: TcpSpec,
    usual: &TcpParams,
    below: &mut impl FnMut(u32) -> u32,
) -> TcpParams {
    let by_rack = usual.recovery == RecoveryKind::Rack;
    let watched = if by_rack { SpuriousDetection::Linux } else { SpuriousDetection::FRto };
    let mut capped = TcpProfile::from(profile);
    let spec = TcpSpec {
        window: Some(Packets(1 + below(60))),
        delayed_ack: Some(Duration::from_millis(u64::from(below(2)) * 100)),
        timestamps: Some((below(5) == 0) != usual.timestamps),
        ecn: Some(below(5) == 0 || usual.ecn),
        pacing: {
            capped.max_cwnd = Some(Packets(below(2) * 20));
            Some(below(4) == 0 && !usual.is_ns2()) // refused there
        },
        spurious_detection: Some([SpuriousDetection::None, watched][below(2) as usize]),
        ..plain
    };
    spec.resolve(&capped).unwrap()
}

/// A segment arrives at the receiver: 1 if it takes a short way.
fn receiver_takes(receiver: &mut Twins<TcpReceiver>, header: &TcpHeader, ecn: Ecn, now: Time) -> u32 {
    let quick = &receiver.quick;
    let short = header.bare().is_some_and(|bare| quick.takes_fast_path(&bare))
        || header.stamped().is_some_and(|(bare, at)| quick.takes_stamped(&bare, at));
    receiver_step(receiver, |receiver| receiver.on_segment(header, ecn, now));
    short.into()
}

/// An ACK arrives at the sender: 1 if it takes a short way.
fn sender_takes(sender: &mut Twins<TcpSender>, header: &TcpHeader, ecn: Ecn, now: Time) -> u32 {
    let quick = &sender.quick;
    let short = header.bare().is_some_and(|bare| quick.takes_fast_path(&bare))
        || header.stamped().is_some_and(|(bare, at)| quick.takes_stamped(&bare, at));
    gives_stamped_what_it_would_send(&sender.quick, Some(header), now);
    sender_step(sender, |sender| sender.on_segment(header, ecn, now));
    permits_what_it_would_send(&sender.quick, now);
    short.into()
}

/// A deadline of either end has come.
fn both_wake(sender: &mut Twins<TcpSender>, receiver: &mut Twins<TcpReceiver>, now: Time) {
    gives_stamped_what_it_would_send(&sender.quick, None, now);
    sender_step(sender, |sender| {
        if !sender.on_pacing_deadline(now) {
            sender.on_deadline(now);
        }
    });
    permits_what_it_would_send(&sender.quick, now);
    receiver_step(receiver, |receiver| receiver.on_deadline(now));
}

/// A transfer over a path that loses, overtakes and may strip options; for each end, how many segments took the short way, of
/// how many that may have.
fn transfer(profile: Profile, variant: &str, control: Option<&str>, rng: &mut Rng) -> ([u32; 2], [u32; 2]) {
    let mut below = |end: u32| (rng.uniform() * f64::from(end)) as u32;
    let plain = TcpSpec {
        variant: Some(serde_json::from_value(variant.into()).unwrap()),
        congestion_control: control.map(|name| serde_json::from_value(name.into()).unwrap()),
        ..TcpSpec::default()
    };
    let usual = plain.resolve(profile).unwrap();
    let params = random_params(profile, plain, &usual, &mut below);
    let mut sender = Twins::new(TcpSender::new(&params, Duration::ZERO));
    let mut receiver = Twins::new(TcpReceiver::new(&params));
    let mut flying: BTreeMap<(Time, u32), (bool, TcpHeader, Ecn)> = BTreeMap::new();
    let (mut now, mut number, mut short, mut all) = (Time::ZERO, 0, [0, 0], [0, 0]);
    let (loss, strips_options) = (below(3) * 3, below(if usual.timestamps { 6 } else { 2 }) == 0);
    sender_step(&mut sender, |sender| sender.offer(Some(100)));
    loop {
        while let Some(Segment { mut header, ecn, .. }) =
            sender_step(&mut sender, |sender| sender.poll_transmit(now))
        {
            header.timestamps = header.timestamps.filter(|_| !strips_options);
            number += 1;
            let overtaken = Duration::from_micros(u64::from(below(40) / 39 * below(9000)));
            if below(100) >= loss {
                flying.insert((now + Duration::from_millis(20) + overtaken, number), (true, header, ecn));
            }
        }
        if below(10) > 0 {
            while sender_step(&mut sender, TcpSender::poll_fact).is_some() {}
        }
        while below(20) > 0
            && let Some(Segment { header, ecn, .. }) =
                receiver_step(&mut receiver, |receiver| receiver.poll_transmit(now))
        {
            number += 1;
            flying.insert((now + Duration::from_millis(20), number), (false, header, ecn));
        }
        let arrival = flying.first_key_value().map(|(&(time, _), _)| time);
        let deadlines = [sender.quick.next_deadline(), receiver.quick.next_deadline()];
        let next = deadlines.into_iter().chain([arrival]).flatten().min();
        let Some(next) = next.filter(|_| !sender.quick.finished()) else { break };
        now = now.max(next);
        match flying.pop_first() {
            Some((_, (true, header, ecn))) if arrival == Some(next) => {
                short[1] += receiver_takes(&mut receiver, &header, ecn, now);
                all[1] += 1;
            }
            Some((_, (false, header, ecn))) if arrival == Some(next) => {
                short[0] += sender_takes(&mut sender, &header, ecn, now);
                all[0] += 1;
            }
            other => {
                flying.extend(other);
                both_wake(&mut sender, &mut receiver, now);
            }
        }
    }
    if usual.ecn { (short, short) } else { (short, all) } // with ECN there is no short way
}

#[test]
fn the_short_way_leaves_both_ends_as_the_general_one_does() {
    let mut rng = Rng::named(1, 0, "fast path");
    for profile in PROFILES {
        let (mut short, mut all) = ([0, 0], [0, 0]);
        let variants = VARIANTS.iter().map(|(variant, _)| (*variant, None));
        let controls = CONGESTION_CONTROLS
            .iter()
            .flat_map(|(control, _)| ["reno", "newreno", "sack"].map(|variant| (variant, Some(*control))))
            .filter(|(variant, control)| *variant == "sack" || !matches!(control, Some("bbr" | "bbr3"))); // refused
        for (variant, control) in variants.chain(controls) {
            for _ in 0..2 {
                let (taken, of) = transfer(profile, variant, control, &mut rng);
                (0..2).for_each(|end| (short[end], all[end]) = (short[end] + taken[end], all[end] + of[end]));
            }
        }
        assert!(
            (0..2).all(|end| 8 * short[end] > all[end]),
            "{profile:?}: the short way is rarely tried: {short:?} of {all:?}"
        );
    }
}

#[test]
fn the_ends_of_an_idle_connection_take_less_than_a_kilobyte() {
    let facts_and_acks = size_of::<roamlab_congestion::SenderEvent>() + size_of::<Segment>();
    let ends = size_of::<TcpSender>() + size_of::<TcpReceiver>();
    let all = ends + facts_and_acks;
    let advice = "put state that few connections need into a box, as the congestion control and the record of segments";
    assert!(all <= 1000, "the ends take {ends} B, with their queues {all} B; {advice}");
}

#[test]
fn an_ack_that_shuts_the_window_at_the_last_segment_goes_the_general_way_which_probes() {
    // RFC 9293 §3.8.6.1: with data to send and a window of zero a probe asks for the window.
    let spec =
        TcpSpec { window: Some(Packets(1000)), initial_window: Some(Packets(4)), ..TcpSpec::default() };
    let mut sender = TcpSender::new(spec.resolve(Profile::Rfc).unwrap(), Duration::ZERO);
    let at = |millis| Time::ZERO + Duration::from_millis(millis);
    sender.offer(None);
    let mut ack = |ack, window, now| {
        let header = TcpHeader { ack, window, flags: roamlab_packet::TcpFlags::ACK, ..TcpHeader::default() };
        sender.on_segment(&header, Ecn::NotEct, now);
        while sender.poll_fact().is_some() {}
        let sent = std::iter::from_fn(|| sender.poll_transmit(now)).count();
        (sent, sender.short_cut == ShortCut::Bare, sender.state.persist.runs())
    };
    ack(0, 1000, at(0));
    assert_eq!(ack(1, 4, at(100)), (4, true, false));
    assert_eq!(ack(5, 0, at(200)), (0, false, true));
}
