//! The interface between flows and the network: applications wake, endpoints send and receive.

use super::{Carrier, Flows};
use crate::context::Context;
use crate::endpoints::flow::{Flow, Wake};
use crate::event::Event;
use roamlab_congestion::SenderEventKind;
use roamlab_engine::{Bytes, Time};
use roamlab_packet::{BareTcpHeader, DropReason, Ecn, FlowId, Packet, PacketId};
use roamlab_record::Verdict;
use roamlab_record::cause::CauseId;
use roamlab_record::ids::{Location, NodeId, Side};
use roamlab_record::probe::Probes;
use roamlab_record::{Delivery, PacketStep, Stop, TcpChange};
use roamlab_traffic::Offer;
use roamlab_transport::{Arrival, FlowPacket, StampedAck, StampedSegment, StraightPath};

impl Flows {
    /// An application wakes.
    pub(crate) fn app_wake(&mut self, flow: u32, net: &mut impl Carrier) {
        let now = net.cx().now;
        let state = &mut self.flows[flow as usize];
        let offer = state.app.wake(now);
        if let Some(next) = state.app.next_wake() {
            net.cx().scheduler.push(next, Event::App { flow });
        }
        let Some(offer) = offer else { return };
        if state.is_out() {
            return;
        }
        let begun = state.app.unit();
        let offer =
            if state.units.is_some() { self.note_offer(flow, offer, begun, net) } else { Some(offer) };
        let Some(offer) = offer else { return };
        let state = &mut self.flows[flow as usize];
        state.offered = now;
        state.stats.started.get_or_insert(now);
        let Some(segment) = state.transport.segment() else {
            if let Offer::Bytes(size) = offer
                && let Some(mut packet) = state.transport.datagram(size)
            {
                state.stats.sent += 1;
                self.emit(flow, Side::Sender, &mut packet, net);
            }
            return;
        };
        match offer {
            Offer::Unlimited => state.transport.offer(None),
            Offer::Bytes(bytes) => state.offer_segments(bytes.0.div_ceil(segment.0)),
            Offer::Segments(segments) => state.offer_segments(segments.0.into()),
            Offer::Stop => {
                // Where packets are no segments, whether such a file is whole is not known.
                let counts = state.transport.counts_segments();
                state.stats.total = counts.then_some(state.stats.sent - state.stats.retransmitted);
                state.transport.stop();
            }
            // A request goes out on another flow.
            Offer::Request { .. } => {}
        }
        self.pump(flow, Side::Sender, net);
        if self.flows[flow as usize].transport.opens_at_receiver() {
            self.pump(flow, Side::Receiver, net);
        }
    }

    /// An endpoint's deadline may have come. A wake-up that is no longer known is ignored: it must not set
    /// another, or each deadline that was ever brought forward would leave one more permanent wake-up.
    pub(crate) fn endpoint_wake(&mut self, flow: u32, side: Side, net: &mut impl Carrier) {
        let now = net.cx().now;
        let state = &mut self.flows[flow as usize];
        let wake = &mut state.wakes[side.index()];
        if wake.armed != now {
            return;
        }
        wake.armed = std::mem::replace(&mut wake.later, Time::MAX);
        if state.transport.deadline(side).is_none_or(|deadline| deadline > now) {
            return self.arm(flow, side, net.cx());
        }
        if side == Side::Sender && !net.cx().is_tracing() && state.transport.on_pacing_deadline(now) {
            return if state.transport.is_stamped() {
                self.send_stamped(flow, false, net)
            } else {
                self.send_quota(flow, net)
            };
        }
        state.transport.on_deadline(side, now);
        self.pump(flow, side, net);
    }

