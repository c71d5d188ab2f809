//! CUBIC's parameters in scenarios.

use crate::SpecError;
use crate::controls::slow_start::SlowStart;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// CUBIC's choices.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The arithmetic of Linux 6 instead of the RFC's: whole segments, beta 717/1024, the window instead of the flight
    /// size, slow start by segments acknowledged, and a timeout that forgets all.
    pub as_linux: bool,
    /// A flow whose window shrinks from loss to loss has a lower plateau, which releases bandwidth (RFC 9438 §4.7).
    pub fast_convergence: bool,
    /// The end of slow start, other than a loss. Absent: HyStart++ (RFC 9438 §4.10), in Linux HyStart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_start: Option<SlowStart>,
}

impl Default for Params {
    fn default() -> Params {
        Params { as_linux: false, fast_convergence: true, slow_start: None }
    }
}

impl Params {
    pub fn check(&self) -> Result<(), SpecError> {
        Ok(())
    }
}
