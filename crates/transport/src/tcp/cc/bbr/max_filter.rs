//! The highest value of a sliding window, from three samples: Nichols' filter, as in Linux (`lib/win_minmax.c`).

/// A value and its time; here in rounds.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
struct Sample {
    time: u32,
    value: f64,
}

/// The best, second-best and third-best samples, each later than the one before.
#[derive(Clone, Debug, Default)]
pub(super) struct MaxFilter([Sample; 3]);

impl MaxFilter {
    /// The highest value.
    pub fn get(&self) -> f64 {
        self.0[0].value
    }

    /// A value at a time, in a window of so long.
    pub fn update(&mut self, window: u32, time: u32, value: f64) {
        let new = Sample { time, value };
        let [best, second, third] = &mut self.0;
        if value >= best.value || time - third.time > window {
            self.0 = [new; 3];
            return;
        }
        if value >= second.value {
            (*second, *third) = (new, new);
        } else if value >= third.value {
            *third = new;
        }
        let age = time - best.time;
        if age > window {
            (*best, *second, *third) = (*second, *third, new);
            if time - best.time > window {
                (*best, *second) = (*second, *third);
            }
        } else if second.time == best.time && age > window / 4 {
            (*second, *third) = (new, new);
        } else if third.time == second.time && age > window / 2 {
            *third = new;
        }
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
