//! Numbers worked out from the clauses of RFC 9438 and from the kernel's constants.

use super::linux::{Linux, State};
use super::*;
use crate::ControlParams;
use crate::params::connections::*;
use crate::{Choice, Laws};

/// A flow that always uses its window, whose ACKs each acknowledge a segment.
struct Flow {
    cubic: Laws<Cubic, Linux>,
    window: Window,
    params: ControlParams,
    now: Time,
    rtt: Duration,
    una: u32,
}

impl Flow {
    fn new(as_linux: bool, cwnd: f64) -> Flow {
        let params = RFC;
        Flow {
            cubic: Params { as_linux, slow_start: Some(SlowStart::Standard), ..Params::default() }.law(),
            window: Window { ssthresh: 2.0, ..Window::new(cwnd, &params) },
            params,
            now: Time::from_nanos(1_000_000_000),
            rtt: Duration::from_millis(100),
            una: 1,
        }
    }

    fn rfc(&self) -> &Rfc {
        let Laws::Own(cubic) = &self.cubic else { panic!("the RFC's law") };
        &cubic.law
    }

    fn linux(&mut self) -> &mut State {
        let Laws::Other(cubic) = &mut self.cubic else { panic!("Linux's law") };
        &mut cubic.state
    }

    fn loss(&mut self, kind: Loss, in_use: f64) -> (f64, f64) {
        let loss = LossEvent { now: self.now, ..LossEvent::simple(kind, in_use, &self.params) };
        match kind {
            Loss::Timeout => self.cubic.on_rto(&mut self.window, &loss),
            _ => self.cubic.on_loss(&mut self.window, &loss),
        }
        self.window.sizes()
    }

    fn ack_of(&mut self, acked: u32, in_flight: u32) -> f64 {
        self.una += acked;
        let ack = AckEvent {
            now: self.now,
            una: self.una,
            nxt: self.una + in_flight,
            acked,
            in_flight,
            srtt: self.rtt,
            rtt: Some(self.rtt),
            ..AckEvent::default()
        };
        self.cubic.on_ack(&mut self.window, &ack);
        self.window.cwnd
    }

    fn ack(&mut self) -> f64 {
        let in_flight = self.window.cwnd as u32;
        self.ack_of(1, in_flight)
    }

    /// ACKs for so long, evenly spaced: a window in each round trip.
    fn run(&mut self, span: Duration) -> f64 {
        let end = self.now + span;
        while self.now < end {
            self.now += Duration::from_nanos((self.rtt.as_nanos() as f64 / self.window.cwnd) as u64);
            self.ack();
        }
        self.window.cwnd
    }
}

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "expected {expected} within {tolerance}, found {found}");
}

fn milliseconds(count: u64) -> Duration {
    Duration::from_millis(count)
}

#[test]
fn s4_6_a_loss_leaves_seven_tenths_of_the_flight() {
    assert_eq!(Flow::new(false, 100.0).loss(Loss::DupAcks, 100.0), (70.0, 70.0));
    assert_eq!(Flow::new(false, 100.0).loss(Loss::DupAcks, 50.0), (35.0, 35.0));
    assert_eq!(Flow::new(false, 2.0).loss(Loss::DupAcks, 2.0), (2.0, 2.0));
    assert_eq!(Flow::new(false, 10.0).loss(Loss::Echo, 10.0), (7.0, 7.0));
    assert_eq!(Flow::new(false, 1.0).loss(Loss::Echo, 1.0), (1.0, 2.0));
    let (cwnd, ssthresh) = Flow::new(false, 2.0).loss(Loss::Echo, 2.0);
    assert_eq!((cwnd, ssthresh), (1.4, 2.0));
}

