//! Networks by rule: one file per family, one row per file in the table below.
//!
//! A family determines the number of nodes, their names and their connections. Rates, delays, queues and cells are
//! described once for all of them. [`expand`](crate::expand) makes links and cells of it. A new family needs a file
//! with `Params` and `impl Shape`, its `mod` line and its row.

pub mod grid;
pub mod levels;
pub mod line;
pub mod mesh;
mod plan;
pub mod tree;

pub use plan::Plan;

use crate::problem::Problem;
use crate::schema::{BackhaulSpec, BearersSpec, CellSpec};
use levels::PerItem;
use roamlab_engine::tagged::{self, Family};
use roamlab_engine::{Duration, Rate};
use roamlab_qdisc::{Parameters, QueueSpec};
use roamlab_radio::{LossSpec, MediumSpec, OutageSpec, SchedulerSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// The parameters of a family.
pub trait Shape {
    /// Its kinds of link, each with its field.
    fn kinds(&self) -> Vec<(String, &BackhaulSpec)>;

    /// Default place of the cells.
    const CELLS_AT: At;

    /// How many nodes it has.
    ///
    /// # Errors
    /// The field at fault, and what to write.
    fn size(&self) -> Result<u64, (String, String)>;

    /// Its nodes and links; asked for only if `size` gave a number.
    fn plan(&self) -> Plan;
}

/// Which nodes have cells.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum At {
    /// Those at the edge: of a tree or mesh its lowest level, of a line both ends.
    Leaves,
    /// All.
    All,
}

/// The cells of a topology: all equal.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CellsSpec {
    /// Which nodes have cells; absent: of trees and meshes the leaves, of lines and grids all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<At>,
    /// Cells at each of these nodes.
    #[serde(default = "one")]
    pub per_node: u32,
    /// Rate of the air link, each way.
    pub rate: Rate,
    /// One-way delay of the air link.
    pub delay: Duration,
    /// Queue of the downlink.
    pub queue: QueueSpec,
    /// Random loss, each way: a probability, or { kind = "gilbert-elliott", … }. Only on a dedicated medium: others have `frame_loss`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossSpec>,
    /// Random loss up to the base station, if it is another one; 0: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_loss: Option<LossSpec>,
    /// Outages of the air link at random times, in each cell others; absent: none. Only on a dedicated medium.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outages: Option<Box<OutageSpec>>,
    /// The link between node and base station.
    pub backhaul: BackhaulSpec,
    /// Who sends next on the downlink; absent: all hosts share `queue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<SchedulerSpec>,
    /// The hosts' own queues behind the scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bearers: Option<BearersSpec>,
    /// How its hosts' links share the air.
    #[serde(default)]
    pub medium: MediumSpec,
}

fn one() -> u32 {
    1
}

impl CellsSpec {
    /// A cell at this router.
    pub fn cell(&self, router: String) -> CellSpec {
        CellSpec {
            router,
            rate: self.rate.into(),
            delay: self.delay.into(),
            queue: self.queue.clone(),
            loss: self.loss.clone(),
            reverse_loss: self.reverse_loss.clone(),
            outages: self.outages.clone(),
            backhaul: self.backhaul.clone(),
            scheduler: self.scheduler.clone(),
            bearers: self.bearers.clone(),
            medium: self.medium.clone(),
            channel: None,
            transmitter: None,
            individual_offset_db: 0.0,
        }
    }
}

macro_rules! topologies {
    ($($name:literal => $module:ident::$type:ident: $summary:literal,)+) => {
        /// A topology as a scenario describes it: `kind` names the family, the other fields are its parameters.
        #[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
        #[serde(tag = "kind")]
        #[expect(clippy::large_enum_variant, reason = "a scenario has a few of them, each read once")]
        pub enum TopologySpec {
            $(
                #[doc = $summary]
                #[serde(rename = $name)]
                $type($module::Params),
            )+
        }

        /// Names and one-line summaries of all families.
        pub const TOPOLOGIES: &[(&str, &str)] = &[$(($name, $summary),)+];

        impl Family for TopologySpec {
            const WHAT: &'static str = "a topology";
            const EXAMPLE: &'static str =
                "{ kind = \"tree\", name = \"an\", depth = 3, fan_out = 2, link = { rate = \"20 Mbit/s\", delay = \"1 ms\" } }";
            const NAMES: &'static [&'static str] = &[$($name,)+];

            fn read<'de, D: Deserializer<'de>>(kind: &str, fields: D) -> Result<Self, D::Error> {
                match kind {
                    $($name => $module::Params::deserialize(fields).map(TopologySpec::$type),)+
                    _ => Err(serde::de::Error::unknown_variant(kind, Self::NAMES)),
                }
            }
        }

        impl TopologySpec {
            /// The first part of all its names.
            pub fn name(&self) -> &str {
                match self {
                    $(TopologySpec::$type(params) => &params.name,)+
                }
            }

            /// Its cells.
            pub fn cells(&self) -> Option<&CellsSpec> {
                match self {
                    $(TopologySpec::$type(params) => params.cells.as_ref(),)+
                }
            }

            /// Its kinds of link, each with its field.
            pub fn kinds(&self) -> Vec<(String, &BackhaulSpec)> {
                match self {
                    $(TopologySpec::$type(params) => params.kinds(),)+
                }
            }

            /// Which nodes have its cells.
            pub fn cells_at(&self) -> At {
                let by_default = match self {
                    $(TopologySpec::$type(_) => $module::Params::CELLS_AT,)+
                };
                self.cells().and_then(|cells| cells.at).unwrap_or(by_default)
            }

            /// How many nodes it has.
            ///
            /// # Errors
            /// The field at fault, and what to write.
            pub fn size(&self) -> Result<u64, (String, String)> {
                match self {
                    $(TopologySpec::$type(params) => params.size(),)+
                }
            }

            /// Its nodes and links; asked for only if `size` gave a number.
            pub fn plan(&self) -> Plan {
                match self {
                    $(TopologySpec::$type(params) => params.plan(),)+
                }
            }
        }
    };
}

