//! RED by the rules of its paper or by those of ns-2, and anything between.
//!
//! S. Floyd, V. Jacobson, "Random early detection gateways for congestion avoidance", IEEE/ACM ToN 1(4), 1993;
//! ns-2.35's `Queue/RED`, whose variable each parameter names. `rules` fills in the defaults of one of the two;
//! every single rule can then be written differently.
//!
//! DEVIATION: `rules = "ns2"` does not size thresholds and weight by the link as ns-2 does when they are 0 and
//! −1: its last fixed defaults (5, 15, 0.002) stand instead.

use crate::fifo::Fifo;
use crate::{BadField, Gauges, QdiscCx, QueueDisc};
use roamlab_engine::{Bytes, Packets, Rate, Rng, Time};
use roamlab_packet::{DropReason, Packet, PacketId};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// Whose rules fill in what is not written.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub enum Rules {
    /// The paper of 1993.
    #[default]
    #[serde(rename = "floyd-1993")]
    Floyd1993,
    /// ns-2.35 with its defaults.
    #[serde(rename = "ns2")]
    Ns2,
}

/// What a quantity is counted in.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Packets, whatever their size.
    Packets,
    /// Bytes on the wire, in multiples of `mean_packet`.
    Bytes,
}

/// Where a packet's size enters its probability when that is counted in bytes.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ByteScaling {
    /// `p_b` is scaled, `count` counts packets (1993, section IX).
    BeforeSpacing,
    /// `p_a` is scaled, `count` counts bytes in whole mean packets (ns-2).
    AfterSpacing,
}

/// Which arrivals `count` counts.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CountArrivals {
    /// Those that meet an average between the thresholds; any other sets `count` to −1 (1993).
    InBand,
    /// All since the last drop (ns-2).
    All,
}

/// When an idle period begins.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdleStart {
    /// When the last waiting packet goes into service.
    QueueEmpty,
    /// When the link has finished it and asks for another.
    LinkIdle,
}

