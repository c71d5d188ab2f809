//! Cells, and the hosts that move between them: the cells of each host, and which stations receive from each other.
//! Other parts determine the effects on packets and agents.

use crate::context::Context;
use crate::event::Event;
use crate::ids::CellId;
use crate::notices::Notices;
use roamlab_engine::{Duration, Time};
use roamlab_packet::{Addr, DropReason, PacketId, Received, Waiting};
use roamlab_radio::{InFlightAtBreak, RadioSpec, UplinkChoice};
use roamlab_record::cause::{Cause, CauseId, Kind};
use roamlab_record::ids::{LinkId, Location, NodeId};
use std::collections::{BTreeSet, VecDeque};

mod coverage;
mod host;
mod motion;
mod numbered;

pub use host::{Backlog, Measuring, Mobile};

/// A cell: a base station, its air link and the hosts that hear it.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Its name, which is its base station's.
    pub name: String,
    /// Its downlink.
    pub air: LinkId,
    /// Its base station's node.
    pub base_station: NodeId,
    /// (802.11) its channel, and the time between its beacons.
    channel: u32,
    beacon_interval: Duration,
    /// (802.11) the hosts in its coverage.
    covers: BTreeSet<NodeId>,
    hosts: Vec<NodeId>,
}

impl Cell {
    /// An empty cell.
    pub fn new(name: String, air: LinkId, base_station: NodeId) -> Cell {
        let (channel, beacon_interval) = (0, Duration::ZERO);
        let (covers, hosts) = (BTreeSet::new(), Vec::new());
        Cell { name, air, base_station, channel, beacon_interval, covers, hosts }
    }

    /// The same with a channel and beacons.
    #[must_use]
    pub fn on_channel(self, channel: u32, beacon_interval: Duration) -> Cell {
        Cell { channel, beacon_interval, ..self }
    }
}

/// All cells and all mobile hosts.
#[derive(Clone, Debug)]
pub struct Cells {
    cells: Vec<Cell>,
    /// The mobile hosts, by their nodes.
    hosts: Vec<Option<Box<Mobile>>>,
    /// Packets in flight when a host leaves its cell still arrive.
    in_flight_survives: bool,
    /// Hosts roam with 802.11; else layer 2 knows where they are.
    roam: bool,
    /// Notices to flows of their hosts.
    notices: Notices,
}

impl Cells {
    /// Cells that are still empty, and the mobile hosts by their nodes.
    pub fn new(cells: Vec<Cell>, hosts: Vec<Option<Box<Mobile>>>, radio: &RadioSpec) -> Cells {
        let in_flight_survives = radio.in_flight_at_break() == InFlightAtBreak::Delivered;
        let (roam, notices) = (radio.roaming().is_some(), Notices::default());
        Cells { cells, hosts, in_flight_survives, roam, notices }
    }

    /// Notices to flows of their hosts.
    #[inline]
    pub fn notices(&mut self) -> &mut Notices {
        &mut self.notices
    }

    /// Schedules the first motion and measurement of every host.
    pub fn start(&self, cx: &mut Context) {
        for (id, host) in self.hosts.iter().enumerate() {
            let Some(host) = host else { continue };
            let Some(&(time, _)) = host.plan.first() else { continue };
            cx.scheduler.push(time, Event::Motion { node: NodeId(id as u32) });
            if host.measuring.is_some() {
                cx.scheduler.push(time, Event::Measurement { node: NodeId(id as u32) });
            }
        }
    }

    /// A cell's downlink.
    pub fn air(&self, cell: CellId) -> LinkId {
        self.cells[cell.0 as usize].air
    }

    /// A cell's base station.
    pub fn base_station(&self, cell: CellId) -> NodeId {
        self.cells[cell.0 as usize].base_station
    }

    /// Packets in flight when a host leaves its cell still arrive.
    pub fn in_flight_survives(&self) -> bool {
        self.in_flight_survives
    }

    /// How many hosts are in a cell.
    pub fn count_in(&self, cell: CellId) -> usize {
        self.cells[cell.0 as usize].hosts.len()
    }

