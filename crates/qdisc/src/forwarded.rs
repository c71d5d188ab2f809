//! The exemption of forwarded packets, which any discipline can have. The packets that an old base station forwards are
//! neither dropped nor marked while there is room. A choice decides their fate at a full queue.

use crate::fifo::{Fifo, has_mark};
use crate::{BadField, QdiscCx};
use roamlab_packet::{DropReason, Dscp, Packet, PacketId, PacketPool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// M2, R5: fate of a forwarded packet that finds the queue full.
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

/// Waiting packets, where a forwarded packet may displace another.
pub(crate) trait PushOut {
    /// Takes the packet without a mark that is nearest to the tail.
    fn push_out(&mut self, pool: &mut PacketPool) -> Option<PacketId>;
}

impl PushOut for Fifo {
    fn push_out(&mut self, pool: &mut PacketPool) -> Option<PacketId> {
        self.pop_last_ordinary(pool).map(|(packet, _)| packet)
    }
}

/// State of the queue at the arrival of a forwarded packet.
pub(crate) struct Room {
    /// True if it may wait.
    pub admits: bool,
    /// True if another one was dropped for it.
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

    /// Spares the packets with `mark` if `spare` is set, and otherwise none.
    pub(crate) fn if_set(spare: bool, mark: Dscp, at_full: ForwardedAtFull) -> Exemption {
        Exemption { mark: spare.then_some(mark), at_full }
    }

    /// True if `packet` is spared.
    #[inline(always)]
    pub(crate) fn covers(&self, packet: &Packet) -> bool {
        self.mark.is_some() && has_mark(packet, self.mark)
    }

    /// The same of a packet in `pool`, which is not looked at if none is spared.
    #[inline(always)]
    pub(crate) fn spares(&self, packet: &PacketId, pool: &PacketPool) -> bool {
        self.mark.is_some() && has_mark(&pool[packet], self.mark)
    }

    /// Lets a packet into a queue that loses what finds no room, by this exemption.
    #[inline(always)]
    pub(crate) fn admit<L: PushOut>(
        &self,
        packet: PacketId,
        line: &mut L,
        is_full: impl Fn(&L) -> bool,
        cx: &mut QdiscCx<'_>,
    ) -> Option<PacketId> {
        if !is_full(line) {
            return Some(packet);
        }
        let reason = if !self.spares(&packet, cx.pool) {
            DropReason::QueueOverflow
        } else if self.find_room(line, is_full, cx).admits {
            return Some(packet);
        } else {
            DropReason::ForwardedOverflow
        };
        cx.drop(packet, reason);
        None
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

/// The parameters of a discipline that can spare forwarded packets: its own, with their defaults, and those of the exemption.
macro_rules! exempting_params {
    ($(#[$doc:meta])* own { $($(#[$field_doc:meta])* $field:ident: $type:ty = $default:expr;)+ }) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct Params {
            $($(#[$field_doc])* pub $field: $type,)+
            /// True if forwarded packets, those with the code point `mark`, are neither dropped nor marked
            /// while there is room (default false).
            pub spare_forwarded: bool,
            /// With `spare_forwarded`, the DSCP of the inner header that marks forwarded packets, 1 to 63 (default 3,
            /// 000011: experimental and local use).
            #[schemars(with = "u8", range(min = 1, max = 63))]
            pub mark: roamlab_packet::Dscp,
            /// With `spare_forwarded`, the fate of a forwarded packet that finds the queue full (default
            /// reject).
            pub forwarded_at_full: $crate::ForwardedAtFull,
        }

        impl Default for Params {
            fn default() -> Self {
                Params {
                    $($field: $default,)+
                    spare_forwarded: false,
                    mark: roamlab_packet::Dscp::FORWARDED,
                    forwarded_at_full: $crate::ForwardedAtFull::Reject,
                }
            }
        }

        impl Params {
            fn exemption(&self) -> $crate::forwarded::Exemption {
                $crate::forwarded::Exemption::if_set(self.spare_forwarded, self.mark, self.forwarded_at_full)
            }
        }
    };
}

pub(crate) use exempting_params;

/// Checks that `mark` can be distinguished from ordinary packets.
pub(crate) fn validate_mark(mark: Dscp) -> Result<(), BadField> {
    if (1..=63).contains(&mark.0) {
        return Ok(());
    }
    Err(("mark", "a DSCP other than that of ordinary packets: write 1 to 63, for example 3".into()))
}
