//! A queue between given arrivals and a link: the fate of each packet. Another implementation of a discipline
//! can get the same arrivals and the same random numbers.

use crate::{Qdisc, QdiscCx, QueueDisc, QueueSpec};
use roamlab_engine::{Bytes, Duration, Rate, Rng, Time};
use roamlab_packet::{Addr, DropReason, Ecn, FlowId, IpHeader, Packet, PacketId, PacketPool, Tos, UdpHeader};

/// A packet that arrives.
#[derive(Copy, Clone, Debug)]
pub struct Arrival {
    /// When.
    pub at: Time,
    /// Size on the wire.
    pub size: Bytes,
    /// Its flow.
    pub flow: u32,
    /// Its ToS octet.
    pub tos: Tos,
}

/// Fate of a packet.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Fate {
    /// It left for the link as it came.
    Served,
    /// It left for the link with a mark that it did not have.
    Marked,
    /// It was lost.
    Dropped,
}

/// The end of a packet's time in the queue.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct End {
    /// When it left the queue.
    pub at: Time,
    /// How.
    pub fate: Fate,
}

/// Passes `arrivals`, in order of time, through an empty queue before a link whose rate changes at the times of `rates`, the
/// first of which is 0. A packet whose transmission has begun keeps its rate. At one instant the link becomes idle before a
/// packet arrives.
///
/// A draw belongs to a packet: at an arrival, and at a departure for the packet at the head, the random numbers restart from
/// a function of `seed` and the packet's number.
pub fn replay(queue: &QueueSpec, seed: u64, arrivals: &[Arrival], rates: &[(Time, Rate)]) -> Vec<End> {
    let mut replay = Replay::new(queue, seed, arrivals, rates);
    for arrival in arrivals {
        replay.serve_until(arrival.at);
        replay.now = arrival.at;
        replay.arrive(arrival);
    }
    replay.serve_until(Time::from_nanos(u64::MAX));
    replay.ends
}

struct Replay<'a> {
    queue: Qdisc,
    numbers: Rng,
    seed: u64,
    pool: PacketPool,
    dropped: Vec<(PacketId, DropReason)>,
    arrivals: &'a [Arrival],
    rates: &'a [(Time, Rate)],
    now: Time,
    /// When the link has sent its packet; `None`: it is idle.
    busy_until: Option<Time>,
    ends: Vec<End>,
}

impl<'a> Replay<'a> {
    fn new(queue: &QueueSpec, seed: u64, arrivals: &'a [Arrival], rates: &'a [(Time, Rate)]) -> Replay<'a> {
        let numbers = Rng::shared(number_of(seed, u64::MAX), 0);
        let mut replay = Replay {
            queue: Qdisc::new(queue, numbers.clone()),
            numbers,
            seed,
            pool: PacketPool::default(),
            dropped: Vec::new(),
            arrivals,
            rates,
            now: Time::ZERO,
            busy_until: None,
            ends: vec![End { at: Time::ZERO, fate: Fate::Served }; arrivals.len()],
        };
        replay.queue.attach(replay.rate(), Duration::ZERO);
        replay
    }

    fn rate(&self) -> Rate {
        let until = self.rates.partition_point(|(from, _)| *from <= self.now);
        self.rates[until.max(1) - 1].1
    }

    fn number(&self, packet: &PacketId) -> usize {
        self.pool[packet].serial as usize - 1
    }

    fn with_cx<R>(&mut self, act: impl FnOnce(&mut Qdisc, &mut QdiscCx<'_>) -> R) -> R {
        let rate = self.rate();
        let mut cx = QdiscCx { now: self.now, pool: &mut self.pool, rate, dropped: &mut self.dropped };
        act(&mut self.queue, &mut cx)
    }

    fn arrive(&mut self, arrival: &Arrival) {
        let (source, destination) = ends_of(arrival.flow);
        let header = IpHeader::new(source, destination, arrival.tos);
        let body = UdpHeader::default();
        let new = Packet::make(FlowId(arrival.flow), header, arrival.size, arrival.at, body);
        let packet = self.pool.create(new);
        if self.busy_until.is_none() && self.queue.can_bypass(arrival.size) {
            return self.send(packet);
        }
        self.numbers.restart(number_of(self.seed, self.number(&packet) as u64));
        self.with_cx(|queue, cx| queue.enqueue(packet, cx));
        self.settle_dropped();
        if self.busy_until.is_none() {
            self.take_next();
        }
    }

    fn serve_until(&mut self, limit: Time) {
        while let Some(at) = self.busy_until.filter(|at| *at <= limit) {
            self.now = at;
            self.busy_until = None;
            self.take_next();
        }
    }

    fn take_next(&mut self) {
        if let Some(head) = self.queue.head() {
            self.numbers.restart(number_of(self.seed, self.number(head) as u64));
        }
        let packet = self.with_cx(|queue, cx| queue.dequeue(cx));
        self.settle_dropped();
        if let Some(packet) = packet {
            self.send(packet);
        }
    }

    fn send(&mut self, packet: PacketId) {
        let number = self.number(&packet);
        let ecn = self.pool[&packet].header.tos.ecn();
        let is_new_mark = ecn == Ecn::Ce && self.arrivals[number].tos.ecn() != Ecn::Ce;
        let fate = if is_new_mark { Fate::Marked } else { Fate::Served };
        self.ends[number] = End { at: self.now, fate };
        let bit_nanoseconds = u128::from(self.pool[&packet].wire_size().0) * 8_000_000_000;
        let span = bit_nanoseconds.div_ceil(u128::from(self.rate().as_bps().max(1)));
        self.busy_until = Some(self.now + Duration::from_nanos(u64::try_from(span).unwrap_or(u64::MAX)));
        self.pool.deliver(packet);
    }

    fn settle_dropped(&mut self) {
        while let Some((packet, reason)) = self.dropped.pop() {
            let number = self.number(&packet);
            self.ends[number] = End { at: self.now, fate: Fate::Dropped };
            self.pool.discard(packet, reason);
        }
    }
}

