//! Simulated time as quinn's. Only differences between its instants have a meaning.

use roamlab_engine::{Duration, Time};
use std::sync::OnceLock;
use std::time::Instant;

/// The instant of time zero. An hour is before it: quinn subtracts durations from instants.
fn base() -> Instant {
    static BASE: OnceLock<Instant> = OnceLock::new();
    #[expect(
        clippy::disallowed_methods,
        reason = "no other call makes an instant; only differences are used"
    )]
    *BASE.get_or_init(|| Instant::now() + std::time::Duration::from_secs(3600))
}

/// An instant of quinn.
pub(crate) fn instant(time: Time) -> Instant {
    base() + std::time::Duration::from_nanos(time.since(Time::ZERO).as_nanos())
}

/// The time of an instant. What is before zero is zero.
pub(crate) fn time(instant: Instant) -> Time {
    let nanos = instant.saturating_duration_since(base()).as_nanos();
    Time::ZERO + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// A duration of quinn.
pub(crate) fn duration(duration: std::time::Duration) -> Duration {
    Duration::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_comes_back() {
        for nanos in [0, 1, 999_999_999, 86_400_000_000_000] {
            let at = Time::ZERO + Duration::from_nanos(nanos);
            assert_eq!(time(instant(at)), at);
        }
    }
}
