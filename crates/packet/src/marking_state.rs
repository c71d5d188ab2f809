//! State of a queue's congestion estimate, in a form that a message can carry.

use roamlab_engine::{Duration, Time};

/// The estimate by which a queue discipline drops or marks. Base stations may hand it over with a host, so that the new
/// queue does not begin without one.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum MarkingState {
    /// The average length of RED and M-RED in packets.
    Average(f64),
    /// The probability of BLUE and MBLUE.
    Probability(f64),
    /// A controller by the delay: PIE and DualPI2.
    Controller {
        /// PIE's drop probability, DualPI2's base probability.
        probability: f64,
        /// The delay at the last update.
        delay: Duration,
        /// Time for which PIE still lets a burst in.
        burst: Duration,
    },
    /// The schedule of CoDel's drops.
    Drops {
        /// Drops of this period, and those with which it began.
        counts: (u32, u32),
        /// When the next is, or would have been.
        next: Time,
    },
    /// The mean time in a bearer's buffer.
    Delay(Duration),
}

/// The numbers are never NaN.
impl Eq for MarkingState {}
