//! Scripts with the numbers of RFC 8290: a quantum of 1,514 B, new queues before old ones, CoDel in each.

use super::*;
use crate::ForwardedAtFull;
use crate::conformance::{Bench, MARKED, PLAIN, check, packet};
use roamlab_packet::Ecn;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn bench() -> Bench<FqCodel> {
    Bench::new(&Params::default())
}

/// Offers packets of `size` of a flow.
fn offer(bench: &mut Bench<FqCodel>, flow: u32, count: usize, size: u64) {
    for _ in 0..count {
        bench.offer(packet(flow, size, PLAIN));
    }
}

/// The flows of the next packets.
fn flows(bench: &mut Bench<FqCodel>, count: usize) -> Vec<u32> {
    let mut served = Vec::new();
    for _ in 0..count {
        served.extend(bench.serve_packet().map(|packet| packet.flow.0));
    }
    served
}

#[test]
fn a_quantum_is_one_large_packet_or_three_of_512_bytes() {
    let mut bench = bench();
    offer(&mut bench, 1, 8, 1500);
    offer(&mut bench, 2, 8, 512);
    // Flow 1: 1514 - 1500 = 14 are left, so one more, then −1486 + 1514 = 28, …; flow 2: 1514 − 3 · 512 = −22.
    assert_eq!(flows(&mut bench, 10), [1, 1, 2, 2, 2, 1, 2, 2, 2, 1]);
}

#[test]
fn the_deficit_carries_over() {
    let mut bench = bench();
    offer(&mut bench, 1, 4, 1000);
    offer(&mut bench, 2, 4, 1514);
    // Flow 1: 1514, 514, −486; 1028, 28, −972. Flow 2: 1514, 0.
    assert_eq!(flows(&mut bench, 8), [1, 1, 2, 1, 1, 2, 2, 2]);
}

#[test]
fn a_new_flow_comes_before_those_that_have_sent() {
    let mut bench = bench();
    offer(&mut bench, 1, 20, 1500);
    offer(&mut bench, 2, 20, 1500);
    flows(&mut bench, 6);
    offer(&mut bench, 3, 1, 100);
    assert_eq!(bench.head(), Some(41));
    assert_eq!(flows(&mut bench, 1), [3]);
}

#[test]
fn a_flow_that_has_sent_all_is_new_again_only_after_its_turn_among_the_old() {
    // RFC 8290 §4.2: an empty new queue goes to the old ones, so that a flow cannot be new each time.
    let mut bench = bench();
    offer(&mut bench, 1, 9, 500);
    flows(&mut bench, 1);
    offer(&mut bench, 2, 1, 100);
    // Flow 1 may send 1014 B, then 514, 14 and −486 + 1514 = 1028.
    assert_eq!(flows(&mut bench, 5), [1, 1, 1, 2, 1]);
    // The queue of flow 2 is empty, and behind that of flow 1, which may send 528 B.
    offer(&mut bench, 2, 1, 100);
    assert_eq!(flows(&mut bench, 3), [1, 1, 2]);
}

#[test]
fn a_queue_keeps_its_turn_while_its_last_packet_is_sent() {
    let mut bench = bench();
    offer(&mut bench, 1, 2, 1500);
    assert_eq!(flows(&mut bench, 1), [1]);
    bench.wait(ms(1));
    assert_eq!(flows(&mut bench, 1), [1]);
    // It has sent 3,000 B of a turn of 1,514 B, so the other one is first.
    offer(&mut bench, 1, 1, 1500);
    offer(&mut bench, 2, 1, 1500);
    assert_eq!(flows(&mut bench, 2), [2, 1]);
}

#[test]
fn a_packet_that_leaves_at_once_takes_no_turn() {
    let mut bench = bench();
    offer(&mut bench, 1, 1, 1500);
    assert_eq!(flows(&mut bench, 1), [1]);
    // A whole turn of 1,514 B is before it again: two packets, and not one.
    offer(&mut bench, 1, 2, 1500);
    offer(&mut bench, 2, 1, 1500);
    assert_eq!(flows(&mut bench, 3), [1, 1, 2]);
}

