//! The family of transports: what carries a flow's data in a scenario, and the two ends of it in a run.
//!
//! * A transport is a module and a row in `family.rs`, which makes [`TransportSpec`] and [`Transport`].
//! * [`Parameters`] is the interface of the parameters in a scenario, [`Endpoints`] that of the ends.
//! * The endpoints of TCP, of QUIC and of quinn are in separate crates. UDP is here.
//! * Stacks from outside have their parameters here; other crates run them.

mod endpoints;
mod family;
mod linux;
mod parameters;
mod path_policy;
mod quic;
mod quinn;
mod tcp;
mod udp;

pub use endpoints::{Arrival, Endpoints, FlowPacket, StampedSegment, StraightPath};
pub use family::{Setting, TRANSPORTS, Transport, TransportSpec};
pub use linux::{LinuxControl, LinuxSpec, Offer, Stack};
pub use parameters::{Data, Parameters, Unread, Warning};
pub use roamlab_quinn::{QuinnControl, QuinnSpec};
pub use roamlab_tcp::StampedAck;
pub use udp::{UdpReceiver, UdpSender, UdpSpec};

/// The largest packet that a link carries without fragments: a jumbo frame's.
pub const LARGEST_PACKET: roamlab_engine::Bytes = roamlab_engine::Bytes(9000);
