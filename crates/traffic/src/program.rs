//! A program outside of the simulation, in real time: its packets come from a card of the machine, so nothing is offered
//! here.

use crate::{Application, Offer, Timed};
use roamlab_engine::{Duration, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One line for `roamlab list`.
pub const SUMMARY: &str = "the packets of a program in real time, which `roamlab shell` brings with it";

/// A program has no parameters.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Its packets may come from the beginning on.
    #[serde(skip)]
    start: Duration,
    /// They may come until the end.
    #[serde(skip)]
    pub(crate) stop: Option<Duration>,
}

impl Timed for Params {
    fn times(&mut self) -> (&mut Duration, &mut Option<Duration>) {
        (&mut self.start, &mut self.stop)
    }

    fn start(&self) -> Duration {
        self.start
    }

    fn validate(&self) -> Result<(), (&'static str, String)> {
        Ok(())
    }
}

/// A program.
#[derive(Clone, Debug)]
pub struct Program;

impl Application for Program {
    type Params = Params;

    fn new(_: &Params, _: &mut Rng) -> Program {
        Program
    }

    fn next_wake(&self) -> Option<Time> {
        None
    }

    fn wake(&mut self, _: Time) -> Option<Offer> {
        None
    }
}
