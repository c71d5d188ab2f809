//! Phases of a handover, for the record.

crate::phases! {
    /// A phase of a handover of BCMP.
    Phase:
    /// The host asked for a session, or for one at another anchor.
    LoginSent "login-sent",
    /// The anchor gave the host a session and tunnels to its access router.
    LoggedIn "logged-in",
    /// The host knows its session.
    SessionKnown "session-known",
    /// The host asked its access router to prepare another one.
    PreparationSent "preparation-sent",
    /// The new access router awaits the host.
    RouterPrepared "new-router-prepared",
    /// The old access router tunnels the host's packets to the new one.
    ForwardingStarted "temporary-tunnel-started",
    /// The host sent its first attach on a link.
    AttachSent "attach-sent",
    /// The new access router, or the old one to which the host came back, began to give it what it had kept.
    Flushed "buffer-flushed",
    /// The anchor tunnels to another access router.
    PathSwitched "anchor-path-switched",
    /// The host knows that the anchor does.
    Attached "host-attached",
    /// The host was to move and has not.
    Stayed "preparation-expired",
    /// An access router gave up a tunnel, or what it had for a host that is not there.
    RouterReleased "old-router-released",
    /// The anchor keeps the host's packets and will page it.
    Idle "host-idle-at-anchor",
    /// The anchor pages the host.
    Paged "host-paged",
    /// The anchor's session has ended.
    LoggedOut "logged-out",
    /// The home agent tunnels to another anchor.
    HomeAgentRegistered "home-agent-registered",
    /// The host knows that the home agent does.
    Registered "globally-registered",
}
