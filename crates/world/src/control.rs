//! The control plane: mobility agents get their inputs, and their actions are carried out.
//!
//! Agents use the network through its methods, and no flow. An action that its node cannot carry out violates a law:
//! the run ends with a report. Some actions may find nothing to do; a comment gives the reason.

use crate::context::Context;
use crate::control::agent::{Agent, SetBy};
use crate::control::fault::Fault;
use crate::control::messages::{Content, Sent};
use crate::dataplane::network::{Done, Listener, Network};
use crate::event::Event;
use crate::ids::{AgentIndex, CellId, DomainId, HostAtAgent};
use crate::notices::PendingNotice;
use roamlab_engine::{Bytes, Time};
use roamlab_mobility::{
    Action, Input, L2Trigger, Message, MobilityAction, MobilityAgent, MobilityInput, Prediction,
};
use roamlab_packet::{Addr, FlowId, IpHeader, MessageId, Packet, PacketId, Tos, Waiting};
use roamlab_radio::Management;
use roamlab_record::Signal;
use roamlab_record::cause::{Cause, CauseId, CurrentCause, Kind};
use roamlab_record::ids::{LinkId, Location, NodeId};
use std::collections::BTreeMap;
use std::ops::Range;

pub(crate) mod agent;
mod bearer;
pub(crate) mod fault;
pub(crate) mod messages;
mod motion;
mod signalling;

/// Part of an alternative that replaces the protocols of a run.
#[derive(Clone, Debug)]
pub struct Alternative {
    /// Its agents by node, in the order of those of the run.
    pub machines: Vec<Vec<MobilityAgent>>,
    /// Its predictions.
    pub predictions: Vec<Prediction>,
}

/// The way that a signalling message takes.
#[derive(Copy, Clone, Debug)]
pub enum Way {
    /// By the routes of the node that sends it; its domain, if it has one.
    Routed(NodeId, Option<DomainId>),
    /// Over this link.
    Link(LinkId),
}

/// Driver of the mobility agents, and their pending inputs. The agents themselves are at their nodes.
#[derive(Clone, Debug)]
pub struct Agents {
    /// Faults to inject into the signalling.
    faults: Vec<Fault>,
    /// Handovers that base stations will be notified of in advance, right or wrong.
    predictions: Vec<Prediction>,
    /// The numbers of those that are this run's own.
    own: Range<u32>,
    /// The numbers of those of each alternative that shares its beginning.
    of_others: Vec<Range<u32>>,
    /// Alternatives that share the beginning wanted different things.
    differ: bool,
    /// Messages held back by a fault, and their ways.
    delayed: Vec<Option<(Way, Waiting)>>,
    /// Who wants to know when nothing is left for a host on the air of a base station, with what led to that.
    draining: BTreeMap<(NodeId, HostAtAgent), CauseId>,
    /// Those of the agent that is looked at, kept for the next one: no list is allocated for each input.
    deadlines: Vec<Time>,
    /// A list of actions, kept for the next input: none is allocated for each.
    actions: Vec<MobilityAction>,
    /// The first law that an action has violated, and when.
    broken: Option<(String, Time)>,
}

impl Listener for Agents {
    fn notify(
        &mut self,
        node: NodeId,
        slot: AgentIndex,
        input: MobilityInput,
        network: &mut Network,
        cx: &mut Context,
    ) {
        self.input(node, slot, input, network, cx);
    }
}

