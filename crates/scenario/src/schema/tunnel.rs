//! How tunnels treat the ECN field.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Value that the entry of a tunnel writes into the ECN field of the outer header. The exit is the same for
/// all.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TunnelEcn {
    /// A copy of the inner field (RFC 6040 §4.1, normal mode).
    #[default]
    Normal,
    /// Not-ECT, for an exit that does not understand ECN (RFC 6040 §4.1, compatibility mode).
    Compatibility,
    /// ECT(0) where the inner field is Not-ECT, so that queues on the way mark every packet ([lte] §V.B); a copy
    /// otherwise. What such a queue marks and its receiver cannot echo is lost at the exit.
    AlwaysEct,
}
