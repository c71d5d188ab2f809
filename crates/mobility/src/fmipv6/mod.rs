//! FMIPv6: fast handovers, predictive and reactive, with an anchor that tunnels a host's packets.
//!
//! Source: RFC 5568 (Mobile IPv6 Fast Handovers); the anchor is the MAP of HMIPv6 (RFC 5380). The texts were not read
//! again for this: section numbers, sizes of options and defaults are from memory. The protocol is a composition of
//! [blocks](crate::blocks): detection, trigger, buffering, soft state.
//!
//! # Message chart
//!
//! A predictive handover with a buffer at the new access router (NAR). The host leaves the previous one (PAR) at 0.
//!
//! ```text
//!     host           PAR            NAR           anchor
//!       |             |  predicted   |               |
//!       |<--prrtadv---|              |               |  PredictionSent
//!       |--fbu------->|              |               |
//!       |             |--hi--------->|  keeps        |  Prepared
//!       |             |<--hack-------|               |
//!       |<--fback-----|              |               |  TunnelStarted
//!       |             |==== data ===>|               |
//!       |~~ layer 2: gone ~~|        |               |
//!       |~~ layer 2: there ~~~~~~~~~~|               |
//!       |--una---------------------->|               |  UnaSent
//!       |<========= buffer ==========|               |  Flushed
//!       |--local-binding-update--------------------->|  AnchorSwitched
//!       |<--local-binding-acknowledge----------------|  Bound
//!       |--rtsolpr------------------>|               |
//!       |<--prrtadv------------------|               |
//!       |             |  lifetime    |               |  TunnelEnded
//! ```
//!
//! In a reactive handover, and when the fback has not arrived before the host moves, the host sends the fbu from the
//! new link, after the una. The PAR tunnels from then on. A host that does not leave as predicted withdraws its fbu.
//!
//! # Recovery of lost messages
//!
//! | lost | recovered by |
//! | --- | --- |
//! | prrtadv without an rtsolpr | the reactive handover |
//! | rtsolpr, its prrtadv | the host, after 100 ms, doubling, three times |
//! | fbu, fback on the old link | the same, and the fbu from the new link |
//! | hi, hack | the PAR, after 100 ms, doubling, three times; the fbu from the new link |
//! | fbu, fback on the new link | the host, after 100 ms, doubling, three times; then the update of the anchor |
//! | una | the una that comes with each repetition of the rtsolpr |
//! | local-binding-update, local-binding-acknowledge | the host sends una and update, after 100 ms, doubling, without end |
//! | advertisement | the next one |
//!
//! ASSUMPTION: access routers are base stations.
//!
//! ASSUMPTION: after the una the host updates its binding at the gateway of the domain (the anchor), as it would that
//! of a MAP or home agent. The tunnel from PAR to NAR bridges the time until then.
//!
//! ASSUMPTION: tunnels, of the anchor and of the PAR, add 40 B and end at access routers: the outer header does not
//! cross the air.
//!
//! ASSUMPTION: the network predicts the handover, and the PAR announces it in an unsolicited prrtadv (RFC 5568 §3.3);
//! the host answers with the fbu. rtsolpr and its prrtadv follow each attachment and query the neighbours.
//!
//! ASSUMPTION: each care-of address belongs to one access router and is always accepted, so messages name the router.
//!
//! ASSUMPTION: sequence numbers are the host's clock, and all clocks agree.
//!
//! ASSUMPTION: the una, which has no acknowledge, is repeated with the update of the anchor, and with the rtsolpr,
//! which an access router answers only after a una. An access router whose wait for a host expires serves the host if
//! layer 2 has it there.
//!
//! ASSUMPTION: retransmissions begin at 100 ms. Three repetitions, and 1.5 s for packets that wait for a host, are the
//! RFC's RTSOLPR_RETRIES and PROXY_ND_LIFETIME (section 9). They are used for the other messages and for buffers too.
//!
//! DEVIATION: in a reactive handover the PAR tunnels and answers at the fbu, without hi and hack of code 1: the NAR has
//! the una already.
//!
//! DEVIATION: one fback, to the link from which the fbu arrived; the RFC has one to each link. On the new one the NAR
//! passes it to the host.

use crate::Domain;
use crate::blocks::{Detection, HandoverBuffer, Trigger};
use roamlab_engine::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod access_router;
mod anchor;
mod install;
mod message;
mod mobile_host;
mod phase;
#[cfg(test)]
mod tests;

pub use access_router::AccessRouter;
pub use anchor::Anchor;
pub use message::Kind;
pub use mobile_host::MobileHost;
pub use phase::Phase;

/// A message of the protocol.
pub type Message = crate::Signal<Kind>;
type Input = crate::Input<Message>;
type Action = crate::Action<Message, Phase>;

crate::roles! {
    /// A role of FMIPv6 at one node.
    Fmipv6:
    /// The host that moves.
    MobileHost,
    /// A base station: previous and new access router.
    AccessRouter,
    /// The gateway, from which packets are tunnelled to the access router of the host.
    Anchor,
}

/// FMIPv6: parameters of all roles.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The part of the network that it is about; absent: all.
    #[serde(skip_serializing_if = "Domain::is_whole")]
    pub domain: Domain,
    /// How a host learns that it has moved.
    pub detection: Detection,
    /// Advance notice to the PAR: "source" makes handovers predictive, "none" reactive.
    pub trigger: Trigger,
    /// Buffering at the NAR until the una (flag U of the hi), or at the PAR until the fbu.
    pub buffer: HandoverBuffer,
    /// Time after which packets that wait for a host that does not arrive are dropped. Default 1.5 s.
    pub buffer_lifetime: Duration,
    /// The tunnel from PAR to NAR ends this long after the fbu or hack that began it. Default 2 s.
    pub tunnel_lifetime: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            domain: Domain::default(),
            detection: Detection::default(),
            trigger: Trigger::default(),
            buffer: HandoverBuffer::default(),
            buffer_lifetime: Duration::from_millis(1_500),
            tunnel_lifetime: Duration::from_secs(2),
        }
    }
}

/// A predicted host that has not moved this long after its first fbu withdraws it.
const STAY_TIMEOUT: Duration = Duration::from_millis(500);

/// Repetitions of rtsolpr, fbu and hi.
const RETRIES: u32 = 3;

/// First retransmission; each later one waits twice as long.
const RETRANSMIT: Duration = Duration::from_millis(100);

/// Longest time between two retransmissions; a first one that is longer stays.
const RETRANSMIT_LIMIT: Duration = Duration::from_secs(1);
