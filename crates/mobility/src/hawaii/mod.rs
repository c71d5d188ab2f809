//! HAWAII: a host keeps its address in a domain. Routers have an entry for it, which is set up hop by hop when it
//! moves.
//!
//! Sources: Ramjee, La Porta, Thuel, Varadhan, Wang, "HAWAII: a domain-based approach for supporting mobility in
//! wide-area wireless networks", ICNP 1999 (IEEE/ACM ToN 10(3), 2002), and draft-ietf-mobileip-hawaii-01. Of both,
//! summaries were read and not the text. \[ripple\] section II.B. The protocol is a composition of
//! [blocks](crate::blocks).
//!
//! # Message charts
//!
//! Non-forwarding (UNF, MNF): the update goes from the new base station to the old one.
//!
//! ```text
//!     host        new BS        cross-over        old BS
//!       |~~ there ~~|               |               |
//!       |--registration-->          |               |  RegistrationSent
//!       |           |--path-update->|               |  CrossOverSwitched; MNF: BicastBegun
//!       |           |               |--path-update->|
//!       |           |<------path-acknowledge--------|  PathSetUp
//!       |<--registration-acknowledge                |  Registered
//! ```
//!
//! Forwarding (MSF, SSF): the update goes directly to the old base station and returns hop by hop.
//!
//! ```text
//!     host        new BS        cross-over        old BS
//!       |~~ gone ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~|  keeps packets
//!       |~~ there ~~|               |               |
//!       |--registration-->          |               |  RegistrationSent
//!       |           |----------path-update--------->|
//!       |           |               |<= kept ones ==|  ForwardingBegun
//!       |           |<-path-update--|<-path-update--|  MSF: CrossOverSwitched; PathSetUp
//!       |<--registration-acknowledge                |  Registered
//!       |           |-path-switch-->|--path-switch->|  SSF: HoldBegun, CrossOverSwitched
//!       |           |<-path-switch--|<-path-switch--|  SSF: what was held back follows
//! ```
//!
//! A host that is new in the domain has a power-up sent up to the gateway, which acknowledges it. Each node refreshes the
//! entries of hosts below it at the next one up, by its own clock.
//!
//! # Recovery of lost messages
//!
//! | lost | recovered by |
//! | --- | --- |
//! | beacon | the next one |
//! | registration, registration-acknowledge | the host, after 100 ms, doubling |
//! | path-update, path-power-up, path-acknowledge | the new base station, after 100 ms, twice; then by the host's next registration |
//! | path-switch | the new base station, after 100 ms, twice; a hold ends after the prune timer; then by refreshes |
//! | path-refresh | the next one; entries live for three |
//!
//! ASSUMPTION: path set-up follows the paths of data between gateway and base stations, of which each node has one, and
//! takes no short cuts between branches.
//!
//! ASSUMPTION: a registration names the base station of the last registration and those that the host has tried since;
//! the sources name one.
//!
//! ASSUMPTION: with SSF the switch continues to the old base station and returns behind the packets that were
//! forwarded, and the crossover node holds packets from the root for that time. Without (`ordered_switch = false`)
//! these overtake those on the path via the old base station.
//!
//! ASSUMPTION: base stations keep nothing with UNF and MNF.
//!
//! ASSUMPTION: all nodes' clocks agree, so registrations can be compared.
//!
//! DEVIATION: no paging, and no handovers between domains: the home agent has no part.

use crate::Domain;
use crate::blocks::{BufferPlace, Detection, HandoverBuffer, SoftState};
use roamlab_engine::{Duration, Packets};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod base_station;
mod entries;
mod install;
mod message;
mod mobile_host;
mod phase;
mod refresher;
mod router;
#[cfg(test)]
mod tests;
mod tree_position;

pub use base_station::BaseStation;
pub use message::{Ends, Kind};
pub use mobile_host::MobileHost;
pub use phase::Phase;
pub use router::Router;
pub use tree_position::TreePosition;

/// A message of the protocol.
pub type Message = crate::Signal<Kind>;
type Input = crate::Input<Message>;
type Action = crate::Action<Message, Phase>;

crate::roles! {
    /// A role of HAWAII at one node.
    Hawaii:
    /// The host that moves.
    MobileHost,
    /// A base station, where the path to a host ends.
    BaseStation,
    /// A node of the access network above; the gateway is its root (domain root router).
    Router,
}

/// How a path is set up when a host has moved.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// Unicast non-forwarding: from the new base station to the old one; the cross-over switches immediately.
    Unf,
    /// Multicast non-forwarding: the same, and the cross-over sends packets to both for a while.
    Mnf,
    /// Multiple stream forwarding: from the old base station, which forwards what it keeps, to the new one.
    Msf,
    /// Single stream forwarding: the same with entries by where packets come from, so that they stay in order.
    Ssf,
}

/// HAWAII: parameters of all roles.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The part of the network that it is about; absent: all.
    #[serde(skip_serializing_if = "Domain::is_whole")]
    pub domain: Domain,
    /// How paths are set up. Default "unf".
    pub scheme: Scheme,
    /// (MNF) how long the cross-over sends packets to both base stations. ASSUMPTION: the sources specify a
    /// short time. Default 100 ms.
    pub bicast: Duration,
    /// (MSF, SSF) buffering at the base station that the host has left, and with SSF at the cross-over: `at` is "old".
    pub buffer: HandoverBuffer,
    /// (SSF) the cross-over holds packets back until those on the way round the old base station have passed. Default
    /// true.
    pub ordered_switch: bool,
    /// How a host learns that it has moved.
    pub detection: Detection,
    /// Soft state of entries and registrations.
    pub entries: SoftState,
    /// First repetition of a registration, each later one waiting twice as long; repetition of path set-up messages.
    /// Default 100 ms.
    pub retransmit: Duration,
}

/// Longest time between two repetitions of a registration; a first one that is longer stays.
const RETRANSMIT_LIMIT: Duration = Duration::from_secs(1);

/// How often a base station repeats a path set-up message.
const RETRANSMISSIONS: u32 = 2;

impl Default for Params {
    fn default() -> Self {
        Params {
            domain: Domain::default(),
            scheme: Scheme::Unf,
            bicast: Duration::from_millis(100),
            buffer: HandoverBuffer { at: BufferPlace::Old, ..HandoverBuffer::default() },
            ordered_switch: true,
            detection: Detection::default(),
            entries: SoftState::default(),
            retransmit: Duration::from_millis(100),
        }
    }
}

impl Params {
    /// True if a base station keeps packets of a host that has left.
    fn keeps(&self) -> bool {
        self.scheme.forwards() && self.buffer.limit > Packets(0)
    }

    /// True if a cross-over holds packets back.
    fn holds_at_switch(&self) -> bool {
        self.scheme == Scheme::Ssf && self.ordered_switch && self.buffer.limit > Packets(0)
    }
}
