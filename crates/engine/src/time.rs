//! Simulated time in whole nanoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// An instant: nanoseconds since the run began.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A span of time in nanoseconds; never negative.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Time {
    /// The beginning of the run.
    pub const ZERO: Time = Time(0);
    /// Later than any event.
    pub const MAX: Time = Time(u64::MAX);

    /// The instant `nanos` ns after the beginning of the run.
    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos)
    }

    /// Nanoseconds since the beginning of the run.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the beginning of the run, for display and statistics only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The span since `earlier`, or zero if `earlier` is in fact later.
    pub const fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);
    /// Longer than any run.
    pub const MAX: Duration = Duration(u64::MAX);

    /// A span of `nanos` ns.
    pub const fn from_nanos(nanos: u64) -> Duration {
        Duration(nanos)
    }

    /// A span of `micros` µs.
    pub const fn from_micros(micros: u64) -> Duration {
        Duration(micros * 1_000)
    }

    /// A span of `millis` ms.
    pub const fn from_millis(millis: u64) -> Duration {
        Duration(millis * 1_000_000)
    }

    /// A span of `secs` s.
    pub const fn from_secs(secs: u64) -> Duration {
        Duration(secs * 1_000_000_000)
    }

    /// The span in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The span in seconds, for arithmetic that is real-valued by definition (RED's idle time, averages).
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// `self - other`, or zero if that would be negative.
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }

    /// `self * factor`, or [`Duration::MAX`] if that would overflow.
    pub const fn saturating_mul(self, factor: u64) -> Duration {
        Duration(self.0.saturating_mul(factor))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, span: Duration) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Time> for Time {
    type Output = Duration;
    fn sub(self, earlier: Time) -> Duration {
        debug_assert!(self >= earlier, "negative span: {self} - {earlier}");
        self.since(earlier)
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Duration) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, other: Duration) -> Duration {
        debug_assert!(self >= other, "negative span: {self} - {other}");
        self.saturating_sub(other)
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, factor: u64) -> Duration {
        self.saturating_mul(factor)
    }
}

impl Div<u64> for Duration {
    type Output = Duration;
    fn div(self, divisor: u64) -> Duration {
        Duration(self.0 / divisor)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_saturate_instead_of_wrapping() {
        assert_eq!(Time::MAX + Duration::from_secs(1), Time::MAX);
        assert_eq!(Time::ZERO.since(Time::from_nanos(5)), Duration::ZERO);
        assert_eq!(Duration::MAX * 2, Duration::MAX);
    }

    #[test]
    fn time_prints_to_the_nanosecond() {
        assert_eq!(Time::from_nanos(10_063_000_001).to_string(), "10.063000001 s");
    }
}
