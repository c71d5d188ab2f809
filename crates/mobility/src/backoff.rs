//! Retransmission timers of signalling.

use roamlab_engine::{Duration, Time};

/// A retransmission timer: fires at `at`, each time after twice the interval, up to a limit.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Backoff {
    pub at: Time,
    pub interval: Duration,
    /// Doubling ends here; an interval that begins above it is unchanged.
    pub limit: Duration,
}

impl Backoff {
    pub fn start(now: Time, interval: Duration, limit: Duration) -> Backoff {
        Backoff { at: now + interval, interval, limit }
    }

    /// The timer after it fired at `now`.
    pub fn again(self, now: Time) -> Backoff {
        let interval = (self.interval * 2).min(self.limit).max(self.interval);
        Backoff::start(now, interval, self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_double_up_to_the_limit() {
        let ms = Duration::from_millis;
        let waits = |first: u64| {
            let mut timer = Backoff::start(Time::ZERO, ms(first), ms(1_000));
            let waits = std::iter::from_fn(|| {
                let before = timer.at;
                timer = timer.again(before);
                Some((timer.at - before).as_nanos() / 1_000_000)
            });
            waits.take(4).collect::<Vec<_>>()
        };
        assert_eq!(waits(200), [400, 800, 1_000, 1_000]);
        assert_eq!(waits(3_000), [3_000; 4]);
    }
}
