//! The rates and delays that a link has one after the other.

use roamlab_engine::{Duration, Rate, Time};
use roamlab_radio::{Delays, Player, Rates};

/// The places of a link in the files that it follows. One event is pending for the next of their values, so a file of a
/// million rows takes no more of the scheduler than one of two.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    pub(super) rates: Option<Player<Rates>>,
    pub(super) delays: Option<Player<Delays>>,
    /// The insertion number of all these events: at one instant they come before packets.
    pub(super) insertion: u64,
}

impl Steps {
    /// The rate and the delay of this moment, those that files have, and when the next value is due.
    pub(super) fn at(&mut self, now: Time) -> (Option<Rate>, Option<Duration>, Option<Time>) {
        let mut next = u64::MAX;
        let rate = self.rates.as_mut().map(|rates| {
            rates.seek(now.as_nanos());
            next = rates.next().unwrap_or(next);
            // ASSUMPTION: to a queue discipline, a link that sends nothing has a rate of 1 bit/s.
            Rate::from_bps(rates.value().max(1))
        });
        let delay = self.delays.as_mut().map(|delays| {
            delays.seek(now.as_nanos());
            next = next.min(delays.next().unwrap_or(next));
            Duration::from_nanos(delays.value())
        });
        (rate, delay, (next < u64::MAX).then(|| Time::from_nanos(next)))
    }
}
