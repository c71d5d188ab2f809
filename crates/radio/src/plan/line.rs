//! A host that visits the cells in their order, once.

use super::{Cells, Route};
use roamlab_engine::Rng;

pub use super::Steps as Params;

/// Down the list, and then no further.
#[derive(Debug)]
pub struct Line;

impl Route for Line {
    type Params = Params;

    fn new(_: &Params) -> Line {
        Line
    }

    fn next(&mut self, at: usize, cells: &Cells, _: Option<&mut Rng>) -> Option<usize> {
        (at + 1 < cells.names.len()).then_some(at + 1)
    }
}
