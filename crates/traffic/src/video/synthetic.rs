//! A film: a generator of frame sizes fitted to the published statistics of a trace.
//!
//! Statistics: "Jurassic Park I" of Fitzek and Reisslein (IEEE Network 15(6), 2001), the library's tables. A size is
//! log-normal around the mean of its type. The frames of a group of pictures share a part of the deviation, which is
//! correlated from group to group (AR(1)). Sizes are limited to the trace's smallest and largest frame.

use super::{Frame, Paced, Packetisation, Source, normal, stream};
use crate::UnitKind;
use roamlab_engine::{Duration, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One line for `roamlab list`.
pub const SUMMARY: &str =
    "a film over RTP: frame sizes with the statistics of a published MPEG-4 or H.263 trace";

/// The application.
pub type Video = Paced<Film>;

/// An encoding of the film.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub enum Encoding {
    /// MPEG-4, high quality: 770 kbit/s.
    #[serde(rename = "mpeg4-high")]
    Mpeg4High,
    /// MPEG-4, medium quality: 270 kbit/s.
    #[default]
    #[serde(rename = "mpeg4-medium")]
    Mpeg4Medium,
    /// H.263 at 256 kbit/s.
    #[serde(rename = "h263-256k")]
    H263At256k,
    /// H.263 at 64 kbit/s.
    #[serde(rename = "h263-64k")]
    H263At64k,
    /// H.263 at 16 kbit/s.
    #[serde(rename = "h263-16k")]
    H263At16k,
}

/// Published statistics of a trace: sizes of frames in bytes.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Statistics {
    /// Mean size.
    pub mean: f64,
    /// Coefficient of variation of the sizes.
    pub cov: f64,
    /// Smallest size.
    pub min: u64,
    /// Largest size.
    pub max: u64,
    /// Frames in an hour.
    pub frames: u64,
}

/// An hour, in nanoseconds.
const HOUR: u64 = 3600 * 1_000_000_000;

/// The group of pictures of the MPEG-4 traces.
const GROUP: &[u8; 12] = b"IBBPBBPBBPBB";

/// ASSUMPTION: half of the variance of the logarithm of a size belongs to its group, and 0.9 of that to the group before:
/// scenes of some five seconds. The source publishes no model.
const SHARED: f64 = 0.5;
const CORRELATION: f64 = 0.9;

impl Encoding {
    /// Statistics of the whole trace.
    pub const fn statistics(self) -> Statistics {
        let (mean, cov, min, max, frames) = match self {
            Encoding::Mpeg4High => (3800.0, 0.59, 72, 16_745, 90_000),
            Encoding::Mpeg4Medium => (1300.0, 0.84, 26, 8_511, 90_000),
            Encoding::H263At256k => (4534.0, 0.35, 345, 11_817, 25_407),
            Encoding::H263At64k => (1132.0, 0.36, 38, 8_935, 25_432),
            Encoding::H263At16k => (429.0, 0.58, 36, 8_935, 16_763),
        };
        Statistics { mean, cov, min, max, frames }
    }

    /// ASSUMPTION: mean sizes of I- and P-frames over those of B-frames. The tables have no statistics by type: 5 to 3 to 1
    /// is common, but alone gives a coefficient of variation of 0.70, more than high quality has altogether.
    const fn ratios(self) -> Option<[f64; 2]> {
        match self {
            Encoding::Mpeg4High => Some([3.0, 1.8]),
            Encoding::Mpeg4Medium => Some([5.0, 3.0]),
            Encoding::H263At256k | Encoding::H263At64k | Encoding::H263At16k => None,
        }
    }
}

/// Parameters of a film.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The earliest start.
    pub start: Duration,
    /// The start is uniform in [`start`, `start + start_within`), drawn from the flow's own random stream.
    pub start_within: Duration,
    /// No frame begins from then on; absent: with the run.
    pub stop: Option<Duration>,
    /// "mpeg4-high", "mpeg4-medium" (default), "h263-256k", "h263-64k", "h263-16k".
    pub encoding: Encoding,
    /// How frames become packets.
    pub packets: Packetisation,
}

impl Params {
    fn check(&self) -> Result<(), (&'static str, String)> {
        Ok(())
    }
}

stream!(Params);

/// The frames of a film.
#[derive(Clone, Debug)]
pub struct Film {
    statistics: Statistics,
    /// Means of I-, P- and B-frames; of H.263 those of all.
    means: [f64; 3],
    is_mpeg: bool,
    /// Standard deviation of the logarithm of a size around that of its type.
    deviation: f64,
    /// The present group's share of it.
    scene: f64,
    number: u64,
    rng: Rng,
}

impl Source for Film {
    type Params = Params;

