//! Numbered radio bearers of a base station in two nodes (TS 38.401): a central unit, where they end, and distributed units,
//! which have RLC alone.
//!
//! A central unit gives numbers and keeps each packet until a distributed unit has reported that RLC has confirmed it (TS
//! 38.425 §5.4.2). A distributed unit repeats what the air loses. Packets travel between them through tunnels, with their
//! numbers.

use super::bearer_timers::expired_line;
use super::{Done, Network};
use crate::context::Context;
use crate::dataplane::bearer::{Arrived, Sdu, State};
use crate::ids::{AgentIndex, HostAtAgent};
use roamlab_packet::{Addr, DropReason, PacketId};
use roamlab_radio::bearer::Kept;
use roamlab_record::ids::{LinkId, Location, NodeId};
use std::collections::{BTreeMap, BTreeSet};

/// Numbers that are confirmed or given up, and whether others are open.
pub type Delivery = (BTreeSet<u32>, bool);

impl Network {
    /// A packet goes through a tunnel between a central and a distributed unit.
    pub(super) fn send_between(
        &mut self,
        node: NodeId,
        packet: PacketId,
        (slot, to): (AgentIndex, Addr),
        cx: &mut Context,
    ) {
        let here = &self.nodes[node];
        let overhead = self.domains[here.agent(slot).domain.0 as usize].unit_overhead;
        let ends = (here.addr, to);
        self.send_tunnelled(node, packet, (ends, overhead), cx);
    }

    /// A central unit sends a packet with a number to the distributed unit that has the host.
    pub(super) fn send_below(
        &mut self,
        node: NodeId,
        packet: PacketId,
        (host, number): (Addr, u32),
        cx: &mut Context,
    ) {
        let end = self.radio_bearers.known_station(node, host);
        let Some((end, unit)) = end.and_then(|end| end.unit.map(|unit| (end, unit))) else {
            return cx.lose(packet, DropReason::NoRoute, Location::Node(node));
        };
        let slot = end.slot;
        if let Some(copy) = end.sending.keep(&packet, number, State::Below(unit), cx) {
            cx.lose(copy, DropReason::CopyReleased, Location::Node(node));
        }
        self.send_between(node, packet, (slot, unit), cx);
        self.watch_station(node, host, cx);
    }

    /// A host's packets go through this distributed unit from now on.
    pub fn serve_through(&mut self, node: NodeId, key: HostAtAgent, unit: Addr, cx: &mut Context) -> Done {
        let values = self.asked_bearer(node, key)?;
        let is_unit =
            self.nodes.at(unit).is_some_and(|at| self.nodes[at].central == Some(self.nodes[node].addr));
        if !is_unit {
            return Err("serves a host through a node that is no distributed unit of it".into());
        }
        let end = self.radio_bearers.station(node, key.host, (key.slot, values));
        (end.unit, end.ended) = (Some(unit), false);
        self.number_line(node, key.host, cx);
        self.watch_station(node, key.host, cx);
        Ok(())
    }

    /// Data recovery, at a central unit or a host.
    pub fn recover_bearer(&mut self, node: NodeId, key: HostAtAgent, repeat: bool, cx: &mut Context) -> Done {
        if self.nodes[node].is_host() {
            return self.recover_uplink(node, cx);
        }
        self.asked_bearer(node, key)?;
        let Some(end) = self.radio_bearers.known_station(node, key.host) else { return Ok(()) };
        let Some(unit) = end.unit else { return Ok(()) };
        let is_elsewhere = |sdu: &Sdu| matches!(sdu.state, State::Below(other) if other != unit);
        let open = end.sending.transmitter.unconfirmed().filter(|(_, sdu)| is_elsewhere(sdu));
        let open: Vec<_> = open.filter_map(|(number, sdu)| Some((number, sdu.snapshot.clone()?))).collect();
        let cause = cx.current_cause();
        for (number, snapshot) in open {
            let copy = cx.pool.restore(snapshot);
            let Some(end) = self.radio_bearers.known_station(node, key.host) else { continue };
            if repeat {
                if let Some(sdu) = end.sending.transmitter.get_mut(number) {
                    sdu.state = State::Below(unit);
                }
                cx.note_move(&copy, cause);
                self.send_between(node, copy, (key.slot, unit), cx);
            } else {
                end.sending.transmitter.forget(number);
                cx.lose_by(copy, DropReason::BearerEnded, Location::Node(node), cause);
            }
        }
        self.number_line(node, key.host, cx);
        self.watch_station(node, key.host, cx);
        Ok(())
    }

    /// A central unit takes what a distributed unit has not sent and will not send out of the air's queue; what is in the air
    /// stays there.
    pub(super) fn collect_unsent(
        &mut self,
        node: NodeId,
        host: Addr,
        waiting: Vec<PacketId>,
        cx: &mut Context,
    ) -> Vec<PacketId> {
        let number = |packet: &PacketId, cx: &Context| cx.pool.number(&cx.pool[packet]);
        let Some(end) = self.radio_bearers.known_station(node, host) else { return waiting };
        let transmitter = &mut end.sending.transmitter;
        let mut unsent = BTreeMap::new();
        for packet in waiting {
            let number = number(&packet, cx).unwrap_or(u32::MAX);
            if let Some(Sdu { state: State::Lost(copy), .. }) = transmitter.forget(number) {
                cx.lose(copy.take(), DropReason::CopyReleased, Location::Node(node));
            }
            unsent.insert(number, packet);
        }
        let lost = transmitter.kept().filter(|(_, sdu)| matches!(sdu.state, State::Lost(_)));
        let lost: Vec<u32> = lost.map(|(number, _)| number).collect();
        for number in lost {
            if let Some(Sdu { state: State::Lost(packet), .. }) = transmitter.forget(number) {
                unsent.insert(number, packet.take());
            }
        }
        end.sending.repair.restart();
        unsent.into_values().collect()
    }

