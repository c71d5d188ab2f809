//! Rates that grow while packets wait.

use roamlab_engine::{Duration, Time};
use std::sync::Arc;

/// How a rate grows while packets wait, and falls back at edges.
///
/// ASSUMPTION: it grows in a line with the time in which the link has sent packets that had waited, and keeps what it has
/// when it falls idle.
#[derive(Clone, Debug)]
pub struct Growth {
    edges: Arc<[u64]>,
    factor: f64,
    time: u64,
    /// The slot, as a number of edges before it, and how long packets have waited in it.
    slot: usize,
    waited: u64,
}

impl Growth {
    pub(super) fn new(edges: Vec<u64>, factor: f64, time: Duration) -> Growth {
        Growth { edges: edges.into(), factor, time: time.as_nanos(), slot: 0, waited: 0 }
    }

    /// The factor of a transmission that begins now, in thousandths.
    pub(crate) fn thousandths(&mut self, now: Time) -> u64 {
        while self.edges.get(self.slot).is_some_and(|edge| *edge <= now.as_nanos()) {
            (self.slot, self.waited) = (self.slot + 1, 0);
        }
        let grown = if self.time == 0 { 1.0 } else { (self.waited as f64 / self.time as f64).min(1.0) };
        (1000.0 * (1.0 + (self.factor - 1.0) * grown)) as u64
    }

    /// A transmission of a packet that had waited takes so long.
    pub(crate) fn sent(&mut self, takes: Duration) {
        self.waited = self.waited.saturating_add(takes.as_nanos());
    }
}
