//! Frames on a medium: their receivers, and the reasons of losses; and what the network does for base stations and hosts
//! of 802.11.

use super::{Network, TxReport};
use crate::context::Context;
use crate::dataplane::link::{End, Link};
use crate::dataplane::node::Nodes;
use crate::ids::CellId;
use crate::layer2::cells::Cells;
use crate::wifi::association::Associations;
use roamlab_engine::Time;
use roamlab_packet::{Addr, DropReason, Packet, PacketId, PacketPool};
use roamlab_radio::TxOutcome;
use roamlab_record::cause::CauseId;
use roamlab_record::ids::{LinkId, Location, NodeId};

impl Network {
    /// A medium's deadline may have come: [`decide`](Self::decide) is to be asked until there is nothing, then
    /// [`rest`](Self::rest).
    pub fn wake_medium(&mut self, medium: u32, now: Time) {
        self.links.wake(medium, now);
    }

    /// Lets a medium carry out what it has decided, up to the next attempt that ends. A packet that is lost by it is gone.
    pub fn decide(&mut self, medium: u32, cx: &mut Context) -> Option<TxReport> {
        loop {
            let Network { links, nodes, cells, .. } = self;
            let gets_across = |link: &Link, packet: &Packet, started: Time| {
                gets_across(nodes, cells, link, packet, started)
            };
            let transmission = links.decide(medium, cx, &gets_across)?;
            let link = LinkId(transmission.station);
            let (started, outcome) = (transmission.started, transmission.outcome);
            let frame = self.links.take_transmission(transmission, cx);
            let (Some((dst, management, lost)), Some(outcome)) = (frame, outcome) else { continue };
            let from = self.links[link].from;
            if let Some(packet) = lost {
                self.lose_on_air(link, packet, outcome, cx);
            }
            return Some(TxReport { from, dst, management, started, outcome });
        }
    }

    /// A medium has decided all that it can now.
    pub fn rest(&mut self, medium: u32, cx: &mut Context) {
        self.links.rest(medium, cx);
    }

    /// A medium has given a packet up. One that was sent again and again to a host that is gone, or from one, is lost
    /// because of that, though the host may be back by now.
    fn lose_on_air(&mut self, id: LinkId, packet: PacketId, outcome: TxOutcome, cx: &mut Context) {
        let (place, dst) = (Location::Link(id), cx.pool[&packet].header.dst);
        let link = &self.links[id];
        let &Link { from, to, changed, up, .. } = link;
        let crosses = || gets_across(&self.nodes, &self.cells, link, &cx.pool[&packet], cx.now);
        if outcome == TxOutcome::NotReceived {
            cx.lose(packet, DropReason::FrameLoss, place);
        } else if outcome == TxOutcome::RetryLimit && crosses() {
            cx.lose(packet, DropReason::RetryLimit, place);
        } else if !up {
            cx.lose_by(packet, DropReason::LinkDown, place, changed);
        } else {
            let (host, cell) = match to {
                End::Node(base_station) => (Some(from), self.nodes[base_station].serves),
                End::Cell(cell) => (self.nodes.at(dst), Some(cell)),
            };
            let why = host.zip(cell).map(|(host, cell)| self.cells.why_unheard(host, cell, cx));
            cx.lose_by(packet, DropReason::Detached, place, why.unwrap_or(CauseId::START));
        }
    }

    /// Beacons are sent from the start.
    pub fn start_beacons(&mut self, cx: &mut Context) {
        self.links.start_beacons(cx);
    }

    /// The hosts that the base station of a cell has associated; `None`: it knows nothing of association.
    pub fn associations(&mut self, cell: CellId) -> Option<&mut Associations> {
        self.links[self.cells.air(cell)].associations.as_deref_mut()
    }

    /// A host listens on a channel from now on, and sends nothing on another: management frames that wait are
    /// dropped.
    pub fn tune(&mut self, host: NodeId, channel: u32, cx: &mut Context) {
        self.forget_frames(host, cx);
        self.cells.tune(host, channel, cx.now);
    }

