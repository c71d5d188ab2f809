//! Which short cut through an end the next input may take, and what it leaves to the caller.

/// The short cut that the next input may take, as nothing unusual is on.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum ShortCut {
    /// None: something is.
    #[default]
    None,
    /// That of segments without options.
    Bare,
    /// That of segments with timestamps and no other option (`short_cut.rs` of the dialect).
    Stamped,
}

/// A segment with timestamps arrived that the receiver has taken: its ACK.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum StampedAck {
    /// None is due yet.
    Later,
    /// [`stamped_ack`](crate::TcpReceiver::stamped_ack) makes it.
    Now,
    /// Several wait for [`poll_transmit`](crate::TcpReceiver::poll_transmit).
    Queued,
}
