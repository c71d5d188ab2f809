//! The target base station's part: expect the host, admit it, request the path switch; or return its packets.

use super::enodeb::{Context, Cx, Role};
use super::{Cancelled, Forwarding, Kind, Phase};
use roamlab_packet::Addr;

impl Context {
    /// The host accesses the cell.
    pub fn accessed(&mut self, cx: &mut Cx<'_>) {
        if let Role::Prepared { granted, .. } = &mut self.role {
            *granted = Some(cx.now + cx.params.timers.random_access);
            cx.send(cx.host, self.id, Kind::RandomAccessResponse);
        }
    }

    /// The host is here.
    pub fn confirmed(&mut self, cx: &mut Cx<'_>) {
        let Role::Prepared { source, .. } = self.role else { return };
        cx.note(Phase::HandoverConfirmed);
        self.role = Role::Serving;
        self.bearer.attach(cx.now, cx.params, cx.out);
        self.switch_path(cx.address, Some(source), cx);
    }

    /// The source keeps the host; whether the context stays. A host that has begun random access has heard the command
    /// all the same, and one that re-establishes its connection here has lost the source: they do not go back.
    pub fn cancelled(&mut self, from: Addr, cx: &mut Cx<'_>) -> bool {
        let Role::Prepared { source, early, granted: None, .. } = self.role else { return true };
        if source != from || self.resuming.is_some() {
            return true;
        }
        if cx.params.cancelled == Cancelled::Drop || cx.params.forwarding == Forwarding::None {
            self.bearer.end(cx.out);
            return false;
        }
        self.role = Role::Leaving { until: cx.now + cx.params.timers.forwarding_hold };
        self.bearer.forward(source, cx.now, cx.params, cx.out);
        if !early {
            // Nothing comes but what the source has forwarded.
            self.bearer.ends_with_inflow(self.id, cx.out);
        }
        true
    }

    /// A host whose link has failed continues here.
    pub fn continue_here(&mut self, cx: &mut Cx<'_>) {
        match self.role {
            Role::Prepared { .. } => self.confirmed(cx),
            Role::Serving | Role::Preparing { .. } => self.bearer.attach(cx.now, cx.params, cx.out),
            Role::Ready { .. } | Role::Executing { .. } => self.take_back(cx),
            Role::Leaving { .. } => {}
        }
    }
}
