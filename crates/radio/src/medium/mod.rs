//! Media: which station around a base station sends at what time, and whether a frame arrives.
//!
//! A station is one direction of a link. It offers the first frame of its queue and waits. The medium reports when the
//! frame has been sent or lost, and then the station may offer the next. A medium has no clock: `now` is an argument,
//! and [`Medium::next_deadline`] returns the time of its next call. It does not know the places of hosts: it asks
//! whether a frame reaches its receiver.

mod shared;
mod transmission;

pub use transmission::{Frame, Medium, Reached, Role, Transmission, TxOutcome};

use crate::wifi::dcf;
use roamlab_engine::tagged::{self, Family};
use roamlab_engine::{Duration, Rate, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::ops::{Deref, DerefMut};

/// Each direction of each host's link sends alone. It has no parameters.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dedicated {}

macro_rules! media {
    ($($name:literal => $module:ident::$type:ident: $summary:literal,)+) => {
        /// How the stations of a cell share the air: `kind` names the way, the other fields are its parameters.
        #[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub enum MediumSpec {
            /// Each direction of each host's link sends alone.
            #[serde(rename = "dedicated")]
            Dedicated(Dedicated),
            $(
                #[doc = $summary]
                #[serde(rename = $name)]
                $type($module::Params),
            )+
        }

        /// Names and one-line summaries of all media.
        pub const MEDIA: &[(&str, &str)] = &[
            ("dedicated", "Each direction of each host's link sends alone"),
            $(($name, $summary),)+
        ];

        impl Family for MediumSpec {
            const WHAT: &'static str = "a medium";
            const EXAMPLE: &'static str = "{ kind = \"shared\" }";
            const NAMES: &'static [&'static str] = &["dedicated", $($name,)+];

            fn read<'de, D: Deserializer<'de>>(kind: &str, fields: D) -> Result<Self, D::Error> {
                match kind {
                    "dedicated" => Dedicated::deserialize(fields).map(MediumSpec::Dedicated),
                    $($name => $module::Params::deserialize(fields).map(MediumSpec::$type),)+
                    _ => Err(serde::de::Error::unknown_variant(kind, Self::NAMES)),
                }
            }
        }

        impl MediumSpec {
            /// Checks that a medium can have these parameters.
            ///
            /// # Errors
            /// The field at fault, and what to write.
            pub fn check(&self) -> Result<(), (&'static str, String)> {
                match self {
                    MediumSpec::Dedicated(_) => Ok(()),
                    $(MediumSpec::$type(params) => params.check(),)+
                }
            }

            /// Why stations cannot send data at this rate; `None`: they can.
            pub fn refuses_rate(&self, rate: Rate) -> Option<String> {
                match self {
                    MediumSpec::Dedicated(_) => None,
                    $(MediumSpec::$type(params) => params.refuses_rate(rate),)+
                }
            }

            /// The medium, silent; `None`: stations share nothing.
            pub fn build(&self, rng: Rng) -> Option<AnyMedium> {
                match self {
                    MediumSpec::Dedicated(_) => None,
                    $(MediumSpec::$type(params) => Some(AnyMedium::$type(Box::new($module::$type::new(params, rng)))),)+
                }
            }
        }

        /// A medium of any kind.
        #[derive(Clone, Debug)]
        pub enum AnyMedium {
            $(
                #[doc = $summary]
                $type(Box<$module::$type>),
            )+
        }

        impl Deref for AnyMedium {
            type Target = dyn Medium;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(AnyMedium::$type(medium) => &**medium,)+
                }
            }
        }

        impl DerefMut for AnyMedium {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self {
                    $(AnyMedium::$type(medium) => &mut **medium,)+
                }
            }
        }
    };
}

media! {
    "shared" => shared::Shared:
        "One frame at a time, up or down, in the order in which the stations ask: medium access without cost",
    "dcf" => dcf::Dcf:
        "IEEE 802.11 DCF: carrier sense, random backoff, acknowledgements, retries, RTS/CTS and beacons",
}

impl MediumSpec {
    /// Time between beacons; zero: there are none.
    pub fn beacon_interval(&self) -> Duration {
        match self {
            MediumSpec::Dcf(params) => params.beacon_interval,
            MediumSpec::Dedicated(_) | MediumSpec::Shared(_) => Duration::ZERO,
        }
    }

    /// Why hosts cannot roam here by what they hear, at which field (empty: this table), and what to write; `None`: they can.
    pub fn refuses_roaming(&self) -> Option<(&'static str, &'static str)> {
        match self {
            MediumSpec::Dcf(params) => params.refuses_roaming(),
            MediumSpec::Dedicated(_) | MediumSpec::Shared(_) => {
                Some(("", "hosts roam with 802.11 by frames on its air: write `{ kind = \"dcf\" }`"))
            }
        }
    }
}

impl Default for MediumSpec {
    fn default() -> MediumSpec {
        MediumSpec::Dedicated(Dedicated {})
    }
}

impl<'de> Deserialize<'de> for MediumSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}
