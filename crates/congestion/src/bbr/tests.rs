//! Numbers worked out from the kernel's constants, and transfers over a path: the cases of draft-ietf-ccwg-bbr-06,
//! appendix, that concern version 1, and the same with a gap and with a step of the round-trip time.

use super::linux::Linux;
use super::*;
use crate::CongestionControl;
use crate::Known;
use crate::Laws;
use crate::PathPolicy;
use crate::params::connections::*;
use crate::path::Path;

const MILLISECOND: Duration = Duration::from_millis(1);

pub(super) fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "expected {expected} within {tolerance}, found {found}");
}

/// One with a model: 1250 segments per second, 40 ms.
pub(super) fn model() -> (Bbr, Window) {
    model_of()
}

/// The same by a law.
pub(super) fn model_of<L: Law>() -> (Bbr<L>, Window) {
    let params = RFC;
    let mut bbr = Bbr::new(&Params::default());
    bbr.max_rate.update(RATE_ROUNDS, 0, 1250.0);
    bbr.min_rtt = Some(MILLISECOND * 40);
    (bbr.full, bbr.knows_rtt, bbr.delivered, bbr.cycle_index) = (true, true, 1000, 3);
    bbr.mode = Mode::ProbeBw;
    bbr.update_gains();
    let mut window = Window::new(100.0, &params);
    window.pace(1237.5, MILLISECOND * 40, 1000, 2);
    (bbr, window)
}

pub(super) fn ack(acked: u32, in_flight: u32) -> AckEvent {
    let now = Time::from_nanos(5_000_000_000);
    AckEvent { now, acked, in_flight, srtt: MILLISECOND * 40, ..AckEvent::default() }
}

/// The window after an ACK, by the current model.
pub(super) fn set_cwnd(bbr: &mut Bbr<impl Law>, window: &mut Window, ack: &AckEvent) {
    bbr.target = bbr.target(window);
    bbr.set_cwnd(window, ack);
}

#[test]
fn gains_are_those_of_the_kernel() {
    near(HIGH_GAIN, 2.0 / std::f64::consts::LN_2, 0.002); // 2.8867 for 2.8854
    near(DRAIN_GAIN * HIGH_GAIN, 1.0, 0.01);
    assert_eq!(CYCLE.iter().sum::<f64>(), 8.0);
}

#[test]
fn the_pacing_rate_is_a_hundredth_below() {
    let (mut bbr, mut window) = model();
    for (phase, rate) in [(0, 1546.875), (1, 928.125), (2, 1237.5), (7, 1237.5)] {
        bbr.cycle_index = phase;
        bbr.update_gains();
        bbr.set_pacing_rate(&mut window, &ack(1, 50));
        near(window.pacing_rate, rate, 1e-9);
    }
    bbr.full = false; // in Startup the rate does not fall
    bbr.max_rate = MaxFilter::default();
    bbr.max_rate.update(RATE_ROUNDS, 0, 100.0);
    bbr.set_pacing_rate(&mut window, &ack(1, 50));
    near(window.pacing_rate, 1237.5, 1e-9);
    assert_eq!(window.burst, 2);
    window.pacing_rate = 1.0;
    bbr.set_pacing_rate(&mut window, &ack(1, 50));
    assert_eq!(window.burst, 1, "below 1.2 Mbit/s");
}

#[test]
fn the_first_rate_is_the_window_over_the_first_round_trip() {
    let params = RFC;
    let (mut bbr, mut window) = (Bbr::<Real>::new(&Params::default()), Window::new(10.0, &params));
    bbr.set_pacing_rate(&mut window, &AckEvent::default());
    near(window.pacing_rate, 0.99 * HIGH_GAIN * 10_000.0, 1e-6); // 1 ms
    bbr.set_pacing_rate(&mut window, &ack(1, 9));
    near(window.pacing_rate, 0.99 * HIGH_GAIN * 250.0, 1e-6); // 40 ms
}

