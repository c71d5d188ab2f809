//! The state of a scan of a station that has a cell.

use super::super::reception::Channels;
use super::interface::Offer;
use roamlab_engine::Time;

/// A scan of a station that has a cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Away {
    /// The cell.
    pub(super) home: Offer,
    /// The request that the scan is for; `None`: it compares levels.
    pub(super) request: Option<u32>,
    /// The channels that it looks at; `None`: all.
    pub(super) channels: Option<Channels>,
    /// When it left the channel of its cell.
    pub(super) left: Time,
    /// The next channel that it looks at; `None`: it has looked at all.
    pub(super) next: Option<u32>,
    /// When it leaves the channel of its cell again.
    pub(super) resumes: Option<Time>,
}

impl Away {
    /// True if it looks at a channel.
    pub(super) fn looks_at(&self, channel: u32) -> bool {
        channel == self.home.channel || self.channels.is_none_or(|channels| channels.contains(channel))
    }
}

/// The step behind a frame that has been sent.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Then {
    /// It continues.
    Stay,
    /// It goes to the best cell that it has found.
    Roam,
}
