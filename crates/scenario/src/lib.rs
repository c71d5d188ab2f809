//! Scenarios: text in, a checked and expanded network out.
//!
//! [`Scenario::parse`] reads a text, expands what generates links, cells, hosts and flows, and checks the result. An
//! invalid text gives a [`Located`]: file, line, field, what was expected and what to write. The types of the format
//! are those of the fields of [`Scenario`].

mod alternatives;
mod catalogue;
mod check;
mod domain;
mod estimate;
mod expand;
mod files;
mod locate;
mod names;
mod outline;
mod parse;
mod problem;
mod reader;
mod schema;
mod suggest;

pub use alternatives::are_alternatives;
pub use catalogue::{catalogue, tcp_profile, usual_variant};
pub use check::SIGNALLING;
pub use estimate::{Estimate, NetworkSize, estimate, megabytes};
pub use files::{Files, no_files};
pub use locate::line_of;
pub use names::PATH_CHANGE;
pub use outline::{Outline, outline};
pub use problem::{Located, Problem};
pub use schema::{
    BackhaulSpec, BearerSettings, BearerSpec, BearersSpec, CellSpec, ChangeSpec, ChannelRate, DropSpec,
    FaultSpec, FlowSpec, ForeignMarks, HostSpec, LINK_UP, LinkRate, LinkSpec, NetworkSpec, Notification,
    PathChangeSpec, Protocols, RecordSpec, RecordedDelay, RecordedRate, RunSpec, Scenario, TopologySpec,
    TunnelEcn, Way, schema,
};
