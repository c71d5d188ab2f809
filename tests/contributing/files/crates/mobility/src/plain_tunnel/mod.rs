//! A protocol to learn from: a host tells its gateway where it is, and the gateway tunnels to that base station.
//!
//! Source: none; a tunnel to the current cell is what every protocol with an anchor has in common.
//!
//! # Message chart
//!
//! ```text
//!    host                base station            gateway
//!      |~~~~ layer 2 ~~~~~~~~~~|                    |
//!      |-------------- update --------------------->|    UpdateSent
//!      |                       |<====== tunnel =====|    PathSwitched
//!      |<------------- acknowledge -----------------|    Completed
//! ```
//!
//! A lost update or acknowledge: the host repeats the update.

use crate::Domain;
use roamlab_engine::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod base_station;
mod gateway;
mod install;
mod message;
mod mobile_host;
mod phase;
#[cfg(test)]
mod tests;

pub use base_station::BaseStation;
pub use gateway::Gateway;
pub use message::Kind;
pub use mobile_host::MobileHost;
pub use phase::Phase;

/// A message of the protocol.
pub type Message = crate::Signal<Kind>;
type Input = crate::Input<Message>;
type Action = crate::Action<Message, Phase>;

/// Parameters of all roles.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The part of the network that it is about; absent: all.
    #[serde(skip_serializing_if = "Domain::is_whole")]
    pub domain: Domain,
    /// Time between two updates while none is acknowledged. Default 200 ms.
    pub retransmit: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Params { domain: Domain::default(), retransmit: Duration::from_millis(200) }
    }
}

crate::roles! {
    /// A role of the protocol at one node.
    PlainTunnel:
    /// The host that moves.
    MobileHost,
    /// A base station.
    BaseStation,
    /// Where the tunnels begin.
    Gateway,
}
