//! The messages of M&M and their sizes on the wire. An attach and its consequences are ordered by the host's clock, a
//! join and its consequences by the clock of the node that joins.

use roamlab_packet::Addr;

crate::messages! {
    /// Sizes of messages on the wire, headers included. ASSUMPTION: the papers give none; an IP header and 20 to 28 bytes.
    Sizes as sizes;

    /// Base station → all: this cell is here.
    Beacon "access-router-beacon" size
        /// A beacon.
        beacon = 24;
    /// Mobile host → its base station: I am here.
    Attach {
        /// Base stations that may still have a branch for it.
        previous: Vec<Addr>,
    } "attach" size
        /// An attach, and its acknowledge.
        attach = 40;
    /// Base station → mobile host: I know.
    AttachAcknowledge "attach-acknowledge" total sizes.attach.0;
    /// Base station → server: may this host attach here?
    AaaRequest "aaa-request" size
        /// A question to the server. ASSUMPTION: \[ripple\] gives no size; that of a login request of BCMP.
        aaa_request = 100;
    /// The answer.
    AaaAnswer {
        /// It may.
        accepted: bool,
    } "aaa-answer" size
        /// The answer of the server.
        aaa_answer = 80;
    /// Node → the next one towards the border router: I want the host's packets.
    Join "join" size
        /// A join, its acknowledge, and a prune.
        join = 40;
    /// The answer: you are on the tree.
    JoinAcknowledge "join-acknowledge" total sizes.join.0;
    /// Node → the next one towards the border router: I want them no more.
    Prune "prune" total sizes.join.0;
    /// Base station → one that the host may reach.
    Trigger "trigger" size
        /// A trigger.
        trigger = 48;
    /// New base station → previous one: the host is here, and I am on the tree.
    Moved "moved" size
        /// The host has moved.
        moved = 40;
}
