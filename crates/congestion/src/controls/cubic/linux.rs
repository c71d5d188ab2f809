//! CUBIC as in Linux 6 (`net/ipv4/tcp_cubic.c`).
//!
//! Numbers are whole: segments, units of 1/1024 s, and the count of acknowledged segments for one more.
//!
//! ASSUMPTION: the kernel's clock ticks each millisecond (`CONFIG_HZ=1000`).

use super::{Cubic, Params};
use crate::controls::reno::linux::Growth;
use crate::controls::slow_start::{SlowStart, Watch};
use crate::{
    AckEvent, Algorithm, Choice, Laws, Loss, LossEvent, NewPath, Properties, SsthreshRule, Undo, Window,
};
use roamlab_engine::{Duration, Time};

/// beta, in 1/1024.
const BETA: u32 = 717;
/// C in 1/1024 of a segment per cubed second, times ten: 41 for an RTT of 100 ms.
const SCALE: u64 = 410;
/// Acknowledged segments per window that add one to the Reno-friendly window, in eighths: 8 (1 + beta) / (3 (1 - beta)).
const RENO_SCALE: u32 = 15;
/// Acknowledged segments for one more while no loss was seen: at least 5 % per round trip.
const MOST_BEFORE_LOSS: u32 = 20;
/// The same at most: 1.5 times the window per round trip.
const LEAST: u32 = 2;
/// Milliseconds after which an unchanged window is computed again.
const REFRESH: u64 = 1000 / 32;
/// Time after the start of an epoch in which no round-trip time counts.
const NO_SAMPLES: Duration = Duration::from_secs(1);

impl Choice for Params {
    type Own = Cubic;
    type Other = Linux;

    fn law(&self) -> Laws<Cubic, Linux> {
        if self.as_linux { Laws::Other(Linux::new(self)) } else { Laws::Own(Cubic::new(self)) }
    }
}

/// CUBIC's congestion control as in Linux 6.
#[derive(Clone, Debug)]
pub struct Linux {
    params: Params,
    watch: Watch,
    pub(super) state: State,
}

impl Linux {
    fn new(params: &Params) -> Linux {
        let watch = Watch::new(params.slow_start.unwrap_or(SlowStart::HyStart));
        Linux { params: *params, watch, state: State::default() }
    }
}

impl Algorithm for Linux {
    fn properties(&self) -> Properties {
        Properties { keeps_min_rtt: true, ..Properties::PLAIN }
    }

    fn records_segments(&self, window: &Window) -> bool {
        self.watch.needs_samples(window)
    }

    fn on_new_path(&mut self, _window: &mut Window, _path: NewPath) {
        self.watch.forget_min_rtt();
        self.state.delay_min = Duration::ZERO;
    }

    /// The algorithm begins when the SYN is acknowledged: the handshake's round-trip time does not count.
    fn on_start(&mut self, window: &mut Window, initial_window: f64) {
        window.cwnd = initial_window;
        self.state.delay_min = Duration::ZERO;
        self.watch.forget_min_rtt();
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        self.watch.measure(window, ack);
        self.state.on_ack(window, ack, &mut self.watch);
    }

    /// HyStart ends slow start in a recovery too, where the window is below ssthresh for a while (`cubictcp_acked`).
    fn on_other_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        self.state.measure(ack);
        self.watch.measure(window, ack);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &LossEvent) {
        self.watch.on_loss(loss.kind == Loss::Timeout);
        self.state.on_loss(window, loss, self.params.fast_convergence);
    }

    fn on_undo(&mut self, window: &mut Window, _undo: &Undo) {
        self.state.on_undo(window);
    }

    fn on_resume(&mut self, _window: &mut Window, idle: Duration, now: Time) {
        self.state.on_resume(idle, now);
    }
}

/// The state; times are in whole milliseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// Acknowledged segments that add one to the window (`cnt`).
    pub(super) per_segment: u32,
    pub(super) last_max_cwnd: u32,
    last_cwnd: u32,
    last_time: u64,
    pub(super) origin: u32,
    /// 1/1024 s.
    pub(super) k: u64,
    /// The shortest round-trip time; zero before the first.
    pub(super) delay_min: Duration,
    pub(super) epoch_start: Option<u64>,
    /// Acknowledged segments that wait to become one of `reno_cwnd`.
    acked: u32,
    pub(super) reno_cwnd: u32,
    /// cwnd and ssthresh before the latest reduction (`prior_cwnd`, `prior_ssthresh`).
    prior: (f64, f64),
    pub(super) growth: Growth,
}

fn milliseconds(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}

/// 64 times the cube root of 4·x, about: where the kernel's approximation begins (`cubic_root`).
const ROOTS: [u8; 64] = [
    0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168, 170, 173,
    176, 179, 181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221,
    222, 224, 225, 227, 229, 231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
];

/// The kernel's cube root, with an error of some 0.2 %: a value from the table for the leading bits, and one step of Newton's
/// method, with 341/1024 for a third.
fn cube_root(cube: u64) -> u64 {
    let bits = u64::BITS - cube.leading_zeros();
    if bits < 7 {
        return (u64::from(ROOTS[cube as usize]) + 35) >> 6;
    }
    let third = ((bits * 84) >> 8) - 1;
    let root = ((u64::from(ROOTS[(cube >> (3 * third)) as usize]) + 10) << third) >> 6;
    ((2 * root + cube / (root * (root - 1))) * 341) >> 10
}