#[test]
fn probing_lasts_until_the_flight_is_there_or_a_loss() {
    let (mut bbr, window) = model();
    let over = |bbr: &mut Bbr, ack: &AckEvent, phase: usize| {
        (bbr.cycle_index, bbr.cycle_start) = (phase, Time::from_nanos(4_950_000_000)); // 50 ms
        bbr.update_gains();
        bbr.update_cycle(&window, ack);
        bbr.cycle_index != phase
    };
    // 1.25 · 50 = 62.5: 63 + 6 = 69, even 70, and 2: 72, with a burst of 2 that leaves next.
    assert!(!over(&mut bbr, &ack(1, 68), 0));
    assert!(over(&mut bbr, &ack(1, 69), 0));
    assert!(over(&mut bbr, &AckEvent { lost: 1, ..ack(1, 20) }, 0));
    assert!(over(&mut bbr, &ack(1, 90), 1), "a round trip is enough to drain");
    assert!(over(&mut bbr, &ack(1, 90), 2));
    // Before a round trip is over only draining ends, at 50 + 6 segments.
    let early = |ack: AckEvent| AckEvent { now: Time::from_nanos(4_960_000_000), ..ack };
    assert!(!over(&mut bbr, &early(ack(1, 90)), 2));
    assert!(!over(&mut bbr, &early(ack(1, 56)), 1));
    assert!(over(&mut bbr, &early(ack(1, 55)), 1));
}

#[test]
fn the_pipe_is_full_after_three_rounds_without_a_quarter_more() {
    let params = RFC;
    let mut bbr = Bbr::<Real>::new(&Params::default());
    let mut round = |rate: f64, app_limited: bool| {
        bbr.round_start = true;
        bbr.max_rate.update(RATE_ROUNDS, 0, rate);
        let (interval, in_flight) = (MILLISECOND, 1);
        let sample =
            DeliveryRate { delivered: 1, interval, prior_delivered: 0, app_limited, in_flight, lost: 0 };
        bbr.check_full(&AckEvent { rate: Some(sample), ..AckEvent::default() });
        bbr.full
    };
    assert!(![100.0, 125.0, 150.0, 150.0].map(|rate| round(rate, false)).contains(&true)); // 156.25 would be growth
    assert!(!round(150.0, true), "the application limits");
    assert!(round(150.0, false));
    let mut window = Window::new(300.0, &params);
    window.pace(1237.5, MILLISECOND * 40, 1000, 2);
    bbr.min_rtt = Some(MILLISECOND * 40);
    bbr.check_drain(&mut window, &ack(1, 100));
    assert_eq!(bbr.mode, Mode::Drain);
    bbr.check_drain(&mut window, &ack(1, 12)); // 150 · 0.04 = 6, and 6
    assert_eq!(bbr.mode, Mode::ProbeBw);
    assert_ne!(bbr.cycle_index, 1, "a cycle does not begin by draining");
}

#[test]
fn a_timeout_leaves_one_segment_and_four_with_the_next_ack() {
    let params = RFC;
    let (mut bbr, mut window) = model();
    bbr.on_rto(&mut window, &LossEvent::simple(Loss::Timeout, 100.0, &params));
    assert_eq!(window.cwnd, 1.0);
    set_cwnd(&mut bbr, &mut window, &AckEvent { recovering: true, ..ack(1, 0) });
    assert_eq!(window.cwnd, 4.0);
    let mut undone = window;
    bbr.clone().on_undo(&mut undone, &Undo { pipe_prev: 100.0, cwnd: 5.0 });
    assert_eq!(undone.cwnd, 100.0);
    set_cwnd(&mut bbr, &mut window, &ack(1, 3));
    assert_eq!(window.cwnd, 101.0);
}

#[test]
fn an_echo_of_congestion_changes_nothing() {
    let params = RFC;
    let (mut bbr, mut window) = model();
    bbr.on_loss(&mut window, &LossEvent::simple(Loss::Echo, 100.0, &params));
    set_cwnd(&mut bbr, &mut window, &AckEvent { recovering: true, ..ack(1, 98) });
    assert_eq!(window.cwnd, 101.0);
}

#[test]
fn excess_acks_widen_the_window() {
    let (mut bbr, mut window) = model();
    bbr.epoch = AckEpoch { start: Time::from_nanos(4_990_000_000), acked: 20 }; // 10 ms: 12 segments are expected
    bbr.update_excess(&window, true, &ack(30, 60));
    assert_eq!(bbr.excess.get(), 38);
    window.cwnd = 200.0;
    set_cwnd(&mut bbr, &mut window, &ack(1, 60));
    assert_eq!(window.cwnd, 144.0, "2 · 50 + 38 + 6");
    bbr.excess.note(500);
    window.cwnd = 500.0;
    set_cwnd(&mut bbr, &mut window, &ack(1, 60));
    assert_eq!(window.cwnd, 232.0, "at most 100 ms of the rate: 2 · 50 + 125 + 6, even");
    bbr.epoch.acked = 3; // fewer than expected: a new epoch
    bbr.update_excess(&window, true, &ack(2, 60));
    assert_eq!((bbr.epoch.acked, bbr.epoch.start), (2, ack(1, 1).now));
}

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
fn told_of_a_longer_path(policy: PathPolicy) -> (Path, f64, f64) {
    let mut path = steady();
    (path.one_way, path.buffer) = (MILLISECOND * 80, 400);
    path.sender.on_new_path(policy, path.now);
    path.run_ms(1000);
    let share = path.run_ms(3000) / 12.5;
    let min_rtt = of(&path).min_rtt.unwrap().as_secs_f64();
    (path, share, min_rtt)
}

