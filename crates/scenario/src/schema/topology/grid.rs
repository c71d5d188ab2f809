//! Rows and columns: `NAME-ROW-COLUMN`, each connected to the next in its row and in its column.

use super::{At, CellsSpec, Plan, Shape};
use crate::schema::BackhaulSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of a grid.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The first part of all its names.
    pub name: String,
    /// Rows.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
    /// The links between neighbours; `queue` is that away from row 0 and column 0.
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
        for (field, number) in [("rows", self.rows), ("columns", self.columns)] {
            if number == 0 {
                return Err((field.into(), "a grid has nodes: write at least 1".into()));
            }
        }
        match u64::from(self.rows) * u64::from(self.columns) {
            1 => Err(("columns".into(), "a grid joins nodes: write at least 2".into())),
            nodes => Ok(nodes),
        }
    }

    fn plan(&self) -> Plan {
        let Params { rows, columns, .. } = *self;
        let mut plan = Plan::default();
        for row in 0..rows {
            for column in 0..columns {
                let node = row * columns + column;
                plan.names.push(format!("{row}-{column}"));
                let right = (column + 1 < columns).then_some(node + 1);
                let down = (row + 1 < rows).then_some(node + columns);
                plan.links.extend([right, down].into_iter().flatten().map(|other| (node, other, 0)));
            }
        }
        plan
    }
}
