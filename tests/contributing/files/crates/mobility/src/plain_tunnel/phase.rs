//! Phases of a handover, for the record.

crate::phases! {
    /// A phase of a handover.
    Phase:
    /// The host sent its first update from the new cell.
    UpdateSent "update-sent",
    /// The gateway tunnels to the new cell.
    PathSwitched "path-switched",
    /// The host has the acknowledge.
    Completed "completed",
}
