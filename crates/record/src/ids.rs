//! Nodes, links and sides of flows, as a record names them.

/// A node, by its place among all.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

impl NodeId {
    /// No node.
    pub const NOWHERE: NodeId = NodeId(u32::MAX);
}

/// A link, by its place among all.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(pub u32);

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

/// Where in the network something happened.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Location {
    /// At a node.
    Node(NodeId),
    /// On a link.
    Link(LinkId),
}
