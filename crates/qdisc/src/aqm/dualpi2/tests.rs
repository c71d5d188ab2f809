//! Scripts with the numbers of RFC 9332 and of Linux: gains 41/256 and 819/256, coupling 2, shares 10 and 90 %.

use super::*;
use crate::ForwardedAtFull;
use crate::conformance::{Bench, MARKED, PLAIN, check, packet};
use roamlab_packet::Tos;

const ECT0: Tos = PLAIN.with_ecn(Ecn::Ect0);
const ECT1: Tos = PLAIN.with_ecn(Ecn::Ect1);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn updated(base: f64, last: u64, now: u64, params: &Params) -> f64 {
    let mut controller = Controller { base, last_delay: ms(last) };
    controller.update(ms(now), params);
    controller.base
}

#[track_caller]
fn assert_close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-12, "{value} instead of {expected}");
}

/// A queue that does not update, with a base probability.
fn at(base: f64, params: &Params) -> Bench<DualPi2> {
    let mut bench =
        Bench::<DualPi2>::new(&Params { update_interval: Duration::from_secs(1000), ..params.clone() });
    bench.queue.controller.base = base;
    bench
}

/// Of 4,000 packets, how many leave with a mark and how many are lost.
fn fate(bench: &mut Bench<DualPi2>, tos: Tos) -> (usize, usize) {
    bench.offer_many(4000, tos);
    let mut marked = 0;
    while let Some(packet) = bench.serve_packet() {
        marked += usize::from(packet.header.tos.ecn() == Ecn::Ce);
    }
    (marked, bench.dropped.len())
}

#[test]
fn the_base_probability_follows_excess_and_growth() {
    let params = Params::default();
    // 0.16015625 · (0.035 − 0.015) + 3.19921875 · (0.035 − 0.025)
    assert_close(updated(0.0, 25, 35, &params), 0.003_203_125 + 0.031_992_187_5);
    // 0.16015625 · 0 + 3.19921875 · (0.015 − 0.020)
    assert_close(updated(0.5, 20, 15, &params), 0.5 - 0.015_996_093_75);
    assert_close(updated(0.3, 15, 15, &params), 0.3);
}

#[test]
fn the_base_probability_stays_in_its_bounds() {
    assert_close(updated(0.001, 10, 0, &Params::default()), 0.0);
    assert_close(updated(0.9, 0, 1000, &Params::default()), 1.0);
    let overflow = Params { drop_on_overload: false, ..Params::default() };
    assert_close(updated(0.4, 0, 1000, &overflow), 0.5);
}

#[test]
fn a_carried_base_probability_is_not_made_up_for() {
    // The next update after 10 s is at 10.016 s: 0.5 + α · (0 − 0.015) + β · (0 − 0.02).
    let mut bench = Bench::<DualPi2>::new(&Params::default());
    bench.wait(ms(10_000));
    let carried = MarkingState::Controller { probability: 0.5, delay: ms(20), burst: ms(1) };
    bench.queue.adopt(&carried, bench.now);
    bench.serve();
    assert_close(bench.queue.controller.base, 0.5);
    bench.wait(ms(16));
    bench.serve();
    assert_close(bench.queue.controller.base, updated(0.5, 20, 0, &Params::default()));
}

#[test]
fn the_delay_is_that_of_the_head_that_waited_longer() {
    let mut bench = Bench::<DualPi2>::new(&Params::default());
    bench.offer(packet(1, 512, PLAIN));
    bench.wait(ms(4));
    bench.offer(packet(2, 512, ECT1));
    bench.wait(ms(12));
    bench.offer(packet(2, 512, ECT1));
    // The update at 16 ms: the classic head has waited 16 ms, so 0.16015625 · 0.001 + 3.19921875 · 0.016.
    assert_close(bench.queue.controller.base, 0.000_160_156_25 + 0.051_187_5);
    // The same where the low-latency head came first: RFC 9332 appendix A.2, curq = max(cq.time(), lq.time()).
    let mut bench = Bench::<DualPi2>::new(&Params::default());
    bench.offer(packet(2, 512, ECT1));
    bench.wait(ms(4));
    bench.offer(packet(1, 512, PLAIN));
    bench.wait(ms(12));
    bench.offer(packet(1, 512, PLAIN));
    assert_close(bench.queue.controller.base, 0.000_160_156_25 + 0.051_187_5);
}

