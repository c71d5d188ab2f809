//! Buffer management: one file per queue discipline, one row per file in the table below. The disciplines are in three
//! folders: [`plain`], [`aqm`] (active queue management) and [`fair`].
//!
//! A discipline holds the packets that *wait* for a link; the packet in transmission is not included. A new discipline
//! needs a file with `Params` (serde, defaults, bounds, JSON schema; the first line of its docs is the summary) and the
//! struct that implements [`QueueDisc`], its `mod` line and its row.

pub mod aqm;
pub mod fair;
pub mod plain;
pub mod replay;

mod fifo;
mod forwarded;
mod rules;
mod timed;

#[cfg(test)]
mod conformance;

pub use aqm::drop_probability::IdleMode;
pub use forwarded::ForwardedAtFull;
pub use rules::Rules;

use roamlab_engine::tagged;
use roamlab_engine::{Bytes, Duration, Packets, Rate, Rng, Time};
use roamlab_packet::{DropReason, Ecn, MarkingState, Packet, PacketId, PacketPool};
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Deserializer, Serialize};

/// Data for a discipline: the clock, the packets, and the list of packets that it drops.
pub struct QdiscCx<'a> {
    /// Now.
    pub now: Time,
    /// All packets of the run.
    pub pool: &'a mut PacketPool,
    /// Rate of the link behind the queue (RED's typical transmission time).
    pub rate: Rate,
    /// Packets that the discipline dropped. The caller records and discards them.
    pub dropped: &'a mut Vec<(PacketId, DropReason)>,
}

impl QdiscCx<'_> {
    /// Drops `packet`.
    pub fn drop(&mut self, packet: PacketId, reason: DropReason) {
        self.dropped.push((packet, reason));
    }

    /// Tells the sender of `packet` about congestion before the queue is full: by a mark if `mark_ecn` is set and the
    /// packet can have one, otherwise by its loss. Returns a packet that stays.
    pub(crate) fn notify(&mut self, packet: PacketId, mark_ecn: bool) -> Option<PacketId> {
        if mark_ecn && self.mark_ce(&packet) {
            return Some(packet);
        }
        self.drop(packet, DropReason::EarlyDrop);
        None
    }

    /// Marks congestion on the outermost header (RFC 3168 §5). Returns `false`, without a change, if the header is
    /// not ECN-capable.
    #[must_use]
    pub fn mark_ce(&mut self, packet: &PacketId) -> bool {
        let tos = &mut self.pool[packet].header.tos;
        if tos.ecn() == Ecn::NotEct {
            return false;
        }
        *tos = tos.with_ecn(Ecn::Ce);
        true
    }
}

/// The state of a discipline in a row of the table `queue`.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub struct Gauges {
    /// Average queue length in packets (RED's `avg_q`, M-RED's `avg_q_np`), or 0 where there is none.
    pub average: f64,
    /// Probability with which the next ordinary packet is dropped (RED's `p_b`, BLUE's `P_m`, PIE's, DualPI2's `p_C`), or 0.
    pub probability: f64,
    /// Probability with which DualPI2 marks the next packet of its low-latency queue (`p_CL`), or 0.
    pub coupled: f64,
    /// How long the packet that left last had waited, where the discipline measures it, or 0; 0 too after an idle link.
    pub sojourn: Duration,
    /// Waiting packets with the mark of forwarded packets. The others are M-RED's `q_size_np`.
    pub forwarded: usize,
}

/// A discipline's parameters.
pub trait Parameters {
    /// Checks that a queue with these parameters can exist.
    ///
    /// # Errors
    /// The field, and what was expected and what to write instead.
    fn validate(&self) -> Result<(), BadField>;

    /// A warning about parameters that are valid but probably not intended: the field, the effect, and what to write.
    fn warning(&self) -> Option<BadField> {
        None
    }
}

/// Selects packets.
pub type Matching<'a> = dyn Fn(&Packet, &PacketPool) -> bool + 'a;

/// A queue discipline. It is cloned with its world where a run branches: packets that it holds are [`Waiting`](roamlab_packet::Waiting).
pub trait QueueDisc: Clone {
    /// Its parameters: serde (unknown fields refused), defaults, JSON schema.
    type Params;

    /// An empty queue. The caller has validated the parameters; with others the queue may behave oddly but never panics.
    fn new(params: &Self::Params, rng: Rng) -> Self;

    /// Gives the rate and propagation delay of the queue's link. Called once, before the first packet.
    fn attach(&mut self, _rate: Rate, _delay: Duration) {}

    /// Accepts, drops or marks a packet. May drop others.
    fn enqueue(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>);

