//! Scripts by hand: limits, the discard timer, marks.

use super::*;
use crate::ForwardedAtFull;
use crate::conformance::{Bench, MARKED, PLAIN, check, packet};
use roamlab_packet::{Ecn, FlowId};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn discarding(timer: Duration) -> Params {
    Params { discard_timer: Some(timer), ..Params::default() }
}

#[test]
fn srsrans_defaults_hold_6_mb_and_16384_packets() {
    let mut bench = Bench::<Rlc>::new(&Params::default());
    // 6,172,672 B / 1,500 B = 4,115.1: at 10 Mbit/s they last 4.9 s.
    let lost = (0..5000).filter(|_| bench.offer_is_lost(packet(0, 1500, PLAIN))).count();
    assert_eq!((bench.queue.packets(), lost), (4115, 885));
    assert_eq!(bench.last_reason(), Some(DropReason::QueueOverflow));
    let mut bench = Bench::<Rlc>::new(&Params::default());
    let lost = (0..16_400).filter(|_| bench.offer_is_lost(packet(0, 40, PLAIN))).count();
    assert_eq!(lost, 16);
}

#[test]
fn a_packet_is_discarded_when_it_has_waited_as_long_as_the_timer() {
    for (wait, served) in [(ms(100).saturating_sub(Duration::from_nanos(1)), Some(1)), (ms(100), None)] {
        let mut bench = Bench::<Rlc>::new(&discarding(ms(100)));
        bench.offer_many(1, PLAIN);
        bench.wait(wait);
        assert_eq!(bench.serve(), served);
        assert_eq!(bench.last_reason(), served.is_none().then_some(DropReason::EarlyDrop));
    }
}

#[test]
fn late_packets_free_their_places_for_an_arrival() {
    let mut bench = Bench::<Rlc>::new(&Params { limit: Packets(2), ..discarding(ms(10)) });
    bench.offer_many(2, PLAIN);
    bench.wait(ms(10));
    bench.offer_many(1, PLAIN);
    assert_eq!((bench.lost(), bench.head()), (vec![1, 2], Some(3)));
}

