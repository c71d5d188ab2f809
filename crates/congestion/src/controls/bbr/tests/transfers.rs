//! Transfers over a path: the cases of draft-ietf-ccwg-bbr-06, appendix, that concern version 1, and the same with a gap
//! and with a step of the round-trip time.

use super::{MILLISECOND, near};
use crate::controls::bbr::{Bbr, LEAST_CWND, Mode};
use crate::tests::path::Path;
use crate::{CongestionControl, Laws, PathPolicy};
use roamlab_engine::Duration;

fn transfer() -> Path {
    let mut path = Path::new("bbr".into());
    path.sender.offer(None);
    path
}

fn of(path: &Path) -> &Bbr {
    let CongestionControl::Bbr(laws) = &path.sender.control else { panic!("BBR") };
    let Laws::Own(bbr) = &**laws else { panic!("its own law") };
    bbr
}

/// After Startup and some cycles.
fn steady() -> Path {
    let mut path = transfer();
    path.run_ms(4000);
    path
}

#[test]
fn startup_ends_at_the_plateau_and_drain_empties_the_queue() {
    let mut path = transfer();
    path.run_ms(200);
    assert_eq!((of(&path).mode, of(&path).full), (Mode::Startup, false));
    path.run_ms(600);
    assert_eq!((of(&path).mode, of(&path).full), (Mode::ProbeBw, true));
    near(of(&path).max_rate.get(), 1250.0, 12.5);
    near(of(&path).min_rtt.unwrap().as_secs_f64(), 0.0416, 0.001);
}

#[test]
fn the_steady_rate_is_the_links_within_two_in_a_hundred() {
    let mut path = steady();
    let mut queued = 0;
    let mut rate = 0.0;
    for _ in 0..200 {
        rate += path.run_ms(20) / 200.0;
        queued += path.queued();
    }
    near(rate, 1250.0, 25.0);
    assert!(queued / 200 < 12, "a queue of {} segments", queued / 200);
}

#[test]
fn an_application_that_limits_keeps_it_in_startup() {
    let mut path = Path::new("bbr".into());
    for _ in 0..100 {
        path.sender.offer(Some(5));
        path.run_ms(50);
    }
    assert_eq!((of(&path).mode, of(&path).full), (Mode::Startup, false));
}

#[test]
fn probe_rtt_comes_after_ten_seconds_and_lasts_200_ms_or_more() {
    let mut path = steady();
    let (mut span, mut entered, mut low) = (0, None, 0);
    while span < 12_000 {
        path.run_ms(10);
        span += 10;
        if of(&path).mode == Mode::ProbeRtt {
            entered.get_or_insert(path.now);
            low += 10;
            assert!(path.sender.cwnd() <= 4.0);
        }
    }
    let after_best = entered.expect("ProbeRTT").as_secs_f64();
    assert!((9.9..15.0).contains(&after_best), "{after_best}");
    assert!((200..400).contains(&low), "{low} ms");
    assert_eq!(of(&path).mode, Mode::ProbeBw);
    near(path.run_ms(1000), 1250.0, 40.0);
}

#[test]
fn probe_rtt_does_not_come_while_it_resumes_from_idle() {
    let mut path = Path::new("bbr".into());
    path.sender.offer(Some(3000));
    path.run_ms(13_000); // idle for some 10 s
    assert_eq!(of(&path).mode, Mode::ProbeBw);
    path.sender.offer(Some(1000));
    for _ in 0..50 {
        path.run_ms(10);
        assert_ne!(of(&path).mode, Mode::ProbeRtt);
    }
}

#[test]
fn probe_rtt_returns_to_startup_if_the_pipe_was_never_full() {
    let mut path = Path::new("bbr".into());
    let mut entered = false;
    for _ in 0..900 {
        path.sender.offer(Some(3));
        path.run_ms(17); // never idle, and a queue that keeps the first round-trip time the shortest
        path.one_way = Duration::from_millis(25);
        entered |= of(&path).mode == Mode::ProbeRtt;
    }
    assert!(entered && of(&path).mode == Mode::Startup, "{:?}", of(&path).mode);
}

#[test]
fn a_product_of_less_than_a_segment_has_four_in_flight() {
    let mut path = transfer();
    (path.rate, path.one_way) = (100.0, Duration::from_millis(2));
    path.run_ms(8000);
    assert!(path.sender.cwnd() >= 4.0);
    near(path.run_ms(4000), 100.0, 5.0);
}

