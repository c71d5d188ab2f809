//! Nodes: routers, base stations, hosts.

use crate::buffer::HostBuffer;
use crate::cause::CauseId;
use crate::ids::{CellId, DomainId, LinkId, NodeId, Slot};
use crate::route::RouteTable;
use roamlab_engine::{Duration, Time};
use roamlab_mobility::{Buffering, MobilityAgent};
use roamlab_packet::{Addr, PacketId};
use roamlab_radio::{Meter, Motion, Signal, UplinkChoice};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A mobility agent at a node.
#[derive(Debug)]
pub struct Resident {
    /// The domain that it belongs to.
    pub domain: DomainId,
    /// The agent.
    pub agent: MobilityAgent,
    /// The buffers that it has at this node.
    pub buffering: Option<Buffering>,
    /// It is told of data that hosts of its domain send through this node.
    pub watches_uplink: bool,
    /// What set its pending deadlines.
    pub timers: BTreeMap<Time, SetBy>,
}

/// What set a deadline of an agent.
#[derive(Copy, Clone, Debug)]
pub struct SetBy {
    /// What led to it; for one that another deadline set, what led to that one.
    pub cause: CauseId,
    /// What led to the messages that the agent sent when it set it.
    pub sent_by: CauseId,
}

/// A node.
#[derive(Debug)]
pub struct Node {
    /// Its name in the scenario.
    pub name: String,
    /// Its address; a mobile host's is its home address.
    pub addr: Addr,
    /// Its routes.
    pub routes: RouteTable,
    /// Links to adjacent nodes, by their address.
    pub neighbours: BTreeMap<Addr, LinkId>,
    /// Its mobility agents, those of a domain side by side.
    pub agents: Vec<Resident>,
    /// When the agents' pending wake-ups are due, the earliest last.
    pub agent_armed: Vec<Time>,
    /// Some agent here watches the uplink.
    pub watches_uplink: bool,
    /// Base stations hang off it.
    pub is_access_router: bool,
    /// (Base station) its cell.
    pub serves: Option<CellId>,
    /// Buffers of its agents.
    pub buffers: BTreeMap<Served, HostBuffer>,
    /// (Base station) hosts of which an agent wants to know when nothing is left for them on the air, with
    /// what led to that.
    pub draining: BTreeMap<Served, CauseId>,
    /// (Mobile host) how it moves.
    pub mobile: Option<Box<Mobile>>,
}

impl Node {
    /// Whether packets that come to it, or that it sends, need more than the shortest path.
    pub fn is_special(&self) -> bool {
        !self.agents.is_empty() || self.mobile.is_some() || self.is_access()
    }

    /// Whether it belongs to the access network, whose marks are believed.
    pub fn is_access(&self) -> bool {
        self.is_access_router || self.serves.is_some()
    }

    /// The buffer of a host, made if there is none; `None`: its agent has asked for no buffers.
    pub fn buffer_for(&mut self, served: Served) -> Option<&mut HostBuffer> {
        let shape = self.agents.get(served.slot.0 as usize)?.buffering.as_ref()?;
        Some(self.buffers.entry(served).or_insert_with(|| HostBuffer::new(shape.clone())))
    }
}

/// A host as one agent of a node serves it.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Served {
    /// The host's home address.
    pub host: Addr,
    /// The agent.
    pub slot: Slot,
}

/// A cell: a base station, its air link and the hosts that hear it.
#[derive(Debug)]
pub struct Cell {
    /// Its name, which is its base station's.
    pub name: String,
    /// Its downlink.
    pub air: LinkId,
    /// Its base station's node.
    pub base_station: NodeId,
    /// The hosts in it, in order of arrival.
    pub hosts: Vec<NodeId>,
}

/// The moving part of a mobile host.
#[derive(Debug)]
pub struct Mobile {
    /// Its motions, in order.
    pub plan: Vec<(Time, Motion)>,
    /// The motion that comes next.
    pub next_motion: usize,
    /// The cells of its visits.
    pub visits: Vec<CellId>,
    /// The visit that it is in or was in last.
    pub visit: u32,
    /// The cells it is in, in the order in which it entered them.
    pub attachments: Vec<CellId>,
    /// When it left each cell that it has been in last, and the row of the causes that says so.
    pub left: BTreeMap<CellId, (Time, CauseId)>,
    /// Which link it sends on while it is in several cells.
    pub uplink_choice: UplinkChoice,
    /// The cell that its agent wants it in, when layer 2 is to be up, and what led to that.
    pub entering: Option<(CellId, Time, CauseId)>,
    /// The row of the causes of its last change of cells.
    pub moved: CauseId,
    /// The row that says that it cannot hear the cell it is in, once something is lost by that.
    pub unheard: CauseId,
    /// Its uplinks, one for each cell it visits.
    pub uplinks: BTreeMap<CellId, LinkId>,
    /// What it measures.
    pub measuring: Option<Measuring>,
    /// Packets that it wants to send and cannot, for lack of a link.
    pub waiting: VecDeque<PacketId>,
    /// Its layer 2 drops packets that it has got already.
    pub drops_duplicates: bool,
    /// If its layer 2 drops duplicates: which packets it got last, by the serial number of the first copy.
    pub received: BTreeSet<u64>,
}

impl Mobile {
    /// Packets that wait for a link at most; more are lost.
    ///
    /// ASSUMPTION: the transmit queue of a host's interface survives a change of cell, as Linux's does.
    pub const WAITING_LIMIT: usize = 1000;

    /// Packets that a host remembers as received: half the space of 12-bit PDCP numbers (TS 36.323 §6.3.5).
    const REMEMBERED: usize = 2048;

    /// Whether this is the first copy of a packet that it gets.
    pub fn is_new(&mut self, copy_of: u64) -> bool {
        let new = self.received.insert(copy_of);
        if self.received.len() > Mobile::REMEMBERED {
            self.received.pop_first();
        }
        new
    }

    /// The cell it has entered last, if it is in any.
    pub fn newest_cell(&self) -> Option<CellId> {
        self.attachments.last().copied()
    }

    /// The uplink that its packets take.
    pub fn uplink(&self) -> Option<LinkId> {
        let cell = match self.uplink_choice {
            UplinkChoice::Newest | UplinkChoice::All => self.attachments.last(),
            UplinkChoice::Oldest => self.attachments.first(),
        };
        self.uplinks.get(cell?).copied()
    }

    /// The uplinks that copies of its packets take, beside [`uplink`](Self::uplink).
    pub fn copy_uplinks(&self) -> Vec<LinkId> {
        let others = match (self.uplink_choice, self.attachments.as_slice()) {
            (UplinkChoice::All, [others @ .., _]) => others,
            _ => &[],
        };
        others.iter().filter_map(|cell| self.uplinks.get(cell).copied()).collect()
    }

    /// Whether it is in `cell` and can hear it.
    ///
    /// ASSUMPTION: what is sent while a cell cannot be heard is lost; layer 2 does not repeat it when it can be again.
    pub fn is_in(&self, cell: CellId) -> bool {
        self.attachments.contains(&cell)
            && !self.measuring.as_ref().is_some_and(|measuring| measuring.meter.is_deaf())
    }
}

/// How a mobile host measures its cells, which are numbered as in the world.
#[derive(Debug)]
pub struct Measuring {
    /// How strong the cells are.
    pub signal: Signal,
    /// What it makes of that.
    pub meter: Meter,
    /// Time between measurements.
    pub period: Duration,
}
