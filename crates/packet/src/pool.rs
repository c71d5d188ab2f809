//! The pool that holds all packets of a run.

use crate::addr::{Addr, FlowId};
use crate::drop_reason::DropReason;
use crate::header::{BareTcpHeader, Header, IpHeader, TcpHeader, Timestamps, Tos};
use crate::packet::{NONE, NewPacket, Packet, Side};
use roamlab_engine::{Bytes, Time, prefetch_at};
use std::ops::{Deref, Index, IndexMut};

mod numbers;
mod tunnels;

pub use numbers::Snapshot;

/// The only way to a packet. Not `Copy`, not `Clone`: its owner owns the packet.
#[derive(PartialEq, Eq, Debug)]
pub struct PacketId(pub(crate) u32);

impl PacketId {
    /// Leaves the packet to an event, which is copied about while it is pending.
    pub fn park(self) -> Parked {
        Parked(self.0)
    }
}

/// A packet in a pending event. The event's handler retrieves it, once; the conservation laws find a packet that was
/// retrieved twice or never.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Parked(u32);

impl Parked {
    /// The packet again.
    pub fn retrieve(self) -> PacketId {
        PacketId(self.0)
    }
}

/// A packet in a queue, a buffer or on a link. It is cloned with its world, where a run branches, and never
/// alone; the conservation laws find a packet that was.
#[derive(Debug)]
pub struct Waiting(PacketId);

impl Waiting {
    /// The packet, which waits no more.
    #[inline]
    pub fn take(self) -> PacketId {
        self.0
    }
}

impl From<PacketId> for Waiting {
    #[inline]
    fn from(packet: PacketId) -> Waiting {
        Waiting(packet)
    }
}

impl Deref for Waiting {
    type Target = PacketId;

    #[inline]
    fn deref(&self) -> &PacketId {
        &self.0
    }
}

impl Clone for Waiting {
    fn clone(&self) -> Waiting {
        Waiting(PacketId(self.0.0))
    }
}

/// The conservation account: `created + duplicated = delivered + dropped(by reason) + inside`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Census {
    /// Packets made by endpoints and agents.
    pub created: u64,
    /// Copies made of packets inside the network.
    pub duplicated: u64,
    /// Packets that reached their endpoint or agent.
    pub delivered: u64,
    /// Losses, by `DropReason as usize`.
    pub dropped: Vec<u64>,
}

impl Default for Census {
    fn default() -> Self {
        Census { created: 0, duplicated: 0, delivered: 0, dropped: vec![0; DropReason::ALL.len()] }
    }
}

impl Census {
    /// Packets that must still be inside.
    pub fn inside(&self) -> u64 {
        self.created + self.duplicated - self.delivered - self.dropped.iter().sum::<u64>()
    }
}

/// All packets of a run.
#[derive(Clone, Debug)]
pub struct PacketPool {
    slots: Vec<Packet>,
    sides: Vec<Side>,
    free: u32,
    free_sides: Vec<u32>,
    census: Census,
}

impl Default for PacketPool {
    fn default() -> Self {
        let (slots, sides, free_sides) = (Vec::new(), Vec::new(), Vec::new());
        PacketPool { slots, sides, free: NONE, free_sides, census: Census::default() }
    }
}

impl PacketPool {
    /// Takes a new packet in and gives it its serial number.
    pub fn create(&mut self, new: NewPacket) -> PacketId {
        let NewPacket { packet, mut content } = new;
        self.take_in(packet, &mut content)
    }

    /// Makes a packet with this content: as [`create`](Self::create), without a copy of it. What it has on the heap is
    /// taken out of it.
    #[inline]
    pub fn create_from(
        &mut self,
        flow: FlowId,
        header: IpHeader,
        size: Bytes,
        created: Time,
        content: &mut Header,
    ) -> PacketId {
        self.take_in(Packet::with(flow, header, size, created, content), content)
    }

    #[inline(always)]
    fn take_in(&mut self, mut packet: Packet, content: &mut Header) -> PacketId {
        self.census.created += 1;
        packet.serial = self.last_serial();
        if content.needs_side() {
            packet.side = self.place_clear_side(packet.header, packet.serial);
            let side = &mut self.sides[packet.side as usize];
            (side.sacks, side.timestamps, side.accecn) = (content.sacks, content.timestamps, content.accecn);
            (side.ranges, side.datagram) = (content.ranges.take(), content.datagram.take());
        }
        self.place(packet)
    }

