//! Linux kernels as ends of flows. A kernel is a child process, User Mode Linux; this program is its clock and its network,
//! and the network is a [`Simulation`](roamlab_world::Simulation).
//!
//! A run depends on scenario, seed and kernel alone: nothing in the kernel takes time of the machine. The exception is
//! [`Live`]: the kernel of this machine, in real time.
#![cfg(target_os = "linux")]

mod agent;
mod card;
mod child;
mod ends;
mod error;
mod machine;
mod memory;
mod real_time;
mod sender;
mod socket;
mod time_travel;

pub use child::Kernel;
pub use ends::{Counters, MOST_FLOWS, MOST_HOSTS, check_settings, run};
pub use error::Error;
pub use real_time::{Live, Timing};
pub use socket::send_with_files;
