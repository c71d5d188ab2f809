//! Links: a queue, a transmitter, and packets in flight. This file has the point-to-point transmitter. In `medium.rs`
//! the transmitter is a station on a medium, which determines when a frame leaves and whether it arrives.
//!
//! The fields that every packet uses are in a [`HotLink`], one cache line; the rest is in its [`Link`]. This file alone
//! handles a link with a plain drop-tail queue and a transmitter. Other features (an active queue, a recorded one,
//! forced losses, waiting signalling, a trace) set a flag and lead to `general.rs`.
//!
//! A packet's arrival is known when its transmission starts, so its place among simultaneous events is reserved then.
//! The end of a transmission has its place reserved too, but is an event only if a packet waits for it. Most links of a
//! network are idle most of the time, and are notified of it when the next packet arrives.

use crate::cause::CauseId;
use crate::cx::Cx;
use crate::event::Event;
use crate::forced::{ForcedDrops, LinkChange};
use crate::ids::{CellId, LinkId, Location, NodeId};
use crate::tx_queue::TxQueue;
use roamlab_engine::{Bytes, Duration, Rate, Ring, Time};
use roamlab_packet::{DropReason, PacketId, PacketQueue, Parked, Waiting};
use roamlab_radio::{AnyMedium, LossProcess, RecordedTransmitter};
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

mod general;
mod medium;
mod members;
mod recorded;

pub use medium::Settled;
use members::Members;

/// Where a link ends.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// At one node.
    Node(NodeId),
    /// At whichever hosts are in the cell.
    Cell(CellId),
}

/// A packet on its way over a link that keeps track of them.
#[derive(Copy, Clone, Debug)]
pub struct InFlight {
    /// When its transmission began.
    pub started: Time,
    /// The insertion number of its arrival.
    insertion: u64,
    /// The packet.
    pub packet: Parked,
}

/// The sending end of a link whose medium it shares with others.
#[derive(Clone, Debug)]
struct Station {
    /// Place of the medium in [`Links::media`].
    medium: u32,
    offered: Offered,
}

/// What a station has offered to its medium.
#[derive(Clone, Debug)]
enum Offered {
    /// Nothing: it is free.
    Nothing,
    /// A packet, which waits or is on the air.
    Packet(Waiting),
    /// A packet that is received, though its exchange is not over.
    Sent,
}

impl Offered {
    fn packet(&self) -> Option<&PacketId> {
        match self {
            Offered::Packet(packet) => Some(&**packet),
            Offered::Nothing | Offered::Sent => None,
        }
    }

    /// The packet; what stays is `after`.
    fn take(&mut self, after: Offered) -> Option<PacketId> {
        match std::mem::replace(self, after) {
            Offered::Packet(packet) => Some(packet.take()),
            Offered::Nothing | Offered::Sent => None,
        }
    }
}

/// A medium that links share.
#[derive(Clone, Debug)]
struct SharedMedium {
    medium: AnyMedium,
    /// When its pending wake-up is due.
    armed: Option<Time>,
    /// It is being asked what it has decided, and needs no wake-up.
    awake: bool,
}

/// What is special about a link.
mod flag {
    /// Its queue is not a plain drop-tail queue of packets.
    pub(super) const QUEUE: u8 = 1;
    /// It loses packets by order of the scenario.
    pub(super) const FORCED: u8 = 1 << 1;
    /// Signalling waits that overtakes data.
    pub(super) const URGENT: u8 = 1 << 2;
    /// A packet of the run is traced.
    pub(super) const TRACE: u8 = 1 << 3;
    /// It sends when its medium says so.
    pub(super) const STATION: u8 = 1 << 6;
    /// Any of these: a packet that is handed to the link takes the general path.
    pub(super) const GENERAL: u8 = QUEUE | FORCED | URGENT | TRACE | STATION;
    /// It keeps track of the packets in flight: they may be taken off the air, or its delay may change.
    pub(super) const TRACKED: u8 = 1 << 4;
    /// What arrives takes the general path.
    pub(super) const END: u8 = 1 << 5;
}

/// Whether a link is sending.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Sending {
    /// No.
    Idle,
    /// Until [`HotLink::end`], after which nobody may have noticed that it is idle.
    Unawaited,
    /// Until its end, which is an event.
    Awaited,
}

