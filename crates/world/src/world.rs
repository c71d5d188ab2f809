//! The world: all nodes, links and flows of a run, and the loop that lets things happen.

use crate::agents::{Domain, DomainId};
use crate::cx::Cx;
use crate::event::{Event, LinkId, NodeId, Side};
use crate::fault::Fault;
use crate::flow::Flow;
use crate::link::Link;
use crate::node::{Cell, Node};
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
    pub links: Vec<Link>,
    /// Names of the queues behind schedulers; their numbers in records follow those of the links.
    pub bearers: Vec<String>,
    /// Cells, by [`CellId`](crate::event::CellId).
    pub cells: Vec<Cell>,
    /// Flows, by [`FlowId`](roamlab_packet::FlowId).
    pub flows: Vec<Flow>,
    /// Mobile hosts by the node that is their home, in the order of their addresses.
    pub tenants: Vec<Vec<NodeId>>,
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

/// Events at one instant that no sane scenario reaches: a loop without delay.
const EVENTS_AT_ONE_INSTANT: u64 = 10_000_000;

impl World {
    /// Lets everything happen until `end`.
    ///
    /// `keep_going` is asked now and then; the run ends early, without a violation, when it says no.
    ///
    /// # Errors
    /// The law that was violated: conservation (checked at each event in debug builds, at the end always), progress
    /// of time, or that a node can do what its agents want.
    pub fn run(&mut self, end: Time, keep_going: &dyn Fn() -> bool) -> Result<(), LawViolation> {
        let mut at_this_instant = 0;
        while let Some((time, event)) = self.cx.scheduler.pop_until(end) {
            at_this_instant = if time > self.cx.now { 0 } else { at_this_instant + 1 };
            if at_this_instant > EVENTS_AT_ONE_INSTANT {
                return Err(self.violation(format!("time stands still in {event:?}")));
            }
            self.cx.now = time;
            self.events += 1;
            self.happen(event);
            if let Some(law) = self.broken.take() {
                return Err(self.violation(law));
            }
            if cfg!(debug_assertions) {
                self.check_conservation()?;
            }
            if self.events.is_multiple_of(1 << 14) && !keep_going() {
                break;
            }
        }
        self.check_conservation()
    }

    /// The node with this address.
    pub fn node_at(&self, addr: Addr) -> Option<NodeId> {
        let tenants = self.tenants.get(addr.subnet())?;
        match addr.host() {
            0 => Some(NodeId(addr.subnet() as u32)),
            tenant => tenants.get(tenant as usize - 1).copied(),
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::LinkTxDone { link } => {
                let started = self.links[link.0 as usize].tx_done(link, &mut self.cx);
                self.events -= u64::from(!started);
            }
            Event::LinkHead { link } => self.link_head(link),
            Event::LinkChange { link, index } => self.links[link.0 as usize].change(index),
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

    fn link_head(&mut self, link: LinkId) {
        if let Some(arrived) = self.links[link.0 as usize].arrived(link, &mut self.cx) {
            self.packet_hops += 1;
            self.arrive(link, arrived);
        }
    }

    /// `created + duplicated = delivered + dropped + inside`, with what is inside counted where it is.
    fn check_conservation(&self) -> Result<(), LawViolation> {
        let links: u64 = self.links.iter().map(Link::packets_inside).sum();
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
    use crate::run::Draw;
    use crate::scenario::Scenario;
    use std::collections::BTreeMap;

    /// Forty seconds with some twenty timeouts, each of which brings the next deadline forward when it is over.
    #[test]
    fn wake_ups_do_not_pile_up() {
        let text = include_str!("../../../python/roamlab/papers/mblue/scenario.toml");
        let mut world = build(&Scenario::parse(text, "mblue.toml").unwrap(), Draw::default());
        world.run(Time::from_nanos(40_000_000_000), &|| true).unwrap();
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
