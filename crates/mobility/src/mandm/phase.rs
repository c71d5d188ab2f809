//! Phases of a handover, for the record.

crate::phases! {
    /// A phase of a handover of M&M.
    Phase:
    /// The old base station notified others that the host may arrive.
    TriggerSent "trigger-sent",
    /// A base station to which the host may come is on the tree.
    CandidateJoined "candidate-joined",
    /// A router that was on the tree has a further branch.
    CrossOverJoined "cross-over-joined",
    /// The host sent its first attach in a cell.
    AttachSent "attach-sent",
    /// The new base station began to give the host what it had kept.
    Flushed "buffer-flushed",
    /// The base station where the host is attached is on the tree.
    PathJoined "path-joined",
    /// The host knows that it is attached.
    Attached "attached",
    /// A base station without the host left the tree.
    BranchReleased "branch-released",
}
