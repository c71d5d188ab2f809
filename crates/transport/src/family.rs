//! The family of transports: a row each. A row makes the transport's parameters in scenarios and its ends in a run.

use crate::endpoints::{Arrival, Endpoints, FlowPacket, StampedSegment, StraightPath};
use crate::parameters::Parameters;
use roamlab_congestion::SenderEvent;
use roamlab_engine::tagged::{self, Family};
use roamlab_engine::{Bytes, Streams, Time};
use roamlab_packet::{BareTcpHeader, Side, Timestamps};
use roamlab_tcp::{Profiles, StampedAck};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::ops::{Deref, DerefMut, Range};

/// A run's part in the ends of a flow.
#[derive(Copy, Clone, Debug)]
pub struct Setting<'a> {
    /// The name of the flow.
    pub flow: &'a str,
    /// The profiles of the scenario.
    pub profiles: Profiles<'a>,
    /// The streams of random numbers of the run.
    pub streams: &'a Streams,
    /// Phase of the sender's clock in ticks from 0 to 1, where ns-2's stream gives it.
    pub clock_phase: Option<f64>,
    /// The flow carries the responses to requests of another flow, which has opened the connection.
    pub is_opened: bool,
    /// The data goes from a host that moves to one that does not.
    pub uploads: bool,
    /// The ends of the flow before this one, if there is one: both may share their parameters.
    pub previous: Option<&'a Transport>,
}

/// A row is the name in scenarios, the module, the variant and a summary. The module has `Spec`, the parameters,
/// `Ends`, the ends, and the function `ends`, which makes these of those.
macro_rules! transports {
    ($($name:literal => $module:ident as $type:ident: $summary:literal,)+) => {
        /// Transport of a flow's data: `kind` names the transport, the other fields are its parameters.
        #[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub enum TransportSpec {
            $(
                #[doc = $summary]
                #[serde(rename = $name)]
                $type(Box<crate::$module::Spec>),
            )+
        }

        /// Names and one-line summaries of all transports.
        pub const TRANSPORTS: &[(&str, &str)] = &[$(($name, $summary),)+];

        impl Family for TransportSpec {
            const WHAT: &'static str = "a transport";
            const EXAMPLE: &'static str = "{ kind = \"tcp\", variant = \"reno\" }";
            const NAMES: &'static [&'static str] = &[$($name,)+];

            fn read<'de, D: Deserializer<'de>>(kind: &str, fields: D) -> Result<Self, D::Error> {
                match kind {
                    $($name => Box::<crate::$module::Spec>::deserialize(fields).map(TransportSpec::$type),)+
                    _ => Err(serde::de::Error::unknown_variant(kind, Self::NAMES)),
                }
            }
        }

        impl Deref for TransportSpec {
            type Target = dyn Parameters;

            fn deref(&self) -> &(dyn Parameters + 'static) {
                match self { $(TransportSpec::$type(spec) => &**spec,)+ }
            }
        }

        impl TransportSpec {
            /// The ends of a flow; `None`: the check refuses these parameters.
            pub fn ends(&self, setting: &Setting<'_>) -> Option<Transport> {
                match self {
                    $(TransportSpec::$type(spec) => crate::$module::ends(spec, setting).map(Transport::$type),)+
                }
            }

            $(
                #[doc = concat!("The parameters of `", $name, "`, if it is that.")]
                pub fn $module(&self) -> Option<&crate::$module::Spec> {
                    match self {
                        TransportSpec::$type(spec) => Some(spec),
                        _ => None,
                    }
                }
            )+
        }

        /// The ends of a flow.
        ///
        /// What every packet needs is called directly, all else through [`Endpoints`].
        #[derive(Clone, Debug)]
        pub enum Transport {
            $(#[doc = $summary] $type(crate::$module::Ends),)+
        }

        /// Evaluates an expression over the ends, whichever they are.
        macro_rules! over {
            ($transport:expr, $ends:ident => $value:expr) => {
                match $transport { $(Transport::$type($ends) => $value,)+ }
            };
        }

        impl Transport {
            /// The name in scenarios.
            pub fn name(&self) -> &'static str {
                match self { $(Transport::$type(_) => $name,)+ }
            }

            /// As [`Endpoints::poll`], called directly.
            #[inline(always)]
            pub fn poll(&mut self, side: Side, now: Time) -> Option<FlowPacket> {
                match self { $(Transport::$type(ends) => ends.poll(side, now),)+ }
            }

            /// As [`Endpoints::deadline`], called directly.
            #[inline(always)]
            pub fn deadline(&self, side: Side) -> Option<Time> {
                match self { $(Transport::$type(ends) => ends.deadline(side),)+ }
            }

            /// As [`Endpoints::poll_event`], called directly.
            #[inline(always)]
            pub fn poll_event(&mut self) -> Option<SenderEvent> {
                match self { $(Transport::$type(ends) => ends.poll_event(),)+ }
            }

            /// As [`Endpoints::deliver`], of a packet that is made for each transport by its own code: what the transport
            /// does not read is not copied.
            #[inline(always)]
            pub fn deliver(
                &mut self,
                side: Side,
                packet: impl FnOnce() -> FlowPacket,
                now: Time,
            ) -> Option<Arrival> {
                match self { $(Transport::$type(ends) => ends.deliver(side, packet(), now),)+ }
            }
        }
    };
}

