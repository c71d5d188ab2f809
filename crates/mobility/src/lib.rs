//! Control-plane state machines: one file per mobility protocol.
//!
//! An agent is a protocol's role at one node. It never calls anything: it gets an [`Input`] and answers with
//! [`Action`]s, so it cannot touch state that a real message would have had to carry.

use roamlab_engine::{Duration, Time};
use roamlab_packet::{Addr, Dscp};
use std::collections::BTreeSet;

mod backoff;
pub mod event_a3;
pub mod lte_x2;
pub mod message;
pub mod mobile_ip;
mod roles;
mod spec;
#[cfg(test)]
mod transitions;

pub use event_a3::EventA3;
pub use lte_x2::LteX2;
pub use message::{Identification, Message};
pub use mobile_ip::MobileIp;
use roles::roles;
pub use spec::{MobilityAgent, MobilitySpec, PROTOCOLS};

/// What an agent is told.
#[derive(Clone, Debug)]
pub enum Input {
    /// A signalling message for this node arrived.
    Message {
        /// Who sent it (inner source address).
        from: Addr,
        /// What it says.
        message: Message,
    },
    /// Layer 2 of this node reports.
    Trigger(L2Trigger),
    /// The time that `next_deadline` gave has come, or has passed. An early wake-up is a no-op.
    Deadline,
    /// A data packet (never a signalling message) for `host` met a watched route, or no route at all, at this
    /// node.
    Data {
        /// The packet's inner destination.
        host: Addr,
        /// The packet's inner source.
        source: Addr,
        /// It arrived through a tunnel that ends here.
        tunnelled: bool,
        /// There was no route for it and it is lost.
        lost: bool,
    },
}

/// What layer 2 tells the mobility protocol.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum L2Trigger {
    /// (At a mobile host) it can now hear this base station.
    LinkUp {
        /// The base station.
        base_station: Addr,
    },
    /// (At a mobile host) its link is gone.
    LinkDown,
    /// (At a base station) the host entered the cell: layer 2 has associated it.
    HostArrived {
        /// The host's home address.
        host: Addr,
    },
    /// (At a base station) the host left the cell.
    HostGone {
        /// The host's home address.
        host: Addr,
    },
    /// (At a mobile host) event A3 was entered for this neighbour and held for the time to trigger, or still
    /// holds when the report interval has passed ([`Action::Measure`]).
    NeighbourBetter {
        /// The neighbour.
        base_station: Addr,
    },
    /// (At a base station) the host is expected to report this neighbour soon.
    HandoverPredicted {
        /// The host's home address.
        host: Addr,
        /// The neighbour.
        base_station: Addr,
    },
    /// (At a base station) nothing is left for the host on the air link: the answer to [`Action::AwaitDrained`].
    Drained {
        /// The host's home address.
        host: Addr,
    },
    /// (At a mobile host) its cell could not be heard for the radio's T310. The host is still associated: its agent
    /// says what comes next ([`Action::Leave`], [`Action::Search`]).
    RadioLinkFailure,
    /// (At a mobile host) the strongest base station that can be heard: the answer to [`Action::Search`].
    CellFound {
        /// The base station.
        base_station: Addr,
    },
}

/// Where packets for a host go.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Via {
    /// To an adjacent node.
    Neighbour(Addr),
    /// Over this base station's air link.
    Air,
    /// Through an IP-in-IP tunnel to this address.
    Tunnel(Addr),
    /// Into the host's buffer at this base station.
    Buffer,
    /// Into a line behind the host's buffer at this base station.
    Behind,
}

