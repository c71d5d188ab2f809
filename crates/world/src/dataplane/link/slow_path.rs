//! The slow path of a link: forced events, signalling that overtakes, queues that an idle link asks, traces.

use super::{HotLink, Link, Links, Start, Transmitter, flag};
use crate::context::Context;
use crate::dataplane::forced::{ForcedEvent, forced_event};
use crate::event::Event;
use roamlab_engine::Duration;
use roamlab_packet::{DropReason, Packet, PacketId, Waiting};
use roamlab_record::Stop;
use roamlab_record::ids::{LinkId, Location};
use std::collections::VecDeque;

impl Links {
    /// Takes in a packet that is not plain, or any packet at a link that is not.
    #[inline(never)]
    pub(super) fn enqueue_slow(&mut self, id: LinkId, packet: PacketId, cx: &mut Context) {
        if self.hot(id).flags & flag::SLOW == flag::QUEUE && cx.pool[&packet].is_plain() {
            return self.enter_queue(id, packet, cx);
        }
        cx.trace(&packet, Stop::LinkEnqueue, Location::Link(id));
        if self.hot(id).flags & (flag::FORCED | flag::HELPED) != 0 {
            if self.is_helped(id, &packet, cx) {
                return self.enter_helped(id, packet, cx);
            }
            match forced_event(&mut self[id].forced, &cx.pool[&packet]) {
                None => {}
                Some(ForcedEvent::Loss) => {
                    return cx.lose(packet, DropReason::ForcedLoss, Location::Link(id));
                }
                Some(ForcedEvent::Delay(delay)) => {
                    self.hot[id.0 as usize].pending += 1;
                    let entry = Event::LateEntry { link: id, packet: packet.park() };
                    return cx.scheduler.push(cx.now + delay, entry);
                }
            }
        }
        if self.hot(id).flags & flag::APART != 0 && cx.pool[&packet].is_signal() {
            return self.send_apart(id, packet, cx);
        }
        self.enter(id, packet, cx);
    }

    /// A packet that was held back on entering a link enters it.
    pub fn enter_late(&mut self, id: LinkId, packet: PacketId, cx: &mut Context) {
        self.hot[id.0 as usize].pending -= 1;
        self.enter(id, packet, cx);
    }

    /// A packet that no forced event stops: to the signalling that overtakes, or to the queue.
    #[inline(always)]
    pub(super) fn enter(&mut self, id: LinkId, packet: PacketId, cx: &mut Context) {
        let (is_station, entering) = (self.hot(id).flags & flag::STATION != 0, &cx.pool[&packet]);
        let (is_plain, is_management) = (entering.is_plain(), entering.is_management());
        if is_station
            && !is_management
            && !entering.is_for_all()
            && let Some(cause) = self[id].why_unassociated(entering.header.dst)
        {
            return cx.lose_by(packet, DropReason::Detached, Location::Link(id), cause);
        }
        if !is_plain && (is_management || self.signalling_priority && entering.may_overtake()) {
            return self.overtake(id, packet, cx);
        }
        cx.trace(&packet, Stop::QdiscEnqueue, Location::Link(id));
        if !is_plain {
            cx.probes.handed_over(id, &cx.pool[&packet]);
        }
        if is_station {
            self.hot[id.0 as usize].offered += 1;
            let Link { queue, rate, .. } = &mut self[id];
            queue.enqueue(id, packet, *rate, cx);
            return self.offer(id, cx);
        }
        self.enter_queue(id, packet, cx);
    }

    /// A packet enters the queue of a point-to-point link, or is sent immediately.
    #[inline(always)]
    fn enter_queue(&mut self, id: LinkId, packet: PacketId, cx: &mut Context) {
        let link = &mut self.hot[id.0 as usize];
        link.offered += 1;
        if !link.is_idle(cx) {
            let Link { queue, rate, .. } = &mut self.cold[id.0 as usize];
            queue.enqueue(id, packet, *rate, cx);
            return link.await_end(queue, id, cx);
        }
        let next = match link.flags & flag::QUEUE {
            0 => Some(packet),
            _ => link.pass_queue(&mut self.cold[id.0 as usize], id, packet, cx),
        };
        if let Some(packet) = next {
            link.transmit(&mut self.cold, id, packet, Start::FromIdle, cx);
        }
    }

    /// A packet overtakes what waits in the queue.
    pub(super) fn overtake(&mut self, id: LinkId, packet: PacketId, cx: &mut Context) {
        if self.hot(id).flags & flag::STATION == 0 && self.hot(id).is_idle(cx) {
            self.fall_idle(id, cx);
            self.hot[id.0 as usize].transmit(&mut self.cold, id, packet, Start::FromIdle, cx);
        } else {
            self[id].overtaking.push_back(packet.into());
            self.let_overtake(id, cx);
        }
    }

