//! State of a retransmission until `spurious.rs` has found out if it was needed.

use crate::params::SpuriousDetection;
use roamlab_engine::Time;
use std::collections::BTreeMap;

/// State before a retransmission that may have to be undone.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Episode {
    /// pipe_prev (RFC 4015 §3.2): max(FlightSize, ssthresh) before the cut.
    pub pipe_prev: f64,
    /// When the retransmission was sent: RetransmitTS (RFC 3522 §3.2).
    pub at: Time,
    /// The timer sent it.
    pub timeout: bool,
    /// F-RTO: new ACKs since the timeout.
    pub new_acks: u32,
    /// D-SACK: no ACK had reported anything when the retransmission was sent.
    pub unheard: bool,
}

/// A segment that was sent again.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct SentAgain {
    pub times: u32,
    /// A report shows that it had arrived before.
    pub reported: bool,
}

/// Watches a sender for retransmissions that were not needed.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpuriousWatch {
    pub(crate) episode: Option<Episode>,
    /// In a box, so that a flow that uses no reports is not larger.
    pub(crate) reports: Option<Box<Reports>>,
}

/// Reports of D-SACK.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reports {
    /// The segments that were sent again in the episode.
    pub again: BTreeMap<u32, SentAgain>,
    /// The network duplicates segments, so reports mean nothing.
    pub duplicates: bool,
}

impl SpuriousWatch {
    /// True if there is a retransmission that may not have been needed.
    pub fn is_watching(&self) -> bool {
        self.episode.is_some()
    }

    /// True if F-RTO sends new data to find out whether the segments outstanding at a timeout are lost.
    pub fn is_undecided(&self, detection: SpuriousDetection) -> bool {
        let probes = self.episode.is_some_and(|episode| episode.timeout && episode.new_acks > 0);
        probes && detection == SpuriousDetection::FRto
    }

    /// A segment goes out again.
    pub fn sent_again(&mut self, seq: u32, detection: SpuriousDetection) {
        if self.episode.is_some() && detection == SpuriousDetection::DSack {
            self.reports.get_or_insert_default().again.entry(seq).or_default().times += 1;
        }
    }
}
