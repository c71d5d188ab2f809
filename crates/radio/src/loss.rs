//! Random loss on a link: independent, in bursts (Gilbert–Elliott), or from a file. See docs/models/random-loss.md.
//!
//! E. N. Gilbert, "Capacity of a burst-noise channel", Bell System Technical Journal 39(5), 1960, and E. O. Elliott,
//! "Estimates of error rates for codes on burst-noise channels", Bell System Technical Journal 42(5), 1963: a Markov
//! chain with a good and a bad state and a probability of loss in each. The chain takes one step for each packet, as in
//! G. Hasslinger and O. Hohlfeld, "The Gilbert-Elliott model for packet loss in real time services on the Internet",
//! MMB 2008.

use crate::series::{AtEnd, CERTAIN, Losses, Player, Series};
use roamlab_engine::tagged::{self, Family};
use roamlab_engine::{Duration, InputFile, Rng, Time};
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::fmt;
use std::sync::Arc;

/// Random loss on one direction of a link: a probability, or a table with `kind`.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum LossSpec {
    /// Each packet is lost with this probability, independently of all others; 0 to below 1.
    Independent(#[schemars(range(min = 0))] f64),
    /// Losses depend on each other, or on the time.
    Correlated(Box<CorrelatedLoss>),
}

/// A loss model with parameters; `kind` names it, the other fields are its parameters.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(tag = "kind")]
pub enum CorrelatedLoss {
    /// Two states with a probability of loss each; one step for each packet.
    #[serde(rename = "gilbert-elliott")]
    GilbertElliott(GilbertElliott),
    /// Probabilities over time, or the packets that are lost, from a file.
    #[serde(rename = "recorded")]
    Recorded(RecordedLoss),
}

/// Names and one-line summaries of all loss models with a `kind`.
pub const LOSS_MODELS: &[(&str, &str)] = &[
    ("gilbert-elliott", "Losses in bursts: a good and a bad state, one step for each packet"),
    ("recorded", "Losses from a file: a table of probabilities, or 0 or 1 for each packet"),
];

/// The Gilbert–Elliott model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Probability that a packet in the bad state follows one in the good state; 0 to 1. Often called p.
    #[schemars(range(min = 0, max = 1))]
    pub good_to_bad: f64,
    /// Probability that a packet in the good state follows one in the bad state; above 0, up to 1. Often called r.
    #[schemars(range(min = 0, max = 1))]
    pub bad_to_good: f64,
    /// Probability that a packet is lost in the bad state; 0 to 1. Often called 1 − h.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 1))]
    pub loss_in_bad: f64,
    /// Probability that a packet is lost in the good state; 0 to below 1. Often called 1 − k.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub loss_in_good: f64,
}

/// Losses from a file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordedLoss {
    /// The file: a table with the columns `time_s` and `loss`, a probability; or 0 or 1 (lost) on each line, a line for each
    /// packet. Its path is relative to the scenario's file, or to the folder that the variable `ROAMLAB_DATA` names.
    pub trace: InputFile<Series<Losses>>,
    /// At its end it begins again, or the last value holds.
    #[serde(default)]
    pub at_end: AtEnd,
}

impl RecordedLoss {
    /// Before its file is read there is nothing to check.
    fn check(&self) -> Result<(), (&'static str, String)> {
        let Some(series) = self.trace.content() else { return Ok(()) };
        if let Some(place) = series.undecided() {
            let number = place + 1;
            return Err((
                "trace",
                format!(
                    "packet {number} of this file is neither lost (1) nor not (0); write 0 or 1 on each line, or a table with \
                     the columns time_s,loss"
                ),
            ));
        }
        let held = self.at_end == AtEnd::Hold || series.count() == 1;
        if series.loses_all() || held && series.ends_lost() {
            let message = "every packet behind its end is lost; write a last row with a loss below 1, or `at_end = \"repeat\"`";
            return Err(("trace", message.into()));
        }
        Ok(())
    }
}

fn one() -> f64 {
    1.0
}

impl GilbertElliott {
    /// The share of packets that meet the bad state.
    fn share_bad(&self) -> f64 {
        self.good_to_bad / (self.good_to_bad + self.bad_to_good)
    }
}

