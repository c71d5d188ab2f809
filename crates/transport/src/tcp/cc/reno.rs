//! Additive increase, multiplicative decrease: RFC 5681 §3.1, and ns-2's interpretations of it.

use crate::params::{Halving, TcpParams};
use crate::tcp::cc::{AckContext, Algorithm, Loss, Window};

/// Reno's congestion control; its whole state is the window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reno;

/// Smallest ssthresh in segments (RFC 5681 §3.1 eq. 4).
const MIN_SSTHRESH: f64 = 2.0;

impl Algorithm for Reno {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, _ack: &AckContext, params: &TcpParams) {
        if window.cwnd < window.ssthresh {
            window.cwnd += 1.0; // slow start, eq. 2 with N at least a segment
        } else {
            window.cwnd += 1.0 / window.cwnd; // eq. 3
        }
        super::limit_cwnd(window, params);
    }

    fn on_loss(&mut self, window: &mut Window, loss: Loss, in_use: f64, params: &TcpParams) {
        let half = match params.halving {
            Halving::Real | Halving::TruncatedSsthresh => in_use / 2.0,
            Halving::Integer => f64::from(in_use as u32 / 2),
        };
        let ssthresh = if params.halving == Halving::Real { half } else { f64::from(half as u32) };
        window.ssthresh = ssthresh.max(MIN_SSTHRESH);
        window.cwnd = match (loss, params.halving) {
            (Loss::Timeout, _) => 1.0, // RFC 5681 §3.1: the loss window
            (Loss::DupAcks, Halving::Real) => window.ssthresh,
            (Loss::Echo, Halving::Real) => half.max(1.0), // RFC 3168 §6.1.2: bounded by a segment
            // DEVIATION (as ns-2): cwnd keeps its fraction, and may fall below ssthresh's floor, even below a segment.
            (_, _) => half,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, TcpSpec};

    fn after_loss(profile: Profile, in_use: f64) -> (f64, f64) {
        let params = TcpSpec::default().resolve(profile).unwrap();
        let mut window = Window { cwnd: in_use, ssthresh: 64.0, inflation: 0 };
        Reno.on_loss(&mut window, Loss::DupAcks, in_use, &params);
        (window.cwnd, window.ssthresh)
    }

    #[test]
    fn halving_has_three_readings() {
        assert_eq!(after_loss(Profile::Rfc, 21.0), (10.5, 10.5));
        assert_eq!(after_loss(Profile::Ns2_2009, 21.9), (10.95, 10.0));
        assert_eq!(after_loss(Profile::Ns2_2001, 21.9), (10.0, 10.0));
        assert_eq!(after_loss(Profile::Rfc, 3.0), (2.0, 2.0));
    }
}
