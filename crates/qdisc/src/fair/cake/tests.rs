//! Scripts with the numbers of Linux's source: a turn of 1,514 B, divided by the bulk flows of a host; sets of eight queues.

use super::*;
use crate::conformance::{Bench, MARKED, PLAIN, check, packet};
use roamlab_engine::Time;
use roamlab_packet::{Dscp, Ecn, IpHeader, Packet, Tos, UdpHeader};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn bench(tins: Tins, isolation: Isolation) -> Bench<Cake> {
    Bench::new(&Params { tins, isolation, ..Params::default() })
}

fn offer(bench: &mut Bench<Cake>, flow: u32, count: usize, size: u64, tos: Tos) {
    for _ in 0..count {
        bench.offer(packet(flow, size, tos));
    }
}

/// Offers packets of a flow between two hosts.
fn offer_between(bench: &mut Bench<Cake>, flow: u32, hosts: (u32, u32), count: usize) {
    for _ in 0..count {
        let header = IpHeader::new(Addr::node(hosts.0), Addr::node(hosts.1), PLAIN);
        let body = UdpHeader::default();
        bench.offer(Packet::make(FlowId(flow), header, Bytes(500), Time::ZERO, body));
    }
}

/// The flows of the next packets.
fn flows(bench: &mut Bench<Cake>, count: usize) -> Vec<u32> {
    (0..count).filter_map(|_| bench.serve_packet().map(|packet| packet.flow.0)).collect()
}

/// How many of the next packets are of each of `N` flows.
fn counts<const N: usize>(bench: &mut Bench<Cake>, packets: usize) -> [usize; N] {
    let mut counts = [0; N];
    flows(bench, packets).into_iter().for_each(|flow| counts[flow as usize] += 1);
    counts
}

#[test]
fn a_turn_is_a_large_packet() {
    let mut bench = bench(Tins::Besteffort, Isolation::Flows);
    offer(&mut bench, 1, 8, 1500, PLAIN);
    offer(&mut bench, 2, 8, 1500, PLAIN);
    // 1514 − 1500 = 14 are left, so one more; then −1486 + 1514 = 28.
    assert_eq!(flows(&mut bench, 10), [1, 1, 2, 2, 1, 2, 1, 2, 1, 2]);
}

#[test]
fn a_new_flow_comes_before_those_that_have_sent() {
    let mut bench = bench(Tins::Besteffort, Isolation::TripleIsolate);
    offer(&mut bench, 1, 20, 1500, PLAIN);
    offer(&mut bench, 2, 20, 1500, PLAIN);
    flows(&mut bench, 6);
    offer(&mut bench, 3, 1, 100, PLAIN);
    assert_eq!(bench.head(), Some(41));
    assert_eq!(flows(&mut bench, 1), [3]);
}

#[test]
fn a_sparse_flow_is_new_again_each_time() {
    // Unlike in FQ-CoDel: an empty flow decays, and is in no turn.
    let mut bench = bench(Tins::Besteffort, Isolation::Flows);
    offer(&mut bench, 1, 200, 1500, PLAIN);
    flows(&mut bench, 3);
    for _ in 0..50 {
        offer(&mut bench, 2, 1, 200, PLAIN);
        assert_eq!(flows(&mut bench, 1), [2]);
        // Its queue is found empty, and flow 1 has its turn.
        assert_eq!(flows(&mut bench, 1), [1]);
    }
}

#[test]
fn flows_share_equally_and_hosts_do_not() {
    let mut bench = bench(Tins::Besteffort, Isolation::Flows);
    (0..3).for_each(|flow| offer_between(&mut bench, flow, (1, 9), 400));
    offer_between(&mut bench, 3, (2, 9), 400);
    let counts: [_; 4] = counts(&mut bench, 800);
    assert!(counts.iter().all(|count| count.abs_diff(200) <= 6), "{counts:?}");
}

