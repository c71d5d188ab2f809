//! Setting up links, their changes during a run, and their totals.

use super::{End, HotLink, Link, Links, Transmitter, flag, ns_per_byte};
use crate::dataplane::forced::{ForcedDrops, LinkChange};
use crate::dataplane::tx_queue::TxQueue;
use roamlab_engine::{Bytes, Duration, Rate, Time};
use roamlab_radio::Order;
use roamlab_record::cause::CauseId;
use roamlab_record::ids::{LinkId, NodeId};
use std::collections::VecDeque;

impl Links {
    /// Adds an idle link behind an empty queue.
    pub fn add(
        &mut self,
        name: String,
        (from, to): (NodeId, End),
        (rate, delay): (Rate, Duration),
        queue: TxQueue,
    ) -> LinkId {
        let id = LinkId(self.cold.len() as u32);
        let (to_node, flags) = match to {
            End::Node(node) => (node.0, 0),
            End::Cell(_) => (u32::MAX, flag::TRACKED),
        };
        self.hot.push(HotLink {
            end: Time::ZERO,
            insertion: 0,
            delay,
            busy: Duration::ZERO,
            offered: 0,
            pending: 0,
            to: to_node,
            ns_per_byte: ns_per_byte(rate, &queue),
            transmitter: Transmitter::Idle,
            flags: flags | queue_flag(&queue),
        });
        self.cold.push(Link {
            name,
            from,
            to,
            up: true,
            forced: Vec::new(),
            losing: None,
            changes: Vec::new(),
            changed: CauseId::NONE,
            helped: None,
            queue,
            rate,
            remainder: 0,
            overtaking: VecDeque::new(),
            in_flight: VecDeque::new(),
            apart: VecDeque::new(),
            last_arrival: Time::ZERO,
            paused: false,
            station: None,
            associations: None,
            recorded: None,
            steps: None,
            order: Order::Spaced,
            held: None,
        });
        id
    }

    /// Puts another queue before a link.
    pub fn set_queue(&mut self, id: LinkId, queue: TxQueue) {
        let link = &mut self.cold[id.0 as usize];
        let hot = &mut self.hot[id.0 as usize];
        hot.ns_per_byte = if link.has_pauses() { 0 } else { ns_per_byte(link.rate, &queue) };
        hot.flags = hot.flags & !flag::QUEUE | queue_flag(&queue);
        link.queue = queue;
    }

    /// Packets in flight are listed: they can be removed.
    pub fn track_flights(&mut self, id: LinkId) {
        self.set(id, flag::TRACKED);
    }

    /// The scenario wants these packets lost or held back, and the link to change so.
    pub fn set_impairments(&mut self, id: LinkId, forced: Vec<ForcedDrops>, changes: Vec<LinkChange>) {
        if !forced.is_empty() {
            self.set(id, flag::FORCED);
        }
        if !changes.is_empty() {
            self.set(id, flag::TRACKED);
        }
        let link = &mut self[id];
        (link.forced, link.changes) = (forced, changes);
    }

    /// A packet is traced: every packet takes the slow path everywhere.
    pub fn trace(&mut self) {
        self.hot.iter_mut().for_each(|link| link.flags |= flag::TRACE | flag::TRACKED);
    }

    /// The change of this number takes place. A transmission under way ends when it would have, and what is in flight
    /// arrives when it would have; only whether it is received is decided where it arrives.
    pub fn change(&mut self, id: LinkId, index: u32) {
        let link = &mut self.cold[id.0 as usize];
        let hot = &mut self.hot[id.0 as usize];
        let LinkChange { rate, delay, up, .. } = link.changes[index as usize];
        if let Some(rate) = rate.filter(|rate| *rate != link.rate) {
            (link.rate, link.remainder) = (rate, 0);
            hot.ns_per_byte = if link.has_pauses() { 0 } else { ns_per_byte(rate, &link.queue) };
        }
        hot.delay = delay.unwrap_or(hot.delay);
        link.up = up.unwrap_or(link.up);
    }

    /// How many links there are.
    pub fn len(&self) -> usize {
        self.cold.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.cold.is_empty()
    }

    /// The links, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Link> {
        self.cold.iter()
    }

    /// Packets handed to each link's queue so far. Signalling that overtakes is not among them.
    pub fn offered(&self) -> impl Iterator<Item = u64> {
        self.hot.iter().map(|link| link.offered)
    }

    /// How long each link has been sending, transmissions that began included.
    pub fn busy(&self) -> impl Iterator<Item = Duration> {
        self.hot.iter().map(|link| link.busy)
    }

    /// The link's propagation delay.
    pub fn delay(&self, id: LinkId) -> Duration {
        self.hot(id).delay
    }

    pub(super) fn hot(&self, id: LinkId) -> &HotLink {
        &self.hot[id.0 as usize]
    }

    pub(super) fn set(&mut self, id: LinkId, flags: u8) {
        self.hot[id.0 as usize].flags |= flags;
    }
}

/// The flag of a link with this empty queue: whether a packet that finds the link idle has to pass it.
fn queue_flag(queue: &TxQueue) -> u8 {
    if queue.can_bypass(Bytes(u64::from(u32::MAX))) { 0 } else { flag::QUEUE }
}
