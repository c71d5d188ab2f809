//! Requests of agents about numbered radio bearers.

use super::{Done, Network};
use crate::context::Context;
use crate::dataplane::bearer::{Arrived, Line, Sdu, State, StationEnd, Witness};
use crate::ids::HostAtAgent;
use roamlab_mobility::{BearerValues, RlcMode};
use roamlab_packet::{
    Addr, BearerState, Counts, DropReason, Packet, PacketId, PacketPool, Received, Waiting,
};
use roamlab_radio::bearer::Kept;
use roamlab_record::cause::{Cause, CauseId, Kind};
use roamlab_record::ids::{LinkId, Location, NodeId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

impl Network {
    /// The values of the bearer that a request is about.
    pub(super) fn asked_bearer(&self, node: NodeId, key: HostAtAgent) -> Done<BearerValues> {
        if self.nodes[node].serves.is_none() && !self.nodes[node].is_central {
            return Err("asks for a numbered bearer, and the node has no cell".into());
        }
        self.bearer_values(node, key)
            .ok_or_else(|| "asks for a numbered bearer, and the host has none in its domain".into())
    }

    /// The end of a bearer at a base station continues from these numbers.
    pub fn adopt_bearer(&mut self, node: NodeId, key: HostAtAgent, counts: Counts, cx: &mut Context) -> Done {
        let values = self.asked_bearer(node, key)?;
        if counts == Counts::default() {
            self.radio_bearers.forget_copies(key.host);
        }
        let end = self.radio_bearers.station(node, key.host, (key.slot, values));
        let cause = cx.current_cause();
        let mut given_up: Vec<u32> = end.receiver.given_up().collect();
        given_up.append(&mut end.given_up);
        let replaced = end.adopt(counts);
        let early = std::mem::take(&mut end.early);
        given_up.extend(self.radio_bearers.given_up_by_source(key.host));
        if let Some(end) = self.radio_bearers.known_station(node, key.host) {
            end.receiver.inherit(given_up);
        }
        for arrived in replaced {
            let repeated = self.is_repeated(key.host, &arrived, cx);
            let reason = if repeated { DropReason::CopyReleased } else { DropReason::BearerEnded };
            cx.lose_by(arrived.packet.take(), reason, Location::Node(node), cause);
        }
        for each in early {
            self.take_up(node, key.host, each, cx);
        }
        self.number_line(node, key.host, cx);
        self.watch_station(node, key.host, cx);
        Ok(())
    }

    /// The end at a base station gives no numbers and delivers nothing from the host, or does so again.
    /// At a host: the bearer is suspended, or resumed.
    pub fn freeze_bearer(&mut self, node: NodeId, key: HostAtAgent, frozen: bool, cx: &mut Context) -> Done {
        if self.nodes[node].is_host() {
            return self.suspend_bearer(node, frozen, cx);
        }
        let values = self.asked_bearer(node, key)?;
        self.settle_station(node, key.host, cx);
        let end = self.radio_bearers.station(node, key.host, (key.slot, values));
        if end.frozen && !frozen {
            end.resumed = cx.now;
        }
        // A distributed unit may continue with a host that has not left.
        (end.frozen, end.ended) = (frozen, end.ended && frozen);
        self.number_line(node, key.host, cx);
        self.watch_station(node, key.host, cx);
        Ok(())
    }

    /// The state of the end at a base station; `None`: there is none, or its numbers are not known.
    pub fn bearer_state(
        &mut self,
        node: NodeId,
        key: HostAtAgent,
        cx: &mut Context,
    ) -> Done<Option<BearerState>> {
        self.asked_bearer(node, key)?;
        self.note_lost_numbers(cx);
        self.settle_station(node, key.host, cx);
        let held = self.nodes[node].buffers.get(&key).and_then(|buffer| buffer.first_number(&cx.pool));
        let Some(end) = self.radio_bearers.known_station(node, key.host).filter(|end| end.adopted) else {
            return Ok(None);
        };
        let transmitter = &end.sending.transmitter;
        let downlink = transmitter.next();
        let first = if end.sending.repairs() { transmitter.first_unconfirmed() } else { downlink };
        let unconfirmed = held.map_or(first, |held| first.min(held));
        let counts = Counts { downlink, uplink: end.receiver.first_missing() };
        Ok(Some(BearerState { counts, unconfirmed }))
    }

    /// Copies go to these base stations.
    pub fn forward_bearer(
        &mut self,
        node: NodeId,
        key: HostAtAgent,
        (to, fresh): (Vec<Addr>, bool),
        cx: &mut Context,
    ) -> Done {
        let values = self.asked_bearer(node, key)?;
        self.settle_station(node, key.host, cx);
        let led = cx.current_cause();
        let row = Cause::of(Kind::Release, "copies", led).at(Location::Node(node)).about(Some(key.host));
        let copying = cx.add_cause(row);
        let end = self.radio_bearers.station(node, key.host, (key.slot, values));
        // One that is not named any more may drop its copies.
        end.withdraw_copies(&to);
        (end.copies_to, end.copying) = ((to.clone(), fresh), copying);
        for target in to {
            self.forward_kept(node, (key, target), cx);
        }
        let Some(end) = self.radio_bearers.known_station(node, key.host) else { return Ok(()) };
        let mut line = std::mem::take(&mut end.line);
        for waiting in &mut line {
            let copied = std::mem::take(&mut waiting.copied);
            waiting.copied = self.copy_fresh(node, &waiting.packet, (key, copied), cx);
        }
        if let Some(end) = self.radio_bearers.known_station(node, key.host) {
            end.line = line;
        }
        Ok(())
    }

    /// Copies of what has a number and is not confirmed go to a base station that has not got them.
    fn forward_kept(&mut self, node: NodeId, (key, to): (HostAtAgent, Addr), cx: &mut Context) {
        let Some(end) = self.radio_bearers.known_station(node, key.host) else { return };
        let behind = end.copied.get(&to).copied().unwrap_or(0);
        let open = end.sending.transmitter.unconfirmed().filter(|(number, _)| *number >= behind);
        let copies: Vec<_> = open.filter_map(|(number, sdu)| Some((number, sdu.snapshot.clone()?))).collect();
        if let Some((last, _)) = copies.last() {
            end.copied.insert(to, last + 1);
        }
        for (_, snapshot) in copies {
            let copy = cx.pool.restore(snapshot);
            self.forward_copy(node, copy, (key, to), cx);
        }
    }

    /// True if a base station has got a copy of a packet that is about to leave a buffer for it.
    pub(super) fn is_copied_to(&mut self, node: NodeId, host: Addr, to: Addr, number: u32) -> bool {
        let Some(end) = self.radio_bearers.known_station(node, host) else { return false };
        end.withdrawn.remove(&to);
        end.has_copied_to(to, number)
    }

    /// Packets that the host has received are not sent to it again: neither those that wait, nor later ones.
    pub(super) fn skip_numbers(
        &mut self,
        node: NodeId,
        key: HostAtAgent,
        status: (u32, BTreeSet<u32>),
        cx: &mut Context,
    ) -> Done {
        let values = self.asked_bearer(node, key)?;
        self.settle_station(node, key.host, cx);
        let cause = cx.current_cause();
        let given_up = self.given_up_below(node, key.host);
        let end = self.radio_bearers.station(node, key.host, (key.slot, values));
        end.skipped = status;
        let skipped = |number: u32, end: &StationEnd| end.is_skipped(number);
        let kept: Vec<u32> = end.sending.transmitter.kept().map(|(number, _)| number).collect();
        let kept: Vec<u32> = kept.into_iter().filter(|number| skipped(*number, end)).collect();
        let mut lost: Vec<PacketId> = Vec::new();
        let known = end.skipped.clone();
        let is_known = |packet: &Packet, pool: &PacketPool| {
            packet.header.dst == key.host
                && pool.number(packet).is_some_and(|number| number < known.0 || known.1.contains(&number))
        };
        let (only, kept): (Vec<u32>, Vec<u32>) =
            kept.into_iter().partition(|number| given_up.contains(number));
        only.into_iter().for_each(|number| end.sending.abandon(number));
        for number in kept {
            lost.extend(end.sending.skip(number).map(|packet| packet.take()));
        }
        let known_too =
            |number: u32| (number < known.0 || known.1.contains(&number)) && !given_up.contains(&number);
        end.sending.forget_abandoned(known_too);
        if let Some(cell) = self.nodes[node].serves {
            lost.extend(self.links.take_matching(self.cells.air(cell), false, &is_known, cx));
        }
        if let Some(buffer) = self.nodes[node].buffers.get_mut(&key) {
            lost.extend(buffer.take_matching(&is_known, &cx.pool));
        }
        for packet in lost {
            self.lose_skipped(node, packet, (key.host, cause), cx);
        }
        self.number_line(node, key.host, cx);
        self.watch_station(node, key.host, cx);
        Ok(())
    }

    /// Numbers of packets that a central unit has given to distributed units, and that the host no longer waits for: of such a
    /// packet a distributed unit may have the only copy.
    fn given_up_below(&self, node: NodeId, host: Addr) -> BTreeSet<u32> {
        let Some(station) = self.radio_bearers.look_at(node, host) else { return BTreeSet::new() };
        let Some(end) = self.radio_bearers.known_host(NodeId(host.number() as u32)) else {
            return BTreeSet::new();
        };
        let numbers = station.sending.below();
        numbers.filter(|number| end.receiver.has_given_up(*number)).collect()
    }

    /// Packets of a base station for a host, to be held back: in order of their numbers those that are not confirmed, then
    /// those without a number. `None`: the host has no numbered bearer there.
    pub(super) fn collect_numbered(
        &mut self,
        node: NodeId,
        key: HostAtAgent,
        air: Option<LinkId>,
        cx: &mut Context,
    ) -> Option<Vec<PacketId>> {
        let values = self.bearer_values(node, key)?;
        self.note_lost_numbers(cx);
        self.settle_station(node, key.host, cx);
        let for_host = |packet: &Packet, _: &PacketPool| packet.header.dst == key.host && !packet.is_signal();
        let waiting = air.map_or_else(Vec::new, |air| self.links.take_matching(air, false, &for_host, cx));
        if self.nodes[node].central.is_some() {
            let unsent = self.collect_unsent(node, key.host, waiting, cx);
            self.watch_station(node, key.host, cx);
            return Some(unsent);
        }
        let cause = self.cells.moved(key.host);
        let end = self.radio_bearers.station(node, key.host, (key.slot, values));
        let line: Vec<PacketId> =
            std::mem::take(&mut end.line).into_iter().map(|line| line.packet.take()).collect();
        let kept = end.sending.take_all();
        if values.rlc == RlcMode::Am {
            end.handed_over = end.handed_over.max(end.sending.transmitter.next());
        }
        let unconfirmed = kept.into_iter().filter(|(_, kept)| !kept.confirmed).collect();
        let place = Location::Node(node);
        let mut collected = in_order(values, waiting, unconfirmed, (place, cause), cx);
        if values.rlc == RlcMode::Um {
            // The target counts from 0 (§5.1.2).
            collected.iter().for_each(|packet| cx.pool.set_number(packet, None));
        }
        collected.extend(line);
        Some(collected)
    }

    /// True if a packet to a host is also at another base station, which has got a copy or has sent it here, and whose bearer
    /// is not over. A central unit has all packets of its distributed units, except those that it has given up.
    pub(super) fn is_elsewhere(&self, node: NodeId, host: Addr, number: u32) -> bool {
        if let Some(central) = self.nodes[node].central.and_then(|central| self.nodes.at(central)) {
            let end = self.radio_bearers.look_at(central, host);
            return end.is_some_and(|end| !end.sending.is_only(number));
        }
        let here = self.nodes[node].addr;
        self.radio_bearers.ends_of(host).any(|(source, end)| {
            let has_sent = source != node && end.has_copied_to(here, number);
            let mut copies = end.who_has(number).filter(|target| *target != here);
            has_sent && !end.ended
                || (has_sent || source == node) && copies.any(|target| self.expects(target, host))
        })
    }

    /// True if the bearer of a host at a base station is not over.
    fn expects(&self, station: Addr, host: Addr) -> bool {
        let Some(station) = self.nodes.at(station) else { return false };
        let waits = self.nodes[station].buffers.keys().any(|key| key.host == host);
        waits || self.radio_bearers.look_at(station, host).is_some_and(|end| !end.ended)
    }

    /// The end of a bearer at a base station is over: all that waits there, with whether another one has it too.
    pub(super) fn end_numbered(
        &mut self,
        node: NodeId,
        key: HostAtAgent,
        cx: &mut Context,
    ) -> Vec<(PacketId, bool)> {
        let Some(values) = self.bearer_values(node, key) else { return Vec::new() };
        self.note_lost_numbers(cx);
        let is_unit = self.nodes[node].central.is_some();
        let Some(end) = self.radio_bearers.look_at(node, key.host) else { return Vec::new() };
        let copies = end.copied.iter().filter(|(target, _)| self.expects(**target, key.host));
        let copied = copies.map(|(_, behind)| *behind).max().unwrap_or(0);
        let Some(end) = self.radio_bearers.known_station(node, key.host) else { return Vec::new() };
        let had_copied = end.copied.clone();
        end.withdraw_copies(&[]);
        let handed_over = end.handed_over.max(if is_unit { u32::MAX } else { copied });
        let mut new = StationEnd::new(key.slot, values);
        (new.handed_over, new.alarm, new.ended, new.unit) = (handed_over, end.alarm, true, end.unit);
        new.restarted = cx.now;
        new.given_up = end.receiver.given_up().collect();
        new.withdrawn = std::mem::take(&mut end.withdrawn);
        new.had_copied = had_copied;
        new.sending.succeed(&mut end.sending);
        let mut old = std::mem::replace(end, new);
        let has_copy = |line: &Line| line.copied.iter().any(|target| self.expects(*target, key.host));
        let line = old.line.into_iter().map(|line| (has_copy(&line), line.packet.take()));
        let mut ended: Vec<(PacketId, bool)> = line.map(|(copied, packet)| (packet, copied)).collect();
        for (number, Kept { sdu, .. }) in old.sending.transmitter.take_all() {
            match sdu {
                Sdu { state: State::Lost(packet), .. } => {
                    let is_elsewhere = self.is_elsewhere(node, key.host, number);
                    ended.push((packet.take(), is_elsewhere));
                }
                // Packets that were handed over and have come back are here alone.
                Sdu { state: State::Below(_), snapshot: Some(snapshot), .. } if number >= copied => {
                    ended.push((cx.pool.restore(snapshot), false));
                }
                _ => {}
            }
        }
        let place = (node, key.host, self.cells.moved(key.host));
        let stored = old.causes.react(&mut old.receiver, place, cx, |receiver, _| receiver.restart());
        let early = old.early.into_iter().map(|(_, arrived)| arrived);
        for arrived in stored.into_iter().chain(early) {
            let repeated = self.is_repeated(key.host, &arrived, cx);
            ended.push((arrived.packet.take(), repeated));
        }
        ended
    }

    /// True if a packet of a host that has arrived out of order comes again at its next base station, or has come there: in
    /// acknowledged mode, unless an earlier one was given up.
    fn is_repeated(&self, host: Addr, arrived: &Arrived, cx: &Context) -> bool {
        let node = NodeId(host.number() as u32);
        let number = |packet: &Waiting| cx.pool.number(&cx.pool[packet]);
        let Some(wanted) = number(&arrived.packet) else { return false };
        let Some(end) = self.radio_bearers.known_host(node).filter(|end| end.sending.repairs()) else {
            return false;
        };
        let heard = |link, sent| {
            super::bearer_air::hears_status(node, (link, sent), (&self.cells, &self.nodes, &self.links))
        };
        end.sending.transmitter.repeats(wanted) && !end.sending.confirms_up_to(wanted, heard)
            || self.cells.waiting(node).any(|packet| number(packet) == Some(wanted))
            || self.radio_bearers.has_come(host, wanted)
            || self.goes_to_central(host, wanted, cx)
    }

    /// True if a distributed unit has sent the packet of a host with this number to its central unit, where the bearer is
    /// not over.
    fn goes_to_central(&self, host: Addr, wanted: u32, cx: &Context) -> bool {
        cx.pool.inside().filter(|packet| cx.pool.number(packet) == Some(wanted)).any(|packet| {
            let unit = self.nodes.at(packet.header.src).map(|unit| &self.nodes[unit]);
            let central = unit.and_then(|unit| unit.central);
            central == Some(packet.header.dst)
                && cx.pool.ends(packet).0 == host
                && self.expects(packet.header.dst, host)
        })
    }

    /// A host's bearer continues in the cell that it enters next, or begins again (`reset`).
    pub fn reestablish(&mut self, host: NodeId, reset: bool, cx: &mut Context) -> Done {
        if self.radio_bearers.host(host).is_none() {
            return Err("re-establishes its bearers, and the node has none".into());
        }
        let repeated = self.repeat_uplink(host, |_| true, cx);
        let addr = self.nodes[host].addr;
        let place = (host, addr, self.cells.moved(addr));
        let Some(end) = self.radio_bearers.host(host) else { return Ok(()) };
        let line: Vec<PacketId> =
            std::mem::take(&mut end.line).into_iter().map(|line| line.packet.take()).collect();
        end.suspended = false;
        let restarts = reset || !end.sending.repairs();
        let mut first = Vec::new();
        if restarts {
            end.sending.transmitter.continue_at(0);
            end.sending.forget_abandoned(|_| true);
            end.restarted = cx.now;
            let stored = end.causes.react(&mut end.receiver, place, cx, |receiver, _| receiver.restart());
            self.deliver_in_order(host, stored, cx);
            if let Some(end) = self.radio_bearers.host(host) {
                end.witness = Witness::default();
            }
        }
        for packet in repeated {
            if reset {
                let cause = cx.current_cause();
                cx.lose_by(packet, DropReason::BearerEnded, Location::Node(host), cause);
                continue;
            }
            if restarts {
                cx.pool.set_number(&packet, None);
            }
            first.push(packet);
        }
        first.extend(line);
        self.cells.wait_first(host, first);
        self.watch_host(host, cx);
        Ok(())
    }

    /// A host's bearer is suspended: it has no connection. Or it is resumed, and what has waited leaves.
    fn suspend_bearer(&mut self, host: NodeId, suspended: bool, cx: &mut Context) -> Done {
        let Some(end) = self.radio_bearers.host(host) else {
            return Err("suspends its bearers, and the node has none".into());
        };
        end.suspended = suspended;
        if !suspended && self.cells.uplink(host).is_some() {
            let waiting = self.cells.take_waiting(host, |packet| !packet.is_signal(), &cx.pool);
            waiting.into_iter().for_each(|packet| self.send_uplink(host, packet, cx));
        }
        Ok(())
    }

    /// Packets that have waited for a link leave. Those of a suspended bearer wait on.
    pub(super) fn send_waiting(
        &mut self,
        host: NodeId,
        packets: impl IntoIterator<Item = Waiting>,
        cx: &mut Context,
    ) {
        let suspended = self.radio_bearers.host(host).is_some_and(|end| end.suspended);
        for packet in packets.into_iter().map(Waiting::take) {
            if suspended && !cx.pool[&packet].is_signal() {
                self.cells.wait_on(host, vec![packet], VecDeque::new());
            } else {
                self.send_uplink(host, packet, cx);
            }
        }
    }

    /// A host's own packets go to another one of its cells from now on.
    pub fn use_uplink(&mut self, host: NodeId, base_station: Addr, cx: &mut Context) -> Done {
        let cell = self.nodes.at(base_station).and_then(|station| self.nodes[station].serves);
        let is_there = |cell: &_| self.cells.cells_of(host).contains(cell);
        let Some(cell) = cell.filter(is_there) else {
            return Err("sends to a cell that the host is not in".into());
        };
        let repeated = self.repeat_uplink(host, |_| true, cx);
        let old = self.cells.uplink(host);
        self.cells.pin_uplink(host, Some(cell));
        if let Some(old) = old.filter(|old| self.cells.uplink(host) != Some(*old)) {
            let others = self.links.take_matching(old, false, &|packet, _| !packet.is_signal(), cx);
            for packet in repeated.into_iter().chain(others) {
                self.send_uplink(host, packet, cx);
            }
        } else {
            repeated.into_iter().for_each(|packet| self.send_uplink(host, packet, cx));
        }
        Ok(())
    }

    /// Takes out what a host repeats: in acknowledged mode those that are `wanted` from the first packet on that is not
    /// confirmed, otherwise those that wait for the air.
    pub(super) fn repeat_uplink(
        &mut self,
        host: NodeId,
        wanted: impl Fn(&Kept<Sdu>) -> bool,
        cx: &mut Context,
    ) -> Vec<PacketId> {
        self.note_lost_numbers(cx);
        self.settle_host(host, cx);
        let cause = self.cells.last_change(host).or(|| CauseId::START);
        let numbered = |packet: &Packet, pool: &PacketPool| pool.number(packet).is_some();
        let mut waiting = Vec::new();
        for link in self.cells.uplinks(host) {
            waiting.extend(self.links.take_matching(link, false, &numbered, cx));
        }
        let pool = &cx.pool;
        waiting.extend(self.cells.take_waiting(host, |packet| pool.number(packet).is_some(), pool));
        let Some(end) = self.radio_bearers.host(host) else { return waiting };
        let values = end.values;
        let kept = end.sending.take_all().into_iter().filter(|(_, kept)| wanted(kept)).collect();
        in_order(values, waiting, kept, (Location::Node(host), cause), cx)
    }

    /// The packets that a host has received, by their numbers; `None`: it has no numbered bearer.
    pub fn received_numbers(&mut self, host: NodeId) -> Option<Received> {
        let (first_missing, later) = self.radio_bearers.host(host)?.receiver.status();
        Some(Received::Status { first_missing, later })
    }
}

/// Merges packets that have waited with those that are kept: in order of the numbers. In unacknowledged mode there are only
/// the former.
fn in_order(
    values: BearerValues,
    waiting: Vec<PacketId>,
    kept: Vec<(u32, Kept<Sdu>)>,
    (place, cause): (Location, CauseId),
    cx: &mut Context,
) -> Vec<PacketId> {
    if values.rlc == RlcMode::Um {
        return waiting;
    }
    let mut all = BTreeMap::new();
    let mut others = Vec::new();
    for packet in waiting {
        match cx.pool.number(&cx.pool[&packet]) {
            Some(number) => {
                if let Some(copy) = all.insert(number, packet) {
                    cx.lose(copy, DropReason::CopyReleased, place);
                }
            }
            None => others.push(packet),
        }
    }
    for (number, Kept { sdu, discarded, .. }) in kept {
        let packet = match (all.remove(&number), sdu) {
            (Some(packet), Sdu { state: State::Lost(copy), .. }) => {
                cx.lose(copy.take(), DropReason::CopyReleased, place);
                Some(packet)
            }
            (Some(packet), _) => Some(packet),
            (None, Sdu { state: State::Lost(packet), .. }) => Some(packet.take()),
            (None, Sdu { snapshot, .. }) if !discarded => snapshot.map(|snapshot| cx.pool.restore(snapshot)),
            (None, _) => None,
        };
        match packet {
            Some(packet) if discarded => cx.lose_by(packet, DropReason::DiscardTimer, place, cause),
            Some(packet) => drop(all.insert(number, packet)),
            None => {}
        }
    }
    all.into_values().chain(others).collect()
}
