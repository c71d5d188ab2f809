//! Packets of numbered radio bearers on the air: they get numbers, arrive, are lost and repaired, and are delivered in order.

use super::{Listener, Network};
use crate::context::Context;
use crate::dataplane::bearer::{Arrived, Copy, Line, State};
use crate::dataplane::link::{End, Links};
use crate::dataplane::node::Nodes;
use crate::ids::{AgentIndex, HostAtAgent};
use crate::layer2::cells::Cells;
use crate::notices::PendingNotice;
use roamlab_engine::{Bytes, Time};
use roamlab_mobility::{BearerValues, Direction, Via};
use roamlab_packet::{Addr, DropReason, Dscp, PacketId};
use roamlab_radio::bearer::Arrival;
use roamlab_record::cause::CauseId;
use roamlab_record::ids::{LinkId, Location, NodeId};

/// A packet on a link: when its transmission began, and its number.
#[derive(Copy, Clone)]
pub(super) struct Flight {
    pub(super) link: LinkId,
    pub(super) started: Time,
    pub(super) number: u32,
}

impl Network {
    /// The values of the numbered bearer that a host of an agent's domain has; `None`: it has none.
    pub(super) fn bearer_values(&self, node: NodeId, key: HostAtAgent) -> Option<BearerValues> {
        let domain = &self.domains[self.nodes[node].agent(key.slot).domain.0 as usize];
        domain.bearers.filter(|_| domain.hosts.contains(&key.host))
    }

    /// A base station sends a packet to a host that has a numbered bearer, perhaps.
    #[inline(never)]
    pub(super) fn send_numbered(
        &mut self,
        node: NodeId,
        packet: PacketId,
        key: HostAtAgent,
        cx: &mut Context,
    ) {
        let values = self.bearer_values(node, key).filter(|_| !cx.pool[&packet].is_signal());
        let Some(values) = values else { return self.send_air(node, packet, cx) };
        if cx.pool.since(&cx.pool[&packet]).is_none() {
            cx.pool.set_since(&packet, Some(cx.now));
        }
        let (number, central) = (cx.pool.number(&cx.pool[&packet]), self.nodes[node].is_central);
        let end = self.radio_bearers.station(node, key.host, (key.slot, values));
        match number {
            Some(number) if end.is_skipped(number) => {
                let cause = self.cells.moved(key.host);
                self.lose_skipped(node, packet, (key.host, cause), cx);
            }
            // It was forwarded for a bearer that is over.
            Some(number) if end.adopted && number >= end.sending.transmitter.next() => {
                let cause = self.cells.moved(key.host);
                cx.lose_by(packet, DropReason::BearerEnded, Location::Node(node), cause);
            }
            Some(number) => self.put_on_air(node, packet, (key.host, number, &[]), cx),
            None if end.line.is_empty() && end.may_number(central) => {
                self.number_down(node, packet, (key, &[]), cx)
            }
            None => {
                let copied = self.copy_fresh(node, &packet, (key, Vec::new()), cx);
                let Some(end) = self.radio_bearers.known_station(node, key.host) else { return };
                end.line.push_back(Line { packet: packet.into(), copied });
                self.watch_station(node, key.host, cx);
            }
        }
    }

    /// The host has reported that it has a packet, or that it does not wait for it any more.
    pub(super) fn lose_skipped(
        &mut self,
        node: NodeId,
        packet: PacketId,
        (host, cause): (Addr, CauseId),
        cx: &mut Context,
    ) {
        let number = cx.pool.number(&cx.pool[&packet]);
        let end = self.radio_bearers.host(NodeId(host.number() as u32));
        let late = number.zip(end).filter(|(number, end)| end.receiver.has_given_up(*number));
        let (reason, cause) = match late {
            Some((_, end)) => (DropReason::Late, end.causes.expiry.or(|| cause)),
            None => (DropReason::Duplicate, cause),
        };
        cx.lose_by(packet, reason, Location::Node(node), cause);
    }

