//! A run that is driven from outside: by a clock on the wall, by a kernel, by a test. It does no I/O: whoever drives it says
//! how far time goes, puts datagrams in and takes datagrams out.

use crate::build::build;
use crate::cause::CauseId;
use crate::conduct::Conduct;
use crate::conduct::Replication;
use crate::ids::{LinkId, Location, NodeId, Side};
use crate::link::End;
use crate::outside::{Datagram, Egress, Payload};
use crate::probe::Stop;
use crate::run::conclude;
use crate::scenario::Scenario;
use crate::table::Table;
use crate::world::{Failure, World};
use roamlab_engine::Time;
use roamlab_packet::{Addr, Body, FlowId, IpHeader, Packet, PacketId, UdpHeader};

/// A run that is driven from outside.
///
/// The driver advances time from one [`next_event`](Self::next_event) to the next, or as its own clock goes, and looks
/// after each step for what has come out. What it puts in at an instant happens after what the run did at that instant.
#[derive(Debug)]
pub struct Simulation {
    world: World,
    end: Time,
}

impl Simulation {
    /// A checked scenario before its first event. Of `conduct` the tables count.
    pub fn new(scenario: &Scenario, draw: Replication, conduct: &Conduct<'_>) -> Simulation {
        Simulation { world: build(scenario, draw, conduct), end: Time::ZERO + scenario.run.duration }
    }

    /// Now, in simulated time.
    pub fn now(&self) -> Time {
        self.world.cx.now
    }

    /// When something happens next by itself, if something does before the run ends.
    pub fn next_event(&mut self) -> Option<Time> {
        self.world.cx.scheduler.next_time().filter(|time| *time <= self.end)
    }

    /// Lets happen what is due until `time`, that instant included, or until the run ends; then it is `time`.
    ///
    /// # Errors
    /// The law that was violated.
    pub fn advance_to(&mut self, time: Time) -> Result<(), Failure> {
        let time = time.min(self.end);
        self.world.advance(time, &Conduct::default())?;
        self.world.cx.now = self.world.cx.now.max(time);
        Ok(())
    }

    /// The node of this name.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        let found = self.world.nodes.iter().position(|node| node.name == name);
        found.map(|index| NodeId(index as u32))
    }

    /// The address of a node; of a mobile host its home address.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn address(&self, node: NodeId) -> Addr {
        self.world.nodes[node.0 as usize].addr
    }

    /// The flow of this name.
    pub fn flow(&self, name: &str) -> Option<FlowId> {
        let found = self.world.flows.iter().position(|flow| flow.name == name);
        found.map(|index| FlowId(index as u32))
    }

    /// Takes an end of a flow out, before the run begins: it sends nothing by itself, and what comes for it comes out.
    /// Totals of the flow are those of the end that stays.
    ///
    /// # Panics
    /// If there is no such flow, or the run has begun.
    pub fn take_out(&mut self, flow: FlowId, side: Side) {
        assert_eq!(self.world.events, 0, "an end is taken out before the run begins");
        let ends = &self.world.flows[flow.0 as usize];
        let node = match side {
            Side::Sender => ends.src,
            Side::Receiver => ends.dst,
        };
        self.world.outside.get_or_insert_default().ends.insert((flow, node));
        // What arrives there takes the general path, which looks for ends outside.
        let arriving = |(_, link): &(usize, &crate::link::Link)| link.to == End::Node(node);
        let links: Vec<usize> =
            self.world.links.iter().enumerate().filter(arriving).map(|(id, _)| id).collect();
        links.into_iter().for_each(|id| self.world.links.end_specially(LinkId(id as u32)));
    }

    /// A datagram sets out from a node, now.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn inject(&mut self, node: NodeId, datagram: &Datagram) {
        let Datagram { flow, source, destination, tos, size, payload } = *datagram;
        let header = IpHeader::new(source, destination, tos);
        let cx = &mut self.world.cx;
        let body = match payload {
            Payload::Tcp(tcp) => Body::Tcp(tcp),
            Payload::Udp(udp) => Body::Udp(udp),
        };
        let packet = cx.pool.create(Packet::make(flow, header, size, cx.now, body));
        cx.packet_event("send", &packet, Location::Node(node), (0, CauseId::NONE));
        self.world.send(node, packet);
    }

    /// The next datagram that came out, in the order in which they did.
    pub fn poll_egress(&mut self) -> Option<Egress> {
        self.world.outside.as_mut()?.egress.pop_front()
    }

    /// Ends the run where it is: its tables.
    ///
    /// # Errors
    /// The law that was violated.
    pub fn finish(self) -> Result<Vec<Table>, Failure> {
        self.world.check_conservation()?;
        let end = self.now();
        Ok(conclude(self.world, end, &Conduct::default()))
    }
}

impl World {
    /// A packet that is in no tunnel has come to the node that it is for.
    pub(crate) fn deliver_or_egress(&mut self, node: NodeId, packet: PacketId) {
        match &self.outside {
            Some(outside) if outside.ends.contains(&(self.cx.pool[&packet].flow, node)) => {
                self.egress(node, packet);
            }
            _ => self.deliver(node, packet),
        }
    }

    /// Whether a flow's sender is outside.
    pub(crate) fn sends_from_outside(&self, flow: u32) -> bool {
        let end = (FlowId(flow), self.flows[flow as usize].src);
        self.outside.as_ref().is_some_and(|outside| outside.ends.contains(&end))
    }

    fn egress(&mut self, node: NodeId, packet: PacketId) {
        let cx = &mut self.cx;
        let payload = match cx.pool[&packet].is_udp() {
            true => Payload::Udp(UdpHeader { seq: cx.pool[&packet].seq() }),
            false => Payload::Tcp(cx.pool.tcp_header(&packet)),
        };
        cx.trace(&packet, Stop::AppDeliver, Location::Node(node));
        let size = cx.pool[&packet].wire_size();
        let Packet { header: IpHeader { src: source, dst: destination, tos, .. }, flow, .. } =
            *cx.pool.deliver(packet);
        let datagram = Datagram { flow, source, destination, tos, size, payload };
        let egress = Egress { time: cx.now, node, datagram };
        self.outside.get_or_insert_default().egress.push_back(egress);
    }
}
