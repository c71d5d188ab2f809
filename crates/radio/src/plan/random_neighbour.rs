//! A host that goes to one of the neighbours of its cell, each with the same probability: a random walk on the graph of
//! the cells. The host's stream `HOST/plan` decides, so every run of an ensemble has a different walk.

use super::{Cells, Itinerary, Route};
use roamlab_engine::{Duration, DurationLaw, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which cells are neighbours.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Neighbours {
    /// Neighbours in the list.
    #[default]
    List,
    /// Those whose routers are the same or joined by a link: in a grid those around.
    Links,
    /// Only those of `pairs`.
    Pairs,
}

/// Parameters of a random walk.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The cells: names, or patterns with `*`; absent: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<String>,
    /// The cell in which the first host of the group begins, the others further down the list; absent: the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin: Option<String>,
    /// When it turns to its first cell.
    #[serde(default)]
    pub at: Duration,
    /// Time between turning to one cell and turning to the next; or a law, as of the other plans.
    pub dwell: DurationLaw,
    /// How often it changes cells at most; absent: as long as the run lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves: Option<u32>,
    /// Which cells are neighbours.
    #[serde(default)]
    pub neighbours: Neighbours,
    /// Neighbours in addition to these: pairs of cells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [[["bs1", "bs2"]]]))]
    pub pairs: Vec<Vec<String>>,
}

impl Params {
    pub(super) fn itinerary(&self) -> Itinerary<'_> {
        let Params { cells, begin, at, dwell, moves, .. } = self;
        Itinerary { cells, begin: begin.as_deref(), at: *at, dwell: Some(dwell), moves: *moves }
    }
}

/// A random walk.
#[derive(Debug)]
pub struct RandomNeighbour;

impl Route for RandomNeighbour {
    type Params = Params;

    const IS_RANDOM: bool = true;

    fn new(_: &Params) -> RandomNeighbour {
        RandomNeighbour
    }

    fn next(&mut self, at: usize, cells: &Cells, rng: Option<&mut Rng>) -> Option<usize> {
        let around = &cells.neighbours[at];
        let drawn = (rng?.uniform() * around.len() as f64) as usize;
        around.get(drawn).copied()
    }
}
