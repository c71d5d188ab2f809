//! Scripts with the numbers of RFC 8289: target 5 ms, interval 100 ms, drops each 100 ms / √count.

use super::*;
use crate::ForwardedAtFull;
use crate::conformance::{Bench, MARKED, PLAIN, check, packet};
use roamlab_packet::{DropReason, Ecn, FlowId};

const ECT: roamlab_packet::Tos = PLAIN.with_ecn(Ecn::Ect0);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Offers 1,500 packets of 512 B at time 0.
fn burst(params: &Params) -> Bench<Codel> {
    let mut bench = Bench::new(&Params { limit: Packets(5000), ..params.clone() });
    assert_eq!(bench.offer_many(1500, PLAIN), 0);
    bench
}

/// Serves one packet each millisecond until `end`; at which milliseconds how many were dropped.
fn drops_until(bench: &mut Bench<Codel>, end: u64) -> Vec<(u64, usize)> {
    let mut drops = Vec::new();
    while bench.now.as_nanos() < end * 1_000_000 {
        let before = bench.dropped.len();
        bench.serve();
        if bench.dropped.len() > before {
            drops.push((bench.now.as_nanos() / 1_000_000, bench.dropped.len() - before));
        }
        bench.wait(ms(1));
    }
    drops
}

#[test]
fn drops_follow_at_the_intervals_of_the_control_law() {
    // Above the target from 5 ms, so the first at 105 ms. Then + 100/√1 = 205, + 100/√2 = 275.7, + 100/√3 = 333.4,
    // + 100/√4 = 383.4, + 100/√5 = 428.2, + 100/√6 = 469.0: at the next whole millisecond each.
    let mut bench = burst(&Params::default());
    let drops = drops_until(&mut bench, 469);
    assert_eq!(drops, [(105, 1), (205, 1), (276, 1), (334, 1), (384, 1), (429, 1)]);
    assert_eq!(bench.last_reason(), Some(DropReason::EarlyDrop));
}

#[test]
fn in_linux_a_step_of_the_root_s_iteration_sets_the_intervals() {
    // From 1: r ← r·(3 − n·r²)/2 gives 0.5, 0.5625, 0.4878 and 0.4415 for n = 2 to 5, not 0.7071, 0.5774, 0.5 and 0.4472.
    // So after 105 and 205 ms + 50, + 56.25, + 48.8, + 44.2: at the next whole millisecond each.
    let mut bench = burst(&Params { rules: Rules::Linux, ..Params::default() });
    let drops = drops_until(&mut bench, 420);
    assert_eq!(drops, [(105, 1), (205, 1), (255, 1), (312, 1), (361, 1), (405, 1)]);
}

#[test]
fn several_drops_are_due_at_once_after_a_pause() {
    // The drop at 105 ms; the next are due at 205, 275.7, 333.4 and 383.4 ms: all before 400 ms.
    let mut bench = burst(&Params::default());
    assert_eq!(drops_until(&mut bench, 106), [(105, 1)]);
    bench.wait(ms(400 - 106));
    bench.serve();
    assert_eq!(bench.dropped.len(), 1 + 4);
}

#[test]
fn nothing_is_dropped_below_the_target() {
    let mut bench = Bench::<Codel>::new(&Params::default());
    for _ in 0..1000 {
        bench.offer_many(2, PLAIN);
        bench.wait(ms(4));
        bench.serve();
        bench.serve();
    }
    assert!(bench.dropped.is_empty());
    assert_eq!(bench.queue.gauges().sojourn, ms(4));
}

#[test]
fn a_wait_at_the_target_counts_as_above_it() {
    // RFC 8289 §5.6: `sojourn_time < TARGET` resets.
    for (wait, lost) in [(ms(5), 1), (ms(5).saturating_sub(Duration::from_nanos(1)), 0)] {
        let mut bench = Bench::<Codel>::new(&Params::default());
        let mut served = 0;
        while served < 100 {
            bench.offer_many(8, PLAIN);
            bench.wait(wait);
            for _ in 0..4 {
                served += usize::from(bench.serve().is_some());
            }
            bench.take_matching(FlowId(0));
        }
        assert_eq!(usize::from(!bench.dropped.is_empty()), lost);
    }
}

#[test]
fn one_packet_below_the_target_starts_the_interval_again() {
    let mut bench = burst(&Params::default());
    assert!(drops_until(&mut bench, 104).is_empty());
    bench.take_matching(FlowId(0));
    bench.offer_many(10, PLAIN);
    bench.serve();
    bench.wait(ms(5));
    assert!(bench.serve().is_some() && bench.dropped.is_empty(), "the time above begins at this packet");
}

#[test]
fn the_last_packet_of_the_greatest_size_is_never_dropped() {
    // 1,500 B or less behind it: RFC 8289 §5.6, `bytes() <= maxpacket`.
    for (waiting, lost) in [(3, 0), (4, 1)] {
        let mut bench = Bench::<Codel>::new(&Params::default());
        bench.offer_many(waiting, PLAIN);
        bench.wait(ms(10));
        bench.serve();
        bench.offer_many(1, PLAIN);
        bench.wait(ms(100));
        bench.serve();
        assert_eq!(bench.dropped.len(), lost, "{waiting} of 512 B");
    }
}

