//! Layer 2: cells, the hosts in them, their motion and measurements.

pub(crate) mod cells;