#[test]
fn of_equally_long_queues_the_first_is_shortened() {
    // Of two flows one has the lower queue, whichever of them came first.
    let mut lost = Vec::new();
    for (first, second) in [(1, 2), (2, 1)] {
        let mut bench = Bench::<FqCodel>::new(&Params { limit: Packets(2), ..Params::default() });
        offer(&mut bench, first, 1, 1500);
        offer(&mut bench, second, 1, 1500);
        offer(&mut bench, 3, 1, 100);
        lost.extend(bench.dropped.iter().map(|(packet, _)| bench.pool[packet].flow.0));
    }
    assert_eq!(lost.len(), 2);
    assert_eq!(lost[0], lost[1]);
}

#[test]
fn sparse_flows_wait_no_queue_of_a_bulk_flow() {
    let mut bench = bench();
    offer(&mut bench, 1, 500, 1500);
    for _ in 0..50 {
        bench.offer(packet(2, 200, PLAIN));
        let served = flows(&mut bench, 3);
        assert!(served.contains(&2), "{served:?}");
    }
}

#[test]
fn a_thousand_flows_share_equally() {
    let mut bench = Bench::<FqCodel>::new(&Params { queues: 65_536, ..Params::default() });
    for flow in 0..1000 {
        offer(&mut bench, flow, 10, 1514);
    }
    let mut counts = [0; 1000];
    for flow in flows(&mut bench, 5000) {
        counts[flow as usize] += 1;
    }
    // Of 1,000 flows in 65,536 queues about 7.6 pairs share one.
    let unequal = counts.iter().filter(|count| !(5..=6).contains(*count)).count();
    assert!(unequal <= 20, "{unequal}");
}

#[test]
fn each_queue_has_its_own_codel() {
    // Packets of flow 1 wait longer than an interval; flow 2 never waits.
    let mut bench = Bench::<FqCodel>::new(&Params { mark_ecn: false, ..Params::default() });
    offer(&mut bench, 1, 1500, 512);
    for _ in 0..300 {
        bench.offer(packet(2, 100, PLAIN));
        flows(&mut bench, 2);
        bench.wait(ms(1));
    }
    let lost: Vec<_> = bench.dropped.iter().map(|(packet, _)| bench.pool[packet].flow.0).collect();
    // As CoDel alone: 105, 205 and 276 ms.
    assert_eq!(lost, [1, 1, 1]);
    assert_eq!(bench.last_reason(), Some(DropReason::EarlyDrop));
}

#[test]
fn an_ecn_capable_packet_is_marked() {
    let mut bench = bench();
    for _ in 0..400 {
        bench.offer(packet(1, 512, PLAIN.with_ecn(Ecn::Ect0)));
    }
    let mut marks = 0;
    for _ in 0..300 {
        marks += usize::from(bench.serve_packet().is_some_and(|packet| packet.header.tos.ecn() == Ecn::Ce));
        bench.wait(ms(1));
    }
    assert_eq!((marks, bench.dropped.len()), (3, 0));
}

