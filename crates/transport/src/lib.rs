//! The family of transports: what carries a flow's data in a scenario, and which transport can do what at a new path.
//!
//! * [`TransportSpec`] is the enum of the transports; each kind has its parameters.
//! * The endpoints of TCP and of QUIC are in the crates `tcp` and `quic`, over the congestion controls of `congestion`.
//! * [`UdpSender`] and [`UdpReceiver`] number datagrams.
//! * Stacks from outside have their parameters here; other crates run them.

mod family;
mod linux;
mod path_policy;
mod quinn;
mod udp;

pub use family::{TRANSPORTS, TransportSpec, UdpSpec};
pub use linux::{LinuxControl, LinuxSpec};
pub use quinn::{QuinnControl, QuinnSpec};
pub use udp::{UdpReceiver, UdpSender};