transports! {
    "tcp" => tcp as Tcp: "A byte stream with recovery and congestion control; a profile fills in what is left out",
    "quic" => quic as Quic: "A stream over UDP with the recovery, pacing and congestion control of RFC 9002",
    "quinn" => quinn as Quinn: "The QUIC stack quinn-proto itself, in a build with the feature `quinn`",
    "linux" => linux as Linux: "TCP of a real Linux kernel in simulated time, which `roamlab kernel build` has built",
    "udp" => udp as Udp: "Datagrams as the application offers them",
}

impl Default for TransportSpec {
    fn default() -> TransportSpec {
        TransportSpec::Udp(Box::default())
    }
}

impl Default for Transport {
    fn default() -> Transport {
        Transport::Udp(Default::default())
    }
}

impl<'de> Deserialize<'de> for TransportSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}

impl Deref for Transport {
    type Target = dyn Endpoints;

    #[inline]
    fn deref(&self) -> &(dyn Endpoints + 'static) {
        over!(self, ends => ends)
    }
}

impl DerefMut for Transport {
    #[inline]
    fn deref_mut(&mut self) -> &mut (dyn Endpoints + 'static) {
        over!(self, ends => ends)
    }
}

impl StraightPath for Transport {
    #[inline(always)]
    fn prefetch(&self, side: Side) {
        over!(self, ends => ends.prefetch(side));
    }

    #[inline(always)]
    fn on_bare_ack(&mut self, header: &BareTcpHeader, now: Time) -> bool {
        over!(self, ends => ends.on_bare_ack(header, now))
    }

    #[inline(always)]
    fn on_pacing_deadline(&mut self, now: Time) -> bool {
        over!(self, ends => ends.on_pacing_deadline(now))
    }

    #[inline(always)]
    fn take_quota(&mut self) -> (Range<u32>, Bytes) {
        over!(self, ends => ends.take_quota())
    }

    #[inline(always)]
    fn bare_segment(&mut self, segment: u32, now: Time) -> BareTcpHeader {
        over!(self, ends => ends.bare_segment(segment, now))
    }

    #[inline(always)]
    fn end_quota(&mut self, now: Time) -> Option<Time> {
        over!(self, ends => ends.end_quota(now))
    }

    #[inline(always)]
    fn on_bare_segment(&mut self, header: &BareTcpHeader, now: Time) -> Option<bool> {
        over!(self, ends => ends.on_bare_segment(header, now))
    }

    #[inline(always)]
    fn bare_answer(&self, is_due: bool) -> (Option<Time>, Option<(BareTcpHeader, Bytes)>) {
        over!(self, ends => ends.bare_answer(is_due))
    }

    #[inline(always)]
    fn is_stamped(&self) -> bool {
        over!(self, ends => ends.is_stamped())
    }

    #[inline(always)]
    fn on_stamped_ack(&mut self, header: &BareTcpHeader, stamps: Timestamps, now: Time) -> bool {
        over!(self, ends => ends.on_stamped_ack(header, stamps, now))
    }

    #[inline(always)]
    fn next_stamped(&mut self, now: Time) -> Option<StampedSegment> {
        over!(self, ends => ends.next_stamped(now))
    }

    #[inline(always)]
    fn end_stamped(&mut self, by_ack: bool, has_sent: bool, now: Time) -> Option<Time> {
        over!(self, ends => ends.end_stamped(by_ack, has_sent, now))
    }

    #[inline(always)]
    fn on_stamped_segment(
        &mut self,
        header: &BareTcpHeader,
        stamps: Timestamps,
        now: Time,
    ) -> Option<StampedAck> {
        over!(self, ends => ends.on_stamped_segment(header, stamps, now))
    }

    #[inline(always)]
    fn stamped_answer(&self, is_due: bool, now: Time) -> (Option<Time>, Option<StampedSegment>) {
        over!(self, ends => ends.stamped_answer(is_due, now))
    }
}