#[test]
fn s4_2_the_window_follows_the_cubic_function() {
    let mut flow = Flow::new(false, 100.0);
    flow.rtt = milliseconds(200); // so long that Reno's window is smaller
    flow.loss(Loss::DupAcks, 100.0);
    flow.ack();
    let epoch = flow.rfc().epoch.unwrap();
    near(epoch.k, 4.217_163, 1e-6); // the cube root of 30 / 0.4
    assert_eq!((epoch.plateau, epoch.reno > 70.0), (100.0, true));
    near(epoch.cubic(0.0), 70.0, 1e-9);
    near(epoch.cubic(epoch.k), 100.0, 1e-9);
    near(flow.run(milliseconds(1000)), 86.68, 1.0);
    near(flow.run(milliseconds(1000)), 95.64, 1.0);
    near(flow.run(milliseconds(2217)), 100.0, 1.0);
    near(flow.run(milliseconds(2783)), 108.6, 1.0); // 7 s: 100 + 0.4 · 2.783³
}

#[test]
fn s4_4_an_ack_adds_the_distance_to_the_target_over_the_window() {
    let mut flow = Flow::new(false, 100.0);
    flow.loss(Loss::DupAcks, 100.0);
    // t = 0, t + RTT = 0.1 s: 100 - 0.4 · 4.117163³ = 72.0838; W_est = 70 + 0.529412 / 70 is above W(0) = 70.
    near(flow.ack(), 70.007_563, 1e-6);
    // 0.1 s later: W(0.1) = 72.0838 is above W_est, W(0.2) = 100 - 0.4 · 4.017163³ = 74.0690.
    flow.now += milliseconds(100);
    near(flow.ack(), 70.007_563 + (74.068_99 - 70.007_563) / 70.007_563, 1e-5);
}

#[test]
fn s4_2_a_target_is_at_most_half_a_window_above() {
    let mut flow = Flow::new(false, 10.0);
    flow.ack();
    flow.now += Duration::from_secs(20); // 10 + 0.4 · 20³ = 3210
    let before = flow.window.cwnd;
    near(flow.ack(), before + 0.5, 1e-9);
}

#[test]
fn s4_3_short_paths_have_the_window_of_reno() {
    let mut flow = Flow::new(false, 10.0);
    flow.rtt = milliseconds(10);
    flow.loss(Loss::DupAcks, 10.0);
    near(flow.ack(), 7.0 + 0.529_411_764 / 7.0, 1e-8);
    let before = flow.window.cwnd;
    near(flow.run(milliseconds(50)), before + 5.0 * 0.5294, 0.1); // 0.53 segments per round trip
    near(ALPHA, 9.0 / 17.0, 1e-12);
}

#[test]
fn s4_3_alpha_is_one_above_the_window_of_the_loss() {
    let mut flow = Flow::new(false, 10.0);
    flow.rtt = milliseconds(10);
    flow.loss(Loss::DupAcks, 10.0);
    flow.run(milliseconds(60)); // 3 / 0.5294 = 5.7 round trips
    let before = flow.window.cwnd;
    assert!(before >= 10.0, "{before}");
    near(flow.ack(), before + 1.0 / before, 1e-9);
}

#[test]
fn s4_3_segments_of_a_delayed_ack_count() {
    let mut flow = Flow::new(false, 10.0);
    flow.rtt = milliseconds(10);
    flow.loss(Loss::DupAcks, 10.0);
    near(flow.ack_of(2, 7), 7.0 + 2.0 * 0.529_411_764 / 7.0, 1e-8);
}

#[test]
fn s4_7_fast_convergence_lowers_the_plateau() {
    let plateau = |fast_convergence| {
        let mut flow = Flow::new(false, 100.0);
        let Laws::Own(cubic) = &mut flow.cubic else { panic!("the RFC's law") };
        cubic.params.fast_convergence = fast_convergence;
        flow.loss(Loss::DupAcks, 100.0);
        flow.window.cwnd = 80.0;
        assert_eq!(flow.loss(Loss::DupAcks, 80.0), (56.0, 56.0));
        flow.rfc().w_max
    };
    assert_eq!(plateau(true), 68.0); // 80 · (1 + 0.7) / 2
    assert_eq!(plateau(false), 80.0);
    let mut growing = Flow::new(false, 100.0);
    growing.loss(Loss::DupAcks, 100.0);
    growing.window.cwnd = 120.0;
    growing.loss(Loss::DupAcks, 120.0);
    assert_eq!(growing.rfc().w_max, 120.0, "a window that has grown is the plateau");
    growing.window.cwnd = 130.0;
    growing.loss(Loss::DupAcks, 90.0);
    assert_eq!(growing.rfc().w_max, 130.0, "also where less is in flight: §4.7 compares cwnd");
}

