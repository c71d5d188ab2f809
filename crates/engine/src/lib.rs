//! Time, units, order and chance: the four things every other crate must agree on.
//!
//! * [`Time`] and [`Duration`] are whole nanoseconds; [`Rate`] is bit/s; [`Bytes`] and [`Packets`] are counts.
//! * [`EventScheduler`] pops events in the order `(time, insertion number)` and in no other.
//! * [`Rng`] is a named random stream: adding a component to a scenario changes nobody else's numbers; [`Streams`]
//!   can also be ns-2's one stream for all.
//!
//! * [`tagged`] reads a table of a scenario whose `kind` says which parameters it holds.
//! * [`input`] is about the files that a scenario names; whoever reads the scenario gives their texts.
//!
//! Nothing here knows what a packet is.

pub mod input;
mod ring;
mod rng;
mod scheduler;
pub mod tagged;
mod time;
mod units;

pub use input::{BadLine, InputFile, Recording, Refused};
pub use ring::Ring;
pub use rng::{RandomNumbers, Rng, Streams};
pub use scheduler::EventScheduler;
pub use time::{Duration, Time};
pub use units::{Bytes, Packets, Rate, UnitError};
