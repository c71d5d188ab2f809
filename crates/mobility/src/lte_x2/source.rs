//! The source base station's part: prepare, command, forward; or take the host back.

use super::bearer::Outlet;
use super::enodeb::{Context, Cx, Role};
use super::{Cancelled, Forwarding, Kind, PathSwitch, Phase};
use roamlab_packet::Addr;

impl Context {
    /// The host has reported a better neighbour.
    pub fn reported(&mut self, target: Addr, cx: &mut Cx<'_>) {
        match &mut self.role {
            Role::Serving => self.prepare(target, cx.params.path_switch == PathSwitch::Fast, true, cx),
            Role::Preparing { target: expected, wanted, .. } if *expected == target => *wanted = true,
            Role::Preparing { target: other, wanted: false, .. } => {
                let other = *other;
                cx.send(other, self.id, Kind::HandoverCancel);
                self.prepare(target, false, true, cx);
            }
            Role::Ready { target: expected, .. } if *expected == target => self.command(target, true, cx),
            Role::Ready { .. } => {
                cx.note(Phase::PredictionFailed);
                self.take_back(cx);
                self.prepare(target, false, true, cx);
            }
            Role::Preparing { .. }
            | Role::Executing { .. }
            | Role::Prepared { .. }
            | Role::Leaving { .. } => {}
        }
    }

    /// The host is expected to report this target soon.
    pub fn predicted(&mut self, target: Addr, cx: &mut Cx<'_>) {
        let predictive = cx.params.path_switch == PathSwitch::Predictive;
        if predictive && cx.present && target != cx.address && matches!(self.role, Role::Serving) {
            cx.note(Phase::HandoverPredicted);
            self.prepare(target, true, false, cx);
        }
    }

    /// Nothing is left of what came before the path switch: the target need not wait for it.
    pub fn drained(&mut self, cx: &mut Cx<'_>) {
        if let Role::Ready { target, .. } = self.role
            && self.bearer.path_has_left()
        {
            self.bearer.stop_forwarding(target, self.id, cx.out);
        }
    }

    fn prepare(&mut self, target: Addr, early: bool, wanted: bool, cx: &mut Cx<'_>) {
        // End markers of handovers before this one lead to here, or are stale.
        self.bearer.since(self.id);
        self.id = self.id.newer(cx.now);
        let until = cx.now + cx.params.timers.reloc_prep;
        self.role = Role::Preparing { target, until, early, wanted };
        cx.send(target, self.id, Kind::HandoverRequest { early });
    }

    /// The target's acknowledgement.
    pub fn target_is_ready(&mut self, from: Addr, cx: &mut Cx<'_>) {
        let Role::Preparing { target, early, wanted, .. } = self.role else { return };
        if from != target {
            return;
        }
        cx.note(Phase::HandoverPrepared);
        if wanted {
            self.command(target, early, cx);
        } else {
            self.role = Role::Ready { target, until: cx.now + cx.params.prediction_timeout };
        }
        if early {
            self.switch_path(target, None, cx);
        }
    }

    /// The target does not admit the host.
    pub fn target_refuses(&mut self, from: Addr, cx: &mut Cx<'_>) {
        if matches!(self.role, Role::Preparing { target, .. } if target == from) {
            cx.note(Phase::HandoverRejected);
            self.role = Role::Serving;
        }
    }

    fn command(&mut self, target: Addr, early: bool, cx: &mut Cx<'_>) {
        cx.note(Phase::HandoverCommanded);
        cx.send(cx.host, self.id, Kind::HandoverCommand { target });
        if cx.params.forwarding == Forwarding::Lossless {
            cx.send(target, self.id, Kind::SnStatusTransfer);
        }
        self.role = Role::Executing { target, until: cx.now + cx.params.timers.reloc_overall, early };
        self.forward_to(target, cx);
    }

    fn forward_to(&mut self, target: Addr, cx: &mut Cx<'_>) {
        if cx.params.forwarding != Forwarding::None && self.bearer.outlet() != Outlet::Tunnel(target) {
            cx.note(Phase::ForwardingStarted);
            self.bearer.forward(target, cx.now, cx.params, cx.out);
            if self.bearer.relay_end(cx.out) {
                cx.note(Phase::ForwardingEnded);
            }
        }
    }

    pub fn source_times_out(&mut self, cx: &mut Cx<'_>) {
        match self.role {
            Role::Preparing { target, .. } => {
                cx.note(Phase::HandoverCancelled);
                cx.send(target, self.id, Kind::HandoverCancel);
                self.role = Role::Serving;
            }
            Role::Ready { .. } if cx.present => {
                cx.note(Phase::PredictionFailed);
                self.take_back(cx);
            }
            Role::Ready { target, .. } => {
                self.forward_to(target, cx);
                self.role = Role::Leaving { until: cx.now + cx.params.timers.forwarding_hold };
            }
            Role::Executing { .. } if cx.present => {
                cx.note(Phase::HandoverCancelled);
                self.take_back(cx);
            }
            Role::Executing { .. } => {
                self.role = Role::Leaving { until: cx.now + cx.params.timers.forwarding_hold }
            }
            Role::Serving | Role::Prepared { .. } | Role::Leaving { .. } => {}
        }
    }

    /// The handover is off: the host is served here again, and the path comes back.
    pub fn take_back(&mut self, cx: &mut Cx<'_>) {
        let (target, early, commanded) = match self.role {
            Role::Ready { target, .. } => (target, true, false),
            Role::Executing { target, early, .. } => (target, early, true),
            _ => return,
        };
        cx.send(target, self.id, Kind::HandoverCancel);
        if commanded || self.bearer.path_has_left() {
            self.bearer.stop_forwarding(target, self.id, cx.out);
        }
        self.role = Role::Serving;
        if early {
            self.id = self.id.newer(cx.now);
            self.switch_path(cx.address, None, cx);
        }
        self.bearer.since(self.id);
        self.bearer.attach(cx.now, cx.params, cx.out);
        let returns = cx.params.cancelled == Cancelled::Return && cx.params.forwarding != Forwarding::None;
        if returns && (commanded || early) {
            self.bearer.expect_from(target, cx.now, cx.params, cx.out);
        }
    }

    /// The target has the host and the path; whether the context stays.
    pub fn released(&mut self, from: Addr, cx: &mut Cx<'_>) -> bool {
        if matches!(self.role, Role::Leaving { .. } | Role::Prepared { .. }) {
            return true;
        }
        cx.note(Phase::SourceReleased);
        if cx.params.forwarding == Forwarding::None {
            self.bearer.end(cx.out);
            return false;
        }
        self.forward_to(from, cx);
        self.role = Role::Leaving { until: cx.now + cx.params.timers.forwarding_hold };
        true
    }

    /// Layer 2 has lost the host.
    pub fn host_gone(&mut self, cx: &mut Cx<'_>) {
        self.resuming = None;
        if let Role::Prepared { until, granted, .. } = &mut self.role {
            (*until, *granted) = (cx.now + cx.params.timers.joining, None);
        }
        if !matches!(self.role, Role::Serving | Role::Preparing { .. } | Role::Ready { .. }) {
            return;
        }
        self.forget_at = Some(cx.now + cx.params.timers.reloc_overall);
        if cx.params.forwarding != Forwarding::None {
            self.bearer.hold(cx.out);
        }
    }
}
