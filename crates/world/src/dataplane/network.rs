//! The network carries packets: nodes, links, static routes, and cells.
//!
//! It uses neither flows nor agents. A packet at its destination is returned as a value ([`LocalDelivery`]). One trait
//! ([`Listener`]) notifies agents of data packets that they watch, before these are forwarded.

use crate::context::Context;
use crate::control::agent::Agent;
use crate::dataplane::bearer::RadioBearers;
use crate::dataplane::buffer::HostBuffer;
use crate::dataplane::link::{InFlight, Links};
use crate::dataplane::node::{Domain, Node, Nodes};
use crate::dataplane::route::StaticRoutes;
use crate::ids::{AgentIndex, CellId, DomainId};
use crate::layer2::cells::Cells;
use crate::notices::PendingNotice;
use roamlab_engine::{Duration, Time};
use roamlab_mobility::MobilityInput;
use roamlab_packet::{Addr, DropReason, Dscp, PacketId, Waiting};
use roamlab_radio::{TxOutcome, UplinkChoice};
use roamlab_record::Column;
use roamlab_record::cause::{Cause, CauseId, Kind};
use roamlab_record::ids::{LinkId, Location, NodeId};
use roamlab_record::totals;
use roamlab_scenario::TunnelEcn;
use std::borrow::Cow;

mod air;
mod arrival;
mod bearer_air;
mod bearer_requests;
mod bearer_split;
mod bearer_timers;
mod holding;
mod ip;
mod slow_path;

pub use ip::PlainInput;

/// Treatment of a mark that comes from outside.
#[derive(Clone, Debug)]
pub struct Policer {
    /// The code point that is policed.
    pub mark: Dscp,
    /// Lose the packet; else only the mark.
    pub drop: bool,
}

/// Description of a network.
#[derive(Clone, Debug)]
pub struct Network {
    links: Links,
    /// Shortest paths, and which nodes are plain.
    routes: StaticRoutes,
    nodes: Nodes,
    cells: Cells,
    /// The mobility protocols, from the outermost to the innermost.
    domains: Vec<Domain>,
    rules: Rules,
    /// Names of the queues behind schedulers, with their links; their numbers in records follow those of the links.
    bearers: Vec<(String, LinkId)>,
    /// The numbered radio bearers of hosts.
    radio_bearers: RadioBearers,
}

/// Properties of the whole network.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Treatment of the ECN field in tunnels.
    pub tunnel_ecn: TunnelEcn,
    /// Policing of foreign marks at the edge of the access network.
    pub policer: Option<Policer>,
}

/// Local deliveries of an arrival.
#[derive(Debug)]
#[must_use]
pub enum LocalDelivery {
    /// Nothing: the packet continues, waits, or is lost.
    Nothing,
    /// Data for this node, in no tunnel.
    Data(NodeId, PacketId),
    /// Signalling for this node.
    Message(NodeId, PacketId),
    /// Signalling for all who hear a cell.
    Broadcast(CellId, PacketId),
    /// A management frame of 802.11 for this node.
    Frame(NodeId, PacketId),
    /// Nothing: this host has sent a packet to the base station of this cell, which has not associated it. The packet is
    /// lost.
    Refused(NodeId, CellId),
}

impl LocalDelivery {
    /// A packet at its destination.
    #[inline(always)]
    fn of(node: NodeId, packet: PacketId, cx: &Context) -> LocalDelivery {
        match cx.pool[&packet].is_signal() {
            true if cx.pool[&packet].is_management() => LocalDelivery::Frame(node, packet),
            true => LocalDelivery::Message(node, packet),
            false => LocalDelivery::Data(node, packet),
        }
    }
}

/// The end of an attempt of a station to send a frame.
#[derive(Copy, Clone, Debug)]
pub struct TxReport {
    /// The node where its link begins.
    pub from: NodeId,
    /// The destination of the packet; of a beacon all hosts.
    pub dst: Addr,
    /// It is a management frame.
    pub management: bool,
    /// When the transmission began.
    pub started: Time,
    /// Its outcome.
    pub outcome: TxOutcome,
}

/// Agents that are notified of data packets before they continue. It is the only way from the network to the
/// agents: an agent may set routes then, open buffers or send messages, and the packet then continues in the
/// new state.
pub trait Listener {
    /// An agent of a node gets an input.
    fn notify(
        &mut self,
        node: NodeId,
        slot: AgentIndex,
        input: MobilityInput,
        network: &mut Network,
        cx: &mut Context,
    );
}

/// The agent's node cannot carry out a request, for the reason given.
pub type Done<T = ()> = Result<T, Cow<'static, str>>;

