//! The model of the path, and what follows from it alone.

use crate::controls::bbr::{AckEpoch, FullPipe, MaxFilter, PriorWindow, TwoSlots};
use crate::{AckEvent, NewPath, NoParams, Window};
use roamlab_engine::{Duration, Time};

/// Part of the long-term bound that cruising leaves free (Headroom).
pub const HEADROOM: f64 = 0.15;
/// The least window (MinPipeCwnd).
pub const LEAST_CWND: f64 = 4.0;
/// How long ProbeRTT lasts at least (ProbeRTTDuration), and its window (ProbeRTTCwndGain).
pub const PROBE_RTT: Duration = Duration::from_millis(200);
pub const PROBE_RTT_GAIN: f64 = 0.5;
/// Bursts that fit into the window in addition to the flight on the path (TCP's offload budget, §5.5.8.1).
pub const BURSTS: u32 = 3;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Mode {
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
    pub fn gains(self) -> (f64, f64) {
        match self {
            Mode::Startup => (2.77, 2.0), // 4 ln 2
            Mode::Drain => (0.5, 2.0),
            Mode::Down => (0.9, 2.0),
            Mode::Cruise | Mode::Refill => (1.0, 2.0),
            Mode::Up => (1.25, 2.25),
            Mode::ProbeRtt => (1.0, PROBE_RTT_GAIN),
        }
    }

    pub fn is_probe_bw(self) -> bool {
        matches!(self, Mode::Down | Mode::Cruise | Mode::Refill | Mode::Up)
    }

    /// `IsProbingBW`.
    pub fn accelerates(self) -> bool {
        matches!(self, Mode::Startup | Mode::Refill | Mode::Up)
    }
}

/// The measurements of an ACK (RS).
#[derive(Copy, Clone, Debug, Default)]
pub struct Sample {
    /// Zero if there is no reliable one.
    pub rate: f64,
    pub delivered: u32,
    /// None if nothing was delivered.
    pub prior_delivered: Option<u32>,
    pub app_limited: bool,
    /// In flight when the newest segment acknowledged was sent, and lost since then.
    pub in_flight: f64,
    pub lost: u32,
}

