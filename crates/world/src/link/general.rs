//! The slow path of a link: all features of a plain link, and all others.

use super::{HotLink, InFlight, Link, Links, Sending, Start, flag, ns_per_byte};
use crate::cx::Cx;
use crate::event::Event;
use crate::forced::{Fate, ForcedDrops, LinkChange, strike};
use crate::ids::{LinkId, Location};
use crate::probe::Stop;
use crate::tx_queue::TxQueue;
use roamlab_engine::{Duration, Time};
use roamlab_packet::{Addr, DropReason, Packet, PacketId, Waiting};
use roamlab_qdisc::Matching;
use roamlab_radio::LossProcess;

impl Links {
    #[inline(never)]
    pub(super) fn enqueue_generally(&mut self, id: LinkId, packet: PacketId, cx: &mut Cx) {
        cx.trace(&packet, Stop::LinkEnqueue, Location::Link(id));
        let flags = self.hot(id).flags;
        if flags & flag::FORCED != 0 {
            match strike(&mut self[id].forced, &cx.pool[&packet]) {
                None => {}
                Some(Fate::Lost) => return cx.lose(packet, DropReason::ForcedLoss, Location::Link(id)),
                Some(Fate::Late(delay)) => {
                    self.in_flight += 1;
                    let entry = Event::LateEntry { link: id, packet: packet.park() };
                    return cx.scheduler.push(cx.now + delay, entry);
                }
            }
        }
        self.take_in(id, packet, cx);
    }

    /// A packet that was held back on entering a link enters it.
    pub fn enter_late(&mut self, id: LinkId, packet: PacketId, cx: &mut Cx) {
        self.in_flight -= 1;
        self.take_in(id, packet, cx);
    }

    #[inline(always)]
    fn take_in(&mut self, id: LinkId, packet: PacketId, cx: &mut Cx) {
        let flags = self.hot(id).flags;
        let is_unusual = cx.pool[&packet].is_unusual();
        let (priority, entering) = (self.signalling_priority, &cx.pool[&packet]);
        let overtakes = is_unusual && (priority && entering.may_overtake() || entering.is_management());
        if flags & flag::STATION != 0 {
            return self.enqueue_at_station(id, packet, (is_unusual, overtakes), cx);
        }
        if !self.hot(id).is_over(cx) {
            if overtakes {
                self[id].overtaking.push_back(packet.into());
                self.set(id, flag::URGENT);
            } else {
                self.count(id, &packet, is_unusual, cx);
                self.put(id, packet, cx);
            }
            return self.await_end(id, cx);
        }
        let next = if overtakes {
            self.fall_idle(id, cx);
            Some(packet)
        } else {
            self.count(id, &packet, is_unusual, cx);
            self.pass(id, packet, cx)
        };
        if let Some(packet) = next {
            self.start(id, packet, Start::FromIdle, cx);
            self.show_end(id, cx);
        }
    }

    #[inline(never)]
    pub(super) fn tx_done_generally(&mut self, id: LinkId, cx: &mut Cx) -> bool {
        // The packet may have been taken off the air meanwhile.
        if self.hot(id).flags & flag::TRACE != 0
            && let Some(sent) = self.sent_last(id)
        {
            cx.trace_sent(&sent.packet.retrieve(), sent.started, Location::Link(id));
        }
        self.start_next(id, Start::FromQueue, cx);
        self.hot(id).sending != Sending::Idle
    }

    /// What arrives takes the general path.
    pub fn end_specially(&mut self, id: LinkId) {
        self.set(id, flag::END);
    }

    /// Packets in flight are kept track of: they can be taken off the air.
    pub fn track_flights(&mut self, id: LinkId) {
        self.set(id, flag::TRACKED);
    }

    /// The scenario wants these packets lost, and the link to change so.
    pub fn interfere(&mut self, id: LinkId, forced: Vec<ForcedDrops>, changes: Vec<LinkChange>) {
        if !forced.is_empty() {
            self.set(id, flag::FORCED);
        }
        if !changes.is_empty() {
            self.set(id, flag::TRACKED | flag::END);
        }
        let link = &mut self[id];
        (link.forced, link.changes) = (forced, changes);
    }

    /// The link loses packets at random: each arrival takes the general path.
    pub fn lose_at_random(&mut self, id: LinkId, loss: LossProcess) {
        self.set(id, flag::TRACKED | flag::END);
        self[id].loss = Some(Box::new(loss));
    }

    /// Whether a link that loses packets at random loses the one that arrives.
    #[inline(never)]
    pub fn loses(&mut self, id: LinkId) -> bool {
        self[id].loss.as_mut().is_some_and(|loss| loss.loses())
    }

