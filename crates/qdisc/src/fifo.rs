//! The queue of packets that the disciplines share.

use crate::Matching;
use roamlab_engine::Bytes;
use roamlab_packet::{Dscp, Packet, PacketId, PacketLine, PacketPool};
use std::cell::Cell;

/// Waiting packets in order of arrival, their bytes on the wire, and the number of both with a mark.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fifo {
    line: PacketLine,
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

    /// True if the inner header of a packet has the mark.
    #[inline(always)]
    pub(crate) fn is_forwarded(&self, packet: &Packet) -> bool {
        has_mark(packet, self.mark)
    }

    /// Puts a packet at the tail.
    #[inline(always)]
    pub(crate) fn push(&mut self, packet: PacketId, pool: &mut PacketPool) {
        if self.is_forwarded(&pool[&packet]) {
            self.forwarded += 1;
            self.marked_bytes += pool[&packet].wire_size().0;
        }
        self.push_unmarked(packet, pool);
    }

    /// The same of a packet without a code point.
    #[inline(always)]
    pub(crate) fn push_unmarked(&mut self, packet: PacketId, pool: &mut PacketPool) {
        self.bytes += pool[&packet].wire_size().0;
        self.line.push(packet, pool);
    }

    /// Takes the packet at the head.
    #[inline(always)]
    pub(crate) fn pop(&mut self, pool: &PacketPool) -> Option<PacketId> {
        let (packet, state) = self.line.pop(pool)?;
        self.forget(state);
        Some(packet)
    }

    /// The packet at the head.
    pub(crate) fn head(&self) -> Option<&PacketId> {
        self.line.head()
    }

    /// Subtracts a packet that left.
    #[inline(always)]
    fn forget(&mut self, packet: &Packet) {
        let size = packet.wire_size().0;
        self.bytes -= size;
        if self.forwarded > 0 && self.is_forwarded(packet) {
            self.forwarded -= 1;
            self.marked_bytes -= size;
        }
    }

    /// The packet at the tail.
    #[cfg(test)]
    pub(crate) fn last(&self) -> Option<&PacketId> {
        self.line.last()
    }

    /// Takes the packet at the tail.
    #[cfg(test)]
    pub(crate) fn pop_last(&mut self, pool: &mut PacketPool) -> Option<PacketId> {
        let packet = self.line.take_last(pool, |_| true)?;
        self.forget(&pool[&packet]);
        Some(packet)
    }

    /// Takes all packets that `wanted` selects, in order; the others keep theirs.
    pub(crate) fn take_matching(&mut self, wanted: &Matching<'_>, pool: &mut PacketPool) -> Vec<PacketId> {
        let taken = self.line.take(pool, wanted);
        taken.iter().for_each(|packet| self.forget(&pool[packet]));
        taken
    }

    /// Takes the packet without a mark that is nearest to the tail; it, and how many waited before it.
    pub(crate) fn pop_last_ordinary(&mut self, pool: &mut PacketPool) -> Option<(PacketId, usize)> {
        let (mark, seen, place) = (self.mark, Cell::new(0), Cell::new(0));
        let packet = self.line.take_last(pool, |packet| {
            let is_ordinary = !has_mark(packet, mark);
            if is_ordinary {
                place.set(seen.get());
            }
            seen.set(seen.get() + 1);
            is_ordinary
        })?;
        self.forget(&pool[&packet]);
        Some((packet, place.get()))
    }

    /// Takes the packet nearest to the head that is not spared; it, and how many waited before it.
    pub(crate) fn pop_first(
        &mut self,
        is_spared: impl Fn(&Packet) -> bool,
        pool: &mut PacketPool,
    ) -> Option<(PacketId, usize)> {
        if !is_spared(&pool[self.head()?]) {
            return self.pop(pool).map(|packet| (packet, 0));
        }
        let (found, place) = (Cell::new(false), Cell::new(0));
        let is_first = |packet: &Packet, _: &PacketPool| {
            let is_first = !found.get() && !is_spared(packet);
            place.set(place.get() + usize::from(!is_first && !found.get()));
            found.set(found.get() || is_first);
            is_first
        };
        let packet = self.take_matching(&is_first, pool).pop()?;
        Some((packet, place.get()))
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

    /// True if nothing waits.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.line.is_empty()
    }
}

/// True if the inner header of a packet has the code point `mark`, or any if that is `None`.
#[inline(always)]
pub(crate) fn has_mark(packet: &Packet, mark: Option<Dscp>) -> bool {
    packet.has_code_point() && {
        let dscp = packet.inner_tos().dscp();
        dscp != Dscp::default() && mark.is_none_or(|mark| dscp == mark)
    }
}
