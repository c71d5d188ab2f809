//! Parameters of BCMP in addition to the blocks.

use crate::Domain;
use crate::blocks::{Authentication, Detection, HandoverBuffer, SoftState, Trigger};
use roamlab_engine::{Duration, Packets};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// BCMP: parameters of all roles.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The part of the network that it is about; absent: all.
    #[serde(skip_serializing_if = "Domain::is_whole")]
    pub domain: Domain,
    /// The nodes that are anchor points; absent: the homes of the hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub anchors: Vec<String>,
    /// An access router asks a host whose anchor is not the nearest one to change it. Default false.
    pub anchor_change: bool,
    /// The session at the anchor before is kept this long after the home agent knows the new one. Default 3 s.
    pub anchor_grace: Duration,
    /// How a host learns that it has moved.
    pub detection: Detection,
    /// Advance notice to hosts: "source" makes handovers planned, "none" unplanned.
    pub trigger: Trigger,
    /// Buffering at the new access router until the attach, or at the old one from the break to the notify.
    pub buffer: HandoverBuffer,
    /// Fate of packets that waited for a host that did not arrive. Default "dropped".
    pub unused: Unused,
    /// A host changes cells as soon as it is notified that its handover is prepared, before its plan does.
    /// Default false.
    pub move_when_prepared: bool,
    /// In an unplanned handover the old access router tunnels to the new one once it knows it. Default true.
    pub forward_after_notify: bool,
    /// An access router that prepared another one, or was prepared, gives the handover up after this time without the
    /// host. Default 1 s.
    pub preparation_lifetime: Duration,
    /// The temporary tunnel ends this long after the notify. Default 1 s.
    pub tunnel_lifetime: Duration,
    /// The session at the anchor; the host refreshes it.
    pub session: SoftState,
    /// First repetition of a login request or logout; each later one waits twice as long. Default 1 s.
    pub login_retransmit: Duration,
    /// Longest time between two of them; a first one that is longer stays. Default 8 s.
    pub login_retransmit_limit: Duration,
    /// When hosts log in and out, by name or pattern; absent: with their first cell, and never.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub hours: BTreeMap<String, Hours>,
    /// Paging of idle hosts; absent: hosts are never idle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paging: Option<Paging>,
    /// The server that anchors ask before they open a session. It may be at an anchor. Absent: anchors accept every host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<Authentication>,
    /// Mobile IP above it; absent: hosts have the addresses of their anchors, which are their homes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub global: Option<Global>,
}

/// Time between two prepare requests, and between two prepares.
pub(super) const PREPARE_RETRANSMIT: Duration = Duration::from_millis(50);

/// Repetitions of either.
pub(super) const PREPARE_RETRIES: u32 = 3;

/// Time between two path updates.
pub(super) const UPDATE_RETRANSMIT: Duration = Duration::from_millis(100);

/// Repetitions of a path update for one attach.
pub(super) const UPDATE_RETRIES: u32 = 5;

/// First repetition of an attach; each later one waits twice as long.
pub(super) const ATTACH_RETRANSMIT: Duration = Duration::from_millis(100);

/// Longest time between two of them; a first one that is longer stays.
pub(super) const ATTACH_RETRANSMIT_LIMIT: Duration = Duration::from_secs(1);

/// Fate of packets that waited at a prepared access router for a host that did not arrive.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unused {
    /// They are lost.
    Dropped,
    /// They go back through a tunnel to the access router that they came from.
    Returned,
}

/// When a host is logged in.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Hours {
    /// It does not log in before. Default 0 ns.
    pub login: Duration,
    /// It logs out; absent: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logout: Option<Duration>,
}

/// Paging of idle hosts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Paging {
    /// The cells of each area, by name or pattern; each other cell is its own area. Default none.
    pub areas: Vec<Vec<String>>,
    /// A host without data for this long is idle. Default 5 s.
    pub idle_after: Duration,
    /// Packets that an anchor keeps for one idle host. Default 100 pkt.
    pub limit: Packets,
}

/// Time between two page requests.
pub(super) const PAGE_RETRANSMIT: Duration = Duration::from_millis(500);

/// Repetitions of a page request; then what was kept is lost.
pub(super) const PAGE_RETRIES: u32 = 3;

/// Mobile IP above BCMP: the home agent at a host's home tunnels to the host's anchor.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Global {
    /// The lifetime of a registration. Default 300 s.
    pub lifetime: Duration,
    /// The host registers again this long before its end. Default 30 s.
    pub renewal_margin: Duration,
    /// First repetition of a registration request; each later one waits twice as long. Default 1 s.
    pub retransmit: Duration,
    /// Longest time between two of them; a first one that is longer stays. Default 8 s.
    pub retransmit_limit: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            domain: Domain::default(),
            anchors: Vec::new(),
            anchor_change: false,
            anchor_grace: Duration::from_secs(3),
            detection: Detection::default(),
            trigger: Trigger::default(),
            buffer: HandoverBuffer::default(),
            unused: Unused::Dropped,
            move_when_prepared: false,
            forward_after_notify: true,
            preparation_lifetime: Duration::from_secs(1),
            tunnel_lifetime: Duration::from_secs(1),
            session: SoftState::default(),
            login_retransmit: Duration::from_secs(1),
            login_retransmit_limit: Duration::from_secs(8),
            hours: BTreeMap::new(),
            paging: None,
            authentication: None,
            global: None,
        }
    }
}

impl Default for Paging {
    fn default() -> Self {
        Paging { areas: Vec::new(), idle_after: Duration::from_secs(5), limit: Packets(100) }
    }
}

impl Default for Global {
    fn default() -> Self {
        Global {
            lifetime: Duration::from_secs(300),
            renewal_margin: Duration::from_secs(30),
            retransmit: Duration::from_secs(1),
            retransmit_limit: Duration::from_secs(8),
        }
    }
}
