//! The messages of HAWAII and their sizes on the wire.

use crate::{Identification, Signal};
use roamlab_engine::Bytes;
use roamlab_packet::Addr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A signalling message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The host's home address; `None`: it is about none in particular.
    pub host: Option<Addr>,
    /// The registration that it is about, which the host's clock orders; of a later one each node takes the word.
    pub id: Identification,
    /// What it says.
    pub kind: Kind,
}

/// What a message says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Base station → all: this cell is here.
    Beacon,
    /// Mobile host → its base station: I am here, or still here.
    Registration {
        /// Base stations that may still have a way to it.
        previous: Vec<Addr>,
    },
    /// Base station → mobile host: the way to you is there.
    RegistrationAcknowledge,
    /// Node → the next one towards the gateway: the host is new here.
    PowerUp {
        /// Its base station.
        new: Addr,
    },
    /// Node → the next one on the way between two base stations, or new base station → old one: the host has moved.
    Update(Ends),
    /// Node → the next one on the way from the new base station to the old one, and back: the path is there.
    Switch {
        /// Between whom.
        ends: Ends,
        /// It has been at the old base station.
        returns: bool,
    },
    /// Node → the next one towards the gateway: these hosts are still here.
    Refresh {
        /// Hosts, and their last registrations.
        hosts: Vec<(Addr, Identification)>,
    },
    /// Old base station or gateway → new base station: the path is set up.
    PathAcknowledge,
}

/// The base stations between which a path is set up.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Ends {
    /// Where the host is.
    pub new: Addr,
    /// Where it was.
    pub old: Addr,
}

/// Sizes of messages on the wire, headers included. ASSUMPTION: the registration is that of Mobile IP with an
/// authentication extension of 22 B, a previous base station an extension of 30 B (as in RFC 5944 and the draft on route
/// optimisation); for the others an IP header and 20 to 28 bytes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sizes {
    /// A beacon. Default 24 B.
    pub beacon: Bytes,
    /// A registration. Default 74 B.
    pub registration: Bytes,
    /// What a registration has more for each previous base station. Default 30 B.
    pub previous: Bytes,
    /// The answer to a registration. Default 70 B.
    pub reply: Bytes,
    /// A path set-up message: power-up, update, switch, and a refresh of one host. Default 48 B.
    pub path_setup: Bytes,
    /// What a refresh has more for each further host. Default 12 B.
    pub refreshed_host: Bytes,
    /// An acknowledge of a path. Default 40 B.
    pub acknowledge: Bytes,
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes {
            beacon: Bytes(24),
            registration: Bytes(74),
            previous: Bytes(30),
            reply: Bytes(70),
            path_setup: Bytes(48),
            refreshed_host: Bytes(12),
            acknowledge: Bytes(40),
        }
    }
}

impl Sizes {
    /// All, by field.
    pub fn all(&self) -> [(&'static str, Bytes); 7] {
        let Sizes { beacon, registration, previous, reply, path_setup, refreshed_host, acknowledge } = *self;
        [
            ("beacon", beacon),
            ("registration", registration),
            ("previous", previous),
            ("reply", reply),
            ("path_setup", path_setup),
            ("refreshed_host", refreshed_host),
            ("acknowledge", acknowledge),
        ]
    }
}

impl Signal for Message {
    type Sizes = Sizes;

    const NAMES: &'static [&'static str] = &[
        "foreign-agent-beacon",
        "registration",
        "registration-acknowledge",
        "path-power-up",
        "path-update",
        "path-switch",
        "path-refresh",
        "path-acknowledge",
    ];

    fn name(&self) -> &'static str {
        let place = match self.kind {
            Kind::Beacon => 0,
            Kind::Registration { .. } => 1,
            Kind::RegistrationAcknowledge => 2,
            Kind::PowerUp { .. } => 3,
            Kind::Update(_) => 4,
            Kind::Switch { .. } => 5,
            Kind::Refresh { .. } => 6,
            Kind::PathAcknowledge => 7,
        };
        Self::NAMES[place]
    }

    fn host(&self) -> Option<Addr> {
        self.host
    }

    fn size(&self, sizes: &Sizes) -> Bytes {
        let with = |base: Bytes, more: Bytes, count: usize| Bytes(base.0 + more.0 * count as u64);
        match &self.kind {
            Kind::Beacon => sizes.beacon,
            Kind::Registration { previous } => with(sizes.registration, sizes.previous, previous.len()),
            Kind::RegistrationAcknowledge => sizes.reply,
            Kind::PowerUp { .. } | Kind::Update(_) | Kind::Switch { .. } => sizes.path_setup,
            Kind::Refresh { hosts } => {
                with(sizes.path_setup, sizes.refreshed_host, hosts.len().saturating_sub(1))
            }
            Kind::PathAcknowledge => sizes.acknowledge,
        }
    }

    /// The switch sweeps forwarded packets before it.
    fn in_band(&self) -> bool {
        matches!(self.kind, Kind::Switch { .. })
    }
}
