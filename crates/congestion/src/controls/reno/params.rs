//! Reno's parameters in scenarios.

use crate::SpecError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reno's choice.
#[derive(Copy, Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The arithmetic of Linux 6 instead of the RFC's: the window grows by segments acknowledged, and only if it was the
    /// limit. A loss leaves half of the window in whole segments, at least two.
    pub as_linux: bool,
}

impl Params {
    pub fn check(&self) -> Result<(), SpecError> {
        Ok(())
    }
}