    /// A packet gets the next number, if there is room for it before the air. `copied`: base stations that have a copy.
    fn number_down(
        &mut self,
        node: NodeId,
        packet: PacketId,
        (key, copied): (HostAtAgent, &[Addr]),
        cx: &mut Context,
    ) {
        let air = self.nodes[node].serves.map(|cell| self.cells.air(cell));
        let Some(end) = self.radio_bearers.known_station(node, key.host) else { return };
        let waiting = match air {
            Some(air) => self.links.waiting_for(air, key.host),
            // A central unit counts what it has sent to distributed units, and they have not reported (TS 38.425 §5.4.2).
            None => end.sending.unreported(),
        };
        if !has_room(&end.values, waiting, cx.pool[&packet].wire_size()) {
            // ASSUMPTION: what finds no room gets no number, so that no gap is left (srsRAN_Project).
            let cause = self.cells.moved(key.host);
            return cx.lose_by(packet, DropReason::BufferOverflow, Location::Node(node), cause);
        }
        match end.sending.transmitter.number() {
            Some(number) => self.put_on_air(node, packet, (key.host, number, copied), cx),
            None => self.wraps(packet, node, cx),
        }
    }

    /// COUNT would wrap: the run ends with a report.
    fn wraps(&mut self, packet: PacketId, node: NodeId, cx: &mut Context) {
        let name = &self.nodes[node].name;
        let problem =
            || format!("the numbers (COUNT) of a radio bearer at \"{name}\" are used up, and must not wrap");
        self.radio_bearers.break_law(problem, cx.now);
        cx.lose_by(packet, DropReason::BufferOverflow, Location::Node(node), CauseId::START);
    }

    /// A packet with a number goes to the air link, and copies of it to other base stations.
    fn put_on_air(
        &mut self,
        node: NodeId,
        packet: PacketId,
        (host, number, copied): (Addr, u32, &[Addr]),
        cx: &mut Context,
    ) {
        cx.pool.set_number(&packet, Some(number));
        self.copy_numbered(node, &packet, (host, number, copied), cx);
        let Some(cell) = self.nodes[node].serves else {
            return self.send_below(node, packet, (host, number), cx);
        };
        let (air, is_unit) = (self.cells.air(cell), self.nodes[node].central.is_some());
        let Some(end) = self.radio_bearers.known_station(node, host) else { return };
        if is_unit {
            end.sending.done.get_or_insert_default();
        }
        if let Some(copy) = end.sending.keep(&packet, number, State::OnLink(air), cx) {
            cx.lose(copy, DropReason::CopyReleased, Location::Node(node));
        }
        self.links.enqueue(air, packet, cx);
        self.note_lost_numbers(cx);
        self.watch_station(node, host, cx);
    }

    /// A packet with a number goes also to the base stations that get copies.
    fn copy_numbered(
        &mut self,
        node: NodeId,
        packet: &PacketId,
        (host, number, copied): (Addr, u32, &[Addr]),
        cx: &mut Context,
    ) {
        let Some(end) = self.radio_bearers.known_station(node, host) else { return };
        if end.copies_to.0.is_empty() {
            return;
        }
        let (slot, mut to) = (end.slot, Vec::new());
        for target in end.copies_to.0.clone() {
            let behind = end.copied.entry(target).or_insert(0);
            if number >= *behind {
                *behind = number + 1;
                to.extend((!copied.contains(&target)).then_some(target));
            }
        }
        for target in to {
            let copy = cx.duplicate(packet);
            self.forward_copy(node, copy, (HostAtAgent { host, slot }, target), cx);
        }
    }

    /// A packet without a number goes also to the base stations that get copies of such packets; which have got one.
    pub(super) fn copy_fresh(
        &mut self,
        node: NodeId,
        packet: &PacketId,
        (key, mut copied): (HostAtAgent, Vec<Addr>),
        cx: &mut Context,
    ) -> Vec<Addr> {
        let Some(end) = self.radio_bearers.known_station(node, key.host) else { return copied };
        if !(end.frozen && end.copies_to.1) {
            return copied;
        }
        for target in end.copies_to.0.clone() {
            if !copied.contains(&target) {
                copied.push(target);
                let copy = cx.duplicate(packet);
                self.forward_copy(node, copy, (key, target), cx);
            }
        }
        copied
    }

