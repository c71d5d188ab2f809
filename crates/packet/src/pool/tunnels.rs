//! Tunnel headers around the packets of a pool.

use super::{PacketId, PacketPool};
use crate::addr::Addr;
use crate::header::{Dscp, IpHeader};
use crate::packet::{MAX_TUNNELS, NONE, Packet};

impl PacketPool {
    /// Puts a tunnel header around the packet. `false`, and no change, if it has too many already.
    #[must_use]
    pub fn encapsulate(&mut self, id: &PacketId, outer: IpHeader) -> bool {
        let packet = &self[id];
        let depth = packet.tunnels();
        if depth == MAX_TUNNELS {
            return false;
        }
        if packet.side == NONE {
            let (header, serial) = (packet.header, packet.serial);
            let side = self.place_clear_side(header, serial);
            self[id].set_tunnel_side(side, true);
        }
        let packet = &mut self.slots[id.0 as usize];
        if depth == 0 {
            packet.covered_tos = packet.header.tos;
        }
        self.sides[packet.side as usize].covered[depth] = packet.header;
        packet.header = outer;
        packet.wire = packet.wire.saturating_add(u32::from(outer.overhead));
        packet.tunnels += 1;
        true
    }

    /// Takes the outermost tunnel header off; `None` if there is none.
    pub fn decapsulate(&mut self, id: &PacketId) -> Option<IpHeader> {
        let packet = &mut self.slots[id.0 as usize];
        packet.tunnels = packet.tunnels.checked_sub(1)?;
        let outer = packet.header;
        packet.header = self.sides[packet.side as usize].covered[usize::from(packet.tunnels)];
        if packet.tunnels == 0 {
            packet.header.tos = packet.covered_tos;
            if packet.has_tunnel_side() {
                self.free_sides.push(packet.side);
                packet.set_tunnel_side(NONE, false);
            }
        }
        packet.wire -= u32::from(outer.overhead);
        Some(outer)
    }

    /// Source and destination of the innermost header of a packet.
    pub fn ends(&self, packet: &Packet) -> (Addr, Addr) {
        let is_covered = packet.tunnels > 0;
        let header = if is_covered { &self.sides[packet.side as usize].covered[0] } else { &packet.header };
        (header.src, header.dst)
    }

    /// The headers that a packet has, the outermost first.
    pub fn headers(&self, id: &PacketId) -> Vec<IpHeader> {
        let packet = &self[id];
        let mut headers = vec![packet.header];
        if let Some(side) = self.sides.get(packet.side as usize) {
            headers.extend(side.covered[..packet.tunnels()].iter().rev());
        }
        if let Some(inner) = headers.last_mut() {
            inner.tos = packet.inner_tos();
        }
        headers
    }

    /// Clears the code point of every header, so that no later node uses it.
    pub fn clear_dscp(&mut self, id: &PacketId) {
        let packet = &mut self.slots[id.0 as usize];
        packet.header.tos = packet.header.tos.with_dscp(Dscp::default());
        packet.covered_tos = packet.covered_tos.with_dscp(Dscp::default());
        if let Some(side) = self.sides.get_mut(packet.side as usize) {
            for header in &mut side.covered[..usize::from(packet.tunnels)] {
                header.tos = header.tos.with_dscp(Dscp::default());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::Tos;
    use crate::pool::tests::datagram;
    use crate::{FlowId, Packet, TcpHeader};
    use roamlab_engine::{Bytes, Time};

    #[test]
    fn tunnels_add_their_overhead_and_come_off_in_order() {
        let mut pool = PacketPool::default();
        let packet = pool.create(datagram());
        let outer = |end| IpHeader {
            overhead: 20,
            ..IpHeader::new(Addr::new(3, 0), Addr::new(end, 0), Tos::default())
        };
        assert!((11..14).all(|end| pool.encapsulate(&packet, outer(end))));
        assert!(!pool.encapsulate(&packet, outer(14)), "a fourth tunnel is refused");
        assert_eq!(pool[&packet].wire_size(), Bytes(572));
        for end in [13, 12, 11] {
            assert_eq!(pool[&packet].header.dst, Addr::new(end, 0));
            assert_eq!(pool.decapsulate(&packet).map(|header| header.dst), Some(Addr::new(end, 0)));
        }
        assert_eq!(pool.decapsulate(&packet), None);
        assert_eq!((pool[&packet].wire_size(), pool[&packet].header.dst), (Bytes(512), Addr::new(2, 0)));
    }

    #[test]
    fn a_segment_behind_its_tunnel_is_as_it_was_before_and_a_copy_stays_a_copy() {
        let mut pool = PacketPool::default();
        let header = IpHeader::new(Addr::new(1, 0), Addr::new(2, 0), Tos::default());
        let tcp = TcpHeader { seq: 7, payload: 1460, ..TcpHeader::default() };
        let packet = pool.create(Packet::make(FlowId(0), header, Bytes(1500), Time::ZERO, tcp));
        let before = format!("{:?}", pool[&packet]);
        let outer =
            IpHeader { overhead: 20, ..IpHeader::new(Addr::new(3, 0), Addr::new(4, 0), Tos::default()) };
        assert!(pool.encapsulate(&packet, outer));
        let copy = pool.duplicate(&packet);
        assert!(pool.decapsulate(&packet).is_some() && pool.decapsulate(&copy).is_some());
        assert_eq!((format!("{:?}", pool[&packet]), pool.bare_tcp(&packet)), (before, tcp.bare()));
        assert!(!pool.is_copy(&pool[&packet]) && pool.is_copy(&pool[&copy]));
        pool.deliver(packet);
        pool.deliver(copy);
        assert_eq!((pool.sides.len(), pool.free_sides.len()), (2, 2), "no side slot is lost or free twice");
    }

    #[test]
    fn the_inner_code_point_can_change_inside_a_tunnel() {
        let mut pool = PacketPool::default();
        let packet = pool.create(datagram());
        assert!(pool.encapsulate(&packet, IpHeader::new(Addr::new(3, 0), Addr::new(4, 0), Tos(0xb8))));
        pool[&packet].set_inner_dscp(Dscp::FORWARDED);
        assert_eq!(
            (pool[&packet].header.tos, pool[&packet].inner_tos().dscp()),
            (Tos(0xb8), Dscp::FORWARDED)
        );
        assert!(pool.decapsulate(&packet).is_some());
        assert_eq!(pool[&packet].header.tos.dscp(), Dscp::FORWARDED);
        pool.clear_dscp(&packet);
        assert_eq!(pool[&packet].inner_tos(), Tos(0));
    }

    #[test]
    fn clearing_reaches_the_inner_header_and_every_tunnel() {
        let mut pool = PacketPool::default();
        let packet = pool.create(datagram());
        pool[&packet].set_inner_dscp(Dscp::FORWARDED);
        for node in [3, 5] {
            let outer = IpHeader::new(Addr::new(node, 0), Addr::new(4, 0), Tos(0xb8));
            assert!(pool.encapsulate(&packet, outer));
        }
        pool.clear_dscp(&packet);
        assert_eq!(pool[&packet].inner_tos().dscp(), Dscp::default(), "the inner header, in its tunnels");
        let codes = |pool: &PacketPool| -> Vec<Dscp> {
            pool.headers(&packet).iter().map(|header| header.tos.dscp()).collect()
        };
        assert_eq!(codes(&pool), [Dscp::default(); 3]);
        for left in [2, 1] {
            assert!(pool.decapsulate(&packet).is_some());
            assert_eq!(codes(&pool), vec![Dscp::default(); left], "behind the end of a tunnel");
        }
    }
}
