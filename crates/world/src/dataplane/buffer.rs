//! A node's buffer for one mobile host.
//!
//! One buffer per host, not per connection ([mblue] §II). While it collects, packets wait. Once it is released, packets
//! pass directly, in order of arrival.

use crate::context::Context;
use roamlab_engine::{Duration, Time};
use roamlab_mobility::{BufferDrop, BufferFlush, Buffering, Keeps, Via};
use roamlab_packet::{DropReason, Dscp, PacketId, PacketPool, Waiting};
use roamlab_qdisc::Matching;
use roamlab_record::cause::CauseId;
use roamlab_record::ids::Location;
use std::collections::{BTreeSet, VecDeque};

/// Decision of the buffer about a packet.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// The host is attached. Without layer-2 acknowledgement, copies of what was sent over the air are kept.
    #[default]
    Attached,
    /// The host has left: packets wait.
    Collecting,
    /// The host has arrived: marked packets pass, unmarked ones wait until a time that the first of them sets.
    Ordering {
        /// The mark.
        mark: Dscp,
        /// How long they wait.
        wait: Duration,
        /// Until when; `None`: none has come.
        until: Option<Time>,
    },
    /// Each packet waits for a constant time, and then passes.
    Delaying {
        /// Where to.
        via: Via,
        /// How long.
        wait: Duration,
    },
    /// Packets pass through, marked if so asked.
    Released {
        /// Where to.
        via: Via,
        /// With which mark.
        mark: Option<Dscp>,
    },
}

/// A packet that waits.
#[derive(Clone, Debug)]
struct Held {
    since: Time,
    /// When it entered PDCP here, in a numbered radio bearer.
    arrived: Time,
    packet: Waiting,
}

/// A buffer for one host.
#[derive(Clone, Debug)]
pub struct HostBuffer {
    /// Its present state.
    pub mode: Mode,
    /// Packets that the host has received, by the serial number of the first copy: as far as it has reported
    /// them.
    pub received: BTreeSet<u64>,
    /// When it is looked at next for packets that have waited too long, if it is.
    pub watched: Option<Time>,
    /// Cause of its present state.
    pub cause: CauseId,
    /// discardTimer of the numbered radio bearer that it is part of; `None`: infinity, or it is part of none.
    pub discard: Option<Duration>,
    shape: Buffering,
    packets: VecDeque<Held>,
    /// Packets that wait until the buffer has been emptied.
    reorder_queue: VecDeque<Held>,
}

impl HostBuffer {
    /// An empty buffer; `discard` is [`discard`](Self::discard).
    pub fn new(shape: Buffering, discard: Option<Duration>) -> HostBuffer {
        let (packets, reorder_queue) = (VecDeque::new(), VecDeque::new());
        let (mode, received) = (Mode::Attached, BTreeSet::new());
        let (watched, cause) = (None, CauseId::NONE);
        HostBuffer { mode, received, watched, cause, discard, shape, packets, reorder_queue }
    }

    fn limit(&self) -> usize {
        self.shape.limit.0 as usize
    }

    /// Keeps a copy of a packet that goes over the air; the oldest makes room.
    pub fn keep_copy(&mut self, original: &PacketId, place: Location, cx: &mut Context) {
        if self.limit() == 0 {
            return;
        }
        if self.packets.len() >= self.limit()
            && let Some(oldest) = self.packets.pop_front()
        {
            cx.lose(oldest.packet.take(), DropReason::CopyReleased, place);
        }
        let packet = cx.duplicate(original).into();
        self.packets.push_back(Held { since: cx.now, arrived: cx.now, packet });
    }

    /// The reason of the loss when the buffer is discarded: copies of packets that were sent lose no data.
    pub fn reason_to_discard(&self) -> DropReason {
        match (self.mode, self.shape.keeps) {
            (Mode::Attached, Keeps::Sent) => DropReason::CopyReleased,
            _ => DropReason::BufferExpired,
        }
    }

    /// Takes a packet in, if the buffer is full at the cost of another or not at all. Copies of what the base station has
    /// sent make room, oldest first; where it keeps none, a copy is one for this branch and as good as any other packet.
    pub fn push(&mut self, packet: PacketId, place: Location, cx: &mut Context) {
        // One that has a number is kept for a host that may not have it.
        let is_copy = |held: &Held| {
            let packet = &cx.pool[&held.packet];
            cx.pool.is_copy(packet) && cx.pool.number(packet).is_none()
        };
        if self.len() >= self.limit()
            && self.shape.keeps != Keeps::Nothing
            && let Some(oldest_copy) = self.packets.iter().position(is_copy)
            && let Some(copy) = self.packets.remove(oldest_copy)
        {
            cx.lose(copy.packet.take(), DropReason::CopyReleased, place);
        }
        if let Some(held) = self.admit(packet, place, cx) {
            self.packets.push_back(held);
        }
    }

