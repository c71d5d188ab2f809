//! Hosts move: as their plan says, or as their agents command.

use crate::cause::{Cause, CauseId, Kind, Led};
use crate::event::Event;
use crate::ids::{CellId, Location, NodeId};
use crate::node::{Measuring, Mobile};
use crate::world::World;
use roamlab_engine::Duration;
use roamlab_mobility::{EventA3, Input, L2Trigger, Prediction};
use roamlab_packet::{Addr, DropReason, PacketId};
use roamlab_radio::{A3, Finding, Motion, UplinkChoice};

impl World {
    /// The next motion of a host's plan.
    pub(crate) fn move_host(&mut self, node: NodeId) {
        let Some(mobile) = &mut self.nodes[node.0 as usize].mobile else { return };
        let (_, motion) = mobile.plan[mobile.next_motion];
        mobile.next_motion += 1;
        if let Some(&(next, _)) = mobile.plan.get(mobile.next_motion) {
            self.cx.scheduler.push(next, Event::Motion { node });
        }
        let (Motion::Enter { visit } | Motion::Leave { visit }) = motion;
        let cell = mobile.visits[visit];
        if matches!(motion, Motion::Enter { .. }) {
            mobile.visit = visit as u32;
        }
        let host = self.nodes[node.0 as usize].addr;
        let led = Led::By(self.cx.add_cause(Cause::root(Kind::Motion).about(Some(host))));
        self.because(led, |world| match motion {
            Motion::Leave { .. } => world.leave(node, cell),
            Motion::Enter { .. } => world.enter(node, cell),
        });
    }

    /// The host's agent wants it in a cell.
    pub(crate) fn command_entry(&mut self, node: NodeId, base_station: Addr, after: Duration) {
        let cause = self.cx.led();
        let cell = self.node_at(base_station).and_then(|station| self.nodes[station.0 as usize].serves);
        self.leave_all(node);
        let (Some(cell), Some(mobile)) = (cell, &mut self.nodes[node.0 as usize].mobile) else { return };
        if mobile.uplinks.contains_key(&cell) {
            let at = self.cx.now + after;
            mobile.entering = Some((cell, at, cause));
            self.cx.scheduler.push(at, Event::Entry { node });
        }
    }

    /// The host has synchronised with the cell that its agent wants it in, unless it has another command by now.
    pub(crate) fn commanded_entry(&mut self, node: NodeId) {
        let Some(mobile) = &mut self.nodes[node.0 as usize].mobile else { return };
        let Some((cell, _, cause)) = mobile.entering.take_if(|(_, at, _)| *at == self.cx.now) else { return };
        let heard = |measuring: &Measuring| measuring.meter.hears(cell.0 as usize);
        if mobile.measuring.as_ref().is_none_or(heard) {
            mobile.visit += 1;
            self.because(Led::By(cause), |world| world.enter(node, cell));
        }
    }

    /// The host's agent wants an event evaluated.
    pub(crate) fn evaluate(&mut self, node: NodeId, event: EventA3) {
        let EventA3 { offset_db, hysteresis_db, time_to_trigger, filter_coefficient, report_interval } =
            event;
        if let Some(measuring) = self.measuring(node) {
            let event = A3 { offset_db, hysteresis_db, time_to_trigger, filter_coefficient, report_interval };
            measuring.meter.evaluate(event);
        }
    }

    /// The host's agent looks for a cell.
    pub(crate) fn search(&mut self, node: NodeId) {
        if let Some(measuring) = self.measuring(node) {
            measuring.meter.search();
        }
    }

    /// Whether a node is a host that measures its cells.
    pub(crate) fn measures(&self, node: NodeId) -> bool {
        self.nodes[node.0 as usize].mobile.as_ref().is_some_and(|mobile| mobile.measuring.is_some())
    }

    fn measuring(&mut self, node: NodeId) -> Option<&mut Measuring> {
        self.nodes[node.0 as usize].mobile.as_mut()?.measuring.as_mut()
    }

