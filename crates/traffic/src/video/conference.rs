//! A video conference: small pictures at a low rate, most of them coded from the one before.
//!
//! ASSUMPTION: H.263-like, as usual at the time of the BCMP paper, whose scenario does not name its source. 10 to 15
//! frames a second and 128 to 256 kbit/s; sizes log-normal and independent around their type's mean.

use super::{Frame, Paced, Packetisation, Source, normal, stream};
use crate::UnitKind;
use roamlab_engine::{Duration, Rate, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One line for `roamlab list`.
pub const SUMMARY: &str = "a video conference over RTP: P-frames at a steady rate, rarely an I-frame";

/// The application.
pub type Conference = Paced<Camera>;

/// Parameters of a video conference, one direction.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The earliest start.
    pub start: Duration,
    /// The start is uniform in [`start`, `start + start_within`), drawn from the flow's own random stream.
    pub start_within: Duration,
    /// No frame begins from then on; absent: with the run.
    pub stop: Option<Duration>,
    /// Rate of the frames on average, without headers.
    pub rate: Rate,
    /// Frames a second.
    pub frame_rate: f64,
    /// One of this number of frames is an I-frame.
    pub intra_every: u32,
    /// How much larger than a P-frame an I-frame is, on average.
    pub intra_factor: f64,
    /// Coefficient of variation of the sizes of a type.
    pub cov: f64,
    /// How frames become packets.
    pub packets: Packetisation,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            start: Duration::ZERO,
            start_within: Duration::ZERO,
            stop: None,
            rate: Rate::from_bps(256_000),
            frame_rate: 15.0,
            intra_every: 132,
            intra_factor: 4.0,
            cov: 0.3,
            packets: Packetisation::default(),
        }
    }
}

impl Params {
    fn check(&self) -> Result<(), (&'static str, String)> {
        if !(0.1..=1000.0).contains(&self.frame_rate) {
            return Err((
                "frame_rate",
                "a camera has 0.1 to 1000 frames a second: write for example 15.0".into(),
            ));
        }
        if self.intra_every == 0 {
            return Err(("intra_every", "the first frame is an I-frame: write at least 1".into()));
        }
        if !(1.0..=100.0).contains(&self.intra_factor) {
            return Err(("intra_factor", "an I-frame is not smaller: write a number from 1 to 100".into()));
        }
        if !(0.0..=3.0).contains(&self.cov) {
            return Err(("cov", "sizes vary by 0 to 3 times their mean: write for example 0.3".into()));
        }
        if self.rate.as_bps() as f64 / self.frame_rate > 8e9 {
            return Err(("rate", "a frame would have more than 1 GB: write a lower rate".into()));
        }
        Ok(())
    }
}

stream!(Params);

/// The frames of a conference.
#[derive(Clone, Debug)]
pub struct Camera {
    /// Mean of P-frames.
    mean: f64,
    params: Params,
    number: u64,
    rng: Rng,
}

impl Source for Camera {
    type Params = Params;

    fn new(params: &Params, rng: Rng) -> Camera {
        let frame = params.rate.as_bps() as f64 / 8.0 / params.frame_rate;
        let every = f64::from(params.intra_every);
        let mean = frame * every / (every - 1.0 + params.intra_factor);
        Camera { mean, params: params.clone(), number: 0, rng }
    }

    fn next(&mut self) -> Frame {
        let is_intra = self.number.is_multiple_of(u64::from(self.params.intra_every));
        let (kind, mean) = match is_intra {
            true => (UnitKind::I, self.mean * self.params.intra_factor),
            false => (UnitKind::P, self.mean),
        };
        let variance = libm::log(1.0 + self.params.cov * self.params.cov);
        let size = mean * libm::exp(libm::sqrt(variance) * normal(&mut self.rng) - variance / 2.0);
        let at = |number: u64| (number as f64 * 1e9 / self.params.frame_rate) as u64;
        let gap = Duration::from_nanos(at(self.number + 1) - at(self.number));
        self.number += 1;
        Frame { kind, bytes: (libm::round(size) as u64).max(1), gap }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_the_one_asked_for() {
        let params = Params { rate: Rate::from_bps(128_000), frame_rate: 10.0, ..Params::default() };
        let mut camera = Camera::new(&params, Rng::named(1, 0, "call/app"));
        let frames: Vec<Frame> = (0..13_200).map(|_| camera.next()).collect();
        assert_eq!(frames.iter().map(|frame| frame.gap.as_nanos()).sum::<u64>(), 1_320 * 1_000_000_000);
        let bits: u64 = frames.iter().map(|frame| 8 * frame.bytes).sum();
        assert!((bits as f64 / 1320.0 / 128_000.0 - 1.0).abs() < 0.02, "{bits} bit in 1320 s");
        assert_eq!(frames.iter().filter(|frame| frame.kind == UnitKind::I).count(), 100, "one of 132");
    }
}
