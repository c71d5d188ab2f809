//! [mblue] eq. 4 with the values of table III, and the interpretations M1–M11.

use super::*;
use crate::conformance::{Bench, MARKED, PLAIN, check};
use roamlab_packet::FlowId;

const MILLISECOND: Duration = Duration::from_millis(1);
const NANOSECOND: Duration = Duration::from_nanos(1);

/// Table III with steps so large that one shows.
fn params() -> Params {
    Params { d1: 0.25, d2: 0.125, ..Params::default() }
}

/// A queue in which `count` ordinary packets wait, 10 ms after the last update.
fn holding(count: usize, params: &Params) -> Bench<Mblue> {
    let mut bench = Bench::<Mblue>::new(params);
    while bench.queue.packets() < count {
        bench.offer_many(1, PLAIN);
    }
    bench.wait(MILLISECOND * 10);
    bench
}

fn p_m(bench: &Bench<Mblue>) -> f64 {
    bench.queue.gauges().probability
}

#[test]
fn the_probability_rises_from_the_threshold_on() {
    for (waiting, expected) in [(79, 0.0), (80, 0.25)] {
        let mut bench = holding(waiting, &params());
        bench.offer_many(1, PLAIN);
        assert_eq!(p_m(&bench), expected, "q_length {waiting}, TH_b 80");
    }
}

#[test]
fn a_change_needs_more_than_the_freeze_time() {
    for (strict, pause, expected) in [
        (true, MILLISECOND, 0.25),
        (true, MILLISECOND + NANOSECOND, 0.5),
        (false, MILLISECOND.saturating_sub(NANOSECOND), 0.25),
        (false, MILLISECOND, 0.5),
    ] {
        let mut bench = holding(80, &Params { freeze_strict: strict, ..params() });
        bench.offer_many(1, PLAIN);
        while bench.queue.packets() < 80 {
            bench.offer_many(1, PLAIN);
        }
        bench.wait(pause);
        bench.offer_many(1, PLAIN);
        assert_eq!(p_m(&bench), expected, "strict {strict}, after {pause}");
    }
}

#[test]
fn a_second_at_2_mbit_raises_the_probability_by_a_twentieth() {
    // Table III: 488 packets of 512 B a second, one step of 0.0001 each, as 2.048 ms exceed the freeze time.
    let mut bench = holding(100, &Params::default());
    let start = p_m(&bench);
    for _ in 0..488 {
        bench.wait(Duration::from_micros(2048));
        if bench.offer_many(1, PLAIN) == 0 {
            bench.serve();
        }
    }
    assert!((p_m(&bench) - start - 0.0488).abs() < 1e-9, "{}", p_m(&bench) - start);
}

#[test]
fn the_freeze_time_bounds_the_rise_to_a_tenth_a_second() {
    // A packet each 0.1 ms: more than 1 ms has passed at every eleventh of the 10 000.
    let mut bench = holding(100, &Params::default());
    let start = p_m(&bench);
    for _ in 0..10_000 {
        bench.wait(Duration::from_micros(100));
        if bench.offer_many(1, PLAIN) == 0 {
            bench.serve();
        }
    }
    assert!((p_m(&bench) - start - 0.0001 * f64::from(10_000 / 11 + 1)).abs() < 1e-9);
}

#[test]
fn a_marked_packet_is_kept_and_sets_the_probability_to_zero() {
    let mut bench = holding(80, &Params { d1: 1.0, ..params() });
    assert_eq!(bench.offer_many(1, PLAIN), 1);
    assert_eq!(bench.last_reason(), Some(DropReason::EarlyDrop));
    assert_eq!(p_m(&bench), 1.0);
    assert_eq!(bench.offer_many(40, MARKED), 0, "the reserve q_limit − TH_b takes 40 packets");
    assert_eq!((p_m(&bench), bench.queue.packets()), (0.0, 120));
}

#[test]
fn the_mark_is_the_inner_headers_and_can_be_chosen() {
    let mut bench = holding(120, &Params { mark: Dscp(46), ..params() });
    bench.offer_many(1, MARKED);
    assert_eq!(bench.last_reason(), Some(DropReason::QueueOverflow), "another mark is no mark");
    bench.offer_many(1, PLAIN.with_dscp(Dscp(46)));
    assert_eq!(bench.last_reason(), Some(DropReason::ForwardedOverflow));
    bench.offer_tunnelled(crate::conformance::packet(0, 512, PLAIN), PLAIN.with_dscp(Dscp(46)));
    assert_eq!(bench.last_reason(), Some(DropReason::QueueOverflow), "the outer header is not looked at");
}

