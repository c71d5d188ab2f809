//! Sans-IO QUIC endpoints: the sender and the receiver of a one-way bulk transfer (RFC 9000, RFC 9002). One concept has one
//! file.
//!
//! An endpoint never reads a clock and never sends: `now` is an argument, and the caller takes output with `poll_transmit`,
//! the time of the next wake-up from `next_deadline`, and events with `poll_fact`.
//!
//! Sizes are those of the wire; bytes are not made. The data is counted in segments, each the payload of a full packet.

mod intervals;
mod params;
mod path;
mod ranges;
mod receiver;
mod recovery;
mod sender;
mod stream;
#[cfg(test)]
mod walk;
#[cfg(test)]
mod walks;
mod wire;

pub use params::{Migration, QuicHandshake, QuicSpec};
pub use receiver::QuicReceiver;
pub use sender::QuicSender;

use roamlab_engine::Bytes;
use roamlab_packet::QuicHeader;

/// A QUIC packet to send.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuicPacket {
    /// Its header.
    pub header: QuicHeader,
    /// Size of the IP datagram on the wire.
    pub size: Bytes,
}
