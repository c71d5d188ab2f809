//! Frames on a medium: who is there to receive them, and why they are lost.

use crate::cause::CauseId;
use crate::ids::{LinkId, Location};
use crate::link::{End, Link};
use crate::world::World;
use roamlab_engine::Time;
use roamlab_packet::{Addr, DropReason, PacketId};
use roamlab_radio::Loss;

impl World {
    /// A medium's deadline may have come.
    pub(crate) fn medium_wake(&mut self, medium: u32) {
        self.links.wake(medium, self.cx.now);
        loop {
            // The links ask the nodes, and stand aside for it.
            let mut links = std::mem::take(&mut self.links);
            let gets_across = |link: &Link, dst: Addr, started: Time| self.gets_across(link, dst, started);
            let outcome = links.decide(medium, &self.cx, &gets_across);
            self.links = links;
            let Some(outcome) = outcome else { break };
            let link = LinkId(outcome.station);
            if let Some((packet, loss)) = self.links.take_outcome(outcome, &mut self.cx) {
                self.lose_on_air(link, packet, loss);
            }
        }
        self.links.rest(medium, &mut self.cx);
    }

    /// Whether a frame whose transmission began at `started` is received: on a downlink by its host, on an uplink from it.
    fn gets_across(&self, link: &Link, dst: Addr, started: Time) -> bool {
        link.up
            && match link.to {
                End::Node(base_station) => !self.is_cut_off(link.from, base_station, started),
                End::Cell(cell) => self.node_at(dst).is_some_and(|host| self.hears(host, cell, started)),
            }
    }

    /// A medium has given a packet up. One that was sent again and again to a host that is gone, or from one, is lost
    /// because of that.
    fn lose_on_air(&mut self, id: LinkId, packet: PacketId, loss: Loss) {
        let (place, dst) = (Location::Link(id), self.cx.pool[&packet].header.dst);
        let Link { from, to, changed, up, .. } = self.links[id];
        let reason = match loss {
            Loss::RetryLimit => DropReason::RetryLimit,
            Loss::OnAir | Loss::GivenUp => DropReason::FrameLoss,
        };
        if loss == Loss::OnAir || self.gets_across(&self.links[id], dst, self.cx.now) {
            self.cx.lose(packet, reason, place);
        } else if !up {
            self.cx.lose_by(packet, DropReason::LinkDown, place, changed);
        } else {
            let (host, cell) = match to {
                End::Node(base_station) => (Some(from), self.nodes[base_station.0 as usize].serves),
                End::Cell(cell) => (self.node_at(dst), Some(cell)),
            };
            let why = host.zip(cell).map(|(host, cell)| self.why_unheard(host, cell));
            self.cx.lose_by(packet, DropReason::Detached, place, why.unwrap_or(CauseId::START));
        }
        if matches!(to, End::Cell(_)) && !self.nodes[from.0 as usize].draining.is_empty() {
            self.look_for_drained(from, dst);
        }
    }
}
