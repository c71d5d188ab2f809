//! The contract of every discipline, for any parameters. Each row of the table is checked, and each discipline checks
//! its options with it. The contract leaves the order between flows to the discipline.

use crate::{Gauges, Qdisc, QdiscCx, QueueDisc, QueueSpec};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use roamlab_engine::{Bytes, Duration, Rate, Rng, Time};
use roamlab_packet::{
    Addr, DropReason, Dscp, Ecn, FlowId, IpHeader, NewPacket, Packet, PacketId, PacketPool, Tos, UdpHeader,
};
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};

mod operations;
mod recorded;

/// A queue with a clock, packets and a list of drops.
pub(crate) struct Bench<D> {
    pub queue: D,
    pub pool: PacketPool,
    pub now: Time,
    pub dropped: Vec<(PacketId, DropReason)>,
}

impl<D: QueueDisc> Bench<D> {
    /// An empty queue at time 0 before a link of 2 Mbit/s.
    pub(crate) fn new(params: &D::Params) -> Bench<D> {
        let queue = D::new(params, Rng::named(1, 0, "bench"));
        Bench { queue, pool: PacketPool::default(), now: Time::ZERO, dropped: Vec::new() }
    }

    fn with_cx<R>(&mut self, act: impl FnOnce(&mut D, &mut QdiscCx<'_>) -> R) -> R {
        let mut cx = QdiscCx {
            now: self.now,
            pool: &mut self.pool,
            rate: Rate::from_bps(2_000_000),
            dropped: &mut self.dropped,
        };
        act(&mut self.queue, &mut cx)
    }

    /// Offers a packet; its serial number.
    pub(crate) fn offer(&mut self, packet: NewPacket) -> u64 {
        let packet = self.pool.create(packet);
        self.enqueue(packet)
    }

    /// Offers a packet that is in a tunnel with this outer ToS; its serial number.
    pub(crate) fn offer_tunnelled(&mut self, packet: NewPacket, tos: Tos) -> u64 {
        let packet = self.pool.create(packet);
        let outer = IpHeader { tos, ..self.pool[&packet].header };
        assert!(self.pool.encapsulate(&packet, outer));
        self.enqueue(packet)
    }

    fn enqueue(&mut self, packet: PacketId) -> u64 {
        let serial = self.pool[&packet].serial;
        self.with_cx(|queue, cx| queue.enqueue(packet, cx));
        serial
    }

    /// Takes a step and ignores the result.
    fn take(&mut self, step: &Step) {
        match *step {
            Step::Offer { flow, size, tos } => drop(self.offer(packet(flow, size, tos))),
            Step::Serve => drop(self.serve()),
            Step::Extract(flow) => drop(self.take_matching(FlowId(flow))),
            Step::Wait(span) => self.wait(span),
        }
    }

    /// Offers `count` packets of 512 B; how many of them were lost.
    pub(crate) fn offer_many(&mut self, count: usize, tos: Tos) -> usize {
        let before = self.dropped.len();
        for _ in 0..count {
            self.offer(packet(0, 512, tos));
        }
        self.dropped.len() - before
    }

    /// Asks for the next packet and delivers it; its serial number.
    pub(crate) fn serve(&mut self) -> Option<u64> {
        self.serve_packet().map(|packet| packet.serial)
    }

    /// Asks for the next packet and delivers it.
    pub(crate) fn serve_packet(&mut self) -> Option<&Packet> {
        let packet = self.with_cx(|queue, cx| queue.dequeue(cx))?;
        Some(self.pool.deliver(packet))
    }

    /// Empties the queue and lets the link fall idle.
    pub(crate) fn drain(&mut self) {
        while self.serve().is_some() {}
    }

    /// Takes the packets of `flow` out; their serial numbers.
    pub(crate) fn take_matching(&mut self, flow: FlowId) -> Vec<u64> {
        let taken = self.with_cx(|queue, cx| queue.take_matching(&|packet, _| packet.flow == flow, cx));
        taken.into_iter().map(|packet| self.pool.deliver(packet).serial).collect()
    }

    /// Lets time pass.
    pub(crate) fn wait(&mut self, span: Duration) {
        self.now += span;
    }

    /// The serial number of the packet that is next.
    pub(crate) fn head(&self) -> Option<u64> {
        self.queue.head().map(|packet| self.pool[packet].serial)
    }

    /// Offers a packet; whether one was lost then.
    pub(crate) fn offer_is_lost(&mut self, packet: NewPacket) -> bool {
        let before = self.dropped.len();
        self.offer(packet);
        self.dropped.len() > before
    }

    /// The serial numbers of the lost packets, in order.
    pub(crate) fn lost(&self) -> Vec<u64> {
        self.dropped.iter().map(|(packet, _)| self.pool[packet].serial).collect()
    }

    /// Why the last packet was lost.
    pub(crate) fn last_reason(&self) -> Option<DropReason> {
        self.dropped.last().map(|(_, reason)| *reason)
    }
}

/// A datagram of `size` bytes.
pub(crate) fn packet(flow: u32, size: u64, tos: Tos) -> NewPacket {
    let header = IpHeader::new(Addr::new(1, 0), Addr::new(2, 0), tos);
    Packet::make(FlowId(flow), header, Bytes(size), Time::ZERO, UdpHeader::default())
}

/// An ordinary packet's ToS.
pub(crate) const PLAIN: Tos = Tos(0);
/// A forwarded packet's ToS.
pub(crate) const MARKED: Tos = Tos(0).with_dscp(Dscp::FORWARDED);

/// One thing that happens to a queue.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Offer { flow: u32, size: u64, tos: Tos },
    Serve,
    Extract(u32),
    Wait(Duration),
}

