//! The queues of FQ-CoDel.

use super::{FlowId, PacketId, PacketPool};
use crate::Matching;
use crate::aqm::codel::Control;
use crate::fair::flow_hash::FlowHash;
use crate::fair::lazy_table::LazyTable;
use crate::timed::Timed;
use roamlab_packet::Dscp;

/// A queue.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    /// Its number among all queues.
    queue: u32,
    pub line: Timed,
    pub control: Control,
    /// Bytes that it may send in this turn.
    pub deficit: i64,
    /// True if it is in one of the lists.
    pub has_turn: bool,
}

/// All queues, and what waits in them.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    hash: FlowHash,
    mark: Dscp,
    queues: LazyTable<Flow>,
    pub packets: usize,
    pub bytes: u64,
}

impl Flows {
    pub(super) fn new(queues: u32, hash: FlowHash, mark: Dscp) -> Flows {
        let queues = LazyTable::new(queues.max(1) as usize);
        Flows { hash, mark, queues, packets: 0, bytes: 0 }
    }

    /// The place of a flow's queue.
    #[inline(always)]
    pub(super) fn place_of(&mut self, flow: FlowId) -> u32 {
        let (queue, mark) = (scaled(self.hash.of(flow.0.into()), self.queues.count()), self.mark);
        self.queues.place_or_make(queue, || {
            let (line, control) = (Timed::with_mark(mark), Control::default());
            Flow { queue: queue as u32, line, control, deficit: 0, has_turn: false }
        })
    }

    #[inline(always)]
    pub(super) fn get(&self, place: u32) -> &Flow {
        self.queues.at(place)
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, place: u32) -> &mut Flow {
        self.queues.at_mut(place)
    }

    /// Subtracts packets that left.
    #[inline(always)]
    pub(super) fn forget(&mut self, packets: usize, bytes: u64) {
        self.packets -= packets;
        self.bytes -= bytes;
    }

    /// The queue with the most bytes; with `ordinary_only` those with the mark do not count.
    pub(super) fn longest(&self, ordinary_only: bool) -> Option<u32> {
        let length = |line: &Timed| if ordinary_only { line.ordinary_bytes() } else { line.bytes() };
        let lengths =
            self.queues.made().iter().enumerate().map(|(place, flow)| (length(&flow.line).0, flow, place));
        // Of equally long ones the first, as in Linux.
        let longest = lengths.max_by_key(|(bytes, flow, _)| (*bytes, u32::MAX - flow.queue));
        longest.filter(|(bytes, ..)| *bytes > 0).map(|(.., place)| place as u32)
    }

    /// Takes all packets that `wanted` selects, queue by queue.
    pub(super) fn take_matching(&mut self, wanted: &Matching<'_>, pool: &mut PacketPool) -> Vec<PacketId> {
        let lines =
            self.queues.made_mut().iter_mut().map(|flow| &mut flow.line).filter(|line| !line.is_empty());
        lines.flat_map(|line| line.take_matching(wanted, pool)).collect()
    }

    /// Waiting packets with the mark.
    pub(super) fn forwarded(&self) -> usize {
        self.queues.made().iter().map(|flow| flow.line.forwarded()).sum()
    }
}

/// A number below `count` for a hash.
#[inline(always)]
fn scaled(hash: u64, count: usize) -> usize {
    ((u128::from(hash) * count as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{PLAIN, packet};
    use roamlab_engine::{Rng, Time};

    #[test]
    fn of_equally_long_queues_the_one_of_the_lowest_number_is_the_longest() {
        // `fq_codel_drop` looks for a longer one from queue 0 on.
        let hash = FlowHash::new(&mut Rng::named(1, 0, "queue"));
        let (mut flows, mut pool) = (Flows::new(1024, hash, Dscp::FORWARDED), PacketPool::default());
        for flow in 0..6 {
            let (id, place) = (pool.create(packet(flow, 500, PLAIN)), flows.place_of(FlowId(flow)));
            flows.get_mut(place).line.push(id, Time::ZERO, &mut pool);
            let lowest = flows.queues.made().iter().map(|flow| flow.queue).min();
            let longest = flows.longest(false).map(|place| flows.get(place).queue);
            assert_eq!(longest, lowest, "{flow}");
        }
    }
}
