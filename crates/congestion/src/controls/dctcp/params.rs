//! DCTCP's parameters in scenarios.

use crate::SpecError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Its parameters.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Weight of the latest window in the average (g, RFC 8257 §4.2; Linux `dctcp_shift_g` 4).
    pub gain: f64,
    /// The average before the first window (RFC 8257 §3.3; Linux `dctcp_alpha_on_init`).
    pub initial_alpha: f64,
    /// The arithmetic and the window of observation of Linux (`tcp_dctcp.c`).
    pub as_linux: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params { gain: 1.0 / 16.0, initial_alpha: 1.0, as_linux: false }
    }
}

impl Params {
    pub fn check(&self) -> Result<(), SpecError> {
        if !(self.gain > 0.0 && self.gain <= 1.0) {
            let message = format!("gain must be above 0 and at most 1; write 0.0625, not {}", self.gain);
            return Err(("congestion_control", message));
        }
        if !(0.0..=1.0).contains(&self.initial_alpha) {
            let alpha = self.initial_alpha;
            let message = format!("initial_alpha must be 0 to 1; write 1.0, not {alpha}");
            return Err(("congestion_control", message));
        }
        Ok(())
    }
}
