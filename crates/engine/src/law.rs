//! A time that a scenario gives by a law: always the same, uniform, or exponential.

use crate::tagged::{self, Family};
use crate::{Duration, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// A time by a law: a duration, or a table with `kind`.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum DurationLaw {
    /// Always this time.
    Constant(Duration),
    /// Drawn each time.
    Drawn(DrawnDuration),
}

/// A time that is drawn; `kind` names the law, the other fields are its parameters.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(tag = "kind")]
pub enum DrawnDuration {
    /// Every time from `least` up to `most` is as likely.
    #[serde(rename = "uniform")]
    Uniform(Uniform),
    /// Exponentially distributed with this mean.
    #[serde(rename = "exponential")]
    Exponential(Exponential),
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

impl DurationLaw {
    /// One time by the law. A constant draws nothing.
    pub fn draw(&self, rng: &mut Rng) -> Duration {
        match *self {
            DurationLaw::Constant(time) => time,
            DurationLaw::Drawn(DrawnDuration::Uniform(Uniform { least, most })) => {
                least + rng.uniform_duration(most.saturating_sub(least))
            }
            DurationLaw::Drawn(DrawnDuration::Exponential(Exponential { mean })) => rng.exponential(mean),
        }
    }

    /// Checks that times can be drawn by it.
    ///
    /// # Errors
    /// The field below the law ("" for the duration itself), and what to write.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        match *self {
            DurationLaw::Drawn(DrawnDuration::Uniform(Uniform { least, most })) if most <= least => Err((
                "most",
                format!("must be longer than `least`, \"{least}\"; write for example \"100 ms\""),
            )),
            DurationLaw::Drawn(DrawnDuration::Exponential(Exponential { mean }))
                if mean == Duration::ZERO =>
            {
                Err(("mean", "must be positive; write for example \"50 ms\"".into()))
            }
            _ => Ok(()),
        }
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
    const NAMES: &'static [&'static str] = &["uniform", "exponential"];

    fn read<'de, D: Deserializer<'de>>(kind: &'static str, fields: D) -> Result<Self, D::Error> {
        match kind {
            "uniform" => Uniform::deserialize(fields).map(DrawnDuration::Uniform),
            _ => Exponential::deserialize(fields).map(DrawnDuration::Exponential),
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
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn mean_ms(law: DurationLaw) -> f64 {
        let (mut rng, n) = (Rng::named(1, 0, "law"), 100_000);
        (0..n).map(|_| law.draw(&mut rng).as_secs_f64()).sum::<f64>() * 1000.0 / f64::from(n)
    }

    #[test]
    fn the_means_are_those_of_the_laws() {
        assert_eq!(DurationLaw::Constant(ms(50)).draw(&mut Rng::named(1, 0, "law")), ms(50));
        let uniform = DurationLaw::Drawn(DrawnDuration::Uniform(Uniform { least: ms(20), most: ms(100) }));
        // The mean of n draws has a standard deviation of 80 / sqrt(12 n) = 0.073 ms.
        assert!((mean_ms(uniform) - 60.0).abs() < 4.0 * 0.073);
        let mut rng = Rng::named(2, 0, "law");
        assert!((0..1000).all(|_| (ms(20)..ms(100)).contains(&uniform.draw(&mut rng))));
        let exponential = DurationLaw::Drawn(DrawnDuration::Exponential(Exponential { mean: ms(50) }));
        // 50 / sqrt(n) = 0.158 ms.
        assert!((mean_ms(exponential) - 50.0).abs() < 4.0 * 0.158);
    }

    #[test]
    fn a_law_that_no_time_follows_is_refused_by_its_field() {
        let field = |law: DurationLaw| law.check().unwrap_err().0;
        let uniform = DrawnDuration::Uniform(Uniform { least: ms(20), most: ms(20) });
        assert_eq!(field(DurationLaw::Drawn(uniform)), "most");
        let exponential = DrawnDuration::Exponential(Exponential { mean: Duration::ZERO });
        assert_eq!(field(DurationLaw::Drawn(exponential)), "mean");
        assert_eq!(DurationLaw::default().check(), Ok(()));
    }
}
