//! Hosts that move, and the domains that follow them, in whole runs.

mod domains;
mod far;
mod moves;
mod soft;
