//! Numbers worked out by hand from `tc` and from the kernel's arithmetic.

use super::*;
use crate::conformance::{Bench, PLAIN};
use roamlab_packet::Ecn;

/// The example of tc-red(8): limit 400000 min 30000 max 90000 avpkt 1000 burst 55 ecn bandwidth 10Mbit.
fn example() -> Params {
    Params {
        limit: Bytes(400_000),
        min_threshold: Some(Bytes(30_000)),
        max_threshold: Some(Bytes(90_000)),
        burst: Some(Packets(55)),
        mark_ecn: true,
        ..Params::default()
    }
}

fn error(params: &Params) -> (&'static str, String) {
    params.validate().unwrap_err()
}

#[test]
fn thresholds_and_burst_are_those_of_tc() {
    let defaults = Params::default();
    assert_eq!((defaults.thresholds(), defaults.burst()), ((15_000, 45_000), 25)); // (2 · 15 + 45) / 3
    let with_min = Params { min_threshold: Some(Bytes(10_000)), ..Params::default() };
    assert_eq!(with_min.thresholds(), (10_000, 30_000));
    let with_max = Params { max_threshold: Some(Bytes(60_000)), ..Params::default() };
    assert_eq!(with_max.thresholds(), (20_000, 60_000));
}

#[test]
fn the_weight_lets_the_burst_pass() {
    // 55 + 1 − 30 = 26 packets: (1 − (15/16)^55)·16 = 15.5 is too little, (1 − (31/32)^55)·32 = 26.4 is enough.
    assert_eq!(example().weight_log(), Some(5));
    let burst = |packets| Params { burst: Some(Packets(packets)), ..example() };
    // One packet more than the minimum has: 2 ≤ (1 − (1/2)^31)·2 does not hold, 2 ≤ (1 − (3/4)^31)·4 does.
    assert_eq!(burst(31).weight_log(), Some(2));
    assert_eq!(burst(30).weight_log(), Some(1)); // 1 ≤ 2
    assert_eq!(burst(29).weight_log(), None);
}

#[test]
fn the_table_of_decays_is_that_of_tc() {
    // A packet takes 800 µs, 12,500 ticks: −ln(31/32)/12,500 = 2.54·10^-6 a µs. 31 are 12,205,000 µs, and 2^15 µs the first
    // power of two of which that is less than 512.
    let (cell_log, table) = example().decays(5);
    assert_eq!(cell_log, 15);
    // An entry is 2^15 · 2.54·10^-6 = 0.0832.
    assert_eq!((table[0], table[12], table[13], table[254], table[255]), (0, 0, 1, 21, 31));
}

#[test]
fn the_average_has_whole_numbers() {
    let mut red = LinuxRed::new(&example(), Rng::named(1, 0, "red"));
    (red.average, red.idle_since) = (1_000_003, None);
    red.decide(Time::ZERO);
    assert_eq!(red.average, 1_000_003 - 31_250); // 1,000,003 / 32 = 31,250.1
    let after = |red: &mut LinuxRed, millis: u64| {
        (red.average, red.idle_since) = (1_000_003, Some(Time::ZERO));
        red.decide(Time::ZERO + Duration::from_millis(millis));
        red.average
    };
    // Less than 13 entries of 32.768 ms: 1,000,003 · 10,000 / 2^15 = 305,176.7, and at most the half.
    assert_eq!(after(&mut red, 10), 1_000_003 - 305_176);
    assert_eq!(after(&mut red, 20), 500_001);
    assert_eq!(after(&mut red, 400), 500_001);
    assert_eq!(after(&mut red, 426), 500_001); // entry 13 is 1
    assert_eq!(after(&mut red, 820), 250_000); // entry 25 is 2.08
}

#[test]
fn a_gap_ends_when_the_excesses_have_its_sum() {
    let mut red = LinuxRed::new(&example(), Rng::named(1, 0, "red"));
    assert_eq!(red.gap_unit, 1431); // 0.02 · 2^32 / 60,000
    let mut at = |average: u64, count: Option<u64>, gap: u32| {
        (red.average, red.count, red.gap, red.idle_since) = (average << 5, count, gap, None);
        // The queue is empty: an arrival takes a 32nd.
        let action = red.decide(Time::ZERO);
        (action, red.count)
    };
    assert_eq!(at(30_000, Some(7), 0), (Action::Pass, None), "29,062.5 is below the minimum");
    assert_eq!(at(40_000, None, 0), (Action::Pass, Some(0)), "a gap begins");
    // 38,750 is 8,750 above: 4 times that are 35,000.
    assert_eq!(at(40_000, Some(3), 35_001), (Action::Pass, Some(4)));
    assert_eq!(at(40_000, Some(3), 35_000), (Action::Notify, Some(0)));
    assert_eq!(at(93_000, Some(3), 0), (Action::NotifyAll, None), "90,093.75");
}

