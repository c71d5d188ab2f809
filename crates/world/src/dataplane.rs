//! The data plane: nodes, links, queues and routes.

pub mod bearer;
pub(crate) mod buffer;
pub mod forced;
pub mod link;
pub(crate) mod network;
pub(crate) mod node;
pub(crate) mod route;
pub(crate) mod tunnel;
pub mod tx_queue;
