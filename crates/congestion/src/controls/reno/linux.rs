//! Reno as in Linux 6, and the growth of the window that its other algorithms share: by acknowledged segments (`tcp_slow_start`,
//! `tcp_cong_avoid_ai` in `tcp_cong.c`), and only if the window was the limit (`tcp_cwnd_validate` in `tcp_output.c`,
//! `tcp_is_cwnd_limited`).

use super::{Params, Reno, halve};
use crate::Halving;
use crate::Usage;
use crate::{AckEvent, Algorithm, Choice, Laws, LossEvent, Properties, Window};

/// State of the window's growth.
#[derive(Clone, Debug, Default)]
pub struct Growth {
    /// Acknowledged segments that wait to become one of cwnd (`snd_cwnd_cnt`).
    pub credit: u32,
    usage: Usage,
}

impl Growth {
    /// True if the window may grow on this ACK.
    pub fn permits(&mut self, window: &Window, ack: &AckEvent) -> bool {
        if ack.known.usage.is_none() && (ack.known.waited || self.usage.is_older_than(ack.nxt)) {
            // As many segments were in flight after the latest new segment as before this ACK.
            let (most, una) = (ack.in_flight + ack.acked, ack.una.saturating_sub(ack.acked));
            self.usage.note(most >= window.cwnd as u32 || ack.known.waited, most, una, ack.nxt);
        }
        ack.known.usage.unwrap_or(self.usage).permits_growth(window.cwnd, window.ssthresh)
    }

    /// Slow start adds `growth` segments, up to ssthresh. The part of `acked` that is left for congestion avoidance.
    pub fn slow_start(window: &mut Window, growth: f64, acked: u32) -> u32 {
        let growth = growth.min(window.ssthresh - window.cwnd);
        window.grow(growth);
        if window.cwnd < window.ssthresh { 0 } else { acked.saturating_sub(growth as u32) }
    }

    /// One more for each `per_segment` acknowledged (`tcp_cong_avoid_ai`).
    pub fn avoid_congestion(&mut self, window: &mut Window, per_segment: u32, acked: u32) {
        if self.credit >= per_segment {
            self.credit = 0;
            window.grow(1.0);
        }
        self.credit += acked;
        if self.credit >= per_segment {
            let more = self.credit / per_segment;
            self.credit -= more * per_segment;
            window.grow(f64::from(more));
        }
    }
}

impl Choice for Params {
    type Own = Reno;
    type Other = Linux;

    fn law(&self) -> Laws<Reno, Linux> {
        if self.as_linux { Laws::Other(Linux::default()) } else { Laws::Own(Reno) }
    }
}

/// Reno's congestion control as in Linux 6.
#[derive(Clone, Debug, Default)]
pub struct Linux {
    growth: Growth,
}

impl Linux {
    /// The window is reduced: segments that were acknowledged for the next growth no longer count
    /// (`tcp_init_cwnd_reduction`).
    pub fn forget_credit(&mut self) {
        self.growth.credit = 0;
    }
}

impl Algorithm for Linux {
    fn properties(&self) -> Properties {
        Properties { takes_abe: true, ..Properties::PLAIN }
    }

    /// `tcp_reno_cong_avoid`.
    #[inline(never)]
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        if !self.growth.permits(window, ack) {
            return;
        }
        let mut acked = ack.acked;
        if window.cwnd < window.ssthresh {
            acked = Growth::slow_start(window, f64::from(acked), acked);
        }
        if acked > 0 {
            self.growth.avoid_congestion(window, (window.cwnd as u32).max(1), acked);
        }
    }

    /// `tcp_reno_ssthresh`.
    fn on_loss(&mut self, window: &mut Window, loss: &LossEvent) {
        self.forget_credit();
        halve(window, loss, Halving::Whole, window.cwnd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Loss;
    use crate::params::connections::*;

    /// The cwnd after each ACK of a flow that uses its window; `acked` has the segments that each acknowledges.
    fn linux_windows(ssthresh: f64, cwnd: f64, acked: &[u32]) -> Vec<f64> {
        let params = LINUX;
        let mut window = Window { ssthresh, ..Window::new(cwnd, &params) };
        let mut reno = Linux::default();
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
        let params = LINUX;
        let mut window = Window::new(21.0, &params);
        let mut reno = Linux::default();
        reno.growth.credit = 3;
        reno.on_loss(&mut window, &LossEvent::simple(Loss::DupAcks, 9.0, &params));
        assert_eq!((window.sizes(), reno.growth.credit), ((10.0, 10.0), 0));
    }
}