    /// Puts other queues before a link.
    pub fn set_queue(&mut self, id: LinkId, queue: TxQueue) {
        let rate = self[id].rate;
        let is_recorded = self[id].recorded.is_some();
        let link = &mut self.hot[id.0 as usize];
        link.ns_per_byte = if is_recorded { 0 } else { ns_per_byte(rate, Some(&queue)) };
        link.flags |= flag::QUEUE;
        self[id].queue = Some(queue);
    }

    /// A packet is traced: every packet takes the general path everywhere.
    pub fn trace(&mut self) {
        self.hot.iter_mut().for_each(|link| link.flags |= flag::TRACE | flag::TRACKED | flag::END);
    }

    /// The change of this number takes place. A transmission under way ends when it would have, and what is in flight
    /// arrives when it would have; only whether it is received is decided where it arrives.
    pub fn change(&mut self, id: LinkId, index: u32) {
        let link = &mut self.cold[id.0 as usize];
        let hot = &mut self.hot[id.0 as usize];
        let LinkChange { rate, delay, up, .. } = link.changes[index as usize];
        if let Some(rate) = rate.filter(|rate| *rate != link.rate) {
            (link.rate, link.remainder) = (rate, 0);
            hot.ns_per_byte = ns_per_byte(rate, link.queue.as_ref());
        }
        hot.delay = delay.unwrap_or(hot.delay);
        link.up = up.unwrap_or(link.up);
    }

    /// The packet of the arrival that happens now, if it was not taken off the air meanwhile.
    #[inline(always)]
    pub fn arrived(&mut self, id: LinkId, cx: &mut Cx) -> Option<InFlight> {
        let HotLink { end, delay, flags, .. } = self.hot[id.0 as usize];
        if flags & flag::TRACE != 0
            && delay == Duration::ZERO
            && end == cx.now
            && let Some(sent) = self.sent_last(id)
        {
            // Its end comes, but is no event before.
            cx.trace_sent(&sent.packet.retrieve(), sent.started, Location::Link(id));
        }
        let in_flight = &mut self[id].in_flight;
        let is_first = in_flight.front().is_some_and(|first| first.insertion == cx.scheduler.current());
        if is_first { in_flight.pop() } else { None }
    }

    /// Removes, in order, what `wanted` selects among the packets in flight and the waiting ones.
    pub fn take_matching(
        &mut self,
        id: LinkId,
        in_flight_too: bool,
        wanted: &Matching<'_>,
        cx: &mut Cx,
    ) -> Vec<PacketId> {
        if self.hot(id).is_over(cx) {
            self.fall_idle(id, cx);
        }
        let mut taken = Vec::new();
        taken.extend(self.withdraw(id, wanted, cx));
        let link = &mut self.cold[id.0 as usize];
        if in_flight_too {
            for flying in std::mem::take(&mut link.in_flight).iter() {
                let packet = flying.packet.retrieve();
                if wanted(&cx.pool[&packet], &cx.pool) {
                    taken.push(packet);
                } else {
                    link.in_flight.push(*flying);
                }
            }
        }
        let waiting = &mut self.hot[id.0 as usize].waiting;
        let plain = std::mem::take(waiting).drain(&cx.pool);
        for packet in split(plain, wanted, &mut taken, cx) {
            waiting.push(packet, &mut cx.pool);
        }
        if let Some(queue) = &mut link.queue {
            taken.extend(queue.take_matching(wanted, link.rate, cx));
        }
        let urgent = std::mem::take(&mut link.overtaking).into_iter().map(Waiting::take);
        link.overtaking = split(urgent, wanted, &mut taken, cx).into_iter().map(Waiting::from).collect();
        if link.overtaking.is_empty() {
            self.hot[id.0 as usize].flags &= !flag::URGENT;
        }
        if let Some(queue) = &link.queue {
            queue.sample(id, cx);
        }
        self.offer(id, cx);
        taken
    }

    /// Copies, in order, of what `wanted` selects among the packets in flight.
    pub fn copy_in_flight(&self, id: LinkId, wanted: &Matching<'_>, cx: &mut Cx) -> Vec<PacketId> {
        let mut copies = Vec::new();
        for packet in self[id].in_flight.iter().map(|flying| flying.packet.retrieve()) {
            if wanted(&cx.pool[&packet], &cx.pool) {
                copies.push(cx.pool.duplicate(&packet));
            }
        }
        copies
    }

