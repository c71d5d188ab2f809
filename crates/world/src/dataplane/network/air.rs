//! Frames on a medium: their receivers, and the reasons of losses.

use super::{AirReport, Network};
use crate::context::Context;
use crate::dataplane::link::{End, Link, Settled};
use crate::dataplane::node::Nodes;
use crate::layer2::cells::Cells;
use roamlab_engine::Time;
use roamlab_packet::{Addr, DropReason, Packet, PacketId};
use roamlab_radio::Loss;
use roamlab_record::cause::CauseId;
use roamlab_record::ids::{LinkId, Location, NodeId};

/// Decisions of a medium.
#[derive(Copy, Clone, Debug)]
pub struct Decided {
    /// Of a packet that is lost by it: where its link begins, and who it is for.
    pub lost: Option<(NodeId, Addr)>,
    /// Reports for the layer 2 of roaming hosts.
    pub air: Option<AirReport>,
}

impl Network {
    /// A medium's deadline may have come: [`decide`](Self::decide) is to be asked until there is nothing, then
    /// [`rest`](Self::rest).
    pub fn wake_medium(&mut self, medium: u32, now: Time) {
        self.links.wake(medium, now);
    }

    /// Lets one thing happen that a medium has decided, if there is one.
    pub fn decide(&mut self, medium: u32, cx: &mut Context) -> Option<Decided> {
        let Network { links, nodes, cells, .. } = self;
        let gets_across =
            |link: &Link, packet: &Packet, started: Time| gets_across(nodes, cells, link, packet, started);
        let outcome = links.decide(medium, cx, &gets_across)?;
        let (link, started) = (LinkId(outcome.station), outcome.started);
        let settled = self.links.take_outcome(outcome, cx);
        let air = if self.cells.roam() { self.air_report(link, &settled, started, cx) } else { None };
        let lost = match settled {
            Settled::Lost(packet, loss) => Some(self.lose_on_air(link, packet, loss, cx)),
            _ => None,
        };
        Some(Decided { lost, air })
    }

    /// A medium has decided all that it can now.
    pub fn rest(&mut self, medium: u32, cx: &mut Context) {
        self.links.rest(medium, cx);
    }

    /// A medium has given a packet up. One that was sent again and again to a host that is gone, or from one, is lost
    /// because of that, though the host may be back by now.
    fn lose_on_air(&mut self, id: LinkId, packet: PacketId, loss: Loss, cx: &mut Context) -> (NodeId, Addr) {
        let (place, dst) = (Location::Link(id), cx.pool[&packet].header.dst);
        let link = &self.links[id];
        let &Link { from, to, changed, up, .. } = link;
        let crosses = || gets_across(&self.nodes, &self.cells, link, &cx.pool[&packet], cx.now);
        if loss == Loss::OnAir {
            cx.lose(packet, DropReason::FrameLoss, place);
        } else if loss == Loss::RetryLimit && crosses() {
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
        (from, dst)
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