    /// A new packet of a TCP segment, before its options, which is to be placed.
    #[inline(always)]
    fn blank_tcp(
        &mut self,
        flow: FlowId,
        header: IpHeader,
        size: Bytes,
        created: Time,
        tcp: &BareTcpHeader,
    ) -> Packet {
        self.census.created += 1;
        let mut packet = Packet::blank(flow, header, size, created, (0, 0));
        packet.serial = self.last_serial();
        packet.set_tcp(tcp);
        packet
    }

    /// Makes a packet of a TCP segment without options: as [`create`](Self::create), without a detour.
    #[inline(always)]
    pub fn create_bare_tcp(
        &mut self,
        flow: FlowId,
        header: IpHeader,
        size: Bytes,
        created: Time,
        tcp: &BareTcpHeader,
    ) -> PacketId {
        let packet = self.blank_tcp(flow, header, size, created, tcp);
        self.place(packet)
    }

    /// Makes a packet of a TCP segment with timestamps alone: as [`create`](Self::create), without a detour.
    #[inline(always)]
    pub fn create_stamped_tcp(
        &mut self,
        flow: FlowId,
        header: IpHeader,
        size: Bytes,
        created: Time,
        (tcp, stamps): (&BareTcpHeader, Timestamps),
    ) -> PacketId {
        let mut packet = self.blank_tcp(flow, header, size, created, tcp);
        packet.side = self.place_clear_side(header, packet.serial);
        self.sides[packet.side as usize].timestamps = Some(stamps);
        self.place(packet)
    }

    /// Brings a packet of a pending event into the cache.
    #[inline(always)]
    pub fn prefetch(&self, packet: Parked) {
        prefetch_at(&self.slots, packet.0 as usize);
    }

    /// A packet of a pending event, to look at.
    #[inline(always)]
    pub fn parked(&self, packet: Parked) -> &Packet {
        &self.slots[packet.0 as usize]
    }

    /// Brings the packet that waits behind this one into the cache, if one does.
    #[inline(always)]
    pub fn prefetch_behind(&self, packet: &PacketId) {
        prefetch_at(&self.slots, self[packet].next as usize);
    }

    /// A copy of a packet, under its own serial number.
    pub fn duplicate(&mut self, original: &PacketId) -> PacketId {
        let snapshot = self.snapshot(original);
        self.restore(snapshot)
    }

    /// The packet reached its destination and leaves the pool.
    #[inline(always)]
    pub fn deliver(&mut self, id: PacketId) -> &Packet {
        self.census.delivered += 1;
        self.vacate(id)
    }

    /// The packet is lost and leaves the pool.
    pub fn discard(&mut self, id: PacketId, reason: DropReason) -> &Packet {
        self.census.dropped[reason as usize] += 1;
        self.vacate(id)
    }

    /// The header of a TCP segment that has no options and is no copy of another.
    #[inline(always)]
    pub fn bare_tcp(&self, id: &PacketId) -> Option<BareTcpHeader> {
        let packet = &self[id];
        (packet.side == NONE && packet.is_tcp()).then(|| packet.tcp())
    }

    /// The header of a TCP segment that has timestamps and no other option and is no copy of another.
    #[inline(always)]
    pub fn stamped_tcp(&self, id: &PacketId) -> Option<(BareTcpHeader, Timestamps)> {
        let packet = &self[id];
        if !packet.is_tcp() {
            return None;
        }
        let side = self.sides.get(packet.side as usize)?;
        let is_alone = side.sacks.is_empty() && side.accecn.is_absent() && side.original == packet.serial;
        Some((packet.tcp(), side.timestamps.filter(|_| is_alone)?))
    }

    /// The header of a TCP segment, with its options.
    pub fn tcp_header(&self, id: &PacketId) -> TcpHeader {
        let packet = &self[id];
        let header = packet.tcp().into();
        match packet.side {
            NONE => header,
            side => {
                let Side { sacks, timestamps, accecn, .. } = &self.sides[side as usize];
                let (sacks, timestamps, accecn) = (*sacks, *timestamps, *accecn);
                TcpHeader { sacks, timestamps, accecn, ..header }
            }
        }
    }

