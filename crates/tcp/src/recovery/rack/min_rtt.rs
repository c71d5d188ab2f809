//! The least round-trip time of a connection, which bounds the reordering window.

use roamlab_congestion::WindowedBest;
use roamlab_engine::{Duration, Time};

/// The least round-trip time of a window of time.
#[derive(Clone, Debug, Default)]
pub(super) struct WindowedMin(WindowedBest<Duration>);

/// How long a round-trip time counts (`tcp_min_rtt_wlen`).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(300);

impl WindowedMin {
    /// The least round-trip time of the last five minutes; zero before the first.
    pub fn least(&self) -> Duration {
        self.0.get().unwrap_or_default()
    }

    /// A segment sent once took so long to be acknowledged.
    #[inline(always)]
    pub fn note(&mut self, rtt: Duration, now: Time) {
        self.0.note(rtt, now.as_nanos(), MIN_RTT_WINDOW.as_nanos(), |new, old| new <= old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_least_is_forgotten_after_five_minutes() {
        let mut min = WindowedMin::default();
        assert_eq!(min.least(), Duration::ZERO);
        min.note(ms(40), at(0));
        min.note(ms(80), at(1));
        assert_eq!(min.least(), ms(40));
        (1..=30).for_each(|n| min.note(ms(80), at(10 * n)));
        assert_eq!(min.least(), ms(40), "300 s later");
        min.note(ms(80), at(301));
        assert_eq!(min.least(), ms(80));
        min.note(ms(30), at(302));
        assert_eq!(min.least(), ms(30), "a lower one counts immediately");
        min.note(ms(90), at(1000));
        assert_eq!(min.least(), ms(90), "nothing was measured in the window");
    }
}
