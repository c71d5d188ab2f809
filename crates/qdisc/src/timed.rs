//! The queue of packets for disciplines that go by the time in the queue.

use crate::Matching;
use crate::fifo::Fifo;
use crate::forwarded::PushOut;
use roamlab_engine::{Duration, Time};
use roamlab_packet::{Dscp, Packet, PacketId, PacketPool};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Deref;

/// Waiting packets in order of arrival, with their times of arrival.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timed {
    fifo: Fifo,
    /// When each of them arrived.
    arrivals: VecDeque<Time>,
}

impl Timed {
    /// An empty queue whose mark is the code point `mark`.
    pub(crate) fn with_mark(mark: Dscp) -> Timed {
        Timed { fifo: Fifo::with_mark(mark), arrivals: VecDeque::new() }
    }

    /// Puts a packet at the tail.
    #[inline(always)]
    pub(crate) fn push(&mut self, packet: PacketId, now: Time, pool: &mut PacketPool) {
        self.fifo.push(packet, pool);
        self.arrivals.push_back(now);
    }

    /// Takes the packet at the head; it, and how long it waited.
    #[inline(always)]
    pub(crate) fn pop(&mut self, now: Time, pool: &PacketPool) -> Option<(PacketId, Duration)> {
        let packet = self.fifo.pop(pool)?;
        let arrived = self.arrivals.pop_front().unwrap_or(now);
        Some((packet, now.since(arrived)))
    }

    /// How long the packet at the head has waited; 0 if none waits.
    #[inline(always)]
    pub(crate) fn head_sojourn(&self, now: Time) -> Duration {
        self.arrivals.front().map_or(Duration::ZERO, |arrived| now.since(*arrived))
    }

    /// Takes the packet nearest to the head that is not spared.
    pub(crate) fn pop_first(
        &mut self,
        is_spared: impl Fn(&Packet) -> bool,
        pool: &mut PacketPool,
    ) -> Option<PacketId> {
        let (packet, place) = self.fifo.pop_first(is_spared, pool)?;
        self.arrivals.remove(place);
        Some(packet)
    }

    /// Takes all packets that `wanted` selects, in order; the others keep theirs.
    pub(crate) fn take_matching(&mut self, wanted: &Matching<'_>, pool: &mut PacketPool) -> Vec<PacketId> {
        let kept = RefCell::new(VecDeque::with_capacity(self.arrivals.len()));
        let taken = self.fifo.take_matching(
            &|packet, pool| {
                let is_wanted = wanted(packet, pool);
                kept.borrow_mut().push_back(!is_wanted);
                is_wanted
            },
            pool,
        );
        let mut kept = kept.into_inner();
        self.arrivals.retain(|_| kept.pop_front().unwrap_or(true));
        taken
    }
}

impl PushOut for Timed {
    fn push_out(&mut self, pool: &mut PacketPool) -> Option<PacketId> {
        let (packet, place) = self.fifo.pop_last_ordinary(pool)?;
        self.arrivals.remove(place);
        Some(packet)
    }
}

impl Deref for Timed {
    type Target = Fifo;

    fn deref(&self) -> &Fifo {
        &self.fifo
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{MARKED, PLAIN, packet};
    use roamlab_packet::Dscp;

    #[test]
    fn a_packet_from_behind_spared_ones_takes_its_own_time_of_arrival_with_it() {
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let (mut pool, mut line) = (PacketPool::default(), Timed::with_mark(Dscp::FORWARDED));
        for (tos, millis) in [(MARKED, 1), (PLAIN, 2), (PLAIN, 4)] {
            let id = pool.create(packet(0, 500, tos));
            line.push(id, at(millis), &mut pool);
        }
        let is_spared = |packet: &Packet| packet.inner_tos().dscp() == Dscp::FORWARDED;
        assert!(line.pop_first(is_spared, &mut pool).is_some());
        let left =
            [(); 2].map(|()| line.pop(at(10), &pool).map(|(_, sojourn)| sojourn.as_nanos() / 1_000_000));
        assert_eq!(left, [Some(9), Some(6)]);
    }
}
