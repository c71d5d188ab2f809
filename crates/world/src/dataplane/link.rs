//! Links: a queue, a transmitter, and packets in flight. This file has the point-to-point transmitter. In `medium.rs`
//! the transmitter is a station on a medium, which determines when a frame leaves and whether it arrives.
//!
//! The fields that every packet uses are in a [`HotLink`], one cache line; the rest is in its [`Link`]. Every packet
//! enters a link by [`Links::enqueue`]. Plain packets at plain links need this file alone. Other features (a queue that
//! an idle link has to ask, forced losses, waiting signalling, a medium, a trace) set a flag and lead to `slow_path.rs`.
//!
//! A packet's arrival is known when its transmission starts, so its place among simultaneous events is reserved then.
//! The end of a transmission has its place reserved too, but is an event only if a packet waits for it. Most links of a
//! network are idle most of the time, and are notified of it when the next packet arrives.

use crate::context::Context;
use crate::dataplane::forced::{ForcedDrops, LinkChange};
use crate::dataplane::tx_queue::TxQueue;
use crate::event::Event;
use crate::ids::CellId;
use crate::wifi::association::Associations;
use roamlab_engine::{Bytes, Duration, Rate, Time, prefetch, prefetch_at};
use roamlab_mobility::snoop::Snoop;
use roamlab_packet::{Addr, FlowId, PacketId, PacketPool, Snapshot, Waiting};
use roamlab_radio::{AnyMedium, FileTransmitter, LossProcess, Order, Outages};
use roamlab_record::cause::CauseId;
use roamlab_record::ids::{LinkId, NodeId};
use std::collections::{BTreeMap, VecDeque};
use std::ops::{Index, IndexMut};
use steps::Steps;

mod apart;
mod helped;
mod in_flight;
mod losing;
mod medium;
mod recorded;
mod setup;
mod slow_path;
mod steps;

/// Where a link ends.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// At one node.
    Node(NodeId),
    /// At whichever hosts are in the cell.
    Cell(CellId),
}

/// A packet on its way over a link that keeps track of them.
#[derive(Clone, Debug)]
pub struct InFlight {
    /// When its transmission began.
    pub started: Time,
    /// The insertion number of its arrival.
    insertion: u64,
    /// The packet.
    pub packet: Waiting,
}

/// Signalling with separate grants, on its way.
#[derive(Clone, Debug)]
struct Apart {
    arrival: Time,
    flying: InFlight,
}

/// The sending end of a link whose medium it shares with others.
#[derive(Clone, Debug)]
struct Station {
    /// Place of the medium in [`Links::media`].
    medium: u32,
    offered: Offered,
}

/// Packet that a station has offered to its medium.
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

/// Random losses of a link.
#[derive(Clone, Debug, Default)]
struct Losing {
    /// Single packets.
    packets: Option<LossProcess>,
    /// All packets that arrive in an outage.
    outages: Option<Outages>,
    /// When the last outage began that lost a packet, and its row of the causes.
    noted: Option<(Time, CauseId)>,
}

/// The reason for which a link loses a packet at random.
#[derive(Copy, Clone, Debug)]
pub enum Lost {
    /// A random loss of this packet alone.
    AtRandom,
    /// An outage, with its row of the causes.
    InOutage(CauseId),
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

/// A flow that a base station helps.
#[derive(Clone, Debug)]
struct Helped {
    /// The host that receives its data.
    host: Addr,
    snoop: Snoop<Snapshot>,
    /// When the pending event of the local timer is due.
    alarm: Option<Time>,
}

/// The flows that a base station helps.
#[derive(Clone, Debug, Default)]
struct HelpedFlows {
    flows: BTreeMap<FlowId, Helped>,
    /// The first law that was violated, and when.
    broken: Option<(String, Time)>,
}

/// Special properties of a link.
mod flag {
    /// A packet that finds it idle has to pass its queue.
    pub(super) const QUEUE: u8 = 1;
    /// The scenario wants some of its packets lost or held back.
    pub(super) const FORCED: u8 = 1 << 1;
    /// Signalling waits that overtakes data.
    pub(super) const PRIORITY: u8 = 1 << 2;
    /// A packet of the run is traced.
    pub(super) const TRACE: u8 = 1 << 3;
    /// It sends when its medium permits it.
    pub(super) const STATION: u8 = 1 << 4;
    /// Its base station helps flows of its hosts.
    pub(super) const HELPED: u8 = 1 << 7;
    /// Any of these: a packet that enters the link takes the slow path.
    pub(super) const SLOW: u8 = QUEUE | FORCED | PRIORITY | TRACE | STATION | HELPED;
    /// It lists the packets in flight: they may be removed, or its delay may change.
    pub(super) const TRACKED: u8 = 1 << 5;
    /// Signalling has separate grants: it takes no time of the link.
    pub(super) const APART: u8 = 1 << 6;
}

/// The state of a link's transmitter.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Transmitter {
    /// It sends nothing.
    Idle,
    /// It sends until [`HotLink::end`], for which no event is scheduled: the next packet finds out whether it is idle.
    Busy,
    /// It sends until [`HotLink::end`], for which an event is scheduled.
    BusyWithEvent,
}