#[test]
fn s4_8_a_stage_after_a_timeout_begins_at_its_plateau() {
    let mut flow = Flow::new(false, 100.0);
    assert_eq!(flow.loss(Loss::Timeout, 100.0), (1.0, 70.0));
    for _ in 0..69 {
        flow.ack();
    }
    assert_eq!(flow.window.cwnd, 70.0, "slow start up to ssthresh, a segment on each ACK");
    flow.ack();
    let epoch = flow.rfc().epoch.unwrap();
    assert_eq!((epoch.k, epoch.plateau), (0.0, 70.0));
    near(epoch.cubic(3.0), 70.0 + 0.4 * 27.0, 1e-9);
}

#[test]
fn s4_8_the_stage_after_a_timeout_sets_w_max() {
    let mut flow = Flow::new(false, 100.0);
    flow.loss(Loss::Timeout, 100.0);
    (0..69).for_each(|_| _ = flow.ack()); // slow start from 1 to 70
    flow.ack();
    assert_eq!(flow.rfc().w_max, 70.0);
    flow.window.cwnd = 90.0;
    flow.loss(Loss::DupAcks, 90.0);
    assert_eq!(flow.rfc().w_max, 90.0, "90 is above 70: no fast convergence (§4.7)");
}

#[test]
fn s4_8_a_second_timeout_of_a_segment_is_no_new_event() {
    let mut flow = Flow::new(false, 100.0);
    flow.loss(Loss::Timeout, 100.0);
    let params = &flow.params;
    let again = LossEvent { ssthresh: SsthreshRule::Keep, ..LossEvent::simple(Loss::Timeout, 100.0, params) };
    flow.cubic.on_rto(&mut flow.window, &again);
    assert_eq!((flow.window.sizes(), flow.rfc().w_max, flow.rfc().prior), ((1.0, 70.0), 100.0, 100.0));
}

#[test]
fn s4_9_a_spurious_loss_restores_all() {
    let mut flow = Flow::new(false, 100.0);
    flow.loss(Loss::DupAcks, 100.0);
    flow.run(milliseconds(2000));
    let (sizes, before) = (flow.window.sizes(), flow.rfc().clone());
    flow.loss(Loss::DupAcks, 90.0);
    flow.cubic.on_undo(&mut flow.window, &Undo { pipe_prev: 90.0, cwnd: 20.0 });
    assert_eq!(flow.window.sizes(), sizes);
    assert_eq!(
        (flow.rfc().w_max, flow.rfc().prior, flow.rfc().epoch),
        (before.w_max, before.prior, before.epoch)
    );
}

#[test]
fn s4_9_a_spurious_timeout_is_answered_by_rfc_4015() {
    let mut flow = Flow::new(false, 100.0);
    flow.loss(Loss::Timeout, 100.0);
    flow.cubic.on_undo(&mut flow.window, &Undo { pipe_prev: 100.0, cwnd: 30.0 });
    assert_eq!((flow.window.sizes(), flow.rfc().w_max), ((30.0, 100.0), 0.0));
}

#[test]
fn s4_9_a_window_that_has_grown_beyond_is_kept() {
    let mut flow = Flow::new(false, 100.0);
    flow.loss(Loss::DupAcks, 100.0);
    flow.window.cwnd = 130.0;
    flow.cubic.on_undo(&mut flow.window, &Undo { pipe_prev: 100.0, cwnd: 30.0 });
    assert_eq!((flow.window.cwnd, flow.rfc().w_max), (130.0, 100.0));
    // §4.9.2: only a window that is "already higher than" the one before the loss.
    let mut flow = Flow::new(false, 100.0);
    let before = flow.window.sizes();
    flow.loss(Loss::DupAcks, 100.0);
    flow.window.cwnd = 100.0;
    flow.cubic.on_undo(&mut flow.window, &Undo { pipe_prev: 100.0, cwnd: 30.0 });
    assert_eq!((flow.window.sizes(), flow.rfc().w_max), (before, 0.0));
}