#[test]
fn sources_share_equally_and_so_do_the_flows_of_each() {
    for (isolation, is_source) in [
        (Isolation::DualSrchost, true),
        (Isolation::DualDsthost, false),
        (Isolation::TripleIsolate, true),
        (Isolation::TripleIsolate, false),
    ] {
        let mut bench = bench(Tins::Besteffort, isolation);
        let hosts = |host: u32| if is_source { (host, 100 + host) } else { (100 + host, host) };
        (0..3).for_each(|flow| offer_between(&mut bench, flow, hosts(1), 400));
        offer_between(&mut bench, 3, hosts(2), 500);
        let counts: [_; 4] = counts(&mut bench, 900);
        // Three flows have a third of 1,514 B in each turn, the other one has all of it.
        let near = |count: usize, share: usize| count.abs_diff(share) <= 10;
        assert!(near(counts[3], 450) && counts[..3].iter().all(|count| near(*count, 150)), "{counts:?}");
    }
}

#[test]
fn triple_isolation_goes_by_the_busier_end() {
    // Flows 0 and 1 have one source, flows 1 and 2 one destination. Each has a neighbour at one end.
    let mut bench = bench(Tins::Besteffort, Isolation::TripleIsolate);
    for (flow, hosts) in [(0, (1, 10)), (1, (1, 20)), (2, (2, 20)), (3, (3, 30))] {
        offer_between(&mut bench, flow, hosts, 400);
    }
    let counts: [_; 4] = counts(&mut bench, 1000);
    assert!(counts[3].abs_diff(400) <= 10, "{counts:?}");
    assert!(counts[..3].iter().all(|count| count.abs_diff(200) <= 10), "{counts:?}");
}

#[test]
fn hosts_and_all_can_have_one_queue() {
    for (isolation, expected) in [
        (Isolation::Flowblind, [0, 1, 2, 0, 1, 2]),
        (Isolation::Srchost, [0, 1, 0, 1, 2, 2]),
        (Isolation::Dsthost, [0, 0, 1, 2, 1, 2]),
        (Isolation::Hosts, [0, 0, 1, 1, 2, 2]),
    ] {
        let mut bench = bench(Tins::Besteffort, isolation);
        for _ in 0..2 {
            for (flow, hosts) in [(0, (1, 10)), (1, (1, 20)), (2, (2, 20))] {
                offer_between(&mut bench, flow, hosts, 1);
            }
        }
        assert_eq!(flows(&mut bench, 6), expected, "{isolation:?}");
    }
}

#[test]
fn eight_flows_of_one_set_have_a_queue_each_and_the_ninth_shares_one() {
    let law = Params::default().law();
    let mut tin = Tin::new(1, law);
    let mut place = |number: u32| {
        let hashes = Hashes { flow: number * 1024 + 13, hosts: [0; 2] };
        let place = tin.find(hashes, [false; 2]);
        tin.add(place, 100);
        tin.begin(place, [false; 2], &mut || 0);
        place
    };
    let places: Vec<_> = (1..=9).map(&mut place).collect();
    assert_eq!(places, [13, 14, 15, 8, 9, 10, 11, 12, 13]);
    assert_eq!(place(4), 8, "a flow is found where it was put");
    assert_eq!(place(9), 13);
}

#[test]
fn two_hundred_flows_have_two_hundred_queues() {
    // One of 1,024 queues by the hash alone would give some twenty collisions.
    let mut bench = bench(Tins::Besteffort, Isolation::Flows);
    (0..200).for_each(|flow| offer(&mut bench, flow, 2, 1500, PLAIN));
    let served = flows(&mut bench, 400);
    let expected: Vec<_> = (0..200).flat_map(|flow| [flow; 2]).collect();
    assert_eq!(served, expected);
}

/// When packets of a flow are lost or marked, in ms: 300 packets that wait, one served each ms.
fn notices(tos: Tos) -> (Vec<u64>, usize) {
    let mut bench = bench(Tins::Besteffort, Isolation::Flows);
    offer(&mut bench, 1, 300, 512, tos);
    let (mut times, mut marks) = (Vec::new(), 0);
    for millis in 0..200 {
        let lost = bench.dropped.len();
        let is_marked = bench.serve_packet().is_some_and(|packet| packet.header.tos.ecn() == Ecn::Ce);
        marks += usize::from(is_marked);
        if is_marked || bench.dropped.len() > lost {
            times.push(millis);
        }
        bench.wait(ms(1));
    }
    (times, marks)
}

