//! `s2n-quic-core` as a second implementation: the estimates of the same samples, and the persistent congestion in the
//! same histories.
//!
//! docs/models/quic.md lists where it differs by design.

use crate::recovery::rtt::RttEstimator;
use crate::recovery::sent_packets::{SentPackets, Thresholds};
use roamlab_engine::{Duration, Rng, Time};
use s2n_quic_core::packet::number::PacketNumberSpace;
use s2n_quic_core::recovery::RttEstimator as Theirs;
use s2n_quic_core::time::{Clock, NoopClock};
use s2n_quic_core::transport::parameters::MaxAckDelay;
use std::time::Duration as Span;

const SPACE: PacketNumberSpace = PacketNumberSpace::ApplicationData;

/// The difference in nanoseconds.
fn apart(ours: Duration, theirs: Span) -> u64 {
    ours.as_nanos().abs_diff(theirs.as_nanos() as u64)
}

const MICROSECOND: u64 = 1_000;

fn compare(ours: &RttEstimator, theirs: &Theirs, place: &str) {
    for (name, ours, theirs) in [
        ("latest", ours.latest(), theirs.latest_rtt()),
        ("min", ours.min(), theirs.min_rtt()),
        ("smoothed", ours.smoothed(), theirs.smoothed_rtt()),
        ("variation", ours.variation(), theirs.rttvar()),
        ("time threshold", ours.loss_delay(1.125), theirs.loss_time_threshold()),
    ] {
        assert!(apart(ours, theirs) <= MICROSECOND, "{place}: {name}: {ours} and {theirs:?}");
    }
    compare_pto(ours, theirs, place);
}

fn compare_pto(ours: &RttEstimator, theirs: &Theirs, place: &str) {
    // Theirs cuts the smoothed time and the variation to microseconds before it multiplies the latter by four.
    let cut = |time: Span| Duration::from_micros(time.as_micros() as u64);
    let cuts = apart(cut(theirs.smoothed_rtt()), theirs.smoothed_rtt())
        + 4 * apart(cut(theirs.rttvar()), theirs.rttvar());
    for backoff in [1, 2, 64] {
        let (ours, theirs) = (ours.pto() * u64::from(backoff), theirs.pto_period(backoff, SPACE));
        let most = u64::from(backoff) * (MICROSECOND + cuts);
        assert!(apart(ours, theirs) <= most, "{place}: probe timeout: {ours} and {theirs:?}");
    }
}

#[test]
fn round_trip_times_and_probe_timeouts_are_theirs_to_a_microsecond() {
    for number in 0..300 {
        let mut rng = Rng::named(1, number, "rtt");
        let mut below = |end: u32| (rng.uniform() * f64::from(end)) as u64;
        let mut ours = RttEstimator::new(
            Duration::from_millis(333),
            Duration::from_millis(1),
            Duration::from_millis(25),
        );
        let mut theirs = Theirs::default();
        theirs.on_max_ack_delay(MaxAckDelay::RECOMMENDED);
        compare_pto(&ours, &theirs, "at the start");
        let (base, spread) = (200 + below(400_000), 1 + below(200_000) as u32);
        let mut now = 0;
        for sample in 0..200 {
            let (latest, delay) = (base + below(spread), below(40_000));
            now += 1 + below(50_000);
            // An ACK that was held back for all that it is above the minimum: theirs takes nothing off, by the RFC the delay.
            let min = ours.min().as_nanos() / 1_000;
            if latest == min.min(latest) + delay.min(25_000) && delay > 0 {
                continue;
            }
            let span = Span::from_micros;
            ours.sample(Duration::from_micros(latest), Duration::from_micros(delay), at(now));
            theirs.update_rtt(span(delay), span(latest), NoopClock.get_time() + span(now), true, SPACE);
            compare(&ours, &theirs, &format!("sequence {number}, sample {sample}"));
        }
    }
}

fn at(micros: u64) -> Time {
    Time::ZERO + Duration::from_micros(micros)
}

#[test]
fn persistent_congestion_is_theirs_to_a_microsecond() {
    const RECORDED: &str = include_str!("../../../../tests/differential/s2n-quic/persistent-congestion.txt");
    let mut found = 0;
    for line in RECORDED.lines() {
        let numbers =
            |text: &str| -> Vec<u64> { text.split(',').map(|word| word.parse().unwrap()).collect() };
        let fields: Vec<Vec<u64>> = line.split(' ').map(numbers).collect();
        let [sample, acked, times, longest] = &fields[..] else { panic!("{line}") };
        let mut packets = SentPackets::default();
        times.iter().zip(0..).for_each(|(&time, segment)| packets.sent(segment, at(time)));
        let ranges: Vec<(u32, u32)> =
            acked.iter().rev().map(|&number| (number as u32, number as u32 + 1)).collect();
        let now = at(times[times.len() - 1]);
        packets.on_ack(&ranges, now);
        let thresholds = Thresholds { packets: 3, time: Duration::from_secs(1_000) };
        let (lost, _) = packets.detect_lost(thresholds, now);
        let exceeds = |period: Duration| packets.is_persistent(&lost, Some(at(sample[0])), period);
        let longest = Duration::from_micros(longest[0]);
        assert!(!exceeds(longest), "{line}: longer than {longest}");
        if longest > Duration::ZERO {
            assert!(
                exceeds(longest.saturating_sub(Duration::from_micros(1))),
                "{line}: shorter than {longest}"
            );
            found += 1;
        }
    }
    assert_eq!(found, 175, "histories with two losses in a row");
}
