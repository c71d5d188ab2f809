//! Notices of new paths, and the flows whose senders get them.

use roamlab_engine::{Rng, Time};
use roamlab_record::cause::CauseId;
use roamlab_record::ids::NodeId;
use roamlab_scenario::PathChangeSpec;

/// A flow whose sender is notified.
#[derive(Clone, Debug)]
pub struct Informed {
    /// Which.
    pub flow: u32,
    /// How it is notified, and what it does.
    pub spec: PathChangeSpec,
    /// Its random numbers.
    pub rng: Rng,
    /// The mobile host at which false alarms arise: the receiver's, if both ends move.
    pub host: NodeId,
}

/// A notice of a new path.
#[derive(Copy, Clone, Debug)]
pub struct Notice {
    /// Place in the list of those who are notified.
    pub informed: u32,
    /// The mobile host whose path has changed.
    pub host: NodeId,
    /// Where it is noticed.
    pub at: NodeId,
    /// When the path changed; `None`: it did not.
    pub changed: Option<Time>,
    /// Its cause.
    pub cause: CauseId,
}
