//! Prague: DCTCP for the Internet (draft-briscoe-iccrg-prague-congestion-control-04; its code, `tcp_prague.c`).
//!
//! As in DCTCP an echo of congestion reduces the window by half of the average share of marked segments. Accurate ECN
//! reports the number of marks, segments are ECT(1), and the sender paces. Each segment that is not marked opens the window,
//! also on an ACK that echoes. On a short path a flow grows, averages and reduces as one of a longer round-trip time.
//!
//! DEVIATION: that code looks for a queue that marks by RFC 3168 (off by default) and falls back to Reno without accurate ECN.
//! Here both ends of a flow have it, and the scenario specifies the queue.

use crate::SpecError;
use crate::controls::reno::{MIN_SSTHRESH, Reno};
use crate::{AckEvent, Algorithm, Feedback, Loss, LossEvent, Properties, SsthreshRule, Window};
use roamlab_engine::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Part of a second that a burst may take at the pacing rate (§2.5.2; `prague_burst_shift` 12).
const BURST_SECONDS: f64 = 1.0 / 4096.0;

/// Its parameters.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Weight of the latest round in the average (§2.3.2; `PRAGUE_SHIFT_G` 4).
    pub gain: f64,
    /// A flow with a shorter round-trip time behaves as one with this (§2.4.4; `prague_rtt_target`); "0 s": as its own.
    pub virtual_rtt: Duration,
    /// The number of round trips after slow start at which that begins (§2.4.4; `prague_rtt_transition`).
    pub transition: u32,
}

impl Default for Params {
    fn default() -> Params {
        Params { gain: 1.0 / 16.0, virtual_rtt: Duration::from_millis(25), transition: 500 }
    }
}

impl Params {
    pub fn check(&self) -> Result<(), SpecError> {
        if self.gain > 0.0 && self.gain <= 1.0 {
            return Ok(());
        }
        let message = format!("gain must be above 0 and at most 1; write 0.0625, not {}", self.gain);
        Err(("congestion_control", message))
    }
}

/// Prague's congestion control.
#[derive(Clone, Debug)]
pub struct Prague {
    params: Params,
    /// The average share of marked segments, and the one before this ACK, by which an echo reduces.
    alpha: f64,
    alpha_before: f64,
    /// A mark has been reported: before that the average stays (`saw_ce`).
    saw_mark: bool,
    /// The round ends with the ACK of all that was sent at its start.
    round_end: u32,
    /// Segments acknowledged in it, and those that were marked.
    acked: u32,
    marked: u32,
    /// Rounds behind slow start.
    rounds: u32,
    averaged: Time,
    reduced: Option<Time>,
    /// The window that the latest echo has left, until a loss is found.
    left: Option<f64>,
    /// A loss is being repaired: the window does not grow.
    in_loss: bool,
    in_slow_start: bool,
    reno: Reno,
}

impl Prague {
    pub fn new(params: &Params) -> Prague {
        Prague {
            params: *params,
            alpha: 1.0,
            alpha_before: 1.0,
            saw_mark: false,
            round_end: 0,
            acked: 0,
            marked: 0,
            rounds: 0,
            averaged: Time::ZERO,
            reduced: None,
            left: None,
            in_loss: false,
            in_slow_start: true,
            reno: Reno,
        }
    }

    /// True if a virtual round trip that began at `begin` is not over (§2.4.4).
    fn is_within_virtual_rtt(&self, begin: Time, now: Time) -> bool {
        self.is_independent() && now.since(begin) < self.params.virtual_rtt
    }

    /// True if it behaves as a flow with the virtual round-trip time.
    fn is_independent(&self) -> bool {
        !self.in_slow_start && self.rounds >= self.params.transition
    }

    /// Segments that were not marked open the window. In slow start each adds one, up to ssthresh; then a whole window
    /// adds one (§2.4.3). On a shorter path that is multiplied by the square of the ratio of round-trip times (§2.4.4).
    fn grow(&mut self, window: &mut Window, ack: &AckEvent) {
        let mut left = f64::from(ack.acked - ack.marked);
        if left == 0.0 || !window.is_used(ack) {
            return;
        }
        if window.cwnd < window.ssthresh {
            let step = left.min(window.ssthresh - window.cwnd);
            window.grow(step);
            left -= step;
        }
        window.grow(self.scale(ack.srtt) * left / window.cwnd);
    }

