//! A host that stays where it is.

use super::{Cells, Itinerary, Route};
use roamlab_engine::{Duration, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of a stay.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The cells: names, or patterns with `*`; absent: all. Each host of a group stays in the next one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<String>,
    /// The cell of the first host of the group, the others further down the list; absent: the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begin: Option<String>,
    /// When it enters its cell.
    pub at: Duration,
}

impl Params {
    pub(super) fn itinerary(&self) -> Itinerary<'_> {
        let Params { cells, begin, at } = self;
        Itinerary { cells, begin: begin.as_deref(), at: *at, dwell: None, moves: None }
    }
}

/// It stays.
#[derive(Debug)]
pub struct Stay;

impl Route for Stay {
    type Params = Params;

    fn new(_: &Params) -> Stay {
        Stay
    }

    fn next(&mut self, _: usize, _: &Cells, _: Option<&mut Rng>) -> Option<usize> {
        None
    }
}
