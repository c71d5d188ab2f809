//! Single steps, with numbers worked out by hand.

use super::*;
use crate::DeliveryRate;
use crate::LossEvent;
use crate::controls::bbr::FullPipe;
use crate::controls::bbr3::losses::BETA;
use crate::controls::bbr3::model::{Bounds, UNBOUNDED};

const NOW: Time = Time::from_nanos(5_000_000_000);

/// One that cruises: 1250 segments per second, 40 ms.
fn model() -> (Bbr3, Window) {
    let mut bbr = Bbr3::new(&Params::default());
    bbr.max_rate.note(1250.0);
    (bbr.rate, bbr.mode, bbr.full, bbr.has_sack) = (1250.0, Mode::Cruise, true, true);
    (bbr.delivered, bbr.latest.loss_round_end, bbr.round_end) = (1000, 1000, 1000);
    bbr.min_rtt.time = Some(MILLISECOND * 40);
    bbr.min_rtt.recent = Some(MILLISECOND * 40);
    (bbr.min_rtt.at, bbr.min_rtt.recent_at) = (NOW, NOW);
    (bbr.initial_window, bbr.first_rtt) = (Some(10.0), Some(MILLISECOND * 40));
    bbr.start_down(NOW);
    bbr.mode = Mode::Cruise;
    bbr.cycle.stops = false;
    let mut window = Window::new(100.0, &params());
    window.pace(1237.5, MILLISECOND * 40, 1000, 2);
    (bbr, window)
}

fn ack(acked: u32, in_flight: u32) -> AckEvent {
    let srtt = MILLISECOND * 40;
    AckEvent { now: NOW, acked, in_flight, srtt, has_sack: true, ..AckEvent::default() }
}

/// An ACK with a measurement, which ends a round if `ends`.
fn measures(bbr: &Bbr3, rate: f64, ends: bool, app_limited: bool) -> AckEvent {
    let delivered = (rate * 0.04).round() as u32;
    let prior_delivered =
        if ends { bbr.delivered } else { bbr.delivered.saturating_sub(delivered).min(bbr.round_end - 1) };
    let rate = DeliveryRate {
        delivered,
        interval: MILLISECOND * 40,
        prior_delivered,
        app_limited,
        in_flight: 60,
        lost: 0,
    };
    AckEvent { rate: Some(rate), ..ack(1, 50) }
}

fn lost(number: u32, in_flight: u32, lost: u32) -> LostSegment {
    LostSegment { now: NOW, number, in_flight, lost, app_limited: false }
}

#[test]
fn gains_are_those_of_the_draft() {
    near(Mode::Startup.gains().0, 4.0 * std::f64::consts::LN_2, 0.003);
    let rates = [Mode::Drain, Mode::Down, Mode::Cruise, Mode::Refill, Mode::Up, Mode::ProbeRtt];
    assert_eq!(rates.map(|mode| mode.gains().0), [0.5, 0.9, 1.0, 1.0, 1.25, 1.0]);
    assert_eq!(rates.map(|mode| mode.gains().1), [2.0, 2.0, 2.0, 2.0, 2.25, 0.5]);
}

#[test]
fn the_pacing_rate_is_a_gain_less_a_hundredth() {
    let (mut bbr, mut window) = model();
    for (mode, rate) in
        [(Mode::Down, 1113.75), (Mode::Cruise, 1237.5), (Mode::Up, 1546.875), (Mode::Drain, 618.75)]
    {
        bbr.mode = mode;
        bbr.set_pacing_rate(&mut window, mode.gains().0);
        near(window.pacing_rate, rate, 1e-9);
    }
    bbr.full = false; // before the pipe is full it does not fall
    bbr.set_pacing_rate(&mut window, 0.1);
    near(window.pacing_rate, 618.75, 1e-9);
}

