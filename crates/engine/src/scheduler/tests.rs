use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

#[test]
fn equal_times_pop_in_insertion_order() {
    let mut scheduler = EventScheduler::default();
    for event in 0..100 {
        scheduler.push(at(u64::from(event % 3 == 0)), event);
    }
    let popped: Vec<i32> = std::iter::from_fn(|| scheduler.pop()).map(|(_, event)| event).collect();
    let expected: Vec<i32> = (0..100).filter(|e| e % 3 != 0).chain((0..100).filter(|e| e % 3 == 0)).collect();
    assert_eq!(popped, expected);
}

#[test]
fn a_reserved_place_is_kept() {
    let mut scheduler = EventScheduler::default();
    let place = scheduler.reserve();
    scheduler.push(Time::ZERO, "second");
    scheduler.push_at(Time::ZERO, place, "first");
    assert_eq!(scheduler.pop(), Some((Time::ZERO, "first")));
}

#[test]
fn the_past_ends_with_the_event_popped_last() {
    let mut scheduler = EventScheduler::default();
    let (before, now) = (scheduler.reserve(), scheduler.reserve());
    let after = scheduler.reserve();
    let time = at(5);
    assert!(!scheduler.is_past(Time::ZERO, before), "nothing has happened yet");
    scheduler.push_at(time, now, ());
    assert!(scheduler.pop().is_some());
    assert!(scheduler.is_past(at(4), after) && scheduler.is_past(time, before));
    assert!(!scheduler.is_past(time, after) && !scheduler.is_past(at(6), before));
}

#[test]
fn nothing_comes_at_the_end_of_time() {
    let mut scheduler = EventScheduler::default();
    let end = EventScheduler::<()>::END.as_nanos();
    let times = [u64::MAX - 1, end - 1, end, 3, u64::MAX - 9];
    times.iter().for_each(|&time| scheduler.push(at(time), time));
    assert_eq!(scheduler.pop_until(at(2)), None);
    assert_eq!(scheduler.pop(), Some((at(3), 3)));
    assert_eq!(scheduler.next_time(), Some(at(end - 1)));
    assert_eq!(scheduler.pop(), Some((at(end - 1), end - 1)));
    assert_eq!((scheduler.next_time(), scheduler.pop(), scheduler.len()), (None, None, 3));
}

/// Distances as a network with jitter on every hop has them.
#[test]
fn random_distances_take_no_lanes() {
    let mut scheduler = EventScheduler::default();
    let mut state = 1u64;
    (0..100).for_each(|event| scheduler.push(at(event), event));
    for event in 0..100_000 {
        let Some((now, _)) = scheduler.pop() else { panic!("events are pending") };
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        scheduler.push(at(now.as_nanos() + (state >> 40)), event);
    }
    assert!(scheduler.tournament.used <= 2, "{} lanes", scheduler.tournament.used);
}

/// Every link of a network with two packet sizes: most events go through lanes.
#[test]
fn repeated_distances_take_lanes() {
    let mut scheduler = EventScheduler::default();
    let distances = [1_000, 12_000, 1_040_000, 1_012_000, 10_000_000, 5_000_320];
    (0..60).for_each(|event| scheduler.push(at(17 * event), event as usize));
    for _ in 0..300_000 {
        let Some((now, event)) = scheduler.pop() else { panic!("events are pending") };
        scheduler.push(at(now.as_nanos() + distances[event % 6]), event);
    }
    assert_eq!(scheduler.heap.len(), 0);
    assert!((6..=8).contains(&scheduler.tournament.used), "{} lanes", scheduler.tournament.used);
    assert_eq!(scheduler.pending().count(), 60);
}

/// A guest that did not fit gets its own lane, which may stay empty while others are added.
#[test]
fn lanes_may_be_empty_when_others_are_added() {
    let mut scheduler = EventScheduler::default();
    while scheduler.tournament.used < MAX_LANES {
        scheduler.add_lane(1);
    }
    scheduler.push(at(1), ());
    assert_eq!(scheduler.pop(), Some((at(1), ())));
    assert_eq!(scheduler.pop(), None);
}