    /// The next packet to transmit, in an order that the discipline chooses. Packets of one flow keep their order. Also
    /// called on an empty queue when the link becomes idle (RED's idle clock, BLUE's idle event). `None` means that no
    /// packet waits. A discipline that drops a packet here continues with the next one; otherwise the link would stall.
    fn dequeue(&mut self, cx: &mut QdiscCx<'_>) -> Option<PacketId>;

    /// True if a packet of this size for an idle link may skip the queue. `true` states that an
    /// [`enqueue`](Self::enqueue) followed by a [`dequeue`](Self::dequeue) would return this packet unchanged and leave
    /// no trace in the queue's later behaviour or state, at any time. Always `false` while a packet waits.
    fn can_bypass(&self, _size: Bytes) -> bool {
        false
    }

    /// Removes the waiting packets that `wanted` selects (a host left the cell). Packets of one flow keep their order.
    /// This is neither a departure nor a drop, except of packets that had no time left: no probability changes.
    fn take_matching(&mut self, wanted: &Matching<'_>, cx: &mut QdiscCx<'_>) -> Vec<PacketId>;

    /// The waiting packet that the next [`dequeue`](Self::dequeue) takes first: it returns this packet or drops it. A
    /// scheduler of several queues asks for its size. `None` if no packet waits.
    fn head(&self) -> Option<&PacketId>;

    /// Waiting packets.
    fn packets(&self) -> usize;

    /// Waiting bytes.
    fn bytes(&self) -> Bytes;

    /// State for the record.
    fn gauges(&self) -> Gauges {
        Gauges::default()
    }

    /// The estimate by which it drops or marks; `None`: it has none, or one for each flow.
    fn marking_state(&self) -> Option<MarkingState> {
        None
    }

    /// Continues from the estimate of another queue of this discipline. One of another kind changes nothing.
    fn adopt(&mut self, _state: &MarkingState, _now: Time) {}
}

/// The methods of [`QueueDisc`] about waiting packets, of a discipline that keeps all of them in one field, a `Fifo` or a
/// `Timed`. `taken`: nothing follows when some are taken out.
macro_rules! waits_in {
    ($line:ident) => {
        fn head(&self) -> Option<&roamlab_packet::PacketId> {
            self.$line.head()
        }

        #[inline]
        fn packets(&self) -> usize {
            self.$line.packets()
        }

        fn bytes(&self) -> roamlab_engine::Bytes {
            self.$line.bytes()
        }
    };
    ($line:ident, taken) => {
        $crate::waits_in!($line);

        fn take_matching(
            &mut self,
            wanted: &$crate::Matching<'_>,
            cx: &mut $crate::QdiscCx<'_>,
        ) -> Vec<roamlab_packet::PacketId> {
            self.$line.take_matching(wanted, cx.pool)
        }
    };
}

pub(crate) use waits_in;

/// An invalid parameter: its name, and a message with what was expected and what to write.
pub type BadField = (&'static str, String);

fn validate_probability(field: &'static str, value: f64) -> Result<(), BadField> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err((field, format!("{value} is not a probability: write a number from 0 to 1")))
}

fn validate_limit(limit: Packets, count_in_service: bool) -> Result<(), BadField> {
    let least = 1 + u32::from(count_in_service);
    if limit.0 >= least {
        return Ok(());
    }
    Err(("limit", format!("the queue would hold nothing: write at least \"{least} pkt\"")))
}

fn validate_update_interval(interval: Duration) -> Result<(), BadField> {
    if interval >= Duration::from_millis(1) {
        return Ok(());
    }
    Err(("update_interval", "1 ms or more is expected: write for example \"15 ms\"".into()))
}

fn validate_gain(field: &'static str, value: f64) -> Result<(), BadField> {
    if (0.0..=1e6).contains(&value) {
        return Ok(());
    }
    Err((field, format!("{value} is no gain in 1/s: write 0 to 1e6")))
}

fn validate_byte_limit(limit: Option<Bytes>) -> Result<(), BadField> {
    if limit != Some(Bytes(0)) {
        return Ok(());
    }
    Err(("limit_bytes", "the queue would hold nothing: write for example \"64 kB\"".into()))
}

/// Generates storage, scenario form and dispatch of all disciplines from one row each.
macro_rules! queue_disciplines {
    ($($name:literal => $group:ident::$module:ident::$type:ident,)+) => {
        /// A queue: one of the disciplines. An enum, so that a link owns its queue and a queue can be printed.
        #[derive(Clone, Debug)]
        pub enum Qdisc {
            $(#[doc = concat!("The discipline `", $name, "`.")] $type(Box<$group::$module::$type>),)+
        }

        /// A queue as a scenario describes it: `kind` names the discipline, the other fields are its parameters.
        #[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum QueueSpec {
            $(
                #[doc = concat!("The discipline `", $name, "`.")]
                #[serde(rename = $name)]
                $type($group::$module::Params),
            )+
        }

        $(
            #[cfg(test)]
            impl From<$group::$module::Params> for QueueSpec {
                fn from(params: $group::$module::Params) -> QueueSpec {
                    QueueSpec::$type(params)
                }
            }
        )+

        /// The names of all disciplines, in the order of the table.
        pub const NAMES: &[&str] = &[$($name,)+];

        /// Summary of a discipline, in one line; `None` if there is none of that name.
        pub fn summary(name: &str) -> Option<String> {
            let schema = match name {
                $($name => schema_for!($group::$module::Params),)+
                _ => return None,
            };
            let docs = schema.get("description")?.as_str()?;
            docs.lines().next().map(String::from)
        }

        impl QueueSpec {
            /// The name of the discipline.
            pub fn name(&self) -> &'static str {
                match self {
                    $(QueueSpec::$type(_) => $name,)+
                }
            }
        }

        impl Parameters for QueueSpec {
            fn validate(&self) -> Result<(), BadField> {
                match self {
                    $(QueueSpec::$type(params) => params.validate(),)+
                }
            }

            fn warning(&self) -> Option<BadField> {
                match self {
                    $(QueueSpec::$type(params) => params.warning(),)+
                }
            }
        }

        impl tagged::Family for QueueSpec {
            const WHAT: &'static str = "a queue";
            const EXAMPLE: &'static str = "{ kind = \"droptail\", limit = \"120 pkt\" }";
            const NAMES: &'static [&'static str] = NAMES;

            fn read<'de, D: Deserializer<'de>>(kind: &str, fields: D) -> Result<Self, D::Error> {
                match kind {
                    $($name => $group::$module::Params::deserialize(fields).map(QueueSpec::$type),)+
                    _ => Err(serde::de::Error::unknown_variant(kind, NAMES)),
                }
            }
        }

        impl QueueDisc for Qdisc {
            type Params = QueueSpec;

            fn new(spec: &QueueSpec, rng: Rng) -> Qdisc {
                match spec {
                    $(QueueSpec::$type(params) => Qdisc::$type(Box::new($group::$module::$type::new(params, rng))),)+
                }
            }

            fn attach(&mut self, rate: Rate, delay: Duration) {
                match self {
                    $(Qdisc::$type(queue) => queue.attach(rate, delay),)+
                }
            }

            #[inline(always)]
            fn enqueue(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
                match self {
                    $(Qdisc::$type(queue) => queue.enqueue(packet, cx),)+
                }
            }

            #[inline(always)]
            fn dequeue(&mut self, cx: &mut QdiscCx<'_>) -> Option<PacketId> {
                match self {
                    $(Qdisc::$type(queue) => queue.dequeue(cx),)+
                }
            }

            #[inline(always)]
            fn can_bypass(&self, size: Bytes) -> bool {
                match self {
                    $(Qdisc::$type(queue) => queue.can_bypass(size),)+
                }
            }

            fn take_matching(&mut self, wanted: &Matching<'_>, cx: &mut QdiscCx<'_>) -> Vec<PacketId> {
                match self {
                    $(Qdisc::$type(queue) => queue.take_matching(wanted, cx),)+
                }
            }

            fn head(&self) -> Option<&PacketId> {
                match self {
                    $(Qdisc::$type(queue) => queue.head(),)+
                }
            }

            #[inline(always)]
            fn packets(&self) -> usize {
                match self {
                    $(Qdisc::$type(queue) => queue.packets(),)+
                }
            }

            fn bytes(&self) -> Bytes {
                match self {
                    $(Qdisc::$type(queue) => queue.bytes(),)+
                }
            }

            fn gauges(&self) -> Gauges {
                match self {
                    $(Qdisc::$type(queue) => queue.gauges(),)+
                }
            }

            fn marking_state(&self) -> Option<MarkingState> {
                match self {
                    $(Qdisc::$type(queue) => queue.marking_state(),)+
                }
            }

            fn adopt(&mut self, state: &MarkingState, now: Time) {
                match self {
                    $(Qdisc::$type(queue) => queue.adopt(state, now),)+
                }
            }
        }

        #[cfg(test)]
        mod contract {
            $(
                #[test]
                fn $module() {
                    crate::conformance::check(&crate::$group::$module::Params::default());
                }
            )+
        }
    };
}

