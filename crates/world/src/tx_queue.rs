//! The queue of a link without a plain drop-tail queue. It is a recorded drop-tail queue, one queue of any discipline,
//! or a queue for each host behind an air-link scheduler.

use crate::cause::CauseId;
use crate::cx::Cx;
use crate::ids::{LinkId, Location};
use crate::probe::PacketStep;
use roamlab_engine::{Bytes, Rate, Time};
use roamlab_packet::{Addr, DropReason, Dscp, Ecn, PacketId, PacketQueue};
use roamlab_qdisc::{Gauges, Matching, Qdisc, QdiscCx, QueueDisc};
use roamlab_radio::CellScheduler;
use std::collections::BTreeMap;

/// A queue of any discipline.
#[derive(Clone, Debug)]
pub struct Queue {
    /// Whether each change is recorded.
    recorded: bool,
    qdisc: Qdisc,
}

impl Queue {
    /// A queue.
    pub fn new(qdisc: Qdisc, recorded: bool) -> Queue {
        Queue { recorded, qdisc }
    }

    #[inline(never)]
    fn enqueue(&mut self, id: LinkId, packet: PacketId, rate: Rate, cx: &mut Cx) {
        if self.recorded {
            let waiting = self.qdisc.packets();
            cx.packet_event(PacketStep::Enqueue, &packet, Location::Link(id), (waiting, CauseId::NONE));
        }
        self.qdisc.enqueue(packet, &mut qdisc_cx(rate, cx.now, cx));
        cx.settle_drops(Location::Link(id));
        self.sample(id, cx);
    }

    /// Takes a packet that finds the link idle and nothing waiting; the packet, unless it is lost. `fell_idle`: when the
    /// link did, if the queue has not heard of it.
    #[inline(never)]
    fn pass(
        &mut self,
        id: LinkId,
        packet: PacketId,
        (rate, fell_idle): (Rate, Option<Time>),
        cx: &mut Cx,
    ) -> Option<PacketId> {
        if self.recorded {
            if let Some(at) = fell_idle {
                self.fall_idle(id, at, rate, cx);
            }
            self.enqueue(id, packet, rate, cx);
            return self.dequeue(id, cx.now, rate, cx);
        }
        let next = self.qdisc.pass(packet, fell_idle, &mut qdisc_cx(rate, cx.now, cx));
        cx.settle_drops(Location::Link(id));
        next
    }

    /// The link fell idle at `at`, when nothing waited.
    fn fall_idle(&mut self, id: LinkId, at: Time, rate: Rate, cx: &mut Cx) {
        let waiting = self.dequeue(id, at, rate, cx);
        debug_assert!(waiting.is_none(), "a packet waited and nobody knew");
    }

    #[inline(never)]
    fn dequeue(&mut self, id: LinkId, now: Time, rate: Rate, cx: &mut Cx) -> Option<PacketId> {
        let next = self.qdisc.dequeue(&mut qdisc_cx(rate, now, cx));
        cx.settle_drops(Location::Link(id));
        if let Some(packet) = &next {
            self.sample(id, cx);
            if self.recorded {
                record_mark(id, packet, cx);
            }
        }
        next
    }

    fn take_matching(&mut self, wanted: &Matching<'_>, rate: Rate, cx: &mut Cx) -> Vec<PacketId> {
        self.qdisc.take_matching(wanted, &mut qdisc_cx(rate, cx.now, cx))
    }

    fn sample(&self, id: LinkId, cx: &mut Cx) {
        if self.recorded {
            cx.probes.queue(cx.now, id, self.qdisc.packets(), self.qdisc.bytes(), self.qdisc.gauges());
        }
    }
}

fn qdisc_cx(rate: Rate, now: Time, cx: &mut Cx) -> QdiscCx<'_> {
    QdiscCx { now, pool: &mut cx.pool, rate, dropped: &mut cx.dropped }
}

