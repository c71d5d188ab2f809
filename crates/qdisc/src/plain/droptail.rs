//! Drop-tail: a packet that finds the queue full is lost.

use crate::fifo::Fifo;
use crate::{BadField, Gauges, Parameters, QdiscCx, QueueDisc, QueueSpec};
use roamlab_engine::{Bytes, Packets, Rng};
use roamlab_packet::{DropReason, PacketId};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// Tail drop: a packet that finds the queue full is lost, every other one waits in line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Packets that may wait. 120 pkt if neither limit is written; none if only `limit_bytes` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Packets")]
    pub limit: Option<Packets>,
    /// Bytes on the wire that may wait; without it only packets count.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes")]
    pub limit_bytes: Option<Bytes>,
    /// True if the limit includes a packet in service, so that one packet less may wait (default false).
    /// ns-2's rule: it drops when the arrival would make the queue reach the limit, not exceed it.
    pub count_in_service: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params { limit: Some(Packets(120)), limit_bytes: None, count_in_service: false }
    }
}

impl QueueSpec {
    /// A drop-tail queue of `limit` packets.
    pub fn droptail(limit: Packets) -> QueueSpec {
        QueueSpec::DropTail(Params { limit: Some(limit), ..Params::default() })
    }
}

/// Drop-tail with its defaults.
impl Default for QueueSpec {
    fn default() -> Self {
        QueueSpec::DropTail(Params::default())
    }
}

/// The parameters as they are written, before the default limit is filled in.
#[derive(Deserialize)]
#[serde(rename = "droptail", deny_unknown_fields)]
struct Written {
    limit: Option<Packets>,
    limit_bytes: Option<Bytes>,
    #[serde(default)]
    count_in_service: bool,
}

impl<'de> Deserialize<'de> for Params {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written { limit, limit_bytes, count_in_service } = Written::deserialize(deserializer)?;
        let limit = if limit_bytes.is_none() { limit.or(Params::default().limit) } else { limit };
        Ok(Params { limit, limit_bytes, count_in_service })
    }
}

impl Parameters for Params {
    fn validate(&self) -> Result<(), BadField> {
        let least = if self.count_in_service { 2 } else { 1 };
        if self.limit.is_some_and(|limit| limit.0 < least) {
            return Err(("limit", format!("the queue would hold nothing: write at least \"{least} pkt\"")));
        }
        crate::validate_byte_limit(self.limit_bytes)?;
        if self.limit.is_none() && self.limit_bytes.is_none() {
            return Err(("limit", "a queue needs a limit: write for example \"120 pkt\"".into()));
        }
        Ok(())
    }
}

/// The discipline.
#[derive(Clone, Debug)]
pub struct DropTail {
    /// Packets and bytes that may wait.
    limit: usize,
    limit_bytes: u64,
    fifo: Fifo,
}

impl DropTail {
    #[inline(always)]
    fn has_room_for(&self, size: Bytes) -> bool {
        self.fifo.packets() < self.limit && self.fifo.bytes().0 + size.0 <= self.limit_bytes
    }

    /// As [`enqueue`](QueueDisc::enqueue), of a packet without a code point.
    #[inline(always)]
    pub fn enqueue_unmarked(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
        if !self.has_room_for(cx.pool[&packet].wire_size()) {
            return cx.drop(packet, DropReason::QueueOverflow);
        }
        self.fifo.push_unmarked(packet, cx.pool);
    }
}

impl QueueDisc for DropTail {
    type Params = Params;

    fn new(params: &Params, _: Rng) -> DropTail {
        let reserved = u32::from(params.count_in_service);
        let limit = params.limit.map_or(usize::MAX, |limit| limit.0.saturating_sub(reserved) as usize);
        let limit_bytes =
            params.limit_bytes.map_or(u64::MAX, |limit| limit.0.saturating_sub(u64::from(reserved)));
        DropTail { limit, limit_bytes, fifo: Fifo::default() }
    }

    #[inline(always)]
    fn enqueue(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
        if !self.has_room_for(cx.pool[&packet].wire_size()) {
            return cx.drop(packet, DropReason::QueueOverflow);
        }
        self.fifo.push(packet, cx.pool);
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &mut QdiscCx<'_>) -> Option<PacketId> {
        self.fifo.pop(cx.pool)
    }

    fn can_bypass(&self, size: Bytes) -> bool {
        self.fifo.is_empty() && self.has_room_for(size)
    }

    crate::waits_in!(fifo, taken);

    fn gauges(&self) -> Gauges {
        Gauges { forwarded: self.fifo.forwarded(), ..Gauges::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{Bench, PLAIN, check, packet};

    fn bench(limit: Option<u32>, limit_bytes: Option<u64>, count_in_service: bool) -> Bench<DropTail> {
        let (limit, limit_bytes) = (limit.map(Packets), limit_bytes.map(Bytes));
        Bench::new(&Params { limit, limit_bytes, count_in_service })
    }

    #[test]
    fn a_window_of_64_overflows_a_queue_of_120_by_what_waited_before() {
        // [mblue] fig. 11: the burst of one window meets a queue that holds 80 of 120.
        let mut bench = bench(Some(120), None, false);
        assert_eq!(bench.offer_many(80, PLAIN), 0);
        assert_eq!(bench.offer_many(64, PLAIN), 24);
        assert_eq!(bench.last_reason(), Some(DropReason::QueueOverflow));
        assert_eq!((bench.queue.packets(), bench.queue.bytes()), (120, Bytes(120 * 512)));
    }

    #[test]
    fn ns2s_limit_includes_the_packet_in_service() {
        // ns-2's `limit_` of 50: 49 waiting and one in service.
        let mut bench = bench(Some(50), None, true);
        assert_eq!(bench.offer_many(1, PLAIN), 0);
        assert_eq!(bench.serve(), Some(1));
        assert_eq!(bench.offer_many(60, PLAIN), 11);
        assert_eq!(bench.queue.packets(), 49);
    }

    #[test]
    fn bytes_and_packets_limit_together() {
        let mut by_bytes = bench(None, Some(2048), false);
        assert_eq!(by_bytes.offer_many(6, PLAIN), 2, "four packets of 512 B fit exactly");
        let mut reached = bench(None, Some(2048), true);
        assert_eq!(reached.offer_many(6, PLAIN), 3, "ns-2: the limit may not be reached");
        let mut both = bench(Some(3), Some(2048), false);
        assert_eq!(both.offer_many(6, PLAIN), 3);
        let mut by_bytes = bench(None, Some(1000), false);
        by_bytes.offer_many(2, PLAIN);
        by_bytes.offer(packet(0, 40, PLAIN));
        assert_eq!(by_bytes.queue.bytes(), Bytes(552), "a small packet fits where a large one did not");
    }

    #[test]
    fn a_freed_place_is_taken_again() {
        let mut bench = bench(Some(1), None, false);
        assert_eq!(bench.offer_many(2, PLAIN), 1);
        assert_eq!(bench.serve(), Some(1));
        assert_eq!(bench.offer_many(1, PLAIN), 0);
        assert_eq!(bench.serve(), Some(3));
        assert_eq!(bench.serve(), None);
    }

    #[test]
    fn small_queues_keep_the_contract_too() {
        let bypasses = check(&Params { limit: Some(Packets(5)), ..Params::default() });
        assert!(bypasses > 100, "the short cut was tried");
        check(&Params { limit: None, limit_bytes: Some(Bytes(6000)), count_in_service: true });
    }
}
