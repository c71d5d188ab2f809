//! The assembly: the only crate that imports all models.
//!
//! [`run()`] takes a [`Scenario`] and returns [`Table`]s. A [`Simulation`] is driven from outside. `World` holds flows,
//! network and agents. Its single `match` over [`Event`](event::Event) starts all processing. `docs/follow-a-packet.md`
//! describes the thirteen stops of a packet.

mod agent;
mod branch;
pub mod buffer;
mod build;
mod capture;
pub mod cause;
mod cells;
mod conduct;
pub mod context;
mod control;
pub mod event;
mod fault;
mod flow;
mod flows;
pub mod forced;
pub mod ids;
mod install;
pub mod link;
mod long_table;
mod messages;
mod network;
mod node;
pub mod ns2;
pub mod outside;
mod piece;
pub mod probe;
mod route;
mod run;
pub mod schema;
mod simulation;
mod streaming;
pub mod table;
mod timeouts;
mod totals;
pub mod tunnel;
pub mod tx_queue;
pub mod units;
mod world;

pub use branch::run_alternatives;
pub use conduct::{Conduct, MemoryLimit, Progress, Replication, Stream};
pub use outside::{Datagram, Egress, Payload};
pub use piece::{Piece, Slice};
pub use probe::tables;
pub use roamlab_scenario::Scenario;
pub use run::run;
pub use simulation::Simulation;
pub use table::{Column, Table};
pub use world::{Failure, LawViolation};
