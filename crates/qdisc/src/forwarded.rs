//! Parts that MBLUE and M-RED share: the disciplines that use the mark of forwarded packets.

use crate::BadField;
use crate::fifo::Fifo;
use roamlab_packet::{Dscp, PacketId, PacketPool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// M2, R5: what becomes of a marked packet that finds the queue full.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardedAtFull {
    /// It is lost, counted as `forwarded-overflow`.
    Reject,
    /// The unmarked packet nearest to the tail makes room for it; rejected if all are marked.
    PushOut,
    /// It is kept beyond the limit.
    OverflowAllow,
}

impl ForwardedAtFull {
    /// The packet that leaves a full `line` to make room for a marked one.
    pub(crate) fn evict(self, line: &mut Fifo, pool: &mut PacketPool) -> Option<PacketId> {
        if self == ForwardedAtFull::PushOut { line.pop_last_ordinary(pool) } else { None }
    }
}

/// Whether `mark` can be told from ordinary packets.
pub(crate) fn validate_mark(mark: Dscp) -> Result<(), BadField> {
    if (1..=63).contains(&mark.0) {
        return Ok(());
    }
    Err(("mark", "a DSCP other than that of ordinary packets: write 1 to 63, for example 3".into()))
}
