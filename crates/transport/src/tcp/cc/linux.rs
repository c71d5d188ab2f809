//! Growth of the window as in Linux 6, for the algorithms that follow it: by acknowledged segments (`tcp_slow_start`,
//! `tcp_cong_avoid_ai` in `tcp_cong.c`), and only if the window was the limit (`tcp_cwnd_validate` in `tcp_output.c`,
//! `tcp_is_cwnd_limited`).

use crate::tcp::Usage;
use crate::tcp::cc::{AckEvent, Window};

/// What it needs to know.
#[derive(Clone, Debug, Default)]
pub(super) struct Growth {
    /// Acknowledged segments that wait to become one of cwnd (`snd_cwnd_cnt`).
    pub credit: u32,
    usage: Usage,
}

impl Growth {
    /// Whether the window may grow on this ACK.
    pub fn permits(&mut self, window: &Window, ack: &AckEvent) -> bool {
        if ack.usage.is_none() && (ack.waited || self.usage.is_older_than(ack.nxt)) {
            // What was in flight when the latest new segment had gone is as much as before this ACK.
            let (most, una) = (ack.in_flight + ack.acked, ack.una.saturating_sub(ack.acked));
            self.usage.note(most >= window.cwnd as u32 || ack.waited, most, una, ack.nxt);
        }
        ack.usage.unwrap_or(self.usage).permits_growth(window.cwnd, window.ssthresh)
    }

    /// Slow start adds `growth` segments, up to ssthresh. What is left of `acked` for congestion avoidance.
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
