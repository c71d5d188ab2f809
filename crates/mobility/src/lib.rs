//! Control-plane state machines: one folder per mobility protocol, and one row in the table of `spec.rs`.
//!
//! An agent is a protocol's role at one node. It never calls anything: it gets an [`Input`] and answers with
//! [`Action`]s, so it cannot touch state that a real message would have had to carry.

mod agent;
mod backoff;
pub mod bcmp;
pub mod blocks;
mod cellular;
pub mod cellular_ip;
mod domain;
pub mod events;
pub mod fmipv6;
pub mod hawaii;
mod identification;
mod installation;
#[cfg(test)]
mod lab;
pub mod lte_x2;
pub mod mandm;
pub mod mobile_ip;
pub mod nr;
mod protocol;
mod roles;
mod signal;
pub mod snoop;
mod spec;
mod topology;
mod transitions;

pub use agent::{Action, Agent, Direction, Input, L2Trigger, Repeat, Via, Wire};
pub use cellular::{BearerParams, BearerTimer, BearerValues, RlcMode};
pub use domain::{Domain, is_pattern, matches};
pub use events::{Condition, Event, Events, Reference, ReferenceCell, ReportConfig};
pub use identification::Identification;
use identification::Newest;
pub use installation::{
    BufferDrop, BufferFlush, Buffering, Installation, Keeps, Placement, Prediction, Units,
};
pub use protocol::{Help, Protocol, Refusal, Step, Tunnels};
use protocol::{phases, protocol};
use roles::roles;
use signal::messages;
pub use signal::{Kind, Signal};
pub use spec::{
    Message, MobilityAction, MobilityAgent, MobilityInput, MobilitySpec, PROTOCOLS, commanders, message_names,
};
pub use topology::{CellSite, HostSite, LinkSite, Stay, Topology};
use transitions::transitions;
