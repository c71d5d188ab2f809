//! What waits for a link: one queue, or a queue for each host behind an air-link scheduler.

use crate::cx::{Cx, Place};
use crate::event::LinkId;
use crate::probe::Stop;
use roamlab_engine::{Rate, Time};
use roamlab_packet::{Addr, Packet, PacketId};
use roamlab_qdisc::{Qdisc, QdiscCx, QueueDisc};
use roamlab_radio::Scheduler;
use std::collections::BTreeMap;

/// A queue, and the rate at which its packets are sent.
#[derive(Debug)]
pub struct Queue {
    /// Whether each change is recorded.
    pub recorded: bool,
    /// Packets handed to it so far; signalling that overtakes is not among them.
    offered: u64,
    /// Of these, those with the mark of forwarded packets.
    offered_marked: u64,
    rate: Rate,
    qdisc: Qdisc,
}

impl Queue {
    /// A queue.
    pub fn new(qdisc: Qdisc, rate: Rate, recorded: bool) -> Queue {
        Queue { recorded, offered: 0, offered_marked: 0, rate, qdisc }
    }

    fn enqueue(&mut self, id: LinkId, packet: PacketId, cx: &mut Cx) {
        cx.trace(&packet, Stop::QdiscEnqueue, Place::Link(id));
        if self.recorded {
            cx.packet_event("enqueue", &packet, Place::Link(id), self.qdisc.packets());
        }
        self.count(&packet, cx);
        self.qdisc.enqueue(packet, &mut qdisc_cx(self.rate, cx.now, cx));
        cx.settle_drops(Place::Link(id));
        self.sample(id, cx);
    }

    /// Whether a packet for an idle link may go past the queue. It counts as offered then.
    fn lets_pass(&mut self, id: LinkId, packet: &PacketId, cx: &mut Cx) -> bool {
        let passes = !self.recorded && self.qdisc.lets_pass(cx.pool[packet].wire_size());
        if passes {
            cx.trace(packet, Stop::QdiscEnqueue, Place::Link(id));
            self.count(packet, cx);
        }
        passes
    }

    fn count(&mut self, packet: &PacketId, cx: &Cx) {
        self.offered += 1;
        self.offered_marked += u64::from(cx.is_marked(packet));
    }

    fn dequeue(&mut self, id: LinkId, now: Time, cx: &mut Cx) -> Option<PacketId> {
        let next = self.qdisc.dequeue(&mut qdisc_cx(self.rate, now, cx));
        cx.settle_drops(Place::Link(id));
        if next.is_some() {
            self.sample(id, cx);
        }
        next
    }

    fn extract(&mut self, wanted: &dyn Fn(&Packet) -> bool, cx: &mut Cx) -> Vec<PacketId> {
        self.qdisc.extract(wanted, &mut qdisc_cx(self.rate, cx.now, cx))
    }

    fn sample(&self, id: LinkId, cx: &mut Cx) {
        if self.recorded {
            cx.probes.queue(cx.now, id, self.qdisc.packets(), self.qdisc.bytes(), self.qdisc.gauges());
        }
    }
}

fn qdisc_cx(rate: Rate, now: Time, cx: &mut Cx) -> QdiscCx<'_> {
    QdiscCx { now, seconds: None, pool: &mut cx.pool, rate, dropped: &mut cx.dropped }
}

/// What waits for a link.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every link has one queue, and a box would be one more step for each packet"
)]
#[derive(Debug)]
pub enum Line {
    /// All in one queue.
    Shared(Queue),
    /// Each host's packets in its own.
    Bearers(Box<Bearers>),
}

impl Line {
    /// Takes a packet in, or loses it; `id` is the link's.
    pub fn enqueue(&mut self, id: LinkId, packet: PacketId, cx: &mut Cx) {
        match self {
            Line::Shared(queue) => queue.enqueue(id, packet, cx),
            Line::Bearers(bearers) => bearers.enqueue(packet, cx),
        }
    }

    /// Whether a packet for an idle link may go past the queue. It counts as offered then.
    pub fn lets_pass(&mut self, id: LinkId, packet: &PacketId, cx: &mut Cx) -> bool {
        match self {
            Line::Shared(queue) => queue.lets_pass(id, packet, cx),
            Line::Bearers(_) => false,
        }
    }

    /// The next packet to be sent. Asked also when nothing waits and the link falls idle at `now`.
    pub fn dequeue(&mut self, id: LinkId, now: Time, cx: &mut Cx) -> Option<PacketId> {
        match self {
            Line::Shared(queue) => queue.dequeue(id, now, cx),
            Line::Bearers(bearers) => bearers.dequeue(now, cx),
        }
    }

    /// Removes the waiting packets that `wanted` selects, in order.
    pub fn extract(&mut self, wanted: &dyn Fn(&Packet) -> bool, cx: &mut Cx) -> Vec<PacketId> {
        match self {
            Line::Shared(queue) => queue.extract(wanted, cx),
            Line::Bearers(bearers) => bearers.extract(wanted, cx),
        }
    }

