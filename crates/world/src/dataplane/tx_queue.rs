//! The queue of a link: one queue of any discipline, or a queue for each host behind an air-link scheduler.

use crate::context::Context;
use roamlab_engine::{Bytes, Rate, Time, prefetch};
use roamlab_packet::{Addr, Ecn, PacketId};
use roamlab_qdisc::{Matching, Qdisc, QdiscCx, QueueDisc};
use roamlab_radio::CellScheduler;
use roamlab_record::PacketStep;
use roamlab_record::cause::CauseId;
use roamlab_record::ids::{LinkId, Location};
use std::collections::BTreeMap;

/// A queue of any discipline.
#[derive(Clone, Debug)]
pub struct Queue {
    /// True if each change is recorded.
    recorded: bool,
    qdisc: Qdisc,
    /// The hosts of the waiting packets that a handover has held up or redirected, each as often as such a packet waits, in
    /// the order of their entry.
    moved: Vec<Addr>,
}

impl Queue {
    /// A queue.
    pub fn new(qdisc: Qdisc, recorded: bool) -> Queue {
        Queue { recorded, qdisc, moved: Vec::new() }
    }

    /// Packets dropped by the discipline are lost.
    #[inline(always)]
    fn settle(&mut self, id: LinkId, cx: &mut Context) {
        if !cx.dropped.is_empty() {
            self.settle_drops(id, cx);
        }
    }

    #[inline(never)]
    fn settle_drops(&mut self, id: LinkId, cx: &mut Context) {
        if !self.moved.is_empty() {
            // The packets that are lost had a share in filling the queue.
            let before = self.moved.clone();
            let lost: Vec<Addr> = moved_hosts(cx.dropped.iter().map(|(packet, _)| packet), cx);
            lost.into_iter().for_each(|host| self.forget(host));
            return cx.settle_drops(Location::Link(id), &before);
        }
        cx.settle_drops(Location::Link(id), &[]);
    }

    /// A packet of this host that a handover has held up or redirected waits no longer.
    fn forget(&mut self, host: Addr) {
        if let Some(place) = self.moved.iter().position(|&other| other == host) {
            self.moved.remove(place);
        }
    }

    #[inline(never)]
    fn enqueue(&mut self, id: LinkId, packet: PacketId, rate: Rate, cx: &mut Context) {
        if self.recorded {
            let waiting = self.qdisc.packets();
            cx.packet_event(PacketStep::Enqueue, &packet, Location::Link(id), (waiting, CauseId::NONE));
        }
        if cx.pool[&packet].is_moved() {
            self.moved.push(cx.mobile_end(&packet));
        }
        self.qdisc.enqueue(packet, &mut qdisc_cx(rate, cx.now, cx));
        self.settle(id, cx);
        self.sample(id, cx);
    }

    #[inline(never)]
    fn dequeue(&mut self, id: LinkId, now: Time, rate: Rate, cx: &mut Context) -> Option<PacketId> {
        let next = self.qdisc.dequeue(&mut qdisc_cx(rate, now, cx));
        self.settle(id, cx);
        if let Some(packet) = &next {
            if !self.moved.is_empty() && cx.pool[packet].is_moved() {
                self.forget(cx.mobile_end(packet));
            }
            self.sample(id, cx);
            if self.recorded {
                record_mark(id, packet, cx);
            }
        }
        next
    }

    fn take_matching(
        &mut self,
        id: LinkId,
        wanted: &Matching<'_>,
        rate: Rate,
        cx: &mut Context,
    ) -> Vec<PacketId> {
        let taken = self.qdisc.take_matching(wanted, &mut qdisc_cx(rate, cx.now, cx));
        self.settle(id, cx);
        moved_hosts(&taken, cx).into_iter().for_each(|host| self.forget(host));
        taken
    }

    #[inline(always)]
    fn sample(&self, id: LinkId, cx: &mut Context) {
        if self.recorded {
            cx.probes.queue(cx.now, id, self.qdisc.packets(), self.qdisc.bytes(), self.qdisc.gauges());
        }
    }
}

/// The hosts of those of some packets that a handover has held up or redirected.
fn moved_hosts<'a>(packets: impl IntoIterator<Item = &'a PacketId>, cx: &Context) -> Vec<Addr> {
    let moved = packets.into_iter().filter(|packet| cx.pool[*packet].is_moved());
    moved.map(|packet| cx.mobile_end(packet)).collect()
}

