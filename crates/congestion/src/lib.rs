//! Congestion control: how much may be sent, and how fast. One file per algorithm in `controls/`, one row in the table
//! below.
//!
//! Nothing here is of TCP or of QUIC. The sender and its loss recovery report events, and ask for the window, the
//! pacing and the delivery rate. The algorithm answers by its [`Window`], which no other code can change. Events that
//! do not concern it are left to the default methods of [`Algorithm`].

mod algorithm;
mod clock;
mod controls;
mod delivery_rate;
mod events;
mod found;
mod pacing;
mod params;
mod path_policy;
mod report;
mod usage;
mod window;
mod windowed_best;

use roamlab_engine::tagged::{self, Family};
use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use algorithm::{AckSource, Algorithm, Choice, Laws, LawsOf, Properties};
pub use clock::{stamp, whole_micros};
pub use delivery_rate::{DeliveryRate, DeliverySampler, LostSegment, Stamp};
pub use events::{AckEvent, Feedback, Loss, LossEvent, NewPath, RecoveryStep, SsthreshRule, Undo};
pub use found::{Found, Known};
pub use pacing::Pacer;
pub use params::{ControlParams, Halving, SpecError};
pub use path_policy::PathPolicy;
pub use report::{SenderEvent, SenderEventKind, SenderVariables};
pub use usage::Usage;
pub use window::Window;
pub use windowed_best::WindowedBest;

/// Passes the table of congestion controls to the macro `$use`: a row for each file, with the name in scenarios, the
/// algorithm and a one-line summary with the source. One `by Laws` has another law in a dialect, in a file next to its own.
macro_rules! congestion_controls {
    ($use:ident!) => {
        $use! {
            "bbr" => bbr::Bbr by Laws, "By a model of the path's rate and delay, version 1 (Cardwell et al. 2016).";
            "bbr3" => bbr3::Bbr3, "By a model of the path's rate, delay and losses, version 3 (draft-ietf-ccwg-bbr-06).";
            "cubic" => cubic::Cubic by Laws, "The window is a cubic function of the time since the latest loss (RFC 9438).";
            "dctcp" => dctcp::Dctcp by Laws, "The window falls by the share of segments that were marked (RFC 8257).";
            "prague" => prague::Prague, "DCTCP for the Internet, by accurate ECN and pacing (draft-briscoe-iccrg-prague-congestion-control-04).";
            "reno" => reno::Reno by Laws, "Additive increase, multiplicative decrease (RFC 5681 §3.1).";
            "vegas" => vegas::Vegas by Laws, "By the segments that are in queues (Brakmo & Peterson 1995).";
            #[cfg(test)]
            "paced" => paced::Paced, "One of the tests, which needs all that the sender has.";
        }
    };
}

/// The parameters of an algorithm that has none.
#[derive(Copy, Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParams {}

impl NoParams {
    fn check(&self) -> Result<(), SpecError> {
        Ok(())
    }
}

/// Parameters as a table.
#[derive(Serialize)]
struct Table<'a, P> {
    kind: &'static str,
    #[serde(flatten)]
    params: &'a P,
}

/// The type of a row, and how it is made of its parameters.
macro_rules! row {
    (type $module:ident::$kind:ident) => { controls::$module::$kind };
    (type $module:ident::$kind:ident by Laws) => { LawsOf<controls::$module::Params> };
    (new $params:ident $module:ident::$kind:ident) => { controls::$module::$kind::new($params) };
    (new $params:ident $module:ident::$kind:ident by Laws) => { Choice::law($params) };
}