#[test]
fn m1_an_ordinary_packet_that_finds_no_room_is_an_overflow() {
    let mut bench = holding(120, &params());
    let before = bench.dropped.len();
    let risen = p_m(&bench);
    assert_eq!(bench.offer_many(1, PLAIN), 1);
    assert_eq!(bench.last_reason(), Some(DropReason::QueueOverflow));
    assert_eq!(bench.dropped.len(), before + 1);
    assert_eq!(p_m(&bench), (risen + 0.25).min(1.0), "and has raised P_m, as q ≥ TH_b");
}

#[test]
fn m2_a_marked_packet_at_the_limit_is_treated_as_told() {
    let outcome = |forwarded_at_full| {
        let mut bench = holding(119, &Params { forwarded_at_full, d1: 0.0, ..params() });
        assert_eq!(bench.offer_many(1, MARKED), 0, "q_length 119: the last place");
        bench.offer_many(1, MARKED);
        bench
    };
    let rejecting = outcome(ForwardedAtFull::Reject);
    assert_eq!(rejecting.last_reason(), Some(DropReason::ForwardedOverflow));
    assert_eq!(rejecting.queue.packets(), 120);

    let mut pushing = outcome(ForwardedAtFull::PushOut);
    let (evicted, reason) = pushing.dropped.last().expect("one was pushed out");
    assert_eq!(
        (pushing.pool[evicted].serial, *reason),
        (119, DropReason::QueueOverflow),
        "the last unmarked"
    );
    assert_eq!(pushing.queue.packets(), 120);
    let served: Vec<_> = std::iter::from_fn(|| pushing.serve()).collect();
    assert_eq!(served[117..], [118, 120, 121]);

    let mut allowing = outcome(ForwardedAtFull::OverflowAllow);
    assert_eq!((allowing.dropped.len(), allowing.queue.packets()), (0, 121));
    assert_eq!(allowing.offer_many(1, PLAIN), 1, "only marked packets may exceed the limit");
}

#[test]
fn m2_a_queue_of_marked_packets_pushes_none_out() {
    let mut bench =
        Bench::<Mblue>::new(&Params { forwarded_at_full: ForwardedAtFull::PushOut, ..Params::default() });
    assert_eq!(bench.offer_many(120, MARKED), 0);
    assert_eq!(bench.offer_many(1, MARKED), 1);
    assert_eq!(bench.last_reason(), Some(DropReason::ForwardedOverflow));
}

#[test]
fn m2_a_rejected_marked_packet_resets_unless_told_otherwise() {
    for (rejected_mark_resets, expected) in [(true, 0.0), (false, 0.25)] {
        let mut bench = Bench::<Mblue>::new(&Params { rejected_mark_resets, ..params() });
        bench.offer_many(120, MARKED);
        bench.wait(MILLISECOND * 2);
        bench.offer_many(1, PLAIN);
        assert_eq!(p_m(&bench), 0.25);
        bench.offer_many(1, MARKED);
        assert_eq!(p_m(&bench), expected);
    }
}

#[test]
fn m3_after_a_reset_the_probability_may_rise_at_once_unless_told_otherwise() {
    for (reset_sets_last_update, expected) in [(false, 0.25), (true, 0.0)] {
        let mut bench = holding(80, &Params { reset_sets_last_update, ..params() });
        bench.offer_many(1, MARKED);
        bench.offer_many(1, PLAIN);
        assert_eq!(p_m(&bench), expected);
    }
}

#[test]
fn m4_the_update_comes_before_or_after_the_test() {
    for (update_before_test, lost) in [(true, 1), (false, 0)] {
        let mut bench = holding(80, &Params { update_before_test, d1: 1.0, ..params() });
        assert_eq!(bench.offer_many(1, PLAIN), lost);
        assert_eq!(p_m(&bench), 1.0);
    }
}

#[test]
fn m5_m6_marked_packets_count_in_the_queue_length() {
    let rise = |count_forwarded, update_on_overflow, waiting| {
        let mut bench = Bench::<Mblue>::new(&Params { count_forwarded, update_on_overflow, ..params() });
        assert_eq!(bench.offer_many(waiting, MARKED), 0);
        bench.wait(MILLISECOND * 2);
        bench.offer_many(1, PLAIN);
        p_m(&bench)
    };
    assert_eq!(rise(true, false, 80), 0.25);
    assert_eq!(rise(false, false, 80), 0.0, "no ordinary packet waits");
    assert_eq!(rise(false, false, 120), 0.0, "an overflow below the threshold");
    assert_eq!(rise(false, true, 120), 0.25);
}

