//! Head drop: a packet that finds the queue full displaces the one that has waited longest.
//!
//! So the news of a loss reaches the receiver a queueing delay earlier than with drop-tail (T. V. Lakshman, A.
//! Neidhardt, T. J. Ott, "The drop from front strategy in TCP and in TCP over ATM", IEEE INFOCOM 1996). Starlink's user
//! terminals behave so.

use crate::fifo::Fifo;
use crate::forwarded::{Exemption, exempting_params, validate_mark};
use crate::{BadField, Gauges, Parameters, QdiscCx, QueueDisc};
use roamlab_engine::{Bytes, Packets, Rng};
use roamlab_packet::{DropReason, PacketId};

exempting_params! {
    /// Head drop: a packet that finds the queue full displaces the one that has waited longest.
    own {
        /// Packets that may wait (default 120 pkt, as drop-tail).
        limit: Packets = Packets(120);
        /// Bytes on the wire that may wait; without it only packets count.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Bytes")]
        limit_bytes: Option<Bytes> = None;
    }
}

impl Parameters for Params {
    fn validate(&self) -> Result<(), BadField> {
        crate::validate_limit(self.limit, false)?;
        crate::validate_byte_limit(self.limit_bytes)?;
        validate_mark(self.mark)
    }
}

/// The discipline.
#[derive(Clone, Debug)]
pub struct HeadDrop {
    limit: usize,
    limit_bytes: u64,
    exemption: Exemption,
    fifo: Fifo,
}

impl HeadDrop {
    fn has_room_for(&self, size: Bytes) -> bool {
        self.fifo.packets() < self.limit && self.fifo.bytes().0 + size.0 <= self.limit_bytes
    }

    /// Displaces those that have waited longest until a packet of this size fits. A packet that is larger than the queue
    /// never does.
    fn make_room_for(&mut self, size: Bytes, cx: &mut QdiscCx<'_>) -> bool {
        while size.0 <= self.limit_bytes && !self.has_room_for(size) {
            let Some((oldest, _)) = self.fifo.pop_first(|packet| self.exemption.covers(packet), cx.pool)
            else {
                return false;
            };
            cx.drop(oldest, DropReason::QueueOverflow);
        }
        size.0 <= self.limit_bytes
    }
}

impl QueueDisc for HeadDrop {
    type Params = Params;

    fn new(params: &Params, _: Rng) -> HeadDrop {
        HeadDrop {
            limit: params.limit.0 as usize,
            limit_bytes: params.limit_bytes.map_or(u64::MAX, |limit| limit.0),
            exemption: params.exemption(),
            fifo: Fifo::with_mark(params.mark),
        }
    }

    #[inline(never)]
    fn enqueue(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
        let size = cx.pool[&packet].wire_size();
        if self.exemption.spares(&packet, cx.pool) {
            let (limit, limit_bytes) = (self.limit, self.limit_bytes.saturating_sub(size.0));
            let is_full = |line: &Fifo| line.packets() >= limit || line.bytes().0 > limit_bytes;
            let admitted = self.exemption.admit(packet, &mut self.fifo, is_full, cx);
            return admitted.into_iter().for_each(|packet| self.fifo.push(packet, cx.pool));
        }
        if self.make_room_for(size, cx) {
            self.fifo.push(packet, cx.pool);
        } else {
            cx.drop(packet, DropReason::QueueOverflow);
        }
    }

    #[inline(never)]
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
    use crate::ForwardedAtFull;
    use crate::conformance::{Bench, MARKED, PLAIN, check, packet};
    use roamlab_packet::FlowId;

    fn bench(limit: u32) -> Bench<HeadDrop> {
        Bench::new(&Params { limit: Packets(limit), ..Params::default() })
    }

    fn sparing(limit: u32, forwarded_at_full: ForwardedAtFull) -> Bench<HeadDrop> {
        let limit = Packets(limit);
        Bench::new(&Params { limit, spare_forwarded: true, forwarded_at_full, ..Params::default() })
    }

    #[test]
    fn the_oldest_leave_and_the_newest_stay() {
        let mut bench = bench(3);
        assert_eq!(bench.offer_many(3, PLAIN), 0);
        assert_eq!(bench.offer_many(2, PLAIN), 2);
        assert_eq!(bench.lost(), [1, 2]);
        assert_eq!(bench.last_reason(), Some(DropReason::QueueOverflow));
        assert_eq!([(); 4].map(|()| bench.serve()), [Some(3), Some(4), Some(5), None]);
    }

    #[test]
    fn a_queue_of_one_holds_the_last_arrival() {
        let mut bench = bench(1);
        assert_eq!(bench.offer_many(4, PLAIN), 3);
        assert_eq!((bench.head(), bench.queue.packets()), (Some(4), 1));
    }

