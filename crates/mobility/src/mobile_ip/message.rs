//! The messages of Mobile IP, their contents and their sizes on the wire.
//!
//! Fields are those of RFC 5944 (registration, agent advertisement) and of the expired route optimisation drafts
//! draft-ietf-mobileip-optim-02 to -11 (binding messages). Fields that no agent uses are left out, but count in the
//! sizes. The identification of a message is that of the registration that it belongs to, if any.

use roamlab_engine::Duration;
use roamlab_packet::Addr;

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

    /// True if the registration was accepted (codes 0 and 1).
    pub const fn accepted(self) -> bool {
        self.0 <= 1
    }
}

/// IP and UDP header.
const UDP_IP: u64 = 28;
/// Previous foreign agent notification extension with its authenticator.
const PFANE: u64 = 30;
/// The option field of a binding update that allows forwarding. ASSUMPTION: \[ipf\] gives no size; type, length and
/// two bytes, as an extension of RFC 5944 §1.10 has.
const OPTION: u64 = 4;

crate::messages! {
    /// Sizes that the sources leave open.
    Sizes as sizes;

    /// Base station → all: this cell is here. Much shorter than an advertisement, sent much more often
    /// (\[mblue\] §II).
    Beacon "beacon" size
        /// A beacon. ASSUMPTION: the papers specify "much shorter" than an advertisement (48 B).
        beacon = 24;
    /// Mobile host → new base station: I am here (\[mblue\] fig. 3).
    HandoffRequest "handoff-request" size
        /// A message of the local handoff protocol: handoff request, notification, forward message. ASSUMPTION: the
        /// papers give no size; an IP header and 8 B, as an ICMP message without a body has.
        local = 28;
    /// New base station → new foreign agent: this host wants an advertisement (\[mblue\] fig. 3).
    Notification {
        /// It accepts packets that the old agent's side has buffered (\[ipf\] §III).
        accepts: bool,
    } "notification" total sizes.local.0;
    /// Mobile host → its base station → foreign agent: advertise, please (ICMP type 10, RFC 5944 §2.2).
    AgentSolicitation "agent-solicitation" total 28;
    /// Foreign agent → its base stations → mobile hosts (ICMP type 9 with extension 16, RFC 5944 §2.1). It is about the
    /// one host that asked for it; a periodic one is about none.
    AgentAdvertisement {
        /// The agent, which is also the care-of address.
        agent: Addr,
    } "agent-advertisement" total 48;
    /// Mobile host → foreign agent → home agent (RFC 5944 §3.3). Its identification is newer than that of any earlier
    /// request of this host.
    RegistrationRequest {
        /// Its home agent.
        home_agent: Addr,
        /// Where its packets are to be tunnelled to.
        care_of: Addr,
        /// For how long.
        lifetime: Duration,
        /// Previous foreign agent notification extensions (PFANE): agents that may still hold packets or routes for
        /// the host. One as a rule; more if it moved on before a registration was confirmed.
        previous: Vec<Addr>,
        /// Not on the wire: the base station that layer 2 delivered the request through, which the foreign agent
        /// knows from the link.
        base_station: Addr,
    } "registration-request"
        total 24 + UDP_IP + PFANE * previous.len() as u64;
    /// Home agent → foreign agent → mobile host (RFC 5944 §3.4).
    RegistrationReply {
        /// Accepted or why not.
        code: ReplyCode,
        /// The lifetime granted.
        lifetime: Duration,
    } "registration-reply" total 20 + UDP_IP;
    /// Old foreign agent → old base station: forward the host's buffer to me (\[mblue\] fig. 3). A link-layer control
    /// message that carries the host's link-layer address.
    Forward "forward" total sizes.local.0;
    /// Old foreign agent → home agent: this correspondent's binding is stale.
    BindingWarning {
        /// The correspondent.
        target: Addr,
    } "binding-warning" total 12 + UDP_IP;
    /// Correspondent → home agent: my binding runs out and I still use it.
    BindingRequest "binding-request" total 16 + UDP_IP;
    /// Home agent → correspondent, or new → old foreign agent: the host's care-of address. The identification is
    /// always present (flag I).
    BindingUpdate {
        /// Where its packets are to be tunnelled to.
        care_of: Addr,
        /// For how long.
        lifetime: Duration,
        /// The option field of \[ipf\] §III, if there is one: whether buffered packets may be forwarded.
        forward: Option<bool>,
    } "binding-update"
        total 20 + UDP_IP + OPTION * u64::from(forward.is_some());
    /// The answer to a binding update, which always has flag A.
    BindingAcknowledge "binding-acknowledge" total 16 + UDP_IP;
}
