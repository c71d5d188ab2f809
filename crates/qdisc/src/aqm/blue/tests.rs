//! [mblue] eq. 3 with the values of table III, and the interpretations B1–B6.

use super::*;
use crate::conformance::{Bench, PLAIN, check};
use roamlab_engine::Time;
use roamlab_packet::Ecn;

const MILLISECOND: Duration = Duration::from_millis(1);
const NANOSECOND: Duration = Duration::from_nanos(1);

/// Table III with steps so large that one shows, and a queue of ten.
fn params() -> Params {
    Params { limit: Packets(10), d1: 0.25, d2: 0.125, ..Params::default() }
}

#[test]
fn a_carried_probability_counts_as_an_update() {
    // A full queue raises it by d1 as soon as more than a millisecond has passed.
    let mut bench = full(&params());
    bench.queue.adopt(&roamlab_packet::MarkingState::Probability(0.0), bench.now);
    bench.wait(MILLISECOND);
    bench.offer_many(1, PLAIN);
    assert_eq!(bench.queue.marking_state(), Some(roamlab_packet::MarkingState::Probability(0.0)));
    bench.wait(NANOSECOND);
    bench.offer_many(1, PLAIN);
    assert_eq!(bench.queue.marking_state(), Some(roamlab_packet::MarkingState::Probability(0.25)));
}

/// A full queue of ten, long after the last update.
fn full(params: &Params) -> Bench<Blue> {
    let mut bench = Bench::<Blue>::new(params);
    assert_eq!(bench.offer_many(params.limit.0 as usize, PLAIN), 0);
    bench.wait(MILLISECOND * 10);
    bench
}

fn p_m(bench: &Bench<Blue>) -> f64 {
    bench.queue.gauges().probability
}

/// Offers `count` packets, each to a queue with room for it; how many were lost.
fn offer_with_room(bench: &mut Bench<Blue>, count: usize) -> usize {
    let before = bench.dropped.len();
    for _ in 0..count {
        if bench.queue.packets() == bench.queue.params.limit.0 as usize {
            bench.serve();
        }
        bench.offer_many(1, PLAIN);
    }
    bench.dropped.len() - before
}

#[test]
fn a_thousand_overflows_of_table_iii_make_a_tenth() {
    // d1 = 0.0001, freeze_time = 1 ms; packets of 512 B at 2 Mbit/s come 2.048 ms apart: none is frozen.
    let mut bench = full(&Params::default());
    for _ in 0..1000 {
        bench.wait(Duration::from_micros(2048));
        assert_eq!(bench.offer_many(1, PLAIN), 1);
    }
    assert!((p_m(&bench) - 0.1).abs() < 1e-9, "{}", p_m(&bench));
}

#[test]
fn an_overflow_adds_d1_and_is_counted_as_overflow() {
    let mut bench = full(&params());
    assert_eq!(bench.offer_many(1, PLAIN), 1);
    assert_eq!(bench.last_reason(), Some(DropReason::QueueOverflow));
    assert_eq!(p_m(&bench), 0.25);
}

#[test]
fn a_change_needs_more_than_the_freeze_time() {
    for (strict, pause, expected) in [
        (true, MILLISECOND, 0.25),
        (true, MILLISECOND + NANOSECOND, 0.5),
        (false, MILLISECOND.saturating_sub(NANOSECOND), 0.25),
        (false, MILLISECOND, 0.5),
    ] {
        let mut bench = full(&Params { freeze_strict: strict, ..params() });
        bench.offer_many(1, PLAIN);
        bench.wait(pause);
        bench.offer_many(1, PLAIN);
        assert_eq!(p_m(&bench), expected, "strict {strict}, after {pause}");
    }
}

