//! Signalling messages, their contents and their sizes on the wire.

use roamlab_packet::Addr;

/// A signalling message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// Placeholder until the protocol's messages are written.
    Beacon {
        /// The base station.
        base_station: Addr,
    },
}
