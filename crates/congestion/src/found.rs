//! The sender's knowledge for a congestion control that is not in an ACK.

use crate::Usage;
use roamlab_engine::Duration;

/// The loss recovery's view of the network after it has processed an ACK.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// Segments in it: not delivered and not lost (`tcp_packets_in_flight`).
    pub in_flight: u32,
    /// The same before this ACK (`prior_in_flight`).
    pub before: u32,
    /// Segments that this ACK has shown to be lost.
    pub lost: u32,
    /// Segments found to be lost so far, by ACKs and by timers (`lost` of `tcp_sock`).
    pub all_lost: u32,
    /// The round-trip time that this ACK measures (`tcp_ack_update_rtt`).
    pub rtt: Option<Duration>,
    /// The shortest round-trip time (`tcp_min_rtt`).
    pub min_rtt: Duration,
}

/// Other knowledge of the sender at an ACK.
#[derive(Copy, Clone, Debug, Default)]
pub struct Known {
    /// Of the network, if segments are recorded.
    pub found: Option<Found>,
    /// How much of the window was in use when nothing more left, if the sender notes it.
    pub usage: Option<Usage>,
    /// A burst waited, because the window permits only a part of it.
    pub waited: bool,
    /// How long pacing holds the next burst.
    pub until_burst: Duration,
}
