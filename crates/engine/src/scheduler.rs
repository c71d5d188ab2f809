//! The pending events: a 4-ary heap keyed by (time, insertion number).
//!
//! The key is one `u128`, so a comparison is one instruction pair. The root is removed lazily: a pop leaves a
//! hole that the next push fills with a single sift, because in a network almost every event schedules
//! another. DESIGN: small heaps beat a timing wheel below about 10^4 pending events, and the pending set of a
//! world is about its links plus its endpoints.

use crate::time::Time;

const ARITY: usize = 4;

#[derive(Copy, Clone, Debug)]
struct Entry<E> {
    key: u128,
    event: E,
}

/// A priority queue of events in the order `(time, insertion number)`.
#[derive(Clone, Debug)]
pub struct Scheduler<E> {
    heap: Vec<Entry<E>>,
    /// The root has been popped but its place is not filled yet.
    hole: bool,
    inserted: u64,
    /// The key of the event popped last.
    latest: u128,
}

impl<E: Copy> Default for Scheduler<E> {
    fn default() -> Self {
        Scheduler { heap: Vec::new(), hole: false, inserted: 0, latest: 0 }
    }
}

impl<E: Copy> Scheduler<E> {
    /// Adds `event` at `time`, behind every event already pending for that time.
    pub fn push(&mut self, time: Time, event: E) {
        let place = self.reserve();
        self.push_at(time, place, event);
    }

    /// Takes an insertion number now for a [`push_at`](Self::push_at) later. A link reserves the place of each
    /// packet's arrival when its transmission starts, though only the first arrival is ever pending.
    pub fn reserve(&mut self) -> u64 {
        self.inserted += 1;
        self.inserted
    }

    /// Adds `event` at `time` with a reserved insertion number.
    pub fn push_at(&mut self, time: Time, place: u64, event: E) {
        let entry = Entry { key: key(time, place), event };
        if self.hole {
            self.hole = false;
            self.sift_down(entry);
        } else {
            self.heap.push(entry);
            self.sift_up(entry);
        }
    }

    /// Removes the earliest event.
    pub fn pop(&mut self) -> Option<(Time, E)> {
        self.fill_hole();
        let &Entry { key, event } = self.heap.first()?;
        self.hole = true;
        self.latest = key;
        Some((Time::from_nanos((key >> 64) as u64), event))
    }

    /// Whether an event at `time` with this insertion number would have been popped by now. Who asks this can do
    /// without the event.
    pub fn is_past(&self, time: Time, place: u64) -> bool {
        key(time, place) <= self.latest
    }

    /// When the earliest event is due.
    pub fn next_time(&mut self) -> Option<Time> {
        self.fill_hole();
        self.heap.first().map(|entry| Time::from_nanos((entry.key >> 64) as u64))
    }

    /// The number of pending events.
    pub fn len(&self) -> usize {
        self.heap.len() - usize::from(self.hole)
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn fill_hole(&mut self) {
        if !std::mem::take(&mut self.hole) {
            return;
        }
        if let Some(last) = self.heap.pop().filter(|_| !self.heap.is_empty()) {
            self.sift_down(last);
        }
    }

    /// Places `entry`, which stands at the end, where it belongs above.
    fn sift_up(&mut self, entry: Entry<E>) {
        let mut at = self.heap.len() - 1;
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if self.heap[parent].key <= entry.key {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = entry;
    }

    /// Places `entry` at the root or below it.
    fn sift_down(&mut self, entry: Entry<E>) {
        let heap = self.heap.as_mut_slice();
        let mut at = 0;
        while let Some((least, key)) = least_child(heap, at)
            && key < entry.key
        {
            heap[at] = heap[least];
            at = least;
        }
        heap[at] = entry;
    }
}

/// The child of `parent` that is due first, and its key.
fn least_child<E>(heap: &[Entry<E>], parent: usize) -> Option<(usize, u128)> {
    let first = parent * ARITY + 1;
    match heap.get(first..)? {
        [a, b, c, d, ..] => {
            // Which child wins is anybody's guess: a knockout of moves, without a branch to mispredict.
            let earlier =
                |one: (usize, u128), other: (usize, u128)| if other.1 < one.1 { other } else { one };
            let left = earlier((first, a.key), (first + 1, b.key));
            let right = earlier((first + 2, c.key), (first + 3, d.key));
            Some(earlier(left, right))
        }
        few => (first..).zip(few).map(|(child, entry)| (child, entry.key)).min_by_key(|&(_, key)| key),
    }
}

/// One number that sorts like `(time, place)`.
fn key(time: Time, place: u64) -> u128 {
    u128::from(time.as_nanos()) << 64 | u128::from(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn equal_times_pop_in_insertion_order() {
        let mut scheduler = Scheduler::default();
        for event in 0..100 {
            scheduler.push(Time::from_nanos(u64::from(event % 3 == 0)), event);
        }
        let popped: Vec<i32> = std::iter::from_fn(|| scheduler.pop()).map(|(_, event)| event).collect();
        let expected: Vec<i32> =
            (0..100).filter(|e| e % 3 != 0).chain((0..100).filter(|e| e % 3 == 0)).collect();
        assert_eq!(popped, expected);
    }

    #[test]
    fn a_reserved_place_is_kept() {
        let mut scheduler = Scheduler::default();
        let place = scheduler.reserve();
        scheduler.push(Time::ZERO, "second");
        scheduler.push_at(Time::ZERO, place, "first");
        assert_eq!(scheduler.pop(), Some((Time::ZERO, "first")));
    }

    #[test]
    fn the_past_ends_with_the_event_popped_last() {
        let mut scheduler = Scheduler::default();
        let (before, now) = (scheduler.reserve(), scheduler.reserve());
        let after = scheduler.reserve();
        let time = Time::from_nanos(5);
        assert!(!scheduler.is_past(Time::ZERO, before), "nothing has happened yet");
        scheduler.push_at(time, now, ());
        assert!(scheduler.pop().is_some());
        assert!(scheduler.is_past(Time::from_nanos(4), after) && scheduler.is_past(time, before));
        assert!(!scheduler.is_past(time, after) && !scheduler.is_past(Time::from_nanos(6), before));
    }

    proptest! {
        /// Any interleaving of pushes and pops agrees with an ordered map.
        #[test]
        fn agrees_with_an_ordered_map(steps in prop::collection::vec(prop::option::of(0u64..50), 0..400)) {
            let (mut scheduler, mut model, mut inserted) = (Scheduler::default(), BTreeMap::new(), 0u64);
            for step in steps {
                match step {
                    Some(time) => {
                        scheduler.push(Time::from_nanos(time), inserted);
                        model.insert((time, inserted), inserted);
                        inserted += 1;
                    }
                    None => {
                        let expected = model.pop_first().map(|((time, _), event)| (Time::from_nanos(time), event));
                        prop_assert_eq!(scheduler.next_time(), expected.map(|(time, _)| time));
                        prop_assert_eq!(scheduler.pop(), expected);
                    }
                }
                prop_assert_eq!(scheduler.len(), model.len());
                prop_assert_eq!(scheduler.is_empty(), model.is_empty());
            }
        }
    }
}