/// A packet leaves a recorded queue, with the mark of congestion or without.
#[inline(always)]
fn record_mark(id: LinkId, packet: &PacketId, cx: &mut Cx) {
    if cx.pool[packet].header.tos.ecn() == Ecn::Ce {
        cx.packet_event(PacketStep::Mark, packet, Location::Link(id), (0, CauseId::NONE));
    }
}

/// A recorded drop-tail queue with a limit in packets: what it does besides being recorded is little, so that it does not
/// go through a discipline.
#[derive(Clone, Debug, Default)]
pub struct RecordedLine {
    /// How many packets may wait.
    limit: u32,
    waiting: PacketQueue,
    bytes: u64,
    /// Waiting packets with a code point.
    forwarded: usize,
}

impl RecordedLine {
    /// An empty line in which `limit` packets may wait.
    pub fn new(limit: u32) -> RecordedLine {
        RecordedLine { limit, ..RecordedLine::default() }
    }

    #[inline(always)]
    fn enqueue(&mut self, id: LinkId, packet: PacketId, cx: &mut Cx) {
        if cx.probes.wanted.packets {
            let waiting = self.waiting.len() as usize;
            cx.packet_event(PacketStep::Enqueue, &packet, Location::Link(id), (waiting, CauseId::NONE));
        }
        if self.waiting.len() < self.limit {
            let entering = &cx.pool[&packet];
            self.bytes += entering.wire_size().0;
            self.forwarded += usize::from(entering.inner_tos().dscp() != Dscp::default());
            self.waiting.push(packet, &mut cx.pool);
        } else {
            cx.lose(packet, DropReason::QueueOverflow, Location::Link(id));
        }
        self.sample(id, cx);
    }

    #[inline(always)]
    fn dequeue(&mut self, id: LinkId, cx: &mut Cx) -> Option<PacketId> {
        let packet = self.waiting.pop(&cx.pool)?;
        let leaving = &cx.pool[&packet];
        self.bytes -= leaving.wire_size().0;
        self.forwarded -= usize::from(leaving.inner_tos().dscp() != Dscp::default());
        self.sample(id, cx);
        record_mark(id, &packet, cx);
        Some(packet)
    }

    fn take_matching(&mut self, wanted: &Matching<'_>, cx: &mut Cx) -> Vec<PacketId> {
        let (mut taken, all) = (Vec::new(), std::mem::take(&mut self.waiting));
        (self.bytes, self.forwarded) = (0, 0);
        for packet in all.drain(&cx.pool) {
            let waiting = &cx.pool[&packet];
            if wanted(waiting, &cx.pool) {
                taken.push(packet);
                continue;
            }
            self.bytes += waiting.wire_size().0;
            self.forwarded += usize::from(waiting.inner_tos().dscp() != Dscp::default());
            self.waiting.push(packet, &mut cx.pool);
        }
        taken
    }

    #[inline(always)]
    fn sample(&self, id: LinkId, cx: &mut Cx) {
        let gauges = Gauges { forwarded: self.forwarded, ..Gauges::default() };
        cx.probes.queue(cx.now, id, self.waiting.len() as usize, Bytes(self.bytes), gauges);
    }
}

/// What waits for a link.
#[derive(Clone, Debug)]
pub enum TxQueue {
    /// All in a recorded drop-tail queue.
    Line(Box<RecordedLine>),
    /// All in one queue of a discipline.
    Shared(Box<Queue>),
    /// Each host's packets in its own.
    Bearers(Box<Bearers>),
}

impl TxQueue {
    /// Takes a packet in, or loses it; `id` is the link's, `rate` that of a shared queue.
    #[inline(always)]
    pub fn enqueue(&mut self, id: LinkId, packet: PacketId, rate: Rate, cx: &mut Cx) {
        match self {
            TxQueue::Line(line) => line.enqueue(id, packet, cx),
            TxQueue::Shared(queue) => queue.enqueue(id, packet, rate, cx),
            TxQueue::Bearers(bearers) => bearers.enqueue(packet, cx),
        }
    }

