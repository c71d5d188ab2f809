//! Buffer management: one file per queue discipline, one row per file in the table below.
//!
//! A discipline holds the packets that *wait* for a link; the packet in service is not among them.

use roamlab_engine::{Bytes, Rate, Time};
use roamlab_packet::{DropReason, Packet, PacketId, PacketPool};

/// What a discipline may touch while it works: the clock, the packets, and the list of its losses.
pub struct QdiscCx<'a> {
    /// Now.
    pub now: Time,
    /// All packets of the run.
    pub pool: &'a mut PacketPool,
    /// Rate of the link behind the queue (RED's typical transmission time).
    pub rate: Rate,
    /// Packets that the discipline gave up, for the caller to record and discard.
    pub dropped: &'a mut Vec<(PacketId, DropReason)>,
}

impl QdiscCx<'_> {
    /// Gives `packet` up.
    pub fn drop(&mut self, packet: PacketId, reason: DropReason) {
        self.dropped.push((packet, reason));
    }
}

/// A discipline's inner state as a queue record shows it.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub struct Gauges {
    /// Average queue length in packets (RED's `avg_q`), or 0 where there is none.
    pub average: f64,
    /// Probability with which the next ordinary packet is dropped (RED's `p_b`, BLUE's `P_m`), or 0.
    pub probability: f64,
}

/// A queue discipline.
pub trait QueueDisc: Sized {
    /// Its parameters: serde (unknown fields refused), defaults, JSON schema.
    type Params;

    /// An empty queue.
    fn new(params: &Self::Params, rng: roamlab_engine::Rng) -> Self;

    /// Takes the packet in, or drops or marks it. May drop others.
    fn enqueue(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>);

    /// The next packet to serve. Called also on an empty queue when the link falls idle (RED's idle clock,
    /// BLUE's idle event).
    fn dequeue(&mut self, cx: &mut QdiscCx<'_>) -> Option<PacketId>;

    /// Removes, in order, the waiting packets that `wanted` selects (a host left the cell). Not a drop and not
    /// a departure: no probability changes.
    fn extract(&mut self, wanted: &dyn Fn(&Packet) -> bool, cx: &mut QdiscCx<'_>) -> Vec<PacketId>;

    /// Waiting packets.
    fn packets(&self) -> usize;

    /// Waiting bytes.
    fn bytes(&self) -> Bytes;

    /// Inner state for the record.
    fn gauges(&self) -> Gauges {
        Gauges::default()
    }
}
