//! Identifiers of the parts of a run: indices into its lists.

use roamlab_packet::Addr;

/// A node, by its place among all.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

impl NodeId {
    /// No node.
    pub(crate) const NOWHERE: NodeId = NodeId(u32::MAX);
}

/// A link, by its place among all.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(pub u32);

/// A cell, by its place among all.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CellId(pub u32);

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
    pub(crate) const fn index(self) -> usize {
        match self {
            Side::Sender => 0,
            Side::Receiver => 1,
        }
    }
}

/// The domain of a mobility protocol, by its place among all: the outermost first.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DomainId(pub u16);

/// An agent of a node, by its place among those there.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AgentIndex(pub u16);

/// A host, at one agent of a node.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HostAtAgent {
    /// The host's home address.
    pub host: Addr,
    /// The agent.
    pub slot: AgentIndex,
}

/// Where in the network something happened.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Location {
    /// At a node.
    Node(NodeId),
    /// On a link.
    Link(LinkId),
}