#[test]
fn b1_random_drops_raise_the_probability_only_on_request() {
    for (update_on_random_drop, expected) in [(false, 0.5), (true, 0.75)] {
        let mut bench = full(&Params { update_on_random_drop, ..params() });
        bench.offer_many(1, PLAIN);
        bench.wait(MILLISECOND * 2);
        bench.offer_many(1, PLAIN);
        bench.wait(MILLISECOND * 2);
        // At P_m = 0.5, 64 tries without a random drop have a chance of 2^-64; the time is constant, so that
        // only the first drop can change P_m.
        assert!(offer_with_room(&mut bench, 64) > 0);
        assert_eq!(p_m(&bench), expected);
    }
}

#[test]
fn b2_a_full_queue_is_looked_at_first_or_last() {
    for (overflow_first, expected) in [(true, DropReason::QueueOverflow), (false, DropReason::EarlyDrop)] {
        let mut bench = full(&Params { overflow_first, d1: 1.0, ..params() });
        bench.offer_many(1, PLAIN);
        assert_eq!(p_m(&bench), 1.0);
        bench.offer_many(1, PLAIN);
        assert_eq!(bench.last_reason(), Some(expected));
    }
}

/// `P_m` after an idle event at 20 ms, and after an arrival at 40.5 ms at the idle link.
fn after_idling(idle_mode: IdleMode) -> (f64, f64) {
    let mut bench = full(&Params { idle_mode, d1: 1.0, d2: 0.015625, ..params() });
    bench.offer_many(1, PLAIN);
    bench.wait(MILLISECOND * 10);
    bench.drain();
    let after_event = p_m(&bench);
    bench.wait(Duration::from_micros(20_500));
    bench.offer_many(1, PLAIN);
    (after_event, p_m(&bench))
}

#[test]
fn b3_the_buffer_is_empty_by_one_of_four_interpretations() {
    let steps = |(event, arrival): (f64, f64)| ((1.0 - event) / 0.015625, (1.0 - arrival) / 0.015625);
    assert_eq!(steps(after_idling(IdleMode::Event)), (1.0, 1.0));
    assert_eq!(steps(after_idling(IdleMode::Arrival)), (0.0, 1.0));
    assert_eq!(steps(after_idling(IdleMode::EventAndArrival)), (1.0, 2.0));
    assert_eq!(steps(after_idling(IdleMode::Continuous)), (1.0, 21.0), "the event and one each ms");
}

#[test]
fn b3_asking_an_idle_queue_again_is_no_event() {
    let mut bench = full(&Params { idle_mode: IdleMode::Event, d1: 0.5, ..params() });
    bench.offer_many(1, PLAIN);
    bench.wait(MILLISECOND * 10);
    bench.drain();
    assert_eq!(p_m(&bench), 0.375);
    bench.wait(MILLISECOND * 10);
    assert_eq!(bench.serve(), None);
    assert_eq!(p_m(&bench), 0.375);
}

#[test]
fn b3_an_idle_second_takes_a_hundredth_in_continuous_mode() {
    // Table III: d2 = 0.00001 each ms. A frozen event at the beginning delays the first step.
    let params = Params { idle_mode: IdleMode::Continuous, d1: 0.5, limit: Packets(10), ..Params::default() };
    let mut bench = full(&params);
    bench.offer_many(1, PLAIN);
    bench.drain();
    assert_eq!(p_m(&bench), 0.5, "the event came while it was frozen");
    bench.wait(MILLISECOND * 1000);
    bench.offer_many(1, PLAIN);
    assert!((p_m(&bench) - (0.5 - 999.0 * 0.00001)).abs() < 1e-12, "strict: the 1000th is 1 ns away");
    bench.wait(NANOSECOND);
    bench.offer_many(1, PLAIN);
    assert!((p_m(&bench) - 0.49).abs() < 1e-12);
    bench.serve();
    bench.wait(MILLISECOND * 1000);
    bench.offer_many(1, PLAIN);
    assert!((p_m(&bench) - 0.49).abs() < 1e-12, "a busy link is not idle");
}

