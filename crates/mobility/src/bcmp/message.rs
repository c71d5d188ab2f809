//! The messages of BCMP and their sizes on the wire.

use crate::{Identification, Signal, mobile_ip};
use roamlab_engine::Bytes;
use roamlab_packet::Addr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A session of a host at an anchor, which is also the address that the host has there.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Session {
    /// The anchor.
    pub anchor: Addr,
    /// Which one of the anchor's sessions.
    pub number: u32,
}

/// A signalling message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The host's home address; `None`: an advertisement, which is about none.
    pub host: Option<Addr>,
    /// The session's sequence number at what it is about; answers bear that of the question.
    pub id: Identification,
    /// What it says.
    pub kind: Kind,
}

/// What a message says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Access router → all: this cell is here.
    Advertisement,
    /// Host → its access router → anchor: a session, please.
    LoginRequest {
        /// The anchor that it shall be at; `None`: the access router chooses.
        anchor: Option<Addr>,
    },
    /// The answer, on the same way.
    LoginResponse {
        /// The new session.
        session: Session,
    },
    /// Host → its access router → anchor: this session ends.
    Logout {
        /// The session.
        session: Session,
    },
    /// The answer, on the same way.
    LogoutAcknowledge {
        /// The session.
        session: Session,
    },
    /// Host → old access router: I will go there.
    PrepareRequest {
        /// The new access router.
        to: Addr,
    },
    /// Old → new access router: the host will come, and this is its context.
    Prepare,
    /// The answer: the host is admitted.
    PrepareAcknowledge,
    /// Old access router → host: the new one is prepared.
    Prepared,
    /// Host → new access router: I am here.
    Attach {
        /// Its session.
        session: Session,
        /// Its session at the anchor before, as long as that is kept.
        former: Option<Session>,
        /// Access routers that may have a way to it.
        previous: Vec<Addr>,
        /// It will be quiet: page it when something comes.
        idle: bool,
    },
    /// New access router → anchor: tunnel the session's packets to me.
    PathUpdate {
        /// The session.
        session: Session,
        /// Keep them and page the host instead.
        idle: bool,
    },
    /// The answer.
    PathAcknowledge {
        /// The anchor has that session.
        known: bool,
    },
    /// New access router → host: the anchor has answered.
    AttachAcknowledge {
        /// The anchor has that session.
        known: bool,
    },
    /// New → old access router: the host is here.
    Notify,
    /// Access router → host: log in at another anchor.
    AnchorChange {
        /// The anchor.
        anchor: Addr,
    },
    /// Anchor → access routers of a paging area: page the host.
    PageRequest,
    /// Access router → all: is this host here?
    Page,
    /// Host ↔ anchor ↔ home agent: a registration of Mobile IP.
    Global(mobile_ip::Message),
}

/// Sizes of messages on the wire, IP header included. ASSUMPTION: no specification of BCMP's formats was found; these are
/// plausible sizes, not the protocol's. Registrations have those of RFC 5944.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sizes {
    /// An access router's advertisement. Default 48 B.
    pub advertisement: Bytes,
    /// Default 100 B.
    pub login_request: Bytes,
    /// Default 80 B.
    pub login_response: Bytes,
    /// Default 40 B.
    pub logout: Bytes,
    /// Default 40 B.
    pub logout_acknowledge: Bytes,
    /// Default 60 B.
    pub prepare_request: Bytes,
    /// With the session's context. Default 100 B.
    pub prepare: Bytes,
    /// Default 60 B.
    pub prepare_acknowledge: Bytes,
    /// Default 40 B.
    pub prepared: Bytes,
    /// Default 60 B.
    pub attach: Bytes,
    /// Default 60 B.
    pub path_update: Bytes,
    /// Default 40 B.
    pub path_acknowledge: Bytes,
    /// Default 40 B.
    pub attach_acknowledge: Bytes,
    /// Default 40 B.
    pub notify: Bytes,
    /// Default 60 B.
    pub anchor_change: Bytes,
    /// Default 40 B.
    pub page_request: Bytes,
    /// Default 40 B.
    pub page: Bytes,
    /// A registration request of Mobile IP. Default 52 B.
    pub registration_request: Bytes,
    /// Its reply. Default 48 B.
    pub registration_reply: Bytes,
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes {
            advertisement: Bytes(48),
            login_request: Bytes(100),
            login_response: Bytes(80),
            logout: Bytes(40),
            logout_acknowledge: Bytes(40),
            prepare_request: Bytes(60),
            prepare: Bytes(100),
            prepare_acknowledge: Bytes(60),
            prepared: Bytes(40),
            attach: Bytes(60),
            path_update: Bytes(60),
            path_acknowledge: Bytes(40),
            attach_acknowledge: Bytes(40),
            notify: Bytes(40),
            anchor_change: Bytes(60),
            page_request: Bytes(40),
            page: Bytes(40),
            registration_request: Bytes(52),
            registration_reply: Bytes(48),
        }
    }
}

