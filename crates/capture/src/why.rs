//! Why the TCP flows of a capture stalled.

pub mod cause;
mod course;
mod exchange;
mod explain;
mod explored;
mod pair;
mod policer;
mod receiver;
mod sender;
mod sendings;
mod sentences;
mod silence;
mod slow;

pub use cause::{Cause, Kind, Sure};
pub use course::{Limits, Spike};
pub use explain::{Aligned, Answer, Resends, Stall, Timeout, Told, Trips, explain};
pub use explored::{Column, Explored, Facts, Stop, Table, explore};
pub use slow::Slow;