    /// Whether data for this host wait or are in flight. In a queue that hosts share, whether any packet waits.
    pub fn has_for(&self, id: LinkId, host: Addr, cx: &Cx) -> bool {
        let flies = |flying: &InFlight| {
            let packet = &cx.pool[&flying.packet.retrieve()];
            packet.header.dst == host && !packet.is_signal()
        };
        let waiting = match &self[id].queue {
            None => self.hot(id).waiting.len() as usize,
            Some(queue) => queue.packets_for(host),
        };
        waiting > 0 || self[id].offers() || self[id].in_flight.iter().any(flies)
    }

    /// Packets inside all links: waiting, in service and in flight.
    pub fn packets_inside(&self) -> u64 {
        let inside = |(hot, link): (&HotLink, &Link)| {
            let queued = link.queue.as_ref().map_or(0, TxQueue::packets);
            let listed = queued + link.overtaking.len() + link.in_flight.len();
            u64::from(hot.waiting.len()) + listed as u64 + u64::from(link.offers())
        };
        self.in_flight + self.hot.iter().zip(&self.cold).map(inside).sum::<u64>()
    }

    /// How many links there are.
    pub fn len(&self) -> usize {
        self.cold.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.cold.is_empty()
    }

    /// The links, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Link> {
        self.cold.iter()
    }

    /// Packets handed to the link's queue so far, and how many of them bore the mark of forwarded packets. Signalling that
    /// overtakes is not among them.
    pub fn offered(&self) -> impl Iterator<Item = (u64, u64)> {
        self.hot.iter().zip(&self.cold).map(|(hot, link)| (hot.offered, link.forwarded))
    }

    /// How long each link has been sending, transmissions that began included.
    pub fn busy(&self) -> impl Iterator<Item = Duration> {
        self.hot.iter().map(|link| link.busy)
    }

    /// The link's propagation delay.
    pub fn delay(&self, id: LinkId) -> Duration {
        self.hot(id).delay
    }

    pub(super) fn hot(&self, id: LinkId) -> &HotLink {
        &self.hot[id.0 as usize]
    }

    pub(super) fn set(&mut self, id: LinkId, flags: u8) {
        self.hot[id.0 as usize].flags |= flags;
    }

    /// Hands the queue of an idle link a packet; what is sent, if anything.
    #[inline(always)]
    fn pass(&mut self, id: LinkId, packet: PacketId, cx: &mut Cx) -> Option<PacketId> {
        let (link, hot) = (&mut self.cold[id.0 as usize], &mut self.hot[id.0 as usize]);
        match &mut link.queue {
            Some(queue) if !queue.can_bypass(cx.pool[&packet].wire_size()) => {
                let fell_idle = (hot.sending != Sending::Idle).then_some(hot.end);
                hot.sending = Sending::Idle;
                queue.pass(id, packet, (link.rate, fell_idle), cx)
            }
            _ => Some(packet),
        }
    }

    /// Puts a packet into the queue, or loses it.
    #[inline(always)]
    pub(super) fn put(&mut self, id: LinkId, packet: PacketId, cx: &mut Cx) {
        let (link, hot) = (&mut self.cold[id.0 as usize], &mut self.hot[id.0 as usize]);
        match &mut link.queue {
            Some(queue) => queue.enqueue(id, packet, link.rate, cx),
            None if hot.waiting.len() < hot.limit => hot.waiting.push(packet, &mut cx.pool),
            None => cx.lose(packet, DropReason::QueueOverflow, Location::Link(id)),
        }
    }

    /// The next packet from the queue. Asked also when nothing waits and the link falls idle at `now`.
    #[inline(always)]
    pub(super) fn next(&mut self, id: LinkId, now: Time, cx: &mut Cx) -> Option<PacketId> {
        let link = &mut self.cold[id.0 as usize];
        match &mut link.queue {
            Some(queue) => queue.dequeue(id, now, link.rate, cx),
            None => self.hot[id.0 as usize].waiting.pop(&cx.pool),
        }
    }

    /// A packet is handed to the queue. Only an unusual one may bear a mark.
    #[inline(always)]
    pub(super) fn count(&mut self, id: LinkId, packet: &PacketId, is_unusual: bool, cx: &mut Cx) {
        cx.trace(packet, Stop::QdiscEnqueue, Location::Link(id));
        self.hot[id.0 as usize].offered += 1;
        if is_unusual {
            self[id].forwarded += u64::from(cx.is_forwarded(packet));
        }
    }

    #[inline(always)]
    fn start_next(&mut self, id: LinkId, start: Start, cx: &mut Cx) {
        let link = &mut self.hot[id.0 as usize];
        link.sending = Sending::Idle;
        let mut next = None;
        if link.flags & flag::URGENT != 0 {
            let overtaking = &mut self.cold[id.0 as usize].overtaking;
            next = overtaking.pop_front().map(Waiting::take);
            if overtaking.is_empty() {
                link.flags &= !flag::URGENT;
            }
        }
        if let Some(packet) = next.or_else(|| self.next(id, cx.now, cx)) {
            self.start(id, packet, start, cx);
            self.await_end(id, cx);
        }
    }

    #[inline(always)]
    fn start(&mut self, id: LinkId, packet: PacketId, start: Start, cx: &mut Cx) {
        let size = cx.pool[&packet].wire_size();
        self.transmit(id, packet, size, start, cx);
    }

    /// Makes the end of the transmission an event, if anything waits for it or a trace shows it.
    #[inline(always)]
    fn await_end(&mut self, id: LinkId, cx: &mut Cx) {
        let (link, cold) = (&mut self.hot[id.0 as usize], &self.cold[id.0 as usize]);
        if link.sending == Sending::Awaited {
            return;
        }
        let waiting = cold.queue.as_ref().map_or(link.waiting.len() as usize, TxQueue::packets);
        if waiting > 0 || link.flags & flag::URGENT != 0 {
            link.await_end(id, cx);
        } else {
            self.show_end(id, cx);
        }
    }

    /// Makes the end of the transmission an event if a trace shows it.
    #[inline(always)]
    fn show_end(&mut self, id: LinkId, cx: &mut Cx) {
        let (link, cold) = (&mut self.hot[id.0 as usize], &self.cold[id.0 as usize]);
        let is_traced = || cold.in_flight.back().is_some_and(|sent| cx.traces(&sent.packet.retrieve()));
        if link.flags & flag::TRACE != 0 && is_traced() {
            link.await_end(id, cx);
        }
    }

    /// If a transmission has ended with nothing waiting: does what the event that was spared would have done then.
    #[inline(always)]
    fn fall_idle(&mut self, id: LinkId, cx: &mut Cx) {
        let link = &mut self.hot[id.0 as usize];
        if link.sending == Sending::Idle {
            return;
        }
        link.sending = Sending::Idle;
        let end = link.end;
        let waiting = self.next(id, end, cx);
        debug_assert!(waiting.is_none(), "{}: a packet waited and nobody knew", self[id].name);
    }

    /// The packet whose transmission was the last, unless it was taken off the air.
    fn sent_last(&self, id: LinkId) -> Option<&InFlight> {
        // The place of its arrival was reserved before that of its end.
        let insertion = self.hot(id).insertion.wrapping_sub(1);
        self[id].in_flight.back().filter(|sent| sent.insertion == insertion)
    }

    /// Lists a packet among those in flight, whose transmission began at `started`.
    #[inline(always)]
    pub(super) fn track(
        &mut self,
        id: LinkId,
        packet: PacketId,
        (started, insertion): (Time, u64),
        cx: &mut Cx,
    ) {
        let HotLink { end: sent, delay, .. } = self.hot[id.0 as usize];
        let link = &mut self.cold[id.0 as usize];
        let mut arrival = sent + delay;
        // After a cut of the delay: nothing overtakes, but follows at its own transmission time (ns-2, `avoidReordering_`).
        if arrival < link.last_arrival {
            arrival = link.last_arrival + sent.since(started);
        }
        link.last_arrival = arrival;
        link.in_flight.push(InFlight { started, insertion, packet: packet.park() });
        cx.scheduler.push_at(arrival, insertion, Event::TrackedArrival { link: id });
    }
}

