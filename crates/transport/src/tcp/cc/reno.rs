//! Additive increase, multiplicative decrease: RFC 5681 §3.1, ns-2's interpretations of it, and Linux's arithmetic.

use crate::params::Halving;
use crate::spec::SpecError;
use crate::tcp::cc::linux::Growth;
use crate::tcp::cc::{AckEvent, Algorithm, Loss, LossEvent, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reno's choice.
#[derive(Copy, Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The arithmetic of Linux 6 instead of the RFC's: the window grows by segments acknowledged, and only if it was the
    /// limit. A loss leaves half of the window in whole segments, at least two.
    pub as_linux: bool,
}

impl Params {
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        Ok(())
    }
}

/// Reno's congestion control. By the RFC its whole state is the window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reno {
    linux: Option<Growth>,
}

/// Smallest ssthresh in segments (RFC 5681 §3.1 eq. 4).
pub(super) const MIN_SSTHRESH: f64 = 2.0;

/// What an echo of congestion leaves with `abe` (RFC 8511 §3.1).
const ABE_BETA: f64 = 0.8;

impl Reno {
    pub fn new(params: &Params) -> Reno {
        Reno { linux: params.as_linux.then(Growth::default) }
    }

    /// The window is reduced: what has been acknowledged for the next segment counts no more (`tcp_init_cwnd_reduction`).
    pub fn forget_credit(&mut self) {
        if let Some(growth) = &mut self.linux {
            growth.credit = 0;
        }
    }
}

impl Growth {
    /// `tcp_reno_cong_avoid`.
    #[inline(never)]
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        if !self.permits(window, ack) {
            return;
        }
        let mut acked = ack.acked;
        if window.cwnd < window.ssthresh {
            acked = Growth::slow_start(window, f64::from(acked), acked);
        }
        if acked > 0 {
            self.avoid_congestion(window, (window.cwnd as u32).max(1), acked);
        }
    }
}

impl Algorithm for Reno {
    fn takes_abe(&self) -> bool {
        true
    }

    #[inline(always)]
    fn reads_acks(&self) -> bool {
        self.linux.is_some()
    }

    #[inline(always)]
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        if let Some(growth) = &mut self.linux {
            growth.on_ack(window, ack);
        } else if window.cwnd < window.ssthresh {
            window.grow(1.0); // slow start, eq. 2 with N at least a segment
        } else {
            window.grow(1.0 / window.cwnd); // eq. 3
        }
    }

    fn on_loss(&mut self, window: &mut Window, loss: &LossEvent) {
        self.forget_credit();
        if loss.kind == Loss::Echo && loss.params.abe {
            let left = ABE_BETA * loss.in_use;
            return window.cut(left.max(1.0), left.max(MIN_SSTHRESH), loss);
        }
        let (halving, in_use) = match &self.linux {
            Some(_) => (Halving::Whole, window.cwnd),
            None => (loss.params.halving, loss.in_use),
        };
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, TcpSpec};

    #[test]
    fn abe_leaves_eight_tenths_after_an_echo_and_half_after_a_loss() {
        let spec = TcpSpec { ecn: Some(true), abe: Some(true), ..TcpSpec::default() };
        let params = spec.resolve(Profile::Rfc).unwrap();
        let after = |kind, in_use| {
            let mut window = Window::new(in_use, &params);
            Reno::default().on_loss(&mut window, &LossEvent::simple(kind, in_use, &params));
            (window.cwnd, window.ssthresh)
        };
        assert_eq!(after(Loss::Echo, 20.0), (16.0, 16.0));
        assert_eq!(after(Loss::Echo, 2.0), (1.6, 2.0));
        assert_eq!(after(Loss::Echo, 1.0), (1.0, 2.0));
        assert_eq!(after(Loss::DupAcks, 20.0), (10.0, 10.0));
        let without_ecn = TcpSpec { abe: Some(true), ..TcpSpec::default() };
        assert_eq!(without_ecn.resolve(Profile::Rfc).unwrap_err().0, "abe");
    }

    fn after_loss(profile: Profile, in_use: f64) -> (f64, f64) {
        let params = TcpSpec::default().resolve(profile).unwrap();
        let mut window = Window::new(in_use, &params);
        Reno::default().on_loss(&mut window, &LossEvent::simple(Loss::DupAcks, in_use, &params));
        (window.cwnd, window.ssthresh)
    }

    #[test]
    fn halving_has_three_interpretations() {
        assert_eq!(after_loss(Profile::Rfc, 21.0), (10.5, 10.5));
        assert_eq!(after_loss(Profile::Ns2_2009, 21.9), (10.95, 10.0));
        assert_eq!(after_loss(Profile::Ns2_2001, 21.9), (10.0, 10.0));
        assert_eq!(after_loss(Profile::Rfc, 3.0), (2.0, 2.0));
    }

    /// The cwnd after each ACK of a flow that uses its window; `acked` has the segments that each acknowledges.
    fn linux_windows(ssthresh: f64, cwnd: f64, acked: &[u32]) -> Vec<f64> {
        let params = TcpSpec::default().resolve(Profile::Linux6).unwrap();
        let mut window = Window { ssthresh, ..Window::new(cwnd, &params) };
        let mut reno = Reno::new(&Params { as_linux: true });
        let mut una = 1;
        let mut grow = |&acked: &u32| {
            una += acked;
            let in_flight = (window.cwnd as u32).saturating_sub(acked);
            let ack = AckEvent { una, nxt: una + in_flight, acked, in_flight, ..AckEvent::default() };
            reno.on_ack(&mut window, &ack);
            window.cwnd
        };
        acked.iter().map(&mut grow).collect()
    }

    #[test]
    fn linux_counts_acknowledged_segments() {
        assert_eq!(linux_windows(100.0, 10.0, &[2, 2, 2, 2, 2]), [12.0, 14.0, 16.0, 18.0, 20.0]);
        assert_eq!(linux_windows(13.0, 10.0, &[2, 2, 11, 1, 1]), [12.0, 13.0, 13.0, 14.0, 14.0]);
        assert_eq!(linux_windows(2.0, 4.0, &[2, 2, 2, 2, 1]), [4.0, 5.0, 5.0, 5.0, 6.0]);
    }

    #[test]
    fn linux_halves_the_window_in_whole_segments_and_forgets_the_credit() {
        let params = TcpSpec::default().resolve(Profile::Linux6).unwrap();
        let mut window = Window::new(21.0, &params);
        let mut reno = Reno::new(&Params { as_linux: true });
        reno.linux.as_mut().unwrap().credit = 3;
        reno.on_loss(&mut window, &LossEvent::simple(Loss::DupAcks, 9.0, &params));
        assert_eq!((window.sizes(), reno.linux.unwrap().credit), ((10.0, 10.0), 0));
    }
}