fn qdisc_cx(rate: Rate, now: Time, cx: &mut Context) -> QdiscCx<'_> {
    QdiscCx { now, pool: &mut cx.pool, rate, dropped: &mut cx.dropped }
}

/// A packet leaves a recorded queue, with the mark of congestion or without.
fn record_mark(id: LinkId, packet: &PacketId, cx: &mut Context) {
    if cx.pool[packet].header.tos.ecn() == Ecn::Ce {
        cx.packet_event(PacketStep::Mark, packet, Location::Link(id), (0, CauseId::NONE));
    }
}

/// Packets that wait for a link.
#[derive(Clone, Debug)]
pub enum TxQueue {
    /// All in one queue.
    Shared(Queue),
    /// Each host's packets in its own.
    Bearers(Box<Bearers>),
}

impl TxQueue {
    /// As [`enqueue`](Self::enqueue), of an ordinary packet. Drop-tail is the discipline of most links, so its call is
    /// inlined.
    #[inline(always)]
    pub fn enqueue_ordinary(&mut self, id: LinkId, packet: PacketId, rate: Rate, cx: &mut Context) {
        if let TxQueue::Shared(Queue { qdisc: Qdisc::DropTail(queue), recorded: false, moved }) = self
            && moved.is_empty()
        {
            queue.enqueue_unmarked(packet, &mut qdisc_cx(rate, cx.now, cx));
            return cx.settle_drops(Location::Link(id), &[]);
        }
        self.enqueue(id, packet, rate, cx);
    }

    /// Takes a packet in, or loses it; `id` is the link's, `rate` that of a shared queue.
    #[inline(always)]
    pub fn enqueue(&mut self, id: LinkId, packet: PacketId, rate: Rate, cx: &mut Context) {
        match self {
            TxQueue::Shared(queue) => queue.enqueue(id, packet, rate, cx),
            TxQueue::Bearers(bearers) => bearers.enqueue(packet, cx),
        }
    }

    /// A packet enters for an idle link; what is sent, if anything. `fell_idle`: when the link fell idle, if the queue does
    /// not know.
    #[inline(always)]
    pub fn pass(
        &mut self,
        id: LinkId,
        packet: PacketId,
        (fell_idle, rate): (Option<Time>, Rate),
        cx: &mut Context,
    ) -> Option<PacketId> {
        match self {
            TxQueue::Shared(queue) => {
                let waited = fell_idle.and_then(|end| queue.dequeue(id, end, rate, cx));
                debug_assert!(waited.is_none(), "a packet waited and no event was set");
                queue.enqueue(id, packet, rate, cx);
                queue.dequeue(id, cx.now, rate, cx)
            }
            TxQueue::Bearers(bearers) => {
                let waited = fell_idle.and_then(|end| bearers.dequeue(end, cx));
                debug_assert!(waited.is_none(), "a packet waited and no event was set");
                bearers.enqueue(packet, cx);
                bearers.dequeue(cx.now, cx)
            }
        }
    }

    /// Brings a queue into the cache.
    #[inline(always)]
    pub fn prefetch(&self) {
        prefetch(self);
        if let TxQueue::Shared(Queue { qdisc, moved, .. }) = self {
            prefetch(qdisc);
            prefetch(moved);
        }
    }

    /// The packet that waits first, if all wait in one queue.
    #[inline(always)]
    pub fn head(&self) -> Option<&PacketId> {
        match self {
            TxQueue::Shared(queue) => queue.qdisc.head(),
            TxQueue::Bearers(_) => None,
        }
    }

    /// True if a packet of this size for an idle link may go past the queue.
    #[inline(always)]
    pub fn can_bypass(&self, size: Bytes) -> bool {
        match self {
            TxQueue::Shared(queue) => !queue.recorded && queue.qdisc.can_bypass(size),
            TxQueue::Bearers(_) => false,
        }
    }