#[test]
fn s5_8_a_window_that_is_not_used_stays_and_the_clock_with_it() {
    let mut flow = Flow::new(false, 100.0);
    flow.loss(Loss::DupAcks, 100.0);
    flow.run(milliseconds(1000));
    let (before, elapsed) = (flow.window.cwnd, flow.now.since(flow.rfc().epoch.unwrap().start));
    for _ in 0..50 {
        flow.now += milliseconds(100);
        assert_eq!(flow.ack_of(1, 20), before);
    }
    assert_eq!(flow.now.since(flow.rfc().epoch.unwrap().start), elapsed);
    near(flow.run(milliseconds(1000)), 95.64, 1.0); // as at 2 s
}

#[test]
fn s4_2_idle_time_does_not_count() {
    let mut flow = Flow::new(false, 100.0);
    flow.loss(Loss::DupAcks, 100.0);
    flow.run(milliseconds(1000));
    let elapsed = flow.now.since(flow.rfc().epoch.unwrap().start);
    flow.now += Duration::from_secs(30);
    flow.cubic.on_resume(&mut flow.window, Duration::from_secs(30), flow.now);
    assert_eq!(flow.now.since(flow.rfc().epoch.unwrap().start), elapsed);
}

#[test]
fn linux_whole_numbers_of_a_loss() {
    assert_eq!(Flow::new(true, 100.0).loss(Loss::DupAcks, 50.0), (70.0, 70.0), "the window is cut");
    assert_eq!(Flow::new(true, 10.0).loss(Loss::DupAcks, 10.0), (7.0, 7.0)); // 7170 / 1024
    assert_eq!(Flow::new(true, 3.0).loss(Loss::DupAcks, 3.0), (2.0, 2.0));
    let mut flow = Flow::new(true, 100.0);
    flow.loss(Loss::DupAcks, 100.0);
    flow.window.cwnd = 80.0;
    flow.loss(Loss::DupAcks, 80.0);
    assert_eq!(flow.linux().last_max_cwnd, 68); // 80 · 1741 / 2048
}

#[test]
fn linux_counts_acknowledged_segments() {
    let mut flow = Flow::new(true, 100.0);
    flow.loss(Loss::DupAcks, 100.0);
    flow.ack();
    // 2^40 / 410 · 30 = 80,452,070,310: above 4316³, below 4317³.
    assert_eq!((flow.linux().k, flow.linux().origin), (4316, 100));
    // At 1 s: (4316 - 1024)³ · 410 / 2^40 = 13, target 87, and 70 / 17 = 4.
    flow.linux().delay_min = Duration::ZERO;
    assert_eq!(flow.linux().cubic(70, 1, 2000), 4);
    // With a delay_min of 100 ms t is 1126: 3190³ · 410 / 2^40 = 12, target 88, and 70 / 18 = 3.
    flow.linux().delay_min = milliseconds(100);
    assert_eq!(flow.linux().cubic(70, 1, 2000), 3);
    // At the plateau and above it: 100 windows.
    assert_eq!(flow.linux().cubic(100, 1, 1000 + 4115), 10_000);
}

#[test]
fn linux_grows_by_a_twentieth_before_the_first_loss() {
    let mut flow = Flow::new(true, 100.0);
    for acked in 1..=20 {
        assert_eq!(flow.ack(), if acked < 20 { 100.0 } else { 101.0 }, "after {acked} ACKs");
    }
    assert_eq!(flow.linux().per_segment, 20);
}

#[test]
fn linux_reno_window_grows_by_eight_fifteenths() {
    let mut law = State::default();
    // 7 · 15 / 8 = 13 segments for one more. The count is looked at again after 31 ms while the window stays.
    for acked in 1..=27 {
        law.update(7, 1, 40 * acked);
        assert_eq!(
            law.reno_cwnd,
            if acked <= 13 {
                7
            } else if acked <= 26 {
                8
            } else {
                9
            },
            "{acked}"
        );
    }
    assert_eq!(law.per_segment, 3, "7 / (9 - 7)");
    law.update(7, 13, 40 * 27 + 31);
    assert_eq!(law.reno_cwnd, 9);
}