/// Histories of a queue.
pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let tos = prop_oneof![4 => Just(PLAIN), 1 => Just(MARKED), 1 => Just(PLAIN.with_ecn(Ecn::Ect0))];
    let step = prop_oneof![
        12 => (0u32..4, 40u64..1500, tos).prop_map(|(flow, size, tos)| {
            // One of the flows is L4S.
            let tos = if flow == 3 { tos.with_ecn(Ecn::Ect1) } else { tos };
            Step::Offer { flow, size, tos }
        }),
        4 => Just(Step::Serve),
        1 => (0u32..4).prop_map(Step::Extract),
        3 => (0u64..3_000_000).prop_map(|ns| Step::Wait(Duration::from_nanos(ns))),
    ];
    prop::collection::vec(step, 1..500)
}

/// Checks conservation, order within flows, extraction, service, the short cut and determinism on random
/// histories, and that an empty queue accepts its first packets. Returns in how many cases a packet could skip the queue.
pub(crate) fn check<P: Clone + Into<QueueSpec>>(params: &P) -> usize {
    check_queue::<Qdisc>(&params.clone().into())
}

fn check_queue<D: QueueDisc>(params: &D::Params) -> usize {
    let mut fresh = Bench::<D>::new(params);
    assert_eq!(fresh.offer_many(3, PLAIN), 0, "a fresh queue drops none of its first packets");

    let config = Config { cases: 48, failure_persistence: None, ..Config::default() };
    let bypasses = Cell::new(0);
    let outcome = TestRunner::new(config).run(&steps(), |steps| {
        bypasses.set(bypasses.get() + keeps_the_laws::<D>(params, &steps)?.0);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    bypasses.get()
}

/// Checks a history; how many packets could skip the queue, and how many were lost.
fn keeps_the_laws<D: QueueDisc>(params: &D::Params, steps: &[Step]) -> Result<(usize, usize), TestCaseError> {
    let history = follow::<D>(params, steps)?;
    let lost = history.1.len();
    prop_assert_eq!(history, follow::<D>(params, steps)?, "twin runs differ");
    let (in_steps, _) =
        pass_idle::<D>(params, steps, |queue, packet, cx| enqueue_and_dequeue(queue, packet, cx));
    let (bypassed, skipped) = pass_idle::<D>(params, steps, |queue, packet, cx| {
        if queue.can_bypass(cx.pool[&packet].wire_size()) {
            return Some(packet);
        }
        enqueue_and_dequeue(queue, packet, cx)
    });
    prop_assert!(bypassed == in_steps, "a packet that skipped the queue made a difference");
    state_goes_on::<D>(params, steps)?;
    Ok((skipped, lost))
}

/// A fresh queue that continues from the estimate of one with this history has the same estimate then.
fn state_goes_on<D: QueueDisc>(params: &D::Params, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut bench = Bench::<D>::new(params);
    for step in steps {
        bench.take(step);
    }
    let Some(state) = bench.queue.marking_state() else { return Ok(()) };
    let mut fresh = Bench::<D>::new(params);
    fresh.queue.adopt(&state, bench.now);
    // RED counts in bytes too, so that the last digits may differ.
    let [carried, state] = [fresh.queue.marking_state(), Some(state)].map(|state| format!("{state:.9?}"));
    prop_assert_eq!(carried, state, "a carried estimate is another");
    Ok(())
}

/// The time at which the link became idle in `pass_idle`.
fn half(now: Time) -> Time {
    Time::from_nanos(now.as_nanos() / 2)
}

/// A packet for a link that became idle at `half` of the time now.
fn enqueue_and_dequeue<D: QueueDisc>(
    queue: &mut D,
    packet: PacketId,
    cx: &mut QdiscCx<'_>,
) -> Option<PacketId> {
    let now = cx.now;
    cx.now = half(now);
    assert!(queue.dequeue(cx).is_none());
    cx.now = now;
    queue.enqueue(packet, cx);
    queue.dequeue(cx)
}

/// Results of a queue: serials served and lost, in order, with the reasons.
type History = (Vec<u64>, Vec<(u64, DropReason)>);

/// A packet that waits: its serial number, its size, and whether it has the mark of forwarded packets.
type Entry = (u64, u64, bool);

/// A queue, and a separate count of what must wait in it.
struct Follower<D> {
    bench: Bench<D>,
    /// By flow, in order of arrival.
    waiting: BTreeMap<u32, VecDeque<Entry>>,
    packets: usize,
    bytes: u64,
    forwarded: usize,
    served: Vec<u64>,
    extracted: usize,
    /// When each came.
    arrived: BTreeMap<u64, Time>,
    /// Of `bench.dropped`, those that have been looked at.
    lost: usize,
}

impl<D: QueueDisc> Follower<D> {
    fn new(params: &D::Params) -> Follower<D> {
        let (bench, waiting) = (Bench::new(params), BTreeMap::new());
        Follower {
            bench,
            waiting,
            packets: 0,
            bytes: 0,
            forwarded: 0,
            served: Vec::new(),
            extracted: 0,
            arrived: BTreeMap::new(),
            lost: 0,
        }
    }

    /// Takes a step and checks the contract after it.
    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        let head = self.bench.head();
        match *step {
            Step::Offer { flow, size, tos } => {
                let serial = self.bench.offer(packet(flow, size, tos));
                self.arrived.insert(serial, self.bench.now);
                self.note_arrival(flow, (serial, size, tos.dscp() == Dscp::FORWARDED));
                self.note_losses()?;
            }
            Step::Serve => {
                let served = self.bench.serve_packet().map(|packet| (packet.serial, packet.flow.0));
                let first = self.note_losses()?.or(served.map(|(serial, _)| serial));
                prop_assert!(head.is_none() || first == head, "a dequeue takes the head first");
                if let Some((serial, flow)) = served {
                    let entry = self.waiting.get_mut(&flow).and_then(VecDeque::pop_front);
                    prop_assert_eq!(
                        entry.map(|(first, ..)| first),
                        Some(serial),
                        "it overtook one of its flow"
                    );
                    entry.iter().for_each(|entry| self.forget(entry));
                    self.check_sojourn(serial)?;
                    self.served.push(serial);
                }
            }
            Step::Wait(span) => self.bench.wait(span),
            Step::Extract(flow) => {
                let taken = self.bench.take_matching(FlowId(flow));
                self.note_losses()?;
                let entries = self.waiting.remove(&flow).unwrap_or_default();
                let expected: Vec<u64> = entries.iter().map(|(serial, ..)| *serial).collect();
                prop_assert_eq!(taken, expected, "extraction takes all packets of a flow, in their order");
                entries.iter().for_each(|entry| self.forget(entry));
                self.extracted += entries.len();
            }
        }
        self.compare()
    }

    /// The gauge of a queue that notes arrivals is the time that the packet has waited which has just left.
    fn check_sojourn(&self, serial: u64) -> Result<(), TestCaseError> {
        let (sojourn, waited) =
            (self.bench.queue.gauges().sojourn, self.bench.now.since(self.arrived[&serial]));
        // Linux cuts both times to units of 1024 ns.
        let apart = sojourn.as_nanos().abs_diff(waited.as_nanos());
        prop_assert!(
            sojourn == Duration::ZERO || apart < 1024,
            "{} in the queue, by its gauge {}",
            waited,
            sojourn
        );
        Ok(())
    }

    fn note_arrival(&mut self, flow: u32, entry: Entry) {
        self.packets += 1;
        self.bytes += entry.1;
        self.forwarded += usize::from(entry.2);
        self.waiting.entry(flow).or_default().push_back(entry);
    }

    fn forget(&mut self, (_, size, forwarded): &Entry) {
        self.packets -= 1;
        self.bytes -= size;
        self.forwarded -= usize::from(*forwarded);
    }

    /// Takes note of the packets that this step lost; the first of them.
    fn note_losses(&mut self) -> Result<Option<u64>, TestCaseError> {
        let mut first = None;
        while let Some((packet, _)) = self.bench.dropped.get(self.lost) {
            let Packet { serial, flow, .. } = self.bench.pool[packet];
            let entry = self.waiting.get_mut(&flow.0).and_then(|entries| {
                let place = entries.binary_search_by_key(&serial, |(serial, ..)| *serial).ok()?;
                entries.remove(place)
            });
            prop_assert!(entry.is_some(), "a packet is lost once, and only while it waits");
            entry.iter().for_each(|entry| self.forget(entry));
            first = first.or(Some(serial));
            self.lost += 1;
        }
        Ok(first)
    }

    fn compare(&self) -> Result<(), TestCaseError> {
        let queue = &self.bench.queue;
        prop_assert_eq!(queue.packets(), self.packets, "in = out + lost + waiting");
        prop_assert_eq!(queue.bytes().0, self.bytes);
        prop_assert_eq!(
            queue.head().is_some(),
            self.packets > 0,
            "there is a head exactly if a packet waits"
        );
        let is_known = |head: &PacketId| {
            let Packet { serial, flow, .. } = self.bench.pool[head];
            let entries = self.waiting.get(&flow.0);
            entries
                .is_some_and(|entries| entries.binary_search_by_key(&serial, |(serial, ..)| *serial).is_ok())
        };
        prop_assert!(queue.head().is_none_or(is_known), "the head is a packet that waits");
        let skips = queue.can_bypass(Bytes(1));
        prop_assert!(self.packets == 0 || !skips, "no packet skips the queue while another waits");
        let forwarded = queue.gauges().forwarded;
        prop_assert_eq!(forwarded, self.forwarded, "gauges count the forwarded packets that wait");
        Ok(())
    }

    /// Empties the queue; what it did.
    fn end(mut self) -> Result<History, TestCaseError> {
        while let Some(serial) = self.bench.serve() {
            self.served.push(serial);
        }
        prop_assert_eq!(self.bench.queue.packets(), 0, "a dequeue returned nothing although a packet waits");
        let created = self.bench.pool.census().created as usize;
        prop_assert_eq!(created, self.served.len() + self.extracted + self.bench.dropped.len());
        let lost = self.bench.dropped.iter();
        let lost = lost.map(|(packet, reason)| (self.bench.pool[packet].serial, *reason)).collect();
        // Packets that have left take no room: packets that arrive at the empty queue find room.
        for flow in 0..16 {
            self.bench.wait(Duration::from_secs(1));
            let before = self.bench.dropped.len();
            self.bench.offer(packet(flow, 40, PLAIN));
            let lost = &self.bench.dropped[before..];
            let overflows = lost.iter().any(|(_, reason)| *reason == DropReason::QueueOverflow);
            prop_assert!(!overflows, "a packet found no room in an empty queue");
            self.bench.drain();
        }
        Ok((self.served, lost))
    }
}

/// Walks through the steps and checks the contract after each.
fn follow<D: QueueDisc>(params: &D::Params, steps: &[Step]) -> Result<History, TestCaseError> {
    let mut follower = Follower::<D>::new(params);
    for step in steps {
        follower.step(step)?;
    }
    follower.end()
}

/// Walks through the steps. Half of the packets that find the queue empty are for an idle link and are handled by `pass`.
/// Returns after each step the number of lost packets, the packet served last and the queue's state; and how many packets
/// could skip the queue.
fn pass_idle<D: QueueDisc>(
    params: &D::Params,
    steps: &[Step],
    pass: fn(&mut D, PacketId, &mut QdiscCx<'_>) -> Option<PacketId>,
) -> (Vec<(usize, Option<u64>, Gauges)>, usize) {
    let mut bench = Bench::<D>::new(params);
    let (mut served, mut history, mut skipped) = (None, Vec::new(), 0);
    for step in steps {
        match *step {
            Step::Offer { flow, size, tos } if bench.queue.packets() == 0 && history.len() % 12 < 6 => {
                skipped += usize::from(bench.queue.can_bypass(Bytes(size)));
                let packet = bench.pool.create(packet(flow, size, tos));
                let passed = bench.with_cx(|queue, cx| pass(queue, packet, cx));
                served = passed.map(|packet| bench.pool.deliver(packet).serial);
            }
            Step::Offer { flow, size, tos } => drop(bench.offer(packet(flow, size, tos))),
            Step::Serve => served = bench.serve(),
            Step::Wait(span) => bench.wait(span),
            Step::Extract(flow) => drop(bench.take_matching(FlowId(flow))),
        }
        // The queue fills if the link is slower than the arrivals: in half of the steps packets wait.
        if history.len() % 12 == 0 {
            bench.drain();
        }
        history.push((bench.dropped.len(), served, bench.queue.gauges()));
    }
    (history, skipped)
}

/// The checks themselves are checked with queues that break the contract.
mod broken {
    use super::*;
    use crate::fifo::Fifo;

    /// Breaks the contract in the way that its parameter names.
    #[derive(Clone, Debug)]
    struct Broken(Fifo, u64, Fault);

    #[derive(Copy, Clone, PartialEq, Debug)]
    enum Fault {
        StallsAfterADrop,
        LastComesFirst,
        DropsTheFirst,
        Faultless,
        CountsNoneForwarded,
        AlwaysBypassed,
        BypassedWhenEmpty,
        HeadIsTheTail,
    }

    use Fault::*;

    impl QueueDisc for Broken {
        type Params = Fault;

        fn new(fault: &Fault, _: Rng) -> Self {
            Broken(Fifo::default(), 0, *fault)
        }

        fn enqueue(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
            if self.2 == DropsTheFirst && self.0.is_empty() {
                return cx.drop(packet, DropReason::EarlyDrop);
            }
            self.0.push(packet, cx.pool);
        }

        fn dequeue(&mut self, cx: &mut QdiscCx<'_>) -> Option<PacketId> {
            self.1 += 1;
            if self.2 == LastComesFirst {
                return self.0.pop_last(cx.pool);
            }
            if self.1.is_multiple_of(3) {
                if let Some(packet) = self.0.pop(cx.pool) {
                    cx.drop(packet, DropReason::EarlyDrop);
                }
                if self.2 == StallsAfterADrop {
                    return None;
                }
            }
            self.0.pop(cx.pool)
        }

        fn take_matching(&mut self, wanted: &crate::Matching<'_>, cx: &mut QdiscCx<'_>) -> Vec<PacketId> {
            self.0.take_matching(wanted, cx.pool)
        }

        fn can_bypass(&self, _: Bytes) -> bool {
            self.2 == AlwaysBypassed || self.2 == BypassedWhenEmpty && self.0.is_empty()
        }

        fn head(&self) -> Option<&PacketId> {
            if [HeadIsTheTail, LastComesFirst].contains(&self.2) { self.0.last() } else { self.0.head() }
        }

        fn packets(&self) -> usize {
            self.0.packets()
        }

        fn bytes(&self) -> Bytes {
            self.0.bytes()
        }

        fn gauges(&self) -> Gauges {
            let forwarded = if self.2 == CountsNoneForwarded { 0 } else { self.0.forwarded() };
            Gauges { forwarded, ..Gauges::default() }
        }
    }

    #[test]
    fn a_drop_at_dequeue_is_fine_if_the_next_packet_is_served() {
        check_queue::<Broken>(&Faultless);
    }

    #[test]
    #[should_panic(expected = "no packet skips the queue while another waits")]
    fn a_short_cut_past_waiting_packets_is_found() {
        check_queue::<Broken>(&AlwaysBypassed);
    }

    #[test]
    #[should_panic(expected = "a packet that skipped the queue made a difference")]
    fn a_short_cut_that_changes_later_drops_is_found() {
        // This queue drops at each third dequeue: a packet that skips it shifts the count.
        check_queue::<Broken>(&BypassedWhenEmpty);
    }

    #[test]
    #[should_panic(expected = "a dequeue takes the head first")]
    fn a_wrong_head_is_found() {
        check_queue::<Broken>(&HeadIsTheTail);
    }

    #[test]
    #[should_panic(expected = "a dequeue returned nothing although a packet waits")]
    fn a_stall_after_a_drop_is_found() {
        check_queue::<Broken>(&StallsAfterADrop);
    }

    #[test]
    #[should_panic(expected = "gauges count the forwarded packets that wait")]
    fn a_wrong_count_of_forwarded_packets_is_found() {
        check_queue::<Broken>(&CountsNoneForwarded);
    }

    #[test]
    #[should_panic(expected = "overtook one of its flow")]
    fn reordering_is_found() {
        check_queue::<Broken>(&LastComesFirst);
    }

    #[test]
    #[should_panic(expected = "a fresh queue drops none of its first packets")]
    fn an_early_drop_from_a_fresh_queue_is_found() {
        check_queue::<Broken>(&DropsTheFirst);
    }
}
