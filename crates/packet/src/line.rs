//! A line of waiting packets, linked through the pool: it allocates nothing.

use crate::packet::{NONE, Packet};
use crate::pool::{PacketId, PacketPool};

/// Waiting packets in order of arrival. It is cloned with its pool, and used with that pool alone.
#[derive(Debug)]
pub struct PacketLine {
    /// The head and the tail; of an empty line no packets.
    first: PacketId,
    last: PacketId,
    packets: u32,
}

impl PacketLine {
    /// Puts a packet at the tail.
    #[inline(always)]
    pub fn push(&mut self, packet: PacketId, pool: &mut PacketPool) {
        let id = packet.0;
        match self.packets {
            0 => self.first = packet,
            _ => pool[&self.last].next = id,
        }
        self.last = PacketId(id);
        self.packets += 1;
    }

    /// Takes the packet at the head, and looks at it.
    #[inline(always)]
    pub fn pop<'a>(&mut self, pool: &'a PacketPool) -> Option<(PacketId, &'a Packet)> {
        self.packets = self.packets.checked_sub(1)?;
        let packet = &pool[&self.first];
        Some((std::mem::replace(&mut self.first, PacketId(packet.next)), packet))
    }

    /// The packet at the head.
    pub fn head(&self) -> Option<&PacketId> {
        (self.packets > 0).then_some(&self.first)
    }

    /// The packet at the tail.
    pub fn last(&self) -> Option<&PacketId> {
        (self.packets > 0).then_some(&self.last)
    }

    /// Takes the packets that `wanted` selects, in order. The others keep their order.
    pub fn take(
        &mut self,
        pool: &mut PacketPool,
        wanted: impl Fn(&Packet, &PacketPool) -> bool,
    ) -> Vec<PacketId> {
        let mut taken = Vec::new();
        for _ in 0..self.packets {
            let Some((packet, state)) = self.pop(pool) else { break };
            match wanted(state, pool) {
                true => taken.push(packet),
                false => self.push(packet, pool),
            }
        }
        taken
    }

    /// Takes the packet nearest to the tail that `wanted` selects.
    pub fn take_last(&mut self, pool: &mut PacketPool, wanted: impl Fn(&Packet) -> bool) -> Option<PacketId> {
        let (mut id, mut before, mut found) = (self.first.0, None, None);
        for _ in 0..self.packets {
            let packet = &pool[&PacketId(id)];
            if wanted(packet) {
                found = Some((before, id, packet.next));
            }
            before = Some(id);
            id = packet.next;
        }
        let (before, id, next) = found?;
        let was_last = id == self.last.0;
        match before {
            None => self.first = PacketId(next),
            Some(before) => pool[&PacketId(before)].next = next,
        }
        if let Some(before) = before.filter(|_| was_last) {
            self.last = PacketId(before);
        }
        self.packets -= 1;
        Some(PacketId(id))
    }

    /// The number of packets.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.packets as usize
    }

    /// True if no packet waits.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }
}

impl Default for PacketLine {
    fn default() -> PacketLine {
        PacketLine { first: PacketId(NONE), last: PacketId(NONE), packets: 0 }
    }
}

impl Clone for PacketLine {
    fn clone(&self) -> PacketLine {
        PacketLine { first: PacketId(self.first.0), last: PacketId(self.last.0), packets: self.packets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Addr, FlowId, IpHeader, Tos, UdpHeader};
    use roamlab_engine::{Bytes, Time};

    /// A line of `packets` packets, whose serial numbers count from 1.
    fn line(packets: u64) -> (PacketLine, PacketPool) {
        let (mut line, mut pool) = (PacketLine::default(), PacketPool::default());
        for _ in 0..packets {
            let header = IpHeader::new(Addr::new(1, 0), Addr::new(2, 0), Tos::default());
            let body = UdpHeader::default();
            let packet = pool.create(Packet::make(FlowId(0), header, Bytes(512), Time::ZERO, body));
            line.push(packet, &mut pool);
        }
        (line, pool)
    }

    fn rest(mut line: PacketLine, pool: &PacketPool) -> Vec<u64> {
        std::iter::from_fn(|| line.pop(pool).map(|(_, packet)| packet.serial)).collect()
    }

    #[test]
    fn packets_leave_in_order_and_the_line_can_be_used_again() {
        let (mut queue, mut pool) = line(3);
        assert_eq!(queue.head().map(|packet| pool[packet].serial), Some(1));
        let (first, _) = queue.pop(&pool).unwrap();
        queue.push(first, &mut pool);
        assert_eq!((queue.len(), rest(queue.clone(), &pool)), (3, vec![2, 3, 1]));
        let only = queue.take(&mut pool, |_, _| true).pop().unwrap();
        assert!(queue.is_empty() && queue.head().is_none() && queue.pop(&pool).is_none());
        queue.push(only, &mut pool);
        assert_eq!(rest(queue, &pool), [1]);
    }

    #[test]
    fn packets_taken_from_any_place_leave_the_others_in_order() {
        for (wanted, left) in [(1, [2, 3, 4]), (2, [1, 3, 4]), (4, [1, 2, 3])] {
            let (mut queue, mut pool) = line(4);
            let taken = queue.take_last(&mut pool, |packet| packet.serial == wanted).unwrap();
            assert_eq!((pool[&taken].serial, rest(queue.clone(), &pool)), (wanted, left.to_vec()));
            queue.push(taken, &mut pool);
            assert_eq!(rest(queue, &pool)[3], wanted, "the tail is known still");
        }
        let (mut queue, mut pool) = line(4);
        let odd = queue.take(&mut pool, |packet, _| packet.serial % 2 == 1);
        assert_eq!(odd.iter().map(|packet| pool[packet].serial).collect::<Vec<_>>(), [1, 3]);
        let last = queue.take_last(&mut pool, |_| true).unwrap();
        assert_eq!((pool[&last].serial, rest(queue, &pool)), (4, vec![2]));
    }
}
