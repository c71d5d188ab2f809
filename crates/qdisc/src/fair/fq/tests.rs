//! Scripts with the numbers of Linux's source: 1,024 flows, a fast path of eight packets, a first turn of 15,000 B, others of
//! 3,000 B, bands of 9, 3 and 1 times 64 KiB.

use super::*;
use crate::conformance::{Bench, PLAIN, check, packet};
use roamlab_packet::{Dscp, Ecn, FlowId, Tos};

/// The code points whose bits ask for little delay (band 0) and for throughput (band 2).
const FIRST: Tos = PLAIN.with_dscp(Dscp(4));
const LAST: Tos = PLAIN.with_dscp(Dscp(2));

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A queue whose fast path is full with packets of flow 0; they leave first.
fn bench(params: &Params) -> Bench<Fq> {
    let mut bench = Bench::new(params);
    offer(&mut bench, 0, 8, 100, PLAIN);
    bench
}

fn offer(bench: &mut Bench<Fq>, flow: u32, count: usize, size: u64, tos: Tos) {
    for _ in 0..count {
        bench.offer(packet(flow, size, tos));
    }
}

/// The flows of the next packets.
fn flows(bench: &mut Bench<Fq>, count: usize) -> Vec<u32> {
    (0..count).filter_map(|_| bench.serve_packet().map(|packet| packet.flow.0)).collect()
}

/// This number of packets of each of these flows.
fn runs(runs: &[(u32, usize)]) -> Vec<u32> {
    runs.iter().flat_map(|(flow, count)| vec![*flow; *count]).collect()
}

#[test]
fn eight_packets_keep_the_order_of_arrival() {
    let mut bench = Bench::<Fq>::new(&Params::default());
    for _ in 0..6 {
        offer(&mut bench, 1, 1, 1500, PLAIN);
        offer(&mut bench, 2, 1, 1500, PLAIN);
    }
    // The ninth and the eleventh are of flow 1, whose turn is first.
    assert_eq!(flows(&mut bench, 12), [1, 2, 1, 2, 1, 2, 1, 2, 1, 1, 2, 2]);
}

#[test]
fn the_fast_path_is_closed_while_a_flow_has_packets() {
    let mut bench = bench(&Params::default());
    offer(&mut bench, 1, 1, 1500, PLAIN);
    flows(&mut bench, 8);
    // Flow 1 waits alone; a packet of flow 2 gets behind it, and one of flow 1 before that.
    offer(&mut bench, 2, 1, 1500, PLAIN);
    offer(&mut bench, 1, 1, 1500, PLAIN);
    assert_eq!(flows(&mut bench, 3), [1, 1, 2]);
}

#[test]
fn a_first_turn_is_ten_large_packets_and_the_next_are_two() {
    let mut bench = bench(&Params::default());
    offer(&mut bench, 1, 16, 1500, PLAIN);
    offer(&mut bench, 2, 16, 1500, PLAIN);
    flows(&mut bench, 8);
    let expected = runs(&[(1, 10), (2, 10), (1, 2), (2, 2), (1, 2), (2, 2)]);
    assert_eq!(flows(&mut bench, 28), expected);
}

#[test]
fn the_credit_carries_over() {
    let params = Params { initial_quantum: Bytes(3000), ..Params::default() };
    let mut bench = bench(&params);
    offer(&mut bench, 1, 8, 1400, PLAIN);
    offer(&mut bench, 2, 8, 1500, PLAIN);
    flows(&mut bench, 8);
    // Flow 1: 3000, 1600, 200, −1200; 1800, 400, −1000; 2000, 600, −800. Flow 2: 3000, 1500, 0.
    let expected = runs(&[(1, 3), (2, 2), (1, 2), (2, 2), (1, 2)]);
    assert_eq!(flows(&mut bench, 11), expected);
}

#[test]
fn a_new_flow_begins_in_the_first_band_and_waits_for_its_turn() {
    let params = Params { initial_quantum: Bytes(1500), flow_limit: Packets(1000), ..Params::default() };
    let mut bench = bench(&params);
    offer(&mut bench, 1, 400, 1500, PLAIN);
    // The first of flow 1 leaves from band 0, the second from band 1.
    flows(&mut bench, 10);
    offer(&mut bench, 2, 1, 1500, PLAIN);
    // Band 1 has 196,608 B in its turn, 132 packets, of which one has left. Then it is the turn of band 2, and of band 0.
    let next = flows(&mut bench, 133);
    assert_eq!(next, runs(&[(1, 131), (2, 1), (1, 1)]));
}

