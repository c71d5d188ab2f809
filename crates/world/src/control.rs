//! The control plane: mobility agents get their inputs, and their actions are carried out.
//!
//! Agents use the network through its methods, and no flow. An action that its node cannot carry out violates a law:
//! the run ends with a report. Some actions may find nothing to do; a comment gives the reason.

use crate::cause::{Cause, CauseId, Kind, Led};
use crate::cx::Cx;
use crate::event::Event;
use crate::fault::{Fate, Fault};
use crate::ids::{CellId, DomainId, HostAtAgent, LinkId, Location, NodeId, Slot};
use crate::network::{Done, Listener, Network};
use crate::probe::{Said, Stop};
use roamlab_engine::{Duration, Time};
use roamlab_mobility::{Action, Input, L2Trigger, Message, MobilityAgent, Prediction};
use roamlab_packet::{Addr, Body, DropReason, FlowId, IpHeader, MessageId, Packet, PacketId, Tos, Waiting};
use std::collections::BTreeMap;
use std::ops::Range;

mod machine;
mod motion;
mod roaming;
mod timers;

use machine::Machine;
use timers::{SetBy, Timers};

/// A mobility agent.
#[derive(Clone, Debug)]
struct Agent {
    domain: DomainId,
    machine: Machine,
    /// The first of its pending deadlines, which an input alone changes.
    deadline: Option<Time>,
    /// What set its pending deadlines.
    timers: Timers,
}

/// The agents of a node.
#[derive(Clone, Debug, Default)]
struct AtNode {
    /// By [`Slot`].
    agents: Vec<Agent>,
    /// When their pending wake-ups are due, the earliest last.
    armed: Vec<Time>,
}

/// What an alternative to the protocols of a run has in place of theirs.
#[derive(Clone, Debug)]
pub struct Alternative {
    /// Its agents by node, in the order of the residents.
    pub machines: Vec<Vec<MobilityAgent>>,
    /// Its predictions.
    pub predictions: Vec<Prediction>,
}

/// What a fault holds back.
#[derive(Clone, Debug)]
enum HeldBack {
    /// A message, the node that it is at and its domain.
    Message(NodeId, DomainId, Waiting),
    /// A management frame, and the link that it takes.
    Frame(LinkId, Waiting),
}

/// All mobility agents, and what waits to be told to them.
#[derive(Clone, Debug)]
pub struct Agents {
    at: Vec<AtNode>,
    /// Faults to inject into the signalling.
    faults: Vec<Fault>,
    /// Handovers that base stations will be told of in advance, right or wrong.
    predictions: Vec<Prediction>,
    /// The numbers of those that are this run's own.
    own: Range<u32>,
    /// The numbers of those of each alternative that shares its beginning.
    of_others: Vec<Range<u32>>,
    /// Alternatives that share the beginning wanted different things.
    differ: bool,
    /// What is held back by a fault.
    delayed: Vec<Option<HeldBack>>,
    /// Who wants to know when nothing is left for a host on the air of a base station, with what led to that.
    draining: BTreeMap<(NodeId, HostAtAgent), CauseId>,
    /// Those of the agent that is looked at, kept for the next one: no list is allocated for each input.
    deadlines: Vec<Time>,
    /// A list of actions, kept for the next input: none is allocated for each.
    actions: Vec<Action>,
    /// The first law that an action has violated, and when.
    broken: Option<(String, Time)>,
}

impl Listener for Agents {
    fn hear(&mut self, node: NodeId, slot: Slot, input: Input, network: &mut Network, cx: &mut Cx) {
        self.input(node, slot, input, network, cx);
    }
}

impl Agents {
    /// The agents of each node, before their first input.
    pub fn new(
        machines: Vec<Vec<(DomainId, MobilityAgent)>>,
        faults: Vec<Fault>,
        predictions: Vec<Prediction>,
    ) -> Agents {
        let agent = |(domain, machine): (DomainId, MobilityAgent)| {
            let deadline = machine.next_deadline();
            let machine = Machine::new(machine);
            Agent { domain, machine, deadline, timers: Timers::default() }
        };
        let at_node = |machines: Vec<(DomainId, MobilityAgent)>| AtNode {
            agents: machines.into_iter().map(agent).collect(),
            armed: Vec::new(),
        };
        Agents {
            at: machines.into_iter().map(at_node).collect(),
            faults,
            own: 0..predictions.len() as u32,
            of_others: Vec::new(),
            predictions,
            differ: false,
            delayed: Vec::new(),
            draining: BTreeMap::new(),
            deadlines: Vec::new(),
            actions: Vec::new(),
            broken: None,
        }
    }

