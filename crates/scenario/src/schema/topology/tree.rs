//! A tree: `NAME-LEVEL-NUMBER`, with the root in level 0 and each level numbered from left to right.

use super::levels::{FanOut, Levels, PerItem};
use super::{At, CellsSpec, Plan, Shape, kinds};
use crate::schema::BackhaulSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of a tree.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The first part of all its names.
    pub name: String,
    /// Levels below the root; absent: as many as `fan_out` lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Nodes below each node: a number, a list with one for each level, or in that list a list with one for each node.
    #[schemars(extend("examples" = [2]))]
    pub fan_out: FanOut,
    /// The links: one kind for all, or a list with one for each level, from the root down; `queue` is that away from the
    /// root.
    pub link: PerItem<BackhaulSpec>,
    /// Base stations at its nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<CellsSpec>,
}

impl Params {
    fn levels(&self) -> Levels<'_> {
        Levels { roots: 1, depth: self.depth, fan_out: &self.fan_out, links: self.link.listed() }
    }
}

impl Shape for Params {
    const CELLS_AT: At = At::Leaves;

    fn kinds(&self) -> Vec<(String, &BackhaulSpec)> {
        kinds(&self.link)
    }

    fn size(&self) -> Result<u64, (String, String)> {
        self.levels().size()
    }

    fn plan(&self) -> Plan {
        self.levels().plan().0
    }
}
