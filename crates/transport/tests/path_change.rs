//! Senders that are notified of a new path: numbers worked out by hand.

use roamlab_congestion::{CongestionControlSpec, PathPolicy, SenderEventKind};
use roamlab_engine::{Duration, Time};
use roamlab_packet::{Ecn, QuicAck, QuicHeader, SackBlocks, TcpFlags, TcpHeader};
use roamlab_quic::{Migration, QuicHandshake, QuicSender, QuicSpec};
use roamlab_tcp::{
    Handshake, Profile, ProfileName, Profiles, RecoveryKind, TcpProfile, TcpSender, TcpSpec, Variant,
};
use roamlab_transport::TransportSpec;
use std::collections::BTreeMap;
use std::sync::Arc;

fn at(millis: u64) -> Time {
    Time::ZERO + ms(millis)
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Without a SYN, so that the first segment is 0.
fn spec(recovery: RecoveryKind) -> TcpSpec {
    let sack_blocks = sender_has_sack(recovery).then_some(3);
    TcpSpec { variant: Some(Variant::NewReno), recovery: Some(recovery), sack_blocks, ..TcpSpec::default() }
}

fn without_syn(profile: Profile) -> TcpProfile {
    TcpProfile { handshake: Some(Handshake::None), ..profile.into() }
}

fn tcp(spec: &TcpSpec) -> TcpSender {
    let mut sender = TcpSender::new(spec.resolve(without_syn(Profile::Rfc)).unwrap(), Duration::ZERO);
    sender.offer(None);
    sender
}

/// Segments that go out at `now`: the segments, and whether they went out before.
fn sent(sender: &mut TcpSender, now: Time) -> Vec<(u32, bool)> {
    let headers = std::iter::from_fn(|| sender.poll_transmit(now)).map(|segment| segment.header);
    headers.map(|header| (header.seq, header.retransmission)).collect()
}

fn fresh(segments: std::ops::Range<u32>) -> Vec<(u32, bool)> {
    segments.map(|segment| (segment, false)).collect()
}

fn ack(sender: &mut TcpSender, ack: u32, blocks: &[(u32, u32)], now: Time) {
    let mut sacks = SackBlocks::default();
    blocks.iter().for_each(|&(start, end)| sacks.push(start, end));
    let header = TcpHeader { ack, flags: TcpFlags::ACK, window: 10_000, sacks, ..TcpHeader::default() };
    sender.on_segment(&header, Ecn::NotEct, now);
}

fn kinds(sender: &mut TcpSender) -> Vec<SenderEventKind> {
    std::iter::from_fn(|| sender.poll_fact()).map(|fact| fact.kind).collect()
}

/// Twenty segments are in flight, 10 to 29, after a round trip of 100 ms.
fn in_flight(spec: &TcpSpec) -> TcpSender {
    let mut sender = tcp(spec);
    assert_eq!(sent(&mut sender, at(0)), fresh(0..10));
    (1..=10).for_each(|segment| ack(&mut sender, segment, &[], at(100)));
    assert_eq!(sent(&mut sender, at(100)), fresh(10..30));
    assert_eq!(sender.variables().srtt, ms(100));
    kinds(&mut sender);
    sender
}

const RECOVERIES: [RecoveryKind; 4] =
    [RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Rfc6675, RecoveryKind::Rack];

#[test]
fn a_restart_begins_with_the_initial_window_beside_what_is_in_flight() {
    for recovery in RECOVERIES {
        let mut sender = in_flight(&spec(recovery));
        assert_eq!(sender.on_new_path(PathPolicy::Restart, at(150)), Some(0), "{recovery:?}");
        let variables = sender.variables();
        assert_eq!((variables.cwnd, variables.ssthresh), (10.0, f64::from(u32::MAX)), "{recovery:?}");
        // RFC 6298 (2.1): 1 s without a measurement.
        assert_eq!((variables.srtt, variables.rto), (Duration::ZERO, ms(1000)));
        assert_eq!(kinds(&mut sender), [SenderEventKind::PathChange]);
        assert_eq!(sent(&mut sender, at(150)), fresh(30..40), "{recovery:?}");
        // The ACKs of the old flight neither open the window nor measure it.
        (11..=30).for_each(|segment| ack(&mut sender, segment, &[], at(200)));
        assert_eq!(
            (sender.variables().cwnd, sender.variables().srtt),
            (10.0, Duration::ZERO),
            "{recovery:?}"
        );
        assert_eq!(sent(&mut sender, at(200)), [], "{recovery:?}");
        // That of the first new one does: it left at 150 ms.
        ack(&mut sender, 31, &[], at(270));
        assert_eq!((sender.variables().cwnd, sender.variables().srtt), (11.0, ms(120)), "{recovery:?}");
        assert_eq!(sent(&mut sender, at(270)), fresh(40..42), "{recovery:?}");
    }
}

#[test]
fn all_that_is_counted_lost_goes_out_again_within_the_initial_window() {
    for recovery in RECOVERIES {
        let mut sender = in_flight(&spec(recovery));
        assert_eq!(sender.on_new_path(PathPolicy::CountLost, at(150)), Some(20), "{recovery:?}");
        assert_eq!(kinds(&mut sender), [SenderEventKind::PathChange], "no timeout: {recovery:?}");
        let variables = sender.variables();
        assert_eq!((variables.cwnd, variables.timeouts, variables.backoff), (10.0, 0, 1), "{recovery:?}");
        let again: Vec<_> = (10..20).map(|segment| (segment, true)).collect();
        assert_eq!(sent(&mut sender, at(150)), again, "{recovery:?}");
        assert_eq!(sender.next_deadline().map(|deadline| deadline > at(150)), Some(true));
        // In slow start each ACK lets two follow.
        ack(&mut sender, 11, &[], at(250));
        assert_eq!(sent(&mut sender, at(250)), [(20, true), (21, true)], "{recovery:?}");
        assert_eq!(sender.variables().cwnd, 11.0);
    }
}

#[test]
fn what_the_receiver_holds_is_not_sent_again() {
    for recovery in [RecoveryKind::Rfc6675, RecoveryKind::Rack] {
        let mut sender = in_flight(&spec(recovery));
        ack(&mut sender, 10, &[(12, 14)], at(140));
        sent(&mut sender, at(140)); // limited transmit
        sender.on_new_path(PathPolicy::CountLost, at(150));
        let first: Vec<u32> =
            sent(&mut sender, at(150)).iter().take(5).map(|(segment, _)| *segment).collect();
        assert_eq!(first, [10, 11, 14, 15, 16], "{recovery:?}");
    }
}

#[test]
fn a_recovery_that_is_underway_ends_with_the_window_of_the_new_path() {
    for recovery in [RecoveryKind::NewReno, RecoveryKind::Rfc6675, RecoveryKind::Rack] {
        let mut sender = in_flight(&spec(recovery));
        let blocks = |end| if recovery == RecoveryKind::NewReno { vec![] } else { vec![(11, end)] };
        (12..=16).for_each(|end| ack(&mut sender, 10, &blocks(end), at(230)));
        let repaired = sent(&mut sender, at(230));
        assert!(repaired.contains(&(10, true)), "{recovery:?} {repaired:?}");
        let old_end = sender.acknowledged() + sender.in_flight();
        sender.on_new_path(PathPolicy::Restart, at(240));
        assert_eq!(sender.variables().cwnd, 10.0);
        // Segments that were sent again count, where the recovery counts it (RFC 6675 SetPipe, RACK).
        let again = repaired.iter().filter(|(_, again)| *again).count();
        let counted = if recovery == RecoveryKind::NewReno { 0 } else { again };
        assert_eq!(sent(&mut sender, at(240)).len() + counted, 10, "{recovery:?} {repaired:?}");
        ack(&mut sender, old_end, &[], at(330));
        // RFC 6582 §3.2 step 3: at most what is in flight and a segment.
        let cwnd = sender.variables().cwnd;
        assert!((10.0..=11.0).contains(&cwnd), "{recovery:?}: {cwnd}");
    }
}

#[test]
fn a_loss_of_the_old_flight_is_repaired_and_does_not_cut_the_new_window() {
    for recovery in RECOVERIES {
        let mut sender = in_flight(&spec(recovery));
        sender.on_new_path(PathPolicy::Restart, at(150));
        assert_eq!(sent(&mut sender, at(150)), fresh(30..40));
        // Segment 10 is lost, and 11 to 16 arrive on whichever path.
        let blocks = |end| if sender_has_sack(recovery) { vec![(11, end)] } else { vec![] };
        (12..=17).for_each(|end| ack(&mut sender, 10, &blocks(end), at(300)));
        assert!(sent(&mut sender, at(300)).contains(&(10, true)), "{recovery:?}");
        let variables = sender.variables();
        assert_eq!((variables.cwnd, variables.ssthresh), (10.0, f64::from(u32::MAX)), "{recovery:?}");
        assert_eq!(variables.reductions, 0, "{recovery:?}");
        ack(&mut sender, 40, &[], at(420));
        let cwnd = sender.variables().cwnd;
        assert!((1.0..=12.0).contains(&cwnd), "{recovery:?}: {cwnd}");
    }
}

fn sender_has_sack(recovery: RecoveryKind) -> bool {
    matches!(recovery, RecoveryKind::Rfc6675 | RecoveryKind::Rack)
}

fn echo(sender: &mut TcpSender, ack: u32, now: Time) {
    let flags = TcpFlags::ACK.with(TcpFlags::ECE);
    sender.on_segment(&TcpHeader { ack, flags, window: 10_000, ..TcpHeader::default() }, Ecn::NotEct, now);
}

/// RFC 3168 §6.1.2: an echo and a loss of one window reduce it once. A loss of the new path is of another window.
#[test]
fn an_echo_of_the_old_path_is_no_answer_to_a_loss_of_the_new_one() {
    for recovery in [RecoveryKind::Rfc6675, RecoveryKind::Rack] {
        let mut sender = in_flight(&TcpSpec { ecn: Some(true), ..spec(recovery) });
        echo(&mut sender, 11, at(110));
        assert!(kinds(&mut sender).contains(&SenderEventKind::EcnReduction), "{recovery:?}");
        sender.on_new_path(PathPolicy::Restart, at(150));
        assert_eq!(sent(&mut sender, at(150)), fresh(30..40), "{recovery:?}");
        ack(&mut sender, 30, &[], at(200));
        (32..=35).for_each(|end| ack(&mut sender, 30, &[(31, end)], at(270)));
        // RFC 5681 §3.1 (4): half of the ten in flight.
        assert_eq!(sender.variables().ssthresh, 5.0, "{recovery:?}");
    }
}

/// An echo of the old path that comes behind the change reduces nothing, so that a loss of the new path reduces the window.
#[test]
fn a_late_echo_of_the_old_path_is_no_answer_to_a_loss_of_the_new_one() {
    for recovery in [RecoveryKind::Rfc6675, RecoveryKind::Rack] {
        let mut sender = in_flight(&TcpSpec { ecn: Some(true), ..spec(recovery) });
        sender.on_new_path(PathPolicy::Restart, at(150));
        assert_eq!(sent(&mut sender, at(150)), fresh(30..40), "{recovery:?}");
        echo(&mut sender, 11, at(160));
        assert!(!kinds(&mut sender).contains(&SenderEventKind::EcnReduction), "{recovery:?}");
        ack(&mut sender, 30, &[], at(200));
        (32..=35).for_each(|end| ack(&mut sender, 30, &[(31, end)], at(270)));
        assert!(kinds(&mut sender).contains(&SenderEventKind::FastRetransmit), "{recovery:?}");
        assert!(sender.variables().ssthresh <= 10.0, "{recovery:?}: {:?}", sender.variables());
    }
}

/// Linux ends the reduction of an echo with a window of ssthresh, which a new path does not have yet.
#[test]
fn the_reduction_of_an_echo_ends_with_the_old_path() {
    let spec = TcpSpec { ecn: Some(true), ..TcpSpec::default() };
    let mut sender = TcpSender::new(spec.resolve(without_syn(Profile::Linux6)).unwrap(), Duration::ZERO);
    sender.offer(None);
    let mut next = sent(&mut sender, at(0)).len() as u32;
    echo(&mut sender, next / 2, at(100));
    assert!(kinds(&mut sender).contains(&SenderEventKind::EcnReduction));
    next += sent(&mut sender, at(100)).len() as u32;
    sender.on_new_path(PathPolicy::Restart, at(150));
    for round in 2..5 {
        next += sent(&mut sender, at(100 * round)).len() as u32;
        ack(&mut sender, next, &[], at(100 * round + 80));
    }
    // Three round trips of slow start from the initial window; the first ACK acknowledges the old flight too.
    assert!(sender.variables().cwnd <= 120.0, "{:?}", sender.variables());
}

#[test]
fn a_timeout_on_the_new_path_sends_one_segment() {
    for recovery in RECOVERIES {
        let mut sender = in_flight(&spec(recovery));
        sender.on_new_path(PathPolicy::Restart, at(150));
        assert_eq!(sent(&mut sender, at(150)).len(), 10);
        // A probe for the tail (RACK-TLP) may come before.
        while sender.variables().timeouts == 0 {
            let deadline = sender.next_deadline().unwrap();
            sender.on_deadline(deadline);
            let out = sent(&mut sender, deadline);
            assert!(out.len() <= 1, "{recovery:?}: {out:?}");
        }
        assert_eq!(sender.variables().cwnd, 1.0, "{recovery:?}");
    }
}

#[test]
fn before_the_connection_exists_there_is_nothing_to_do() {
    for policy in [PathPolicy::Restart, PathPolicy::CountLost, PathPolicy::Nothing] {
        let params = spec(RecoveryKind::NewReno).resolve(Profile::Rfc).unwrap();
        let mut sender = TcpSender::new(params, Duration::ZERO);
        sender.offer(None);
        assert_eq!(sent(&mut sender, at(0)), [(0, false)]);
        assert_eq!(sender.on_new_path(policy, at(50)), None);
        let mut sender = in_flight(&spec(RecoveryKind::NewReno));
        assert_eq!(sender.on_new_path(PathPolicy::Nothing, at(150)), None);
        assert_eq!(sender.variables().cwnd, 20.0);
    }
}

fn quic(control: CongestionControlSpec) -> QuicSender {
    let spec = QuicSpec {
        handshake: QuicHandshake::None,
        pacing: false,
        congestion_control: control,
        ..QuicSpec::default()
    };
    let mut sender = QuicSender::new(Arc::new(spec));
    sender.offer(None);
    sender
}

fn quic_sent(sender: &mut QuicSender, now: Time) -> Vec<u32> {
    std::iter::from_fn(|| sender.poll_transmit(now)).map(|packet| packet.header.segment).collect()
}

fn quic_ack(sender: &mut QuicSender, range: (u32, u32), now: Time) {
    let ack = QuicAck { ranges: vec![range], delay: Duration::ZERO };
    sender.on_packet(&QuicHeader { ack: Some(Box::new(ack)), ..QuicHeader::default() }, now);
}

/// Packets 10 to 29 are in flight after a round trip of 100 ms.
fn quic_in_flight() -> QuicSender {
    let mut sender = quic(CongestionControlSpec::Reno(Default::default()));
    assert_eq!(quic_sent(&mut sender, at(0)).len(), 10);
    quic_ack(&mut sender, (0, 10), at(100));
    assert_eq!(quic_sent(&mut sender, at(100)).len(), 20);
    while sender.poll_fact().is_some() {}
    sender
}

#[test]
fn a_quic_sender_that_is_told_begins_as_after_a_migration() {
    let mut sender = quic_in_flight();
    assert_eq!(sender.on_new_path(PathPolicy::Restart, at(150)), Some(0));
    assert_eq!(sender.poll_fact().map(|fact| fact.kind), Some(SenderEventKind::PathChange));
    let variables = sender.variables();
    // 3 * 333 + 25 ms (RFC 9002 §6.2.2).
    assert_eq!((variables.cwnd, variables.srtt, variables.rto), (10.0, Duration::ZERO, ms(1024)));
    assert_eq!(quic_sent(&mut sender, at(150)), (31..41).collect::<Vec<_>>());

    let mut sender = quic_in_flight();
    assert_eq!(sender.on_new_path(PathPolicy::CountLost, at(150)), Some(20));
    assert_eq!(quic_sent(&mut sender, at(150)), (11..21).collect::<Vec<_>>(), "sent again");
}

#[test]
fn a_quic_sender_that_is_told_may_resume_half_of_its_window() {
    let mut sender = quic_in_flight();
    // Three more round trips of slow start: a window of 160, of which half is the capacity (RFC 9959 §4.1).
    for (range, round) in [((10, 30), 2), ((30, 70), 3), ((70, 150), 4)] {
        quic_ack(&mut sender, range, at(100 * round));
        quic_sent(&mut sender, at(100 * round));
    }
    assert_eq!(sender.variables().cwnd, 160.0);
    sender.on_new_path(PathPolicy::CarefulResume, at(450));
    assert_eq!(quic_sent(&mut sender, at(450)).len(), 10);
    while sender.poll_fact().is_some() {}
    // Packets 310 to 319 are of the new path. With the initial window acknowledged and the window of 20 full again, it
    // jumps to half of 80 (§3.2, §3.3).
    quic_ack(&mut sender, (310, 320), at(550));
    quic_sent(&mut sender, at(550));
    let facts = std::iter::from_fn(|| sender.poll_fact());
    let jumps: Vec<f64> =
        facts.filter(|fact| fact.kind == SenderEventKind::Jump).map(|fact| fact.cwnd).collect();
    assert_eq!(jumps, [40.0]);
}

#[test]
fn a_shortest_round_trip_time_that_is_forgotten_is_that_of_the_new_path() {
    // Samples of packets sent before are not taken; the ACK delay is then taken off down to the new minimum.
    let mut sender = quic_in_flight();
    assert_eq!(sender.on_new_path(PathPolicy::ForgetMinRtt, at(150)), Some(0));
    quic_ack(&mut sender, (10, 30), at(160));
    assert_eq!(sender.variables().srtt, ms(100), "60 ms is of the old path");
    assert_eq!(sender.variables().cwnd, 40.0, "and the window grows as before");
}

static DECLARED: BTreeMap<String, TcpProfile> = BTreeMap::new();
const RFC: Profiles<'_> = Profiles { run: &ProfileName::BuiltIn(Profile::Rfc), declared: &DECLARED };

fn refusal(policy: PathPolicy, transport: TransportSpec, profiles: Profiles<'_>) -> String {
    transport.check_policy(policy, profiles).unwrap_err()
}

#[test]
fn what_a_sender_cannot_do_is_refused_with_what_it_can() {
    use PathPolicy::{CarefulResume, CountLost, ForgetMinRtt, Nothing, ProbeRtt, Restart};
    let tcp =
        |variant| TransportSpec::Tcp(Box::new(TcpSpec { variant: Some(variant), ..TcpSpec::default() }));
    let variants =
        [Variant::Reno, Variant::NewReno, Variant::Sack, Variant::Cubic, Variant::Bbr, Variant::Bbr3];
    for variant in variants.into_iter().chain([Variant::Dctcp, Variant::Vegas]) {
        for policy in [Nothing, Restart, CountLost] {
            assert_eq!(tcp(variant).check_policy(policy, RFC), Ok(()), "{variant:?}");
        }
        let probes = matches!(variant, Variant::Bbr | Variant::Bbr3);
        assert_eq!(tcp(variant).check_policy(ProbeRtt, RFC).is_ok(), probes, "{variant:?}");
        // CUBIC by HyStart++; BBRv3 and DCTCP also by RACK.
        let keeps = probes || matches!(variant, Variant::Cubic | Variant::Dctcp | Variant::Vegas);
        assert_eq!(tcp(variant).check_policy(ForgetMinRtt, RFC).is_ok(), keeps, "{variant:?}");
        assert!(refusal(CarefulResume, tcp(variant), RFC).contains("write \"restart\""));
    }
    // By RACK.
    let linux = Profiles { run: &ProfileName::BuiltIn(Profile::Linux6), ..RFC };
    assert_eq!(tcp(Variant::Sack).check_policy(ForgetMinRtt, linux), Ok(()));
    assert!(refusal(ProbeRtt, tcp(Variant::Cubic), RFC).contains("\"bbr\" or \"bbr3\""));
    assert!(refusal(ForgetMinRtt, tcp(Variant::Reno), RFC).contains("\"vegas\""));
    assert!(refusal(Restart, TransportSpec::default(), RFC).contains("no window"));
    let quic = |spec: QuicSpec| TransportSpec::Quic(Box::new(spec));
    let migrating = QuicSpec { migration: Some(Migration::Keep), ..QuicSpec::default() };
    assert!(refusal(Restart, quic(migrating), RFC).contains("`migration` or `path_change`"));
    let bbr = CongestionControlSpec::Bbr(Default::default());
    let by_bbr = QuicSpec { congestion_control: bbr, ..QuicSpec::default() };
    assert!(refusal(CarefulResume, quic(by_bbr.clone()), RFC).contains("\"reno\" and \"cubic\""));
    assert_eq!(quic(by_bbr).check_policy(ProbeRtt, RFC), Ok(()));
    assert_eq!(quic(QuicSpec::default()).check_policy(CarefulResume, RFC), Ok(()));
}