    /// A copy goes through a tunnel to another base station.
    pub(super) fn forward_copy(
        &mut self,
        node: NodeId,
        copy: PacketId,
        (key, to): (HostAtAgent, Addr),
        cx: &mut Context,
    ) {
        let copying = self.radio_bearers.known_station(node, key.host).map(|end| end.copying);
        let cause = copying.unwrap_or(CauseId::NONE);
        cx.note_move(&copy, cause);
        cx.probes.released(cx.now, key.host, node, &cx.pool[&copy], (Some(to), false, cause));
        self.send_via(node, copy, key, Via::Tunnel(to), cx);
    }

    /// A packet goes to another base station, where its discardTimer starts again unless it carries its age.
    pub(super) fn leave_bearer(&self, node: NodeId, packet: &PacketId, key: HostAtAgent, cx: &mut Context) {
        if self.bearer_values(node, key).is_none_or(|values| !values.carry_age) {
            cx.pool.set_since(packet, None);
        }
    }

    /// Packets that wait for a number get one, as long as they may.
    pub(super) fn number_line(&mut self, node: NodeId, host: Addr, cx: &mut Context) {
        let central = self.nodes[node].is_central;
        while let Some(end) = self.radio_bearers.known_station(node, host)
            && end.may_number(central)
            && let Some(Line { packet, copied }) = end.line.pop_front()
        {
            let key = HostAtAgent { host, slot: end.slot };
            self.number_down(node, packet.take(), (key, &copied), cx);
        }
    }

    /// A host that has a numbered bearer sends a packet.
    #[inline(never)]
    pub(super) fn send_uplink_numbered(&mut self, host: NodeId, packet: PacketId, cx: &mut Context) {
        let uplink = self.cells.uplink(host);
        if cx.pool[&packet].is_signal() {
            return match uplink {
                Some(link) => self.links.enqueue(link, packet, cx),
                None => self.cells.wait(host, packet, cx),
            };
        }
        if cx.pool.since(&cx.pool[&packet]).is_none() {
            cx.pool.set_since(&packet, Some(cx.now));
        }
        let suspended = self.radio_bearers.host(host).is_some_and(|end| end.suspended);
        let Some(link) = uplink.filter(|_| !suspended) else {
            self.cells.wait(host, packet, cx);
            return self.watch_host(host, cx);
        };
        let number = cx.pool.number(&cx.pool[&packet]);
        let Some(end) = self.radio_bearers.host(host) else { return };
        let is_stalled = end.sending.repairs() && end.sending.transmitter.is_stalled();
        match number {
            Some(number) => self.put_on_uplink(host, packet, (link, number), cx),
            None if !end.line.is_empty() || is_stalled => {
                end.line.push_back(Line { packet: packet.into(), copied: Vec::new() });
                self.watch_host(host, cx);
            }
            None => self.number_up(host, packet, link, cx),
        }
    }

    fn number_up(&mut self, host: NodeId, packet: PacketId, link: LinkId, cx: &mut Context) {
        let waiting = self.links.waiting_for(link, cx.pool[&packet].header.dst);
        let Some(end) = self.radio_bearers.host(host) else { return };
        if !has_room(&end.values, waiting, cx.pool[&packet].wire_size()) {
            let cause = self.cells.last_change(host).or(|| CauseId::START);
            return cx.lose_by(packet, DropReason::BufferOverflow, Location::Node(host), cause);
        }
        match end.sending.transmitter.number() {
            Some(number) => self.put_on_uplink(host, packet, (link, number), cx),
            None => self.wraps(packet, host, cx),
        }
    }

    fn put_on_uplink(
        &mut self,
        host: NodeId,
        packet: PacketId,
        (link, number): (LinkId, u32),
        cx: &mut Context,
    ) {
        cx.pool.set_number(&packet, Some(number));
        let Some(end) = self.radio_bearers.host(host) else { return };
        if let Some(copy) = end.sending.keep(&packet, number, State::OnLink(link), cx) {
            cx.lose(copy, DropReason::CopyReleased, Location::Node(host));
        }
        self.links.enqueue(link, packet, cx);
        self.note_lost_numbers(cx);
        self.watch_host(host, cx);
    }

