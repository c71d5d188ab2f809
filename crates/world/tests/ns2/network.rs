//! Store-and-forward links, as ns-2 models them, and connections across them.
//!
//! A link serves one packet at a time; behind it the packet travels for the propagation delay. Events at one time run
//! in the order in which they were made. The clock is a double, as in ns-2: with these rates and delays packets meet at
//! exactly the same time, and which goes first there is decided by rounding errors. Endpoints see the time in whole
//! nanoseconds, queues see both.

use crate::plan::{LinkPlan, Plan};
use roamlab_engine::{Duration, Rate, Rng, Time};
use roamlab_packet::{
    Addr, Body, DropReason, Ecn, FlowId, IpHeader, Packet, PacketId, PacketPool, TcpFlags, TcpHeader, Tos,
};
use roamlab_qdisc::{Qdisc, QdiscCx, QueueDisc};
use roamlab_transport::{Segment, TcpParams, TcpReceiver, TcpSender, TcpVariables};
use roamlab_world::ns2;
use std::collections::{BTreeMap, VecDeque};

/// One line of the record.
#[derive(Clone, Debug)]
pub struct Row {
    pub at: Time,
    pub event: char,
    /// No flow: the queue as a whole.
    pub flow: Option<usize>,
    pub first: String,
    pub second: String,
    /// The number that `second` is, if it is a real one.
    pub value: f64,
}

/// What a run left behind.
#[derive(Default)]
pub struct Outcome {
    pub rows: Vec<Row>,
    pub flows: Vec<FlowOutcome>,
    /// The number that the random stream gives next.
    pub next_uniform: f64,
}

/// What a flow left behind.
#[derive(Default)]
pub struct FlowOutcome {
    /// The sender's variables after every input that changed them, the first at time zero.
    pub variables: Vec<(Time, TcpVariables)>,
    pub sent: u64,
    pub retransmitted: u64,
    /// Wire bytes delivered in order.
    pub sink_bytes: u64,
    pub snd_max: u32,
    pub una: u32,
}

#[derive(Copy, Clone)]
enum Event {
    Start(usize),
    Arrive { link: usize },
    TxDone { link: usize },
    SenderDeadline(usize),
    ReceiverDeadline(usize),
}

struct Link {
    rate: Rate,
    delay: Duration,
    queue: Qdisc,
    busy: bool,
    in_flight: VecDeque<PacketId>,
}

struct Flow {
    sender: TcpSender,
    receiver: TcpReceiver,
    /// The sender's deadline that an event is pending for.
    armed: Option<Time>,
    outcome: FlowOutcome,
}

struct Network<'a> {
    plan: &'a Plan,
    tick: Duration,
    /// Seconds.
    clock: f64,
    /// The clock in whole nanoseconds.
    now: Time,
    /// By the bits of a positive double, which sort as the double does, and the order in which they were added.
    pending: BTreeMap<(u64, u64), Event>,
    added: u64,
    pool: PacketPool,
    links: Vec<Link>,
    flows: Vec<Flow>,
    met_bottleneck: u64,
    rng: Rng,
    /// Average and probability of the bottleneck's queue as they were recorded last.
    gauges: [f64; 2],
    rows: Vec<Row>,
}

/// Runs all connections of `plan`.
pub fn simulate(plan: &Plan, params: &TcpParams) -> Outcome {
    let rng = plan.random_numbers();
    let phases = ns2::clock_phases(&mut rng.clone(), plan.nodes, &plan.agents(params));
    let flow = |phase: f64| {
        let sender =
            TcpSender::new(params, Duration::from_nanos((phase * params.tick.as_nanos() as f64) as u64));
        let variables = vec![(Time::ZERO, sender.variables())];
        let receiver = TcpReceiver::new(params);
        let outcome = FlowOutcome { variables, ..FlowOutcome::default() };
        Flow { sender, receiver, armed: None, outcome }
    };
    let mut network = Network {
        plan,
        tick: params.tick,
        clock: 0.0,
        now: Time::ZERO,
        pending: BTreeMap::new(),
        added: 0,
        pool: PacketPool::default(),
        links: plan.links.iter().map(|link| Link::new(link, &rng)).collect(),
        flows: phases.into_iter().map(flow).collect(),
        met_bottleneck: 0,
        rng: rng.clone(),
        gauges: [0.0; 2],
        rows: Vec::new(),
    };
    network.run();
    let flows = network.flows.into_iter().map(|flow| flow.outcome).collect();
    Outcome { rows: network.rows, flows, next_uniform: rng.clone().uniform() }
}