#[test]
fn a_sender_that_is_told_of_a_longer_path_uses_it_at_once() {
    // Two products of the old time, 100 segments, in 160 ms are half of 1250 per second.
    let (_, share, min_rtt) = told_of_a_longer_path(PathPolicy::Nothing);
    assert!((25.0..51.0).contains(&share) && min_rtt < 0.045, "{share} {min_rtt}");
    // The first round trip of the new path may have a queue of the window's other half: 50 segments, 40 ms.
    let (_, share, min_rtt) = told_of_a_longer_path(PathPolicy::ForgetMinRtt);
    assert!(share > 90.0 && (0.160..0.205).contains(&min_rtt), "{share} {min_rtt}");
    let (_, share, min_rtt) = told_of_a_longer_path(PathPolicy::ProbeRtt);
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
fn in_linux_it_begins_when_the_syn_is_acknowledged() {
    let params = RFC;
    let (mut bbr, mut window) = (Bbr::<Linux>::new(&Params::default()), Window::new(1.0, &params));
    let syn = AckEvent { rtt: Some(MILLISECOND * 40), ..ack(1, 0) };
    bbr.on_ack(&mut window, &syn);
    bbr.on_start(&mut window, 10.0);
    // 4194 · 1000 · 739 / 256 = 12,106,898; · 990,000 / 2^24 = 714,411 bytes per second.
    near(window.pacing_rate, 714.411, 1e-9);
    assert_eq!((window.cwnd, bbr.max_rate.get(), bbr.delivered), (10.0, 0.0, 1));
    assert_eq!((bbr.min_rtt, window.limits_itself()), (Some(MILLISECOND * 40), true));
}

#[test]
fn in_linux_what_is_found_lost_is_in_flight_no_more_and_the_next_burst_is_waited_for() {
    let (mut bbr, mut window) = model_of::<Linux>();
    // Three are lost of a window of 50, and 40 + 2 are in flight.
    window.cwnd = 50.0;
    lose(&mut bbr, &mut window, Loss::DupAcks);
    let seen = AckEvent { known: known(found(40, 3)), recovering: true, ..ack(2, 55) };
    bbr.on_other_ack(&mut window, &seen);
    assert_eq!((window.cwnd, bbr.lost), (42.0, 3));
    // 4 ms at 1250 segments per second: five leave. The burst of two counts while the rate is raised.
    let waits = AckEvent { known: Known { until_burst: MILLISECOND * 4, ..seen.known }, ..seen };
    assert_eq!(bbr.at_departure(40, &window, &waits), 35.0);
    bbr.pacing_gain = 1.25;
    assert_eq!(bbr.at_departure(40, &window, &waits), 37.0);
}

/// With what the loss recovery knows.
pub(super) fn known(found: Found) -> Known {
    Known { found: Some(found), ..Known::default() }
}

/// The state of Linux's loss recovery: `in_flight` segments in flight, and `lost` segments lost by this ACK.
pub(super) fn found(in_flight: u32, lost: u32) -> Found {
    let before = in_flight + lost;
    Found { in_flight, before, lost, all_lost: lost, rtt: None, min_rtt: MILLISECOND * 40 }
}

pub(super) fn lose(bbr: &mut Bbr<impl Law>, window: &mut Window, kind: Loss) {
    let params = RFC;
    bbr.on_loss(window, &LossEvent { found: Some(found(0, 0)), ..LossEvent::simple(kind, 100.0, &params) });
}

#[test]
fn in_linux_a_phase_ends_by_what_was_in_flight_before_the_ack_and_the_next_begins_with_the_delivery() {
    let (mut bbr, window) = model_of::<Linux>();
    (bbr.cycle_index, bbr.cycle_start) = (1, Time::from_nanos(4_960_000_000));
    bbr.delivered_at = Time::from_nanos(4_990_000_000);
    bbr.update_gains();
    // At 58 segments it ends: 51 + 6, and even. Of the five acknowledged two were lost before: they were not in flight.
    let ends = |before| AckEvent { known: known(Found { before, ..found(52, 0) }), ..ack(5, 52) };
    bbr.update_cycle(&window, &ends(59));
    assert_eq!(bbr.cycle_index, 1);
    bbr.update_cycle(&window, &ends(55));
    assert_eq!((bbr.cycle_index, bbr.cycle_start), (2, bbr.delivered_at));
}

#[test]
fn in_linux_a_round_trip_as_short_as_the_shortest_does_not_keep_it_longer() {
    fn is_renewed<L: Law>() -> bool {
        let (mut bbr, mut window) = model_of::<L>();
        bbr.update_min_rtt(&mut window, &AckEvent { rtt: Some(MILLISECOND * 40), ..ack(1, 50) });
        bbr.min_rtt_at > Time::ZERO
    }
    assert_eq!((is_renewed::<Linux>(), is_renewed::<Real>()), (false, true));
}

#[test]
fn a_later_phase_is_where_probe_bw_begins_again() {
    let (mut bbr, _) = model();
    let phases = |bbr: &mut Bbr| {
        [(); 3].map(|()| {
            bbr.enter_probe_bw(Time::ZERO);
            bbr.cycle_index
        })
    };
    bbr.params = Params { first_phase: Some(3), later_phase: Some(6), ..Params::default() };
    assert_eq!(phases(&mut bbr), [3, 6, 6]);
    bbr.params.later_phase = None;
    assert_eq!(phases(&mut bbr), [3, 3, 3]);
    for params in [(Some(1), None), (None, Some(8))] {
        let params = Params { first_phase: params.0, later_phase: params.1, ..Params::default() };
        assert!(params.check().is_err());
    }
}

#[test]
fn in_linux_an_undone_cut_ends_with_the_ack_whose_excess_is_the_window_of_the_cut() {
    let (mut bbr, mut window) = model_of::<Linux>();
    let params = RFC;
    bbr.on_rto(
        &mut window,
        &LossEvent { found: Some(found(0, 64)), ..LossEvent::simple(Loss::Timeout, 100.0, &params) },
    );
    assert_eq!((window.cwnd, bbr.lost), (1.0, 64));
    bbr.on_undo(&mut window, &Undo { pipe_prev: 100.0, cwnd: 100.0 });
    assert_eq!(window.cwnd, 1.0, "`bbr_undo_cwnd`");
    let rate =
        DeliveryRate { delivered: 15, interval: MILLISECOND * 200, prior_delivered: 990, ..rate_of_none() };
    bbr.on_other_ack(&mut window, &AckEvent { known: known(found(50, 0)), rate: Some(rate), ..ack(15, 50) });
    assert_eq!(bbr.excess.get(), 1);
    // 2 · 50 + 1 + 3 · 2, even: 108; from the 100 of before and 15 acknowledged.
    assert_eq!(window.cwnd, 108.0);
}

fn rate_of_none() -> DeliveryRate {
    let (interval, app_limited) = (Duration::ZERO, false);
    DeliveryRate { delivered: 0, interval, prior_delivered: 0, app_limited, in_flight: 0, lost: 0 }
}

#[test]
fn in_linux_a_rate_is_of_no_shorter_time_than_the_round_trip_that_its_own_ack_measures() {
    let (mut bbr, mut window) = model_of::<Linux>();
    let rate =
        DeliveryRate { delivered: 60, interval: MILLISECOND * 39, prior_delivered: 990, ..rate_of_none() };
    let ack = |least: u64| {
        let found = Found { min_rtt: MILLISECOND * least, rtt: Some(MILLISECOND * least), ..found(50, 0) };
        AckEvent { known: known(found), rate: Some(rate), ..ack(2, 50) }
    };
    bbr.on_other_ack(&mut window, &ack(40));
    assert_eq!(bbr.max_rate.get(), 1250.0);
    bbr.on_other_ack(&mut window, &ack(39));
    near(bbr.max_rate.get(), 60.0 / 0.039, 0.06);
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

#[test]
fn losses_leave_the_window_one_segment_at_least() {
    // `bbr_set_cwnd_to_recover_or_restore`: cwnd is max(cwnd - losses, 1), below the four of an ACK without losses.
    let (mut bbr, mut window) = model();
    window.cwnd = 6.0;
    let mut after = |lost| {
        bbr.recovers(&mut window, &AckEvent { lost, recovering: true, ..ack(0, 0) });
        window.cwnd
    };
    assert_eq!([3, 4].map(&mut after), [3.0, 1.0]);
}

#[test]
fn each_probe_rtt_waits_for_a_round_trip_of_its_own() {
    // `bbr_update_min_rtt`: probe_rtt_round_done = 0 when four segments are left. A round trip may be longer than 200 ms.
    let (mut bbr, mut window) = model();
    for begin in [20_000_u64, 40_000] {
        bbr.enter_probe_rtt(&window);
        let mut stays = |round_start, millis| {
            bbr.round_start = round_start;
            let now = Time::ZERO + MILLISECOND * (begin + millis);
            bbr.update_min_rtt(&mut window, &AckEvent { now, ..ack(1, 4) });
            bbr.mode == Mode::ProbeRtt
        };
        assert_eq!([stays(false, 0), stays(false, 300), stays(true, 310)], [true, true, false], "{begin}");
    }
}

#[test]
fn a_timeout_begins_the_search_for_a_full_pipe_anew() {
    // `bbr_set_state` with TCP_CA_Loss: full_bw = 0, so that also a tenth of the rate before is growth.
    let params = RFC;
    let (mut bbr, mut window) = model();
    bbr.full_pipe = FullPipe::beginning_with(1000.0);
    assert_eq!([1000.0; 2].map(|rate| bbr.full_pipe.is_full(rate)), [false; 2]);
    bbr.on_rto(&mut window, &LossEvent::simple(Loss::Timeout, 100.0, &params));
    assert_eq!([100.0; 4].map(|rate| bbr.full_pipe.is_full(rate)), [false, false, false, true]);
}

#[test]
fn a_rate_that_the_application_limits_counts_if_it_is_higher() {
    // `bbr_update_bw`: !rs->is_app_limited || bw >= bbr_max_bw(sk). The highest was 1250 segments per second.
    let (mut bbr, _) = model();
    let mut after = |delivered, app_limited| {
        let (interval, in_flight) = (MILLISECOND * 10, 20);
        let rate = DeliveryRate { delivered, interval, prior_delivered: 0, app_limited, in_flight, lost: 0 };
        bbr.update_rate(Some(&rate), &ack(1, 20));
        bbr.max_rate.get()
    };
    assert_eq!([after(10, true), after(15, true), after(12, false)], [1250.0, 1500.0, 1500.0]);
}

#[test]
fn behind_the_rate_of_a_policer_a_new_cycle_begins() {
    // `bbr_lt_bw_sampling`: after 48 rounds bbr_reset_lt_bw_sampling and bbr_reset_probe_bw_mode.
    let (mut bbr, _) = model();
    (bbr.params.first_phase, bbr.cycle_index, bbr.round_start) = (Some(0), 5, true);
    bbr.policer = Policer { uses: true, rate: 500.0, rounds: 46, ..Policer::default() };
    let now = Time::ZERO + MILLISECOND * 7000;
    bbr.sample_policer(false, false, now);
    assert_eq!((bbr.policer.uses, bbr.rate(), bbr.cycle_index), (true, 500.0, 5));
    bbr.sample_policer(false, false, now);
    assert_eq!((bbr.policer.uses, bbr.rate()), (false, 1250.0));
    assert_eq!((bbr.cycle_index, bbr.cycle_start), (0, now));
}

#[test]
fn packets_are_conserved_for_the_round_that_begins_with_the_recovery() {
    // `bbr_set_cwnd_to_recover_or_restore`: next_rtt_delivered = delivered, here 1000; the round before would end at 900.
    let (mut bbr, mut window) = model();
    (bbr.begins, bbr.round_end) = (true, 900);
    assert!(bbr.recovers(&mut window, &AckEvent { lost: 1, recovering: true, ..ack(1, 50) }));
    let mut conserves_behind = |prior_delivered| {
        let interval = MILLISECOND * 40;
        let rate = DeliveryRate { prior_delivered, delivered: 50, interval, ..rate_of_none() };
        bbr.update_rate(Some(&rate), &ack(1, 50));
        bbr.conserves
    };
    assert_eq!([999, 1000].map(&mut conserves_behind), [true, false]);
}
