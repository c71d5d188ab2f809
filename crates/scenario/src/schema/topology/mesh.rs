//! A mesh: one or several trees in which each node is also connected to the next in its level, as in the access network
//! of the BCMP paper. Names are those of a tree: `NAME-LEVEL-NUMBER`.

use super::levels::{FanOut, Levels, PerItem};
use super::{At, CellsSpec, Plan, Shape, kinds};
use crate::schema::BackhaulSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of a mesh.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The first part of all its names.
    pub name: String,
    /// Nodes of level 0: gateways.
    #[serde(default = "super::one")]
    pub roots: u32,
    /// Levels below these; absent: as many as `fan_out` lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Nodes below each node: a number, a list with one for each level, or in that list a list with one for each node.
    #[schemars(extend("examples" = [2]))]
    pub fan_out: FanOut,
    /// The links between levels: one kind for all, or a list with one for each level, from the root down; `queue` is
    /// that away from the root.
    pub link: PerItem<BackhaulSpec>,
    /// The links between neighbours of a level; absent: as the first kind in `link`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_link: Option<BackhaulSpec>,
    /// Base stations at its nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<CellsSpec>,
}

impl Params {
    fn levels(&self) -> Levels<'_> {
        Levels { roots: self.roots, depth: self.depth, fan_out: &self.fan_out, links: self.link.listed() }
    }
}

impl Shape for Params {
    const CELLS_AT: At = At::Leaves;

    fn kinds(&self) -> Vec<(String, &BackhaulSpec)> {
        let mut kinds = kinds(&self.link);
        kinds.extend(self.cross_link.as_ref().map(|link| ("cross_link".to_owned(), link)));
        kinds
    }

    fn size(&self) -> Result<u64, (String, String)> {
        self.levels().size()
    }

    fn plan(&self) -> Plan {
        let (mut plan, starts) = self.levels().plan();
        let kind = self.cross_link.as_ref().map_or(0, |_| self.link.listed().unwrap_or(1));
        for level in starts.windows(2) {
            plan.links.extend((level[0] + 1..level[1]).map(|node| (node - 1, node, kind)));
        }
        plan
    }
}
