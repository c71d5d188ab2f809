//! fq, the fair queue of Linux 6.12 (`net/sched/sch_fq.c`), on a router: a queue for each flow, in three bands of priority.
//!
//! The bands have their turns by weight, and in a band the flows by deficit round robin; flows that have just begun to send
//! come first. A packet that finds nothing in the flows' queues goes into a separate one, the fast path, up to eight.
//!
//! ASSUMPTION: the queue is that of a router, so that no packet has a socket or a departure time. Linux paces packets that
//! have one; here senders pace themselves. So `maxrate`, `horizon` and `low_rate_threshold` have no meaning here.
//!
//! ASSUMPTION: the priority of a packet is the one that IPv4 forwarding gives it (`rt_tos2priority`), and
//! Linux's clock ticks 1000 times a second from the start of the run.

mod turns;

use crate::fair::flow_hash::FlowHash;
use crate::fair::lazy_table::LazyTable;
use crate::timed::Timed;
use crate::{BadField, Gauges, Matching, Parameters, QdiscCx, QueueDisc};
use roamlab_engine::{Bytes, Duration, Packets, Rng, Time};
use roamlab_packet::{DropReason, Packet, PacketId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use turns::{Credits, NUMBERS, Turns};

/// Linux's fq: a queue for each flow, served in turn, in three bands of priority; new flows first.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Packets of a band that may wait in the flows' queues (`limit`; default 10000 pkt).
    pub limit: Packets,
    /// Packets of a flow that may wait (`flow_limit`; default 100 pkt).
    pub flow_limit: Packets,
    /// Bytes that a flow may send in its turn, 256 B to 1 MiB (`quantum`; default 3000 B: two packets of the largest size).
    pub quantum: Bytes,
    /// Bytes that a flow may send in its first turn, up to 1 MiB (`initial_quantum`; default 15000 B).
    pub initial_quantum: Bytes,
    /// Time without packets after which a flow has a quantum again (`refill_delay`; default 40 ms).
    pub refill_delay: Duration,
    /// An ECN-capable packet that has waited longer in its flow's queue is marked (`ce_threshold`); without it none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration")]
    pub mark_above: Option<Duration>,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            limit: Packets(10_000),
            flow_limit: Packets(100),
            quantum: Bytes(3000),
            initial_quantum: Bytes(15_000),
            refill_delay: Duration::from_millis(40),
            mark_above: None,
        }
    }
}

/// Linux's largest quantum.
const MOST: u64 = 1 << 20;

/// Packets in the fast path at most, unless nothing waits (`fq_fastpath_check`).
const FAST_PATH: usize = 8;

/// Nanoseconds of a tick: Linux counts some times in ticks.
const TICK: u64 = 1_000_000;

impl Parameters for Params {
    fn validate(&self) -> Result<(), BadField> {
        crate::validate_limit(self.limit, false)?;
        if self.flow_limit == Packets(0) {
            return Err(("flow_limit", "a flow's queue would hold nothing: write at least \"1 pkt\"".into()));
        }
        if !(256..=MOST).contains(&self.quantum.0) {
            return Err(("quantum", "256 B to 1 MiB are expected: write for example \"3000 B\"".into()));
        }
        if self.initial_quantum.0 > MOST {
            return Err((
                "initial_quantum",
                "1 MiB or less is expected: write for example \"15000 B\"".into(),
            ));
        }
        Ok(())
    }
}

/// The discipline.
#[derive(Clone, Debug)]
pub struct Fq {
    params: Params,
    hash: FlowHash,
    /// Packets that came while no flow had one.
    fast: Timed,
    turns: Turns,
    /// The flows' queues.
    lines: LazyTable<Timed>,
    /// Packets and bytes in all of them, and packets of each band.
    packets: usize,
    bytes: u64,
    of_band: [u32; 3],
    /// How long the packet that left last had waited.
    sojourn: Duration,
}

/// The band of a packet: by the two bits of the ToS octet that once asked for little delay and for throughput (RFC 1349),
/// Linux's priorities of the four combinations (`ip_tos2prio`), and their bands (`sch_default_prio2band`).
fn band_of(packet: &Packet) -> u8 {
    match packet.header.tos.0 >> 3 & 0b11 {
        0b01 => 2,
        0b10 => 0,
        _ => 1,
    }
}

fn tick(now: Time) -> u64 {
    now.as_nanos() / TICK
}

impl Fq {
    /// True if a packet may use the fast path.
    fn is_fast(&self) -> bool {
        self.packets == 0 && self.fast.packets() < FAST_PATH
    }