    /// The same of signalling that has overtaken at another link, as a whole: its number does not matter.
    pub fn overtake_all(&mut self, id: LinkId, mut packets: VecDeque<Waiting>, cx: &mut Context) {
        let each = self.hot(id).flags & (flag::FORCED | flag::TRACE) != 0 || self[id].associations.is_some();
        if each {
            return packets.into_iter().for_each(|packet| self.enqueue(id, packet.take(), cx));
        }
        if self.hot(id).flags & flag::STATION == 0 && self.hot(id).is_idle(cx) {
            let Some(first) = packets.pop_front() else { return };
            self.overtake(id, first.take(), cx);
        }
        if packets.is_empty() {
            return;
        }
        match &mut self[id].overtaking {
            waiting if waiting.is_empty() => *waiting = packets,
            waiting => waiting.append(&mut packets),
        }
        self.let_overtake(id, cx);
    }

    /// Signalling waits that overtakes: it is next.
    fn let_overtake(&mut self, id: LinkId, cx: &mut Context) {
        if self.hot(id).flags & flag::STATION != 0 {
            self.offer(id, cx);
        } else {
            self.set(id, flag::PRIORITY);
            self.hot[id.0 as usize].schedule_end(id, cx);
        }
    }

    /// A transmission has ended that is traced, or for which signalling waits. The signalling is next.
    #[inline(never)]
    pub(super) fn tx_done_slow(&mut self, id: LinkId, cx: &mut Context) -> bool {
        // The packet may have been removed meanwhile.
        if self.hot(id).flags & flag::TRACE != 0
            && let Some(sent) = self.sent_last(id)
        {
            cx.trace_sent(&sent.packet, sent.started, Location::Link(id));
        }
        let Links { hot, cold, .. } = self;
        let link = &mut hot[id.0 as usize];
        let Link { overtaking, queue, .. } = &mut cold[id.0 as usize];
        let (first, waiting) = (overtaking.pop_front().map(Waiting::take), queue.packets());
        if overtaking.is_empty() {
            link.flags &= !flag::PRIORITY;
        }
        let Some(packet) = first else { return link.start_next(cold, id, cx) };
        link.transmit(cold, id, packet, Start::FromQueue, cx);
        link.schedule_end_if(waiting > 0, id, cx);
        true
    }

    /// See [`HotLink::fall_idle`].
    pub(super) fn fall_idle(&mut self, id: LinkId, cx: &mut Context) {
        let (link, cold) = (&mut self.hot[id.0 as usize], &mut self.cold[id.0 as usize]);
        link.fall_idle(cold, id, cx);
    }
}

impl HotLink {
    /// A packet finds the link idle and passes its queue; what is sent, if anything.
    #[inline(always)]
    fn pass_queue(
        &mut self,
        cold: &mut Link,
        id: LinkId,
        packet: PacketId,
        cx: &mut Context,
    ) -> Option<PacketId> {
        if cold.queue.can_bypass(cx.pool[&packet].wire_size()) {
            return Some(packet);
        }
        let fell_idle = (self.transmitter != Transmitter::Idle).then_some(self.end);
        self.transmitter = Transmitter::Idle;
        cold.queue.pass(id, packet, (fell_idle, cold.rate), cx)
    }

    /// If a transmission has ended with nothing waiting: the queue learns that the link fell idle then.
    #[inline(always)]
    fn fall_idle(&mut self, cold: &mut Link, id: LinkId, cx: &mut Context) {
        if self.transmitter != Transmitter::Idle {
            self.transmitter = Transmitter::Idle;
            let (waiting, _) = cold.next(id, self.end, cx);
            debug_assert!(waiting.is_none(), "{}: a packet waited and no event was set", cold.name);
        }
    }
}

impl Link {
    /// How long the link needs for a packet, where that is not a whole number of nanoseconds a byte. What a transmission
    /// takes beyond whole nanoseconds is carried to the next one of a busy period.
    pub(super) fn transmission_time(&mut self, packet: &PacketId, start: Start, cx: &Context) -> Duration {
        let packet: &Packet = &cx.pool[packet];
        if let Some(time) = self.recorded_time(packet.wire_size(), start, cx) {
            return time;
        }
        let rate = self.queue.rate(packet.header.dst).unwrap_or(self.rate);
        if rate != self.rate || start == Start::FromIdle {
            (self.rate, self.remainder) = (rate, 0);
        }
        self.rate.transmission_time(packet.wire_size(), &mut self.remainder)
    }
}