#[test]
fn cobalt_drops_or_marks_as_codel_but_does_not_wait_for_the_first() {
    // Above the target at 6 ms; then after 100, 70.7, 57.7 and 50 ms / 1, of which the first is left out: a new flow's root is 0.
    let expected = vec![7, 77, 135, 185];
    assert_eq!(notices(PLAIN), (expected.clone(), 0));
    assert_eq!(notices(PLAIN.with_ecn(Ecn::Ect0)), (expected, 4));
}

#[test]
fn the_last_packet_of_a_flow_is_not_lost() {
    let mut bench = bench(Tins::Besteffort, Isolation::Flows);
    offer(&mut bench, 1, 2, 512, PLAIN);
    bench.wait(ms(500));
    assert_eq!(flows(&mut bench, 2), [1, 1]);
    offer(&mut bench, 1, 2, 512, PLAIN);
    bench.wait(ms(500));
    // Its first packet is due, and lost; the second is the last.
    assert_eq!(bench.serve(), Some(4));
    assert_eq!((bench.lost(), bench.last_reason()), (vec![3], Some(DropReason::EarlyDrop)));
}

#[test]
fn an_overflow_takes_the_head_of_the_longest_flow() {
    let mut bench = Bench::<Cake>::new(&Params { limit_bytes: Bytes(5000), ..Params::default() });
    offer(&mut bench, 1, 6, 500, PLAIN);
    offer(&mut bench, 2, 4, 500, PLAIN);
    assert!(bench.dropped.is_empty());
    offer(&mut bench, 2, 1, 500, PLAIN);
    assert_eq!((bench.lost(), bench.last_reason()), (vec![1], Some(DropReason::QueueOverflow)));
    offer(&mut bench, 3, 1, 1400, MARKED);
    // 6,400 B wait, 2,500 B of each of two flows: one of each is lost, and another one.
    assert_eq!(bench.lost().len(), 4);
    assert_eq!((bench.queue.bytes(), bench.queue.gauges().forwarded), (Bytes(4900), 1));
}

#[test]
fn tins_share_by_weight() {
    let mut bench = bench(Tins::Diffserv3, Isolation::Flows);
    for (flow, dscp) in [(0, 0), (1, 8), (2, 46)] {
        offer(&mut bench, flow, 4000, 64, PLAIN.with_dscp(Dscp(dscp)));
    }
    // 1024, 64 and 256 B: 16, 1 and 4 packets.
    let counts: [_; 3] = counts(&mut bench, 2100);
    assert!(
        counts.iter().zip([1600, 100, 400]).all(|(count, share)| count.abs_diff(share) <= 16),
        "{counts:?}"
    );
}

#[test]
fn code_points_have_the_tins_of_the_paper() {
    let tins = [Tins::Besteffort, Tins::Diffserv3, Tins::Diffserv4, Tins::Diffserv8, Tins::Precedence];
    for (dscp, expected) in [
        (0, [0, 0, 0, 2, 0]),
        // LE, CS1, AF11.
        (1, [0, 1, 1, 0, 0]),
        (8, [0, 1, 1, 1, 1]),
        (10, [0, 0, 0, 1, 1]),
        // CS2, AF21, AF41.
        (16, [0, 0, 2, 5, 2]),
        (18, [0, 0, 2, 4, 2]),
        (34, [0, 0, 2, 3, 4]),
        // CS4, EF, CS6; the mark of forwarded packets.
        (32, [0, 0, 3, 6, 4]),
        (46, [0, 2, 3, 6, 5]),
        (48, [0, 2, 3, 7, 6]),
        (3, [0, 0, 0, 2, 0]),
    ] {
        assert_eq!(tins.map(|tins| tins.of(dscp)), expected, "{dscp}");
    }
    assert_eq!(Tins::Diffserv8.weights(), [256, 224, 196, 171, 149, 130, 113, 98]);
}

