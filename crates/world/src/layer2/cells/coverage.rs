//! Hosts that roam with 802.11: the cells that they can receive.

use super::Cells;
use crate::context::Context;
use crate::ids::CellId;
use roamlab_engine::Time;
use roamlab_radio::{Channels, Offer, Reception, Strength};
use roamlab_record::cause::CauseId;
use roamlab_record::ids::{LinkId, NodeId};

impl Cells {
    /// True if hosts roam.
    pub fn roam(&self) -> bool {
        self.roam
    }

    /// A host is in the coverage of a cell from now on, or no more: with the row of the causes.
    pub fn cover(&mut self, host: NodeId, cell: CellId, is_covered: bool, cx: &mut Context) -> CauseId {
        let phase = if is_covered { "coverage-entered" } else { "coverage-left" };
        let row = self.note(host, phase, host, cx);
        let covers = &mut self.cells[cell.0 as usize].covers;
        if is_covered {
            covers.insert(host);
        } else {
            covers.remove(&host);
        }
        let Some(mobile) = self.host_mut(host) else { return row };
        let Some(reception) = &mut mobile.reception else { return row };
        if is_covered {
            reception.enter(cell.0, cx.now);
        } else {
            reception.leave(cell.0);
            mobile.left.insert(cell, (cx.now, row));
        }
        row
    }

    /// True if a frame between a host and the base station of a cell, which began at `started`, gets across.
    /// `needs_cell`: only if the host is associated there.
    pub fn receives(&self, host: NodeId, cell: CellId, started: Time, needs_cell: bool) -> bool {
        let Some(mobile) = self.host(host) else { return false };
        let Some(reception) = &mobile.reception else { return false };
        reception.receives(cell.0, self.cells[cell.0 as usize].channel, started)
            && (!needs_cell || mobile.attachments.contains(&cell))
    }

    /// The hosts that hear what a cell began to send at `started`, in order.
    pub fn listeners(&self, cell: CellId, started: Time) -> Vec<NodeId> {
        let covered = self.cells[cell.0 as usize].covers.iter().copied();
        covered.filter(|&host| self.receives(host, cell, started, false)).collect()
    }

    /// The cells that a host could hear on its channel, in order.
    pub fn on_channel(&self, host: NodeId) -> Vec<CellId> {
        let channel_of = |cell: u32| self.cells[cell as usize].channel;
        let reception = self.reception(host).into_iter();
        reception.flat_map(|reception| reception.on_channel(channel_of)).map(CellId).collect()
    }

    /// Result of a host's reception of a cell.
    pub fn offer(&self, host: NodeId, cell: CellId) -> Offer {
        let known = &self.cells[cell.0 as usize];
        let strength = self.strength(host, cell);
        Offer { cell: cell.0, channel: known.channel, interval: known.beacon_interval, strength }
    }

    /// How strong a host receives a cell.
    pub fn strength(&self, host: NodeId, cell: CellId) -> Strength {
        let measuring = self.host(host).and_then(|mobile| mobile.measuring.as_ref());
        if let Some(measuring) = measuring {
            return Strength::of_level(measuring.meter.level(cell.0 as usize));
        }
        let since = self.reception(host).map_or(Time::ZERO, |reception| reception.strength(cell.0));
        Strength::Since(since)
    }

    /// A host measures its cells; those whose coverage it comes into (true) or leaves by that.
    pub fn measure_coverage(&mut self, host: NodeId, cx: &mut Context) -> Vec<(CellId, bool)> {
        self.measure(host, cx);
        let Some(mobile) = self.host(host) else { return Vec::new() };
        let (Some(measuring), Some(reception)) = (&mobile.measuring, &mobile.reception) else {
            return Vec::new();
        };
        let hears = |cell: &CellId| measuring.meter.hears(cell.0 as usize);
        let cells = mobile.uplinks.keys().map(|cell| (*cell, hears(cell)));
        cells.filter(|&(cell, hears)| reception.is_covered(cell.0) != hears).collect()
    }

    /// A host that measures leaves a cell for another one: what follows is of its next visit.
    pub fn count_visit(&mut self, host: NodeId) {
        if let Some(mobile) = self.host_mut(host).filter(|mobile| mobile.measuring.is_some()) {
            mobile.visit += 1;
        }
    }

    /// The channel of a cell.
    pub fn channel(&self, cell: CellId) -> u32 {
        self.cells[cell.0 as usize].channel
    }

    /// The channels of all cells but this one.
    pub fn channels_of_others(&self, cell: CellId) -> Channels {
        let mut channels = Channels::default();
        let others = self.cells.iter().enumerate().filter(|(index, _)| *index != cell.0 as usize);
        others.for_each(|(_, other)| channels.insert(other.channel));
        channels
    }

    /// The row of the causes for the end of a host's coverage by a cell; `None`: the cell covers it.
    pub fn coverage_ended(&self, host: NodeId, cell: CellId) -> Option<CauseId> {
        let left = self.host(host).and_then(|mobile| mobile.left.get(&cell));
        let is_covered = self.reception(host).is_some_and(|reception| reception.is_covered(cell.0));
        (!is_covered).then(|| left.map_or(CauseId::START, |&(_, row)| row))
    }

    /// A host listens on a channel from now on.
    pub fn tune(&mut self, host: NodeId, channel: u32, now: Time) {
        if let Some(reception) = self.host_mut(host).and_then(|mobile| mobile.reception.as_mut()) {
            reception.tune(channel, now);
        }
    }

    /// A host's uplinks.
    pub fn uplinks(&self, host: NodeId) -> Vec<LinkId> {
        self.host(host).map(|mobile| mobile.uplinks.values().copied().collect()).unwrap_or_default()
    }

    /// A host's uplink to a cell.
    pub fn uplink_to(&self, host: NodeId, cell: CellId) -> Option<LinkId> {
        self.host(host)?.uplinks.get(&cell).copied()
    }

    fn reception(&self, host: NodeId) -> Option<&Reception> {
        self.host(host)?.reception.as_deref()
    }
}