/// Writes the parameters once: as they are, as they are written, and with the defaults of both sets of rules.
macro_rules! params {
    ($($(#[$doc:meta])* $field:ident: $type:ty = $floyd:expr, $ns2:expr;)+) => {
        /// RED: drops with a probability that follows the average queue length.
        #[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct Params {
            /// Whose rules fill in what is not written: "floyd-1993" (default) or "ns2".
            pub rules: Rules,
            $($(#[$doc])* pub $field: $type,)+
        }

        impl Params {
            /// The defaults of a set of rules.
            pub fn of(rules: Rules) -> Params {
                match rules {
                    Rules::Floyd1993 => Params { rules, $($field: $floyd,)+ },
                    Rules::Ns2 => Params { rules, $($field: $ns2,)+ },
                }
            }
        }

        /// The parameters as they are written.
        #[derive(Deserialize)]
        #[serde(rename = "red", deny_unknown_fields)]
        struct Written {
            rules: Option<Rules>,
            $($field: Option<$type>,)+
        }

        impl<'de> Deserialize<'de> for Params {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let written = Written::deserialize(deserializer)?;
                let defaults = Params::of(written.rules.unwrap_or_default());
                Ok(Params {
                    rules: defaults.rules,
                    $($field: written.$field.unwrap_or(defaults.$field),)+
                })
            }
        }
    };
}

params! {
    /// Packets that may wait; with `threshold_unit = "bytes"` times `mean_packet` (ns-2: `limit_`). Default
    /// 120 pkt (MBLUE table II); ns2: 50 pkt.
    limit: Packets = Packets(120), Packets(50);
    /// Average queue length at which dropping begins (ns-2: `thresh_`). Default 40 pkt (MBLUE table II);
    /// ns2: 5 pkt.
    min_threshold: Packets = Packets(40), Packets(5);
    /// Average queue length at which `p_b` has reached `max_p` (ns-2: `maxthresh_`). Default 80 pkt (MBLUE
    /// table II); ns2: 15 pkt.
    max_threshold: Packets = Packets(80), Packets(15);
    /// Drop probability `p_b` at `max_threshold`, above 0 up to 1 (ns-2: 1/`linterm_`). Default 0.02; ns2: 0.1.
    max_p: f64 = 0.02, 0.1;
    /// Weight of one arrival in the average, above 0 up to 1 (ns-2: `q_weight_`). Default 0.002.
    queue_weight: f64 = 0.002, 0.002;
    /// Typical packet on the wire: scale of byte modes, and of time while the link is idle (ns-2:
    /// `mean_pktsize_`). Default 512 B; ns2: 500 B.
    mean_packet: Bytes = Bytes(512), Bytes(500);
    /// Unit of average, thresholds and limit (ns-2: `queue_in_bytes_`). Default packets; ns2: bytes.
    threshold_unit: Unit = Unit::Packets, Unit::Bytes;
    /// Whether a packet's size changes its drop probability (ns-2: `bytes_`). Default packets; ns2: bytes.
    probability_unit: Unit = Unit::Packets, Unit::Bytes;
    /// With `probability_unit = "bytes"`, where the size enters. Default before-spacing; ns2: after-spacing.
    byte_scaling: ByteScaling = ByteScaling::BeforeSpacing, ByteScaling::AfterSpacing;
    /// Whether `p_b` goes from `max_p` at `max_threshold` to 1 at twice that, instead of being 1 at once
    /// (ns-2: `gentle_`). Default false; ns2: true.
    gentle: bool = false, true;
    /// Whether the first drop is held back until `count`·`p_b` reaches 1 (ns-2: `wait_`). Default false;
    /// ns2: true.
    wait: bool = false, true;
    /// Which arrivals `count` counts. Default in-band; ns2: all.
    count_arrivals: CountArrivals = CountArrivals::InBand, CountArrivals::All;
    /// Whether the first packet that meets an average above `min_threshold` is never dropped and sets `count`
    /// to 1 (ns-2: the state `old`). Default false; ns2: true.
    spare_first: bool = false, true;
    /// Whether nothing is dropped early while at most one packet (byte, by `threshold_unit`) waits (ns-2: the
    /// test `qlen > 1`). Default false; ns2: true.
    spare_short_queue: bool = false, true;
    /// Whether an overflow sets `count` to 0 (ns-2: unless `ns1_compat_`). Default false; ns2: true.
    overflow_resets_count: bool = false, true;
    /// Whether an average beyond the last threshold leads to a test with `p_b` = 1 instead of a drop outright,
    /// and `mark_p_max` holds (ns-2: `use_mark_p_`). Default false; ns2: true.
    use_mark_p: bool = false, true;
    /// With `use_mark_p`, the `p_b` from which ECN-capable packets are dropped like others, 0 to 1 (ns-2:
    /// `mark_p_`). Default 0.1.
    mark_p_max: f64 = 0.1, 0.1;
    /// Whether an ECN-capable packet is marked instead of dropped (ns-2: `setbit_`). Default false.
    mark_ecn: bool = false, false;
    /// When an idle period begins (ns-2: `idletime_`). Default queue-empty; ns2: link-idle.
    idle_start: IdleStart = IdleStart::QueueEmpty, IdleStart::LinkIdle;
    /// Whether the packets that could have been sent while idle, m, are rounded down to a whole number, with
    /// the accuracy of ns-2's clock. Default false; ns2: true.
    whole_idle_packets: bool = false, true;
    /// Whether the arrival that ends an idle period also counts as a sample of length 0. Default false;
    /// ns2: true.
    sample_after_idle: bool = false, true;
    /// Whether the packet in service counts towards `limit`, so that one packet less may wait. Default false.
    count_in_service: bool = false, false;
}

impl Default for Params {
    fn default() -> Self {
        Params::of(Rules::default())
    }
}

impl Params {
    /// Whether a queue with these parameters can exist; otherwise the field and what to write instead.
    pub fn validate(&self) -> Result<(), BadField> {
        crate::validate_limit(self.limit, self.count_in_service)?;
        if self.min_threshold >= self.max_threshold {
            let message = format!(
                "max_threshold ({}) lies above min_threshold ({}): write two or three times the latter",
                self.max_threshold, self.min_threshold
            );
            return Err(("max_threshold", message));
        }
        if self.mean_packet == Bytes(0) {
            return Err(("mean_packet", "a packet has a size: write for example \"512 B\"".into()));
        }
        for (field, value) in [("max_p", self.max_p), ("queue_weight", self.queue_weight)] {
            crate::validate_probability(field, value)?;
            if value == 0.0 {
                return Err((field, "with 0 RED never drops: write a number above 0, up to 1".into()));
            }
        }
        crate::validate_probability("mark_p_max", self.mark_p_max)
    }

    /// A number of packets in the unit of the average.
    fn in_unit(&self, packets: Packets) -> f64 {
        match self.threshold_unit {
            Unit::Packets => f64::from(packets.0),
            Unit::Bytes => f64::from(packets.0) * self.mean_packet.0 as f64,
        }
    }

    /// 1993 eq. 2; ns-2 with `gentle`. The initial drop probability for an average of `average`, in its unit.
    fn initial_probability(&self, average: f64) -> f64 {
        let (min, max) = (self.in_unit(self.min_threshold), self.in_unit(self.max_threshold));
        if average < max {
            return self.max_p * (average - min) / (max - min);
        }
        if self.gentle { (self.max_p + (1.0 - self.max_p) * (average - max) / max).min(1.0) } else { 1.0 }
    }

    /// The drop probability after `count` spared packets; for `p_b` = 1 never below 1.
    fn spaced_probability(&self, p_b: f64, count: f64) -> f64 {
        let due = count * p_b;
        if self.wait {
            // ns-2, `wait_`: uniform on [1/p, 2/p].
            return if due < 1.0 { 0.0 } else { (p_b / (2.0 - due).max(0.0)).min(1.0) };
        }
        // 1993 eq. 3: uniform on [1, 1/p].
        if due < 1.0 { (p_b / (1.0 - due)).min(1.0) } else { 1.0 }
    }
}

/// What RED decides for an arriving packet.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Let it in.
    Pass,
    /// Let its sender know: mark it if it can be marked, otherwise drop it.
    Notify,
    /// Drop it.
    Drop,
}

/// An arrival as the detector sees it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Arrival {
    pub now: Time,
    /// Size on the wire.
    pub size: Bytes,
    /// Queue length before it joins, in the unit of the average.
    pub waiting: f64,
    /// Rate of the link.
    pub rate: Rate,
}