impl Sizes {
    /// All, by field.
    pub fn all(&self) -> [(&'static str, Bytes); 19] {
        [
            ("advertisement", self.advertisement),
            ("login_request", self.login_request),
            ("login_response", self.login_response),
            ("logout", self.logout),
            ("logout_acknowledge", self.logout_acknowledge),
            ("prepare_request", self.prepare_request),
            ("prepare", self.prepare),
            ("prepare_acknowledge", self.prepare_acknowledge),
            ("prepared", self.prepared),
            ("attach", self.attach),
            ("path_update", self.path_update),
            ("path_acknowledge", self.path_acknowledge),
            ("attach_acknowledge", self.attach_acknowledge),
            ("notify", self.notify),
            ("anchor_change", self.anchor_change),
            ("page_request", self.page_request),
            ("page", self.page),
            ("registration_request", self.registration_request),
            ("registration_reply", self.registration_reply),
        ]
    }
}

impl Kind {
    /// The place in the lists of names and sizes.
    fn place(&self) -> usize {
        match self {
            Kind::Advertisement => 0,
            Kind::LoginRequest { .. } => 1,
            Kind::LoginResponse { .. } => 2,
            Kind::Logout { .. } => 3,
            Kind::LogoutAcknowledge { .. } => 4,
            Kind::PrepareRequest { .. } => 5,
            Kind::Prepare => 6,
            Kind::PrepareAcknowledge => 7,
            Kind::Prepared => 8,
            Kind::Attach { .. } => 9,
            Kind::PathUpdate { .. } => 10,
            Kind::PathAcknowledge { .. } => 11,
            Kind::AttachAcknowledge { .. } => 12,
            Kind::Notify => 13,
            Kind::AnchorChange { .. } => 14,
            Kind::PageRequest => 15,
            Kind::Page => 16,
            Kind::Global(mobile_ip::Message::RegistrationReply { .. }) => 18,
            Kind::Global(_) => 17,
        }
    }
}

impl Signal for Message {
    type Sizes = Sizes;

    const NAMES: &'static [&'static str] = &[
        "bcmp-advertisement",
        "login-request",
        "login-response",
        "logout-request",
        "logout-acknowledge",
        "handover-prepare-request",
        "handover-prepare",
        "handover-prepare-acknowledge",
        "handover-prepared",
        "handover-attach",
        "anchor-path-update",
        "anchor-path-acknowledge",
        "handover-attach-acknowledge",
        "handover-notify",
        "anchor-change-request",
        "page-request",
        "page",
        "global-registration-request",
        "global-registration-reply",
    ];

    fn name(&self) -> &'static str {
        Self::NAMES[self.kind.place()]
    }

    fn host(&self) -> Option<Addr> {
        self.host
    }

    fn size(&self, sizes: &Sizes) -> Bytes {
        sizes.all()[self.kind.place()].1
    }
}
