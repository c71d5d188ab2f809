//! A timer is a deadline; whoever wakes the endpoint may be early.

use roamlab_engine::{Duration, Time};

/// One timer.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Timer(Option<Time>);

impl Timer {
    /// (Re)starts the timer.
    pub fn start(&mut self, now: Time, span: Duration) {
        self.0 = Some(now + span);
    }

    /// Stops it.
    pub fn stop(&mut self) {
        self.0 = None;
    }

    /// When it goes off, if it runs.
    pub fn deadline(&self) -> Option<Time> {
        self.0
    }

    /// Whether it has gone off by `now`; it stops if so.
    pub fn expired(&mut self, now: Time) -> bool {
        let expired = self.0.is_some_and(|deadline| deadline <= now);
        if expired {
            self.0 = None;
        }
        expired
    }
}
