//! What applications offer to the transport: one file per application, one row per file in the table below.

use roamlab_engine::tagged::{self, Family};
use roamlab_engine::{Bytes, Duration, Packets, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

mod cbr;
mod ftp;
pub mod voip;

/// What an application hands to its transport.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Offer {
    /// More data than will ever be sent.
    Unlimited,
    /// This many bytes of a stream, or one datagram of this size (IP header included).
    Bytes(Bytes),
    /// This many full segments of a stream.
    Segments(Packets),
    /// Nothing more: what has not been sent for the first time by now never will be.
    Stop,
}

/// An application: it wakes at times of its own choice and offers data.
pub trait Application: Sized {
    /// Its parameters.
    type Params;

    /// The application of one flow. `rng` is the flow's own stream.
    fn new(params: &Self::Params, rng: &mut Rng) -> Self;

    /// When it wants to wake next; `None`: never again.
    fn next_wake(&self) -> Option<Time>;

    /// It is awake, at the time it wanted; `None` if there is nothing to offer this time.
    fn wake(&mut self, now: Time) -> Option<Offer>;
}

/// Parameters that say when an application begins and ends.
trait Timed {
    /// Its earliest start and its stop.
    fn times(&mut self) -> (&mut Duration, &mut Option<Duration>);

    /// Its earliest start.
    fn start(&self) -> Duration;

    /// Checks what the types cannot: the field at fault, what was expected and what to write.
    fn validate(&self) -> Result<(), (&'static str, String)>;
}

/// An exponentially distributed time.
fn exponential(mean: Duration, rng: &mut Rng) -> Duration {
    let nanos = -libm::log(1.0 - rng.uniform()) * mean.as_nanos() as f64;
    Duration::from_nanos(nanos as u64)
}

/// A start that is uniform in [`at`, `at + within`).
fn draw_start(at: Duration, within: Duration, rng: &mut Rng) -> Time {
    Time::ZERO + at + rng.uniform_duration(within)
}

/// A source cannot stop before it may start.
fn check_stop(start: Duration, stop: Option<Duration>) -> Result<(), (&'static str, String)> {
    if stop.is_some_and(|stop| stop < start) {
        return Err(("stop", format!("the source starts at {start}: stop it later")));
    }
    Ok(())
}

/// A number of packets, if there is one, is not 0.
fn check_packets(packets: Option<Packets>) -> Result<(), (&'static str, String)> {
    if packets == Some(Packets(0)) {
        return Err(("packets", "a source sends something: write for example \"100 pkt\"".into()));
    }
    Ok(())
}

macro_rules! applications {
    ($($(#[$doc:meta])* $name:literal => $module:ident::$type:ident,)+) => {
        /// An application of a scenario.
        #[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub enum AppSpec {
            $($(#[$doc])* #[serde(rename = $name)] $type($module::Params),)+
        }

        impl Family for AppSpec {
            const WHAT: &'static str = "an application";
            const EXAMPLE: &'static str = "{ kind = \"ftp\", start = \"0.1 s\" }";
            const NAMES: &'static [&'static str] = &[$($name,)+];

            fn read<'de, D: Deserializer<'de>>(kind: &str, fields: D) -> Result<Self, D::Error> {
                match kind {
                    $($name => $module::Params::deserialize(fields).map(AppSpec::$type),)+
                    _ => Err(serde::de::Error::unknown_variant(kind, Self::NAMES)),
                }
            }
        }

        /// A running application.
        #[derive(Clone, Debug)]
        pub enum App {
            $($(#[$doc])* $type($module::$type),)+
        }

        impl App {
            /// Names and one-line summaries of all applications.
            pub const ALL: &'static [(&'static str, &'static str)] = &[$(($name, $module::SUMMARY),)+];

            /// Starts an application.
            pub fn new(spec: &AppSpec, rng: &mut Rng) -> App {
                match spec {
                    $(AppSpec::$type(params) => App::$type($module::$type::new(params, rng)),)+
                }
            }

            /// When it wants to wake next.
            pub fn next_wake(&self) -> Option<Time> {
                match self {
                    $(App::$type(app) => app.next_wake(),)+
                }
            }

            /// It is awake, at the time it wanted.
            pub fn wake(&mut self, now: Time) -> Option<Offer> {
                match self {
                    $(App::$type(app) => app.wake(now),)+
                }
            }
        }

        impl AppSpec {
            /// The earliest start.
            pub fn start(&self) -> Duration {
                match self {
                    $(AppSpec::$type(params) => params.start(),)+
                }
            }

            /// Everything later by so much.
            pub fn delay(&mut self, by: Duration) {
                let (start, stop) = match self {
                    $(AppSpec::$type(params) => params.times(),)+
                };
                *start += by;
                *stop = stop.map(|stop| stop + by);
            }

            /// Checks what the types cannot: the field at fault, what was expected and what to write.
            pub fn validate(&self) -> Result<(), (&'static str, String)> {
                match self {
                    $(AppSpec::$type(params) => params.validate(),)+
                }
            }
        }
    };
}

applications! {
    /// File transfer.
    "ftp" => ftp::Ftp,
    /// Constant bit rate.
    "cbr" => cbr::Cbr,
    /// Voice.
    "voip" => voip::Voip,
}

impl<'de> Deserialize<'de> for AppSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}
