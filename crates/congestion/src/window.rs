//! The window of a congestion control, and the burst that is leaving.

use super::events::{AckEvent, LossEvent, SsthreshRule};
use crate::ControlParams;

/// The congestion window, the slow-start threshold and the pacing rate. Only the algorithms change them.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Window {
    /// Segments.
    pub(super) cwnd: f64,
    /// Segments.
    pub(super) ssthresh: f64,
    /// Segments per second; infinity: segments leave as soon as the window permits.
    pub(super) pacing_rate: f64,
    /// Segments that leave together if it paces.
    pub(super) burst: u32,
    /// The algorithm now sends less than the path carries: delivery rates do not measure the path.
    pub(super) limits_itself: bool,
    /// The burst that is leaving. It fits into the padding of this struct.
    pub leaving: Burst,
    /// Largest cwnd in segments.
    pub(super) max_cwnd: f64,
    /// Payload of a segment in bytes.
    pub(super) segment: u32,
    /// Vegas takes the mean of a round's round-trip times (ns-2).
    pub(super) takes_mean: bool,
}

/// The burst that is leaving.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub struct Burst {
    /// Segments that are left of it.
    pub left: u8,
    /// It ends with PSH: it has more than one, or ends what was written.
    pub pushes: bool,
    /// The next segment to leave is the last one of such a burst.
    pub ends: bool,
    /// One waited for the congestion window since the latest growth of that: it was the limit.
    pub waited: bool,
}

impl Burst {
    /// True if the segment that leaves has PSH: the last one of a burst of several, or of what was written
    /// (`__tcp_transmit_skb`, `tcp_push`).
    #[inline]
    pub fn pushes(&mut self) -> bool {
        std::mem::take(&mut self.ends)
    }

    /// The data that the latest input permitted has left.
    #[inline]
    pub fn end(&mut self) {
        self.left = 0;
    }

    /// True if segments of it are left.
    #[inline]
    pub fn is_leaving(&self) -> bool {
        self.left > 0
    }
}

impl Window {
    /// The window of a new connection.
    pub fn new(cwnd: f64, params: &ControlParams) -> Window {
        let max_cwnd = params.max_cwnd.0;
        Window {
            cwnd,
            ssthresh: f64::from(params.initial_ssthresh.0),
            pacing_rate: f64::INFINITY,
            burst: 1,
            limits_itself: false,
            leaving: Burst::default(),
            segment: params.segment.0 as u32,
            max_cwnd: if max_cwnd == 0 { f64::INFINITY } else { f64::from(max_cwnd) },
            takes_mean: params.takes_mean,
        }
    }

    /// Congestion window in segments.
    #[inline(always)]
    pub fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// Slow-start threshold in segments.
    #[inline(always)]
    pub fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    /// Both.
    #[inline(always)]
    pub fn sizes(&self) -> (f64, f64) {
        (self.cwnd, self.ssthresh)
    }

    /// True if delivery rates measured with segments that leave now do not measure the path.
    #[inline]
    pub fn limits_itself(&self) -> bool {
        self.limits_itself
    }

    /// The number of segments that may be outstanding.
    #[inline(always)]
    pub fn usable(&self, inflation: u32, receiver_window: u32) -> u32 {
        (self.cwnd as u32).saturating_add(inflation).min(receiver_window)
    }

    /// True if the flight before the ACK used the window (RFC 9438 §5.8; as in `tcp_is_cwnd_limited`, in slow start
    /// half of it is enough). A burst may be missing, and two segments that an ACK of two has just released.
    #[inline(always)]
    pub(super) fn is_used(&self, ack: &AckEvent) -> bool {
        let used = f64::from(ack.in_flight + ack.acked);
        self.is_filled(ack) || (self.cwnd < self.ssthresh && 2.0 * used > self.cwnd)
    }

    /// True if the flight before the ACK filled the window.
    #[inline(always)]
    pub(super) fn is_filled(&self, ack: &AckEvent) -> bool {
        f64::from(ack.in_flight + ack.acked) + f64::from(self.burst.max(2)) >= self.cwnd
    }

    /// Sets cwnd, to `max_cwnd` at most.
    #[inline]
    pub fn set(&mut self, cwnd: f64) {
        self.cwnd = cwnd.min(self.max_cwnd);
    }

    /// Sets ssthresh.
    #[inline]
    pub fn set_ssthresh(&mut self, ssthresh: f64) {
        self.ssthresh = ssthresh;
    }

    /// Adds segments to cwnd, up to `max_cwnd`. As in ns-2 the fraction above the bound is tolerated.
    #[inline(always)]
    pub(super) fn grow(&mut self, segments: f64) {
        self.cwnd += segments;
        if self.cwnd >= self.max_cwnd + 1.0 {
            self.cwnd = self.max_cwnd;
        }
    }

    /// Reduces both, within the bounds of the event.
    pub(super) fn cut(&mut self, cwnd: f64, ssthresh: f64, loss: &LossEvent) {
        self.ssthresh = match loss.ssthresh {
            SsthreshRule::Set => ssthresh,
            SsthreshRule::Lower => ssthresh.min(self.ssthresh),
            SsthreshRule::Keep => self.ssthresh,
        };
        self.cwnd = cwnd.min(loss.most_cwnd).max(loss.least_cwnd);
    }
}
