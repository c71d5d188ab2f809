//! A node's membership in a host's tree: it joins towards the border router until that is acknowledged, and refreshes.

use super::{Action, Kind, RETRANSMIT, RETRANSMIT_LIMIT};
use crate::Identification;
use crate::backoff::Backoff;
use crate::blocks::SoftState;
use crate::signal::send;
use roamlab_engine::Time;
use roamlab_packet::Addr;

/// The near end of a branch.
#[derive(Clone, Debug)]
pub struct Graft {
    host: Addr,
    parent: Addr,
    /// Of the last join.
    id: Identification,
    /// When the join is repeated, or refreshed.
    timer: Backoff,
    acknowledged: bool,
    /// A join has been acknowledged once.
    on_tree: bool,
}

impl Graft {
    /// Sends the first join; `last` is the identification of the last word about this host to the parent.
    pub fn start(host: Addr, parent: Addr, last: Identification, now: Time, out: &mut Vec<Action>) -> Graft {
        let graft = Graft {
            host,
            parent,
            id: last.newer(now),
            timer: Backoff::start(now, RETRANSMIT, RETRANSMIT_LIMIT),
            acknowledged: false,
            on_tree: false,
        };
        graft.send(Kind::Join, graft.id, out);
        graft
    }

    /// True if the node is on the tree.
    pub fn is_on_tree(&self) -> bool {
        self.on_tree
    }

    /// The parent acknowledges a join; whether the node is on the tree only now.
    pub fn acknowledged(&mut self, id: Identification, now: Time) -> bool {
        if id != self.id || self.acknowledged {
            return false;
        }
        self.acknowledged = true;
        self.timer.at = now + SoftState::USUAL.refresh;
        !std::mem::replace(&mut self.on_tree, true)
    }

    /// Repeats or refreshes the join if it is time.
    pub fn on_time(&mut self, now: Time, out: &mut Vec<Action>) {
        if self.timer.at > now {
            return;
        }
        if std::mem::take(&mut self.acknowledged) {
            self.id = self.id.newer(now);
            self.timer = Backoff::start(now, RETRANSMIT, RETRANSMIT_LIMIT);
        } else {
            self.timer = self.timer.again(now);
        }
        self.send(Kind::Join, self.id, out);
    }

    /// When that is.
    pub fn deadline(&self) -> Time {
        self.timer.at
    }

    /// Leaves the tree; the identification of the prune.
    pub fn prune(self, now: Time, out: &mut Vec<Action>) -> Identification {
        let id = self.id.newer(now);
        self.send(Kind::Prune, id, out);
        id
    }

    fn send(&self, kind: Kind, id: Identification, out: &mut Vec<Action>) {
        send(self.parent, (self.host, id, kind), out);
    }
}