    /// Packets of a host that wait until others are confirmed follow, as long as they may.
    pub(super) fn number_line_up(&mut self, host: NodeId, cx: &mut Context) {
        while let Some(link) = self.cells.uplink(host)
            && let Some(end) = self.radio_bearers.host(host)
            && !(end.sending.repairs() && end.sending.transmitter.is_stalled())
            && let Some(Line { packet, .. }) = end.line.pop_front()
        {
            self.number_up(host, packet.take(), link, cx);
        }
    }

    /// The air loses a packet, or the receiver does not hear it. RLC keeps one that it is to send again; any other is
    /// returned.
    pub(super) fn repair(
        &mut self,
        link: LinkId,
        packet: PacketId,
        started: Time,
        cx: &mut Context,
    ) -> Option<PacketId> {
        let Some(number) = cx.pool.number(&cx.pool[&packet]) else { return Some(packet) };
        let (from, to) = (self.links[link].from, self.links[link].to);
        let dst = cx.pool[&packet].header.dst;
        let (returned, repairs, next) = match to {
            End::Cell(_) => {
                self.settle_station(from, dst, cx);
                let Some(end) = self.radio_bearers.known_station(from, dst) else { return Some(packet) };
                let next = end.sending.transmitter.next().max(end.handed_over);
                (end.sending.lost(number, packet, (link, started), cx.now), end.sending.repairs(), next)
            }
            End::Node(_) => {
                self.settle_host(from, cx);
                let Some(end) = self.radio_bearers.host(from) else { return Some(packet) };
                let next = end.sending.transmitter.next();
                (end.sending.lost(number, packet, (link, started), cx.now), end.sending.repairs(), next)
            }
        };
        match to {
            End::Cell(_) => self.watch_station(from, dst, cx),
            End::Node(_) => self.watch_host(from, cx),
        }
        let Err((packet, copy)) = returned else { return None };
        if copy == Copy::Discarded {
            let cause = self.cells.moved(if dst.is_mobile() { dst } else { self.nodes[from].addr });
            cx.lose_by(packet, DropReason::DiscardTimer, Location::Link(link), cause);
            return None;
        }
        if copy == Copy::Kept || copy == Copy::Unknown && repairs && number < next {
            cx.lose(packet, DropReason::CopyReleased, Location::Link(link));
            return None;
        }
        Some(packet)
    }

    /// A host receives a packet over the air. A numbered one waits for its turn; any other is returned.
    pub(super) fn receive_down(
        &mut self,
        (link, host): (LinkId, NodeId),
        packet: PacketId,
        started: Time,
        cx: &mut Context,
    ) -> Option<PacketId> {
        let Some(number) = cx.pool.number(&cx.pool[&packet]) else { return Some(packet) };
        let (from, delay) = (self.links[link].from, self.links.delay(link));
        let addr = self.nodes[host].addr;
        let of_old = self
            .radio_bearers
            .known_station(from, addr)
            .is_some_and(|end| end.adopted && started < end.restarted);
        if of_old || self.radio_bearers.host(host).is_some_and(|end| end.suspended) {
            let packet = self.repair(link, packet, started, cx)?;
            let cause = self.cells.moved(addr);
            cx.lose_by(packet, DropReason::BearerEnded, Location::Node(host), cause);
            return None;
        }
        self.note_lost_numbers(cx);
        self.settle_station(from, addr, cx);
        if let Some(end) = self.radio_bearers.known_station(from, addr) {
            end.sending.arrived(number, (link, started), (cx.now, delay));
        }
        self.number_line(from, addr, cx);
        self.watch_station(from, addr, cx);
        let Some(end) = self.radio_bearers.host(host) else { return Some(packet) };
        if started < end.restarted {
            let cause = self.cells.moved(addr);
            cx.lose_by(packet, DropReason::BearerEnded, Location::Node(host), cause);
            return None;
        }
        let (arrived, expiry) = (Arrived { link, packet: packet.into() }, end.causes.expiry);
        let problem = end.witness.arrives(&end.receiver, &arrived, &cx.pool);
        let place = (host, addr, self.cells.moved(addr));
        let arrival = end.causes.react(&mut end.receiver, place, cx, |receiver, now| {
            receiver.receive_numbered(number, arrived, now)
        });
        self.check_numbers((host, addr), problem, cx);
        self.accept(host, arrival, (addr, expiry), cx);
        self.watch_host(host, cx);
        None
    }

