//! A tin of CAKE: its flows by an eight-way set-associative hash, their hosts, and the lists of their turns.

use super::cobalt::{Cobalt, Law};
use super::heap::FLOWS;
use crate::fair::lazy_table::LazyTable;
use std::collections::{BTreeMap, VecDeque};

/// Flows or hosts of one set.
const WAYS: usize = 8;

/// Bytes that a flow may send in its turn.
const QUANTUM: u64 = 1514;

/// State of a flow in the tin.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Set {
    #[default]
    None,
    /// It has just begun to send.
    Sparse,
    /// The same, but it had no packet at its turn.
    SparseWait,
    /// It has sent what a turn permits.
    Bulk,
    /// It has no packets; COBALT is not at rest.
    Decaying,
}

/// The lists of a tin.
const NEW: usize = 0;
const OLD: usize = 1;
const DECAYING: usize = 2;

/// A flow.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    /// Its number.
    number: u16,
    /// The hash of those whose queue it is.
    tag: u32,
    /// The places of its hosts.
    hosts: [u16; 2],
    pub set: Set,
    /// The list in which it is, if its set is not `None`.
    list: usize,
    deficit: i64,
    pub cobalt: Cobalt,
    /// Packets and bytes that wait.
    pub waiting: u32,
    pub bytes: u32,
}

impl Flow {
    fn new(number: u16) -> Flow {
        Flow {
            number,
            tag: 0,
            hosts: [0; 2],
            set: Set::None,
            list: NEW,
            deficit: 0,
            cobalt: Cobalt::default(),
            waiting: 0,
            bytes: 0,
        }
    }
}

/// A host as source and as destination: its hash, and how many bulk flows it has.
#[derive(Copy, Clone, Debug, Default)]
struct Host {
    tags: [u32; 2],
    bulk: [u16; 2],
}

/// The hashes of a packet.
#[derive(Copy, Clone, Debug)]
pub(super) struct Hashes {
    pub flow: u32,
    /// Of source and destination.
    pub hosts: [u32; 2],
}

/// Which of source and destination share the link by hosts.
pub(super) type Shares = [bool; 2];

/// A tin.
#[derive(Clone, Debug)]
pub(super) struct Tin {
    pub law: Law,
    /// Bytes that it may send in its turn, and that are left of it.
    pub weight: i64,
    pub deficit: i64,
    /// Flows by their set.
    sparse: usize,
    bulk: usize,
    lists: [VecDeque<u16>; 3],
    flows: LazyTable<Flow>,
    /// The hosts by their places; one that is not there has no hash and no flows.
    hosts: BTreeMap<u16, Host>,
}

impl Tin {
    pub(super) fn new(weight: i64, law: Law) -> Tin {
        Tin {
            law,
            weight,
            deficit: 0,
            sparse: 0,
            bulk: 0,
            lists: [(); 3].map(|()| VecDeque::new()),
            flows: LazyTable::new(FLOWS),
            hosts: BTreeMap::new(),
        }
    }

