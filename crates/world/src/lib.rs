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
mod catalogue;
pub mod cause;
mod cells;
mod check;
mod conduct;
pub mod context;
mod control;
mod estimate;
pub mod event;
mod expand;
mod fault;
mod flow;
mod flows;
pub mod forced;
pub mod ids;
mod install;
pub mod link;
pub mod locate;
mod long;
mod messages;
mod names;
mod nearest;
mod network;
mod node;
pub mod ns2;
mod origins;
mod outline;
pub mod outside;
mod piece;
pub mod probe;
mod protocols;
mod read;
mod record;
mod recordings;
mod route;
mod run;
pub mod scenario;
mod simulation;
pub mod table;
mod timeouts;
pub mod topology;
pub mod tunnel;
pub mod tx_queue;
pub mod units;
mod walk;
mod world;

pub use branch::{are_alternatives, run_alternatives};
pub use catalogue::{catalogue, tcp_profile};
pub use conduct::{Conduct, MemoryLimit, Progress, Replication, Stream};
pub use estimate::{Estimate, estimate};
pub use locate::{Located, line_of};
pub use outline::{Outline, outline};
pub use outside::{Datagram, Egress, Payload};
pub use piece::{Piece, Slice};
pub use recordings::{Files, no_files};
pub use run::run;
pub use scenario::{Scenario, schema};
pub use simulation::Simulation;
pub use table::{Column, Table};
pub use world::{Failure, LawViolation};
