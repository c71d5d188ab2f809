//! Numbers from the paper of 1993, from [mblue] table II, and from a recording of ns-2.35.

use super::*;
use crate::Parameters;
use crate::conformance::{Bench, PLAIN, check, packet};
use roamlab_engine::Bytes;
use roamlab_engine::{Duration, Packets, Rate, Time};
use roamlab_packet::Ecn;

/// Average = queue length, so that a test can set it.
fn without_memory(rules: Rules) -> Params {
    Params {
        limit: Packets(120),
        queue_weight: 1.0,
        threshold_unit: Unit::Packets,
        probability_unit: Unit::Packets,
        max_p: 0.02,
        min_threshold: Packets(40),
        max_threshold: Packets(80),
        mean_packet: Bytes(512),
        ..Params::of(rules)
    }
}

fn arrival(waiting: f64) -> Arrival {
    Arrival { now: Time::ZERO, size: Bytes(512), waiting, rate: Rate::from_bps(2_000_000) }
}

/// Lets a packet arrive whose draw is `draw`; the verdict, and whether the draw was taken.
fn test(detector: &mut Detector, arrival: Arrival, draw: f64) -> (Verdict, bool) {
    detector.idle_since = None;
    let mut taken = false;
    let verdict = detector.decide(&arrival, || {
        taken = true;
        draw
    });
    (verdict, taken)
}

/// Probability that the drop comes `n` packets after the last one.
fn gap_probability(params: &Params, p_b: f64, n: u32) -> f64 {
    let chance = |n: u32| params.spaced_probability(p_b, f64::from(n));
    (1..n).map(|earlier| 1.0 - chance(earlier)).product::<f64>() * chance(n)
}

#[test]
fn a_remembered_power_has_the_bits_of_one_worked_out() {
    // 512 B at 2 Mbit/s: 2048 µs. Twice the largest power that is kept, out of order, and most of them twice.
    for weight in [0.002, 0.3, 1.0] {
        let params = Params { queue_weight: weight, whole_idle_packets: true, ..without_memory(Rules::Ns2) };
        let mut detector = Detector::new(params);
        for step in 0..1000u64 {
            let missed = step * 37 % 128;
            let now = Time::ZERO + Duration::from_micros(2048 * missed + 2047);
            (detector.average, detector.idle_since) = (17.3, Some(Time::ZERO));
            detector.end_idle(&Arrival { now, ..arrival(0.0) });
            let expected = 17.3 * libm::pow(1.0 - weight, missed as f64);
            assert_eq!(detector.average.to_bits(), expected.to_bits(), "{missed} packets at weight {weight}");
        }
    }
}

#[test]
fn a_power_is_forgotten_with_its_weight() {
    let params = Params { queue_weight: 0.0, whole_idle_packets: true, ..without_memory(Rules::Ns2) };
    let mut detector = Detector::new(params);
    let after_one = |detector: &mut Detector| {
        (detector.average, detector.idle_since) = (1.0, Some(Time::ZERO));
        let now = Time::ZERO + Duration::from_micros(2048);
        detector.end_idle(&Arrival { now, ..arrival(0.0) });
        detector.average
    };
    assert_eq!(after_one(&mut detector), 1.0);
    detector.attach(Rate::from_bps(2_000_000), Duration::ZERO); // the weight that ns-2 makes of a 0
    let weight = detector.params.queue_weight;
    assert!(weight > 0.0);
    assert_eq!(after_one(&mut detector), 1.0 - weight);
}

#[test]
fn idle_packets_are_counted_exactly_beyond_64_bits() {
    // 100 s at 400 Gbit/s are 4 × 10^22 bit-nanoseconds; one nanosecond before the last packet is whole.
    let rate = Rate::from_bps(400_000_000_000);
    for (span, whole) in
        [(Duration::from_secs(100), 10_000_000_000), (Duration::from_nanos(99_999_999_999), 9_999_999_999)]
    {
        let now = Time::ZERO + span;
        assert_eq!(detector::whole_packets(Time::ZERO, now, rate, 4000), whole);
    }
}

