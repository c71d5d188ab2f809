//! Addresses and the small handles that packets carry.

use std::fmt;

/// A network address: a 12-bit subnet and a 12-bit host, shown as an IPv4 address in 10.0.0.0/8.
///
/// Every node owns one subnet (its prefix); host 0 is the node itself. A mobile host's home address is a host
/// of its home agent's subnet.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Addr(u32);

impl Addr {
    /// Everyone on the link.
    pub const BROADCAST: Addr = Addr(0xff_ffff);
    /// The largest subnet or host number.
    pub const MAX_PART: u32 = 0xffe;

    /// Host `host` of subnet `subnet`.
    ///
    /// # Panics
    /// If either part is above [`Addr::MAX_PART`].
    pub const fn new(subnet: u32, host: u32) -> Addr {
        assert!(subnet <= Addr::MAX_PART && host <= Addr::MAX_PART, "address part out of range");
        Addr(subnet << 12 | host)
    }

    /// The subnet number: the index of the node that owns the prefix.
    pub const fn subnet(self) -> usize {
        (self.0 >> 12) as usize
    }

    /// The host number within the subnet.
    pub const fn host(self) -> u32 {
        self.0 & 0xfff
    }

    /// Whether it is the home address of a mobile host.
    pub const fn is_mobile(self) -> bool {
        self.host() != 0 && self.0 != Addr::BROADCAST.0
    }
}

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "10.{}.{}.{}", self.0 >> 16, self.0 >> 8 & 0xff, self.0 & 0xff)
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