    /// A base station receives a packet from a host. A numbered one waits for its turn; any other is returned.
    pub(super) fn receive_up(
        &mut self,
        (link, station): (LinkId, NodeId),
        packet: PacketId,
        started: Time,
        cx: &mut Context,
    ) -> Option<PacketId> {
        let Some(number) = cx.pool.number(&cx.pool[&packet]) else { return Some(packet) };
        let host = self.links[link].from;
        let addr = self.nodes[host].addr;
        let Some(key) = self.bearer_at(station, addr) else { return Some(packet) };
        let values = self.bearer_values(station, key)?;
        let here = &self.nodes[station];
        let awaited = here.central.is_some() || here.buffers.contains_key(&key);
        let end = self.radio_bearers.station(station, addr, (key.slot, values));
        let refuses = end.frozen || end.ended || !(end.adopted || awaited);
        // It was sent before the host began its bearer again, and arrives behind the message about that.
        let is_stale = started < end.resumed
            && self.radio_bearers.known_host(host).is_some_and(|end| started < end.restarted);
        if refuses || is_stale {
            // The host repeats to its next base station what is not confirmed.
            let packet = self.repair(link, packet, started, cx)?;
            let cause = self.cells.moved(addr);
            cx.lose_by(packet, DropReason::BearerEnded, Location::Node(station), cause);
            return None;
        }
        self.confirm_up(host, Flight { link, started, number }, cx);
        if let Some(central) = self.nodes[station].central {
            self.send_between(station, packet, (key.slot, central), cx);
            return None;
        }
        let arrived = Arrived { link, packet: packet.into() };
        let end = self.radio_bearers.station(station, addr, (key.slot, values));
        if end.adopted {
            self.take_up(station, addr, (number, arrived), cx);
        } else {
            end.early.push_back((number, arrived));
        }
        None
    }

    pub(super) fn confirm_up(
        &mut self,
        host: NodeId,
        Flight { link, started, number }: Flight,
        cx: &mut Context,
    ) {
        let delay = self.links.delay(link);
        self.note_lost_numbers(cx);
        self.settle_host(host, cx);
        if let Some(end) = self.radio_bearers.host(host) {
            end.sending.arrived(number, (link, started), (cx.now, delay));
        }
        self.number_line_up(host, cx);
        self.watch_host(host, cx);
    }

    /// The receiver at a base station takes a packet in.
    pub(super) fn take_up(
        &mut self,
        station: NodeId,
        host: Addr,
        (number, arrived): (u32, Arrived),
        cx: &mut Context,
    ) {
        let Some(end) = self.radio_bearers.known_station(station, host) else { return };
        let problem = end.witness.arrives(&end.receiver, &arrived, &cx.pool);
        let (expiry, place) = (end.causes.expiry, (station, host, self.cells.moved(host)));
        let arrival = end.causes.react(&mut end.receiver, place, cx, |receiver, now| {
            receiver.receive_numbered(number, arrived, now)
        });
        self.check_numbers((station, host), problem, cx);
        self.accept(station, arrival, (host, expiry), cx);
        self.watch_station(station, host, cx);
    }

    /// Decision of a receiver about an arrival. `expiry`: the last expiry of t-Reordering.
    fn accept(
        &mut self,
        node: NodeId,
        arrival: Arrival<Arrived>,
        (host, expiry): (Addr, CauseId),
        cx: &mut Context,
    ) {
        let place = Location::Node(node);
        match arrival {
            Arrival::Delivered(arrived) => self.deliver_in_order(node, arrived, cx),
            Arrival::Copy(Arrived { packet, .. }) => {
                let cause = self.cells.moved(host);
                cx.lose_by(packet.take(), DropReason::Duplicate, place, cause);
            }
            Arrival::Late(Arrived { packet, .. }) => {
                let cause = expiry.or(|| self.cells.moved(host));
                cx.lose_by(packet.take(), DropReason::Late, place, cause);
            }
        }
    }

