//! Signalling messages: they set out, unless a fault is in their way, and are delivered.

use super::{Agents, Outgoing, Way, send};
use crate::context::{Announcement, Context};
use crate::control::fault::FaultAction;
use crate::control::messages::{Content, Repetition};
use crate::dataplane::network::Network;
use crate::event::Event;
use crate::ids::AgentIndex;
use roamlab_engine::Duration;
use roamlab_mobility::Message;
use roamlab_packet::{Addr, DropReason, PacketId};
use roamlab_record::Stop;
use roamlab_record::cause::{CauseId, CurrentCause};
use roamlab_record::ids::{Location, NodeId};

impl Agents {
    pub(super) fn send_message(
        &mut self,
        node: NodeId,
        slot: AgentIndex,
        (to, message): (Addr, Message),
        net: &mut Network,
        cx: &mut Context,
    ) {
        let domain = net.agent(node, slot).domain;
        let other_cell = if message.random_access() { net.uplink_to(node, to) } else { None };
        let way = other_cell.map_or(Way::Routed(node, Some(domain)), Way::Link);
        let signal = Outgoing {
            from: node,
            addresses: (net.address(node), to),
            host: message.host(),
            size: message.size(),
            content: Content::Agent(domain, message),
            repetition: 0,
        };
        self.send_signal(way, signal, net, cx);
    }

    /// A message that was lost is sent again by its transport. Over the air this ends when the host has left the cell: its
    /// entity of RLC is gone.
    pub fn repeat(&mut self, slot: u32, net: &mut Network, cx: &mut Context) {
        let Some(Repetition { content, ends, number, cause, gives_up }) = cx.messages.repeat(slot) else {
            return;
        };
        let (Some(from), Some(to)) = (net.node_at(ends.0), net.node_at(ends.1)) else { return };
        let (domain, host, size) = match &content {
            Content::Agent(domain, message) => (Some(*domain), message.host(), message.size()),
            Content::Wired(frame, size) => (None, Some(net.address(frame.host)), *size),
            Content::Frame(_) | Content::PathChange(_) => return,
        };
        let (station, mobile) = if ends.0.is_mobile() { (to, from) } else { (from, to) };
        let crosses_air = ends.0.is_mobile() || ends.1.is_mobile();
        if crosses_air && !net.cell_of(station).is_some_and(|cell| net.cells().has(mobile, cell)) {
            return;
        }
        if gives_up {
            return self.limit_of_signalling((from, mobile), cause, net, cx);
        }
        let signal = Outgoing { from, addresses: ends, host, size, content, repetition: number };
        cx.with_cause(CurrentCause::Row(cause), |cx| {
            self.send_signal(Way::Routed(from, domain), signal, net, cx);
        });
    }

    /// A node tells the sender of a flow of a new path.
    pub fn announce(
        &mut self,
        from: NodeId,
        announcement: Announcement,
        net: &mut Network,
        cx: &mut Context,
    ) {
        let Announcement { to, host, size, notice, cause } = announcement;
        let content = Content::PathChange(notice);
        let addresses = (net.address(from), to);
        let signal = Outgoing { from, addresses, host: Some(host), size, content, repetition: 0 };
        let led = CurrentCause::Row(cause.or(|| CauseId::START));
        cx.with_cause(led, |cx| self.send_signal(Way::Routed(from, None), signal, net, cx));
    }

    /// A message sets out, unless a fault is in its way. `false`: a fault has lost it.
    pub fn send_signal(&mut self, way: Way, signal: Outgoing, net: &mut Network, cx: &mut Context) -> bool {
        let fault = self.fault_action((signal.content.name(), signal.host));
        let place = Location::Node(signal.from);
        let (id, packet) = send(signal, cx);
        match fault {
            None => self.transmit_message(way, packet, net, cx),
            Some(FaultAction::Lose) => {
                cx.lose(packet, DropReason::ForcedLoss, place);
                return false;
            }
            Some(FaultAction::Delay(delay)) => {
                cx.probes.causes.held_back(cx.now, id, place);
                self.send_later(way, packet, delay, cx);
            }
            Some(FaultAction::Duplicate(after)) => {
                let copy = cx.duplicate(&packet);
                self.transmit_message(way, packet, net, cx);
                self.send_later(way, copy, after, cx);
            }
        }
        true
    }

    /// Effect of the scenario's faults on the message of this name about this host.
    pub(super) fn fault_action(&mut self, concerned: (&str, Option<Addr>)) -> Option<FaultAction> {
        self.faults.iter_mut().filter_map(|fault| fault.apply(concerned)).last()
    }

    fn send_later(&mut self, way: Way, packet: PacketId, delay: Duration, cx: &mut Context) {
        let slot = self.delayed.len() as u32;
        self.delayed.push(Some((way, packet.into())));
        cx.scheduler.push(cx.now + delay, Event::Delayed { slot });
    }

    /// A message that a fault has held back sets out.
    pub fn release_delayed(&mut self, slot: u32, net: &mut Network, cx: &mut Context) {
        if let Some((way, packet)) = self.delayed[slot as usize].take() {
            self.transmit_message(way, packet.take(), net, cx);
        }
    }

    fn transmit_message(&mut self, way: Way, packet: PacketId, net: &mut Network, cx: &mut Context) {
        let (node, domain) = match way {
            Way::Routed(node, domain) => (node, domain),
            Way::Link(link) => return net.send_over(link, packet, cx),
        };
        let dst = cx.pool[&packet].header.dst;
        // A base station's own messages to its hosts do not go where their data go.
        if net.cell_of(node).is_some() && (dst == Addr::BROADCAST || dst.is_mobile()) {
            cx.trace(&packet, Stop::NodeSend, Location::Node(node));
            net.send_air(node, packet, cx);
        } else if dst == net.address(node) && domain.is_some_and(|domain| net.delivers_to_self(domain)) {
            cx.trace(&packet, Stop::NodeSend, Location::Node(node));
            self.deliver(node, packet, net, cx);
        } else {
            net.ip_output(node, packet, self, cx);
        }
    }
}
