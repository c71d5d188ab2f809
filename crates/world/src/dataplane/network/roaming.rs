//! The network's part of roaming with 802.11: management frames, and base stations that have a list of their hosts.

use super::{AirReport, Network};
use crate::context::Context;
use crate::dataplane::link::{End, Link, Settled};
use crate::ids::CellId;
use roamlab_engine::Time;
use roamlab_packet::{Addr, DropReason, Packet, PacketId, PacketPool};
use roamlab_record::cause::CauseId;
use roamlab_record::ids::{LinkId, Location, NodeId};

impl Network {
    /// Reports to layer 2 from an outcome at a station; `started`: when its transmission began.
    pub(super) fn air_report(
        &mut self,
        link: LinkId,
        settled: &Settled,
        started: Time,
        cx: &Context,
    ) -> Option<AirReport> {
        let from = self.links[link].from;
        match (self.cell_of(from), settled) {
            (Some(cell), Settled::Beacon) => Some(AirReport::Beacon(cell, started)),
            (Some(cell), Settled::Received(host, _)) => Some(AirReport::Acknowledged(cell, *host)),
            (Some(cell), Settled::Lost(packet, _)) if !cx.pool[packet].is_management() => {
                let host = cx.pool[packet].header.dst;
                self.links.fail(link, host).then_some(AirReport::GivenUp(cell, host))
            }
            (None, Settled::Received(_, true)) => Some(AirReport::HostSent(from, true)),
            (None, Settled::Received(_, false)) => Some(AirReport::Attempt(from, true)),
            (None, Settled::Lost(packet, _)) if cx.pool[packet].is_management() => {
                Some(AirReport::HostSent(from, false))
            }
            (None, Settled::Unanswered(false) | Settled::Lost(..)) => Some(AirReport::Attempt(from, false)),
            _ => None,
        }
    }

    /// Where hosts roam, beacons are sent from the start.
    pub fn start_beacons(&mut self, cx: &mut Context) {
        if self.cells.roam() {
            self.links.start_beacons(cx);
        }
    }

    /// The link that a management frame takes: a host's to a cell's base station, or the other way.
    pub fn frame_link(&self, from: NodeId, host: NodeId, cell: CellId) -> Option<LinkId> {
        if from == host { self.cells.uplink_to(host, cell) } else { Some(self.cells.air(cell)) }
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

    /// True if anything was on the air, on the channel of a host, since it has sent its probe requests.
    pub fn channel_was_busy(&self, host: NodeId) -> bool {
        let since = self.cells.probed_since(host);
        let airs = self.cells.on_channel(host).into_iter().map(|cell| self.cells.air(cell));
        airs.filter_map(|air| self.links.medium_of(air)).any(|medium| self.links.was_busy(medium, since))
    }

    /// The base station of a cell has associated a host.
    pub fn admit(&mut self, cell: CellId, host: Addr, cx: &Context) {
        self.links.admit(self.cells.air(cell), host, cx.now);
    }

    /// The base station of a cell has a sign of life of a host.
    pub fn see(&mut self, cell: CellId, host: Addr, cx: &Context) {
        self.links.see(self.cells.air(cell), host, cx.now);
    }

    /// Reason why a cell's base station has not associated a host; `None`: it has.
    pub fn stranger(&self, cell: CellId, host: Addr) -> Option<CauseId> {
        self.links.stranger(self.cells.air(cell), host)
    }

    /// The base station of a cell takes a host as gone, for the reason in the row `cause`.
    pub fn dismiss(&mut self, cell: CellId, host: Addr, cause: CauseId) {
        self.links.dismiss(self.cells.air(cell), host, cause);
    }

    /// Packets that still wait at the base station of a cell for a host that is gone are lost.
    pub fn flush_air(&mut self, cell: CellId, host: Addr, cause: CauseId, cx: &mut Context) {
        let air = self.cells.air(cell);
        let for_host = |packet: &Packet, _: &PacketPool| packet.header.dst == host && !packet.is_management();
        for packet in self.links.take_matching(air, false, &for_host, cx) {
            cx.lose_by(packet, DropReason::Detached, Location::Link(air), cause);
        }
    }

    /// Hosts that have been silent for too long at the base station of a cell, and when to look for such again.
    pub fn silent(&mut self, cell: CellId, now: Time) -> (Vec<Addr>, Option<Time>) {
        self.links.silent(self.cells.air(cell), now)
    }

    /// True if a packet at a base station is from a host that it has not associated. Management frames may
    /// be.
    pub(super) fn is_stranger(
        &self,
        cell: Option<CellId>,
        from: NodeId,
        packet: &PacketId,
        cx: &Context,
    ) -> bool {
        let from = &self.nodes[from];
        let is_refused = |cell: CellId| from.is_host() && self.stranger(cell, from.addr).is_some();
        !cx.pool[packet].is_management() && cell.is_some_and(is_refused)
    }

    /// Loses a packet that a base station does not take over an uplink, from a host that it has not associated: the base
    /// station's cell, the host, and what led to that.
    pub fn refuse(
        &self,
        uplink: LinkId,
        packet: PacketId,
        cx: &mut Context,
    ) -> Option<(CellId, NodeId, CauseId)> {
        let Link { from, to, .. } = self.links[uplink];
        let End::Node(base_station) = to else { return None };
        let cell = self.cell_of(base_station)?;
        let cause = self.stranger(cell, self.nodes[from].addr).unwrap_or(CauseId::START);
        cx.lose_by(packet, DropReason::Detached, Location::Node(base_station), cause);
        Some((cell, from, cause))
    }
}
