//! A packet at a receiver.

use roamlab_packet::Waiting;
use roamlab_record::ids::LinkId;

/// A packet that has arrived over a link.
#[derive(Clone, Debug)]
pub struct Arrived {
    /// The link.
    pub link: LinkId,
    /// The packet.
    pub packet: Waiting,
}
