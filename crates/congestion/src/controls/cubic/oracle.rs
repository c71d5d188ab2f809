//! CUBIC of `s2n-quic-core` on the same random sequences of ACKs and losses: the windows are within a segment of each other.
//!
//! That crate has RFC 8312. Where RFC 9438 differs by design, the harness gives our side what RFC 8312 would have there
//! (docs/models/cubic.md lists these places). Nothing else is adjusted.

use super::*;
use crate::ControlParams;
use crate::params::connections::*;
use roamlab_engine::Rng;
use s2n_quic_core::event::builder::{BbrState, SlowStartExitCause};
use s2n_quic_core::packet::number::PacketNumberSpace;
use s2n_quic_core::random::Generator;
use s2n_quic_core::recovery::bandwidth::{Bandwidth, RateSample};
use s2n_quic_core::recovery::congestion_controller::Publisher;
use s2n_quic_core::recovery::{CongestionController, CubicCongestionController, RttEstimator};
use s2n_quic_core::time::{Clock, NoopClock, Timestamp};
use std::time::Duration as Span;

const MTU: u16 = 1200;
/// Least window in segments at which theirs leaves slow start.
const LOW_THRESHOLD: f64 = 16.0;

/// Takes no notice of what the other side publishes, and gives it no randomness.
struct Silent;

impl Publisher for Silent {
    fn on_slow_start_exited(&mut self, _: SlowStartExitCause, _: u32) {}
    fn on_delivery_rate_sampled(&mut self, _: RateSample) {}
    fn on_pacing_rate_updated(&mut self, _: Bandwidth, _: u32, _: num_rational::Ratio<u64>) {}
    fn on_bbr_state_changed(&mut self, _: BbrState) {}
}

impl Generator for Silent {
    fn public_random_fill(&mut self, dest: &mut [u8]) {
        dest.fill(0);
    }

    fn private_random_fill(&mut self, dest: &mut [u8]) {
        dest.fill(0);
    }
}

/// Both sides of a flow that always fills its window.
struct Pair {
    ours: Cubic,
    window: Window,
    params: ControlParams,
    theirs: CubicCongestionController,
    estimator: RttEstimator,
    now: Span,
    in_flight: u32,
    /// The windows at the latest loss (`W_last_max` of RFC 8312 §4.6).
    last_max: f64,
    their_last_max: f64,
    /// The lowest threshold of slow start so far.
    threshold: f64,
    /// When the latest ACK came, if it was in slow start.
    slow_start_end: Option<Time>,
    una: u32,
    reno_is_theirs: bool,
}

fn ours(time: Span) -> Time {
    Time::from_nanos(time.as_nanos() as u64)
}

fn theirs(time: Span) -> Timestamp {
    NoopClock.get_time() + time
}

impl Pair {
    fn new() -> Pair {
        let params = RFC;
        let mut pair = Pair {
            ours: Cubic::new(&Params { slow_start: Some(SlowStart::Standard), ..Params::default() }),
            window: Window::new(10.0, &params),
            params,
            theirs: CubicCongestionController::new(MTU, Default::default()),
            estimator: RttEstimator::default(),
            now: Span::from_secs(1),
            in_flight: 0,
            last_max: 0.0,
            their_last_max: 0.0,
            threshold: f64::INFINITY,
            slow_start_end: None,
            una: 1,
            reno_is_theirs: true,
        };
        pair.fill();
        pair
    }

    fn their_cwnd(&self) -> f64 {
        f64::from(self.theirs.congestion_window()) / f64::from(MTU)
    }

    /// True if fast convergence applies on both sides or on neither. Where the window at a loss is that of the loss
    /// before, a hundredth of a segment decides.
    fn converges_alike(&self) -> bool {
        (self.window.cwnd < self.last_max) == (self.their_cwnd() < self.their_last_max)
    }

    fn difference(&self) -> f64 {
        (self.window.cwnd - self.their_cwnd()).abs()
    }