impl LossSpec {
    /// Checks that a link can lose packets like this.
    ///
    /// # Errors
    /// The field below `loss` ("" for the number itself), and what to write.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        match self {
            LossSpec::Independent(loss) => match below_one(*loss) {
                true => Ok(()),
                false => {
                    let percent = if (1.0..100.0).contains(loss) { *loss } else { 1.0 };
                    let meant = format!("write for {percent} % `loss = {}`", percent / 100.0);
                    let all = if *loss == 1.0 {
                        ", and for a link that loses all `changes` with `up = false`"
                    } else {
                        ""
                    };
                    Err(("", format!("{loss} is no probability from 0 to below 1; {meant}{all}")))
                }
            },
            LossSpec::Correlated(model) => match &**model {
                CorrelatedLoss::GilbertElliott(chain) => chain.check(),
                CorrelatedLoss::Recorded(recorded) => recorded.check(),
            },
        }
    }

    /// The losses from a file, if they are.
    pub fn recorded(&self) -> Option<&RecordedLoss> {
        match self {
            LossSpec::Correlated(model) => match &**model {
                CorrelatedLoss::Recorded(recorded) => Some(recorded),
                CorrelatedLoss::GilbertElliott(_) => None,
            },
            LossSpec::Independent(_) => None,
        }
    }

    /// The file that it names, if it does.
    pub fn file(&mut self) -> Option<&mut InputFile<Series<Losses>>> {
        match self {
            LossSpec::Correlated(model) => match &mut **model {
                CorrelatedLoss::Recorded(recorded) => Some(&mut recorded.trace),
                CorrelatedLoss::GilbertElliott(_) => None,
            },
            LossSpec::Independent(_) => None,
        }
    }

    /// True if any packet can be lost.
    pub fn can_lose(&self) -> bool {
        *self != LossSpec::Independent(0.0)
    }
}

impl GilbertElliott {
    fn check(&self) -> Result<(), (&'static str, String)> {
        let no = |value: f64, what: &str| format!("{value} is no probability {what}");
        if !(0.0..=1.0).contains(&self.good_to_bad) {
            let message = no(self.good_to_bad, "from 0 to 1; write for example 0.003");
            return Err(("good_to_bad", message));
        }
        if !(self.bad_to_good > 0.0 && self.bad_to_good <= 1.0) {
            let message =
                no(self.bad_to_good, "above 0 and up to 1; write 1 / (mean packets in the bad state)");
            return Err(("bad_to_good", message));
        }
        if !(0.0..=1.0).contains(&self.loss_in_bad) {
            return Err(("loss_in_bad", no(self.loss_in_bad, "from 0 to 1; write for example 0.5")));
        }
        if !below_one(self.loss_in_good) {
            return Err(("loss_in_good", no(self.loss_in_good, "below 1; write for example 0.001")));
        }
        Ok(())
    }
}

fn below_one(probability: f64) -> bool {
    (0.0..1.0).contains(&probability)
}

impl Family for CorrelatedLoss {
    const WHAT: &'static str = "random loss";
    const EXAMPLE: &'static str = "{ kind = \"gilbert-elliott\", good_to_bad = 0.003, bad_to_good = 0.3 }";
    const NAMES: &'static [&'static str] = &["gilbert-elliott", "recorded"];

    fn read<'de, D: Deserializer<'de>>(kind: &str, fields: D) -> Result<Self, D::Error> {
        match kind {
            "recorded" => RecordedLoss::deserialize(fields).map(CorrelatedLoss::Recorded),
            _ => GilbertElliott::deserialize(fields).map(CorrelatedLoss::GilbertElliott),
        }
    }
}

impl<'de> Deserialize<'de> for CorrelatedLoss {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}

