//! The table of mobility protocols: how a scenario names them.

use crate::mobile_ip;
use roamlab_engine::tagged::{self, Family};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

macro_rules! protocols {
    ($($name:literal => $module:ident as $variant:ident: $summary:literal,)+) => {
        /// A mobility protocol as a scenario describes it: `kind` names it, the other fields are its parameters.
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
}

impl<'de> Deserialize<'de> for MobilitySpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}
