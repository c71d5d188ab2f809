//! Time, units, order and random numbers: the basis of all other crates.
//!
//! * [`Time`] and [`Duration`] are whole nanoseconds; [`Rate`] is bit/s; [`Bytes`] and [`Packets`] are counts.
//! * [`EventScheduler`] pops events in the order `(time, insertion number)`.
//! * [`Rng`] is a named random stream: a new component of a scenario does not change the numbers of the others.
//!   [`Streams`] can also be ns-2's single stream.
//!
//! * [`DurationLaw`] is a time of a scenario that is constant or drawn.
//! * [`named!`] declares an enum whose values have names in scenarios and records.
//! * [`tagged`] reads a table of a scenario whose `kind` selects its parameters.
//! * [`input`] describes the files that a scenario names; the program that reads the scenario provides their texts.
//!
//! This crate has no packets.

pub mod input;
mod law;
mod named;
mod prefetch;
mod ring;
mod rng;
mod scheduler;
pub mod tagged;
mod time;
mod units;

pub use input::{BadLine, InputFile, Recording, Refused};
pub use law::{
    Component, DrawnDuration, DurationLaw, Exponential, Measured, MeasuredDurations, Mixture, Quantiles,
    Uniform,
};
pub use prefetch::{prefetch, prefetch_at};
pub use ring::Ring;
pub use rng::{RandomNumbers, Rng, Streams, weighted};
pub use scheduler::EventScheduler;
pub use time::{Duration, Time};
pub use units::{Bytes, Packets, Rate, UnitError};