impl Link {
    fn new(plan: &LinkPlan, rng: &Rng) -> Link {
        let queue = Qdisc::new(&plan.queue, rng.clone());
        Link { rate: plan.rate, delay: plan.delay, queue, busy: false, in_flight: VecDeque::new() }
    }
}

impl Network<'_> {
    fn run(&mut self) {
        for (index, flow) in self.plan.flows.iter().enumerate() {
            self.push(flow.start, Event::Start(index));
        }
        while let Some(((bits, _), event)) = self.pending.pop_first() {
            self.clock = f64::from_bits(bits);
            if self.clock >= self.plan.stop {
                break;
            }
            self.now = Time::from_nanos((self.clock * 1e9).round() as u64);
            match event {
                Event::Start(flow) => {
                    self.flows[flow].sender.offer(None);
                    self.after_sender(flow);
                }
                Event::Arrive { link } => self.arrive(link),
                Event::TxDone { link } => {
                    self.links[link].busy = false;
                    self.serve(link);
                }
                Event::SenderDeadline(flow) => {
                    self.flows[flow].sender.on_deadline(self.now);
                    self.after_sender(flow);
                }
                Event::ReceiverDeadline(flow) => {
                    self.flows[flow].receiver.on_deadline(self.now);
                    self.after_receiver(flow);
                }
            }
        }
        for flow in &mut self.flows {
            flow.outcome.una = flow.sender.acknowledged();
        }
    }

    fn push(&mut self, seconds: f64, event: Event) {
        self.added += 1;
        self.pending.insert((seconds.to_bits(), self.added), event);
    }

    fn record(&mut self, event: char, flow: usize, first: i64, second: impl Into<String>) {
        let (first, second) = (first.to_string(), second.into());
        self.rows.push(Row { at: self.now, event, flow: Some(flow), first, second, value: 0.0 });
    }

    /// Sends what the sender has to send, and notes what has changed.
    fn after_sender(&mut self, index: usize) {
        while let Some(segment) = self.flows[index].sender.poll_transmit(self.now) {
            let header = segment.header;
            let outcome = &mut self.flows[index].outcome;
            outcome.sent += 1;
            outcome.retransmitted += u64::from(header.retransmission);
            outcome.snd_max = outcome.snd_max.max(header.seq + 1);
            let again = if header.retransmission { "1" } else { "0" };
            self.record('S', index, i64::from(header.seq), again);
            self.send(index, self.plan.flows[index].forward[0], &segment);
        }
        self.arm_sender(index);
        let flow = &mut self.flows[index];
        while flow.sender.poll_fact().is_some() {}
        flow.outcome.variables.push((self.now, flow.sender.variables()));
    }

    /// The timer's event, at the double that ns-2 adds up: ticks times tick times backoff, from now on.
    fn arm_sender(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let deadline = flow.sender.next_deadline();
        if deadline == flow.armed {
            return;
        }
        flow.armed = deadline;
        let Some(deadline) = deadline else { return };
        let backoff = flow.sender.variables().backoff;
        let ticks = (deadline.since(self.now).as_nanos() / self.tick.as_nanos() / backoff) as f64;
        let at = self.clock + ticks * self.tick.as_secs_f64() * backoff as f64;
        self.push(at, Event::SenderDeadline(index));
    }

    fn after_receiver(&mut self, index: usize) {
        while let Some(segment) = self.flows[index].receiver.poll_transmit(self.now) {
            // The recording names the last segment in order, not the next one expected.
            self.record('K', index, i64::from(segment.header.ack) - 1, segment.size.0.to_string());
            self.send(index, self.plan.flows[index].backward[0], &segment);
        }
        if let Some(deadline) = self.flows[index].receiver.next_deadline() {
            self.push(deadline.as_secs_f64(), Event::ReceiverDeadline(index));
        }
    }

    fn send(&mut self, flow: usize, link: usize, segment: &Segment) {
        let tos = Tos::default().with_ecn(segment.ecn);
        let inner = IpHeader::new(Addr::new(0, 0), Addr::new(1, 0), tos);
        let body = Body::Tcp(segment.header);
        let packet = Packet::make(FlowId(flow as u32), inner, segment.size, self.now, body);
        let packet = self.pool.create(packet);
        self.enqueue(link, packet);
    }

    fn parts(&self, packet: &PacketId) -> (usize, TcpHeader, Ecn) {
        let (flow, tos) = (self.pool[packet].flow.0 as usize, self.pool[packet].header.tos);
        (flow, self.pool.tcp_header(packet), tos.ecn())
    }

    fn enqueue(&mut self, index: usize, packet: PacketId) {
        let (flow, header, _) = self.parts(&packet);
        let seq = i64::from(header.seq);
        let is_bottleneck = index == self.plan.bottleneck;
        if is_bottleneck {
            self.met_bottleneck += 1;
            if self.plan.forced_losses.contains(&(self.met_bottleneck - 1)) {
                self.pool.discard(packet, DropReason::QueueOverflow);
                return self.record('D', flow, seq, "l");
            }
            self.record('Q', flow, seq, self.links[index].queue.packets().to_string());
        }
        let mut dropped = Vec::new();
        let (queue, mut cx) = self.queue(index, &mut dropped);
        queue.enqueue(packet, &mut cx);
        for (packet, reason) in dropped {
            self.pool.discard(packet, reason);
            self.record('D', flow, seq, "q");
        }
        if is_bottleneck {
            self.record_gauges();
        }
        if !self.links[index].busy {
            self.serve(index);
        }
    }

    /// A link's queue, and what it may touch.
    fn queue<'a>(
        &'a mut self,
        index: usize,
        dropped: &'a mut Vec<(PacketId, DropReason)>,
    ) -> (&'a mut Qdisc, QdiscCx<'a>) {
        let Link { queue, rate, .. } = &mut self.links[index];
        let (now, seconds) = (self.now, Some(self.clock));
        (queue, QdiscCx { now, seconds, pool: &mut self.pool, rate: *rate, dropped })
    }

    fn record_gauges(&mut self) {
        let gauges = self.links[self.plan.bottleneck].queue.gauges();
        // ns-2 keeps the probability that was tested last, ours says 0 or 1 where nothing is tested.
        let tested = 0.0 < gauges.probability && gauges.probability < 1.0;
        let now = [gauges.average, if tested { gauges.probability } else { self.gauges[1] }];
        for (index, name) in ["ave", "prob1"].into_iter().enumerate() {
            if now[index] != self.gauges[index] {
                let (value, second) = (now[index], now[index].to_string());
                let row = Row { at: self.now, event: 'R', flow: None, first: name.into(), second, value };
                self.rows.push(row);
            }
        }
        self.gauges = now;
    }

    fn serve(&mut self, index: usize) {
        let mut dropped = Vec::new();
        let (queue, mut cx) = self.queue(index, &mut dropped);
        let Some(packet) = queue.dequeue(&mut cx) else { return };
        let link = &mut self.links[index];
        let rate = link.rate;
        link.busy = true;
        let transmission = 8.0 * self.pool[&packet].wire_size().0 as f64 / rate.as_bps() as f64;
        let arrival = self.clock + (transmission + link.delay.as_secs_f64());
        let (flow, header, ecn) = self.parts(&packet);
        self.links[index].in_flight.push_back(packet);
        if index == self.plan.bottleneck && ecn == Ecn::Ce {
            self.record('M', flow, i64::from(header.seq), "");
        }
        self.push(arrival, Event::Arrive { link: index });
        self.push(self.clock + transmission, Event::TxDone { link: index });
    }

    fn arrive(&mut self, link: usize) {
        let Some(packet) = self.links[link].in_flight.pop_front() else { return };
        let (index, header, ecn) = self.parts(&packet);
        let is_ack = header.flags.has(TcpFlags::ACK);
        let lost = self
            .plan
            .outage
            .as_ref()
            .is_some_and(|(links, span)| links.contains(&link) && span.contains(&self.now));
        if lost {
            self.rng.uniform(); // ns-2's model of errors draws, though it loses all
            self.pool.discard(packet, DropReason::QueueOverflow);
            let number = if is_ack { header.ack - 1 } else { header.seq };
            return self.record('D', index, i64::from(number), if is_ack { "la" } else { "l" });
        }
        let plan = &self.plan.flows[index];
        let route = if is_ack { &plan.backward } else { &plan.forward };
        let place = route.iter().position(|other| *other == link).expect("a link of the flow");
        if let Some(&next) = route.get(place + 1) {
            return self.enqueue(next, packet);
        }
        let size = self.pool.deliver(packet).wire_size();
        let flow = &mut self.flows[index];
        if is_ack {
            flow.sender.on_segment(&header, ecn, self.now);
            return self.after_sender(index);
        }
        let receipt = flow.receiver.on_segment(&header, ecn, self.now);
        // A SYN counts too, though the application gets nothing of it; all data segments are of one size.
        let in_order = receipt.in_order_segments.max(u32::from(header.flags.has(TcpFlags::SYN)));
        flow.outcome.sink_bytes += u64::from(in_order) * size.0;
        self.after_receiver(index);
    }
}
