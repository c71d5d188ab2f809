//! FQ-CoDel (RFC 8290): separate queues for flows, each under CoDel, served by deficit round robin. A flow that has just
//! begun to send comes first.
//!
//! A hash of the flow and of a seed that is drawn once chooses the queue (RFC 8290 §4.1). ASSUMPTION: a flow is what the
//! simulator numbers: the addresses and ports of the inner header, also where a packet is in a tunnel.

mod flow;

use crate::aqm::codel::{Law, above_interval, validate_interval};
use crate::fair::flow_hash::FlowHash;
use crate::forwarded::{PushOut, exempting_params, validate_mark};
use crate::{BadField, Gauges, Matching, Parameters, QdiscCx, QueueDisc, Rules};
use flow::{Flow, Flows};
use roamlab_engine::{Bytes, Duration, Packets, Rng, Time};
use roamlab_packet::{DropReason, FlowId, Packet, PacketId, PacketPool};
use std::collections::VecDeque;

exempting_params! {
    /// FQ-CoDel: separate queues for flows, each under CoDel, served in turn; new flows first.
    own {
        /// Whose rules CoDel follows, as `rules` of `codel` (default rfc).
        rules: Rules = Rules::Rfc;
        /// Packets that may wait in all queues together (default 10240 pkt, RFC 8290 §5.2).
        limit: Packets = Packets(10_240);
        /// Bytes that may wait in all queues together (default 32 MB, Linux's `memory_limit`).
        limit_bytes: Bytes = Bytes(32_000_000);
        /// Queues, 1 to 65536 (default 1024, RFC 8290 §5.2).
        queues: u32 = 1024;
        /// Bytes that a queue may send in its turn (default 1514 B, RFC 8290 §5.2).
        quantum: Bytes = Bytes(1514);
        /// CoDel's acceptable time in a queue (default 5 ms, RFC 8290 §5.2).
        target: Duration = Duration::from_millis(5);
        /// CoDel's time above the target before the first drop (default 100 ms, RFC 8290 §5.2).
        interval: Duration = Duration::from_millis(100);
        /// Nothing is dropped by CoDel while no more bytes wait in all queues than these (`maxpacket`; default 1500 B).
        max_packet: Bytes = Bytes(1500);
        /// Most packets that leave the longest queue together when all are full, up to half of its bytes
        /// (default 64 pkt, RFC 8290 §4.1).
        drop_batch: Packets = Packets(64);
        /// True if an ECN-capable packet is marked instead of dropped (default true, RFC 8290 §5.2).
        mark_ecn: bool = true;
    }
}

impl Params {
    fn law(&self) -> Law {
        let Params { rules, target, interval, max_packet, mark_ecn, .. } = *self;
        Law::new(rules, (target, interval), (max_packet, mark_ecn), self.exemption())
    }
}

impl Parameters for Params {
    fn validate(&self) -> Result<(), BadField> {
        crate::validate_limit(self.limit, false)?;
        crate::validate_byte_limit(Some(self.limit_bytes))?;
        if !(1..=65_536).contains(&self.queues) {
            return Err(("queues", "1 to 65536 queues are expected: write for example 1024".into()));
        }
        if !(64..=1 << 30).contains(&self.quantum.0) {
            return Err(("quantum", "64 B to 1 GB are expected: write for example \"1514 B\"".into()));
        }
        if self.drop_batch == Packets(0) {
            return Err(("drop_batch", "a full queue would drop nothing: write at least \"1 pkt\"".into()));
        }
        validate_interval(self.interval)?;
        validate_mark(self.mark)
    }

    fn warning(&self) -> Option<BadField> {
        above_interval(self.target, self.interval)
    }
}

/// The discipline.
#[derive(Clone, Debug)]
pub struct FqCodel {
    params: Params,
    law: Law,
    flows: Flows,
    /// The queues whose turn it is first, and the others that have something to send, in the order of their turns.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// When the last packet came, if nothing waited and no queue had a turn.
    came_at_rest: Option<Time>,
    /// How long the packet that left last had waited.
    sojourn: Duration,
}

