//! Retransmission timers of signalling.

use roamlab_engine::{Duration, Time};

/// A retransmission timer: fires at `at`, each time after twice the interval.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Backoff {
    pub at: Time,
    pub interval: Duration,
}

impl Backoff {
    pub fn start(now: Time, interval: Duration) -> Backoff {
        Backoff { at: now + interval, interval }
    }

    /// The timer after it fired at `now`.
    pub fn again(self, now: Time) -> Backoff {
        Backoff::start(now, self.interval * 2)
    }
}
