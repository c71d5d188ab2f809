//! Video over RTP: frames, divided into packets. Each source of frames has a file: a published trace, a generator
//! fitted to one, a conference.
//!
//! RTP header: RFC 3550 §5.1, 12 B.

use crate::{Application, Offer, Unit, UnitKind, draw_start};
use roamlab_engine::{Bytes, Duration, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub mod conference;
pub mod synthetic;
pub mod trace;

/// Bytes of the headers of RTP, UDP and IP.
const HEADERS: u64 = 12 + 8 + 20;

/// How frames become packets.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Packetisation {
    /// Largest part of a frame in a packet; RTP, UDP and IP add 40 B.
    pub payload: Bytes,
    /// "back-to-back" (default): the packets of a frame leave immediately; "spread": evenly over the time to
    /// the next frame.
    pub spacing: Spacing,
}

/// When the packets of a frame leave.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// Immediately.
    BackToBack,
    /// Evenly over the time to the next frame.
    Spread,
}

impl Default for Packetisation {
    fn default() -> Packetisation {
        Packetisation { payload: Bytes(1460), spacing: Spacing::BackToBack }
    }
}

impl Packetisation {
    /// Bits on the wire of a stream of frames, on average; and of its largest packets.
    pub fn load(self, frame: f64, frames_per_second: f64) -> (f64, f64) {
        let packets = (frame / self.payload.0 as f64).ceil().max(1.0);
        (
            8.0 * frames_per_second * (frame + packets * HEADERS as f64),
            8.0 * (self.payload.0 + HEADERS) as f64,
        )
    }

    fn validate(self) -> Result<(), (&'static str, String)> {
        if !(1..=65_000).contains(&self.payload.0) {
            let message = "a packet holds 1 B to 65000 B of a frame: write for example \"1460 B\"";
            return Err(("packets.payload", message.into()));
        }
        Ok(())
    }
}

/// A frame, and how long after it the next one comes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    kind: UnitKind,
    bytes: u64,
    gap: Duration,
}

/// Where frames come from.
pub trait Source: Sized {
    /// The parameters of the application.
    type Params: Stream;

    /// A source at its beginning.
    fn new(params: &Self::Params, rng: Rng) -> Self;

    /// The next frame.
    fn next(&mut self) -> Frame;
}

/// Parameters of all sources.
pub trait Stream {
    /// Earliest start, width of the interval that it is drawn from, stop, packets.
    fn stream(&self) -> (Duration, Duration, Option<Duration>, Packetisation);
}

/// A stream of packets with frames from a source.
#[derive(Clone, Debug)]
pub struct Paced<S> {
    source: S,
    packets: Packetisation,
    stop: Time,
    /// When the next packet leaves, and when the next frame begins.
    next: Time,
    next_frame: Time,
    /// The part of the frame still to be sent, and the time between its packets.
    left: u64,
    spacing: Duration,
    /// Frames that have begun, I-frames among them.
    frames: u32,
    groups: u32,
    begun: Option<Unit>,
}

impl<S: Source> Application for Paced<S> {
    type Params = S::Params;

    fn new(params: &S::Params, rng: &mut Rng) -> Paced<S> {
        let (start, within, stop, packets) = params.stream();
        let next = draw_start(start, within, rng);
        Paced {
            source: S::new(params, rng.clone()),
            packets,
            stop: stop.map_or(Time::MAX, |stop| Time::ZERO + stop),
            next,
            next_frame: next,
            left: 0,
            spacing: Duration::ZERO,
            frames: 0,
            groups: 0,
            begun: None,
        }
    }

    fn next_wake(&self) -> Option<Time> {
        (self.left > 0 || self.next < self.stop).then_some(self.next)
    }

    fn wake(&mut self, now: Time) -> Option<Offer> {
        if self.left == 0 {
            let Frame { kind, bytes, gap } = self.source.next();
            let packets = bytes.div_ceil(self.packets.payload.0);
            self.groups += u32::from(kind == UnitKind::I);
            let (group, number) = (self.groups, self.frames);
            self.begun = Some(Unit { kind, group, number, bytes: Bytes(bytes), packets: packets as u32 });
            self.frames += 1;
            self.left = bytes;
            self.next_frame = now + gap;
            self.spacing = match self.packets.spacing {
                Spacing::BackToBack => Duration::ZERO,
                Spacing::Spread => Duration::from_nanos(gap.as_nanos() / packets),
            };
        }
        let payload = self.left.min(self.packets.payload.0);
        self.left -= payload;
        self.next = if self.left > 0 { now + self.spacing } else { self.next_frame };
        Some(Offer::Bytes(Bytes(payload + HEADERS)))
    }

    fn unit(&mut self) -> Option<Unit> {
        self.begun.take()
    }
}

/// A normally distributed number (Box and Muller's method).
fn normal(rng: &mut Rng) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - rng.uniform()));
    radius * libm::cos(2.0 * std::f64::consts::PI * rng.uniform())
}

/// Adds the common parameters to those of a source: `start`, `start_within`, `stop`, `packets`, and its own
/// check.
macro_rules! stream {
    ($params:ty) => {
        impl $crate::video::Stream for $params {
            fn stream(&self) -> (Duration, Duration, Option<Duration>, $crate::video::Packetisation) {
                (self.start, self.start_within, self.stop, self.packets)
            }
        }

        impl $crate::Checked for $params {
            fn start_within(&self) -> Duration {
                self.start_within
            }

            fn validate(&self) -> Result<(), (&'static str, String)> {
                self.check()?;
                self.packets.validate()
            }
        }
    };
}

use stream;

#[cfg(test)]
mod tests {
    use super::*;
    use synthetic::{Params, Video};

    /// (time, size) of each packet of two frames, and the frames.
    fn sent(spacing: Spacing) -> (Vec<(u64, u64)>, Vec<Unit>) {
        let packets = Packetisation { spacing, ..Packetisation::default() };
        let params = Params { packets, stop: Some(Duration::from_millis(41)), ..Params::default() };
        let mut video = Video::new(&params, &mut Rng::named(3, 0, "film/app"));
        let (mut sent, mut frames) = (Vec::new(), Vec::new());
        while let Some(now) = video.next_wake() {
            let Some(Offer::Bytes(size)) = video.wake(now) else { panic!("a datagram") };
            sent.push((now.as_nanos(), size.0));
            frames.extend(video.unit());
        }
        (sent, frames)
    }

    #[test]
    fn frames_are_cut_and_spaced() {
        let (at_once, frames) = sent(Spacing::BackToBack);
        let first = frames[0];
        assert_eq!((frames.len(), first.kind, frames[1].kind), (2, UnitKind::I, UnitKind::B));
        let count = first.packets as usize;
        assert!(count >= 2, "an I-frame of {} has several packets", first.bytes);
        assert!(at_once[..count].iter().all(|(time, _)| *time == 0));
        assert!(at_once[..count - 1].iter().all(|(_, size)| *size == 1500), "1460 B and 40 B of headers");
        let payload: u64 = at_once[..count].iter().map(|(_, size)| size - 40).sum();
        assert_eq!(Bytes(payload), first.bytes);
        assert_eq!(at_once[count].0, 40_000_000, "25 frames a second");
        let (spread, _) = sent(Spacing::Spread);
        let times: Vec<u64> = spread[..count].iter().map(|(time, _)| *time).collect();
        let expected: Vec<u64> = (0..count as u64).map(|k| k * (40_000_000 / count as u64)).collect();
        assert_eq!(times, expected);
    }
}