    /// Records the queue after an extraction. Bearers have recorded themselves.
    pub fn sample(&self, id: LinkId, cx: &mut Cx) {
        if let Line::Shared(queue) = self {
            queue.sample(id, cx);
        }
    }

    /// The rate at which a packet to `dst` is sent.
    pub fn rate(&self, dst: Addr) -> Rate {
        match self {
            Line::Shared(queue) => queue.rate,
            Line::Bearers(bearers) => bearers.queues[bearers.of(dst)].1.rate,
        }
    }

    /// Changes the rate of a link that all share; bearers keep theirs.
    pub fn set_rate(&mut self, rate: Rate) {
        if let Line::Shared(queue) = self {
            queue.rate = rate;
        }
    }

    /// Packets handed to the queues so far, and how many of them bore the mark of forwarded packets. Signalling that
    /// overtakes is not among them.
    pub fn offered(&self) -> (u64, u64) {
        match self {
            Line::Shared(queue) => (queue.offered, queue.offered_marked),
            Line::Bearers(bearers) => bearers.queues.iter().fold((0, 0), |(all, marked), (_, queue)| {
                (all + queue.offered, marked + queue.offered_marked)
            }),
        }
    }

    /// The number of packets in the queue that packets for `dst` wait in.
    pub fn packets_for(&self, dst: Addr) -> usize {
        match self {
            Line::Shared(queue) => queue.qdisc.packets(),
            Line::Bearers(bearers) => bearers.queues[bearers.of(dst)].1.qdisc.packets(),
        }
    }

    /// The number of waiting packets.
    pub fn packets(&self) -> usize {
        match self {
            Line::Shared(queue) => queue.qdisc.packets(),
            Line::Bearers(bearers) => bearers.queues.iter().map(|(_, queue)| queue.qdisc.packets()).sum(),
        }
    }
}

/// The bearers of a cell. The first is common: it takes what is for all hosts or for none with a bearer.
#[derive(Debug)]
pub struct Bearers {
    scheduler: Scheduler,
    /// Queues, each with the number that it has among the links in records.
    queues: Vec<(LinkId, Queue)>,
    hosts: BTreeMap<Addr, usize>,
    /// The bearer that sent last.
    last: Option<usize>,
}

impl Bearers {
    /// Empty bearers: the common one, and one for each host.
    pub fn new(scheduler: Scheduler, common: (LinkId, Queue), hosts: Vec<(Addr, LinkId, Queue)>) -> Bearers {
        let (mut queues, mut places) = (vec![common], BTreeMap::new());
        for (host, id, queue) in hosts {
            places.insert(host, queues.len());
            queues.push((id, queue));
        }
        Bearers { scheduler, queues, hosts: places, last: None }
    }

    fn of(&self, dst: Addr) -> usize {
        self.hosts.get(&dst).copied().unwrap_or(0)
    }

    fn enqueue(&mut self, packet: PacketId, cx: &mut Cx) {
        let bearer = self.of(cx.pool[&packet].header().dst);
        let (id, queue) = &mut self.queues[bearer];
        if queue.qdisc.packets() == 0 {
            self.scheduler.wakes(bearer);
        }
        queue.enqueue(*id, packet, cx);
    }

    fn dequeue(&mut self, now: Time, cx: &mut Cx) -> Option<PacketId> {
        self.rest(now, cx);
        loop {
            let heads = self.queues.iter().enumerate().filter_map(|(bearer, (_, queue))| {
                queue.qdisc.head().map(|head| (bearer, cx.pool[head].wire_size()))
            });
            let bearer = self.scheduler.choose(heads, now)?;
            let (id, queue) = &mut self.queues[bearer];
            // A discipline may drop all that it has when it is asked for a packet.
            if let Some(packet) = queue.dequeue(*id, now, cx) {
                self.scheduler.sends(bearer, cx.pool[&packet].wire_size(), now);
                self.last = Some(bearer);
                return Some(packet);
            }
        }
    }

    /// The bearer that sent last, if nothing is left in it, is idle from now on, as a queue before a link of its own
    /// would be.
    fn rest(&mut self, now: Time, cx: &mut Cx) {
        let Some(last) = self.last.take() else { return };
        let (id, queue) = &mut self.queues[last];
        if queue.qdisc.packets() == 0 {
            let none = queue.dequeue(*id, now, cx);
            debug_assert!(none.is_none(), "an empty queue gave a packet");
        }
    }

    fn extract(&mut self, wanted: &dyn Fn(&Packet) -> bool, cx: &mut Cx) -> Vec<PacketId> {
        let mut taken = Vec::new();
        for (id, queue) in &mut self.queues {
            let before = taken.len();
            taken.extend(queue.extract(wanted, cx));
            if taken.len() > before {
                queue.sample(*id, cx);
            }
        }
        taken
    }
}
