//! A link whose rate is a table of steps. That of a channel may grow while packets wait.

use crate::channel::Growth;
use crate::recorded::RecordedTransmitter;
use crate::series::{AtEnd, LATEST, Player, Rates, Series};
use roamlab_engine::{Bytes, Duration, Rate, Time};
use std::sync::Arc;

/// The transmitter of a link whose rate is from a file.
#[derive(Clone, Debug)]
pub enum FileTransmitter {
    /// It sends at the opportunities of a recording.
    Opportunities(RecordedTransmitter),
    /// It sends with the rates of a table.
    Table(SteppedTransmitter),
}

impl FileTransmitter {
    /// When the last byte of a packet of this size is sent that begins `now`; `waited`: it follows immediately on the one
    /// before it.
    pub fn transmission_end(&mut self, now: Time, size: Bytes, waited: bool) -> Time {
        match self {
            FileTransmitter::Opportunities(recorded) => recorded.transmission_end(now, size, waited),
            FileTransmitter::Table(stepped) => stepped.transmission_end(now, size, waited),
        }
    }

    /// How long a packet of this size takes at least in an outage; `always`: any packet, however slow the link is on average.
    ///
    /// ASSUMPTION: a packet meets an outage of a table if it also takes ten times as long as at the mean rate. A recording
    /// of opportunities has no packet that is merely slow.
    pub fn outage(&self, size: Bytes, always: Duration) -> Duration {
        match self {
            FileTransmitter::Opportunities(_) => always,
            FileTransmitter::Table(stepped) => {
                always.max(stepped.mean.transmission_time(size, &mut 0).saturating_mul(10))
            }
        }
    }
}

/// A transmitter whose rate is that of a table at each moment. A packet that is being sent when the rate changes continues
/// with the new rate, and waits while it is 0.
#[derive(Clone, Debug)]
pub struct SteppedTransmitter {
    player: Player<Rates>,
    mean: Rate,
    /// The capacity of a period, in bit · 10^-9.
    carries: u128,
    /// Rest of a nanosecond that the last packet has taken from the next one, in the same unit.
    owed: u64,
    growth: Option<Box<Growth>>,
}

/// The end of a transmission that no run lasts for.
const NEVER: u64 = LATEST;

impl SteppedTransmitter {
    /// A transmitter at the beginning of its table.
    pub fn new(series: Arc<Series<Rates>>, at_end: AtEnd) -> SteppedTransmitter {
        let ((carries, _), mean) = (series.sum(0), series.mean_rate());
        let player = Player::new(series, Duration::ZERO, at_end);
        SteppedTransmitter { mean, carries, owed: 0, player, growth: None }
    }

    /// The same, whose rates grow.
    #[must_use]
    pub fn growing(mut self, growth: Option<Growth>) -> SteppedTransmitter {
        self.growth = growth.map(Box::new);
        self
    }

    /// When the last bit of a packet is sent that begins `now`; `waited`: it follows immediately on the one before it. What
    /// of a nanosecond a packet leaves over is carried to the next one, as at a constant rate.
    pub fn transmission_end(&mut self, now: Time, size: Bytes, waited: bool) -> Time {
        let mut needed = u128::from(size.0) * 8_000_000_000;
        if let Some(growth) = &mut self.growth {
            needed = needed * 1000 / u128::from(growth.thousandths(now));
        }
        let end = self.end_of(now, needed, waited);
        if let (Some(growth), true) = (&mut self.growth, waited) {
            growth.sent(end.since(now));
        }
        end
    }

    /// The same of an amount of data in bit · 10^-9, at the rates of the table.
    fn end_of(&mut self, now: Time, needed: u128, waited: bool) -> Time {
        let mut needed = needed + if waited { u128::from(self.owed) } else { 0 };
        let mut at = now.as_nanos();
        self.player.seek(at);
        let mut player = self.player.clone();
        loop {
            let (rate, until) = (u128::from(player.value()), player.next());
            let left = until.map(|until| rate * u128::from(until - at));
            if rate > 0 && left.is_none_or(|left| needed <= left) {
                self.owed = (needed % rate) as u64;
                let takes = u64::try_from(needed / rate).unwrap_or(NEVER);
                return Time::from_nanos(at.saturating_add(takes).min(NEVER));
            }
            let (Some(until), Some(left)) = (until, left) else { return Time::from_nanos(NEVER) };
            (needed, at) = (needed - left, until);
            player.advance();
            if player.is_at_start() && needed > self.carries {
                // Whole periods are skipped.
                let skipped = (needed - 1) / self.carries;
                let periods = u64::try_from(skipped).unwrap_or(u64::MAX);
                needed -= skipped * self.carries;
                player.skip(periods);
                at = player.begin();
            }
            if at >= NEVER {
                return Time::from_nanos(NEVER);
            }
        }
    }
}

#[cfg(test)]
mod tests;
