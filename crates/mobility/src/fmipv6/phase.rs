//! Phases of a handover, for the record.

crate::phases! {
    /// A phase of a handover of FMIPv6.
    Phase:
    /// The PAR notified the host that it will move to another access router.
    PredictionSent "prediction-sent",
    /// The NAR awaits the host.
    Prepared "nar-prepared",
    /// The PAR tunnels the host's packets to the NAR.
    TunnelStarted "tunnel-started",
    /// The host sent its first una on a link.
    UnaSent "una-sent",
    /// The NAR, or the PAR to which the host came back, began to give it what it had kept.
    Flushed "una-flushed",
    /// The anchor tunnels to another access router.
    AnchorSwitched "anchor-switched",
    /// The host knows that the anchor does.
    Bound "anchor-bound",
    /// The host was predicted to move and has not: it withdraws its fbu.
    Stayed "prediction-withdrawn",
    /// An access router gave up a tunnel, or what it had for a host that is not there.
    TunnelEnded "tunnel-ended",
}
