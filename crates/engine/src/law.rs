//! A time that a scenario gives by a law: always the same, uniform, exponential, by quantiles, or a mixture of laws.

mod measured;

pub use measured::MeasuredDurations;

use crate::tagged::{self, Family};
use crate::{Duration, Rng, weighted};
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
    /// Each time by one of several laws, chosen independently of the times before.
    #[serde(rename = "mixture")]
    Mixture(Mixture),
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

/// Several laws. Each time is drawn by one of them, which is chosen independently of those before.
///
/// As times between events, a short and a long law make groups of events: their sizes are geometric, with mean 1 / (share
/// of the long one).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mixture {
    /// The laws with their weights, two at least.
    pub components: Vec<Component>,
}

/// A law of a mixture.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// How often it is chosen, in proportion to the other weights; above 0.
    #[schemars(range(min = 0))]
    pub weight: f64,
    /// The law; no mixture.
    pub law: DurationLaw,
}

/// A complete mixture, for errors.
const MIXTURE: &str =
    "[{ weight = 0.8, law = { kind = \"exponential\", mean = \"2 s\" } }, { weight = 0.2, law = \"60 s\" }]";

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
                let ms = measured::interpolated(table.curve_ms(), rng.uniform());
                Duration::from_nanos((ms * 1e6) as u64)
            }
            DrawnDuration::Quantiles(quantiles) => {
                Duration::from_nanos(measured::interpolated(quantiles.curve_ns(), rng.uniform()) as u64)
            }
            DrawnDuration::Mixture(mixture) => mixture.choose(rng.uniform()).draw(rng),
        }
    }

    /// The mean of its times.
    pub fn mean(&self) -> Duration {
        let law = match self {
            DurationLaw::Constant(time) => return *time,
            DurationLaw::Drawn(law) => law,
        };
        let nanos = match law {
            DrawnDuration::Uniform(Uniform { least, most }) => {
                (least.as_nanos() as f64 + most.as_nanos() as f64) / 2.0
            }
            DrawnDuration::Exponential(Exponential { mean }) => return *mean,
            DrawnDuration::Measured(Measured { table }) => measured::mean(&table.curve_ms()) * 1e6,
            DrawnDuration::Quantiles(quantiles) => measured::mean(&quantiles.curve_ns().collect::<Vec<_>>()),
            DrawnDuration::Mixture(Mixture { components }) => {
                let sum: f64 =
                    components.iter().map(|each| each.weight * each.law.mean().as_nanos() as f64).sum();
                sum / components.iter().map(|each| each.weight).sum::<f64>()
            }
        };
        Duration::from_nanos(nanos as u64)
    }

    /// Checks that times can be drawn by it.
    ///
    /// # Errors
    /// The field below the law, and what to write.
    pub fn check(&self) -> Result<(), (String, String)> {
        let DurationLaw::Drawn(law) = self else { return Ok(()) };
        match law {
            DrawnDuration::Uniform(Uniform { least, most }) if most <= least => Err((
                "most".into(),
                format!("must be longer than `least`, \"{least}\"; write for example \"100 ms\""),
            )),
            DrawnDuration::Exponential(Exponential { mean }) if *mean == Duration::ZERO => {
                Err(("mean".into(), "must be positive; write for example \"50 ms\"".into()))
            }
            DrawnDuration::Quantiles(quantiles) => quantiles.check(),
            DrawnDuration::Mixture(mixture) => mixture.check(),
            _ => Ok(()),
        }
    }

    /// The same of the law in the field `name`.
    ///
    /// # Errors
    /// The field from `name` on, and what to write.
    pub fn check_in(&self, name: &str) -> Result<(), (String, String)> {
        self.check().map_err(|(field, message)| (format!("{name}.{field}"), message))
    }
}

impl Mixture {
    /// The law of a number in [0, 1), by the weights.
    fn choose(&self, uniform: f64) -> &DurationLaw {
        let weights = self.components.iter().map(|each| each.weight);
        &self.components[weighted(weights, uniform)].law
    }

    fn check(&self) -> Result<(), (String, String)> {
        if self.components.len() < 2 {
            let number = self.components.len();
            let message = format!("must be two laws at least, and has {number}; write for example {MIXTURE}");
            return Err(("components".into(), message));
        }
        for (number, Component { weight, law }) in self.components.iter().enumerate() {
            let part = |part: &str| format!("components[{number}].{part}");
            if !(*weight > 0.0 && weight.is_finite()) {
                let message =
                    format!("{weight} is no weight above 0; write for example 0.8, or leave this law out");
                return Err((part("weight"), message));
            }
            if matches!(law, DurationLaw::Drawn(DrawnDuration::Mixture(_))) {
                let message = "expected a law that is no mixture; write its laws into this list, with their weights multiplied";
                return Err((part("law"), message.into()));
            }
            law.check_in(&part("law"))?;
        }
        Ok(())
    }
}

impl Quantiles {
    /// The quantile function, in ns.
    fn curve_ns(&self) -> impl Iterator<Item = (f64, f64)> {
        self.points.iter().map(|&(probability, time)| (probability, time.as_nanos() as f64))
    }

    fn check(&self) -> Result<(), (String, String)> {
        let refuse = |fault: String| {
            let help = "write for example [[0.0, \"20 ms\"], [0.5, \"34 ms\"], [1.0, \"90 ms\"]]";
            Err(("points".into(), format!("{fault}; {help}")))
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

impl Default for DurationLaw {
    fn default() -> DurationLaw {
        DurationLaw::Constant(Duration::ZERO)
    }
}

impl Family for DrawnDuration {
    const WHAT: &'static str = "a law of times";
    const EXAMPLE: &'static str = "{ kind = \"exponential\", mean = \"50 ms\" }";
    const NAMES: &'static [&'static str] = &["uniform", "exponential", "measured", "quantiles", "mixture"];

    fn read<'de, D: Deserializer<'de>>(kind: &'static str, fields: D) -> Result<Self, D::Error> {
        match kind {
            "uniform" => Uniform::deserialize(fields).map(DrawnDuration::Uniform),
            "exponential" => Exponential::deserialize(fields).map(DrawnDuration::Exponential),
            "measured" => Measured::deserialize(fields).map(DrawnDuration::Measured),
            "quantiles" => Quantiles::deserialize(fields).map(DrawnDuration::Quantiles),
            _ => Mixture::deserialize(fields).map(DrawnDuration::Mixture),
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