#[test]
fn the_first_rate_is_the_initial_window_over_the_first_round_trip() {
    let (mut bbr, mut window) = (Bbr3::new(&Params::default()), Window::new(1.0, &params()));
    bbr.on_ack(&mut window, &AckEvent::default());
    near(window.pacing_rate, 2770.0, 1e-6); // a window of 1, 1 ms
    bbr.on_ack(&mut window, &AckEvent { srtt: MILLISECOND * 40, ..ack(0, 0) });
    bbr.on_start(&mut window, 10.0);
    assert_eq!(window.cwnd, 10.0);
    near(window.pacing_rate, 2.77 * 250.0, 1e-6); // 10 in 40 ms
}

#[test]
fn the_window_is_two_products_or_three_bursts_or_four_segments() {
    let (mut bbr, mut window) = model();
    window.cwnd = 99.0;
    bbr.set_cwnd(&mut window, &ack(5, 80));
    assert_eq!(window.cwnd, 100.0, "2 · 50");
    bbr.mode = Mode::Up;
    bbr.set_cwnd(&mut window, &ack(5, 80));
    assert_eq!(window.cwnd, 105.0, "five acknowledged");
    bbr.set_cwnd(&mut window, &ack(50, 80));
    assert_eq!(window.cwnd, 114.5, "2.25 · 50 + 2");
    (bbr.mode, bbr.rate) = (Mode::Cruise, 10.0);
    bbr.set_cwnd(&mut window, &ack(1, 80));
    assert_eq!(window.cwnd, 6.0, "three bursts of two");
    window.burst = 1;
    bbr.set_cwnd(&mut window, &ack(1, 80));
    assert_eq!(window.cwnd, 4.0, "MinPipeCwnd");
}

#[test]
fn probe_rtt_leaves_half_a_product() {
    let (mut bbr, mut window) = model();
    bbr.mode = Mode::ProbeRtt;
    bbr.set_cwnd(&mut window, &ack(1, 80));
    assert_eq!(window.cwnd, 25.0);
    bbr.rate = 100.0; // half of 4
    bbr.set_cwnd(&mut window, &ack(1, 80));
    assert_eq!(window.cwnd, 4.0);
}

#[test]
fn bounds_hold_by_mode() {
    let (mut bbr, _) = model();
    bbr.bounds = Bounds { rate_short: 1000.0, inflight_short: 90.0, inflight_long: 80.0 };
    let caps = [Mode::Startup, Mode::Drain, Mode::Down, Mode::Cruise, Mode::Refill, Mode::Up, Mode::ProbeRtt]
        .map(|mode| {
            bbr.mode = mode;
            bbr.inflight_cap()
        });
    assert_eq!(caps, [90.0, 90.0, 80.0, 68.0, 80.0, 80.0, 68.0], "68 = 0.85 · 80");
    bbr.bounds.inflight_long = 5.0;
    assert_eq!(bbr.inflight_with_headroom(), 4.0, "a segment of headroom, and four at least");
}

#[test]
fn the_pipe_is_full_after_three_rounds_without_a_quarter_more() {
    let (mut bbr, window) = (Bbr3::new(&Params::default()), Window::new(10.0, &params()));
    let round = |bbr: &mut Bbr3, rate: f64, app_limited: bool| {
        let ack = measures(bbr, rate, true, app_limited);
        let sample = Sample::of(&ack, None);
        bbr.update_round(&window, &sample, &ack);
        bbr.check_full(&sample);
        (bbr.full_now, bbr.full)
    };
    for rate in [1000.0, 1250.0, 1550.0, 1550.0] {
        assert_eq!(round(&mut bbr, rate, false), (false, false)); // 1250 is a quarter more, 1562.5 would be
    }
    assert_eq!(round(&mut bbr, 1550.0, true), (false, false), "the application limits");
    assert_eq!(round(&mut bbr, 1550.0, false), (true, true));
    bbr.check_startup_done(&Sample::default(), false);
    assert_eq!((bbr.mode, bbr.drain_start), (Mode::Drain, 6));
}

#[test]
fn drain_ends_with_a_product_in_flight_or_in_the_fourth_round() {
    let (mut bbr, window) = model();
    let ends = |bbr: &mut Bbr3, rounds: u32, in_flight: u32| {
        (bbr.mode, bbr.drain_start, bbr.rounds) = (Mode::Drain, 10, rounds);
        bbr.check_drain_done(&window, &ack(1, in_flight));
        bbr.mode == Mode::Down
    };
    assert!(!ends(&mut bbr, 11, 51));
    assert!(ends(&mut bbr, 11, 50));
    assert!(!ends(&mut bbr, 13, 90));
    assert!(ends(&mut bbr, 14, 90));
}