#[test]
fn marks_spare_what_can_be_marked() {
    let fates = |params: &Params, ecn: Ecn| {
        let mut bench = Bench::<LinuxRed>::new(params);
        bench.queue.idle_since = None;
        bench.queue.average = 100_000 << 5; // above the maximum
        bench.offer_many(1, PLAIN.with_ecn(ecn))
    };
    let capable = Ecn::Ect0;
    assert_eq!((fates(&example(), capable), fates(&example(), Ecn::NotEct)), (0, 1));
    let hard = Params { hard_drop: true, ..example() };
    assert_eq!(fates(&hard, capable), 1);
    let spares = Params { no_drop: true, ..example() };
    assert_eq!(fates(&spares, Ecn::NotEct), 0);
    // `red_enqueue`, RED_HARD_MARK: `red_use_harddrop` is asked before `red_use_nodrop`.
    assert_eq!(fates(&Params { hard_drop: true, ..spares }, Ecn::NotEct), 1);
    assert_eq!(fates(&Params { mark_ecn: false, ..example() }, capable), 1);
}

#[test]
fn bytes_limit_the_queue() {
    let params = Params { limit: Bytes(3000), max_threshold: Some(Bytes(2900)), ..Params::default() };
    let mut bench = Bench::<LinuxRed>::new(&params);
    assert_eq!(bench.offer_many(10, PLAIN), 10 - 3000 / 512, "as many as fit whole");
}

#[test]
fn what_tc_or_the_kernel_refuses_has_a_place() {
    let params = example;
    assert_eq!(error(&Params { burst: Some(Packets(29)), ..params() }).0, "burst");
    assert!(error(&Params { burst: Some(Packets(29)), ..params() }).1.contains("\"30 pkt\""));
    assert_eq!(error(&Params { max_threshold: Some(Bytes(30_000)), ..params() }).0, "max_threshold");
    assert_eq!(error(&Params { mark_ecn: false, no_drop: true, ..params() }).0, "no_drop");
    assert_eq!(error(&Params { mark_ecn: false, hard_drop: true, ..params() }).0, "hard_drop");
    assert_eq!(error(&Params { max_p: 0.0, ..params() }).0, "max_p");
    assert_eq!(error(&Params { mean_packet: Bytes(0), ..params() }).0, "mean_packet");
    assert_eq!(error(&Params { limit: Bytes(0), ..params() }).0, "limit");
    assert_eq!(error(&Params { bandwidth: Rate::from_bps(10_000_000_000), ..params() }).0, "bandwidth");
    let huge = Params { max_threshold: Some(Bytes(1 << 28)), ..params() };
    assert_eq!(error(&huge).0, "max_threshold", "29 bits and 5 are more than 32");
    assert_eq!(params().validate(), Ok(()));
    assert_eq!(Params::default().validate(), Ok(()));
}

#[test]
fn each_mark_draws_the_distance_to_the_next() {
    // `red_action`: qcount = 0 and qR = red_random behind each packet that is marked.
    let mut queue = LinuxRed::new(&example(), Rng::named(1, 0, "queue"));
    let mut gaps = Vec::new();
    for _ in 0..5 {
        queue.average = (queue.min + queue.max) / 2;
        queue.idle_since = Some(Time::ZERO);
        queue.count = Some(1 << 31);
        assert_eq!(queue.decide(Time::ZERO), Action::Notify);
        gaps.push((queue.count, queue.gap));
    }
    assert!(gaps.iter().all(|gap| gap.0 == Some(0)), "{gaps:?}");
    assert!(gaps.windows(2).all(|pair| pair[0].1 != pair[1].1), "{gaps:?}");
}

#[test]
fn each_bound_of_the_average_belongs_to_what_is_above_it() {
    // `red_cmp_thresh`: below qth_min, or from qth_max on; `red_action`: the first packet between them begins a gap.
    let mut queue = LinuxRed::new(&example(), Rng::named(1, 0, "queue"));
    let (min, max) = (queue.min, queue.max);
    let mut at = |average| {
        (queue.average, queue.idle_since) = (average, Some(Time::ZERO));
        (queue.decide(Time::ZERO), queue.count)
    };
    assert_eq!([at(max), at(max - 1)], [(Action::NotifyAll, None), (Action::Pass, Some(0))]);
    assert_eq!([at(min - 1), at(min)], [(Action::Pass, None), (Action::Pass, Some(0))]);
}
