//! The pending events: a tournament of keys (time, insertion number).
//!
//! Every pending event has a leaf, and every inner place of the tree holds the smaller key of the two below it. A key is
//! one `u128` with the leaf in its last bits, so that a match is a compare and a move without a branch: which of two
//! events is due first is anybody's guess, and wrong guesses cost more than the few matches from a leaf to the root.
//! A pop leaves its leaf as it is, and the next push takes that leaf, so that both together are one way up: in a network
//! almost every event schedules another.

use crate::time::Time;

/// Bits of a key that name the leaf.
const LEAF_BITS: u32 = 22;
/// Bits of a key that hold the insertion number.
const PLACE_BITS: u32 = u64::BITS - LEAF_BITS;
/// The key of a leaf without an event.
const NEVER: u128 = u128::MAX;

/// A priority queue of events in the order `(time, insertion number)`.
///
/// Up to 2^22 events may be pending and 2^42 be inserted; it panics beyond that.
#[derive(Clone, Debug)]
pub struct Scheduler<E> {
    /// Place 1 holds the earliest key, place n the earlier one of 2n and 2n + 1; the second half are the leaves.
    tree: Vec<u128>,
    /// Events by leaf.
    events: Vec<E>,
    /// Leaves that once had an event and have none.
    free: Vec<usize>,
    /// The leaf of the event popped last, whose key still stands in the tree.
    hole: Option<usize>,
    inserted: u64,
    /// The key of the event popped last.
    latest: u128,
}

impl<E: Copy> Default for Scheduler<E> {
    fn default() -> Self {
        let tree = vec![NEVER; 2];
        Scheduler { tree, events: Vec::new(), free: Vec::new(), hole: None, inserted: 0, latest: 0 }
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
        assert!(self.inserted < 1 << PLACE_BITS, "too many events");
        self.inserted
    }

    /// Adds `event` at `time` with a reserved insertion number.
    pub fn push_at(&mut self, time: Time, place: u64, event: E) {
        let leaf = match self.hole.take().or_else(|| self.free.pop()) {
            Some(leaf) => {
                self.events[leaf] = event;
                leaf
            }
            None => {
                self.events.push(event);
                self.make_room();
                self.events.len() - 1
            }
        };
        self.play(leaf, key(time, place) | leaf as u128);
    }

    /// Removes the earliest event.
    pub fn pop(&mut self) -> Option<(Time, E)> {
        self.pop_until(Time::MAX)
    }

    /// Removes the earliest event, unless it is due after `end`.
    pub fn pop_until(&mut self, end: Time) -> Option<(Time, E)> {
        self.fill_hole();
        let key = self.tree[1];
        let time = Time::from_nanos((key >> 64) as u64);
        if key == NEVER || time > end {
            return None;
        }
        let leaf = key as usize & ((1 << LEAF_BITS) - 1);
        self.hole = Some(leaf);
        self.latest = key;
        Some((time, self.events[leaf]))
    }

    /// Whether an event at `time` with this insertion number would have been popped by now. Who asks this can do
    /// without the event.
    pub fn is_past(&self, time: Time, place: u64) -> bool {
        key(time, place) <= self.latest
    }

    /// The number of pending events.
    pub fn len(&self) -> usize {
        self.events.len() - self.free.len() - usize::from(self.hole.is_some())
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn fill_hole(&mut self) {
        if let Some(leaf) = self.hole.take() {
            self.free.push(leaf);
            self.play(leaf, NEVER);
        }
    }

    /// Puts a key on a leaf and plays its matches.
    fn play(&mut self, leaf: usize, key: u128) {
        let tree = self.tree.as_mut_slice();
        // No place is beyond the last one; the masks tell the compiler so.
        let last = tree.len() - 1;
        let mut at = tree.len() / 2 + leaf;
        let mut earlier = key;
        tree[at] = earlier;
        while at > 1 {
            // The smaller of the two by a mask, without a branch (see .cargo/config.toml).
            let rival = tree[(at ^ 1) & last];
            let loses = u128::from(rival < earlier).wrapping_neg();
            earlier ^= (earlier ^ rival) & loses;
            at /= 2;
            tree[at & last] = earlier;
        }
    }

    /// Doubles the tree if it has fewer leaves than there are events.
    fn make_room(&mut self) {
        let leaves = self.tree.len() / 2;
        if self.events.len() <= leaves {
            return;
        }
        assert!(leaves < 1 << LEAF_BITS, "more than {leaves} events are pending");
        let mut tree = vec![NEVER; 2 * leaves];
        tree.extend_from_slice(&self.tree[leaves..]);
        tree.resize(4 * leaves, NEVER);
        for at in (1..2 * leaves).rev() {
            tree[at] = tree[2 * at].min(tree[2 * at + 1]);
        }
        self.tree = tree;
    }
}

/// One number that sorts like `(time, place)`, with room for a leaf.
fn key(time: Time, place: u64) -> u128 {
    u128::from(time.as_nanos()) << 64 | u128::from(place << LEAF_BITS)
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
                        if let Some((time, _)) = expected.filter(|(time, _)| *time > Time::ZERO) {
                            let before = Time::from_nanos(time.as_nanos() - 1);
                            prop_assert_eq!(scheduler.pop_until(before), None);
                        }
                        prop_assert_eq!(scheduler.pop(), expected);
                    }
                }
                prop_assert_eq!(scheduler.len(), model.len());
                prop_assert_eq!(scheduler.is_empty(), model.is_empty());
            }
        }
    }
}
