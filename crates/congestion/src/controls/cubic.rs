//! CUBIC: RFC 9438.
//!
//! In congestion avoidance the window is a cubic function of the time since the latest reduction. Its plateau is the
//! window at which the reduction came. Where Reno's window would be larger, CUBIC has a window like Reno's.

mod linux;
mod params;

use crate::controls::slow_start::{SlowStart, Watch};
use crate::{AckEvent, Algorithm, Loss, LossEvent, NewPath, Properties, SsthreshRule, Undo, Window};
pub use params::Params;
use roamlab_engine::{Duration, Time};

/// C in segments per cubed second (§5.1).
const C: f64 = 0.4;
/// Part of the window that remains after a reduction (§4.6).
const BETA: f64 = 0.7;
/// Part of the window that remains after an echo of congestion with `abe` (RFC 8511 §4.1).
const ABE_BETA: f64 = 0.85;
/// Segments per round trip of the Reno-friendly window: 3 (1 - beta) / (1 + beta) (§4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// Bound of a target, in windows (§4.2).
const MOST_GROWTH: f64 = 1.5;

/// CUBIC's congestion control.
#[derive(Clone, Debug)]
pub struct Cubic {
    params: Params,
    watch: Watch,
    law: Rfc,
}

impl Cubic {
    pub fn new(params: &Params) -> Cubic {
        let watch = Watch::new(params.slow_start.unwrap_or(SlowStart::HyStartPlusPlus));
        Cubic { params: *params, watch, law: Rfc::default() }
    }
}

impl Algorithm for Cubic {
    fn properties(&self) -> Properties {
        Properties { takes_abe: true, keeps_min_rtt: self.watch.keeps_min_rtt(), ..Properties::PLAIN }
    }

    fn records_segments(&self, window: &Window) -> bool {
        self.watch.needs_samples(window)
    }

    /// The next round-trip time counts, whichever path it is of: no ACK has to be looked at for this.
    fn on_new_path(&mut self, _window: &mut Window, _path: NewPath) {
        self.watch.forget_min_rtt();
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        self.watch.measure(window, ack);
        self.law.on_ack(window, ack, &mut self.watch);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &LossEvent) {
        self.watch.on_loss(loss.kind == Loss::Timeout);
        self.law.on_loss(window, loss, self.params.fast_convergence);
    }

    fn on_undo(&mut self, window: &mut Window, undo: &Undo) {
        self.law.on_undo(window, undo);
    }

    fn on_resume(&mut self, _window: &mut Window, _idle: Duration, now: Time) {
        self.law.stand_still(now);
    }
}

/// A stage of congestion avoidance.
#[derive(Copy, Clone, PartialEq, Debug)]
struct Epoch {
    start: Time,
    /// W_max of this stage, in segments.
    plateau: f64,
    /// K in seconds: the time from the start to the plateau.
    k: f64,
    /// W_est in segments.
    reno: f64,
}

impl Epoch {
    /// W_cubic, `seconds` after the start (§4.2 eq. 1).
    #[inline]
    fn cubic(&self, seconds: f64) -> f64 {
        let from_plateau = seconds - self.k;
        C * from_plateau * from_plateau * from_plateau + self.plateau
    }
}

/// State to restore after a spurious loss (§4.9).
#[derive(Copy, Clone, PartialEq, Debug)]
struct Saved {
    by_timeout: bool,
    cwnd: f64,
    ssthresh: f64,
    law: (f64, f64, Option<Epoch>, bool),
}

/// The RFC's law.
#[derive(Clone, Debug, Default)]
struct Rfc {
    /// W_max in segments: where the latest reduction found the window, or less by fast convergence; zero before.
    w_max: f64,
    /// cwnd_prior in segments: the window before the latest reduction.
    prior: f64,
    epoch: Option<Epoch>,
    /// The latest loss was a timeout: the next stage begins at its plateau (§4.8).
    timed_out: bool,
    /// The latest ACK that found the window in use, or the time up to which the epoch's clock was stopped.
    latest: Time,
    saved: Option<Saved>,
}

