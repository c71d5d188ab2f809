//! The set of segments above a moving base that have arrived: a ring of bits.
//!
//! A query, insertion or search of a segment costs a step per 64 segments at most, with any number of holes.

use std::collections::VecDeque;

const BITS: u32 = u64::BITS;

/// A set of segment numbers that holds everything below its base.
#[derive(Clone, Debug, Default)]
pub struct SeqSet {
    /// Everything below is in the set.
    base: u32,
    /// Bit `i` of word `w` is segment `first + 64 * w + i`, where `first` is `base` rounded down to a word.
    words: VecDeque<u64>,
}

impl SeqSet {
    /// Adds a segment; `false` if it was in the set already.
    #[inline]
    pub fn insert(&mut self, seq: u32) -> bool {
        if seq < self.base {
            return false;
        }
        let (word, bit) = self.place(seq);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let fresh = self.words[word] & bit == 0;
        self.words[word] |= bit;
        fresh
    }

    /// Adds a segment and raises the base to the first missing one: whether it is new, and how many segments the base has
    /// passed.
    #[inline]
    pub fn take(&mut self, seq: u32) -> (bool, u32) {
        if seq == self.base && self.is_bare() && seq < u32::MAX {
            self.push();
            return (true, 1);
        }
        (self.insert(seq), self.advance())
    }

    /// Adds `start..end`; how many of them were not in the set.
    #[inline]
    pub fn insert_range(&mut self, start: u32, end: u32) -> u32 {
        let start = start.max(self.base);
        if start >= end {
            return 0;
        }
        let last_word = self.place(end - 1).0;
        if last_word >= self.words.len() {
            self.words.resize(last_word + 1, 0);
        }
        let mut added = 0;
        for (word, mask) in self.masks(start, end) {
            added += (mask & !self.words[word]).count_ones();
            self.words[word] |= mask;
        }
        added
    }

    /// How many of `start..end` at or above the base are in the set.
    #[inline]
    pub fn count(&self, start: u32, end: u32) -> u32 {
        if self.is_bare() { 0 } else { self.count_in_words(start, end) }
    }

    #[inline]
    fn count_in_words(&self, start: u32, end: u32) -> u32 {
        let present =
            |(word, mask): (usize, u64)| self.words.get(word).map_or(0, |bits| (bits & mask).count_ones());
        self.masks(start.max(self.base), end).map(present).sum()
    }

    /// True if the segment is in the set.
    #[inline]
    pub fn contains(&self, seq: u32) -> bool {
        seq < self.base || self.count(seq, seq.saturating_add(1)) == 1
    }

    /// The lowest segment of the unbroken run, above the base, that `seq` ends; `seq + 1` if it is not in the set.
    #[inline]
    pub fn run_start(&self, seq: u32) -> u32 {
        let (word, bit) = self.place(seq);
        if word >= self.words.len() {
            return seq.saturating_add(1);
        }
        // Segments above `seq` count as present in its word.
        let mut above = !(bit | (bit - 1));
        for word in (0..=word).rev() {
            let missing = !(self.words[word] | above);
            if missing != 0 {
                let above_missing = self.word_start(word).saturating_add(BITS - missing.leading_zeros());
                return above_missing.max(self.base).min(seq.saturating_add(1));
            }
            above = 0;
        }
        self.base
    }

    /// The segment that has `rank - 1` segments of the set above it.
    pub fn nth_from_top(&self, rank: u32) -> Option<u32> {
        let mut left = rank.checked_sub(1)?;
        for word in (0..self.words.len()).rev() {
            let mut bits = self.words[word];
            if left >= bits.count_ones() {
                left -= bits.count_ones();
                continue;
            }
            (0..left).for_each(|_| bits ^= 1 << bits.ilog2());
            return Some(self.word_start(word) + bits.ilog2()).filter(|&seq| seq >= self.base);
        }
        None
    }

    /// The words that `start..end` touches, with the bits it covers in each.
    #[inline]
    fn masks(&self, start: u32, end: u32) -> impl Iterator<Item = (usize, u64)> + use<> {
        let base_word = self.base / BITS;
        let words = if start < end { start / BITS..(end - 1) / BITS + 1 } else { 0..0 };
        words.map(move |word| {
            let first = word * BITS;
            let from = u64::MAX << start.saturating_sub(first);
            let to = u64::MAX >> (BITS - (end - first).min(BITS));
            ((word - base_word) as usize, from & to)
        })
    }

    /// The lowest segment at or above `from` that is not in the set.
    #[inline]
    pub fn first_missing(&self, from: u32) -> u32 {
        let from = from.max(self.base);
        let (start, bit) = self.place(from);
        // Segments below `from` count as present in its word.
        let mut below = bit - 1;
        for word in start..self.words.len() {
            let present = self.words[word] | below;
            if present != u64::MAX {
                return self.word_start(word) + present.trailing_ones();
            }
            below = 0;
        }
        from.max(self.word_start(self.words.len()))
    }