impl State {
    #[inline]
    pub(super) fn on_ack(&mut self, window: &mut Window, ack: &AckEvent, watch: &mut Watch) {
        self.measure(ack);
        if !self.growth.permits(window, ack) {
            return;
        }
        let mut acked = ack.acked;
        if window.cwnd < window.ssthresh {
            let growth = watch.growth(window, ack, f64::from(acked));
            acked = Growth::slow_start(window, growth, acked);
            if acked == 0 {
                return;
            }
        }
        let cwnd = (window.cwnd as u32).max(1);
        self.update(cwnd, acked, milliseconds(ack.now));
        self.growth.avoid_congestion(window, self.per_segment, acked);
    }

    /// `bictcp_update`: how many acknowledged segments add one.
    pub(super) fn update(&mut self, cwnd: u32, acked: u32, now: u64) {
        self.acked += acked;
        if self.last_cwnd == cwnd && now - self.last_time <= REFRESH {
            return;
        }
        if self.epoch_start.is_none() || now != self.last_time {
            (self.last_cwnd, self.last_time) = (cwnd, now);
            self.per_segment = self.cubic(cwnd, acked, now);
        }
        let per_reno = (cwnd * RENO_SCALE) >> 3;
        while self.acked > per_reno {
            self.acked -= per_reno;
            self.reno_cwnd += 1;
        }
        if self.reno_cwnd > cwnd {
            self.per_segment = self.per_segment.min(cwnd / (self.reno_cwnd - cwnd));
        }
        self.per_segment = self.per_segment.max(LEAST);
    }

    /// The cubic function's count.
    pub(super) fn cubic(&mut self, cwnd: u32, acked: u32, now: u64) -> u32 {
        let start = *self.epoch_start.get_or_insert_with(|| {
            (self.acked, self.reno_cwnd) = (acked, cwnd);
            (self.k, self.origin) = match self.last_max_cwnd <= cwnd {
                true => (0, cwnd),
                false => {
                    let below = u64::from(self.last_max_cwnd - cwnd);
                    (cube_root((1 << 40) / SCALE * below), self.last_max_cwnd)
                }
            };
            now
        });
        let since = now - start + self.delay_min.as_nanos().div_ceil(1_000_000);
        let t = (since << 10) / 1000;
        let from_origin = t.abs_diff(self.k).min(1 << 20); // its cube fits; windows end before
        let delta = ((u128::from(SCALE) * u128::from(from_origin).pow(3)) >> 40) as u64;
        let origin = u64::from(self.origin);
        let target = if t < self.k { origin.saturating_sub(delta) } else { origin + delta };
        let count = match target.saturating_sub(u64::from(cwnd)) {
            0 => cwnd.saturating_mul(100),
            more => (u64::from(cwnd) / more) as u32,
        };
        if self.last_max_cwnd == 0 { count.min(MOST_BEFORE_LOSS) } else { count }
    }

    /// `cubictcp_acked`, without HyStart.
    ///
    /// DEVIATION: without timestamps one segment per round trip is measured, except in slow start.
    pub(super) fn measure(&mut self, ack: &AckEvent) {
        let Some(rtt) = ack.rtt else { return };
        let since = self.epoch_start.map(|start| milliseconds(ack.now) - start);
        if since.is_some_and(|since| Duration::from_millis(since) < NO_SAMPLES) {
            return;
        }
        if self.delay_min == Duration::ZERO || rtt < self.delay_min {
            self.delay_min = rtt.max(Duration::from_micros(1));
        }
    }

    /// `cubictcp_recalc_ssthresh`; the kernel's whole state is cleared at a timeout.
    pub(super) fn on_loss(&mut self, window: &mut Window, loss: &LossEvent, fast_convergence: bool) {
        if loss.ssthresh != SsthreshRule::Keep {
            self.prior = window.sizes();
        }
        let cwnd = window.cwnd as u32;
        let shrinks = fast_convergence && cwnd < self.last_max_cwnd;
        self.last_max_cwnd =
            if shrinks { (u64::from(cwnd) * u64::from(1024 + BETA) / 2048) as u32 } else { cwnd };
        (self.epoch_start, self.growth.credit) = (None, 0);
        if loss.kind == Loss::Timeout {
            *self = State { prior: self.prior, growth: std::mem::take(&mut self.growth), ..State::default() };
        }
        let left = f64::from(((u64::from(cwnd) * u64::from(BETA)) >> 10) as u32).max(2.0);
        window.cut(left, left, loss);
    }

    /// `tcp_undo_cwnd_reduction`: neither falls.
    pub(super) fn on_undo(&mut self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.prior.0);
        window.ssthresh = window.ssthresh.max(self.prior.1);
    }

    /// `cubictcp_cwnd_event`: the epoch begins later by the time that nothing was sent.
    pub(super) fn on_resume(&mut self, idle: Duration, now: Time) {
        if let Some(start) = &mut self.epoch_start {
            *start = (*start + idle.as_nanos() / 1_000_000).min(milliseconds(now));
        }
    }
}
