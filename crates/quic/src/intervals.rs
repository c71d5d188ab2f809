//! Packet numbers as disjoint intervals, to which ranges are added.

use std::collections::VecDeque;
use std::ops::Range;

/// Intervals `[start, end)` in order, with a gap between each two.
#[derive(Clone, Debug, Default)]
pub(crate) struct Intervals(VecDeque<(u32, u32)>);

impl Intervals {
    /// Adds `start..end`; appends to `fresh` the parts that were not in an interval, in order.
    pub fn insert(&mut self, start: u32, end: u32, fresh: &mut Vec<Range<u32>>) {
        if start >= end {
            return;
        }
        let first = self.0.partition_point(|interval| interval.1 < start);
        let (mut joined, mut last, mut covered) = ((start, end), first, start);
        while let Some(&(from, until)) = self.0.get(last).filter(|interval| interval.0 <= end) {
            if covered < from {
                fresh.push(covered..from);
            }
            covered = until;
            joined = (joined.0.min(from), joined.1.max(until));
            last += 1;
        }
        if covered < end {
            fresh.push(covered..end);
        }
        if first == last {
            self.0.insert(first, joined);
        } else {
            self.0[first] = joined;
            self.0.drain(first + 1..last);
        }
    }

    /// Forgets the intervals that are below `end` as a whole.
    pub fn forget_below(&mut self, end: u32) {
        while self.0.front().is_some_and(|interval| interval.1 <= end) {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_is_new_of_a_range_are_the_gaps() {
        let (mut intervals, mut fresh) = (Intervals::default(), Vec::new());
        for (start, end) in [(2, 4), (6, 8), (10, 12)] {
            intervals.insert(start, end, &mut fresh);
        }
        assert_eq!(fresh, [2..4, 6..8, 10..12]);
        fresh.clear();
        intervals.insert(3, 11, &mut fresh);
        assert_eq!((fresh, intervals.0.len(), intervals.0[0]), (vec![4..6, 8..10], 1, (2, 12)));
        intervals.forget_below(11);
        assert_eq!(intervals.0.len(), 1);
        intervals.forget_below(12);
        assert_eq!(intervals.0.len(), 0);
    }

    proptest! {
        #[test]
        fn they_are_a_set_of_numbers(ranges in prop::collection::vec((0u32..60, 0u32..20), 0..40)) {
            let (mut intervals, mut set, mut fresh) = (Intervals::default(), BTreeSet::new(), Vec::new());
            for (start, length) in ranges {
                let expected: Vec<u32> = (start..start + length).filter(|&number| set.insert(number)).collect();
                intervals.insert(start, start + length, &mut fresh);
                prop_assert_eq!(fresh.drain(..).flatten().collect::<Vec<u32>>(), expected);
                prop_assert!(intervals.0.iter().zip(intervals.0.iter().skip(1)).all(|(one, next)| one.1 < next.0));
            }
        }
    }
}
