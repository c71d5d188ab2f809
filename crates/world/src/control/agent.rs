//! A mobility agent at a node: its state machine, its deadlines, and what it has asked of the node.

use crate::ids::DomainId;
use roamlab_engine::{Duration, Time};
use roamlab_mobility::{Buffering, MobilityAgent};

mod machine;
mod timers;

pub use machine::Machine;
pub use timers::{SetBy, Timers};

/// A mobility agent.
#[derive(Clone, Debug)]
pub struct Agent {
    /// The domain that it belongs to.
    pub domain: DomainId,
    /// The buffers that it has at its node.
    pub buffering: Option<Buffering>,
    /// discardTimer of the numbered radio bearers of its domain; `None`: infinity, or there are none.
    pub discard: Option<Duration>,
    /// It is notified of data that hosts of its domain send through its node.
    pub watches_uplink: bool,
    /// Its state machine.
    pub machine: Machine,
    /// The first of its pending deadlines, which an input alone changes.
    pub deadline: Option<Time>,
    /// Causes of its pending deadlines.
    pub timers: Timers,
}

impl Agent {
    /// An agent before its first input.
    pub fn new(
        domain: DomainId,
        role: MobilityAgent,
        buffering: Option<Buffering>,
        (watches_uplink, discard): (bool, Option<Duration>),
    ) -> Agent {
        let (deadline, machine) = (role.next_deadline(), Machine::new(role));
        let timers = Timers::default();
        Agent { domain, buffering, discard, watches_uplink, machine, deadline, timers }
    }
}
