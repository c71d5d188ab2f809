//! [ipf] figs. 5 and 6 in small numbers, the interpretations R1–R9, and the equality of M-RED and RED without marks.

use super::*;
use crate::aqm::red::{self, Red};
use crate::conformance::{Bench, MARKED, PLAIN, Step, check, packet, steps};
use proptest::prelude::*;
use roamlab_engine::{Duration, Time};
use roamlab_packet::{Ecn, FlowId};

/// A queue of 20 that tests from 5 to 10 with `avg_q_np` = the last sample of `q_size_np`.
fn params() -> Params {
    Params {
        limit: Packets(20),
        min_threshold: Packets(5),
        max_threshold: Packets(10),
        queue_weight: 1.0,
        max_p: 1e-9,
        ..Params::default()
    }
}

/// A queue in which `ordinary` packets without and then `priority` ones with the mark wait.
fn holding(ordinary: usize, priority: usize, params: &Params) -> Bench<Mred> {
    let mut bench = Bench::<Mred>::new(params);
    assert_eq!(bench.offer_many(ordinary, PLAIN), 0);
    assert_eq!(bench.offer_many(priority, MARKED), 0);
    bench
}

fn avg_q_np(bench: &Bench<Mred>) -> f64 {
    bench.queue.gauges().average
}

/// Losses of one more packet: `None`, or why.
fn offer(bench: &mut Bench<Mred>, tos: roamlab_packet::Tos) -> Option<DropReason> {
    let before = bench.dropped.len();
    bench.offer(packet(0, 512, tos));
    (bench.dropped.len() > before).then(|| bench.last_reason()).flatten()
}

#[test]
fn the_defaults_are_the_papers() {
    let params = Params::default();
    let red = red::Params::from(&params);
    assert_eq!((red.limit, red.min_threshold, red.max_threshold), (Packets(300), Packets(100), Packets(200)));
    assert_eq!((red.max_p, red.queue_weight, red.mean_packet), (0.02, 0.002, Bytes(512)));
    assert!(!red.gentle, "R8");
    assert_eq!(params.mark, Dscp::FORWARDED, "R9");
}

#[test]
fn priority_packets_are_in_neither_queue_size_nor_average() {
    // A window of 64 forwarded packets behind four ordinary ones: q_size 68, q_size_np 4.
    let mut bench = holding(4, 64, &Params { limit: Packets(300), ..params() });
    assert_eq!(bench.queue.packets(), 68);
    assert_eq!(bench.queue.gauges().forwarded, 64);
    assert_eq!(offer(&mut bench, PLAIN), None, "q_size_np 4 lies below TH_min, q_size above TH_max");
    assert_eq!(avg_q_np(&bench), 4.0);
    // RED counts them and drops everything.
    let red = red::Params::from(&Params { limit: Packets(300), ..params() });
    let mut red = Bench::<Red>::new(&red);
    red.offer_many(4, PLAIN);
    assert_eq!(red.offer_many(64, MARKED), 58, "from the eleventh on: avg_q = 10 = TH_max");
}

#[test]
fn the_average_of_the_paper_weighs_ordinary_arrivals_only() {
    // w_q = 0.002, samples 0 to 99: avg = Σ 0.002 · 0.998^(99−i) · i, whatever comes between them.
    let expected = (0..100).fold(0.0, |avg, sample| avg * 0.998 + 0.002 * f64::from(sample));
    let mut bench = Bench::<Mred>::new(&Params::default());
    for _ in 0..100 {
        bench.offer_many(1, PLAIN);
        bench.offer_many(1, MARKED);
    }
    assert!((avg_q_np(&bench) - expected).abs() < 1e-9, "{} is not {expected}", avg_q_np(&bench));
    assert_eq!((bench.queue.packets(), bench.queue.gauges().forwarded), (200, 100));
}

#[test]
fn r1_a_priority_arrival_can_be_a_sample() {
    for (average_on_priority, expected) in [(false, 3.0), (true, 4.0)] {
        let mut bench = holding(4, 0, &Params { average_on_priority, ..params() });
        assert_eq!(offer(&mut bench, MARKED), None);
        assert_eq!(avg_q_np(&bench), expected, "R1 {average_on_priority}");
    }
}

