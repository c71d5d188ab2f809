//! The state that is kept of a retransmission until `spurious.rs` has found whether it was needed.

use crate::params::SpuriousDetection;
use roamlab_engine::Time;
use std::collections::BTreeMap;

/// What a retransmission may have to be taken back to.
#[derive(Copy, Clone, Debug)]
pub(super) struct Episode {
    /// pipe_prev (RFC 4015 §3.2): max(FlightSize, ssthresh) before the cut.
    pub pipe_prev: f64,
    /// When the retransmission was sent: RetransmitTS (RFC 3522 §3.2).
    pub at: Time,
    /// Whether the timer sent it.
    pub timeout: bool,
    /// F-RTO: new ACKs since the timeout.
    pub new_acks: u32,
}

/// Watches a sender for retransmissions that were not needed.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpuriousWatch {
    pub(super) episode: Option<Episode>,
    /// D-SACK: how often segments were sent again in the episode without a report that they had arrived before.
    pub(super) unreported: BTreeMap<u32, u32>,
}

impl SpuriousWatch {
    /// Whether there is a retransmission that may not have been needed.
    pub fn is_watching(&self) -> bool {
        self.episode.is_some()
    }

    /// A segment goes out again.
    pub fn sent_again(&mut self, seq: u32, detection: SpuriousDetection) {
        if self.episode.is_some() && detection == SpuriousDetection::DSack {
            *self.unreported.entry(seq).or_default() += 1;
        }
    }
}
