//! A link: a queue, a transmitter, and packets in flight, in order.
//!
//! A packet's arrival is known when its transmission starts, so it joins the packets in flight at once and its
//! place among simultaneous events is reserved then; only the first arrival is ever pending. The end of a
//! transmission has its place reserved too, but is an event only if something waits for it: most links of a
//! network are idle most of the time, and learn so when the next packet comes.

use crate::cx::{Cx, Place};
use crate::event::{CellId, Event, LinkId, NodeId};
use crate::probe::Stop;
use roamlab_engine::{Duration, Rate, Time};
use roamlab_packet::{Packet, PacketId};
use roamlab_qdisc::{Qdisc, QdiscCx, QueueDisc};
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
    /// Whether its queue is recorded.
    pub recorded: bool,
    /// Packets handed to its queue so far; signalling that overtakes is not among them.
    pub offered: u64,
    /// Of these, those with the mark of forwarded packets.
    pub offered_marked: u64,
    /// How long it has been sending, transmissions that began included.
    pub busy: Duration,
    rate: Rate,
    remainder: u64,
    queue: Qdisc,
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
            recorded: false,
            offered: 0,
            offered_marked: 0,
            busy: Duration::ZERO,
            rate,
            remainder: 0,
            queue,
            overtaking: signalling_priority.then(VecDeque::new),
            sending: None,
            in_flight: VecDeque::new(),
            head_pending: false,
        }
    }

    /// Takes a packet in; starts it if the link is idle.
    pub fn enqueue(&mut self, id: LinkId, packet: PacketId, cx: &mut Cx) {
        cx.trace(&packet, Stop::LinkEnqueue, Place::Link(id));
        self.fall_idle(cx);
        match &mut self.overtaking {
            Some(control) if cx.pool[&packet].is_signal() => control.push_back(packet),
            _ => {
                cx.trace(&packet, Stop::QdiscEnqueue, Place::Link(id));
                self.offered += 1;
                self.offered_marked += u64::from(cx.is_marked(&packet));
                self.queue.enqueue(packet, &mut qdisc_cx(self.rate, cx));
                cx.settle_drops(Place::Link(id));
                self.sample(id, cx);
            }
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
        let sent = self.in_flight.back().filter(|sent| sent.arrival == cx.now + self.delay);
        if let Some(sent) = sent {
            cx.trace(&sent.packet, Stop::LinkTxDone, Place::Link(id));
        }
        self.start(id, cx);
        self.sending.is_some()
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
        self.fall_idle(cx);
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
        taken.extend(self.queue.extract(wanted, &mut qdisc_cx(self.rate, cx)));
        if let Some(control) = &mut self.overtaking {
            for packet in std::mem::take(control) {
                if wanted(&cx.pool[&packet]) {
                    taken.push(packet);
                } else {
                    control.push_back(packet);
                }
            }
        }
        self.sample(id, cx);
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

    /// Packets inside: waiting, in service and in flight.
    pub fn packets_inside(&self) -> u64 {
        let overtaking = self.overtaking.as_ref().map_or(0, VecDeque::len);
        (self.queue.packets() + overtaking + self.in_flight.len()) as u64
    }

    fn start(&mut self, id: LinkId, cx: &mut Cx) {
        let urgent = self.overtaking.as_mut().and_then(VecDeque::pop_front);
        let next = match urgent {
            Some(packet) => Some(packet),
            None => {
                let next = self.queue.dequeue(&mut qdisc_cx(self.rate, cx));
                cx.settle_drops(Place::Link(id));
                if next.is_some() {
                    self.sample(id, cx);
                }
                next
            }
        };
        self.sending = None;
        let Some(packet) = next else { return };
        let size = cx.pool[&packet].wire_size();
        let lasts = self.rate.transmission_time(size, &mut self.remainder);
        self.busy += lasts;
        let end = cx.now + lasts;
        // The end's place comes before the arrival's: over no distance at all, a packet is sent and then arrives.
        self.sending = Some(Sending { end, place: cx.scheduler.reserve(), awaited: false });
        let (arrival, place) = (end + self.delay, cx.scheduler.reserve());
        self.in_flight.push_back(InFlight { started: cx.now, arrival, place, packet });
        self.arm_head(id, cx);
        self.await_end(id, cx);
    }

    /// Makes the end of the transmission an event, if anything waits for it or a trace shows it.
    fn await_end(&mut self, id: LinkId, cx: &mut Cx) {
        let Some(sending) = self.sending.as_mut().filter(|sending| !sending.awaited) else { return };
        let waits = self.queue.packets() > 0 || self.overtaking.as_ref().is_some_and(|line| !line.is_empty());
        if waits || self.in_flight.back().is_some_and(|sent| cx.traces(&sent.packet)) {
            sending.awaited = true;
            cx.scheduler.push_at(sending.end, sending.place, Event::LinkTxDone { link: id });
        }
    }

    /// If a transmission has ended with nothing waiting: does what the event that was spared would have done then.
    fn fall_idle(&mut self, cx: &mut Cx) {
        let Some(Sending { end, place, awaited: false }) = self.sending else { return };
        if cx.scheduler.is_past(end, place) {
            self.sending = None;
            let mut then = QdiscCx { now: end, ..qdisc_cx(self.rate, cx) };
            let waiting = self.queue.dequeue(&mut then);
            debug_assert!(waiting.is_none(), "{}: a packet waited and nobody knew", self.name);
        }
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

    fn sample(&self, id: LinkId, cx: &mut Cx) {
        if self.recorded {
            cx.probes.queue(cx.now, id, self.queue.packets(), self.queue.bytes(), self.queue.gauges());
        }
    }
}

fn qdisc_cx(rate: Rate, cx: &mut Cx) -> QdiscCx<'_> {
    QdiscCx { now: cx.now, pool: &mut cx.pool, rate, dropped: &mut cx.dropped }
}