#[test]
fn a_cycle_waits_two_to_three_seconds_or_as_many_rounds_as_segments() {
    let (mut bbr, window) = model();
    let mut waits = Vec::new();
    for millisecond in 0..200 {
        let now = NOW + MILLISECOND * millisecond;
        bbr.start_down(now);
        let at = |span: u64| AckEvent { now: now + MILLISECOND * span, ..ack(1, 90) };
        let mut late = bbr.clone();
        late.update_cycle(&window, &Sample::default(), &at(1999));
        assert_eq!(late.mode, Mode::Down, "too early");
        late.update_cycle(&window, &Sample::default(), &at(3001));
        assert_eq!(late.mode, Mode::Refill);
        bbr.cycle.rounds_since_up += 48;
        let first = bbr.cycle.rounds_since_up == 49;
        bbr.cycle.rounds_since_up += u32::from(!first);
        bbr.update_cycle(&window, &Sample::default(), &at(1000));
        assert_eq!(bbr.mode, Mode::Down, "49 rounds, and the product has 50 segments");
        bbr.cycle.rounds_since_up += 1;
        bbr.update_cycle(&window, &Sample::default(), &at(1000));
        assert_eq!(bbr.mode, Mode::Refill);
        waits.push(first);
    }
    assert!((60..140).contains(&waits.iter().filter(|&&first| first).count()), "0 and 1 are as likely");
}

#[test]
fn at_most_63_rounds_pass_between_two_probes() {
    let (mut bbr, mut window) = model();
    (bbr.rate, window.cwnd) = (12_500.0, 1000.0); // a product of 500
    bbr.start_down(NOW);
    bbr.cycle.rounds_since_up = 62;
    bbr.update_cycle(&window, &Sample::default(), &ack(1, 900));
    assert_eq!(bbr.mode, Mode::Down);
    bbr.cycle.rounds_since_up = 63;
    bbr.update_cycle(&window, &Sample::default(), &ack(1, 900));
    assert_eq!(bbr.mode, Mode::Refill);
}

#[test]
fn down_ends_below_the_product_and_the_bound_with_its_headroom() {
    let (mut bbr, window) = model();
    let cruises = |bbr: &mut Bbr3, in_flight: u32| {
        bbr.mode = Mode::Down;
        bbr.update_cycle(&window, &Sample::default(), &ack(1, in_flight));
        bbr.mode == Mode::Cruise
    };
    assert!(!cruises(&mut bbr, 51));
    assert!(cruises(&mut bbr, 50));
    bbr.bounds.inflight_long = 40.0;
    assert!(!cruises(&mut bbr, 35));
    assert!(cruises(&mut bbr, 34), "0.85 · 40");
}

#[test]
fn refill_lasts_a_round_and_up_searches_anew() {
    let (mut bbr, window) = model();
    bbr.bounds = Bounds { rate_short: 900.0, inflight_short: 30.0, inflight_long: 70.0 };
    bbr.start_refill();
    assert_eq!(bbr.bounds, Bounds { inflight_long: 70.0, ..UNBOUNDED });
    let go = |bbr: &mut Bbr3, ends: bool| {
        let ack = measures(bbr, 1200.0, ends, false);
        let sample = Sample::of(&ack, None);
        bbr.update_round(&window, &sample, &ack);
        bbr.update_cycle(&window, &sample, &ack);
        (bbr.mode, bbr.cycle.is_probe_sample)
    };
    assert_eq!(go(&mut bbr, false), (Mode::Refill, false));
    assert_eq!(go(&mut bbr, true), (Mode::Up, true));
    assert_eq!((bbr.full_pipe, bbr.full_now), (FullPipe::beginning_with(1200.0), false));
}

