//! The exemption of forwarded packets, which any discipline can have: the packets that an old base station forwards are
//! neither dropped nor marked while there is room, and a choice says what becomes of them at a full queue.

use crate::fifo::{Fifo, has_mark};
use crate::{BadField, QdiscCx};
use roamlab_packet::{DropReason, Dscp, Packet, PacketId, PacketPool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// M2, R5: what becomes of a forwarded packet that finds the queue full.
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

/// What waits, where a forwarded packet may displace another.
pub(crate) trait PushOut {
    /// Takes the packet without a mark that is nearest to the tail.
    fn push_out(&mut self, pool: &mut PacketPool) -> Option<PacketId>;
}

impl PushOut for Fifo {
    fn push_out(&mut self, pool: &mut PacketPool) -> Option<PacketId> {
        self.pop_last_ordinary(pool)
    }
}

/// What a forwarded packet finds at the queue.
pub(crate) struct Room {
    /// Whether it may wait.
    pub admits: bool,
    /// Whether another one was dropped for it.
    pub pushed_out: bool,
}

/// Which packets a discipline spares.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Exemption {
    /// The code point of those; `None`: none.
    mark: Option<Dscp>,
    at_full: ForwardedAtFull,
}

impl Exemption {
    /// Spares the packets with `mark`.
    pub(crate) fn of(mark: Dscp, at_full: ForwardedAtFull) -> Exemption {
        Exemption { mark: Some(mark), at_full }
    }

    /// Whether `packet` is spared.
    #[inline(always)]
    pub(crate) fn covers(&self, packet: &Packet) -> bool {
        self.mark.is_some() && has_mark(packet, self.mark)
    }

    /// Looks for room for a spared packet; may drop another for it.
    pub(crate) fn find_room<L: PushOut>(
        &self,
        line: &mut L,
        is_full: impl Fn(&L) -> bool,
        cx: &mut QdiscCx<'_>,
    ) -> Room {
        let pushed_out = self.at_full == ForwardedAtFull::PushOut
            && is_full(line)
            && line.push_out(cx.pool).is_some_and(|evicted| {
                cx.drop(evicted, DropReason::QueueOverflow);
                true
            });
        Room { admits: self.at_full == ForwardedAtFull::OverflowAllow || !is_full(line), pushed_out }
    }
}

/// Whether `mark` can be told from ordinary packets.
pub(crate) fn validate_mark(mark: Dscp) -> Result<(), BadField> {
    if (1..=63).contains(&mark.0) {
        return Ok(());
    }
    Err(("mark", "a DSCP other than that of ordinary packets: write 1 to 63, for example 3".into()))
}
