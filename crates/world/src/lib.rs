//! The assembly: the only crate that imports all models.
//!
//! [`run()`] takes a [`Scenario`] and returns [`Table`]s. A [`Simulation`] is driven from outside. `World` holds flows,
//! network and agents. Its single `match` over [`Event`](event::Event) starts all processing. `docs/follow-a-packet.md`
//! describes the thirteen stops of a packet.

pub mod context;
mod control;
pub mod dataplane;
mod endpoints;
pub mod event;
pub mod ids;
mod layer2;
mod notices;
mod run;
mod wifi;

pub use endpoints::outside::{Datagram, Egress, Payload, Report};
pub use roamlab_record::ids::{LinkId, NodeId, Side};
pub use roamlab_record::probe::tables;
pub use roamlab_record::{Column, Piece, Slice, Table, TcpInfoRow};
pub use roamlab_scenario::Scenario;
pub use roamlab_transport::Offer;
pub use run::branch::run_alternatives;
pub use run::options::{MemoryLimit, Progress, Replication, RunOptions, Stream};
pub use run::run;
pub use run::simulation::Simulation;
pub use run::world::{Failure, LawViolation};
