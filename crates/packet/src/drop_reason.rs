//! Why a packet is lost. Every loss has exactly one reason.

use roamlab_engine::named;

named! {
    /// Why a packet was lost.
    #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub enum DropReason {
        /// A queue was physically full.
        QueueOverflow => "queue-overflow",
        /// A priority or marked packet met a physically full queue (MBLUE interpretation M2, M-RED interpretation R5).
        ForwardedOverflow => "forwarded-overflow",
        /// Active queue management discarded it before the queue was full.
        EarlyDrop => "early-drop",
        /// It was sent over the air to a host that no longer, or not yet, listens there.
        Detached => "detached",
        /// The link was down, or the sending host had none.
        LinkDown => "link-down",
        /// No route to the destination.
        NoRoute => "no-route",
        /// A mobility agent had no binding for the destination.
        NoBinding => "no-binding",
        /// The time to live ran out.
        TtlExpired => "ttl-expired",
        /// The per-host buffer of a base station was full.
        BufferOverflow => "buffer-overflow",
        /// A buffered packet waited longer than the hold time: the signalling that would have released it was lost.
        BufferExpired => "buffer-expired",
        /// A base station or the network ended the host's bearer: it was lost with its connection, or is elsewhere.
        BearerEnded => "bearer-ended",
        /// The host had got it already, and its layer 2 had not reported it (PDCP).
        Duplicate => "duplicate",
        /// It waited for longer than the discard timer of its radio bearer (PDCP discardTimer).
        DiscardTimer => "discard-timer",
        /// It reached its receiver after the receiver had stopped waiting for it (PDCP t-Reordering).
        Late => "late",
        /// A retained copy of a packet that was sent over the air was released; the original is not lost by
        /// it.
        CopyReleased => "copy-released",
        /// It was sent over a shared medium and not received.
        FrameLoss => "frame-loss",
        /// It was sent over a shared medium as often as its station may, and never acknowledged, though its receiver was there.
        RetryLimit => "retry-limit",
        /// The scenario asked for this loss.
        ForcedLoss => "forced-loss",
        /// A mark from outside was policed by dropping the packet.
        PolicedMark => "policed-mark",
        /// At a tunnel's end congestion was marked on the outer header of a packet whose transport does not understand ECN
        /// (RFC 6040 §4.2).
        TunnelCongestion => "tunnel-congestion",
        /// It arrived at a host that has no endpoint for it.
        NoEndpoint => "no-endpoint",
        /// The link lost it at random (`loss`).
        RandomLoss => "random-loss",
        /// A base station has ended a duplicate acknowledgement: it sends the missing segment again itself (Snoop).
        SuppressedAck => "suppressed-ack",
    }
}

impl DropReason {
    /// True if data is lost by it: not if the host has another copy, or the packet was to end there.
    pub const fn loses_data(self) -> bool {
        !matches!(self, DropReason::CopyReleased | DropReason::Duplicate | DropReason::SuppressedAck)
    }
}