#[test]
fn a_new_period_soon_after_the_last_goes_on_with_its_rate() {
    // Drops number 1 to 5 end at 384 ms. After a pause below the target the next period begins with 5 − 1 =
    // 4, so its second drop comes after 100/√4 = 50 ms instead of 100 ms.
    let mut bench = burst(&Params::default());
    assert_eq!(drops_until(&mut bench, 400).len(), 5);
    bench.take_matching(FlowId(0));
    bench.serve();
    bench.offer_many(1500, PLAIN);
    assert_eq!(drops_until(&mut bench, 400 + 160), [(505, 1), (555, 1)]);
}

#[test]
fn a_queue_elsewhere_continues_with_the_rate_of_a_carried_schedule() {
    // As before, but the period continues in a queue that has seen nothing: without the schedule its second
    // drop is at 605 ms.
    let mut old = burst(&Params::default());
    assert_eq!(drops_until(&mut old, 400).len(), 5);
    let state = old.queue.marking_state().expect("a schedule");
    for (state, expected) in [(Some(state), [(505, 1), (555, 1)]), (None, [(505, 1), (605, 1)])] {
        let mut new = Bench::<Codel>::new(&Params { limit: Packets(5000), ..Params::default() });
        new.wait(ms(400));
        state.iter().for_each(|state| new.queue.adopt(state, new.now));
        new.offer_many(1500, PLAIN);
        assert_eq!(drops_until(&mut new, expected[1].0 + 1), expected);
    }
}

#[test]
fn a_period_long_after_the_last_starts_with_one() {
    let mut bench = burst(&Params::default());
    drops_until(&mut bench, 400);
    bench.take_matching(FlowId(0));
    bench.serve();
    // Sixteen intervals after the next drop that was due, at 428.2 ms.
    bench.wait(ms(1629));
    bench.offer_many(1500, PLAIN);
    assert_eq!(drops_until(&mut bench, 2029 + 210), [(2134, 1), (2234, 1)]);
}

#[test]
fn with_ecn_a_mark_replaces_a_drop() {
    let params = Params { mark_ecn: true, limit: Packets(5000), ..Params::default() };
    let mut bench = Bench::<Codel>::new(&params);
    for _ in 0..1500 {
        bench.offer(packet(0, 512, ECT));
    }
    let mut marks = Vec::new();
    while bench.now.as_nanos() < 290_000_000 {
        let ce = bench.serve_packet().is_some_and(|packet| packet.header.tos.ecn() == Ecn::Ce);
        if ce {
            marks.push(bench.now.as_nanos() / 1_000_000);
        }
        bench.wait(ms(1));
    }
    assert_eq!((marks, bench.dropped.len()), (vec![105, 205, 276], 0));
}

#[test]
fn the_next_packet_is_due_by_when_the_last_one_was_not_by_when_it_left() {
    // RFC 8289 §5.5: `drop_next_ = control_law(drop_next_, count_)`. A packet leaves each 30 ms, the first above the target at 30.
    // So 150 begins; due are 250, 320.7, 378.4, 428.4, 473.2, 514.0 and 551.8 ms.
    for (mark_ecn, tos) in [(false, PLAIN), (true, ECT)] {
        let params = Params { mark_ecn, limit: Packets(5000), ..Params::default() };
        let mut bench = Bench::<Codel>::new(&params);
        (0..100).for_each(|_| _ = bench.offer(packet(0, 512, tos)));
        let mut times = Vec::new();
        while bench.now.as_nanos() < 600_000_000 {
            let before = bench.dropped.len();
            let ce = bench.serve_packet().is_some_and(|packet| packet.header.tos.ecn() == Ecn::Ce);
            if ce || bench.dropped.len() > before {
                times.push(bench.now.as_nanos() / 1_000_000);
            }
            bench.wait(ms(30));
        }
        assert_eq!(times, [150, 270, 330, 390, 450, 480, 540, 570], "marks: {mark_ecn}");
    }
}

#[test]
fn a_full_queue_loses_arrivals() {
    let mut bench = Bench::<Codel>::new(&Params { limit: Packets(7), ..Params::default() });
    assert_eq!(bench.offer_many(9, PLAIN), 2);
    assert_eq!(bench.last_reason(), Some(DropReason::QueueOverflow));
}

#[test]
fn forwarded_packets_are_dropped_like_others_unless_they_are_spared() {
    for (spare_forwarded, lost) in [(false, 3), (true, 0)] {
        let params = Params { spare_forwarded, limit: Packets(5000), ..Params::default() };
        let mut bench = Bench::<Codel>::new(&params);
        bench.offer_many(1000, MARKED);
        assert_eq!(drops_until(&mut bench, 300).len(), lost);
    }
}