#[test]
fn late_packets_are_not_forwarded() {
    // Ten packets in 100 ms; with a timer of 50 ms those of the last 50 ms are left.
    let mut bench = Bench::<Rlc>::new(&discarding(ms(50)));
    for _ in 0..10 {
        bench.offer_many(1, PLAIN);
        bench.wait(ms(10));
    }
    assert_eq!(bench.take_matching(FlowId(0)), [7, 8, 9, 10]);
    assert_eq!(bench.lost(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_kind_of_traffic_has_srsrans_timer() {
    for (five_qi, timer) in [
        (1, Some(100)),
        (2, Some(150)),
        (3, Some(50)),
        (4, Some(300)),
        (7, None),
        (9, None),
        (10, Some(1500)),
        (69, Some(60)),
        (70, Some(200)),
        (85, Some(10)),
    ] {
        let params = Params { five_qi: Some(five_qi), ..Params::default() };
        assert_eq!((params.validate(), params.longest_wait()), (Ok(()), timer.map(ms)), "5QI {five_qi}");
    }
    let both = Params { five_qi: Some(1), ..discarding(ms(20)) };
    assert_eq!(both.longest_wait(), Some(ms(20)), "what is written holds");
}

#[test]
fn values_that_3gpp_does_not_have_are_refused() {
    for (timer, near) in [(ms(70), "75 ms"), (ms(0), "500 us"), (ms(9000), "2 s")] {
        let (field, message) = discarding(timer).validate().expect_err("none of the values");
        assert!(field == "discard_timer" && message.contains(near), "{message}");
    }
    for micros in DISCARD_TIMERS {
        assert_eq!(discarding(Duration::from_micros(micros)).validate(), Ok(()));
    }
    let refused = Params { five_qi: Some(11), ..Params::default() }.validate();
    assert!(refused.is_err_and(|(field, message)| field == "five_qi" && message.contains("1 to 10")));
}

#[test]
fn a_packet_that_waited_longer_is_marked_if_it_can_be() {
    let params = Params { mark_above: Some(ms(10)), ..Params::default() };
    for (wait, ecn, marked) in
        [(10, Ecn::Ect1, false), (11, Ecn::Ect1, true), (11, Ecn::Ect0, true), (11, Ecn::NotEct, false)]
    {
        let mut bench = Bench::<Rlc>::new(&params);
        bench.offer(packet(0, 512, PLAIN.with_ecn(ecn)));
        bench.wait(ms(wait));
        let ce = bench.serve_packet().is_some_and(|packet| packet.header.tos.ecn() == Ecn::Ce);
        assert_eq!(ce, marked, "{ecn:?} after {wait} ms");
    }
}

/// 12 packets that arrive together; one leaves each 2 ms.
fn first_marked(mean: Option<Duration>) -> Option<u64> {
    let mark_above = Some(ms(5));
    let mut bench = Bench::<Rlc>::new(&Params { mark_above, mark_weight: 0.1, ..Params::default() });
    if let Some(mean) = mean {
        bench.queue.adopt(&MarkingState::Delay(mean), Time::ZERO);
    }
    bench.offer_many(12, PLAIN.with_ecn(Ecn::Ect1));
    (0..12).find(|_| {
        let is_marked = bench.serve_packet().is_some_and(|packet| packet.header.tos.ecn() == Ecn::Ce);
        bench.wait(ms(2));
        is_marked
    })
}

#[test]
fn the_mean_follows_the_times_and_goes_on_from_another() {
    // After packet k with 2k ms the mean is 2k − 18·(1 − 0.9^k) ms: 4.61 at k = 7, 5.75 at k = 8.
    assert_eq!(first_marked(None), Some(8));
    // From 4 ms on it is 3.6, 3.44, 3.496, 3.746, 4.172, 4.755, 5.479.
    assert_eq!(first_marked(Some(ms(4))), Some(6));
    // 0.9 · 5.6 = 5.04 > 5.
    assert_eq!(first_marked(Some(Duration::from_micros(5_600))), Some(0));
}

#[test]
fn there_is_a_state_where_a_mean_is_held_against_a_limit() {
    for (mark_above, mark_weight, expected) in
        [(Some(ms(5)), 0.5, true), (Some(ms(5)), 1.0, false), (None, 0.5, false)]
    {
        let params = Params { mark_above, mark_weight, ..Params::default() };
        let state = Bench::<Rlc>::new(&params).queue.marking_state();
        assert_eq!(state, expected.then_some(MarkingState::Delay(Duration::ZERO)));
        assert_eq!(params.warning().is_some(), mark_above.is_none());
    }
    for mark_weight in [0.0, -0.5, 1.5, f64::NAN] {
        let refused = Params { mark_weight, ..Params::default() }.validate();
        assert!(refused.is_err_and(|(field, _)| field == "mark_weight"), "{mark_weight}");
    }
}

#[test]
fn a_spared_packet_is_not_marked_but_discarded() {
    let params = Params { mark_above: Some(ms(10)), spare_forwarded: true, ..discarding(ms(100)) };
    let mut bench = Bench::<Rlc>::new(&params);
    bench.offer(packet(0, 512, MARKED.with_ecn(Ecn::Ect1)));
    bench.offer(packet(0, 512, MARKED.with_ecn(Ecn::Ect1)));
    bench.wait(ms(50));
    assert_eq!(bench.serve_packet().map(|packet| packet.header.tos.ecn()), Some(Ecn::Ect1));
    bench.wait(ms(50));
    assert_eq!(bench.serve(), None);
    assert_eq!(bench.last_reason(), Some(DropReason::EarlyDrop));
}

#[test]
fn the_gauge_is_the_wait_of_the_packet_that_left_last() {
    let mut bench = Bench::<Rlc>::new(&Params::default());
    bench.offer_many(1, PLAIN);
    bench.wait(ms(7));
    bench.serve();
    assert_eq!(bench.queue.gauges().sojourn, ms(7));
    bench.serve();
    assert_eq!(bench.queue.gauges().sojourn, Duration::ZERO);
}

#[test]
fn a_spared_packet_pushes_another_out() {
    let forwarded_at_full = ForwardedAtFull::PushOut;
    let params = Params { limit: Packets(2), spare_forwarded: true, forwarded_at_full, ..Params::default() };
    let mut bench = Bench::<Rlc>::new(&params);
    bench.offer_many(2, PLAIN);
    bench.offer_many(1, MARKED);
    assert_eq!((bench.lost(), bench.serve(), bench.serve()), (vec![2], Some(1), Some(3)));
}

#[test]
fn small_queues_keep_the_contract_too() {
    let params = discarding(Duration::from_micros(500));
    check(&Params { limit: Packets(5), ..params.clone() });
    let forwarded_at_full = ForwardedAtFull::PushOut;
    let limit_bytes = Bytes(6000);
    check(&Params { limit_bytes, spare_forwarded: true, forwarded_at_full, ..params });
}

/// Events of a queue, at a time in ms.
enum Event {
    /// A packet of flow 0 and 512 B arrives.
    Comes,
    /// The link asks: the serial number of what it gets.
    Asks(Option<u64>),
}

/// Runs a script; the lost packets.
fn script(params: &Params, events: &[(u64, Event)]) -> Vec<u64> {
    let mut bench = Bench::<Rlc>::new(params);
    for (at, event) in events {
        bench.now = Time::ZERO + ms(*at);
        match event {
            Event::Comes => drop(bench.offer_many(1, PLAIN)),
            Event::Asks(expected) => assert_eq!(bench.serve(), *expected, "at {at} ms"),
        }
    }
    bench.lost()
}

use Event::{Asks, Comes};

#[test]
fn all_that_is_late_goes_at_once() {
    // At 19 ms they have waited 19, 15, 11, 7 and 3 ms.
    let events = [(0, Comes), (4, Comes), (8, Comes), (12, Comes), (16, Comes), (19, Asks(Some(4)))];
    assert_eq!(script(&discarding(ms(10)), &events), [1, 2, 3]);
}

#[test]
fn each_packet_has_its_own_timer() {
    // The first leaves 1 ms before its time. That gives the second, as old as it, no more.
    let events = [(0, Comes), (0, Comes), (9, Asks(Some(1))), (10, Asks(None))];
    assert_eq!(script(&discarding(ms(10)), &events), [2]);
}

#[test]
fn a_full_queue_has_room_again_when_its_head_is_late() {
    // 1,024 B hold two packets. At 9 ms the third finds no room; at 10 ms the first is late, and the fourth takes its place.
    let params = Params { limit_bytes: Bytes(1024), ..discarding(ms(10)) };
    let events = [(0, Comes), (5, Comes), (9, Comes), (10, Comes), (10, Asks(Some(2))), (10, Asks(Some(4)))];
    assert_eq!(script(&params, &events), [3, 1]);
}

#[test]
fn of_twice_what_the_link_can_send_half_is_late() {
    // A packet comes each 1 ms, and one leaves each 2 ms. Packet j leaves after j + 1 ms, until that would be 10 ms at 18 ms:
    // packet 9 is late, and the next leaves. From then on each second one is late.
    let arrivals = (0..30).map(|at| (at, Comes));
    let served = (1..15).map(|turn| (2 * turn, Asks(Some(if turn < 9 { turn } else { 2 * turn - 8 }))));
    let mut events: Vec<_> = arrivals.chain(served).collect();
    events.sort_by_key(|(at, event)| (*at, matches!(event, Asks(_))));
    assert_eq!(script(&discarding(ms(10)), &events), [9, 11, 13, 15, 17, 19]);
}

#[test]
fn without_a_timer_a_packet_waits_for_ever() {
    let lost = script(&Params::default(), &[(0, Comes), (3_600_000, Asks(Some(1)))]);
    assert!(lost.is_empty());
}

#[test]
fn a_limit_in_packets_and_one_in_bytes_hold_together() {
    // 512 B each.
    for (limit, limit_bytes, lost) in
        [(3, 10_000, vec![4, 5]), (9, 1_535, vec![3, 4, 5]), (2, 1_536, vec![3, 4, 5])]
    {
        let params = Params { limit: Packets(limit), limit_bytes: Bytes(limit_bytes), ..Params::default() };
        let events: Vec<_> = (0..5).map(|at| (at, Comes)).collect();
        assert_eq!(script(&params, &events), lost);
    }
}

#[test]
fn a_place_that_service_freed_is_taken_again() {
    let params = Params { limit: Packets(2), ..Params::default() };
    let events = [(0, Comes), (0, Comes), (1, Asks(Some(1))), (1, Comes), (2, Comes), (3, Asks(Some(2)))];
    assert_eq!(script(&params, &events), [4]);
}

#[test]
fn late_packets_of_others_go_when_a_host_s_are_taken_out() {
    let mut bench = Bench::<Rlc>::new(&discarding(ms(10)));
    for flow in [0, 1, 0, 1] {
        bench.offer(packet(flow, 512, PLAIN));
        bench.wait(ms(4));
    }
    // At 16 ms they have waited 16, 12, 8 and 4 ms.
    assert_eq!((bench.take_matching(FlowId(1)), bench.lost()), (vec![4], vec![1, 2]));
    assert_eq!(bench.serve(), Some(3));
}

#[test]
fn a_packet_is_marked_before_it_is_late() {
    let mut bench = Bench::<Rlc>::new(&Params { mark_above: Some(ms(4)), ..discarding(ms(10)) });
    for _ in 0..3 {
        bench.offer(packet(0, 512, PLAIN.with_ecn(Ecn::Ect1)));
    }
    let mut leaves_after = |millis| {
        bench.now = Time::ZERO + ms(millis);
        bench.serve_packet().map(|packet| packet.header.tos.ecn())
    };
    assert_eq!([4, 5, 10].map(&mut leaves_after), [Some(Ecn::Ect1), Some(Ecn::Ce), None]);
}
