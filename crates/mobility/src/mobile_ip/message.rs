//! The messages of Mobile IP, their contents and their sizes on the wire.
//!
//! Fields are those of RFC 5944 (registration, agent advertisement) and of the expired route optimisation drafts
//! draft-ietf-mobileip-optim-02 to -11 (binding messages). Fields that no agent uses are left out, but count in the
//! sizes.

use crate::{Identification, Signal};
use roamlab_engine::{Bytes, Duration};
use roamlab_packet::Addr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The code of a registration reply (RFC 5944 §3.4).
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct ReplyCode(pub u8);

impl ReplyCode {
    /// Registration accepted.
    pub const ACCEPTED: ReplyCode = ReplyCode(0);
    /// Denied by the foreign agent: the home agent did not answer in time.
    pub const PENDING_TIMEOUT: ReplyCode = ReplyCode(78);
    /// Denied by the home agent: the identification is not newer than the binding's.
    pub const IDENTIFICATION_MISMATCH: ReplyCode = ReplyCode(133);

    /// Whether the registration was accepted (codes 0 and 1).
    pub const fn accepted(self) -> bool {
        self.0 <= 1
    }
}

/// A signalling message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// Base station → all: this cell is here. Much shorter than an advertisement, sent much more often
    /// (\[mblue\] §II).
    Beacon {
        /// The base station.
        base_station: Addr,
    },
    /// Mobile host → new base station: I am here (\[mblue\] fig. 3).
    HandoffRequest {
        /// The host's home address.
        host: Addr,
    },
    /// New base station → new foreign agent: this host wants an advertisement (\[mblue\] fig. 3).
    Notification {
        /// The host's home address.
        host: Addr,
    },
    /// Mobile host → its base station → foreign agent: advertise, please (ICMP type 10, RFC 5944 §2.2).
    AgentSolicitation {
        /// The host's home address.
        host: Addr,
    },
    /// Foreign agent → its base stations → mobile hosts (ICMP type 9 with extension 16, RFC 5944 §2.1).
    AgentAdvertisement {
        /// The agent, which is also the care-of address.
        agent: Addr,
        /// Number of the advertisement since the agent started; wraps from 0xffff to 256.
        sequence: u16,
        /// How long the advertisement is valid.
        lifetime: Duration,
        /// The longest registration that the agent accepts.
        registration_lifetime: Duration,
        /// The one host that asked for it; `None`: periodic, for all.
        host: Option<Addr>,
    },
    /// Mobile host → foreign agent → home agent (RFC 5944 §3.3).
    RegistrationRequest {
        /// The host's home address.
        host: Addr,
        /// Its home agent.
        home_agent: Addr,
        /// Where its packets shall be tunnelled to.
        care_of: Addr,
        /// For how long.
        lifetime: Duration,
        /// Newer than that of any earlier request of this host.
        identification: Identification,
        /// Previous foreign agent notification extensions (PFANE): agents that may still hold packets or routes for
        /// the host. One as a rule; more if it moved on before a registration was confirmed.
        previous: Vec<Addr>,
        /// Not on the wire: the base station that layer 2 delivered the request through, which the foreign agent
        /// knows from the link.
        base_station: Addr,
    },
    /// Home agent → foreign agent → mobile host (RFC 5944 §3.4).
    RegistrationReply {
        /// The host's home address.
        host: Addr,
        /// Its home agent.
        home_agent: Addr,
        /// Accepted or why not.
        code: ReplyCode,
        /// The lifetime granted.
        lifetime: Duration,
        /// That of the request which is answered.
        identification: Identification,
    },
    /// Old foreign agent → old base station: forward the host's buffer to me (\[mblue\] fig. 3). A link-layer control
    /// message that carries the host's link-layer address.
    Forward {
        /// The host's home address.
        host: Addr,
        /// That of the binding which the host moved away with.
        identification: Identification,
    },
    /// Old foreign agent → home agent: this correspondent's binding is stale.
    BindingWarning {
        /// The host's home address.
        host: Addr,
        /// The correspondent.
        target: Addr,
    },
    /// Correspondent → home agent: my binding runs out and I still use it.
    BindingRequest {
        /// The host's home address.
        host: Addr,
        /// That of the binding which runs out.
        identification: Identification,
    },
    /// Home agent → correspondent, or new → old foreign agent: the host's care-of address.
    BindingUpdate {
        /// The host's home address.
        host: Addr,
        /// Where its packets shall be tunnelled to.
        care_of: Addr,
        /// For how long.
        lifetime: Duration,
        /// That of the registration behind it (flag I: always present).
        identification: Identification,
        /// Flag A: send a [`Message::BindingAcknowledge`].
        acknowledge: bool,
    },
    /// The answer to a binding update with flag A.
    BindingAcknowledge {
        /// The host's home address.
        host: Addr,
        /// That of the update.
        identification: Identification,
    },
}

/// Sizes that the sources leave open.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SizeOptions {
    /// Registration requests and replies and binding updates carry an authentication extension of 22 B. Default
    /// false.
    pub authentication: bool,
    /// A beacon. ASSUMPTION: the papers say "much shorter" than an advertisement (48 B). Default 24 B.
    pub beacon: Bytes,
    /// A message of the local handoff protocol: handoff request, notification, forward message. ASSUMPTION: the
    /// papers give no size; an IP header and 8 B, as an ICMP message without a body has. Default 28 B.
    pub local: Bytes,
}

