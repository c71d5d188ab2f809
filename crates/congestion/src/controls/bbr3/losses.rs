//! The bounds that losses set (§5.5.10), and what is taken back if nothing was lost (§5.5.11).

use super::model::{Bbr3, Bounds, Latest, Mode, Recovery, Sample, Saved, UNBOUNDED};
use crate::LostSegment;
use crate::Window;
use crate::controls::bbr::FullPipe;
use roamlab_engine::Time;

/// Loss rate above which what is in flight is too much (LossThresh).
const LOSS_THRESHOLD: f64 = 0.02;
/// Least factor by which a round with losses reduces the bounds (Beta).
pub const BETA: f64 = 0.7;
/// Ranges that are lost in a round that ends Startup (BBRStartupFullLossCnt).
const STARTUP_LOST_RANGES: u32 = 6;

impl Bbr3 {
    /// `UpdateLatestDeliverySignals`.
    pub(super) fn update_latest(&mut self, sample: &Sample) {
        let latest = &mut self.latest;
        latest.rate = latest.rate.max(sample.rate);
        latest.inflight = latest.inflight.max(sample.delivered);
        latest.loss_round_start = sample.prior_delivered.is_some_and(|prior| prior >= latest.loss_round_end);
        if latest.loss_round_start {
            latest.loss_round_end = self.delivered;
        }
    }

    /// `AdvanceLatestDeliverySignals`.
    pub(super) fn advance_latest(&mut self, sample: &Sample) {
        if self.latest.loss_round_start {
            (self.latest.rate, self.latest.inflight) = (sample.rate, sample.delivered);
            self.latest.lost_ranges = 0;
        }
    }

    /// `ResetCongestionSignals`.
    pub(super) fn reset_signals(&mut self) {
        let Latest { loss_round_end, loss_round_start, .. } = self.latest;
        self.latest = Latest { loss_round_end, loss_round_start, ..Latest::default() };
    }

    /// `UpdateCongestionSignals`: once per round with a loss, while not probing, rate and flight fall to what is
    /// delivered, or to a part.
    pub(super) fn adapt_short_term(&mut self, window: &Window) {
        if !self.latest.loss_round_start {
            return;
        }
        if std::mem::take(&mut self.latest.has_loss) && !self.mode.accelerates() {
            let bounds = &mut self.bounds;
            let rate =
                if bounds.rate_short < f64::INFINITY { bounds.rate_short } else { self.max_rate.get() };
            let flight =
                if bounds.inflight_short < f64::INFINITY { bounds.inflight_short } else { window.cwnd };
            bounds.rate_short = self.latest.rate.max(BETA * rate);
            bounds.inflight_short = f64::from(self.latest.inflight).max(BETA * flight);
        }
    }

    /// `ResetShortTermModel`.
    pub(super) fn forget_short_term(&mut self) {
        self.bounds = Bounds { inflight_long: self.bounds.inflight_long, ..UNBOUNDED };
    }

    /// `IsInflightTooHigh`.
    pub(super) fn is_too_high(&self, sample: &Sample) -> bool {
        f64::from(sample.lost) > LOSS_THRESHOLD * sample.in_flight || (sample.lost > 0 && !self.has_sack)
    }

    /// `CheckStartupHighLoss` (§5.3.1.3): true if a round of a fast recovery had a high loss rate and many ranges that
    /// were lost, or without SACK any loss.
    pub(super) fn has_high_loss(&self, sample: &Sample) -> bool {
        let ranges = self.latest.lost_ranges;
        let is_lossy = match self.has_sack {
            true => self.latest.loss_round_start && ranges >= STARTUP_LOST_RANGES && self.is_too_high(sample),
            false => ranges > 0,
        };
        is_lossy && self.recovery == Recovery::Fast
    }

    /// `NoteLoss`.
    pub(super) fn note_loss(&mut self, window: &Window) {
        if !self.latest.has_loss {
            self.latest.loss_round_end = self.delivered;
            if self.recovery == Recovery::None {
                self.save(window);
            }
        }
        self.latest.has_loss = true;
    }

    /// `HandleLostPacket`.
    pub(super) fn lose(&mut self, window: &Window, lost: &LostSegment) {
        self.note_loss(window);
        self.latest.lost_ranges += u32::from(self.latest.lost_end != Some(lost.number));
        self.latest.lost_end = Some(lost.number + 1);
        let in_flight = f64::from(lost.in_flight);
        let LostSegment { app_limited, lost: count, .. } = *lost;
        let sample = Sample { in_flight, lost: count, app_limited, ..Sample::default() };
        if self.cycle.is_probe_sample && self.is_too_high(&sample) {
            let in_flight = inflight_at_loss(in_flight, f64::from(count));
            self.stop_probing(window, &Sample { in_flight, ..sample }, lost.now);
        }
    }

    /// `HandleInflightTooHigh`.
    pub(super) fn stop_probing(&mut self, window: &Window, sample: &Sample, now: Time) {
        self.cycle.too_high = true;
        self.cycle.is_probe_sample = false;
        if !sample.app_limited {
            self.bounds.inflight_long = sample.in_flight.max(BETA * self.target_inflight(window));
        }
        if self.mode == Mode::Up {
            self.saved.mode = Some(Mode::Up);
            self.start_down(now);
        }
    }

    /// `SaveCwnd`.
    pub(super) fn save_cwnd(&mut self, window: &Window) {
        let is_good = self.recovery == Recovery::None && self.mode != Mode::ProbeRtt;
        self.prior.save(window.cwnd, is_good);
    }

    /// `SaveStateUponLoss`.
    fn save(&mut self, window: &Window) {
        self.save_cwnd(window);
        self.saved = Saved { mode: None, bounds: self.bounds };
    }

    /// `OnEnterFastRecovery`, `OnEnterRTO`.
    pub(super) fn begin_recovery(&mut self, window: &Window, recovery: Recovery) {
        match self.recovery {
            Recovery::None => self.save(window),
            Recovery::Fast | Recovery::Timeout => self.save_cwnd(window),
        }
        self.recovery = recovery;
    }

    /// `HandleSpuriousLossDetection`.
    pub(super) fn undo(&mut self, window: &mut Window) {
        window.set(self.prior.restored(window.cwnd));
        self.recovery = Recovery::None;
        self.latest.has_loss = false;
        self.full_pipe = FullPipe::default();
        self.full_now = false;
        let (bounds, saved) = (&mut self.bounds, self.saved.bounds);
        bounds.rate_short = bounds.rate_short.max(saved.rate_short);
        bounds.inflight_short = bounds.inflight_short.max(saved.inflight_short);
        bounds.inflight_long = bounds.inflight_long.max(saved.inflight_long);
        match self.saved.mode.take() {
            Some(Mode::Startup) if self.mode != Mode::Startup => {
                self.full = false;
                if self.mode != Mode::ProbeRtt {
                    self.mode = Mode::Startup;
                }
            }
            Some(Mode::Up) if !matches!(self.mode, Mode::Up | Mode::ProbeRtt) => self.start_refill(),
            _ => {}
        }
    }
}

/// `InflightAtLoss`: the segments in flight when the loss rate crossed the threshold. It follows from the flight just
/// after a lost segment was sent and the losses up to it.
fn inflight_at_loss(in_flight: f64, lost: f64) -> f64 {
    let (before, lost_before) = (in_flight - 1.0, lost - 1.0);
    before + (LOSS_THRESHOLD * before - lost_before) / (1.0 - LOSS_THRESHOLD)
}