/// What every packet touches of a link.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct HotLink {
    /// When the transmission ends that is under way or was the last.
    end: Time,
    /// The reserved insertion number of that end.
    insertion: u64,
    delay: Duration,
    /// How long it has been sending, transmissions that began included.
    busy: Duration,
    /// Packets handed to its queue so far; signalling that overtakes is not among them.
    offered: u64,
    /// What waits in a plain queue.
    waiting: PacketQueue,
    /// How many may wait there.
    limit: u32,
    /// The node where it ends.
    to: u32,
    /// Transmission time of a byte, if that is a whole number of nanoseconds and the same for all packets; else 0.
    ns_per_byte: u16,
    sending: Sending,
    flags: u8,
}

const _: () = assert!(size_of::<HotLink>() == 64);

/// The rest of a one-way link.
#[derive(Clone, Debug)]
pub struct Link {
    /// Name in scenarios and records: "fa1->bs1", "bs1/air", "mh->bs1".
    pub name: String,
    /// Where it begins.
    pub from: NodeId,
    /// Where it ends.
    pub to: End,
    /// Whether what arrives at its far end is received.
    pub up: bool,
    /// What it loses by order of the scenario.
    pub forced: Vec<ForcedDrops>,
    /// What it loses at random.
    pub loss: Option<Box<LossProcess>>,
    /// How it changes in mid-run.
    pub changes: Vec<LinkChange>,
    /// The row of the causes of its last change.
    pub changed: CauseId,
    /// What waits for it; `None`: its queue is plain, and the [`HotLink`]'s.
    queue: Option<TxQueue>,
    /// The rate, or of bearers that of the last transmission, and what of a nanosecond it left over.
    rate: Rate,
    remainder: u64,
    /// Packets with the mark of forwarded ones among those handed to its queue.
    forwarded: u64,
    /// Signalling that overtakes data.
    overtaking: VecDeque<Waiting>,
    in_flight: Ring<InFlight>,
    /// When the last of those that it has listed so far arrives, or would have.
    last_arrival: Time,
    /// Its place on a medium; `None`: it sends by itself, from point to point.
    station: Option<Station>,
    /// The hosts that its base station has associated; `None`: it knows nothing of association.
    members: Option<Box<Members>>,
    /// What says when it sends; `None`: its rate does.
    recorded: Option<Box<RecordedTransmitter>>,
}

/// All links of a network, by [`LinkId`]. Indexing gives the [`Link`].
#[derive(Clone, Debug, Default)]
pub struct Links {
    hot: Vec<HotLink>,
    cold: Vec<Link>,
    media: Vec<SharedMedium>,
    /// Signalling overtakes data that waits for a link.
    signalling_priority: bool,
    /// Packets that pending arrivals hold.
    in_flight: u64,
}

impl Index<LinkId> for Links {
    type Output = Link;
    fn index(&self, id: LinkId) -> &Link {
        &self.cold[id.0 as usize]
    }
}

impl IndexMut<LinkId> for Links {
    fn index_mut(&mut self, id: LinkId) -> &mut Link {
        &mut self.cold[id.0 as usize]
    }
}

impl Links {
    /// No links yet. `signalling_priority`: signalling overtakes data that waits.
    pub fn new(signalling_priority: bool) -> Links {
        Links { signalling_priority, ..Links::default() }
    }

    /// Adds an idle link behind a plain drop-tail queue of `limit` packets.
    pub fn add(
        &mut self,
        name: String,
        (from, to): (NodeId, End),
        (rate, delay): (Rate, Duration),
        limit: u32,
    ) -> LinkId {
        let id = LinkId(self.cold.len() as u32);
        let (to_node, flags) = match to {
            End::Node(node) => (node.0, 0),
            End::Cell(_) => (u32::MAX, flag::END | flag::TRACKED),
        };
        self.hot.push(HotLink {
            end: Time::ZERO,
            insertion: 0,
            delay,
            busy: Duration::ZERO,
            offered: 0,
            waiting: PacketQueue::default(),
            limit,
            to: to_node,
            ns_per_byte: ns_per_byte(rate, None),
            sending: Sending::Idle,
            flags,
        });
        self.cold.push(Link {
            name,
            from,
            to,
            up: true,
            forced: Vec::new(),
            loss: None,
            changes: Vec::new(),
            changed: CauseId::NONE,
            queue: None,
            rate,
            remainder: 0,
            forwarded: 0,
            overtaking: VecDeque::new(),
            in_flight: Ring::default(),
            last_arrival: Time::ZERO,
            station: None,
            members: None,
            recorded: None,
        });
        id
    }

