//! Notices of what has happened to hosts, to flows and to 802.11, until the event is over.

use crate::control::messages::ManagementFrame;
use roamlab_record::cause::CauseId;
use roamlab_record::ids::NodeId;

/// Something that a flow, or 802.11, is to learn.
#[derive(Copy, Clone, Debug)]
pub enum PendingNotice {
    /// This host has entered a cell. The row of the causes.
    Entered(NodeId, CauseId),
    /// The handover of a host has reached a phase that flows wait for.
    Phase(PathPhase),
    /// The message with this notice of a new path has reached the sender of its flow, with the row of the
    /// causes.
    PathNotice(u32, CauseId),
    /// Receivers of numbered radio bearers deliver packets.
    InOrder,
    /// A message between base stations of 802.11, or with their server, has reached this node. The row of the causes.
    Wired(NodeId, ManagementFrame, CauseId),
}

/// A phase with which the path of a host's flows has changed.
#[derive(Copy, Clone, Debug)]
pub struct PathPhase {
    /// The host.
    pub host: NodeId,
    /// The node that the phase was noted at.
    pub at: NodeId,
    /// Its name.
    pub phase: &'static str,
    /// Its row of the causes.
    pub row: CauseId,
}

/// The notices of the current event, and the phases of which there are some.
#[derive(Clone, Debug, Default)]
pub struct Notices {
    pending: Vec<PendingNotice>,
    awaited: Vec<String>,
}

impl Notices {
    /// A flow waits for a phase of handovers.
    pub fn wait_for(&mut self, phase: &str) {
        if !self.awaits(phase) {
            self.awaited.push(phase.to_owned());
        }
    }

    /// True if a flow waits for a phase.
    pub fn awaits(&self, phase: &str) -> bool {
        self.awaited.iter().any(|awaited| awaited == phase)
    }

    /// Adds one.
    pub fn push(&mut self, notice: PendingNotice) {
        self.pending.push(notice);
    }

    /// Takes the last one.
    #[inline]
    pub fn pop(&mut self) -> Option<PendingNotice> {
        self.pending.pop()
    }

    /// True if there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }
}