    /// Raises the base: everything below it is in the set from now on.
    #[inline]
    pub fn forget_below(&mut self, base: u32) {
        if base <= self.base {
            return;
        }
        if !self.words.is_empty() {
            let whole = (base / BITS - self.base / BITS) as usize;
            self.words.drain(..whole.min(self.words.len()));
        }
        self.base = base;
    }

    /// Raises the base to the first missing segment and gives the number of segments passed.
    #[inline]
    pub fn advance(&mut self) -> u32 {
        let (old, new) = (self.base, self.first_missing(self.base));
        self.forget_below(new);
        if self.words.len() == 1 && self.words[0] >> (new % BITS) == 0 {
            self.words.clear();
        }
        new - old
    }

    /// True if the set has nothing from the base on, and no words either.
    #[inline]
    pub fn is_bare(&self) -> bool {
        self.words.is_empty()
    }

    /// Adds the base to a bare set.
    #[inline]
    pub fn push(&mut self) {
        debug_assert!(self.is_bare());
        self.base += 1;
    }

    /// The base: everything below is in the set.
    #[inline]
    pub fn base(&self) -> u32 {
        self.base
    }

    #[inline]
    fn place(&self, seq: u32) -> (usize, u64) {
        ((seq / BITS - self.base / BITS) as usize, 1 << (seq % BITS))
    }

    #[inline]
    fn word_start(&self, word: usize) -> u32 {
        (self.base / BITS + word as u32).saturating_mul(BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Any sequence of insertions and advances agrees with an ordered set.
        #[test]
        fn agrees_with_an_ordered_set(steps in prop::collection::vec((0u32..400, 0u8..8), 0..300)) {
            let (mut set, mut model, mut base) = (SeqSet::default(), BTreeSet::new(), 0u32);
            let missing = |model: &BTreeSet<u32>, base: u32, from: u32| {
                (from.max(base)..).find(|seq| !model.contains(seq)).unwrap_or_default()
            };
            for (seq, kind) in steps {
                match kind {
                    0 => {
                        let expected = missing(&model, base, base) - base;
                        prop_assert_eq!(set.advance(), expected);
                        base += expected;
                    }
                    1 => {
                        set.forget_below(seq / 4);
                        base = base.max(seq / 4);
                    }
                    2 => {
                        let end = seq + seq % 150;
                        let fresh = (seq.max(base)..end).filter(|&seq| model.insert(seq)).count();
                        prop_assert_eq!(set.insert_range(seq, end), fresh as u32);
                    }
                    3 => {
                        let fresh = seq >= base && model.insert(seq);
                        let end = missing(&model, base, base);
                        prop_assert_eq!(set.take(seq), (fresh, end - base));
                        base = end;
                    }
                    _ => prop_assert_eq!(set.insert(seq), seq >= base && model.insert(seq)),
                }
                model.retain(|&seq| seq >= base);
                let end = seq + 100;
                prop_assert_eq!(set.count(seq, end), model.range(seq..end).count() as u32);
                prop_assert_eq!(set.contains(seq), seq < base || model.contains(&seq));
                prop_assert_eq!(set.nth_from_top(3), model.iter().rev().nth(2).copied());
                if seq >= base {
                    let run = (base..=seq).rev().take_while(|seq| model.contains(seq)).count() as u32;
                    prop_assert_eq!(set.run_start(seq), seq + 1 - run);
                }
                prop_assert_eq!(set.base(), base);
                prop_assert_eq!(set.first_missing(seq), missing(&model, base, seq));
            }
        }
    }

    #[test]
    fn the_last_numbers_are_numbers_like_others() {
        let mut set = SeqSet::default();
        set.forget_below(u32::MAX - 100);
        assert_eq!(set.insert_range(u32::MAX - 70, u32::MAX), 70);
        assert_eq!(set.run_start(u32::MAX - 1), u32::MAX - 70);
        assert_eq!((set.run_start(u32::MAX), set.first_missing(u32::MAX - 70)), (u32::MAX, u32::MAX));
        assert!(set.insert(u32::MAX));
        assert_eq!((set.run_start(u32::MAX), set.first_missing(u32::MAX - 70)), (u32::MAX - 70, u32::MAX));
    }

    #[test]
    fn a_thousand_holes_take_a_few_words() {
        let mut set = SeqSet::default();
        (0..1000).for_each(|i| assert!(set.insert(2 * i + 1)));
        assert_eq!((set.first_missing(0), set.first_missing(1001), set.words.len()), (0, 1002, 32));
        (0..1000).for_each(|i| assert!(set.insert(2 * i)));
        assert_eq!((set.advance(), set.words.len()), (2000, 0));
    }
}