#[test]
fn r2_the_idle_period_runs_while_the_queue_is_empty_or_without_ordinary_packets() {
    // w_q = 0.5 and an average of 8. The ordinary packet goes at 0, the priority packet behind it waits until 10
    // slots of 2.048 ms have passed, and an ordinary one comes two slots later.
    let slot = Duration::from_micros(2048);
    let average = |np_idle| {
        let mut bench = holding(1, 1, &Params { queue_weight: 0.5, np_idle, ..params() });
        bench.queue.detector.average = 8.0;
        bench.serve();
        bench.wait(slot * 10);
        bench.serve();
        bench.wait(slot * 2);
        bench.queue.detector.params.min_threshold = Packets(9);
        assert_eq!(offer(&mut bench, PLAIN), None);
        avg_q_np(&bench)
    };
    assert!((average(NpIdle::QueueEmpty) - 8.0 / 4.0).abs() < 1e-12, "m = 2");
    assert!((average(NpIdle::NonPriorityEmpty) - 8.0 / 4096.0).abs() < 1e-12, "m = 12");
}

#[test]
fn r2_a_priority_packet_ends_the_idle_period_of_the_queue() {
    // An average of 8 decays by w_q = 0.5 over 3 slots; the slots in which the priority packet waits do not count.
    let slot = Duration::from_micros(2048);
    let average = |np_idle| {
        let mut bench = Bench::<Mred>::new(&Params { queue_weight: 0.5, np_idle, ..params() });
        bench.queue.detector.average = 8.0;
        bench.wait(slot * 3);
        assert_eq!(offer(&mut bench, MARKED), None);
        bench.wait(slot * 2);
        bench.offer_many(1, PLAIN);
        avg_q_np(&bench)
    };
    assert!((average(NpIdle::QueueEmpty) - 0.5).abs() < 1e-12, "8 / 2^3, then a sample of 0: half of it");
    assert!(
        (average(NpIdle::NonPriorityEmpty) - 0.25).abs() < 1e-12,
        "8 / 2^5; no sample ends an idle period"
    );
}

#[test]
fn r3_priority_arrivals_can_count_as_spared() {
    // In the band: six ordinary packets wait, of which the last met an average of 5 and set count to 0.
    for (count_priority, expected) in [(false, 0), (true, 3)] {
        let mut bench = holding(6, 3, &Params { count_priority, ..params() });
        assert_eq!(bench.queue.detector.count, expected, "R3 {count_priority}");
        // Below the band they do not, as in RED.
        bench = holding(3, 3, &Params { count_priority, ..params() });
        assert_eq!(bench.queue.detector.count, -1);
    }
}

#[test]
fn r3_an_overflow_of_a_priority_packet_can_reset_the_count() {
    for (priority_overflow_resets_count, expected) in [(false, 7), (true, 0)] {
        let params = Params { overflow_resets_count: true, priority_overflow_resets_count, ..params() };
        let mut bench = holding(6, 14, &params);
        bench.queue.detector.count = 7;
        assert_eq!(offer(&mut bench, MARKED), Some(DropReason::ForwardedOverflow));
        assert_eq!(bench.queue.detector.count, expected);
    }
}

#[test]
fn r4_beyond_the_threshold_only_priority_packets_pass() {
    let mut bench = holding(10, 0, &params());
    assert_eq!(offer(&mut bench, PLAIN), Some(DropReason::EarlyDrop), "avg_q_np = 10 = TH_max");
    assert_eq!(offer(&mut bench, MARKED), None);
    let mut bench = holding(10, 0, &Params { priority_passes_max: false, ..params() });
    assert_eq!(offer(&mut bench, PLAIN), Some(DropReason::EarlyDrop));
    assert_eq!(offer(&mut bench, MARKED), Some(DropReason::EarlyDrop));
}

