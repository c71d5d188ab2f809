//! The interface of agents: their inputs, what they request, and the trait of a role.

use crate::events::Condition;
use roamlab_engine::{Bytes, Duration, Time};
use roamlab_packet::{Addr, BearerState, Counts, Dscp, MarkingState, Received};
use std::collections::{BTreeSet, VecDeque};

/// Input of an agent.
#[derive(Clone, Debug)]
pub enum Input<M> {
    /// A signalling message for this node arrived.
    Message {
        /// Who sent it (inner source address).
        from: Addr,
        /// Its output.
        message: M,
    },
    /// Layer 2 of this node reports.
    Trigger(L2Trigger),
    /// The time that `next_deadline` gave has come, or has passed. An early wake-up is a no-op.
    Deadline,
    /// A data packet (never a signalling message) passes this node. One for the host met a watched route, or no route at
    /// all; one from the host passes where the role watches uplinks ([`Placement::watches_uplink`](crate::Placement::watches_uplink)), and at the host itself
    /// one to it arrives.
    Data {
        /// The mobile host.
        host: Addr,
        /// The other end: the packet's inner source, or destination if it comes from the host.
        peer: Addr,
        /// Which way it goes.
        direction: Direction,
        /// The adjacent node that it comes from, by its address; `None`: it starts here.
        from: Option<Addr>,
        /// It arrived through a tunnel that ends here.
        tunnelled: bool,
        /// There was no route for it and it is lost.
        lost: bool,
    },
}

/// Which way a packet goes, as its mobile host sees it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Direction {
    /// To the host.
    Down,
    /// From the host.
    Up,
}

/// Reports of layer 2 to the mobility protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum L2Trigger {
    /// (At a mobile host) it can now hear this base station, in addition to those that it hears already.
    LinkUp {
        /// The base station.
        base_station: Addr,
    },
    /// (At a mobile host) its link to this base station is gone.
    LinkDown {
        /// The base station.
        base_station: Addr,
    },
    /// (At a base station) the host entered the cell: layer 2 has associated it.
    HostArrived {
        /// The host's home address.
        host: Addr,
    },
    /// (At a base station) the host left the cell.
    HostGone {
        /// The host's home address.
        host: Addr,
    },
    /// (At a mobile host) a condition of [`Action::Measure`] was entered for this neighbour and held for the time to
    /// trigger, or still holds when the report interval has passed.
    NeighbourBetter {
        /// The name of the condition.
        condition: &'static str,
        /// The neighbour.
        base_station: Addr,
    },
    /// (At a base station, and at the host itself) the host is expected to go to this neighbour, or to report it, soon.
    HandoverPredicted {
        /// The host's home address.
        host: Addr,
        /// The neighbour.
        base_station: Addr,
    },
    /// (At a base station) nothing is left for the host on the air link: the answer to [`Action::AwaitDrained`].
    Drained {
        /// The host's home address.
        host: Addr,
    },
    /// (At a mobile host) its cell could not be heard for the radio's T310. The host is still associated: its
    /// agent decides the next step ([`Action::Leave`], [`Action::Search`]).
    RadioLinkFailure,
    /// (At a mobile host) the strongest base station that can be heard: the answer to [`Action::Search`].
    CellFound {
        /// The base station.
        base_station: Addr,
    },
    /// (At a mobile host) which packets layer 2 has received, the last 2048: the answer to
    /// [`Action::ReportReceived`], at the same time.
    Received {
        /// Recipients, as requested.
        to: Addr,
        /// Which.
        packets: Received,
    },
    /// (At a base station) the state of a host's numbered bearer: the answer to [`Action::ReportBearer`], at the same
    /// time.
    BearerReported {
        /// The host's home address.
        host: Addr,
        /// The state; `None`: there is no numbered bearer here, or its numbers are not known.
        state: Option<BearerState>,
    },
    /// (At a distributed unit) what has happened to the host's numbered packets: the answer to [`Action::ReportDelivery`].
    DeliveryReported {
        /// The host's home address.
        host: Addr,
        /// Numbers that RLC has confirmed since the last report, or that it will not send any more.
        done: BTreeSet<u32>,
        /// Others are not confirmed yet.
        open: bool,
    },
    /// (At a base station) RLC has sent a packet to the host as often as it may, without a confirmation (TS 38.322
    /// §5.3.2).
    RetransmissionLimit {
        /// The host's home address.
        host: Addr,
    },
    /// (At a base station) the estimate by which the host's queue drops or marks: the answer to
    /// [`Action::ReportMarking`], at the same time.
    MarkingReported {
        /// The host's home address.
        host: Addr,
        /// The estimate; `None`: its queue has none.
        state: Option<MarkingState>,
    },
}

