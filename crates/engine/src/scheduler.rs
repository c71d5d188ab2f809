//! The pending events, in lanes.
//!
//! Most events of a network are scheduled at a few distances from now: a transmission time and a delay. Events
//! scheduled at one distance are in order, so they are kept in a FIFO ring, a *lane*. A tournament over the lanes'
//! first events finds the earliest, four in a match. A key is one `u64`, the time with the lane in its last bits, so
//! the winner of two is found by a compare and a move.
//!
//! Simultaneous events are detected when the winner leaves: then the next winner has the same time. The insertion
//! number decides. An event at a distance without a lane, or one that would break a lane's order, goes into a 4-ary
//! heap, which is lane 0 of the tournament.
//!
//! A distance gets a lane when it recurs at its slot of a hash table, so random distances do not use up the lanes.
//! Distances with the same slot share a lane. If there are already some lanes, a distance becomes the guest of a lane
//! at nearly the same distance, because every doubling of the lanes adds one match to each event. Its events are
//! inserted a few steps before the tail. A guest for which that is too far gets a separate lane.

use crate::ring::Ring;
use crate::time::Time;

/// Bits of a key that name the lane.
const LANE_BITS: u32 = 6;
/// Lanes at most, the heap included.
const MAX_LANES: usize = 1 << LANE_BITS;
const LANE_MASK: u64 = MAX_LANES as u64 - 1;
/// Lanes from which on a distance may be a guest.
const FEW_LANES: usize = 8;
/// Lanes up to which a distance gets one on request. It gets more only while [`CROWDED`] events wait in the
/// heap: one more round of matches costs each event more than a heap of a few costs those that go there.
const SOME_LANES: usize = 16;
const CROWDED: usize = 64;
/// The time of [`EventScheduler::END`].
const END: u64 = (u64::MAX >> LANE_BITS) - MAX_LANES as u64;
/// The key of a lane without an event.
const NEVER: u64 = u64::MAX;
/// Places of the hash table of distances.
const PLACES: usize = 1 << PLACE_BITS;
const PLACE_BITS: u32 = 10;
/// A distance gets a lane when its place of the hash table has this score: a distance that comes twice in a row scores
/// [`REPEATED`], one that is another than the last takes 1 away. What comes now and then, like motions, stays in the heap.
const REGULAR: u8 = 16 * REPEATED;
const REPEATED: u8 = 4;
/// In [`EventScheduler::lane_of`]: the lane is another distance's.
const GUEST: u8 = 0x80;
/// Events at a lane's tail that one may go before.
const STEPS_BACK: usize = 4;

/// A pending event.
#[derive(Copy, Clone, Debug)]
struct Entry<E> {
    time: Time,
    number: u64,
    event: E,
}

impl<E> Entry<E> {
    fn rank(&self) -> u128 {
        u128::from(self.time.as_nanos()) << 64 | u128::from(self.number)
    }
}

/// A FIFO of events in order.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Lane<E> {
    events: Ring<Entry<E>>,
    /// The time of the last event.
    last: Time,
    /// How far ahead its events are pushed, guests' left out.
    distance: u64,
}

impl<E> Default for Lane<E> {
    fn default() -> Self {
        Lane { events: Ring::default(), last: Time::ZERO, distance: 0 }
    }
}

impl<E: Copy> Lane<E> {
    /// Puts in an event that may not be the last; how many are before it. `None`: too many would be behind it.
    fn insert(&mut self, entry: Entry<E>) -> Option<usize> {
        let rank = entry.rank();
        let before = self.events.insert(entry, STEPS_BACK, |other| rank < other.rank())?;
        self.last = self.last.max(entry.time);
        Some(before)
    }
}

/// Finds the lane with the earliest event.
#[derive(Clone, Debug)]
struct Tournament {
    /// The keys of the lanes' first events.
    keys: [u64; MAX_LANES],
    /// The least key of each four lanes, of each sixteen (of no account up to [`SOME_LANES`] lanes), and of all.
    fours: [u64; MAX_LANES / 4],
    sixteens: [u64; MAX_LANES / 16],
    first: u64,
    /// Lanes in use, the heap's place included.
    used: usize,
}

