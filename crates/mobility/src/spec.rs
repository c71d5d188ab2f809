//! The table of mobility protocols: how a scenario names them.

use crate::{Action, Agent, Input, LteX2, MobileIp, lte_x2, mobile_ip};
use roamlab_engine::Time;
use roamlab_engine::tagged::{self, Family};
use roamlab_packet::Addr;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

macro_rules! protocols {
    ($($name:literal => $module:ident as $variant:ident: $summary:literal,)+) => {
        /// A mobility protocol as a scenario describes it: `kind` names it, the other fields are its parameters.
        #[expect(clippy::large_enum_variant, reason = "a scenario has one")]
        #[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub enum MobilitySpec {
            $(
                #[doc = $summary]
                #[serde(rename = $name)]
                $variant($module::Params),
            )+
        }

        /// Names and one-line summaries of all mobility protocols.
        pub const PROTOCOLS: &[(&str, &str)] = &[$(($name, $summary),)+];

        /// A role of any mobility protocol at one node.
        #[expect(clippy::large_enum_variant, reason = "nodes box it")]
        #[derive(Clone, Debug)]
        pub enum MobilityAgent {
            $(#[doc = $summary] $variant($variant),)+
        }

        impl MobilityAgent {
            /// The role's state for `host` in one word, for records and tables.
            pub fn state(&self, host: Addr) -> &'static str {
                match self {
                    $(MobilityAgent::$variant(agent) => agent.state(host),)+
                }
            }

            /// Reacts to `input`; what is to be done is appended to `out`.
            pub fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
                match self {
                    $(MobilityAgent::$variant(agent) => agent.on(input, now, out),)+
                }
            }

            /// When the agent wants [`Input::Deadline`]; `None`: never.
            pub fn next_deadline(&self) -> Option<Time> {
                match self {
                    $(MobilityAgent::$variant(agent) => agent.next_deadline(),)+
                }
            }
        }

        $(impl From<$variant> for MobilityAgent {
            fn from(agent: $variant) -> MobilityAgent {
                MobilityAgent::$variant(agent)
            }
        })+

        impl Family for MobilitySpec {
            const WHAT: &'static str = "a mobility protocol";
            const EXAMPLE: &'static str = "{ kind = \"mobile-ip\", route_optimisation = true }";
            const NAMES: &'static [&'static str] = &[$($name,)+];

            fn read<'de, D: Deserializer<'de>>(kind: &str, fields: D) -> Result<Self, D::Error> {
                match kind {
                    $($name => $module::Params::deserialize(fields).map(MobilitySpec::$variant),)+
                    _ => Err(serde::de::Error::unknown_variant(kind, Self::NAMES)),
                }
            }
        }
    };
}

protocols! {
    "mobile-ip" => mobile_ip as MobileIp:
        "Mobile IPv4 with route optimisation, smooth and local handoff, and buffering at base stations",
    "lte-x2" => lte_x2 as LteX2:
        "LTE handover over X2 with data forwarding; standard, fast and predictive path switch",
}

impl<'de> Deserialize<'de> for MobilitySpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}
