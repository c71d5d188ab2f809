//! The next sender on a cell's air link: one allocation mechanism, one file per policy.
//!
//! A cell keeps a queue, a *bearer*, for each of its hosts. Whenever its transmitter is free, the bearer of lowest rank
//! among those with a packet sends one. A policy is only that rank and its state. A new policy needs a file with
//! `Params` (serde, defaults, JSON schema) and the struct that implements [`Policy`], its `mod` line and its row.
//!
//! ASSUMPTION: a packet is sent completely, over the full band, before the next: the hosts share the cell's link in
//! time. Resource blocks, transport blocks and retransmissions of a subframe are not modelled.

pub mod proportional_fair;
pub mod round_robin;
pub mod wfq;

#[cfg(test)]
mod conformance;

use roamlab_engine::tagged::{self, Family};
use roamlab_engine::{Bytes, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// Data of a bearer for a policy.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct BearerShare {
    /// Its weight, above 0.
    pub weight: f64,
    /// The rate at which its packets are sent.
    pub rate: Rate,
}

/// A scheduling policy. Bearers are numbers.
pub trait Policy: Sized {
    /// Its parameters.
    type Params;

    /// True if the weights of bearers change what it does.
    const USES_WEIGHTS: bool = false;

    /// A policy that has seen nothing.
    fn new(params: &Self::Params, bearers: &[BearerShare]) -> Self;

    /// A bearer that had nothing to send is about to get a packet.
    fn wakes(&mut self, _bearer: usize) {}

    /// The rank of a bearer whose next packet has this size; the lowest is served.
    fn rank(&self, bearer: usize, head: Bytes, now: Time) -> f64;

    /// A bearer begins to send a packet of this size.
    fn sends(&mut self, bearer: usize, size: Bytes, now: Time);
}

macro_rules! schedulers {
    ($($name:literal => $module:ident::$type:ident: $summary:literal,)+) => {
        /// A policy's state. An enum, so that a link owns its scheduler and a scheduler can be printed.
        #[derive(Clone, Debug)]
        enum AnyPolicy {
            $($type($module::$type),)+
        }

        /// A scheduler as a scenario describes it: `kind` names the policy, the other fields are its parameters.
        #[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub enum SchedulerSpec {
            $(
                #[doc = $summary]
                #[serde(rename = $name)]
                $type($module::Params),
            )+
        }

        /// Names and one-line summaries of all policies.
        pub const SCHEDULERS: &[(&str, &str)] = &[$(($name, $summary),)+];

        impl Family for SchedulerSpec {
            const WHAT: &'static str = "a scheduler";
            const EXAMPLE: &'static str = "{ kind = \"wfq\" }";
            const NAMES: &'static [&'static str] = &[$($name,)+];

            fn read<'de, D: Deserializer<'de>>(kind: &str, fields: D) -> Result<Self, D::Error> {
                match kind {
                    $($name => $module::Params::deserialize(fields).map(SchedulerSpec::$type),)+
                    _ => Err(serde::de::Error::unknown_variant(kind, Self::NAMES)),
                }
            }
        }

        impl SchedulerSpec {
            /// True if the weights of bearers change what it does.
            pub fn uses_weights(&self) -> bool {
                match self {
                    $(SchedulerSpec::$type(_) => $module::$type::USES_WEIGHTS,)+
                }
            }

            /// Checks that a scheduler can have these parameters.
            ///
            /// # Errors
            /// The field at fault, and what to write.
            pub fn check(&self) -> Result<(), (&'static str, String)> {
                match self {
                    $(SchedulerSpec::$type(params) => params.check(),)+
                }
            }
        }

        impl Policy for AnyPolicy {
            type Params = SchedulerSpec;

            fn new(spec: &SchedulerSpec, bearers: &[BearerShare]) -> AnyPolicy {
                match spec {
                    $(SchedulerSpec::$type(params) => AnyPolicy::$type(Policy::new(params, bearers)),)+
                }
            }

            fn wakes(&mut self, bearer: usize) {
                match self {
                    $(AnyPolicy::$type(policy) => policy.wakes(bearer),)+
                }
            }

            fn rank(&self, bearer: usize, head: Bytes, now: Time) -> f64 {
                match self {
                    $(AnyPolicy::$type(policy) => policy.rank(bearer, head, now),)+
                }
            }

            fn sends(&mut self, bearer: usize, size: Bytes, now: Time) {
                match self {
                    $(AnyPolicy::$type(policy) => policy.sends(bearer, size, now),)+
                }
            }
        }

        #[cfg(test)]
        mod contract {
            $(
                #[test]
                fn $module() {
                    super::conformance::check(&super::SchedulerSpec::$type(Default::default()));
                }
            )+
        }
    };
}

schedulers! {
    "wfq" => wfq::Wfq:
        "Weighted fair queueing by self-clocked virtual finish times",
    "round-robin" => round_robin::RoundRobin:
        "One packet a turn for each bearer that has one",
    "proportional-fair" => proportional_fair::ProportionalFair:
        "The bearer whose rate is highest over what it got lately",
}

impl<'de> Deserialize<'de> for SchedulerSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}

/// The allocation mechanism: who sends next.
#[derive(Clone, Debug)]
pub struct CellScheduler(AnyPolicy);

impl CellScheduler {
    /// A scheduler of these bearers.
    pub fn new(spec: &SchedulerSpec, bearers: &[BearerShare]) -> CellScheduler {
        CellScheduler(AnyPolicy::new(spec, bearers))
    }

    /// A bearer that had nothing to send is about to get a packet.
    pub fn wakes(&mut self, bearer: usize) {
        self.0.wakes(bearer);
    }

    /// Of the bearers with a packet, given with its size, the one that sends now: that of lowest rank, and of equals the
    /// first. `None` if there are no bearers with a packet.
    pub fn choose(&self, backlogged: impl Iterator<Item = (usize, Bytes)>, now: Time) -> Option<usize> {
        let ranked = backlogged.map(|(bearer, head)| (self.0.rank(bearer, head, now), bearer));
        let first = ranked.min_by(|(a, first), (b, second)| a.total_cmp(b).then(first.cmp(second)));
        first.map(|(_, bearer)| bearer)
    }

    /// A bearer begins to send a packet of this size.
    pub fn sends(&mut self, bearer: usize, size: Bytes, now: Time) {
        self.0.sends(bearer, size, now);
    }
}