#[test]
fn linux_slow_start_adds_what_is_acknowledged() {
    let mut flow = Flow::new(true, 10.0);
    flow.window.ssthresh = 14.0;
    assert_eq!(flow.ack_of(3, 10), 13.0);
    assert_eq!(flow.ack_of(3, 10), 14.0, "up to ssthresh; the rest counts for congestion avoidance");
    assert_eq!(flow.linux().growth.credit, 2);
    flow.una += 10; // the flight is over
    assert_eq!(flow.ack_of(1, 3), 14.0, "a window that is not used stays");
    assert_eq!(flow.linux().growth.credit, 2);
}

#[test]
fn linux_window_may_grow_to_twice_of_what_was_in_flight() {
    let mut flow = Flow::new(true, 10.0);
    flow.window.ssthresh = 100.0;
    // Nine in flight of a window of ten, and no more to send: 2, 4, 6, 8, 9 of them are acknowledged.
    let grown = [(2, 7), (2, 5), (2, 3), (2, 1), (1, 0)].map(|(acked, left)| flow.ack_of(acked, left));
    assert_eq!(grown, [12.0, 14.0, 16.0, 18.0, 18.0]);
    // One segment at a time: in the next window of data one was in flight, and the window is above two.
    assert_eq!(flow.ack_of(1, 1), 18.0);
    // Eighteen fill the window: it grows until all of them are acknowledged, also when few are left.
    assert_eq!([(1, 17), (16, 1), (1, 0)].map(|(acked, left)| flow.ack_of(acked, left)), [19.0, 35.0, 36.0]);
}

#[test]
fn linux_timeout_forgets_all_and_undo_takes_the_larger_window() {
    let mut flow = Flow::new(true, 100.0);
    flow.loss(Loss::DupAcks, 100.0);
    flow.now += Duration::from_secs(2);
    flow.ack();
    assert_eq!(flow.linux().delay_min, milliseconds(100));
    assert_eq!(flow.loss(Loss::Timeout, 70.0), (1.0, 49.0));
    assert_eq!((flow.linux().last_max_cwnd, flow.linux().delay_min), (0, Duration::ZERO));
    flow.cubic.on_undo(&mut flow.window, &Undo { pipe_prev: 70.0, cwnd: 10.0 });
    assert_eq!(flow.window.sizes(), (70.0, 70.0));
}

#[test]
fn linux_takes_no_sample_in_the_first_second_and_counts_no_idle_time() {
    let mut flow = Flow::new(true, 100.0);
    flow.loss(Loss::DupAcks, 100.0);
    flow.ack();
    flow.linux().delay_min = milliseconds(80);
    flow.rtt = milliseconds(50);
    flow.now += milliseconds(999);
    flow.ack();
    assert_eq!(flow.linux().delay_min, milliseconds(80));
    flow.now += milliseconds(1);
    flow.ack();
    assert_eq!(flow.linux().delay_min, milliseconds(50));
    flow.now += Duration::from_secs(5);
    let start = flow.linux().epoch_start.unwrap();
    flow.cubic.on_resume(&mut flow.window, Duration::from_secs(5), flow.now);
    assert_eq!(flow.linux().epoch_start.unwrap(), start + 5000);
}

/// The window of §4.2 and §4.3 in closed form, `seconds` after a loss at `w_max`, for a flow that always uses its
/// window. It is the larger of the cubic function and a line; the line has 9/17 segments per round trip, above `w_max`
/// one.
fn closed_form(w_max: f64, seconds: f64, rtt: f64) -> f64 {
    let k = libm::cbrt((w_max - 0.7 * w_max) / 0.4);
    let cubic = 0.4 * (seconds - k) * (seconds - k) * (seconds - k) + w_max;
    let alpha = 9.0 / 17.0;
    let reached = 0.3 * w_max / alpha * rtt; // when the line reaches w_max
    let line = match seconds < reached {
        true => 0.7 * w_max + alpha * seconds / rtt,
        false => w_max + (seconds - reached) / rtt,
    };
    cubic.max(line)
}

