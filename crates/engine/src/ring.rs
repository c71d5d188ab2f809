//! A FIFO in a ring whose size is a power of two. Access to an element takes one operation; only growth is a function
//! call.

/// A FIFO of plain values. Before its first value it has no room.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    places: Vec<T>,
    head: usize,
    tail: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Ring { places: Vec::new(), head: 0, tail: 0 }
    }
}

impl<T: Copy> Ring<T> {
    /// How many values there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    /// True if there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// The first value.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        (!self.is_empty()).then(|| self.peek())
    }

    /// The last value.
    pub fn back(&self) -> Option<&T> {
        (!self.is_empty()).then(|| &self.places[self.place(self.tail.wrapping_sub(1))])
    }

    /// Adds a value behind all others.
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        // By `>=` the compiler knows that there is a place.
        if self.len() >= self.places.len() {
            self.grow(value);
            return self.put(value);
        }
        self.put(value);
    }

    #[inline(always)]
    fn put(&mut self, value: T) {
        let place = self.place(self.tail);
        self.places[place] = value;
        self.tail = self.tail.wrapping_add(1);
    }

    /// Takes the first value.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let first = self.front().copied()?;
        self.head = self.head.wrapping_add(1);
        Some(first)
    }

    /// The values, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).map(|step| &self.places[self.place(self.head.wrapping_add(step))])
    }

    /// The value this number of places behind the first, if there is one.
    #[inline(always)]
    pub(crate) fn get(&self, steps: usize) -> Option<&T> {
        (steps < self.len()).then(|| &self.places[self.place(self.head.wrapping_add(steps))])
    }

    /// The event at the head. If there is no value: one that was taken, or was there before; there must have
    /// been one.
    #[inline]
    pub(crate) fn peek(&self) -> &T {
        &self.places[self.place(self.head)]
    }

    /// The value that was taken last, if nothing was added since.
    #[inline]
    pub(crate) fn taken(&self) -> &T {
        &self.places[self.place(self.head.wrapping_sub(1))]
    }

    /// The first value is taken.
    #[inline]
    pub(crate) fn advance(&mut self) {
        self.head = self.head.wrapping_add(1);
    }

    /// Puts back the value that was taken last; nothing was added since.
    pub(crate) fn retreat(&mut self) {
        self.head = self.head.wrapping_sub(1);
    }

    /// Adds a value before those at the end that are `later`; how many values are before it. `None`, and nothing is added:
    /// more than `most` are later.
    pub(crate) fn insert(&mut self, value: T, most: usize, later: impl Fn(&T) -> bool) -> Option<usize> {
        let waiting = self.len();
        let is_later = |&steps: &usize| later(&self.places[self.place(self.tail.wrapping_sub(steps))]);
        let behind = (1..=waiting.min(most + 1)).take_while(is_later).count();
        if behind > most {
            return None;
        }
        self.push(value);
        let mut hole = self.tail.wrapping_sub(1);
        for _ in 0..behind {
            let (here, ahead) = (self.place(hole), self.place(hole.wrapping_sub(1)));
            self.places[here] = self.places[ahead];
            self.places[ahead] = value;
            hole = hole.wrapping_sub(1);
        }
        Some(waiting - behind)
    }

    #[inline(always)]
    fn place(&self, at: usize) -> usize {
        at & self.places.len().wrapping_sub(1)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, filler: T) {
        let waiting = self.len();
        let start = self.place(self.head);
        self.places.rotate_left(start);
        self.places.resize((2 * waiting).max(16), filler);
        (self.head, self.tail) = (0, waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Pushes, pops and insertions near the end agree with a list.
        #[test]
        fn agrees_with_a_list(steps in prop::collection::vec((0..4u8, 0..100u32), 0..400)) {
            let (mut ring, mut list) = (Ring::default(), VecDeque::new());
            for (step, value) in steps {
                match step {
                    0 => prop_assert_eq!(ring.pop(), list.pop_front()),
                    1 => {
                        let later = list.iter().rev().take_while(|&&other| other > value).count();
                        let at = (later <= 3).then(|| list.len() - later);
                        prop_assert_eq!(ring.insert(value, 3, |&other| other > value), at);
                        if let Some(at) = at {
                            list.insert(at, value);
                        }
                    }
                    _ => {
                        ring.push(value);
                        list.push_back(value);
                    }
                }
                prop_assert_eq!((ring.len(), ring.is_empty()), (list.len(), list.is_empty()));
                prop_assert_eq!((ring.front(), ring.back()), (list.front(), list.back()));
                prop_assert!(ring.iter().eq(&list));
            }
        }
    }
}
