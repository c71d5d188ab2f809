//! The best value of a sliding window, from three candidates of which each is the best since the one before: Nichols'
//! filter (`lib/win_minmax.c`).

#[derive(Copy, Clone, PartialEq, Debug)]
struct Candidate<V> {
    /// In the caller's unit.
    time: u64,
    value: V,
}

/// The best one first; none before the first value.
#[derive(Clone, Debug)]
pub struct WindowedBest<V>(Option<[Candidate<V>; 3]>);

impl<V> Default for WindowedBest<V> {
    fn default() -> WindowedBest<V> {
        WindowedBest(None)
    }
}

impl<V: Copy> WindowedBest<V> {
    /// The best value.
    #[inline]
    pub fn get(&self) -> Option<V> {
        self.0.map(|[best, ..]| best.value)
    }

    /// A value at a time, in a window of so long. `beats`: the first one is as good as the second, or better.
    #[inline(always)]
    pub fn note(&mut self, value: V, time: u64, window: u64, beats: impl Fn(V, V) -> bool) {
        let new = Candidate { time, value };
        match &mut self.0 {
            Some([best, second, third]) if !beats(value, best.value) && time - third.time <= window => {
                if beats(value, second.value) {
                    (*second, *third) = (new, new);
                } else if beats(value, third.value) {
                    *third = new;
                }
                self.age(new, window);
            }
            _ => self.0 = Some([new; 3]), // a new best one, or nothing left in the window
        }
    }

    fn age(&mut self, new: Candidate<V>, window: u64) {
        let Some([best, second, third]) = &mut self.0 else { return };
        let age = new.time - best.time;
        if age > window {
            (*best, *second, *third) = (*second, *third, new);
            if new.time - best.time > window {
                (*best, *second) = (*second, *third);
            }
        } else if second.time == best.time && age > window / 4 {
            (*second, *third) = (new, new);
        } else if third.time == second.time && age > window / 2 {
            *third = new;
        }
    }
}