/// RED without its queue: average, spacing and idle clock.
#[derive(Clone, Debug)]
pub(crate) struct Detector {
    params: Params,
    average: f64,
    p_b: f64,
    count: i64,
    count_bytes: u64,
    above_min: bool,
    idle_since: Option<Time>,
}

impl Detector {
    pub(crate) fn new(params: Params) -> Detector {
        let count = match params.count_arrivals {
            CountArrivals::InBand => -1,
            CountArrivals::All => 0,
        };
        let idle_since = Some(Time::ZERO);
        Detector { params, average: 0.0, p_b: 0.0, count, count_bytes: 0, above_min: false, idle_since }
    }

    /// Takes the arrival into the average and decides. `uniform` is drawn from once if, and only if, a
    /// probability is put to the test.
    pub(crate) fn decide(&mut self, arrival: &Arrival, uniform: impl FnOnce() -> f64) -> Verdict {
        self.update_average(arrival);
        if self.params.count_arrivals == CountArrivals::All {
            self.count_one(arrival.size);
        }
        let is_short = self.params.spare_short_queue && arrival.waiting <= 1.0;
        if self.average < self.params.in_unit(self.params.min_threshold) || is_short {
            self.p_b = 0.0;
            self.above_min = false;
            if self.params.count_arrivals == CountArrivals::InBand {
                self.count = -1;
            }
            return Verdict::Pass;
        }
        if self.average >= self.certain_from() && !self.params.use_mark_p {
            // RFC 3168 §7: beyond the last threshold packets are dropped, not marked.
            self.p_b = 1.0;
            self.reset_count();
            return Verdict::Drop;
        }
        let is_first = !std::mem::replace(&mut self.above_min, true);
        if is_first && self.params.spare_first {
            (self.count, self.count_bytes) = (1, arrival.size.0);
            return Verdict::Pass;
        }
        if self.params.count_arrivals == CountArrivals::InBand {
            self.count_one(arrival.size);
        }
        self.p_b = self.params.initial_probability(self.average);
        if uniform() > self.final_probability(arrival.size) {
            return Verdict::Pass;
        }
        self.reset_count();
        let may_mark = !self.params.use_mark_p || self.p_b < self.params.mark_p_max;
        if may_mark { Verdict::Notify } else { Verdict::Drop }
    }