    /// Takes a packet that finds the link idle, and gives the one to be sent. `fell_idle`: when the link did, if the queue
    /// has not heard of it.
    #[inline(always)]
    pub fn pass(
        &mut self,
        id: LinkId,
        packet: PacketId,
        (rate, fell_idle): (Rate, Option<Time>),
        cx: &mut Cx,
    ) -> Option<PacketId> {
        match self {
            TxQueue::Line(line) => {
                line.enqueue(id, packet, cx);
                line.dequeue(id, cx)
            }
            TxQueue::Shared(queue) => queue.pass(id, packet, (rate, fell_idle), cx),
            TxQueue::Bearers(bearers) => {
                if let Some(at) = fell_idle {
                    let waiting = bearers.dequeue(at, cx);
                    debug_assert!(waiting.is_none(), "a packet waited and nobody knew");
                }
                bearers.enqueue(packet, cx);
                bearers.dequeue(cx.now, cx)
            }
        }
    }

    /// Whether a packet of this size for an idle link may go past the queue.
    #[inline(always)]
    pub fn can_bypass(&self, size: Bytes) -> bool {
        match self {
            TxQueue::Shared(queue) => !queue.recorded && queue.qdisc.can_bypass(size),
            TxQueue::Line(_) | TxQueue::Bearers(_) => false,
        }
    }

    /// The next packet to be sent. Asked also when nothing waits and the link falls idle at `now`.
    #[inline(always)]
    pub fn dequeue(&mut self, id: LinkId, now: Time, rate: Rate, cx: &mut Cx) -> Option<PacketId> {
        match self {
            TxQueue::Line(line) => line.dequeue(id, cx),
            TxQueue::Shared(queue) => queue.dequeue(id, now, rate, cx),
            TxQueue::Bearers(bearers) => bearers.dequeue(now, cx),
        }
    }

    /// Removes the waiting packets that `wanted` selects, in order.
    pub fn take_matching(&mut self, wanted: &Matching<'_>, rate: Rate, cx: &mut Cx) -> Vec<PacketId> {
        match self {
            TxQueue::Line(line) => line.take_matching(wanted, cx),
            TxQueue::Shared(queue) => queue.take_matching(wanted, rate, cx),
            TxQueue::Bearers(bearers) => bearers.take_matching(wanted, cx),
        }
    }

    /// Records the queue after packets were taken out. Bearers have recorded themselves.
    pub fn sample(&self, id: LinkId, cx: &mut Cx) {
        match self {
            TxQueue::Line(line) => line.sample(id, cx),
            TxQueue::Shared(queue) => queue.sample(id, cx),
            TxQueue::Bearers(_) => {}
        }
    }

    /// The rate at which a packet to `dst` is sent, if it is not the same for all.
    pub fn rate(&self, dst: Addr) -> Option<Rate> {
        match self {
            TxQueue::Bearers(bearers) => Some(bearers.queues[bearers.of(dst)].rate),
            TxQueue::Line(_) | TxQueue::Shared(_) => None,
        }
    }

    /// The number of packets in the queue that packets for `dst` wait in.
    pub fn packets_for(&self, dst: Addr) -> usize {
        match self {
            TxQueue::Bearers(bearers) => bearers.queues[bearers.of(dst)].queue.qdisc.packets(),
            queue => queue.packets(),
        }
    }

    /// The number of waiting packets.
    #[inline(always)]
    pub fn packets(&self) -> usize {
        match self {
            TxQueue::Line(line) => line.waiting.len() as usize,
            TxQueue::Shared(queue) => queue.qdisc.packets(),
            TxQueue::Bearers(bearers) => {
                bearers.queues.iter().map(|bearer| bearer.queue.qdisc.packets()).sum()
            }
        }
    }
}

/// A host's queue behind a scheduler.
#[derive(Clone, Debug)]
pub struct BearerQueue {
    /// The number that it has among the links in records.
    pub id: LinkId,
    /// The rate at which its packets are sent.
    pub rate: Rate,
    /// Its packets.
    pub queue: Queue,
}

