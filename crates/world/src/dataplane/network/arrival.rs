//! Arrivals: a packet at the far end of a link, as layer 2 sees it. A received packet is passed to IP input.

use super::ip::PlainInput;
use super::{Listener, LocalDelivery, Network};
use crate::context::Context;
use crate::dataplane::link::{End, InFlight, Link, Lost};
use crate::ids::CellId;
use roamlab_engine::Time;
use roamlab_packet::{Addr, DropReason, FlowId, PacketId, TcpFlags};
use roamlab_record::Stop;
use roamlab_record::cause::CauseId;
use roamlab_record::ids::{LinkId, Location, NodeId};

impl Network {
    /// A packet arrives at a node over a link that does not list its packets in flight: such a link is always up, and no end
    /// of it moves. The short cuts take it, or [`ip_input_slow`](Self::ip_input_slow) has to.
    #[inline(always)]
    pub fn arrive(&mut self, link: LinkId, packet: PacketId, cx: &mut Context) -> (NodeId, PlainInput) {
        let node = self.links.complete_arrival(link);
        (node, self.ip_input_plain(node, packet, cx))
    }

    /// A packet arrives over a link that lists its packets in flight. It is lost if the link is down or its receiver does
    /// not hear it.
    #[inline(always)]
    pub fn arrive_tracked(
        &mut self,
        link: LinkId,
        InFlight { packet, started, .. }: InFlight,
        listener: &mut impl Listener,
        cx: &mut Context,
    ) -> LocalDelivery {
        let packet = packet.take();
        cx.trace(&packet, Stop::LinkArrive, Location::Link(link));
        let &Link { from, to, up, .. } = &self.links[link];
        if !up {
            let Some(packet) = self.repair(link, packet, started, cx) else { return LocalDelivery::Nothing };
            let changed = self.links[link].changed;
            cx.lose_by(packet, DropReason::LinkDown, Location::Link(link), changed);
            return LocalDelivery::Nothing;
        }
        if let Some(lost) = self.links.loses(link, cx) {
            let Some(packet) = self.repair(link, packet, started, cx) else { return LocalDelivery::Nothing };
            lose_at_random((packet, link), lost, cx);
            return LocalDelivery::Nothing;
        }
        let (node, packet) = match to {
            End::Node(node) => {
                let cell = self.nodes[node].serves;
                let for_all = cx.pool[&packet].is_for_all();
                if let Some(cell) = cell.filter(|&cell| self.cells.is_cut_off(from, cell, (started, for_all)))
                    && !self.is_preamble(from, cell, &packet, cx)
                {
                    let Some(packet) = self.repair(link, packet, started, cx) else {
                        return LocalDelivery::Nothing;
                    };
                    let cause = self.cells.why_unheard(from, cell, cx);
                    cx.lose_by(packet, DropReason::Detached, Location::Link(link), cause);
                    return LocalDelivery::Nothing;
                }
                if self.cells.roam()
                    && let Some(cell) = cell
                    && let Some(cause) = self.why_refused(cell, from, &packet, cx)
                {
                    cx.lose_by(packet, DropReason::Detached, Location::Node(node), cause);
                    return LocalDelivery::Refused(from, cell);
                }
                let treated = cell.is_some() && self.nodes[node].treats_received;
                let received = match treated {
                    true => self.treat_sent((link, node), packet, started, cx),
                    false => Some(packet),
                };
                let Some(packet) = received else { return LocalDelivery::Nothing };
                (node, packet)
            }
            End::Cell(cell) if cx.pool[&packet].header.dst == Addr::BROADCAST => {
                return LocalDelivery::Broadcast(cell, packet);
            }
            End::Cell(cell) => match self.cross_air((link, cell), packet, started, listener, cx) {
                None => return LocalDelivery::Nothing,
                Some(received) => received,
            },
        };
        self.ip_input(node, packet, link, listener, cx)
    }

