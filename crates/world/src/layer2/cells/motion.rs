//! Moves and measurements of hosts: the changes of the hosts and their cells.

use super::{Backlog, Cells, Measuring};
use crate::context::Context;
use crate::event::Event;
use crate::ids::CellId;
use crate::notices::{PathPhase, PendingNotice};
use roamlab_engine::Time;
use roamlab_packet::Addr;
use roamlab_radio::{Condition, Finding, Motion};
use roamlab_record::HandoverPhase;
use roamlab_record::cause::{Cause, CauseId, Kind};
use roamlab_record::ids::{LinkId, Location, NodeId};

impl Cells {
    /// The next motion of a host's plan, and the cell that it is about; with the row of the causes.
    pub fn next_motion(&mut self, host: NodeId, cx: &mut Context) -> Option<(Motion, CellId, CauseId)> {
        let mobile = self.host_mut(host)?;
        let (_, motion) = mobile.plan[mobile.next_motion];
        mobile.next_motion += 1;
        if let Some(&(next, _)) = mobile.plan.get(mobile.next_motion) {
            cx.scheduler.push(next, Event::Motion { node: host });
        }
        let (Motion::Enter { visit } | Motion::Leave { visit }) = motion;
        if matches!(motion, Motion::Enter { .. }) {
            mobile.visit = visit as u32;
        }
        let cell = mobile.visits[visit];
        let row = cx.add_cause(Cause::root(Kind::Motion).about(Some(Addr::mobile(host.0))));
        Some((motion, cell, row))
    }

    /// A host is to enter a cell at this time. One that it has no uplink to cannot be entered.
    pub fn command(&mut self, host: NodeId, (cell, at): (CellId, Time), cause: CauseId, cx: &mut Context) {
        let Some(mobile) = self.host_mut(host).filter(|mobile| mobile.uplinks.contains_key(&cell)) else {
            return;
        };
        mobile.entering = Some((cell, at, cause));
        cx.scheduler.push(at, Event::Entry { node: host });
    }

    /// The cell that a host has synchronised with by command, unless it has another command by now; and what led to that.
    pub fn commanded(&mut self, host: NodeId, now: Time) -> Option<(CellId, CauseId)> {
        let mobile = self.host_mut(host)?;
        let (cell, _, cause) = mobile.entering.take_if(|(_, at, _)| *at == now)?;
        let heard = |measuring: &Measuring| measuring.meter.hears(cell.0 as usize);
        if !mobile.measuring.as_ref().is_none_or(heard) {
            return None;
        }
        mobile.visit += 1;
        Some((cell, cause))
    }

    /// The cells that a host is in. It goes to none that it was commanded to.
    pub fn stop(&mut self, host: NodeId) -> Vec<CellId> {
        let Some(mobile) = self.host_mut(host) else { return Vec::new() };
        (mobile.entering, mobile.pinned) = (None, None);
        mobile.attachments.clone()
    }

    /// A host is in a cell no more; the uplink that it had there. `None`: it was not in it.
    pub fn detach(&mut self, host: NodeId, cell: CellId) -> Option<Option<LinkId>> {
        let mobile = self.host_mut(host)?;
        let place = mobile.attachments.iter().position(|&present| present == cell)?;
        mobile.attachments.remove(place);
        mobile.serve();
        let uplink = mobile.uplinks.get(&cell).copied();
        self.cells[cell.0 as usize].hosts.retain(|&present| present != host);
        Some(uplink)
    }

    /// A host is in a cell; whether it was already, and the packets that waited for a link.
    pub fn attach(&mut self, host: NodeId, cell: CellId) -> Option<(bool, Backlog)> {
        let mobile = self.host_mut(host)?;
        let stays = mobile.attachments.contains(&cell);
        mobile.attachments.retain(|&present| present != cell);
        mobile.attachments.push(cell);
        mobile.serve();
        let waiting = std::mem::take(&mut mobile.waiting);
        if !stays {
            self.cells[cell.0 as usize].hosts.push(host);
        }
        Some((stays, waiting))
    }

    /// Notes that a host has entered a cell or left one (`left`); the row of the causes of that.
    pub fn note_change(
        &mut self,
        host: NodeId,
        phase: &'static str,
        left: Option<CellId>,
        cx: &mut Context,
    ) -> CauseId {
        let row = self.note(host, phase, host, cx);
        if let Some(mobile) = self.host_mut(host) {
            (mobile.moved, mobile.unheard) = (row, CauseId::NONE);
            // Of 802.11 it is the end of coverage that frames are lost by.
            let left = left.filter(|_| mobile.reception.is_none());
            mobile.left.extend(left.map(|cell| (cell, (cx.now, row))));
        }
        row
    }

    /// A phase of a host's handover, noted at a node; its row among the causes.
    pub fn note(&mut self, host: NodeId, phase: &'static str, node: NodeId, cx: &mut Context) -> CauseId {
        let mobile = self.host(host);
        let led = cx.current_cause();
        let row = Cause::of(Kind::Phase, phase, led).at(Location::Node(node));
        let cause = cx.add_cause(row.about(Some(Addr::mobile(host.0))));
        let visit = mobile.map_or(0, |mobile| mobile.visit);
        let time_ns = cx.now;
        cx.probes.phase(HandoverPhase { time_ns, host, visit, phase, node, cause });
        if visit > 0 && self.notices.awaits(phase) {
            self.notices.push(PendingNotice::Phase(PathPhase { host, at: node, phase, row: cause }));
        }
        cause
    }

    /// True if a node is a host that measures its cells.
    pub fn measures(&self, node: NodeId) -> bool {
        self.host(node).is_some_and(|mobile| mobile.measuring.is_some())
    }

    /// A host's agent wants conditions evaluated; k of the filter is that of all.
    pub fn evaluate(&mut self, host: NodeId, filter_coefficient: u8, conditions: Vec<Condition>) {
        if let Some(measuring) = self.measuring(host) {
            measuring.meter.evaluate(filter_coefficient, conditions);
        }
    }

    /// A host's agent looks for a cell.
    pub fn search(&mut self, host: NodeId) {
        if let Some(measuring) = self.measuring(host) {
            measuring.meter.search();
        }
    }

    /// True if a host could hear a cell at its last measurement.
    pub fn measures_level(&self, host: NodeId, cell: CellId) -> bool {
        let measuring = self.host(host).and_then(|mobile| mobile.measuring.as_ref());
        measuring.is_some_and(|measuring| measuring.meter.hears(cell.0 as usize))
    }

    /// A host measures its cells; what that reveals.
    pub fn measure(&mut self, host: NodeId, cx: &mut Context) -> Vec<Finding> {
        let Some(measuring) = self.measuring(host) else { return Vec::new() };
        let levels = measuring.signal.levels(cx.now);
        measuring.meter.locate(measuring.signal.place(cx.now));
        let findings = measuring.meter.sample(cx.now, &levels);
        cx.scheduler.push(cx.now + measuring.period, Event::Measurement { node: host });
        findings
    }

    fn measuring(&mut self, host: NodeId) -> Option<&mut Measuring> {
        self.host_mut(host)?.measuring.as_mut()
    }
}