/// The bearers of a cell. The first is common: it takes what is for all hosts or for none with a bearer.
#[derive(Clone, Debug)]
pub struct Bearers {
    scheduler: CellScheduler,
    queues: Vec<BearerQueue>,
    hosts: BTreeMap<Addr, usize>,
    /// The bearer that sent last.
    last: Option<usize>,
}

impl Bearers {
    /// Empty bearers: the common one, and one for each host.
    pub fn new(scheduler: CellScheduler, common: BearerQueue, hosts: Vec<(Addr, BearerQueue)>) -> Bearers {
        let (mut queues, mut places) = (vec![common], BTreeMap::new());
        for (host, queue) in hosts {
            places.insert(host, queues.len());
            queues.push(queue);
        }
        Bearers { scheduler, queues, hosts: places, last: None }
    }

    fn of(&self, dst: Addr) -> usize {
        self.hosts.get(&dst).copied().unwrap_or(0)
    }

    fn enqueue(&mut self, packet: PacketId, cx: &mut Cx) {
        let bearer = self.of(cx.pool[&packet].header.dst);
        let BearerQueue { id, rate, queue } = &mut self.queues[bearer];
        if queue.qdisc.packets() == 0 {
            self.scheduler.wakes(bearer);
        }
        queue.enqueue(*id, packet, *rate, cx);
    }

    fn dequeue(&mut self, now: Time, cx: &mut Cx) -> Option<PacketId> {
        self.rest(now, cx);
        loop {
            let heads = self.queues.iter().enumerate().filter_map(|(bearer, BearerQueue { queue, .. })| {
                queue.qdisc.head().map(|head| (bearer, cx.pool[head].wire_size()))
            });
            let bearer = self.scheduler.choose(heads, now)?;
            let BearerQueue { id, rate, queue } = &mut self.queues[bearer];
            // A discipline may drop all that it has when it is asked for a packet.
            if let Some(packet) = queue.dequeue(*id, now, *rate, cx) {
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
        let BearerQueue { id, rate, queue } = &mut self.queues[last];
        if queue.qdisc.packets() == 0 {
            let none = queue.dequeue(*id, now, *rate, cx);
            debug_assert!(none.is_none(), "an empty queue gave a packet");
        }
    }

    fn take_matching(&mut self, wanted: &Matching<'_>, cx: &mut Cx) -> Vec<PacketId> {
        let mut taken = Vec::new();
        for BearerQueue { id, rate, queue } in &mut self.queues {
            let before = taken.len();
            taken.extend(queue.take_matching(wanted, *rate, cx));
            if taken.len() > before {
                queue.sample(*id, cx);
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roamlab_packet::{Body, FlowId, IpHeader, Packet, Tos, UdpHeader};

    #[test]
    fn what_is_taken_out_of_a_line_counts_no_more() {
        let (mut cx, id, rate) = (Cx::default(), LinkId(0), Rate::from_bps(1_000_000));
        let mut line = TxQueue::Line(Box::new(RecordedLine::new(9)));
        for dscp in [Dscp::FORWARDED, Dscp::FORWARDED, Dscp::default()] {
            let tos = Tos::default().with_dscp(dscp);
            let inner = IpHeader::new(Addr::new(1, 0), Addr::new(2, 0), tos);
            let body = Body::Udp(UdpHeader::default());
            let packet = cx.pool.create(Packet::make(FlowId(0), inner, Bytes(512), Time::ZERO, body));
            line.enqueue(id, packet, rate, &mut cx);
        }
        let taken = line.take_matching(&|packet, _| packet.serial == 1, rate, &mut cx);
        assert_eq!(taken.len(), 1);
        line.sample(id, &mut cx);
        let sample = |cx: &Cx| {
            let row = cx.probes.queues.rows.last().unwrap();
            (row.packets, row.bytes, row.forwarded)
        };
        assert_eq!(sample(&cx), (2, 1024, 1));
        while line.dequeue(id, Time::ZERO, rate, &mut cx).is_some() {}
        assert_eq!(sample(&cx), (0, 0, 0));
    }
}