#[test]
fn what_is_ahead_in_a_lane_is_popped_soon() {
    let mut scheduler = EventScheduler::default();
    assert_eq!(scheduler.ahead(0), None);
    let lane = scheduler.add_lane(100);
    scheduler.lane_of[place_of(100)] = lane as u8;
    (0..5).for_each(|event| {
        scheduler.push(at(event + 100), event);
        scheduler.now = (at(event + 1), 0);
    });
    for event in 0..5 {
        assert_eq!((scheduler.ahead(0), scheduler.ahead(4)), (Some(&event), (event == 0).then_some(&4)));
        assert_eq!(scheduler.pop(), Some((at(event + 100), event)));
    }
    scheduler.push_once(at(200), 0, 7);
    assert_eq!(scheduler.ahead(0), None, "it is in the heap");
}

/// Distances, each with its own lane without an event: events at several of them are due at one time.
fn with_lanes(lanes: usize) -> (EventScheduler<u64>, Vec<u64>) {
    let mut scheduler = EventScheduler::default();
    let distances: Vec<u64> = (1..=lanes as u64).map(|number| 10 * number).collect();
    for &distance in &distances {
        scheduler.lane_of[place_of(distance)] = scheduler.add_lane(distance) as u8;
    }
    (scheduler, distances)
}

/// The last lane loses its only event among lanes that never had one, in tournaments of every size.
#[test]
fn the_last_lane_may_run_empty() {
    for lanes in [4, FEW_LANES, SOME_LANES, SOME_LANES + 1, 32, MAX_LANES] {
        let (mut scheduler, distances) = with_lanes(lanes - 1);
        scheduler.push(at(distances[lanes - 2]), 7);
        assert_eq!(scheduler.pop(), Some((at(distances[lanes - 2]), 7)));
        assert_eq!(scheduler.pop(), None);
    }
}

/// Events of all lanes and of the heap at one time, the last lane's first: they pop in the order of their numbers.
#[test]
fn events_of_many_lanes_at_one_time_pop_in_insertion_order() {
    for lanes in [2, FEW_LANES, SOME_LANES, SOME_LANES + 1, MAX_LANES] {
        let (mut scheduler, distances) = with_lanes(lanes - 1);
        let time = distances[lanes - 2];
        for (step, &distance) in distances.iter().enumerate().rev() {
            // As if it were so late that this distance leads to that time.
            scheduler.now = (at(time - distance), 0);
            scheduler.push(at(time), step as u64);
            let once = scheduler.reserve();
            scheduler.push_once(at(time), once, 100 + step as u64);
        }
        let expected = (0..lanes as u64 - 1).rev().flat_map(|step| [step, 100 + step]);
        let popped: Vec<u64> = std::iter::from_fn(|| scheduler.pop()).map(|(_, event)| event).collect();
        assert_eq!(popped, expected.collect::<Vec<_>>(), "{lanes} lanes");
    }
}

/// As [`repeated_distances_take_lanes`], at 16 distances around two: `gap` on average between two events.
fn lanes_of_near_distances(gap: u64) -> (usize, usize) {
    let mut scheduler = EventScheduler::default();
    let far = |event: usize| [1_000_000, 40_000_000][event % 2] + 300_000 * (event as u64 / 2 % 8);
    let others = |event: usize| 200_000 * 3u64.pow(event as u32 % 7);
    let pending = (20_000_000 / gap).max(8);
    (0..pending).for_each(|event| scheduler.push(at(gap * event), event as usize));
    for _ in 0..100_000 {
        let Some((now, event)) = scheduler.pop() else { panic!("events are pending") };
        let distance = if event % 9 == 8 { others(event / 9) } else { far(event) };
        scheduler.push(at(now.as_nanos() + distance), event);
    }
    (scheduler.tournament.used, scheduler.heap.len())
}

#[test]
fn near_distances_share_a_lane_while_their_events_are_few() {
    let (few, waiting) = lanes_of_near_distances(1_000_000);
    assert!(few <= 16 && waiting < 3, "{few} lanes, {waiting} in the heap");
    let (many, waiting) = lanes_of_near_distances(10_000);
    // Were guests never given their own lanes, some 800 of the 2,000 would wait there.
    assert!(many > 16 && waiting < 400, "{many} lanes, {waiting} in the heap");
}

