//! The analysis of a record: the stalls and slow periods of flows, their causes, and the sentences about them. The Python
//! package and the page in a browser both ask this crate.
//!
//! A [`Record`] lends the tables of a run. A column that an analysis needs and does not find is a [`Fault`]. `docs/metrics.md`
//! defines stalls and slow periods.

mod causes;
mod constants;
mod early;
mod explain;
mod headline;
mod numbers;
mod record;
mod senders;
mod slow;
mod stalls;
mod suspects;
mod table;
#[cfg(test)]
mod tests;
mod wait;
mod words;

pub use constants::constants;
pub use explain::{Explanation, Trouble};
pub use headline::Headline;
pub use record::{FLOOR_NS, Figure, Record, SETTLE_NS};
pub use senders::{Part, Role};
pub use slow::SlowPeriod;
pub use stalls::Stall;
pub use suspects::Suspect;
pub use table::{Column, Fault, Index, Table, Values, Words};
pub use wait::Wait;
