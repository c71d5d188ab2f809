//! Long random histories of every discipline, under many parameters.
//!
//! `ROAMLAB_OPERATIONS=100000000 cargo test -p roamlab-qdisc --lib operations` makes more than the tests do, in a minute.

use super::{Bench, MARKED, PLAIN, Step, keeps_the_laws, packet};
use crate::{NAMES, Parameters, Qdisc, QueueDisc, QueueSpec};
use roamlab_engine::{Bytes, Duration, Packets, Rng};
use roamlab_packet::{DropReason, Ecn};
use std::collections::BTreeMap;

/// Operations of a history. Each is done five times: in twins, with a short cut and without, and for the estimate.
const LENGTH: usize = 20_000;

/// Parameters other than the defaults: short queues, short times, every option that changes what a packet does.
const OTHERS: &[&str] = &[
    "kind = 'droptail'\nlimit = '7 pkt'\nlimit_bytes = '6 kB'",
    "kind = 'droptail'\nlimit = '9 pkt'\ncount_in_service = true",
    "kind = 'head-drop'\nlimit = '7 pkt'",
    "kind = 'head-drop'\nlimit_bytes = '6 kB'\nspare_forwarded = true\nforwarded_at_full = 'push-out'",
    "kind = 'red'\nlimit = '30 pkt'\nmin_threshold = '2 pkt'\nmax_threshold = '8 pkt'\nqueue_weight = 0.1",
    "kind = 'red'\nrules = 'ns2'\nlimit = '30 pkt'\nmark_ecn = true\nqueue_weight = 0.05",
    "kind = 'linux-red'\nlimit = '20 kB'\nmean_packet = '500 B'\nmax_p = 0.5\nmark_ecn = true",
    "kind = 'linux-red'\nlimit = '40 kB'\nburst = '5 pkt'\nmax_p = 0.3\nmark_ecn = true\nno_drop = true\nhard_drop = true",
    "kind = 'mred'\nlimit = '30 pkt'\nmin_threshold = '2 pkt'\nmax_threshold = '8 pkt'\nqueue_weight = 0.1",
    "kind = 'blue'\nlimit = '9 pkt'\nd1 = 0.1\nd2 = 0.02\nmark_ecn = true\nidle_mode = 'continuous'",
    "kind = 'mblue'\nlimit = '9 pkt'\nthreshold = '4 pkt'\nd1 = 0.1\nforwarded_at_full = 'push-out'",
    "kind = 'codel'\nlimit = '30 pkt'\ntarget = '500 us'\ninterval = '3 ms'\nmark_ecn = true",
    "kind = 'codel'\nrules = 'linux'\ninterval = '3 ms'\nspare_forwarded = true\nforwarded_at_full = 'overflow-allow'",
    "kind = 'fq-codel'\nqueues = 3\nlimit = '30 pkt'\nquantum = '300 B'\ndrop_batch = '4 pkt'\ninterval = '3 ms'",
    "kind = 'fq-codel'\nlimit_bytes = '9 kB'\nspare_forwarded = true\nforwarded_at_full = 'push-out'",
    "kind = 'fq'\nlimit = '9 pkt'\nquantum = '300 B'\ninitial_quantum = '0 B'\nmark_above = '500 us'",
    "kind = 'fq'\nflow_limit = '3 pkt'\nquantum = '256 B'\ninitial_quantum = '600 B'\nrefill_delay = '1 ms'",
    "kind = 'cake'\nlimit_bytes = '9 kB'\nrtt = '3 ms'\ntarget = '500 us'\ntins = 'besteffort'",
    "kind = 'cake'\nlimit_bytes = '20 kB'\nrtt = '1 ms'\ntarget = '100 us'\ntins = 'precedence'\nisolation = 'dual-dsthost'",
    "kind = 'pie'\nlimit = '60 pkt'\ntarget = '1 ms'\nupdate_interval = '1 ms'\nmax_burst = '0 ms'\nmark_ecn = true",
    "kind = 'pie'\nrules = 'linux'\nalpha = 50.0\nbeta = 500.0\nmax_burst = '0 ms'\nderandomise = false",
    "kind = 'dualpi2'\nlimit = '60 pkt'\nalpha = 20.0\nbeta = 200.0\ntarget = '1 ms'",
    "kind = 'dualpi2'\ndrop_on_overload = false\nalpha = 20.0\nspare_forwarded = true\nforwarded_at_full = 'push-out'",
    "kind = 'rlc'\nlimit = '30 pkt'\ndiscard_timer = '500 us'\nmark_above = '200 us'\nmark_weight = 0.2",
    "kind = 'rlc'\nlimit_bytes = '6 kB'\nfive_qi = 82\nspare_forwarded = true\nforwarded_at_full = 'push-out'",
];

/// All parameters that are tried.
pub(super) fn specs() -> Vec<QueueSpec> {
    let defaults = NAMES.iter().map(|name| format!("kind = '{name}'"));
    let texts = defaults.chain(OTHERS.iter().map(|text| (*text).to_owned()));
    let read = |text: String| match toml::from_str::<QueueSpec>(&text) {
        Ok(spec) if spec.validate().is_ok() => spec,
        other => panic!("{text}: {other:?}"),
    };
    texts.map(read).collect()
}

