//! The parts of a run, one at a time: pending events, queue disciplines, a TCP sender.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use roamlab_engine::{Bytes, Duration, EventScheduler, Packets, Rate, Rng, Time};
use roamlab_packet::{Addr, Ecn, FlowId, IpHeader, Packet, PacketPool, TcpFlags, TcpHeader, Tos};
use roamlab_qdisc::{NAMES, Qdisc, QdiscCx, QueueDisc, QueueSpec};
use roamlab_tcp::{Profile, TcpSender, TcpSpec};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

fn main() {
    divan::main();
}

/// Operations per measured iteration: one alone is shorter than a look at the clock.
const BATCH: u64 = 1000;

/// An event as large as the world's.
type Event = [u32; 2];

/// Pending events, in whichever structure.
trait Pending: Default {
    fn push(&mut self, time: Time, event: Event);
    fn pop(&mut self) -> Option<(Time, Event)>;
}

impl Pending for EventScheduler<Event> {
    fn push(&mut self, time: Time, event: Event) {
        EventScheduler::push(self, time, event);
    }

    fn pop(&mut self) -> Option<(Time, Event)> {
        EventScheduler::pop(self)
    }
}

/// The standard library's heap, with the same order.
#[derive(Default)]
struct StdHeap {
    heap: BinaryHeap<Reverse<(Time, u64, Event)>>,
    inserted: u64,
}

impl Pending for StdHeap {
    fn push(&mut self, time: Time, event: Event) {
        self.inserted += 1;
        self.heap.push(Reverse((time, self.inserted, event)));
    }

    fn pop(&mut self) -> Option<(Time, Event)> {
        self.heap.pop().map(|Reverse((time, _, event))| (time, event))
    }
}

/// One hold: the earliest event happens and schedules another, up to a second later.
#[divan::bench(types = [EventScheduler<Event>, StdHeap], args = [100, 1_000, 10_000, 100_000])]
fn hold<P: Pending>(bencher: Bencher, pending: u32) {
    let mut rng = Rng::named(1, 0, "hold");
    let mut span = move || rng.uniform_duration(Duration::from_secs(1));
    let mut queue = P::default();
    (0..pending).for_each(|event| queue.push(Time::ZERO + span(), [event, 0]));
    let spans: Vec<Duration> = (0..BATCH).map(|_| span()).collect();
    bencher.counter(ItemsCount::new(BATCH)).bench_local(|| {
        for &span in &spans {
            if let Some((now, event)) = queue.pop() {
                queue.push(now + span, black_box(event));
            }
        }
    });
}

/// One packet in and one out, with twenty waiting: below every discipline's threshold.
#[divan::bench(args = NAMES)]
fn enqueue_dequeue(bencher: Bencher, name: &str) {
    let mut queue = Qdisc::new(&spec(name), Rng::named(1, 0, name));
    let (mut pool, mut dropped, mut now) = (PacketPool::default(), Vec::new(), Time::ZERO);
    let inner = IpHeader::new(Addr::new(1, 0), Addr::new(2, 0), Tos::default());
    let packet = Packet::make(FlowId(0), inner, Bytes(552), Time::ZERO, TcpHeader::default());
    let mut step = |out: bool| {
        now += Duration::from_micros(2208);
        let packet = pool.create(packet.clone());
        let rate = Rate::from_bps(2_000_000);
        let mut cx = QdiscCx { now, pool: &mut pool, rate, dropped: &mut dropped };
        queue.enqueue(packet, &mut cx);
        if let Some(served) = out.then(|| queue.dequeue(&mut cx)).flatten() {
            pool.deliver(served);
        }
    };
    (0..20).for_each(|_| step(false));
    bencher.counter(ItemsCount::new(BATCH)).bench_local(|| (0..BATCH).for_each(|_| step(true)));
    assert!(dropped.is_empty(), "{name} drops packets of a short queue");
}

fn spec(name: &str) -> QueueSpec {
    use roamlab_qdisc::aqm::{blue, mblue, red};
    use roamlab_qdisc::plain::droptail;
    match name {
        "red" => QueueSpec::Red(red::Params::default()),
        "blue" => QueueSpec::Blue(blue::Params::default()),
        "mblue" => QueueSpec::Mblue(mblue::Params::default()),
        _ => QueueSpec::DropTail(droptail::Params::default()),
    }
}

/// One new ACK at a sender in congestion avoidance: `on_segment`, then `poll_transmit` until it gives nothing.
#[divan::bench(args = ["ns2-2009", "rfc"])]
fn ack_path(bencher: Bencher, profile: &str) {
    let profile = if profile == "rfc" { Profile::Rfc } else { Profile::Ns2_2009 };
    let spec = TcpSpec { window: Some(Packets(64)), segment: Some(Bytes(512)), ..TcpSpec::default() };
    let Ok(params) = spec.resolve(profile) else { return };
    let mut sender = TcpSender::new(&params, Duration::ZERO);
    sender.offer(None);
    let mut now = Time::ZERO;
    let mut step = || {
        now += Duration::from_micros(2208);
        while let Some(segment) = sender.poll_transmit(now) {
            black_box(segment);
        }
        while let Some(fact) = sender.poll_fact() {
            black_box(fact);
        }
        let ack = sender.acknowledged() + u32::from(sender.in_flight() > 0);
        let header = TcpHeader { ack, flags: TcpFlags::ACK, ..TcpHeader::default() };
        sender.on_segment(&header, Ecn::NotEct, now);
    };
    (0..1000).for_each(|_| step());
    bencher.counter(ItemsCount::new(BATCH)).bench_local(|| (0..BATCH).for_each(|_| step()));
}