#[test]
fn b3_the_packet_in_service_may_count() {
    let mut bench = Bench::<Blue>::new(&Params { count_in_service: true, ..params() });
    bench.offer_many(20, PLAIN);
    assert_eq!(bench.queue.packets(), 9);
}

#[test]
fn b4_one_clock_freezes_both_ways_two_clocks_only_their_own() {
    for (shared_last_update, expected) in [(true, 0.25), (false, 0.125)] {
        let mut bench = full(&Params { shared_last_update, idle_mode: IdleMode::Event, ..params() });
        bench.offer_many(1, PLAIN);
        bench.drain();
        assert_eq!(p_m(&bench), expected, "shared {shared_last_update}");
    }
}

#[test]
fn b4_the_first_update_is_free_unless_it_waits() {
    for (first_update_waits, expected) in [(false, 0.25), (true, 0.0)] {
        let mut bench =
            Bench::<Blue>::new(&Params { first_update_waits, idle_mode: IdleMode::Event, ..params() });
        bench.now = Time::ZERO + MILLISECOND;
        bench.offer_many(11, PLAIN);
        assert_eq!(p_m(&bench), expected);
    }
}

#[test]
fn b5_the_probability_stays_between_0_and_1() {
    for (clamp, floor, ceiling) in [(true, 0.0, 1.0), (false, -0.125, 1.25 - 0.125)] {
        let mut bench = Bench::<Blue>::new(&Params { clamp, idle_mode: IdleMode::Event, ..params() });
        bench.serve();
        assert_eq!(p_m(&bench), floor, "clamp {clamp}");
        bench.offer_many(10, PLAIN);
        for _ in 0..5 {
            bench.wait(MILLISECOND * 2);
            bench.offer_many(1, PLAIN);
        }
        assert_eq!(p_m(&bench), ceiling, "clamp {clamp}");
    }
}

#[test]
fn b6_an_ecn_capable_packet_is_marked_on_request() {
    let certain = |mark_ecn| {
        let mut bench = full(&Params { mark_ecn, d1: 1.0, ..params() });
        bench.offer_many(1, PLAIN);
        bench.serve();
        bench
    };
    let mut dropping = certain(false);
    assert_eq!(dropping.offer_many(1, PLAIN.with_ecn(Ecn::Ect0)), 1);
    let mut marking = certain(true);
    assert_eq!(marking.offer_many(1, PLAIN), 1, "not ECN-capable");
    assert_eq!(marking.last_reason(), Some(DropReason::EarlyDrop));
    assert_eq!(marking.offer_many(1, PLAIN.with_ecn(Ecn::Ect0)), 0);
    let last = marking.queue.fifo.pop_last(&mut marking.pool).expect("it waits");
    assert_eq!(marking.pool[&last].inner_tos().ecn(), Ecn::Ce);
}

#[test]
fn extraction_changes_nothing_but_the_queue() {
    let mut bench = full(&params());
    bench.offer_many(1, PLAIN);
    bench.wait(MILLISECOND * 2);
    assert_eq!(bench.take_matching(roamlab_packet::FlowId(0)).len(), 10);
    assert_eq!(p_m(&bench), 0.25);
}

#[test]
fn options_keep_the_contract_too() {
    let eager = Params { d1: 0.01, freeze_time: Duration::ZERO, ..params() };
    check(&eager);
    check(&Params { update_on_random_drop: true, mark_ecn: true, ..eager.clone() });
    check(&Params { overflow_first: false, count_in_service: true, ..eager });
    check(&Params { idle_mode: IdleMode::Continuous, ..params() });
}

#[test]
fn no_number_is_drawn_for_an_overflow_that_comes_before_the_test() {
    for overflow_first in [true, false] {
        let mut bench = full(&Params { overflow_first, ..params() });
        let mut before = bench.queue.rng.clone();
        assert_eq!(bench.offer_many(1, PLAIN), 1);
        let is_same = bench.queue.rng.uniform().to_bits() == before.uniform().to_bits();
        assert_eq!(is_same, overflow_first);
    }
}
