//! Parameters of a connection that the congestion controls read.

use roamlab_engine::{Bytes, Packets};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An error in a specification: the field, and what was expected and what to write instead.
pub type SpecError = (&'static str, String);

/// The arithmetic of halving.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Halving {
    /// Real-valued ssthresh and cwnd.
    Real,
    /// Whole segments, two at least (Linux).
    Whole,
    /// cwnd keeps its fraction, ssthresh does not (ns-2, `precisionReduce_` true).
    TruncatedSsthresh,
    /// Integer division of the integer window (ns-2, `precisionReduce_` false).
    Integer,
}

/// Parameters of a connection that the congestion controls read. They count in segments, so QUIC's packets are segments
/// too.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct ControlParams {
    /// Payload of a segment.
    pub segment: Bytes,
    /// Slow-start threshold at the beginning.
    pub initial_ssthresh: Packets,
    /// Largest cwnd; 0: there is no bound.
    pub max_cwnd: Packets,
    /// The arithmetic of halving.
    pub halving: Halving,
    /// An echo of congestion takes less of the window than a loss (RFC 8511).
    pub abe: bool,
    /// Vegas takes the mean of a round's round-trip times (ns-2).
    pub takes_mean: bool,
}

impl ControlParams {
    /// The values that the RFCs recommend.
    pub fn rfc(segment: Bytes) -> ControlParams {
        ControlParams {
            segment,
            initial_ssthresh: Packets(u32::MAX), // RFC 5681 §3.1: arbitrarily high
            max_cwnd: Packets(0),
            halving: Halving::Real,
            abe: false,
            takes_mean: false,
        }
    }
}

/// Those of connections in the tests, of the RFCs, Linux and two versions of ns-2.
#[cfg(test)]
pub(crate) mod connections {
    use super::*;

    pub(crate) const RFC: ControlParams = ControlParams {
        segment: Bytes(1000),
        initial_ssthresh: Packets(u32::MAX),
        max_cwnd: Packets(0),
        halving: Halving::Real,
        abe: false,
        takes_mean: false,
    };
    pub(crate) const LINUX: ControlParams = ControlParams { halving: Halving::Whole, ..RFC };
    pub(crate) const NS2_2009: ControlParams = ControlParams {
        initial_ssthresh: Packets(20),
        halving: Halving::TruncatedSsthresh,
        takes_mean: true,
        ..RFC
    };
    pub(crate) const NS2_2001: ControlParams = ControlParams { halving: Halving::Integer, ..NS2_2009 };
}