/// One step: push at a distance, push with a number reserved some steps ago, or pop.
#[derive(Clone, Debug)]
enum Step {
    Push(u64),
    PushReserved(u64, usize),
    PushOnce(u64),
    Pop,
}

/// Few distances, distances that differ by little, many, and any.
fn distance() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => prop::sample::select(vec![0, 8, 100, 108, 5_000, 1 << 40]),
        6 => (0u64..24).prop_map(|number| 5_000 * (1 + number / 3) + 40 * number),
        2 => 0u64..50,
        1 => 0u64..1_000_000,
        1 => any::<u64>().prop_map(|far| far >> 20),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => distance().prop_map(Step::Push),
        1 => (distance(), 0usize..8).prop_map(|(far, back)| Step::PushReserved(far, back)),
        1 => distance().prop_map(Step::PushOnce),
        5 => Just(Step::Pop),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Some lanes lose their last event, and others never have one: the order is that of an ordered map.
    #[test]
    fn lanes_may_run_empty(
        lanes in prop_oneof![prop::sample::select(vec![7usize, 15, 31, 63]), 1..MAX_LANES],
        has_events in prop::collection::vec(any::<bool>(), MAX_LANES),
        steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>()), 1..200),
    ) {
        let (mut scheduler, mut distances) = with_lanes(lanes);
        let mut keep = has_events.into_iter();
        distances.retain(|_| keep.next() == Some(true));
        let (mut model, mut now) = (BTreeMap::new(), 0);
        for (is_push, which) in steps {
            if is_push && !distances.is_empty() {
                let (time, number) = (now + which.get(&distances), scheduler.reserve());
                scheduler.push_at(at(time), number, number);
                model.insert((time, number), number);
            } else {
                let expected = model.pop_first().map(|((time, _), event)| (at(time), event));
                now = expected.map_or(now, |(time, _)| time.as_nanos());
                prop_assert_eq!(scheduler.pop(), expected);
            }
        }
    }

    /// Any interleaving of pushes and pops agrees with an ordered map.
    #[test]
    fn agrees_with_an_ordered_map(steps in prop::collection::vec(step(), 0..1500)) {
        let (mut scheduler, mut model) = (EventScheduler::default(), BTreeMap::new());
        let (mut now, mut reserved) = (0u64, Vec::new());
        for step in steps {
            match step {
                Step::Push(distance) => {
                    let time = now.saturating_add(distance);
                    let number = scheduler.reserve();
                    scheduler.push_at(at(time), number, number);
                    model.insert((time, number), number);
                    reserved.push(scheduler.reserve());
                }
                Step::PushReserved(distance, back) => {
                    // Not into the past: an event of this instant has a later number than the one popped last.
                    let time = now.saturating_add(distance.max(1));
                    let Some(number) = reserved.len().checked_sub(1 + back).map(|place| reserved.remove(place))
                        else { continue };
                    scheduler.push_at(at(time), number, number);
                    model.insert((time, number), number);
                }
                Step::PushOnce(distance) => {
                    let (time, number) = (now.saturating_add(distance), scheduler.reserve());
                    scheduler.push_once(at(time), number, number);
                    model.insert((time, number), number);
                }
                Step::Pop => {
                    let expected = model.pop_first().map(|((time, _), event)| (at(time), event));
                    prop_assert_eq!(scheduler.next_time(), expected.map(|(time, _)| time));
                    if let Some((time, _)) = expected.filter(|(time, _)| *time > Time::ZERO) {
                        prop_assert_eq!(scheduler.pop_until(at(time.as_nanos() - 1)), None);
                        now = time.as_nanos();
                    }
                    prop_assert_eq!(scheduler.pop(), expected);
                }
            }
            prop_assert_eq!(scheduler.len(), model.len());
            prop_assert_eq!(scheduler.is_empty(), model.is_empty());
        }
        let mut rest: Vec<u64> = scheduler.pending().copied().collect();
        rest.sort_unstable();
        let mut expected: Vec<u64> = model.into_values().collect();
        expected.sort_unstable();
        prop_assert_eq!(rest, expected);
    }
}
