//! RED as in Linux 6.12 (`net/sched/sch_red.c`, `include/net/red.h`), with what `tc` derives from its parameters
//! (`tc/q_red.c` and `tc/tc_red.c` of iproute2).
//!
//! It differs from [RED](crate::aqm::red) in its arithmetic. All lengths are bytes, and the average is a whole number with
//! `weight_log` binary digits. One random number is drawn for each gap between two drops, and not one for each packet. An
//! idle queue decays by powers of two from a table.
//!
//! DEVIATION: `adaptive`, by which the probability follows the average, and events for filters (`qevent`) are left out.

use crate::fifo::Fifo;
use crate::{BadField, Gauges, Parameters, QdiscCx, QueueDisc};
use roamlab_engine::{Bytes, Duration, Packets, Rate, Rng, Time};
use roamlab_packet::{DropReason, MarkingState, PacketId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// RED as in Linux.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Bytes that may wait (`limit` of `tc`; default 180 kB).
    pub limit: Bytes,
    /// Average below which nothing is dropped early (`min`; default a third of `max_threshold`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes")]
    pub min_threshold: Option<Bytes>,
    /// Average from which everything is dropped or marked (`max`; default a quarter of `limit`, or three times
    /// `min_threshold`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes")]
    pub max_threshold: Option<Bytes>,
    /// Size of a typical packet (`avpkt`; default 1000 B).
    pub mean_packet: Bytes,
    /// Packets of a burst that is to pass, from which the weight of the average follows (`burst`; default
    /// `(2·min + max) / (3·avpkt)`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Packets")]
    pub burst: Option<Packets>,
    /// Probability at `max_threshold`, above 0 up to 1 (`probability`; default 0.02).
    pub max_p: f64,
    /// Rate of the link, from which the decay of an idle queue follows (`bandwidth`; default 10 Mbit/s).
    pub bandwidth: Rate,
    /// True if an ECN-capable packet is marked instead of dropped (`ecn`; default false).
    pub mark_ecn: bool,
    /// With `mark_ecn`, whether all packets are dropped above `max_threshold` (`harddrop`; default false).
    pub hard_drop: bool,
    /// With `mark_ecn`, whether packets that cannot be marked are never dropped early (`nodrop`; default false).
    pub no_drop: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            limit: Bytes(180_000),
            min_threshold: None,
            max_threshold: None,
            mean_packet: Bytes(1000),
            burst: None,
            max_p: 0.02,
            bandwidth: Rate::from_bps(10_000_000),
            mark_ecn: false,
            hard_drop: false,
            no_drop: false,
        }
    }
}

/// Bits of an average with its digits behind the point.
const AVERAGE_BITS: u32 = 32;

/// The largest datagram (RFC 791 §3.1).
const LARGEST_PACKET: u64 = 65_535;

/// Entries of the table of decays, and the largest of them.
const DECAYS: usize = 256;
const MOST_DECAY: u8 = 31;

/// Units of time of `tc` in a second: 64 ns each (`/proc/net/psched`).
const TICKS: f64 = 1e9 / 64.0;

impl Params {
    /// The two thresholds (`red_parse_opt`).
    fn thresholds(&self) -> (u64, u64) {
        let (min, max) = (self.min_threshold.map(|min| min.0), self.max_threshold.map(|max| max.0));
        let max = max.unwrap_or_else(|| min.map_or(self.limit.0 / 4, |min| 3 * min));
        (min.unwrap_or(max / 3), max)
    }

    /// Packets of a burst.
    fn burst(&self) -> u64 {
        let (min, max) = self.thresholds();
        self.burst.map_or((2 * min + max) / (3 * self.mean_packet.0.max(1)), |burst| burst.0.into())
    }

    /// The shortest burst: an average at the minimum lets it pass.
    fn least_burst(&self) -> u64 {
        self.thresholds().0.div_ceil(self.mean_packet.0.max(1))
    }

    /// The weight of an arrival in the average is 2 to the minus this (`tc_red_eval_ewma`).
    fn weight_log(&self) -> Option<u32> {
        let burst = self.burst() as f64;
        let least = burst + 1.0 - self.thresholds().0 as f64 / self.mean_packet.0 as f64;
        let sum = |log: u32| {
            let weight = libm::exp2(-f64::from(log));
            (1.0 - libm::pow(1.0 - weight, burst)) / weight
        };
        (least >= 1.0).then(|| (1..32).find(|log| least <= sum(*log))).flatten()
    }

