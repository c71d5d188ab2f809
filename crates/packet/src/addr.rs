//! Addresses and the small handles that packets carry.

use std::fmt;

/// A network address: the number of a node, and one bit for the home address of a mobile host. Shown
/// as an IPv4 address, in 10.0.0.0/8 for a fixed node and in 11.0.0.0/8 for a mobile host.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Addr(u32);

impl Addr {
    /// All nodes on the link.
    pub const BROADCAST: Addr = Addr(u32::MAX);
    /// Nodes of a network, mobile hosts included, at most.
    pub const MAX_NODES: u32 = 1 << 24;
    const MOBILE: u32 = 1 << 31;

    /// The address of the fixed node of this number, below [`Addr::MAX_NODES`].
    pub const fn node(number: u32) -> Addr {
        Addr(number)
    }

    /// The home address of the mobile host whose node has this number, below [`Addr::MAX_NODES`].
    pub const fn mobile(number: u32) -> Addr {
        Addr(Addr::MOBILE | number)
    }

    /// Host `host` of node `subnet`: the node itself if 0, else a mobile host of a number that follows from both.
    pub const fn new(subnet: u32, host: u32) -> Addr {
        if host == 0 { Addr::node(subnet) } else { Addr::mobile(subnet << 12 | host) }
    }

    /// The number of the node; that of [`Addr::BROADCAST`] is above [`Addr::MAX_NODES`].
    #[inline]
    pub const fn number(self) -> usize {
        (self.0 & !Addr::MOBILE) as usize
    }

    /// True if it is the home address of a mobile host.
    #[inline]
    pub const fn is_mobile(self) -> bool {
        self.0 & Addr::MOBILE != 0 && self.0 != Addr::BROADCAST.0
    }
}

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [_, high, middle, low] = self.0.to_be_bytes();
        write!(f, "{}.{high}.{middle}.{low}", if self.is_mobile() { 11 } else { 10 })
    }
}

impl fmt::Debug for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The flow a packet belongs to: an index into the run's flows, or [`FlowId::CONTROL`].
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowId(pub u32);

impl FlowId {
    /// Signalling belongs to no flow.
    pub const CONTROL: FlowId = FlowId(u32::MAX);
}

/// A signalling message: an index into the run's record of messages.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MessageId(pub u32);

/// A side of a flow.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Side {
    /// Where the data comes from.
    Sender,
    /// Where it goes.
    Receiver,
}

impl Side {
    /// Its place in lists of both.
    pub const fn index(self) -> usize {
        match self {
            Side::Sender => 0,
            Side::Receiver => 1,
        }
    }
}
