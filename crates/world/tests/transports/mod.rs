//! Applications and transports, in whole runs.

mod applications;
mod path_change;
mod quic_gap;
#[cfg(feature = "quinn")]
mod quinn;
mod recovery;
mod snoop;