    /// Slow start adds whole segments. Where the threshold is a whole number too, rounding to single precision, which theirs
    /// has, decides about one more.
    fn threshold_is_clear(&self) -> bool {
        let threshold = self.threshold.min(BETA * self.their_cwnd()).max(LOW_THRESHOLD);
        threshold == LOW_THRESHOLD || (threshold - threshold.round()).abs() > 0.01
    }

    /// Packets go out until both windows are full.
    fn fill(&mut self) {
        while f64::from(self.in_flight) < self.window.cwnd.max(self.their_cwnd()).ceil() {
            self.theirs.on_packet_sent(
                theirs(self.now),
                usize::from(MTU),
                Some(false),
                &self.estimator,
                &mut Silent,
            );
            self.in_flight += 1;
        }
    }

    /// A packet that was sent after the latest loss, `rtt` ago, is acknowledged `after` the event before.
    fn ack(&mut self, rtt: Span, after: Span) {
        self.now += after;
        let space = PacketNumberSpace::ApplicationData;
        self.estimator.update_rtt(Span::ZERO, rtt, theirs(self.now), true, space);
        self.una += 1;
        let min = self.estimator.min_rtt();
        let ack = AckEvent {
            now: ours(self.now),
            una: self.una,
            nxt: self.una + self.in_flight,
            acked: 1,
            in_flight: self.in_flight - 1,
            srtt: Duration::from_nanos(min.as_nanos() as u64), // theirs takes the shortest
            ..AckEvent::default()
        };
        if self.reno_is_theirs {
            self.give_reno();
        }
        let slow_start = self.window.cwnd < self.window.ssthresh;
        self.ours.on_ack(&mut self.window, &ack);
        self.give_start(slow_start);
        self.ack_theirs(self.now);
        self.fill();
    }

    fn ack_theirs(&mut self, sent: Span) {
        let (sent, now) = (theirs(sent), theirs(self.now));
        let size = usize::from(MTU);
        self.theirs.on_ack(sent, size, (), &self.estimator, &mut Silent, now, &mut Silent);
        self.in_flight -= 1;
    }

    /// A stage behind a slow start begins for them with the ACK that ends it, for us with the next one.
    fn give_start(&mut self, slow_start: bool) {
        let law = &mut self.ours.law;
        if slow_start {
            self.slow_start_end = Some(ours(self.now));
        } else if let (Some(end), Some(epoch)) = (self.slow_start_end.take(), &mut law.epoch) {
            epoch.start = end;
        }
    }

    fn is_in_renos_region(&self) -> bool {
        let law = &self.ours.law;
        law.epoch
            .is_some_and(|epoch| epoch.cubic(ours(self.now).since(epoch.start).as_secs_f64()) < epoch.reno)
    }

    /// RFC 8312 §4.2: Reno's window is a function of the time alone.
    fn give_reno(&mut self) {
        let (now, rtt, cwnd) = (ours(self.now), self.estimator.min_rtt(), self.window.cwnd);
        let law = &mut self.ours.law;
        if let Some(epoch) = &mut law.epoch {
            let seconds = now.since(epoch.start).as_secs_f64();
            let alpha = if epoch.reno >= law.prior { 1.0 } else { ALPHA };
            epoch.reno = BETA * epoch.plateau + ALPHA * seconds / rtt.as_secs_f64() - alpha / cwnd;
        }
    }