    /// Takes a packet into the reorder queue, if the buffer is full at the cost of another or not at all.
    pub fn push_to_reorder_queue(&mut self, packet: PacketId, place: Location, cx: &mut Context) {
        if let Some(held) = self.admit(packet, place, cx) {
            self.reorder_queue.push_back(held);
        }
    }

    /// The packet, if there is room for it; else one is lost, by the drop policy.
    fn admit(&mut self, packet: PacketId, place: Location, cx: &mut Context) -> Option<Held> {
        if self.len() >= self.limit() {
            let oldest = match self.shape.drop {
                BufferDrop::Newest => None,
                BufferDrop::Oldest => self.packets.pop_front().or_else(|| self.reorder_queue.pop_front()),
            };
            let Some(oldest) = oldest else {
                cx.lose_by(packet, DropReason::BufferOverflow, place, self.cause);
                return None;
            };
            cx.lose_by(oldest.packet.take(), DropReason::BufferOverflow, place, self.cause);
        }
        let since = cx.pool.since(&cx.pool[&packet]);
        if since.is_none() && self.discard.is_some() {
            cx.pool.set_since(&packet, Some(cx.now));
        }
        let arrived = since.unwrap_or(cx.now);
        Some(Held { since: cx.now, arrived, packet: packet.into() })
    }

    /// When the first packet will have waited too long, or long enough.
    pub fn next_expiry(&self) -> Option<Time> {
        if let Mode::Delaying { wait, .. } = self.mode {
            return self.packets.front().map(|held| held.since + wait);
        }
        let longest = self.shape.longest_wait.filter(|_| self.mode != Mode::Attached);
        let first = [self.packets.front(), self.reorder_queue.front()].into_iter().flatten();
        first.filter_map(|held| self.expiry_of(held, longest)).min()
    }

    /// When a packet will have waited too long.
    fn expiry_of(&self, held: &Held, longest: Option<Duration>) -> Option<Time> {
        let expiry = longest.map(|longest| held.since + longest);
        let discard = self.discard.map(|discard| held.arrived + discard);
        [expiry, discard].into_iter().flatten().min()
    }

    /// Loses what has waited too long.
    pub fn expire(&mut self, place: Location, cx: &mut Context) {
        let cause = self.cause.or(|| CauseId::START);
        let longest = self.shape.longest_wait.filter(|_| self.mode != Mode::Attached);
        while self.next_expiry().is_some_and(|time| time <= cx.now) {
            let ages = [self.packets.front(), self.reorder_queue.front()];
            let ages = ages.map(|held| held.and_then(|held| self.expiry_of(held, longest)));
            let behind = ages[1].is_some_and(|since| ages[0].is_none_or(|first| since < first));
            let line = if behind { &mut self.reorder_queue } else { &mut self.packets };
            if let Some(held) = line.pop_front() {
                let is_discarded = self.discard.is_some_and(|discard| held.arrived + discard <= cx.now);
                let reason = if is_discarded { DropReason::DiscardTimer } else { DropReason::BufferExpired };
                cx.lose_by(held.packet.take(), reason, place, cause);
            }
        }
    }

    /// The first packet and its way, if it has been delayed for as long as it should.
    pub fn take_delayed(&mut self, now: Time) -> Option<(Via, PacketId)> {
        let Mode::Delaying { via, wait } = self.mode else { return None };
        self.packets.front().filter(|held| held.since + wait <= now)?;
        self.packets.pop_front().map(|held| (via, held.packet.take()))
    }

    /// The host has left now: packets wait, and copies that were kept begin to.
    pub fn collect(&mut self, now: Time, cause: CauseId) {
        (self.mode, self.cause) = (Mode::Collecting, cause);
        self.received.clear();
        self.packets.iter_mut().for_each(|held| held.since = now);
    }

    /// Packets that wait behind, in order.
    pub fn take_reorder_queue(&mut self) -> VecDeque<PacketId> {
        std::mem::take(&mut self.reorder_queue).into_iter().map(|held| held.packet.take()).collect()
    }

    /// Everything inside but what waits behind, in the order of arrival.
    pub fn take_all(&mut self) -> VecDeque<PacketId> {
        std::mem::take(&mut self.packets).into_iter().map(|held| held.packet.take()).collect()
    }