#[test]
fn the_average_follows_eq_1() {
    // After n arrivals at a constant length q: q (1 − (1 − w_q)^n). [mblue] table II: w_q = 0.002, so that 500
    // arrivals (about 1 s at 2 Mbit/s) bring it to 1 − 1/e of the way.
    let mut detector = Detector::new(Params::default());
    for _ in 0..500 {
        test(&mut detector, arrival(30.0), 1.0);
    }
    assert!((detector.average - 30.0 * (1.0 - libm::pow(0.998, 500.0))).abs() < 1e-9);
    assert!((detector.average / 30.0 - (1.0 - libm::exp(-1.0))).abs() < 0.001);
}

/// Values of ns-2.35 after it has derived them for its own queues.
#[test]
fn thresholds_and_weight_are_sized_as_in_ns2() {
    for (mbps, millis, weight, min, max, mean, expected) in [
        (2, 40, -1.0, 0, 0, 500, (5.0, 15.0, 0.001_586_042_490_414_052_4)),
        (20, 10, -1.0, 0, 0, 500, (12.5, 37.5, 0.000_199_980_001_333_255_33)),
        (100, 5, 0.0, 0, 0, 1000, (31.25, 93.75, 7.999_680_008_530_241e-5)),
        (10, 100, -2.0, 5, 0, 500, (5.0, 15.0, 0.003_992_010_656_008_516)),
        (50, 200, -1.0, 0, 30, 552, (28.306_159_420_289_855, 30.0, 1.471_339_427_427_942_3e-5)),
        (50, 200, 0.01, 7, 9, 552, (7.0, 9.0, 0.01)),
    ] {
        let params = Params {
            queue_weight: weight,
            min_threshold: Packets(min),
            max_threshold: Packets(max),
            mean_packet: Bytes(mean),
            ..Params::of(Rules::Ns2)
        };
        assert_eq!(params.validate(), Ok(()));
        let link = (Rate::from_bps(mbps * 1_000_000), Duration::from_millis(millis));
        let sized = params.sized(link.0, link.1);
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b;
        assert!(
            close(sized.0, expected.0) && close(sized.1, expected.1) && close(sized.2, expected.2),
            "{sized:?} for {expected:?}"
        );
        let mut queue = Red::new(&params, roamlab_engine::Rng::named(1, 0, "queue"));
        queue.attach(link.0, link.1);
        assert!(close(queue.detector.params.queue_weight, expected.2));
        let literal = Params { rules: Rules::Floyd1993, ..params };
        assert_eq!(
            literal.sized(link.0, link.1),
            (f64::from(min), f64::from(max), weight),
            "only ns-2 does so"
        );
    }
}

#[test]
fn the_initial_probability_follows_eq_2() {
    const BAND: (f64, f64) = (40.0, 80.0);
    let params = Params::default();
    assert!((params.initial_probability(BAND, 60.0) - 0.01).abs() < 1e-12, "half way between 40 and 80");
    assert_eq!(params.initial_probability(BAND, 80.0), 1.0);
    let gentle = Params { gentle: true, ..params };
    assert!((gentle.initial_probability(BAND, 80.0) - 0.02).abs() < 1e-12);
    assert!((gentle.initial_probability(BAND, 120.0) - 0.51).abs() < 1e-12, "half way from 0.02 to 1");
    assert_eq!(gentle.initial_probability(BAND, 160.0), 1.0);
}

#[test]
fn drops_are_spaced_uniformly_by_the_rule_of_1993() {
    // p_a = p_b / (1 − count p_b), count = n for the n-th packet after a drop: 1, …, 1/p_b − 1 equally likely.
    let params = Params::default();
    for n in 1..=49 {
        let chance = gap_probability(&params, 0.02, n);
        assert!((chance - 1.0 / 49.0).abs() < 1e-12, "gap {n}: {chance}");
    }
    assert!(gap_probability(&params, 0.02, 50) < 1e-12);
}

#[test]
fn drops_are_spaced_uniformly_between_one_and_two_periods_by_wait() {
    let params = Params { wait: true, ..Params::default() };
    for n in 1..=110 {
        let expected = if (50..100).contains(&n) { 0.02 } else { 0.0 };
        let chance = gap_probability(&params, 0.02, n);
        assert!((chance - expected).abs() < 1e-12, "gap {n}: {chance}");
    }
}