impl FqCodel {
    fn is_over_limit(&self) -> bool {
        self.flows.packets > self.params.limit.0 as usize || self.flows.bytes > self.params.limit_bytes.0
    }

    /// RFC 8290 §4.1, Linux's `fq_codel_drop`: drops from the head of the longest queue, a batch at most and half of its
    /// bytes.
    #[inline(never)]
    fn shorten_longest(&mut self, cx: &mut QdiscCx<'_>) {
        let Some(longest) = self.flows.longest(self.params.spare_forwarded) else { return };
        let flow = self.flows.get_mut(longest);
        let (half, mut freed, mut count) = (flow.line.bytes().0 / 2, 0, 0);
        while count == 0 || (count < self.params.drop_batch.0 && freed < half) {
            let is_spared = |packet: &Packet| self.law.exemption.covers(packet);
            let Some(packet) = flow.line.pop_first(is_spared, cx.pool) else { break };
            freed += cx.pool[&packet].wire_size().0;
            count += 1;
            cx.drop(packet, DropReason::QueueOverflow);
        }
        flow.control.count_overflows(count);
        self.flows.forget(count as usize, freed);
    }

    /// True if the exemption lets `packet` in where all queues are full.
    fn admits_forwarded(&mut self, packet: &PacketId, cx: &mut QdiscCx<'_>) -> bool {
        let (limit, bytes) = (self.params.limit.0 as usize, self.params.limit_bytes.0);
        let size = cx.pool[packet].wire_size().0;
        let is_full = |flows: &Flows| flows.packets >= limit || flows.bytes.saturating_add(size) > bytes;
        self.law.exemption.find_room(&mut self.flows, is_full, cx).admits
    }

    /// The queue whose turn it is, and whether it is a new one; its deficit is positive then.
    #[inline(always)]
    fn next_turn(&mut self) -> Option<(u32, bool)> {
        loop {
            let (first, is_new) = match self.new.front() {
                Some(first) => (*first, true),
                None => (*self.old.front()?, false),
            };
            let flow = self.flows.get_mut(first);
            if flow.deficit > 0 {
                return Some((first, is_new));
            }
            flow.deficit += self.params.quantum.0 as i64;
            self.leave_turn(is_new);
            self.old.push_back(first);
        }
    }

    /// Ends all turns, as if the last packet had skipped the queue.
    ///
    /// DEVIATION: RFC 8290 ends the turn of an empty queue when it comes. So does this one, unless a packet
    /// came when all were at rest and leaves immediately: an idle link need not wait for it, and Linux lets
    /// it skip the queue too (`TCQ_F_CAN_BYPASS`).
    fn end_turns(&mut self) {
        for place in self.new.drain(..).chain(self.old.drain(..)) {
            let flow = self.flows.get_mut(place);
            flow.has_turn = false;
            flow.control.rest();
        }
    }

    fn leave_turn(&mut self, is_new: bool) {
        if is_new {
            self.new.pop_front()
        } else {
            self.old.pop_front()
        };
    }
}

impl PushOut for Flows {
    /// The one nearest to the tail of the longest queue.
    fn push_out(&mut self, pool: &mut PacketPool) -> Option<PacketId> {
        let longest = self.longest(true)?;
        let packet = self.get_mut(longest).line.push_out(pool)?;
        self.forget(1, pool[&packet].wire_size().0);
        Some(packet)
    }
}

impl QueueDisc for FqCodel {
    type Params = Params;

    /// One draw seeds the hash.
    fn new(params: &Params, mut rng: Rng) -> FqCodel {
        let flows = Flows::new(params.queues, FlowHash::new(&mut rng), params.mark);
        let (new, old) = (VecDeque::new(), VecDeque::new());
        let (came_at_rest, sojourn) = (None, Duration::ZERO);
        FqCodel { params: params.clone(), law: params.law(), flows, new, old, came_at_rest, sojourn }
    }

