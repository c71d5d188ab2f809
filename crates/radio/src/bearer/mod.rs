//! Numbered radio bearers: PDCP (TS 38.323) and the repair of RLC in acknowledged mode (TS 38.322), as state machines
//! without a clock, packets or links.
//!
//! A [`Transmitter`] gives numbers (COUNT) and keeps what is not confirmed. A [`Receiver`] delivers in order of the
//! numbers. [`Repair`] gives the time at which a PDU that is lost on the air is sent again. Times come in with each call; `deadline` gives
//! when the next call is due.

mod receiver;
mod repair;
#[cfg(test)]
mod tests;
mod transmitter;

pub use receiver::{Arrival, Receiver};
pub use repair::{Repair, RepairTimers};
pub use transmitter::{Kept, Transmitter};