    /// The content of a packet that has reached its end. What it has on the heap is taken out of the packet.
    #[inline(always)]
    pub fn take_header(&mut self, id: &PacketId) -> Header {
        let packet = &self[id];
        let (mut header, side) = (packet.content(), packet.side);
        if let Some(side) = self.sides.get_mut(side as usize) {
            (header.sacks, header.timestamps, header.accecn) = (side.sacks, side.timestamps, side.accecn);
            (header.ranges, header.datagram) = (side.ranges.take(), side.datagram.take());
        }
        header
    }

    /// The headers of a TCP segment as its stack wrote them, if one did.
    pub fn written_headers(&self, id: &PacketId) -> Option<&[u8]> {
        self.sides.get(self[id].side as usize)?.datagram.as_deref()
    }

    /// The same of a segment that has reached its end: they are taken out of the packet.
    pub fn take_headers(&mut self, id: &PacketId) -> Option<Box<[u8]>> {
        let side = self[id].side;
        self.sides.get_mut(side as usize)?.datagram.take()
    }

    /// True if the packet is a copy of another.
    #[inline]
    pub fn is_copy(&self, packet: &Packet) -> bool {
        self.original(packet) != packet.serial
    }

    /// The serial number of the packet that this one is a copy of, or its own.
    #[inline]
    pub fn original(&self, packet: &Packet) -> u64 {
        match packet.side {
            NONE => packet.serial,
            side => self.sides[side as usize].original,
        }
    }

    /// The serial number given last.
    pub fn last_serial(&self) -> u64 {
        self.census.created + self.census.duplicated
    }

    /// All packets that are neither delivered nor lost, in no order that means anything.
    pub fn inside(&self) -> impl Iterator<Item = &Packet> {
        let mut used = vec![true; self.slots.len()];
        let mut free = self.free;
        while let Some(slot) = self.slots.get(free as usize) {
            used[free as usize] = false;
            free = slot.next;
        }
        self.slots.iter().zip(used).filter_map(|(packet, used)| used.then_some(packet))
    }

    /// The account so far.
    pub fn census(&self) -> &Census {
        &self.census
    }

    #[inline(always)]
    fn place(&mut self, packet: Packet) -> PacketId {
        if self.free == NONE {
            self.add_slot();
        }
        let id = self.free;
        let slot = &mut self.slots[id as usize];
        self.free = slot.next;
        *slot = packet;
        PacketId(id)
    }

    #[cold]
    #[inline(never)]
    fn add_slot(&mut self) {
        let nobody = IpHeader::new(Addr::BROADCAST, Addr::BROADCAST, Tos::default());
        self.free = self.slots.len() as u32;
        self.slots.push(Packet::blank(FlowId::CONTROL, nobody, Bytes(0), Time::ZERO, (0, 0)));
    }

    /// A side slot of a packet that has nothing in it yet. A slot that is used again keeps what headers it has.
    #[inline(always)]
    fn place_clear_side(&mut self, header: IpHeader, serial: u64) -> u32 {
        match self.free_sides.pop() {
            Some(slot) => {
                let side = &mut self.sides[slot as usize];
                (side.sacks, side.timestamps, side.accecn) = Default::default();
                (side.ranges, side.datagram) = (None, None);
                (side.number, side.since) = (None, None);
                side.original = serial;
                slot
            }
            None => self.place_side(Side::of(header, serial)),
        }
    }

    fn place_side(&mut self, side: Side) -> u32 {
        match self.free_sides.pop() {
            Some(slot) => {
                self.sides[slot as usize] = side;
                slot
            }
            None => {
                self.sides.push(side);
                (self.sides.len() - 1) as u32
            }
        }
    }

    #[inline(always)]
    fn vacate(&mut self, id: PacketId) -> &Packet {
        let slot = &mut self.slots[id.0 as usize];
        if slot.side != NONE {
            self.free_sides.push(slot.side);
        }
        slot.next = self.free;
        self.free = id.0;
        slot
    }
}

impl Index<&PacketId> for PacketPool {
    type Output = Packet;
    #[inline]
    fn index(&self, id: &PacketId) -> &Packet {
        &self.slots[id.0 as usize]
    }
}

