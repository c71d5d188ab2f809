//! Nodes in a row: `NAME-0`, `NAME-1`, and so on, each connected to the next.

use super::{At, CellsSpec, Plan, Shape};
use crate::schema::BackhaulSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of a line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The first part of all its names.
    pub name: String,
    /// Nodes.
    pub nodes: u32,
    /// The links between them; `queue` is that away from node 0.
    pub link: BackhaulSpec,
    /// Base stations at its nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<CellsSpec>,
}

impl Shape for Params {
    const CELLS_AT: At = At::All;

    fn kinds(&self) -> Vec<(String, &BackhaulSpec)> {
        vec![("link".into(), &self.link)]
    }

    fn size(&self) -> Result<u64, (String, String)> {
        match self.nodes {
            0 | 1 => Err(("nodes".into(), "a line joins nodes: write at least 2".into())),
            nodes => Ok(u64::from(nodes)),
        }
    }

    fn plan(&self) -> Plan {
        Plan {
            names: (0..self.nodes).map(|node| node.to_string()).collect(),
            links: (1..self.nodes).map(|node| (node - 1, node, 0)).collect(),
            leaves: vec![0, self.nodes - 1],
        }
    }
}
