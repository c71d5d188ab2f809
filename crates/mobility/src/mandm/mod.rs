//! Multicast-based micro-mobility (M&M): a host's packets reach base stations through a tree that these join and prune.
//!
//! Sources: \[ripple\] section II.C (candidate set, triggers, caching, bicast); Helmy, Jaseemuddin, Bhaskara,
//! "Multicast-based mobility: a novel architecture for efficient micromobility", IEEE JSAC 22(4), 2004, of which only
//! the abstract was read. The protocol is a composition of [blocks](crate::blocks): its fields make the paper's schemes
//! "Buffer", "noBuffer" and "biCast".
//!
//! # Message chart
//!
//! A source trigger, and a buffer at the new base station. The host leaves cell A at 0.
//!
//! ```text
//!     host          new BS       old BS       router (cross-over)      border router
//!       |             |             |  predicted       |                     |
//!       |             |<--trigger---|                  |                     |  TriggerSent
//!       |             |--join------------------------->|  branch to new BS   |  CrossOverJoined
//!       |             |<--join-acknowledge-------------|                     |  CandidateJoined
//!       |             |<====== copies, kept ===========|                     |
//!       |<======================== data ===============|                     |
//!       |~~ layer 2: gone ~~~~~~~~~~|                  |                     |
//!       |~~ layer 2: there ~~|      |                  |                     |
//!       |--attach---->|             |                  |                     |  AttachSent
//!       |<== buffer ==|             |                  |                     |  Flushed
//!       |<--attach-acknowledge      |                  |                     |  Attached
//!       |             |--moved----->|                  |                     |
//!       |             |             |--prune---------->|  no branch there    |  BranchReleased
//! ```
//!
//! Without a trigger the join follows the attach. A join goes up hop by hop to the first router on the tree, which
//! acknowledges it; the routers on its path pass the acknowledge down. Members repeat their joins (soft state).
//!
//! # Recovery of lost messages
//!
//! | lost | recovered by |
//! | --- | --- |
//! | beacon | the next one |
//! | trigger | the reactive join after the attach |
//! | attach, attach-acknowledge | the host, after 100 ms, doubling |
//! | aaa-request, aaa-answer | the base station, after 100 ms, doubling, five times; then the next attach |
//! | join, join-acknowledge | the node that joins, after 100 ms, doubling |
//! | moved | the prune timer of the old base station, which knows from layer 2 that the host has gone |
//! | prune of a router | it again, at a packet that comes 100 ms later |
//! | prune of a base station | the lifetime of the branch; until then copies end there |
//!
//! ASSUMPTION: the leaves of the tree are base stations, each a separate access router: \[ripple\] has handovers only
//! between sub-domains.
//!
//! ASSUMPTION: the border router maps a host's address to its group by an algorithm (abstract of the JSAC paper). So no
//! message sets the mapping up, and one group represents one host; the translation adds no bytes.
//!
//! ASSUMPTION: all nodes' clocks agree, so identifications can be compared.
//!
//! ASSUMPTION: \[ripple\] section II.C names "Authentication Authorization and Accounting (AAA) functions with the new BS
//! and AR" as a part of a handover, and no message. With `authentication` a base station asks a server about each host that
//! attaches there, once for each stay, and lets the attach have its effects when that accepts. A refused host gets no
//! answer, and repeats its attach.
//!
//! DEVIATION: one border router per host; a tree has no rendezvous with others.

use crate::Domain;
use crate::blocks::{Authentication, Detection, HandoverBuffer, Redundancy, Trigger};
use roamlab_engine::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod aaa_server;
mod access_router;
mod graft;
mod install;
mod message;
mod mobile_host;
mod phase;
mod router;
#[cfg(test)]
mod tests;

pub use aaa_server::AaaServer;
pub use access_router::AccessRouter;
pub use message::Kind;
pub use mobile_host::MobileHost;
pub use phase::Phase;
pub use router::Router;

/// A message of the protocol.
pub type Message = crate::Signal<Kind>;
type Input = crate::Input<Message>;
type Action = crate::Action<Message, Phase>;

crate::roles! {
    /// A role of M&M at one node.
    #[expect(clippy::large_enum_variant, reason = "most nodes with a role are base stations")]
    Mandm:
    /// The host that moves.
    MobileHost,
    /// A base station: a leaf of the tree.
    AccessRouter,
    /// The server that base stations ask about hosts.
    AaaServer,
    /// A node of the tree above; the border router is its root.
    Router,
}

/// M&M: parameters of all roles.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The part of the network that it is about; absent: all.
    #[serde(skip_serializing_if = "Domain::is_whole")]
    pub domain: Domain,
    /// How a host learns that it has moved.
    pub detection: Detection,
    /// Recipients of the advance notice.
    pub trigger: Trigger,
    /// How long the old branch stays next to the new one.
    pub redundancy: Redundancy,
    /// Buffering while the host changes cells.
    pub buffer: HandoverBuffer,
    /// The server that base stations ask about a host that attaches. Absent: they accept every host immediately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<Authentication>,
}

/// First retransmission of an attach and of a join; each later one waits twice as long.
const RETRANSMIT: Duration = Duration::from_millis(100);

/// Longest time between two retransmissions; a first one that is longer stays.
const RETRANSMIT_LIMIT: Duration = Duration::from_secs(1);
