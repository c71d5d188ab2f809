//! A sender that is notified of a new path.

use roamlab_congestion::PathPolicy;
use roamlab_engine::{Bytes, Duration, DurationLaw};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The phase that a host of any mobility protocol reaches: it is in its new cell.
pub const LINK_UP: &str = "link-up";

/// How the sender of a flow is notified of a new path, and what it does then. The path changes where an end of the flow
/// changes cells.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathChangeSpec {
    /// Reaction of the sender.
    pub policy: PathPolicy,
    /// How it learns of the path.
    #[serde(default)]
    pub notice: Notification,
    /// The phase of a handover with which the path has changed: "link-up", the host is in its new cell, or one of the
    /// mobility protocol, as "path-switched".
    #[serde(default = "link_up")]
    pub phase: String,
    /// How long after that phase it is noticed, at the node that the phase is noted at; a duration, or a law.
    #[serde(default)]
    pub delay: DurationLaw,
    /// Probability that the phase is not noticed; 0 to below 1.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub missed: f64,
    /// Mean time between false alarms, which follow each other at exponential times; absent: there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub false_every: Option<Duration>,
    /// Size of the message, as an IP datagram.
    ///
    /// ASSUMPTION: an acknowledgement of 40 B with 12 B of options (draft-schuetz-tcpm-tcp-rlci has an option of TCP).
    #[serde(default = "message_size")]
    pub size: Bytes,
}

/// How a sender learns of a new path.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Notification {
    /// The sender knows without a message, wherever it is: the upper limit for notices.
    #[default]
    Exact,
    /// A sender at the node of the phase is notified there. Any other gets a message, which crosses the network and can be lost.
    Message,
}

fn link_up() -> String {
    LINK_UP.to_owned()
}

fn message_size() -> Bytes {
    Bytes(52)
}
