//! Channels: the rate, the loss and the delay of a link as a random process that is drawn for each run. One file per kind, one
//! row per file in the table below. See docs/models/channel.md.
//!
//! A channel is drawn when a run is built, as series of rates, delays and losses over its time. Links follow them as they
//! follow files. A new kind needs a file with `Params` that implements [`Process`], its `mod` line and its row.

mod growth;
pub mod measured;
pub mod moves;
pub mod slots;
pub mod states;
mod tables;

pub use growth::Growth;
pub use moves::{Fault, Moves};

use crate::series::{Delays, Losses, Rates, Series};
use roamlab_engine::tagged::{self, Family};
use roamlab_engine::{Duration, Rate, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::sync::Arc;

/// Changes of a channel in a run at most, so that its series need no more than some ten MB.
const MOST_CHANGES: u64 = 1_000_000;

/// Properties of a run that a channel depends on.
#[derive(Clone, Debug)]
pub struct Setting<'a> {
    /// The other direction: up from the hosts of a cell, or from the second node of a link.
    pub back: bool,
    /// How long the run lasts.
    pub duration: Duration,
    /// The moves of hosts at this link.
    pub moves: &'a [Duration],
}

/// Rates, delays and losses of a link in a run.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// Its rate.
    pub rates: Arc<Series<Rates>>,
    /// Its addition to the delay of the link, if there is one.
    pub delays: Option<Series<Delays>>,
    /// Its losses, if it has any.
    pub losses: Option<Series<Losses>>,
    /// How its rate grows while packets wait.
    pub growth: Option<Growth>,
}

/// A kind of channel.
pub trait Process {
    /// Checks that a link can have it.
    ///
    /// # Errors
    /// The field below the channel, and what to write.
    fn check(&self) -> Result<(), Fault>;

    /// One run of it. `rng` is the stream of the link.
    fn draw(&self, setting: &Setting<'_>, rng: Rng) -> Drawn;

    /// The mean rate, without moves and growth; `back`: of the other direction.
    fn mean_rate(&self, back: bool) -> Rate;

    /// The two directions have the same parameters: their states are the same at each moment.
    fn is_shared(&self) -> bool {
        true
    }

    /// The time between two changes on average, and the field that sets it.
    fn between(&self) -> (Duration, &'static str);

    /// The effect of moves, if they have one.
    fn moves(&self) -> Option<&Moves> {
        None
    }

    /// Packets are lost at random by it.
    fn loses(&self) -> bool;

    /// It adds to the delay of its link.
    fn delays(&self) -> bool;
}

macro_rules! channels {
    ($($name:literal => $module:ident::$type:ident: $summary:literal,)+) => {
        /// A channel as a scenario describes it: `kind` names it, the other fields are its parameters.
        #[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub enum ChannelSpec {
            $(
                #[doc = $summary]
                #[serde(rename = $name)]
                $type($module::Params),
            )+
        }

        /// Names and one-line summaries of all channels.
        pub const CHANNELS: &[(&str, &str)] = &[$(($name, $summary),)+];

        impl Family for ChannelSpec {
            const WHAT: &'static str = "a channel";
            const EXAMPLE: &'static str = "{ kind = \"measured\", table = \"lte\" }";
            const NAMES: &'static [&'static str] = &[$($name,)+];

            fn read<'de, D: Deserializer<'de>>(kind: &str, fields: D) -> Result<Self, D::Error> {
                match kind {
                    $($name => $module::Params::deserialize(fields).map(ChannelSpec::$type),)+
                    _ => Err(serde::de::Error::unknown_variant(kind, Self::NAMES)),
                }
            }
        }

        impl ChannelSpec {
            fn process(&self) -> &dyn Process {
                match self {
                    $(ChannelSpec::$type(params) => params,)+
                }
            }
        }
    };
}

channels! {
    "states" => states::States: "A Markov chain of states, each with its rates, loss and delay",
    "measured" => measured::Measured: "Such a chain that was fitted to drives, by name",
    "slots" => slots::Slots: "Slots of 15 s as Starlink has them: new delay and rate, losses at their edges",
}

impl<'de> Deserialize<'de> for ChannelSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}

impl ChannelSpec {
    /// Checks that a link can have this channel in a run of this duration.
    ///
    /// # Errors
    /// The field below the channel, and what to write.
    pub fn check(&self, duration: Duration) -> Result<(), Fault> {
        self.process().check()?;
        if let Some(moves) = self.moves() {
            moves.check().map_err(|(field, message)| (format!("moves.{field}"), message))?;
        }
        let of_moves = self.moves().map_or(0, |moves| moves.changes(duration));
        let changes = self.changes(duration);
        let field = if of_moves > changes / 2 { "moves.between" } else { self.process().between().1 };
        if changes > MOST_CHANGES {
            let message = format!(
                "expected at most {MOST_CHANGES} changes in a run, got some {changes} in {duration}; write a longer time, or a shorter `run.duration`"
            );
            return Err((field.to_owned(), message));
        }
        Ok(())
    }

    /// How often it changes in a run, on average, without moves of hosts.
    pub fn changes(&self, duration: Duration) -> u64 {
        let between = self.process().between().0;
        let of_moves = self.moves().map_or(0, |moves| moves.changes(duration));
        (duration.as_nanos() / between.as_nanos().max(1)).saturating_add(of_moves)
    }

    /// See [`Process::draw`].
    pub fn draw(&self, setting: &Setting<'_>, rng: Rng) -> Drawn {
        self.process().draw(setting, rng)
    }

    /// See [`Process::mean_rate`].
    pub fn mean_rate(&self, back: bool) -> Rate {
        self.process().mean_rate(back)
    }

    /// See [`Process::is_shared`].
    pub fn is_shared(&self) -> bool {
        self.process().is_shared()
    }

    /// See [`Process::moves`].
    pub fn moves(&self) -> Option<&Moves> {
        self.process().moves()
    }

    /// See [`Process::loses`].
    pub fn loses(&self) -> bool {
        self.process().loses()
    }

    /// See [`Process::delays`].
    pub fn delays(&self) -> bool {
        self.process().delays()
    }
}

/// A rate of this number of bit/s, at least 1.
fn rate_of(bits: f64) -> Rate {
    Rate::from_bps((bits.round() as u64).max(1))
}

#[cfg(test)]
mod tests;