topologies! {
    "line" => line::Line: "Nodes in a row",
    "tree" => tree::Tree: "A tree: each node has the same number below it",
    "mesh" => mesh::Mesh: "A tree whose neighbours on a level are joined too",
    "grid" => grid::Grid: "Rows and columns",
}

impl<'de> Deserialize<'de> for TopologySpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}

impl TopologySpec {
    /// Faults of its parameters alone.
    ///
    /// # Errors
    /// The problem, at its field behind `field`, which is the topology's.
    pub fn check(&self, field: &str) -> Result<(), Problem> {
        let refused = |part: &str, message: &str| Err(Problem::from_text(format!("{field}.{part}"), message));
        if let Err((part, message)) = self.size() {
            return refused(&part, &message);
        }
        let mut queues: Vec<(String, Option<&QueueSpec>)> = Vec::new();
        let mut losses: Vec<(String, Option<&LossSpec>)> = Vec::new();
        let mut outages: Vec<(String, Option<&OutageSpec>)> = Vec::new();
        for (part, link) in self.kinds() {
            losses.push((format!("{part}.loss"), link.loss.as_ref()));
            losses.push((format!("{part}.reverse_loss"), link.reverse_loss.as_ref()));
            outages.push((format!("{part}.outages"), link.outages.as_deref()));
            queues.push((format!("{part}.queue"), link.queue.as_ref()));
            queues.push((format!("{part}.reverse_queue"), link.reverse_queue.as_ref()));
        }
        if let Some(cells) = self.cells() {
            if cells.per_node == 0 {
                return refused(
                    "cells.per_node",
                    "no node would have a cell: write at least 1, or remove `cells`",
                );
            }
            if cells.at == Some(At::Leaves) && self.plan_has_no_leaves() {
                return refused("cells.at", "this family has no leaves: write \"all\"");
            }
            losses.push(("cells.loss".into(), cells.loss.as_ref()));
            losses.push(("cells.reverse_loss".into(), cells.reverse_loss.as_ref()));
            losses.push(("cells.backhaul.loss".into(), cells.backhaul.loss.as_ref()));
            losses.push(("cells.backhaul.reverse_loss".into(), cells.backhaul.reverse_loss.as_ref()));
            outages.push(("cells.outages".into(), cells.outages.as_deref()));
            outages.push(("cells.backhaul.outages".into(), cells.backhaul.outages.as_deref()));
            queues.push(("cells.queue".into(), Some(&cells.queue)));
            queues.push(("cells.backhaul.queue".into(), cells.backhaul.queue.as_ref()));
            queues.push(("cells.backhaul.reverse_queue".into(), cells.backhaul.reverse_queue.as_ref()));
        }
        for (part, loss) in losses {
            if loss.is_some_and(|loss| loss.recorded().is_some()) {
                let message = "a file has the losses of one link: write a probability, or a link in `[[links]]` instead";
                return refused(&part, message);
            }
            if let Some(Err((last, message))) = loss.map(LossSpec::check) {
                return refused(format!("{part}.{last}").trim_end_matches('.'), &message);
            }
        }
        for (part, outages) in outages {
            if let Some(Err((last, message))) = outages.map(OutageSpec::check) {
                return refused(&format!("{part}.{last}"), &message);
            }
        }
        for (part, queue) in queues {
            if let Some(Err((last, message))) = queue.map(Parameters::validate) {
                return refused(&format!("{part}.{last}"), &message);
            }
        }
        Ok(())
    }

    fn plan_has_no_leaves(&self) -> bool {
        matches!(self, TopologySpec::Grid(_))
    }
}

/// The kinds of link of a topology that has one for all, or one for each level.
fn kinds(link: &PerItem<BackhaulSpec>) -> Vec<(String, &BackhaulSpec)> {
    match link {
        PerItem::All(link) => vec![("link".into(), link)],
        PerItem::Each(links) => {
            links.iter().enumerate().map(|(number, link)| (format!("link[{number}]"), link)).collect()
        }
    }
}