    /// The next packet to be sent, and the number of packets that wait then. Asked also when nothing waits and the link falls
    /// idle at `now`.
    #[inline(always)]
    pub fn dequeue(
        &mut self,
        id: LinkId,
        now: Time,
        rate: Rate,
        cx: &mut Context,
    ) -> (Option<PacketId>, usize) {
        if let TxQueue::Shared(Queue { qdisc: Qdisc::DropTail(queue), recorded: false, moved }) = self
            && moved.is_empty()
        {
            let next = queue.dequeue(&mut qdisc_cx(rate, now, cx));
            return (next, queue.packets());
        }
        let next = match self {
            TxQueue::Shared(queue) => queue.dequeue(id, now, rate, cx),
            TxQueue::Bearers(bearers) => bearers.dequeue(now, cx),
        };
        (next, self.packets())
    }

    /// Removes the waiting packets that `wanted` selects, in order.
    pub fn take_matching(
        &mut self,
        id: LinkId,
        wanted: &Matching<'_>,
        rate: Rate,
        cx: &mut Context,
    ) -> Vec<PacketId> {
        match self {
            TxQueue::Shared(queue) => queue.take_matching(id, wanted, rate, cx),
            TxQueue::Bearers(bearers) => bearers.take_matching(wanted, cx),
        }
    }

    /// Records the queue after packets were taken out. Bearers have recorded themselves.
    pub fn sample(&self, id: LinkId, cx: &mut Context) {
        match self {
            TxQueue::Shared(queue) => queue.sample(id, cx),
            TxQueue::Bearers(_) => {}
        }
    }

    /// The rate at which a packet to `dst` is sent, if it is not the same for all.
    pub fn rate(&self, dst: Addr) -> Option<Rate> {
        match self {
            TxQueue::Bearers(bearers) => Some(bearers.queues[bearers.of(dst)].rate),
            TxQueue::Shared(_) => None,
        }
    }

    /// The queue that the host's packets wait in: its own, if each has one.
    pub fn of_host(&mut self, host: Addr) -> Option<&mut Qdisc> {
        match self {
            TxQueue::Bearers(bearers) => {
                let place = *bearers.hosts.get(&host)?;
                Some(&mut bearers.queues[place].queue.qdisc)
            }
            TxQueue::Shared(queue) => Some(&mut queue.qdisc),
        }
    }

    /// The packets, and bytes, in the queue that packets for `dst` wait in.
    pub fn waiting_for(&self, dst: Addr) -> (usize, Bytes) {
        let queue = match self {
            TxQueue::Bearers(bearers) => &bearers.queues[bearers.of(dst)].queue.qdisc,
            TxQueue::Shared(queue) => &queue.qdisc,
        };
        (queue.packets(), queue.bytes())
    }

    /// The number of packets in the queue that packets for `dst` wait in.
    pub fn packets_for(&self, dst: Addr) -> usize {
        self.waiting_for(dst).0
    }

