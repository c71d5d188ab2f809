//! The ends of a flow over `quinn-proto`, a QUIC stack without I/O, in simulated time.
//!
//! quinn does the protocol: recovery, congestion control, pacing, flow control, migration. This crate gives it the time,
//! randomness from a seed, a cryptographic session in plain text (`plain.rs`), and data for one stream.
//!
//! The parameters, `spec.rs`, are in every build, the stack itself in those with the feature `stack`.
//!
//! An end is sans-IO as those of the crate `quic`: `now` is an argument, and output is taken with `poll_transmit`.

#[cfg(feature = "stack")]
mod contents;
#[cfg(feature = "stack")]
mod end;
#[cfg(feature = "stack")]
mod plain;
#[cfg(feature = "stack")]
mod progress;
#[cfg(feature = "qlog")]
mod qlog;
mod spec;
#[cfg(feature = "stack")]
mod time;

#[cfg(feature = "stack")]
pub use end::{EndRole, QuinnEnd};
pub use spec::{QuinnControl, QuinnSpec};
