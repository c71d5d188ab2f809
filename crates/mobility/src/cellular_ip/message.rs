//! The messages of Cellular IP and their sizes on the wire.

use crate::{Identification, Signal};
use roamlab_engine::Bytes;
use roamlab_packet::Addr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A signalling message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The host's home address; `None`: a beacon, which is about none.
    pub host: Option<Addr>,
    /// The time stamp of what is about a host; the number of a gateway's beacon.
    pub id: Identification,
    /// What it says.
    pub kind: Kind,
}

/// What a message says.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Base station → all: this cell is here.
    BaseStationBeacon,
    /// Gateway → all nodes, each to the next: the way to me is where this comes from.
    GatewayBeacon,
    /// Mobile host → base station → … → gateway: packets for me this way.
    RouteUpdate {
        /// Flag S: this way too.
        semisoft: bool,
    },
    /// The same of an idle host, for paging caches.
    PagingUpdate,
    /// Old → new base station: send a semisoft route update for this host.
    SemisoftTrigger,
}

/// Sizes of messages on the wire, headers included. ASSUMPTION: the papers give none; an IP header and 20 to 28 bytes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sizes {
    /// A beacon of a base station or of the gateway. Default 24 B.
    pub beacon: Bytes,
    /// A route update. Default 48 B.
    pub route_update: Bytes,
    /// A paging update. Default 48 B.
    pub paging_update: Bytes,
    /// A semisoft trigger. Default 48 B.
    pub trigger: Bytes,
}

impl Default for Sizes {
    fn default() -> Self {
        let (route_update, paging_update, trigger) = (Bytes(48), Bytes(48), Bytes(48));
        Sizes { beacon: Bytes(24), route_update, paging_update, trigger }
    }
}

impl Sizes {
    /// All, by field.
    pub fn all(&self) -> [(&'static str, Bytes); 4] {
        let Sizes { beacon, route_update, paging_update, trigger } = *self;
        [
            ("beacon", beacon),
            ("route_update", route_update),
            ("paging_update", paging_update),
            ("trigger", trigger),
        ]
    }
}

impl Signal for Message {
    type Sizes = Sizes;

    const NAMES: &'static [&'static str] =
        &["base-station-beacon", "gateway-beacon", "route-update", "paging-update", "semisoft-trigger"];

    fn name(&self) -> &'static str {
        let place = match self.kind {
            Kind::BaseStationBeacon => 0,
            Kind::GatewayBeacon => 1,
            Kind::RouteUpdate { .. } => 2,
            Kind::PagingUpdate => 3,
            Kind::SemisoftTrigger => 4,
        };
        Self::NAMES[place]
    }

    fn host(&self) -> Option<Addr> {
        self.host
    }

    fn size(&self, sizes: &Sizes) -> Bytes {
        match self.kind {
            Kind::BaseStationBeacon | Kind::GatewayBeacon => sizes.beacon,
            Kind::RouteUpdate { .. } => sizes.route_update,
            Kind::PagingUpdate => sizes.paging_update,
            Kind::SemisoftTrigger => sizes.trigger,
        }
    }
}
