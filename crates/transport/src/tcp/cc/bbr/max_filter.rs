//! The highest value of a window of rounds.

use crate::tcp::windowed_best::WindowedBest;

/// The highest value; zero before the first.
#[derive(Clone, Debug, Default)]
pub(super) struct MaxFilter(WindowedBest<f64>);

impl MaxFilter {
    /// The highest value.
    pub fn get(&self) -> f64 {
        self.0.get().unwrap_or_default()
    }

    /// A value at a round, in a window of so many.
    pub fn update(&mut self, window: u32, round: u32, value: f64) {
        self.0.note(value, round.into(), window.into(), |new, old| new >= old);
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
}
