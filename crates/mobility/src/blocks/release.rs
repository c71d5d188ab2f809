//! Redundancy, its end, and the equalisation of the delays of its paths.

use crate::{Buffering, Keeps, Refusal};
use roamlab_engine::{Duration, Packets};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Redundancy: how long the old way stays next to the new one.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Redundancy {
    /// Copies go to the old base station for this long after the new one has its way; at 0 the old way ends
    /// as soon as the host has gone. Default 0 ns.
    pub bicast: Duration,
}

/// A base station that has a way and no host, and is notified of none, removes the way and its buffer after this time.
pub const PRUNE_TIMER: Duration = Duration::from_secs(1);

/// A constant delay of the copies that take the new way, at the node where the ways part.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Equaliser {
    /// How long; at 0 there is none. ASSUMPTION: the sources give no value; it should be the time that the new way is
    /// shorter than the old one, and does no harm below the semisoft delay. Default 20 ms.
    pub delay: Duration,
    /// Packets that wait in it at most, per host. Default 50 pkt.
    pub limit: Packets,
}

impl Default for Equaliser {
    fn default() -> Self {
        Equaliser { delay: Duration::from_millis(20), limit: Packets(50) }
    }
}

impl Equaliser {
    /// Refuses what cannot run; the table is `equaliser`.
    ///
    /// # Errors
    /// The field, and what to write instead.
    pub fn check(&self) -> Result<(), Refusal> {
        if self.limit == Packets(0) && self.delay > Duration::ZERO {
            let refusal =
                Refusal::at("equaliser.limit", "nothing fits into it, and every copy would be lost");
            return Err(refusal.help("write \"50 pkt\", or `delay = \"0 ms\"` for none"));
        }
        Ok(())
    }

    /// Requests of the node to the world.
    pub fn buffering(&self) -> Option<Buffering> {
        (self.delay > Duration::ZERO).then(|| Buffering::plain(self.limit, Keeps::Nothing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_lose_every_copy_or_keep_nothing_is_refused() {
        let none = Equaliser { delay: Duration::ZERO, limit: Packets(0) };
        assert_eq!((none.check(), none.buffering()), (Ok(()), None));
        let full = Equaliser { limit: Packets(0), ..Equaliser::default() };
        assert_eq!(full.check().unwrap_err().field, "equaliser.limit");
        assert_eq!(Equaliser::default().check(), Ok(()));
    }
}
