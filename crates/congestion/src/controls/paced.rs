//! A congestion control of the tests: it paces by the highest delivery rate and needs all that the sender has.

use crate::SpecError;
use crate::{AckEvent, Algorithm, LossEvent, Properties, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Its parameters.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Factor of the delivery rate.
    pub gain: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params { gain: 1.25 }
    }
}

impl Params {
    pub fn check(&self) -> Result<(), SpecError> {
        match self.gain >= 1.0 {
            true => Ok(()),
            false => Err(("congestion_control", "gain must be at least 1".into())),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Paced {
    gain: f64,
    /// Segments per second.
    highest_rate: f64,
}

impl Paced {
    pub fn new(params: &Params) -> Paced {
        Paced { gain: params.gain, highest_rate: 0.0 }
    }
}

impl Algorithm for Paced {
    fn records_segments(&self, _window: &Window) -> bool {
        true
    }

    fn properties(&self) -> Properties {
        Properties { paces: true, ..Properties::PLAIN }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        self.on_other_ack(window, ack);
        if !ack.rate.is_some_and(|rate| rate.app_limited) {
            window.grow(f64::from(ack.acked));
        }
    }

    fn on_other_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        if let Some(rate) = ack.rate {
            let rate = f64::from(rate.delivered) * 1e9 / rate.interval.as_nanos() as f64;
            self.highest_rate = self.highest_rate.max(rate);
            window.pacing_rate = self.gain * self.highest_rate;
        }
    }

    fn on_loss(&mut self, window: &mut Window, loss: &LossEvent) {
        let half = (loss.in_use / 2.0).max(2.0);
        window.cut(half, half, loss);
    }
}
