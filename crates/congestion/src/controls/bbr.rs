//! BBR version 1 (Cardwell et al., ACM Queue 14(5), 2016; `net/ipv4/tcp_bbr.c`).
//!
//! A model of the path, the highest delivery rate of ten round trips and the shortest round-trip time of ten seconds, sets
//! the pacing rate and the window. Gains around the model probe for more rate and drain what that has queued. Losses
//! change little.
//!
//! Rates are in segments per second. The arithmetic, and what surrounds the algorithm, is a [`Law`].

mod law;
mod linux;
mod max_filter;
mod params;
mod parts;
mod policer;
mod window;

use crate::DeliveryRate;
use crate::Found;
use crate::{
    AckEvent, Algorithm, Loss, LossEvent, NewPath, Properties, RecoveryStep, SsthreshRule, Undo, Window,
};
use law::{Law, Real};
pub(crate) use max_filter::{MaxFilter, TwoSlots};
pub use params::Params;
use parts::PHASES;
pub(crate) use parts::{AckEpoch, FullPipe, MARGIN, NOMINAL_RTT, PriorWindow, mixed};
use roamlab_engine::{Duration, Time};
use std::marker::PhantomData;

/// Gains, in whole 1/256: 2/ln 2 in Startup, its inverse in Drain.
const HIGH_GAIN: f64 = 739.0 / 256.0;
const DRAIN_GAIN: f64 = 88.0 / 256.0;
const CWND_GAIN: f64 = 2.0;
/// The cycle of pacing gains in ProbeBW.
const CYCLE: [f64; PHASES] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// A cycle begins with one of this number of phases, at random: any except the one that drains.
const FIRST_PHASES: u64 = 7;
/// Round trips that the highest rate is kept.
const RATE_ROUNDS: u32 = 10;
/// How long the shortest round-trip time is kept.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// Least duration of ProbeRTT, and its window in segments.
const PROBE_RTT: Duration = Duration::from_millis(200);
const LEAST_CWND: f64 = 4.0;
/// Segments. Until this number is delivered the window grows whatever the model gives; without a round-trip time it is
/// the window.
const INITIAL_WINDOW: f64 = 10.0;
/// The least burst is one segment below this rate in bits per second, two above.
const SMALL_RATE: f64 = 1_200_000.0;
/// Excess ACKs: rounds of a half of the filter, and the longest time that they are for.
const EXCESS_ROUNDS: u32 = 5;
const EXCESS_TIME: Duration = Duration::from_millis(100);

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// Where the loss recovery was at the latest ACK or timeout (`prev_ca_state`).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Recovery {
    None,
    Runs,
    /// The retransmission timer expired.
    Timeout,
}

/// The long-term rate, if a policer seems to set it.
#[derive(Clone, Debug, Default)]
struct Policer {
    samples: bool,
    /// The rate is used.
    uses: bool,
    rate: f64,
    rounds: u32,
    /// At the start of the interval.
    since: Time,
    delivered: u32,
    lost: u32,
}

/// BBR's congestion control.
#[derive(Clone, Debug)]
pub struct Bbr<L = Real> {
    law: PhantomData<L>,
    params: Params,
    mode: Mode,
    max_rate: MaxFilter,
    min_rtt: Option<Duration>,
    min_rtt_at: Time,
    /// A path whose round-trip time is yet to be measured.
    new_path: Option<NewPath>,
    probe_rtt_end: Option<Time>,
    probe_rtt_round_done: bool,
    /// Rounds so far; one ends when what was sent after `round_end` deliveries is delivered.
    rounds: u32,
    round_end: u32,
    round_start: bool,
    /// Segments delivered, and lost, so far.
    delivered: u32,
    lost: u32,
    /// When something was delivered last (`delivered_mstamp`).
    delivered_at: Time,
    cycle_index: usize,
    cycle_start: Time,
    /// ProbeBW has begun once.
    has_cycled: bool,
    pacing_gain: f64,
    cwnd_gain: f64,
    full_pipe: FullPipe,
    full: bool,
    /// Restarting after idle.
    resumes: bool,
    recovery: Recovery,
    /// A loss was found since. The ACK that reported it is not processed yet.
    begins: bool,
    conserves: bool,
    prior: PriorWindow,
    knows_rtt: bool,
    policer: Policer,
    /// Excess ACKs, and the rounds of the newer half of their filter.
    excess: TwoSlots<u32>,
    excess_rounds: u32,
    epoch: AckEpoch,
    /// Payload of a segment in bytes.
    segment: u32,
    /// The inputs from which the gains, the pacing rate and the target were computed last.
    model: Option<Model>,
    /// Window to grow to, in segments.
    target: f64,
}

