//! The fields of a connection of quinn in a scenario.

use roamlab_congestion::SpecError;
use roamlab_engine::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A congestion control of quinn.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QuinnControl {
    /// quinn's CUBIC, as of RFC 8312; its default.
    Cubic,
    /// quinn's NewReno, as of RFC 9002 §7.
    NewReno,
}

/// A connection of quinn. What is not here has quinn's default.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct QuinnSpec {
    /// UDP payload of a full packet (quinn's `initial_mtu`; the path's MTU is not searched).
    pub datagram: Bytes,
    /// Congestion control, one of quinn's.
    pub congestion_control: QuinnControl,
    /// The end at a host that moves gets a new address with each cell; `false`: its address stays.
    pub migration: bool,
}

impl Default for QuinnSpec {
    fn default() -> QuinnSpec {
        QuinnSpec { datagram: Bytes(1200), congestion_control: QuinnControl::Cubic, migration: false }
    }
}

/// Most bytes that are not data in a full packet. A short header has an ID of 8 bytes and a number of 4 (1 + 8 + 4), and the
/// tag has 16. A STREAM frame has an identifier of 1 byte, an offset of 8 and a length of 2 (1 + 1 + 8 + 2).
const OVERHEAD: u64 = 41;
/// IPv4 and UDP headers.
const IP_UDP: u64 = 28;
/// quinn's smallest `initial_mtu` (RFC 9000 §14), and the largest payload that its ends accept.
const DATAGRAMS: std::ops::RangeInclusive<u64> = 1200..=1472;

impl QuinnSpec {
    /// The unit in which a file is offered and data is numbered: the least data in a full packet.
    pub fn segment(&self) -> Bytes {
        Bytes(self.datagram.0 - OVERHEAD)
    }

    /// The IP datagram of a full packet.
    pub fn packet_size(&self) -> Bytes {
        Bytes(self.datagram.0 + IP_UDP)
    }

    /// Which field cannot be right, and what to write instead.
    pub fn check(&self) -> Result<(), SpecError> {
        if DATAGRAMS.contains(&self.datagram.0) {
            return Ok(());
        }
        let (size, least, most) = (self.datagram, Bytes(*DATAGRAMS.start()), Bytes(*DATAGRAMS.end()));
        Err(("datagram", format!("must be \"{least}\" to \"{most}\", not \"{size}\"; write \"1200 B\"")))
    }
}
