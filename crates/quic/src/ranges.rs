//! The packet numbers that have arrived, as the ranges of an ACK frame.

use crate::wire;
use std::collections::VecDeque;

/// Ranges `[start, end)`, the largest first, with a gap between each two.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    ranges: VecDeque<(u32, u32)>,
    most: usize,
    /// Below this number nothing counts as missing: the other end has all acknowledgements that it will get.
    known: u32,
    /// Bytes of the ranges below the first in an ACK frame, until one of them or the gap above changes.
    size_below: Option<u64>,
}

impl Ranges {
    /// No numbers; `most` ranges are remembered.
    pub fn new(most: usize) -> Ranges {
        Ranges { ranges: VecDeque::new(), most, known: 0, size_below: None }
    }

    /// Adds a number; `false` if it is in one of the ranges.
    pub fn insert(&mut self, number: u32) -> bool {
        if let Some(first) = self.ranges.front_mut().filter(|first| first.1 == number) {
            first.1 += 1;
            return true;
        }
        self.size_below = None;
        let place = self.ranges.iter().take_while(|&&(start, _)| start > number).count();
        if self.ranges.get(place).is_some_and(|&(_, end)| number < end) {
            return false;
        }
        let joins_below = self.ranges.get(place).is_some_and(|&(_, end)| end == number);
        let joins_above = place > 0 && self.ranges[place - 1].0 == number + 1;
        match (joins_below, joins_above) {
            (true, true) => {
                self.ranges[place].1 = self.ranges[place - 1].1;
                self.ranges.remove(place - 1);
            }
            (true, false) => self.ranges[place].1 = number + 1,
            (false, true) => self.ranges[place - 1].0 = number,
            (false, false) => self.ranges.insert(place, (number, number + 1)),
        }
        self.ranges.truncate(self.most);
        true
    }

    /// One above the largest number; 0 if there is none.
    pub fn end(&self) -> u32 {
        self.ranges.front().map_or(0, |&(_, end)| end)
    }

    /// The smallest number at or above `from` and below the largest that has not arrived.
    pub fn first_missing(&self, from: u32) -> Option<u32> {
        let from = from.max(self.known);
        let covering = self.ranges.iter().find(|&&(start, end)| start <= from && from < end);
        let missing = covering.map_or(from, |&(_, end)| end);
        (missing < self.end()).then_some(missing)
    }

    /// The other end has the acknowledgements below `end`, so they need not be repeated (RFC 9000 §13.2.4).
    pub fn forget_below(&mut self, end: u32) {
        let largest = self.end().saturating_sub(1);
        self.known = self.known.max(end.min(largest));
        self.size_below = None;
        self.ranges.retain(|&(_, end)| end > self.known);
        if let Some(lowest) = self.ranges.back_mut() {
            lowest.0 = lowest.0.max(self.known);
        }
    }

    /// Bytes of the ranges below the first in an ACK frame.
    pub fn size_below(&mut self) -> u64 {
        *self.size_below.get_or_insert_with(|| wire::ranges_below(self.ranges.iter()))
    }

    /// The ranges, the largest first.
    pub fn to_vec(&self) -> Vec<(u32, u32)> {
        self.ranges.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_opens_lengthens_and_joins_ranges() {
        let mut ranges = Ranges::new(4);
        for number in [0, 1, 5, 3, 4] {
            assert!(ranges.insert(number));
        }
        assert_eq!(ranges.to_vec(), [(3, 6), (0, 2)]);
        assert!(!ranges.insert(4) && !ranges.insert(0));
        assert_eq!((ranges.first_missing(0), ranges.first_missing(3)), (Some(2), None));
        assert!(ranges.insert(2));
        assert_eq!((ranges.to_vec(), ranges.end()), (vec![(0, 6)], 6));
    }

    #[test]
    fn the_lowest_ranges_are_left_out_first() {
        let mut ranges = Ranges::new(2);
        for number in [0, 2, 4] {
            ranges.insert(number);
        }
        assert_eq!(ranges.to_vec(), [(4, 5), (2, 3)]);
    }

    #[test]
    fn what_the_other_end_knows_is_neither_reported_nor_missing() {
        let mut ranges = Ranges::new(9);
        for number in [0, 2, 3, 4, 6] {
            ranges.insert(number);
        }
        assert_eq!(ranges.first_missing(0), Some(1));
        ranges.forget_below(4);
        assert_eq!((ranges.to_vec(), ranges.first_missing(0)), (vec![(6, 7), (4, 5)], Some(5)));
        // A late number is acknowledged nevertheless; the largest one always is.
        assert!(ranges.insert(1));
        assert_eq!(ranges.to_vec(), [(6, 7), (4, 5), (1, 2)]);
        ranges.forget_below(7);
        assert_eq!(ranges.to_vec(), [(6, 7)]);
    }

    proptest! {
        #[test]
        fn the_ranges_are_those_of_a_set(numbers in prop::collection::vec(0u32..60, 0..80)) {
            let (mut ranges, mut set) = (Ranges::new(100), std::collections::BTreeSet::new());
            for number in numbers {
                prop_assert_eq!(ranges.insert(number), set.insert(number));
            }
            let listed: Vec<u32> = ranges.to_vec().into_iter().rev().flat_map(|(start, end)| start..end).collect();
            prop_assert_eq!(&listed, &set.iter().copied().collect::<Vec<_>>());
            let apart = ranges.to_vec();
            prop_assert!(apart.windows(2).all(|pair| pair[1].1 < pair[0].0));
            let missing = (0..ranges.end()).find(|number| !set.contains(number));
            prop_assert_eq!(ranges.first_missing(0), missing);
        }
    }
}
