//! Timers of numbered radio bearers: t-Reordering, discardTimer, and those of RLC.

use super::Network;
use crate::context::{Context, LostNumber};
use crate::dataplane::bearer::{Arrived, Deadline, Line, Sdu, State};
use crate::dataplane::link::End;
use roamlab_engine::Time;
use roamlab_packet::{Addr, DropReason, Packet, PacketId, PacketPool};
use roamlab_radio::bearer::Receiver;
use roamlab_record::cause::{Cause, CauseId, Kind};
use roamlab_record::ids::{LinkId, Location, NodeId};
use std::collections::{BTreeSet, VecDeque};

impl Network {
    /// A timer of an end of a bearer may have expired. The row of the causes, if RLC has sent a packet as often as it may.
    pub fn bearer_timer(&mut self, (node, host): (NodeId, NodeId), cx: &mut Context) -> Option<CauseId> {
        self.note_lost_numbers(cx);
        if node == host { self.host_timer(host, cx) } else { self.station_timer(node, host, cx) }
    }

    fn host_timer(&mut self, host: NodeId, cx: &mut Context) -> Option<CauseId> {
        self.settle_host(host, cx);
        let addr = self.nodes[host].addr;
        let end = self.radio_bearers.host(host)?;
        end.alarm.ring(cx.now);
        let place = (host, addr, self.cells.moved(addr));
        let delivered = end.causes.react(&mut end.receiver, place, cx, Receiver::on_deadline);
        self.deliver_in_order(host, delivered, cx);
        self.discard_up(host, cx);
        let limit = self.repair_up(host, cx);
        self.number_line_up(host, cx);
        self.watch_host(host, cx);
        limit
    }

    fn station_timer(&mut self, station: NodeId, host: NodeId, cx: &mut Context) -> Option<CauseId> {
        let addr = self.nodes[host].addr;
        self.settle_station(station, addr, cx);
        let end = self.radio_bearers.known_station(station, addr)?;
        end.alarm.ring(cx.now);
        let place = (station, addr, self.cells.moved(addr));
        let delivered = if end.frozen {
            Vec::new()
        } else {
            end.causes.react(&mut end.receiver, place, cx, Receiver::on_deadline)
        };
        self.deliver_in_order(station, delivered, cx);
        self.discard_down(station, addr, cx);
        let limit = self.repair_down((station, host), cx);
        self.number_line(station, addr, cx);
        self.watch_station(station, addr, cx);
        limit
    }

    /// Packets at a base station that have waited for longer than the discardTimer are lost.
    fn discard_down(&mut self, station: NodeId, host: Addr, cx: &mut Context) {
        let Some(cell) = self.nodes[station].serves else {
            return self.discard_at_central(station, host, cx);
        };
        let (air, cause) = (self.cells.air(cell), self.cells.moved(host));
        let Some(end) = self.radio_bearers.known_station(station, host) else { return };
        let (due, wait) = (end.sending.expired(cx.now), end.values.discard_timer);
        let lost = expired_line(&mut end.line, |since| wait.is_some_and(|wait| since + wait <= cx.now), cx);
        let wanted = |packet: &Packet, pool: &PacketPool| {
            packet.header.dst == host && pool.number(packet).is_some_and(|number| due.contains(&number))
        };
        for packet in lost {
            cx.lose_by(packet, DropReason::DiscardTimer, Location::Node(station), cause);
        }
        for packet in self.take_discarded(air, &due, &wanted, cx) {
            cx.lose_by(packet, DropReason::DiscardTimer, Location::Link(air), cause);
        }
        self.note_lost_numbers(cx);
    }

    fn take_discarded(
        &mut self,
        link: LinkId,
        due: &BTreeSet<u32>,
        wanted: &dyn Fn(&Packet, &PacketPool) -> bool,
        cx: &mut Context,
    ) -> Vec<PacketId> {
        if due.is_empty() { Vec::new() } else { self.links.take_matching(link, false, wanted, cx) }
    }

    /// The same at a host.
    fn discard_up(&mut self, host: NodeId, cx: &mut Context) {
        let cause = self.cells.last_change(host).or(|| CauseId::START);
        let Some(end) = self.radio_bearers.host(host) else { return };
        let (due, wait) = (end.sending.expired(cx.now), end.values.discard_timer);
        let is_old = |since: Time| wait.is_some_and(|wait| since + wait <= cx.now);
        let mut lost = expired_line(&mut end.line, is_old, cx);
        if wait.is_some() {
            let pool = &cx.pool;
            let wanted = |packet: &Packet| !packet.is_signal() && pool.since(packet).is_some_and(is_old);
            lost.extend(self.cells.take_waiting(host, wanted, pool));
        }
        for packet in lost {
            cx.lose_by(packet, DropReason::DiscardTimer, Location::Node(host), cause);
        }
        if let Some(link) = self.cells.uplink(host) {
            let wanted = |packet: &Packet, pool: &PacketPool| {
                pool.number(packet).is_some_and(|number| due.contains(&number))
            };
            for packet in self.take_discarded(link, &due, &wanted, cx) {
                cx.lose_by(packet, DropReason::DiscardTimer, Location::Link(link), cause);
            }
        }
        self.note_lost_numbers(cx);
    }