#[test]
fn a_host_that_leaves_takes_its_packets_out_of_all_tins() {
    let mut bench = Bench::<Cake>::new(&Params { limit_bytes: Bytes(4000), ..Params::default() });
    offer(&mut bench, 1, 5, 500, PLAIN);
    offer(&mut bench, 1, 3, 500, PLAIN.with_dscp(Dscp(46)));
    offer(&mut bench, 2, 1, 500, PLAIN);
    assert_eq!(bench.lost(), [1]);
    assert_eq!(bench.take_matching(FlowId(1)).len(), 7);
    assert_eq!((bench.queue.packets(), bench.queue.bytes()), (1, Bytes(500)));
    offer(&mut bench, 3, 8, 500, PLAIN);
    assert_eq!(bench.lost(), [1, 10], "the longest flow is another one");
}

#[test]
fn a_packet_in_a_tunnel_is_of_its_inner_ends() {
    let mut bench = bench(Tins::Diffserv3, Isolation::Dsthost);
    let serial = bench.offer_tunnelled(packet(1, 500, PLAIN), PLAIN.with_dscp(Dscp(46)));
    offer(&mut bench, 1, 1, 500, PLAIN);
    assert_eq!(serial, 1);
    // The outer code point chooses the tin.
    let of_tins = bench.queue.lines.iter().map(|lines| lines.iter().map(|line| line.packets()).sum());
    assert_eq!(of_tins.collect::<Vec<usize>>(), [1, 0, 1]);
}

#[test]
fn other_parameters_keep_the_contract_too() {
    let fast = Params {
        rtt: Duration::from_micros(100),
        target: Duration::from_micros(10),
        limit_bytes: Bytes(5000),
        ..Params::default()
    };
    for (tins, isolation) in [
        (Tins::Besteffort, Isolation::Flowblind),
        (Tins::Diffserv4, Isolation::DualSrchost),
        (Tins::Diffserv8, Isolation::Hosts),
        (Tins::Precedence, Isolation::TripleIsolate),
    ] {
        check(&Params { tins, isolation, ..fast.clone() });
    }
}

#[test]
fn flows_that_have_ended_are_no_load_of_their_host() {
    // `cake_dec_srchost_bulk_flow_count`: a bulk flow that becomes idle leaves its host's share to the
    // others.
    let mut bench = bench(Tins::Besteffort, Isolation::DualSrchost);
    (0..8).for_each(|flow| offer_between(&mut bench, flow, (1, 101), 20));
    while bench.serve().is_some() {}
    bench.wait(ms(1000));
    for _ in 0..3 {
        // Queues become idle where their turn finds them empty.
        offer_between(&mut bench, 9, (3, 103), 8);
        while bench.serve().is_some() {}
        bench.wait(ms(1000));
    }
    offer_between(&mut bench, 0, (1, 101), 200);
    offer_between(&mut bench, 8, (2, 102), 200);
    let counts: [_; 9] = counts(&mut bench, 200);
    assert!(counts[0].abs_diff(counts[8]) <= 10, "{counts:?}");
}

#[test]
fn a_sparse_flow_that_has_sent_all_waits_and_is_no_bulk_flow() {
    // `cake_dequeue`: CAKE_SET_SPARSE_WAIT behind a turn that used its credit up, CAKE_SET_BULK only if packets wait.
    let mut bench = bench(Tins::Besteffort, Isolation::TripleIsolate);
    offer(&mut bench, 1, 1, 1600, PLAIN);
    offer(&mut bench, 2, 2, 1500, PLAIN);
    assert_eq!(flows(&mut bench, 2), [1, 2]);
    let tin = &bench.queue.schedule.tins[0];
    assert_eq!(tin.get(tin.number_at(0)).map(|flow| flow.set), Some(tin::Set::SparseWait));
}

#[test]
fn a_tin_with_nothing_to_send_gets_its_quantum_up_to_a_deficit_of_zero() {
    // `cake_dequeue`: tin_deficit <= 0 gets tin_quantum before the next tin is looked at.
    let mut bench = bench(Tins::Diffserv3, Isolation::TripleIsolate);
    offer(&mut bench, 1, 1, 500, PLAIN.with_dscp(Dscp(8)));
    assert!(bench.serve().is_some());
    let deficits: Vec<i64> = bench.queue.schedule.tins.iter().map(|tin| tin.deficit).collect();
    assert_eq!(deficits, [1024, -500, 0]);
}
