//! CAKE as in Linux 6.12 (`net/sched/sch_cake.c`; Høiland-Jørgensen, Täht, Morton, "Piece of CAKE", 2018).
//!
//! There are tins by code point, and in each of them separate queues for flows under COBALT. They are served by deficit round
//! robin, in shares for hosts and their flows; new flows come first.
//!
//! ASSUMPTION: a flow is what the simulator numbers. Hosts are the ends of a packet's innermost header, as Linux looks into
//! tunnels.
//!
//! DEVIATION: there is no shaper: CAKE is `unlimited`, and the link's rate is the bottleneck. Sizes have no `overhead`. The
//! options `ingress`, `nat`, `wash`, `fwmark`, `autorate-ingress` and `ack-filter` are left out.
//!
//! DEVIATION: Linux counts the memory of buffers against its limit, here bytes on the wire count.

mod classes;
mod cobalt;
mod heap;
mod schedule;
mod tin;

use crate::fair::flow_hash::FlowHash;
use crate::timed::Timed;
use crate::{BadField, Gauges, Matching, Parameters, QdiscCx, QueueDisc};
pub use classes::Tins;
use cobalt::Law;
use heap::{Entry, Heap};
use roamlab_engine::{Bytes, Duration, Rng};
use roamlab_packet::{Addr, DropReason, FlowId, PacketId};
use schedule::{Draws, Schedule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tin::{Hashes, Tin};

/// Units that share the link equally.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Nothing: one queue for all.
    Flowblind,
    /// Sources, with a queue for each.
    Srchost,
    /// Destinations, with a queue for each.
    Dsthost,
    /// Pairs of source and destination, with a queue for each.
    Hosts,
    /// Flows.
    Flows,
    /// Sources, and the flows of each.
    DualSrchost,
    /// Destinations, and the flows of each.
    DualDsthost,
    /// Sources and destinations, and the flows of each.
    TripleIsolate,
}

impl Isolation {
    /// True if sources, destinations and flows distinguish queues.
    fn apart(self) -> [bool; 3] {
        match self {
            Isolation::Flowblind => [false; 3],
            Isolation::Srchost => [true, false, false],
            Isolation::Dsthost => [false, true, false],
            Isolation::Hosts => [true, true, false],
            Isolation::Flows => [false, false, true],
            Isolation::DualSrchost => [true, false, true],
            Isolation::DualDsthost => [false, true, true],
            Isolation::TripleIsolate => [true; 3],
        }
    }
}

/// CAKE: tins by code point, in each fair queues for hosts and flows under COBALT; new flows first.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The tins: besteffort, diffserv3, diffserv4, diffserv8 or precedence (default diffserv3).
    pub tins: Tins,
    /// Units that share the link: flowblind, srchost, dsthost, hosts, flows, dual-srchost, dual-dsthost or
    /// triple-isolate (default triple-isolate).
    pub isolation: Isolation,
    /// A typical round-trip time, 1 µs to 4 s: COBALT's interval (`rtt`; default 100 ms).
    pub rtt: Duration,
    /// Acceptable time in a queue, 1 µs to 1 s (default 5 ms; `tc` writes a twentieth of `rtt`).
    pub target: Duration,
    /// Bytes that may wait (`memlimit`; default 15360000 B: 10240 packets of 1500 B).
    pub limit_bytes: Bytes,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            tins: Tins::Diffserv3,
            isolation: Isolation::TripleIsolate,
            rtt: Duration::from_millis(100),
            target: Duration::from_millis(5),
            limit_bytes: Bytes(10_240 * 1500),
        }
    }
}

impl Params {
    /// Linux's times are whole microseconds.
    fn law(&self) -> Law {
        let [rtt, target] = [self.rtt, self.target].map(|span| (span.as_nanos() / 1000).max(1) * 1000);
        Law { interval: rtt.max(2 * target), target }
    }

    fn schedule(&self, draws: Draws) -> Schedule {
        let law = self.law();
        let tins = self.tins.weights().into_iter().map(|weight| Tin::new(weight, law)).collect();
        let [sources, destinations, flows] = self.isolation.apart();
        Schedule { tins, current: 0, shares: [sources && flows, destinations && flows], draws }
    }
}