    /// The host measures its cells, and its agent learns what that reveals.
    pub(crate) fn measure(&mut self, node: NodeId) {
        let now = self.cx.now;
        let Some(measuring) = self.measuring(node) else { return };
        let levels = measuring.signal.levels(now);
        let findings = measuring.meter.sample(now, &levels);
        let next = now + measuring.period;
        self.cx.scheduler.push(next, Event::Measurement { node });
        let host = self.nodes[node.0 as usize].addr;
        for finding in findings {
            let (phase, trigger) = match finding {
                Finding::Better(cell) => {
                    ("neighbour-better", L2Trigger::NeighbourBetter { base_station: self.address_of(cell) })
                }
                Finding::RadioLinkFailure => ("radio-link-failure", L2Trigger::RadioLinkFailure),
                Finding::Found(cell) => {
                    ("cell-found", L2Trigger::CellFound { base_station: self.address_of(cell) })
                }
            };
            let root = self.cx.add_cause(Cause::root(Kind::Measurement).about(Some(host)));
            self.because(Led::By(root), |world| {
                let phase = world.note(host, phase, node);
                world.because(Led::By(phase), |world| world.tell(node, host, &Input::Trigger(trigger)));
            });
        }
    }

    /// The base station that has a host, if one has, is told where the host is expected.
    pub(crate) fn predict(&mut self, number: u32) {
        let Prediction { host, base_station, .. } = self.predictions[number as usize];
        let mobile = self.node_at(host).and_then(|node| self.nodes[node.0 as usize].mobile.as_deref());
        let Some(cell) = mobile.and_then(Mobile::newest_cell) else { return };
        let trigger = L2Trigger::HandoverPredicted { host, base_station };
        let base_station = self.cells[cell.0 as usize].base_station;
        let row = Cause::root(Kind::Prediction).at(Location::Node(base_station)).about(Some(host));
        let led = Led::By(self.cx.add_cause(row));
        self.because(led, |world| world.tell(base_station, host, &Input::Trigger(trigger)));
    }

    /// The address of a cell's base station.
    fn address_of(&self, cell: usize) -> Addr {
        self.nodes[self.cells[cell].base_station.0 as usize].addr
    }

    /// The host leaves all cells, and goes to none that its agent has sent it to.
    pub(crate) fn leave_all(&mut self, node: NodeId) {
        let Some(mobile) = &mut self.nodes[node.0 as usize].mobile else { return };
        mobile.entering = None;
        for cell in mobile.attachments.clone() {
            self.leave(node, cell);
        }
    }

    /// The host leaves a cell. Its packets that wait for the link there take another, or wait for one.
    fn leave(&mut self, node: NodeId, cell: CellId) {
        let state = &mut self.nodes[node.0 as usize];
        let (host, Some(mobile)) = (state.addr, &mut state.mobile) else { return };
        let Some(place) = mobile.attachments.iter().position(|&present| present == cell) else { return };
        mobile.attachments.remove(place);
        let serving = mobile.newest_cell().map(|cell| cell.0 as usize);
        if let Some(measuring) = &mut mobile.measuring {
            measuring.meter.serve(serving);
        }
        if let Some(&uplink) = mobile.uplinks.get(&cell) {
            let waiting = self.links.take_matching(uplink, false, &|_, _| true, &mut self.cx);
            self.move_waiting(node, waiting);
        }
        let state = &mut self.cells[cell.0 as usize];
        state.hosts.retain(|&present| present != node);
        let base_station = state.base_station;
        let address = self.address_of(cell.0 as usize);
        let phase = self.changes_cells(host, "link-down", node);
        if let Some(mobile) = &mut self.nodes[node.0 as usize].mobile {
            mobile.left.insert(cell, (self.cx.now, phase));
        }
        self.because(Led::By(phase), |world| {
            world.tell(node, host, &Input::Trigger(L2Trigger::LinkDown { base_station: address }));
            world.tell(base_station, host, &Input::Trigger(L2Trigger::HostGone { host }));
        });
    }

