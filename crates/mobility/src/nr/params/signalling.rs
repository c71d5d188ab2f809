//! The radio bearer of signalling.

use crate::cellular::{check_max_retx_threshold, check_t_poll_retransmit};
use roamlab_engine::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// RLC of signalling over the air, in acknowledged mode: a message that is lost is sent again. If the last repetition is
/// lost too, the radio link has failed (TS 38.322 §5.3.2, TS 38.331 §5.3.10.3).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SignallingBearer {
    /// t-PollRetransmit: a message without a confirmation is sent again after this. Default 45 ms (TS 38.331 §9.2.1).
    pub t_poll_retransmit: Duration,
    /// maxRetxThreshold: a message is sent again this often at most; then the radio link has failed. Default 8 (TS 38.331
    /// §9.2.1).
    pub max_retx_threshold: u32,
}

impl Default for SignallingBearer {
    fn default() -> Self {
        SignallingBearer { t_poll_retransmit: Duration::from_millis(45), max_retx_threshold: 8 }
    }
}

impl SignallingBearer {
    /// Refuses what cannot run, and values that RRC cannot signal unless `nonstandard` permits them.
    pub(in crate::nr) fn check(&self, nonstandard: bool) -> Result<(), (String, String)> {
        check_t_poll_retransmit(Some(self.t_poll_retransmit), nonstandard)
            .and_then(|()| check_max_retx_threshold(Some(self.max_retx_threshold), nonstandard))
            .map_err(|(field, message)| (format!("signalling.{field}"), message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_cannot_be_signalled_are_refused_unless_they_are_wanted() {
        let with = |ms, max_retx_threshold| SignallingBearer {
            t_poll_retransmit: Duration::from_millis(ms),
            max_retx_threshold,
        };
        assert_eq!(SignallingBearer::default().check(false), Ok(()));
        for (values, field) in
            [(with(46, 8), "signalling.t_poll_retransmit"), (with(45, 5), "signalling.max_retx_threshold")]
        {
            let (refused, message) = values.check(false).expect_err("the standard has other values");
            assert_eq!(refused, field);
            assert!(message.contains("nonstandard = true"), "{message}");
            assert_eq!(values.check(true), Ok(()));
        }
        assert!(with(0, 8).check(true).is_err());
        assert!(with(45, 0).check(true).is_err());
    }
}