#[test]
fn r5_a_full_queue_stops_priority_packets_too() {
    let full = |forwarded_at_full| holding(8, 12, &Params { forwarded_at_full, ..params() });
    let mut bench = full(ForwardedAtFull::Reject);
    assert_eq!(offer(&mut bench, MARKED), Some(DropReason::ForwardedOverflow));
    assert_eq!(offer(&mut bench, PLAIN), Some(DropReason::QueueOverflow), "the limit is that of all packets");
    let mut bench = full(ForwardedAtFull::PushOut);
    assert_eq!(offer(&mut bench, MARKED), Some(DropReason::QueueOverflow), "another made room");
    assert_eq!((bench.queue.packets(), bench.queue.gauges().forwarded), (20, 13));
    assert_eq!(bench.pool[&bench.dropped[0].0].serial, 8, "the ordinary packet nearest to the tail");
    let mut bench = full(ForwardedAtFull::OverflowAllow);
    assert_eq!(offer(&mut bench, MARKED), None);
    assert_eq!(bench.queue.packets(), 21);
    // "In the worst case scenario, in which all of the arriving packets are priority packets": [ipf] section III.
    let mut bench = holding(0, 20, &Params { forwarded_at_full: ForwardedAtFull::PushOut, ..params() });
    assert_eq!(offer(&mut bench, MARKED), Some(DropReason::ForwardedOverflow));
}

#[test]
fn r9_only_the_mark_is_a_mark() {
    let params = Params { mark: Dscp(46), ..params() };
    let mut bench = Bench::<Mred>::new(&params);
    assert_eq!(bench.offer_many(10, PLAIN), 0);
    assert_eq!(offer(&mut bench, MARKED), Some(DropReason::EarlyDrop), "code point 3 is no mark here");
    assert_eq!(offer(&mut bench, PLAIN.with_dscp(Dscp(46))), None);
}

#[test]
fn a_host_that_leaves_takes_its_packets_out_of_both_counts() {
    let mut bench = holding(3, 0, &params());
    bench.offer(packet(1, 512, MARKED));
    assert_eq!(bench.take_matching(FlowId(0)).len(), 3);
    assert_eq!((bench.queue.packets(), bench.queue.gauges().forwarded), (1, 1));
    assert_eq!(bench.queue.detector.idle_since, None, "a priority packet waits");
    assert_eq!(bench.take_matching(FlowId(1)).len(), 1);
    assert_eq!(bench.queue.detector.idle_since, Some(Time::ZERO));
}

#[test]
fn bytes_are_counted_by_kind_too() {
    let params = Params { threshold_unit: Unit::Bytes, limit: Packets(300), ..params() };
    let mut bench = holding(4, 64, &params);
    assert_eq!(offer(&mut bench, PLAIN), None);
    assert_eq!(avg_q_np(&bench), 4.0);
}

#[test]
fn other_interpretations_keep_the_contract_too() {
    let eager = Params { queue_weight: 0.5, limit: Packets(30), min_threshold: Packets(2), ..params() };
    check(&Params { forwarded_at_full: ForwardedAtFull::PushOut, count_priority: true, ..eager.clone() });
    check(&Params { forwarded_at_full: ForwardedAtFull::OverflowAllow, mark_ecn: true, ..eager.clone() });
    check(&Params { np_idle: NpIdle::NonPriorityEmpty, average_on_priority: true, ..eager.clone() });
    check(&Params { priority_passes_max: false, ..eager });
    check(&Params { priority_overflow_resets_count: true, ..Params::of(Rules::Ns2) });
}

