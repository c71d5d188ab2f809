//! Causes: rows that each name the row that led to them, back to a root.
//!
//! Only rare events make a row: a motion, a message, a timer, a loss, a timeout. A plain data packet that arrives makes
//! none. Rows are appended in the order of events, so a chain leads to ever smaller ids and never forward in time.

use crate::ids::Location;
use crate::table::{Encode, Names, table, vocabulary};
use roamlab_engine::Time;
use roamlab_packet::{Addr, DropReason, FlowId, Packet, TcpFlags};

mod chains;

pub use chains::{Chains, SegmentHistory};

/// A row of [`Causes`].
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CauseId(pub u32);

impl CauseId {
    /// No row: in the column `cause` of [`Causes`] the mark of a root, elsewhere that no cause is recorded.
    pub const NONE: CauseId = CauseId(u32::MAX);
    /// The start of the run.
    pub const START: CauseId = CauseId(0);

    /// This row, or `other` if it is none.
    #[must_use]
    pub fn or(self, other: impl FnOnce() -> CauseId) -> CauseId {
        if self == CauseId::NONE { other() } else { self }
    }
}

impl Default for CauseId {
    fn default() -> Self {
        CauseId::NONE
    }
}

impl Encode for CauseId {
    type Stored = i64;

    fn encode(self, _: &Names) -> i64 {
        if self == CauseId::NONE { -1 } else { i64::from(self.0) }
    }
}

vocabulary! {
    /// Kinds of rows of [`Causes`].
    Kind {
        /// root: the run starts
        Start => "start";
        /// root: the plan of a host moves it
        Motion => "motion";
        /// root: a moving host's measurement of its cells has changed
        Measurement => "measurement";
        /// root: a host does not receive from its cell
        OutOfRange => "out-of-range";
        /// root: a host of 802.11 receives a beacon of its cell, or has missed beacons or acknowledgements
        OnAir => "on-air";
        /// root: the scenario predicts a handover
        Prediction => "prediction";
        /// root: the scenario changes a link
        LinkChange => "link-change";
        /// root: an outage of a link loses its first packet, or a packet begins to wait 100 ms or longer for a link that is out or recorded
        LinkOutage => "link-outage";
        /// root: a fault of the scenario delays a message
        DelayedMessage => "delayed-message";
        /// root: a segment or its acknowledgement is in flight, in queues and on links, for longer than the sender
        /// waits, or than later ones
        Underway => "underway";
        /// root: a receiver delays an acknowledgement
        DelayedAck => "delayed-ack";
        /// root: a queue has marked congestion (ECN), and the sender cuts its window
        CongestionMark => "congestion-mark";
        /// root: a sender had nothing to send for an RTO, and its window shrinks
        Idle => "idle";
        /// root: a sender, or who notifies it, believes that the path has changed, and it has not
        FalseAlarm => "false-alarm";
        /// an agent sends a message; its cause is the agent's input
        Message => "message";
        /// a host receives a broadcast of its cell; its cause is the host's entry of the cell
        Heard => "heard";
        /// a timer of an agent expires. Its cause is the input that set it (the first one, if it restarts
        /// itself), or the loss or delay of a message that was sent then, or of a consequence of it
        Timer => "timer";
        /// a data packet makes an agent act; its cause is the change of the packet's route
        Data => "data";
        /// a phase of a handover; its cause is the agent's input, or the motion
        Phase => "phase";
        /// a sender is notified of a new path; `name` is its policy, and its cause the phase of the handover,
        /// the message about it, or a false alarm
        PathChange => "path-change";
        /// a buffer begins to hold a host's packets
        Buffering => "buffering";
        /// a buffer releases a host's packets
        Release => "release";
        /// a receiver of a numbered radio bearer gives up waiting for a packet (t-Reordering). It delivers those behind it;
        /// its cause is the loss of a packet of the bearer, or the move of the host
        Reordering => "t-reordering";
        /// RLC has sent a packet as often as it may without a confirmation; its cause is the reason for which the receiver
        /// does not hear it
        RetransmissionLimit => "retransmission-limit";
        /// a packet is lost; `name` is the reason. A root if the reason is in the network itself: `queue-overflow`,
        /// `forwarded-overflow`, `early-drop`, `forced-loss`, `no-route`, `ttl-expired`, `policed-mark`,
        /// `tunnel-congestion`, `frame-loss`, `retry-limit`, `no-endpoint`, `random-loss`. Otherwise its cause is the
        /// reason for which the host or link was absent, or for which the packet waited. The first five but
        /// `forced-loss` have the handover as their cause if it held up or redirected the packet, or other packets that
        /// wait in the queue
        Loss => "loss";
        /// a retransmission timer expires; its cause is the loss of the segment or of its acknowledgement or, if it
        /// was spurious, the delay of one of them
        Timeout => "timeout";
        /// acknowledgements made a sender infer a loss; its cause is that loss, or the delay of the segment
        FastRetransmit => "fast-retransmit";
        /// segments sent later have arrived, and it is too late for this one to be only reordered (RACK); its cause is
        /// the loss, or the delay of the segment
        RackMark => "rack-mark";
        /// no acknowledgement came for two round trips, and a sender sends a probe (TLP); its cause is the loss or delay
        /// of the first segment outstanding, or of its acknowledgement
        TailLossProbe => "tail-loss-probe";
        /// the acknowledgement of a tail loss probe revealed that the probe has repaired a loss; its cause is the probe
        TailLoss => "tail-loss";
        /// everything that a QUIC sender sent over several probe timeouts was lost; its cause is the loss of the first of
        /// it
        PersistentCongestion => "persistent-congestion";
        /// a QUIC sender with Careful Resume has jumped to a window that was too much; its cause is the loss, or the delay
        /// of the segment
        SafeRetreat => "safe-retreat";
    }
}

