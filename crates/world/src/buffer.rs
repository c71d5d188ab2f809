//! A node's buffer for one mobile host.
//!
//! One buffer per host, not per connection ([mblue] §II). While it collects, packets wait; once it is released
//! it is a pipe: packets pass straight through, in the order in which they came.

use crate::cx::{Cx, Place};
use roamlab_engine::{Duration, Time};
use roamlab_mobility::Via;
use roamlab_packet::{DropReason, Dscp, PacketId};
use std::collections::{BTreeSet, VecDeque};

/// What the buffer does with a packet.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// The host is attached. Without layer-2 acknowledgement, copies of what was sent over the air are kept.
    #[default]
    Attached,
    /// The host has left: packets wait.
    Collecting,
    /// The host has arrived: marked packets pass, unmarked ones wait until a time that the first of them sets.
    Ordering {
        /// How long they wait.
        wait: Duration,
        /// Until when; `None`: none has come.
        until: Option<Time>,
    },
    /// Packets pass through, marked if so asked.
    Released {
        /// Where to.
        via: Via,
        /// With which mark.
        mark: Option<Dscp>,
    },
}

/// A buffer for one host.
#[derive(Debug)]
pub struct HostBuffer {
    /// What it does now.
    pub mode: Mode,
    /// What the host has got, by the serial number of the first copy: as far as it has said so.
    pub received: BTreeSet<u64>,
    limit: usize,
    packets: VecDeque<PacketId>,
    /// What waits until all that comes into the buffer has gone.
    behind: VecDeque<PacketId>,
}

impl HostBuffer {
    /// An empty buffer of at most `limit` packets.
    pub fn new(limit: usize) -> HostBuffer {
        let (packets, behind) = (VecDeque::new(), VecDeque::new());
        HostBuffer { mode: Mode::Attached, received: BTreeSet::new(), limit, packets, behind }
    }

    /// Keeps a copy of a packet that goes over the air; the oldest makes room.
    pub fn keep_copy(&mut self, original: &PacketId, place: Place, cx: &mut Cx) {
        if self.limit == 0 {
            return;
        }
        if self.packets.len() >= self.limit
            && let Some(oldest) = self.packets.pop_front()
        {
            cx.lose(oldest, DropReason::CopyReleased, place);
        }
        let copy = cx.pool.duplicate(original);
        self.packets.push_back(copy);
    }

    /// Takes a packet in, or loses it if the buffer is full. Copies make room, oldest first.
    pub fn push(&mut self, packet: PacketId, place: Place, cx: &mut Cx) {
        if self.len() < self.limit {
            self.packets.push_back(packet);
            return;
        }
        let is_copy = |id: &PacketId| cx.pool[id].copy_of != cx.pool[id].serial;
        if let Some(oldest_copy) = self.packets.iter().position(is_copy)
            && let Some(copy) = self.packets.remove(oldest_copy)
        {
            cx.lose(copy, DropReason::CopyReleased, place);
            self.packets.push_back(packet);
        } else {
            cx.lose(packet, DropReason::BufferOverflow, place);
        }
    }

    /// Takes a packet into the line behind, or loses it if the buffer is full.
    pub fn push_behind(&mut self, packet: PacketId, place: Place, cx: &mut Cx) {
        if self.len() < self.limit {
            self.behind.push_back(packet);
        } else {
            cx.lose(packet, DropReason::BufferOverflow, place);
        }
    }

    /// What waits behind, in order.
    pub fn take_behind(&mut self) -> VecDeque<PacketId> {
        std::mem::take(&mut self.behind)
    }

    /// Everything inside but what waits behind, in order.
    pub fn take_all(&mut self) -> VecDeque<PacketId> {
        std::mem::take(&mut self.packets)
    }

    /// The number of packets inside.
    pub fn len(&self) -> usize {
        self.packets.len() + self.behind.len()
    }

    /// Whether nothing is inside.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::NodeId;
    use roamlab_engine::{Bytes, Time};
    use roamlab_packet::{Addr, Body, FlowId, IpHeader, Packet, Tos, UdpHeader};

    const HERE: Place = Place::Node(NodeId(0));
    const HOST: Addr = Addr::new(1, 1);

    /// Packets with the serial numbers 1 to `count`.
    fn packets(count: u64, cx: &mut Cx) -> Vec<PacketId> {
        let inner = IpHeader::new(Addr::new(2, 0), HOST, Tos::default());
        let body = Body::Udp(UdpHeader::default());
        (0..count)
            .map(|_| cx.pool.create(Packet::new(FlowId(0), inner, Bytes(512), Time::ZERO, body)))
            .collect()
    }

    /// What is inside: (serial, serial of the packet that it is a copy of).
    fn inside(buffer: &mut HostBuffer, cx: &Cx) -> Vec<(u64, u64)> {
        buffer.take_all().iter().map(|id| (cx.pool[id].serial, cx.pool[id].copy_of)).collect()
    }

    #[test]
    fn a_full_buffer_loses_what_comes_and_keeps_the_order_of_the_rest() {
        let (mut cx, mut buffer) = (Cx::default(), HostBuffer::new(2));
        for packet in packets(4, &mut cx) {
            buffer.push(packet, HERE, &mut cx);
        }
        assert_eq!(buffer.len(), 2);
        assert_eq!(cx.probes.drops.serial, [3, 4]);
        assert!(cx.probes.drops.reason.iter().all(|&reason| reason == DropReason::BufferOverflow));
        assert_eq!(inside(&mut buffer, &cx), [(1, 1), (2, 2)]);
        assert!(buffer.is_empty());
    }

    #[test]
    fn copies_make_room_oldest_first_for_copies_and_for_packets() {
        let (mut cx, mut buffer) = (Cx::default(), HostBuffer::new(2));
        let sent = packets(3, &mut cx);
        for original in &sent {
            buffer.keep_copy(original, HERE, &mut cx);
        }
        assert_eq!(cx.probes.drops.serial, [4], "the copy of packet 1 made room for that of packet 3");
        for packet in packets(3, &mut cx) {
            buffer.push(packet, HERE, &mut cx);
        }
        use DropReason::{BufferOverflow, CopyReleased};
        assert_eq!(cx.probes.drops.serial, [4, 5, 6, 9]);
        assert_eq!(cx.probes.drops.reason, [CopyReleased, CopyReleased, CopyReleased, BufferOverflow]);
        assert_eq!(inside(&mut buffer, &cx), [(7, 7), (8, 8)]);
    }

    #[test]
    fn a_buffer_without_room_holds_nothing() {
        let (mut cx, mut buffer) = (Cx::default(), HostBuffer::new(0));
        let mut sent = packets(2, &mut cx);
        buffer.keep_copy(&sent[0], HERE, &mut cx);
        assert_eq!((buffer.len(), cx.pool.census().duplicated), (0, 0));
        sent.drain(..).for_each(|packet| buffer.push(packet, HERE, &mut cx));
        assert_eq!((buffer.len(), cx.probes.drops.serial.len()), (0, 2));
    }
}