#[test]
fn the_bound_grows_by_one_two_and_four_in_a_round() {
    let (mut bbr, mut window) = model();
    (bbr.mode, window.cwnd, bbr.bounds.inflight_long) = (Mode::Up, 64.0, 64.0);
    bbr.filled = [true, true];
    bbr.raise_slope(&window); // on entry: 64 segments for one more
    for (increase, per_inc) in [(1.0, 32.5), (2.0, 16.75), (4.0, 8.875), (8.0, 4.9375)] {
        let before = bbr.bounds.inflight_long;
        bbr.round_start = false;
        let whole = window.cwnd as u32;
        for _ in 0..whole {
            bbr.raise_bound(&window, &ack(1, 64));
            window.cwnd = bbr.bounds.inflight_long;
        }
        assert_eq!(bbr.bounds.inflight_long - before, increase, "{before}");
        (bbr.round_start, bbr.cycle.up_acked) = (true, 0.0);
        bbr.raise_bound(&window, &ack(0, 64));
        near(bbr.cycle.acked_per_inc, per_inc, 1e-9);
    }
    bbr.filled = [false, false];
    let before = bbr.bounds.inflight_long;
    bbr.raise_bound(&window, &ack(100, 64));
    assert_eq!(bbr.bounds.inflight_long, before, "a flight that does not fill the window changes nothing");
}

#[test]
fn a_safe_flight_raises_the_bound() {
    let (mut bbr, window) = model();
    bbr.bounds.inflight_long = 55.0;
    let sample = Sample { in_flight: 60.0, lost: 1, ..Sample::default() };
    bbr.adapt_long_term(&window, &sample, &ack(1, 50));
    assert_eq!(bbr.bounds.inflight_long, 60.0, "one of 60 is less than 2 %");
    let sample = Sample { in_flight: 70.0, lost: 2, ..Sample::default() };
    bbr.adapt_long_term(&window, &sample, &ack(1, 50));
    assert_eq!(bbr.bounds.inflight_long, 60.0, "two of 70 are more");
}

#[test]
fn the_loss_that_crosses_two_in_a_hundred_ends_the_probe() {
    let (mut bbr, window) = model();
    (bbr.mode, bbr.cycle.is_probe_sample) = (Mode::Up, true);
    bbr.lose(&window, &lost(1, 100, 1));
    bbr.lose(&window, &lost(2, 100, 2));
    assert_eq!((bbr.mode, bbr.bounds.inflight_long), (Mode::Up, f64::INFINITY), "2 of 100 are not above");
    bbr.lose(&window, &lost(3, 100, 3));
    assert_eq!((bbr.mode, bbr.cycle.too_high, bbr.cycle.is_probe_sample), (Mode::Down, true, false));
    // 99 before it, 2 lost: 99 + (1.98 - 2) / 0.98.
    near(bbr.bounds.inflight_long, 98.979_591_8, 1e-6);
    bbr.lose(&window, &lost(4, 20, 4));
    near(bbr.bounds.inflight_long, 98.979_591_8, 1e-6);
}

#[test]
fn the_bound_is_not_less_than_seven_tenths_of_the_product() {
    let (mut bbr, window) = model();
    (bbr.mode, bbr.cycle.is_probe_sample) = (Mode::Refill, true);
    bbr.lose(&window, &lost(1, 20, 1));
    assert_eq!((bbr.mode, bbr.bounds.inflight_long), (Mode::Refill, 35.0), "0.7 · 50; only UP becomes DOWN");
    let (mut bbr, window) = model();
    (bbr.mode, bbr.cycle.is_probe_sample) = (Mode::Up, true);
    bbr.lose(&window, &LostSegment { app_limited: true, ..lost(1, 20, 1) });
    assert_eq!(
        (bbr.mode, bbr.bounds.inflight_long),
        (Mode::Down, f64::INFINITY),
        "the application limited the flight"
    );
}