    /// A data packet or an acknowledgement reaches the node of its endpoint.
    pub(crate) fn deliver(&mut self, node: NodeId, packet: PacketId, net: &mut impl Carrier) {
        let cx = net.cx();
        let FlowId(flow) = cx.pool[&packet].flow;
        let (state, side) = match self.flows.get_mut(flow as usize) {
            Some(state) if node == state.here[1] => (state, Side::Receiver),
            Some(state) if node == state.here[0] => (state, Side::Sender),
            _ => return self.deliver_outside(node, packet, cx),
        };
        if state.is_stale(&packet, cx) {
            return cx.lose(packet, DropReason::NoEndpoint, Location::Node(node));
        }
        if !cx.is_tracing() {
            // The ends' straight path: they take the segment here if it is the expected one and nothing unusual is on.
            if let Some(header) = cx.pool.bare_tcp(&packet) {
                if side == Side::Sender {
                    if state.transport.on_bare_ack(&header, cx.now) {
                        cx.pool.deliver(packet);
                        return self.send_quota(flow, net);
                    }
                } else if let Some(ack_due) = state.transport.on_bare_segment(&header, cx.now) {
                    return self.arrived_in_order(flow, packet, ack_due, net);
                }
            } else if let Some((header, stamps)) = cx.pool.stamped_tcp(&packet) {
                if side == Side::Sender {
                    if state.transport.on_stamped_ack(&header, stamps, cx.now) {
                        cx.pool.deliver(packet);
                        return self.send_stamped(flow, true, net);
                    }
                } else if let Some(ack) = state.transport.on_stamped_segment(&header, stamps, cx.now) {
                    return self.arrived_stamped(flow, packet, ack, net);
                }
            }
        }
        match side {
            Side::Sender => self.take(flow, Side::Sender, node, packet, cx),
            Side::Receiver => self.take_data(flow, node, packet, cx),
        }
        self.pump(flow, side, net);
    }

    /// The next segment that the receiver expects has arrived, and it has taken it.
    #[inline(always)]
    fn arrived_in_order(&mut self, flow: u32, packet: PacketId, ack_due: bool, net: &mut impl Carrier) {
        let state = self.note_in_order(flow, packet, net.cx());
        let (deadline, ack) = state.transport.bare_answer(ack_due);
        if let Some((header, size)) = ack {
            state.emit_bare(flow, Side::Receiver, &header, size, net);
        }
        set_wake(&mut state.wakes[1], deadline, (flow, Side::Receiver), net.cx());
    }

    /// The same of a segment with timestamps alone.
    #[inline(never)]
    fn arrived_stamped(&mut self, flow: u32, packet: PacketId, ack: StampedAck, net: &mut impl Carrier) {
        let state = self.note_in_order(flow, packet, net.cx());
        if ack == StampedAck::Queued {
            return self.pump(flow, Side::Receiver, net);
        }
        let (deadline, ack) = state.transport.stamped_answer(ack == StampedAck::Now, net.cx().now);
        if let Some(segment) = ack {
            state.emit_stamped(flow, Side::Receiver, &segment, net);
        }
        set_wake(&mut state.wakes[1], deadline, (flow, Side::Receiver), net.cx());
    }

    /// Takes the next segment in order into the totals and into the record.
    #[inline(always)]
    fn note_in_order(&mut self, flow: u32, packet: PacketId, cx: &mut Context) -> &mut Flow {
        let state = &mut self.flows[flow as usize];
        let data = cx.pool.deliver(packet);
        state.timeouts.arrived(data, data.serial);
        let seq = data.seq();
        note_delivery(state, data, data.serial, (true, u64::from(data.payload())), cx.now, &mut cx.probes);
        if state.units.is_some() {
            self.unit_arrived(flow, seq, cx);
        }
        &mut self.flows[flow as usize]
    }

    /// The sender has taken an acknowledgement of new data, and sends what that permits.
    #[inline(always)]
    fn send_quota(&mut self, flow: u32, net: &mut impl Carrier) {
        let state = &mut self.flows[flow as usize];
        let (segments, size) = state.transport.take_quota();
        for seq in segments {
            let header = state.transport.bare_segment(seq, net.cx().now);
            state.stats.sent += 1;
            if header.retransmission {
                state.stats.retransmitted += 1;
                net.cx().probes.causes.sent_again(FlowId(flow), seq);
            }
            state.emit_bare(flow, Side::Sender, &header, size, net);
        }
        let state = if net.cx().probes.wanted.senders() {
            self.record_sender(flow, net.cx().pool.last_serial(), net);
            &mut self.flows[flow as usize]
        } else {
            state
        };
        let deadline = state.transport.end_quota(net.cx().now);
        set_wake(&mut state.wakes[0], deadline, (flow, Side::Sender), net.cx());
    }

