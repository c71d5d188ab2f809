//! Names of the parts of a run: places in its lists.

/// A node, by its place in [`World::nodes`](crate::world::World).
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// A link, by its place in [`World::links`](crate::world::World).
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(pub u32);

/// A cell, by its place in [`World::cells`](crate::world::World).
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

/// The domain of a mobility protocol, by its place in [`World::domains`](crate::world::World).
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DomainId(pub u16);

/// An agent of a node, by its place in [`Node::agents`].
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Slot(pub u16);

/// Where in the network something happened.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Location {
    /// At a node.
    Node(NodeId),
    /// On a link.
    Link(LinkId),
}