#[test]
fn counting_starts_with_the_first_packet_in_the_band() {
    // The draw 0.0206 lies above p_b = 0.02 and 0.02/(1 − 0.02), below 0.02/(1 − 2·0.02) = 0.0208.
    let mut detector = Detector::new(Params { max_p: 0.04, ..without_memory(Rules::Floyd1993) });
    test(&mut detector, arrival(39.0), 0.0);
    let verdicts: Vec<_> = (0..3).map(|_| test(&mut detector, arrival(60.0), 0.0206).0).collect();
    assert_eq!(verdicts, [Verdict::Pass, Verdict::Pass, Verdict::Notify], "count was 0, 1, 2");
    // An average below the band starts it again, so does a drop outright above it (with 0 instead of −1).
    test(&mut detector, arrival(39.0), 0.0);
    let verdicts: Vec<_> = (0..3).map(|_| test(&mut detector, arrival(60.0), 0.0206).0).collect();
    assert_eq!(verdicts, [Verdict::Pass, Verdict::Pass, Verdict::Notify]);
    assert_eq!(test(&mut detector, arrival(80.0), 1.0), (Verdict::Drop, false));
    let verdicts: Vec<_> = (0..2).map(|_| test(&mut detector, arrival(60.0), 0.0206).0).collect();
    assert_eq!(verdicts, [Verdict::Pass, Verdict::Notify], "count was 1, 2");
}

#[test]
fn ns2_draws_only_when_a_probability_is_tested() {
    let mut detector = Detector::new(without_memory(Rules::Ns2));
    assert_eq!(test(&mut detector, arrival(39.9), 0.0), (Verdict::Pass, false), "below min_threshold");
    assert_eq!(test(&mut detector, arrival(60.0), 0.0), (Verdict::Pass, false), "the first above it");
    assert_eq!(detector.count, 1);
    assert_eq!(test(&mut detector, arrival(60.0), 0.0001), (Verdict::Pass, true), "count·p_b < 1: p_a = 0");
    assert_eq!(detector.count, 2);
    assert_eq!(test(&mut detector, arrival(200.0), 1.0), (Verdict::Drop, true), "p = 1 is put to the test");
    assert_eq!(detector.count, 0);
    test(&mut detector, arrival(30.0), 0.0);
    assert_eq!(detector.count, 1, "all arrivals count");

    let outright = Params { use_mark_p: false, gentle: false, ..without_memory(Rules::Ns2) };
    let mut detector = Detector::new(outright.clone());
    assert_eq!(test(&mut detector, arrival(80.0), 1.0), (Verdict::Drop, false));

    // Gentle: nothing is certain below twice max_threshold.
    for (average, expected) in [(159.9, (Verdict::Pass, true)), (160.0, (Verdict::Drop, false))] {
        let mut detector = Detector::new(Params { gentle: true, ..outright.clone() });
        detector.above_min = true;
        assert_eq!(test(&mut detector, arrival(average), 1.0), expected);
    }
}

#[test]
fn bytes_are_counted_from_the_last_drop() {
    let params = Params { probability_unit: Unit::Bytes, ..without_memory(Rules::Ns2) };
    let mut detector = Detector::new(params);
    detector.above_min = true;
    // p_b = 0.01: nothing is dropped before 100 packets of 512 B.
    let large = Arrival { size: Bytes(512 * 150), ..arrival(60.0) };
    assert_eq!(test(&mut detector, large, 0.0001), (Verdict::Notify, true));
    assert_eq!(test(&mut detector, arrival(60.0), 0.0001), (Verdict::Pass, true));
}

#[test]
fn ns2_spares_a_short_queue_whatever_the_average() {
    let mut detector = Detector::new(Params { queue_weight: 0.002, ..without_memory(Rules::Ns2) });
    detector.average = 79.0;
    assert_eq!(test(&mut detector, arrival(2.0), 0.0), (Verdict::Pass, false));
    assert!(detector.above_min);
    assert_eq!(test(&mut detector, arrival(1.0), 0.0), (Verdict::Pass, false), "one waits");
    assert!(!detector.above_min, "the next packet is a first one again");
    assert_eq!(test(&mut detector, arrival(2.0), 0.0), (Verdict::Pass, false));
}