    #[inline(never)]
    fn enqueue(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
        let (of, size) = (cx.pool[&packet].flow, cx.pool[&packet].wire_size().0);
        let is_spared = self.law.exemption.spares(&packet, cx.pool);
        if is_spared && !self.admits_forwarded(&packet, cx) {
            return cx.drop(packet, DropReason::ForwardedOverflow);
        }
        let at_rest = self.flows.packets == 0 && self.new.is_empty() && self.old.is_empty();
        self.came_at_rest = at_rest.then_some(cx.now);
        let place = self.flows.place_of(of);
        let Flow { line, deficit, has_turn, .. } = self.flows.get_mut(place);
        line.push(packet, self.law.seen(cx.now), cx.pool);
        if !*has_turn {
            (*has_turn, *deficit) = (true, self.params.quantum.0 as i64);
            self.new.push_back(place);
        }
        self.flows.packets += 1;
        self.flows.bytes += size;
        if self.is_over_limit() && !is_spared {
            self.shorten_longest(cx);
        }
    }

    /// RFC 8290 §4.2.
    #[inline(never)]
    fn dequeue(&mut self, cx: &mut QdiscCx<'_>) -> Option<PacketId> {
        loop {
            let Some((place, is_new)) = self.next_turn() else {
                self.sojourn = Duration::ZERO;
                return None;
            };
            let all = self.flows.bytes;
            let flow = self.flows.get_mut(place);
            let (before, waited) = (flow.line.packets(), flow.line.bytes().0);
            let packet = flow.control.dequeue(&mut flow.line, all - waited, &self.law, cx);
            let (gone, freed) = (before - flow.line.packets(), waited - flow.line.bytes().0);
            self.sojourn = flow.control.sojourn;
            if let Some(packet) = &packet {
                flow.deficit -= cx.pool[packet].wire_size().0 as i64;
            } else {
                flow.has_turn = is_new && !self.old.is_empty();
                let keeps_turn = flow.has_turn;
                self.leave_turn(is_new);
                self.old.extend(keeps_turn.then_some(place));
            }
            self.flows.forget(gone, freed);
            if packet.is_some() {
                if self.came_at_rest == Some(cx.now) && self.flows.packets == 0 {
                    self.end_turns();
                }
                return packet;
            }
        }
    }

    /// A packet for an idle link waits no time and meets no turns. It changes nothing, unless `target` is 0.
    fn can_bypass(&self, size: Bytes) -> bool {
        let is_at_rest = self.new.is_empty() && self.old.is_empty() && self.sojourn == Duration::ZERO;
        is_at_rest && size <= self.params.limit_bytes && self.law.target > Duration::ZERO
    }

    fn take_matching(&mut self, wanted: &Matching<'_>, cx: &mut QdiscCx<'_>) -> Vec<PacketId> {
        let taken = self.flows.take_matching(wanted, cx.pool);
        let freed = taken.iter().map(|packet| cx.pool[packet].wire_size().0).sum();
        self.flows.forget(taken.len(), freed);
        if self.flows.packets == 0 {
            self.end_turns();
        }
        taken
    }

    /// The head of the queue with packets whose deficit becomes positive first. Each pass over the new and the old
    /// queues, in this order, adds a quantum to those whose deficit is not.
    fn head(&self) -> Option<&PacketId> {
        let quantum = self.params.quantum.0 as i64;
        let passes = |flow: &Flow| if flow.deficit > 0 { 0 } else { 1 - flow.deficit / quantum };
        let turns = self.new.iter().chain(&self.old).map(|place| self.flows.get(*place));
        let waiting = turns.filter(|flow| !flow.line.is_empty());
        waiting.min_by_key(|flow| passes(flow))?.line.head()
    }

    fn packets(&self) -> usize {
        self.flows.packets
    }

    fn bytes(&self) -> Bytes {
        Bytes(self.flows.bytes)
    }

    fn gauges(&self) -> Gauges {
        Gauges { sojourn: self.sojourn, forwarded: self.flows.forwarded(), ..Gauges::default() }
    }
}

#[cfg(test)]
mod tests;