impl Default for SizeOptions {
    fn default() -> Self {
        SizeOptions { authentication: false, beacon: Bytes(24), local: Bytes(28) }
    }
}

/// IP and UDP header.
const UDP_IP: u64 = 28;
/// Authentication extension: type, length, SPI, 128-bit authenticator (RFC 5944 §3.5).
const AUTHENTICATION: u64 = 22;
/// Previous foreign agent notification extension with its authenticator.
const PFANE: u64 = 30;

impl Signal for Message {
    type Sizes = SizeOptions;

    const NAMES: &'static [&'static str] = &[
        "beacon",
        "handoff-request",
        "notification",
        "agent-solicitation",
        "agent-advertisement",
        "registration-request",
        "registration-reply",
        "forward",
        "binding-warning",
        "binding-request",
        "binding-update",
        "binding-acknowledge",
    ];

    fn name(&self) -> &'static str {
        match self {
            Message::Beacon { .. } => "beacon",
            Message::HandoffRequest { .. } => "handoff-request",
            Message::Notification { .. } => "notification",
            Message::AgentSolicitation { .. } => "agent-solicitation",
            Message::AgentAdvertisement { .. } => "agent-advertisement",
            Message::RegistrationRequest { .. } => "registration-request",
            Message::RegistrationReply { .. } => "registration-reply",
            Message::Forward { .. } => "forward",
            Message::BindingWarning { .. } => "binding-warning",
            Message::BindingRequest { .. } => "binding-request",
            Message::BindingUpdate { .. } => "binding-update",
            Message::BindingAcknowledge { .. } => "binding-acknowledge",
        }
    }

    fn host(&self) -> Option<Addr> {
        match self {
            Message::Beacon { .. } => None,
            Message::AgentAdvertisement { host, .. } => *host,
            Message::HandoffRequest { host }
            | Message::Notification { host }
            | Message::AgentSolicitation { host }
            | Message::RegistrationRequest { host, .. }
            | Message::RegistrationReply { host, .. }
            | Message::Forward { host, .. }
            | Message::BindingWarning { host, .. }
            | Message::BindingRequest { host, .. }
            | Message::BindingUpdate { host, .. }
            | Message::BindingAcknowledge { host, .. } => Some(*host),
        }
    }

    fn size(&self, options: &SizeOptions) -> Bytes {
        let authentication = if options.authentication { AUTHENTICATION } else { 0 };
        Bytes(match self {
            Message::Beacon { .. } => options.beacon.0,
            Message::HandoffRequest { .. } | Message::Notification { .. } | Message::Forward { .. } => {
                options.local.0
            }
            Message::AgentSolicitation { .. } => 28,
            Message::AgentAdvertisement { .. } => 48,
            Message::RegistrationRequest { previous, .. } => {
                24 + UDP_IP + PFANE * previous.len() as u64 + authentication
            }
            Message::RegistrationReply { .. } => 20 + UDP_IP + authentication,
            Message::BindingWarning { .. } => 12 + UDP_IP,
            Message::BindingRequest { .. } | Message::BindingAcknowledge { .. } => 16 + UDP_IP,
            Message::BindingUpdate { .. } => 20 + UDP_IP + authentication,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: Addr = Addr::new(1, 1);
    const AGENT: Addr = Addr::new(2, 0);

    fn request(previous: Vec<Addr>) -> Message {
        Message::RegistrationRequest {
            host: HOST,
            home_agent: Addr::new(1, 0),
            care_of: AGENT,
            lifetime: Duration::from_secs(300),
            identification: Identification(7),
            previous,
            base_station: Addr::new(3, 0),
        }
    }

    #[test]
    fn sizes_are_those_of_the_rfcs_and_drafts() {
        let plain = SizeOptions::default();
        let signed = SizeOptions { authentication: true, ..SizeOptions::default() };
        let update = Message::BindingUpdate {
            host: HOST,
            care_of: AGENT,
            lifetime: Duration::ZERO,
            identification: Identification(7),
            acknowledge: true,
        };
        let reply = Message::RegistrationReply {
            host: HOST,
            home_agent: AGENT,
            code: ReplyCode::ACCEPTED,
            lifetime: Duration::ZERO,
            identification: Identification(7),
        };
        assert_eq!((request(vec![]).size(&plain), request(vec![]).size(&signed)), (Bytes(52), Bytes(74)));
        assert_eq!((reply.size(&plain), reply.size(&signed)), (Bytes(48), Bytes(70)));
        assert_eq!((update.size(&plain), update.size(&signed)), (Bytes(48), Bytes(70)));
        assert_eq!(request(vec![AGENT]).size(&plain), Bytes(82));
        assert_eq!(Message::BindingWarning { host: HOST, target: AGENT }.size(&signed), Bytes(40));
        assert_eq!(
            Message::BindingAcknowledge { host: HOST, identification: Identification(7) }.size(&signed),
            Bytes(44)
        );
    }

    #[test]
    fn codes_0_and_1_accept() {
        assert!(ReplyCode(0).accepted() && ReplyCode(1).accepted());
        assert!(!ReplyCode::PENDING_TIMEOUT.accepted() && !ReplyCode::IDENTIFICATION_MISMATCH.accepted());
    }
}