#[test]
fn a_drop_needs_a_draw_at_or_below_the_probability() {
    for (draw, expected) in [(0.0100001, Verdict::Pass), (0.0099999, Verdict::Notify)] {
        let mut detector = Detector::new(without_memory(Rules::Floyd1993));
        assert_eq!(test(&mut detector, arrival(60.0), draw), (expected, true));
    }
}

#[test]
fn size_scales_the_probability_before_or_after_spacing() {
    let small = Arrival { size: Bytes(256), ..arrival(60.0) };
    // 1993: p_b = 0.01 · 256/512, count = 0.
    let floyd = Params { probability_unit: Unit::Bytes, ..without_memory(Rules::Floyd1993) };
    for (draw, expected) in [(0.00501, Verdict::Pass), (0.00499, Verdict::Notify)] {
        assert_eq!(test(&mut Detector::new(floyd.clone()), small, draw).0, expected);
    }
    // ns-2 without wait: the 2nd and 3rd packet of 256 B make count = int(768/512) = 1, then p_a is halved.
    let ns2 = Params { probability_unit: Unit::Bytes, wait: false, ..without_memory(Rules::Ns2) };
    for (draw, expected) in [(0.00506, Verdict::Pass), (0.00504, Verdict::Notify)] {
        let mut detector = Detector::new(ns2.clone());
        test(&mut detector, small, 1.0);
        test(&mut detector, small, 1.0);
        assert_eq!(test(&mut detector, small, draw).0, expected, "0.01 / (1 − 0.01) / 2 = 0.00505");
        // The bytes of the first packet above the minimum count (`edv_.count_bytes = ch->size()`): 512 + 256 are one, too.
        let mut detector = Detector::new(ns2.clone());
        test(&mut detector, arrival(60.0), 1.0);
        assert_eq!(test(&mut detector, small, draw).0, expected);
    }
}

#[test]
fn an_idle_period_decays_the_average() {
    // 10.5 packets of 512 B at 2 Mbit/s: 21.504 ms.
    let after = |rules| {
        let mut detector = Detector::new(Params { mean_packet: Bytes(512), ..Params::of(rules) });
        detector.average = 10.0;
        let now = Time::ZERO + Duration::from_micros(21_504);
        detector.decide(&Arrival { now, ..arrival(0.0) }, || 1.0);
        detector.average / 10.0
    };
    assert!((after(Rules::Floyd1993) - libm::pow(0.998, 10.5)).abs() < 1e-12, "m is real");
    assert!(
        (after(Rules::Ns2) - libm::pow(0.998, 11.0)).abs() < 1e-12,
        "m = 10, and the arrival's sample of 0"
    );
}

#[test]
fn a_carried_average_is_in_packets_and_its_idle_period_restarts() {
    for unit in [Unit::Packets, Unit::Bytes] {
        let params = Params { threshold_unit: unit, mean_packet: Bytes(500), ..Params::of(Rules::Floyd1993) };
        let mut detector = Detector::new(params);
        let now = Time::ZERO + Duration::from_secs(10);
        detector.adopt(&MarkingState::Average(17.3), now);
        detector.update_average(&Arrival { now, ..arrival(0.0) });
        let left = detector.average / detector.params.in_unit(Packets(1));
        assert!((left - 17.3).abs() < 1e-9, "{left}: of 10 s nothing is left");
    }
}