    /// True if it has flows that may have packets.
    pub(super) fn is_active(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    /// The place in `flows` of a flow, if it ever had a packet.
    pub(super) fn place(&self, number: u16) -> Option<usize> {
        Some(self.flows.place(usize::from(number))? as usize)
    }

    /// The number of the flow at a place in `flows`.
    pub(super) fn number_at(&self, place: usize) -> u16 {
        self.flows.made()[place].number
    }

    /// A flow, if it ever had a packet.
    pub(super) fn get(&self, number: u16) -> Option<&Flow> {
        self.flows.get(usize::from(number))
    }

    pub(super) fn get_mut(&mut self, number: u16) -> Option<&mut Flow> {
        self.flows.get_mut(usize::from(number))
    }

    /// A flow; it is made if it is not there.
    fn flow(&mut self, number: u16) -> &mut Flow {
        let place = self.flows.place_or_make(usize::from(number), || Flow::new(number));
        self.flows.at_mut(place)
    }

    fn tag_and_set(&self, number: u16) -> (u32, Set) {
        self.get(number).map_or((0, Set::None), |flow| (flow.tag, flow.set))
    }

    /// The number of a packet's flow (`cake_hash`).
    pub(super) fn find(&mut self, hashes: Hashes, shares: Shares) -> u16 {
        let direct = (hashes.flow % FLOWS as u32) as u16;
        let (tag, set) = self.tag_and_set(direct);
        if tag == hashes.flow && set != Set::None {
            return direct;
        }
        let reserved = ways(direct).find(|way| self.tag_and_set(*way).0 == hashes.flow);
        let free = || ways(direct).find(|way| self.tag_and_set(*way).1 == Set::None);
        let (number, is_fresh) = match reserved {
            Some(number) => (number, self.tag_and_set(number).1 == Set::None),
            None => (free().unwrap_or(direct), true),
        };
        let takes_over = reserved.is_none() && self.tag_and_set(number).1 == Set::Bulk;
        if takes_over {
            self.count_bulk(number, shares, false);
        }
        self.flow(number).tag = hashes.flow;
        for end in (0..2).filter(|end| is_fresh && shares[*end]) {
            let host = self.find_host(end, hashes.hosts[end]);
            self.flow(number).hosts[end] = host;
            if takes_over {
                self.count_host(host, end, true);
            }
        }
        number
    }

    /// The place of a host as source (0) or destination (1).
    fn find_host(&mut self, end: usize, tag: u32) -> u16 {
        let direct = (tag % FLOWS as u32) as u16;
        let host = |place: u16| self.hosts.get(&place).copied().unwrap_or_default();
        if let Some(place) = ways(direct).find(|place| host(*place).tags[end] == tag) {
            return place;
        }
        let place = ways(direct).find(|place| host(*place).bulk[end] == 0).unwrap_or(direct);
        self.hosts.entry(place).or_default().tags[end] = tag;
        place
    }

    fn count_host(&mut self, host: u16, end: usize, more: bool) {
        let count = &mut self.hosts.entry(host).or_default().bulk[end];
        *count = if more { (*count + 1).min(FLOWS as u16) } else { count.saturating_sub(1) };
    }

    /// Counts a bulk flow of its hosts, or one less.
    fn count_bulk(&mut self, number: u16, shares: Shares, more: bool) {
        let hosts = self.flow(number).hosts;
        for end in (0..2).filter(|end| shares[*end]) {
            self.count_host(hosts[end], end, more);
        }
    }

    /// Bytes of a flow in its turn: a share of the quantum, by its host with the most bulk flows. `draw`
    /// gives 16 random bits, by which the share is rounded.
    fn turn(&mut self, number: u16, shares: Shares, draw: &mut impl FnMut() -> u64) -> i64 {
        let hosts = self.flow(number).hosts;
        let bulk = |end: usize| self.hosts.get(&hosts[end]).map_or(0, |host| host.bulk[end]);
        let load = |end: usize| if shares[end] { bulk(end) } else { 0 };
        let load = u64::from(load(0).max(load(1)).max(1));
        ((QUANTUM * (65_535 / load) + draw()) >> 16) as i64
    }

    /// Gives a flow that has a packet a turn.
    pub(super) fn begin(&mut self, number: u16, shares: Shares, draw: &mut impl FnMut() -> u64) {
        match self.flow(number).set {
            Set::None | Set::Decaying => {
                if self.flow(number).set == Set::Decaying {
                    self.take_out(number);
                }
                self.put(number, NEW);
                self.flow(number).set = Set::Sparse;
                self.sparse += 1;
                self.flow(number).deficit = self.turn(number, shares, draw);
            }
            Set::SparseWait => self.become_bulk(number, shares),
            Set::Sparse | Set::Bulk => (),
        }
    }

    fn become_bulk(&mut self, number: u16, shares: Shares) {
        self.flow(number).set = Set::Bulk;
        self.sparse -= 1;
        self.bulk += 1;
        self.count_bulk(number, shares, true);
    }

    fn put(&mut self, number: u16, list: usize) {
        self.lists[list].push_back(number);
        self.flow(number).list = list;
    }

    fn take_out(&mut self, number: u16) {
        let list = &mut self.lists[self.flow(number).list];
        if let Some(place) = list.iter().position(|it| *it == number) {
            list.remove(place);
        }
    }

    /// The first flow of the tin, and its list.
    pub(super) fn first(&self, first_look: bool) -> Option<(u16, usize)> {
        let order: &[usize] = if first_look { &[DECAYING, NEW, OLD] } else { &[NEW, OLD, DECAYING] };
        order.iter().find_map(|list| Some((*self.lists[*list].front()?, *list)))
    }

    /// True if a flow has a packet and may send it.
    pub(super) fn may_send(&self, number: u16) -> bool {
        self.get(number).is_some_and(|flow| flow.deficit > 0 && flow.waiting > 0)
    }

    /// Ends the turn of a flow, the first of its list, that has sent all that it may or has no packets. True
    /// if the search continues in this tin.
    pub(super) fn end_turn(
        &mut self,
        (number, list): (u16, usize),
        now: i64,
        shares: Shares,
        draw: &mut impl FnMut() -> u64,
    ) -> bool {
        self.lists[list].pop_front();
        if self.flow(number).deficit > 0 {
            self.put_to_rest(number, now, shares);
            return false;
        }
        if self.flow(number).set == Set::Sparse {
            if self.flow(number).waiting > 0 {
                self.become_bulk(number, shares);
            } else {
                self.flow(number).set = Set::SparseWait;
            }
        }
        let turn = self.turn(number, shares, draw);
        self.flow(number).deficit += turn;
        self.put(number, OLD);
        true
    }

    /// A flow has no packets at its turn: it decays, or leaves the lists.
    fn put_to_rest(&mut self, number: u16, now: i64, shares: Shares) {
        let law = self.law;
        let flow = self.flow(number);
        flow.cobalt.on_empty(&law, now);
        let (is_at_rest, set) = (flow.cobalt.is_at_rest(now), flow.set);
        match set {
            Set::Bulk => {
                self.bulk -= 1;
                self.count_bulk(number, shares, false);
            }
            Set::Sparse | Set::SparseWait => self.sparse -= 1,
            Set::None | Set::Decaying => (),
        }
        self.flow(number).set = if is_at_rest { Set::None } else { Set::Decaying };
        if !is_at_rest {
            self.put(number, DECAYING);
        }
    }

    /// A packet of `size` bytes came.
    pub(super) fn add(&mut self, number: u16, size: u64) {
        let flow = self.flow(number);
        flow.waiting += 1;
        flow.bytes += size as u32;
    }

    /// A packet of a flow was lost because all is full.
    pub(super) fn on_full(&mut self, number: u16, now: i64) {
        let law = self.law;
        self.flow(number).cobalt.on_full(&law, now);
    }

    /// A packet of a flow left for the link.
    pub(super) fn charge(&mut self, number: u16, size: u64) {
        self.flow(number).deficit -= size as i64;
        self.deficit -= size as i64;
    }
}

/// The places of a set, from `direct` on.
fn ways(direct: u16) -> impl Iterator<Item = u16> {
    let (ways, set) = (WAYS as u16, direct - direct % WAYS as u16);
    (0..ways).map(move |step| set + (direct + step) % ways)
}