    /// RLC at a base station sends packets again. The row of the causes, if it has done that as often as it may.
    fn repair_down(&mut self, (station, host): (NodeId, NodeId), cx: &mut Context) -> Option<CauseId> {
        let addr = self.nodes[host].addr;
        let cell = self.nodes[station].serves?;
        let (air, hears) = (self.cells.air(cell), self.cells.hears(host, cell, cx.now));
        let status = hears.then(|| self.links.delay(air));
        let more = self.links.waiting_for(air, addr).0 > 0;
        let end = self.radio_bearers.known_station(station, addr)?;
        let sending = &mut end.sending;
        let again = sending.repair.on_deadline(cx.now, more, status);
        let is_limit = sending.repair.take_limit() && !std::mem::replace(&mut sending.limit_reported, true);
        for number in again {
            let Some(end) = self.radio_bearers.known_station(station, addr) else { continue };
            if let Some(packet) = packet_again(end.sending.transmitter.get_mut(number), air, cx) {
                self.links.enter_again(air, packet, cx);
            }
        }
        is_limit.then(|| {
            let led = self.cells.why_unheard(host, cell, cx);
            cx.add_cause(
                Cause::of(Kind::RetransmissionLimit, "", led).at(Location::Node(station)).about(Some(addr)),
            )
        })
    }

    /// The same at a host.
    fn repair_up(&mut self, host: NodeId, cx: &mut Context) -> Option<CauseId> {
        let link = self.cells.uplink(host)?;
        let cell = self.cells.uplink_cell(host)?;
        let status = self.cells.hears(host, cell, cx.now).then(|| self.links.delay(link));
        let end = self.radio_bearers.host(host)?;
        let more = self.links.waiting_for(link, Addr::BROADCAST).0 > 0;
        let sending = &mut end.sending;
        let again = sending.repair.on_deadline(cx.now, more, status);
        let is_limit = sending.repair.take_limit() && !std::mem::replace(&mut sending.limit_reported, true);
        for number in again {
            let Some(end) = self.radio_bearers.host(host) else { continue };
            if let Some(packet) = packet_again(end.sending.transmitter.get_mut(number), link, cx) {
                self.links.enter_again(link, packet, cx);
            }
        }
        is_limit.then(|| {
            let (addr, led) = (self.nodes[host].addr, self.cells.why_unheard(host, cell, cx));
            cx.add_cause(
                Cause::of(Kind::RetransmissionLimit, "", led).at(Location::Node(host)).about(Some(addr)),
            )
        })
    }

    /// A queue has lost packets with numbers: nothing waits for their confirmation, and their receivers find a gap.
    pub(super) fn note_lost_numbers(&mut self, cx: &mut Context) {
        while let Some(LostNumber { place, ends: (src, dst), number, cause }) = cx.lost_numbers.pop() {
            let link = match place {
                Location::Link(link) => self.queue_link(link),
                Location::Node(node) => {
                    self.note_overflow(node, dst, number);
                    continue;
                }
            };
            let (from, to) = (self.links[link].from, self.links[link].to);
            if dst.is_mobile()
                && let Some(end) = self.radio_bearers.host(NodeId(dst.number() as u32))
            {
                end.causes.gap = cause;
            }
            match to {
                End::Cell(_) => {
                    let station = self.radio_bearers.known_station(from, dst);
                    station.into_iter().for_each(|end| end.sending.lost_before(number, link));
                    self.watch_station(from, dst, cx);
                }
                End::Node(station) => {
                    let host = self.radio_bearers.host(from);
                    host.into_iter().for_each(|end| end.sending.lost_before(number, link));
                    self.watch_host(from, cx);
                    let station = self.radio_bearers.known_station(station, src);
                    station.into_iter().for_each(|end| end.causes.gap = cause);
                }
            }
        }
    }

    /// A buffer had no room for a packet. A distributed unit reports it as one that it will not send: its central unit need not
    /// wait for it.
    fn note_overflow(&mut self, node: NodeId, host: Addr, number: u32) {
        let key = self.nodes[node].central.and_then(|_| self.bearer_at(node, host));
        if let Some(key) = key
            && let Some(values) = self.bearer_values(node, key)
        {
            let end = self.radio_bearers.station(node, host, (key.slot, values));
            end.sending.done.get_or_insert_default().insert(number);
        }
    }

