//! A drop-tail queue that gives up packets which have waited too long: those are late for a voice call anyway.

use crate::{BadField, Gauges, Matching, Parameters, QdiscCx, QueueDisc};
use roamlab_engine::{Bytes, Duration, Packets, Rng, Time};
use roamlab_packet::{DropReason, Dscp, Packet, PacketId, Waiting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Drop-tail with a longest wait: a packet that has waited longer is dropped when its turn comes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Packets that may wait. Default 60 pkt.
    pub capacity: Packets,
    /// Longest wait of a packet that is sent. Default 150 ms (ITU-T G.114: the one-way delay of a good call).
    pub longest_wait: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Params { capacity: Packets(60), longest_wait: Duration::from_millis(150) }
    }
}

impl Parameters for Params {
    fn validate(&self) -> Result<(), BadField> {
        if self.capacity == Packets(0) {
            return Err(("capacity", "the queue would hold nothing: write at least \"1 pkt\"".into()));
        }
        Ok(())
    }
}

/// The discipline.
#[derive(Clone, Debug)]
pub struct LongestWait {
    params: Params,
    /// Waiting packets with their times of arrival.
    line: VecDeque<(Waiting, Time)>,
    bytes: u64,
    /// Waiting packets that were forwarded.
    forwarded: usize,
}

impl LongestWait {
    /// A packet has left the line.
    fn forget(&mut self, packet: &Packet) {
        self.bytes -= packet.wire_size().0;
        self.forwarded -= is_forwarded(packet);
    }
}

/// 1 for a packet with a code point other than that of ordinary ones in its inner header.
fn is_forwarded(packet: &Packet) -> usize {
    usize::from(packet.inner_tos().dscp() != Dscp::default())
}

impl QueueDisc for LongestWait {
    type Params = Params;

    fn new(params: &Params, _: Rng) -> LongestWait {
        LongestWait { params: params.clone(), line: VecDeque::new(), bytes: 0, forwarded: 0 }
    }

    fn enqueue(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
        if self.line.len() >= self.params.capacity.0 as usize {
            return cx.drop(packet, DropReason::QueueOverflow);
        }
        self.bytes += cx.pool[&packet].wire_size().0;
        self.forwarded += is_forwarded(&cx.pool[&packet]);
        self.line.push_back((packet.into(), cx.now));
    }

    fn dequeue(&mut self, cx: &mut QdiscCx<'_>) -> Option<PacketId> {
        loop {
            let (packet, arrived) = self.line.pop_front()?;
            let packet = packet.take();
            self.forget(&cx.pool[&packet]);
            if cx.now.since(arrived) <= self.params.longest_wait {
                return Some(packet);
            }
            cx.drop(packet, DropReason::EarlyDrop);
        }
    }

    fn take_matching(&mut self, wanted: &Matching<'_>, cx: &mut QdiscCx<'_>) -> Vec<PacketId> {
        let line = std::mem::take(&mut self.line);
        let (taken, kept) = line.into_iter().partition(|(packet, _)| wanted(&cx.pool[packet], cx.pool));
        self.line = kept;
        let taken: VecDeque<(Waiting, Time)> = taken;
        let taken: Vec<_> = taken.into_iter().map(|(packet, _)| packet.take()).collect();
        taken.iter().for_each(|packet| self.forget(&cx.pool[packet]));
        taken
    }

    fn head(&self) -> Option<&PacketId> {
        self.line.front().map(|(packet, _)| &**packet)
    }

    fn packets(&self) -> usize {
        self.line.len()
    }

    fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    fn gauges(&self) -> Gauges {
        Gauges { forwarded: self.forwarded, ..Gauges::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{Bench, PLAIN, check};

    #[test]
    fn what_has_waited_too_long_is_dropped_and_the_next_is_sent() {
        let mut bench = Bench::<LongestWait>::new(&Params::default());
        bench.offer_many(2, PLAIN);
        bench.wait(Duration::from_millis(100));
        bench.offer_many(1, PLAIN);
        bench.wait(Duration::from_millis(50));
        assert_eq!(bench.serve(), Some(1), "150 ms are not too long");
        bench.wait(Duration::from_nanos(1));
        assert_eq!(bench.serve(), Some(3));
        assert_eq!(bench.last_reason(), Some(DropReason::EarlyDrop));
    }

    #[test]
    fn a_short_wait_keeps_the_contract_too() {
        let longest_wait = Duration::from_millis(2);
        check(&Params { longest_wait, ..Params::default() });
    }
}