/// All that the gains, the pacing rate and the target follow from when the pipe is full.
#[derive(Copy, Clone, PartialEq, Debug)]
struct Model {
    mode: Mode,
    cycle_index: usize,
    polices: bool,
    rate: f64,
    min_rtt: Option<Duration>,
    excess: u32,
}

impl<L: Law> Bbr<L> {
    pub fn new(params: &Params) -> Bbr<L> {
        Bbr {
            law: PhantomData,
            params: *params,
            mode: Mode::Startup,
            max_rate: MaxFilter::default(),
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            new_path: None,
            probe_rtt_end: None,
            probe_rtt_round_done: false,
            rounds: 0,
            round_end: 0,
            round_start: false,
            delivered: 0,
            lost: 0,
            delivered_at: Time::ZERO,
            cycle_index: 0,
            cycle_start: Time::ZERO,
            has_cycled: false,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            full_pipe: FullPipe::default(),
            full: false,
            resumes: false,
            recovery: Recovery::None,
            begins: false,
            conserves: false,
            prior: PriorWindow::default(),
            knows_rtt: false,
            policer: Policer::default(),
            excess: TwoSlots::default(),
            excess_rounds: 0,
            epoch: AckEpoch::default(),
            segment: 1,
            model: None,
            target: 0.0,
        }
    }
}

impl<L: Law> Algorithm for Bbr<L> {
    fn records_segments(&self, _window: &Window) -> bool {
        true
    }

    fn properties(&self) -> Properties {
        Properties {
            paces: true,
            keeps_min_rtt: true,
            probes_rtt: true,
            windows_in_buffer: 3,
            ..Properties::PLAIN
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        self.on_other_ack(window, ack);
    }

    /// The algorithm may begin here (`bbr_init`), with a round-trip time and without a rate. Segments that leave before
    /// the next ACK count as limited by the application, which has just written for the first time.
    fn on_start(&mut self, window: &mut Window, initial_window: f64) {
        window.cwnd = initial_window;
        let Some(rtt) = self.min_rtt.filter(|_| L::BEGINS_AT_SYN) else { return };
        *self = Bbr {
            min_rtt: self.min_rtt,
            min_rtt_at: self.min_rtt_at,
            segment: self.segment,
            delivered: 1,
            round_end: 1,
            knows_rtt: true,
            ..Bbr::new(&self.params)
        };
        let rate = self.paced(L::rate(initial_window as u32, rtt), HIGH_GAIN);
        window.pace(rate, rtt, self.segment, 2);
        window.limits_itself = true;
    }

    /// `bbr_main`.
    fn on_other_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        self.segment = window.segment;
        let found = L::known(ack.known.found);
        let with_found = found.map(|Found { in_flight, lost, rtt, .. }| AckEvent {
            now: L::time(ack.now),
            in_flight,
            lost,
            rtt,
            ..*ack
        });
        let without_lost = (ack.waiting > 0).then(|| AckEvent { in_flight: ack.in_network(), ..*ack });
        let ack = with_found.as_ref().or(without_lost.as_ref()).unwrap_or(ack);
        self.lost = found.map_or(self.lost + ack.lost, |found| found.all_lost);
        if ack.acked > 0 {
            self.delivered_at = ack.now;
        }
        let shortest = found.map(|found| found.min_rtt).or(self.min_rtt);
        let rate = ack.rate.filter(|rate| shortest.is_none_or(|shortest| rate.interval >= shortest));
        match ack.rate {
            Some(rate) => self.delivered = rate.prior_delivered + rate.delivered,
            None => self.delivered += ack.acked,
        }
        self.update_rate(rate.as_ref(), ack);
        self.update_excess(window, rate.is_some(), ack);
        self.update_cycle(window, ack);
        self.check_full(ack);
        self.check_drain(window, ack);
        self.update_min_rtt(window, ack);
        self.follow_model(window, ack);
        self.set_cwnd(window, ack);
        window.limits_itself = self.mode == Mode::ProbeRtt;
    }

