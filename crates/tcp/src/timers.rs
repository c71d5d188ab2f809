//! A timer is a deadline. The caller may wake the endpoint early.

use crate::wheel;
use roamlab_engine::{Duration, Time};

/// One timer: its time of expiry. One with the end of time does not run.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Timer(Time);

impl Default for Timer {
    fn default() -> Timer {
        Timer(Time::MAX)
    }
}

impl Timer {
    /// One that expires at `time`, unless that is the end of time.
    #[inline(always)]
    pub fn at(time: Time) -> Timer {
        Timer(time)
    }

    /// (Re)starts the timer.
    pub fn start(&mut self, now: Time, span: Duration) {
        self.0 = now + span;
    }

    /// As [`start`](Self::start), but in a [wheel](wheel::expiry) with this tick, if it is in one.
    #[inline(always)]
    pub fn start_by(&mut self, wheel: Option<Duration>, now: Time, span: Duration) {
        match wheel {
            Some(tick) => self.0 = wheel::expiry(tick, now, span),
            None => self.start(now, span),
        }
    }

    /// Stops it.
    pub fn stop(&mut self) {
        self.0 = Time::MAX;
    }

    /// True if it runs.
    pub fn runs(&self) -> bool {
        self.0 != Time::MAX
    }

    /// The earlier of the two.
    #[inline(always)]
    pub fn earlier(&self, other: &Timer) -> Timer {
        Timer(self.0.min(other.0))
    }

    /// Time of expiry, if it runs.
    pub fn deadline(&self) -> Option<Time> {
        self.runs().then_some(self.0)
    }

    /// True if it has expired by `now`; then it stops.
    pub fn expired(&mut self, now: Time) -> bool {
        let expired = self.runs() && self.0 <= now;
        if expired {
            self.stop();
        }
        expired
    }
}
