//! The planned visits of a host to cells.

use roamlab_engine::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A stay in a cell.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Visit {
    /// The cell.
    pub cell: String,
    /// When the host turns to it: it leaves the cell before, and enters this one after the gap.
    pub at: Duration,
    /// When it leaves all coverage; absent: at the next visit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Duration>,
}