#[test]
fn a_new_flow_comes_before_an_old_one_of_its_band() {
    let params = Params { initial_quantum: Bytes(1500), ..Params::default() };
    let mut bench = bench(&params);
    offer(&mut bench, 1, 20, 1500, FIRST);
    flows(&mut bench, 12);
    offer(&mut bench, 2, 1, 100, FIRST);
    assert_eq!(bench.head(), Some(29));
    assert_eq!(flows(&mut bench, 2), [2, 1]);
}

#[test]
fn bands_share_by_weight() {
    let mut bench = bench(&Params { flow_limit: Packets(4000), ..Params::default() });
    for (flow, tos) in [(1, FIRST), (2, PLAIN), (3, LAST)] {
        offer(&mut bench, flow, 3000, 1024, tos);
    }
    // Behind the first turns of all flows in band 0: 15 packets of 1,024 B each.
    flows(&mut bench, 8);
    let mut counts = [0; 4];
    flows(&mut bench, 3 * 13 * 64).into_iter().for_each(|flow| counts[flow as usize] += 1);
    // 576, 192 and 64 packets a round. The first turns of flows 2 and 3 were charged to band 0.
    assert_eq!(counts.iter().sum::<usize>(), 2496);
    for (flow, share) in [(1, 1728), (2, 576), (3, 192)] {
        assert!(counts[flow].abs_diff(share) <= 32, "{counts:?}");
    }
}

#[test]
fn the_bits_of_the_octet_choose_the_band() {
    // Precedence is not looked at: EF (46) has both bits, CS1 (8) none.
    let bands = [0, 8, 46, 4, 2, 10, 12].map(|dscp| {
        let mut bench = Bench::<Fq>::new(&Params::default());
        let offered = bench.pool.create(packet(0, 100, PLAIN.with_dscp(Dscp(dscp))));
        band_of(&bench.pool[&offered])
    });
    assert_eq!(bands, [1, 1, 1, 0, 2, 2, 0]);
}

#[test]
fn each_band_has_its_own_limit() {
    let mut bench = bench(&Params { limit: Packets(3), ..Params::default() });
    assert!(bench.dropped.is_empty(), "the fast path does not count");
    offer(&mut bench, 1, 2, 500, PLAIN);
    offer(&mut bench, 2, 2, 500, PLAIN);
    assert_eq!((bench.lost(), bench.last_reason()), (vec![12], Some(DropReason::QueueOverflow)));
    offer(&mut bench, 3, 4, 500, FIRST);
    offer(&mut bench, 3, 3, 500, LAST);
    assert_eq!(bench.lost(), [12, 16]);
    // A packet of band 1 has left, so there is room for one.
    flows(&mut bench, 9);
    offer(&mut bench, 2, 2, 500, PLAIN);
    assert_eq!(bench.lost(), [12, 16, 21]);
}

#[test]
fn a_flow_has_at_most_a_hundred_packets() {
    let mut bench = bench(&Params::default());
    offer(&mut bench, 1, 101, 500, PLAIN);
    assert_eq!((bench.lost(), bench.last_reason()), (vec![109], Some(DropReason::QueueOverflow)));
    offer(&mut bench, 2, 1, 500, PLAIN);
    assert_eq!(bench.lost().len(), 1, "another flow has its own limit");
}

/// How many packets of flow 1 leave before those of flow 2, when flow 1 has sent 500 B of its first turn, was detached, and
/// comes back after some time.
fn turn_after(pause: Duration, quantum: u64, first: u64) -> usize {
    let quanta = Params { quantum: Bytes(quantum), initial_quantum: Bytes(first), ..Params::default() };
    let mut bench = bench(&quanta);
    offer(&mut bench, 1, 1, 500, FIRST);
    offer(&mut bench, 3, 6, 1000, FIRST);
    // Flow 1 becomes an old flow before the first packet of flow 3, and is detached when that has used up its first turn.
    flows(&mut bench, 15);
    bench.wait(pause);
    offer(&mut bench, 0, 8, 100, PLAIN);
    offer(&mut bench, 1, 5, 500, FIRST);
    offer(&mut bench, 2, 5, 500, FIRST);
    flows(&mut bench, 8);
    flows(&mut bench, 5).into_iter().take_while(|flow| *flow == 1).count()
}

#[test]
fn a_flow_has_a_quantum_again_after_the_refill_delay() {
    // It was detached at tick 1 (Linux sets the lowest bit), so that 40 ticks have passed at tick 42. 500 B of it are sent.
    assert_eq!(turn_after(ms(41), 1500, 1500), 2);
    assert_eq!(turn_after(ms(42), 1500, 1500), 3);
    // `fq_enqueue`: the greater of both, so that what is left of a first turn of 3,000 B is not lost.
    assert_eq!([41, 42].map(|millis| turn_after(ms(millis), 500, 3000)), [5, 5]);
}

