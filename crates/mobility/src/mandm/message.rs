//! The messages of M&M and their sizes on the wire.

use crate::{Identification, Signal};
use roamlab_engine::Bytes;
use roamlab_packet::Addr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A signalling message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The host's home address; `None`: a beacon, which is about none.
    pub host: Option<Addr>,
    /// What orders it: of an attach, and of what follows from it, the host's clock; of a join and what follows from it, the
    /// clock of the node that joins.
    pub id: Identification,
    /// What it says.
    pub kind: Kind,
}

/// What a message says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Base station → all: this cell is here.
    Beacon,
    /// Mobile host → its base station: I am here.
    Attach {
        /// Base stations that may still have a branch for it.
        previous: Vec<Addr>,
    },
    /// Base station → mobile host: I know.
    AttachAcknowledge,
    /// Node → the next one towards the border router: I want the host's packets.
    Join,
    /// The answer: you are on the tree.
    JoinAcknowledge,
    /// Node → the next one towards the border router: I want them no more.
    Prune,
    /// Base station → one that the host may come to.
    Trigger,
    /// New base station → previous one: the host is here, and I am on the tree.
    Moved,
}

/// Sizes of messages on the wire, headers included. ASSUMPTION: the papers give none; an IP header and 20 to 28 bytes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sizes {
    /// A beacon. Default 24 B.
    pub beacon: Bytes,
    /// An attach, and its acknowledge. Default 40 B.
    pub attach: Bytes,
    /// A join, its acknowledge, and a prune. Default 40 B.
    pub join: Bytes,
    /// A trigger. Default 48 B.
    pub trigger: Bytes,
    /// The news that the host has moved. Default 40 B.
    pub moved: Bytes,
}

impl Default for Sizes {
    fn default() -> Self {
        let (attach, join, moved) = (Bytes(40), Bytes(40), Bytes(40));
        Sizes { beacon: Bytes(24), attach, join, trigger: Bytes(48), moved }
    }
}

impl Sizes {
    /// All, by field.
    pub fn all(&self) -> [(&'static str, Bytes); 5] {
        let Sizes { beacon, attach, join, trigger, moved } = *self;
        [("beacon", beacon), ("attach", attach), ("join", join), ("trigger", trigger), ("moved", moved)]
    }
}

impl Signal for Message {
    type Sizes = Sizes;

    const NAMES: &'static [&'static str] = &[
        "access-router-beacon",
        "attach",
        "attach-acknowledge",
        "join",
        "join-acknowledge",
        "prune",
        "trigger",
        "moved",
    ];

    fn name(&self) -> &'static str {
        let place = match self.kind {
            Kind::Beacon => 0,
            Kind::Attach { .. } => 1,
            Kind::AttachAcknowledge => 2,
            Kind::Join => 3,
            Kind::JoinAcknowledge => 4,
            Kind::Prune => 5,
            Kind::Trigger => 6,
            Kind::Moved => 7,
        };
        Self::NAMES[place]
    }

    fn host(&self) -> Option<Addr> {
        self.host
    }

    fn size(&self, sizes: &Sizes) -> Bytes {
        match self.kind {
            Kind::Beacon => sizes.beacon,
            Kind::Attach { .. } | Kind::AttachAcknowledge => sizes.attach,
            Kind::Join | Kind::JoinAcknowledge | Kind::Prune => sizes.join,
            Kind::Trigger => sizes.trigger,
            Kind::Moved => sizes.moved,
        }
    }
}
