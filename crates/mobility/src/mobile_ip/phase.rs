//! Phases of a handover, for the record.

crate::phases! {
    /// A phase of a handover of Mobile IP.
    Phase:
    /// The mobile host heard the beacon (or advertisement) that showed its move.
    MovementDetected "movement-detected",
    /// The mobile host sent its first registration request through the new agent.
    RegistrationSent "registration-sent",
    /// The new agent relayed the registration request to the home agent and notified the old agents.
    NewAgentNotified "new-agent-notified",
    /// The old agent learnt the new care-of address: losses end here.
    OldAgentInformed "old-agent-informed",
    /// The old base station began to forward its buffer.
    ForwardingStarted "forwarding-started",
    /// The home agent accepted the registration.
    HomeAgentRegistered "home-agent-registered",
    /// A correspondent learnt the new care-of address.
    CorrespondentInformed "correspondent-informed",
    /// The mobile host got its registration reply: the handover is complete.
    Registered "registered",
    /// The old base station let its state for the host go.
    ForwardingEnded "forwarding-ended",
}