    /// A base station with numbered bearers, or one that helps flows, receives a packet of a host; `None`: it has taken it.
    #[inline(never)]
    fn treat_sent(
        &mut self,
        (link, node): (LinkId, NodeId),
        packet: PacketId,
        started: Time,
        cx: &mut Context,
    ) -> Option<PacketId> {
        let packet = match self.nodes[node].numbers {
            true => self.receive_up((link, node), packet, started, cx)?,
            false => packet,
        };
        let Some(cell) = self.nodes[node].serves.filter(|_| self.nodes[node].helps) else {
            return Some(packet);
        };
        let (ends, received) = (cx.pool.ends(&cx.pool[&packet]), &cx.pool[&packet]);
        let (flow, flags) = (received.flow, received.flags());
        let opens_or_ends = flags.has(TcpFlags::SYN) || flags.has(TcpFlags::FIN);
        if !received.is_tcp() || received.payload() > 0 || !flags.has(TcpFlags::ACK) || opens_or_ends {
            return Some(packet);
        }
        let header = cx.pool.tcp_header(&packet);
        let ack = (header.ack, header.window);
        if !self.links.suppresses(self.cells.air(cell), (flow, ends.0), ack, cx) {
            return Some(packet);
        }
        cx.lose(packet, DropReason::SuppressedAck, Location::Node(node));
        None
    }

    /// The local timer of a base station for a flow may have expired. Its state is lost with the host.
    pub fn local_timer(&mut self, air: LinkId, flow: FlowId, cx: &mut Context) {
        let Some(host) = self.links.helped_host(air, flow) else { return };
        let here = self.nodes[self.links[air].from].serves.zip(self.nodes.at(host));
        if here.is_none_or(|(cell, host)| !self.cells.hears(host, cell, cx.now)) {
            self.links.forget_helped(air, host);
        }
        self.links.local_timer(air, flow, cx);
    }

    /// The packet is a preamble of a host that can hear the cell: it need not be in it.
    #[inline(never)]
    fn is_preamble(&self, host: NodeId, cell: CellId, packet: &PacketId, cx: &Context) -> bool {
        let message = cx.pool[packet].message();
        message.is_some_and(|id| cx.messages.is_random_access(id)) && self.cells.measures_level(host, cell)
    }

    /// A packet for one host arrives over an air link: the host, and the packet, if the host receives it.
    #[inline(always)]
    fn cross_air(
        &mut self,
        (link, cell): (LinkId, CellId),
        packet: PacketId,
        started: Time,
        listener: &mut impl Listener,
        cx: &mut Context,
    ) -> Option<(NodeId, PacketId)> {
        let (from, dst) = (self.links[link].from, cx.pool[&packet].header.dst);
        if self.nodes[from].keeps_copies {
            self.keep_copy(from, &packet, dst, cx);
        }
        let host = self.nodes.at(dst);
        let Some(hearing) = host.filter(|&host| self.cells.hears(host, cell, started)) else {
            let packet = self.repair(link, packet, started, cx)?;
            let cause = host.map_or(CauseId::START, |host| self.cells.why_unheard(host, cell, cx));
            cx.lose_by(packet, DropReason::Detached, Location::Link(link), cause);
            return None;
        };
        let arrived = &cx.pool[&packet];
        if !arrived.is_signal() && self.cells.is_duplicate(hearing, cx.pool.original(arrived)) {
            let cause = self.cells.moved(dst);
            cx.lose_by(packet, DropReason::Duplicate, Location::Node(hearing), cause);
            return None;
        }
        if !self.nodes[hearing].treats_received {
            return Some((hearing, packet));
        }
        let packet = match self.nodes[hearing].numbers {
            true => self.receive_down((link, hearing), packet, started, cx)?,
            false => packet,
        };
        self.treat_received(hearing, &packet, link, listener, cx);
        Some((hearing, packet))
    }

    /// The next packet that a receiver delivers continues; `None`: there is none.
    pub fn pass_ready(&mut self, listener: &mut impl Listener, cx: &mut Context) -> Option<LocalDelivery> {
        let ready = self.radio_bearers.take_ready()?;
        let (node, link, packet) = (ready.node, ready.link, ready.packet.take());
        if self.nodes[node].is_host() {
            self.treat_received(node, &packet, link, listener, cx);
        }
        Some(self.ip_input(node, packet, link, listener, cx))
    }
}

/// The packet is lost at random at the far end of the link.
fn lose_at_random((packet, link): (PacketId, LinkId), lost: Lost, cx: &mut Context) {
    match lost {
        Lost::AtRandom => cx.lose(packet, DropReason::RandomLoss, Location::Link(link)),
        Lost::InOutage(row) => cx.lose_by(packet, DropReason::LinkDown, Location::Link(link), row),
    }
}