    /// Notes that a host has left or entered a cell; the row of the causes that says so.
    fn changes_cells(&mut self, host: Addr, phase: &'static str, node: NodeId) -> CauseId {
        let phase = self.note(host, phase, node);
        if let Some(mobile) = &mut self.nodes[node.0 as usize].mobile {
            (mobile.moved, mobile.unheard) = (phase, CauseId::NONE);
        }
        phase
    }

    /// What led to the loss of a packet between a host and a cell: the host has moved, or cannot hear the cell it is in.
    pub(crate) fn why_unheard(&mut self, host: NodeId, cell: CellId) -> CauseId {
        let state = &self.nodes[host.0 as usize];
        let (addr, Some(mobile)) = (state.addr, &state.mobile) else { return CauseId::START };
        if !mobile.attachments.contains(&cell) {
            return mobile.left.get(&cell).map_or(mobile.moved, |&(_, row)| row).or(|| CauseId::START);
        }
        if mobile.unheard != CauseId::NONE {
            return mobile.unheard;
        }
        let row = self.cx.add_cause(Cause::root(Kind::OutOfRange).about(Some(addr)));
        if let Some(mobile) = &mut self.nodes[host.0 as usize].mobile {
            mobile.unheard = row;
        }
        row
    }

    /// The row of the causes of a host's last change of cells; the start, if it is no mobile host or was in none.
    pub(crate) fn moved(&self, host: Addr) -> CauseId {
        let mobile = self.node_at(host).and_then(|node| self.nodes[node.0 as usize].mobile.as_ref());
        mobile.map_or(CauseId::NONE, |mobile| mobile.moved).or(|| CauseId::START)
    }

    /// What became of packets that waited for an uplink of the host which is gone.
    fn move_waiting(&mut self, node: NodeId, packets: Vec<PacketId>) {
        let Some(mobile) = &mut self.nodes[node.0 as usize].mobile else { return };
        match (mobile.newest_cell(), mobile.uplink_choice) {
            (None, _) => mobile.waiting.extend(packets),
            // There are copies of them on the other links.
            (Some(_), UplinkChoice::All) => {
                for packet in packets {
                    self.cx.lose(packet, DropReason::CopyReleased, Location::Node(node));
                }
            }
            (Some(_), UplinkChoice::Newest | UplinkChoice::Oldest) => {
                packets.into_iter().for_each(|packet| self.send_uplink(node, packet));
            }
        }
    }

    /// The host enters a cell, or turns back to one that it is in still: its layer 2 reports either, and the base
    /// station's only the first.
    pub(crate) fn enter(&mut self, node: NodeId, cell: CellId) {
        let state = &mut self.nodes[node.0 as usize];
        let (host, Some(mobile)) = (state.addr, &mut state.mobile) else { return };
        let stays = mobile.attachments.contains(&cell);
        mobile.attachments.retain(|&present| present != cell);
        mobile.attachments.push(cell);
        if let Some(measuring) = &mut mobile.measuring {
            measuring.meter.serve(Some(cell.0 as usize));
        }
        let waiting = std::mem::take(&mut mobile.waiting);
        let state = &mut self.cells[cell.0 as usize];
        if !stays {
            state.hosts.push(node);
        }
        let base_station = state.base_station;
        let address = self.address_of(cell.0 as usize);
        let phase = self.changes_cells(host, "link-up", node);
        for packet in waiting {
            self.send_uplink(node, packet);
        }
        self.because(Led::By(phase), |world| {
            if !stays {
                world.tell(base_station, host, &Input::Trigger(L2Trigger::HostArrived { host }));
            }
            world.tell(node, host, &Input::Trigger(L2Trigger::LinkUp { base_station: address }));
        });
    }
}

#[cfg(test)]
mod tests;