    /// A packet is lost; the recovery period takes a round trip in which the rest of the window is acknowledged.
    fn lose(&mut self, persistent: bool, rtt: Span) {
        let start = self.now;
        let law = &mut self.ours.law;
        law.w_max = self.last_max; // RFC 8312 §4.6; RFC 9438 §4.7 compares with what fast convergence has left
        (self.last_max, self.their_last_max) = match persistent {
            true => (0.0, 0.0),
            false => (self.window.cwnd, self.their_cwnd()),
        };
        let (in_use, now, params) = (self.window.cwnd, ours(start), self.params);
        self.threshold = self.threshold.min(BETA * self.their_cwnd()).max(LOW_THRESHOLD);
        let kind = if persistent { Loss::Timeout } else { Loss::DupAcks };
        self.slow_start_end = None;
        let loss = LossEvent { now, least_cwnd: 2.0, ..LossEvent::simple(kind, in_use, &params) };
        if persistent {
            self.ours.on_rto(&mut self.window, &loss);
            self.window.cwnd = 2.0; // RFC 9002 §7.6.2
        } else {
            self.ours.on_loss(&mut self.window, &loss);
        }
        if persistent {
            self.window.ssthresh = self.threshold; // theirs never rises, and has a lower bound
        }
        let size = u32::from(MTU);
        self.theirs.on_packet_lost(size, (), persistent, true, &mut Silent, theirs(start), &mut Silent);
        self.in_flight -= 1;
        self.now += rtt;
        if !persistent {
            while f64::from(self.in_flight) > self.window.cwnd {
                self.ack_theirs(start);
            }
        }
        self.fill();
    }
}

/// A random sequence of ACKs and losses: the largest difference of the windows in segments, and the number of ACKs.
fn run(number: u64) -> (f64, u32) {
    let mut rng = Rng::named(1, number, "cubic");
    let mut below = |end: u32| (rng.uniform() * f64::from(end)) as u32;
    let shortest = f64::from(10 + below(290)) / 1e3;
    let mut pair = Pair::new();
    let (mut worst, mut acks) = (0.0_f64, 0);
    for _ in 0..1 + below(6) {
        let mut left = 1 + below(600);
        while left > 0 || !pair.converges_alike() {
            let rtt = shortest * (1.0 + f64::from(below(100)) / 100.0);
            let after = rtt / pair.window.cwnd * f64::from(below(200)) / 100.0;
            pair.ack(seconds(rtt), seconds(after));
            (left, acks) = (left.saturating_sub(1), acks + 1);
            worst = worst.max(pair.difference());
        }
        let persistent = below(10) == 0 && pair.threshold_is_clear();
        pair.lose(persistent, seconds(shortest));
        worst = worst.max(pair.difference());
    }
    (worst, acks)
}

/// In microseconds, the unit of their clock.
fn seconds(count: f64) -> Span {
    Span::from_micros((1e6 * count) as u64)
}

#[test]
fn the_window_is_within_a_segment_of_theirs() {
    #[expect(clippy::disallowed_methods, reason = "a test may be asked for more")]
    let wanted = std::env::var("ROAMLAB_SEQUENCES").ok().and_then(|count| count.parse().ok());
    for number in 0..wanted.unwrap_or(3_000) {
        let (worst, acks) = run(number);
        assert!(worst <= 1.0, "sequence {number}: {worst} segments within {acks} ACKs");
    }
}

/// RFC 9438 §4.3 counts Reno's window by ACKs, RFC 8312 §4.2 by time: the same with a window of ACKs in each round trip.
/// Up to the window before the loss: from there on RFC 9438 adds a whole segment per round trip.
#[test]
fn renos_window_is_within_a_segment_of_theirs() {
    for (rtt, largest) in [(5, 20), (10, 40), (20, 60), (30, 30)] {
        let rtt = f64::from(rtt) / 1e3;
        let mut pair = Pair { reno_is_theirs: false, ..Pair::new() };
        while pair.window.cwnd < f64::from(largest) {
            pair.ack(seconds(rtt), seconds(rtt / pair.window.cwnd));
        }
        let before = pair.window.cwnd;
        pair.lose(false, seconds(rtt));
        let mut in_renos = 0;
        while pair.window.cwnd < before {
            pair.ack(seconds(rtt), seconds(rtt / pair.window.cwnd));
            in_renos += u32::from(pair.is_in_renos_region());
            assert!(pair.difference() <= 1.0, "{rtt} s: {} and {}", pair.window.cwnd, pair.their_cwnd());
        }
        assert!(in_renos > largest, "{rtt} s: Reno's window counted {in_renos} times");
    }
}