#[test]
fn m6_the_packet_in_service_may_count() {
    for (count_in_service, expected, held) in [(false, 0.0, 120), (true, 0.25, 119)] {
        let mut bench = holding(79, &Params { count_in_service, ..params() });
        bench.offer_many(1, PLAIN);
        assert_eq!(p_m(&bench), expected);
        bench.offer_many(100, MARKED);
        assert_eq!(bench.queue.packets(), held);
    }
}

#[test]
fn m11_each_marked_packet_resets_or_only_the_first_of_a_burst() {
    for (reset_on_every_mark, expected) in [(true, 0.0), (false, 0.25)] {
        let mut bench = holding(80, &Params { reset_on_every_mark, ..params() });
        bench.offer_many(1, MARKED);
        bench.offer_many(1, PLAIN);
        assert_eq!(p_m(&bench), 0.25);
        bench.offer_many(1, MARKED);
        assert_eq!(p_m(&bench), expected);
    }
}

#[test]
fn m11_residents_are_safe_while_a_burst_arrives() {
    // 20 marked and 20 ordinary packets in turn, P_m = 1 before: no ordinary one is dropped as long as the
    // freeze time holds P_m at zero.
    let mut bench = holding(80, &Params { d1: 1.0, freeze_time: MILLISECOND * 5, ..params() });
    assert_eq!(bench.offer_many(1, PLAIN), 1);
    for _ in 0..20 {
        bench.wait(Duration::from_micros(100));
        assert_eq!(bench.offer_many(1, MARKED) + bench.offer_many(1, PLAIN), 0);
    }
    assert_eq!(bench.queue.packets(), 120);
}

#[test]
fn an_empty_buffer_lowers_the_probability_down_to_zero_and_no_further() {
    let mut bench = holding(80, &Params { d2: 0.2, idle_mode: IdleMode::Event, ..params() });
    bench.offer_many(1, PLAIN);
    for expected in [0.05, 0.0, 0.0] {
        bench.wait(MILLISECOND * 2);
        bench.drain();
        assert!((p_m(&bench) - expected).abs() < 1e-12);
        // The next packet in; those before it may be dropped at random, and the link stays idle.
        while bench.offer_many(1, PLAIN) > 0 {}
    }
}

#[test]
fn between_the_threshold_and_an_empty_buffer_nothing_moves() {
    // M7: below TH_b the probability neither rises nor falls until the queue empties.
    let mut bench = holding(80, &params());
    bench.offer_many(1, PLAIN);
    bench.wait(MILLISECOND * 2);
    while bench.queue.packets() > 1 {
        bench.serve();
        assert_eq!(p_m(&bench), 0.25);
    }
    bench.wait(MILLISECOND * 2);
    bench.offer_many(1, PLAIN);
    assert_eq!(p_m(&bench), 0.25);
}

#[test]
fn extraction_changes_nothing_but_the_queue() {
    let mut bench = holding(80, &params());
    bench.offer_many(1, PLAIN);
    bench.wait(MILLISECOND * 2);
    assert!(bench.take_matching(FlowId(0)).len() >= 80);
    assert_eq!((p_m(&bench), bench.queue.packets()), (0.25, 0));
}

#[test]
fn options_keep_the_contract_too() {
    let eager = Params {
        limit: Packets(20),
        threshold: Packets(5),
        d1: 0.01,
        freeze_time: Duration::ZERO,
        ..Params::default()
    };
    check(&eager);
    check(&Params { forwarded_at_full: ForwardedAtFull::PushOut, count_forwarded: false, ..eager.clone() });
    check(&Params { forwarded_at_full: ForwardedAtFull::OverflowAllow, ..eager.clone() });
    check(&Params { reset_on_every_mark: false, update_before_test: false, ..eager });
    check(&Params { idle_mode: IdleMode::Continuous, ..params() });
}

#[test]
fn m1_no_number_is_drawn_for_a_packet_that_finds_no_room() {
    let mut bench = holding(2, &Params { limit: Packets(2), threshold: Packets(2), ..params() });
    let mut before = bench.queue.rng.clone();
    assert_eq!(bench.offer_many(3, PLAIN), 3);
    assert_eq!(bench.queue.rng.uniform().to_bits(), before.uniform().to_bits());
}
