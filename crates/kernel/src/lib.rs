//! Linux kernels as ends of flows. A kernel is a child process, User Mode Linux; this program is its clock and its network,
//! and the network is a [`Simulation`](roamlab_world::Simulation).
//!
//! A run depends on scenario, seed and kernel alone: nothing in the kernel takes time of the machine.
#![cfg(target_os = "linux")]

mod agent;
mod card;
mod child;
mod ends;
mod machine;
mod memory;
mod sender;
mod socket;
mod time_travel;

pub use child::Kernel;
pub use ends::{Counters, MOST_FLOWS, MOST_HOSTS, run};

/// Why a run with a kernel has no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The simulation's reason.
    #[error(transparent)]
    Simulation(#[from] roamlab_world::Failure),
    /// The process in the kernel could not do what it was told.
    #[error("the kernel refused: {0}")]
    Refused(String),
    /// The kernel waits for nothing.
    #[error("the kernel stands still")]
    Stopped,
    /// The kernel has gone, or says what it may not.
    #[error("the kernel: {0}")]
    Kernel(#[from] std::io::Error),
    /// The same, with what the kernel has said last.
    #[error("the kernel: {0}\n{1}")]
    Ended(std::io::Error, String),
}

impl From<rustix::io::Errno> for Error {
    fn from(error: rustix::io::Errno) -> Error {
        Error::Kernel(error.into())
    }
}
