//! Media: who of the stations around a base station sends when, and whether a frame arrives.
//!
//! A station is one direction of a link. It offers the frame at the head of its queue and waits; the medium says when the
//! frame has been sent or lost, and then the station may offer the next. A medium keeps no clock: `now` is an argument,
//! and [`Medium::next_deadline`] says when it wants to be asked again.

mod shared;

use roamlab_engine::tagged::{self, Family};
use roamlab_engine::{Bytes, Rate, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// The frame at the head of a station's queue.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The station: a number that its owner chooses.
    pub station: u32,
    /// Its size on the wire, without what the medium adds.
    pub size: Bytes,
    /// The rate that the station sends at.
    pub rate: Rate,
}

/// What has become of a frame.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Whose frame it was. The station may offer its next one.
    pub station: u32,
    /// When its transmission began: the last one, if there were several.
    pub started: Time,
    /// It was received; otherwise it is lost.
    pub arrived: bool,
}

/// A medium that stations share.
pub trait Medium: Sized {
    /// Its parameters.
    type Params;

    /// A silent medium. `rng` is its own stream.
    fn new(params: &Self::Params, rng: Rng) -> Self;

    /// A station wants to send a frame; it has none here yet.
    fn offer(&mut self, frame: Frame, now: Time);

    /// Takes back a frame that is not being sent; whether it was one.
    fn withdraw(&mut self, station: u32, now: Time) -> bool;

    /// When [`on_deadline`](Self::on_deadline) is to be called; `None`: not before the next frame.
    fn next_deadline(&self) -> Option<Time>;

    /// The deadline has come: what has been decided, if anything.
    fn on_deadline(&mut self, now: Time) -> Option<Outcome>;
}

/// Each direction of each host's link sends by itself. It has no parameters.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dedicated {}

macro_rules! media {
    ($($name:literal => $module:ident::$type:ident: $summary:literal,)+) => {
        /// How the stations of a cell share the air: `kind` names the way, the other fields are its parameters.
        #[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub enum MediumSpec {
            /// Each direction of each host's link sends by itself.
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
            ("dedicated", "Each direction of each host's link sends by itself"),
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
            /// Whether a medium can have these parameters.
            ///
            /// # Errors
            /// The field at fault, and what to write.
            pub fn check(&self) -> Result<(), (&'static str, String)> {
                match self {
                    MediumSpec::Dedicated(_) => Ok(()),
                    $(MediumSpec::$type(params) => params.check(),)+
                }
            }

            /// The medium, silent; `None`: stations share nothing.
            pub fn build(&self, rng: Rng) -> Option<AnyMedium> {
                match self {
                    MediumSpec::Dedicated(_) => None,
                    $(MediumSpec::$type(params) => Some(AnyMedium::$type(Medium::new(params, rng))),)+
                }
            }
        }

        /// A medium of any kind.
        #[derive(Debug)]
        pub enum AnyMedium {
            $(
                #[doc = $summary]
                $type($module::$type),
            )+
        }

        impl AnyMedium {
            /// See [`Medium::offer`].
            pub fn offer(&mut self, frame: Frame, now: Time) {
                match self {
                    $(AnyMedium::$type(medium) => medium.offer(frame, now),)+
                }
            }

            /// See [`Medium::withdraw`].
            pub fn withdraw(&mut self, station: u32, now: Time) -> bool {
                match self {
                    $(AnyMedium::$type(medium) => medium.withdraw(station, now),)+
                }
            }

            /// See [`Medium::next_deadline`].
            pub fn next_deadline(&self) -> Option<Time> {
                match self {
                    $(AnyMedium::$type(medium) => medium.next_deadline(),)+
                }
            }

            /// See [`Medium::on_deadline`].
            pub fn on_deadline(&mut self, now: Time) -> Option<Outcome> {
                match self {
                    $(AnyMedium::$type(medium) => medium.on_deadline(now),)+
                }
            }
        }
    };
}

media! {
    "shared" => shared::Shared:
        "One frame at a time, up or down, in the order in which the stations ask: medium access without cost",
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