/// A phase of a handover, for the record.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Phase {
    /// The mobile host heard the beacon (or advertisement) that told it that it has moved.
    MovementDetected,
    /// The mobile host sent its first registration request through the new agent.
    RegistrationSent,
    /// The new agent relayed the registration request to the home agent and told the old agents.
    NewAgentNotified,
    /// The old agent learnt the new care-of address: losses end here.
    OldAgentInformed,
    /// The old base station began to forward its buffer.
    ForwardingStarted,
    /// The home agent accepted the registration.
    HomeAgentRegistered,
    /// A correspondent learnt the new care-of address.
    CorrespondentInformed,
    /// The mobile host got its registration reply: the handover is complete.
    Registered,
    /// The old base station let its state for the host go.
    ForwardingEnded,
    /// The host reported a better neighbour.
    NeighbourReported,
    /// The source was told that the host will report a neighbour.
    HandoverPredicted,
    /// What was predicted did not come, or another target came.
    PredictionFailed,
    /// The target has acknowledged the source's request.
    HandoverPrepared,
    /// The target has not admitted the host.
    HandoverRejected,
    /// The source has given the handover up.
    HandoverCancelled,
    /// The source has sent the handover command: the handover begins.
    HandoverCommanded,
    /// The host has got its answer to random access.
    AccessGranted,
    /// The target has the host's confirmation.
    HandoverConfirmed,
    /// The gateway has switched the path.
    PathSwitched,
    /// Who asked for the path switch knows that it is done.
    PathSwitchAcknowledged,
    /// The end marker has come through: direct packets follow the forwarded ones.
    OrderRestored,
    /// It has not, and direct packets have waited long enough.
    ReorderingTimedOut,
    /// The source knows that the target has the host.
    SourceReleased,
    /// The host has lost its link, or could not complete a handover.
    LinkFailed,
    /// A base station that has the host's context has taken it.
    Reestablished,
    /// The host asks for a new connection.
    ServiceRequested,
    /// The host has a new connection.
    ServiceRestored,
}

impl Phase {
    /// The phase as it stands in records and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Phase::MovementDetected => "movement-detected",
            Phase::RegistrationSent => "registration-sent",
            Phase::NewAgentNotified => "new-agent-notified",
            Phase::OldAgentInformed => "old-agent-informed",
            Phase::ForwardingStarted => "forwarding-started",
            Phase::HomeAgentRegistered => "home-agent-registered",
            Phase::CorrespondentInformed => "correspondent-informed",
            Phase::Registered => "registered",
            Phase::ForwardingEnded => "forwarding-ended",
            Phase::NeighbourReported => "neighbour-reported",
            Phase::HandoverPredicted => "handover-predicted",
            Phase::PredictionFailed => "prediction-failed",
            Phase::HandoverPrepared => "handover-prepared",
            Phase::HandoverRejected => "handover-rejected",
            Phase::HandoverCancelled => "handover-cancelled",
            Phase::HandoverCommanded => "handover-commanded",
            Phase::AccessGranted => "access-granted",
            Phase::HandoverConfirmed => "handover-confirmed",
            Phase::PathSwitched => "path-switched",
            Phase::PathSwitchAcknowledged => "path-switch-acknowledged",
            Phase::OrderRestored => "order-restored",
            Phase::ReorderingTimedOut => "reordering-timed-out",
            Phase::SourceReleased => "source-released",
            Phase::LinkFailed => "link-failed",
            Phase::Reestablished => "reestablished",
            Phase::ServiceRequested => "service-requested",
            Phase::ServiceRestored => "service-restored",
        }
    }
}

