//! A program outside of the simulation, in real time: its packets come from a card of the machine, so nothing is offered
//! here.

use crate::{Application, Checked};
use roamlab_engine::{Duration, Rng};
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
    pub(crate) start: Duration,
    /// They may come until the end.
    #[serde(skip)]
    pub(crate) stop: Option<Duration>,
}

impl Checked for Params {
    fn start_within(&self) -> Duration {
        Duration::ZERO
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
}