#[test]
fn a_round_with_losses_lowers_rate_and_flight_to_seven_tenths_at_most() {
    let (mut bbr, mut window) = model();
    let round = |bbr: &mut Bbr3, rate: f64| {
        bbr.lose(&window, &lost(7, 60, 1));
        bbr.lose(&window, &lost(8, 60, 2));
        bbr.latest.rate = 0.0;
        bbr.latest.inflight = 0;
        let sample = Sample::of(&measures(bbr, rate, true, false), None);
        bbr.update_latest(&sample);
        bbr.adapt_short_term(&window);
        bbr.advance_latest(&sample);
        (bbr.bounds.rate_short, bbr.bounds.inflight_short)
    };
    assert_eq!(round(&mut bbr, 1100.0), (1100.0, 70.0), "44 delivered, and 0.7 · 100");
    assert_eq!(round(&mut bbr, 500.0), (770.0, 49.0), "0.7 of both");
    let sample = Sample::of(&measures(&bbr, 500.0, true, false), None);
    bbr.update_latest(&sample);
    bbr.adapt_short_term(&window);
    assert_eq!((bbr.bounds.rate_short, bbr.bounds.inflight_short), (770.0, 49.0), "a round without a loss");
    window.cwnd = 1.0;
    bbr.mode = Mode::Refill;
    bbr.lose(&window, &lost(9, 60, 1));
    let sample = Sample::of(&measures(&bbr, 100.0, true, false), None);
    bbr.update_latest(&sample);
    bbr.adapt_short_term(&window);
    assert_eq!(bbr.bounds.rate_short, 770.0, "not while it probes");
}

#[test]
fn six_ranges_in_a_lossy_round_end_startup() {
    let lossy = |ranges: u32, lost_now: u32, has_sack: bool| {
        let (mut bbr, window) = model();
        (bbr.mode, bbr.full, bbr.has_sack) = (Mode::Startup, false, has_sack);
        bbr.begin_recovery(&window, Recovery::Fast);
        (0..ranges).for_each(|range| bbr.lose(&window, &lost(10 * range, 60, 1)));
        bbr.lose(&window, &lost(10 * ranges - 9, 60, 1)); // continues the last range
        let ack = measures(&bbr, 1250.0, true, true);
        let sample = Sample { lost: lost_now, ..Sample::of(&ack, None) };
        bbr.update_latest(&sample);
        bbr.check_startup_done(&sample, false);
        (bbr.mode, bbr.bounds.inflight_long)
    };
    assert_eq!(lossy(5, 9, true), (Mode::Startup, f64::INFINITY));
    assert_eq!(lossy(6, 1, true), (Mode::Startup, f64::INFINITY), "1 of 60 is less than 2 %");
    assert_eq!(lossy(6, 2, true), (Mode::Drain, 50.0));
    assert_eq!(lossy(1, 1, false), (Mode::Drain, 50.0), "without SACK any loss");
}

#[test]
fn the_shortest_time_is_kept_for_ten_seconds_and_probed_after_five() {
    let (mut bbr, _) = model();
    let see = |bbr: &mut Bbr3, after: u64, rtt: u64| {
        let now = NOW + MILLISECOND * after;
        bbr.update_min_rtt(&AckEvent { now, rtt: Some(MILLISECOND * rtt), ..ack(1, 50) });
        (bbr.min_rtt.time, bbr.min_rtt.recent, bbr.min_rtt.expired)
    };
    let ms = |millis: u64| Some(MILLISECOND * millis);
    assert_eq!(see(&mut bbr, 5000, 60), (ms(40), ms(40), false));
    assert_eq!(see(&mut bbr, 5001, 60), (ms(40), ms(60), true), "ProbeRTT is due");
    assert_eq!(see(&mut bbr, 5002, 55), (ms(40), ms(55), false));
    assert_eq!(see(&mut bbr, 10_000, 70), (ms(40), ms(55), false));
    assert_eq!(see(&mut bbr, 10_001, 70), (ms(55), ms(55), false), "40 ms are ten seconds old");
    assert_eq!(see(&mut bbr, 10_002, 30), (ms(30), ms(30), false), "a shorter time counts immediately");
}

