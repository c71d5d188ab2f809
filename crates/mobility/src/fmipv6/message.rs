//! The messages of FMIPv6 and their sizes on the wire.

use crate::{Identification, Signal};
use roamlab_engine::Bytes;
use roamlab_packet::Addr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A signalling message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The host's home address; `None`: an advertisement, which is about none.
    pub host: Option<Addr>,
    /// The host's clock at what it is about; hi, hack and fback bear that of the fbu.
    pub id: Identification,
    /// What it says.
    pub kind: Kind,
}

/// What a message says. A care-of address is named by its access router.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Access router → all: this cell is here.
    Advertisement,
    /// Host → its access router: who are your neighbours?
    RtSolPr,
    /// The answer, or without a question: you will come there.
    PrRtAdv {
        /// The access router that the host will come to; `None`: it was solicited.
        expected: Option<Addr>,
    },
    /// Host → PAR: tunnel my packets.
    FastBindingUpdate {
        /// Where to; the PAR itself: no more (lifetime 0).
        to: Addr,
        /// It is sent from the new link: its source is the new care-of address.
        from_new_link: bool,
    },
    /// The answer.
    FastBindingAcknowledge,
    /// PAR → NAR: the host will come.
    HandoverInitiate {
        /// Keep its packets until then (flag U).
        buffer: bool,
    },
    /// The answer: its care-of address is accepted.
    HandoverAcknowledge,
    /// Host → NAR: I am here.
    Una,
    /// Host → anchor: tunnel my packets to this access router.
    BindingUpdate {
        /// The access router.
        care_of: Addr,
    },
    /// The answer.
    BindingAcknowledge,
}

/// Sizes of messages on the wire, IPv6 header (40 B) included. ASSUMPTION: link-layer addresses have 48 bits, and options are
/// those that the RFCs require: rtsolpr 8 + 8 + 16 (ICMPv6, own and other link-layer address); prrtadv 8 + 16 + 16 + 24 + 24
/// (ICMPv6, two link-layer addresses, router, prefix), for one neighbour; fbu and fback 24 + 56 (home address or routing
/// header; mobility header with care-of address and authorisation); hi 64 (mobility header with link-layer address and two
/// care-of addresses); hack 32; una 24 + 8; local binding update 24 + 32, its acknowledge 24 + 16.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sizes {
    /// A router advertisement with a prefix and a link-layer address. Default 96 B.
    pub advertisement: Bytes,
    /// Default 72 B.
    pub rtsolpr: Bytes,
    /// Default 128 B.
    pub prrtadv: Bytes,
    /// Default 120 B.
    pub fbu: Bytes,
    /// Default 120 B.
    pub fback: Bytes,
    /// Default 104 B.
    pub hi: Bytes,
    /// Default 72 B.
    pub hack: Bytes,
    /// Default 72 B.
    pub una: Bytes,
    /// A local binding update. Default 96 B.
    pub binding_update: Bytes,
    /// Its acknowledge. Default 80 B.
    pub binding_acknowledge: Bytes,
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes {
            advertisement: Bytes(96),
            rtsolpr: Bytes(72),
            prrtadv: Bytes(128),
            fbu: Bytes(120),
            fback: Bytes(120),
            hi: Bytes(104),
            hack: Bytes(72),
            una: Bytes(72),
            binding_update: Bytes(96),
            binding_acknowledge: Bytes(80),
        }
    }
}

impl Sizes {
    /// All, by field.
    pub fn all(&self) -> [(&'static str, Bytes); 10] {
        [
            ("advertisement", self.advertisement),
            ("rtsolpr", self.rtsolpr),
            ("prrtadv", self.prrtadv),
            ("fbu", self.fbu),
            ("fback", self.fback),
            ("hi", self.hi),
            ("hack", self.hack),
            ("una", self.una),
            ("binding_update", self.binding_update),
            ("binding_acknowledge", self.binding_acknowledge),
        ]
    }
}

impl Kind {
    /// The place in the lists of names and sizes.
    fn place(&self) -> usize {
        match self {
            Kind::Advertisement => 0,
            Kind::RtSolPr => 1,
            Kind::PrRtAdv { .. } => 2,
            Kind::FastBindingUpdate { .. } => 3,
            Kind::FastBindingAcknowledge => 4,
            Kind::HandoverInitiate { .. } => 5,
            Kind::HandoverAcknowledge => 6,
            Kind::Una => 7,
            Kind::BindingUpdate { .. } => 8,
            Kind::BindingAcknowledge => 9,
        }
    }
}

impl Signal for Message {
    type Sizes = Sizes;

    const NAMES: &'static [&'static str] = &[
        "ipv6-router-advertisement",
        "rtsolpr",
        "prrtadv",
        "fbu",
        "fback",
        "hi",
        "hack",
        "una",
        "local-binding-update",
        "local-binding-acknowledge",
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
