//! Events of a congestion control.

use crate::ControlParams;
use crate::{DeliveryRate, Found, Known};
use roamlab_engine::{Duration, Time};

/// An ACK was processed.
#[derive(Copy, Clone, Debug, Default)]
pub struct AckEvent {
    /// When it arrived.
    pub now: Time,
    /// The segment that it expects.
    pub una: u32,
    /// The next segment to be sent.
    pub nxt: u32,
    /// Segments that it acknowledges for the first time. Segments in SACK blocks count if segments are recorded.
    pub acked: u32,
    /// Segments that ACKs have shown to be lost since the event before, if segments are recorded. Segments that the
    /// retransmission timer takes for lost do not count.
    pub lost: u32,
    /// A measurement of the round-trip time.
    pub rtt: Option<Duration>,
    /// The smoothed round-trip time; zero before the first measurement.
    pub srtt: Duration,
    /// Segments outstanding, without those in SACK blocks if segments are recorded.
    pub in_flight: u32,
    /// A loss that has reduced the window is being repaired.
    pub recovering: bool,
    /// Those of `acked` that were marked: all if the ACK echoes congestion, and no accurate ECN is in use.
    pub marked: u32,
    /// The delivery rate, if segments are recorded.
    pub rate: Option<DeliveryRate>,
    /// ACKs report what has arrived behind a loss.
    pub has_sack: bool,
    /// Other knowledge of the sender, in a dialect that has it.
    pub known: Known,
    /// Of those in flight, segments that are lost and not sent again, if segments are recorded.
    pub waiting: u32,
}

impl AckEvent {
    /// Segments in flight that are not known to have arrived or to be lost.
    #[inline]
    pub fn in_network(&self) -> u32 {
        self.in_flight.saturating_sub(self.waiting)
    }
}

/// Congestion that an ACK reports (ECN), before the ACK is processed otherwise.
#[derive(Copy, Clone, Debug)]
pub struct Feedback {
    /// The segment that it expects.
    pub ack: u32,
    /// Segments that it acknowledges. SACK blocks count where they deliver.
    pub acked: u32,
    /// Segments of which it reports that they were marked; of accurate ECN SACK blocks count too.
    pub marked: u32,
    /// The next segment to be sent.
    pub nxt: u32,
    /// When it arrived.
    pub now: Time,
}

/// The way in which a loss was found.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Loss {
    /// Duplicate ACKs or SACK blocks.
    DupAcks,
    /// The ACK of a tail loss probe, which has repaired it.
    Tail,
    /// The age of the oldest segment, at an ACK (Vegas).
    Age {
        /// It had been sent again before.
        again: bool,
    },
    /// The retransmission timer.
    Timeout,
    /// An echo of congestion (ECN): nothing was lost.
    Echo,
}

/// The change of ssthresh that a loss permits.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum SsthreshRule {
    /// It is set.
    Set,
    /// It is only lowered: the window was already cut for this flight.
    Lower,
    /// It stays: the segment timed out before (RFC 5681 §3.1).
    Keep,
}

/// The window has to be reduced.
#[derive(Copy, Clone, Debug)]
pub struct LossEvent<'a> {
    /// When that was found.
    pub now: Time,
    /// The way in which the loss was found.
    pub kind: Loss,
    /// Segments in use: the flight size (RFC 5681 §3.1 eq. 4), in ns-2 the window.
    pub in_use: f64,
    /// The permitted change of ssthresh.
    pub ssthresh: SsthreshRule,
    /// Least cwnd after it, in segments.
    pub least_cwnd: f64,
    /// Largest cwnd after it, in segments.
    pub most_cwnd: f64,
    /// The loss recovery's view of the network, if it reports that and segments are recorded.
    pub found: Option<Found>,
    /// Parameters of the connection.
    pub params: &'a ControlParams,
}

#[cfg(test)]
impl<'a> LossEvent<'a> {
    /// A loss without bounds.
    pub(super) fn simple(kind: Loss, in_use: f64, params: &'a ControlParams) -> LossEvent<'a> {
        let (ssthresh, least_cwnd, most_cwnd) = (SsthreshRule::Set, 0.0, f64::INFINITY);
        LossEvent { now: Time::ZERO, kind, in_use, ssthresh, least_cwnd, most_cwnd, found: None, params }
    }
}

/// The latest loss was none (RFC 4015 §3.2).
#[derive(Copy, Clone, Debug)]
pub struct Undo {
    /// max(FlightSize, ssthresh) before the cut.
    pub pipe_prev: f64,
    /// The window that the standard gives: the outstanding segments, and no burst.
    pub cwnd: f64,
}

/// A step of a loss recovery that concerns the window.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum RecoveryStep {
    /// Slow start from this number of segments.
    SlowStart(f64),
    /// Slow start from at most this number of segments (RFC 5682 §2.1 step 3a).
    SlowStartAtMost(f64),
    /// A duplicate ACK reports that this number of segments has left the network (Vegas).
    Inflate(f64),
    /// A partial ACK acknowledges this number of segments that were added to the window (RFC 6582 §3.2 step 3).
    Deflate(f64),
    /// The window of an ACK in a recovery that reduces it in proportion to what is delivered (RFC 9937).
    Proportional(f64),
    /// The recovery ends in congestion avoidance with this window (Vegas).
    Exit(f64),
    /// The recovery ends with at most this number of segments, or ssthresh (RFC 6582 §3.2 step 3).
    ExitAtMost(f64),
    /// Least ssthresh in segments (`tcp_current_ssthresh`, after an idle period).
    RaiseSsthresh(f64),
    /// Slow start sent twice what the path carries (Mathis & Mahdavi 1996 §4.5).
    Overshoot,
}

/// The sender is notified that its segments take another path.
#[derive(Copy, Clone, Debug)]
pub struct NewPath {
    /// The next segment to be sent, the first one that takes it for certain.
    pub next: u32,
    /// The shortest round-trip time is to be measured immediately, with an empty queue.
    pub probes: bool,
}

impl NewPath {
    /// True if an ACK is the first to measure a path that was not measured yet. Then `path` is emptied.
    pub fn take_measured(path: &mut Option<NewPath>, ack: &AckEvent) -> bool {
        path.take_if(|path| ack.una > path.next && ack.rtt.is_some()).is_some()
    }
}
