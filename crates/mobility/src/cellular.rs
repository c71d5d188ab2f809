//! Blocks of cellular handover that generations share: the user plane of a host at a base station, the parts of source and
//! target, conditional handover, the path at the gateway, and who has it switched.
//!
//! A block names the messages that it sends ([`Message`]). A generation (LTE, NR) turns each into its
//! own message, and calls a block for each message that it gets. It has its own roles, transition tables and sizes,
//! and the parts of the host and the core network.

mod bearer;
mod bearer_params;
mod conditional;
mod context;
mod message;
mod params;
mod path;
mod path_switching;
mod phase;
mod source;
mod target;

pub(crate) use bearer::Bearer;
pub use bearer_params::{BearerParams, BearerTimer, BearerValues, RlcMode};
pub(crate) use bearer_params::{check_max_retx_threshold, check_t_poll_retransmit};
pub(crate) use context::{Context, Environment, Resuming, State};
pub use message::Plan;
pub(crate) use message::{Action, Message, Out};
pub use params::{Cancelled, Conditional, Forwarding, PathSwitch, Timers};
pub(crate) use params::{OrderWait, Rules};
pub(crate) use path::Paths;
pub(crate) use path_switching::{Asks, PathSwitching, Request};
pub use phase::Phase;