impl<'de> Deserialize<'de> for LossSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> de::Visitor<'de> for Either {
            type Value = LossSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a probability, for example 0.01, or {}", CorrelatedLoss::EXAMPLE)
            }
            fn visit_f64<E>(self, loss: f64) -> Result<LossSpec, E> {
                Ok(LossSpec::Independent(loss))
            }
            fn visit_i64<E>(self, loss: i64) -> Result<LossSpec, E> {
                Ok(LossSpec::Independent(loss as f64))
            }
            fn visit_u64<E>(self, loss: u64) -> Result<LossSpec, E> {
                Ok(LossSpec::Independent(loss as f64))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<LossSpec, A::Error> {
                let model = CorrelatedLoss::deserialize(MapAccessDeserializer::new(map))?;
                Ok(LossSpec::Correlated(Box::new(model)))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// Decides packet by packet whether a link loses it.
#[derive(Clone, Debug)]
pub struct LossProcess {
    law: Law,
    rng: Rng,
}

#[derive(Clone, Debug)]
enum Law {
    Independent(f64),
    /// With the state that the last packet met, true if bad; `None` before the first packet.
    Chain(GilbertElliott, Option<bool>),
    /// A table of probabilities over time.
    Table(Player<Losses>),
    /// A value for each packet, and the packets so far: the time of this player.
    Packets(Player<Losses>, u64),
}

impl LossProcess {
    /// Losses with the probabilities of a table over time, whose last value holds.
    pub fn over_time(series: Series<Losses>, rng: Rng) -> LossProcess {
        LossProcess { law: Law::Table(Player::new(Arc::new(series), Duration::ZERO, AtEnd::Hold)), rng }
    }

    /// A process before its first packet. `rng` is the stream of this direction of this link. A file must have been read.
    pub fn new(spec: &LossSpec, rng: Rng) -> LossProcess {
        let law = match spec {
            LossSpec::Independent(loss) => Law::Independent(*loss),
            LossSpec::Correlated(model) => match &**model {
                CorrelatedLoss::GilbertElliott(chain) => Law::Chain(chain.clone(), None),
                CorrelatedLoss::Recorded(recorded) => Law::of(recorded),
            },
        };
        LossProcess { law, rng }
    }

    /// True if the packet is lost that arrives at this time. It draws as many numbers whatever the outcome, so that runs that
    /// differ only in a probability lose the same packets as far as they can.
    pub fn loses(&mut self, now: Time) -> bool {
        match &mut self.law {
            Law::Independent(loss) => self.rng.uniform() < *loss,
            Law::Chain(chain, state) => {
                // The first packet meets a state of the stationary distribution: the mean loss holds from the start.
                let enters_bad = match *state {
                    None => chain.share_bad(),
                    Some(false) => chain.good_to_bad,
                    Some(true) => 1.0 - chain.bad_to_good,
                };
                let is_bad = self.rng.uniform() < enters_bad;
                *state = Some(is_bad);
                let loss = if is_bad { chain.loss_in_bad } else { chain.loss_in_good };
                self.rng.uniform() < loss
            }
            Law::Table(player) => {
                player.seek(now.as_nanos());
                self.rng.uniform() < player.value() as f64 / CERTAIN as f64
            }
            Law::Packets(player, packets) => {
                player.seek(*packets);
                *packets += 1;
                player.value() == CERTAIN
            }
        }
    }
}

impl Law {
    fn of(recorded: &RecordedLoss) -> Law {
        let Some(series) = recorded.trace.content() else { return Law::Independent(0.0) };
        let step = Duration::from_nanos(1);
        let player = Player::new(series.clone(), step, recorded.at_end);
        if series.is_lines() { Law::Packets(player, 0) } else { Law::Table(player) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: usize = 400_000;

    fn losses(spec: LossSpec) -> Vec<bool> {
        let mut process = LossProcess::new(&spec, Rng::named(11, 0, "a->b/loss"));
        (0..PACKETS).map(|_| process.loses(Time::ZERO)).collect()
    }

    fn chain(p: f64, r: f64, bad: f64, good: f64) -> LossSpec {
        let chain = GilbertElliott { good_to_bad: p, bad_to_good: r, loss_in_bad: bad, loss_in_good: good };
        LossSpec::Correlated(Box::new(CorrelatedLoss::GilbertElliott(chain)))
    }

    fn share(lost: &[bool]) -> f64 {
        lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64
    }

    /// Lengths of runs of losses.
    fn bursts(lost: &[bool]) -> Vec<usize> {
        lost.split(|lost| !lost).map(<[bool]>::len).filter(|&length| length > 0).collect()
    }

    #[test]
    fn independent_losses_have_their_mean_and_geometric_bursts() {
        let loss = 0.05;
        let lost = losses(LossSpec::Independent(loss));
        let deviation = (loss * (1.0 - loss) / PACKETS as f64).sqrt();
        assert!((share(&lost) - loss).abs() < 4.0 * deviation, "{}", share(&lost));
        // A burst continues with probability 0.05: mean 1 / (1 - p), deviation sqrt(p) / (1 - p).
        let bursts = bursts(&lost);
        let mean = bursts.iter().sum::<usize>() as f64 / bursts.len() as f64;
        let bound = 4.0 * loss.sqrt() / (1.0 - loss) / (bursts.len() as f64).sqrt();
        assert!((mean - 1.0 / (1.0 - loss)).abs() < bound, "{mean}");
    }

    #[test]
    fn bursts_of_gilberts_model_are_geometric_with_mean_one_over_r() {
        let (p, r) = (0.005, 0.25);
        let lost = losses(chain(p, r, 1.0, 0.0));
        let mean_loss = p / (p + r);
        // Variance of a mean of n steps of the chain: pi (1 - pi) (2 - p - r) / ((p + r) n).
        let spread = mean_loss * (1.0 - mean_loss) * (2.0 - p - r) / ((p + r) * PACKETS as f64);
        assert!((share(&lost) - mean_loss).abs() < 4.0 * spread.sqrt(), "{} {mean_loss}", share(&lost));
        let bursts = bursts(&lost);
        let count = bursts.len() as f64;
        let mean = bursts.iter().sum::<usize>() as f64 / count;
        assert!((mean - 1.0 / r).abs() < 4.0 * (1.0 - r).sqrt() / r / count.sqrt(), "{mean}");
        // P(length > 4) = (1 - r)^4 = 0.75^4.
        let (long, tail) = (bursts.iter().filter(|&&length| length > 4).count() as f64 / count, 0.316_406_25);
        assert!((long - tail).abs() < 4.0 * (tail * (1.0 - tail) / count).sqrt(), "{long} {tail}");
    }

    #[test]
    fn elliotts_model_loses_in_both_states() {
        let (p, r, bad, good) = (0.02, 0.1, 0.5, 0.01);
        let lost = losses(chain(p, r, bad, good));
        let share_bad = p / (p + r);
        let mean = share_bad * bad + (1.0 - share_bad) * good;
        let of_states = (bad - good) * (bad - good) * share_bad * (1.0 - share_bad) * (2.0 - p - r) / (p + r);
        let spread = (of_states + mean * (1.0 - mean)) / PACKETS as f64;
        assert!((share(&lost) - mean).abs() < 4.0 * spread.sqrt(), "{} {mean}", share(&lost));
        // Covariance of neighbours: (bad - good)^2 pi (1 - pi) (1 - p - r).
        let together =
            lost.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64 / (PACKETS - 1) as f64;
        let expected =
            mean * mean + (bad - good) * (bad - good) * share_bad * (1.0 - share_bad) * (1.0 - p - r);
        assert!((together - expected).abs() < 0.05 * expected, "{together} {expected}");
    }

    #[test]
    fn a_greater_probability_loses_the_same_packets_and_more() {
        let (few, many) = (losses(LossSpec::Independent(0.01)), losses(LossSpec::Independent(0.02)));
        assert!(few.iter().zip(&many).all(|(few, many)| !few || *many));
        assert!(share(&many) > share(&few));
    }

    #[test]
    fn what_is_no_probability_is_refused_with_its_field() {
        let field = |spec: LossSpec| spec.check().err().map(|(field, _)| field);
        for loss in [-0.1, 1.0, 3.0, f64::NAN] {
            assert_eq!(field(LossSpec::Independent(loss)), Some(""));
        }
        assert_eq!(field(chain(1.1, 0.5, 1.0, 0.0)), Some("good_to_bad"));
        assert_eq!(field(chain(0.1, 0.0, 1.0, 0.0)), Some("bad_to_good"));
        assert_eq!(field(chain(0.1, 0.5, 1.5, 0.0)), Some("loss_in_bad"));
        assert_eq!(field(chain(0.1, 0.5, 1.0, 1.0)), Some("loss_in_good"));
        assert_eq!(field(chain(0.0, 1.0, 1.0, 0.0)), None);
    }

    #[test]
    fn the_first_packet_meets_the_bad_state_as_often_as_any() {
        // The stationary share, 0.01 / 0.11; the chance to enter it is 0.01. A deviation is 0.0045.
        let spec = chain(0.01, 0.1, 1.0, 0.0);
        let first = |seed| LossProcess::new(&spec, Rng::named(seed, 0, "loss")).loses(Time::ZERO);
        let lost: Vec<bool> = (0..4000).map(first).collect();
        assert!((share(&lost) - 1.0 / 11.0).abs() < 0.018, "{}", share(&lost));
    }
}