impl L2Trigger {
    /// The base station that a host's agents are notified of; `None`: the notice concerns something else.
    pub fn base_station(&self) -> Option<Addr> {
        match *self {
            L2Trigger::LinkUp { base_station }
            | L2Trigger::LinkDown { base_station }
            | L2Trigger::NeighbourBetter { base_station, .. }
            | L2Trigger::HandoverPredicted { base_station, .. }
            | L2Trigger::CellFound { base_station } => Some(base_station),
            L2Trigger::HostArrived { .. }
            | L2Trigger::HostGone { .. }
            | L2Trigger::Drained { .. }
            | L2Trigger::RadioLinkFailure
            | L2Trigger::Received { .. }
            | L2Trigger::BearerReported { .. }
            | L2Trigger::DeliveryReported { .. }
            | L2Trigger::RetransmissionLimit { .. }
            | L2Trigger::MarkingReported { .. } => None,
        }
    }
}

/// Where packets for a host go.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Via {
    /// To an adjacent node.
    Neighbour(Addr),
    /// Over this base station's air link.
    Air,
    /// Through an IP-in-IP tunnel to this address.
    Tunnel(Addr),
    /// Through a tunnel to `to` that begins at `source` for its other end: this node between them passes on what left a
    /// tunnel from there (indirect forwarding, TS 23.501 §5.8.2.5.3).
    Relay {
        /// Where the tunnel began that the packet left here.
        source: Addr,
        /// The other end.
        to: Addr,
    },
    /// They are lost (`no-binding`): the tunnel through which they would continue has ended.
    Discard,
    /// Into the host's buffer at this base station.
    Buffer,
    /// Into the reorder queue behind the host's buffer at this base station.
    ReorderQueue,
}