impl Tournament {
    /// Puts one more lane to use; its number.
    fn add_lane(&mut self) -> usize {
        self.used += 1;
        if self.used > SOME_LANES {
            self.sixteens = std::array::from_fn(|sixteen| least(&self.fours, 4 * sixteen));
        }
        self.used - 1
    }

    /// Gives a lane an earlier key. The lane goes up against those who have won so far until it loses: from there on
    /// nothing changes.
    #[inline(always)]
    fn bring_forward(&mut self, lane: usize, key: u64) {
        let lane = lane % MAX_LANES;
        self.keys[lane] = key;
        if key < self.fours[lane / 4] {
            self.fours[lane / 4] = key;
            self.sixteens[lane / 16] = key.min(self.sixteens[lane / 16]);
            self.first = key.min(self.first);
        }
    }

    /// Gives the lane that was first a later key: all its matches are played again.
    #[inline(always)]
    fn put_back(&mut self, lane: usize, key: u64) {
        let lane = lane % MAX_LANES;
        self.keys[lane] = key;
        self.fours[lane / 4] = least(&self.keys, lane);
        if self.used <= SOME_LANES {
            self.first = least(&self.fours, 0);
        } else {
            self.sixteens[lane / 16] = least(&self.fours, lane / 4);
            self.first = least(&self.sixteens, 0);
        }
    }

    /// The least key of all lanes but this one.
    #[inline(always)]
    fn least_but(&self, lane: usize) -> u64 {
        let Tournament { keys, fours, sixteens, .. } = self;
        let others = |at: usize| [at ^ 1, at ^ 2, at ^ 3];
        let [left, right, far] = others(lane).map(|lane| keys[lane % MAX_LANES]);
        let least = left.min(right).min(far);
        let [left, right, far] = others(lane / 4).map(|four| fours[four % fours.len()]);
        let least = least.min(left).min(right).min(far);
        if self.used <= SOME_LANES {
            return least;
        }
        let [left, right, far] = others(lane / 16).map(|sixteen| sixteens[sixteen % sixteens.len()]);
        least.min(left).min(right).min(far)
    }
}

/// A priority queue of events in the order `(time, insertion number)`.
#[derive(Clone, Debug)]
pub struct EventScheduler<E> {
    tournament: Tournament,
    /// Lane 0 is empty: its place in the tournament is the heap's. No event is later than its last, so that none goes
    /// into it. An array, so that the number of a lane needs no test.
    lanes: Box<[Lane<E>; MAX_LANES]>,
    heap: Vec<Entry<E>>,
    /// The event that was popped last, if it was not the first of the lane that was first.
    popped: Vec<Entry<E>>,
    /// The lane of each place of the hash table; 0: none.
    lane_of: [u8; PLACES],
    /// The distance seen last at each place without a lane, and the place's score.
    seen: [(u64, u8); PLACES],
    inserted: u64,
    /// The event popped last.
    now: (Time, u64),
}

impl<E: Copy> Default for EventScheduler<E> {
    fn default() -> Self {
        let tournament = Tournament {
            keys: [NEVER; MAX_LANES],
            fours: [NEVER; MAX_LANES / 4],
            sixteens: [NEVER; MAX_LANES / 16],
            first: NEVER,
            used: 1,
        };
        let mut lanes = Box::new(std::array::from_fn(|_| Lane::default()));
        lanes[0].last = Time::MAX;
        EventScheduler {
            tournament,
            lanes,
            heap: Vec::new(),
            popped: Vec::new(),
            lane_of: [0; PLACES],
            seen: [(0, 0); PLACES],
            inserted: 0,
            now: (Time::ZERO, 0),
        }
    }
}

/// The place of a distance in the hash table.
fn place_of(distance: u64) -> usize {
    (distance.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - PLACE_BITS)) as usize & (PLACES - 1)
}

/// The least of four keys, of which `at` is one.
#[inline(always)]
fn least<const KEYS: usize>(keys: &[u64; KEYS], at: usize) -> u64 {
    let from = at & (KEYS - 4);
    keys[from].min(keys[from + 1]).min(keys[from + 2]).min(keys[from + 3])
}

/// True if two keys have one time.
#[inline(always)]
fn are_tied(left: u64, right: u64) -> bool {
    left ^ right <= LANE_MASK
}