    /// The same of a sender whose segments have timestamps; `by_ack`: not because the wait of pacing is over.
    #[inline(never)]
    fn send_stamped(&mut self, flow: u32, by_ack: bool, net: &mut impl Carrier) {
        let last_serial = net.cx().pool.last_serial();
        let state = &mut self.flows[flow as usize];
        let now = net.cx().now;
        let sent_before = state.stats.sent;
        while let Some(segment) = state.transport.next_stamped(now) {
            state.stats.sent += 1;
            state.emit_stamped(flow, Side::Sender, &segment, net);
        }
        let has_sent = state.stats.sent > sent_before;
        let state = if net.cx().probes.wanted.senders() {
            self.record_sender(flow, last_serial, net);
            &mut self.flows[flow as usize]
        } else {
            state
        };
        let deadline = state.transport.end_stamped(by_ack, has_sent, now);
        set_wake(&mut state.wakes[0], deadline, (flow, Side::Sender), net.cx());
    }

    /// A receiver takes a packet.
    pub(super) fn take_data(&mut self, flow: u32, node: NodeId, packet: PacketId, cx: &mut Context) {
        self.take(flow, Side::Receiver, node, packet, cx);
    }

    /// An end takes a packet. It is compiled once for each side.
    #[inline(always)]
    fn take(&mut self, flow: u32, side: Side, node: NodeId, packet: PacketId, cx: &mut Context) {
        let now = cx.now;
        let state = &mut self.flows[flow as usize];
        let (size, ecn) = (cx.pool[&packet].wire_size(), cx.pool[&packet].header.tos.ecn());
        let taken = || FlowPacket { header: cx.pool.take_header(&packet), size, ecn };
        let Some(arrival) = state.transport.deliver(side, taken, now) else {
            return cx.lose(packet, DropReason::NoEndpoint, Location::Node(node));
        };
        if cx.traces(&packet) {
            let [_, stop] = state.transport.stops();
            let detail = match arrival {
                _ if side == Side::Sender => "",
                Arrival { fresh: false, .. } => "copy",
                Arrival { has_data: true, deliverable: false, .. } => "out-of-order",
                _ => "",
            };
            cx.trace_with(&packet, Stop::named(stop), Location::Node(node), detail);
            if arrival.deliverable {
                cx.trace(&packet, Stop::AppDeliver, Location::Node(node));
            }
        }
        if side == Side::Sender {
            cx.pool.deliver(packet);
            return;
        }
        let original = cx.pool.original(&cx.pool[&packet]);
        let data = cx.pool.deliver(packet);
        state.timeouts.arrived(data, original);
        if arrival.has_data {
            let seq = data.seq();
            note_delivery(state, data, original, (arrival.fresh, arrival.bytes), now, &mut cx.probes);
            if arrival.fresh && state.units.is_some() {
                self.unit_arrived(flow, seq, cx);
            }
        }
    }

    /// Lets an endpoint send all it wants to send now, takes its facts into the record and sets its wake-up.
    pub(super) fn pump(&mut self, flow: u32, side: Side, net: &mut impl Carrier) {
        let last_serial = net.cx().pool.last_serial();
        loop {
            let state = &mut self.flows[flow as usize];
            let mut polled = state.transport.poll(side, net.cx().now);
            let Some(packet) = &mut polled else { break };
            let again = packet.header.retransmission;
            if side == Side::Sender && packet.header.has_data() {
                state.stats.sent += 1;
                state.stats.retransmitted += u64::from(again);
            }
            if again {
                self.take_facts(flow, last_serial, net);
                net.cx().probes.causes.sent_again(FlowId(flow), packet.header.seq);
            }
            self.emit(flow, side, packet, net);
        }
        if side == Side::Sender {
            self.record_sender(flow, last_serial, net);
        }
        self.arm(flow, side, net.cx());
    }