macro_rules! storage {
    ($($(#[$only:meta])* $name:literal => $module:ident::$kind:ident $(by $laws:ident)?, $summary:literal;)+) => {
        /// A congestion control: `kind` names it, the other fields are its parameters. With the defaults of all of
        /// them the name is enough.
        #[derive(Copy, Clone, PartialEq, Debug, JsonSchema)]
        #[schemars(tag = "kind", transform = allow_names)]
        pub enum CongestionControlSpec {
            $($(#[$only])* #[doc = $summary] #[schemars(rename = $name)] $kind(controls::$module::Params),)+
        }

        /// The congestion controls: name and one-line summary.
        pub const CONGESTION_CONTROLS: &[(&str, &str)] = &[$($(#[$only])* ($name, $summary),)+];

        impl Family for CongestionControlSpec {
            const WHAT: &'static str = "a congestion control";
            const EXAMPLE: &'static str = "\"reno\" or { kind = \"vegas\", alpha = \"2 pkt\" }";
            const NAMES: &'static [&'static str] = &[$($(#[$only])* $name,)+];

            fn read<'de, D: Deserializer<'de>>(kind: &str, fields: D) -> Result<Self, D::Error> {
                match kind {
                    $($(#[$only])* $name => Deserialize::deserialize(fields).map(CongestionControlSpec::$kind),)+
                    _ => Err(serde::de::Error::unknown_variant(kind, Self::NAMES)),
                }
            }
        }

        impl Serialize for CongestionControlSpec {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(
                        $(#[$only])*
                        CongestionControlSpec::$kind(params) if *params == Default::default() => {
                            serializer.serialize_str($name)
                        }
                        $(#[$only])*
                        CongestionControlSpec::$kind(params) => Table { kind: $name, params }.serialize(serializer),
                    )+
                }
            }
        }

        impl CongestionControlSpec {
            /// Which parameter cannot be right, and what to write instead.
            pub fn check(&self) -> Result<(), SpecError> {
                match self {
                    $($(#[$only])* CongestionControlSpec::$kind(params) => params.check(),)+
                }
            }
        }

        /// The congestion control of a connection. In a box, a sender is not larger than its own algorithm needs.
        #[derive(Clone, Debug)]
        pub enum CongestionControl {
            $($(#[$only])* #[doc = $summary] $kind(Box<row!(type $module::$kind $(by $laws)?)>),)+
        }

        impl CongestionControl {
            /// That of a new connection with these parameters.
            pub fn new(spec: &CongestionControlSpec) -> CongestionControl {
                match spec {
                    $(
                        $(#[$only])*
                        CongestionControlSpec::$kind(params) => {
                            CongestionControl::$kind(Box::new(row!(new params $module::$kind $(by $laws)?)))
                        }
                    )+
                }
            }

            /// The algorithm, for all events but the most frequent one.
            #[inline]
            pub fn algorithm(&mut self) -> &mut dyn Algorithm {
                match self {
                    $($(#[$only])* CongestionControl::$kind(algorithm) => &mut **algorithm,)+
                }
            }

            /// As [`Algorithm::on_ack`]. The event is made for each algorithm, so that its unused parts cost nothing.
            #[inline(always)]
            pub fn on_ack(&mut self, window: &mut Window, source: &impl AckSource) {
                match self {
                    $(
                        $(#[$only])*
                        CongestionControl::$kind(algorithm) => {
                            // Apart: an event that is not read is not made.
                            if algorithm.reads_acks() {
                                algorithm.on_ack(window, &source.event(window));
                            } else {
                                algorithm.on_ack(window, &AckEvent::default());
                            }
                        }
                    )+
                }
            }

            /// As [`Algorithm::records_segments`].
            #[inline]
            pub fn records_segments(&self, window: &Window) -> bool {
                match self {
                    $($(#[$only])* CongestionControl::$kind(algorithm) => algorithm.records_segments(window),)+
                }
            }
        }
    };
}
congestion_controls!(storage!);

impl CongestionControlSpec {
    /// As [`Algorithm::properties`].
    pub fn properties(&self) -> Properties {
        CongestionControl::new(self).algorithm().properties()
    }
}

impl<'de> Deserialize<'de> for CongestionControlSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize_or_name(deserializer)
    }
}

/// In the schema, a name is allowed as well as a table.
fn allow_names(schema: &mut Schema) {
    let table = schema.clone();
    let names = CongestionControlSpec::NAMES;
    *schema = json_schema!({ "anyOf": [{ "type": "string", "enum": names }, table] });
}

#[cfg(test)]
mod tests;
