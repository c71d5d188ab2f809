//! BSS transition management (IEEE Std 802.11v-2011 §11.22.6): a base station asks hosts to go to other cells.

use roamlab_engine::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A planned request of a base station to its hosts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transition {
    /// The cell whose base station asks.
    pub cell: String,
    /// When it does.
    pub at: Duration,
    /// The hosts that it asks; absent: all that have it as their cell then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The candidates, the preferred one first; absent: all other cells, by their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
    /// The base station ends the association so long after its request (disassociation imminent); absent: it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disassociates_after: Option<Duration>,
}

/// A host's answer to such a request.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnTransition {
    /// It looks for the candidates, and goes to the first in the list that it finds.
    #[default]
    Follow,
    /// It stays.
    Refuse,
}

/// Status codes of a response (§8.4.2, table 8-253a): accept; reject, unspecified; reject, no suitable candidates.
pub(super) const ACCEPTED: u32 = 0;
pub(super) const REJECTED: u32 = 1;
pub(super) const NO_CANDIDATE: u32 = 7;
