//! BBR version 3 (draft-ietf-ccwg-bbr-06).
//!
//! A model of the path sets the pacing rate and the window: the highest delivery rate of two probing cycles, the shortest
//! round-trip time of ten seconds, and bounds from losses. While the flow probes, a loss rate above 2 % bounds what is in
//! flight for the long term. At other times each round with a loss lowers rate and flight for the short term. Names and
//! steps are those of the draft; what versions 1 and 3 share is in `bbr`.
//!
//! Rates are in segments per second, volumes in segments.
//!
//! DEVIATION: losses that an ACK reveals are counted behind the ACK.
//! DEVIATION: the draft's `NoteLoss` saves the state for an undo with each first loss of a round, also in a recovery, and
//! what is saved last may be what the loss has made of it. Here, as in its text (§5.5.11.1), the state is saved when a
//! recovery begins.
//! DEVIATION: bursts are those of `pacing.rs`, which §5.6.3 permits.
//! ASSUMPTION: the draft demands that an echo of congestion counts as congestion, and leaves open how much (§3.7). Here it
//! counts as a loss rate above the threshold.

mod cycle;
mod losses;
mod model;

use crate::LostSegment;
use crate::controls::bbr::{AckEpoch, MARGIN, NOMINAL_RTT};
use crate::{AckEvent, Algorithm, Loss, LossEvent, NewPath, Properties, RecoveryStep, Undo, Window};
pub use model::Bbr3;
use model::{LEAST_CWND, Mode, PROBE_RTT, PROBE_RTT_GAIN, Recovery, Sample};
use roamlab_engine::{Duration, Time};

pub use crate::NoParams as Params;

/// How long the shortest round-trip time is kept (MinRTTFilterLen), and how long ProbeRTT can wait (ProbeRTTInterval).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
/// Rounds that excess ACKs are remembered (ExtraAckedFilterLen), and in Startup.
const EXCESS_ROUNDS: u32 = 10;
const STARTUP_EXCESS_ROUNDS: u32 = 1;
/// Rounds after which Drain ends in any case.
const DRAIN_ROUNDS: u32 = 3;
/// Segments of a burst at least.
const LEAST_BURST: u32 = 2;

impl Algorithm for Bbr3 {
    fn records_segments(&self, _window: &Window) -> bool {
        true
    }

    fn properties(&self) -> Properties {
        Properties { paces: true, keeps_min_rtt: true, probes_rtt: true, ..Properties::PLAIN }
    }

    fn on_start(&mut self, window: &mut Window, initial_window: f64) {
        window.cwnd = initial_window;
        self.initial_window = Some(initial_window);
        self.pace_at_first(window);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        self.on_other_ack(window, ack);
    }

    /// `UpdateOnACK`.
    fn on_other_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        self.has_sack = ack.has_sack;
        self.note_rtt(window, ack);
        let sample = Sample::of(ack, self.min_rtt.ever);
        let echoed = std::mem::take(&mut self.echoed);
        match ack.rate {
            Some(rate) => self.delivered = rate.prior_delivered + rate.delivered,
            None => self.delivered += ack.acked,
        }
        if self.recovery != Recovery::None && !ack.recovering {
            self.recovery = Recovery::None;
            window.set(self.prior.restored(window.cwnd));
        }
        self.update_latest(&sample);
        self.update_round(window, &sample, ack);
        self.adapt_short_term(window);
        self.update_excess(window, ack);
        self.check_full(&sample);
        self.check_startup_done(&sample, echoed);
        self.check_drain_done(window, ack);
        if echoed && self.cycle.is_probe_sample {
            self.stop_probing(window, &sample, ack.now);
        }
        self.update_cycle(window, &sample, ack);
        self.update_min_rtt(ack);
        self.check_probe_rtt(window, ack);
        self.advance_latest(&sample);
        self.rate = self.max_rate.get().min(self.bounds.rate_short);
        self.set_pacing_rate(window, self.mode.gains().0);
        let rtt = self.min_rtt.time.unwrap_or(NOMINAL_RTT);
        window.pace(window.pacing_rate, rtt, window.segment, LEAST_BURST);
        self.set_cwnd(window, ack);
        window.limits_itself = self.mode == Mode::ProbeRtt;
    }

    fn on_loss(&mut self, window: &mut Window, loss: &LossEvent) {
        if loss.kind == Loss::Echo {
            self.echoed = true;
            self.note_loss(window);
        } else {
            self.begin_recovery(window, Recovery::Fast);
        }
    }

    fn on_lost_segment(&mut self, window: &mut Window, lost: &LostSegment) {
        self.lose(window, lost);
    }

    fn on_rto(&mut self, window: &mut Window, _loss: &LossEvent) {
        self.begin_recovery(window, Recovery::Timeout);
        window.cwnd = 1.0;
    }

    fn on_undo(&mut self, window: &mut Window, _undo: &Undo) {
        self.undo(window);
    }

    /// The window after idle is that before (§5.4.1).
    fn on_idle(&mut self, _window: &mut Window, _restart_window: f64) {}

    /// `HandleRestartFromIdle`.
    fn on_resume(&mut self, window: &mut Window, _idle: Duration, now: Time) {
        if self.delivered == 0 {
            return;
        }
        self.resumes = true;
        self.epoch = AckEpoch::beginning_at(now);
        if self.mode.is_probe_bw() {
            self.set_pacing_rate(window, 1.0);
        } else if self.mode == Mode::ProbeRtt {
            self.check_probe_rtt_done(window, now);
        }
    }

    /// ProbeRTT, as at the end of its interval. One that is underway begins again.
    fn on_new_path(&mut self, window: &mut Window, path: NewPath) {
        self.min_rtt.new_path = Some(path);
        if path.probes {
            self.enter_probe_rtt(window);
            window.set(window.cwnd.min(self.probe_rtt_cwnd()));
            window.limits_itself = true;
        }
    }

    /// After a timeout what is in flight and a segment (§5.6.4.4); the other steps are for other congestion controls.
    fn on_recovery_step(&mut self, window: &mut Window, step: RecoveryStep) {
        if let (RecoveryStep::SlowStart(segments), Recovery::Timeout) = (step, self.recovery) {
            window.set(segments);
        }
    }
}