    /// Takes a packet in; starts it if the link is idle.
    #[inline(always)]
    pub fn enqueue(&mut self, id: LinkId, packet: PacketId, cx: &mut Cx) {
        let link = &mut self.hot[id.0 as usize];
        let entering = &cx.pool[&packet];
        if link.flags & flag::GENERAL != 0 || entering.is_unusual() {
            return self.enqueue_generally(id, packet, cx);
        }
        link.offered += 1;
        if link.is_over(cx) {
            let size = entering.wire_size();
            return self.transmit(id, packet, size, Start::FromIdle, cx);
        }
        if link.waiting.len() >= link.limit {
            return cx.lose(packet, DropReason::QueueOverflow, Location::Link(id));
        }
        link.waiting.push(packet, &mut cx.pool);
        link.await_end(id, cx);
    }

    /// The transmitter is free: the next packet, if any, starts. Whether one did.
    #[inline(always)]
    pub fn tx_done(&mut self, id: LinkId, cx: &mut Cx) -> bool {
        let link = &mut self.hot[id.0 as usize];
        if link.flags & flag::GENERAL != 0 {
            return self.tx_done_generally(id, cx);
        }
        let Some(packet) = link.waiting.pop(&cx.pool) else {
            link.sending = Sending::Idle;
            return false;
        };
        let size = cx.pool[&packet].wire_size();
        self.transmit(id, packet, size, Start::FromQueue, cx);
        let link = &mut self.hot[id.0 as usize];
        if !link.waiting.is_empty() {
            link.await_end(id, cx);
        }
        true
    }

    /// The packet of a pending arrival has come: the node where it is, and whether it takes the general path there.
    #[inline(always)]
    pub fn landed(&mut self, id: LinkId) -> (NodeId, bool) {
        self.in_flight -= 1;
        let link = &self.hot[id.0 as usize];
        (NodeId(link.to), link.flags & flag::END != 0)
    }

    /// Puts a packet of this size on the wire.
    #[inline(always)]
    fn transmit(&mut self, id: LinkId, packet: PacketId, size: Bytes, start: Start, cx: &mut Cx) {
        let link = &mut self.hot[id.0 as usize];
        let transmission = match link.ns_per_byte {
            0 => self.cold[id.0 as usize].own_transmission_time(id, &packet, start, cx),
            ns => Duration::from_nanos(size.0 * u64::from(ns)),
        };
        link.busy += transmission;
        link.end = cx.now + transmission;
        link.sending = Sending::Unawaited;
        // The arrival's place comes before the end's, as in ns-2: over no distance at all, a packet arrives and only then is
        // its transmitter free.
        let [insertion, end] = cx.scheduler.reserve_two();
        link.insertion = end;
        if link.flags & flag::TRACKED != 0 {
            return self.track(id, packet, (cx.now, insertion), cx);
        }
        self.in_flight += 1;
        let arrival = Event::Arrival { link: id, packet: packet.park() };
        cx.scheduler.push_at(link.end + link.delay, insertion, arrival);
    }
}

impl HotLink {
    /// Whether nothing is being sent any more, though nobody may have noticed.
    #[inline(always)]
    fn is_over(&self, cx: &Cx) -> bool {
        match self.sending {
            Sending::Idle => true,
            Sending::Unawaited => cx.scheduler.is_past(self.end, self.insertion),
            Sending::Awaited => false,
        }
    }

    /// Something waits: the end of the transmission under way has to be an event.
    #[inline(always)]
    fn await_end(&mut self, id: LinkId, cx: &mut Cx) {
        if self.sending == Sending::Unawaited {
            self.sending = Sending::Awaited;
            cx.scheduler.push_at(self.end, self.insertion, Event::LinkTxDone { link: id });
        }
    }
}

/// Where a packet comes from that is put on the wire.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Start {
    /// It found the link idle.
    FromIdle,
    /// It has waited.
    FromQueue,
}

/// See [`HotLink::ns_per_byte`].
fn ns_per_byte(rate: Rate, queue: Option<&TxQueue>) -> u16 {
    let mut remainder = 0;
    let byte = rate.transmission_time(Bytes(1), &mut remainder).as_nanos();
    match queue {
        None | Some(TxQueue::Line(_) | TxQueue::Shared(_)) if remainder == 0 => {
            u16::try_from(byte).unwrap_or(0)
        }
        _ => 0,
    }
}