table! {
    /// Causes: each row names the row that led to it, back to a root. `roamlab why` and `rl.why` print a chain.
    Causes, Cause: "causes", recorded "", limit "lower the load, or the losses" {
        /// when
        time_ns: Time,
        /// one of the kinds below
        kind: Kind,
        /// name of the message or phase, reason of the loss, or kind of the release; otherwise empty
        name: &'static str,
        /// node or link, if it is at one
        place: Option<Location>,
        /// its mobile host; empty: none
        host: Option<Addr>,
        /// its flow; empty: none
        flow: Option<FlowId>,
        /// segment or datagram number, if it has one; otherwise 0
        seq: u32,
        /// serial number of its packet; 0: none
        serial: u64,
        /// number of the row, from 0, that led to it: always smaller, and not later; -1: it is a root
        cause: CauseId,
    }
}

impl Cause {
    /// A root.
    pub const fn root(kind: Kind) -> Cause {
        let (time_ns, cause) = (Time::ZERO, CauseId::NONE);
        Cause { time_ns, kind, name: "", place: None, host: None, flow: None, seq: 0, serial: 0, cause }
    }

    /// Consequences of another row.
    pub const fn of(kind: Kind, name: &'static str, cause: CauseId) -> Cause {
        Cause { name, cause, ..Cause::root(kind) }
    }

    /// The same at a place.
    #[must_use]
    pub const fn at(self, place: Location) -> Cause {
        Cause { place: Some(place), ..self }
    }

    /// The same about a mobile host.
    #[must_use]
    pub const fn about(self, host: Option<Addr>) -> Cause {
        Cause { host, ..self }
    }

    /// The same about a segment of a flow.
    #[must_use]
    pub const fn segment(self, flow: FlowId, seq: u32) -> Cause {
        Cause { flow: Some(flow), seq, ..self }
    }
}

/// True if a loss for this reason has its cause in the network itself.
pub const fn is_root(reason: DropReason) -> bool {
    match reason {
        DropReason::QueueOverflow
        | DropReason::ForwardedOverflow
        | DropReason::EarlyDrop
        | DropReason::NoRoute
        | DropReason::TtlExpired
        | DropReason::FrameLoss
        | DropReason::RetryLimit
        | DropReason::ForcedLoss
        | DropReason::PolicedMark
        | DropReason::TunnelCongestion
        | DropReason::NoEndpoint
        | DropReason::RandomLoss => true,
        DropReason::Detached
        | DropReason::LinkDown
        | DropReason::NoBinding
        | DropReason::BufferOverflow
        | DropReason::BufferExpired
        | DropReason::BearerEnded
        | DropReason::Duplicate
        | DropReason::DiscardTimer
        | DropReason::Late
        | DropReason::SuppressedAck
        | DropReason::CopyReleased => false,
    }
}

/// True if a loss for this reason has a handover as its cause, if that held up or redirected the packet, or
/// others in the same queue. Without the handover there would have been room, or a way.
pub const fn follows_from_move(reason: DropReason) -> bool {
    matches!(
        reason,
        DropReason::QueueOverflow
            | DropReason::ForwardedOverflow
            | DropReason::EarlyDrop
            | DropReason::NoRoute
            | DropReason::TtlExpired
    )
}

/// The cause of what happens now.
#[derive(Copy, Clone, Debug)]
pub enum CurrentCause {
    /// A row.
    Row(CauseId),
    /// A row that is added with the first of its effects.
    New(Cause),
}

impl Default for CurrentCause {
    fn default() -> Self {
        CurrentCause::Row(CauseId::START)
    }
}

/// True if a packet carries data: a datagram, or a segment that is no bare acknowledgement.
pub fn is_data(packet: &Packet) -> bool {
    packet.is_udp() || (packet.is_of_connection() && packet.payload() > 0)
}

/// Segment or datagram number of a data packet; 0 for signalling and acknowledgements.
pub fn data_seq(packet: &Packet) -> u32 {
    if is_data(packet) { packet.seq() } else { 0 }
}

/// The number of a segment that the sending end may have to repeat: data, a SYN or a FIN. A SYN that acknowledges is the
/// receiving end's.
pub fn segment(packet: &Packet) -> Option<u32> {
    let flags = packet.flags();
    let opens = flags.has(TcpFlags::SYN) && !flags.has(TcpFlags::ACK);
    (packet.is_of_connection() && (packet.payload() > 0 || opens || flags.has(TcpFlags::FIN)))
        .then(|| packet.seq())
}
