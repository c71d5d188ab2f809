//! The two messages.

use crate::{Identification, Signal};
use roamlab_engine::Bytes;
use roamlab_packet::Addr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A signalling message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// Host to gateway: I am here.
    Update {
        /// The host's home address.
        host: Addr,
        /// Where it is.
        base_station: Addr,
        /// The host's clock: what is older never overrides what is newer.
        id: Identification,
    },
    /// Gateway to host: I know.
    Acknowledge {
        /// The host's home address.
        host: Addr,
        /// That of the update.
        id: Identification,
    },
}

/// Sizes of messages on the wire, headers included.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// Of `location-update`.
    pub update: Bytes,
    /// Of `location-acknowledge`.
    pub acknowledge: Bytes,
}

impl Signal for Message {
    type Sizes = Sizes;

    const NAMES: &'static [&'static str] = &["location-update", "location-acknowledge"];

    fn name(&self) -> &'static str {
        match self {
            Message::Update { .. } => Self::NAMES[0],
            Message::Acknowledge { .. } => Self::NAMES[1],
        }
    }

    fn host(&self) -> Option<Addr> {
        match self {
            Message::Update { host, .. } | Message::Acknowledge { host, .. } => Some(*host),
        }
    }

    fn size(&self, sizes: &Sizes) -> Bytes {
        match self {
            Message::Update { .. } => sizes.update,
            Message::Acknowledge { .. } => sizes.acknowledge,
        }
    }
}