    /// The number of waiting packets.
    #[inline(always)]
    pub fn packets(&self) -> usize {
        match self {
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

    fn enqueue(&mut self, packet: PacketId, cx: &mut Context) {
        let bearer = self.of(cx.pool[&packet].header.dst);
        let BearerQueue { id, rate, queue } = &mut self.queues[bearer];
        if queue.qdisc.packets() == 0 {
            self.scheduler.wakes(bearer);
        }
        queue.enqueue(*id, packet, *rate, cx);
    }

    fn dequeue(&mut self, now: Time, cx: &mut Context) -> Option<PacketId> {
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
    fn rest(&mut self, now: Time, cx: &mut Context) {
        let Some(last) = self.last.take() else { return };
        let BearerQueue { id, rate, queue } = &mut self.queues[last];
        if queue.qdisc.packets() == 0 {
            let none = queue.dequeue(*id, now, *rate, cx);
            debug_assert!(none.is_none(), "an empty queue gave a packet");
        }
    }

    fn take_matching(&mut self, wanted: &Matching<'_>, cx: &mut Context) -> Vec<PacketId> {
        let mut taken = Vec::new();
        for BearerQueue { id, rate, queue } in &mut self.queues {
            let before = taken.len();
            taken.extend(queue.take_matching(*id, wanted, *rate, cx));
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
    use roamlab_engine::{Packets, Rng};
    use roamlab_packet::{Dscp, FlowId, IpHeader, Packet, Tos, UdpHeader};
    use roamlab_qdisc::QueueSpec;
    use roamlab_record::cause::Cause;

    impl TxQueue {
        /// A drop-tail queue in which `limit` packets may wait.
        pub fn droptail(limit: u32, recorded: bool) -> TxQueue {
            let qdisc = Qdisc::new(&QueueSpec::droptail(Packets(limit)), Rng::named(1, 1, "queue"));
            TxQueue::Shared(Queue::new(qdisc, recorded))
        }
    }

    #[test]
    fn a_record_says_what_waits_also_after_an_extraction() {
        let (mut cx, id, rate) = (Context::default(), LinkId(0), Rate::from_bps(1_000_000));
        let mut queue = TxQueue::droptail(9, true);
        for dscp in [Dscp::FORWARDED, Dscp::FORWARDED, Dscp::default()] {
            let tos = Tos::default().with_dscp(dscp);
            let inner = IpHeader::new(Addr::new(1, 0), Addr::new(2, 0), tos);
            let body = UdpHeader::default();
            let packet = cx.pool.create(Packet::make(FlowId(0), inner, Bytes(512), Time::ZERO, body));
            queue.enqueue(id, packet, rate, &mut cx);
        }
        let taken = queue.take_matching(id, &|packet, _| packet.serial == 1, rate, &mut cx);
        assert_eq!(taken.len(), 1);
        queue.sample(id, &mut cx);
        let sample = |cx: &Context| {
            let row = cx.probes.queues.rows.last().unwrap();
            (row.packets, row.bytes, row.forwarded)
        };
        assert_eq!(sample(&cx), (2, 1024, 1));
        while queue.dequeue(id, Time::ZERO, rate, &mut cx).0.is_some() {}
        assert_eq!(sample(&cx), (0, 0, 0));
    }

    #[test]
    fn a_loss_in_a_queue_where_redirected_packets_wait_is_the_handovers() {
        let (mut cx, id, rate) = (Context::default(), LinkId(0), Rate::from_bps(1_000_000));
        cx.probes.wanted.drops = true;
        cx.probes.causes.begin();
        let move_of = |host: Addr, cx: &mut Context| {
            let row = Cause::root(roamlab_record::cause::Kind::Motion).about(Some(host));
            cx.add_cause(row)
        };
        let hosts = [1, 2, 3].map(|number| Addr::new(number, 1));
        let rows = [hosts[0], hosts[1]].map(|host| move_of(host, &mut cx));
        let offer = |queue: &mut TxQueue, host: Addr, moved: Option<CauseId>, cx: &mut Context| {
            let inner = IpHeader::new(Addr::new(9, 0), host, Tos::default());
            let body = UdpHeader::default();
            let packet = cx.pool.create(Packet::make(FlowId(0), inner, Bytes(512), Time::ZERO, body));
            if let Some(row) = moved {
                cx.note_move(&packet, row);
            }
            queue.enqueue(id, packet, rate, cx);
        };
        for recorded in [false, true] {
            cx.probes.drops.rows.clear();
            let mut queue = TxQueue::droptail(2, recorded);
            offer(&mut queue, hosts[2], None, &mut cx);
            offer(&mut queue, hosts[2], None, &mut cx);
            offer(&mut queue, hosts[2], None, &mut cx); // Nothing was moved: the queue is a root.
            offer(&mut queue, hosts[0], Some(rows[0]), &mut cx); // It was moved itself.
            assert!(queue.dequeue(id, Time::ZERO, rate, &mut cx).0.is_some());
            offer(&mut queue, hosts[1], Some(rows[1]), &mut cx); // It finds room.
            offer(&mut queue, hosts[2], None, &mut cx); // Without that one there were room.
            offer(&mut queue, hosts[1], None, &mut cx);
            while queue.dequeue(id, Time::ZERO, rate, &mut cx).0.is_some() {}
            let causes = |cx: &Context| -> Vec<CauseId> {
                let rows = &cx.probes.drops.rows;
                rows.iter().map(|row| cx.probes.causes.rows.cause[row.cause.0 as usize]).collect()
            };
            assert_eq!(causes(&cx), [CauseId::NONE, rows[0], rows[1], rows[1]], "recorded: {recorded}");
            let TxQueue::Shared(queue) = &queue else { panic!("one queue") };
            assert!(queue.moved.is_empty());
        }
    }
}
