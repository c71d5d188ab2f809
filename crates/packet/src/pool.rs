//! Where packets live.

use crate::drop_reason::DropReason;
use crate::packet::Packet;
use std::ops::{Index, IndexMut};

/// The only way to a packet. Not `Copy`, not `Clone`: whoever holds it holds the packet.
#[derive(PartialEq, Eq, Debug)]
pub struct PacketId(u32);

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
    /// Packets that must still be somewhere inside.
    pub fn inside(&self) -> u64 {
        self.created + self.duplicated - self.delivered - self.dropped.iter().sum::<u64>()
    }
}

/// All packets of a run.
#[derive(Debug, Default)]
pub struct PacketPool {
    slots: Vec<Packet>,
    free: Vec<u32>,
    census: Census,
}

impl PacketPool {
    /// Takes a new packet in and gives it its serial number.
    pub fn create(&mut self, mut packet: Packet) -> PacketId {
        self.census.created += 1;
        packet.serial = self.census.created + self.census.duplicated;
        packet.copy_of = packet.serial;
        self.place(packet)
    }

    /// A copy of a packet, under a serial number of its own.
    pub fn duplicate(&mut self, original: &PacketId) -> PacketId {
        let mut packet = self[original].clone();
        self.census.duplicated += 1;
        packet.serial = self.census.created + self.census.duplicated;
        self.place(packet)
    }

    /// The packet reached its destination and leaves the pool.
    pub fn deliver(&mut self, id: PacketId) -> &Packet {
        self.census.delivered += 1;
        self.vacate(id)
    }

    /// The packet is lost and leaves the pool.
    pub fn discard(&mut self, id: PacketId, reason: DropReason) -> &Packet {
        self.census.dropped[reason as usize] += 1;
        self.vacate(id)
    }

    /// The serial number given last.
    pub fn last_serial(&self) -> u64 {
        self.census.created + self.census.duplicated
    }

    /// All packets that are neither delivered nor lost, in no order that means anything.
    pub fn inside(&self) -> impl Iterator<Item = &Packet> {
        let mut used = vec![true; self.slots.len()];
        self.free.iter().for_each(|&slot| used[slot as usize] = false);
        self.slots.iter().zip(used).filter_map(|(packet, used)| used.then_some(packet))
    }

    /// The account so far.
    pub fn census(&self) -> &Census {
        &self.census
    }

    fn place(&mut self, packet: Packet) -> PacketId {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = packet;
                PacketId(slot)
            }
            None => {
                self.slots.push(packet);
                PacketId((self.slots.len() - 1) as u32)
            }
        }
    }

    fn vacate(&mut self, id: PacketId) -> &Packet {
        self.free.push(id.0);
        &self.slots[id.0 as usize]
    }
}

impl Index<&PacketId> for PacketPool {
    type Output = Packet;
    fn index(&self, id: &PacketId) -> &Packet {
        &self.slots[id.0 as usize]
    }
}

impl IndexMut<&PacketId> for PacketPool {
    fn index_mut(&mut self, id: &PacketId) -> &mut Packet {
        &mut self.slots[id.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Addr, Body, FlowId, IpHeader, Tos, UdpHeader};
    use roamlab_engine::{Bytes, Time};

    fn datagram() -> Packet {
        let inner = IpHeader::new(Addr::new(1, 0), Addr::new(2, 0), Tos::default());
        Packet::new(FlowId(0), inner, Bytes(512), Time::ZERO, Body::Udp(UdpHeader::default()))
    }

    #[test]
    fn the_account_balances_and_slots_are_reused() {
        let mut pool = PacketPool::default();
        let first = pool.create(datagram());
        let copy = pool.duplicate(&first);
        assert_eq!((pool[&first].serial, pool[&copy].serial, pool[&copy].copy_of), (1, 2, 1));
        assert_eq!((pool.census().inside(), pool.last_serial()), (2, 2));
        assert_eq!(pool.discard(first, DropReason::EarlyDrop).serial, 1);
        assert_eq!(pool.inside().map(|packet| packet.serial).collect::<Vec<_>>(), [2]);
        assert_eq!(pool.deliver(copy).serial, 2);
        assert_eq!(pool.census().inside(), 0);
        assert_eq!(pool.census().dropped[DropReason::EarlyDrop as usize], 1);
        let again = pool.create(datagram());
        assert_eq!(pool[&again].serial, 3);
        assert_eq!(pool.slots.len(), 2);
    }

    #[test]
    fn tunnels_add_their_overhead_and_come_off_in_order() {
        let mut packet = datagram();
        let outer = |host| IpHeader {
            overhead: 20,
            ..IpHeader::new(Addr::new(3, 0), Addr::new(4, host), Tos::default())
        };
        assert!(packet.encapsulate(outer(1)) && packet.encapsulate(outer(2)) && packet.encapsulate(outer(3)));
        assert!(!packet.encapsulate(outer(4)), "a fourth tunnel is refused");
        assert_eq!(packet.wire_size(), Bytes(572));
        assert_eq!(packet.header().dst, Addr::new(4, 3));
        assert_eq!(packet.decapsulate().map(|h| h.dst.host()), Some(3));
        assert_eq!(packet.decapsulate().map(|h| h.dst.host()), Some(2));
        assert_eq!(packet.decapsulate().map(|h| h.dst.host()), Some(1));
        assert_eq!(packet.decapsulate(), None);
        assert_eq!(packet.wire_size(), Bytes(512));
    }
}