    /// Schedules the predictions and sets the first wake-ups of all agents.
    pub fn start(&mut self, cx: &mut Cx) {
        for (prediction, number) in self.predictions.iter().zip(0..) {
            cx.scheduler.push(prediction.at, Event::Prediction { number });
        }
        for node in (0..self.at.len() as u32).map(NodeId) {
            self.arm(node, cx);
            for slot in self.slots(node) {
                self.note_timers(node, slot, CauseId::START, cx);
            }
        }
    }

    /// The agents of an alternative run beside those of this run, before the first input, until they want different things.
    pub fn share_beginning(&mut self, alternative: Alternative) {
        let Alternative { machines, predictions } = alternative;
        for (at_node, machines) in self.at.iter_mut().zip(machines) {
            for (agent, machine) in at_node.agents.iter_mut().zip(machines) {
                self.differ |= !agent.machine.run_beside(machine);
            }
        }
        let first = self.predictions.len() as u32;
        self.predictions.extend(predictions);
        self.of_others.push(first..self.predictions.len() as u32);
    }

    /// Whether the alternatives have wanted different things.
    pub fn differ(&self) -> bool {
        self.differ
    }

    /// From now on this is the run of an alternative, or of 0: of the run whose beginning it was.
    pub fn choose(&mut self, alternative: usize) {
        for agent in self.at.iter_mut().flat_map(|at_node| &mut at_node.agents) {
            agent.machine.choose(alternative);
        }
        if let Some(own) = alternative.checked_sub(1).and_then(|index| self.of_others.get(index)) {
            self.own = own.clone();
        }
        self.of_others.clear();
    }

    /// When the first prediction is due, of this run or an alternative.
    pub fn first_prediction(&self) -> Option<Time> {
        self.predictions.iter().map(|prediction| prediction.at).min()
    }

    /// The first law that was violated, and when.
    pub fn violation(&mut self) -> Option<(String, Time)> {
        self.broken.take()
    }

    /// How many messages are held back.
    pub fn packets_delayed(&self) -> u64 {
        self.delayed.iter().flatten().count() as u64
    }

    /// Gives one of a node's agents an input and does what it asks for.
    fn input(&mut self, node: NodeId, slot: Slot, input: Input, net: &mut Network, cx: &mut Cx) {
        self.input_set_by(node, slot, (input, CauseId::NONE), net, cx);
    }

    /// The same; the deadlines that the agent sets are put down to `set_by`, if that is a row.
    fn input_set_by(
        &mut self,
        node: NodeId,
        slot: Slot,
        (input, set_by): (Input, CauseId),
        net: &mut Network,
        cx: &mut Cx,
    ) {
        let mut actions = std::mem::take(&mut self.actions);
        let agent = self.agent(node, slot);
        let alike = agent.machine.on(input, cx.now, &mut actions);
        agent.deadline = agent.machine.next_deadline();
        self.differ |= !alike;
        self.arm(node, cx);
        self.note_timers(node, slot, set_by, cx);
        for action in actions.drain(..) {
            self.act(node, slot, action, net, cx);
        }
        self.actions = actions;
    }

    /// Does what an agent asks for. If it cannot be done, the run ends.
    fn act(&mut self, node: NodeId, slot: Slot, action: Action, net: &mut Network, cx: &mut Cx) {
        if let Err(problem) = self.try_to_act(node, slot, action, net, cx) {
            let name = net.name(node);
            self.broken.get_or_insert_with(|| (format!("an agent at \"{name}\" {problem}"), cx.now));
        }
    }

    /// Layer 2 tells the agents of a host's domains at a node; of a base station only those whose domain has it.
    fn tell(&mut self, node: NodeId, host: Addr, trigger: &L2Trigger, net: &mut Network, cx: &mut Cx) {
        let told: Vec<Slot> = net.agents_for(node, host, trigger.base_station()).collect();
        for slot in told {
            self.input(node, slot, Input::Trigger(trigger.clone()), net, cx);
        }
    }