/// Requests of an agent, in order.
#[derive(Clone, PartialEq, Debug)]
pub enum Action<M, P> {
    /// Send a message from this node; routed like any packet ([`Addr::BROADCAST`]: over the air to all).
    Send {
        /// Destination.
        to: Addr,
        /// The message.
        message: M,
    },
    /// Packets for `host` go this way from now on, replacing the route with the same `host` and `from`.
    SetRoute {
        /// The host's home address.
        host: Addr,
        /// Only packets that come from this adjacent node, or out of a tunnel from it; `None`: packets from anywhere.
        /// A route with `from` wins over one without.
        from: Option<Addr>,
        /// Where to.
        via: Via,
        /// Tell the agent of packets that take this route ([`Input::Data`]).
        watch: bool,
    },
    /// Forget the route with this `host` and `from`, with all its branches.
    ClearRoute {
        /// The host's home address.
        host: Addr,
        /// As in `SetRoute`.
        from: Option<Addr>,
    },
    /// A copy of each packet that takes the route with this `host` and `from` goes this way too; without such a route
    /// this is the route. Nothing changes if it goes this way already.
    AddBranch {
        /// The host's home address.
        host: Addr,
        /// As in `SetRoute`.
        from: Option<Addr>,
        /// Where to.
        via: Via,
        /// As in `SetRoute`.
        watch: bool,
    },
    /// Packets do not go this way any more; the route is forgotten when this was the last way.
    RemoveBranch {
        /// The host's home address.
        host: Addr,
        /// As in `SetRoute`.
        from: Option<Addr>,
        /// Where to.
        via: Via,
    },
    /// (At a base station) take the host's packets out of the air queue, and with layer-2 acknowledgement the
    /// unacknowledged ones off the air, into its buffer, and set its route to [`Via::Buffer`]. A buffer that had
    /// been released holds packets again from here on.
    StartBuffering {
        /// The host's home address.
        host: Addr,
    },
    /// (At a base station) empty the host's buffer, in order, that way; later arrivals that are routed
    /// to [`Via::Buffer`] pass straight through it the same way.
    Release {
        /// The host's home address.
        host: Addr,
        /// Where to: [`Via::Neighbour`] or [`Via::Air`].
        via: Via,
        /// Mark what passes with this code point.
        mark: Option<Dscp>,
    },
    /// (At a base station) hold packets for the host without this mark in its buffer until `wait` after the first of
    /// them. Those with it go over the air. Then send the held packets and set its route to [`Via::Air`].
    AwaitForwarded {
        /// The host's home address.
        host: Addr,
        /// The code point of forwarded packets.
        mark: Dscp,
        /// How long.
        wait: Duration,
    },
    /// Packets that are routed to [`Via::Buffer`] leave the host's buffer this way, each `wait` after it came, until the
    /// buffer is released.
    Delay {
        /// The host's home address.
        host: Addr,
        /// Where to.
        via: Via,
        /// How long each waits.
        wait: Duration,
    },
    /// (At a base station) empty the reorder queue behind the host's buffer, in order, that way.
    ReleaseReorderQueue {
        /// The host's home address.
        host: Addr,
        /// Where to.
        via: Via,
    },
    /// (At a base station) drop what the buffer holds and forget the buffer.
    DiscardBuffer {
        /// The host's home address.
        host: Addr,
    },
    /// (At a base station) drop all that waits for the host, in its buffer, behind it and for the air.
    EndBearer {
        /// The host's home address.
        host: Addr,
    },
    /// (At a mobile host) measure, and from now on evaluate these conditions, each in place of one of its name. They stay
    /// when the host changes cells, but start afresh there. A condition that takes the place of another
    /// starts afresh too, except candidates that both name. All share the layer-3 filter of the first one.
    Measure {
        /// The conditions.
        conditions: Vec<Condition>,
    },
    /// (At a mobile host) ask layer 2 which packets it has received, to report them ([`L2Trigger::Received`]).
    ReportReceived {
        /// Recipients; the answer returns them.
        to: Addr,
    },
    /// (At a base station) tell the agent when nothing is left for the host on the air link, waiting or in flight
    /// ([`L2Trigger::Drained`]). Forgotten when the host's packets are held back.
    AwaitDrained {
        /// The host's home address.
        host: Addr,
    },
    /// (At a base station) do not send the host these packets, or copies of them.
    SkipReceived {
        /// The host's home address.
        host: Addr,
        /// Which.
        received: Received,
    },
    /// (At a base station) the host has a numbered bearer here, which continues from these numbers. Packets that have no
    /// number get the next one when they go over the air. Packets from the host are delivered in order. Packets that
    /// wait for the numbers follow. Until then packets without a number wait, and so do those from the host. At the start of
    /// a connection the numbers are 0.
    AdoptBearer {
        /// The host's home address.
        host: Addr,
        /// The numbers.
        counts: Counts,
    },
    /// (At a base station) give no further numbers, and deliver no further packet from the host: its next base station
    /// does. (At a host) the bearer is suspended: data packets wait, and none is heard.
    FreezeBearer {
        /// The host's home address.
        host: Addr,
    },
    /// Undo [`Action::FreezeBearer`].
    ResumeBearer {
        /// The host's home address.
        host: Addr,
    },
    /// (At a base station) ask for the state of the host's numbered bearer ([`L2Trigger::BearerReported`]).
    ReportBearer {
        /// The host's home address.
        host: Addr,
    },
    /// (At a base station) copies of the packets that have a number and are not confirmed go through tunnels to these base
    /// stations, in order and with their numbers. So do copies of each that gets a number later. None goes to the same one twice.
    /// The packets stay here until they are confirmed or the bearer ends.
    ForwardBearer {
        /// The host's home address.
        host: Addr,
        /// All base stations; those of an earlier request that are not named get none any more.
        to: Vec<Addr>,
        /// Copies of packets that have no number, too, behind those that have one.
        fresh: bool,
    },
    /// (At a central unit) the host's packets that go over the air go, with their numbers, through a tunnel to this
    /// distributed unit from now on. What was sent to another one before stays sent.
    ServeThrough {
        /// The host's home address.
        host: Addr,
        /// The distributed unit: a base station that has RLC alone.
        unit: Addr,
    },
    /// Data recovery (TS 38.323 §5.5). At a central unit: what another distributed unit has got and has not reported as done
    /// goes to the present one. At a mobile host: what is not confirmed is sent again in the cell that it enters next.
    RecoverBearer {
        /// The host's home address.
        host: Addr,
        /// `false`: at a central unit these packets are given up, and lost.
        repeat: bool,
    },
    /// (At a distributed unit) ask what has happened to the host's numbered packets ([`L2Trigger::DeliveryReported`]).
    ReportDelivery {
        /// The host's home address.
        host: Addr,
        /// The answer comes when no confirmation is on its way any more; `false`: at the same time.
        settled: bool,
    },
    /// (At a mobile host) its numbered bearers continue at the cell that it enters next: what it has sent from the first
    /// packet on that was not confirmed is sent again (TS 38.323 §5.1.2). `reset`: they begin again, without what the old
    /// ones had (full configuration, or a new connection).
    Reestablish {
        /// New bearers.
        reset: bool,
    },
    /// (At a base station) ask for the estimate by which the host's own queue before the air drops or marks
    /// ([`L2Trigger::MarkingReported`]).
    ReportMarking {
        /// The host's home address.
        host: Addr,
    },
    /// (At a base station) the host's own queue before the air continues from this estimate.
    AdoptMarking {
        /// The host's home address.
        host: Addr,
        /// The estimate of another base station.
        state: MarkingState,
    },
    /// (At a mobile host) leave the present cell now, and forget any [`Action::Enter`] that is not done. Layer 2
    /// reports it at both ends, as if the host had moved away; its own packets wait.
    Leave,
    /// (At a mobile host) synchronise with this cell. A host that is in another one leaves it now. Layer 2 is up
    /// `after` this, and reports it at both ends, if the cell can be heard then; otherwise nothing happens.
    Enter {
        /// Its base station.
        base_station: Addr,
        /// Until layer 2 is up: the detach time.
        after: Duration,
    },
    /// (At a mobile host) synchronise with this cell and stay in the others (DAPS). As [`Action::Enter`] otherwise. Its own
    /// packets go to the cell where it was, until [`Action::UseUplink`].
    EnterToo {
        /// Its base station.
        base_station: Addr,
        /// Until layer 2 is up.
        after: Duration,
    },
    /// (At a mobile host) its own packets go to this cell, in which it is, from now on.
    UseUplink {
        /// Its base station.
        base_station: Addr,
    },
    /// (At a mobile host) leave this one of the cells in which it is.
    LeaveCell {
        /// Its base station.
        base_station: Addr,
    },
    /// (At a mobile host) find the strongest cell that can be heard: [`L2Trigger::CellFound`] at the first
    /// measurement with one.
    Search,
    /// A role made a move that its transition table does not permit: the run ends with this report. Only builds with
    /// debug assertions check.
    BreakLaw {
        /// Its last action: "went from ...".
        problem: String,
    },
    /// Put a phase of `host`'s handover into the record.
    Note {
        /// The host's home address.
        host: Addr,
        /// Which phase.
        phase: P,
    },
}