    /// One of the hosts in a cell, in the order in which they came, if it can hear the cell; and its last change of cells.
    pub fn hearer(&self, cell: CellId, index: usize) -> Option<(NodeId, CauseId)> {
        let host = *self.cells[cell.0 as usize].hosts.get(index)?;
        let mobile = self.host(host).filter(|mobile| mobile.is_in(cell))?;
        let is_covered = mobile.reception.as_ref().is_none_or(|reception| reception.is_covered(cell.0));
        is_covered.then_some((host, mobile.moved))
    }

    /// True if a packet whose transmission in the cell began at `started` gets across between it and the
    /// host. With 802.11 the medium has decided that when the frame ended.
    #[inline]
    pub fn hears(&self, host: NodeId, cell: CellId, started: Time) -> bool {
        let Some(mobile) = self.host(host) else { return false };
        let just_left = |(at, _): &(Time, CauseId)| self.in_flight_survives && started < *at;
        mobile.is_in(cell) || mobile.reception.is_some() || mobile.left.get(&cell).is_some_and(just_left)
    }

    /// True if a packet on an uplink, whose transmission began at `started`, was cut off when its host left,
    /// or its host is out of hearing. With 802.11 the medium has decided that, except for frames without
    /// acknowledgement (`for_all`).
    #[inline(always)]
    pub fn is_cut_off(&self, host: NodeId, cell: CellId, (started, for_all): (Time, bool)) -> bool {
        match self.host(host) {
            Some(mobile) if !mobile.is_in(cell) => {
                self.is_cut_off_outside(mobile, (host, cell), (started, for_all))
            }
            _ => false,
        }
    }

    /// The same of a host that is not in the cell, or cannot hear it.
    #[inline(never)]
    fn is_cut_off_outside(
        &self,
        mobile: &Mobile,
        (host, cell): (NodeId, CellId),
        (started, for_all): (Time, bool),
    ) -> bool {
        if mobile.reception.is_some() {
            return for_all && !self.receives(host, cell, started, false);
        }
        let gone = !mobile.attachments.contains(&cell);
        let survives = gone && self.in_flight_survives;
        !survives && !self.hears(host, cell, started)
    }

    /// Cause of the loss of a packet between a host and a cell: the host has moved, or cannot hear the cell
    /// it is in.
    pub fn why_unheard(&mut self, host: NodeId, cell: CellId, cx: &mut Context) -> CauseId {
        let Some(mobile) = self.host_mut(host) else { return CauseId::START };
        if let Some(reception) = &mobile.reception {
            let left = mobile.left.get(&cell).filter(|_| !reception.is_covered(cell.0));
            return left.map_or(mobile.moved, |&(_, row)| row).or(|| CauseId::START);
        }
        if !mobile.attachments.contains(&cell) {
            return mobile.left.get(&cell).map_or(mobile.moved, |&(_, row)| row).or(|| CauseId::START);
        }
        if mobile.unheard == CauseId::NONE {
            mobile.unheard = cx.add_cause(Cause::root(Kind::OutOfRange).about(Some(Addr::mobile(host.0))));
        }
        mobile.unheard
    }

    /// The row of the causes of a node's last change of cells; none, if it is no mobile host or was in none.
    pub fn last_change(&self, node: NodeId) -> CauseId {
        self.host(node).map_or(CauseId::NONE, |mobile| mobile.moved)
    }

    /// The same of the host with this address; the start, if there was none.
    pub fn moved(&self, host: Addr) -> CauseId {
        self.at(host).map_or(CauseId::NONE, |mobile| mobile.moved).or(|| CauseId::START)
    }

    /// True if a host is in a cell, whether it hears it or not.
    pub fn has(&self, host: NodeId, cell: CellId) -> bool {
        self.host(host).is_some_and(|mobile| mobile.attachments.contains(&cell))
    }

    /// The cell that a host has entered last, if it is in any.
    pub fn newest_cell(&self, host: Addr) -> Option<CellId> {
        self.at(host)?.newest_cell()
    }

