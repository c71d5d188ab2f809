//! The cycle of ProbeBW (§5.3.3): when to probe, how far, and the bound that results.

use super::model::{Bbr3, Mode, Sample};
use crate::controls::bbr::{FullPipe, mixed};
use crate::{AckEvent, Window};
use roamlab_engine::{Duration, Time};

/// Between two probes are two seconds, and up to one more at random.
const LEAST_WAIT: Duration = Duration::from_secs(2);
const RANDOM_WAIT: f64 = 1.0;
/// Most rounds between two probes, for the sake of Reno.
const RENO_ROUNDS: f64 = 63.0;
/// Most doublings of the growth of the long-term bound.
const MOST_DOUBLINGS: u32 = 30;

impl Bbr3 {
    /// `StartProbeBW_DOWN` with `PickProbeWait`.
    ///
    /// ASSUMPTION: the draft's random numbers; here they follow from the time, so that a run is repeatable.
    pub(super) fn start_down(&mut self, now: Time) {
        self.reset_signals();
        let random = mixed(now);
        let part = (random >> 11) as f64 / (1_u64 << 53) as f64;
        self.cycle.acked_per_inc = f64::INFINITY;
        self.cycle.rounds_since_up = (random & 1) as u32;
        self.cycle.wait = LEAST_WAIT + Duration::from_nanos((RANDOM_WAIT * part * 1e9) as u64);
        self.cycle.start = now;
        self.cycle.stops = true;
        self.start_round();
        self.mode = Mode::Down;
    }

    /// `StartProbeBW_REFILL`.
    pub(super) fn start_refill(&mut self) {
        self.forget_short_term();
        (self.cycle.up_rounds, self.cycle.up_acked) = (0, 0.0);
        self.cycle.precautionary = false;
        self.cycle.stops = false;
        self.start_round();
        self.mode = Mode::Refill;
    }

    /// `StartProbeBW_UP`.
    fn start_up(&mut self, window: &Window, sample: &Sample) {
        self.start_round();
        self.search_full_pipe(sample);
        self.mode = Mode::Up;
        self.raise_slope(window);
    }

    /// The search for a full pipe begins with the current rate.
    fn search_full_pipe(&mut self, sample: &Sample) {
        self.full_pipe = FullPipe::beginning_with(sample.rate);
        self.full_now = false;
    }

    /// `UpdateProbeBWCyclePhase`.
    pub(super) fn update_cycle(&mut self, window: &Window, sample: &Sample, ack: &AckEvent) {
        if !self.full || self.adapt_long_term(window, sample, ack) {
            return;
        }
        let mode = self.mode;
        match mode {
            Mode::Down | Mode::Cruise if self.is_time_to_probe(window, ack.now) => self.start_refill(),
            Mode::Down if self.is_time_to_cruise(window, ack) => self.mode = Mode::Cruise,
            Mode::Refill if self.round_start => {
                self.cycle.is_probe_sample = true;
                self.start_up(window, sample);
            }
            Mode::Up if self.is_time_to_go_down(window, sample, ack) => {
                self.cycle.too_high = false;
                self.start_down(ack.now);
            }
            _ => {}
        }
    }

    /// `IsTimeToProbeBW`.
    fn is_time_to_probe(&self, window: &Window, now: Time) -> bool {
        let rounds = self.target_inflight(window).min(RENO_ROUNDS);
        now > self.cycle.start + self.cycle.wait || f64::from(self.cycle.rounds_since_up) >= rounds
    }

    /// `IsTimeToCruise`.
    fn is_time_to_cruise(&self, window: &Window, ack: &AckEvent) -> bool {
        let most = self.inflight_with_headroom().min(self.inflight(self.max_rate.get(), window));
        f64::from(ack.in_network()) <= most
    }

    /// `IsTimeToGoDown`.
    fn is_time_to_go_down(&mut self, window: &Window, sample: &Sample, ack: &AckEvent) -> bool {
        if self.cycle.too_high && f64::from(ack.in_network()) >= self.bounds.inflight_long {
            self.cycle.precautionary = true;
            return true;
        }
        if self.is_at_bound(window) {
            self.search_full_pipe(sample); // the bound limits the rate
            return false;
        }
        self.full_now
    }

    /// True if the flight fills a window that is at the long-term bound.
    fn is_at_bound(&self, window: &Window) -> bool {
        self.filled.contains(&true) && window.cwnd >= self.bounds.inflight_long
    }

    /// `AdaptLongTermModel`: true if it has begun a mode.
    pub(super) fn adapt_long_term(&mut self, window: &Window, sample: &Sample, ack: &AckEvent) -> bool {
        if self.cycle.stops && self.round_start {
            self.cycle.is_probe_sample = false;
            self.cycle.stops = false;
            if self.mode.is_probe_bw() && !sample.app_limited {
                self.max_rate.advance();
            }
            if self.mode.is_probe_bw() && self.cycle.precautionary && !self.cycle.too_high {
                self.start_refill();
                return true;
            }
        }
        if !self.is_too_high(sample) && self.bounds.inflight_long < f64::INFINITY {
            self.bounds.inflight_long = self.bounds.inflight_long.max(sample.in_flight);
            if self.mode == Mode::Up {
                self.raise_bound(window, ack);
            }
        }
        false
    }

    /// `RaiseInflightLongtermSlope`.
    pub(super) fn raise_slope(&mut self, window: &Window) {
        let growth = f64::from(1_u32 << self.cycle.up_rounds);
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(MOST_DOUBLINGS);
        self.cycle.acked_per_inc = (window.cwnd / growth).max(1.0);
    }

    /// `ProbeInflightLongtermUpward`.
    pub(super) fn raise_bound(&mut self, window: &Window, ack: &AckEvent) {
        if !self.is_at_bound(window) {
            return;
        }
        self.cycle.up_acked += f64::from(ack.acked);
        let increase = (self.cycle.up_acked / self.cycle.acked_per_inc).floor();
        if increase >= 1.0 {
            self.cycle.up_acked -= increase * self.cycle.acked_per_inc;
            self.bounds.inflight_long += increase;
        }
        if self.round_start {
            self.raise_slope(window);
        }
    }
}