#[test]
fn excess_acks_widen_the_window_for_ten_rounds() {
    let (mut bbr, mut window) = model();
    bbr.epoch = AckEpoch { start: Time::from_nanos(4_990_000_000), acked: 20 }; // 10 ms: 12 segments are expected
    bbr.update_excess(&window, &ack(30, 60));
    window.cwnd = 200.0;
    bbr.set_cwnd(&mut window, &ack(1, 60));
    assert_eq!(window.cwnd, 138.0, "2 · 50 + 38");
    (bbr.rounds, bbr.epoch) = (10, AckEpoch::beginning_at(NOW));
    bbr.update_excess(&window, &ack(1, 60));
    assert_eq!(bbr.excess.get(), 38.0);
    (bbr.rounds, bbr.epoch) = (11, AckEpoch::beginning_at(NOW));
    bbr.update_excess(&window, &ack(1, 60));
    assert_eq!(bbr.excess.get(), 1.0);
}

#[test]
fn a_cycle_that_ends_without_limits_of_the_application_forgets_the_one_before() {
    let (mut bbr, window) = model();
    let cycle = |bbr: &mut Bbr3, rate: f64, app_limited: bool| {
        bbr.start_down(NOW);
        let ack = measures(bbr, rate, true, app_limited);
        let sample = Sample::of(&ack, None);
        bbr.update_round(&window, &sample, &ack);
        bbr.update_cycle(&window, &sample, &ack);
        bbr.max_rate.get()
    };
    assert_eq!(cycle(&mut bbr, 1000.0, false), 1250.0, "the cycle before counts");
    assert_eq!(cycle(&mut bbr, 900.0, true), 1250.0, "not one that the application limits");
    assert_eq!(cycle(&mut bbr, 900.0, false), 900.0);
}

#[test]
fn a_needless_recovery_returns_to_the_mode_and_the_bounds_of_before() {
    let (mut bbr, mut window) = model();
    (bbr.mode, bbr.cycle.is_probe_sample) = (Mode::Up, true);
    bbr.begin_recovery(&window, Recovery::Fast);
    for number in 1..=5 {
        bbr.lose(&window, &lost(number, 100, number));
    }
    assert_eq!((bbr.mode, bbr.bounds.inflight_long < 100.0), (Mode::Down, true));
    window.cwnd = 50.0;
    bbr.undo(&mut window);
    assert_eq!((bbr.mode, bbr.bounds, window.cwnd), (Mode::Refill, UNBOUNDED, 100.0));
    (bbr.mode, bbr.full) = (Mode::Startup, false);
    bbr.begin_recovery(&window, Recovery::Timeout);
    bbr.check_startup_done(&Sample::default(), true);
    assert_eq!((bbr.mode, bbr.full), (Mode::Drain, true));
    bbr.undo(&mut window);
    assert_eq!((bbr.mode, bbr.full, bbr.full_now, bbr.bounds), (Mode::Startup, false, false, UNBOUNDED));
}

#[test]
fn a_timeout_leaves_a_segment_then_four_and_in_the_end_the_window_of_before() {
    let params = params();
    let (mut bbr, mut window) = model();
    bbr.on_rto(&mut window, &LossEvent::simple(Loss::Timeout, 100.0, &params));
    assert_eq!(window.cwnd, 1.0);
    bbr.on_recovery_step(&mut window, RecoveryStep::SlowStart(3.0));
    assert_eq!(window.cwnd, 3.0, "two segments are still in flight");
    let repairs = AckEvent { recovering: true, ..measures(&bbr, 1250.0, false, false) };
    bbr.on_other_ack(&mut window, &repairs);
    assert_eq!(window.cwnd, 4.0);
    bbr.on_ack(&mut window, &AckEvent { recovering: false, ..repairs });
    assert_eq!(window.cwnd, 101.0, "and a segment");
    bbr.on_recovery_step(&mut window, RecoveryStep::SlowStart(1.0));
    assert_eq!(window.cwnd, 101.0, "a step of a recovery that does not time out");
}