    /// A receiver delivers packets, when the present event has been dealt with.
    pub(super) fn deliver_in_order(
        &mut self,
        node: NodeId,
        arrived: impl IntoIterator<Item = Arrived>,
        cx: &mut Context,
    ) {
        let mut any = false;
        for arrived in arrived {
            if cfg!(debug_assertions) {
                self.check_delivery(node, &arrived, cx);
            }
            let Arrived { link, packet } = arrived;
            let packet = packet.take();
            cx.pool.set_number(&packet, None);
            cx.pool.set_since(&packet, None);
            self.radio_bearers.deliver(node, link, packet);
            any = true;
        }
        if any {
            self.cells.notices().push(PendingNotice::InOrder);
        }
    }

    /// A host receives a packet over the air: it clears the code point, and agents watch.
    #[inline(always)]
    pub(super) fn treat_received(
        &mut self,
        host: NodeId,
        packet: &PacketId,
        link: LinkId,
        listener: &mut impl Listener,
        cx: &mut Context,
    ) {
        if self.nodes[host].clears_code_point {
            cx.pool[packet].set_inner_dscp(Dscp::default());
        }
        if self.nodes[host].watches_uplink {
            let origin = super::ip::Origin::over(link);
            self.notify_watchers(host, packet, Direction::Down, origin, listener, cx);
        }
    }

    /// The agent at a base station whose domain has a numbered bearer of this host.
    pub(super) fn bearer_at(&self, station: NodeId, host: Addr) -> Option<HostAtAgent> {
        let slots = (0..self.nodes[station].agents.len() as u16).map(AgentIndex);
        slots.map(|slot| HostAtAgent { host, slot }).find(|key| self.bearer_values(station, *key).is_some())
    }

    /// Takes the confirmations in that have arrived at a base station.
    pub(super) fn settle_station(&mut self, station: NodeId, host: Addr, cx: &mut Context) {
        let Network { radio_bearers, cells, nodes, .. } = self;
        let Some(cell) = nodes[station].serves else { return };
        let Some(end) = radio_bearers.known_station(station, host) else { return };
        let host = NodeId(host.number() as u32);
        let heard = |_, sent| !cells.is_cut_off(host, cell, (sent, false));
        for copy in end.sending.settle(cx.now, heard) {
            cx.lose(copy, DropReason::CopyReleased, Location::Node(station));
        }
    }

    /// The same at a host.
    pub(super) fn settle_host(&mut self, host: NodeId, cx: &mut Context) {
        let Network { radio_bearers, cells, nodes, links, .. } = self;
        let Some(end) = radio_bearers.host(host) else { return };
        let heard = |link, sent| hears_status(host, (link, sent), (cells, nodes, links));
        for copy in end.sending.settle(cx.now, heard) {
            cx.lose(copy, DropReason::CopyReleased, Location::Node(host));
        }
    }

    /// The same at all ends of a host's bearer: it is about to hear other cells.
    pub fn settle_bearers(&mut self, host: NodeId, cx: &mut Context) {
        if self.radio_bearers.is_empty() {
            return;
        }
        self.settle_host(host, cx);
        let addr = self.nodes[host].addr;
        for station in self.radio_bearers.stations_of(addr) {
            self.settle_station(station, addr, cx);
        }
    }
}

/// True if a host hears the STATUS about a packet on this link, which was sent then.
pub(super) fn hears_status(
    host: NodeId,
    (link, sent): (LinkId, Time),
    (cells, nodes, links): (&Cells, &Nodes, &Links),
) -> bool {
    let cell = match links[link].to {
        End::Node(station) => nodes[station].serves,
        End::Cell(cell) => Some(cell),
    };
    cell.is_some_and(|cell| cells.hears(host, cell, sent))
}

/// True if a packet of this size has room behind the packets, and bytes, that wait before the link.
fn has_room(values: &BearerValues, waiting: (usize, Bytes), size: Bytes) -> bool {
    waiting.0 < values.queue_packets.0 as usize && waiting.1.0 + size.0 <= values.queue_bytes.0
}
