//! The transport of a flow's data in a scenario: a family of kinds, one row each.

use crate::QuinnSpec;
use roamlab_engine::tagged::{self, Family};
use roamlab_quic::QuicSpec;
use roamlab_tcp::TcpSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// UDP. It has no parameters.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UdpSpec {}

macro_rules! transports {
    ($($name:literal => $type:ident($spec:ty), $get:ident -> $fields:ty: $summary:literal,)+) => {
        /// What carries a flow's data: `kind` names the transport, the other fields are its parameters.
        #[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub enum TransportSpec {
            $(
                #[doc = $summary]
                #[serde(rename = $name)]
                $type($spec),
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
                    $($name => <$spec>::deserialize(fields).map(TransportSpec::$type),)+
                    _ => Err(serde::de::Error::unknown_variant(kind, Self::NAMES)),
                }
            }
        }

        impl TransportSpec {
            $(
                #[doc = concat!("The parameters of `", $name, "`, if it is that.")]
                pub fn $get(&self) -> Option<&$fields> {
                    match self {
                        TransportSpec::$type(spec) => Some(spec),
                        _ => None,
                    }
                }
            )+
        }
    };
}

transports! {
    "tcp" => Tcp(Box<TcpSpec>), tcp -> TcpSpec: "A byte stream with recovery and congestion control; the run's profile fills in what is left out",
    "quic" => Quic(Box<QuicSpec>), quic -> QuicSpec: "A stream over UDP with the recovery, pacing and congestion control of RFC 9002",
    "quinn" => Quinn(QuinnSpec), quinn -> QuinnSpec: "The QUIC stack quinn-proto itself, in a build with the feature `quinn`",
    "linux" => Linux(crate::LinuxSpec), linux -> crate::LinuxSpec: "TCP of a real Linux kernel in simulated time, which `roamlab kernel build` has built",
    "udp" => Udp(UdpSpec), udp -> UdpSpec: "Datagrams as the application offers them",
}

impl Default for TransportSpec {
    fn default() -> TransportSpec {
        TransportSpec::Udp(UdpSpec {})
    }
}

impl<'de> Deserialize<'de> for TransportSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}

impl TransportSpec {
    /// Whether it is a connection, with acknowledgements.
    pub fn has_connection(&self) -> bool {
        !matches!(self, TransportSpec::Udp(_))
    }
}
