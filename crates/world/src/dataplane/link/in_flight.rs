//! The packets inside links: those in flight that a link lists, and the removal of packets.

use super::{HotLink, InFlight, Link, Links, flag};
use crate::context::Context;
use crate::event::Event;
use roamlab_engine::{Duration, Time};
use roamlab_packet::{Addr, PacketId, Waiting};
use roamlab_qdisc::{Matching, Qdisc};
use roamlab_radio::Order;
use roamlab_record::ids::{LinkId, Location};
use std::collections::VecDeque;

impl Links {
    /// The packet of the arrival that happens now, if it was not taken off the air meanwhile.
    #[inline(always)]
    pub fn arrived(&mut self, id: LinkId, cx: &mut Context) -> Option<InFlight> {
        let HotLink { end, delay, flags, .. } = self.hot[id.0 as usize];
        if flags & flag::TRACE != 0
            && delay == Duration::ZERO
            && end == cx.now
            && let Some(sent) = self.sent_last(id)
        {
            // Its end comes, but is no event before.
            cx.trace_sent(&sent.packet, sent.started, Location::Link(id));
        }
        let in_flight = &mut self[id].in_flight;
        let is_first = in_flight.front().is_some_and(|first| first.insertion == cx.scheduler.current());
        if is_first { in_flight.pop_front() } else { self.arrived_before_others(id, cx) }
    }

    /// The packet that arrives now and is not the first on its way, if one does: one that overtakes, or signalling.
    #[inline(never)]
    fn arrived_before_others(&mut self, id: LinkId, cx: &mut Context) -> Option<InFlight> {
        let link = &mut self[id];
        if link.order == Order::Overtaking {
            let current = cx.scheduler.current();
            let place = link.in_flight.iter().position(|flying| flying.insertion == current);
            if let Some(place) = place {
                return link.in_flight.remove(place);
            }
        }
        self.arrived_apart(id, cx)
    }

    /// Removes, in order, what `wanted` selects among the packets in flight and the waiting ones.
    pub fn take_matching(
        &mut self,
        id: LinkId,
        in_flight_too: bool,
        wanted: &Matching<'_>,
        cx: &mut Context,
    ) -> Vec<PacketId> {
        if self.hot(id).is_idle(cx) {
            self.fall_idle(id, cx);
        }
        let mut taken = Vec::new();
        taken.extend(self.withdraw(id, wanted, cx));
        let link = &mut self.cold[id.0 as usize];
        if in_flight_too {
            for flying in std::mem::take(&mut link.in_flight) {
                if wanted(&cx.pool[&flying.packet], &cx.pool) {
                    taken.push(flying.packet.take());
                } else {
                    link.in_flight.push_back(flying);
                }
            }
        }
        taken.extend(link.queue.take_matching(id, wanted, link.rate, cx));
        let urgent = std::mem::take(&mut link.overtaking).into_iter().map(Waiting::take);
        link.overtaking = split(urgent, wanted, &mut taken, cx).into_iter().map(Waiting::from).collect();
        if link.overtaking.is_empty() {
            self.hot[id.0 as usize].flags &= !flag::PRIORITY;
        }
        taken.extend(link.take_held(wanted, cx));
        link.queue.sample(id, cx);
        self.offer(id, cx);
        taken
    }

    /// Removes all that wait: in order those of the queue, and the signalling that overtakes them. The latter is not looked
    /// at: a host that moves faster than it can register leaves thousands.
    pub fn take_waiting(&mut self, id: LinkId, cx: &mut Context) -> (Vec<PacketId>, VecDeque<Waiting>) {
        let overtaking = std::mem::take(&mut self[id].overtaking);
        (self.take_matching(id, false, &|_, _| true, cx), overtaking)
    }

    /// Copies, in order, of what `wanted` selects among the packets in flight.
    pub fn copy_in_flight(&self, id: LinkId, wanted: &Matching<'_>, cx: &mut Context) -> Vec<PacketId> {
        let mut copies = Vec::new();
        for InFlight { packet, .. } in &self[id].in_flight {
            if wanted(&cx.pool[packet], &cx.pool) {
                copies.push(cx.duplicate(packet));
            }
        }
        copies
    }