queue_disciplines! {
    "droptail" => plain::droptail::DropTail,
    "red" => aqm::red::Red,
    "linux-red" => aqm::linux_red::LinuxRed,
    "blue" => aqm::blue::Blue,
    "mblue" => aqm::mblue::Mblue,
    "mred" => aqm::mred::Mred,
    "codel" => aqm::codel::Codel,
    "head-drop" => plain::head_drop::HeadDrop,
    "rlc" => plain::rlc::Rlc,
    "pie" => aqm::pie::Pie,
    "fq" => fair::fq::Fq,
    "fq-codel" => fair::fq_codel::FqCodel,
    "dualpi2" => aqm::dualpi2::DualPi2,
    "cake" => fair::cake::Cake,
}

impl<'de> Deserialize<'de> for QueueSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}

impl QueueSpec {
    /// The name of its random stream. M-RED draws from RED's stream. So both decide the same until the first
    /// forwarded packet, and their runs are paired.
    pub fn stream(&self) -> &'static str {
        match self {
            QueueSpec::Mred(_) => "red",
            other => other.name(),
        }
    }

    /// True if its queues have an estimate of congestion from which another one can continue.
    pub fn has_marking_state(&self) -> bool {
        self.empty_state().is_some()
    }

    /// True if that estimate is an average length.
    pub fn has_average(&self) -> bool {
        matches!(self.empty_state(), Some(MarkingState::Average(_)))
    }

    fn empty_state(&self) -> Option<MarkingState> {
        Qdisc::new(self, Rng::named(1, 0, "marking-state")).marking_state()
    }
}

#[cfg(test)]
mod tests;