impl Parameters for Params {
    fn validate(&self) -> Result<(), BadField> {
        if !(Duration::from_micros(1)..=Duration::from_millis(4000)).contains(&self.rtt) {
            return Err(("rtt", "1 us to 4 s are expected: write for example \"100 ms\"".into()));
        }
        if !(Duration::from_micros(1)..=Duration::from_millis(1000)).contains(&self.target) {
            return Err(("target", "1 us to 1 s are expected: write for example \"5 ms\"".into()));
        }
        crate::validate_byte_limit(Some(self.limit_bytes))
    }
}

/// The discipline.
#[derive(Clone, Debug)]
pub struct Cake {
    params: Params,
    hash: FlowHash,
    schedule: Schedule,
    heap: Heap,
    /// The packets of each tin's flows.
    lines: Vec<Vec<Timed>>,
    packets: usize,
    bytes: u64,
    /// How long the packet that left last had waited.
    sojourn: Duration,
}

/// The number of an end of a packet as source (1) or destination (2).
fn key_of(end: Addr, role: u64) -> u64 {
    role << 32 | u64::from(end.is_mobile()) << 31 | end.number() as u64
}

/// Bytes of a flow.
fn bytes_in(tins: &[Tin]) -> impl Fn(Entry) -> u32 {
    |(tin, flow)| tins.get(tin).and_then(|tin| tin.get(flow)).map_or(0, |flow| flow.bytes)
}

impl Cake {
    fn hashes(&self, flow: FlowId, ends: (Addr, Addr)) -> Hashes {
        let word = |number| self.hash.word_of(number);
        let hosts = [word(key_of(ends.0, 1)), word(key_of(ends.1, 2))];
        let [sources, destinations, flows] = self.params.isolation.apart();
        if flows {
            return Hashes { flow: word(flow.0.into()), hosts };
        }
        let of = |is_apart: bool, hash: u32| if is_apart { hash } else { 0 };
        Hashes { flow: of(sources, hosts[0]) ^ of(destinations, hosts[1]), hosts }
    }

    /// The packets of a flow.
    fn line(&mut self, tin: usize, flow: u16) -> Option<&mut Timed> {
        let place = self.schedule.tins[tin].place(flow)?;
        let lines = &mut self.lines[tin];
        while lines.len() <= place {
            lines.push(Timed::default());
        }
        lines.get_mut(place)
    }

    /// Takes the packet at the head of a flow; it, and how long it waited.
    fn pop(&mut self, tin: usize, flow: u16, cx: &QdiscCx<'_>) -> Option<(PacketId, Duration)> {
        let (packet, sojourn) = self.line(tin, flow)?.pop(cx.now, cx.pool)?;
        self.forget(tin, flow, 1, cx.pool[&packet].wire_size().0);
        Some((packet, sojourn))
    }

    /// Subtracts packets of a flow that left.
    fn forget(&mut self, tin: usize, flow: u16, packets: usize, bytes: u64) {
        self.packets -= packets;
        self.bytes -= bytes;
        if let Some(flow) = self.schedule.tins[tin].get_mut(flow) {
            flow.waiting -= packets as u32;
            flow.bytes -= bytes as u32;
        }
    }

    /// Drops from the head of the longest flow (`cake_drop`).
    #[inline(never)]
    fn shorten_longest(&mut self, cx: &mut QdiscCx<'_>) {
        let (tin, flow) = self.heap.longest(bytes_in(&self.schedule.tins));
        let Some((packet, _)) = self.pop(tin, flow, cx) else {
            return self.heap.spoil();
        };
        self.schedule.tins[tin].on_full(flow, cx.now.as_nanos() as i64);
        cx.drop(packet, DropReason::QueueOverflow);
        self.heap.longest_shrank(bytes_in(&self.schedule.tins));
    }

    /// Takes the packet at the head of a flow of the current tin.
    fn take(&mut self, flow: u16, cx: &QdiscCx<'_>) -> Option<(PacketId, Duration)> {
        let tin = self.schedule.current;
        let taken = self.pop(tin, flow, cx)?;
        if self.heap.is_kept() {
            self.heap.shrank((tin, flow), bytes_in(&self.schedule.tins));
        }
        Some(taken)
    }

