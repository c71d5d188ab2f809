//! Growth of the window as in Linux 6, for the algorithms that follow it: by acknowledged segments (`tcp_slow_start`,
//! `tcp_cong_avoid_ai` in `tcp_cong.c`), and only if the window was the limit (`tcp_cwnd_validate` in `tcp_output.c`,
//! `tcp_is_cwnd_limited`).

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
        if let Some(usage) = &window.usage {
            return usage.permits_growth(window);
        }
        self.usage.note(window.cwnd as u32, ack);
        self.usage.permits_growth(window)
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

/// How much of the window was in use, as of the latest new segment.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub(crate) struct Usage {
    /// It was full in this window of data (`is_cwnd_limited`).
    full: bool,
    /// Most segments in flight in this window of data (`max_packets_out`).
    most: u32,
    /// It ends here (`cwnd_usage_seq`).
    end: u32,
    /// The next new segment when the latest one was seen.
    seen: u32,
}

impl Usage {
    /// Notes what was in flight when the latest new segment had gone, which is as much as before this ACK.
    fn note(&mut self, cwnd: u32, ack: &AckEvent) {
        if ack.nxt == self.seen && !ack.waited {
            return;
        }
        self.seen = ack.nxt;
        let (most, una) = (ack.in_flight + ack.acked, ack.una.saturating_sub(ack.acked));
        let full = most >= cwnd || ack.waited;
        self.take(full, most, una, ack.nxt);
    }

    /// Nothing more leaves now, with so many segments outstanding of those between `una` and `nxt`. `full`: the window is the
    /// limit.
    pub fn validate(&mut self, full: bool, outstanding: u32, una: u32, nxt: u32) {
        if nxt > self.seen || full {
            self.seen = nxt;
            self.take(full, outstanding, una, nxt);
        }
    }

    fn take(&mut self, full: bool, most: u32, una: u32, nxt: u32) {
        if una >= self.end || full || (!self.full && most > self.most) {
            *self = Usage { full, most, end: nxt, seen: nxt };
        }
    }

    /// Whether it permits growth (`tcp_is_cwnd_limited`): in slow start up to twice of what was in flight.
    fn permits_growth(&self, window: &Window) -> bool {
        self.full || (window.cwnd < window.ssthresh && window.cwnd < f64::from(2 * self.most))
    }
}