impl Sample {
    /// §4.1.2.3: a rate over less than the shortest round-trip time is not reliable.
    pub fn of(ack: &AckEvent, shortest: Option<Duration>) -> Sample {
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
pub struct Bounds {
    pub rate_short: f64,
    pub inflight_short: f64,
    pub inflight_long: f64,
}

/// The best of the latest round (bw_latest, inflight_latest), and where a round with losses ends.
#[derive(Copy, Clone, Debug, Default)]
pub struct Latest {
    pub rate: f64,
    pub inflight: u32,
    pub loss_round_end: u32,
    pub loss_round_start: bool,
    /// A segment was lost in this round.
    pub has_loss: bool,
    /// Ranges that were lost in it, and the segment behind the last one.
    pub lost_ranges: u32,
    pub lost_end: Option<u32>,
}

/// The shortest round-trip times, and ProbeRTT.
#[derive(Copy, Clone, Debug, Default)]
pub struct MinRtt {
    /// The model's, and its time.
    pub time: Option<Duration>,
    pub at: Time,
    /// That of the time since the latest ProbeRTT (probe_rtt_min_delay), and its time.
    pub recent: Option<Duration>,
    pub recent_at: Time,
    pub expired: bool,
    /// Of the connection (C.min_rtt).
    pub ever: Option<Duration>,
    /// A path whose round-trip time is yet to be measured.
    pub new_path: Option<NewPath>,
    pub probe_end: Option<Time>,
    pub probe_round_done: bool,
}

/// BBR's congestion control.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    pub mode: Mode,
    pub max_rate: TwoSlots<f64>,
    /// The rate in use: the highest one within its bound (BBR.bw).
    pub rate: f64,
    pub min_rtt: MinRtt,
    pub bounds: Bounds,
    pub latest: Latest,
    /// Rounds so far; one ends when what was sent after `round_end` deliveries is delivered.
    pub rounds: u32,
    pub round_end: u32,
    pub round_start: bool,
    /// Segments delivered so far.
    pub delivered: u32,
    pub drain_start: u32,
    pub full_pipe: FullPipe,
    /// The pipe is full since the search began (full_bw_now), and was it ever (full_bw_reached).
    pub full_now: bool,
    pub full: bool,
    pub cycle: Cycle,
    /// The flight has filled the window in this round, and in the one before.
    pub filled: [bool; 2],
    pub excess: MaxFilter,
    pub epoch: AckEpoch,
    /// Restarting after idle.
    pub resumes: bool,
    pub recovery: Recovery,
    pub prior: PriorWindow,
    pub saved: Saved,
    /// Congestion was echoed. The ACK with the echo is not processed yet.
    pub echoed: bool,
    pub has_sack: bool,
    pub initial_window: Option<f64>,
    /// The first round-trip time.
    pub first_rtt: Option<Duration>,
}

pub const UNBOUNDED: Bounds =
    Bounds { rate_short: f64::INFINITY, inflight_short: f64::INFINITY, inflight_long: f64::INFINITY };

impl Bbr3 {
    pub fn new(_params: &NoParams) -> Bbr3 {
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
            cycle: Cycle::default(),
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

/// State of the loss recovery: none, or the cause.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Recovery {
    None,
    Fast,
    Timeout,
}

/// State to which the flow returns if a recovery was not needed.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Saved {
    /// The mode that the losses have ended.
    pub mode: Option<Mode>,
    pub bounds: Bounds,
}

impl Default for Saved {
    fn default() -> Saved {
        Saved { mode: None, bounds: Bounds { rate_short: 0.0, inflight_short: 0.0, inflight_long: 0.0 } }
    }
}

/// Where the flow is in its cycle.
#[derive(Copy, Clone, Debug)]
pub struct Cycle {
    pub start: Time,
    /// The time until the next probe (bw_probe_wait).
    pub wait: Duration,
    /// Rounds since the latest probe (rounds_since_probe_up).
    pub rounds_since_up: u32,
    /// The probe is over, and its feedback is still coming (ACKS_PROBE_STOPPING).
    pub stops: bool,
    /// Segments that arrive or are lost now were sent while probing (is_bw_probe_sample).
    pub is_probe_sample: bool,
    /// The latest probe had too high a loss rate (prev_probe_too_high).
    pub too_high: bool,
    /// The latest probe ended at the bound of a probe that was too high (prev_probe_precautionary).
    pub precautionary: bool,
    /// Growth of the long-term bound: rounds, segments to be acknowledged for one more, and acknowledged ones.
    pub up_rounds: u32,
    pub acked_per_inc: f64,
    pub up_acked: f64,
}

impl Default for Cycle {
    fn default() -> Cycle {
        Cycle {
            start: Time::ZERO,
            wait: Duration::ZERO,
            rounds_since_up: 0,
            stops: false,
            is_probe_sample: false,
            too_high: false,
            precautionary: false,
            up_rounds: 0,
            acked_per_inc: f64::INFINITY,
            up_acked: 0.0,
        }
    }
}

impl Bbr3 {
    /// `BDPMultiple`.
    pub fn bdp(&self, rate: f64, gain: f64) -> f64 {
        match self.min_rtt.time {
            Some(time) => gain * rate * time.as_secs_f64(),
            None => self.initial_window.unwrap_or(LEAST_CWND),
        }
    }

    /// `QuantizationBudget`.
    pub fn quantized(&self, segments: f64, window: &Window) -> f64 {
        let bursts = f64::from(BURSTS.saturating_mul(window.burst));
        segments.max(bursts).max(LEAST_CWND) + if self.mode == Mode::Up { 2.0 } else { 0.0 }
    }

    /// `Inflight(1.0)` at a rate.
    pub fn inflight(&self, rate: f64, window: &Window) -> f64 {
        self.quantized(self.bdp(rate, 1.0), window)
    }

    /// `InflightWithHeadroom`.
    pub fn inflight_with_headroom(&self) -> f64 {
        let long = self.bounds.inflight_long;
        if long == f64::INFINITY {
            return long;
        }
        (long - (HEADROOM * long).max(1.0)).max(LEAST_CWND)
    }

    /// `TargetInflight`.
    pub fn target_inflight(&self, window: &Window) -> f64 {
        self.bdp(self.rate, 1.0).min(window.cwnd)
    }

    pub fn start_round(&mut self) {
        self.round_end = self.delivered;
    }
}
