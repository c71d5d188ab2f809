//! The reception of a host that roams: the cells in whose coverage it is, and the channel on which it listens.

use roamlab_engine::Time;
use std::collections::BTreeMap;

/// A set of channels, 1 to 255.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Channels([u64; 4]);

impl Channels {
    /// Adds a channel.
    pub fn insert(&mut self, channel: u32) {
        if let Some(bits) = self.0.get_mut(channel as usize / 64) {
            *bits |= 1 << (channel % 64);
        }
    }

    /// True if it has this channel.
    pub fn contains(&self, channel: u32) -> bool {
        self.0.get(channel as usize / 64).is_some_and(|bits| bits >> (channel % 64) & 1 == 1)
    }

    /// True if it has no channel.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }
}

/// A host's coverage by cells, which have numbers, and its channel.
#[derive(Clone, Debug, Default)]
pub struct Reception {
    /// In whose coverage it is: since when, and when it came into it last.
    covered: BTreeMap<u32, (Time, Time)>,
    /// The channel that it listens on, and since when.
    channel: (u32, Time),
}

impl Reception {
    /// It comes into the coverage of a cell.
    pub fn enter(&mut self, cell: u32, now: Time) {
        self.covered.entry(cell).or_insert((now, now)).1 = now;
    }

    /// It leaves the coverage of a cell.
    pub fn leave(&mut self, cell: u32) {
        self.covered.remove(&cell);
    }

    /// True if it is in the coverage of a cell.
    pub fn is_covered(&self, cell: u32) -> bool {
        self.covered.contains_key(&cell)
    }

    /// When it came into the coverage of a cell last; the start, if it is not in it.
    pub fn strength(&self, cell: u32) -> Time {
        self.covered.get(&cell).map_or(Time::ZERO, |&(_, last)| last)
    }

    /// It listens on a channel from now on.
    pub fn tune(&mut self, channel: u32, now: Time) {
        if self.channel.0 != channel {
            self.channel = (channel, now);
        }
    }

    /// True if a frame between it and a cell on this channel, which began at `started`, is received.
    pub fn receives(&self, cell: u32, channel: u32, started: Time) -> bool {
        let (listens, tuned) = self.channel;
        self.covered.get(&cell).is_some_and(|&(since, _)| since <= started)
            && listens == channel
            && tuned <= started
    }

    /// The cells in whose coverage it is and that are on its channel, in order. `channel_of`: a cell's channel.
    pub fn on_channel(&self, channel_of: impl Fn(u32) -> u32) -> impl Iterator<Item = u32> {
        self.covered.keys().copied().filter(move |&cell| channel_of(cell) == self.channel.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roamlab_engine::Duration;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// Two cells, on the channels 1 and 6.
    const NEAR: (u32, u32) = (0, 1);
    const FAR: (u32, u32) = (1, 6);

    fn received(reception: &Reception, (cell, channel): (u32, u32), times: [u64; 3]) -> [bool; 3] {
        times.map(|at| reception.receives(cell, channel, ms(at)))
    }

    #[test]
    fn the_cell_that_a_host_came_to_last_is_the_strongest_and_is_heard_since_the_first_time() {
        let mut reception = Reception::default();
        for (cell, at) in [(NEAR, 1), (FAR, 2), (NEAR, 3)] {
            reception.enter(cell.0, ms(at));
        }
        assert_eq!([NEAR, FAR].map(|(cell, _)| reception.strength(cell)), [ms(3), ms(2)]);
        reception.tune(1, ms(0));
        assert_eq!(received(&reception, NEAR, [0, 1, 2]), [false, true, true]);
    }

    #[test]
    fn a_host_hears_frames_that_begin_when_it_listens_to_their_channel() {
        let mut reception = Reception::default();
        reception.enter(NEAR.0, ms(0));
        reception.enter(FAR.0, ms(0));
        reception.tune(6, ms(5));
        reception.tune(6, ms(7));
        assert_eq!(received(&reception, FAR, [4, 5, 6]), [false, true, true]);
        assert_eq!(received(&reception, NEAR, [4, 5, 6]), [false; 3], "another channel");
        let channel_of = |cell| [1, 6][cell as usize];
        assert_eq!(reception.on_channel(channel_of).collect::<Vec<_>>(), [FAR.0]);
    }
}
