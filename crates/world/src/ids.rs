//! Identifiers of the parts of a run that a record does not name: indices into its lists.

use roamlab_packet::Addr;

/// A cell, by its place among all.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CellId(pub u32);

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