#[test]
fn a_spared_packet_leaves_the_law_as_it_was() {
    // The ordinary packet that is due at 105 ms is behind forwarded ones until 150 ms, and is dropped then.
    let mut bench =
        Bench::<Codel>::new(&Params { spare_forwarded: true, limit: Packets(5000), ..Params::default() });
    bench.offer_many(100, PLAIN);
    bench.offer_many(50, MARKED);
    bench.offer_many(1000, PLAIN);
    assert_eq!(drops_until(&mut bench, 260), [(150, 1), (250, 1)]);
}

#[test]
fn a_full_queue_does_with_spared_packets_what_is_chosen() {
    for (forwarded_at_full, waiting, reason) in [
        (ForwardedAtFull::Reject, 3, Some(DropReason::ForwardedOverflow)),
        (ForwardedAtFull::PushOut, 3, Some(DropReason::QueueOverflow)),
        (ForwardedAtFull::OverflowAllow, 4, None),
    ] {
        let params =
            Params { spare_forwarded: true, forwarded_at_full, limit: Packets(3), ..Params::default() };
        let mut bench = Bench::<Codel>::new(&params);
        bench.offer_many(3, PLAIN);
        bench.offer_many(1, MARKED);
        assert_eq!((bench.queue.packets(), bench.last_reason()), (waiting, reason));
        bench.wait(ms(2));
        bench.serve();
        assert_eq!(bench.queue.gauges().sojourn, ms(2), "times and packets stay together");
    }
}

#[test]
fn other_parameters_keep_the_contract_too() {
    let fast = Params {
        target: Duration::from_micros(10),
        interval: Duration::from_micros(100),
        ..Params::default()
    };
    let bypasses = check(&fast);
    assert!(bypasses > 100, "the short cut was tried");
    check(&Params { rules: Rules::Linux, ..fast.clone() });
    let forwarded_at_full = ForwardedAtFull::PushOut;
    check(&Params { limit: Packets(5), spare_forwarded: true, forwarded_at_full, ..fast.clone() });
    check(&Params { target: Duration::ZERO, mark_ecn: true, ..fast });
}

#[test]
fn one_packet_of_the_largest_size_behind_the_head_is_no_queue() {
    // RFC 8289 §5.5: above the target only while more than MAXPACKET bytes are left. Each head waits 20 ms for 400 ms.
    let lost = |size| {
        let mut bench = Bench::<Codel>::new(&Params::default());
        bench.offer(packet(0, size, PLAIN));
        for _ in 0..40 {
            bench.offer(packet(0, size, PLAIN));
            bench.wait(ms(10));
            bench.serve();
        }
        bench.dropped.len()
    };
    assert_eq!((lost(1500), lost(1501) > 0), (0, true));
}

#[test]
fn in_linux_a_count_that_has_grown_by_one_begins_again_with_the_root_of_one() {
    // `codel_dequeue`: delta > 1, otherwise count is 1 and its root 65535/65536.
    let mut bench = burst(&Params { rules: Rules::Linux, ..Params::default() });
    let control = &mut bench.queue.control;
    (control.count, control.last_count, control.root) = (5, 4, 29_309);
    control.begin(&bench.queue.law, Time::ZERO + ms(10));
    assert_eq!((control.count, control.root), (1, u16::MAX));
}

#[test]
fn a_delay_of_an_interval_is_long_enough_to_the_rfc_and_not_to_linux() {
    // RFC 8289 §5.5: now >= first_above_time. Linux `codel_should_drop`: codel_time_after, which is later. An interval of 98,304 us
    // is a whole number of Linux's units of 1,024 ns.
    for (rules, dropped) in [(Rules::Rfc, 1), (Rules::Linux, 0)] {
        let interval = Duration::from_micros(98_304);
        let mut bench = burst(&Params { rules, interval, ..Params::default() });
        bench.wait(Duration::from_micros(10_240));
        assert!(bench.serve().is_some());
        bench.wait(interval);
        assert!(bench.serve().is_some());
        assert_eq!(bench.dropped.len(), dropped, "{rules:?}");
    }
}

#[test]
fn a_period_within_sixteen_intervals_goes_on_with_the_count() {
    // RFC 8289 §5.5: now - drop_next < 16 * INTERVAL, with a count that has grown by four.
    let mut bench = burst(&Params::default());
    let mut count_at = |millis| {
        let control = &mut bench.queue.control;
        (control.count, control.last_count, control.drop_next) = (5, 1, Time::ZERO + ms(1000));
        control.begin(&bench.queue.law, Time::ZERO + ms(millis));
        control.count
    };
    assert_eq!([1100, 2599, 2600].map(&mut count_at), [4, 4, 1]);
}

#[test]
fn in_linux_a_period_that_goes_on_takes_a_step_towards_the_root_of_its_count() {
    // `codel_dequeue`: count is the 5 that were added, and `codel_Newton_step` goes from 65536/√9 once towards 65536/√5.
    let mut bench = burst(&Params { rules: Rules::Linux, ..Params::default() });
    let control = &mut bench.queue.control;
    (control.count, control.last_count, control.root, control.drop_next) = (9, 4, 21_845, Time::ZERO + ms(5));
    control.begin(&bench.queue.law, Time::ZERO + ms(10));
    assert_eq!((control.count, control.root), (5, 26_699));
}
