//! Phases of a handover, for the record.

crate::phases! {
    /// A phase of a handover of HAWAII.
    Phase:
    /// The host sent its first registration in a cell.
    RegistrationSent "registration-sent",
    /// The cross-over sends the host's packets to the new base station.
    CrossOverSwitched "cross-over-switched",
    /// The cross-over sends them to both.
    BicastBegun "bicast-begun",
    /// The old base station began to forward what it had kept.
    ForwardingBegun "forwarding-begun",
    /// The cross-over holds packets back until those on the way round the old base station have passed.
    HoldBegun "hold-begun",
    /// The new base station gave the host what it had kept of an earlier stay.
    Flushed "buffer-flushed",
    /// The new base station knows that the path is set up.
    PathSetUp "path-set-up",
    /// The host knows it.
    Registered "registered",
}
