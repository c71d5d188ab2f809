//! A run that is driven from outside: by a wall clock, by a kernel, by a test. It does no I/O. The driver advances
//! time, puts datagrams in and takes datagrams out.

use crate::endpoints::outside::{Datagram, Egress, Report};
use crate::run::build::build;
use crate::run::options::{Replication, RunOptions};
use crate::run::world::{EVENTS_BETWEEN_LOOKS, Failure, World};
use crate::run::{conclude, last_instant};
use roamlab_engine::Time;
use roamlab_packet::{Addr, FlowId};
use roamlab_record::Table;
use roamlab_record::ids::{NodeId, Side};
use roamlab_scenario::Scenario;
use roamlab_transport::Offer;

/// A run that is driven from outside.
///
/// The driver advances time from one [`next_event`](Self::next_event) to the next, or as its own clock goes, and looks
/// after each step for what has come out. What it puts in at an instant happens after what the run did at that instant.
#[derive(Debug)]
pub struct Simulation {
    world: World,
    end: Time,
    /// Events at the last look whether the run is still wanted.
    looked: u64,
}

impl Simulation {
    /// A checked scenario before its first event.
    pub fn new(scenario: &Scenario, draw: Replication, options: &RunOptions<'_>) -> Simulation {
        Simulation {
            world: build(scenario, draw, options),
            end: Time::ZERO + scenario.run.duration,
            looked: 0,
        }
    }

    /// Now, in simulated time.
    pub fn now(&self) -> Time {
        self.world.planes.cx.now
    }

    /// How many events have happened.
    pub fn events(&self) -> u64 {
        self.world.events
    }

    /// When something happens next without further input, if something does before the run ends.
    pub fn next_event(&mut self) -> Option<Time> {
        self.world.planes.cx.scheduler.next_time().filter(|time| *time < self.end)
    }

    /// Lets happen what is due until `time`, that instant included, or before the run ends; then it is
    /// `time`. `false`: the options end the run; they are asked after some thousand events.
    ///
    /// # Errors
    /// The law that was violated, or the memory that the record would take.
    pub fn advance_to(&mut self, time: Time, options: &RunOptions<'_>) -> Result<bool, Failure> {
        let time = time.min(self.end);
        self.world.advance(time.min(last_instant(self.end)), options)?;
        let cx = &mut self.world.planes.cx;
        cx.now = cx.now.max(time);
        cx.scheduler.pass_to(cx.now);
        if self.world.events < self.looked + EVENTS_BETWEEN_LOOKS {
            return Ok(true);
        }
        self.looked = self.world.events;
        self.world.may_go_on(options)
    }

    /// The node of this name.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.world.planes.network.node_named(name)
    }

    /// The address of a node; of a mobile host its home address.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn address(&self, node: NodeId) -> Addr {
        self.world.planes.network.address(node)
    }

    /// The flow of this name.
    pub fn flow(&self, name: &str) -> Option<FlowId> {
        let found = self.world.flows.iter().position(|flow| &*flow.name == name);
        found.map(|index| FlowId(index as u32))
    }

    /// The flow in the other direction of a session of requests and answers.
    pub fn partner(&self, flow: FlowId) -> Option<FlowId> {
        self.world.flows.partner(flow)
    }

    /// Takes an end of a flow out, before the run begins: it sends nothing more, and its packets come out.
    /// Totals of the flow are those of the end that stays.
    ///
    /// # Panics
    /// If there is no such flow, or the run has begun.
    pub fn take_out(&mut self, flow: FlowId, side: Side) {
        assert_eq!(self.world.events, 0, "an end is taken out before the run begins");
        self.world.flows.take_out(flow, side);
    }

    /// A datagram sets out from a node, now.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn inject(&mut self, node: NodeId, datagram: &Datagram) {
        self.world.flows.inject(node, datagram, &mut self.world.planes);
    }

    /// The next datagram that came out, in the order in which they did.
    pub fn poll_egress(&mut self) -> Option<Egress> {
        self.world.flows.poll_egress()
    }

    /// Immediate next step of the application of a flow over a stack outside.
    pub fn poll_offer(&mut self, flow: FlowId) -> Option<Offer> {
        self.world.flows.poll_offer(flow)
    }

    /// The stack outside reports of a flow's sender, now.
    pub fn report(&mut self, flow: FlowId, report: &Report) {
        self.world.flows.report(flow, report, &mut self.world.planes);
    }

    /// The application at the receiver of a flow over a stack outside has read this number of further bytes, now.
    pub fn read(&mut self, flow: FlowId, bytes: u64) {
        self.world.flows.read(flow, bytes, &mut self.world.planes);
    }

    /// The application of a flow over a stack outside has stopped after it had written this number of bytes.
    pub fn wrote(&mut self, flow: FlowId, bytes: u64) {
        self.world.flows.wrote(flow, bytes);
    }

    /// Ends the run where it is: its tables, of which those that `options` wants.
    ///
    /// # Errors
    /// The law that was violated.
    pub fn finish(self, options: &RunOptions<'_>) -> Result<Vec<Table>, Failure> {
        self.world.check_conservation()?;
        let end = self.now();
        Ok(conclude(self.world, end, options))
    }
}
