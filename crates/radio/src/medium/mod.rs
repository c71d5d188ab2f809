//! Media: which station around a base station sends at what time, and whether a frame arrives.
//!
//! A station is one direction of a link. It offers the first frame of its queue and waits. The medium reports when the
//! frame has been sent or lost, and then the station may offer the next. A medium has no clock: `now` is an argument,
//! and [`Medium::next_deadline`] returns the time of its next call. It does not know the places of hosts: it asks
//! whether a frame reaches its receiver.

mod dcf;
mod shared;

use roamlab_engine::tagged::{self, Family};
use roamlab_engine::{Bytes, Duration, Rate, Rng, Time};
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
    /// It is for all who hear it, and no station acknowledges it.
    pub broadcast: bool,
    /// It is a management frame: `size` is all of it, and it is sent at the rate that the medium has for such.
    pub management: bool,
}

/// A station's place in its cell.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Role {
    /// The base station's downlink.
    BaseStation,
    /// A host's uplink.
    Host,
}

/// True if the frame of this station, which it began to send at this time, gets across to its receiver.
pub type Reached<'a> = &'a dyn Fn(u32, Time) -> bool;

/// Fate of a frame. One that is acknowledged has two: it is received, and later its station is free. On a
/// medium that [reports](Medium::report), also what tells stations whether they hear each other.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Whose frame it was.
    pub station: u32,
    /// When its transmission began: the last one, if there were several.
    pub started: Time,
    /// Its fate; `None`: that is known already.
    pub fate: Option<Fate>,
    /// How long the medium was taken by it, as far as this has not been reported.
    pub air: Duration,
    /// The station may offer its next frame.
    pub free: bool,
}

/// True if a frame has arrived.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It has.
    Received,
    /// It never will.
    Lost(Loss),
    /// It was none, but a beacon, which all who listen have heard.
    Beacon,
    /// It was sent and not acknowledged, and will be sent again.
    Unanswered,
}

/// Why a frame is lost.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Loss {
    /// It was sent once, and not received.
    OnAir,
    /// It was sent as often as its station may, and never acknowledged.
    RetryLimit,
    /// Its station has given it up before that: it was not wanted any more, or its receiver is known to be gone.
    GivenUp,
}

/// A medium that stations share.
pub trait Medium: Sized {
    /// Its parameters.
    type Params;

    /// A silent medium. `rng` is its own stream.
    fn new(params: &Self::Params, rng: Rng) -> Self;

    /// A station that may offer frames from now on. `rng` is its own stream.
    fn join(&mut self, station: u32, role: Role, rng: Rng);

    /// A station wants to send a frame; it has none here yet.
    fn offer(&mut self, frame: Frame, now: Time);

    /// Takes back a frame that is not being sent; whether there was one. One that is being sent is not sent again.
    fn withdraw(&mut self, station: u32, now: Time) -> bool;

    /// When [`on_deadline`](Self::on_deadline) is to be called; `None`: not before the next frame.
    fn next_deadline(&self) -> Option<Time>;

    /// The deadline has come: what has been decided, if anything. To be asked until there is nothing.
    fn on_deadline(&mut self, now: Time, reached: Reached<'_>) -> Option<Outcome>;

    /// Beacons that were sent and attempts that were not acknowledged are outcomes from now on.
    fn report(&mut self) {}

    /// True if anything was on the air since then.
    fn was_busy(&self, _since: Time) -> bool {
        false
    }
}

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
                    $(MediumSpec::$type(params) => Some(AnyMedium::$type(Box::new(Medium::new(params, rng)))),)+
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

        impl AnyMedium {
            /// See [`Medium::join`].
            pub fn join(&mut self, station: u32, role: Role, rng: Rng) {
                match self {
                    $(AnyMedium::$type(medium) => medium.join(station, role, rng),)+
                }
            }

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
            pub fn on_deadline(&mut self, now: Time, reached: Reached<'_>) -> Option<Outcome> {
                match self {
                    $(AnyMedium::$type(medium) => medium.on_deadline(now, reached),)+
                }
            }

            /// See [`Medium::report`].
            pub fn report(&mut self) {
                match self {
                    $(AnyMedium::$type(medium) => medium.report(),)+
                }
            }

            /// See [`Medium::was_busy`].
            pub fn was_busy(&self, since: Time) -> bool {
                match self {
                    $(AnyMedium::$type(medium) => medium.was_busy(since),)+
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