    /// Microseconds of an entry of the table of decays, as a power of two, and the table: by which power of two an average
    /// falls (`tc_red_eval_idle_damping`).
    ///
    /// `tc` counts the time of a packet in units of 64 ns, and the kernel looks up microseconds. So an idle
    /// queue decays 15.6 times as slowly as the average of a queue at which packets arrive.
    fn decays(&self, weight_log: u32) -> (u32, [u8; DECAYS]) {
        let seconds = self.mean_packet.0 as f64 / (self.bandwidth.as_bps() / 8) as f64;
        let packet = ((seconds * 1e6) as u64 as f64 * TICKS / 1e6) as u64 as f64;
        let each = -libm::log(1.0 - libm::exp2(-f64::from(weight_log))) / packet;
        let longest = f64::from(MOST_DECAY) / each;
        let cell_log = (0..32).find(|log| longest / libm::exp2(f64::from(*log)) < 512.0).unwrap_or(31);
        let mut table = [MOST_DECAY; DECAYS];
        for (entry, decay) in table.iter_mut().enumerate().take(DECAYS - 1) {
            *decay = (((entry << cell_log) as f64 * each) as u8).min(MOST_DECAY);
        }
        (cell_log, table)
    }
}

impl Parameters for Params {
    fn validate(&self) -> Result<(), BadField> {
        if !(1..=u64::from(u32::MAX)).contains(&self.limit.0) {
            return Err(("limit", "1 B to 4 GB are expected: write for example \"180 kB\"".into()));
        }
        if !(1..=LARGEST_PACKET).contains(&self.mean_packet.0) {
            let message = format!("a packet has 1 to {LARGEST_PACKET} bytes: write for example \"1000 B\"");
            return Err(("mean_packet", message));
        }
        let (min, max) = self.thresholds();
        if min >= max {
            let message = format!("{max} B is not above the minimum, {min} B: write three times the minimum");
            return Err(("max_threshold", message));
        }
        if self.burst() < self.least_burst() {
            let message =
                format!("tc refuses so short a burst: write \"{} pkt\" or more", self.least_burst());
            return Err(("burst", message));
        }
        let bits = |length: u64| u64::BITS - length.leading_zeros();
        match self.weight_log() {
            None => Err(("burst", "no weight of the average lets it pass: write fewer packets".into())),
            Some(log) if bits(max) + log >= AVERAGE_BITS => {
                Err(("max_threshold", format!("the kernel refuses {max} B with this burst: write less")))
            }
            Some(_) => self.validate_rest(),
        }
    }

    fn warning(&self) -> Option<BadField> {
        let (_, max) = self.thresholds();
        let message = || format!("the queue holds {} B and its average never has {max} B", self.limit.0);
        (max > self.limit.0).then(|| ("max_threshold", message()))
    }
}

impl Params {
    fn validate_rest(&self) -> Result<(), BadField> {
        crate::validate_probability("max_p", self.max_p)?;
        if self.max_p == 0.0 {
            return Err(("max_p", "with 0 RED never drops: write a number above 0, up to 1".into()));
        }
        if self.bandwidth.as_bps() < 8
            || self.mean_packet.0 as f64 * 8e6 / (self.bandwidth.as_bps() as f64) < 1.0
        {
            let message = "a packet of `mean_packet` bytes takes less than 1 µs: write a lower rate";
            return Err(("bandwidth", message.into()));
        }
        let needs_ecn = [("hard_drop", self.hard_drop), ("no_drop", self.no_drop)];
        match needs_ecn.into_iter().find(|(_, is_set)| *is_set && !self.mark_ecn) {
            Some((field, _)) => Err((field, "it needs marks: write `mark_ecn = true` too".into())),
            None => Ok(()),
        }
    }
}

/// Fate of an arriving packet.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Action {
    Pass,
    /// Between the thresholds, the gap is over.
    Notify,
    /// Above the maximum.
    NotifyAll,
}

/// The discipline.
#[derive(Clone, Debug)]
pub struct LinuxRed {
    params: Params,
    fifo: Fifo,
    rng: Rng,
    /// Thresholds with the digits of the average.
    min: u64,
    max: u64,
    weight_log: u32,
    /// Divisor of a random number for a gap.
    gap_unit: u32,
    cell_log: u32,
    decays: Box<[u8; DECAYS]>,
    /// Bytes, with `weight_log` binary digits behind the point.
    average: u64,
    /// Packets since the gap began; none before the first.
    count: Option<u64>,
    /// Sum of excesses over the minimum at which the gap is over.
    gap: u32,
    /// Time of a request of the link without result.
    idle_since: Option<Time>,
}