impl Bbr3 {
    /// Until the first round-trip time is known the rate is a guess (`InitPacingRate`).
    fn note_rtt(&mut self, window: &mut Window, ack: &AckEvent) {
        if let Some(rtt) = ack.rtt {
            self.min_rtt.ever = Some(self.min_rtt.ever.map_or(rtt, |ever| ever.min(rtt)));
        }
        if self.first_rtt.is_none() {
            self.initial_window.get_or_insert(window.cwnd);
            self.first_rtt = (ack.srtt > Duration::ZERO).then_some(ack.srtt);
            self.pace_at_first(window);
        }
    }

    fn pace_at_first(&self, window: &mut Window) {
        let rtt = self.first_rtt.unwrap_or(NOMINAL_RTT).as_secs_f64();
        window.pacing_rate = Mode::Startup.gains().0 * self.initial_window.unwrap_or(window.cwnd) / rtt;
    }

    /// `UpdateMaxBw` with `UpdateRound`.
    fn update_round(&mut self, window: &Window, sample: &Sample, ack: &AckEvent) {
        self.round_start = sample.prior_delivered.is_some_and(|prior| prior >= self.round_end);
        if self.round_start {
            self.start_round();
            self.rounds += 1;
            self.cycle.rounds_since_up += 1;
            self.filled = [false, self.filled[0]];
        }
        self.filled[0] |= window.is_filled(ack);
        if sample.rate > 0.0 && (sample.rate >= self.max_rate.get() || !sample.app_limited) {
            self.max_rate.note(sample.rate);
        }
    }

    /// `UpdateACKAggregation`.
    fn update_excess(&mut self, window: &Window, ack: &AckEvent) {
        if ack.acked == 0 {
            return;
        }
        let expected = (self.rate * ack.now.since(self.epoch.start).as_secs_f64()) as u32;
        let excess = f64::from(self.epoch.excess(ack, expected)).min(window.cwnd);
        let rounds = if self.full { EXCESS_ROUNDS } else { STARTUP_EXCESS_ROUNDS };
        self.excess.update(rounds, self.rounds, excess);
    }

    /// `CheckFullBWReached`.
    fn check_full(&mut self, sample: &Sample) {
        if self.full_now || !self.round_start || sample.app_limited {
            return;
        }
        self.full_now = self.full_pipe.is_full(sample.rate);
        self.full |= self.full_now;
    }

    /// `CheckStartupDone`.
    fn check_startup_done(&mut self, sample: &Sample, echoed: bool) {
        if self.mode != Mode::Startup {
            return;
        }
        if echoed || self.has_high_loss(sample) {
            self.saved.mode = Some(Mode::Startup);
            (self.full_now, self.full) = (true, true);
            self.bounds.inflight_long = self.bdp(self.rate, 1.0).max(f64::from(self.latest.inflight));
        }
        if self.full {
            self.mode = Mode::Drain;
            self.drain_start = self.rounds;
        }
    }

    /// `CheckDrainDone`.
    fn check_drain_done(&mut self, window: &Window, ack: &AckEvent) {
        let is_drained = f64::from(ack.in_network()) <= self.inflight(self.rate, window);
        if self.mode == Mode::Drain && (is_drained || self.rounds > self.drain_start + DRAIN_ROUNDS) {
            self.start_down(ack.now);
        }
    }

