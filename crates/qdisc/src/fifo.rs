//! The waiting line that every discipline shares.

use roamlab_engine::Bytes;
use roamlab_packet::{Packet, PacketId, PacketPool};
use std::collections::VecDeque;

/// Waiting packets in order of arrival, and their bytes on the wire.
#[derive(Debug, Default)]
pub(crate) struct Fifo {
    line: VecDeque<PacketId>,
    bytes: u64,
}

impl Fifo {
    /// Puts a packet at the tail.
    pub(crate) fn push(&mut self, packet: PacketId, pool: &PacketPool) {
        self.bytes += pool[&packet].wire_size().0;
        self.line.push_back(packet);
    }

    /// Takes the packet at the head.
    pub(crate) fn pop(&mut self, pool: &PacketPool) -> Option<PacketId> {
        let packet = self.line.pop_front()?;
        self.bytes -= pool[&packet].wire_size().0;
        Some(packet)
    }

    /// The packet at the head.
    pub(crate) fn head(&self) -> Option<&PacketId> {
        self.line.front()
    }

    /// Takes the packet nearest to the tail that `wanted` selects.
    pub(crate) fn pop_last(
        &mut self,
        wanted: impl Fn(&Packet) -> bool,
        pool: &PacketPool,
    ) -> Option<PacketId> {
        let place = self.line.iter().rposition(|packet| wanted(&pool[packet]))?;
        let packet = self.line.remove(place)?;
        self.bytes -= pool[&packet].wire_size().0;
        Some(packet)
    }

    /// Takes all packets that `wanted` selects, in order; the others keep theirs.
    pub(crate) fn extract(&mut self, wanted: &dyn Fn(&Packet) -> bool, pool: &PacketPool) -> Vec<PacketId> {
        let (mut taken, mut kept) = (Vec::new(), VecDeque::with_capacity(self.line.len()));
        for packet in self.line.drain(..) {
            if wanted(&pool[&packet]) {
                taken.push(packet);
            } else {
                kept.push_back(packet);
            }
        }
        self.line = kept;
        self.bytes -= taken.iter().map(|packet| pool[packet].wire_size().0).sum::<u64>();
        taken
    }

    /// The number of waiting packets that `wanted` selects.
    pub(crate) fn count(&self, wanted: impl Fn(&Packet) -> bool, pool: &PacketPool) -> usize {
        self.line.iter().filter(|packet| wanted(&pool[packet])).count()
    }

    /// Waiting packets.
    pub(crate) fn packets(&self) -> usize {
        self.line.len()
    }

    /// Waiting bytes.
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.line.is_empty()
    }
}
