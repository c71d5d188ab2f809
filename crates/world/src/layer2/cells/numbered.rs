//! Hosts with numbered radio bearers: the packets that wait for a link, and the one of several cells that packets go to.

use super::Cells;
use crate::ids::CellId;
use roamlab_packet::{Packet, PacketId, PacketPool, Waiting};
use roamlab_record::ids::NodeId;
use std::collections::VecDeque;

impl Cells {
    /// A host has a numbered radio bearer. Its receiver finds copies, by their numbers.
    pub fn number(&mut self, host: NodeId) {
        if let Some(mobile) = self.host_mut(host) {
            (mobile.numbers, mobile.drops_duplicates) = (true, false);
        }
    }

    /// The cells that a host is in, in the order in which it entered them.
    pub fn cells_of(&self, host: NodeId) -> &[CellId] {
        self.host(host).map_or(&[], |mobile| &mobile.attachments)
    }

    /// The cell that a host's packets go to.
    pub fn uplink_cell(&self, host: NodeId) -> Option<CellId> {
        self.host(host)?.uplink_cell()
    }

    /// A host's packets go to this cell as long as it is in it; `None`: to the one by choice.
    pub fn pin_uplink(&mut self, host: NodeId, cell: Option<CellId>) {
        if let Some(mobile) = self.host_mut(host) {
            mobile.pinned = cell;
            mobile.serve();
        }
    }

    /// Packets wait for a link before all others.
    pub fn wait_first(&mut self, host: NodeId, packets: Vec<PacketId>) {
        if let Some(mobile) = self.host_mut(host) {
            let behind = std::mem::take(&mut mobile.waiting.queued);
            mobile.waiting.queued = packets.into_iter().map(Waiting::from).chain(behind).collect();
        }
    }

    /// Takes the packets out that wait for a link and that `wanted` selects.
    pub fn take_waiting(
        &mut self,
        host: NodeId,
        wanted: impl Fn(&Packet) -> bool,
        pool: &PacketPool,
    ) -> Vec<PacketId> {
        let Some(mobile) = self.host_mut(host) else { return Vec::new() };
        let mut taken = Vec::new();
        for line in [&mut mobile.waiting.queued, &mut mobile.waiting.since] {
            let mut rest = VecDeque::new();
            for packet in std::mem::take(line) {
                if wanted(&pool[&packet]) {
                    taken.push(packet.take());
                } else {
                    rest.push_back(packet);
                }
            }
            *line = rest;
        }
        taken
    }

    /// The packets that wait for a link, those that waited first in front.
    pub fn waiting(&self, host: NodeId) -> impl Iterator<Item = &Waiting> {
        let waiting = self.host(host).map(|mobile| &mobile.waiting);
        waiting.into_iter().flat_map(|waiting| waiting.queued.iter().chain(&waiting.since))
    }
}