    /// Sends a packet from the end of the flow on this side.
    #[inline(always)]
    fn emit(&self, flow: u32, side: Side, packet: &mut FlowPacket, net: &mut impl Carrier) {
        let FlowPacket { header, size, ecn } = packet;
        let state = &self.flows[flow as usize];
        let (ip, node) = (state.header(side, *ecn), state.node(side));
        let cx = net.cx();
        let packet = cx.pool.create_from(FlowId(flow), ip, *size, cx.now, header);
        state.send_first(node, side, packet, net);
    }

    /// A sender has dealt with an input: takes its facts, and its variables into the record if that is wanted.
    pub(super) fn record_sender(&mut self, flow: u32, last_serial: u64, net: &mut impl Carrier) {
        self.take_facts(flow, last_serial, net);
        let cx = net.cx();
        if cx.probes.wanted.variables
            && let Some((variables, acknowledged)) = self.flows[flow as usize].transport.variables()
        {
            cx.probes.sender(cx.now, FlowId(flow), variables, acknowledged);
        }
    }

    /// `last_serial`: the serial number given last before the sender sent what the facts made it send.
    fn take_facts(&mut self, flow: u32, last_serial: u64, net: &mut impl Carrier) {
        while let Some(fact) = self.flows[flow as usize].transport.poll_event() {
            let cx = net.cx();
            let is_timeout = fact.kind == SenderEventKind::Timeout;
            let state = &mut self.flows[flow as usize];
            state.stats.fast_retransmits += u64::from(fact.kind == SenderEventKind::FastRetransmit);
            if is_timeout {
                state.stats.timeouts += 1;
                let row = cx.probes.wanted.tcp.then_some(cx.probes.tcp.next_row());
                state.timeouts.note(fact.seq, last_serial, state.transport.has(fact.seq), row);
            }
            let opens = fact.kind == SenderEventKind::Window && fact.cwnd >= state.cwnd;
            state.cwnd = fact.cwnd;
            let cause = if opens { CauseId::NONE } else { self.why_reduced(flow, &fact, net) };
            let cx = net.cx();
            if cx.probes.wanted.tcp {
                let cause_serial = match fact.kind {
                    SenderEventKind::Timeout
                    | SenderEventKind::FastRetransmit
                    | SenderEventKind::RackMark
                    | SenderEventKind::PersistentCongestion
                    | SenderEventKind::SafeRetreat => {
                        cx.probes.causes.segment_history(FlowId(flow), fact.seq).serial
                    }
                    _ => 0,
                };
                cx.probes.tcp.push(TcpChange {
                    time_ns: cx.now,
                    flow: FlowId(flow),
                    event: fact.kind,
                    cwnd: fact.cwnd,
                    ssthresh: fact.ssthresh,
                    rto_ns: fact.rto.as_nanos(),
                    seq: fact.seq,
                    cause_serial,
                    timeout: is_timeout.then_some(Verdict::Undecided),
                    cause,
                });
            }
        }
    }

    /// Sets the wake-up of an end of a flow by its deadline.
    fn arm(&mut self, flow: u32, side: Side, cx: &mut Context) {
        let state = &mut self.flows[flow as usize];
        let deadline = state.transport.deadline(side);
        let wake = &mut state.wakes[side.index()];
        set_wake(wake, deadline, (flow, side), cx);
    }
}

impl Flow {
    /// True if its sender was taken out of the simulation, and no stack outside has its application.
    pub(super) fn is_out(&self) -> bool {
        self.here[Side::Sender.index()] == NodeId::NOWHERE && self.transport.stack().is_none()
    }

    /// The application offers this number of segments.
    pub(super) fn offer_segments(&mut self, segments: u64) {
        *self.stats.total.get_or_insert(0) += segments;
        self.transport.offer(Some(segments));
    }

    /// True if a packet at an end of the flow is of an old connection.
    #[inline(always)]
    fn is_stale(&self, packet: &PacketId, cx: &Context) -> bool {
        let original = || cx.pool.original(&cx.pool[packet]);
        self.units.as_ref().is_some_and(|units| units.stale > 0 && original() <= units.stale)
    }