    /// Signalling has come to its node: a message for the agents of its domain there.
    pub fn deliver(&mut self, node: NodeId, packet: PacketId, net: &mut Network, cx: &mut Cx) {
        let packet = cx.pool.deliver(packet);
        let (Some(id), from) = (packet.message(), packet.header.src) else { return };
        let said = cx.probes.received(cx.now, id);
        let led = Led::By(cx.probes.causes.message_row(id));
        cx.because(led, |cx| match said {
            Said::Agent(domain, message) => self.hand_over(node, (domain, from), &message, net, cx),
            Said::Radio(frame) => self.take_frame(node, frame, net, cx),
        });
    }

    /// Signalling has come to all who hear a cell.
    pub fn broadcast(&mut self, cell: CellId, packet: PacketId, net: &mut Network, cx: &mut Cx) {
        let packet = cx.pool.deliver(packet);
        let (Some(id), from) = (packet.message(), packet.header.src) else { return };
        let Said::Agent(domain, message) = cx.probes.received(cx.now, id) else { return };
        for index in 0..net.cells().count_in(cell) {
            let Some((host, moved)) = net.cells().hearer(cell, index) else { continue };
            if !self.is_heeded(host, (domain, from), &message) {
                continue;
            }
            let led = cx.probes.causes.heard(id, net.address(host), moved);
            cx.because(led, |cx| self.hand_over(host, (domain, from), &message, net, cx));
        }
    }

    /// Whether a message may change anything at a node.
    fn is_heeded(&self, node: NodeId, (domain, from): (DomainId, Addr), message: &Message) -> bool {
        let agents = &self.at[node.0 as usize].agents;
        agents.iter().any(|agent| agent.domain == domain && agent.machine.heeds(from, message))
    }

    fn hand_over(
        &mut self,
        node: NodeId,
        (domain, from): (DomainId, Addr),
        message: &Message,
        net: &mut Network,
        cx: &mut Cx,
    ) {
        for slot in self.slots(node) {
            let Agent { domain: own, machine, .. } = self.agent(node, slot);
            if *own == domain && machine.heeds(from, message) {
                let message = message.clone();
                self.input(node, slot, Input::Message { from, message }, net, cx);
            }
        }
    }

    /// The deadline of some agent of a node may have come.
    pub fn wake(&mut self, node: NodeId, net: &mut Network, cx: &mut Cx) {
        self.at[node.0 as usize].armed.pop();
        let mut is_armed = false;
        for slot in self.slots(node) {
            if self.agent(node, slot).deadline.is_some_and(|deadline| deadline <= cx.now) {
                let (row, set_by) = self.timer(node, slot, cx);
                let input = (Input::Deadline, set_by);
                cx.because(Led::ByThis(row), |cx| self.input_set_by(node, slot, input, net, cx));
                is_armed = true;
            }
        }
        if !is_armed {
            self.arm(node, cx);
        }
    }

    /// The row for the deadline of an agent that has come, and what set it.
    fn timer(&mut self, node: NodeId, slot: Slot, cx: &Cx) -> (Cause, CauseId) {
        let place = Location::Node(node);
        let SetBy { cause, sent_by } = self.agent(node, slot).timers.first();
        let missing = cx.probes.causes.missing(sent_by, place);
        (Cause::of(Kind::Timer, "", missing.unwrap_or(cause)).at(place), cause)
    }

    /// Notes what set an agent's deadlines: `set_by` or, if that is no row, what led to the present input.
    fn note_timers(&mut self, node: NodeId, slot: Slot, set_by: CauseId, cx: &mut Cx) {
        if !cx.probes.causes.is_on() {
            return;
        }
        let Agents { at, deadlines, .. } = self;
        let Agent { machine, timers, .. } = &mut at[node.0 as usize].agents[slot.0 as usize];
        deadlines.clear();
        machine.deadlines(&mut |time| deadlines.push(time));
        deadlines.sort();
        deadlines.dedup();
        let mut new = None;
        let mut now = || {
            *new.get_or_insert_with(|| {
                let sent_by = cx.led();
                SetBy { cause: set_by.or(|| sent_by), sent_by }
            })
        };
        timers.follow_list(deadlines, &mut now);
        timers.follow_queue(machine.queue().into_iter().flatten().copied(), &mut now);
    }