impl LinuxRed {
    /// Takes an arrival into the average and decides (`red_calc_qavg`, `red_action`).
    fn decide(&mut self, now: Time) -> Action {
        self.average = match self.idle_since.take() {
            Some(since) => self.decayed(now.since(since)),
            None => self.average + self.fifo.bytes().0 - (self.average >> self.weight_log),
        };
        if self.average < self.min {
            self.count = None;
            return Action::Pass;
        }
        if self.average >= self.max {
            self.count = None;
            return Action::NotifyAll;
        }
        let Some(count) = &mut self.count else {
            (self.count, self.gap) = (Some(0), self.draw());
            return Action::Pass;
        };
        *count += 1;
        if ((self.average - self.min) >> self.weight_log) * *count < u64::from(self.gap) {
            return Action::Pass;
        }
        (self.count, self.gap) = (Some(0), self.draw());
        Action::Notify
    }

    /// A random number for the next gap (`red_random`).
    fn draw(&mut self) -> u32 {
        self.rng.word() / self.gap_unit
    }

    /// The average after an idle time (`red_calc_qavg_from_idle_time`).
    fn decayed(&self, idle: Duration) -> u64 {
        let micros = (idle.as_nanos() / 1000).min((DECAYS as u64 - 1) << self.cell_log);
        match self.decays[(micros >> self.cell_log) as usize % DECAYS] {
            0 => {
                let (less, half) = ((self.average * micros) >> self.cell_log, self.average >> 1);
                if less < half { self.average - less } else { half }
            }
            halvings => self.average >> halvings,
        }
    }

    /// True if a packet that is to notify its sender stays in the queue. It is marked if so, where it can be.
    fn notifies(&self, packet: &PacketId, marks: bool, cx: &mut QdiscCx<'_>) -> bool {
        marks && (cx.mark_ce(packet) || self.params.no_drop)
    }
}

impl QueueDisc for LinuxRed {
    type Params = Params;

    fn new(params: &Params, rng: Rng) -> LinuxRed {
        let (min, max) = params.thresholds();
        let weight_log = params.weight_log().unwrap_or(1);
        let (cell_log, decays) = params.decays(weight_log);
        // `red_set_parms`; `tc` passes the probability in units of 2^-32.
        let max_p = (params.max_p * libm::exp2(32.0)) as u32;
        LinuxRed {
            fifo: Fifo::default(),
            rng,
            min: min << weight_log,
            max: max << weight_log,
            weight_log,
            gap_unit: (u64::from(max_p) / (max - min).max(1)).max(1) as u32,
            cell_log,
            decays: Box::new(decays),
            average: 0,
            count: None,
            gap: 0,
            idle_since: Some(Time::ZERO),
            params: params.clone(),
        }
    }

    fn enqueue(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
        let stays = match self.decide(cx.now) {
            Action::Pass => true,
            Action::Notify => self.notifies(&packet, self.params.mark_ecn, cx),
            Action::NotifyAll => self.notifies(&packet, self.params.mark_ecn && !self.params.hard_drop, cx),
        };
        let size = cx.pool[&packet].wire_size().0;
        if !stays {
            cx.drop(packet, DropReason::EarlyDrop);
        } else if self.fifo.bytes().0 + size > self.params.limit.0 {
            cx.drop(packet, DropReason::QueueOverflow);
        } else {
            self.fifo.push(packet, cx.pool);
        }
    }

    fn dequeue(&mut self, cx: &mut QdiscCx<'_>) -> Option<PacketId> {
        let packet = self.fifo.pop(cx.pool);
        if packet.is_none() {
            self.idle_since.get_or_insert(cx.now);
        }
        packet
    }

    crate::waits_in!(fifo, taken);

    /// The average in typical packets.
    fn gauges(&self) -> Gauges {
        let average = self.average as f64 / libm::exp2(f64::from(self.weight_log));
        let average = average / self.params.mean_packet.0 as f64;
        Gauges { average, forwarded: self.fifo.forwarded(), ..Gauges::default() }
    }

    fn marking_state(&self) -> Option<MarkingState> {
        Some(MarkingState::Average(self.gauges().average))
    }

    fn adopt(&mut self, state: &MarkingState, now: Time) {
        if let MarkingState::Average(packets) = *state {
            let bytes = packets * self.params.mean_packet.0 as f64;
            self.average = libm::round(bytes * libm::exp2(f64::from(self.weight_log))) as u64;
            self.idle_since = self.idle_since.map(|_| now);
        }
    }
}

#[cfg(test)]
mod tests;