    /// A host's management frames that wait are dropped.
    pub fn forget_frames(&mut self, host: NodeId, cx: &mut Context) {
        let is_frame = |packet: &Packet, _: &PacketPool| packet.is_management();
        for uplink in self.cells.uplinks(host) {
            for frame in self.links.take_matching(uplink, false, &is_frame, cx) {
                let cause = cx.current_cause();
                cx.lose_by(frame, DropReason::LinkDown, Location::Link(uplink), cause);
            }
        }
    }

    /// A host that is in a cell sends no data there from now on, or does again.
    pub fn pause(&mut self, host: NodeId, cell: CellId, is_paused: bool, cx: &mut Context) {
        if let Some(uplink) = self.cells.uplink_to(host, cell) {
            self.links.pause(uplink, is_paused, cx);
        }
    }

    /// True if a host that sends no data has no management frame left to send to a cell.
    pub fn is_quiet(&self, host: NodeId, cell: CellId, cx: &Context) -> bool {
        self.cells.uplink_to(host, cell).is_some_and(|uplink| self.links.is_quiet(uplink, cx))
    }

    /// The base station of a cell holds frames for a host from now on.
    pub fn doze(&mut self, cell: CellId, host: Addr, cx: &mut Context) {
        let air = self.cells.air(cell);
        self.links.doze(air, host, cx);
    }

    /// A host is back: the base station of a cell sends the frames that it holds for it.
    pub fn wake(&mut self, cell: CellId, host: Addr, cx: &mut Context) {
        let air = self.cells.air(cell);
        self.links.wake_host(air, host, cx);
    }

    /// True if the base station of a cell holds frames for a host.
    pub fn holds_for(&self, cell: CellId, host: NodeId) -> bool {
        let associations = self.links[self.cells.air(cell)].associations.as_ref();
        associations.is_some_and(|hosts| hosts.power_save.holds_for(self.nodes[host].addr))
    }

    /// True if anything was on the air since then, on the channel of a host.
    pub fn channel_was_busy(&self, host: NodeId, since: Time) -> bool {
        let airs = self.cells.on_channel(host).into_iter().map(|cell| self.cells.air(cell));
        airs.filter_map(|air| self.links.medium_of(air)).any(|medium| self.links.was_busy(medium, since))
    }

    /// Packets that still wait at the base station of a cell for a host that is gone are lost.
    pub fn flush_air(&mut self, cell: CellId, host: Addr, cause: CauseId, cx: &mut Context) {
        let air = self.cells.air(cell);
        let for_host = |packet: &Packet, _: &PacketPool| packet.header.dst == host && !packet.is_management();
        for packet in self.links.take_matching(air, false, &for_host, cx) {
            cx.lose_by(packet, DropReason::Detached, Location::Link(air), cause);
        }
    }

    /// Reason why a packet from a node ends at the base station of a cell: it is from a host that is not associated there,
    /// and no management frame. `None`: the base station takes it.
    pub(super) fn why_refused(
        &self,
        cell: CellId,
        from: NodeId,
        packet: &PacketId,
        cx: &Context,
    ) -> Option<CauseId> {
        let from = &self.nodes[from];
        if !from.is_host() || cx.pool[packet].is_management() {
            return None;
        }
        self.links[self.cells.air(cell)].why_unassociated(from.addr)
    }
}

/// True if a frame whose transmission began at `started` is received: on a downlink by its host, on an uplink
/// from it.
fn gets_across(nodes: &Nodes, cells: &Cells, link: &Link, packet: &Packet, started: Time) -> bool {
    let dst = packet.header.dst;
    if cells.roam() {
        let (host, cell, needs_cell) = match link.to {
            End::Node(base_station) => (Some(link.from), nodes[base_station].serves, false),
            End::Cell(cell) => (nodes.at(dst), Some(cell), !packet.is_management()),
        };
        let ends = host.zip(cell);
        return link.up && ends.is_some_and(|(host, cell)| cells.receives(host, cell, started, needs_cell));
    }
    link.up
        && match link.to {
            End::Node(base_station) => {
                let cell = nodes[base_station].serves;
                !cell.is_some_and(|cell| cells.is_cut_off(link.from, cell, (started, false)))
            }
            End::Cell(cell) => nodes.at(dst).is_some_and(|host| cells.hears(host, cell, started)),
        }
}