    fn scale(&self, srtt: Duration) -> f64 {
        if !self.is_independent() || srtt >= self.params.virtual_rtt {
            return 1.0;
        }
        let ratio = srtt.as_secs_f64() / self.params.virtual_rtt.as_secs_f64();
        ratio * ratio
    }

    /// §2.5.1: a window in each round trip, in slow start two; §2.5.2: in bursts of a quarter of a millisecond.
    fn pace(&self, window: &mut Window, ack: &AckEvent) {
        if ack.srtt == Duration::ZERO {
            return;
        }
        let gain = if window.cwnd < window.ssthresh / 2.0 { 2.0 } else { 1.0 };
        let rate = gain * window.cwnd.max(f64::from(ack.in_flight)) / ack.srtt.as_secs_f64();
        window.pacing_rate = rate;
        window.burst = ((rate * BURST_SECONDS) as u32).max(1);
    }
}

impl Algorithm for Prague {
    fn properties(&self) -> Properties {
        Properties {
            needs_ecn: true,
            needs_accecn: true,
            sends_ect1: true,
            paces: true,
            reduces_behind_echo: true,
            ..Properties::PLAIN
        }
    }

    fn ignores_echo(&self, now: Time) -> bool {
        self.reduced.is_some_and(|reduced| self.is_within_virtual_rtt(reduced, now))
    }

    /// §2.3.2: once in a round trip, and on a short path in a virtual one.
    fn on_feedback(&mut self, feedback: &Feedback) {
        self.alpha_before = self.alpha;
        self.acked += feedback.acked;
        self.marked += feedback.marked;
        self.saw_mark |= feedback.marked > 0;
        let ends = feedback.ack >= self.round_end && self.acked > 0;
        if !ends || self.is_within_virtual_rtt(self.averaged, feedback.now) {
            return;
        }
        if self.saw_mark {
            let share = f64::from(self.marked.min(self.acked)) / f64::from(self.acked);
            self.alpha += self.params.gain * (share - self.alpha);
            self.averaged = feedback.now;
        }
        (self.round_end, self.acked, self.marked) = (feedback.nxt, 0, 0);
        self.rounds = self.rounds.saturating_add(u32::from(!self.in_slow_start));
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        self.in_loss = false;
        self.grow(window, ack);
        self.in_slow_start = window.cwnd < window.ssthresh;
        self.pace(window, ack);
    }