#[test]
fn an_overflow_takes_half_of_the_longest_queue_from_its_head() {
    let mut bench = Bench::<FqCodel>::new(&Params { limit: Packets(20), ..Params::default() });
    offer(&mut bench, 1, 14, 500);
    offer(&mut bench, 2, 6, 500);
    assert!(bench.dropped.is_empty());
    offer(&mut bench, 2, 1, 500);
    // 14 · 500 / 2 = 3,500 B: seven packets.
    assert_eq!(bench.lost(), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(bench.queue.packets(), 14);
}

#[test]
fn an_overflow_takes_at_most_a_batch() {
    let mut bench = Bench::<FqCodel>::new(&Params { limit: Packets(400), ..Params::default() });
    offer(&mut bench, 1, 401, 500);
    assert_eq!(bench.lost().len(), 64);
    let mut bench = Bench::<FqCodel>::new(&Params {
        limit_bytes: Bytes(5000),
        drop_batch: Packets(1),
        ..Params::default()
    });
    offer(&mut bench, 1, 11, 500);
    assert_eq!(bench.lost(), [1]);
}

#[test]
fn the_hash_has_a_seed() {
    let place = |seed| {
        let mut flows = Flows::new(1024, FlowHash::with_seed(seed), roamlab_packet::Dscp::FORWARDED);
        let places: Vec<_> = (0..50).map(|flow| flows.place_of(FlowId(flow))).collect();
        (places, flows.place_of(FlowId(3)))
    };
    assert_eq!(place(1), place(1));
    let one_queue = Bench::<FqCodel>::new(&Params { queues: 1, ..Params::default() });
    let mut flows_of_one = one_queue;
    offer(&mut flows_of_one, 1, 2, 1500);
    offer(&mut flows_of_one, 2, 2, 1500);
    assert_eq!(
        flows(&mut flows_of_one, 4),
        [1, 1, 2, 2],
        "flows in the same queue keep the order of arrival"
    );
    // Two flows share a queue of two with the chance of one half, by the seed.
    let shared = (0..1000).filter(|seed| {
        let mut flows = Flows::new(2, FlowHash::with_seed(*seed), roamlab_packet::Dscp::FORWARDED);
        flows.place_of(FlowId(1)) == flows.place_of(FlowId(2))
    });
    let shared = shared.count();
    assert!((420..580).contains(&shared), "{shared} of 1000");
}

#[test]
fn forwarded_packets_are_dropped_like_others_unless_they_are_spared() {
    for (spare_forwarded, lost) in [(false, 3), (true, 0)] {
        let mut bench = Bench::<FqCodel>::new(&Params { spare_forwarded, ..Params::default() });
        bench.offer_many(1000, MARKED);
        for _ in 0..300 {
            bench.serve();
            bench.wait(ms(1));
        }
        assert_eq!(bench.dropped.len(), lost);
    }
}

#[test]
fn spared_packets_survive_an_overflow() {
    for (forwarded_at_full, lost, reason) in [
        (ForwardedAtFull::Reject, vec![7], DropReason::ForwardedOverflow),
        (ForwardedAtFull::PushOut, vec![6], DropReason::QueueOverflow),
    ] {
        let params =
            Params { limit: Packets(6), spare_forwarded: true, forwarded_at_full, ..Params::default() };
        let mut bench = Bench::<FqCodel>::new(&params);
        assert!((0..4).all(|_| !bench.offer_is_lost(packet(1, 512, MARKED))));
        offer(&mut bench, 2, 2, 512);
        bench.offer(packet(1, 512, MARKED));
        assert_eq!((bench.lost(), bench.last_reason()), (lost, Some(reason)));
        offer(&mut bench, 3, 2, 512);
        let survivors = bench.dropped.iter().filter(|(packet, _)| bench.pool[packet].flow.0 == 1).count();
        assert_eq!(survivors, usize::from(forwarded_at_full == ForwardedAtFull::Reject));
    }
}

/// RFC 8289 §5.5: the rate of drops continues from a period of drops by the law. Overflows are none, also in
/// the first 16 intervals.
#[test]
fn overflows_at_the_start_of_the_clock_begin_no_period_of_drops() {
    for rules in [Rules::Rfc, Rules::Linux] {
        let drops_from = |start: u64| {
            let mut bench =
                Bench::<FqCodel>::new(&Params { rules, limit: Packets(500), ..Params::default() });
            bench.wait(ms(start));
            offer(&mut bench, 1, 510, 512);
            let overflows = bench.dropped.len();
            let drops = (0..260).map(|_| {
                bench.serve();
                bench.wait(ms(1));
                bench.dropped.len() - overflows
            });
            drops.collect::<Vec<_>>()
        };
        let drops = drops_from(0);
        // Above the target from 5 ms, so the first at 105 ms, and the next one 100 ms later.
        let at = |count: usize| drops.iter().position(|&dropped| dropped == count).unwrap();
        assert_eq!([at(1), at(2)], [105, 205]);
        assert_eq!(drops, drops_from(10_000));
    }
}

#[test]
fn other_parameters_keep_the_contract_too() {
    let fast = Params {
        target: Duration::from_micros(10),
        interval: Duration::from_micros(100),
        mark_ecn: false,
        quantum: Bytes(300),
        ..Params::default()
    };
    let bypasses = check(&fast);
    assert!(bypasses > 100, "the short cut was tried");
    check(&Params { limit: Packets(7), queues: 2, ..fast.clone() });
    check(&Params { rules: Rules::Linux, ..fast.clone() });
    for forwarded_at_full in [ForwardedAtFull::PushOut, ForwardedAtFull::OverflowAllow] {
        check(&Params {
            limit: Packets(9),
            limit_bytes: Bytes(5000),
            spare_forwarded: true,
            forwarded_at_full,
            ..fast.clone()
        });
    }
}

#[test]
fn one_packet_of_the_largest_size_in_all_queues_together_is_no_queue() {
    // `codel_should_drop` in `sch_fq_codel`: the backlog of the whole discipline, each packet once, is above the MTU.
    let lost = |size, others: usize| {
        let mut bench = bench();
        offer(&mut bench, 1, 1, size);
        for _ in 0..40 {
            offer(&mut bench, 1, 1, size);
            bench.wait(ms(10));
            bench.serve();
        }
        let alone = bench.dropped.len();
        offer(&mut bench, 2, others, 1500);
        offer(&mut bench, 1, 20, size);
        for _ in 0..20 {
            bench.wait(ms(10));
            bench.serve();
        }
        (alone, bench.dropped.len() > alone)
    };
    assert_eq!([lost(1000, 0).0, lost(1500, 0).0], [0, 0]);
    assert!(lost(1501, 0).0 > 0);
    assert!(lost(1000, 20).1, "others wait");
}

#[test]
fn a_flow_with_one_packet_is_reduced_while_others_wait() {
    // As above: what counts is what waits in all queues, not in that of the flow (`sch->qstats.backlog`). Each packet of flow 1
    // waits 10 ms alone in its queue.
    let lost_of_flow_1 = |others: usize| {
        let mut bench = Bench::<FqCodel>::new(&Params { mark_ecn: false, ..Params::default() });
        offer(&mut bench, 2, others, 1500);
        let (mut waits, mut lost) = (false, 0);
        for _ in 0..60 {
            if !std::mem::replace(&mut waits, true) {
                offer(&mut bench, 1, 1, 1000);
            }
            bench.wait(ms(10));
            let before = bench.dropped.len();
            waits = flows(&mut bench, 1) != [1];
            let new = &bench.dropped[before..];
            let dropped = new.iter().filter(|(packet, _)| bench.pool[packet].flow == FlowId(1)).count();
            waits &= dropped == 0;
            lost += dropped;
        }
        lost
    };
    assert_eq!(lost_of_flow_1(0), 0);
    assert!(lost_of_flow_1(1000) > 0);
}

#[test]
fn overflows_of_a_flow_raise_the_rate_of_its_drops() {
    // `fq_codel_drop`: `flow->cvars.count += i`. The law drops at 105 ms (count 1); an overflow at 150 ms takes 7 (count 8). The next
    // drop is due at 205 ms (count 9), and then after 100/√9, 100/√10 and 100/√11 ms: at the next whole millisecond each.
    let drops = |overflows: bool| {
        let params =
            Params { limit: Packets(500), drop_batch: Packets(7), mark_ecn: false, ..Params::default() };
        let mut bench = Bench::<FqCodel>::new(&params);
        offer(&mut bench, 1, 500, 512);
        let mut drops = Vec::new();
        for now in 0..310 {
            if now == 150 && overflows {
                let missing = 501 - bench.queue.packets();
                offer(&mut bench, 1, missing, 512);
            }
            let before = bench.dropped.len();
            bench.serve();
            drops.extend((bench.dropped.len() > before).then_some(now));
            bench.wait(ms(1));
        }
        drops
    };
    assert_eq!(drops(true), [105, 205, 239, 270, 301]);
    assert_eq!(drops(false), [105, 205, 276], "100/√2 ms");
}