#[test]
fn missed_updates_are_made_up_for_with_the_delay_of_their_time() {
    let mut bench = Bench::<DualPi2>::new(&Params::default());
    bench.offer(packet(1, 512, PLAIN));
    bench.wait(ms(40));
    bench.offer(packet(1, 512, PLAIN));
    let expected = updated(updated(0.0, 0, 16, &Params::default()), 16, 32, &Params::default());
    assert_close(bench.queue.controller.base, expected);
}

#[test]
fn ect1_and_ce_go_to_the_low_latency_queue() {
    let mut bench = Bench::<DualPi2>::new(&Params::default());
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
        bench.offer(packet(0, 512, PLAIN.with_ecn(ecn)));
    }
    assert_eq!((bench.queue.pair.classic.packets(), bench.queue.pair.low_latency.packets()), (2, 2));
    assert_eq!([(); 4].map(|()| bench.serve()), [Some(3), Some(4), Some(1), Some(2)]);
}

#[test]
fn the_classic_queue_is_dropped_with_the_square() {
    // 0.3² = 0.09 of 4,000 are 360, with a standard deviation of 18.
    let (marked, lost) = fate(&mut at(0.3, &Params::default()), PLAIN);
    assert!(marked == 0 && (290..430).contains(&lost), "{lost}");
}

#[test]
fn an_ecn_capable_classic_packet_is_marked_instead() {
    let (marked, lost) = fate(&mut at(0.3, &Params::default()), ECT0);
    assert!(lost == 0 && (290..430).contains(&marked), "{marked}");
}

#[test]
fn the_low_latency_queue_is_marked_with_the_coupled_probability() {
    // 2 · 0.1 = 0.2 of 4,000 are 800, with a standard deviation of 25.
    let (marked, lost) = fate(&mut at(0.1, &Params::default()), ECT1);
    assert!(lost == 0 && (700..900).contains(&marked), "{marked}");
    let gauges = at(0.1, &Params::default()).queue.gauges();
    assert_close(gauges.probability, 0.01);
    assert_close(gauges.coupled, 0.2);
}

#[test]
fn beyond_a_coupled_probability_of_1_both_queues_drop() {
    // 0.6² = 0.36 of 4,000 are 1,440, with a standard deviation of 30; the others are marked.
    for tos in [ECT0, ECT1] {
        let (marked, lost) = fate(&mut at(0.6, &Params::default()), tos);
        assert!((1320..1560).contains(&lost), "{lost} lost");
        let rest = if tos == ECT1 { 4000 - lost } else { 0 };
        assert!(rest.abs_diff(marked) <= 6, "{marked} of {rest}");
    }
    let (marked, lost) = fate(&mut at(0.6, &Params { drop_on_overload: false, ..Params::default() }), ECT1);
    assert!(lost == 0 && marked > 3990);
    // RFC 9332 appendix A.1: overload is above 1. At 1, the most that there is without such drops, a classic packet that can be
    // marked is marked: 0.25 of 4,000.
    let (marked, lost) = fate(&mut at(0.5, &Params { drop_on_overload: false, ..Params::default() }), ECT0);
    assert!(lost == 0 && (890..1110).contains(&marked), "{lost} lost, {marked} marked");
}

#[test]
fn less_than_two_large_packets_are_never_dropped() {
    // `must_drop`: less than 2 MTU in the queue. 5 · 512 B = 2,560 B, 6 · 512 B = 3,072 B, and 3,000 B are two.
    for (behind, size, drops) in [(5, 512, false), (6, 512, true), (2, 1500, true)] {
        let mut bench = at(1.0, &Params::default());
        (0..=behind).for_each(|_| _ = bench.offer(packet(0, size, PLAIN)));
        bench.serve();
        assert_eq!(!bench.dropped.is_empty(), drops, "{behind} of {size} B behind it");
    }
}

#[test]
fn an_l4s_packet_that_waited_longer_than_the_step_is_marked() {
    for (wait, ecn) in [(Duration::from_micros(1000), Ecn::Ect1), (Duration::from_micros(1001), Ecn::Ce)] {
        let mut bench = Bench::<DualPi2>::new(&Params::default());
        bench.offer(packet(0, 512, ECT1));
        bench.wait(wait);
        assert_eq!(bench.serve_packet().map(|packet| packet.header.tos.ecn()), Some(ecn));
    }
    let mut bench = Bench::<DualPi2>::new(&Params::default());
    bench.offer(packet(0, 512, ECT0));
    bench.wait(ms(5));
    assert_eq!(bench.serve_packet().map(|packet| packet.header.tos.ecn()), Some(Ecn::Ect0));
}