/// The hosts of a flow: seven sources with two flows in turn, and three destinations with one.
fn ends_of(flow: u32) -> (Addr, Addr) {
    (Addr::node(1 + flow / 2 % 7), Addr::node(101 + flow % 3))
}

/// The seed of a packet's random numbers, by SplitMix64: 1 to 2^31 − 2.
fn number_of(seed: u64, packet: u64) -> u64 {
    let mixed = seed.wrapping_add(packet.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    1 + (mixed ^ (mixed >> 31)) % 2_147_483_646
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::pie;
    use roamlab_engine::Packets;

    fn arrival(micros: u64, ecn: Ecn) -> Arrival {
        Arrival { at: Time::from_nanos(micros * 1000), size: Bytes(1500), flow: 1, tos: Tos(0).with_ecn(ecn) }
    }

    /// 1 ms for 1500 B until 2 ms, then 2 ms.
    fn rates() -> [(Time, Rate); 2] {
        [(0, 12), (2_000_000, 6)]
            .map(|(from, mbps)| (Time::from_nanos(from), Rate::from_bps(mbps * 1_000_000)))
    }

    #[test]
    fn packets_wait_for_the_link_and_are_lost_at_a_full_queue() {
        let arrivals = [0, 0, 0, 1000, 1500, 9000].map(|micros| arrival(micros, Ecn::NotEct));
        let ends = replay(&QueueSpec::droptail(Packets(1)), 1, &arrivals, &rates());
        let found: Vec<_> = ends.iter().map(|end| (end.at.as_nanos() / 1000, end.fate)).collect();
        // At 1 ms the second leaves before the fourth comes; that one waits until 2 ms, and then takes 2 ms.
        let expected = [(0, Fate::Served), (1000, Fate::Served), (0, Fate::Dropped), (2000, Fate::Served)];
        assert_eq!(found[..4], expected);
        assert_eq!(found[4..], [(1500, Fate::Dropped), (9000, Fate::Served)]);
    }

    #[test]
    fn draws_belong_to_packets() {
        // Twice the link's rate.
        let spec = QueueSpec::Pie(pie::Params::default());
        let arrivals: Vec<_> = (0..4000).map(|number| arrival(number * 500, Ecn::NotEct)).collect();
        let ends = replay(&spec, 1, &arrivals, &rates()[..1]);
        assert_eq!(ends, replay(&spec, 1, &arrivals, &rates()[..1]));
        assert_ne!(ends, replay(&spec, 2, &arrivals, &rates()[..1]));
        let lost = ends.iter().filter(|end| end.fate == Fate::Dropped).count();
        assert!((1000..2500).contains(&lost), "{lost} of 4,000");
    }

    #[test]
    fn a_mark_that_was_there_is_no_new_one() {
        let spec = QueueSpec::DualPi2(crate::aqm::dualpi2::Params::default());
        let arrivals: Vec<_> =
            [Ecn::Ect1, Ecn::Ect1, Ecn::Ect1, Ecn::Ce, Ecn::Ect1].map(|ecn| arrival(0, ecn)).into();
        let fates: Vec<_> = replay(&spec, 1, &arrivals, &rates()).iter().map(|end| end.fate).collect();
        // The third has waited 2 ms, longer than the step of 1 ms.
        assert_eq!(fates, [Fate::Served, Fate::Served, Fate::Marked, Fate::Served, Fate::Marked]);
    }
}