impl IndexMut<&PacketId> for PacketPool {
    #[inline]
    fn index_mut(&mut self, id: &PacketId) -> &mut Packet {
        &mut self.slots[id.0 as usize]
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{QuicAck, QuicHeader, SackBlocks, UdpHeader};
    use roamlab_engine::Duration;

    pub(crate) fn datagram() -> NewPacket {
        let header = IpHeader::new(Addr::new(1, 0), Addr::new(2, 0), Tos::default());
        Packet::make(FlowId(0), header, Bytes(512), Time::ZERO, UdpHeader::default())
    }

    #[test]
    fn the_account_balances_and_slots_are_reused() {
        let mut pool = PacketPool::default();
        let first = pool.create(datagram());
        let copy = pool.duplicate(&first);
        assert_eq!((pool[&first].serial, pool[&copy].serial, pool.original(&pool[&copy])), (1, 2, 1));
        assert_eq!((pool.census().inside(), pool.last_serial()), (2, 2));
        assert_eq!(pool.discard(first, DropReason::EarlyDrop).serial, 1);
        assert_eq!(pool.inside().map(|packet| packet.serial).collect::<Vec<_>>(), [2]);
        assert_eq!(pool.deliver(copy).serial, 2);
        assert_eq!(pool.census().inside(), 0);
        assert_eq!(pool.census().dropped[DropReason::EarlyDrop as usize], 1);
        let again = pool.create(datagram());
        assert_eq!((pool[&again].serial, pool.original(&pool[&again])), (3, 3));
        assert_eq!((pool.slots.len(), pool.sides.len(), pool.free_sides.len()), (2, 1, 1));
    }

    #[test]
    fn a_segment_keeps_its_header_and_its_options() {
        let mut pool = PacketPool::default();
        let plain = TcpHeader {
            seq: 7,
            ack: 3,
            flags: crate::TcpFlags::ACK,
            payload: 1460,
            window: 20,
            retransmission: true,
            ..TcpHeader::default()
        };
        let mut sacks = SackBlocks::default();
        sacks.push(9, 11);
        let header = IpHeader::new(Addr::new(1, 0), Addr::new(2, 0), Tos::default());
        let make = |tcp: TcpHeader| Packet::make(FlowId(0), header, Bytes(1500), Time::ZERO, tcp);
        for tcp in [plain, TcpHeader { sacks, ..plain }] {
            let packet = pool.create(make(tcp));
            assert_eq!((pool.tcp_header(&packet), pool.bare_tcp(&packet)), (tcp, tcp.bare()));
            let copy = pool.duplicate(&packet);
            assert_eq!((pool.tcp_header(&copy), pool.deliver(packet).payload()), (tcp, 1460));
        }
        let bare = plain.bare().unwrap();
        let packet = pool.create_bare_tcp(FlowId(0), header, Bytes(1500), Time::ZERO, &bare);
        let twin = pool.create(make(bare.into()));
        pool[&twin].serial = pool[&packet].serial;
        assert_eq!(format!("{:?}", pool[&packet]), format!("{:?}", pool[&twin]));
    }

    #[test]
    fn a_quic_packet_comes_out_as_it_went_in() {
        let mut pool = PacketPool::default();
        let header = IpHeader::new(Addr::new(1, 0), Addr::new(2, 0), Tos::default());
        let ack =
            || Some(Box::new(QuicAck { ranges: vec![(5, 9), (0, 3)], delay: Duration::from_millis(4) }));
        let data = QuicHeader { number: 7, segment: 3, payload: 1161, path: 2, ..QuicHeader::default() };
        let headers = [
            data.clone(),
            QuicHeader { retransmission: true, ack: ack(), ..data },
            QuicHeader { number: 1, handshake: true, ..QuicHeader::default() },
            QuicHeader { number: 4, ack: ack(), expected: 6, path: 1, ping: true, ..QuicHeader::default() },
            QuicHeader { path_challenge: true, path_response: true, ..QuicHeader::default() },
            QuicHeader { datagram: Some([1, 2, 3].into()), ..QuicHeader::default() },
        ];
        for quic in headers {
            let new = Packet::make(FlowId(0), header, Bytes(1228), Time::ZERO, quic.clone());
            let packet = pool.create(new);
            assert!(pool[&packet].is_over_udp() && pool[&packet].is_of_connection());
            assert!(!pool[&packet].is_tcp() && !pool[&packet].is_udp());
            let copy = pool.duplicate(&packet);
            assert_eq!(pool.bare_tcp(&packet), None);
            assert_eq!(
                [&packet, &copy].map(|id| QuicHeader::from(pool.take_header(id))),
                [quic.clone(), quic]
            );
            pool.deliver(packet);
            pool.deliver(copy);
        }
        assert_eq!(pool.sides.len(), pool.free_sides.len());
    }
}