    /// The window follows with this ACK. An echo of congestion changes nothing. A recovery that begins with the ACK
    /// that ends another one is the same (`prev_ca_state`). A tail that a probe has repaired begins none, if the loss
    /// recovery reports that.
    fn on_loss(&mut self, window: &mut Window, loss: &LossEvent) {
        if loss.kind == Loss::Echo {
            return;
        }
        self.save_cwnd(window);
        let is_repaired = loss.kind == Loss::Tail && L::known(loss.found).is_some();
        if self.recovery != Recovery::Runs && !is_repaired {
            self.begins = true;
        }
    }

    fn on_rto(&mut self, window: &mut Window, loss: &LossEvent) {
        let found = L::known(loss.found);
        if found.is_none() || loss.ssthresh != SsthreshRule::Keep {
            self.save_cwnd(window);
        }
        self.lost = found.map_or(self.lost, |found| found.all_lost);
        (self.recovery, self.begins) = (Recovery::Timeout, false);
        self.full_pipe.rate = 0.0;
        self.round_start = true; // as the end of a round
        self.sample_policer(true, false, loss.now);
        window.cwnd = 1.0;
    }

    fn on_undo(&mut self, window: &mut Window, _undo: &Undo) {
        self.full_pipe = FullPipe::default();
        self.policer = Policer::default();
        if !L::RECOVERS_BY_ACKS {
            self.leave_recovery(window); // otherwise only what else the ACK at hand does (`bbr_undo_cwnd`)
        }
    }

    /// The window after idle is that before.
    fn on_idle(&mut self, _window: &mut Window, _restart_window: f64) {}