    /// `UpdateMinRTT`.
    fn update_min_rtt(&mut self, ack: &AckEvent) {
        let times = &mut self.min_rtt;
        if NewPath::take_measured(&mut times.new_path, ack) {
            (times.recent, times.time, times.ever) = (None, None, ack.rtt);
        }
        let is_older = |at: Time, span: Duration| ack.now > at + span;
        times.expired = times.recent.is_some() && is_older(times.recent_at, PROBE_RTT_INTERVAL);
        if let Some(rtt) = ack.rtt
            && (times.expired || times.recent.is_none_or(|recent| rtt < recent))
        {
            (times.recent, times.recent_at) = (Some(rtt), ack.now);
        }
        let is_less = times.recent.is_some_and(|recent| times.time.is_none_or(|time| recent < time));
        if is_less || (times.time.is_some() && is_older(times.at, MIN_RTT_WINDOW)) {
            (times.time, times.at) = (times.recent, times.recent_at);
        }
    }

    /// `CheckProbeRTT`.
    fn check_probe_rtt(&mut self, window: &mut Window, ack: &AckEvent) {
        if self.mode != Mode::ProbeRtt && self.min_rtt.expired && !self.resumes {
            self.enter_probe_rtt(window);
        }
        if self.mode == Mode::ProbeRtt {
            self.handle_probe_rtt(window, ack);
        }
        if ack.rate.is_some_and(|rate| rate.delivered > 0) {
            self.resumes = false;
        }
    }

    /// `EnterProbeRTT`, and what goes with it.
    fn enter_probe_rtt(&mut self, window: &Window) {
        self.save_cwnd(window);
        self.mode = Mode::ProbeRtt;
        self.min_rtt.probe_end = None;
        self.cycle.stops = true;
        self.start_round();
    }

    /// `HandleProbeRTT`.
    fn handle_probe_rtt(&mut self, window: &mut Window, ack: &AckEvent) {
        if self.min_rtt.probe_end.is_some() {
            self.min_rtt.probe_round_done |= self.round_start;
            if self.min_rtt.probe_round_done {
                self.check_probe_rtt_done(window, ack.now);
            }
        } else if f64::from(ack.in_network()) <= self.probe_rtt_cwnd() {
            self.min_rtt.probe_end = Some(ack.now + PROBE_RTT);
            self.min_rtt.probe_round_done = false;
            self.start_round();
        }
    }

    fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp(self.rate, PROBE_RTT_GAIN).max(LEAST_CWND)
    }

    /// `CheckProbeRTTDone`, `ExitProbeRTT`.
    fn check_probe_rtt_done(&mut self, window: &mut Window, now: Time) {
        if self.min_rtt.probe_end.is_none_or(|end| now <= end) {
            return;
        }
        self.min_rtt.recent_at = now;
        window.set(self.prior.restored(window.cwnd));
        window.limits_itself = false;
        self.forget_short_term();
        if self.full {
            self.start_down(now);
            self.mode = Mode::Cruise;
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// `SetPacingRateWithGain`; before the pipe is full the rate does not fall.
    fn set_pacing_rate(&self, window: &mut Window, gain: f64) {
        let rate = MARGIN * gain * self.rate;
        if rate > 0.0 && (self.full || rate > window.pacing_rate) {
            window.pacing_rate = rate;
        }
    }

    /// `SetCwnd`.
    fn set_cwnd(&self, window: &mut Window, ack: &AckEvent) {
        let acked = f64::from(ack.acked);
        let most = self.bdp(self.rate, self.mode.gains().1) + self.excess.get();
        let most = self.quantized(most, window);
        let initial_window = self.initial_window.unwrap_or(LEAST_CWND);
        let mut cwnd = window.cwnd;
        if self.full {
            cwnd = (cwnd + acked).min(most);
        } else if cwnd < most || f64::from(self.delivered) < initial_window {
            cwnd += acked;
        }
        cwnd = cwnd.max(LEAST_CWND);
        if self.mode == Mode::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_cwnd());
        }
        window.set(cwnd.min(self.inflight_cap()));
    }

    /// `BoundCwndForModel`.
    fn inflight_cap(&self) -> f64 {
        let long = match self.mode {
            Mode::Startup | Mode::Drain => f64::INFINITY,
            Mode::Down | Mode::Refill | Mode::Up => self.bounds.inflight_long,
            Mode::Cruise | Mode::ProbeRtt => self.inflight_with_headroom(),
        };
        long.min(self.bounds.inflight_short).max(LEAST_CWND)
    }
}

#[cfg(test)]
mod tests;