impl<M> Input<M> {
    /// The input with its message turned into another type, if that can be.
    pub(crate) fn try_map<N>(self, message: impl FnOnce(M) -> Option<N>) -> Option<Input<N>> {
        Some(match self {
            Input::Message { from, message: what } => Input::Message { from, message: message(what)? },
            Input::Trigger(trigger) => Input::Trigger(trigger),
            Input::Deadline => Input::Deadline,
            Input::Data { host, peer, direction, from, tunnelled, lost } => {
                Input::Data { host, peer, direction, from, tunnelled, lost }
            }
        })
    }
}

impl<M, P> Action<M, P> {
    /// The action with its message or phase turned into another type.
    pub(crate) fn map<N, Q>(self, message: impl FnOnce(M) -> N, phase: impl FnOnce(P) -> Q) -> Action<N, Q> {
        match self {
            Action::Send { to, message: what } => Action::Send { to, message: message(what) },
            Action::Note { host, phase: which } => Action::Note { host, phase: phase(which) },
            Action::SetRoute { host, from, via, watch } => Action::SetRoute { host, from, via, watch },
            Action::ClearRoute { host, from } => Action::ClearRoute { host, from },
            Action::AddBranch { host, from, via, watch } => Action::AddBranch { host, from, via, watch },
            Action::RemoveBranch { host, from, via } => Action::RemoveBranch { host, from, via },
            Action::StartBuffering { host } => Action::StartBuffering { host },
            Action::Release { host, via, mark } => Action::Release { host, via, mark },
            Action::AwaitForwarded { host, mark, wait } => Action::AwaitForwarded { host, mark, wait },
            Action::Delay { host, via, wait } => Action::Delay { host, via, wait },
            Action::ReleaseReorderQueue { host, via } => Action::ReleaseReorderQueue { host, via },
            Action::DiscardBuffer { host } => Action::DiscardBuffer { host },
            Action::EndBearer { host } => Action::EndBearer { host },
            Action::Measure { conditions } => Action::Measure { conditions },
            Action::ReportReceived { to } => Action::ReportReceived { to },
            Action::AwaitDrained { host } => Action::AwaitDrained { host },
            Action::SkipReceived { host, received } => Action::SkipReceived { host, received },
            Action::ReportMarking { host } => Action::ReportMarking { host },
            Action::AdoptMarking { host, state } => Action::AdoptMarking { host, state },
            Action::AdoptBearer { host, counts } => Action::AdoptBearer { host, counts },
            Action::FreezeBearer { host } => Action::FreezeBearer { host },
            Action::ResumeBearer { host } => Action::ResumeBearer { host },
            Action::ReportBearer { host } => Action::ReportBearer { host },
            Action::ForwardBearer { host, to, fresh } => Action::ForwardBearer { host, to, fresh },
            Action::ServeThrough { host, unit } => Action::ServeThrough { host, unit },
            Action::RecoverBearer { host, repeat } => Action::RecoverBearer { host, repeat },
            Action::ReportDelivery { host, settled } => Action::ReportDelivery { host, settled },
            Action::Reestablish { reset } => Action::Reestablish { reset },
            Action::EnterToo { base_station, after } => Action::EnterToo { base_station, after },
            Action::UseUplink { base_station } => Action::UseUplink { base_station },
            Action::LeaveCell { base_station } => Action::LeaveCell { base_station },
            Action::Leave => Action::Leave,
            Action::BreakLaw { problem } => Action::BreakLaw { problem },
            Action::Enter { base_station, after } => Action::Enter { base_station, after },
            Action::Search => Action::Search,
        }
    }
}