#[test]
fn the_classic_queue_has_a_tenth_of_the_link() {
    let mut bench = at(0.0, &Params::default());
    for _ in 0..2000 {
        bench.offer(packet(1, 1500, ECT1));
        bench.offer(packet(2, 1500, PLAIN));
    }
    let mut classic = 0;
    let mut first = Vec::new();
    for place in 0..1000 {
        if bench.serve_packet().is_some_and(|packet| packet.flow.0 == 2) {
            classic += 1;
            first.push(place);
        }
    }
    // −80 + 10 a packet: nine of L4S, at credit 10 the first classic one, then −80 again.
    assert_eq!((classic, &first[..3]), (100, &[9, 19, 29][..]));
}

#[test]
fn a_packet_costs_no_credit_where_nothing_of_the_other_queue_waits() {
    let mut bench = at(0.0, &Params::default());
    bench.offer_many(200, ECT1);
    (0..200).for_each(|_| assert!(bench.serve().is_some()));
    // 200 · 512 B · 10 % would have passed the first credit, 1500 B · (10 − 90) %.
    bench.offer(packet(0, 512, PLAIN));
    bench.offer_many(2, ECT1);
    let served: Vec<_> =
        (0..3).filter_map(|_| bench.serve_packet().map(|one| one.header.tos.ecn())).collect();
    assert_eq!(served, [Ecn::Ect1, Ecn::Ect1, Ecn::NotEct]);
}

#[test]
fn forwarded_packets_are_dropped_like_others_unless_they_are_spared() {
    let plain = fate(&mut at(0.3, &Params::default()), MARKED);
    assert!(plain.1 > 200);
    let sparing = Params { spare_forwarded: true, ..Params::default() };
    assert_eq!(fate(&mut at(0.3, &sparing), MARKED), (0, 0));
    assert_eq!(fate(&mut at(0.9, &sparing), MARKED.with_ecn(Ecn::Ect1)), (0, 0));
}

#[test]
fn both_queues_share_the_limit() {
    let forwarded_at_full = ForwardedAtFull::PushOut;
    let params = Params { limit: Packets(3), spare_forwarded: true, forwarded_at_full, ..Params::default() };
    let mut bench = Bench::<DualPi2>::new(&params);
    bench.offer(packet(0, 512, ECT1));
    bench.offer_many(2, PLAIN);
    assert_eq!(bench.offer_many(1, PLAIN), 1);
    assert_eq!(bench.last_reason(), Some(DropReason::QueueOverflow));
    bench.offer(packet(3, 512, MARKED));
    assert_eq!(bench.lost(), [4, 3]);
}

#[test]
fn other_parameters_keep_the_contract_too() {
    let eager = Params {
        target: Duration::from_micros(100),
        update_interval: ms(1),
        alpha: 100.0,
        ..Params::default()
    };
    check(&eager);
    for forwarded_at_full in [ForwardedAtFull::PushOut, ForwardedAtFull::OverflowAllow] {
        let (limit, classic_share) = (Packets(9), 50);
        check(&Params { limit, classic_share, spare_forwarded: true, forwarded_at_full, ..eager.clone() });
    }
}

#[test]
fn queues_that_were_empty_begin_with_the_first_credit() {
    // `dualpi2_reset_c_protection`: 1500 · (10 − 90) for the low-latency queue. Nine of its packets use up 9 · 1500 · 10 of it.
    let mut bench = Bench::<DualPi2>::new(&Params::default());
    bench.offer(packet(0, 1500, PLAIN));
    for _ in 0..9 {
        bench.offer(packet(1, 1500, ECT1));
    }
    let served: Vec<_> = (0..10).filter_map(|_| bench.serve()).collect();
    assert_eq!(served, [2, 3, 4, 5, 6, 7, 8, 9, 10, 1]);
    assert_eq!((bench.queue.credit, bench.serve()), (15_000, None));
    bench.offer(packet(0, 1500, PLAIN));
    bench.offer(packet(1, 1500, ECT1));
    assert_eq!([bench.serve(), bench.serve()], [Some(12), Some(11)]);
}
