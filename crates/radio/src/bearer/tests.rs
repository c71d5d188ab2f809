//! The machines against slow references, which follow the text of the clauses step by step.

use super::{Arrival, Receiver, Repair, RepairTimers, Transmitter};
use proptest::prelude::*;
use roamlab_engine::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};

fn ms(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

/// TS 38.323 §5.2.2.1 and §5.2.2.2, a line for a line, over lists.
#[derive(Default)]
struct Slow {
    sn_bits: u32,
    wait_ms: u64,
    rx_next: u64,
    rx_deliv: u64,
    rx_reord: u64,
    timer: Option<u64>,
    stored: Vec<u64>,
    had: BTreeSet<u64>,
    expiries: u64,
}

#[derive(Clone, PartialEq, Debug)]
enum Seen {
    Up(Vec<u64>),
    Discarded,
}

impl Slow {
    fn received(&mut self, rcvd_sn: u64, now: u64) -> Seen {
        let (size, window) = (1u64 << self.sn_bits, 1u64 << (self.sn_bits - 1));
        let (hfn, sn) = (self.rx_deliv / size, self.rx_deliv % size);
        let rcvd_hfn = if (rcvd_sn as i64) < sn as i64 - window as i64 {
            hfn as i64 + 1
        } else if rcvd_sn >= sn + window {
            hfn as i64 - 1
        } else {
            hfn as i64
        };
        if rcvd_hfn < 0 {
            return Seen::Discarded;
        }
        let rcvd_count = rcvd_hfn as u64 * size + rcvd_sn;
        if rcvd_count < self.rx_deliv || self.had.contains(&rcvd_count) {
            return Seen::Discarded;
        }
        self.stored.push(rcvd_count);
        self.had.insert(rcvd_count);
        if rcvd_count >= self.rx_next {
            self.rx_next = rcvd_count + 1;
        }
        let mut up = Vec::new();
        if rcvd_count == self.rx_deliv {
            self.consecutive(&mut up);
        }
        if self.timer.is_some() && self.rx_deliv >= self.rx_reord {
            self.timer = None;
        }
        self.start(now);
        Seen::Up(up)
    }

    fn consecutive(&mut self, up: &mut Vec<u64>) {
        while let Some(place) = self.stored.iter().position(|count| *count == self.rx_deliv) {
            up.push(self.stored.remove(place));
            self.rx_deliv += 1;
        }
    }

    fn start(&mut self, now: u64) {
        if self.timer.is_none() && self.rx_deliv < self.rx_next {
            self.rx_reord = self.rx_next;
            self.timer = Some(now + self.wait_ms);
        }
    }

    fn expires(&mut self, now: u64) -> Vec<u64> {
        let mut up: Vec<u64> = self.stored.iter().copied().filter(|count| *count < self.rx_reord).collect();
        up.sort_unstable();
        self.stored.retain(|count| *count >= self.rx_reord);
        self.rx_deliv = self.rx_reord;
        self.consecutive(&mut up);
        self.timer = None;
        self.expiries += 1;
        self.start(now);
        up
    }
}

/// A sender whose packets are lost, copied and delayed.
fn arrivals() -> impl Strategy<Value = Vec<(u64, u8, u64)>> {
    // For each number: how late it is, what happens to it, and the time to the next.
    prop::collection::vec((0u64..40, 0u8..10, 0u64..8), 1..200)
}

proptest! {
    /// Any order of arrivals, with losses and copies: the receiver does what the clause specifies, delivers in order, nothing
    /// twice, and accounts for every number.
    #[test]
    fn the_receiver_is_that_of_the_clause(
        steps in arrivals(),
        wait_ms in 1u64..60,
        first in prop::sample::select(vec![0u32, 5, 4090, 8191, 65_535]),
    ) {
        let mut receiver: Receiver<u32> = Receiver::new(first, 12, Some(Duration::from_millis(wait_ms)));
        let from = u64::from(first);
        let mut slow = Slow { sn_bits: 12, wait_ms, rx_next: from, rx_deliv: from, rx_reord: from, ..Slow::default() };
        let (mut events, mut now) = (BTreeSet::new(), 0);
        for (place, (late, fate, gap)) in steps.iter().enumerate() {
            now += gap;
            let count = first + place as u32;
            if *fate > 0 {
                events.insert((now + late, place, count));
            }
            if *fate > 7 {
                events.insert((now + late + u64::from(*fate), place + 1000, count));
            }
        }
        let (mut up, mut copies, mut lates) = (Vec::new(), 0, 0);
        let expire = |receiver: &mut Receiver<u32>, slow: &mut Slow, until: u64, up: &mut Vec<u32>| {
            while let Some(at) = slow.timer.filter(|at| *at < until) {
                assert_eq!(receiver.deadline(), Some(ms(at)));
                let (fast, reference) = (receiver.on_deadline(ms(at)), slow.expires(at));
                assert_eq!(fast.iter().map(|count| u64::from(*count)).collect::<Vec<_>>(), reference);
                up.extend(fast);
            }
        };
        for (at, _, count) in &events {
            expire(&mut receiver, &mut slow, *at, &mut up);
            let sn = count & 4095;
            let seen = slow.received(u64::from(sn), *at);
            match receiver.receive(sn, *count, ms(*at)) {
                Arrival::Delivered(fast) => {
                    prop_assert_eq!(seen, Seen::Up(fast.iter().map(|count| u64::from(*count)).collect()));
                    up.extend(fast);
                }
                Arrival::Copy(_) => { copies += 1; prop_assert_eq!(seen, Seen::Discarded); }
                Arrival::Late(_) => { lates += 1; prop_assert_eq!(seen, Seen::Discarded); }
            }
            prop_assert_eq!(receiver.deadline(), slow.timer.map(ms));
            prop_assert_eq!(u64::from(receiver.first_missing()), slow.rx_deliv);
        }
        expire(&mut receiver, &mut slow, u64::MAX, &mut up);
        prop_assert!(up.windows(2).all(|pair| pair[0] < pair[1]), "in order and no copy: {:?}", up);
        prop_assert_eq!(receiver.expiries(), slow.expiries);
        prop_assert_eq!(up.len() + copies + lates + receiver.len(), events.len());
        let arrived: BTreeSet<u32> = events.iter().map(|(_, _, count)| *count).collect();
        let missed = arrived.iter().filter(|count| !up.contains(count)).count();
        prop_assert_eq!(missed + up.len(), arrived.len());
        prop_assert!(missed <= lates);
    }

    /// The transmitter against a list: numbers are given once, and what is not confirmed is kept.
    #[test]
    fn the_transmitter_keeps_what_is_not_confirmed(steps in prop::collection::vec((0u8..5, 0u32..30, 0u64..6), 0..200)) {
        let discard = Duration::from_millis(50);
        let mut transmitter: Transmitter<u32> = Transmitter::new(0, 12, Some(discard));
        let mut model: BTreeMap<u32, (u64, bool, bool)> = BTreeMap::new();
        let mut now = 0;
        for (kind, which, gap) in steps {
            now += gap;
            match kind {
                0 => {
                    transmitter.confirm(which);
                    if let Some((_, confirmed, _)) = model.get_mut(&which) {
                        *confirmed = true;
                    }
                }
                1 => {
                    prop_assert_eq!(transmitter.forget(which).is_some(), model.remove(&which).is_some());
                }
                2 => {
                    let mut due: Vec<(u64, u32)> = model
                        .iter()
                        .filter(|(_, (at, confirmed, discarded))| at + 50 <= now && !confirmed && !discarded)
                        .map(|(count, (at, ..))| (*at, *count))
                        .collect();
                    due.sort_unstable();
                    let due: Vec<u32> = due.into_iter().map(|(_, count)| count).collect();
                    prop_assert_eq!(transmitter.on_deadline(ms(now)), due.clone());
                    due.iter().for_each(|count| model.get_mut(count).unwrap().2 = true);
                }
                _ => {
                    let count = transmitter.number().unwrap();
                    prop_assert!(transmitter.keep(count, ms(now), count).is_none());
                    model.insert(count, (now, false, false));
                }
            }
            while model.first_key_value().is_some_and(|(_, (_, confirmed, _))| *confirmed) {
                model.pop_first();
            }
            let open = model.iter().filter(|(_, (_, confirmed, _))| !confirmed).map(|(count, _)| *count);
            prop_assert!(transmitter.unconfirmed().map(|(count, _)| count).eq(open));
            let first = model.keys().next().copied().unwrap_or(transmitter.next());
            prop_assert_eq!(transmitter.first_unconfirmed(), first);
            let next = model.values().filter(|(_, confirmed, discarded)| !confirmed && !discarded).map(|(at, ..)| *at).min();
            prop_assert_eq!(transmitter.deadline(), next.map(|at| ms(at + 50)));
        }
        let kept: Vec<u32> = transmitter.take_all().map(|(count, _)| count).collect();
        prop_assert!(kept.iter().eq(model.keys()));
    }

    /// Every PDU that is lost is sent again until it arrives, if the ends hear each other in the end.
    #[test]
    fn every_lost_pdu_is_repaired(fates in prop::collection::vec(0u8..4, 1..60), seed in 0u64..1000) {
        let timers = timers();
        let (mut repair, mut left, mut arrived) = (Repair::new(timers), fates.len(), BTreeSet::new());
        let mut queue: Vec<u32> = (0..fates.len() as u32).rev().collect();
        let (mut now, mut attempts) = (0u64, BTreeMap::new());
        while left > 0 && now < 100_000 {
            now += 1;
            if let Some(pdu) = queue.pop() {
                let attempt = attempts.entry(pdu).and_modify(|count| *count += 1).or_insert(0u64);
                let is_lost = *attempt < 3 && (u64::from(fates[pdu as usize]) + seed + *attempt).is_multiple_of(3);
                if is_lost {
                    repair.lost(pdu, ms(now - 1), ms(now));
                } else {
                    left -= usize::from(arrived.insert(pdu));
                    repair.received(pdu, ms(now - 1), ms(now));
                    repair.confirmed(pdu);
                }
            }
            let again = repair.on_deadline(ms(now), !queue.is_empty(), Some(Duration::from_millis(2)));
            again.into_iter().for_each(|pdu| queue.push(pdu));
        }
        prop_assert_eq!(left, 0);
    }
}

fn timers() -> RepairTimers {
    let each = Duration::from_millis;
    RepairTimers {
        reassembly: each(20),
        status_prohibit: each(10),
        poll_retransmit: each(100),
        max_retransmissions: 2,
    }
}

#[test]
fn t_reordering_of_zero_waits_for_nothing() {
    let mut receiver = Receiver::new(0, 12, Some(Duration::ZERO));
    assert_eq!(receiver.receive(2, "c", ms(1)), Arrival::Delivered(vec!["c"]));
    assert_eq!(receiver.receive(0, "a", ms(2)), Arrival::Late("a"));
    assert_eq!(receiver.receive(2, "c", ms(2)), Arrival::Copy("c"));
    assert_eq!((receiver.expiries(), receiver.first_missing()), (1, 3));
}

#[test]
fn without_t_reordering_a_gap_stalls_the_receiver() {
    let mut receiver = Receiver::new(0, 18, None);
    assert_eq!(receiver.receive(1, "b", ms(1)), Arrival::Delivered(vec![]));
    assert_eq!((receiver.deadline(), receiver.status()), (None, (0, [1].into())));
    assert_eq!(receiver.receive(0, "a", ms(900)), Arrival::Delivered(vec!["a", "b"]));
}

#[test]
fn one_expiry_may_skip_several_gaps() {
    let mut receiver = Receiver::new(0, 12, Some(Duration::from_millis(10)));
    for (at, sn) in [(0, 1), (1, 3), (2, 5)] {
        assert_eq!(receiver.receive(sn, sn, ms(at)), Arrival::Delivered(vec![]));
    }
    // The timer was started for what is before 2: RX_REORD is 2, and it starts again for 2 and 4 together.
    assert_eq!(receiver.on_deadline(ms(10)), [1]);
    assert_eq!(receiver.deadline(), Some(ms(20)));
    assert_eq!(receiver.on_deadline(ms(20)), [3, 5]);
    assert_eq!((receiver.deadline(), receiver.expiries(), receiver.len()), (None, 2, 0));
}

#[test]
fn a_restarted_receiver_delivers_what_it_has_and_begins_at_0() {
    let mut receiver = Receiver::new(7, 12, Some(Duration::from_millis(10)));
    assert_eq!(receiver.receive(9, "c", ms(0)), Arrival::Delivered(vec![]));
    assert_eq!(receiver.restart(), ["c"]);
    assert_eq!((receiver.first_missing(), receiver.deadline()), (0, None));
}

#[test]
fn count_does_not_wrap() {
    let mut transmitter: Transmitter<()> = Transmitter::new(u32::MAX - 1, 12, None);
    assert_eq!(transmitter.number(), Some(u32::MAX - 1));
    assert_eq!((transmitter.number(), transmitter.number()), (None, None));
}

#[test]
fn half_of_the_numbers_may_be_unconfirmed() {
    let mut transmitter = Transmitter::new(0, 12, None);
    for _ in 0..2048 {
        assert!(!transmitter.is_stalled());
        let count = transmitter.number().unwrap();
        transmitter.keep(count, ms(0), ());
    }
    assert!(transmitter.is_stalled());
    transmitter.confirm(1);
    assert!(transmitter.is_stalled(), "the first one is not confirmed");
    transmitter.confirm(0);
    assert!(!transmitter.is_stalled());
}

#[test]
fn a_gap_costs_t_reassembly_the_prohibit_timer_and_the_status() {
    let (mut repair, status) = (Repair::new(timers()), Some(Duration::from_millis(2)));
    repair.lost(0, ms(0), ms(3));
    repair.received(1, ms(1), ms(4));
    assert_eq!(repair.deadline(), Some(ms(24)));
    assert!(repair.on_deadline(ms(24), false, status).is_empty());
    repair.confirmed(1);
    assert_eq!(repair.deadline(), Some(ms(26)), "the STATUS arrives");
    assert_eq!(repair.on_deadline(ms(26), false, status), [0]);
    // A second gap is named no earlier than t-StatusProhibit after the last STATUS.
    repair.lost(2, ms(6), ms(10));
    repair.received(3, ms(7), ms(11));
    assert_eq!(repair.deadline(), Some(ms(31)));
    assert!(repair.on_deadline(ms(31), false, status).is_empty());
    assert_eq!(repair.deadline(), Some(ms(34)), "24 + 10");
    assert!(repair.on_deadline(ms(34), false, status).is_empty());
    assert_eq!(repair.on_deadline(ms(36), false, status), [2]);
}

#[test]
fn the_last_pdu_is_polled_until_the_limit() {
    let mut repair = Repair::new(timers());
    repair.lost(0, ms(0), ms(3));
    assert_eq!(repair.deadline(), Some(ms(100)));
    assert!(repair.on_deadline(ms(100), true, None).is_empty(), "another PDU takes the poll");
    for (at, limit) in [(200, false), (300, false), (400, true)] {
        assert_eq!(repair.on_deadline(ms(at), false, None), [0], "{at}");
        assert_eq!(repair.take_limit(), limit, "{at}");
        repair.lost(0, ms(at), ms(at + 3));
    }
    assert!(!repair.take_limit());
}