    /// Sets the wake-up of a node's agents, if it must come earlier than those that are pending. A later one stays, and
    /// serves when its time has come: were it forgotten, each deadline brought forward would leave a wake-up behind
    /// for good.
    fn arm(&mut self, node: NodeId, cx: &mut Cx) {
        let AtNode { agents, armed } = &mut self.at[node.0 as usize];
        let deadline = agents.iter().filter_map(|agent| agent.deadline).min();
        let Some(deadline) = deadline.map(|deadline| deadline.max(cx.now)) else { return };
        if armed.last().is_none_or(|&pending| deadline < pending) {
            armed.push(deadline);
            cx.scheduler.push(deadline, Event::Agent { node });
        }
    }

    fn agent(&mut self, node: NodeId, slot: Slot) -> &mut Agent {
        &mut self.at[node.0 as usize].agents[slot.0 as usize]
    }

    fn slots(&self, node: NodeId) -> impl Iterator<Item = Slot> + use<> {
        (0..self.at[node.0 as usize].agents.len() as u16).map(Slot)
    }

    fn try_to_act(
        &mut self,
        node: NodeId,
        slot: Slot,
        action: Action,
        net: &mut Network,
        cx: &mut Cx,
    ) -> Done {
        let served = |host| HostAtAgent { host, slot };
        match action {
            Action::Send { to, message } => self.send_message(node, slot, (to, message), net, cx),
            Action::SetRoute { host, from, via, watch } => {
                return net.set_route(node, served(host), (from, via, watch), false, cx);
            }
            Action::ClearRoute { host, from } => net.clear_route(node, served(host), (from, None), cx),
            Action::AddBranch { host, from, via, watch } => {
                return net.set_route(node, served(host), (from, via, watch), true, cx);
            }
            Action::RemoveBranch { host, from, via } => {
                net.clear_route(node, served(host), (from, Some(via)), cx);
            }
            Action::StartBuffering { host } => {
                self.draining.remove(&(node, served(host)));
                return net.start_buffering(node, served(host), cx);
            }
            Action::Release { host, via, mark } => return net.release(node, served(host), via, mark, cx),
            Action::AwaitForwarded { host, wait } => {
                return net.await_forwarded(node, served(host), wait, cx);
            }
            Action::Delay { host, via, wait } => return net.delay(node, served(host), via, wait, cx),
            Action::ReleaseReorderQueue { host, via } => {
                net.release_reorder_queue(node, served(host), via, cx);
            }
            Action::EndBearer { host } => net.end_bearer(node, served(host), cx),
            Action::DiscardBuffer { host } => net.discard_buffer(node, served(host), cx),
            Action::Measure { event } if net.cells().measures(node) => net.cells().evaluate(node, event),
            Action::Search if net.cells().measures(node) => net.cells().search(node),
            Action::Measure { .. } | Action::Search => {
                return Err("wants measurements, and the node makes none");
            }
            Action::ReportReceived { to } => {
                let received = net.cells().received(node).cloned();
                let packets =
                    received.ok_or("reports what it has received, and the node is no mobile host")?;
                self.input(node, slot, Input::Trigger(L2Trigger::Received { to, packets }), net, cx);
            }
            Action::AwaitDrained { .. } if net.cell_of(node).is_none() => {
                return Err("waits for the air, and the node has no cell");
            }
            Action::AwaitDrained { host } => {
                self.draining.insert((node, served(host)), cx.led());
                self.look_for_drained(node, host, net, cx);
            }
            Action::SkipReceived { host, received } => {
                return net.skip_received(node, served(host), received, cx);
            }
            Action::Leave | Action::Enter { .. } if !net.address(node).is_mobile() => {
                return Err("changes cells, and the node is no mobile host");
            }
            Action::Leave => self.leave_all(node, net, cx),
            Action::Enter { base_station, after } => self.command_entry(node, (base_station, after), net, cx),
            Action::Note { host, phase } => return net.note(host, phase, node, cx).map(|_| ()),
        }
        Ok(())
    }

