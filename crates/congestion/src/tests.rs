//! The contract of all congestion controls, and the ends and the path of the tests.

mod contract;
pub(crate) mod path;
pub(crate) mod sender;
