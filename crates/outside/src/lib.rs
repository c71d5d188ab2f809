//! Ends of flows outside of the simulation, on Linux.
//!
//! `uml` has Linux kernels in simulated time. A kernel is a child process, User Mode Linux; this program is its clock and
//! its network, and the network is a [`Simulation`](roamlab_world::Simulation). A run depends on scenario, seed and kernel
//! alone: nothing in the kernel takes time of the machine. [`Live`] has programs over this machine's own kernel, in real
//! time.
#![cfg(target_os = "linux")]

mod error;
mod live;
mod socket;
mod uml;

pub use error::Error;
pub use live::{Live, Timing};
pub use socket::send_with_files;
pub use uml::{Counters, Kernel, MOST_FLOWS, MOST_HOSTS, check_settings, run};