/// M-RED's parameters, anything that RED allows and any interpretation.
fn any_params() -> impl Strategy<Value = Params> {
    let sizes = (1u32..40, 1u32..20, 1u32..20);
    let numbers = (0.001f64..1.0, prop_oneof![Just(0.002), Just(1.0), 0.001f64..1.0], 100u64..1500);
    let flags = (any::<[bool; 10]>(), any::<[bool; 6]>(), 0..3usize);
    (sizes, numbers, flags).prop_map(|((limit, min, span), (max_p, queue_weight, mean), (red, own, full))| {
        let rules = if red[0] { Rules::Ns2 } else { Rules::Floyd1993 };
        let unit = |bytes: bool| if bytes { Unit::Bytes } else { Unit::Packets };
        let params = Params {
            limit: Packets(limit + 1),
            min_threshold: Packets(min),
            max_threshold: Packets(min + span),
            max_p,
            queue_weight,
            mean_packet: Bytes(mean),
            threshold_unit: unit(red[1]),
            probability_unit: unit(red[2]),
            gentle: red[3],
            wait: red[4],
            use_mark_p: red[5],
            mark_ecn: red[6],
            idle_start: if red[7] { IdleStart::LinkIdle } else { IdleStart::QueueEmpty },
            count_in_service: red[8],
            sample_after_idle: red[9],
            average_on_priority: own[0],
            np_idle: if own[1] { NpIdle::NonPriorityEmpty } else { NpIdle::QueueEmpty },
            count_priority: own[2],
            priority_overflow_resets_count: own[3],
            priority_passes_max: own[4],
            forwarded_at_full: [
                ForwardedAtFull::Reject,
                ForwardedAtFull::PushOut,
                ForwardedAtFull::OverflowAllow,
            ][full],
            ..Params::of(rules)
        };
        assert_eq!(params.validate(), Ok(()));
        params
    })
}

/// Does a step, without the mark if it has one.
fn perform<D: QueueDisc>(bench: &mut Bench<D>, step: &Step) -> (Option<u64>, Vec<u64>) {
    match *step {
        Step::Offer { flow, size, tos } => {
            bench.offer(packet(flow, size, tos.with_dscp(Dscp::default())));
            (None, Vec::new())
        }
        Step::Serve => (bench.serve(), Vec::new()),
        Step::Extract(flow) => (None, bench.take_matching(FlowId(flow))),
        Step::Wait(span) => {
            bench.wait(span);
            (None, Vec::new())
        }
    }
}

proptest! {
    /// [ipf] section III: "identical to that of the RED buffer algorithm when there are no arriving priority
    /// packets", under every interpretation.
    #[test]
    fn without_priority_packets_every_decision_is_reds(params in any_params(), steps in steps()) {
        let mut mred = Bench::<Mred>::new(&params);
        let mut red = Bench::<Red>::new(&red::Params::from(&params));
        for step in &steps {
            prop_assert_eq!(perform(&mut mred, step), perform(&mut red, step));
            let reasons = |dropped: &[(PacketId, DropReason)]| -> Vec<DropReason> {
                dropped.iter().map(|(_, reason)| *reason).collect()
            };
            prop_assert_eq!(reasons(&mred.dropped), reasons(&red.dropped));
            prop_assert_eq!(mred.queue.gauges(), red.queue.gauges());
            prop_assert_eq!(mred.queue.detector.idle_since, red.queue.detector.idle_since);
            prop_assert_eq!((mred.queue.packets(), mred.queue.bytes()), (red.queue.packets(), red.queue.bytes()));
        }
    }
}

#[test]
fn a_priority_packet_is_not_marked_for_congestion() {
    let params = Params { mark_ecn: true, max_p: 1.0, ..params() };
    let mut bench = holding(4, 0, &params);
    bench.queue.detector.average = 9.0;
    assert_eq!(offer(&mut bench, MARKED.with_ecn(Ecn::Ect0)), None);
    let last = bench.queue.fifo.pop_last(&mut bench.pool).expect("it waits");
    assert_eq!(bench.pool[&last].inner_tos().ecn(), Ecn::Ect0, "no test, no congestion mark");
}

#[test]
fn r2_a_priority_packet_that_leaves_is_no_service_of_ordinary_ones() {
    // ns-2 begins the idle period where the link asks without result: here, for ordinary packets, while a
    // priority packet leaves.
    let params = Params { np_idle: NpIdle::NonPriorityEmpty, ..Params::of(crate::aqm::red::Rules::Ns2) };
    let mut bench = Bench::<Mred>::new(&params);
    assert_eq!(offer(&mut bench, PLAIN), None);
    bench.serve();
    assert_eq!(bench.queue.detector.idle_since, None, "the link has not asked without result");
    assert_eq!(offer(&mut bench, MARKED), None);
    bench.wait(Duration::from_millis(1));
    bench.serve();
    assert_eq!(bench.queue.detector.idle_since, Some(bench.now));
}
