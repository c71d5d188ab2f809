//! How much of the window was in use (`tcp_cwnd_validate` in `tcp_output.c`, `tcp_is_cwnd_limited`).

/// How much of the window was in use, as of the latest new segment.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub struct Usage {
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
    /// True if a new segment was sent since this was noted.
    #[inline]
    pub fn is_older_than(&self, nxt: u32) -> bool {
        nxt != self.seen
    }

    /// Nothing more leaves now. `outstanding`: segments in flight of those between `una` and `nxt`. `full`: the window is the limit.
    #[inline]
    pub fn note(&mut self, full: bool, outstanding: u32, una: u32, nxt: u32) {
        self.seen = nxt;
        if una >= self.end || full || (!self.full && outstanding > self.most) {
            *self = Usage { full, most: outstanding, end: nxt, seen: nxt };
        }
    }

    /// True if it permits growth: in slow start up to twice the segments that were in flight.
    #[inline]
    pub fn permits_growth(&self, cwnd: f64, ssthresh: f64) -> bool {
        self.full || (cwnd < ssthresh && cwnd < f64::from(2 * self.most))
    }
}
