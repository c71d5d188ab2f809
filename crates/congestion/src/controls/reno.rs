//! Additive increase, multiplicative decrease: RFC 5681 §3.1, and ns-2's interpretations of it.

pub(crate) mod linux;
mod params;

use crate::Halving;
use crate::{AckEvent, Algorithm, Loss, LossEvent, Properties, Window};
pub use params::Params;

/// Reno's congestion control. Its whole state is the window.
#[derive(Clone, Debug, Default)]
pub struct Reno;

/// Smallest ssthresh in segments (RFC 5681 §3.1 eq. 4).
pub(crate) const MIN_SSTHRESH: f64 = 2.0;

/// Part of the window that remains after an echo of congestion with `abe` (RFC 8511 §3.1).
const ABE_BETA: f64 = 0.8;

impl Algorithm for Reno {
    fn properties(&self) -> Properties {
        Properties { takes_abe: true, ..Properties::PLAIN }
    }

    #[inline(always)]
    fn reads_acks(&self) -> bool {
        false
    }

    #[inline(always)]
    fn on_ack(&mut self, window: &mut Window, _ack: &AckEvent) {
        if window.cwnd < window.ssthresh {
            window.grow(1.0); // slow start, eq. 2 with N at least a segment
        } else {
            window.grow(1.0 / window.cwnd); // eq. 3
        }
    }

    fn on_loss(&mut self, window: &mut Window, loss: &LossEvent) {
        halve(window, loss, loss.params.halving, loss.in_use);
    }
}

/// A loss leaves half of what is in use, or an echo 0.8 of it with `abe`.
fn halve(window: &mut Window, loss: &LossEvent, halving: Halving, in_use: f64) {
    if loss.kind == Loss::Echo && loss.params.abe {
        let left = ABE_BETA * loss.in_use;
        return window.cut(left.max(1.0), left.max(MIN_SSTHRESH), loss);
    }
    let half = match halving {
        Halving::Real | Halving::TruncatedSsthresh => in_use / 2.0,
        Halving::Integer | Halving::Whole => f64::from(in_use as u32 / 2),
    };
    let ssthresh = if halving == Halving::Real { half } else { f64::from(half as u32) };
    let ssthresh = ssthresh.max(MIN_SSTHRESH);
    let cwnd = match (loss.kind, halving) {
        (Loss::Echo, Halving::Real) => half.max(1.0), // RFC 3168 §6.1.2: bounded by a segment
        (_, Halving::Real | Halving::Whole) => ssthresh,
        // DEVIATION (as ns-2): cwnd keeps its fraction, and may fall below ssthresh's floor, even below a segment.
        (_, _) => half,
    };
    window.cut(cwnd, ssthresh, loss);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ControlParams;
    use crate::params::connections::*;

    #[test]
    fn abe_leaves_eight_tenths_after_an_echo_and_half_after_a_loss() {
        let params = ControlParams { abe: true, ..RFC };
        let after = |kind, in_use| {
            let mut window = Window::new(in_use, &params);
            Reno.on_loss(&mut window, &LossEvent::simple(kind, in_use, &params));
            (window.cwnd, window.ssthresh)
        };
        assert_eq!(after(Loss::Echo, 20.0), (16.0, 16.0));
        assert_eq!(after(Loss::Echo, 2.0), (1.6, 2.0));
        assert_eq!(after(Loss::Echo, 1.0), (1.0, 2.0));
        assert_eq!(after(Loss::DupAcks, 20.0), (10.0, 10.0));
    }

    fn after_loss(params: ControlParams, in_use: f64) -> (f64, f64) {
        let mut window = Window::new(in_use, &params);
        Reno.on_loss(&mut window, &LossEvent::simple(Loss::DupAcks, in_use, &params));
        (window.cwnd, window.ssthresh)
    }

    #[test]
    fn halving_has_three_interpretations() {
        assert_eq!(after_loss(RFC, 21.0), (10.5, 10.5));
        assert_eq!(after_loss(NS2_2009, 21.9), (10.95, 10.0));
        assert_eq!(after_loss(NS2_2001, 21.9), (10.0, 10.0));
        assert_eq!(after_loss(RFC, 3.0), (2.0, 2.0));
    }
}