    fn new(params: &Params, mut rng: Rng) -> Film {
        let statistics = params.encoding.statistics();
        let Statistics { mean, cov, .. } = statistics;
        let [i, p] = params.encoding.ratios().unwrap_or([1.0, 1.0]);
        // A group has 1 I-, 3 P- and 8 B-frames. The variance of sizes is that of the means of types and that around them:
        // 1 + cov² = (1 + between²) (1 + within²).
        let first = (i + 3.0 * p + 8.0) / 12.0;
        let second = (i * i + 3.0 * p * p + 8.0) / 12.0;
        let within = (1.0 + cov * cov) / (second / (first * first)) - 1.0;
        let deviation = libm::sqrt(libm::log(1.0 + within));
        let scene = normal(&mut rng);
        Film {
            statistics,
            means: [i, p, 1.0].map(|ratio| mean * ratio / first),
            is_mpeg: params.encoding.ratios().is_some(),
            deviation,
            scene,
            number: 0,
            rng,
        }
    }

    fn next(&mut self) -> Frame {
        let place = (self.number % GROUP.len() as u64) as usize;
        if place == 0 && self.number > 0 {
            let fresh = libm::sqrt(1.0 - CORRELATION * CORRELATION) * normal(&mut self.rng);
            self.scene = CORRELATION * self.scene + fresh;
        }
        // DEVIATION: the first H.263 frame alone is an I-frame, and as large as others; the traces refresh now and then.
        let (kind, mean) = match (self.is_mpeg, GROUP[place]) {
            (true, b'I') => (UnitKind::I, self.means[0]),
            (true, b'P') => (UnitKind::P, self.means[1]),
            (true, _) => (UnitKind::B, self.means[2]),
            (false, _) if self.number == 0 => (UnitKind::I, self.means[0]),
            (false, _) => (UnitKind::P, self.means[0]),
        };
        let own = normal(&mut self.rng);
        let spread = libm::sqrt(SHARED) * self.scene + libm::sqrt(1.0 - SHARED) * own;
        let size = mean * libm::exp(self.deviation * (spread - self.deviation / 2.0));
        let Statistics { min, max, frames, .. } = self.statistics;
        let at = |number: u64| (u128::from(number) * u128::from(HOUR) / u128::from(frames)) as u64;
        let gap = Duration::from_nanos(at(self.number + 1) - at(self.number));
        self.number += 1;
        Frame { kind, bytes: (libm::round(size) as u64).clamp(min, max), gap }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the published table, with these tolerances: mean 3 %, coefficient of variation 5 %, largest frame 10 %.
    #[test]
    fn an_hour_has_the_published_statistics() {
        for encoding in [
            Encoding::Mpeg4High,
            Encoding::Mpeg4Medium,
            Encoding::H263At256k,
            Encoding::H263At64k,
            Encoding::H263At16k,
        ] {
            let params = Params { encoding, ..Params::default() };
            let published = encoding.statistics();
            let (mut means, mut covs, mut largest) = (0.0, 0.0, 0);
            const RUNS: u64 = 8;
            for run in 0..RUNS {
                let mut film = Film::new(&params, Rng::named(1, run, "film/app"));
                let frames: Vec<Frame> = (0..published.frames).map(|_| film.next()).collect();
                let length: u64 = frames.iter().map(|frame| frame.gap.as_nanos()).sum();
                assert_eq!(length, HOUR);
                let count = published.frames as f64;
                let mean = frames.iter().map(|frame| frame.bytes as f64).sum::<f64>() / count;
                let square =
                    frames.iter().map(|frame| frame.bytes as f64 * frame.bytes as f64).sum::<f64>() / count;
                (means, covs) = (means + mean, covs + (square / (mean * mean) - 1.0).sqrt());
                largest = largest.max(frames.iter().map(|frame| frame.bytes).max().unwrap());
                let kinds: String = frames[..13].iter().map(|frame| frame.kind.name()).collect();
                let mpeg = encoding.ratios().is_some();
                assert_eq!(kinds, if mpeg { "IBBPBBPBBPBBI" } else { "IPPPPPPPPPPPP" });
            }
            let (mean, cov) = (means / RUNS as f64, covs / RUNS as f64);
            let near = |found: f64, said: f64, tolerance: f64| (found / said - 1.0).abs() < tolerance;
            assert!(near(mean, published.mean, 0.03), "{encoding:?}: mean {mean}");
            assert!(near(cov, published.cov, 0.05), "{encoding:?}: coefficient of variation {cov}");
            let peaky = !matches!(encoding, Encoding::H263At64k | Encoding::H263At16k);
            assert!(largest <= published.max, "{encoding:?}: {largest}");
            assert!(
                !peaky || near(largest as f64, published.max as f64, 0.1),
                "{encoding:?}: largest {largest}"
            );
        }
    }

    #[test]
    fn groups_are_correlated() {
        let mut film = Film::new(&Params::default(), Rng::named(1, 0, "film/app"));
        let mut group = || (0..12).map(|_| film.next().bytes as f64).sum::<f64>();
        let groups: Vec<f64> = (0..5000).map(|_| group()).collect();
        let mean = groups.iter().sum::<f64>() / groups.len() as f64;
        let with = |lag: usize| {
            groups.windows(lag + 1).map(|pair| (pair[0] - mean) * (pair[lag] - mean)).sum::<f64>()
        };
        let correlation = with(1) / with(0);
        assert!((0.5..0.9).contains(&correlation), "{correlation}: a film has scenes");
    }
}
