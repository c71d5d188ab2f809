//! Phases of a handover, for the record.

crate::phases! {
    /// A phase of a handover of Cellular IP.
    Phase:
    /// The host, or the old base station for it, had the semisoft packet sent.
    SemisoftSent "semisoft-sent",
    /// The cross-over sends copies the new way too.
    RouteAdded "route-added",
    /// The host sent the first route update through its new base station.
    RouteUpdateSent "route-update-sent",
    /// The cross-over sends packets the new way.
    RouteSwitched "route-switched",
    /// The host has become idle.
    HostIdle "host-idle",
    /// An idle host has become active.
    HostActive "host-active",
}
