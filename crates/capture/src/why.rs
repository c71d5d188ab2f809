//! Why the TCP flows of a capture stalled.

pub mod cause;
mod course;
pub(crate) mod exchange;
pub(crate) mod explain;
mod explored;
mod marks;
pub(crate) mod pair;
pub(crate) mod pieces;
mod policer;
pub(crate) mod receiver;
pub(crate) mod sender;
mod sendings;
mod sentences;
pub(crate) mod silence;
mod slow;

pub use cause::{Cause, Kind, Sure};
pub use course::{Limits, Spike};
pub use explain::{Aligned, Answer, Resends, Stall, Timeout, Told, Trips, explain};
pub use explored::{Column, Explored, Facts, Stop, Table, explore};
pub use marks::{Marks, marks};
pub use slow::Slow;