impl Agents {
    /// The control plane of a run with these faults and predictions.
    pub fn new(faults: Vec<Fault>, predictions: Vec<Prediction>) -> Agents {
        Agents {
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
    pub fn start(&mut self, net: &mut Network, cx: &mut Context) {
        for (prediction, number) in self.predictions.iter().zip(0..) {
            cx.scheduler.push(prediction.at, Event::Prediction { number });
        }
        for node in (0..net.nodes()).map(NodeId) {
            arm(node, net, cx);
            for slot in net.slots(node) {
                self.note_timers(node, slot, CauseId::START, net, cx);
            }
        }
    }

    /// The agents of an alternative run in parallel with those of this run, before the first input, until they want different
    /// things.
    pub fn share_beginning(&mut self, alternative: Alternative, net: &mut Network) {
        let Alternative { machines, predictions } = alternative;
        for (agent, machine) in net.all_agents().zip(machines.into_iter().flatten()) {
            self.differ |= !agent.machine.run_beside(machine);
        }
        let first = self.predictions.len() as u32;
        self.predictions.extend(predictions);
        self.of_others.push(first..self.predictions.len() as u32);
    }

    /// True if the alternatives have wanted different things.
    pub fn differ(&self) -> bool {
        self.differ
    }

    /// From now on this is the run of an alternative, or of 0: of the run whose beginning it was.
    pub fn choose(&mut self, alternative: usize, net: &mut Network) {
        net.all_agents().for_each(|agent| agent.machine.choose(alternative));
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
    fn input(
        &mut self,
        node: NodeId,
        slot: AgentIndex,
        input: MobilityInput,
        net: &mut Network,
        cx: &mut Context,
    ) {
        self.input_set_by(node, slot, (input, CauseId::NONE), net, cx);
    }

    /// The same; the deadlines that the agent sets are put down to `set_by`, if that is a row.
    fn input_set_by(
        &mut self,
        node: NodeId,
        slot: AgentIndex,
        (input, set_by): (MobilityInput, CauseId),
        net: &mut Network,
        cx: &mut Context,
    ) {
        let mut actions = std::mem::take(&mut self.actions);
        let agent = net.agent(node, slot);
        let alike = agent.machine.on(input, cx.now, &mut actions);
        // One that was not set while it passed is due now.
        agent.deadline = agent.machine.next_deadline().map(|deadline| deadline.max(cx.now));
        self.differ |= !alike;
        arm(node, net, cx);
        self.note_timers(node, slot, set_by, net, cx);
        for action in actions.drain(..) {
            self.act(node, slot, action, net, cx);
        }
        self.actions = actions;
    }

    /// Does what an agent asks for. If it cannot be done, the run ends.
    fn act(
        &mut self,
        node: NodeId,
        slot: AgentIndex,
        action: MobilityAction,
        net: &mut Network,
        cx: &mut Context,
    ) {
        if let Err(problem) = self.try_to_act(node, slot, action, net, cx) {
            let name = net.name(node);
            self.broken.get_or_insert_with(|| (format!("an agent at \"{name}\" {problem}"), cx.now));
        }
    }

    /// Layer 2 tells the agents of a host's domains at a node; of a base station only those whose domain has it.
    pub fn notify_agents(
        &mut self,
        node: NodeId,
        host: Addr,
        trigger: &L2Trigger,
        net: &mut Network,
        cx: &mut Context,
    ) {
        let slots: Vec<AgentIndex> = net.agents_for(node, host, trigger.base_station()).collect();
        for slot in slots {
            self.input(node, slot, Input::Trigger(trigger.clone()), net, cx);
        }
    }

    /// Signalling has arrived at its node: a message for the agents of its domain there.
    #[inline(never)]
    pub fn deliver(&mut self, node: NodeId, packet: PacketId, net: &mut Network, cx: &mut Context) {
        let Some((id, from, content)) = receive(packet, cx) else { return };
        let led = CurrentCause::Row(cx.probes.causes.message_row(id));
        cx.with_cause(led, |cx| match content {
            Content::Agent(domain, message) => self.hand_over(node, (domain, from), &message, net, cx),
            Content::Frame(_) => {} // delivered to stations
            Content::Wired(frame, _) => {
                let row = cx.current_cause();
                net.cells().notices().push(PendingNotice::Wired(node, frame, row));
            }
            Content::PathChange(notice) => {
                let row = cx.current_cause();
                net.cells().notices().push(PendingNotice::PathNotice(notice, row));
            }
        });
    }

    /// Signalling has arrived at all hosts that hear a cell.
    #[inline(never)]
    pub fn broadcast(&mut self, cell: CellId, packet: PacketId, net: &mut Network, cx: &mut Context) {
        let Some((id, from, Content::Agent(domain, message))) = receive(packet, cx) else { return };
        for index in 0..net.cells().count_in(cell) {
            let Some((host, moved)) = net.cells().hearer(cell, index) else { continue };
            if !is_heeded(net.agents(host), (domain, from), &message) {
                continue;
            }
            let led = cx.probes.causes.heard(id, net.address(host), moved);
            cx.with_cause(led, |cx| self.hand_over(host, (domain, from), &message, net, cx));
        }
    }

    fn hand_over(
        &mut self,
        node: NodeId,
        (domain, from): (DomainId, Addr),
        message: &Message,
        net: &mut Network,
        cx: &mut Context,
    ) {
        for slot in net.slots(node) {
            let Agent { domain: own, machine, .. } = net.agent(node, slot);
            if *own == domain && machine.heeds(from, message) {
                let message = message.clone();
                self.input(node, slot, Input::Message { from, message }, net, cx);
            }
        }
    }

    /// The deadline of some agent of a node may have come.
    pub fn wake(&mut self, node: NodeId, net: &mut Network, cx: &mut Context) {
        net.wake_ups(node).pop();
        let mut is_armed = false;
        for slot in net.slots(node) {
            if net.agent(node, slot).deadline.is_some_and(|deadline| deadline <= cx.now) {
                let (row, set_by) = timer(node, slot, net, cx);
                let input = (Input::Deadline, set_by);
                cx.with_cause(CurrentCause::New(row), |cx| self.input_set_by(node, slot, input, net, cx));
                is_armed = true;
            }
        }
        if !is_armed {
            arm(node, net, cx);
        }
    }

    /// Notes what set an agent's deadlines: `set_by` or, if that is no row, what led to the present input.
    fn note_timers(
        &mut self,
        node: NodeId,
        slot: AgentIndex,
        set_by: CauseId,
        net: &mut Network,
        cx: &mut Context,
    ) {
        if !cx.probes.causes.is_on() {
            return;
        }
        let Agents { deadlines, .. } = self;
        let Agent { machine, timers, .. } = net.agent(node, slot);
        deadlines.clear();
        machine.deadlines(&mut |time| deadlines.push(time));
        deadlines.sort();
        deadlines.dedup();
        let mut new = None;
        let mut now = || {
            *new.get_or_insert_with(|| {
                let sent_by = cx.current_cause();
                SetBy { cause: set_by.or(|| sent_by), sent_by }
            })
        };
        timers.follow_list(deadlines, &mut now);
        timers.follow_queue(machine.queue().into_iter().flatten().copied(), &mut now);
    }

    fn try_to_act(
        &mut self,
        node: NodeId,
        slot: AgentIndex,
        action: MobilityAction,
        net: &mut Network,
        cx: &mut Context,
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
            Action::AwaitForwarded { host, mark, wait } => {
                return net.await_forwarded(node, served(host), (mark, wait), cx);
            }
            Action::Delay { host, via, wait } => return net.delay(node, served(host), via, wait, cx),
            Action::ReleaseReorderQueue { host, via } => {
                net.release_reorder_queue(node, served(host), via, cx);
            }
            Action::EndBearer { host } => net.end_bearer(node, served(host), cx),
            Action::DiscardBuffer { host } => net.discard_buffer(node, served(host), cx),
            Action::SkipReceived { host, received } => {
                return net.skip_received(node, served(host), received, cx);
            }
            Action::AdoptMarking { host, state } => {
                return net.adopt_marking_state(node, host, &state, cx.now);
            }
            Action::BreakLaw { problem } => return Err(problem.into()),
            Action::Note { host, phase } => return net.note(host, phase, node, cx).map(|_| ()),
            request => return self.ask_layer_2(node, slot, request, net, cx),
        }
        Ok(())
    }

    /// Requests to the layer 2 of a node: measurements, moves, numbered bearers. The agent gets the reports of the requests at
    /// the same time or later.
    fn ask_layer_2(
        &mut self,
        node: NodeId,
        slot: AgentIndex,
        action: MobilityAction,
        net: &mut Network,
        cx: &mut Context,
    ) -> Done {
        match action {
            Action::Measure { .. } | Action::Search if !net.cells().measures(node) => {
                return Err("wants measurements, and the node makes none".into());
            }
            Action::Measure { conditions } => return Agents::evaluate(node, &conditions, net),
            Action::Search => net.cells().search(node),
            Action::ReportReceived { to } => {
                let received = net.received_numbers(node).or_else(|| net.cells().received(node));
                let packets =
                    received.ok_or("reports what it has received, and the node is no mobile host")?;
                self.input(node, slot, Input::Trigger(L2Trigger::Received { to, packets }), net, cx);
            }
            Action::AwaitDrained { .. } if net.cell_of(node).is_none() => {
                return Err("waits for the air, and the node has no cell".into());
            }
            Action::AwaitDrained { host } => {
                self.draining.insert((node, HostAtAgent { host, slot }), cx.current_cause());
                self.look_for_drained(node, host, net, cx);
            }
            Action::ReportMarking { host } => {
                let state = net.marking_state(node, host)?;
                let trigger = L2Trigger::MarkingReported { host, state };
                self.input(node, slot, Input::Trigger(trigger), net, cx);
            }
            about_bearer @ (Action::AdoptBearer { .. }
            | Action::FreezeBearer { .. }
            | Action::ResumeBearer { .. }
            | Action::ReportBearer { .. }
            | Action::ForwardBearer { .. }
            | Action::ServeThrough { .. }
            | Action::RecoverBearer { .. }
            | Action::ReportDelivery { .. }
            | Action::Reestablish { .. }) => return self.ask_bearer(node, slot, about_bearer, net, cx),
            of_move => return self.ask_to_move(node, of_move, net, cx),
        }
        Ok(())
    }

    /// True if some agent waits for the air to be clear.
    pub fn wait_for_air(&self) -> bool {
        !self.draining.is_empty()
    }

    /// Tells the agents that wait for it when nothing is left for the host on the air of a base station.
    pub fn look_for_drained(&mut self, node: NodeId, host: Addr, net: &mut Network, cx: &mut Context) {
        if !net.air_is_clear(node, host, cx) {
            return;
        }
        for slot in net.slots(node) {
            if let Some(cause) = self.draining.remove(&(node, HostAtAgent { host, slot })) {
                let drained = Input::Trigger(L2Trigger::Drained { host });
                cx.with_cause(CurrentCause::Row(cause), |cx| self.input(node, slot, drained, net, cx));
            }
        }
    }
}

/// True if a message may change anything for the agents of a node.
fn is_heeded(agents: &[Agent], (domain, from): (DomainId, Addr), message: &Message) -> bool {
    agents.iter().any(|agent| agent.domain == domain && agent.machine.heeds(from, message))
}

/// The row for the deadline of an agent that has come, and what set it.
fn timer(node: NodeId, slot: AgentIndex, net: &mut Network, cx: &Context) -> (Cause, CauseId) {
    let place = Location::Node(node);
    let SetBy { cause, sent_by } = net.agent(node, slot).timers.first();
    let missing = cx.probes.causes.missing(sent_by, place);
    (Cause::of(Kind::Timer, "", missing.unwrap_or(cause)).at(place), cause)
}

/// Sets the wake-up of a node's agents, if it must come earlier than those that are pending. A later one
/// stays, and serves when its time has come: were it forgotten, each deadline brought forward would leave a
/// wake-up behind permanently.
fn arm(node: NodeId, net: &mut Network, cx: &mut Context) {
    let deadline = net.agents(node).iter().filter_map(|agent| agent.deadline).min();
    let Some(deadline) = deadline else { return };
    let wake_ups = net.wake_ups(node);
    if wake_ups.last().is_none_or(|&pending| deadline < pending) {
        wake_ups.push(deadline);
        cx.scheduler.push(deadline, Event::Agent { node });
    }
}

/// A signalling message that is being sent.
pub struct Outgoing {
    /// The node that sends it.
    pub from: NodeId,
    /// Source and destination.
    pub addresses: (Addr, Addr),
    /// The mobile host concerned.
    pub host: Option<Addr>,
    /// Its size.
    pub size: Bytes,
    /// Its content.
    pub content: Content,
    /// How often it has been sent before.
    pub repetition: u32,
}

/// Makes the packet of a message, and records the message; its number, and the packet.
fn send(
    Outgoing { from, addresses, host, size, content, repetition }: Outgoing,
    cx: &mut Context,
) -> (MessageId, PacketId) {
    let (source, destination) = addresses;
    let message = content.name();
    let (in_band, is_frame, for_all) = match &content {
        Content::Agent(_, message) => (message.in_band(), false, false),
        Content::Frame(frame) => (false, true, frame.kind == Management::ProbeRequest),
        Content::Wired(..) => (false, false, false),
        Content::PathChange(_) => (true, false, false), // as an option of an acknowledgement it waits where data waits
    };
    let id = cx.messages.send(content, Sent { at: cx.now, ends: addresses, repetition });
    let header = IpHeader::new(source, destination, Tos::default());
    let packet = Packet::make(FlowId::CONTROL, header, size, cx.now, id);
    let packet = if is_frame { packet.management(for_all) } else { packet.in_band(in_band) };
    let packet = cx.pool.create(packet);
    let serial = cx.pool[&packet].serial;
    let cause = cx.probes.causes.message(cx.now, message, (Location::Node(from), host), serial);
    let (sent_ns, size_bytes, id_row) = (cx.now, size.0, id.0);
    cx.probes.sent(Signal {
        id: id_row,
        message,
        host,
        source,
        destination,
        size_bytes,
        sent_ns,
        arrived_ns: -1,
        serial,
        cause,
    });
    (id, packet)
}

/// Signalling is delivered: its number, sender and content.
pub fn receive(packet: PacketId, cx: &mut Context) -> Option<(MessageId, Addr, Content)> {
    let packet = cx.pool.deliver(packet);
    let (id, from) = (packet.message()?, packet.header.src);
    cx.probes.received(cx.now, id);
    cx.messages.deliver(id).map(|content| (id, from, content))
}

#[cfg(test)]
mod tests;