    fn send_message(
        &mut self,
        node: NodeId,
        slot: Slot,
        (to, message): (Addr, Message),
        net: &mut Network,
        cx: &mut Cx,
    ) {
        let concerned = (message.name(), message.host());
        let fate = self.strike(concerned);
        let (src, domain) = (net.address(node), self.agent(node, slot).domain);
        let (size, in_band) = (message.size(), message.in_band());
        let place = Location::Node(node);
        let row = cx.probes.causes.message(cx.now, concerned.0, (place, concerned.1));
        let about = (concerned.0, concerned.1, size);
        let id = cx.probes.sent(cx.now, (src, to), about, (Said::Agent(domain, message), row));
        let inner = IpHeader::new(src, to, Tos::default());
        let packet = Packet::make(FlowId::CONTROL, inner, size, cx.now, Body::Signal(id));
        let packet = cx.pool.create(packet.in_band(in_band));
        cx.probes.message_serial(id, cx.pool[&packet].serial);
        match fate {
            None => self.set_out(node, domain, packet, net, cx),
            Some(Fate::Lost) => cx.lose(packet, DropReason::ForcedLoss, place),
            Some(Fate::Late(delay)) => {
                self.hold_back((HeldBack::Message(node, domain, packet.into()), id), (delay, place), cx);
            }
            Some(Fate::Twice(after)) => {
                let copy = cx.pool.duplicate(&packet);
                self.set_out(node, domain, packet, net, cx);
                self.send_later(HeldBack::Message(node, domain, copy.into()), after, cx);
            }
        }
    }

    /// What the faults of the scenario do to the message of this name about this host.
    fn strike(&mut self, concerned: (&str, Option<Addr>)) -> Option<Fate> {
        self.faults.iter_mut().filter_map(|fault| fault.strike(concerned)).last()
    }

    fn hold_back(
        &mut self,
        (held, id): (HeldBack, MessageId),
        (delay, place): (Duration, Location),
        cx: &mut Cx,
    ) {
        cx.probes.causes.held_back(cx.now, id, place);
        self.send_later(held, delay, cx);
    }

    fn send_later(&mut self, held: HeldBack, delay: Duration, cx: &mut Cx) {
        let slot = self.delayed.len() as u32;
        self.delayed.push(Some(held));
        cx.scheduler.push(cx.now + delay, Event::Delayed { slot });
    }

    /// A message that a fault has held back sets out.
    pub fn release_delayed(&mut self, slot: u32, net: &mut Network, cx: &mut Cx) {
        match self.delayed[slot as usize].take() {
            Some(HeldBack::Message(node, domain, packet)) => {
                self.set_out(node, domain, packet.take(), net, cx)
            }
            Some(HeldBack::Frame(link, packet)) => net.send_over(link, packet.take(), cx),
            None => {}
        }
    }

    fn set_out(&mut self, node: NodeId, domain: DomainId, packet: PacketId, net: &mut Network, cx: &mut Cx) {
        let dst = cx.pool[&packet].header.dst;
        // What a base station itself has to say to its hosts does not go where their data go.
        if net.cell_of(node).is_some() && (dst == Addr::BROADCAST || dst.is_mobile()) {
            cx.trace(&packet, Stop::NodeSend, Location::Node(node));
            net.send_air(node, packet, cx);
        } else if dst == net.address(node) && net.delivers_to_self(domain) {
            cx.trace(&packet, Stop::NodeSend, Location::Node(node));
            self.deliver(node, packet, net, cx);
        } else {
            net.ip_output(node, packet, self, cx);
        }
    }

    /// Whether some agent waits for the air to be clear.
    pub fn wait_for_air(&self) -> bool {
        !self.draining.is_empty()
    }

    /// Tells the agents that wait for it when nothing is left for the host on the air of a base station.
    pub fn look_for_drained(&mut self, node: NodeId, host: Addr, net: &mut Network, cx: &mut Cx) {
        if !net.air_is_clear(node, host, cx) {
            return;
        }
        for slot in self.slots(node) {
            if let Some(cause) = self.draining.remove(&(node, HostAtAgent { host, slot })) {
                let drained = Input::Trigger(L2Trigger::Drained { host });
                cx.because(Led::By(cause), |cx| self.input(node, slot, drained, net, cx));
            }
        }
    }
}

#[cfg(test)]
mod tests;
