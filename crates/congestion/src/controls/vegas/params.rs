//! Vegas' parameters in scenarios.

use crate::SpecError;
use roamlab_engine::Packets;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Vegas' thresholds. Brakmo & Peterson name alpha and beta (1995 §3.2); gamma is ns-2's (§3.3).
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// With fewer segments in queues the window grows by a segment in the next round trip (ns-2 `v_alpha_`).
    pub alpha: Packets,
    /// With more segments in queues the window shrinks by one (ns-2 `v_beta_`).
    pub beta: Packets,
    /// More segments in queues end slow start (ns-2 `v_gamma_`).
    pub gamma: Packets,
    /// As in Linux 6 (`tcp_vegas.c`): slow start doubles in each round trip, the shortest time of a round decides, and a loss
    /// cuts the window as with Reno.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub as_linux: bool,
}

impl Default for Params {
    fn default() -> Params {
        // ASSUMPTION: Brakmo & Peterson name Vegas' alpha and beta, not gamma; all three are ns-2's.
        Params { alpha: Packets(1), beta: Packets(3), gamma: Packets(1), as_linux: false }
    }
}

impl Params {
    /// Takes those of Linux 6.
    pub fn set_linux(&mut self) {
        *self = Params { alpha: Packets(2), beta: Packets(4), gamma: Packets(1), as_linux: true };
    }

    pub fn check(&self) -> Result<(), SpecError> {
        let Params { alpha, beta, .. } = self;
        if beta >= alpha {
            return Ok(());
        }
        let message = format!(
            "Vegas' beta \"{beta}\" is below alpha \"{alpha}\"; write for example beta = \"{alpha}\""
        );
        Err(("congestion_control", message))
    }
}
