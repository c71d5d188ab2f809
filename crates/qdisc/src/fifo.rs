//! The queue of packets that the disciplines share.

use crate::Matching;
use roamlab_engine::Bytes;
use roamlab_packet::{Dscp, Packet, PacketId, PacketPool, Waiting};
use std::collections::VecDeque;

/// Waiting packets in order of arrival, their bytes on the wire, and the number of both with a mark.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fifo {
    line: VecDeque<Waiting>,
    bytes: u64,
    /// The code point that is the mark; `None`: any except 0.
    mark: Option<Dscp>,
    forwarded: usize,
    marked_bytes: u64,
}

impl Fifo {
    /// An empty queue whose mark is the code point `mark`.
    pub(crate) fn with_mark(mark: Dscp) -> Fifo {
        Fifo { mark: Some(mark), ..Fifo::default() }
    }

    /// Whether the inner header of a packet has the mark.
    #[inline(always)]
    pub(crate) fn is_forwarded(&self, packet: &Packet) -> bool {
        let dscp = packet.inner_tos().dscp();
        self.mark.map_or(dscp != Dscp::default(), |mark| dscp == mark)
    }

    /// Puts a packet at the tail.
    #[inline(always)]
    pub(crate) fn push(&mut self, packet: PacketId, pool: &PacketPool) {
        let size = pool[&packet].wire_size().0;
        self.bytes += size;
        if self.is_forwarded(&pool[&packet]) {
            self.forwarded += 1;
            self.marked_bytes += size;
        }
        self.line.push_back(packet.into());
    }

    /// Takes the packet at the head.
    #[inline(always)]
    pub(crate) fn pop(&mut self, pool: &PacketPool) -> Option<PacketId> {
        let packet = self.line.pop_front()?.take();
        self.forget(&pool[&packet]);
        Some(packet)
    }

    /// The packet at the head.
    pub(crate) fn head(&self) -> Option<&PacketId> {
        self.line.front().map(|packet| &**packet)
    }

    /// The packet at the tail.
    #[cfg(test)]
    pub(crate) fn last(&self) -> Option<&PacketId> {
        self.line.back().map(|packet| &**packet)
    }

    /// Subtracts a packet that left.
    #[inline(always)]
    fn forget(&mut self, packet: &Packet) {
        let size = packet.wire_size().0;
        self.bytes -= size;
        if self.is_forwarded(packet) {
            self.forwarded -= 1;
            self.marked_bytes -= size;
        }
    }

    /// Takes the packet at the tail.
    #[cfg(test)]
    pub(crate) fn pop_last(&mut self, pool: &PacketPool) -> Option<PacketId> {
        self.remove(self.line.len().checked_sub(1)?, pool)
    }

    fn remove(&mut self, place: usize, pool: &PacketPool) -> Option<PacketId> {
        let packet = self.line.remove(place)?.take();
        self.forget(&pool[&packet]);
        Some(packet)
    }

    /// Takes all packets that `wanted` selects, in order; the others keep theirs.
    pub(crate) fn take_matching(&mut self, wanted: &Matching<'_>, pool: &PacketPool) -> Vec<PacketId> {
        let (mut taken, mut kept) = (Vec::new(), VecDeque::with_capacity(self.line.len()));
        for packet in self.line.drain(..) {
            if wanted(&pool[&packet], pool) {
                taken.push(packet.take());
            } else {
                kept.push_back(packet);
            }
        }
        self.line = kept;
        taken.iter().for_each(|packet| self.forget(&pool[packet]));
        taken
    }

    /// Takes the packet without a mark that is nearest to the tail.
    pub(crate) fn pop_last_ordinary(&mut self, pool: &PacketPool) -> Option<PacketId> {
        let place = self.line.iter().rposition(|packet| !self.is_forwarded(&pool[packet]))?;
        self.remove(place, pool)
    }

    /// Waiting packets with the mark.
    pub(crate) fn forwarded(&self) -> usize {
        self.forwarded
    }

    /// Waiting packets without the mark.
    pub(crate) fn ordinary(&self) -> usize {
        self.line.len() - self.forwarded
    }

    /// Their bytes.
    pub(crate) fn ordinary_bytes(&self) -> Bytes {
        Bytes(self.bytes - self.marked_bytes)
    }

    /// Waiting packets.
    #[inline]
    pub(crate) fn packets(&self) -> usize {
        self.line.len()
    }

    /// Waiting bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    /// Whether nothing waits.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.line.is_empty()
    }
}
