//! The order of fq's flows: three bands in turn by weight, and in each the flows by deficit round robin.

use std::collections::VecDeque;

/// Flows that the hash tells apart: Linux's `orphan_mask` is 1023.
pub(super) const NUMBERS: usize = 1024;

/// Trees in which Linux keeps its flows (`buckets`): 2 to this.
const TREES_LOG: u32 = 10;

/// Ticks after which an empty flow may be forgotten (`FQ_GC_AGE`, 3 s).
const FORGET_AFTER: u64 = 3000;

/// Bytes that each band may send in its turn (Linux's `weights`).
const WEIGHTS: [i64; 3] = [9 << 16, 3 << 16, 1 << 16];

/// The number of the other flow in the same tree, or the flow's own: no tree has more than two.
static NEIGHBOURS: [u16; NUMBERS] = neighbours();

/// Linux finds the tree of a flow by a multiplication (`hash_ptr`) of twice its number plus 1.
const fn tree_of(number: u64) -> usize {
    ((2 * number + 1).wrapping_mul(0x61c8_8646_80b5_83eb) >> (64 - TREES_LOG)) as usize
}

const fn neighbours() -> [u16; NUMBERS] {
    let mut first = [u16::MAX; 1 << TREES_LOG];
    let mut found = [0; NUMBERS];
    let mut number = 0;
    while number < NUMBERS as u16 {
        let tree = tree_of(number as u64);
        let other = if first[tree] == u16::MAX { number } else { first[tree] };
        found[number as usize] = other;
        found[other as usize] = number;
        first[tree] = number;
        number += 1;
    }
    found
}

/// True if a flow is in one of the lists.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Place {
    /// It is unknown: it never had a packet, or is forgotten.
    Unknown,
    /// It is in no list, since this tick.
    Detached(u64),
    /// It is in a list.
    Listed,
}

/// A flow as the order sees it.
#[derive(Copy, Clone, Debug)]
pub(super) struct Turn {
    /// Bytes that it may send before others of its list.
    pub credit: i64,
    /// Packets that wait.
    pub waiting: u32,
    /// The band of its last packet.
    band: u8,
    place: Place,
    /// When it became known, as a count of such events.
    known_since: u64,
}

/// A band's flows, which have sent little and more.
#[derive(Clone, Debug, Default)]
struct Band {
    new: VecDeque<u16>,
    old: VecDeque<u16>,
    credit: i64,
}

/// Share of a flow at its turns.
#[derive(Copy, Clone, Debug)]
pub(super) struct Credits {
    pub quantum: i64,
    pub initial: i64,
    /// Ticks after which a flow that has nothing to send has a quantum again.
    pub refill: u64,
}

/// The flows and their lists.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    credits: Credits,
    turns: Vec<Turn>,
    bands: [Band; 3],
    /// The band whose turn it is.
    current: usize,
    /// Flows that became known.
    known: u64,
}

/// Linux's time of an event is an odd tick.
fn odd(tick: u64) -> u64 {
    tick | 1
}

impl Turns {
    pub(super) fn new(credits: Credits) -> Turns {
        let unknown = Turn { credit: 0, waiting: 0, band: 0, place: Place::Unknown, known_since: 0 };
        let bands = [(); 3].map(|()| Band::default());
        Turns { credits, turns: vec![unknown; NUMBERS], bands, current: 0, known: 0 }
    }

    /// Packets that wait in a flow.
    pub(super) fn waiting(&self, flow: u16) -> u32 {
        self.turns[usize::from(flow)].waiting
    }

    /// Makes a flow known. An empty neighbour is forgotten if Linux comes across it on the way (`fq_gc`).
    pub(super) fn look_up(&mut self, flow: u16, tick: u64) {
        let (own, other) = (self.turns[usize::from(flow)], NEIGHBOURS[usize::from(flow)]);
        let neighbour = &mut self.turns[usize::from(other)];
        let is_on_the_way = own.place == Place::Unknown || neighbour.known_since < own.known_since;
        if let Place::Detached(since) = neighbour.place
            && other != flow
            && is_on_the_way
            && tick > since + FORGET_AFTER
        {
            neighbour.place = Place::Unknown;
        }
        if own.place == Place::Unknown {
            self.known += 1;
            self.turns[usize::from(flow)] = Turn {
                credit: self.credits.initial,
                waiting: 0,
                band: 0,
                place: Place::Detached(odd(tick)),
                known_since: self.known,
            };
        }
    }

