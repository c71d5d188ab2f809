//! The world: all nodes, links and flows of a run, and the loop that lets things happen.

use crate::agents::Domain;
use crate::cause::{Cause, Kind};
use crate::conduct::{Conduct, MemoryLimit, Progress, check_memory};
use crate::cx::Cx;
use crate::event::Event;
use crate::fault::Fault;
use crate::flow::Flow;
use crate::ids::{DomainId, LinkId, Location, NodeId, Side};
use crate::link::{End, InFlight, Links};
use crate::node::{Cell, Node};
use crate::outside::Outside;
use crate::route::Ways;
use crate::tunnel::TunnelEcn;
use roamlab_engine::Time;
use roamlab_mobility::Prediction;
use roamlab_packet::{Addr, Dscp, PacketId};
use std::fmt;

/// What becomes of a mark that comes from outside.
#[derive(Clone, Debug)]
pub struct Policer {
    /// The code point that is policed.
    pub mark: Dscp,
    /// Lose the packet; else only the mark.
    pub drop: bool,
}

/// All of a run.
#[derive(Debug)]
pub struct World {
    /// Context of events.
    pub cx: Cx,
    /// Nodes, by [`NodeId`].
    pub nodes: Vec<Node>,
    /// Links, by [`LinkId`].
    pub links: Links,
    /// Which of them leads where.
    pub ways: Ways,
    /// Names of the queues behind schedulers; their numbers in records follow those of the links.
    pub bearers: Vec<String>,
    /// Cells, by [`CellId`](crate::event::CellId).
    pub cells: Vec<Cell>,
    /// Flows, by [`FlowId`](roamlab_packet::FlowId).
    pub flows: Vec<Flow>,
    /// Mobility protocols, each in its part of the network, from the outermost to the innermost.
    pub domains: Vec<Domain>,
    /// What happens to the ECN field in tunnels.
    pub tunnel_ecn: TunnelEcn,
    /// Packets in flight when a host leaves its cell still arrive.
    pub in_flight_survives: bool,
    /// Policing of foreign marks at the edge of the access network.
    pub policer: Option<Policer>,
    /// Faults to inject into the signalling.
    pub faults: Vec<Fault>,
    /// Handovers that base stations will be told of in advance, right or wrong.
    pub predictions: Vec<Prediction>,
    /// Messages held back by a fault, with the node they are at and their domain.
    pub delayed: Vec<Option<(NodeId, DomainId, PacketId)>>,
    /// The law that an action of an agent has violated.
    pub broken: Option<String>,
    /// Ends of flows that are outside.
    pub(crate) outside: Option<Outside>,
    /// Events that have happened. The end of a transmission behind which nothing waits is none, though a trace
    /// may ask for it.
    pub events: u64,
    /// Packets handed over by links.
    pub packet_hops: u64,
}

/// A law was violated: the run ends without a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LawViolation {
    /// Which law, and the figures.
    pub law: String,
    /// When.
    pub time: Time,
}

impl std::error::Error for LawViolation {}

impl fmt::Display for LawViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}: {}", self.time, self.law)
    }
}

