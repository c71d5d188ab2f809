//! BCMP, the BRAIN candidate mobility management protocol. Hosts have addresses of anchor points, which tunnel their
//! packets to their access routers. It has planned and unplanned handovers, change of the anchor, and paging.
//!
//! Source: \[bcmp\] section 2.1, which names entities and procedures. No specification could be found. So messages,
//! sizes, timers and failures are interpretations: parameters, or constants in `params.rs`. The protocol is a composition of
//! [blocks](crate::blocks): detection, registration, trigger, buffering, soft state.
//!
//! # Message chart
//!
//! A planned handover. The host leaves the old access router (oAR) at 0.
//!
//! ```text
//!     host           oAR            nAR          anchor
//!       |  predicted  |              |              |
//!       |--handover-prepare-request->|              |  PreparationSent
//!       |             |--handover-prepare           |
//!       |             |------------->|  keeps       |  RouterPrepared
//!       |             |<--handover-prepare-acknowledge
//!       |<--handover-prepared        |              |
//!       |             |==== data ===>|              |  ForwardingStarted
//!       |~~ layer 2: gone ~~|        |              |
//!       |~~ layer 2: there ~~~~~~~~~>|              |
//!       |--handover-attach---------->|              |  AttachSent
//!       |<========= buffer ==========|              |  Flushed
//!       |             |<-handover-notify            |
//!       |             |              |--anchor-path-update
//!       |             |              |------------->|  PathSwitched
//!       |             |              |<==== data ===|
//!       |             |              |<--anchor-path-acknowledge
//!       |<--handover-attach-acknowledge             |  Attached
//!       |             |  lifetime    |              |  RouterReleased
//! ```
//!
//! The handover-prepare-request ends at the oAR. An unplanned handover begins with the attach; the oAR tunnels from the
//! notify on, if it forwards. A host logs in with login-request and login-response, which its access router passes on
//! to the anchor and back. It changes its anchor in the same way, when its access router sends an
//! anchor-change-request. Then it registers the new anchor with its home agent through the anchor
//! (global-registration-request, global-registration-reply).
//!
//! # Recovery of lost messages
//!
//! | lost | recovered by |
//! | --- | --- |
//! | login-request, login-response | the host, after 1 s, doubling, without end |
//! | authentication-request, authentication-answer | the anchor, after 100 ms, doubling, five times; then the next login-request |
//! | logout-request, logout-acknowledge | the same; the lifetime of the session |
//! | handover-prepare-request, handover-prepared | the host, after 50 ms, three times; then the unplanned handover |
//! | handover-prepare, handover-prepare-acknowledge | the oAR, after 50 ms, three times; then the unplanned handover |
//! | handover-attach, handover-attach-acknowledge | the host, after 100 ms, doubling, without end |
//! | anchor-path-update, anchor-path-acknowledge | the nAR, after 100 ms, five times; the next attach |
//! | handover-notify | the next attach; the lifetime of what the oAR has |
//! | anchor-change-request | that after the next attach, a refresh if the host does not move |
//! | page-request, page | the anchor, after 500 ms, three times; then the next packet |
//! | global-registration-request, global-registration-reply | the host, after 1 s, doubling, without end |
//! | bcmp-advertisement | the next one |
//!
//! ASSUMPTION: access routers are base stations, and tunnels end there: the outer header does not cross the air.
//!
//! ASSUMPTION: an address of an anchor and the session in which it is lent are one, and messages name the session.
//! Without a global protocol a host's address is its home address, so its anchor is its home. With one the anchor is
//! the care-of address and takes packets out of the home agent's tunnel, as a foreign agent does.
//!
//! ASSUMPTION: the session's sequence number is the host's clock, and so newer in a later session too. A message that
//! is older than the latest state known of a host has no effect.
//!
//! ASSUMPTION: layer 2 notifies the host of a coming handover, and the host prepares it; the share of wrong, missing
//! and false ones is a parameter.
//!
//! ASSUMPTION: if an access router that forwards a host's packets detects its departure, it puts the packets that
//! waited for the air into the tunnel, provided that it keeps packets.
//!
//! ASSUMPTION: the attach names all access routers at which the host has been since the last acknowledge, and each gets
//! a notify.
//!
//! ASSUMPTION: an anchor without the session of a path update reports this, and the host logs in again.
//!
//! ASSUMPTION: attaches are repeated after 100 ms, doubling to 1 s, and page requests after 500 ms, three times: no
//! source gives these.
//!
//! ASSUMPTION: a host that moves while idle attaches only in another paging area, and for a refresh.
//!
//! ASSUMPTION: with \[bcmp\] anchors authenticate users and maintain records; it names no message. With
//! `authentication` an anchor asks a server for each new session, and opens it when that accepts. A refused host gets no
//! answer, and repeats its request.
//!
//! DEVIATION: anchors have no lack of addresses.

use roamlab_packet::Addr;

mod access_router;
mod anchor;
mod authentication_server;
mod home_agent;
mod host;
mod install;
mod message;
mod mobile_host;
mod params;
mod phase;
#[cfg(test)]
mod tests;
mod visitor;

pub use access_router::AccessRouter;
pub use anchor::Anchor;
pub use authentication_server::AuthenticationServer;
pub use home_agent::HomeAgent;
pub use message::{Kind, Session};
pub use mobile_host::MobileHost;
use params::{
    ATTACH_RETRANSMIT, ATTACH_RETRANSMIT_LIMIT, PAGE_RETRANSMIT, PAGE_RETRIES, PREPARE_RETRANSMIT,
    PREPARE_RETRIES, UPDATE_RETRANSMIT, UPDATE_RETRIES,
};
pub use params::{Global, Hours, Paging, Params, Unused};
pub use phase::Phase;

/// A message of the protocol.
pub type Message = crate::Signal<Kind>;
type Input = crate::Input<Message>;
type Action = crate::Action<Message, Phase>;

crate::roles! {
    /// A role of BCMP at one node.
    #[expect(clippy::large_enum_variant, reason = "most nodes with a role are mobile hosts")]
    Bcmp:
    /// The host that moves.
    MobileHost,
    /// A base station: old and new access router.
    AccessRouter,
    /// A node that gives hosts their sessions.
    Anchor,
    /// The server that anchors ask about hosts.
    AuthenticationServer,
    /// Mobile IP's home agent, at the home of a host.
    HomeAgent,
}

/// Where a host is at home.
#[derive(Copy, Clone, Debug)]
pub struct Home {
    /// The host's home address.
    pub host: Addr,
    /// The anchor that it asks for; `None`: its access router chooses.
    pub anchor: Option<Addr>,
    /// Its home agent, if there is a global protocol.
    pub home_agent: Option<Addr>,
}
