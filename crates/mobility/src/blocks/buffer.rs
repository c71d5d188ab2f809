//! Buffering of a host's packets while it changes cells.

use super::check_times;
use crate::{BufferDrop, BufferFlush, Buffering, Keeps, Refusal};
use roamlab_engine::{Duration, Packets};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where packets for a host wait.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferPlace {
    /// At base stations that the host may reach, until it does.
    New,
    /// At the base station that the host has left, until it knows where to.
    Old,
}

/// Buffering while a host changes cells: one buffer per host and base station.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HandoverBuffer {
    /// Where packets wait. Default "new".
    pub at: BufferPlace,
    /// Packets that one host's buffer holds; at 0 there is none. ASSUMPTION: \[ripple\] specifies "some
    /// finite number". Default 50 pkt.
    pub limit: Packets,
    /// Which packet a full buffer loses. Default "newest": the one that comes.
    pub drop: BufferDrop,
    /// A packet that has waited this long is lost; absent: it waits as long as the buffer is held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_wait: Option<Duration>,
}

impl Default for HandoverBuffer {
    fn default() -> Self {
        HandoverBuffer {
            at: BufferPlace::New,
            limit: Packets(50),
            drop: BufferDrop::Newest,
            longest_wait: None,
        }
    }
}

impl HandoverBuffer {
    /// Refuses what cannot run; the table is `buffer`.
    ///
    /// # Errors
    /// The field, and what to write instead.
    pub fn check(&self) -> Result<(), Refusal> {
        check_times("buffer", self.longest_wait.map(|wait| ("longest_wait", wait)))
    }

    /// True if packets wait at this place.
    pub fn is_at(&self, place: BufferPlace) -> bool {
        self.limit > Packets(0) && self.at == place
    }

    /// Requests of a base station to the world.
    pub fn buffering(&self) -> Option<Buffering> {
        let HandoverBuffer { limit, drop, longest_wait, .. } = *self;
        let flush = BufferFlush::OldestFirst;
        (limit > Packets(0)).then_some(Buffering { limit, drop, longest_wait, flush, keeps: Keeps::Nothing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_without_room_is_none() {
        let some = HandoverBuffer::default();
        let none = HandoverBuffer { limit: Packets(0), ..some.clone() };
        assert_eq!(some.buffering().map(|asked| asked.limit), Some(Packets(50)));
        assert!(some.is_at(BufferPlace::New) && !some.is_at(BufferPlace::Old));
        assert_eq!((none.buffering(), none.is_at(BufferPlace::New)), (None, false));
        let hasty = HandoverBuffer { longest_wait: Some(Duration::ZERO), ..some };
        assert_eq!(hasty.check().unwrap_err().field, "buffer.longest_wait");
    }
}