/// The key of a lane with these events.
#[inline(always)]
fn first_key<E: Copy>(events: &Ring<Entry<E>>, lane: usize) -> u64 {
    let next = events.peek().time;
    if events.is_empty() { NEVER } else { key(next, lane) }
}

#[inline]
fn key(time: Time, lane: usize) -> u64 {
    time.as_nanos().min(END) << LANE_BITS | lane as u64
}

impl<E: Copy> EventScheduler<E> {
    /// Events at this time or later never come: nine years of simulated time.
    pub const END: Time = Time::from_nanos(END);

    /// Adds `event` at `time`, behind every event already pending for that time.
    pub fn push(&mut self, time: Time, event: E) {
        let number = self.reserve();
        self.push_at(time, number, event);
    }

    /// Takes an insertion number now for a [`push_at`](Self::push_at) later. A link reserves the place of each
    /// packet's arrival when its transmission starts.
    #[inline]
    pub fn reserve(&mut self) -> u64 {
        self.inserted += 1;
        self.inserted
    }

    /// Takes two insertion numbers together, in order.
    #[inline(always)]
    pub fn reserve_two(&mut self) -> [u64; 2] {
        self.inserted += 2;
        [self.inserted - 1, self.inserted]
    }

    /// Adds `event` at `time`, which is not past, with a reserved insertion number.
    #[inline(always)]
    pub fn push_at(&mut self, time: Time, number: u64, event: E) {
        debug_assert!(time >= self.now.0, "an event of {time} at {}", self.now.0);
        let distance = time.as_nanos().wrapping_sub(self.now.0.as_nanos());
        let place = place_of(distance);
        self.push_to_lane(place, usize::from(self.lane_of[place]) % MAX_LANES, (time, number, event));
    }

    /// Adds `event` with a reserved insertion number at a distance that will rarely come again: a timer's.
    pub fn push_once(&mut self, time: Time, number: u64, event: E) {
        self.push_to_heap(Entry { time, number, event });
    }

    /// Removes the earliest event.
    pub fn pop(&mut self) -> Option<(Time, E)> {
        self.pop_until(Time::MAX)
    }

    /// Removes the earliest event, unless it is due after `end`.
    pub fn pop_until(&mut self, end: Time) -> Option<(Time, E)> {
        self.is_due(end).then(|| self.pop_due())
    }

    /// True if an event is due by `end`.
    #[inline(always)]
    pub fn is_due(&self, end: Time) -> bool {
        self.tournament.first <= end.as_nanos().min(END - 1) << LANE_BITS | LANE_MASK
    }

    /// Removes the earliest event; [`is_due`](Self::is_due) has to be asked before.
    ///
    /// # Panics
    /// If nothing is pending.
    #[inline(always)]
    pub fn pop_due(&mut self) -> (Time, E) {
        let first = self.tournament.first;
        let lane = (first & LANE_MASK) as usize;
        // A reference: what is read of an event is read once, and where it is needed.
        let entry = if lane == 0 {
            self.pop_due_of_heap()
        } else {
            self.lanes[lane].events.advance();
            let events = &self.lanes[lane].events;
            let (entry, next) = (events.taken(), first_key(events, lane));
            self.tournament.put_back(lane, next);
            if are_tied(self.tournament.first, first)
                && let Some(earlier) = self.earlier_lane(first, entry.number)
            {
                self.pop_instead(earlier, first)
            } else {
                entry
            }
        };
        let Entry { time, number, event } = *entry;
        self.now = (time, number);
        (time, event)
    }

    /// The event this number of places behind the next one in the same lane, if there is one: it will be popped soon.
    #[inline(always)]
    pub fn ahead(&self, steps: usize) -> Option<&E> {
        let lane = (self.tournament.first & LANE_MASK) as usize;
        self.lanes[lane].events.get(steps).map(|entry| &entry.event)
    }

    /// When the earliest event is due.
    pub fn next_time(&self) -> Option<Time> {
        let time = self.tournament.first >> LANE_BITS;
        (time < END).then(|| Time::from_nanos(time))
    }

    /// True if an event at `time` with this insertion number would have been popped by now. Who asks this can
    /// do without the event.
    #[inline]
    pub fn is_past(&self, time: Time, number: u64) -> bool {
        time < self.now.0 || (time == self.now.0 && number <= self.now.1)
    }

