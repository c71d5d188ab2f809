//! The ends of a flow over `quinn-proto`, a QUIC stack without I/O, in simulated time.
//!
//! quinn does the protocol: recovery, congestion control, pacing, flow control, migration. This crate gives it the time,
//! randomness from a seed, a cryptographic session in plain text ([`plain`]), and data for one stream.
//!
//! An end is sans-IO as those of the crate `quic`: `now` is an argument, and output is taken with `poll_transmit`.

mod contents;
mod end;
mod plain;
mod progress;
mod time;

pub use end::{EndRole, QuinnEnd};
