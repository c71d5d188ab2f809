//! Whose rules a discipline follows where Linux and the RFC differ.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whose rules a discipline follows.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rules {
    /// The RFC's.
    #[default]
    Rfc,
    /// Those of Linux 6.12, with its units of time and its rounding.
    Linux,
}
