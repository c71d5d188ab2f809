//! BBR's parameters in scenarios.

use super::parts::{DRAINING, PHASES};
use crate::SpecError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// BBR's choice.
#[derive(Copy, Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// As in Linux 6 also outside the algorithm: it begins when the SYN is acknowledged, and segments that leave the
    /// network before the next burst do not count as in flight.
    pub as_linux: bool,
    /// The phase of the cycle of gains with which ProbeBW begins: 0, or 2 to 7. Without it each time another one is drawn, as
    /// in Linux.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_phase: Option<u32>,
    /// The same when ProbeBW begins again, after ProbeRTT or the rate of a policer. Without it `first_phase`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub later_phase: Option<u32>,
}

impl Params {
    pub fn check(&self) -> Result<(), SpecError> {
        for (name, phase) in [("first_phase", self.first_phase), ("later_phase", self.later_phase)] {
            if phase.is_some_and(|phase| phase == DRAINING || phase as usize >= PHASES) {
                return Err((name, "no cycle begins with that phase; write 0, or 2 to 7".into()));
            }
        }
        Ok(())
    }
}