/// What an agent wants done, in order.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// Send a message from this node; routed like any packet ([`Addr::BROADCAST`]: over the air to all).
    Send {
        /// Destination.
        to: Addr,
        /// What to say.
        message: Message,
    },
    /// Packets for `host` go this way from now on, replacing the route with the same `host` and `from`.
    SetRoute {
        /// The host's home address.
        host: Addr,
        /// Only packets that come from this adjacent node, or out of a tunnel from it; `None`: packets from anywhere.
        /// A route with `from` wins over one without.
        from: Option<Addr>,
        /// Where to.
        via: Via,
        /// Tell the agent of packets that take this route ([`Input::Data`]).
        watch: bool,
    },
    /// Forget the route with this `host` and `from`.
    ClearRoute {
        /// The host's home address.
        host: Addr,
        /// As in `SetRoute`.
        from: Option<Addr>,
    },
    /// (At a base station) take the host's packets out of the air queue, and with layer-2 acknowledgement the
    /// unacknowledged ones off the air, into its buffer, and set its route to [`Via::Buffer`]. A buffer that had
    /// been released holds packets again from here on.
    StartBuffering {
        /// The host's home address.
        host: Addr,
    },
    /// (At a base station) empty the host's buffer, in order, that way; later arrivals that are routed
    /// to [`Via::Buffer`] pass straight through it the same way.
    Release {
        /// The host's home address.
        host: Addr,
        /// Where to: [`Via::Neighbour`] or [`Via::Air`].
        via: Via,
        /// Mark what passes with this code point.
        mark: Option<Dscp>,
    },
    /// (At a base station) hold unmarked packets for the host in its buffer until `wait` after the first of them,
    /// while marked ones go over the air; then send what is held and set its route to [`Via::Air`].
    AwaitForwarded {
        /// The host's home address.
        host: Addr,
        /// How long.
        wait: Duration,
    },
    /// (At a base station) empty the line behind the host's buffer, in order, that way.
    ReleaseBehind {
        /// The host's home address.
        host: Addr,
        /// Where to.
        via: Via,
    },
    /// (At a base station) drop what the buffer holds and forget the buffer.
    DiscardBuffer {
        /// The host's home address.
        host: Addr,
    },
    /// (At a base station) drop all that waits for the host, in its buffer, behind it and for the air.
    EndBearer {
        /// The host's home address.
        host: Addr,
    },
    /// (At a mobile host) measure, and from now on evaluate this event in place of any before. It stays when the host
    /// changes cells, but starts afresh there.
    Measure {
        /// The event.
        event: EventA3,
    },
    /// (At a mobile host) tell this base station which packets layer 2 has received, the last 2048
    /// ([`lte_x2::Kind::StatusReport`]).
    ReportReceived {
        /// The base station.
        to: Addr,
        /// Identification of the message.
        id: Identification,
    },
    /// (At a base station) tell the agent when nothing is left for the host on the air link, waiting or in flight
    /// ([`L2Trigger::Drained`]). Forgotten when the host's packets are held back.
    AwaitDrained {
        /// The host's home address.
        host: Addr,
    },
    /// (At a base station) do not send the host these packets, or copies of them.
    SkipReceived {
        /// The host's home address.
        host: Addr,
        /// By the serial number of their first copy.
        received: BTreeSet<u64>,
    },
    /// (At a mobile host) leave the present cell now, and forget any [`Action::Enter`] that is not done. Layer 2
    /// reports it at both ends, as if the host had moved away; its own packets wait.
    Leave,
    /// (At a mobile host) synchronise with this cell. A host that is in another one leaves it now. Layer 2 is up
    /// `after` this, and reports it at both ends, if the cell can be heard then; otherwise nothing happens.
    Enter {
        /// Its base station.
        base_station: Addr,
        /// Until layer 2 is up: the detach time.
        after: Duration,
    },
    /// (At a mobile host) find the strongest cell that can be heard: [`L2Trigger::CellFound`] at the first
    /// measurement with one.
    Search,
    /// Put a phase of `host`'s handover into the record.
    Note {
        /// The host's home address.
        host: Addr,
        /// Which phase.
        phase: Phase,
    },
}

/// A mobility protocol's role at one node.
pub trait Agent: Sized {
    /// Parameters of the role.
    type Params;

    /// Reacts to `input`; what is to be done is appended to `out`.
    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>);

    /// When the agent wants [`Input::Deadline`]; `None`: never.
    fn next_deadline(&self) -> Option<Time>;
}
