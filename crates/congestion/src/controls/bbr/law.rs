//! The arithmetic of BBR, and what surrounds it, where implementations differ.

use super::parts::{MARGIN, rounded_up};
use crate::Found;
use roamlab_engine::{Duration, Time};
use std::fmt::Debug;

/// By default numbers are real, and the algorithm knows what ACKs report.
pub trait Law: Copy + Debug {
    /// It begins when the SYN is acknowledged: with a round-trip time and without a rate.
    const BEGINS_AT_SYN: bool = false;
    /// A recovery begins with the ACK that reports the loss, if it lasts until then, and ends with another one. Otherwise it begins
    /// with the loss, and an undo ends it.
    const RECOVERS_BY_ACKS: bool = false;
    /// A timeout leaves the window of the loss recovery.
    const TAKES_TIMEOUT_WINDOW: bool = false;
    /// The phases of ProbeBW and the policer's intervals are between deliveries.
    const IS_TIMED_BY_DELIVERIES: bool = false;
    /// Segments that leave the network before the next burst do not count as in flight, also for the end of Drain.
    ///
    /// DEVIATION: `bbr_packets_in_net_at_edt` subtracts that; without it the next burst leaves now.
    const WAITS_FOR_BURST: bool = false;
    /// A round-trip time as short as the shortest keeps it longer.
    const KEEPS_EQUAL_RTT: bool = true;

    /// The state of the loss recovery that it reads, if it reads any.
    fn known(_found: Option<Found>) -> Option<Found> {
        None
    }

    /// The time of an ACK of which the loss recovery knows more.
    fn time(now: Time) -> Time {
        now
    }

    /// The rate of `segments` in `time`, in segments per second.
    fn rate(segments: u32, time: Duration) -> f64 {
        f64::from(segments) / time.as_secs_f64()
    }

    /// The pacing rate for an estimated rate. `segment`: payload of one in bytes.
    fn paced(rate: f64, gain: f64, _segment: u32) -> f64 {
        MARGIN * gain * rate
    }

    /// Segments of a rate in a round-trip time, times a gain.
    fn product(rate: f64, rtt: Duration, gain: f64) -> f64 {
        rounded_up(rate * rtt.as_secs_f64() * gain)
    }

    /// The mean of two rates.
    fn mean(one: f64, other: f64) -> f64 {
        (one + other) / 2.0
    }

    /// The length of a policer's interval.
    fn span(from: Time, to: Time) -> Duration {
        to.since(from)
    }

    /// Whole segments that are delivered in this time.
    fn delivered(rate: f64, time: Duration) -> u32 {
        (rate * time.as_secs_f64()) as u32
    }
}

/// Real numbers.
#[derive(Copy, Clone, Debug)]
pub struct Real;

impl Law for Real {}
