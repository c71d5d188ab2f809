//! The messages of BCMP and their sizes on the wire. The identification is the session's sequence number; an answer
//! carries that of its request.

use crate::mobile_ip;
use roamlab_packet::Addr;

/// A session of a host at an anchor, which is also the address that the host has there.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Session {
    /// The anchor.
    pub anchor: Addr,
    /// Which one of the anchor's sessions.
    pub number: u32,
}

crate::messages! {
    /// Sizes of messages on the wire, IP header included. ASSUMPTION: no specification of BCMP's formats was found; these are
    /// plausible sizes, not the protocol's. Registrations have those of RFC 5944.
    Sizes as sizes;

    /// Access router → all: this cell is here.
    Advertisement "bcmp-advertisement" size
        /// An access router's advertisement.
        advertisement = 48;
    /// Host → its access router → anchor: a session, please.
    LoginRequest {
        /// The anchor that it is to use; `None`: the access router chooses.
        anchor: Option<Addr>,
    } "login-request" size login_request = 100;
    /// The answer, on the same path.
    LoginResponse {
        /// The new session.
        session: Session,
    } "login-response" size login_response = 80;
    /// Anchor → server: may this host have a session?
    AuthenticationRequest "authentication-request" size authentication_request = 100;
    /// The answer.
    AuthenticationAnswer {
        /// It may.
        accepted: bool,
    } "authentication-answer" size authentication_answer = 80;
    /// Host → its access router → anchor: this session ends.
    Logout {
        /// The session.
        session: Session,
    } "logout-request" size logout = 40;
    /// The answer, on the same path.
    LogoutAcknowledge {
        /// The session.
        session: Session,
    } "logout-acknowledge" size logout_acknowledge = 40;
    /// Host → old access router: I will go there.
    PrepareRequest {
        /// The new access router.
        to: Addr,
    } "handover-prepare-request" size prepare_request = 60;
    /// Old → new access router: the host will come, and this is its context.
    Prepare "handover-prepare" size
        /// With the session's context.
        prepare = 100;
    /// The answer: the host is admitted.
    PrepareAcknowledge "handover-prepare-acknowledge" size prepare_acknowledge = 60;
    /// Old access router → host: the new one is prepared.
    Prepared "handover-prepared" size prepared = 40;
    /// Host → new access router: I am here.
    Attach {
        /// Its session.
        session: Session,
        /// Its session at the anchor before, as long as that is kept.
        former: Option<Session>,
        /// Access routers that may have a route to it.
        previous: Vec<Addr>,
        /// It will be quiet: page it when something comes.
        idle: bool,
    } "handover-attach" size attach = 60;
    /// New access router → anchor: tunnel the session's packets to me.
    PathUpdate {
        /// The session.
        session: Session,
        /// Keep them and page the host instead.
        idle: bool,
    } "anchor-path-update" size path_update = 60;
    /// The answer.
    PathAcknowledge {
        /// The anchor has that session.
        known: bool,
    } "anchor-path-acknowledge" size path_acknowledge = 40;
    /// New access router → host: the anchor has answered.
    AttachAcknowledge {
        /// The anchor has that session.
        known: bool,
    } "handover-attach-acknowledge" size attach_acknowledge = 40;
    /// New → old access router: the host is here.
    Notify "handover-notify" size notify = 40;
    /// Access router → host: log in at another anchor.
    AnchorChange {
        /// The anchor.
        anchor: Addr,
    } "anchor-change-request" size anchor_change = 60;
    /// Anchor → access routers of a paging area: page the host.
    PageRequest "page-request" size page_request = 40;
    /// Access router → all: is this host here?
    Page "page" size page = 40;
    /// Host → anchor → home agent: a registration request of Mobile IP.
    GlobalRequest {
        /// The request.
        request: mobile_ip::Kind,
    } "global-registration-request" size
        /// A registration request of Mobile IP.
        registration_request = 52;
    /// Home agent → anchor → host: a registration reply of Mobile IP.
    GlobalReply {
        /// The reply.
        reply: mobile_ip::Kind,
    } "global-registration-reply" size
        /// Its reply.
        registration_reply = 48;
}