#[test]
fn an_echo_counts_as_a_high_loss_rate() {
    let params = params();
    let echo = LossEvent::simple(Loss::Echo, 100.0, &params);
    let after = |mode: Mode| {
        let (mut bbr, mut window) = model();
        (bbr.mode, bbr.cycle.is_probe_sample) = (mode, mode == Mode::Up);
        bbr.full = mode != Mode::Startup;
        bbr.on_loss(&mut window, &echo);
        let ack = AckEvent { recovering: true, marked: 1, ..measures(&bbr, 1000.0, false, false) };
        bbr.on_other_ack(&mut window, &ack);
        let ack = AckEvent { recovering: true, ..measures(&bbr, 1000.0, true, false) };
        bbr.on_other_ack(&mut window, &ack);
        (bbr.mode, bbr.bounds)
    };
    // 60 were in flight; the round delivers 1000 per second, 40 segments, of a window of 101.
    let short = Bounds { rate_short: 1000.0, inflight_short: BETA * 101.0, ..UNBOUNDED };
    assert_eq!(after(Mode::Cruise), (Mode::Cruise, short));
    let (mode, bounds) = after(Mode::Up);
    assert_eq!((mode, bounds.inflight_long), (Mode::Cruise, 60.0), "down, and then a product in flight");
    let (mode, bounds) = after(Mode::Startup);
    assert_eq!(
        (mode, bounds.inflight_long),
        (Mode::Cruise, 60.0),
        "Drain and Down end with a product in flight"
    );
}

#[test]
fn after_idle_the_rate_is_the_models_and_probe_rtt_is_left_out() {
    let (mut bbr, mut window) = model();
    window.pacing_rate = 1.0;
    bbr.on_idle(&mut window, 10.0);
    assert_eq!(window.cwnd, 100.0);
    let now = NOW + Duration::from_secs(7);
    bbr.on_resume(&mut window, Duration::from_secs(7), now);
    near(window.pacing_rate, 1237.5, 1e-9);
    let back = AckEvent {
        now: now + MILLISECOND * 40,
        rtt: Some(MILLISECOND * 45),
        ..measures(&bbr, 1250.0, true, true)
    };
    bbr.on_ack(&mut window, &back);
    assert_eq!(
        (bbr.min_rtt.expired, bbr.mode),
        (true, Mode::Refill),
        "the wait for the next probe is over too"
    );
}

#[test]
fn ranges_of_losses_are_counted_in_each_round_anew() {
    // §5.3.1.3: six discontiguous ranges of one round end Startup.
    let (mut bbr, _) = model();
    bbr.latest.lost_ranges = 5;
    bbr.latest.loss_round_start = false;
    bbr.advance_latest(&Sample::default());
    assert_eq!(bbr.latest.lost_ranges, 5);
    bbr.latest.loss_round_start = true;
    bbr.advance_latest(&Sample::default());
    assert_eq!(bbr.latest.lost_ranges, 0);
}

#[test]
fn each_probe_rtt_waits_for_a_round_trip_of_its_own() {
    // `HandleProbeRTT`: probe_rtt_round_done is false when the flight has fallen. A round trip may be longer than 200 ms.
    let (mut bbr, mut window) = model();
    for turn in 0..3 {
        bbr.enter_probe_rtt(&window);
        let mut goes_on = |millis, round_start| {
            let now = NOW + MILLISECOND * (10_000 * turn + millis);
            bbr.round_start = round_start;
            bbr.handle_probe_rtt(&mut window, &AckEvent { now, ..ack(1, 4) });
            bbr.mode == Mode::ProbeRtt
        };
        let modes = [goes_on(0, true), goes_on(100, false), goes_on(201, false), goes_on(900, false)];
        assert_eq!((modes, goes_on(1000, true)), ([true; 4], false), "turn {turn}");
        let (now, round_start) = (NOW + MILLISECOND * (10_000 * turn + 2000), true);
        bbr.enter_probe_rtt(&window);
        for (millis, stays) in [(0, true), (100, true), (200, true), (201, false)] {
            bbr.round_start = round_start;
            bbr.handle_probe_rtt(&mut window, &AckEvent { now: now + MILLISECOND * millis, ..ack(1, 4) });
            assert_eq!(bbr.mode == Mode::ProbeRtt, stays, "{millis} ms of 200");
        }
    }
}
