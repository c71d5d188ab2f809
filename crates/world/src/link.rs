//! A link: a queue, a transmitter, and packets in flight, in order.
//!
//! A packet's arrival is known when its transmission starts, so it joins the packets in flight at once and its
//! place among simultaneous events is reserved then; only the first arrival is ever pending. The end of a
//! transmission has its place reserved too, but is an event only if something waits for it: most links of a
//! network are idle most of the time, and learn so when the next packet comes.

use crate::cx::{Cx, Place};
use crate::event::{CellId, Event, LinkId, NodeId};
use crate::forced::{ForcedDrops, LinkChange};
use crate::line::{Line, Queue};
use crate::probe::Stop;
use roamlab_engine::{Duration, Rate, Time};
use roamlab_packet::{Addr, DropReason, Packet, PacketId};
use roamlab_qdisc::Qdisc;
use std::collections::VecDeque;

/// Where a link ends.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// At one node.
    Node(NodeId),
    /// At whichever hosts are in the cell.
    Cell(CellId),
}

/// A packet on its way.
#[derive(Debug)]
pub struct InFlight {
    /// When its transmission began.
    pub started: Time,
    /// When its transmission ends.
    sent: Time,
    /// When it arrives.
    arrival: Time,
    /// The reserved insertion number of its arrival.
    place: u64,
    /// The packet.
    pub packet: PacketId,
}

/// A transmission under way, or one that ended unnoticed.
#[derive(Copy, Clone, Debug)]
struct Sending {
    end: Time,
    /// The reserved insertion number of its end.
    place: u64,
    /// Whether its end is an event.
    awaited: bool,
}

/// A one-way link.
#[derive(Debug)]
pub struct Link {
    /// Name in scenarios and records: "fa1->bs1", "bs1/air", "mh->bs1".
    pub name: String,
    /// Where it begins.
    pub from: NodeId,
    /// Where it ends.
    pub to: End,
    /// Its propagation delay.
    pub delay: Duration,
    /// Whether what arrives at its far end is received.
    pub up: bool,
    /// What it loses by order of the scenario.
    pub forced: Vec<ForcedDrops>,
    /// How it changes in mid-run.
    pub changes: Vec<LinkChange>,
    /// What waits for it.
    pub line: Line,
    /// How long it has been sending, transmissions that began included.
    pub busy: Duration,
    /// The rate of the last transmission, and what of a nanosecond it left over.
    rate: Rate,
    remainder: u64,
    /// Signalling that overtakes data; `None`: it waits in the queue like everybody.
    overtaking: Option<VecDeque<PacketId>>,
    sending: Option<Sending>,
    in_flight: VecDeque<InFlight>,
    head_pending: bool,
}

impl Link {
    /// An idle link.
    pub fn new(
        name: String,
        (from, to): (NodeId, End),
        (rate, delay): (Rate, Duration),
        queue: Qdisc,
        signalling_priority: bool,
    ) -> Link {
        Link {
            name,
            from,
            to,
            delay,
            up: true,
            forced: Vec::new(),
            changes: Vec::new(),
            line: Line::Shared(Queue::new(queue, rate, false)),
            busy: Duration::ZERO,
            rate,
            remainder: 0,
            overtaking: signalling_priority.then(VecDeque::new),
            sending: None,
            in_flight: VecDeque::new(),
            head_pending: false,
        }
    }

    /// Takes a packet in; starts it if the link is idle.
    pub fn enqueue(&mut self, id: LinkId, packet: PacketId, cx: &mut Cx) {
        cx.trace(&packet, Stop::LinkEnqueue, Place::Link(id));
        let forced = self.forced.iter_mut().map(|list| list.strikes(&cx.pool[&packet]));
        if forced.fold(false, |lost, strikes| lost | strikes) {
            return cx.lose(packet, DropReason::ForcedLoss, Place::Link(id));
        }
        let overtakes = self.overtaking.is_some() && cx.pool[&packet].may_overtake();
        if self.is_over(cx) && !overtakes && self.line.lets_pass(id, &packet, cx) {
            self.remainder = 0;
            self.send(id, packet, cx);
            if cx.is_tracing() {
                self.await_end(id, cx);
            }
            return;
        }
        self.fall_idle(id, cx);
        match &mut self.overtaking {
            Some(control) if overtakes => control.push_back(packet),
            _ => self.line.enqueue(id, packet, cx),
        }
        if self.sending.is_none() {
            self.remainder = 0;
            self.start(id, cx);
        } else {
            self.await_end(id, cx);
        }
    }

    /// The transmitter is free: the next packet, if any, starts. Whether one did.
    pub fn tx_done(&mut self, id: LinkId, cx: &mut Cx) -> bool {
        // The packet may have been taken off the air meanwhile.
        let sent = self.in_flight.back().filter(|sent| sent.sent == cx.now);
        if let Some(sent) = sent {
            cx.trace(&sent.packet, Stop::LinkTxDone, Place::Link(id));
        }
        self.start(id, cx);
        self.sending.is_some()
    }

    /// The change of this number takes place. A transmission under way ends when it would have, and what is in flight
    /// arrives when it would have; only whether it is received is decided where it arrives.
    pub fn change(&mut self, index: u32) {
        let LinkChange { rate, delay, up, .. } = self.changes[index as usize];
        if let Some(rate) = rate {
            self.line.set_rate(rate);
        }
        self.delay = delay.unwrap_or(self.delay);
        self.up = up.unwrap_or(self.up);
    }

