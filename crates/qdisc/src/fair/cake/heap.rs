//! Which flow has the most bytes: Linux's heap, in its order. The places in it decide between equal flows.

/// Flows of a tin, and tins that have a place.
pub(super) const FLOWS: usize = 1024;
const TINS: usize = 8;
const SIZE: usize = FLOWS * TINS;

/// Departures after which the heap is built again (`overflow_timeout`).
const LIFE: u16 = u16::MAX;

/// A flow of a tin.
pub(super) type Entry = (usize, u16);

/// The heap; it is kept in order from an overflow on, for a while.
#[derive(Clone, Debug, Default)]
pub(super) struct Heap {
    /// The flows, as tin · 1024 + number; empty before the first overflow.
    entries: Vec<u16>,
    /// The place of each.
    places: Vec<u16>,
    life: u16,
}

fn code((tin, flow): Entry) -> u16 {
    (tin * FLOWS) as u16 + flow
}

fn entry(code: u16) -> Entry {
    (usize::from(code) / FLOWS, code % FLOWS as u16)
}

impl Heap {
    /// True if changes have to be passed on.
    pub(super) fn is_kept(&self) -> bool {
        self.life > 0
    }

    /// The flow with the most bytes, of which `bytes` gives those that wait.
    pub(super) fn longest(&mut self, bytes: impl Fn(Entry) -> u32) -> Entry {
        if self.entries.is_empty() {
            let code_at = |place: usize| code((place % TINS, (place / TINS) as u16));
            self.entries = (0..SIZE).map(code_at).collect();
            self.places = vec![0; SIZE];
            for (place, code) in self.entries.iter().enumerate() {
                self.places[usize::from(*code)] = place as u16;
            }
        }
        if self.life == 0 {
            (0..SIZE / 2).rev().for_each(|place| self.sink(place, &bytes));
        }
        self.life = LIFE;
        entry(self.entries[0])
    }

    /// The longest flow has fewer bytes now.
    pub(super) fn longest_shrank(&mut self, bytes: impl Fn(Entry) -> u32) {
        self.sink(0, &bytes);
    }

    /// A flow has fewer bytes.
    pub(super) fn shrank(&mut self, flow: Entry, bytes: impl Fn(Entry) -> u32) {
        self.sink(usize::from(self.places[usize::from(code(flow))]), &bytes);
    }

    /// A flow has more bytes.
    pub(super) fn grew(&mut self, flow: Entry, bytes: impl Fn(Entry) -> u32) {
        let mut place = usize::from(self.places[usize::from(code(flow))]);
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.at(place, &bytes) <= self.at(parent, &bytes) {
                return;
            }
            self.swap(place, parent);
            place = parent;
        }
    }

    /// A packet left.
    pub(super) fn age(&mut self) {
        self.life = self.life.saturating_sub(1);
    }

    /// The order is lost.
    pub(super) fn spoil(&mut self) {
        self.life = 0;
    }

    fn at(&self, place: usize, bytes: impl Fn(Entry) -> u32) -> u32 {
        bytes(entry(self.entries[place]))
    }

    /// Moves a flow behind longer ones, as Linux does (`cake_heapify`): after the first step the children are compared with
    /// the flow that has moved up. So the order is not always that of a heap, and not always is the longest flow first.
    fn sink(&mut self, mut place: usize, bytes: &impl Fn(Entry) -> u32) {
        let mut most = self.at(place, bytes);
        loop {
            let mut largest = place;
            for child in [2 * place + 1, 2 * place + 2] {
                if child < SIZE && self.at(child, bytes) > most {
                    (largest, most) = (child, self.at(child, bytes));
                }
            }
            if largest == place {
                return;
            }
            self.swap(place, largest);
            place = largest;
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.entries.swap(one, other);
        for place in [one, other] {
            self.places[usize::from(self.entries[place])] = place as u16;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_by(lengths: &[u32]) -> impl Fn(Entry) -> u32 {
        |it| lengths[usize::from(code(it))]
    }

    #[test]
    fn the_first_flow_is_the_longest_when_the_heap_is_made_and_while_flows_grow() {
        let (mut lengths, mut heap) = (vec![0; SIZE], Heap::default());
        lengths[3 * FLOWS + 700] = 9;
        assert_eq!(heap.longest(bytes_by(&lengths)), (3, 700));
        for (flow, length) in [(5, 4), (900, 12), (2 * FLOWS + 7, 11), (5, 13)] {
            lengths[flow] = length;
            heap.grew(entry(flow as u16), bytes_by(&lengths));
            let first = heap.longest(bytes_by(&lengths));
            assert_eq!(Some(&lengths[usize::from(code(first))]), lengths.iter().max());
        }
    }

    #[test]
    fn a_flow_that_shrinks_sinks_by_one_place() {
        // Flow 0 is first, with flows 1 and 2 under it and flows 3 and 4 under flow 1: in tin 0 at places 0, 8, 16, ….
        let (mut lengths, mut heap) = (vec![0; SIZE], Heap::default());
        lengths[0] = 9;
        heap.longest(bytes_by(&lengths));
        for (place, length) in [(1, 8), (2, 5), (3, 7), (4, 6)] {
            let flow = entry(heap.entries[place]);
            lengths[usize::from(code(flow))] = length;
        }
        lengths[0] = 1;
        heap.longest_shrank(bytes_by(&lengths));
        let order: Vec<_> = heap.entries[..5].iter().map(|code| lengths[usize::from(*code)]).collect();
        // A heap would have 7 at the second place.
        assert_eq!(order, [8, 1, 5, 7, 6]);
        // The next one that shrinks at the first place is followed by a shorter flow than the longest.
        lengths[usize::from(heap.entries[0])] = 0;
        heap.longest_shrank(bytes_by(&lengths));
        assert_eq!(lengths[usize::from(heap.entries[0])], 5);
    }

    #[test]
    fn the_heap_is_made_anew_after_65535_departures() {
        let (mut lengths, mut heap) = (vec![0; SIZE], Heap::default());
        lengths[9] = 1;
        heap.longest(bytes_by(&lengths));
        lengths[17] = 2;
        assert_eq!(
            heap.longest(bytes_by(&lengths)),
            (0, 9),
            "the heap has no notice of the growth of flow 17"
        );
        (0..65_535).for_each(|_| heap.age());
        assert!(!heap.is_kept());
        assert_eq!(heap.longest(bytes_by(&lengths)), (0, 17));
    }

    #[test]
    fn of_equally_long_flows_none_changes_its_place() {
        // `cake_heapify`: a child moves up only if it is longer.
        let (lengths, mut heap) = (vec![5; SIZE], Heap::default());
        assert_eq!(heap.longest(bytes_by(&lengths)), (0, 0));
        heap.longest_shrank(bytes_by(&lengths));
        assert_eq!(heap.longest(bytes_by(&lengths)), (0, 0));
    }
}