    /// Notes that it is `time`, without an event: all that was due until then has been popped.
    pub fn pass_to(&mut self, time: Time) {
        self.now = self.now.max((time, self.inserted));
    }

    /// The insertion number of the event popped last.
    #[inline]
    pub fn current(&self) -> u64 {
        self.now.1
    }

    /// The number of pending events.
    pub fn len(&self) -> usize {
        self.heap.len() + self.lanes.iter().map(|lane| lane.events.len()).sum::<usize>()
    }

    /// True if nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The pending events, in no order that means anything.
    pub fn pending(&self) -> impl Iterator<Item = &E> {
        self.heap
            .iter()
            .chain(self.lanes.iter().flat_map(|lane| lane.events.iter()))
            .map(|entry| &entry.event)
    }

    #[inline(always)]
    fn push_to_lane(&mut self, place: usize, lane_number: usize, (time, number, event): (Time, u64, E)) {
        let lane = &mut self.lanes[lane_number];
        if time <= lane.last {
            return self.push_out_of_order(place, lane_number, Entry { time, number, event });
        }
        lane.last = time;
        let is_empty = lane.events.is_empty();
        lane.events.push(Entry { time, number, event });
        if is_empty {
            self.tournament.bring_forward(lane_number, key(time, lane_number));
        }
    }

