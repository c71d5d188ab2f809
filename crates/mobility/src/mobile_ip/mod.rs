//! Mobile IPv4 with route optimisation, smooth handoff, the local handoff protocol and buffering at the base station.
//!
//! Sources: \[mblue\] section II, figs. 1–4, eq. 1, table I (\[ipf\] section II.A is the same); RFC 5944 (registration);
//! draft-ietf-mobileip-optim-11, expired (binding messages).
//!
//! # Message chart
//!
//! The host leaves cell A (old base station and agent) and enters cell B (new ones) at 0. Times are in ms, for the
//! delays of \[mblue\] table I. These are host–base station 3, base station–agent 1, agent–agent 1, agent–home agent
//! 60, home agent–correspondent 60. The beacon is received after T_B = 50.
//!
//! ```text
//!      host     new BS    new FA          old FA    old BS         HA            CH
//!   0   |~~ layer 2 ~~|      |               |   layer 2: gone      |             |
//!       |         |          |               |         | buffers    |             |
//!  50   |<-beacon-|          |               |         |            |             |   T_B   MovementDetected
//!       |-request>|          |               |         |            |             |
//!  53   |         |-notific.>|               |         |            |             |
//!  54   |         |<-advert.-|               |         |            |             |
//!  58   |<-advert.|          |               |         |            |             |
//!       |-registration req.->|               |         |            |             |         RegistrationSent
//!  62   |         |          |-registration request-------------------->          |   T_N   NewAgentNotified
//!       |         |          |-binding update>         |            |             |
//!  63   |         |          |<-acknowledge--|-forward>|            |             |   T_O   OldAgentInformed
//!  64   |         |          |               |<=buffer=|            |             |         ForwardingStarted
//!       |<=========================tunnel====|         |            |             |
//! 122   |         |          |               |-binding warning----->|-binding     |   T_HA  HomeAgentRegistered
//!       |         |          |<-registration reply------------------|   update--->|
//! 182   |<---registration reply              |         |            |<-acknowledge|   T_CH  CorrespondentInformed
//! 186   |         |          |               |         |            |             |         Registered
//!  ..   |         |          |               |         | hold time without data   |         ForwardingEnded
//! ```
//!
//! T_loss = T_B + T_N + T_O = 63 ms, T_h = T_B + T_N + T_HA + T_CH = 182 ms (\[mblue\] eq. 1).
//!
//! While the old base station forwards, packets that still arrive at the old agent make a detour through its buffer
//! (\[mblue\] fig. 4), so they stay behind those that waited there.
//!
//! # Recovery of lost messages
//!
//! | lost | recovered by |
//! | --- | --- |
//! | beacon | the next one |
//! | handoff request, notification, advertisement | the handoff request, repeated at each beacon |
//! | registration request, reply | the host, after 1 s or twice the round trip, doubling, each time with a newer identification |
//! | binding update to the old agent, its acknowledge | the new agent, after 200 ms, doubling |
//! | forward message | the old agent, after 200 ms, doubling, until it sees a packet from the old base station |
//! | binding update to a correspondent, its acknowledge | the home agent, after 1 s, doubling; the next warning |
//! | binding warning, binding request | the next data packet, after 1 s |
//! | everything | the hold time of the old base station, the lifetimes of bindings and visitors |
//!
//! # No routing loops
//!
//! An agent's state for a host changes only by a newer identification, which the host alone issues. A former agent of
//! the host points at an agent with a newer identification than its own. So a chain of tunnels ends.
//!
//! ASSUMPTION: all nodes' clocks agree, so identifications can be compared with times (RFC 5944 §5.7.1 requires
//! synchronised clocks).
//!
//! DEVIATION: no de-registration: no cell belongs to a home network. No simultaneous bindings. The acknowledge to a
//! smooth-handoff update ends at the new agent and is not relayed to the host. Lifetimes are not rounded to seconds.

mod base_station;
mod correspondent;
mod foreign_agent;
mod home_agent;
mod install;
mod message;
mod mobile_host;
mod params;
mod phase;
mod visitor;

pub use base_station::BaseStation;
pub use correspondent::Correspondent;
pub use foreign_agent::ForeignAgent;
pub use home_agent::HomeAgent;
pub use message::{Kind, ReplyCode};
pub use mobile_host::MobileHost;
pub use params::{BeaconTiming, BufferAt, BufferParams, Params, RoTrigger};
use params::{
    CORRESPONDENT_RETRANSMIT, PENDING_TIMEOUT, REGISTRATION_PROCESSING, REGISTRATION_RETRANSMIT,
    RETRANSMIT_LIMIT, UPDATE_RETRANSMIT, UPDATE_RETRANSMIT_LIMIT, WARNING_INTERVAL,
};
pub use phase::Phase;

/// A message of the protocol.
pub type Message = crate::Signal<Kind>;
type Input = crate::Input<Message>;
type Action = crate::Action<Message, Phase>;

#[cfg(test)]
mod tests;

crate::roles! {
    /// A role of Mobile IP at one node.
    MobileIp:
    /// At a mobile host.
    MobileHost,
    /// At a base station.
    BaseStation,
    /// At the router of a foreign subnet, above its base stations.
    ForeignAgent,
    /// At the router of the home subnet.
    HomeAgent,
    /// At a correspondent host.
    Correspondent,
}
