//! A time that a scenario gives by a law: always the same, uniform, exponential, or by quantiles.

mod measured;

pub use measured::MeasuredDurations;

use crate::tagged::{self, Family};
use crate::{Duration, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// A time by a law: a duration, or a table with `kind`.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum DurationLaw {
    /// Always this time.
    Constant(Duration),
    /// Drawn each time.
    Drawn(DrawnDuration),
}

/// A time that is drawn; `kind` names the law, the other fields are its parameters.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(tag = "kind")]
pub enum DrawnDuration {
    /// Every time from `least` up to `most` is as likely.
    #[serde(rename = "uniform")]
    Uniform(Uniform),
    /// Exponentially distributed with this mean.
    #[serde(rename = "exponential")]
    Exponential(Exponential),
    /// As handovers were measured.
    #[serde(rename = "measured")]
    Measured(Measured),
    /// By its own quantiles.
    #[serde(rename = "quantiles")]
    Quantiles(Quantiles),
}

/// The bounds of a uniform law.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Uniform {
    /// The shortest time.
    #[serde(default)]
    pub least: Duration,
    /// No time is as long.
    pub most: Duration,
}

/// The mean of an exponential law.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exponential {
    /// The mean.
    pub mean: Duration,
}

/// A law of measured durations.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The data.
    pub table: MeasuredDurations,
}

/// A law by points of its quantile function, with a line from each to the next.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quantiles {
    /// Probabilities from 0 to 1, each with the time that is not exceeded with it; both rise.
    /// Below the first point a time is that of the first, above the last one that of the last.
    #[schemars(extend("examples" = [[[0.0, "20 ms"], [0.5, "34 ms"], [1.0, "90 ms"]]]))]
    pub points: Vec<(f64, Duration)>,
}

impl DurationLaw {
    /// One time by the law. A constant draws nothing.
    pub fn draw(&self, rng: &mut Rng) -> Duration {
        let law = match self {
            DurationLaw::Constant(time) => return *time,
            DurationLaw::Drawn(law) => law,
        };
        match law {
            DrawnDuration::Uniform(Uniform { least, most }) => {
                *least + rng.uniform_duration(most.saturating_sub(*least))
            }
            DrawnDuration::Exponential(Exponential { mean }) => rng.exponential(*mean),
            DrawnDuration::Measured(Measured { table }) => {
                Duration::from_nanos((table.quantile_ms(rng.uniform()) * 1e6) as u64)
            }
            DrawnDuration::Quantiles(Quantiles { points }) => {
                let points = points.iter().map(|&(probability, time)| (probability, time.as_nanos() as f64));
                Duration::from_nanos(interpolated(points, rng.uniform()) as u64)
            }
        }
    }

    /// Checks that times can be drawn by it.
    ///
    /// # Errors
    /// The field below the law ("" for the duration itself), and what to write.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        match self {
            DurationLaw::Drawn(DrawnDuration::Uniform(Uniform { least, most })) if most <= least => Err((
                "most",
                format!("must be longer than `least`, \"{least}\"; write for example \"100 ms\""),
            )),
            DurationLaw::Drawn(DrawnDuration::Exponential(Exponential { mean }))
                if *mean == Duration::ZERO =>
            {
                Err(("mean", "must be positive; write for example \"50 ms\"".into()))
            }
            DurationLaw::Drawn(DrawnDuration::Quantiles(quantiles)) => quantiles.check(),
            _ => Ok(()),
        }
    }
}

impl Quantiles {
    fn check(&self) -> Result<(), (&'static str, String)> {
        let refuse = |fault: String| {
            let help = "write for example [[0.0, \"20 ms\"], [0.5, \"34 ms\"], [1.0, \"90 ms\"]]";
            Err(("points", format!("{fault}; {help}")))
        };
        if self.points.len() < 2 {
            return refuse(format!("must be two points at least, and has {}", self.points.len()));
        }
        if let Some((probability, _)) = self.points.iter().find(|(share, _)| !(0.0..=1.0).contains(share)) {
            return refuse(format!("{probability} is no probability from 0 to 1"));
        }
        for pair in self.points.windows(2) {
            let [(before, earlier), (share, time)] = [pair[0], pair[1]];
            if share <= before {
                return refuse(format!("probabilities must rise, and {share} comes behind {before}"));
            }
            if time < earlier {
                return refuse(format!("times must not fall, and \"{time}\" comes behind \"{earlier}\""));
            }
        }
        Ok(())
    }
}

/// The value at `x` of the function through these points, whose first coordinates rise, with a line from each to the next.
/// Below the first point it is that of the first, above the last one that of the last; without points 0.
fn interpolated(points: impl IntoIterator<Item = (f64, f64)>, x: f64) -> f64 {
    let mut before: Option<(f64, f64)> = None;
    for (at, value) in points {
        if x <= at {
            return before
                .map_or(value, |(start, first)| first + (value - first) * ((x - start) / (at - start)));
        }
        before = Some((at, value));
    }
    before.map_or(0.0, |(_, value)| value)
}

impl Default for DurationLaw {
    fn default() -> DurationLaw {
        DurationLaw::Constant(Duration::ZERO)
    }
}

impl Family for DrawnDuration {
    const WHAT: &'static str = "a law of times";
    const EXAMPLE: &'static str = "{ kind = \"exponential\", mean = \"50 ms\" }";
    const NAMES: &'static [&'static str] = &["uniform", "exponential", "measured", "quantiles"];

    fn read<'de, D: Deserializer<'de>>(kind: &'static str, fields: D) -> Result<Self, D::Error> {
        match kind {
            "uniform" => Uniform::deserialize(fields).map(DrawnDuration::Uniform),
            "exponential" => Exponential::deserialize(fields).map(DrawnDuration::Exponential),
            "measured" => Measured::deserialize(fields).map(DrawnDuration::Measured),
            _ => Quantiles::deserialize(fields).map(DrawnDuration::Quantiles),
        }
    }
}

impl<'de> Deserialize<'de> for DrawnDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}

impl<'de> Deserialize<'de> for DurationLaw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize_text_or_table(
            deserializer,
            "a duration, for example \"50 ms\", or { kind = \"exponential\", mean = \"50 ms\" }",
            |text| text.parse().map(DurationLaw::Constant),
            DurationLaw::Drawn,
        )
    }
}

#[cfg(test)]
mod tests;