    /// Makes a segment without options and sends it from this end of the flow.
    #[inline(always)]
    fn emit_bare(&self, flow: u32, side: Side, tcp: &BareTcpHeader, size: Bytes, net: &mut impl Carrier) {
        let (header, node) = (self.header(side, Ecn::NotEct), self.node(side));
        let cx = net.cx();
        let packet = cx.pool.create_bare_tcp(FlowId(flow), header, size, cx.now, tcp);
        self.send_first(node, side, packet, net);
    }

    /// The same of a segment with timestamps alone.
    #[inline(always)]
    fn emit_stamped(&self, flow: u32, side: Side, segment: &StampedSegment, net: &mut impl Carrier) {
        let StampedSegment { header: tcp, stamps, size } = segment;
        let (header, node) = (self.header(side, Ecn::NotEct), self.node(side));
        let cx = net.cx();
        let packet = cx.pool.create_stamped_tcp(FlowId(flow), header, *size, cx.now, (tcp, *stamps));
        self.send_first(node, side, packet, net);
    }

    /// Sends a new packet from where this end of its flow is.
    #[inline(always)]
    pub(super) fn send_first(&self, node: NodeId, side: Side, packet: PacketId, net: &mut impl Carrier) {
        if net.cx().is_watching() {
            self.record_start(&packet, node, side, net.cx());
        }
        net.send(node, packet);
    }

    /// The first stops of a packet in the trace, and its first event in the record.
    #[cold]
    fn record_start(&self, packet: &PacketId, node: NodeId, side: Side, cx: &mut Context) {
        let FlowId(flow) = cx.pool[packet].flow;
        if side == Side::Sender {
            let now = std::mem::replace(&mut cx.now, self.offered);
            cx.trace(packet, Stop::AppOffer, Location::Node(node));
            cx.now = now;
        }
        let [made, _] = self.transport.stops();
        cx.trace(packet, Stop::named(made), Location::Node(node));
        let packet_state = &cx.pool[packet];
        let cause = match packet_state.is_retransmission() {
            true => {
                let lost = cx.probes.causes.segment_history(FlowId(flow), packet_state.seq()).loss;
                lost.or(|| self.cause)
            }
            false => CauseId::NONE,
        };
        cx.packet_event(PacketStep::Send, packet, Location::Node(node), (0, cause));
    }
}

/// One pending wake-up for each end; another is set only when it must come earlier, and the first is kept for what is due
/// then: of a paced sender the retransmission timer. Among what happens at one time a deadline has the place of the moment
/// when it was set, as if it had been an event from then on.
#[inline(always)]
fn set_wake(wake: &mut Wake, deadline: Option<Time>, end: (u32, Side), cx: &mut Context) {
    let Some(deadline) = deadline else { return wake.deadline = Time::MAX };
    if deadline != wake.deadline {
        (wake.deadline, wake.place) = (deadline, cx.scheduler.reserve());
    }
    if deadline < wake.armed {
        arm_earlier(wake, deadline, end, cx);
    }
}

/// Sets a wake-up that comes before the one that is set. Most deadlines only move to later.
#[inline(never)]
fn arm_earlier(wake: &mut Wake, deadline: Time, (flow, side): (u32, Side), cx: &mut Context) {
    wake.later = wake.later.min(wake.armed);
    wake.armed = deadline.max(cx.now);
    cx.scheduler.push_once(wake.armed, wake.place, Event::Endpoint { flow, side });
}

/// Takes a data packet that has left the network into the totals of its flow and into the record. `original`: serial number
/// of the packet that it is a copy of, or its own.
#[inline(always)]
pub(super) fn note_delivery(
    state: &mut Flow,
    data: &Packet,
    original: u64,
    (fresh, payload): (bool, u64),
    now: Time,
    probes: &mut Probes,
) {
    let Packet { flow, serial, created, .. } = *data;
    let late_by_pkts = state.arrived(original, fresh, payload, now);
    if probes.wanted.deliveries {
        let (seq, bytes) = (data.seq(), data.wire_size().0);
        let delivery =
            Delivery { time_ns: now, flow, seq, bytes, sent_ns: created, fresh, late_by_pkts, serial };
        probes.deliveries.push(delivery);
    }
}
