//! The numbers that packets have in radio bearers (COUNT, TS 38.323 §7.1), and what a sender keeps of a packet until it is
//! confirmed.

use super::{PacketId, PacketPool};
use crate::packet::{NONE, Packet, Side};
use roamlab_engine::Time;

/// A packet as it was when it was sent: a copy can be made of it. It is no packet of the account.
#[derive(Clone, Debug)]
pub struct Snapshot {
    packet: Packet,
    side: Side,
}

impl PacketPool {
    /// A packet of which copies can be made.
    pub fn snapshot(&self, id: &PacketId) -> Snapshot {
        let packet = self[id].clone();
        let side = match packet.side {
            NONE => Side::of(packet.header, packet.serial),
            side => self.sides[side as usize].clone(),
        };
        Snapshot { packet, side }
    }

    /// A copy of a packet, under its own serial number.
    pub fn restore(&mut self, Snapshot { mut packet, side }: Snapshot) -> PacketId {
        self.census.duplicated += 1;
        packet.serial = self.last_serial();
        packet.set_tunnel_side(self.place_side(side), false);
        self.place(packet)
    }

    /// The number that a packet has in a radio bearer, if it has one.
    pub fn number(&self, packet: &Packet) -> Option<u32> {
        self.sides.get(packet.side as usize)?.number
    }

    /// Gives a packet a number in a radio bearer, or takes its number away.
    pub fn set_number(&mut self, id: &PacketId, number: Option<u32>) {
        if number.is_some() || self[id].side != NONE {
            self.own_side(id).number = number;
        }
    }

    /// When a packet reached the base station or host that has it in a numbered bearer; `None`: it is not known.
    pub fn since(&self, packet: &Packet) -> Option<Time> {
        self.sides.get(packet.side as usize)?.since
    }

    /// Notes when a packet reached the base station or host that has it in a numbered bearer.
    pub fn set_since(&mut self, id: &PacketId, since: Option<Time>) {
        if since.is_some() || self[id].side != NONE {
            self.own_side(id).since = since;
        }
    }

    /// The side slot of a packet, which stays when the packet leaves its tunnels.
    fn own_side(&mut self, id: &PacketId) -> &mut Side {
        let packet = &self[id];
        let side = match packet.side {
            NONE => {
                let (header, serial) = (packet.header, packet.serial);
                self.place_clear_side(header, serial)
            }
            side => side,
        };
        self[id].set_tunnel_side(side, false);
        &mut self.sides[side as usize]
    }
}

#[cfg(test)]
mod tests {
    use crate::pool::tests::datagram;
    use crate::{Addr, IpHeader, PacketPool, Tos};
    use roamlab_engine::Time;

    #[test]
    fn a_number_stays_through_tunnels_and_is_that_of_copies() {
        let mut pool = PacketPool::default();
        let packet = pool.create(datagram());
        assert_eq!(pool.number(&pool[&packet]), None);
        pool.set_number(&packet, None);
        assert_eq!(pool.sides.len(), 0, "a packet without a number needs no side slot");
        pool.set_number(&packet, Some(7));
        pool.set_since(&packet, Some(Time::from_nanos(5)));
        let outer = IpHeader::new(Addr::new(3, 0), Addr::new(4, 0), Tos::default());
        assert!(pool.encapsulate(&packet, outer));
        let copy = pool.duplicate(&packet);
        assert!(pool.decapsulate(&packet).is_some());
        for id in [&packet, &copy] {
            assert_eq!((pool.number(&pool[id]), pool.since(&pool[id])), (Some(7), Some(Time::from_nanos(5))));
        }
        let snapshot = pool.snapshot(&packet);
        let (serial, inside) = (pool[&packet].serial, pool.census().inside());
        pool.deliver(packet);
        let again = pool.restore(snapshot);
        assert_eq!((pool.original(&pool[&again]), pool.number(&pool[&again])), (serial, Some(7)));
        assert_eq!(pool.census().inside(), inside);
    }

    #[test]
    fn a_number_given_in_a_tunnel_stays_and_a_used_slot_has_none() {
        let mut pool = PacketPool::default();
        let packet = pool.create(datagram());
        let outer = IpHeader::new(Addr::new(3, 0), Addr::new(4, 0), Tos::default());
        assert!(pool.encapsulate(&packet, outer));
        pool.set_number(&packet, Some(3));
        assert!(pool.decapsulate(&packet).is_some());
        assert_eq!(pool.number(&pool[&packet]), Some(3));
        pool.deliver(packet);
        let next = pool.create(datagram());
        assert!(pool.encapsulate(&next, outer));
        assert_eq!(pool.number(&pool[&next]), None);
    }
}