impl Link {
    /// How long the link needs for a packet, where that is not a whole number of nanoseconds a byte. What a transmission
    /// takes beyond whole nanoseconds is carried to the next one of a busy period.
    pub(super) fn transmission_time(&mut self, packet: &PacketId, start: Start, cx: &Cx) -> Duration {
        let packet: &Packet = &cx.pool[packet];
        if let Some(time) = self.recorded_time(packet.wire_size(), start, cx) {
            return time;
        }
        let rate = self.queue.as_ref().and_then(|queue| queue.rate(packet.header.dst)).unwrap_or(self.rate);
        if rate != self.rate || start == Start::FromIdle {
            (self.rate, self.remainder) = (rate, 0);
        }
        self.rate.transmission_time(packet.wire_size(), &mut self.remainder)
    }
}

/// Moves what `wanted` selects behind `taken`, in order; the rest, in order.
fn split(
    packets: impl IntoIterator<Item = PacketId>,
    wanted: &Matching<'_>,
    taken: &mut Vec<PacketId>,
    cx: &Cx,
) -> Vec<PacketId> {
    let mut rest = Vec::new();
    for packet in packets {
        let list = if wanted(&cx.pool[&packet], &cx.pool) { &mut *taken } else { &mut rest };
        list.push(packet);
    }
    rest
}