    /// Numbers at a distributed unit that are confirmed or given up since the last report.
    pub fn take_done(&mut self, node: NodeId, key: HostAtAgent, cx: &mut Context) -> Done<Delivery> {
        self.asked_bearer(node, key)?;
        self.note_lost_numbers(cx);
        self.settle_station(node, key.host, cx);
        let Some(end) = self.radio_bearers.known_station(node, key.host) else {
            return Ok(Delivery::default());
        };
        let open = end.sending.transmitter.unconfirmed().next().is_some();
        Ok((end.sending.done.as_mut().map(std::mem::take).unwrap_or_default(), open))
    }

    /// The same when no confirmation is on its way any more.
    pub fn report_when_settled(&mut self, node: NodeId, key: HostAtAgent, cx: &mut Context) -> Done {
        let values = self.asked_bearer(node, key)?;
        self.radio_bearers.station(node, key.host, (key.slot, values)).reports = true;
        self.watch_station(node, key.host, cx);
        Ok(())
    }

    /// The report of a distributed unit, if it is to be made now.
    pub fn due_report(
        &mut self,
        node: NodeId,
        host: Addr,
        cx: &mut Context,
    ) -> Option<(HostAtAgent, Delivery)> {
        let end = self.radio_bearers.known_station(node, host)?;
        let is_due = end.report_deadline(cx.now).is_some_and(|due| due <= cx.now);
        if !is_due {
            return None;
        }
        end.reports = false;
        let key = HostAtAgent { host, slot: end.slot };
        let delivery = self.take_done(node, key, cx).ok()?;
        Some((key, delivery))
    }

    /// True if a packet that has left a tunnel from `src` at a central unit is one from a host.
    pub(super) fn is_from_unit(&self, node: NodeId, packet: &PacketId, src: Addr, cx: &Context) -> bool {
        let here = Some(self.nodes[node].addr);
        self.nodes.at(src).is_some_and(|unit| self.nodes[unit].central == here)
            && cx.pool.number(&cx.pool[packet]).is_some()
    }

    /// A central unit receives a packet from a host. It waits for its turn.
    pub(super) fn receive_from_unit(
        &mut self,
        (node, link): (NodeId, LinkId),
        packet: PacketId,
        cx: &mut Context,
    ) {
        let host = cx.pool[&packet].header.src;
        let values = self.bearer_at(node, host).and_then(|key| Some((key, self.bearer_values(node, key)?)));
        let (Some((key, values)), Some(number)) = (values, cx.pool.number(&cx.pool[&packet])) else {
            return cx.lose(packet, DropReason::NoRoute, Location::Node(node));
        };
        let end = self.radio_bearers.station(node, host, (key.slot, values));
        if end.frozen || end.ended {
            let cause = self.cells.moved(host);
            return cx.lose_by(packet, DropReason::BearerEnded, Location::Node(node), cause);
        }
        let arrived = Arrived { link, packet: packet.into() };
        if end.adopted {
            self.take_up(node, host, (number, arrived), cx);
        } else {
            end.early.push_back((number, arrived));
        }
    }

    /// Packets at a central unit that have waited for longer than the discardTimer. A distributed unit discards what it has not
    /// sent by the same timer.
    pub(super) fn discard_at_central(&mut self, node: NodeId, host: Addr, cx: &mut Context) {
        let cause = self.cells.moved(host);
        let Some(end) = self.radio_bearers.known_station(node, host) else { return };
        for number in end.sending.transmitter.on_deadline(cx.now) {
            end.sending.abandon(number);
        }
        let wait = end.values.discard_timer;
        let lost = expired_line(&mut end.line, |since| wait.is_some_and(|wait| since + wait <= cx.now), cx);
        for packet in lost {
            cx.lose_by(packet, DropReason::DiscardTimer, Location::Node(node), cause);
        }
    }

    /// Packets of a host that are not confirmed are sent again in the cell that it enters next.
    fn recover_uplink(&mut self, host: NodeId, cx: &mut Context) -> Done {
        if self.radio_bearers.host(host).is_none() {
            return Err("recovers its bearers, and the node has none".into());
        }
        let mut first = self.repeat_uplink(host, |kept: &Kept<Sdu>| !kept.confirmed, cx);
        let Some(end) = self.radio_bearers.host(host) else { return Ok(()) };
        end.suspended = false;
        first.extend(std::mem::take(&mut end.line).into_iter().map(|line| line.packet.take()));
        self.cells.wait_first(host, first);
        self.watch_host(host, cx);
        Ok(())
    }

    /// A host has reached a base station that expects it: its packets wait there, if the numbers are not known. Any other base
    /// station does not hear them.
    pub(super) fn expect_bearer(&mut self, station: NodeId, host: NodeId) {
        let addr = self.nodes[host].addr;
        let Some(end) = self.radio_bearers.known_station(station, addr) else { return };
        let key = HostAtAgent { host: addr, slot: end.slot };
        end.ended = end.ended && !self.nodes[station].buffers.contains_key(&key);
    }
}