/// The steps of history `number`. Each has its own shares of arrivals, departures and pauses, so that some fill the
/// queue, others keep it empty, and pauses are from some µs to some 100 ms.
pub(super) fn history(number: u64) -> Vec<Step> {
    let mut rng = Rng::named(number, 0, "operations");
    let mut below = |end: u64| (rng.uniform() * end as f64) as u64;
    let serves = 1 + below(16);
    let (extractions, longest) = (below(3) * below(2), 10_u64.pow(4 + below(5) as u32));
    let pauses = 1 + below(6);
    let mut step = || {
        let mut at = below(240 + 20 * serves + extractions + 20 * pauses);
        if at < 240 {
            let flow = below(4) as u32;
            let tos = [PLAIN, PLAIN, MARKED, PLAIN.with_ecn(Ecn::Ect0)][below(4) as usize];
            // One of the flows is L4S.
            let tos = if flow == 3 { tos.with_ecn(Ecn::Ect1) } else { tos };
            return Step::Offer { flow, size: 40 + below(1460), tos };
        }
        at -= 240;
        if at < 20 * serves {
            return Step::Serve;
        }
        at -= 20 * serves;
        if at < extractions {
            return Step::Extract(below(4) as u32);
        }
        Step::Wait(Duration::from_nanos(below(longest)))
    };
    (0..LENGTH).map(|_| step()).collect()
}

#[test]
fn random_operations_violate_no_law() {
    #[expect(clippy::disallowed_methods, reason = "a test may be asked for more")]
    let wanted: Option<usize> =
        std::env::var("ROAMLAB_OPERATIONS").ok().and_then(|number| number.parse().ok());
    let specs = specs();
    let each = wanted.unwrap_or(0).div_ceil(LENGTH * specs.len()).max(1);
    // Operations, and packets lost among them.
    let mut done: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (place, spec) in specs.iter().enumerate() {
        for number in 0..each {
            let steps = history((place * each + number) as u64);
            let (_, lost) = keeps_the_laws::<Qdisc>(spec, &steps)
                .unwrap_or_else(|failure| panic!("{spec:?}, history {}: {failure}", place * each + number));
            let (operations, losses) = done.entry(spec.name()).or_default();
            *operations += steps.len();
            *losses += lost;
        }
    }
    assert_eq!(done.len(), NAMES.len());
    assert!(done.values().map(|(operations, _)| operations).sum::<usize>() >= wanted.unwrap_or(0));
    assert!(done.values().all(|(_, losses)| *losses > 0), "{done:?}");
    println!("{done:?}");
}

/// The packets and bytes that may wait by these parameters.
fn limits(spec: &QueueSpec) -> (usize, u64) {
    let spec = serde_json::to_value(spec).unwrap();
    let fields = ["limit", "limit_bytes"].map(|name| spec.get(name).cloned().unwrap_or_default());
    let packets = fields.iter().find_map(|field| serde_json::from_value::<Packets>(field.clone()).ok());
    let bytes = fields.iter().find_map(|field| serde_json::from_value::<Bytes>(field.clone()).ok());
    let in_service = spec.get("count_in_service").is_some_and(|counts| counts == true);
    let packets = packets.map_or(usize::MAX, |limit| limit.0 as usize - usize::from(in_service));
    (packets, bytes.map_or(u64::MAX, |limit| limit.0))
}

/// A packet is lost as an overflow exactly if it finds no room: a limit may be reached, and not be exceeded. The sizes
/// are multiples of 500 B, so that they fill a limit in kB to the byte.
#[test]
fn a_limit_may_be_reached_and_not_exceeded() {
    let is_overflow =
        |reason: DropReason| matches!(reason, DropReason::QueueOverflow | DropReason::ForwardedOverflow);
    let (mut reached, mut overflows) = (BTreeMap::<&str, usize>::new(), 0);
    // fq's limits are for a band and for a flow, and ns-2's RED in bytes is full from its limit on: their own tests have them.
    let is_other =
        |spec: &QueueSpec| spec.name() == "fq" || format!("{spec:?}").contains("threshold_unit: Bytes");
    for (place, spec) in specs().iter().enumerate().filter(|(_, spec)| !is_other(spec)) {
        let (packets, bytes) = limits(spec);
        let exceeds = |count: usize, size: u64| count > packets || size > bytes;
        let may_exceed = format!("{spec:?}").contains("OverflowAllow");
        let mut bench = Bench::<Qdisc>::new(spec);
        for step in (0..8).flat_map(|number| history(8 * place as u64 + number).into_iter().take(600)) {
            let Step::Offer { flow, size, tos } = step else {
                bench.take(&step);
                continue;
            };
            let (size, before) = (size.div_ceil(500) * 500, bench.dropped.len());
            let full = exceeds(bench.queue.packets() + 1, bench.queue.bytes().0 + size);
            bench.offer(packet(flow, size, tos));
            let (count, waiting) = (bench.queue.packets(), bench.queue.bytes().0);
            let lost = &bench.dropped[before..];
            let overflow = lost.iter().any(|(_, reason)| is_overflow(*reason));
            assert!(
                full || !overflow,
                "{spec:?}: lost with {count} packets, {waiting} B, though there is room"
            );
            assert!(may_exceed || !exceeds(count, waiting), "{spec:?}: {count} packets and {waiting} B wait");
            if spec.name() == "head-drop"
                && let Some((last, _)) = lost.last()
            {
                let size = bench.pool[last].wire_size().0;
                assert!(exceeds(count + 1, waiting + size), "{spec:?}: the last one that was lost had room");
            }
            *reached.entry(spec.name()).or_default() += usize::from(count == packets || waiting == bytes);
            overflows += usize::from(overflow);
        }
    }
    assert!(overflows > 1_000, "{overflows}");
    for name in
        ["droptail", "head-drop", "red", "linux-red", "mred", "blue", "mblue", "fq-codel", "rlc", "cake"]
    {
        assert!(reached.get(name).is_some_and(|times| *times > 20), "{name}: {reached:?}");
    }
}