#[test]
fn packets_of_a_flow_keep_their_order_in_all_bands() {
    let mut bench = bench(&Params { initial_quantum: Bytes(500), ..Params::default() });
    for tos in [PLAIN, FIRST, LAST, PLAIN, FIRST, LAST] {
        offer(&mut bench, 1, 3, 500, tos);
        offer(&mut bench, 2, 1, 500, PLAIN);
    }
    let served: Vec<_> =
        (0..32).filter_map(|_| bench.serve_packet().map(|it| (it.flow, it.serial))).collect();
    let of_one: Vec<_> = served.into_iter().filter(|(flow, _)| *flow == FlowId(1)).collect();
    assert_eq!(of_one.len(), 18);
    assert!(of_one.is_sorted());
}

#[test]
fn a_packet_that_waited_too_long_is_marked_except_in_the_fast_path() {
    let mut bench = Bench::<Fq>::new(&Params { mark_above: Some(ms(5)), ..Params::default() });
    offer(&mut bench, 1, 11, 500, PLAIN.with_ecn(Ecn::Ect0));
    offer(&mut bench, 1, 1, 500, PLAIN);
    bench.wait(ms(5));
    let mut marks = Vec::new();
    for number in 0..12 {
        if number == 10 {
            bench.wait(Duration::from_nanos(1));
        }
        marks.extend(bench.serve_packet().map(|packet| packet.header.tos.ecn() == Ecn::Ce));
    }
    // The ninth and tenth waited 5 ms, the eleventh longer; the twelfth is not ECN-capable, and is not lost.
    let marked: Vec<_> = (0..12).filter(|number| marks[*number]).collect();
    assert_eq!((marked, bench.dropped.len()), (vec![10], 0));
}

#[test]
fn flows_of_one_number_share_a_queue() {
    let mut bench = bench(&Params { initial_quantum: Bytes(500), quantum: Bytes(500), ..Params::default() });
    let number = |flow: u32| bench.queue.hash.word_of(flow.into()) % NUMBERS as u32;
    let other = (2..).find(|flow| number(*flow) == number(1)).unwrap_or_default();
    for _ in 0..3 {
        offer(&mut bench, 1, 1, 500, PLAIN);
        offer(&mut bench, other, 1, 500, PLAIN);
    }
    flows(&mut bench, 8);
    assert_eq!(flows(&mut bench, 6), [1, other, 1, other, 1, other]);
}

#[test]
fn a_host_that_leaves_takes_its_packets_out_of_all_queues() {
    let mut bench = Bench::<Fq>::new(&Params { limit: Packets(4), ..Params::default() });
    offer(&mut bench, 1, 10, 500, PLAIN);
    offer(&mut bench, 2, 2, 500, PLAIN);
    assert_eq!(bench.take_matching(FlowId(1)).len(), 10);
    assert_eq!((bench.queue.packets(), bench.queue.bytes()), (2, Bytes(1000)));
    offer(&mut bench, 1, 3, 500, PLAIN);
    assert_eq!(bench.lost(), [15], "two of the four places in the band are free");
}

#[test]
fn other_parameters_keep_the_contract_too() {
    let short = Params {
        limit: Packets(7),
        flow_limit: Packets(4),
        quantum: Bytes(300),
        initial_quantum: Bytes(0),
        refill_delay: ms(1),
        mark_above: Some(Duration::from_micros(100)),
    };
    let bypasses = check(&short);
    assert!(bypasses > 100, "the short cut was tried");
    check(&Params { flow_limit: Packets(1), ..short });
}

#[test]
fn a_new_flow_that_is_empty_passes_through_the_old_ones() {
    // `fq_dequeue`: "force a pass through old_flows to prevent starvation". Flow 3 has sent 3 of 1,500 + 3,000 B by then.
    let params = Params { initial_quantum: Bytes(1500), ..Params::default() };
    let mut bench = bench(&params);
    offer(&mut bench, 3, 20, 1000, FIRST);
    assert_eq!(flows(&mut bench, 11)[8..], [3; 3]);
    offer(&mut bench, 1, 1, 500, FIRST);
    assert_eq!(flows(&mut bench, 2), [1, 3]);
    offer(&mut bench, 1, 1, 500, FIRST);
    assert_eq!(flows(&mut bench, 3), [3, 1, 3], "no second turn as a new flow");
}
