//! A congestion control of which a loss takes an eighth, with the law of Scalable TCP: Kelly, "Scalable TCP: improving
//! performance in highspeed wide area networks", 2003, §3.

use crate::params::TcpParams;
use crate::tcp::cc::{AckContext, Algorithm, Loss, Window};

/// What each ACK adds to cwnd in congestion avoidance (a in the paper).
const INCREASE: f64 = 0.01;
/// The part of the window that a loss leaves (1 - b).
const DECREASE: f64 = 0.875;

/// Its whole state is the window.
#[derive(Clone, Debug, Default)]
pub(crate) struct OneEighth;

impl Algorithm for OneEighth {
    fn on_ack(&mut self, window: &mut Window, _ack: &AckContext, _params: &TcpParams) {
        window.cwnd += if window.cwnd < window.ssthresh { 1.0 } else { INCREASE };
    }

    fn on_loss(&mut self, window: &mut Window, loss: Loss, in_use: f64, _params: &TcpParams) {
        window.ssthresh = (in_use * DECREASE).max(2.0);
        window.cwnd = if loss == Loss::Timeout { 1.0 } else { window.ssthresh };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, TcpSpec};

    #[test]
    fn a_loss_takes_an_eighth() {
        let params = TcpSpec::default().resolve(Profile::Rfc).unwrap();
        let mut window = Window { cwnd: 80.0, ssthresh: 100.0, inflation: 0 };
        OneEighth.on_loss(&mut window, Loss::DupAcks, 80.0, &params);
        assert_eq!((window.cwnd, window.ssthresh), (70.0, 70.0));
    }
}