impl Rfc {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent, watch: &mut Watch) {
        if !window.is_used(ack) {
            self.stand_still(ack.now); // §4.2: t excludes such times; §5.8: and the window stays
            return;
        }
        self.latest = ack.now;
        // ASSUMPTION: the RFC has slow start also where both are equal, RFC 5681 §3.1 leaves it open.
        if window.cwnd < window.ssthresh {
            self.epoch = None;
            let growth = watch.growth(window, ack, 1.0); // RFC 5681 §3.1 eq. 2 with N at least a segment
            return window.grow(growth);
        }
        if self.epoch.is_none() {
            self.begin_epoch(window, ack.now);
        }
        let Some(epoch) = &mut self.epoch else { return };
        let seconds = ack.now.since(epoch.start).as_secs_f64();
        let alpha = if epoch.reno >= self.prior { 1.0 } else { ALPHA };
        epoch.reno += alpha * f64::from(ack.acked) / window.cwnd; // eq. 4
        if epoch.cubic(seconds) < epoch.reno {
            // ASSUMPTION: an ACK does not reduce the window, also where the cubic target has overtaken W_est.
            window.grow((epoch.reno - window.cwnd).max(0.0));
        } else {
            let target = epoch.cubic(seconds + ack.srtt.as_secs_f64());
            let target = target.clamp(window.cwnd, MOST_GROWTH * window.cwnd);
            window.grow((target - window.cwnd) / window.cwnd);
        }
    }

    #[inline(never)]
    fn begin_epoch(&mut self, window: &Window, now: Time) {
        let cwnd = window.cwnd;
        // §4.8, §4.10: after a timeout and after a slow start without loss the stage begins at its plateau.
        // ASSUMPTION: also behind a window that is above W_max.
        let (plateau, k) = match self.timed_out || self.w_max <= cwnd {
            true => (cwnd, 0.0),
            false => (self.w_max, libm::cbrt((self.w_max - cwnd) / C)),
        };
        if self.w_max == 0.0 {
            self.prior = cwnd; // §4.10: no reduction yet
        }
        if self.timed_out {
            self.w_max = cwnd; // §4.8
        }
        self.epoch = Some(Epoch { start: now, plateau, k, reno: cwnd });
    }

    /// The time since the latest event does not count for the epoch.
    fn stand_still(&mut self, now: Time) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start += now.since(self.latest);
        }
        self.latest = now;
    }

    fn on_loss(&mut self, window: &mut Window, loss: &LossEvent, fast_convergence: bool) {
        let by_timeout = loss.kind == Loss::Timeout;
        // A segment that times out again is no new event (RFC 5681 §3.1).
        if loss.ssthresh != SsthreshRule::Keep {
            let law = (self.w_max, self.prior, self.epoch, self.timed_out);
            self.saved = Some(Saved { by_timeout, cwnd: window.cwnd, ssthresh: window.ssthresh, law });
            let shrinks = fast_convergence && window.cwnd < self.w_max;
            self.w_max = window.cwnd * if shrinks { (1.0 + BETA) / 2.0 } else { 1.0 }; // §4.7
            self.prior = window.cwnd;
        }
        self.epoch = None;
        self.timed_out = by_timeout;
        let echo = loss.kind == Loss::Echo;
        let left = loss.in_use * if echo && loss.params.abe { ABE_BETA } else { BETA };
        let least = if echo { 1.0 } else { 2.0 };
        window.cut(left.max(least), left.max(2.0), loss);
    }

    fn on_undo(&mut self, window: &mut Window, undo: &Undo) {
        let Some(saved) = self.saved.take() else { return };
        if window.cwnd > self.prior {
            return; // §4.9.2: it has grown beyond
        }
        (self.w_max, self.prior, self.epoch, self.timed_out) = saved.law;
        (window.cwnd, window.ssthresh) = match saved.by_timeout {
            true => (undo.cwnd, undo.pipe_prev), // §4.9.1: RFC 4015
            false => (saved.cwnd, saved.ssthresh),
        };
    }
}

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;
