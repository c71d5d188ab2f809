//! Linux kernels as ends of flows, in simulated time.

mod agent;
mod card;
mod child;
mod ends;
mod machine;
mod memory;
mod sender;
mod time_travel;

pub use child::Kernel;
pub use ends::{Counters, MOST_FLOWS, MOST_HOSTS, check_settings, run};