    /// A host's layer 2 drops packets that it has got already, from now on.
    pub fn drop_duplicates(&mut self, host: NodeId) {
        if let Some(mobile) = self.host_mut(host) {
            mobile.drops_duplicates = true;
        }
    }

    /// True if a host's layer 2 drops a packet, of which this is the number of the first copy, because it has
    /// got it already.
    #[inline]
    pub fn is_duplicate(&mut self, host: NodeId, original: u64) -> bool {
        let mobile = self.host_mut(host).filter(|mobile| mobile.drops_duplicates);
        mobile.is_some_and(|mobile| !mobile.is_new(original))
    }

    /// Which packets a host's layer 2 has got, by the number of the first copy; `None`: the node is no mobile host.
    pub fn received(&self, node: NodeId) -> Option<Received> {
        self.host(node).map(|mobile| Received::Serials(mobile.received.clone()))
    }

    /// The uplink that a host's packets take.
    #[inline]
    pub fn uplink(&self, host: NodeId) -> Option<LinkId> {
        self.host(host)?.uplink
    }

    /// The uplink that a host's packets take, if no copies of them take others.
    #[inline]
    pub fn only_uplink(&self, host: NodeId) -> Option<LinkId> {
        self.host(host)?.only_uplink
    }

    /// True if a host sends copies of its packets on further uplinks while it is in several cells.
    #[inline]
    pub fn sends_copies(&self, host: NodeId) -> bool {
        self.host(host).is_some_and(|mobile| mobile.uplink_choice == UplinkChoice::All)
    }

    /// The uplinks that copies of a host's packets take, in addition to [`uplink`](Self::uplink).
    pub fn copy_uplinks(&self, host: NodeId) -> Vec<LinkId> {
        self.host(host).map(Mobile::copy_uplinks).unwrap_or_default()
    }

    /// Which link a host sends on while it is in several cells; `None`: it is in none, or the node is no mobile host.
    pub fn uplink_choice(&self, host: NodeId) -> Option<UplinkChoice> {
        self.host(host).filter(|mobile| !mobile.attachments.is_empty()).map(|mobile| mobile.uplink_choice)
    }

    /// A host's packet waits for a link, unless too many do.
    pub fn wait(&mut self, host: NodeId, packet: PacketId, cx: &mut Context) {
        match self.host_mut(host) {
            Some(mobile) if mobile.waiting.len() < Mobile::WAITING_LIMIT => {
                mobile.waiting.since.push_back(packet.into())
            }
            _ => {
                let cause = self.last_change(host).or(|| CauseId::START);
                cx.lose_by(packet, DropReason::LinkDown, Location::Node(host), cause);
            }
        }
    }

    /// Packets that waited for a link which is gone wait for another, however many: those of its queue, and the signalling
    /// that overtook them.
    pub fn wait_on(&mut self, host: NodeId, queued: Vec<PacketId>, overtaking: VecDeque<Waiting>) {
        if let Some(Mobile { waiting, .. }) = self.host_mut(host) {
            waiting.queued.extend(queued.into_iter().map(Waiting::from));
            waiting.overtaking.extend(overtaking);
        }
    }

    /// True if the packet with this number waits for a link at a host.
    pub fn waits(&self, host: NodeId, serial: u64, cx: &Context) -> bool {
        let mut waiting = self.host(host).into_iter().flat_map(|mobile| mobile.waiting.iter());
        waiting.any(|packet| cx.pool[packet].serial == serial)
    }

    /// How many packets wait for a link, at all hosts.
    pub fn packets_waiting(&self) -> usize {
        self.hosts.iter().flatten().map(|mobile| mobile.waiting.len()).sum()
    }

    fn at(&self, host: Addr) -> Option<&Mobile> {
        self.host(NodeId(host.number() as u32)).filter(|_| host.is_mobile())
    }

    #[inline]
    fn host(&self, node: NodeId) -> Option<&Mobile> {
        self.hosts.get(node.0 as usize)?.as_deref()
    }

    fn host_mut(&mut self, node: NodeId) -> Option<&mut Mobile> {
        self.hosts.get_mut(node.0 as usize)?.as_deref_mut()
    }
}