/// Fields of a link that every packet needs.
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
    /// Packets that entered its queue so far; signalling that overtakes is not among them.
    offered: u64,
    /// Packets that pending events hold: arrivals of a link that does not list them, and late entries.
    pending: u32,
    /// The node where it ends.
    to: u32,
    /// Transmission time of a byte, if that is a whole number of nanoseconds and the same for all packets; else 0.
    ns_per_byte: u16,
    transmitter: Transmitter,
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
    /// True if packets are received at its far end.
    pub up: bool,
    /// Losses by order of the scenario.
    pub forced: Vec<ForcedDrops>,
    /// Random losses at its far end.
    losing: Option<Box<Losing>>,
    /// How it changes in mid-run.
    pub changes: Vec<LinkChange>,
    /// The row of the causes of its last change.
    pub changed: CauseId,
    /// (802.11) the hosts that its base station has associated.
    pub associations: Option<Box<Associations>>,
    /// Flows that its base station helps.
    helped: Option<Box<HelpedFlows>>,
    /// The packets that wait for it.
    queue: TxQueue,
    /// The rate, or of bearers that of the last transmission, and what of a nanosecond it left over.
    rate: Rate,
    remainder: u64,
    /// Signalling that overtakes data.
    overtaking: VecDeque<Waiting>,
    in_flight: VecDeque<InFlight>,
    /// Signalling with separate grants, on its way.
    apart: VecDeque<Apart>,
    /// When the last of those that it has listed so far arrives, or would have.
    last_arrival: Time,
    /// (802.11) its host is on another channel: it sends management frames alone.
    paused: bool,
    /// Its place on a medium; `None`: it sends alone, from point to point.
    station: Option<Station>,
    /// Schedule of its transmissions; `None`: its rate.
    recorded: Option<Box<FileTransmitter>>,
    /// Rates and delays that it has one after the other.
    steps: Option<Box<Steps>>,
    /// Arrival of a packet that would overtake others.
    order: Order,
    /// Outages in which it sends nothing.
    held: Option<Box<Outages>>,
}

/// All links of a network, by [`LinkId`]. Indexing gives the [`Link`].
#[derive(Clone, Debug, Default)]
pub struct Links {
    hot: Vec<HotLink>,
    cold: Vec<Link>,
    media: Vec<SharedMedium>,
    /// Signalling overtakes data that waits for a link.
    signalling_priority: bool,
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

    /// Takes a packet in, and starts it if the link is idle. Every packet enters a link here.
    ///
    /// The short cut: an ordinary packet at a plain link meets the transmitter and the queue, and nothing else.
    #[inline(always)]
    pub fn enqueue(&mut self, id: LinkId, packet: PacketId, cx: &mut Context) {
        let link = &mut self.hot[id.0 as usize];
        if link.flags & flag::SLOW != 0 || !cx.pool[&packet].is_ordinary() {
            return self.enqueue_slow(id, packet, cx);
        }
        link.offered += 1;
        if link.is_idle(cx) {
            return link.transmit(&mut self.cold, id, packet, Start::FromIdle, cx);
        }
        let Link { queue, rate, .. } = &mut self.cold[id.0 as usize];
        queue.enqueue_ordinary(id, packet, *rate, cx);
        link.await_end(queue, id, cx);
    }

    /// The transmitter is free: the next packet starts, if one waits. Whether one did.
    #[inline(always)]
    pub fn tx_done(&mut self, id: LinkId, cx: &mut Context) -> bool {
        let link = &mut self.hot[id.0 as usize];
        if link.flags & (flag::TRACE | flag::PRIORITY) != 0 {
            return self.tx_done_slow(id, cx);
        }
        link.start_next(&mut self.cold, id, cx)
    }

    /// Brings what every step of a link reads into the cache.
    #[inline(always)]
    pub fn prefetch(&self, id: LinkId) {
        prefetch_at(&self.hot, id.0 as usize);
    }

    /// Brings the queue of a link into the cache.
    #[inline(always)]
    pub fn prefetch_queue(&self, id: LinkId) {
        if let Some(link) = self.cold.get(id.0 as usize) {
            link.queue.prefetch();
        }
    }

    /// Brings the first packet into the cache that waits for a link.
    #[inline(always)]
    pub fn prefetch_waiting(&self, id: LinkId, pool: &PacketPool) {
        if let Some(packet) = self.cold[id.0 as usize].queue.head() {
            prefetch(&pool[packet]);
        }
    }