impl Network {
    /// A network through which nothing has come yet.
    pub fn new(
        (links, bearers, routes): (Links, Vec<(String, LinkId)>, StaticRoutes),
        nodes: Nodes,
        cells: Cells,
        (domains, radio_bearers): (Vec<Domain>, RadioBearers),
        rules: Rules,
    ) -> Network {
        Network { links, routes, nodes, cells, domains, rules, bearers, radio_bearers }
    }

    /// The names of all queues: those of the links, and behind them those of bearers.
    pub fn queue_names(&self) -> Vec<String> {
        let bearers = self.bearers.iter().map(|(name, _)| name.clone());
        self.links.iter().map(|link| link.name.clone()).chain(bearers).collect()
    }

    /// The table of the links: what they were offered, and how long they were busy.
    pub fn link_totals(&self, cx: &Context) -> totals::Links {
        let links = &self.links;
        totals::Links {
            link: Column::unique(links.iter().map(|link| link.name.clone())),
            offered_pkts: Column::U64(links.offered().collect()),
            forwarded_pkts: Column::U64(cx.probes.forwarded.clone()),
            busy_ns: Column::U64(links.busy().map(Duration::as_nanos).collect()),
        }
    }

    /// The cells and the hosts in them.
    pub fn cells(&mut self) -> &mut Cells {
        &mut self.cells
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// A node's name.
    pub fn name(&self, node: NodeId) -> &str {
        &self.nodes[node].name
    }

    /// The node of this name.
    pub fn node_named(&self, name: &str) -> Option<NodeId> {
        (0..self.nodes()).map(NodeId).find(|&node| self.nodes[node].name == name)
    }

    /// A node, to be looked into by tests.
    #[cfg(test)]
    pub(crate) fn node(&mut self, node: NodeId) -> &mut Node {
        &mut self.nodes[node]
    }

    /// A node's address.
    pub fn address(&self, node: NodeId) -> Addr {
        self.nodes[node].addr
    }

    /// The node with this address.
    pub fn node_at(&self, addr: Addr) -> Option<NodeId> {
        self.nodes.at(addr)
    }

    /// The cell of a base station.
    pub fn cell_of(&self, node: NodeId) -> Option<CellId> {
        self.nodes[node].serves
    }

    /// The uplink of a host to the cell of the base station at this address.
    pub fn uplink_to(&self, host: NodeId, base_station: Addr) -> Option<LinkId> {
        let cell = self.cell_of(self.node_at(base_station)?)?;
        self.cells.uplink_to(host, cell)
    }

    /// The base station of a cell, and its address.
    pub fn base_station(&self, cell: CellId) -> (NodeId, Addr) {
        let node = self.cells.base_station(cell);
        (node, self.nodes[node].addr)
    }

    /// The agents at a node whose domains have this host, and this base station if one is named.
    pub fn agents_for(
        &self,
        node: NodeId,
        host: Addr,
        base_station: Option<Addr>,
    ) -> impl Iterator<Item = AgentIndex> {
        self.slots_of(node, move |agent| {
            let domain = &self.domains[agent.domain.0 as usize];
            domain.hosts.contains(&host)
                && base_station.is_none_or(|station| domain.base_stations.contains(&station))
        })
    }

    fn slots_of(&self, node: NodeId, wanted: impl Fn(&Agent) -> bool) -> impl Iterator<Item = AgentIndex> {
        let agents = self.nodes[node].agents.iter().zip(0..);
        agents.filter(move |(agent, _)| wanted(agent)).map(|(_, slot)| AgentIndex(slot))
    }

    /// The agents of a node.
    pub fn agents(&self, node: NodeId) -> &[Agent] {
        &self.nodes[node].agents
    }

    /// The places of a node's agents.
    pub fn slots(&self, node: NodeId) -> impl Iterator<Item = AgentIndex> + use<> {
        (0..self.nodes[node].agents.len() as u16).map(AgentIndex)
    }

    /// One of the agents of a node.
    pub fn agent(&mut self, node: NodeId, slot: AgentIndex) -> &mut Agent {
        &mut self.nodes[node].agents[slot.0 as usize]
    }

    /// The agents of all nodes.
    pub fn all_agents(&mut self) -> impl Iterator<Item = &mut Agent> {
        self.nodes.iter_mut().flat_map(|node| &mut node.agents)
    }

    /// A node with an agent that should have been woken before, if there is one, and when.
    pub fn overdue_agent(&self, now: Time) -> Option<(NodeId, Time)> {
        let deadline = |node: NodeId| self.agents(node).iter().filter_map(|agent| agent.deadline).min();
        let mut all = (0..self.nodes()).map(NodeId).filter_map(|node| Some((node, deadline(node)?)));
        all.find(|(_, deadline)| *deadline < now)
    }

    /// When the wake-ups of a node's agents are due, the earliest last.
    pub fn wake_ups(&mut self, node: NodeId) -> &mut Vec<Time> {
        &mut self.nodes[node].wake_ups
    }

    /// True if a protocol wants a message from a node to itself delivered immediately.
    pub fn delivers_to_self(&self, domain: DomainId) -> bool {
        self.domains[domain.0 as usize].delivers_to_self
    }

    /// Marks the nodes where packets need more than the shortest path, and the links of a traced run: once, before the run.
    pub fn mark_special(&mut self, cx: &Context) {
        if cx.is_tracing() {
            self.links.trace();
        }
        self.separate_signalling();
        for (node, id) in self.nodes.iter_mut().zip((0..).map(NodeId)) {
            node.inspects_packets = node.watches_uplink || cx.is_tracing();
            node.treats_received = match node.serves {
                Some(_) => node.numbers || node.helps,
                None => node.watches_uplink || node.clears_code_point || node.numbers,
            };
            if node.is_special() || cx.is_tracing() {
                self.routes.mark_special(id);
            }
        }
        for node in (0..self.nodes()).map(NodeId) {
            if let Some(home) = self.routes.home(self.nodes[node].addr) {
                self.routes.mark_special(home);
            }
        }
    }

    /// Signalling over the air of a domain's base stations and hosts has separate grants, if the domain wants that.
    fn separate_signalling(&mut self) {
        let Network { domains, nodes, cells, links, .. } = self;
        for domain in domains.iter() {
            if !domain.bearers.is_some_and(|bearers| bearers.separate_signalling) {
                continue;
            }
            let stations =
                domain.base_stations.iter().filter_map(|station| nodes[nodes.at(*station)?].serves);
            let airs: Vec<LinkId> = stations.map(|cell| cells.air(cell)).collect();
            let hosts = domain.hosts.iter().filter_map(|host| nodes.at(*host));
            let uplinks = hosts.flat_map(|host| cells.uplinks(host));
            airs.into_iter().chain(uplinks).for_each(|link| links.separate_signalling(link));
        }
    }

    /// The links, whose records events read.
    #[inline(always)]
    pub fn links(&self) -> &Links {
        &self.links
    }

    /// The static routes.
    #[inline(always)]
    pub fn routes(&self) -> &StaticRoutes {
        &self.routes
    }

    /// A link has put its packet on the wire and may take the next; whether there was one.
    #[inline(always)]
    pub fn tx_done(&mut self, link: LinkId, cx: &mut Context) -> bool {
        self.links.tx_done(link, cx)
    }

    /// The packet that comes out now of a link that keeps track of those in flight, if it was not taken off the air.
    #[inline(always)]
    pub fn arrived(&mut self, link: LinkId, cx: &mut Context) -> Option<InFlight> {
        self.links.arrived(link, cx)
    }

    /// The node where a link begins.
    pub fn beginning(&self, link: LinkId) -> NodeId {
        self.links[link].from
    }

    /// A packet that the scenario has held back on entering a link enters it.
    pub fn enter_late(&mut self, link: LinkId, packet: PacketId, cx: &mut Context) {
        self.links.enter_late(link, packet, cx);
    }

    /// A link changes as the scenario specifies.
    pub fn change_link(&mut self, link: LinkId, index: u32, cx: &mut Context) {
        let row = Cause::root(Kind::LinkChange).at(Location::Link(link));
        self.links[link].changed = cx.add_cause(row);
        self.links.change(link, index);
    }

    /// The rate or the delay of a link takes the next value of its file.
    pub fn step_link(&mut self, link: LinkId, cx: &mut Context) {
        self.links.step(link, cx);
    }

    /// A packet sets out from a node over this link.
    #[inline(always)]
    pub fn send_over(&mut self, link: LinkId, packet: PacketId, cx: &mut Context) {
        self.links.enqueue(link, packet, cx);
    }

    /// A host leaves a cell. Its packets that wait for the link there take another, or wait for one. The row
    /// of the causes of that; `None`: it was not in it.
    pub fn leave(&mut self, host: NodeId, cell: CellId, cx: &mut Context) -> Option<CauseId> {
        self.settle_bearers(host, cx);
        self.links.forget_helped(self.cells.air(cell), self.nodes[host].addr);
        if let Some(uplink) = self.cells.detach(host, cell)? {
            let (queued, overtaking) = self.links.take_waiting(uplink, cx);
            match self.cells.uplink_choice(host) {
                None => self.cells.wait_on(host, queued, overtaking),
                // There are copies of them on the other links.
                Some(UplinkChoice::All) if !self.nodes[host].numbers => {
                    for packet in queued.into_iter().chain(overtaking.into_iter().map(Waiting::take)) {
                        cx.lose(packet, DropReason::CopyReleased, Location::Node(host));
                    }
                }
                Some(_) => {
                    queued.into_iter().for_each(|packet| self.send_uplink(host, packet, cx));
                    self.send_overtaking(host, overtaking, cx);
                }
            }
        }
        self.watch_host(host, cx);
        Some(self.cells.note_change(host, "link-down", Some(cell), cx))
    }

    /// A host enters a cell, or turns back to one that it is in still. True if it was in it already, with the
    /// row of the causes for its arrival.
    pub fn enter(&mut self, host: NodeId, cell: CellId, cx: &mut Context) -> Option<(bool, CauseId)> {
        self.settle_bearers(host, cx);
        let (stays, waiting) = self.cells.attach(host, cell)?;
        let row = self.cells.note_change(host, "link-up", None, cx);
        if self.nodes[host].numbers {
            self.expect_bearer(self.cells.base_station(cell), host);
        }
        waiting.queued.iter().chain(&waiting.since).for_each(|packet| cx.note_move(packet, row));
        self.send_waiting(host, waiting.queued, cx);
        self.send_overtaking(host, waiting.overtaking, cx);
        self.send_waiting(host, waiting.since, cx);
        self.watch_host(host, cx);
        if !stays {
            self.cells.notices().push(PendingNotice::Entered(host, row));
        }
        Some((stays, row))
    }

    /// A phase of a host's handover, noted at a node; its row among the causes.
    pub fn note(&mut self, host: Addr, phase: &'static str, node: NodeId, cx: &mut Context) -> Done<CauseId> {
        let host = self
            .nodes
            .at(host)
            .filter(|&host| self.nodes[host].is_host())
            .ok_or("notes a phase of a host that does not exist")?;
        Ok(self.cells.note(host, phase, node, cx))
    }

    /// True if a node has a cell, and nothing is left for a host on the air there.
    pub fn air_is_clear(&mut self, node: NodeId, host: Addr, cx: &Context) -> bool {
        let Network { links, nodes, cells, radio_bearers, .. } = self;
        nodes[node].serves.is_some_and(|cell| !links.has_for(cells.air(cell), host, cx))
            && radio_bearers.known_station(node, host).is_none_or(|end| !end.has_for_host())
    }

    /// Cause of the buffer that holds a packet, or of one of these hosts waiting for a link with it.
    pub fn holder(&self, hosts: [NodeId; 2], serial: u64, cx: &Context) -> Option<CauseId> {
        let waits =
            |host: NodeId| self.cells.waits(host, serial, cx) || self.radio_bearers.holds(host, serial, cx);
        if let Some(host) = hosts.into_iter().find(|&host| waits(host)) {
            return Some(self.last_change(host).or(|| CauseId::START));
        }
        let mut buffers = self.nodes.iter().flat_map(|node| node.buffers.values());
        let holder = buffers.find(|buffer| buffer.holds(serial, &cx.pool));
        holder.map(|buffer| buffer.cause).filter(|&cause| cause != CauseId::NONE)
    }

    /// The row of the causes of a node's last change of cells; none, if it is no mobile host or was in none.
    pub fn last_change(&self, node: NodeId) -> CauseId {
        self.cells.last_change(node)
    }

    /// The first law that a numbered radio bearer, or help for a flow, has violated, and when.
    pub fn violation(&mut self) -> Option<(String, Time)> {
        self.radio_bearers.violation().or_else(|| self.links.helped_violation())
    }

    /// Packets inside: in links, and at nodes.
    pub fn packets_inside(&self) -> [u64; 2] {
        let buffered = |node: &Node| node.buffers.values().map(HostBuffer::len).sum::<usize>();
        let waiting = self.cells.packets_waiting() + self.radio_bearers.packets();
        let at_nodes = self.nodes.iter().map(buffered).sum::<usize>() + waiting;
        [self.links.packets_inside(), at_nodes as u64]
    }
}

#[cfg(test)]
impl Network {
    /// All hosts of the first domain have a numbered radio bearer, and all others with an agent are base stations, routers
    /// and hosts, which have one that does nothing.
    pub(crate) fn number_all(&mut self, idle: &Agent, values: roamlab_mobility::BearerValues, cx: &Context) {
        self.domains[0].bearers = Some(values);
        self.domains[0].discards_unknown = false;
        for id in (0..self.nodes()).map(NodeId) {
            let (addr, serves) = (self.nodes[id].addr, self.nodes[id].serves.is_some());
            let node = &mut self.nodes[id];
            (node.agents, node.host_routes) = (vec![idle.clone()], Default::default());
            (node.watches_uplink, node.keeps_copies) = (false, false);
            node.buffers.clear();
            node.agents[0].discard = values.discard_timer;
            if serves || addr.is_mobile() {
                node.numbers = true;
            }
            if addr.is_mobile() {
                self.cells.number(id);
                self.radio_bearers.add_host(id, values);
            }
        }
        self.mark_special(cx);
    }
}
