//! The queues of FQ-CoDel, each made for its first packet.

use super::{FlowId, PacketId, PacketPool};
use crate::Matching;
use crate::codel::Control;
use crate::flow_hash::FlowHash;
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
    /// Whether it is in one of the lists.
    pub has_turn: bool,
}

/// All queues, and what waits in them.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    hash: FlowHash,
    mark: Dscp,
    /// The place of each queue in `made`; `NONE`: it is not made.
    places: Box<[u32]>,
    made: Vec<Flow>,
    pub packets: usize,
    pub bytes: u64,
}

const NONE: u32 = u32::MAX;

impl Flows {
    pub(super) fn new(queues: u32, hash: FlowHash, mark: Dscp) -> Flows {
        let places = vec![NONE; queues.max(1) as usize].into_boxed_slice();
        Flows { hash, mark, places, made: Vec::new(), packets: 0, bytes: 0 }
    }

    /// The place of a flow's queue.
    #[inline(always)]
    pub(super) fn place_of(&mut self, flow: FlowId) -> u32 {
        let queue = scaled(self.hash.of(flow.0.into()), self.places.len());
        match self.places[queue] {
            NONE => self.make(queue),
            place => place,
        }
    }

    #[inline(never)]
    fn make(&mut self, queue: usize) -> u32 {
        let (line, control) = (Timed::with_mark(self.mark), Control::default());
        self.made.push(Flow { queue: queue as u32, line, control, deficit: 0, has_turn: false });
        self.places[queue] = (self.made.len() - 1) as u32;
        self.places[queue]
    }

    #[inline(always)]
    pub(super) fn get(&self, place: u32) -> &Flow {
        &self.made[place as usize]
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, place: u32) -> &mut Flow {
        &mut self.made[place as usize]
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
        let lengths = self.made.iter().enumerate().map(|(place, flow)| (length(&flow.line).0, flow, place));
        // Of equally long ones the first, as in Linux.
        let longest = lengths.max_by_key(|(bytes, flow, _)| (*bytes, u32::MAX - flow.queue));
        longest.filter(|(bytes, ..)| *bytes > 0).map(|(.., place)| place as u32)
    }

    /// Takes all packets that `wanted` selects, queue by queue.
    pub(super) fn take_matching(&mut self, wanted: &Matching<'_>, pool: &mut PacketPool) -> Vec<PacketId> {
        let lines = self.made.iter_mut().map(|flow| &mut flow.line).filter(|line| !line.is_empty());
        lines.flat_map(|line| line.take_matching(wanted, pool)).collect()
    }

    /// Waiting packets with the mark.
    pub(super) fn forwarded(&self) -> usize {
        self.made.iter().map(|flow| flow.line.forwarded()).sum()
    }
}

/// A number below `count` for a hash.
#[inline(always)]
fn scaled(hash: u64, count: usize) -> usize {
    ((u128::from(hash) * count as u128) >> 64) as usize
}
