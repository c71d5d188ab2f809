//! A half-duplex medium with perfect access: an upper bound for contention.

use super::transmission::{Frame, Medium, Reached, Role, Transmission, TxOutcome};
use roamlab_engine::{Duration, Rate, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A medium without contention.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Time that each frame takes in addition to its bytes: preamble, pauses, acknowledgement.
    pub per_frame: Duration,
    /// Probability that a frame is lost on the air; it is not sent again.
    pub frame_loss: f64,
}

impl Params {
    /// Checks that a medium can have these parameters.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        if (0.0..1.0).contains(&self.frame_loss) {
            return Ok(());
        }
        let message = format!(
            "expected a probability from 0 to below 1, got {}; write for example 0.01",
            self.frame_loss
        );
        Err(("frame_loss", message))
    }

    /// Any rate is as good as another.
    pub(super) fn refuses_rate(&self, _: Rate) -> Option<String> {
        None
    }
}

/// One frame at a time, first come, first served.
#[derive(Clone, Debug)]
pub struct Shared {
    params: Params,
    rng: Rng,
    waiting: VecDeque<Frame>,
    /// The frame on the air, when it began and when it ends.
    sending: Option<(Frame, Time, Time)>,
    /// Part of a nanosecond that the last frame left over.
    remainder: u64,
}

impl Shared {
    /// A silent medium. `rng` is its own stream.
    pub fn new(params: &Params, rng: Rng) -> Shared {
        Shared { params: params.clone(), rng, waiting: VecDeque::new(), sending: None, remainder: 0 }
    }

    fn start(&mut self, frame: Frame, now: Time) {
        let bytes = frame.rate.transmission_time(frame.size, &mut self.remainder);
        self.sending = Some((frame, now, now + bytes + self.params.per_frame));
    }
}

impl Medium for Shared {
    fn join(&mut self, _: u32, _: Role, _: Rng) {}

    fn offer(&mut self, frame: Frame, now: Time) {
        if self.sending.is_some() {
            return self.waiting.push_back(frame);
        }
        self.remainder = 0;
        self.start(frame, now);
    }

    fn withdraw(&mut self, station: u32, _: Time) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|frame| frame.station != station);
        self.waiting.len() < before
    }

    fn next_deadline(&self) -> Option<Time> {
        self.sending.map(|(_, _, end)| end)
    }

    fn on_deadline(&mut self, now: Time, _: Reached<'_>) -> Option<Transmission> {
        let (frame, started, _) = self.sending.take_if(|(_, _, end)| *end <= now)?;
        if let Some(next) = self.waiting.pop_front() {
            self.start(next, now);
        }
        // Without losses no number is drawn.
        let arrived = self.params.frame_loss == 0.0 || self.rng.uniform() >= self.params.frame_loss;
        let outcome = Some(if arrived { TxOutcome::Received } else { TxOutcome::NotReceived });
        Some(Transmission { station: frame.station, started, outcome, air: now.since(started), free: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roamlab_engine::Bytes;

    fn medium(params: Params) -> Shared {
        Shared::new(&params, Rng::named(1, 0, "medium"))
    }

    fn frame(station: u32, bytes: u64) -> Frame {
        Frame {
            station,
            size: Bytes(bytes),
            rate: Rate::from_bps(8_000_000),
            broadcast: false,
            management: false,
        }
    }

    /// Who sent when, in microseconds, until no station has a frame.
    fn play(medium: &mut Shared) -> Vec<(u32, u64, u64)> {
        let micros = |time: Time| time.as_nanos() / 1000;
        std::iter::from_fn(|| {
            let end = medium.next_deadline()?;
            let sent = medium.on_deadline(end, &|_, _| true)?;
            Some((sent.station, micros(sent.started), micros(end)))
        })
        .collect()
    }

    #[test]
    fn stations_send_one_after_the_other_in_the_order_in_which_they_ask() {
        let mut medium = medium(Params { per_frame: Duration::from_micros(50), ..Params::default() });
        for (station, bytes) in [(1, 1000), (7, 500), (3, 100)] {
            medium.offer(frame(station, bytes), Time::ZERO);
        }
        assert!(medium.withdraw(7, Time::ZERO));
        assert!(!medium.withdraw(1, Time::ZERO), "it is on the air");
        assert_eq!(play(&mut medium), [(1, 0, 1050), (3, 1050, 1200)]);
        assert_eq!(medium.next_deadline(), None);
    }

    #[test]
    fn frames_are_lost_as_often_as_asked() {
        let mut medium = medium(Params { frame_loss: 0.25, ..Params::default() });
        let mut now = Time::ZERO;
        let mut lost = 0;
        for _ in 0..10_000 {
            medium.offer(frame(1, 100), now);
            now = medium.next_deadline().unwrap();
            let sent = medium.on_deadline(now, &|_, _| true).unwrap();
            lost += u32::from(sent.outcome == Some(TxOutcome::NotReceived));
        }
        // 2500 and four standard deviations.
        assert!((2_327..=2_673).contains(&lost), "{lost}");
    }

    #[test]
    fn parts_of_a_nanosecond_are_carried_only_from_frame_to_frame() {
        // 1 B at 7 Mbit/s: 1142.86 ns.
        let mut medium = medium(Params::default());
        let frame = Frame { rate: Rate::from_bps(7_000_000), ..frame(1, 1) };
        medium.offer(frame, Time::ZERO);
        assert!(medium.on_deadline(Time::from_nanos(1_142), &|_, _| true).is_some());
        medium.offer(frame, Time::from_nanos(10_000));
        assert_eq!(medium.next_deadline(), Some(Time::from_nanos(11_142)));
        medium.offer(frame, Time::from_nanos(10_500));
        medium.on_deadline(Time::from_nanos(11_142), &|_, _| true);
        assert_eq!(medium.next_deadline(), Some(Time::from_nanos(12_285)), "2285.71 ns for both");
    }
}
