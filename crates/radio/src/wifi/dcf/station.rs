//! One station's backoff and retries (IEEE Std 802.11-2007, §9.2.5).

use crate::medium::{Frame, Role};
use roamlab_engine::{Duration, Rng, Time};

/// A station: its backoff, which outlives its frames, and what it is trying to send.
#[derive(Clone, Debug)]
pub(super) struct Station {
    pub(super) number: u32,
    pub(super) role: Role,
    rng: Rng,
    /// The frame that it is to send.
    pub(super) frame: Option<Frame>,
    /// A beacon that it is to send before that.
    pub(super) beacon: bool,
    /// Since when it has something to send.
    pub(super) since: Time,
    /// The frame is on the air and not wanted any more: no retries.
    pub(super) given_up: bool,
    /// Slots that it has still to count.
    pub(super) backoff: u32,
    /// When it may begin to count them.
    pub(super) ready: Time,
    /// The contention window: the largest backoff that it can draw.
    window: u32,
    /// Unanswered attempts of this frame with frames up to the RTS threshold, RTS among them; and with longer ones.
    pub(super) short_retries: u32,
    pub(super) long_retries: u32,
    /// How long the attempts of this frame have been on the air.
    pub(super) air: Duration,
}

impl Station {
    pub(super) fn new(number: u32, role: Role, window: u32, rng: Rng) -> Station {
        Station {
            number,
            role,
            rng,
            frame: None,
            beacon: false,
            since: Time::ZERO,
            given_up: false,
            backoff: 0,
            ready: Time::ZERO,
            window,
            short_retries: 0,
            long_retries: 0,
            air: Duration::ZERO,
        }
    }

    /// True if it has something to send.
    pub(super) fn contends(&self) -> bool {
        self.beacon || self.frame.is_some()
    }

    /// When it sends, if the medium stays idle.
    pub(super) fn start(&self, slot: Duration) -> Option<Time> {
        let counted = self.ready + slot.saturating_mul(u64::from(self.backoff));
        self.contends().then(|| counted.max(self.since))
    }

    /// The medium has become busy at `now`, by others: slots that were idle until then are counted. A station that was
    /// about to send without a backoff needs one now. Whether it has a backoff to count.
    pub(super) fn freeze(&mut self, now: Time, slot: Duration) -> bool {
        let counted = now.since(self.ready).as_nanos() / slot.as_nanos();
        self.backoff -= u64::from(self.backoff).min(counted) as u32;
        if self.backoff == 0 && self.contends() {
            self.draw();
        }
        self.backoff > 0 || self.contends()
    }

    /// Draws a backoff from the present window.
    pub(super) fn draw(&mut self) {
        self.backoff = (self.rng.uniform() * (f64::from(self.window) + 1.0)) as u32;
    }

    /// Sends without one: the medium is idle.
    pub(super) fn need_not_wait(&mut self) {
        self.backoff = 0;
    }

    /// An attempt was not answered: the window doubles.
    pub(super) fn double_window(&mut self, largest: u32) {
        self.window = (2 * self.window + 1).min(largest);
    }

    /// It is done with its frame or beacon, sent or not: the window is the smallest again.
    pub(super) fn reset_window(&mut self, smallest: u32) {
        self.window = smallest;
    }

    /// Its frame is gone; how long it was on the air.
    pub(super) fn forget_frame(&mut self) -> Duration {
        (self.frame, self.given_up) = (None, false);
        (self.short_retries, self.long_retries) = (0, 0);
        std::mem::take(&mut self.air)
    }
}
