//! A congestion control of which a loss leaves seven eighths, with the law of Scalable TCP: Kelly, "Scalable TCP: improving
//! performance in highspeed wide area networks", 2003, §3.

use crate::{AckEvent, Algorithm, LossEvent, SpecError, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The law's two numbers.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Growth of cwnd for each ACK in congestion avoidance, in segments (a in the paper).
    pub increase: f64,
    /// The part of the window that a loss leaves (1 - b).
    pub decrease: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params { increase: 0.01, decrease: 0.875 }
    }
}

impl Params {
    pub fn check(&self) -> Result<(), SpecError> {
        let is_valid =
            self.increase > 0.0 && self.increase <= 1.0 && self.decrease > 0.0 && self.decrease < 1.0;
        let message = || "increase and decrease must be above 0, and decrease below 1; write for example { kind = \"seven-eighths\" }";
        if is_valid { Ok(()) } else { Err(("congestion_control", message().into())) }
    }
}

/// Its whole state is the window.
#[derive(Clone, Debug)]
pub struct SevenEighths {
    params: Params,
}

impl SevenEighths {
    pub fn new(params: &Params) -> SevenEighths {
        SevenEighths { params: *params }
    }
}

impl Algorithm for SevenEighths {
    fn on_ack(&mut self, window: &mut Window, _ack: &AckEvent) {
        let slow_start = window.cwnd < window.ssthresh;
        window.grow(if slow_start { 1.0 } else { self.params.increase });
    }

    fn on_loss(&mut self, window: &mut Window, loss: &LossEvent) {
        let left = (loss.in_use * self.params.decrease).max(2.0);
        window.cut(left, left, loss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ControlParams, Loss};
    use roamlab_engine::Bytes;

    #[test]
    fn a_loss_takes_an_eighth() {
        let params = ControlParams::rfc(Bytes(1000));
        let mut window = Window::new(80.0, &params);
        let mut control = SevenEighths::new(&Params::default());
        control.on_loss(&mut window, &LossEvent::simple(Loss::DupAcks, 80.0, &params));
        assert_eq!((window.cwnd, window.ssthresh), (70.0, 70.0));
    }
}
