//! The movement of hosts that follow a plan.

use roamlab_engine::{Duration, Rng};
use roamlab_radio::{Cells, PlanSpec, Visit};
use std::sync::Arc;

/// The movement of one host that follows a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct PlannedVisits {
    /// The plan's cells, which its hosts share.
    pub cells: Arc<Cells>,
    /// The cell that it begins in.
    pub(crate) first: usize,
    /// Time after the plan.
    pub(crate) late: Duration,
    /// Its shortest drawn stay.
    pub(crate) shortest: Duration,
}

impl PlannedVisits {
    /// Its visits until `end`.
    pub(crate) fn visits(&self, plan: &PlanSpec, end: Duration, rng: Option<&mut Rng>) -> Vec<Visit> {
        let visits = plan.visits(&self.cells, (self.first, self.late), (self.shortest, end), rng);
        let visit =
            |(cell, at): (usize, Duration)| Visit { cell: self.cells.names[cell].clone(), at, until: None };
        visits.into_iter().map(visit).collect()
    }

    /// The name of the cell that it begins in.
    pub fn begins_in(&self) -> &str {
        &self.cells.names[self.first]
    }
}