#[test]
fn whole_idle_packets_are_counted() {
    // 552 B at 2 Mbit/s: 2208 us. The sample of 0 that the arrival adds counts as one more.
    let counted = |since: Time, now: Time| {
        let params = Params { mean_packet: Bytes(552), queue_weight: 0.5, ..Params::of(Rules::Ns2) };
        let mut detector = Detector::new(params);
        (detector.average, detector.idle_since) = (1.0, Some(since));
        detector.decide(&Arrival { now, ..arrival(0.0) }, || 1.0);
        -libm::log2(detector.average) - 1.0
    };
    let at = |micros| Time::ZERO + Duration::from_micros(micros);
    for (length, whole) in [(0, 0.0), (2207, 0.0), (2208, 1.0), (6623, 2.0), (6624, 3.0)] {
        assert_eq!(counted(at(1_000_000), at(1_000_000 + length)), whole, "{length} us");
    }
    // Twice the rate in mid-run changes nothing for ns-2.
    let mut detector = Detector::new(Params { mean_packet: Bytes(552), ..Params::of(Rules::Ns2) });
    detector.attach(Rate::from_bps(2_000_000), Duration::ZERO);
    detector.average = 1.0;
    let faster = Arrival { now: at(6624), rate: Rate::from_bps(4_000_000), ..arrival(0.0) };
    detector.decide(&faster, || 1.0);
    assert!((detector.average - libm::pow(0.998, 4.0)).abs() < 1e-12, "three packets and the sample");
}

#[test]
fn the_idle_clock_starts_by_its_rule() {
    let idle_since = |rules| {
        let mut bench = Bench::<Red>::new(&Params::of(rules));
        bench.offer_many(1, PLAIN);
        assert_eq!(bench.queue.detector.idle_since, None);
        bench.wait(Duration::from_millis(1));
        bench.serve();
        bench.wait(Duration::from_millis(2));
        assert_eq!(bench.serve(), None);
        bench.wait(Duration::from_millis(4));
        assert_eq!(bench.serve(), None);
        bench.queue.detector.idle_since.map(|since| since.as_nanos())
    };
    assert_eq!(idle_since(Rules::Floyd1993), Some(1_000_000), "when the last one went into service");
    assert_eq!(idle_since(Rules::Ns2), Some(3_000_000), "when the link first asked without result");
}

#[test]
fn a_lost_arrival_does_not_end_the_idle_period() {
    let params = Params { queue_weight: 1.0, ..Params::default() };
    let mut bench = Bench::<Red>::new(&params);
    bench.queue.detector.average = 1e9;
    bench.wait(Duration::from_micros(1));
    bench.queue.detector.params.queue_weight = 1e-9;
    assert_eq!(bench.offer_many(1, PLAIN), 1);
    assert_eq!(bench.last_reason(), Some(DropReason::EarlyDrop));
    assert_eq!(bench.queue.detector.idle_since, Some(bench.now));
}

#[test]
fn extraction_changes_neither_average_nor_probability() {
    let mut bench = Bench::<Red>::new(&without_memory(Rules::Floyd1993));
    bench.offer_many(30, PLAIN);
    let before = bench.queue.gauges();
    assert_eq!(before.average, 29.0, "the length before the last arrival");
    assert_eq!(bench.take_matching(roamlab_packet::FlowId(0)).len(), 30);
    assert_eq!(bench.queue.gauges(), before);
    assert_eq!(bench.queue.detector.idle_since, Some(Time::ZERO), "nothing waits any more");
}

#[test]
fn the_limit_counts_waiting_packets_or_bytes() {
    let held = |params: Params| {
        let mut bench = Bench::<Red>::new(&params);
        bench.offer_many(20, PLAIN);
        assert_eq!(bench.last_reason(), Some(DropReason::QueueOverflow));
        bench.queue.packets()
    };
    let ten = Params { limit: Packets(10), ..Params::default() };
    assert_eq!(held(ten.clone()), 10);
    assert_eq!(held(Params { count_in_service: true, ..ten.clone() }), 9);
    // 10 · 500 B: nine packets of 512 B are 4608 B, ten are 5120 B.
    let bytes = Params { threshold_unit: Unit::Bytes, mean_packet: Bytes(500), ..ten.clone() };
    assert_eq!(held(bytes.clone()), 10);
    assert_eq!(held(Params { count_in_service: true, ..bytes }), 9);
}