    /// The queue lost a packet because it was full.
    pub(crate) fn on_overflow(&mut self) {
        if self.params.overflow_resets_count {
            self.reset_count();
        }
    }

    /// The link took a packet, or asked for one in vain, and `waiting` says whether others remain.
    pub(crate) fn on_dequeue(&mut self, found: bool, waiting: bool, now: Time) {
        if !found || !waiting && self.params.idle_start == IdleStart::QueueEmpty {
            self.idle_since.get_or_insert(now);
        }
    }

    /// An arrival ended the idle period but did not stay.
    pub(crate) fn resume_idle(&mut self, now: Time) {
        self.idle_since = Some(now);
    }

    /// Whether an idle period is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.idle_since.is_some()
    }

    /// Average queue length in its unit.
    pub(crate) fn average(&self) -> f64 {
        self.average
    }

    /// 1993 eq. 1, and section XI for idle periods: `(1 − w_q)^m` as if m packets had met an empty queue.
    fn update_average(&mut self, arrival: &Arrival) {
        let keep = 1.0 - self.params.queue_weight;
        let idle_since = self.idle_since.take();
        if let Some(since) = idle_since {
            let slot = 8.0 * self.params.mean_packet.0 as f64 / arrival.rate.as_bps() as f64;
            let missed = arrival.now.since(since).as_secs_f64() / slot;
            let missed = if self.params.whole_idle_packets {
                whole_packets(missed, slot, arrival.now.as_secs_f64())
            } else {
                missed
            };
            self.average *= libm::pow(keep, missed);
        }
        if idle_since.is_none() || self.params.sample_after_idle {
            self.average = self.average * keep + self.params.queue_weight * arrival.waiting;
        }
    }

    /// The average from which no packet is let in.
    fn certain_from(&self) -> f64 {
        let factor = if self.params.gentle { 2.0 } else { 1.0 };
        factor * self.params.in_unit(self.params.max_threshold)
    }

    /// `p_a` of a packet, from `p_b`.
    fn final_probability(&self, size: Bytes) -> f64 {
        let relative_size = size.0 as f64 / self.params.mean_packet.0 as f64;
        match (self.params.probability_unit, self.params.byte_scaling) {
            (Unit::Packets, _) => self.params.spaced_probability(self.p_b, self.count as f64),
            (Unit::Bytes, ByteScaling::BeforeSpacing) => {
                self.params.spaced_probability((self.p_b * relative_size).min(1.0), self.count as f64)
            }
            (Unit::Bytes, ByteScaling::AfterSpacing) => {
                let count = self.count_bytes / self.params.mean_packet.0;
                let p_a = self.params.spaced_probability(self.p_b, count as f64);
                if p_a < 1.0 { (p_a * relative_size).min(1.0) } else { p_a }
            }
        }
    }

    fn count_one(&mut self, size: Bytes) {
        self.count += 1;
        self.count_bytes += size.0;
    }

    fn reset_count(&mut self) {
        (self.count, self.count_bytes) = (0, 0);
    }
}

