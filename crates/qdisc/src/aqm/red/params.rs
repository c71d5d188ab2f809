//! RED's parameters, which M-RED shares.

use crate::fifo::Fifo;
use crate::{BadField, Parameters};
use roamlab_engine::{Bytes, Duration, Packets, Rate};
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

/// Unit of a quantity.
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

/// Writes the parameters of a discipline of RED's family once: as values, as texts, and with the defaults of
/// both sets of rules. `red` are RED's, `own` those that only this discipline has.
macro_rules! params {
    (
        $(#[$doc:meta])* $name:literal
        red { $($(#[$red_doc:meta])* $red:ident: $red_type:ty = $red_floyd:expr, $red_ns2:expr;)+ }
        own { $($(#[$own_doc:meta])* $own:ident: $own_type:ty = $own_default:expr;)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct Params {
            /// Whose rules fill in what is not written: "floyd-1993" (default) or "ns2".
            pub rules: Rules,
            $($(#[$red_doc])* pub $red: $red_type,)+
            $($(#[$own_doc])* pub $own: $own_type,)*
        }

        impl Params {
            /// The defaults of a set of rules.
            pub fn of(rules: Rules) -> Params {
                match rules {
                    Rules::Floyd1993 => Params { rules, $($red: $red_floyd,)+ $($own: $own_default,)* },
                    Rules::Ns2 => Params { rules, $($red: $red_ns2,)+ $($own: $own_default,)* },
                }
            }
        }

        impl Default for Params {
            fn default() -> Self {
                Params::of(Rules::default())
            }
        }

        impl From<&Params> for $crate::aqm::red::Params {
            fn from(params: &Params) -> Self {
                $crate::aqm::red::Params { rules: params.rules, $($red: params.$red,)+ }
            }
        }

        /// The parameters as they are written.
        #[derive(Deserialize)]
        #[serde(rename = $name, deny_unknown_fields)]
        struct Written {
            rules: Option<Rules>,
            $($red: Option<$red_type>,)+
            $($own: Option<$own_type>,)*
        }

        impl<'de> Deserialize<'de> for Params {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let written = Written::deserialize(deserializer)?;
                let defaults = Params::of(written.rules.unwrap_or_default());
                Ok(Params {
                    rules: defaults.rules,
                    $($red: written.$red.unwrap_or(defaults.$red),)+
                    $($own: written.$own.unwrap_or(defaults.$own),)*
                })
            }
        }
    };
}

impl Parameters for Params {
    fn validate(&self) -> Result<(), BadField> {
        crate::validate_limit(self.limit, self.count_in_service)?;
        let by_link = self.rules == Rules::Ns2;
        let sized = by_link && (self.min_threshold.0 == 0 || self.max_threshold.0 == 0);
        if self.min_threshold >= self.max_threshold && !sized {
            let message = format!(
                "max_threshold ({}) is not above min_threshold ({}): write two or three times the latter",
                self.max_threshold, self.min_threshold
            );
            return Err(("max_threshold", message));
        }
        if self.mean_packet == Bytes(0) || self.mean_packet > LARGEST_DATAGRAM {
            let message =
                format!("a packet has 1 to {} bytes: write for example \"512 B\"", LARGEST_DATAGRAM.0);
            return Err(("mean_packet", message));
        }
        let weight =
            if by_link && AUTOMATIC_WEIGHTS.contains(&self.queue_weight) { 1.0 } else { self.queue_weight };
        for (field, value) in [("max_p", self.max_p), ("queue_weight", weight)] {
            crate::validate_probability(field, value)?;
            if value == 0.0 {
                return Err((field, "with 0 RED never drops: write a number above 0, up to 1".into()));
            }
        }
        if !(0.0..=f64::MAX).contains(&self.mark_p_max) {
            let message = format!("{} is no bound of a probability: write 0 or more", self.mark_p_max);
            return Err(("mark_p_max", message));
        }
        Ok(())
    }

    /// A threshold that the queue never reaches has no effect.
    fn warning(&self) -> Option<BadField> {
        let thresholds = [("min_threshold", self.min_threshold), ("max_threshold", self.max_threshold)];
        let (field, threshold) = thresholds.into_iter().find(|(_, threshold)| *threshold > self.limit)?;
        let message = format!(
            "the queue holds {} and never has {threshold}: write at most \"{}\", or a larger `limit`",
            self.limit, self.limit
        );
        Some((field, message))
    }
}

/// The parameters of a discipline of RED's family from its `sizes`, whose defaults its own source gives, and those
/// that only it has.
macro_rules! red_params {
    ($(#[$doc:meta])* $name:literal sizes { $($sizes:tt)+ } own { $($own:tt)* }) => {
        $crate::aqm::red::params::params! {
            $(#[$doc])* $name
            red {
                $($sizes)+
                /// Drop probability `p_b` at `max_threshold`, above 0 up to 1 (ns-2: 1/`linterm_`). Default 0.02; ns2: 0.1.
                max_p: f64 = 0.02, 0.1;
                /// Weight of one arrival in the average, above 0 up to 1 (ns-2: `q_weight_`). With ns-2's rules also 0, -1
                /// or -2: by the link, so that the average follows within 1 s, ten round trips or 0.1 s. Default 0.002.
                queue_weight: f64 = 0.002, 0.002;
                /// Typical packet on the wire: scale of byte modes, and of time while the link is idle (ns-2:
                /// `mean_pktsize_`). Default 512 B; ns2: 500 B.
                mean_packet: Bytes = Bytes(512), Bytes(500);
                /// Unit of average, thresholds and limit (ns-2: `queue_in_bytes_`). Default packets; ns2: bytes.
                threshold_unit: Unit = Unit::Packets, Unit::Bytes;
                /// True if a packet's size changes its drop probability (ns-2: `bytes_`). Default packets;
                /// ns2: bytes.
                probability_unit: Unit = Unit::Packets, Unit::Bytes;
                /// With `probability_unit = "bytes"`, where the size enters. Default before-spacing; ns2: after-spacing.
                byte_scaling: ByteScaling = ByteScaling::BeforeSpacing, ByteScaling::AfterSpacing;
                /// True if `p_b` goes from `max_p` at `max_threshold` to 1 at twice that, instead of being 1
                /// immediately (ns-2: `gentle_`). Default false; ns2: true.
                gentle: bool = false, true;
                /// True if the first drop is held back until `count`·`p_b` reaches 1 (ns-2: `wait_`). Default
                /// false; ns2: true.
                wait: bool = false, true;
                /// Which arrivals `count` counts. Default in-band; ns2: all.
                count_arrivals: CountArrivals = CountArrivals::InBand, CountArrivals::All;
                /// True if the first packet that meets an average above `min_threshold` is never dropped and
                /// sets `count` to 1 (ns-2: the state `old`). Default false; ns2: true.
                spare_first: bool = false, true;
                /// True if nothing is dropped early while at most one packet (byte, by `threshold_unit`)
                /// waits (ns-2: the test `qlen > 1`). Default false; ns2: true.
                spare_short_queue: bool = false, true;
                /// True if an overflow sets `count` to 0 (ns-2: unless `ns1_compat_`). Default false; ns2:
                /// true.
                overflow_resets_count: bool = false, true;
                /// True if an average beyond the last threshold leads to a test with `p_b` = 1 instead of a
                /// drop outright, and `mark_p_max` holds (ns-2: `use_mark_p_`). Default false; ns2: true.
                use_mark_p: bool = false, true;
                /// With `use_mark_p`, the `p_b` from which ECN-capable packets are dropped like others; above 1 none is (ns-2:
                /// `mark_p_`). Default 0.1.
                mark_p_max: f64 = 0.1, 0.1;
                /// True if an ECN-capable packet is marked instead of dropped (ns-2: `setbit_`). Default
                /// false.
                mark_ecn: bool = false, false;
                /// When an idle period begins (ns-2: `idletime_`). Default queue-empty; ns2: link-idle.
                idle_start: IdleStart = IdleStart::QueueEmpty, IdleStart::LinkIdle;
                /// True if the packets that could have been sent while idle, m, are those of the link's rate
                /// at the beginning, whatever it is now, and rounded down to a whole number. Default false;
                /// ns2: true.
                whole_idle_packets: bool = false, true;
                /// True if the arrival that ends an idle period also counts as a sample of length 0. Default
                /// false; ns2: true.
                sample_after_idle: bool = false, true;
                /// True if the packet in service counts towards `limit`, so that one packet less may wait.
                /// Default false.
                count_in_service: bool = false, false;
            }
            own { $($own)* }
        }
    };
}

pub(crate) use {params, red_params};

red_params! {
    /// RED: drops with a probability that follows the average queue length.
    "red"
    sizes {
        /// Packets that may wait; with `threshold_unit = "bytes"` times `mean_packet` (ns-2: `limit_`). Default
        /// 120 pkt (MBLUE table II); ns2: 50 pkt.
        limit: Packets = Packets(120), Packets(50);
        /// Average queue length at which dropping begins (ns-2: `thresh_`); with ns-2's rules "0 pkt" sizes it by the
        /// link. Default 40 pkt (MBLUE table II); ns2: 5 pkt.
        min_threshold: Packets = Packets(40), Packets(5);
        /// Average queue length at which `p_b` has reached `max_p` (ns-2: `maxthresh_`); with ns-2's rules "0 pkt" is
        /// three times `min_threshold`. Default 80 pkt (MBLUE table II); ns2: 15 pkt.
        max_threshold: Packets = Packets(80), Packets(15);
    }
    own {}
}

/// The weights by which ns-2 sizes the weight itself.
const AUTOMATIC_WEIGHTS: [f64; 3] = [0.0, -1.0, -2.0];

/// The largest IPv4 datagram (RFC 791 §3.1: the total length has 16 bits).
const LARGEST_DATAGRAM: Bytes = Bytes(65_535);

/// ns-2's `targetdelay_` in seconds.
const TARGET_DELAY: f64 = 0.005;

impl Params {
    /// Thresholds in packets and weight at a link of this rate and propagation delay. By ns-2's rules a
    /// minimum of 0 is half of what the link sends in `targetdelay_`, 5 ms, but 5 packets at least. A maximum
    /// of 0 is three times the minimum. A weight of 0, -1 or -2 is that of an average with a time constant of
    /// 1 s, ten round trips or 0.1 s. A round trip is thrice the delay and the time of a packet, but 0.1 s at
    /// least.
    pub(super) fn sized(&self, rate: Rate, delay: Duration) -> (f64, f64, f64) {
        let (min, max) = (f64::from(self.min_threshold.0), f64::from(self.max_threshold.0));
        if self.rules != Rules::Ns2 {
            return (min, max, self.queue_weight);
        }
        let per_second = rate.as_bps() as f64 / (8.0 * self.mean_packet.0 as f64);
        let min = if min == 0.0 { (TARGET_DELAY * per_second / 2.0).max(5.0) } else { min };
        let max = if max == 0.0 { 3.0 * min } else { max };
        let round_trip = (3.0 * (delay.as_secs_f64() + 1.0 / per_second)).max(0.1);
        let time_constant = match self.queue_weight {
            0.0 => 1.0,
            -1.0 => 10.0 * round_trip,
            -2.0 => 0.1,
            weight => return (min, max, weight),
        };
        (min, max, 1.0 - libm::exp(-1.0 / (time_constant * per_second)))
    }

    /// A number of packets in the unit of the average.
    pub(crate) fn in_unit(&self, packets: Packets) -> f64 {
        match self.threshold_unit {
            Unit::Packets => f64::from(packets.0),
            Unit::Bytes => f64::from(packets.0) * self.mean_packet.0 as f64,
        }
    }

    /// The length of a line in the unit of the average.
    pub(crate) fn length(&self, packets: usize, bytes: Bytes) -> f64 {
        match self.threshold_unit {
            // By way of a signed number: one instruction instead of six.
            Unit::Packets => packets as i64 as f64,
            Unit::Bytes => bytes.0 as i64 as f64,
        }
    }

    /// True if nothing more fits. In bytes the last packet may overhang the limit, as in ns-2.
    pub(crate) fn is_full(&self, line: &Fifo, size: Bytes) -> bool {
        let in_service = if self.count_in_service { self.length(1, size) } else { 0.0 };
        self.length(line.packets(), line.bytes()) + in_service >= self.in_unit(self.limit)
    }

    /// 1993 eq. 2; ns-2 with `gentle`. The initial drop probability for an average of `average`, in its unit.
    pub(super) fn initial_probability(&self, (min, max): (f64, f64), average: f64) -> f64 {
        if average < max {
            return self.max_p * (average - min) / (max - min);
        }
        if self.gentle { (self.max_p + (1.0 - self.max_p) * (average - max) / max).min(1.0) } else { 1.0 }
    }

    /// The drop probability after `count` spared packets; for `p_b` = 1 never below 1.
    pub(super) fn spaced_probability(&self, p_b: f64, count: f64) -> f64 {
        let due = count * p_b;
        if self.wait {
            // ns-2, `wait_`: uniform on [1/p, 2/p].
            return if due < 1.0 { 0.0 } else { (p_b / (2.0 - due).max(0.0)).min(1.0) };
        }
        // 1993 eq. 3: uniform on [1, 1/p].
        if due < 1.0 { (p_b / (1.0 - due)).min(1.0) } else { 1.0 }
    }
}
