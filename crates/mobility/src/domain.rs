//! The part of the network that a protocol is about.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The part of the network that a mobility protocol is about. Without any field it is the whole network.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Domain {
    /// The node where packets for its hosts come in, for a protocol that has one; absent: the home of its hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// Its cells; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cells: Option<Vec<String>>,
    /// Its mobile hosts; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
}

impl Domain {
    /// For serde, which passes a reference.
    pub(crate) fn is_whole(&self) -> bool {
        *self == Domain::default()
    }

    /// Whether a cell belongs to it.
    pub fn has_cell(&self, name: &str) -> bool {
        self.cells.as_ref().is_none_or(|cells| cells.iter().any(|cell| cell == name))
    }

    /// Whether a mobile host belongs to it.
    pub fn has_host(&self, name: &str) -> bool {
        self.hosts.as_ref().is_none_or(|hosts| hosts.iter().any(|host| host == name))
    }
}
