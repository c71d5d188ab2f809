//! The highest value of a window of rounds or cycles.

use crate::WindowedBest;

/// The highest value; zero before the first.
#[derive(Clone, Debug, Default)]
pub struct MaxFilter(WindowedBest<f64>);

impl MaxFilter {
    /// The highest value.
    pub fn get(&self) -> f64 {
        self.0.get().unwrap_or_default()
    }

    /// Adds the value of a round. `window`: its length in rounds.
    pub fn update(&mut self, window: u32, round: u32, value: f64) {
        self.0.note(value, round.into(), window.into(), |new, old| new >= old);
    }
}

/// The highest value of a slot of time and of the one before.
#[derive(Copy, Clone, Debug, Default)]
pub struct TwoSlots<V> {
    before: V,
    now: V,
}

impl<V: Copy + Default + PartialOrd> TwoSlots<V> {
    /// The highest value; zero before the first.
    pub fn get(&self) -> V {
        if self.before > self.now { self.before } else { self.now }
    }

    /// A value of this slot.
    pub fn note(&mut self, value: V) {
        if value > self.now {
            self.now = value;
        }
    }

    /// The slot is over.
    pub fn advance(&mut self) {
        *self = TwoSlots { before: self.now, now: V::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_kept_for_the_window_and_then_the_next_best_counts() {
        let mut filter = MaxFilter::default();
        filter.update(10, 0, 100.0);
        for (round, value) in (1..=10).zip([50.0, 60.0, 70.0, 80.0, 80.0, 70.0, 60.0, 50.0, 40.0, 40.0]) {
            filter.update(10, round, value);
            assert_eq!(filter.get(), 100.0, "{round}");
        }
        filter.update(10, 11, 40.0);
        assert_eq!(filter.get(), 80.0, "of round 5");
        filter.update(10, 12, 200.0);
        assert_eq!(filter.get(), 200.0, "a higher one counts immediately");
        filter.update(10, 40, 10.0);
        assert_eq!(filter.get(), 10.0, "all samples are too old");
    }

    #[test]
    fn two_slots_keep_a_value_until_the_second_end_of_a_slot() {
        let mut slots = TwoSlots::default();
        slots.note(7);
        slots.note(5);
        assert_eq!(slots.get(), 7);
        slots.advance();
        slots.note(3);
        assert_eq!(slots.get(), 7);
        slots.advance();
        assert_eq!(slots.get(), 3);
    }
}