    /// The same in the order in which the buffer is emptied.
    pub fn flush(&mut self) -> VecDeque<PacketId> {
        let mut packets = self.take_all();
        if self.shape.flush == BufferFlush::NewestFirst {
            packets.make_contiguous().reverse();
        }
        packets
    }

    /// Takes the packets out that `wanted` selects.
    pub fn take_matching(&mut self, wanted: &Matching<'_>, pool: &PacketPool) -> Vec<PacketId> {
        let mut taken = Vec::new();
        for line in [&mut self.packets, &mut self.reorder_queue] {
            for held in std::mem::take(line) {
                if wanted(&pool[&held.packet], pool) {
                    taken.push(held.packet.take());
                } else {
                    line.push_back(held);
                }
            }
        }
        taken
    }

    /// The lowest number in a radio bearer of the packets that wait.
    pub fn first_number(&self, pool: &PacketPool) -> Option<u32> {
        self.packets.iter().filter_map(|held| pool.number(&pool[&held.packet])).min()
    }

    /// True if the packet with this number waits.
    pub fn holds(&self, serial: u64, pool: &PacketPool) -> bool {
        let mut all = self.packets.iter().chain(&self.reorder_queue);
        all.any(|held| pool[&held.packet].serial == serial)
    }

    /// The number of packets inside.
    pub fn len(&self) -> usize {
        self.packets.len() + self.reorder_queue.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roamlab_engine::{Bytes, Packets, Time};
    use roamlab_packet::{Addr, FlowId, IpHeader, Packet, Tos, UdpHeader};
    use roamlab_record::ids::NodeId;

    const HERE: Location = Location::Node(NodeId(0));
    const HOST: Addr = Addr::new(1, 1);

    fn plain(limit: u32) -> Buffering {
        Buffering::plain(Packets(limit), Keeps::Sent)
    }

    /// Packets with the serial numbers 1 to `count`.
    fn packets(count: u64, cx: &mut Context) -> Vec<PacketId> {
        let inner = IpHeader::new(Addr::new(2, 0), HOST, Tos::default());
        let body = UdpHeader::default();
        (0..count)
            .map(|_| cx.pool.create(Packet::make(FlowId(0), inner, Bytes(512), Time::ZERO, body)))
            .collect()
    }

    /// Content: (serial, serial of the packet that it is a copy of).
    fn inside(buffer: &mut HostBuffer, cx: &Context) -> Vec<(u64, u64)> {
        buffer.take_all().iter().map(|id| (cx.pool[id].serial, cx.pool.original(&cx.pool[id]))).collect()
    }

    #[test]
    fn a_full_buffer_loses_what_comes_and_keeps_the_order_of_the_rest() {
        let (mut cx, mut buffer) = (Context::default(), HostBuffer::new(plain(2), None));
        for packet in packets(4, &mut cx) {
            buffer.push(packet, HERE, &mut cx);
        }
        assert_eq!(buffer.len(), 2);
        assert_eq!(cx.drop_serials(), [3, 4]);
        assert!(cx.drop_reasons().iter().all(|&reason| reason == DropReason::BufferOverflow));
        assert_eq!(inside(&mut buffer, &cx), [(1, 1), (2, 2)]);
        assert_eq!(buffer.len(), 0);
    }

    #[test]
    fn copies_make_room_oldest_first_for_copies_and_for_packets() {
        let (mut cx, mut buffer) = (Context::default(), HostBuffer::new(plain(2), None));
        let sent = packets(3, &mut cx);
        for original in &sent {
            buffer.keep_copy(original, HERE, &mut cx);
        }
        assert_eq!(cx.drop_serials(), [4], "the copy of packet 1 made room for that of packet 3");
        for packet in packets(3, &mut cx) {
            buffer.push(packet, HERE, &mut cx);
        }
        use DropReason::{BufferOverflow, CopyReleased};
        assert_eq!(cx.drop_serials(), [4, 5, 6, 9]);
        assert_eq!(cx.drop_reasons(), [CopyReleased, CopyReleased, CopyReleased, BufferOverflow]);
        assert_eq!(inside(&mut buffer, &cx), [(7, 7), (8, 8)]);
    }

    #[test]
    fn a_copy_that_makes_room_is_no_loss_of_its_flow() {
        let (mut cx, mut buffer) = (Context::default(), HostBuffer::new(plain(1), None));
        cx.probes.losses = vec![0];
        let sent = packets(2, &mut cx);
        sent.iter().for_each(|original| buffer.keep_copy(original, HERE, &mut cx));
        assert_eq!((cx.probes.drops.rows.len(), cx.probes.losses[0]), (1, 0));
        sent.into_iter().for_each(|packet| buffer.push(packet, HERE, &mut cx));
        assert_eq!(
            (cx.probes.drops.rows.len(), cx.probes.losses[0]),
            (3, 1),
            "the second packet found no room"
        );
    }

    #[test]
    fn copies_for_this_branch_make_room_for_nobody() {
        let shape = Buffering::plain(Packets(2), Keeps::Nothing);
        let (mut cx, mut buffer) = (Context::default(), HostBuffer::new(shape, None));
        for original in packets(3, &mut cx) {
            let copy = cx.duplicate(&original);
            cx.lose(original, DropReason::CopyReleased, HERE);
            buffer.push(copy, HERE, &mut cx);
        }
        assert_eq!(inside(&mut buffer, &cx), [(4, 1), (5, 2)]);
        assert_eq!(cx.drop_reasons().last(), Some(&DropReason::BufferOverflow));
    }

    #[test]
    fn a_buffer_without_room_holds_nothing() {
        let (mut cx, mut buffer) = (Context::default(), HostBuffer::new(plain(0), None));
        let mut sent = packets(2, &mut cx);
        buffer.keep_copy(&sent[0], HERE, &mut cx);
        assert_eq!((buffer.len(), cx.pool.census().duplicated), (0, 0));
        sent.drain(..).for_each(|packet| buffer.push(packet, HERE, &mut cx));
        assert_eq!((buffer.len(), cx.probes.drops.rows.len()), (0, 2));
    }

    #[test]
    fn the_oldest_makes_room_if_so_asked_also_for_what_waits_behind() {
        let shape = Buffering { drop: BufferDrop::Oldest, ..plain(2) };
        let (mut cx, mut buffer) = (Context::default(), HostBuffer::new(shape, None));
        let mut sent = packets(5, &mut cx);
        let last = sent.split_off(3);
        sent.into_iter().for_each(|packet| buffer.push(packet, HERE, &mut cx));
        last.into_iter().for_each(|packet| buffer.push_to_reorder_queue(packet, HERE, &mut cx));
        assert_eq!(cx.drop_serials(), [1, 2, 3]);
        assert!(cx.drop_reasons().iter().all(|&reason| reason == DropReason::BufferOverflow));
        let behind: Vec<u64> = buffer.take_reorder_queue().iter().map(|id| cx.pool[id].serial).collect();
        assert_eq!((inside(&mut buffer, &cx), behind), (vec![], vec![4, 5]));
    }

    #[test]
    fn it_is_emptied_against_the_order_of_arrival_if_so_asked() {
        let shape = Buffering { flush: BufferFlush::NewestFirst, ..plain(3) };
        let (mut cx, mut buffer) = (Context::default(), HostBuffer::new(shape, None));
        packets(3, &mut cx).into_iter().for_each(|packet| buffer.push(packet, HERE, &mut cx));
        let flushed: Vec<u64> = buffer.flush().iter().map(|id| cx.pool[id].serial).collect();
        assert_eq!(flushed, [3, 2, 1]);
    }

    #[test]
    fn what_has_waited_too_long_is_lost_and_copies_begin_to_wait_when_the_host_leaves() {
        let ms = |millis| Time::ZERO + Duration::from_millis(millis);
        let shape = Buffering { longest_wait: Some(Duration::from_millis(10)), ..plain(9) };
        let (mut cx, mut buffer) = (Context::default(), HostBuffer::new(shape, None));
        let sent = packets(3, &mut cx);
        buffer.keep_copy(&sent[0], HERE, &mut cx);
        assert_eq!(buffer.next_expiry(), None, "nothing waits yet");
        buffer.collect(ms(5), CauseId::NONE);
        let mut sent = sent.into_iter();
        for (at, behind) in [(6, false), (7, true), (8, false)] {
            cx.now = ms(at);
            let packet = sent.next().unwrap();
            if behind {
                buffer.push_to_reorder_queue(packet, HERE, &mut cx);
            } else {
                buffer.push(packet, HERE, &mut cx);
            }
        }
        assert_eq!(buffer.next_expiry(), Some(ms(15)));
        cx.now = ms(17);
        buffer.expire(HERE, &mut cx);
        assert_eq!(cx.drop_serials(), [4, 1, 2], "the copy, and those of 6 ms and 7 ms");
        assert!(cx.drop_reasons().iter().all(|&reason| reason == DropReason::BufferExpired));
        assert_eq!((inside(&mut buffer, &cx), buffer.next_expiry()), (vec![(3, 3)], None));
    }
}