    /// Takes note of a packet of a known flow.
    ///
    /// A flow without a turn is put into the band of the packet before, as in Linux: a flow that is new into band 0. It
    /// comes into its own band with its next quantum.
    pub(super) fn add(&mut self, flow: u16, band: u8, tick: u64) {
        let turn = &mut self.turns[usize::from(flow)];
        if let Place::Detached(since) = turn.place {
            self.bands[usize::from(turn.band)].new.push_back(flow);
            if tick > since + self.credits.refill {
                turn.credit = turn.credit.max(self.credits.quantum);
            }
            turn.place = Place::Listed;
        }
        turn.band = band;
        turn.waiting += 1;
    }

    /// The flow whose packet is next, if no list changes before it is found.
    pub(super) fn first(&self) -> Option<u16> {
        let band = &self.bands[self.current];
        let flow = *band.new.front().or_else(|| band.old.front())?;
        let turn = &self.turns[usize::from(flow)];
        (band.credit > 0 && turn.credit > 0 && turn.waiting > 0).then_some(flow)
    }

    /// The flow whose packet is next. There is one.
    pub(super) fn next(&mut self, tick: u64) -> u16 {
        loop {
            let band = &mut self.bands[self.current];
            let is_new = !band.new.is_empty();
            let list = if is_new { &mut band.new } else { &mut band.old };
            let Some(flow) = list.front().copied().filter(|_| band.credit > 0) else {
                self.next_band();
                continue;
            };
            let turn = &mut self.turns[usize::from(flow)];
            if turn.credit > 0 && turn.waiting > 0 {
                return flow;
            }
            list.pop_front();
            if turn.credit > 0 && !is_new {
                turn.place = Place::Detached(odd(tick));
                continue;
            }
            if turn.credit <= 0 {
                turn.credit += self.credits.quantum;
            }
            let band = usize::from(turn.band);
            self.bands[band].old.push_back(flow);
        }
    }

    /// The next band that may send.
    fn next_band(&mut self) {
        loop {
            self.current = (self.current + 1) % WEIGHTS.len();
            let (band, weight) = (&mut self.bands[self.current], WEIGHTS[self.current]);
            band.credit = (band.credit + weight).min(weight);
            if band.credit > 0 {
                return;
            }
        }
    }

    /// Takes note of a packet of `size` bytes that left at its flow's turn.
    pub(super) fn charge(&mut self, flow: u16, size: u64) {
        self.turns[usize::from(flow)].credit -= size as i64;
        self.turns[usize::from(flow)].waiting -= 1;
        self.bands[self.current].credit -= size as i64;
    }

    /// Takes note of packets that were taken out.
    pub(super) fn forget(&mut self, flow: u16, packets: u32) {
        self.turns[usize::from(flow)].waiting -= packets;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_at_most_two_flows() {
        let mut counts = vec![0; 1 << TREES_LOG];
        (0..NUMBERS as u64).for_each(|number| counts[tree_of(number)] += 1);
        assert_eq!(counts.iter().max(), Some(&2));
        for (flow, other) in NEIGHBOURS.iter().enumerate() {
            assert_eq!(usize::from(NEIGHBOURS[usize::from(*other)]), flow);
            assert_eq!(tree_of(flow as u64), tree_of(u64::from(*other)));
        }
        let pairs = (0..NUMBERS).filter(|flow| usize::from(NEIGHBOURS[*flow]) != *flow).count();
        assert_eq!(pairs, 2 * 181);
    }

    /// The lower of two flows in one tree, and the other.
    fn pair() -> (u16, u16) {
        let flow = (0..NUMBERS as u16).find(|flow| NEIGHBOURS[usize::from(*flow)] != *flow);
        let flow = flow.expect("there are pairs");
        (flow, NEIGHBOURS[usize::from(flow)])
    }

    #[test]
    fn an_old_empty_flow_is_forgotten_when_its_younger_neighbour_comes() {
        let credits = Credits { quantum: 3000, initial: 15_000, refill: 40 };
        let (one, two) = pair();
        for (first, second, ticks, forgotten) in
            [(one, two, 3002, true), (two, one, 3002, true), (one, two, 3001, false)]
        {
            let mut turns = Turns::new(credits);
            turns.look_up(first, 0);
            turns.look_up(second, 0);
            // Both were detached at tick 1, so that they are old at tick 3002.
            turns.look_up(first, ticks);
            assert_ne!(turns.turns[usize::from(second)].place, Place::Unknown, "the elder is found first");
            turns.look_up(second, ticks);
            assert_eq!(turns.turns[usize::from(first)].place == Place::Unknown, forgotten);
        }
    }
}
