//! Which bytes of the stream have passed: sent for the first time, or arrived.

use std::collections::BTreeMap;

/// Bytes of the stream, as ranges apart from each other: start and end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    ranges: BTreeMap<u64, u64>,
}

impl Progress {
    /// Adds `[start, end)`: how many of these bytes are new.
    pub fn insert(&mut self, (start, end): (u64, u64)) -> u64 {
        let before = |&(_, &last): &(&u64, &u64)| last >= start;
        let touching: Vec<(u64, u64)> =
            self.ranges.range(..=end).rev().take_while(before).map(|(&first, &last)| (first, last)).collect();
        let (mut first, mut last, mut known) = (start, end, 0);
        for (from, to) in touching {
            known += to.min(end).saturating_sub(from.max(start));
            (first, last) = (first.min(from), last.max(to));
            self.ranges.remove(&from);
        }
        self.ranges.insert(first, last);
        end - start - known
    }

    /// All bytes below are there.
    pub fn base(&self) -> u64 {
        self.ranges.get(&0).copied().unwrap_or(0)
    }

    /// One above the largest byte.
    pub fn end(&self) -> u64 {
        self.ranges.last_key_value().map_or(0, |(_, &end)| end)
    }

    /// True if all of `[start, end)` is there.
    pub fn contains(&self, (start, end): (u64, u64)) -> bool {
        self.ranges.range(..=start).next_back().is_some_and(|(_, &last)| end <= last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_is_new_once() {
        let mut progress = Progress::default();
        assert_eq!(progress.insert((10, 20)), 10);
        assert_eq!((progress.insert((15, 25)), progress.base()), (5, 0));
        assert_eq!(progress.insert((30, 40)), 10);
        assert_eq!(progress.insert((12, 35)), 5);
        assert_eq!(progress.insert((10, 40)), 0);
        assert_eq!((progress.insert((0, 10)), progress.base(), progress.end()), (10, 40, 40));
        assert!(progress.contains((0, 40)) && progress.contains((5, 6)) && !progress.contains((39, 41)));
        assert_eq!(progress.ranges.len(), 1);
    }

    #[test]
    fn the_count_is_that_of_a_set() {
        let (mut progress, mut set) = (Progress::default(), std::collections::BTreeSet::new());
        let mut place: u64 = 7;
        for _ in 0..2000 {
            place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (start, length) = ((place >> 33) % 400, 1 + (place >> 50) % 30);
            let fresh = (start..start + length).filter(|&byte| set.insert(byte)).count() as u64;
            assert_eq!(progress.insert((start, start + length)), fresh);
            let base = (0..500).find(|byte| !set.contains(byte)).unwrap();
            assert_eq!(progress.base(), base);
        }
    }
}