    /// The packet that arrives now, if the pending arrival was not taken off the air meanwhile.
    pub fn arrived(&mut self, id: LinkId, cx: &mut Cx) -> Option<InFlight> {
        self.head_pending = false;
        let due = self.in_flight.front().is_some_and(|head| head.arrival <= cx.now);
        let arrived = due.then(|| self.in_flight.pop_front()).flatten();
        self.arm_head(id, cx);
        arrived
    }

    /// Removes, in order, what `wanted` selects among the packets in flight and the waiting ones.
    pub fn extract(
        &mut self,
        id: LinkId,
        in_flight_too: bool,
        wanted: &dyn Fn(&Packet) -> bool,
        cx: &mut Cx,
    ) -> Vec<PacketId> {
        self.fall_idle(id, cx);
        let mut taken = Vec::new();
        if in_flight_too {
            for flying in std::mem::take(&mut self.in_flight) {
                if wanted(&cx.pool[&flying.packet]) {
                    taken.push(flying.packet);
                } else {
                    self.in_flight.push_back(flying);
                }
            }
        }
        taken.extend(self.line.extract(wanted, cx));
        if let Some(control) = &mut self.overtaking {
            for packet in std::mem::take(control) {
                if wanted(&cx.pool[&packet]) {
                    taken.push(packet);
                } else {
                    control.push_back(packet);
                }
            }
        }
        self.line.sample(id, cx);
        taken
    }

    /// Copies, in order, of what `wanted` selects among the packets in flight.
    pub fn copy_in_flight(&self, wanted: &dyn Fn(&Packet) -> bool, cx: &mut Cx) -> Vec<PacketId> {
        let mut copies = Vec::new();
        for flying in &self.in_flight {
            if wanted(&cx.pool[&flying.packet]) {
                copies.push(cx.pool.duplicate(&flying.packet));
            }
        }
        copies
    }

    /// Whether data for this host wait or are in flight. In a queue that hosts share, whether any packet waits.
    pub fn has_for(&self, host: Addr, cx: &Cx) -> bool {
        let flies = |flying: &InFlight| {
            let packet = &cx.pool[&flying.packet];
            packet.header().dst == host && !packet.is_signal()
        };
        self.line.packets_for(host) > 0 || self.in_flight.iter().any(flies)
    }

    /// Packets inside: waiting, in service and in flight.
    pub fn packets_inside(&self) -> u64 {
        let overtaking = self.overtaking.as_ref().map_or(0, VecDeque::len);
        (self.line.packets() + overtaking + self.in_flight.len()) as u64
    }

    fn start(&mut self, id: LinkId, cx: &mut Cx) {
        let urgent = self.overtaking.as_mut().and_then(VecDeque::pop_front);
        let next = urgent.or_else(|| self.line.dequeue(id, cx.now, cx));
        self.sending = None;
        if let Some(packet) = next {
            self.send(id, packet, cx);
            self.await_end(id, cx);
        }
    }

    /// Puts a packet on the wire.
    fn send(&mut self, id: LinkId, packet: PacketId, cx: &mut Cx) {
        let (size, dst) = (cx.pool[&packet].wire_size(), cx.pool[&packet].header().dst);
        let rate = self.line.rate(dst);
        if rate != self.rate {
            (self.rate, self.remainder) = (rate, 0);
        }
        let transmission = self.rate.transmission_time(size, &mut self.remainder);
        self.busy += transmission;
        let end = cx.now + transmission;
        // The end's place comes before the arrival's: over no distance at all, a packet is sent and then arrives.
        self.sending = Some(Sending { end, place: cx.scheduler.reserve(), awaited: false });
        let place = cx.scheduler.reserve();
        // After a cut of the delay: nothing overtakes, but follows at its own transmission time (ns-2, `avoidReordering_`).
        let ahead =
            self.in_flight.back().map(|ahead| ahead.arrival).filter(|&ahead| end + self.delay < ahead);
        let arrival = ahead.map_or(end + self.delay, |ahead| ahead + transmission);
        self.in_flight.push_back(InFlight { started: cx.now, sent: end, arrival, place, packet });
        self.arm_head(id, cx);
    }

    /// Makes the end of the transmission an event, if anything waits for it or a trace shows it.
    fn await_end(&mut self, id: LinkId, cx: &mut Cx) {
        let Some(sending) = self.sending.as_mut().filter(|sending| !sending.awaited) else { return };
        let waits = self.line.packets() > 0 || self.overtaking.as_ref().is_some_and(|line| !line.is_empty());
        if waits || self.in_flight.back().is_some_and(|sent| cx.traces(&sent.packet)) {
            sending.awaited = true;
            cx.scheduler.push_at(sending.end, sending.place, Event::LinkTxDone { link: id });
        }
    }

    /// Whether nothing is being sent any more, though nobody may have noticed.
    fn is_over(&self, cx: &Cx) -> bool {
        let is_past = |sending: Sending| !sending.awaited && cx.scheduler.is_past(sending.end, sending.place);
        self.sending.is_none_or(is_past)
    }

    /// If a transmission has ended with nothing waiting: does what the event that was spared would have done then.
    fn fall_idle(&mut self, id: LinkId, cx: &mut Cx) {
        let Some(Sending { end, .. }) = self.sending.filter(|_| self.is_over(cx)) else { return };
        self.sending = None;
        let waiting = self.line.dequeue(id, end, cx);
        debug_assert!(waiting.is_none(), "{}: a packet waited and nobody knew", self.name);
    }

    fn arm_head(&mut self, id: LinkId, cx: &mut Cx) {
        if self.head_pending {
            return;
        }
        if let Some(head) = self.in_flight.front() {
            self.head_pending = true;
            cx.scheduler.push_at(head.arrival, head.place, Event::LinkHead { link: id });
        }
    }
}