    /// The link of a queue: bearers behind a scheduler have their own numbers in records.
    fn queue_link(&self, queue: LinkId) -> LinkId {
        let bearer = (queue.0 as usize).checked_sub(self.links.len());
        bearer.and_then(|bearer| self.bearers.get(bearer)).map_or(queue, |(_, air)| *air)
    }

    /// Sets when the end at a base station is looked at next.
    pub(super) fn watch_station(&mut self, station: NodeId, host: Addr, cx: &mut Context) {
        let Some(end) = self.radio_bearers.known_station(station, host) else { return };
        let due = end.next_deadline(cx).map(|(due, _)| due);
        end.alarm.set(due, (station, NodeId(host.number() as u32)), cx);
    }

    /// The same at a host.
    pub(super) fn watch_host(&mut self, host: NodeId, cx: &mut Context) {
        let due = self.host_deadline(host, cx).map(|(due, _)| due);
        if let Some(end) = self.radio_bearers.host(host) {
            end.alarm.set(due, (host, host), cx);
        }
    }

    fn host_deadline(&self, host: NodeId, cx: &Context) -> Option<Deadline> {
        let waits = self.cells.waiting(host).find_map(|packet| cx.pool.since(&cx.pool[packet]));
        let has_uplink = self.cells.uplink(host).is_some();
        self.radio_bearers.known_host(host)?.next_deadline(has_uplink, waits, cx)
    }

    /// The receiver of a bearer delivers a packet, perhaps against a law.
    pub(super) fn check_delivery(&mut self, node: NodeId, arrived: &Arrived, cx: &Context) {
        let here = &self.nodes[node];
        let host = if here.is_host() { here.addr } else { cx.pool[&arrived.packet].header.src };
        let witness = self.radio_bearers.witness(node, host);
        let problem = witness.and_then(|witness| witness.delivers(arrived, &cx.pool));
        self.check_numbers((node, host), problem, cx);
    }

    /// The receiver of a bearer at a node may have violated a law.
    pub(super) fn check_numbers(
        &mut self,
        (node, host): (NodeId, Addr),
        problem: Option<String>,
        cx: &Context,
    ) {
        if let Some(problem) = problem {
            let (host, node) = (&self.nodes[NodeId(host.number() as u32)].name, &self.nodes[node].name);
            let law = || format!("radio bearer of \"{host}\": {problem}, at \"{node}\"");
            self.radio_bearers.break_law(law, cx.now);
        }
    }

    /// A packet of a bearer to a host that is never confirmed, though others wait for that: its number, and node and host.
    pub fn dead_number(&self, cx: &Context) -> Option<(NodeId, NodeId, u32)> {
        let mut all = self.radio_bearers.all_stations();
        all.find_map(|(&(host, station), end)| {
            Some((station, NodeId(host.number() as u32), end.dead_number(cx)?))
        })
    }

    /// A timer of a bearer that should have expired, if there is one: its node and host, and when.
    pub fn overdue_bearer(&self, cx: &Context) -> Option<(NodeId, NodeId, Deadline)> {
        let at_stations = self.radio_bearers.all_stations().map(|(&(host, station), end)| {
            (station, NodeId(host.number() as u32), end.next_deadline(cx), end.alarm)
        });
        let at_hosts = self
            .radio_bearers
            .all_hosts()
            .map(|(&host, end)| (host, host, self.host_deadline(host, cx), end.alarm));
        let mut overdue = at_stations.chain(at_hosts).filter_map(|(node, host, deadline, alarm)| {
            let (due, timer) = deadline.filter(|(due, _)| alarm.misses(*due, cx.now))?;
            Some((node, host, (due, timer)))
        });
        overdue.next()
    }
}

/// The packet that RLC sends again, which then waits for this link: the one that the air has lost, or a copy.
fn packet_again(sdu: Option<&mut Sdu>, link: LinkId, cx: &mut Context) -> Option<PacketId> {
    let sdu = sdu.filter(|sdu| !matches!(sdu.state, State::OnLink(_) | State::Below(_)))?;
    match std::mem::replace(&mut sdu.state, State::OnLink(link)) {
        State::Lost(packet) => Some(packet.take()),
        State::Received => sdu.snapshot.clone().map(|snapshot| cx.pool.restore(snapshot)),
        State::OnLink(_) | State::Below(_) => None,
    }
}

/// Takes packets out that have waited too long for a number.
pub(super) fn expired_line(
    line: &mut VecDeque<Line>,
    is_old: impl Fn(Time) -> bool,
    cx: &Context,
) -> Vec<PacketId> {
    let mut expired = Vec::new();
    while let Some(first) = line.front()
        && cx.pool.since(&cx.pool[&first.packet]).is_some_and(&is_old)
    {
        expired.extend(line.pop_front().map(|line| line.packet.take()));
    }
    expired
}