#[test]
fn every_drop_of_the_rule_begins_the_count_anew() {
    // 1993, fig. 2: "count ← 0" with each packet that is marked, for its draw or above the maximum. Behind either the next packet
    // in the band is the first: p_a = p_b / (1 − p_b), with p_b = 0.01 at 60.
    for rules in [Rules::Floyd1993, Rules::Ns2] {
        for dropped_at in [60.0, 200.0] {
            let params = Params { wait: false, gentle: false, ..without_memory(rules) };
            let mut detector = Detector::new(params);
            (0..50).for_each(|_| assert_eq!(test(&mut detector, arrival(60.0), 1.0).0, Verdict::Pass));
            assert_ne!(test(&mut detector, arrival(dropped_at), 0.0).0, Verdict::Pass);
            let first = 0.01 / 0.99;
            let verdicts = [1.000_001, 0.999_999].map(|part| {
                let mut detector = detector.clone();
                test(&mut detector, arrival(60.0), part * first).0
            });
            assert_eq!(verdicts, [Verdict::Pass, Verdict::Notify], "behind a drop at {dropped_at}");
        }
    }
}

#[test]
fn an_overflow_resets_the_count_by_ns2s_rule() {
    let count = |overflow_resets_count| {
        let params = Params { limit: Packets(5), overflow_resets_count, ..without_memory(Rules::Ns2) };
        let mut bench = Bench::<Red>::new(&params);
        bench.offer_many(6, PLAIN);
        bench.queue.detector.count
    };
    assert_eq!((count(true), count(false)), (0, 6));
}

#[test]
fn ecn_capable_packets_are_marked_up_to_mark_p_max() {
    // An arrival that finds 61 waiting, so long after the last drop that p_a = 1.
    let outcome = |params: Params, ecn: Ecn| {
        let mut bench = Bench::<Red>::new(&params);
        bench.queue.detector.idle_since = None;
        for _ in 0..61 {
            let id = bench.pool.create(packet(0, 512, PLAIN));
            bench.queue.fifo.push(id, &mut bench.pool);
        }
        bench.queue.detector.count = 1_000_000;
        bench.queue.detector.above_min = true;
        bench.offer(packet(0, 512, PLAIN.with_ecn(ecn)));
        match bench.last_reason() {
            Some(reason) => Err(reason),
            None => {
                let last = bench.queue.fifo.pop_last(&mut bench.pool).expect("it waits");
                Ok(bench.pool[&last].inner_tos().ecn())
            }
        }
    };
    let floyd = without_memory(Rules::Floyd1993);
    let marking = Params { mark_ecn: true, ..floyd.clone() };
    assert_eq!(outcome(marking.clone(), Ecn::Ect0), Ok(Ecn::Ce));
    assert_eq!(outcome(marking.clone(), Ecn::Ect1), Ok(Ecn::Ce));
    assert_eq!(outcome(marking.clone(), Ecn::NotEct), Err(DropReason::EarlyDrop));
    assert_eq!(outcome(floyd, Ecn::Ect0), Err(DropReason::EarlyDrop), "marking is off");
    let beyond = Params { max_threshold: Packets(50), ..marking };
    assert_eq!(outcome(beyond, Ecn::Ect0), Err(DropReason::EarlyDrop), "RFC 3168 §7");
    let ns2 = Params { mark_ecn: true, ..without_memory(Rules::Ns2) };
    assert_eq!(outcome(Params { max_p: 0.18, ..ns2.clone() }, Ecn::Ect0), Ok(Ecn::Ce), "p_b = 0.0945");
    assert_eq!(
        outcome(Params { max_p: 0.2, ..ns2.clone() }, Ecn::Ect0),
        Err(DropReason::EarlyDrop),
        "p_b = 0.105"
    );
    // 61 of 41 to 121: p_b is the quarter that may be marked below.
    let bound = Params {
        min_threshold: Packets(41),
        max_threshold: Packets(121),
        max_p: 1.0,
        mark_p_max: 0.25,
        ..ns2
    };
    assert_eq!(outcome(bound.clone(), Ecn::Ect0), Err(DropReason::EarlyDrop), "p_b = mark_p_max");
    let certain = Params { mark_p_max: 1.0, max_threshold: Packets(50), gentle: false, ..bound };
    assert_eq!(outcome(certain.clone(), Ecn::Ect0), Err(DropReason::EarlyDrop), "p_b = mark_p_max = 1");
    assert_eq!(outcome(Params { mark_p_max: 2.0, ..certain }, Ecn::Ect0), Ok(Ecn::Ce), "ns-2's mark_p_ 2");
}

