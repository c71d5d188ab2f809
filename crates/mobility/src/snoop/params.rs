//! Parameters of Snoop.

use roamlab_engine::{Duration, Packets};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Snoop at the base stations of a flow's host. Numbers without another source are those of ns-2.35.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Segments that a base station keeps of the flow; it forwards more without keeping them. Default 100 pkt.
    pub limit: Packets,
    /// The duplicate acknowledgement, counted from 1, at which a segment is sent again; those before it are forwarded. 1 to
    /// 3: at the third one the sender acts. Default 2.
    #[schemars(range(min = 1, max = 3))]
    pub threshold: u32,
    /// How often a segment is sent again. Default 10.
    #[schemars(range(min = 1))]
    pub resends: u32,
    /// Least time of the local timer, which is else the mean round trip over the air and four times its variation. Default
    /// 100 ms.
    pub least_wait: Duration,
    /// Mean round trip over the air before the first sample. Default 100 ms.
    pub first_round_trip: Duration,
    /// Its variation before the first sample. Default 250 ms.
    pub first_variation: Duration,
    /// Weights of the averages. Default "standard".
    pub average: RoundTripAverage,
    /// Acknowledgements below one that has been seen. Default "pass".
    pub old_ack: OldAck,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Packets(100),
            threshold: 2,
            resends: 10,
            least_wait: Duration::from_millis(100),
            first_round_trip: Duration::from_millis(100),
            first_variation: Duration::from_millis(250),
            average: RoundTripAverage::Standard,
            old_ack: OldAck::Pass,
        }
    }
}

impl Params {
    /// Checks the values.
    ///
    /// # Errors
    /// The field and what is wrong with it, with what to write.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        if self.limit.0 == 0 {
            return Err(("limit", "expected at least 1 pkt, got 0: write for example \"100 pkt\"".into()));
        }
        if !(1..=3).contains(&self.threshold) {
            let got = self.threshold;
            return Err(("threshold", format!("expected 1 to 3, got {got}: at the third the sender acts")));
        }
        if self.resends == 0 {
            return Err(("resends", "expected at least 1, got 0: write for example 10".into()));
        }
        if self.least_wait == Duration::ZERO {
            return Err(("least_wait", "expected more than 0, got 0: write for example \"100 ms\"".into()));
        }
        Ok(())
    }
}

/// Weights of the averages of the round trip over the air.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RoundTripAverage {
    /// A sample counts 1/8 in the mean and 1/4 in the variation (RFC 6298 §2).
    #[default]
    Standard,
    /// A sample counts 7/8 in both, as in ns-2.35.
    Ns2,
}

/// Treatment of an acknowledgement below one that has been seen.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OldAck {
    /// It is forwarded, as in ns-2.35.
    #[default]
    Pass,
    /// It ends at the base station, as an account of the protocol has it.
    Drop,
}
