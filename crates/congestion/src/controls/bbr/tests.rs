//! Numbers worked out from the kernel's constants.

use super::*;
use crate::Known;
use crate::params::connections::*;

mod linux;
mod transfers;

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

fn rate_of_none() -> DeliveryRate {
    let (interval, app_limited) = (Duration::ZERO, false);
    DeliveryRate { delivered: 0, interval, prior_delivered: 0, app_limited, in_flight: 0, lost: 0 }
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
