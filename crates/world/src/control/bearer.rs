//! Requests of agents about numbered radio bearers, and the reports to them.

use super::Agents;
use crate::context::Context;
use crate::dataplane::network::{Done, Network};
use crate::ids::{AgentIndex, HostAtAgent};
use roamlab_mobility::{Action, Input, L2Trigger, MobilityAction};
use roamlab_record::cause::{Cause, CauseId, CurrentCause, Kind};
use roamlab_record::ids::{Location, NodeId};

impl Agents {
    /// Requests about the numbered bearer of a host.
    pub(super) fn ask_bearer(
        &mut self,
        node: NodeId,
        slot: AgentIndex,
        action: MobilityAction,
        net: &mut Network,
        cx: &mut Context,
    ) -> Done {
        let of = |host| HostAtAgent { host, slot };
        match action {
            Action::AdoptBearer { host, counts } => net.adopt_bearer(node, of(host), counts, cx),
            Action::FreezeBearer { host } => net.freeze_bearer(node, of(host), true, cx),
            Action::ResumeBearer { host } => net.freeze_bearer(node, of(host), false, cx),
            Action::ForwardBearer { host, to, fresh } => net.forward_bearer(node, of(host), (to, fresh), cx),
            Action::ServeThrough { host, unit } => net.serve_through(node, of(host), unit, cx),
            Action::RecoverBearer { host, repeat } => net.recover_bearer(node, of(host), repeat, cx),
            Action::ReportDelivery { host, settled: true } => net.report_when_settled(node, of(host), cx),
            Action::ReportDelivery { host, settled: false } => {
                let (done, open) = net.take_done(node, of(host), cx)?;
                let trigger = L2Trigger::DeliveryReported { host, done, open };
                self.input(node, slot, Input::Trigger(trigger), net, cx);
                Ok(())
            }
            Action::Reestablish { reset } => net.reestablish(node, reset, cx),
            Action::ReportBearer { host } => {
                let state = net.bearer_state(node, of(host), cx)?;
                let trigger = L2Trigger::BearerReported { host, state };
                self.input(node, slot, Input::Trigger(trigger), net, cx);
                Ok(())
            }
            other => unreachable!("{other:?} is not about a bearer"),
        }
    }

    /// A timer of a numbered bearer may have expired. Agents are notified if RLC has sent a packet as often as it may: at the
    /// host that is a radio link failure (TS 38.331 §5.3.10.3).
    pub fn bearer_timer(&mut self, (node, host): (NodeId, NodeId), net: &mut Network, cx: &mut Context) {
        let limit = net.bearer_timer((node, host), cx);
        let addr = net.address(host);
        if let Some((key, (done, open))) = net.due_report(node, addr, cx) {
            let trigger = L2Trigger::DeliveryReported { host: addr, done, open };
            self.input(node, key.slot, Input::Trigger(trigger), net, cx);
        }
        let Some(row) = limit else { return };
        self.notify_limit((node, host), row, net, cx);
    }

    /// RLC at a node has sent a message to or from a host as often as it may, whose last loss is this row of the causes.
    pub(super) fn limit_of_signalling(
        &mut self,
        (node, host): (NodeId, NodeId),
        loss: CauseId,
        net: &mut Network,
        cx: &mut Context,
    ) {
        let limit = Cause::of(Kind::RetransmissionLimit, "", loss);
        let row = cx.add_cause(limit.at(Location::Node(node)).about(Some(net.address(host))));
        self.notify_limit((node, host), row, net, cx);
    }

    fn notify_limit(
        &mut self,
        (node, host): (NodeId, NodeId),
        row: CauseId,
        net: &mut Network,
        cx: &mut Context,
    ) {
        let addr = net.address(host);
        let trigger = match node == host {
            true => L2Trigger::RadioLinkFailure,
            false => L2Trigger::RetransmissionLimit { host: addr },
        };
        cx.with_cause(CurrentCause::Row(row), |cx| self.notify_agents(node, addr, &trigger, net, cx));
    }
}

#[cfg(test)]
mod tests;