    /// The same of the packet behind it.
    #[inline(always)]
    pub fn prefetch_second(&self, id: LinkId, pool: &PacketPool) {
        if let Some(packet) = self.cold[id.0 as usize].queue.head() {
            pool.prefetch_behind(packet);
        }
    }

    /// The node where a link ends that lists no packets in flight.
    #[inline(always)]
    pub fn end(&self, id: LinkId) -> NodeId {
        NodeId(self.hot[id.0 as usize].to)
    }

    /// The packet of a pending arrival has arrived: the node where it is.
    #[inline(always)]
    pub fn complete_arrival(&mut self, id: LinkId) -> NodeId {
        let link = &mut self.hot[id.0 as usize];
        link.pending -= 1;
        NodeId(link.to)
    }
}

/// The steps of a plain packet. `cold` has the rest of all links: it is looked into only where a step needs it.
#[expect(clippy::ptr_arg, reason = "a slice of all links would be made for each packet, and few need it")]
impl HotLink {
    /// A packet has entered the queue of a busy link: what waits asks for the end of the transmission.
    #[inline(always)]
    fn await_end(&mut self, queue: &TxQueue, id: LinkId, cx: &mut Context) {
        if self.transmitter == Transmitter::Busy {
            self.schedule_end_if(queue.packets() > 0, id, cx);
        }
    }

    /// The transmission is over: the next packet starts, if one waits. Whether one did.
    #[inline(always)]
    fn start_next(&mut self, cold: &mut Vec<Link>, id: LinkId, cx: &mut Context) -> bool {
        let (next, waiting) = cold[id.0 as usize].next(id, cx.now, cx);
        let Some(packet) = next else {
            self.transmitter = Transmitter::Idle;
            return false;
        };
        self.transmit(cold, id, packet, Start::FromQueue, cx);
        self.schedule_end_if(waiting > 0, id, cx);
        true
    }

    /// Puts a packet on the wire.
    #[inline(always)]
    fn transmit(
        &mut self,
        cold: &mut Vec<Link>,
        id: LinkId,
        packet: PacketId,
        start: Start,
        cx: &mut Context,
    ) {
        let transmission = match self.ns_per_byte {
            0 => cold[id.0 as usize].own_transmission_time(id, &packet, start, cx),
            ns => Duration::from_nanos(cx.pool[&packet].wire_size().0 * u64::from(ns)),
        };
        // It sends one packet at a time, so this is at most `end`, and needs no test of overflow.
        self.busy = Duration::from_nanos(self.busy.as_nanos() + transmission.as_nanos());
        self.end = cx.now + transmission;
        self.transmitter = Transmitter::Busy;
        // The arrival's place comes before the end's, as in ns-2: over no distance at all, a packet arrives and only then is
        // its transmitter free.
        let [insertion, end] = cx.scheduler.reserve_two();
        self.insertion = end;
        if self.flags & flag::TRACKED != 0 {
            return cold[id.0 as usize].track_sent(self, id, packet, insertion, cx);
        }
        self.pending += 1;
        let arrival = Event::Arrival { link: id, packet: packet.park() };
        cx.scheduler.push_at(self.end + self.delay, insertion, arrival);
    }

    /// True if nothing is being sent any more.
    #[inline(always)]
    fn is_idle(&self, cx: &Context) -> bool {
        let is_past = cx.scheduler.is_past(self.end, self.insertion);
        debug_assert!(is_past || self.transmitter != Transmitter::Idle, "idle before its end");
        self.transmitter != Transmitter::BusyWithEvent && is_past
    }

    /// As [`schedule_end`](Self::schedule_end), if a packet (`waits`) or signalling waits for the end.
    #[inline(always)]
    fn schedule_end_if(&mut self, waits: bool, id: LinkId, cx: &mut Context) {
        if waits || self.flags & flag::PRIORITY != 0 {
            self.schedule_end(id, cx);
        }
    }

    /// Makes the end of the transmission an event, unless it is one.
    #[inline(always)]
    fn schedule_end(&mut self, id: LinkId, cx: &mut Context) {
        if self.transmitter == Transmitter::Busy {
            self.transmitter = Transmitter::BusyWithEvent;
            cx.scheduler.push_at(self.end, self.insertion, Event::LinkTxDone { link: id });
        }
    }
}

impl Link {
    /// The next packet from the queue, and the number of packets that wait then. Asked also when nothing waits and the link
    /// falls idle at `now`.
    #[inline(always)]
    fn next(&mut self, id: LinkId, now: Time, cx: &mut Context) -> (Option<PacketId>, usize) {
        self.queue.dequeue(id, now, self.rate, cx)
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
fn ns_per_byte(rate: Rate, queue: &TxQueue) -> u16 {
    let mut remainder = 0;
    let byte = rate.transmission_time(Bytes(1), &mut remainder).as_nanos();
    match queue {
        TxQueue::Shared(_) if remainder == 0 => u16::try_from(byte).unwrap_or(0),
        _ => 0,
    }
}