    fn on_resume(&mut self, window: &mut Window, _idle: Duration, now: Time) {
        if self.delivered == 0 {
            return;
        }
        self.resumes = true;
        self.epoch = AckEpoch::beginning_at(now);
        self.model = None;
        match self.mode {
            Mode::ProbeBw => window.pacing_rate = self.paced(self.rate(), 1.0),
            Mode::ProbeRtt => self.check_probe_rtt_end(window, now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// ProbeRTT, as when the shortest round-trip time has expired. One that is underway begins again.
    fn on_new_path(&mut self, window: &mut Window, path: NewPath) {
        self.new_path = Some(path);
        if path.probes {
            self.enter_probe_rtt(window);
            window.cwnd = window.cwnd.min(LEAST_CWND);
            window.limits_itself = true;
        }
    }

    /// The steps of recoveries are for other congestion controls, except the window after a timeout.
    fn on_recovery_step(&mut self, window: &mut Window, step: RecoveryStep) {
        if let (true, RecoveryStep::SlowStart(segments)) = (L::TAKES_TIMEOUT_WINDOW, step) {
            window.cwnd = segments;
        }
    }
}

impl<L: Law> Bbr<L> {
    /// The clock of ProbeBW's phases and of the policer's intervals.
    fn time_of_model(&self, now: Time) -> Time {
        if L::IS_TIMED_BY_DELIVERIES { self.delivered_at } else { now }
    }

    /// The estimated rate.
    fn rate(&self) -> f64 {
        if self.policer.uses { self.policer.rate } else { self.max_rate.get() }
    }

    /// The rate of `segments` in `time`.
    fn measured(&self, segments: u32, time: Duration) -> f64 {
        L::rate(segments, time)
    }

    /// The pacing rate for an estimated rate.
    fn paced(&self, rate: f64, gain: f64) -> f64 {
        L::paced(rate, gain, self.segment)
    }

    /// `bbr_update_bw`.
    fn update_rate(&mut self, rate: Option<&DeliveryRate>, ack: &AckEvent) {
        self.round_start = false;
        let Some(rate) = rate else { return };
        if rate.prior_delivered >= self.round_end {
            self.round_end = self.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.conserves = false;
        }
        self.sample_policer(ack.lost > 0, rate.app_limited, ack.now);
        let measured = self.measured(rate.delivered, rate.interval);
        if !rate.app_limited || measured >= self.max_rate.get() {
            self.max_rate.update(RATE_ROUNDS, self.rounds, measured);
        }
    }

    /// `bbr_update_ack_aggregation`: the number of segments that are acknowledged beyond those expected at the rate.
    fn update_excess(&mut self, window: &Window, valid: bool, ack: &AckEvent) {
        if !valid || ack.acked == 0 {
            return;
        }
        if self.round_start {
            self.excess_rounds += 1;
            if self.excess_rounds >= EXCESS_ROUNDS {
                self.excess_rounds = 0;
                self.excess.advance();
            }
        }
        let expected = self.expected(ack.now.since(self.epoch.start));
        let excess = self.epoch.excess(ack, expected);
        self.excess.note(excess.min(window.cwnd as u32));
    }

    /// `bbr_update_cycle_phase`.
    fn update_cycle(&mut self, window: &Window, ack: &AckEvent) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let is_full_length =
            self.time_of_model(ack.now).since(self.cycle_start) > self.min_rtt.unwrap_or_default();
        let in_flight = L::known(ack.known.found).map_or(ack.in_flight + ack.acked, |found| found.before);
        let before = || self.at_departure(in_flight, window, ack);
        let is_over = if self.pacing_gain > 1.0 {
            is_full_length && (ack.lost > 0 || before() >= self.inflight(self.pacing_gain, window))
        } else if self.pacing_gain < 1.0 {
            is_full_length || before() <= self.inflight(1.0, window)
        } else {
            is_full_length
        };
        if is_over {
            self.advance_cycle(ack.now);
        }
    }

    fn advance_cycle(&mut self, now: Time) {
        self.cycle_index = (self.cycle_index + 1) % CYCLE.len();
        self.cycle_start = self.time_of_model(now);
    }

    /// ASSUMPTION: a random number in `tcp_bbr.c`; without `first_phase` it follows from the time at which the mode is entered, so
    /// that a run is repeatable.
    fn enter_probe_bw(&mut self, now: Time) {
        self.mode = Mode::ProbeBw;
        let again = std::mem::replace(&mut self.has_cycled, true);
        let drawn = self.params.later_phase.filter(|_| again).or(self.params.first_phase);
        self.cycle_index = match drawn {
            Some(phase) => (phase as usize + CYCLE.len() - 1) % CYCLE.len(),
            None => CYCLE.len() - 1 - (mixed(now) % FIRST_PHASES) as usize,
        };
        self.advance_cycle(now);
    }

    /// `bbr_check_full_bw_reached`.
    fn check_full(&mut self, ack: &AckEvent) {
        if self.full || !self.round_start || ack.rate.is_some_and(|rate| rate.app_limited) {
            return;
        }
        self.full = self.full_pipe.is_full(self.max_rate.get());
    }

    fn check_drain(&mut self, window: &mut Window, ack: &AckEvent) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            window.ssthresh = self.inflight(1.0, window).max(2.0);
        }
        let in_flight = || match L::WAITS_FOR_BURST {
            true => self.at_departure(ack.in_flight, window, ack),
            false => f64::from(ack.in_flight),
        };
        if self.mode == Mode::Drain && in_flight() <= self.inflight(1.0, window) {
            self.enter_probe_bw(ack.now);
        }
    }

