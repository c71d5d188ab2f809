//! Cellular IP: packets from a host, on their path to the gateway, set the routes of packets for the host at each node.
//!
//! Sources: Valkó, "Cellular IP: a new approach to Internet host mobility", 1999; Campbell et al., "Design,
//! implementation, and evaluation of Cellular IP", 2000; draft-ietf-mobileip-cellularip-00, expired. They were not read
//! again: the values are those that the literature repeats. The protocol is a composition of [blocks](crate::blocks).
//!
//! # Message chart
//!
//! Semisoft handoff of a host that receives from two base stations. The route update with the flag S adds a route at
//! the crossover node. The regular one, a semisoft delay later, makes it the only one.
//!
//! ```text
//!     host        new BS            cross-over             gateway
//!       |~~ there ~~|                   |                     |
//!       |--route-update S-->            |                     |  SemisoftSent
//!       |           |--route-update S-->| way to new BS added |  RouteAdded
//!       |           |                   |--route-update S---->|
//!       |<========== old way ===========|                     |
//!       |           |<= delay equaliser=|                     |
//!       |           |                   |                     |
//!       |--route-update---->            |                     |  RouteUpdateSent
//!       |           |--route-update---->| old way ended,      |  RouteSwitched
//!       |           |<== what waited ===| equaliser emptied   |
//!       |           |                   |--route-update------>|
//! ```
//!
//! With hard handoff there is only the regular one. A host that receives from one base station at a time cannot send
//! the first through the new one. If the old base station is notified in advance, it makes the new one send it
//! (semisoft-trigger).
//!
//! A host that neither sends nor receives is idle: it updates only the paging caches, and only when it changes its
//! paging area. The first packet for it follows the paging caches. Below the root of a paging area, where there are
//! none, it goes to all cells.
//!
//! # Recovery of lost messages
//!
//! | lost | recovered by |
//! | --- | --- |
//! | beacon, gateway-beacon | the next one |
//! | route-update | the next one of an active host, after the route-update time |
//! | route-update S, semisoft-trigger | the regular update: a hard handoff |
//! | paging-update | the next one of an idle host, after the paging-update time |
//!
//! ASSUMPTION: data packets of a host keep routes alive that its control packets have set, and set none (as in the
//! draft, which authenticates control packets only). A data packet has no time, and a late one would return packets to
//! an old route. So an active host sends its route updates whether it sends data or not.
//!
//! ASSUMPTION: all nodes' clocks agree.
//!
//! DEVIATION: no paging-teardown; a host that leaves coverage is forgotten after the timeouts. Route updates are not
//! authenticated.

use crate::Domain;
use crate::blocks::{Detection, Equaliser, Trigger};
use roamlab_engine::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod caches;
mod install;
mod message;
mod mobile_host;
mod node;
mod phase;
#[cfg(test)]
mod tests;

pub use message::Kind;
pub use mobile_host::MobileHost;
pub use node::Node;
pub use phase::Phase;

/// A message of the protocol.
pub type Message = crate::Signal<Kind>;
type Input = crate::Input<Message>;
type Action = crate::Action<Message, Phase>;

crate::roles! {
    /// A role of Cellular IP at one node.
    CellularIp:
    /// The host that moves.
    MobileHost,
    /// A node of the access network: base station, router or gateway.
    Node,
}

/// How a host changes base stations.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Handoff {
    /// The new way replaces the old one immediately.
    Hard,
    /// For the semisoft delay packets take both.
    Semisoft,
}

/// Cellular IP: parameters of all roles.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The part of the network that it is about; absent: all.
    #[serde(skip_serializing_if = "Domain::is_whole")]
    pub domain: Domain,
    /// How a host changes base stations. Default "hard".
    pub handoff: Handoff,
    /// Who has the semisoft packet sent for a host that hears one base station at a time; its lead is the semisoft delay
    /// then. Default "none".
    pub trigger: Trigger,
    /// The constant delay of copies on the new way, until a packet of the host comes from there.
    pub equaliser: Equaliser,
    /// How a host learns that it has moved.
    pub detection: Detection,
    /// Time between two route updates of an active host. Default 3 s.
    pub route_update_time: Duration,
    /// A way in a route cache ends this long after it was refreshed. Default 9 s.
    pub route_timeout: Duration,
    /// Time between two paging updates of an idle host. Default 3 min.
    pub paging_update_time: Duration,
    /// A regular route update from a new base station leaves the old way to its timeout, with copies. Default false.
    pub keep_stale: bool,
    /// Nodes below which there are no paging caches: the base stations below each are one paging area. Default none: each
    /// base station is an area.
    pub paging_areas: Vec<String>,
    /// Time between two beacons of the gateway, which tell nodes their way to it; absent: they know the shortest one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway_beacon_interval: Option<Duration>,
}

/// From the semisoft packet to the regular route update, of a host that hears two base stations. The sources
/// specify at least a round trip to the gateway.
const SEMISOFT_DELAY: Duration = Duration::from_millis(100);

/// A way in a paging cache ends this long after it was refreshed.
const PAGING_TIMEOUT: Duration = Duration::from_secs(540);

/// A host is idle when it has neither sent nor received data for this long.
const ACTIVE_STATE_TIMEOUT: Duration = Duration::from_secs(5);

impl Default for Params {
    fn default() -> Self {
        Params {
            domain: Domain::default(),
            handoff: Handoff::Hard,
            trigger: Trigger::default(),
            equaliser: Equaliser::default(),
            detection: Detection::default(),
            route_update_time: Duration::from_secs(3),
            route_timeout: Duration::from_secs(9),
            paging_update_time: Duration::from_secs(180),
            keep_stale: false,
            paging_areas: Vec::new(),
            gateway_beacon_interval: None,
        }
    }
}