    /// The queue of a flow.
    fn line(&mut self, flow: u16) -> &mut Timed {
        let place = self.lines.place_or_make(usize::from(flow), Timed::default);
        self.lines.at_mut(place)
    }

    /// Subtracts a packet that left the flows' queues.
    fn forget(&mut self, packet: &PacketId, cx: &QdiscCx<'_>) {
        let packet = &cx.pool[packet];
        self.packets -= 1;
        self.bytes -= packet.wire_size().0;
        self.of_band[usize::from(band_of(packet))] -= 1;
    }
}

impl QueueDisc for Fq {
    type Params = Params;

    /// One draw seeds the hash.
    fn new(params: &Params, mut rng: Rng) -> Fq {
        let credits = Credits {
            quantum: params.quantum.0.clamp(1, MOST) as i64,
            initial: params.initial_quantum.0.min(MOST) as i64,
            refill: params.refill_delay.as_nanos().div_ceil(TICK),
        };
        Fq {
            params: params.clone(),
            hash: FlowHash::new(&mut rng),
            fast: Timed::default(),
            turns: Turns::new(credits),
            lines: LazyTable::new(NUMBERS),
            packets: 0,
            bytes: 0,
            of_band: [0; 3],
            sojourn: Duration::ZERO,
        }
    }

    #[inline(never)]
    fn enqueue(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
        let (of, size, band) =
            (cx.pool[&packet].flow, cx.pool[&packet].wire_size().0, band_of(&cx.pool[&packet]));
        if self.of_band[usize::from(band)] >= self.params.limit.0 {
            return cx.drop(packet, DropReason::QueueOverflow);
        }
        if self.is_fast() {
            return self.fast.push(packet, cx.now, cx.pool);
        }
        let flow = (self.hash.word_of(of.0.into()) % NUMBERS as u32) as u16;
        self.turns.look_up(flow, tick(cx.now));
        if self.turns.waiting(flow) >= self.params.flow_limit.0 {
            return cx.drop(packet, DropReason::QueueOverflow);
        }
        self.turns.add(flow, band, tick(cx.now));
        self.line(flow).push(packet, cx.now, cx.pool);
        self.packets += 1;
        self.bytes += size;
        self.of_band[usize::from(band)] += 1;
    }

    #[inline(never)]
    fn dequeue(&mut self, cx: &mut QdiscCx<'_>) -> Option<PacketId> {
        if let Some((packet, sojourn)) = self.fast.pop(cx.now, cx.pool) {
            self.sojourn = sojourn;
            return Some(packet);
        }
        if self.packets == 0 {
            self.sojourn = Duration::ZERO;
            return None;
        }
        let flow = self.turns.next(tick(cx.now));
        let (packet, sojourn) = self.line(flow).pop(cx.now, cx.pool)?;
        self.turns.charge(flow, cx.pool[&packet].wire_size().0);
        self.forget(&packet, cx);
        self.sojourn = sojourn;
        if self.params.mark_above.is_some_and(|above| sojourn > above) {
            let _is_marked = cx.mark_ce(&packet);
        }
        Some(packet)
    }

    /// A packet for an empty queue uses the fast path and leaves no trace.
    fn can_bypass(&self, _: Bytes) -> bool {
        QueueDisc::packets(self) == 0 && self.sojourn == Duration::ZERO
    }

    fn take_matching(&mut self, wanted: &Matching<'_>, cx: &mut QdiscCx<'_>) -> Vec<PacketId> {
        let mut taken = self.fast.take_matching(wanted, cx.pool);
        for flow in 0..NUMBERS as u16 {
            if self.turns.waiting(flow) == 0 {
                continue;
            }
            let of_flow = self.line(flow).take_matching(wanted, cx.pool);
            self.turns.forget(flow, of_flow.len() as u32);
            of_flow.iter().for_each(|packet| self.forget(packet, cx));
            taken.extend(of_flow);
        }
        taken
    }

    fn head(&self) -> Option<&PacketId> {
        if let Some(head) = self.fast.head() {
            return Some(head);
        }
        if self.packets == 0 {
            return None;
        }
        let flow = self.turns.first().unwrap_or_else(|| self.turns.clone().next(0));
        self.lines.get(usize::from(flow))?.head()
    }

    fn packets(&self) -> usize {
        self.packets + self.fast.packets()
    }

    fn bytes(&self) -> Bytes {
        Bytes(self.bytes + self.fast.bytes().0)
    }

    fn gauges(&self) -> Gauges {
        let forwarded =
            self.fast.forwarded() + self.lines.made().iter().map(|line| line.forwarded()).sum::<usize>();
        Gauges { sojourn: self.sojourn, forwarded, ..Gauges::default() }
    }
}

#[cfg(test)]
mod tests;