    fn on_other_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        if ack.marked > 0 && !self.in_loss {
            self.grow(window, ack);
        }
        self.pace(window, ack);
    }

    /// §2.4.2 for an echo; §2.4.1: a loss is answered as in RFC 5681, where an echo of the same window has reduced together
    /// with that.
    fn on_loss(&mut self, window: &mut Window, loss: &LossEvent) {
        self.in_slow_start = false;
        if loss.kind != Loss::Echo {
            self.in_loss = true;
            let left = self.left.take().filter(|_| loss.ssthresh == SsthreshRule::Lower).unwrap_or(1.0);
            return self.reno.on_loss(window, &LossEvent { in_use: loss.in_use / left, ..*loss });
        }
        self.reduced = Some(loss.now);
        let left = (window.cwnd * (1.0 - self.alpha_before / 2.0)).max(MIN_SSTHRESH);
        self.left = Some(left / window.cwnd);
        window.cut(left, left, loss);
    }

    fn on_rto(&mut self, window: &mut Window, loss: &LossEvent) {
        self.on_loss(window, loss);
        window.cwnd = 1.0; // RFC 5681 §3.1
        self.in_slow_start = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ControlParams;
    use crate::params::connections::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn tcp() -> ControlParams {
        RFC
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "expected {expected}, found {found}");
    }

    /// A flow after slow start with a window of `cwnd` segments.
    fn flow(params: Params, cwnd: f64) -> (Prague, Window) {
        let window = Window { ssthresh: 2.0, ..Window::new(cwnd, &tcp()) };
        (Prague { in_slow_start: false, ..Prague::new(&params) }, window)
    }

    fn ack(acked: u32, marked: u32, srtt: u64) -> AckEvent {
        AckEvent { acked, marked, in_flight: 1_000, srtt: Duration::from_millis(srtt), ..AckEvent::default() }
    }

    /// A round of 20 segments, of which `marked` are marked.
    fn round(prague: &mut Prague, marked: u32, now: u64) -> f64 {
        let ack = prague.round_end;
        prague.on_feedback(&Feedback { ack, acked: 20, marked, nxt: ack + 20, now: at(now) });
        prague.alpha
    }

    #[test]
    fn the_average_begins_with_the_first_mark() {
        let (mut prague, _) = flow(Params::default(), 20.0);
        (0..50).for_each(|_| assert_eq!(round(&mut prague, 0, 0), 1.0));
        near(round(&mut prague, 5, 0), 0.953_125); // 15/16 + 0.25/16
        near(round(&mut prague, 0, 0), 0.893_554_687_5); // 15/16 of it
        (0..400).for_each(|_| _ = round(&mut prague, 2, 0));
        near(prague.alpha, 0.1);
    }

    #[test]
    fn a_round_ends_with_the_ack_of_what_was_sent_at_its_start() {
        let (mut prague, _) = flow(Params { gain: 1.0, ..Params::default() }, 20.0);
        let mut feed = |ack, acked, marked| {
            prague.on_feedback(&Feedback { ack, acked, marked, nxt: ack + 10, now: at(0) });
            (prague.round_end, (prague.alpha * 1000.0).round())
        };
        assert_eq!(feed(2, 1, 1), (12, 1000.0), "the first ACK");
        assert_eq!(feed(11, 9, 1), (12, 1000.0));
        assert_eq!(feed(12, 1, 1), (22, 200.0), "2 of 10");
    }

    #[test]
    fn an_echo_leaves_all_but_half_of_the_average_and_two_segments() {
        let params = tcp();
        let after = |alpha, cwnd| {
            let (mut prague, mut window) = flow(Params::default(), cwnd);
            prague.alpha_before = alpha;
            prague.on_loss(&mut window, &LossEvent::simple(Loss::Echo, cwnd, &params));
            (window.cwnd, window.ssthresh)
        };
        assert_eq!(after(1.0, 20.0), (10.0, 10.0));
        assert_eq!(after(0.25, 20.0), (17.5, 17.5));
        assert_eq!(after(1.0, 3.0), (2.0, 2.0));
    }

    #[test]
    fn a_loss_behind_an_echo_leaves_half_of_the_window_before_both() {
        let params = tcp();
        let (mut prague, mut window) = flow(Params::default(), 20.0);
        prague.alpha_before = 0.2;
        prague.on_loss(&mut window, &LossEvent::simple(Loss::Echo, 20.0, &params));
        near(window.cwnd, 18.0);
        let behind = |in_use| LossEvent {
            ssthresh: SsthreshRule::Lower,
            ..LossEvent::simple(Loss::DupAcks, in_use, &params)
        };
        prague.on_loss(&mut window, &behind(18.0));
        near(window.cwnd, 10.0);
        prague.on_loss(&mut window, &behind(10.0)); // of a retransmission
        near(window.cwnd, 5.0);
        prague.on_loss(&mut window, &LossEvent::simple(Loss::Echo, 5.0, &params));
        prague.on_loss(&mut window, &LossEvent::simple(Loss::DupAcks, 20.0, &params)); // of the next window
        near(window.cwnd, 10.0);
    }

    #[test]
    fn segments_without_a_mark_open_the_window() {
        let (mut prague, mut window) = flow(Params::default(), 20.0);
        prague.on_ack(&mut window, &ack(4, 0, 100));
        near(window.cwnd, 20.2);
        prague.on_other_ack(&mut window, &ack(4, 3, 100));
        near(window.cwnd, 20.2 + 1.0 / 20.2);
        let before = window.cwnd;
        prague.on_other_ack(&mut window, &ack(2, 2, 100));
        prague.on_other_ack(&mut window, &ack(2, 0, 100)); // a duplicate ACK
        assert_eq!(window.cwnd, before);
        prague.on_loss(&mut window, &LossEvent::simple(Loss::DupAcks, 20.0, &tcp()));
        prague.on_other_ack(&mut window, &ack(4, 1, 100));
        assert_eq!(window.cwnd, 10.0, "none while a loss is being repaired");
    }

    #[test]
    fn a_short_path_grows_as_a_long_one() {
        let (mut prague, mut window) = flow(Params { transition: 3, ..Params::default() }, 20.0);
        prague.on_ack(&mut window, &ack(20, 0, 10));
        near(window.cwnd, 21.0);
        (0..3).for_each(|_| _ = round(&mut prague, 0, 0));
        prague.on_ack(&mut window, &ack(21, 0, 10));
        near(window.cwnd, 21.16); // (10 ms / 25 ms)² = 0.16
        window.cwnd = 20.0;
        prague.on_ack(&mut window, &ack(20, 0, 25));
        near(window.cwnd, 21.0);
    }

    #[test]
    fn a_short_path_averages_and_reduces_once_in_a_virtual_round_trip() {
        let (mut prague, mut window) = flow(Params { transition: 0, gain: 1.0, ..Params::default() }, 20.0);
        near(round(&mut prague, 10, 100), 0.5);
        near(round(&mut prague, 20, 110), 0.5);
        near(round(&mut prague, 0, 125), 0.5); // 20 of 40
        assert!(!prague.ignores_echo(at(125)));
        let params = tcp();
        let loss = LossEvent { now: at(125), ..LossEvent::simple(Loss::Echo, 20.0, &params) };
        prague.on_loss(&mut window, &loss);
        assert_eq!((prague.ignores_echo(at(149)), prague.ignores_echo(at(150))), (true, false));
    }

    #[test]
    fn the_rate_is_a_window_in_each_round_trip() {
        let (mut prague, mut window) = flow(Params::default(), 20.0);
        prague.on_ack(&mut window, &AckEvent { in_flight: 19, ..ack(1, 0, 100) });
        near(window.pacing_rate, 200.5);
        window.ssthresh = 41.0;
        prague.on_other_ack(&mut window, &AckEvent { in_flight: 19, ..ack(0, 0, 100) });
        near(window.pacing_rate, 401.0);
        assert_eq!(window.burst, 1);
        prague.on_other_ack(
            &mut window,
            &AckEvent { in_flight: 19, srtt: Duration::from_micros(500), ..ack(0, 0, 0) },
        );
        assert_eq!((window.pacing_rate, window.burst), (80_200.0, 19));
    }

    #[test]
    fn a_gain_outside_its_range_is_refused() {
        for gain in [0.0, 1.1, f64::NAN] {
            assert!(Params { gain, ..Params::default() }.check().unwrap_err().1.contains("0.0625"));
        }
    }

    #[test]
    fn rounds_of_slow_start_do_not_count_for_the_transition() {
        let (mut prague, _) = flow(Params { transition: 2, ..Params::default() }, 20.0);
        prague.in_slow_start = true;
        (0..5).for_each(|_| _ = round(&mut prague, 0, 0));
        prague.in_slow_start = false;
        assert!(!prague.is_independent());
        let after: Vec<bool> =
            (0..2).map(|_| (round(&mut prague, 0, 0), prague.is_independent()).1).collect();
        assert_eq!(after, [false, true]);
    }

    #[test]
    fn a_timeout_begins_slow_start_whose_rounds_do_not_count_for_the_transition() {
        // §2.4.4: it depends on round trips after slow start. Until then a flow behaves according to its own round-trip
        // time.
        let (mut prague, mut window) = flow(Params { transition: 1, ..Params::default() }, 20.0);
        round(&mut prague, 0, 0);
        assert_eq!((prague.is_independent(), prague.rounds), (true, 1));
        prague.on_rto(&mut window, &LossEvent::simple(Loss::Timeout, 20.0, &tcp()));
        round(&mut prague, 0, 100);
        assert_eq!((prague.is_independent(), prague.rounds, window.cwnd), (false, 1, 1.0));
    }
}
