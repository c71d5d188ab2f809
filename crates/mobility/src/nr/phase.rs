//! Phases of a handover, for the record.

use crate::cellular;

/// Makes the phases of NR: those of the blocks, and its own.
macro_rules! with_blocks {
    ($($(#[$doc:meta])* $phase:ident $name:literal,)+; $($own:tt)*) => {
        crate::phases! {
            /// A phase of a handover of NR.
            Phase:
            $($(#[$doc])* $phase $name,)+
            $($own)*
        }

        impl From<cellular::Phase> for Phase {
            fn from(phase: cellular::Phase) -> Phase {
                match phase {
                    $(cellular::Phase::$phase => Phase::$phase,)+
                }
            }
        }
    };
}

with_blocks! {
    /// The old base station began to forward its buffer.
    ForwardingStarted "forwarding-started",
    /// The old base station has passed the end marker on.
    ForwardingEnded "forwarding-ended",
    /// The host reported a better neighbour.
    NeighbourReported "neighbour-reported",
    /// The source was notified that the host will report a neighbour.
    HandoverPredicted "handover-predicted",
    /// The predicted handover did not happen, or another target was used.
    PredictionFailed "prediction-failed",
    /// The target has acknowledged the source's request.
    HandoverPrepared "handover-prepared",
    /// The target has not admitted the host.
    HandoverRejected "handover-rejected",
    /// The source has given the handover up.
    HandoverCancelled "handover-cancelled",
    /// The source has sent the handover command: the handover begins.
    HandoverCommanded "handover-commanded",
    /// The host goes to a prepared target that meets the execution condition: the handover begins.
    HandoverExecuted "handover-executed",
    /// The host has done random access.
    AccessGranted "access-granted",
    /// The target has the host's confirmation.
    HandoverConfirmed "handover-confirmed",
    /// The gateway has switched the path.
    PathSwitched "path-switched",
    /// Who asked for the path switch knows that it is done.
    PathSwitchAcknowledged "path-switch-acknowledged",
    /// The end marker has come through: direct packets follow the forwarded ones.
    OrderRestored "order-restored",
    /// It has not, and direct packets have waited long enough.
    ReorderingTimedOut "reordering-timed-out",
    /// The source knows that the target has the host.
    SourceReleased "source-released",
    /// The host has lost its link, or could not complete a handover.
    LinkFailed "link-failed",
    /// A base station continues the host's connection.
    Reestablished "reestablished",
    /// The host asks for a new connection.
    ServiceRequested "service-requested",
    /// The host has a new connection.
    ServiceRestored "service-restored",
    ;
    /// The host has chosen a cell after a failure.
    CellChosen "cell-chosen",
    /// The target does not know the numbers of the bearer: it begins again.
    FullyConfigured "fully-configured",
}