#[test]
fn ten_times_the_rate_is_found_within_a_second() {
    let mut path = steady();
    path.rate = 12_500.0;
    path.buffer = 500;
    let first = path.run_ms(100);
    assert!(first < 2000.0, "{first}: a quarter more for each round");
    // At most eight round trips until the probing phase. It lasts until the flight is 1.25 times the product and some
    // segments, of which the rate grows in each round: ln 10 / ln 1.25 = 10.3 rounds of 41 ms.
    path.run_ms(1000);
    let rate = path.run_ms(500);
    assert!(rate > 0.9 * 12_500.0, "{rate}");
}

#[test]
fn a_tenth_of_the_rate_is_believed_after_ten_rounds() {
    let mut path = steady();
    path.rate = 125.0;
    path.run_ms(200);
    near(of(&path).max_rate.get(), 1250.0, 13.0);
    path.run_ms(15_000);
    near(of(&path).max_rate.get(), 125.0, 13.0);
    near(path.run_ms(4000), 125.0, 6.0);
}

#[test]
fn losses_of_one_in_two_hundred_cost_little() {
    let mut path = transfer();
    path.loss = 0.005;
    path.run_ms(4000);
    let rate = path.run_ms(8000);
    assert!(rate > 0.9 * 1250.0, "{rate}");
    let mut reno = Path::new("reno".into());
    reno.loss = 0.005;
    reno.sender.offer(None);
    reno.run_ms(4000);
    let other = reno.run_ms(8000);
    assert!(other < 0.6 * rate, "Reno: {other}");
}

#[test]
fn a_gap_does_not_change_the_rate_for_long() {
    for gap in [30, 60, 300, 900] {
        let mut path = steady();
        path.buffer = 3000;
        path.held_until = path.now + MILLISECOND * gap;
        path.run_ms(gap + 2500);
        let rate = path.run_ms(2000);
        near(rate, 1250.0, 40.0);
        let rate = of(&path).max_rate.get();
        near(rate, 1250.0, 40.0);
    }
}

#[test]
fn a_longer_path_is_unseen_until_the_old_round_trip_is_ten_seconds_old() {
    // New one-way time in ms, least and most of the rate before, and of the rate later, in hundredths. With a window of two
    // products of the old time at most half of four times the round trip is used; and the rate that is measured is less.
    for (one_way, before, later) in [(40, (85, 101), (92, 101)), (80, (25, 51), (85, 101))] {
        let mut path = steady();
        path.one_way = MILLISECOND * one_way;
        path.buffer = 400;
        path.run_ms(1000);
        let share = path.run_ms(3000) / 12.5;
        assert!((f64::from(before.0)..f64::from(before.1)).contains(&share), "{one_way} ms: {share}");
        path.run_ms(14_000);
        let share = path.run_ms(10_000) / 12.5; // with a ProbeRTT
        assert!((f64::from(later.0)..f64::from(later.1)).contains(&share), "{one_way} ms: {share}");
    }
}

#[test]
fn a_shorter_path_is_seen_down_to_the_queue_and_then_by_probe_rtt() {
    for one_way in [10, 5] {
        let mut path = steady();
        path.one_way = MILLISECOND * one_way;
        path.run_ms(1000);
        let min_rtt = |path: &Path| of(path).min_rtt.unwrap().as_secs_f64();
        assert!(min_rtt(&path) < 0.035, "{}", min_rtt(&path));
        near(path.run_ms(2000), 1250.0, 40.0);
        path.run_ms(12_000);
        near(min_rtt(&path), 2.0 * one_way as f64 / 1000.0, 0.004);
    }
}

#[test]
fn a_gap_with_a_longer_path_behind_it() {
    for gap in [30, 60, 300, 900] {
        let mut path = steady();
        path.buffer = 3000;
        (path.held_until, path.one_way) = (path.now + MILLISECOND * gap, MILLISECOND * 40);
        path.run_ms(gap + 2500);
        let share = path.run_ms(2000) / 12.5;
        assert!(share > 80.0, "{gap} ms: {share}");
        path.run_ms(14_000);
        let share = path.run_ms(10_000) / 12.5;
        assert!(share > 92.0, "{gap} ms: {share}");
    }
}

