//! A host that visits the cells in their order, back and forth.

use super::{Cells, Route};
use roamlab_engine::Rng;

pub use super::Steps as Params;

/// Down the list and up again.
#[derive(Debug)]
pub struct PingPong {
    goes_back: bool,
}

impl Route for PingPong {
    type Params = Params;

    fn new(_: &Params) -> PingPong {
        PingPong { goes_back: false }
    }

    fn next(&mut self, at: usize, cells: &Cells, _: Option<&mut Rng>) -> Option<usize> {
        let last = cells.names.len() - 1;
        if last == 0 {
            return None;
        }
        self.goes_back = at == last || (self.goes_back && at > 0);
        Some(if self.goes_back { at - 1 } else { at + 1 })
    }
}