#[test]
fn the_window_is_that_of_the_closed_form_within_a_segment() {
    let mut rng = roamlab_engine::Rng::named(1, 1, "cubic");
    let (mut acks, mut worst) = (0_u32, 0.0_f64);
    while acks < 100_000 {
        let w_max = 20.0 + 400.0 * rng.uniform();
        let rtt = 0.01 + 0.2 * rng.uniform();
        let mut flow = Flow::new(false, w_max);
        flow.rtt = Duration::from_nanos((1e9 * rtt) as u64);
        flow.loss(Loss::DupAcks, w_max);
        let start = flow.now;
        for _ in 0..2000 {
            flow.now += Duration::from_nanos((1e9 * rtt / flow.window.cwnd) as u64);
            flow.ack();
            let seconds = flow.now.since(start).as_secs_f64();
            // The cubic target is a round trip ahead, and the window follows it by a round trip.
            let [least, most] = [0.0, 2.0 * rtt].map(|ahead| closed_form(w_max, seconds + ahead - rtt, rtt));
            let off = (least - flow.window.cwnd).max(flow.window.cwnd - most);
            worst = worst.max(off);
            acks += 1;
        }
    }
    assert!(worst < 1.0, "off by {worst} segments");
}

#[test]
fn in_linux_hystart_ends_slow_start_in_a_recovery_that_has_reduced_the_window_below_ssthresh() {
    let mut flow = Flow::new(true, 34.0);
    flow.cubic = Params { as_linux: true, ..Params::default() }.law();
    flow.window.segment = 1448;
    flow.window.ssthresh = 35.0;
    let mut measure = |una: u32, millis: u64| {
        flow.now += Duration::from_millis(5);
        let (now, nxt, rtt) = (flow.now, una + 50, Some(Duration::from_millis(millis)));
        let ack = AckEvent { now, una, nxt, rtt, srtt: flow.rtt, ..AckEvent::default() };
        flow.cubic.on_other_ack(&mut flow.window, &ack);
        flow.window.sizes()
    };
    measure(100, 20);
    // The next round: above 24 ms in nine samples (HYSTART_MIN_SAMPLES 8).
    assert_eq!((0..8).map(|_| measure(151, 60)).last(), Some((34.0, 35.0)));
    assert_eq!(measure(151, 60), (34.0, 34.0));
}

#[test]
fn s4_3_the_estimate_of_reno_has_its_own_slope_up_to_the_window_before_the_loss() {
    // alpha is 3 (1 - 0.7) / (1 + 0.7) until W_est reaches cwnd_prior, 80. W_max does not count, which fast convergence
    // makes 68.
    let mut flow = Flow::new(false, 100.0);
    flow.loss(Loss::DupAcks, 100.0);
    flow.window.cwnd = 80.0;
    flow.loss(Loss::DupAcks, 80.0);
    near(flow.rfc().w_max, 68.0, 1e-9);
    flow.window.cwnd = 70.0;
    let slope = |flow: &mut Flow| {
        let before = flow.rfc().epoch.map_or(flow.window.cwnd, |epoch| epoch.reno);
        let cwnd = flow.window.cwnd;
        flow.ack();
        (flow.rfc().epoch.unwrap().reno - before) * cwnd
    };
    near(slope(&mut flow), 9.0 / 17.0, 1e-9);
    let Laws::Own(cubic) = &mut flow.cubic else { panic!("the RFC's law") };
    cubic.law.epoch.as_mut().unwrap().reno = 80.0;
    near(slope(&mut flow), 1.0, 1e-9);
}

#[test]
fn linux_moves_an_epoch_by_the_idle_time_and_not_into_the_future() {
    // `cubictcp_cwnd_event`: the time since the latest transmission is added to the start, which is no later than now.
    let start = |idle, now| {
        let mut flow = Flow::new(true, 10.0);
        flow.linux().epoch_start = Some(3000);
        flow.cubic.on_resume(&mut flow.window, milliseconds(idle), Time::ZERO + milliseconds(now));
        flow.linux().epoch_start
    };
    assert_eq!(start(500, 4000), Some(3500));
    assert_eq!(start(1500, 4000), Some(4000));
}
