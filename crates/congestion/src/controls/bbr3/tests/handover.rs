//! Gaps, and steps of the round-trip time: the path of a handover. The product is 125 segments: 1250 per second, 100 ms.

use super::*;
use crate::PathPolicy;
use crate::controls::bbr3::model::UNBOUNDED;

const RATE: f64 = 1250.0;

/// Some cycles after Startup, with a buffer that loses nothing.
fn steady() -> Path {
    let mut path = transfer();
    (path.one_way, path.buffer) = (MILLISECOND * 50, 4000);
    path.run_ms(4000);
    near(of(&path).min_rtt.time.unwrap().as_secs_f64(), 0.1, 0.002);
    path
}

/// Rates as shares of the link's: 1 to 2 s after the step, 2 to 4 s, and 14 to 24 s. And how long the old shortest time was kept.
fn after(path: &mut Path, gap: u64, one_way: u64) -> ([f64; 3], f64) {
    let old = of(path).min_rtt.time;
    (path.held_until, path.one_way) = (path.now + MILLISECOND * gap, MILLISECOND * one_way);
    let (begin, mut kept) = (path.now, None);
    let mut delivered = [0.0; 3];
    path.run_ms(gap);
    for millisecond in 0..24_000 {
        let arrived = path.run_ms(1) / 1000.0;
        if kept.is_none() && of(path).min_rtt.time != old {
            kept = Some(path.now.since(begin).as_secs_f64());
        }
        for (sum, span) in delivered.iter_mut().zip([1000..2000, 2000..4000, 14_000..24_000]) {
            *sum += if span.contains(&millisecond) { arrived } else { 0.0 };
        }
    }
    (
        [delivered[0] / RATE, delivered[1] / (2.0 * RATE), delivered[2] / (10.0 * RATE)],
        kept.unwrap_or(f64::INFINITY),
    )
}

/// The least of each. In the first second ProbeRTT has half an old product: 125 / 2 segments per longer round trip, for
/// 200 ms and some round trips; that leaves 72 %. The others have the rate less the 1 % of pacing. In the ten seconds
/// are two ProbeRTTs.
const LEAST: [f64; 3] = [0.65, 0.98, 0.95];

fn holds(name: &str, shares: [f64; 3]) {
    let all = shares.iter().zip(LEAST).all(|(&share, least)| (least..1.01).contains(&share));
    assert!(all, "{name}: {shares:?}");
}

#[test]
fn a_gap_without_losses_leaves_the_model() {
    for gap in [30, 60, 300, 900] {
        let mut path = steady();
        let (shares, _) = after(&mut path, gap, 50);
        holds(&format!("{gap} ms"), shares);
        near(of(&path).max_rate.get(), RATE, 0.02 * RATE);
        near(of(&path).min_rtt.time.unwrap().as_secs_f64(), 0.1008, 0.002);
    }
}

/// One-way times after 50 ms: 40 ms more in the round trip, 40 ms less, twice, half.
const STEPS: [u64; 4] = [70, 30, 100, 25];

#[test]
fn a_longer_path_is_unseen_for_ten_seconds_and_a_shorter_one_seen_at_once() {
    for gap in [0, 30, 60, 300, 900] {
        for one_way in STEPS {
            let name = format!("{gap} ms, {one_way} ms");
            let mut path = steady();
            let (shares, kept) = after(&mut path, gap, one_way);
            // The window of two old products, 250 segments, still fills a path that is twice as long.
            holds(&name, shares);
            if one_way > 50 {
                // The first round trip, at 0.1 s, was the shortest: at 10.1 s it is ten seconds old, 6.1 s after the step.
                near(kept, 6.1, 0.01);
            } else {
                near(kept, gap.max(50) as f64 / 1000.0, 0.002); // with the first ACK that has the shorter way
            }
            near(of(&path).min_rtt.time.unwrap().as_secs_f64(), 2.0 * one_way as f64 / 1000.0, 0.003);
        }
    }
}

#[test]
fn a_path_four_times_as_long_carries_half_until_it_is_seen() {
    let mut path = steady();
    let ([_, later, long], kept) = after(&mut path, 0, 200);
    // 250 segments in 400 ms are 625 per second: half, less while ProbeRTT has 62 in flight.
    assert!((0.35..0.52).contains(&later), "{later}");
    near(kept, 6.2, 0.1); // ACKs of 250 segments are silent for half of a round trip
    assert!(long > 0.8, "{long}");
}

#[test]
fn a_gap_that_loses_all_is_repaired() {
    // RACK finds the losses of short gaps with the first ACK behind them. In 300 ms a probe is lost after two round trips,
    // and the segments behind it wait for the reordering window. In 900 ms the timer expires: 50 ms to the last ACK, two
    // round trips to the probe, a second to the timeout. What it finds lost has lowered the short-term rate until the next
    // Refill, at most three seconds later.
    for (gap, least, most) in [(30, 0, 200), (60, 0, 200), (300, 300, 800), (900, 1250, 4300)] {
        let mut path = steady();
        (path.held_until, path.buffer) = (path.now + MILLISECOND * gap, 0);
        path.run_ms(gap);
        path.buffer = 4000;
        let mut waited = gap;
        while path.run_ms(100) < 0.9 * RATE && waited < 10_000 {
            waited += 100;
        }
        assert!((least..most).contains(&waited), "{gap} ms: {waited} ms");
        assert!(path.lost > gap.min(125), "{} segments", path.lost); // 1250 per second, and a product at least
    }
}