    #[test]
    fn a_burst_of_64_displaces_what_waited_before() {
        // As many are lost as at drop-tail's end of the queue, 80 + 64 - 120 = 24, but the first ones.
        let mut bench = bench(120);
        assert_eq!(bench.offer_many(80, PLAIN), 0);
        assert_eq!(bench.offer_many(64, PLAIN), 24);
        assert_eq!((bench.lost()[0], bench.lost()[23], bench.head()), (1, 24, Some(25)));
    }

    #[test]
    fn bytes_follow_the_packets_that_stay() {
        let mut bench = bench(2);
        for size in [100, 200, 400] {
            bench.offer(packet(0, size, PLAIN));
        }
        assert_eq!(bench.queue.bytes(), Bytes(600));
    }

    #[test]
    fn as_many_are_displaced_as_a_large_packet_needs() {
        let params = Params { limit_bytes: Some(Bytes(1000)), ..Params::default() };
        let mut bench = Bench::<HeadDrop>::new(&params);
        assert!((0..4).all(|_| !bench.offer_is_lost(packet(0, 250, PLAIN))));
        bench.offer(packet(0, 600, PLAIN));
        assert_eq!((bench.lost(), bench.queue.bytes()), (vec![1, 2, 3], Bytes(850)));
        bench.offer(packet(0, 1001, PLAIN));
        assert_eq!(bench.lost(), [1, 2, 3, 6], "a packet that never fits displaces none");
    }

    #[test]
    fn forwarded_packets_are_displaced_as_others_are() {
        let mut bench = bench(2);
        bench.offer(packet(0, 512, MARKED));
        bench.offer(packet(0, 512, PLAIN));
        assert_eq!(bench.queue.gauges().forwarded, 1);
        bench.offer(packet(0, 512, PLAIN));
        assert_eq!((bench.lost(), bench.queue.gauges().forwarded), (vec![1], 0));
    }

    #[test]
    fn a_spared_packet_is_not_displaced() {
        let mut bench = sparing(3, ForwardedAtFull::Reject);
        for tos in [MARKED, PLAIN, PLAIN, PLAIN] {
            bench.offer(packet(0, 512, tos));
        }
        assert_eq!(bench.lost(), [2]);
        assert_eq!([(); 3].map(|()| bench.serve()), [Some(1), Some(3), Some(4)]);
    }

    #[test]
    fn an_arrival_is_lost_if_only_spared_packets_wait() {
        let mut bench = sparing(2, ForwardedAtFull::Reject);
        bench.offer_many(2, MARKED);
        assert_eq!(bench.offer_many(1, PLAIN), 1);
        assert_eq!(bench.last_reason(), Some(DropReason::QueueOverflow));
        assert_eq!(bench.offer_many(1, MARKED), 1);
        assert_eq!(bench.last_reason(), Some(DropReason::ForwardedOverflow));
    }

    #[test]
    fn another_flow_can_displace_the_head() {
        let mut bench = bench(2);
        bench.offer(packet(1, 512, PLAIN));
        bench.offer(packet(2, 512, PLAIN));
        bench.offer(packet(2, 512, PLAIN));
        assert_eq!(bench.take_matching(FlowId(1)), Vec::<u64>::new());
        assert_eq!(bench.take_matching(FlowId(2)), [2, 3]);
    }

    #[test]
    fn a_place_that_service_freed_displaces_nothing() {
        let mut bench = bench(2);
        bench.offer_many(2, PLAIN);
        assert_eq!(bench.serve(), Some(1));
        assert_eq!(bench.offer_many(1, PLAIN), 0);
        assert_eq!(bench.offer_many(1, PLAIN), 1);
        assert_eq!(bench.lost(), [2]);
    }

    #[test]
    fn small_queues_keep_the_contract_too() {
        let bypasses = check(&Params { limit: Packets(3), ..Params::default() });
        assert!(bypasses > 100, "the short cut was tried");
        let limit_bytes = Some(Bytes(6000));
        for forwarded_at_full in [ForwardedAtFull::PushOut, ForwardedAtFull::OverflowAllow] {
            let limit = Packets(7);
            check(&Params {
                limit,
                limit_bytes,
                spare_forwarded: true,
                forwarded_at_full,
                ..Params::default()
            });
        }
    }

    #[test]
    fn a_spared_packet_that_fits_to_the_byte_waits() {
        let params = Params { limit_bytes: Some(Bytes(1500)), spare_forwarded: true, ..Params::default() };
        let held = |size| {
            let mut bench = Bench::<HeadDrop>::new(&params);
            bench.offer(packet(0, 1000, PLAIN));
            bench.offer(packet(0, size, MARKED));
            bench.queue.packets()
        };
        assert_eq!((held(500), held(501)), (2, 1));
    }
}
