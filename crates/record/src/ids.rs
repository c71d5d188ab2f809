//! Nodes, links and sides of flows, as a record names them.

pub use roamlab_packet::Side;

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

/// Where in the network something happened.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Location {
    /// At a node.
    Node(NodeId),
    /// On a link.
    Link(LinkId),
}