#[test]
fn a_gap_in_any_mode_leads_back_to_the_cycle() {
    let modes =
        [Mode::Startup, Mode::Drain, Mode::Down, Mode::Cruise, Mode::Refill, Mode::Up, Mode::ProbeRtt];
    for mode in modes {
        for gap in [30, 60, 300, 900] {
            let mut path = transfer();
            (path.one_way, path.buffer) = (MILLISECOND * 50, 4000);
            path.run_ms(300); // two doublings
            reach(&mut path, mode);
            path.held_until = path.now + MILLISECOND * gap;
            path.run_ms(gap + 6000);
            // 0.99 of the rate, and in ten seconds one or two ProbeRTTs, each of which leaves out half of the rate for 200 ms
            // and a round trip: 0.96 to 0.975.
            let (share, name) = (path.run_ms(10_000) / RATE, format!("{mode:?}, {gap} ms"));
            assert!((0.955..0.985).contains(&share), "{name}: {share}");
            assert!(of(&path).full && of(&path).bounds == UNBOUNDED, "{name}: {:?}", of(&path).bounds);
            near(of(&path).max_rate.get(), RATE, 0.01 * RATE);
            near(of(&path).min_rtt.time.unwrap().as_secs_f64(), 0.1008, 0.0001);
        }
    }
}

#[test]
fn a_gap_and_another_path_in_any_mode_lead_back_to_the_cycle() {
    let modes =
        [Mode::Startup, Mode::Drain, Mode::Down, Mode::Cruise, Mode::Refill, Mode::Up, Mode::ProbeRtt];
    for (mode, gap) in modes.into_iter().zip([30, 60, 300, 900].into_iter().cycle()) {
        for one_way in STEPS {
            let mut path = transfer();
            (path.one_way, path.buffer) = (MILLISECOND * 50, 4000);
            path.run_ms(300);
            reach(&mut path, mode);
            (path.held_until, path.one_way) = (path.now + MILLISECOND * gap, MILLISECOND * one_way);
            path.run_ms(gap + 12_000); // a shortest time is kept for ten seconds, and then measured for less than one
            let (share, name) = (path.run_ms(10_000) / RATE, format!("{mode:?}, {gap} ms, {one_way} ms"));
            // As above; on the path twice as long a ProbeRTT leaves out half of the rate for 400 ms.
            assert!((0.94..0.985).contains(&share), "{name}: {share}");
            assert!(of(&path).full, "{name}");
            near(of(&path).max_rate.get(), RATE, 0.01 * RATE);
            near(of(&path).min_rtt.time.unwrap().as_secs_f64(), 2.0 * one_way as f64 / 1000.0, 0.003);
        }
    }
}

#[test]
fn a_sender_that_is_told_of_a_longer_path_uses_it_at_once() {
    // Without a notice a path four times as long carries half (above).
    for (policy, longest) in [(PathPolicy::ForgetMinRtt, 0.505), (PathPolicy::ProbeRtt, 0.403)] {
        let mut path = steady();
        path.sender.on_new_path(policy, path.now);
        let ([_, later, _], kept) = after(&mut path, 0, 200);
        assert!(later > 0.85, "{policy:?}: {later}");
        // The first new segment waits until the flight has room for it: with ProbeRTT until the ACKs of the old one are back,
        // at most 0.25 s later. Then it takes 0.4 s.
        assert!((0.4..0.65).contains(&kept), "{policy:?}: {kept}");
        let min_rtt = of(&path).min_rtt.time.unwrap().as_secs_f64();
        assert!((0.4..longest).contains(&min_rtt), "{policy:?}: {min_rtt}");
    }
}

#[test]
fn probe_rtt_at_once_leaves_half_of_the_product() {
    let mut path = steady();
    path.sender.on_new_path(PathPolicy::ProbeRtt, path.now);
    assert_eq!(of(&path).mode, Mode::ProbeRtt);
    near(path.sender.cwnd(), 62.5, 1.5);
    assert!(until(&mut path, 1000, |bbr| bbr.mode == Mode::Cruise), "{:?}", of(&path).mode);
    let begin = path.now;
    assert!(path.run_ms(1000) > 0.9 * RATE, "{begin:?}");
}

#[test]
fn a_restart_begins_with_startup_and_fills_the_path_again() {
    for policy in [PathPolicy::Restart, PathPolicy::CountLost] {
        let mut path = steady();
        let lost = path.sender.on_new_path(policy, path.now).unwrap();
        assert_eq!(lost > 0, policy == PathPolicy::CountLost);
        assert_eq!((of(&path).mode, path.sender.cwnd()), (Mode::Startup, 10.0));
        path.run_ms(3000);
        assert!(path.run_ms(2000) > 0.95 * RATE, "{policy:?}");
    }
}