/// The rate from 1 to 4 s after the path has become four times as long, in hundredths, and the shortest round-trip time.
fn notified_of_a_longer_path(policy: PathPolicy) -> (Path, f64, f64) {
    let mut path = steady();
    (path.one_way, path.buffer) = (MILLISECOND * 80, 400);
    path.sender.on_new_path(policy, path.now);
    path.run_ms(1000);
    let share = path.run_ms(3000) / 12.5;
    let min_rtt = of(&path).min_rtt.unwrap().as_secs_f64();
    (path, share, min_rtt)
}

#[test]
fn a_sender_that_is_notified_of_a_longer_path_uses_it_at_once() {
    // Two products of the old time, 100 segments, in 160 ms are half of 1250 per second.
    let (_, share, min_rtt) = notified_of_a_longer_path(PathPolicy::Nothing);
    assert!((25.0..51.0).contains(&share) && min_rtt < 0.045, "{share} {min_rtt}");
    // The first round trip of the new path may have a queue of the window's other half: 50 segments, 40 ms.
    let (_, share, min_rtt) = notified_of_a_longer_path(PathPolicy::ForgetMinRtt);
    assert!(share > 90.0 && (0.160..0.205).contains(&min_rtt), "{share} {min_rtt}");
    let (_, share, min_rtt) = notified_of_a_longer_path(PathPolicy::ProbeRtt);
    assert!(share > 90.0, "{share}");
    near(min_rtt, 0.1608, 0.002); // and the transmission of a segment: 0.8 ms
}

#[test]
fn probe_rtt_at_once_leaves_four_segments_for_200_ms_and_a_round_trip() {
    let mut path = steady();
    path.sender.on_new_path(PathPolicy::ProbeRtt, path.now);
    assert_eq!((path.sender.cwnd(), of(&path).mode), (LEAST_CWND, Mode::ProbeRtt));
    let begin = path.now;
    while of(&path).mode == Mode::ProbeRtt {
        path.run_ms(1);
    }
    // The flight of a round trip of 40 ms and its queue has to come back first, and what is sent then ends the round.
    let lasted = path.now.since(begin);
    assert!((MILLISECOND * 240..MILLISECOND * 500).contains(&lasted), "{lasted}");
    // A ProbeRTT that is underway begins again.
    let mut path = steady();
    path.sender.on_new_path(PathPolicy::ProbeRtt, path.now);
    path.run_ms(150);
    path.sender.on_new_path(PathPolicy::ProbeRtt, path.now);
    path.run_ms(200);
    assert_eq!(of(&path).mode, Mode::ProbeRtt);
}

#[test]
fn a_restart_begins_with_startup_and_fills_the_path_again() {
    let mut path = steady();
    path.buffer = 400; // Startup overshoots, as that of a new connection does
    assert_eq!(path.sender.on_new_path(PathPolicy::Restart, path.now), Some(0));
    assert_eq!((of(&path).mode, path.sender.cwnd()), (Mode::Startup, 10.0));
    assert!(of(&path).min_rtt.is_none());
    path.run_ms(2000);
    assert_eq!(of(&path).mode, Mode::ProbeBw);
    near(path.run_ms(2000), 1250.0, 40.0);
}

#[test]
fn excess_acks_are_counted_in_slots_of_five_rounds() {
    // `bbr_extra_acked_win_rtts`.
    let mut path = steady();
    let mut seen = std::collections::BTreeSet::new();
    (0..2000).for_each(|_| {
        path.run_ms(1);
        seen.insert(of(&path).excess_rounds);
    });
    assert_eq!(seen.into_iter().collect::<Vec<u32>>(), [0, 1, 2, 3, 4]);
}

#[test]
fn ten_seconds_pass_from_the_end_of_a_probe_rtt_to_the_next() {
    // `bbr_check_probe_rtt_done`: the least round-trip time is as new as the end of ProbeRTT.
    let mut path = steady();
    let mut probes = |until: bool| {
        while (of(&path).mode == Mode::ProbeRtt) != until {
            path.run_ms(1);
        }
        path.now
    };
    let (_, end) = (probes(true), probes(false));
    let wait = probes(true).since(end).as_secs_f64();
    assert!((9.999..10.2).contains(&wait), "{wait} s");
}
