//! Parts of a topology.

/// Nodes and links of a topology. Nodes are numbers, in the order in which they are named.
#[derive(Debug, Default)]
pub struct Plan {
    /// The names behind the topology's own: "2-5" for the node `an-2-5`.
    pub names: Vec<String>,
    /// The links: both ends, and which of the topology's kinds of link it is.
    pub links: Vec<(u32, u32, usize)>,
    /// The nodes at the edge; empty if the family has none.
    pub leaves: Vec<u32>,
}