    /// True if COBALT drops a packet that waited so long; it may mark it. The last of a flow is never
    /// dropped.
    fn is_lost(&mut self, flow: u16, (packet, sojourn): (&PacketId, Duration), cx: &mut QdiscCx<'_>) -> bool {
        let (tin, draws) = (&mut self.schedule.tins[self.schedule.current], &mut self.schedule.draws);
        let law = tin.law;
        let Some(flow) = tin.get_mut(flow) else { return false };
        let times = (cx.now.as_nanos() as i64, sojourn.as_nanos());
        let drops = flow.cobalt.drops(&law, times, || cx.mark_ce(packet), || draws.next(32) as u32);
        drops && flow.waiting > 0
    }
}

impl QueueDisc for Cake {
    type Params = Params;

    /// One draw seeds the hash, another one the numbers by which shares are rounded and BLUE drops.
    fn new(params: &Params, mut rng: Rng) -> Cake {
        let hash = FlowHash::new(&mut rng);
        let schedule = params.schedule(Draws::new(FlowHash::new(&mut rng)));
        let (lines, heap) = (vec![Vec::new(); schedule.tins.len()], Heap::default());
        Cake {
            params: params.clone(),
            hash,
            schedule,
            heap,
            lines,
            packets: 0,
            bytes: 0,
            sojourn: Duration::ZERO,
        }
    }

    #[inline(never)]
    fn enqueue(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
        let (of, size) = (cx.pool[&packet].flow, cx.pool[&packet].wire_size().0);
        let place = self.params.tins.of(cx.pool[&packet].header.tos.dscp().0);
        let hashes = self.hashes(of, cx.pool.ends(&cx.pool[&packet]));
        let tin = &mut self.schedule.tins[place];
        let flow = tin.find(hashes, self.schedule.shares);
        tin.add(flow, size);
        if let Some(line) = self.line(place, flow) {
            line.push(packet, cx.now, cx.pool);
        }
        self.packets += 1;
        self.bytes += size;
        if self.heap.is_kept() {
            self.heap.grew((place, flow), bytes_in(&self.schedule.tins));
        }
        self.schedule.begin(place, flow);
        while self.bytes > self.params.limit_bytes.0 {
            self.shorten_longest(cx);
        }
    }

    #[inline(never)]
    fn dequeue(&mut self, cx: &mut QdiscCx<'_>) -> Option<PacketId> {
        if self.packets == 0 {
            self.sojourn = Duration::ZERO;
            return None;
        }
        let flow = self.schedule.next(cx.now.as_nanos() as i64);
        loop {
            let (packet, sojourn) = self.take(flow, cx)?;
            if self.is_lost(flow, (&packet, sojourn), cx) {
                cx.drop(packet, DropReason::EarlyDrop);
                continue;
            }
            let size = cx.pool[&packet].wire_size().0;
            self.schedule.tins[self.schedule.current].charge(flow, size);
            self.heap.age();
            self.sojourn = sojourn;
            return Some(packet);
        }
    }

    fn take_matching(&mut self, wanted: &Matching<'_>, cx: &mut QdiscCx<'_>) -> Vec<PacketId> {
        let mut taken = Vec::new();
        for tin in 0..self.lines.len() {
            for place in 0..self.lines[tin].len() {
                let of_flow = self.lines[tin][place].take_matching(wanted, cx.pool);
                let bytes = of_flow.iter().map(|packet| cx.pool[packet].wire_size().0).sum();
                let flow = self.schedule.tins[tin].number_at(place);
                self.forget(tin, flow, of_flow.len(), bytes);
                taken.extend(of_flow);
            }
        }
        self.heap.spoil();
        taken
    }

    fn head(&self) -> Option<&PacketId> {
        if self.packets == 0 {
            return None;
        }
        let (tin, flow) = self.schedule.peek();
        self.lines[tin][self.schedule.tins[tin].place(flow)?].head()
    }

    fn packets(&self) -> usize {
        self.packets
    }

    fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    fn gauges(&self) -> Gauges {
        let forwarded = self.lines.iter().flatten().map(|line| line.forwarded()).sum();
        Gauges { sojourn: self.sojourn, forwarded, ..Gauges::default() }
    }
}

#[cfg(test)]
mod tests;
