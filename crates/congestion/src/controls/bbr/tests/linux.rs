//! Numbers of the law of the kernel.

use super::*;
use crate::controls::bbr::linux::Linux;

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
