//! Parts that versions 1 and 3 have in common.

use crate::AckEvent;
use roamlab_engine::{Duration, Time};

/// Pacing rate per estimated rate.
pub const MARGIN: f64 = 0.99;
/// The round-trip time that the rate is computed with before one is measured.
pub const NOMINAL_RTT: Duration = Duration::from_millis(1);
/// The pipe is full after this number of rounds without this growth.
const FULL_ROUNDS: u32 = 3;
const FULL_GROWTH: f64 = 1.25;
/// Phases of the cycle of gains in ProbeBW, and the one that drains.
pub const PHASES: usize = 8;
pub const DRAINING: u32 = 1;
/// An epoch of excess ACKs ends when this number of segments is acknowledged.
const EPOCH: u32 = 1 << 20;

/// The search for the rate that no round exceeds by a quarter.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub struct FullPipe {
    /// The rate to exceed.
    pub rate: f64,
    rounds: u32,
}

impl FullPipe {
    /// A search from this rate on.
    pub fn beginning_with(rate: f64) -> FullPipe {
        FullPipe { rate, rounds: 0 }
    }

    /// A round has this rate. True if three rounds have not exceeded the rate by a quarter.
    pub fn is_full(&mut self, rate: f64) -> bool {
        if rate >= FULL_GROWTH * self.rate {
            *self = FullPipe::beginning_with(rate);
            return false;
        }
        self.rounds += 1;
        self.rounds >= FULL_ROUNDS
    }
}

/// A time in which more is acknowledged than expected at the rate.
#[derive(Copy, Clone, Debug, Default)]
pub struct AckEpoch {
    pub start: Time,
    pub acked: u32,
}

impl AckEpoch {
    /// One that begins at this time.
    pub fn beginning_at(start: Time) -> AckEpoch {
        AckEpoch { start, acked: 0 }
    }

    /// An ACK arrived: segments acknowledged in the epoch beyond those expected at the rate. If there are none, the
    /// epoch begins again.
    pub fn excess(&mut self, ack: &AckEvent, mut expected: u32) -> u32 {
        if self.acked <= expected || self.acked + ack.acked >= EPOCH {
            (*self, expected) = (AckEpoch::beginning_at(ack.now), 0);
        }
        self.acked += ack.acked;
        self.acked - expected
    }
}

/// The window before a recovery or ProbeRTT.
#[derive(Copy, Clone, Debug, Default)]
pub struct PriorWindow(f64);

impl PriorWindow {
    /// Saves a window. `is_good`: neither a recovery nor ProbeRTT has reduced it.
    pub fn save(&mut self, cwnd: f64, is_good: bool) {
        self.0 = if is_good { cwnd } else { self.0.max(cwnd) };
    }

    /// The window to continue with.
    pub fn restored(self, cwnd: f64) -> f64 {
        cwnd.max(self.0)
    }
}

/// A number that is as good as random, made from a time (the finalizer of SplitMix64: Steele, Lea & Flood 2014).
pub fn mixed(now: Time) -> u64 {
    let mut mixed = now.as_nanos().wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The next whole number of segments.
pub fn rounded_up(segments: f64) -> f64 {
    let whole = f64::from(segments as u32);
    if whole < segments { whole + 1.0 } else { whole }
}