/// Whole packets of `slot` seconds in an idle period of `missed` such packets that ends at `now` s, as ns-2
/// counts them.
///
/// Under ACK clocking the period often *is* a whole number of packets. ns-2's clock is a double to which `slot`
/// was added packet by packet, each time rounded to the grid that doubles have around `now`; whether that made
/// the period shorter than it should be decides between m and m − 1.
fn whole_packets(missed: f64, slot: f64, now: f64) -> f64 {
    let nearest = libm::round(missed);
    let nanosecond = 1e-9;
    if (missed - nearest).abs() * slot > 1.5 * nanosecond {
        return libm::trunc(missed);
    }
    let falls_short = (now + slot) - now < slot;
    if falls_short { (nearest - 1.0).max(0.0) } else { nearest }
}

/// The discipline.
#[derive(Debug)]
pub struct Red {
    detector: Detector,
    fifo: Fifo,
    rng: Rng,
}

impl Red {
    fn params(&self) -> &Params {
        &self.detector.params
    }

    /// Whether nothing more fits. In bytes the last packet may overhang the limit, as in ns-2.
    fn is_full(&self, size: Bytes) -> bool {
        let in_service = match self.params().threshold_unit {
            Unit::Packets => 1,
            Unit::Bytes => size.0,
        };
        let in_service = if self.params().count_in_service { in_service } else { 0 };
        self.waiting() + in_service as f64 >= self.params().in_unit(self.params().limit)
    }

    /// Queue length in the unit of the average.
    fn waiting(&self) -> f64 {
        match self.params().threshold_unit {
            Unit::Packets => self.fifo.packets() as f64,
            Unit::Bytes => self.fifo.bytes().0 as f64,
        }
    }
}

impl QueueDisc for Red {
    type Params = Params;

    fn new(params: &Params, rng: Rng) -> Red {
        Red { detector: Detector::new(params.clone()), fifo: Fifo::default(), rng }
    }

    /// The average decides first, then the limit, as in ns-2; a packet that fails both is an overflow.
    fn enqueue(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
        let size = cx.pool[&packet].wire_size();
        let arrival = Arrival { now: cx.now, size, waiting: self.waiting(), rate: cx.rate };
        let was_idle = self.detector.is_idle();
        let verdict = self.detector.decide(&arrival, || self.rng.uniform());
        let stays = match verdict {
            Verdict::Pass => true,
            Verdict::Notify => self.params().mark_ecn && cx.mark_ce(&packet),
            Verdict::Drop => false,
        };
        if self.is_full(size) {
            self.detector.on_overflow();
            cx.drop(packet, DropReason::QueueOverflow);
        } else if stays {
            return self.fifo.push(packet, cx.pool);
        } else {
            cx.drop(packet, DropReason::EarlyDrop);
        }
        if was_idle {
            self.detector.resume_idle(cx.now);
        }
    }

    fn dequeue(&mut self, cx: &mut QdiscCx<'_>) -> Option<PacketId> {
        let packet = self.fifo.pop(cx.pool);
        self.detector.on_dequeue(packet.is_some(), !self.fifo.is_empty(), cx.now);
        packet
    }

    fn extract(&mut self, wanted: &dyn Fn(&Packet) -> bool, cx: &mut QdiscCx<'_>) -> Vec<PacketId> {
        let taken = self.fifo.extract(wanted, cx.pool);
        if !taken.is_empty() {
            self.detector.on_dequeue(true, !self.fifo.is_empty(), cx.now);
        }
        taken
    }

    fn head(&self) -> Option<&PacketId> {
        self.fifo.head()
    }

    fn packets(&self) -> usize {
        self.fifo.packets()
    }

    fn bytes(&self) -> Bytes {
        self.fifo.bytes()
    }

    fn gauges(&self) -> Gauges {
        let average = self.detector.average() / self.params().in_unit(Packets(1));
        Gauges { average, probability: self.detector.p_b }
    }
}

#[cfg(test)]
mod tests;