    /// `bbr_update_min_rtt`, with ProbeRTT.
    fn update_min_rtt(&mut self, window: &mut Window, ack: &AckEvent) {
        let is_old = self.min_rtt.is_some() && ack.now > self.min_rtt_at + MIN_RTT_WINDOW;
        let is_new = NewPath::take_measured(&mut self.new_path, ack);
        let is_shorter = |rtt, shortest| rtt < shortest || L::KEEPS_EQUAL_RTT && rtt == shortest;
        if let Some(rtt) = ack.rtt
            && (is_old || is_new || self.min_rtt.is_none_or(|shortest| is_shorter(rtt, shortest)))
        {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), ack.now);
        }
        if is_old && !self.resumes && self.mode != Mode::ProbeRtt {
            self.enter_probe_rtt(window);
        }
        if self.mode == Mode::ProbeRtt {
            match self.probe_rtt_end {
                None if f64::from(ack.in_flight) <= LEAST_CWND => {
                    self.probe_rtt_end = Some(ack.now + PROBE_RTT);
                    self.probe_rtt_round_done = false;
                    self.round_end = self.delivered;
                }
                None => {}
                Some(_) => {
                    self.probe_rtt_round_done |= self.round_start;
                    if self.probe_rtt_round_done {
                        self.check_probe_rtt_end(window, ack.now);
                    }
                }
            }
        }
        if ack.acked > 0 {
            self.resumes = false;
        }
    }

    fn enter_probe_rtt(&mut self, window: &Window) {
        self.mode = Mode::ProbeRtt;
        self.save_cwnd(window);
        self.probe_rtt_end = None;
    }

    fn check_probe_rtt_end(&mut self, window: &mut Window, now: Time) {
        if self.probe_rtt_end.is_none_or(|end| now <= end) {
            return;
        }
        self.min_rtt_at = now;
        window.set(self.prior.restored(window.cwnd));
        match self.full {
            true => self.enter_probe_bw(now),
            false => self.mode = Mode::Startup,
        }
    }

    /// Sets the gains, the pacing rate and the target. Most ACKs do not change the model, so all three remain.
    fn follow_model(&mut self, window: &mut Window, ack: &AckEvent) {
        let model = Some(Model {
            mode: self.mode,
            cycle_index: self.cycle_index,
            polices: self.policer.uses,
            rate: self.rate(),
            min_rtt: self.min_rtt,
            excess: self.excess.get(),
        });
        if self.full && self.knows_rtt && model == self.model {
            return;
        }
        self.model = model;
        self.update_gains();
        self.set_pacing_rate(window, ack);
        self.target = self.target(window);
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.uses => (1.0, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.cycle_index], CWND_GAIN),
            Mode::ProbeRtt => (1.0, 1.0),
        };
    }

    /// `bbr_set_pacing_rate`; before the pipe is full the rate does not fall.
    fn set_pacing_rate(&mut self, window: &mut Window, ack: &AckEvent) {
        let mut rate = self.paced(self.rate(), self.pacing_gain);
        if !self.knows_rtt {
            self.knows_rtt = ack.srtt > Duration::ZERO;
            let rtt = if self.knows_rtt { ack.srtt } else { NOMINAL_RTT };
            rate = rate.max(self.paced(self.measured(window.cwnd as u32, rtt), HIGH_GAIN));
        } else if !self.full && window.pacing_rate.is_finite() {
            rate = rate.max(window.pacing_rate);
        }
        let least = if rate * f64::from(window.segment) * 8.0 < SMALL_RATE { 1 } else { 2 };
        window.pace(rate, self.min_rtt.unwrap_or(NOMINAL_RTT), window.segment, least);
    }
}

#[cfg(test)]
mod tests;