#[test]
fn gauges_show_packets_in_byte_mode_too() {
    let params = Params { threshold_unit: Unit::Bytes, ..without_memory(Rules::Floyd1993) };
    let mut bench = Bench::<Red>::new(&params);
    assert_eq!(bench.offer_many(45, PLAIN), 0);
    let gauges = bench.queue.gauges();
    assert_eq!(gauges.average, 44.0, "the length before the last arrival");
    assert!((gauges.probability - 0.02 * 4.0 / 40.0).abs() < 1e-12);
}

#[test]
fn other_rules_keep_the_contract_too() {
    check(&Params::of(Rules::Ns2));
    check(&Params { mark_ecn: true, queue_weight: 0.5, limit: Packets(60), ..Params::default() });
}

/// ns-2's generator, MRG32k3a (L'Ecuyer 1999), seeded as its default stream: six ones.
struct Mrg32k3a([i64; 6]);

impl Mrg32k3a {
    fn uniform(&mut self) -> f64 {
        let [a0, a1, a2, b0, b1, b2] = self.0;
        let (modulus_a, modulus_b) = (4_294_967_087, 4_294_944_443);
        let a3 = (1_403_580 * a1 - 810_728 * a0).rem_euclid(modulus_a);
        let b3 = (527_612 * b2 - 1_370_589 * b0).rem_euclid(modulus_b);
        self.0 = [a1, a2, a3, b1, b2, b3];
        let difference = if a3 > b3 { a3 - b3 } else { a3 - b3 + modulus_a };
        difference as f64 / (modulus_a + 1) as f64
    }
}

#[test]
fn it_decides_as_ns2_did_draw_for_draw() {
    let params = Params {
        limit: Packets(120),
        min_threshold: Packets(10),
        max_threshold: Packets(20),
        max_p: 0.02,
        mean_packet: Bytes(552),
        threshold_unit: Unit::Packets,
        probability_unit: Unit::Packets,
        ..Params::of(Rules::Ns2)
    };
    let rate = Rate::from_bps(2_000_000);
    let mut detector = Detector::new(params);
    let mut stream = Mrg32k3a([1; 6]);
    // The three senders took two draws each before the first packet.
    let taken_by_senders: Vec<_> = (0..6).map(|_| stream.uniform()).collect();
    assert!((taken_by_senders[5] - 0.799_155_453_505_072_4).abs() < 1e-15, "ns-2's sixth number");
    let mut draws = 0;
    let mut lost = 0;
    let mut link_free = Time::ZERO;
    let recording = include_str!("ns2_arrivals.txt").lines().filter(|line| !line.starts_with('#'));
    for line in recording {
        let columns: Vec<u64> = line.split(' ').map(|column| column.parse().expect("a number")).collect();
        let &[at, size, waiting, dropped] = columns.as_slice() else { panic!("four columns: {line}") };
        let now = Time::ZERO + Duration::from_micros(at);
        let size = Bytes(size);
        if link_free < now {
            detector.on_dequeue(false, false, link_free);
        }
        let verdict = detector.decide(&Arrival { now, size, waiting: waiting as f64, rate }, || {
            draws += 1;
            stream.uniform()
        });
        assert_eq!(verdict != Verdict::Pass, dropped == 1, "{line}");
        lost += dropped;
        if dropped == 0 {
            link_free = link_free.max(now) + rate.transmission_time(size, &mut 0);
        }
    }
    assert_eq!(lost, 64);
    assert!(draws > 1000, "most arrivals were put to the test: {draws}");
    // The recording's last line: ave 12.8686, prob1 0.00573713. Its whole microseconds leave open whether ns-2's clock
    // made an idle period a whole number of packets or a little less; one packet is 0.2 % of the average.
    assert!((detector.average / 12.8686 - 1.0).abs() < 0.003, "{}", detector.average);
    assert!((detector.p_b / 0.00573713 - 1.0).abs() < 0.015, "{}", detector.p_b);
}