    /// Adds an event at a distance without a lane, or one that may not be later than the last one of the lane: a guest's,
    /// or reserved numbers come late.
    #[inline(never)]
    fn push_out_of_order(&mut self, place: usize, number: usize, entry: Entry<E>) {
        if number == 0 {
            return self.push_without_lane(place, entry);
        }
        match self.lanes[number].insert(entry) {
            Some(0) => self.tournament.bring_forward(number, key(entry.time, number)),
            Some(_) => {}
            None => {
                if self.lane_of[place] & GUEST != 0 && self.may_add_lane() {
                    let distance = entry.time.as_nanos() - self.now.0.as_nanos();
                    self.lane_of[place] = self.add_lane(distance) as u8;
                }
                self.push_to_heap(entry);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn push_without_lane(&mut self, place: usize, entry: Entry<E>) {
        let distance = entry.time.as_nanos().wrapping_sub(self.now.0.as_nanos());
        let (last, score) = self.seen[place];
        let score = if last == distance { (score + REPEATED).min(REGULAR) } else { score.saturating_sub(1) };
        self.seen[place] = (distance, score);
        if score < REGULAR {
            return self.push_to_heap(entry);
        }
        let near = self.nearest_lane(distance).filter(|_| self.tournament.used >= FEW_LANES);
        let (lane, guest) = match near {
            Some(near) => (near, GUEST),
            None if self.may_add_lane() => (self.add_lane(distance), 0),
            None => return self.push_to_heap(entry),
        };
        self.lane_of[place] = lane as u8 | guest;
        self.push_to_lane(place, lane, (entry.time, entry.number, entry.event));
    }

    /// The lane whose distance is nearest to this one, if it differs by a quarter at most.
    fn nearest_lane(&self, distance: u64) -> Option<usize> {
        let differ = |&lane: &usize| self.lanes[lane].distance.abs_diff(distance);
        (1..self.tournament.used).min_by_key(differ).filter(|lane| differ(lane) <= distance / 4)
    }

    fn may_add_lane(&self) -> bool {
        let used = self.tournament.used;
        used < SOME_LANES || (used < MAX_LANES && self.heap.len() >= CROWDED)
    }

    /// Puts one more lane to use.
    fn add_lane(&mut self, distance: u64) -> usize {
        let lane = self.tournament.add_lane();
        self.lanes[lane].distance = distance;
        lane
    }

    /// The first event of a lane that has one.
    #[inline(always)]
    fn first_of(&self, lane: usize) -> &Entry<E> {
        if lane == 0 { &self.heap[0] } else { self.lanes[lane].events.peek() }
    }

    /// Removes the first event of a lane.
    fn pop_lane(&mut self, lane: usize) -> Entry<E> {
        self.lanes[lane].events.advance();
        let events = &self.lanes[lane].events;
        self.tournament.put_back(lane, first_key(events, lane));
        *events.taken()
    }

    #[inline(never)]
    fn push_to_heap(&mut self, entry: Entry<E>) {
        let mut at = self.heap.len();
        self.heap.push(entry);
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.heap[parent].rank() < entry.rank() {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = entry;
        if at == 0 {
            self.tournament.bring_forward(0, key(entry.time, 0));
        }
    }

    #[inline(never)]
    fn pop_heap(&mut self) {
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.sink(last);
        }
        self.tournament.put_back(0, self.heap.first().map_or(NEVER, |first| key(first.time, 0)));
    }

    /// Puts an entry in place of the heap's first.
    fn sink(&mut self, entry: Entry<E>) {
        let mut at = 0;
        while let Some(best) = self.first_child(at) {
            if entry.rank() < self.heap[best].rank() {
                break;
            }
            self.heap[at] = self.heap[best];
            at = best;
        }
        self.heap[at] = entry;
    }

    /// The earliest of the entries below this one in the heap.
    #[inline(always)]
    fn first_child(&self, at: usize) -> Option<usize> {
        let first = 4 * at + 1;
        let children = self.heap.get(first..)?;
        let earlier = |one: usize, other: usize| match children[other].rank() < children[one].rank() {
            true => other,
            false => one,
        };
        let best = match children.len() {
            0 => return None,
            1..=3 => (1..children.len()).fold(0, earlier),
            _ => earlier(earlier(0, 1), earlier(2, 3)),
        };
        Some(first + best)
    }

    /// Removes the first event of the heap, which is due, unless a lane has an earlier one at the same time.
    #[inline(never)]
    fn pop_due_of_heap(&mut self) -> &Entry<E> {
        let (first, entry) = (self.tournament.first, self.heap[0]);
        self.pop_heap();
        let is_tied = are_tied(self.tournament.first, first);
        let earlier = if is_tied { self.earlier_lane(first, entry.number) } else { None };
        let Some(lane) = earlier else { return self.keep(entry) };
        self.push_to_heap(entry);
        let entry = self.pop_lane(lane);
        self.keep(entry)
    }

    /// Keeps an event that is popped.
    #[inline(always)]
    fn keep(&mut self, entry: Entry<E>) -> &Entry<E> {
        self.popped.clear();
        self.popped.push(entry);
        &self.popped[0]
    }

    /// The lane whose first event has the time of the key `taken` and the least insertion number, if that is less than
    /// `number`. The lane that is first now has that time. Almost always it is the only one.
    #[inline(never)]
    fn earlier_lane(&self, taken: u64, number: u64) -> Option<usize> {
        let first = (self.tournament.first & LANE_MASK) as usize;
        if are_tied(self.tournament.least_but(first), taken) {
            return self.find_earlier(taken, number);
        }
        (self.first_of(first).number < number).then_some(first)
    }

    /// As [`earlier_lane`](Self::earlier_lane), with all lanes looked at.
    #[cold]
    #[inline(never)]
    fn find_earlier(&self, taken: u64, number: u64) -> Option<usize> {
        let tournament = &self.tournament;
        let (mut least, mut earliest) = (number, None);
        for four in 0..tournament.used.div_ceil(4).min(tournament.fours.len()) {
            if !are_tied(tournament.fours[four], taken) {
                continue;
            }
            for lane in 4 * four..4 * four + 4 {
                if are_tied(tournament.keys[lane], taken) {
                    let number = self.first_of(lane).number;
                    (least, earliest) = if number < least { (number, Some(lane)) } else { (least, earliest) };
                }
            }
        }
        earliest
    }

    /// Puts back the event that was taken from a lane, whose key was `taken`, and removes the first event of another lane
    /// instead.
    #[cold]
    #[inline(never)]
    fn pop_instead(&mut self, lane: usize, taken: u64) -> &Entry<E> {
        let first = *self.first_of(lane);
        match lane {
            0 => self.pop_heap(),
            _ => _ = self.pop_lane(lane),
        }
        let back = (taken & LANE_MASK) as usize;
        self.lanes[back].events.retreat();
        self.tournament.bring_forward(back, taken);
        self.keep(first)
    }
}

#[cfg(test)]
mod tests;
