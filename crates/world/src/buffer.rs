//! A base station's buffer for one mobile host.
//!
//! One buffer per host, not per connection ([mblue] §II). While it collects, packets wait; once it is released
//! it is a pipe: packets pass straight through, in the order in which they came.

use crate::cx::{Cx, Place};
use roamlab_mobility::Via;
use roamlab_packet::{Addr, DropReason, Dscp, PacketId};
use std::collections::VecDeque;

/// What the buffer does with a packet.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// The host is attached. Without layer-2 acknowledgement, copies of what was sent over the air are kept.
    #[default]
    Attached,
    /// The host has left: packets wait.
    Collecting,
    /// Packets pass through, marked if so asked.
    Released {
        /// Where to.
        via: Via,
        /// With which mark.
        mark: Option<Dscp>,
    },
}

/// A buffer for one host.
#[derive(Debug)]
pub struct HostBuffer {
    /// The host.
    pub host: Addr,
    /// What it does now.
    pub mode: Mode,
    limit: usize,
    packets: VecDeque<PacketId>,
}

impl HostBuffer {
    /// An empty buffer of at most `limit` packets.
    pub fn new(host: Addr, limit: usize) -> HostBuffer {
        HostBuffer { host, mode: Mode::Attached, limit, packets: VecDeque::new() }
    }

    /// Keeps a copy of a packet that goes over the air; the oldest makes room.
    pub fn keep_copy(&mut self, original: &PacketId, place: Place, cx: &mut Cx) {
        if self.packets.len() >= self.limit
            && let Some(oldest) = self.packets.pop_front()
        {
            cx.lose(oldest, DropReason::CopyReleased, place);
        }
        let copy = cx.pool.duplicate(original);
        self.packets.push_back(copy);
    }

    /// Takes a packet in, or loses it if the buffer is full. Copies make room, oldest first.
    pub fn push(&mut self, packet: PacketId, place: Place, cx: &mut Cx) {
        if self.packets.len() < self.limit {
            self.packets.push_back(packet);
            return;
        }
        let is_copy = |id: &PacketId| cx.pool[id].copy_of != cx.pool[id].serial;
        if let Some(oldest_copy) = self.packets.iter().position(is_copy)
            && let Some(copy) = self.packets.remove(oldest_copy)
        {
            cx.lose(copy, DropReason::CopyReleased, place);
            self.packets.push_back(packet);
        } else {
            cx.lose(packet, DropReason::BufferOverflow, place);
        }
    }

    /// Everything inside, in order.
    pub fn take_all(&mut self) -> VecDeque<PacketId> {
        std::mem::take(&mut self.packets)
    }

    /// The number of packets inside.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether nothing is inside.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}