/// A message on the wire, where its protocol's parameters determine that.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Wire {
    /// Bytes, IP header included.
    pub size: Bytes,
    /// How its transport repeats it when it is lost; `None`: it does not.
    pub repeat: Option<Repeat>,
    /// A preamble of random access: a host sends it in the cell of its recipient, also if it is not in that cell.
    pub random_access: bool,
}

/// How a transport below the protocol repeats a lost message: SCTP between nodes of a network (RFC 9260 §6.3), RLC with
/// acknowledgement over the air (TS 38.322 §5.3.3).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Repeat {
    /// From the sending to the first repetition; then this doubles.
    pub after: Duration,
    /// Longest time between two repetitions.
    pub longest: Duration,
    /// Repetitions at most.
    pub times: u32,
    /// If the last one is lost too, that is a failure of the radio link (TS 38.322 §5.3.2).
    pub fails_link: bool,
}

/// A mobility protocol's role at one node.
pub trait Agent: Sized {
    /// The protocol's messages.
    type Message;
    /// The protocol's phases.
    type Phase;

    /// Reacts to `input`; what is to be done is appended to `out`.
    fn on(
        &mut self,
        input: Input<Self::Message>,
        now: Time,
        out: &mut Vec<Action<Self::Message, Self::Phase>>,
    );

    /// True if this message may change anything; `false`: [`on`](Self::on) would do nothing. Each host of a
    /// cell gets each beacon, and fewer than one in a hundred has new information: the others need no copy of
    /// the message.
    fn heeds(&self, _from: Addr, _message: &Self::Message) -> bool {
        true
    }

    /// Size of a message that it sends, and how its transport repeats it; `None`: the message has its own size and
    /// is not repeated.
    fn wire(&self, _message: &Self::Message) -> Option<Wire> {
        None
    }

    /// Gives `each` all times at which the agent wants [`Input::Deadline`] in its present state, in any
    /// order, except those of its queue.
    fn deadlines(&self, each: &mut dyn FnMut(Time));

    /// More such times, of an agent that may have thousands: each later than those before it. New ones come at the end
    /// alone, and the first goes first, so that after an input only the two ends are looked at.
    fn queue(&self) -> Option<&VecDeque<Time>> {
        None
    }

    /// The first of all; `None`: never.
    fn next_deadline(&self) -> Option<Time> {
        let mut first = self.queue().and_then(|queue| queue.front().copied());
        self.deadlines(&mut |time| first = Some(first.map_or(time, |first| first.min(time))));
        first
    }
}
