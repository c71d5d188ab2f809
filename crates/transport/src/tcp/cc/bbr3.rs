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
//! DEVIATION: bursts are those of [pacing](super::pacing), which §5.6.3 permits.
//! ASSUMPTION: the draft demands that an echo of congestion counts as congestion, and leaves open how much (§3.7). Here it
//! counts as a loss rate above the threshold.

mod cycle;
mod losses;

use crate::tcp::cc::bbr::{AckEpoch, FullPipe, MARGIN, MaxFilter, NOMINAL_RTT, PriorWindow, TwoSlots};
use crate::tcp::cc::{AckEvent, Algorithm, Loss, LossEvent, RecoveryStep, Undo, Window};
use crate::tcp::delivery_rate::LostSegment;
use losses::{Recovery, Saved};
use roamlab_engine::{Duration, Time};

pub use crate::tcp::cc::NoParams as Params;

/// Loss rate above which what is in flight is too much (LossThresh).
const LOSS_THRESHOLD: f64 = 0.02;
/// What a round with losses leaves at least (Beta).
const BETA: f64 = 0.7;
/// Part of the long-term bound that cruising leaves free (Headroom).
const HEADROOM: f64 = 0.15;
/// The least window (MinPipeCwnd).
const LEAST_CWND: f64 = 4.0;
/// How long the shortest round-trip time is kept (MinRTTFilterLen), and how long ProbeRTT can wait (ProbeRTTInterval).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
/// How long ProbeRTT lasts at least (ProbeRTTDuration), and its window (ProbeRTTCwndGain).
const PROBE_RTT: Duration = Duration::from_millis(200);
const PROBE_RTT_GAIN: f64 = 0.5;
/// Rounds that excess ACKs are remembered (ExtraAckedFilterLen), and in Startup.
const EXCESS_ROUNDS: u32 = 10;
const STARTUP_EXCESS_ROUNDS: u32 = 1;
/// Rounds after which Drain ends in any case.
const DRAIN_ROUNDS: u32 = 3;
/// Ranges that are lost in a round that ends Startup (BBRStartupFullLossCnt).
const STARTUP_LOST_RANGES: u32 = 6;
/// Segments of a burst at least.
const LEAST_BURST: u32 = 2;
/// Bursts that the window has room for beside the path (TCP's offload budget, §5.5.8.1).
const BURSTS: u32 = 3;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Mode {
    Startup,
    Drain,
    /// ProbeBW, in the order of its cycle.
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl Mode {
    /// Gains of the pacing rate and of the window (§5.6.1).
    fn gains(self) -> (f64, f64) {
        match self {
            Mode::Startup => (2.77, 2.0), // 4 ln 2
            Mode::Drain => (0.5, 2.0),
            Mode::Down => (0.9, 2.0),
            Mode::Cruise | Mode::Refill => (1.0, 2.0),
            Mode::Up => (1.25, 2.25),
            Mode::ProbeRtt => (1.0, PROBE_RTT_GAIN),
        }
    }

    fn is_probe_bw(self) -> bool {
        matches!(self, Mode::Down | Mode::Cruise | Mode::Refill | Mode::Up)
    }

    /// `IsProbingBW`.
    fn accelerates(self) -> bool {
        matches!(self, Mode::Startup | Mode::Refill | Mode::Up)
    }
}

/// What an ACK measures (RS).
#[derive(Copy, Clone, Debug, Default)]
struct Sample {
    /// Zero if there is no reliable one.
    rate: f64,
    delivered: u32,
    /// None if nothing was delivered.
    prior_delivered: Option<u32>,
    app_limited: bool,
    /// In flight when the newest segment acknowledged was sent, and lost since then.
    in_flight: f64,
    lost: u32,
}

impl Sample {
    /// §4.1.2.3: a rate over less than the shortest round-trip time is not reliable.
    fn of(ack: &AckEvent, shortest: Option<Duration>) -> Sample {
        let Some(rate) = ack.rate else { return Sample::default() };
        let is_reliable = shortest.is_none_or(|shortest| rate.interval >= shortest);
        let measured = f64::from(rate.delivered) / rate.interval.as_secs_f64();
        Sample {
            rate: if is_reliable { measured } else { 0.0 },
            delivered: rate.delivered,
            prior_delivered: Some(rate.prior_delivered),
            app_limited: rate.app_limited,
            in_flight: f64::from(rate.in_flight),
            lost: rate.lost,
        }
    }
}

/// The bounds that losses set. Infinity: none.
#[derive(Copy, Clone, PartialEq, Debug)]
struct Bounds {
    rate_short: f64,
    inflight_short: f64,
    inflight_long: f64,
}

/// The best of the latest round (bw_latest, inflight_latest), and where a round with losses ends.
#[derive(Copy, Clone, Debug, Default)]
struct Latest {
    rate: f64,
    inflight: u32,
    loss_round_end: u32,
    loss_round_start: bool,
    /// A segment was lost in this round.
    has_loss: bool,
    /// Ranges that were lost in it, and the segment behind the last one.
    lost_ranges: u32,
    lost_end: Option<u32>,
}

/// The shortest round-trip times, and ProbeRTT.
#[derive(Copy, Clone, Debug, Default)]
struct MinRtt {
    /// The model's, and its time.
    time: Option<Duration>,
    at: Time,
    /// That of the time since the latest ProbeRTT (probe_rtt_min_delay), and its time.
    recent: Option<Duration>,
    recent_at: Time,
    expired: bool,
    /// Of the connection (C.min_rtt).
    ever: Option<Duration>,
    probe_end: Option<Time>,
    probe_round_done: bool,
}

/// BBR's congestion control.
#[derive(Clone, Debug)]
pub(crate) struct Bbr3 {
    mode: Mode,
    max_rate: TwoSlots<f64>,
    /// The rate in use: the highest one within its bound (BBR.bw).
    rate: f64,
    min_rtt: MinRtt,
    bounds: Bounds,
    latest: Latest,
    /// Rounds so far; one ends when what was sent after `round_end` deliveries is delivered.
    rounds: u32,
    round_end: u32,
    round_start: bool,
    /// Segments delivered so far.
    delivered: u32,
    drain_start: u32,
    full_pipe: FullPipe,
    /// The pipe is full since the search began (full_bw_now), and was it ever (full_bw_reached).
    full_now: bool,
    full: bool,
    cycle: cycle::Cycle,
    /// The flight has filled the window in this round, and in the one before.
    filled: [bool; 2],
    excess: MaxFilter,
    epoch: AckEpoch,
    /// Restarting after idle.
    resumes: bool,
    recovery: Recovery,
    prior: PriorWindow,
    saved: Saved,
    /// Congestion was echoed; the ACK that does is yet to be dealt with.
    echoed: bool,
    has_sack: bool,
    initial_window: Option<f64>,
    /// The first round-trip time.
    first_rtt: Option<Duration>,
}

const UNBOUNDED: Bounds =
    Bounds { rate_short: f64::INFINITY, inflight_short: f64::INFINITY, inflight_long: f64::INFINITY };

impl Bbr3 {
    pub fn new(_params: &Params) -> Bbr3 {
        Bbr3 {
            mode: Mode::Startup,
            max_rate: TwoSlots::default(),
            rate: 0.0,
            min_rtt: MinRtt::default(),
            bounds: UNBOUNDED,
            latest: Latest::default(),
            rounds: 0,
            round_end: 0,
            round_start: false,
            delivered: 0,
            drain_start: 0,
            full_pipe: FullPipe::default(),
            full_now: false,
            full: false,
            cycle: cycle::Cycle::default(),
            filled: [false; 2],
            excess: MaxFilter::default(),
            epoch: AckEpoch::default(),
            resumes: false,
            recovery: Recovery::None,
            prior: PriorWindow::default(),
            saved: Saved::default(),
            echoed: false,
            has_sack: false,
            initial_window: None,
            first_rtt: None,
        }
    }
}

impl Algorithm for Bbr3 {
    fn records_segments(&self, _window: &Window) -> bool {
        true
    }

    fn paces(&self) -> bool {
        true
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
        window.pace(window.pacing_rate, rtt, ack.segment, LEAST_BURST);
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

    /// After a timeout what is in flight and a segment (§5.6.4.4); the other steps are for other congestion controls.
    fn on_recovery_step(&mut self, window: &mut Window, step: RecoveryStep) {
        if let (RecoveryStep::SlowStart(segments), Recovery::Timeout) = (step, self.recovery) {
            window.set(segments);
        }
    }
}

impl Bbr3 {
    /// `BDPMultiple`.
    fn bdp(&self, rate: f64, gain: f64) -> f64 {
        match self.min_rtt.time {
            Some(time) => gain * rate * time.as_secs_f64(),
            None => self.initial_window.unwrap_or(LEAST_CWND),
        }
    }

    /// `QuantizationBudget`.
    fn quantized(&self, segments: f64, window: &Window) -> f64 {
        let bursts = f64::from(BURSTS.saturating_mul(window.burst));
        segments.max(bursts).max(LEAST_CWND) + if self.mode == Mode::Up { 2.0 } else { 0.0 }
    }

    /// `Inflight(1.0)` at a rate.
    fn inflight(&self, rate: f64, window: &Window) -> f64 {
        self.quantized(self.bdp(rate, 1.0), window)
    }

    /// `InflightWithHeadroom`.
    fn inflight_with_headroom(&self) -> f64 {
        let long = self.bounds.inflight_long;
        if long == f64::INFINITY {
            return long;
        }
        (long - (HEADROOM * long).max(1.0)).max(LEAST_CWND)
    }

    /// `TargetInflight`.
    fn target_inflight(&self, window: &Window) -> f64 {
        self.bdp(self.rate, 1.0).min(window.cwnd)
    }

    fn start_round(&mut self) {
        self.round_end = self.delivered;
    }

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
        let excess = f64::from(self.epoch.excess(ack, self.rate)).min(window.cwnd);
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
        let is_drained = in_flight(ack) <= self.inflight(self.rate, window);
        if self.mode == Mode::Drain && (is_drained || self.rounds > self.drain_start + DRAIN_ROUNDS) {
            self.start_down(ack.now);
        }
    }

    /// `UpdateMinRTT`.
    fn update_min_rtt(&mut self, ack: &AckEvent) {
        let times = &mut self.min_rtt;
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
            self.save_cwnd(window);
            self.mode = Mode::ProbeRtt;
            self.min_rtt.probe_end = None;
            self.cycle.stops = true;
            self.start_round();
        }
        if self.mode == Mode::ProbeRtt {
            self.handle_probe_rtt(window, ack);
        }
        if ack.rate.is_some_and(|rate| rate.delivered > 0) {
            self.resumes = false;
        }
    }

    /// `HandleProbeRTT`.
    fn handle_probe_rtt(&mut self, window: &mut Window, ack: &AckEvent) {
        if self.min_rtt.probe_end.is_some() {
            self.min_rtt.probe_round_done |= self.round_start;
            if self.min_rtt.probe_round_done {
                self.check_probe_rtt_done(window, ack.now);
            }
        } else if in_flight(ack) <= self.probe_rtt_cwnd() {
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

/// Segments that are not known to have arrived or to be lost (C.inflight).
fn in_flight(ack: &AckEvent) -> f64 {
    f64::from(ack.in_flight.saturating_sub(ack.waiting))
}

#[cfg(test)]
mod tests;
