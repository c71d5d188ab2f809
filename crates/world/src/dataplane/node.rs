//! Nodes: routers, base stations and hosts, from the view of packet forwarding.

use crate::control::agent::Agent;
use crate::dataplane::buffer::HostBuffer;
use crate::dataplane::route::HostRouteTable;
use crate::ids::{AgentIndex, CellId, HostAtAgent};
use roamlab_engine::{Bytes, Time};
use roamlab_mobility::BearerValues;
use roamlab_packet::Addr;
use roamlab_record::ids::{LinkId, NodeId};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Index, IndexMut};

/// A mobility protocol in its part of the network.
#[derive(Clone, Debug)]
pub struct Domain {
    /// Home addresses of its hosts.
    pub hosts: BTreeSet<Addr>,
    /// Addresses of its base stations.
    pub base_stations: BTreeSet<Addr>,
    /// Bytes that a tunnel adds.
    pub tunnel_overhead: Bytes,
    /// Bytes that a tunnel from a base station adds.
    pub forwarding_overhead: Bytes,
    /// A packet that leaves a tunnel, or arrives at the host's home, without a route is discarded.
    pub discards_unknown: bool,
    /// A message from a node to itself is delivered immediately.
    pub delivers_to_self: bool,
    /// Its hosts have numbered radio bearers.
    pub bearers: Option<BearerValues>,
    /// Bytes that a tunnel between a distributed and a central unit adds.
    pub unit_overhead: Bytes,
}

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name in the scenario.
    pub name: String,
    /// Its address; a mobile host's is its home address.
    pub addr: Addr,
    /// The host routes that its agents have set.
    pub host_routes: HostRouteTable,
    /// Links to adjacent nodes, by their address.
    pub neighbours: BTreeMap<Addr, LinkId>,
    /// Its mobility agents, by [`AgentIndex`]: those of a domain next to each other.
    pub agents: Vec<Agent>,
    /// When their pending wake-ups are due, the earliest last.
    pub wake_ups: Vec<Time>,
    /// Some agent here watches the uplink.
    pub watches_uplink: bool,
    /// Every packet takes the slow path here: an agent may watch it, or it is traced.
    pub inspects_packets: bool,
    /// (Mobile host) the code point of packets that it receives over the air is cleared.
    pub clears_code_point: bool,
    /// It is a base station, or a host, of numbered radio bearers.
    pub numbers: bool,
    /// (Distributed unit) where its numbered bearers end: its central unit.
    pub central: Option<Addr>,
    /// It is a central unit.
    pub is_central: bool,
    /// (Mobile host, base station) more happens to a packet that it receives over the air than IP input.
    pub treats_received: bool,
    /// (Base station) it helps flows of its hosts.
    pub helps: bool,
    /// Some agent here keeps copies of what is sent over the air.
    pub keeps_copies: bool,
    /// Base stations hang off it.
    pub is_access_router: bool,
    /// (Base station) its cell.
    pub serves: Option<CellId>,
    /// Buffers of its agents.
    pub buffers: BTreeMap<HostAtAgent, HostBuffer>,
}

impl Node {
    /// A node with nothing special about it.
    pub fn new(name: &str, addr: Addr) -> Node {
        Node {
            name: name.into(),
            addr,
            host_routes: HostRouteTable::default(),
            neighbours: BTreeMap::new(),
            agents: Vec::new(),
            wake_ups: Vec::new(),
            watches_uplink: false,
            inspects_packets: false,
            clears_code_point: false,
            numbers: false,
            central: None,
            is_central: false,
            treats_received: false,
            helps: false,
            keeps_copies: false,
            is_access_router: false,
            serves: None,
            buffers: BTreeMap::new(),
        }
    }

    /// True if it is a mobile host.
    pub fn is_host(&self) -> bool {
        self.addr.is_mobile()
    }

    /// True if packets to it or from it need more than the shortest path.
    pub fn is_special(&self) -> bool {
        !self.agents.is_empty() || self.is_host() || self.is_access()
    }

    /// True if it belongs to the access network, whose marks are believed.
    pub fn is_access(&self) -> bool {
        self.is_access_router || self.serves.is_some()
    }

    /// One of its agents.
    pub fn agent(&self, slot: AgentIndex) -> &Agent {
        &self.agents[slot.0 as usize]
    }

    /// The buffer of a host, made if there is none; `None`: its agent has asked for no buffers.
    pub fn buffer_for(&mut self, key: HostAtAgent) -> Option<&mut HostBuffer> {
        let agent = self.agents.get(key.slot.0 as usize)?;
        let shape = agent.buffering.as_ref()?;
        let new = || HostBuffer::new(shape.clone(), agent.discard);
        Some(self.buffers.entry(key).or_insert_with(new))
    }
}

/// All nodes, by [`NodeId`].
#[derive(Clone, Debug, Default)]
pub struct Nodes(Vec<Node>);

impl Nodes {
    /// Adds a node.
    pub fn add(&mut self, node: Node) {
        self.0.push(node);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The nodes, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Node> {
        self.0.iter()
    }

    /// The nodes, in order, to be changed.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut Node> {
        self.0.iter_mut()
    }

    /// The node with this address.
    pub fn at(&self, addr: Addr) -> Option<NodeId> {
        let node = self.0.get(addr.number())?;
        (node.addr == addr).then_some(NodeId(addr.number() as u32))
    }
}

impl Index<NodeId> for Nodes {
    type Output = Node;
    fn index(&self, id: NodeId) -> &Node {
        &self.0[id.0 as usize]
    }
}

impl IndexMut<NodeId> for Nodes {
    fn index_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.0[id.0 as usize]
    }
}