    /// The host's own queue before a link, if each has one.
    pub fn queue_of(&mut self, id: LinkId, host: Addr) -> Option<&mut Qdisc> {
        self[id].queue.of_host(host)
    }

    /// True if data for this host wait or are in flight. In a queue that hosts share, whether any packet
    /// waits.
    pub fn has_for(&self, id: LinkId, host: Addr, cx: &Context) -> bool {
        let flies = |flying: &InFlight| {
            let packet = &cx.pool[&flying.packet];
            packet.header.dst == host && !packet.is_signal()
        };
        let waiting = self[id].queue.packets_for(host);
        let held = self[id].associations.as_ref().is_some_and(|hosts| hosts.power_save.holds_for(host));
        held || waiting > 0 || self[id].offers() || self[id].in_flight.iter().any(flies)
    }

    /// Packets inside all links: waiting, in service and in flight.
    pub fn packets_inside(&self) -> u64 {
        let inside = |(hot, link): (&HotLink, &Link)| {
            let flying = link.in_flight.len() + link.apart.len();
            let held = link.associations.as_ref().map_or(0, |hosts| hosts.power_save.len());
            let listed = link.queue.packets() + link.overtaking.len() + flying + held;
            listed as u64 + u64::from(hot.pending) + u64::from(link.offers())
        };
        self.hot.iter().zip(&self.cold).map(inside).sum()
    }

    /// The packet whose transmission was the last, unless it was taken off the air.
    pub(super) fn sent_last(&self, id: LinkId) -> Option<&InFlight> {
        // The place of its arrival was reserved before that of its end.
        let insertion = self.hot(id).insertion.wrapping_sub(1);
        self[id].in_flight.back().filter(|sent| sent.insertion == insertion)
    }
}

impl Link {
    /// Removes, in order, what `wanted` selects among the frames that are held for hosts that are away.
    fn take_held(&mut self, wanted: &Matching<'_>, cx: &Context) -> Vec<PacketId> {
        let Some(hosts) = self.associations.as_deref_mut() else { return Vec::new() };
        let mut taken = Vec::new();
        let held = hosts.power_save.take().into_iter().map(Waiting::take);
        for packet in split(held, wanted, &mut taken, cx) {
            hosts.power_save.put_back(cx.pool[&packet].header.dst, packet.into());
        }
        taken
    }

    /// Lists the packet whose transmission has just begun. A trace shows the end of a traced one.
    #[inline(always)]
    pub(super) fn track_sent(
        &mut self,
        hot: &mut HotLink,
        id: LinkId,
        packet: PacketId,
        insertion: u64,
        cx: &mut Context,
    ) {
        self.track(hot, id, packet, (cx.now, insertion), cx);
        if hot.flags & flag::TRACE != 0 && self.in_flight.back().is_some_and(|sent| cx.traces(&sent.packet)) {
            hot.schedule_end(id, cx);
        }
    }

    /// Lists a packet among those in flight, whose transmission began at `started`.
    #[inline(always)]
    pub(super) fn track(
        &mut self,
        &HotLink { end: sent, delay, .. }: &HotLink,
        id: LinkId,
        packet: PacketId,
        (started, insertion): (Time, u64),
        cx: &mut Context,
    ) {
        let mut arrival = sent + delay;
        if arrival < self.last_arrival {
            arrival = match self.order {
                // Nothing overtakes, but follows at its own transmission time (ns-2, `avoidReordering_`).
                Order::Spaced => self.last_arrival + sent.since(started),
                Order::Kept => self.last_arrival,
                Order::Overtaking => arrival,
            };
        }
        self.last_arrival = arrival;
        self.in_flight.push_back(InFlight { started, insertion, packet: packet.into() });
        cx.scheduler.push_at(arrival, insertion, Event::TrackedArrival { link: id });
    }
}

/// Moves what `wanted` selects behind `taken`, in order; the rest, in order.
fn split(
    packets: impl IntoIterator<Item = PacketId>,
    wanted: &Matching<'_>,
    taken: &mut Vec<PacketId>,
    cx: &Context,
) -> Vec<PacketId> {
    let mut rest = Vec::new();
    for packet in packets {
        let list = if wanted(&cx.pool[&packet], &cx.pool) { &mut *taken } else { &mut rest };
        list.push(packet);
    }
    rest
}