/// Why a run has no result.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// It violated a law.
    #[error(transparent)]
    Law(#[from] LawViolation),
    /// It would have taken more memory than it may.
    #[error(transparent)]
    Memory(#[from] MemoryLimit),
}

/// Events at one instant that no sane scenario reaches: a loop without delay.
const EVENTS_AT_ONE_INSTANT: u64 = 10_000_000;
/// Events after which it is seen to that time goes on and that the run is still wanted.
const EVENTS_BETWEEN_LOOKS: u64 = 1 << 14;

impl World {
    /// Lets everything happen until `end`.
    ///
    /// It ends early, without a failure, when `conduct.keep_going` says no.
    ///
    /// # Errors
    /// The law that was violated: conservation (checked at each event in debug builds, at the end always), progress
    /// of time, or that a node can do what its agents want. Or the memory that it would have taken.
    pub fn run(&mut self, end: Time, conduct: &Conduct<'_>) -> Result<(), Failure> {
        self.advance(end, conduct)?;
        Ok(self.check_conservation()?)
    }

    /// The same without the look at conservation in the end, which takes all of the network.
    pub(crate) fn advance(&mut self, end: Time, conduct: &Conduct<'_>) -> Result<(), Failure> {
        let mut at_this_instant = 0;
        loop {
            let before = self.cx.now;
            let happened = self.run_some(end)?;
            if happened < EVENTS_BETWEEN_LOOKS || !self.may_go_on(conduct)? {
                return Ok(());
            }
            at_this_instant = if self.cx.now > before { 0 } else { at_this_instant + happened };
            if at_this_instant > EVENTS_AT_ONE_INSTANT {
                return Err(self.violation("time stands still".into()).into());
            }
        }
    }

    /// Lets a number of events happen, or fewer if no more are due until `end`; how many did.
    fn run_some(&mut self, end: Time) -> Result<u64, LawViolation> {
        for happened in 0..EVENTS_BETWEEN_LOOKS {
            let Some((time, event)) = self.cx.scheduler.pop_until(end) else { return Ok(happened) };
            self.cx.now = time;
            self.events += 1;
            self.dispatch(event);
            if self.broken.is_some() {
                let law = self.broken.take().unwrap_or_default();
                return Err(self.violation(law));
            }
            if cfg!(debug_assertions) {
                self.check_conservation()?;
            }
        }
        Ok(EVENTS_BETWEEN_LOOKS)
    }

    /// Says where packets take the general path: decided once, before the run, so that a plain packet need not ask.
    pub(crate) fn mark_special(&mut self) {
        if self.cx.is_tracing() {
            self.links.trace();
        }
        let homes: Vec<NodeId> = self.nodes.iter().filter_map(|node| self.ways.home(node.addr)).collect();
        let mut special: Vec<bool> =
            self.nodes.iter().map(|node| node.is_special() || self.cx.is_tracing()).collect();
        homes.iter().for_each(|home| special[home.0 as usize] = true);
        for id in (0..self.links.len() as u32).map(LinkId) {
            if let End::Node(node) = self.links[id].to
                && special[node.0 as usize]
            {
                self.links.end_specially(id);
            }
        }
        for flow in &mut self.flows {
            let [sender, receiver] = flow.addresses;
            flow.first_links = [(flow.src, receiver), (flow.dst, sender)]
                .map(|(node, to)| self.ways.link(node, to).filter(|_| !special[node.0 as usize]));
        }
    }

    fn may_go_on(&self, conduct: &Conduct<'_>) -> Result<bool, Failure> {
        let packets = self.cx.pool.census().inside() as usize;
        if let Some(limit) = conduct.memory {
            check_memory(self.cx.probes.parts(), packets, limit, self.cx.now)?;
        }
        Ok((conduct.keep_going)(Progress { now: self.cx.now, events: self.events }))
    }

    /// The node with this address.
    pub fn node_at(&self, addr: Addr) -> Option<NodeId> {
        let node = self.nodes.get(addr.number())?;
        (node.addr == addr).then_some(NodeId(addr.number() as u32))
    }

    #[inline(always)]
    fn dispatch(&mut self, event: Event) {
        match event {
            Event::LinkTxDone { link } => {
                let started = self.links.tx_done(link, &mut self.cx);
                self.events -= u64::from(!started);
            }
            Event::Arrival { link, packet } => {
                self.packet_hops += 1;
                self.arrive(link, packet.retrieve());
            }
            other => self.dispatch_rare(other),
        }
    }

    /// What a plain network hardly sees stands apart: the loop over the events is a third shorter without it.
    #[inline(never)]
    fn dispatch_rare(&mut self, event: Event) {
        match event {
            Event::LinkTxDone { .. } | Event::Arrival { .. } => unreachable!("dispatched already"),
            Event::LinkHead { link } => {
                if let Some(InFlight { packet, started, .. }) = self.links.arrived(link, &mut self.cx) {
                    self.packet_hops += 1;
                    self.arrive_generally(link, packet, started);
                }
            }
            Event::Medium { medium } => self.medium_wake(medium),
            Event::LinkChange { link, index } => self.change_link(link, index),
            Event::Endpoint { flow, side } => self.endpoint_wake(flow, side),
            Event::App { flow } => self.app_wake(flow),
            Event::Agent { node } => self.agent_wake(node),
            Event::Motion { node } => self.move_host(node),
            Event::Entry { node } => self.commanded_entry(node),
            Event::Measurement { node } => self.measure(node),
            Event::Ordered { node } => self.order_restored(node),
            Event::Delayed { slot } => self.release_delayed(slot),
            Event::Prediction { number } => self.predict(number),
        }
    }

    fn change_link(&mut self, link: LinkId, index: u32) {
        let row = Cause::root(Kind::LinkChange).at(Location::Link(link));
        self.links[link].changed = self.cx.add_cause(row);
        self.links.change(link, index);
    }

    /// `created + duplicated = delivered + dropped + inside`, with what is inside counted where it is.
    pub(crate) fn check_conservation(&self) -> Result<(), LawViolation> {
        let links = self.links.packets_inside();
        let waiting = |node: &Node| {
            let buffered: usize = node.buffers.values().map(|buffer| buffer.len()).sum();
            (buffered + node.mobile.as_ref().map_or(0, |mobile| mobile.waiting.len())) as u64
        };
        let nodes: u64 = self.nodes.iter().map(waiting).sum();
        let delayed = self.delayed.iter().flatten().count() as u64;
        let (inside, owed) = (links + nodes + delayed, self.cx.pool.census().inside());
        if inside == owed {
            return Ok(());
        }
        Err(self.violation(format!(
            "packets are not conserved: {owed} should be inside, {inside} are (links {links}, nodes {nodes}, \
             delayed {delayed})"
        )))
    }

    fn violation(&self, law: String) -> LawViolation {
        LawViolation { law, time: self.cx.now }
    }

    /// The pending wake-up of a flow's end, as an index into [`Flow::wakes`].
    pub(crate) const fn side_index(side: Side) -> usize {
        match side {
            Side::Sender => 0,
            Side::Receiver => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::conduct::Replication;
    use crate::scenario::Scenario;
    use std::collections::BTreeMap;

    /// Forty seconds with some twenty timeouts, each of which brings the next deadline forward when it is over.
    #[test]
    fn wake_ups_do_not_pile_up() {
        let text = include_str!("../../../python/roamlab/papers/mblue/scenario.toml");
        let mut world =
            build(&Scenario::parse(text, "mblue.toml").unwrap(), Replication::default(), &Conduct::default());
        world.run(Time::from_nanos(40_000_000_000), &Conduct::default()).unwrap();
        let timeouts: u64 = world.flows.iter().map(|flow| flow.stats.timeouts).sum();
        assert!(timeouts > 10, "{timeouts}");
        let mut pending: BTreeMap<String, u32> = BTreeMap::new();
        while let Some((_, event)) = world.cx.scheduler.pop() {
            if matches!(event, Event::Endpoint { .. }) {
                *pending.entry(format!("{event:?}")).or_default() += 1;
            }
        }
        // One that counts, and one at most that it has replaced and whose time has not come.
        assert!(pending.values().all(|&count| count <= 2), "{pending:?}");
    }
}
