//! The record of a run: typed rows, kept as columns.

use crate::cause::{CauseId, Chains, data_seq};
use crate::conduct::Part;
use crate::ids::{LinkId, Location, NodeId};
use crate::long::{Long, long_table};
use crate::table::{Known, Names, table, vocabulary};
use crate::timeouts::Verdict;
use roamlab_engine::{Bytes, Time};
use roamlab_packet::{Addr, DropReason, FlowId, MessageId, Packet, TcpFlags};
use roamlab_qdisc::Gauges;
use roamlab_traffic::UnitKind;
use roamlab_transport::{TcpFactKind, TcpVariables};
use rustc_hash::FxHashMap;

vocabulary! {
    /// The stops on the way of a packet, in order, and where it may wait or end.
    Stop {
        /// The application offers data.
        AppOffer => "app.offer";
        /// TCP makes a segment.
        TcpPollTransmit => "tcp.poll_transmit";
        /// UDP makes a datagram.
        UdpDatagram => "udp.datagram";
        /// The host sends the packet.
        NodeSend => "node.send";
        /// A node looks up where it goes.
        NodeForward => "node.forward";
        /// It enters a tunnel.
        TunnelEncap => "tunnel.encap";
        /// It is handed to a link.
        LinkEnqueue => "link.enqueue";
        /// It is handed to the link's queue discipline.
        QdiscEnqueue => "qdisc.enqueue";
        /// It is on the wire.
        LinkTxDone => "link.tx_done";
        /// It comes out at the far end.
        LinkArrive => "link.arrive";
        /// A node receives it.
        NodeReceive => "node.receive";
        /// It leaves a tunnel.
        TunnelDecap => "tunnel.decap";
        /// TCP takes the segment.
        TcpOnSegment => "tcp.on_segment";
        /// UDP takes the datagram.
        UdpOnDatagram => "udp.on_datagram";
        /// The application gets the data, and what waited for it.
        AppDeliver => "app.deliver";
        /// It waits in a base station's buffer for its host.
        BufferHold => "buffer.hold";
        /// It leaves that buffer.
        BufferRelease => "buffer.release";
        /// It is lost.
        Drop => "drop";
    }
}

vocabulary! {
    /// What may happen to a packet.
    PacketStep {
        /// Its endpoint or agent sends it.
        Send => "send";
        /// It comes to a queue.
        Enqueue => "enqueue";
        /// It leaves a queue with the mark of congestion (ECN's CE).
        Mark => "mark";
        /// It is lost.
        Drop => "drop";
    }
}

vocabulary! {
    /// What a packet carries.
    PacketKind {
        /// A signalling message.
        Signal => "signal";
        /// A UDP datagram.
        Datagram => "datagram";
        /// A TCP segment with data.
        Data => "data";
        /// An acknowledgement.
        Ack => "ack";
        /// The request for a connection.
        Syn => "syn";
    }
}

impl PacketKind {
    /// The kind of a packet, its number (of an acknowledgement the segment expected next), and whether it was sent before.
    #[inline]
    pub fn of(packet: &Packet) -> (PacketKind, u32, bool) {
        let (seq, again) = (packet.seq(), packet.is_retransmission());
        match () {
            () if packet.is_signal() => (PacketKind::Signal, seq, false),
            () if packet.is_udp() => (PacketKind::Datagram, seq, false),
            () if packet.payload() > 0 => (PacketKind::Data, seq, again),
            () if packet.flags().has(TcpFlags::ACK) => (PacketKind::Ack, packet.ack(), false),
            () => (PacketKind::Syn, seq, again),
        }
    }
}

long_table! {
    /// Data packets that reached their endpoint.
    Deliveries, Delivery, DeliveryColumns {
        /// When.
        time_ns: Time,
        /// Which flow.
        flow: FlowId,
        /// Segment or datagram number.
        seq: u32,
        /// Size of the inner datagram.
        bytes: u64,
        /// When it was sent.
        sent_ns: Time,
        /// Its data was not delivered before.
        fresh: bool,
        /// How many packets of the flow that were sent later had arrived before it.
        late_by_pkts: u32,
        /// The packet's number.
        serial: u64,
    }
}

table! {
    /// Units of applications' data: frames, objects, segments of films.
    Units, UnitRow {
        /// When it was offered, or asked for.
        time_ns: Time,
        /// Which flow.
        flow: FlowId,
        /// What it is.
        kind: UnitKind,
        /// Its group of pictures, page or quality.
        group: u32,
        /// Its number.
        number: u32,
        /// Its size without headers.
        bytes: u64,
        /// Datagrams or segments.
        packets: u32,
        /// Number of its first datagram; of a response 0.
        first_seq: u32,
        /// When all of it had been delivered; -1: never.
        completed_ns: i64,
    }
}

long_table! {
    /// Changes of recorded queues.
    QueueSamples, QueueSample, QueueColumns {
        /// When.
        time_ns: Time,
        /// Which queue.
        queue: LinkId,
        /// Waiting packets, the one in service excluded.
        packets: u32,
        /// Waiting bytes.
        bytes: u64,
        /// The discipline's average queue length in packets.
        average: f64,
        /// Its drop probability.
        probability: f64,
        /// Waiting packets with the mark of forwarded ones.
        forwarded: u32,
    }
}

long_table! {
    /// Packets lost.
    Drops, Drop, DropColumns {
        /// When.
        time_ns: Time,
        /// Where.
        place: Location,
        /// Why.
        reason: DropReason,
        /// Of which flow.
        flow: FlowId,
        /// Segment or datagram number; 0 for signalling and acknowledgements.
        seq: u32,
        /// When it was sent; all copies of a packet have the same.
        sent_ns: Time,
        /// The packet's number.
        serial: u64,
        /// It carried the mark of a packet forwarded by an old base station.
        forwarded: bool,
        /// Its row among the causes.
        cause: CauseId,
    }
}

long_table! {
    /// Changes of TCP senders' state.
    TcpChanges, TcpChange, TcpColumns {
        /// When.
        time_ns: Time,
        /// Which flow.
        flow: FlowId,
        /// What happened.
        event: TcpFactKind,
        /// Congestion window in segments, after it.
        cwnd: f64,
        /// Slow start threshold in segments, after it.
        ssthresh: f64,
        /// Retransmission timeout, after it.
        rto_ns: u64,
        /// The segment concerned.
        seq: u32,
        /// The lost packet that caused it, or 0.
        cause_serial: u64,
        /// Of a timeout: whether it was genuine; otherwise empty.
        timeout: Option<Verdict>,
        /// Where among the causes its chain begins.
        cause: CauseId,
    }
}

long_table! {
    /// TCP senders' variables, a row for each change.
    Variables, VariablesRow, VariableColumns {
        /// When.
        time_ns: Time,
        /// Which flow.
        flow: FlowId,
        /// Congestion window in segments, without inflation.
        cwnd: f64,
        /// Slow start threshold in segments.
        ssthresh: f64,
        /// The latest round-trip time measured, or 0.
        rtt_ns: u64,
        /// Smoothed round-trip time, or 0.
        srtt_ns: u64,
        /// Smoothed mean deviation of the round-trip time.
        rttvar_ns: u64,
        /// Retransmission timeout with its backoff.
        rto_ns: u64,
        /// Factor on the retransmission timeout.
        backoff: u64,
        /// Retransmission timeouts so far.
        timeouts: u64,
        /// Cuts of the window so far.
        reductions: u64,
        /// The first segment not acknowledged.
        una: u32,
    }
}

long_table! {
    /// What happened to packets.
    PacketEvents, PacketEvent, PacketColumns {
        /// When.
        time_ns: Time,
        /// What happened.
        event: PacketStep,
        /// Where.
        place: Location,
        /// Which flow.
        flow: FlowId,
        /// What kind of packet.
        kind: PacketKind,
        /// Segment or datagram number; of an acknowledgement the segment expected next.
        number: u32,
        /// Size on the wire, tunnel headers included.
        wire_bytes: u64,
        /// The segment has been sent before.
        retransmission: bool,
        /// ("enqueue") packets that waited before it.
        waiting: u32,
        /// The packet's number.
        serial: u64,
        /// Of a loss or a retransmission: where among the causes its chain begins.
        cause: CauseId,
    }
}

table! {
    /// Phases of handovers.
    Handovers, HandoverPhase {
        /// When.
        time_ns: Time,
        /// Whose.
        host: NodeId,
        /// The number of the visit that the host is in or was in last.
        visit: u32,
        /// Which phase.
        phase: &'static str,
        /// Where it was noted.
        node: NodeId,
        /// Its row among the causes.
        cause: CauseId,
    }
}

table! {
    /// Signalling messages.
    Signalling, Signal {
        /// Number of the message.
        id: u32,
        /// Its name.
        message: &'static str,
        /// The mobile host concerned; empty if none.
        host: Option<Addr>,
        /// Sender.
        source: Addr,
        /// Destination.
        destination: Addr,
        /// Size of the datagram.
        size_bytes: u64,
        /// When it was sent.
        sent_ns: Time,
        /// When it arrived, or -1.
        arrived_ns: i64,
        /// The packet's number.
        serial: u64,
        /// Its row among the causes.
        cause: CauseId,
    }
}

table! {
    /// Packets that left a base station's buffer.
    Releases, Release {
        /// When.
        time_ns: Time,
        /// Whose buffer.
        host: Addr,
        /// At which base station.
        node: NodeId,
        /// The end of the tunnel that it went through, or the next node; `None`: over the air.
        to: Option<Addr>,
        /// Of which flow.
        flow: FlowId,
        /// Segment or datagram number; 0 for an acknowledgement.
        seq: u32,
        /// The packet's number.
        serial: u64,
        /// Bytes on the wire, without the tunnel that begins here.
        size_bytes: u64,
        /// It was marked as forwarded.
        forwarded: bool,
        /// The row among the causes of what let it go.
        cause: CauseId,
    }
}

table! {
    /// Marks from outside that were policed.
    Policing, Policed {
        /// When.
        time_ns: Time,
        /// Where.
        node: NodeId,
        /// Of which flow.
        flow: FlowId,
        /// Segment or datagram number; 0 for an acknowledgement.
        seq: u32,
        /// The packet's number.
        serial: u64,
        /// What became of it: "cleared" or "dropped".
        action: &'static str,
    }
}

table! {
    /// The stops of a traced packet.
    Trace, TraceLine {
        /// When.
        time_ns: Time,
        /// Which stop.
        stop: Stop,
        /// Where.
        place: Location,
        /// The packet's number.
        serial: u64,
        /// Bytes on the wire, tunnel headers included.
        wire_bytes: u64,
        /// Tunnel headers it wears.
        tunnels: u32,
        /// Why it is lost, or what its endpoint made of it.
        detail: &'static str,
    }
}

#[cfg(test)]
impl Drops {
    /// The packets' numbers, of rows that are not settled.
    pub fn serials(&self) -> Vec<u64> {
        self.rows.iter().map(|row| row.serial).collect()
    }

    /// The reasons, of rows that are not settled.
    pub fn reasons(&self) -> Vec<DropReason> {
        self.rows.iter().map(|row| row.reason).collect()
    }
}

impl TcpChanges {
    /// The number of the next row.
    pub fn next_row(&self) -> usize {
        self.gone + self.settled + self.rows.len()
    }

    /// The timeout of a settled row has been judged.
    pub fn judged(&mut self, row: usize, verdict: Verdict, names: &Names) {
        if let Some(kept) = self.columns.timeout.get_mut(row - self.gone) {
            *kept = Some(verdict).keep(names);
        }
    }
}

/// What a scenario asks to have recorded.
#[derive(Copy, Clone, Debug)]
pub struct Wanted {
    /// One row per delivery.
    pub deliveries: bool,
    /// One row per TCP state change.
    pub tcp: bool,
    /// One row per change of a TCP sender's variables.
    pub variables: bool,
    /// One row per packet sent, enqueued or lost.
    pub packets: bool,
    /// One row per change of a recorded queue.
    pub queues: bool,
    /// One row per unit of an application's data.
    pub units: bool,
    /// One row per loss.
    pub drops: bool,
    /// One row per signalling message.
    pub signalling: bool,
    /// One row per phase of a handover.
    pub handovers: bool,
    /// One row per packet that leaves a buffer.
    pub releases: bool,
    /// One row per mark that is policed.
    pub policing: bool,
    /// What led to what.
    pub causes: bool,
}

impl Wanted {
    /// Whether anything is recorded of TCP senders.
    #[inline(always)]
    pub fn senders(&self) -> bool {
        self.tcp | self.variables
    }
}

impl Default for Wanted {
    /// Nothing but what is lost.
    fn default() -> Self {
        Wanted {
            deliveries: false,
            tcp: false,
            variables: false,
            packets: false,
            queues: false,
            units: false,
            drops: true,
            signalling: false,
            handovers: false,
            releases: false,
            policing: false,
            causes: false,
        }
    }
}

/// The record.
#[derive(Clone, Debug, Default)]
pub struct Probes {
    /// Deliveries.
    pub deliveries: Deliveries,
    /// Units of applications' data.
    pub units: Units,
    /// Queue changes.
    pub queues: QueueSamples,
    /// Losses.
    pub drops: Drops,
    /// TCP state.
    pub tcp: TcpChanges,
    /// TCP senders' variables.
    pub variables: Variables,
    /// What happened to packets.
    pub packets: PacketEvents,
    /// Handover phases.
    pub handovers: Handovers,
    /// Packets out of buffers.
    pub releases: Releases,
    /// Foreign marks.
    pub policing: Policing,
    /// Signalling.
    pub signalling: Signalling,
    /// The traced packet's way.
    pub trace: Trace,
    /// What led to what.
    pub causes: Chains,
    /// What the scenario wants recorded.
    pub wanted: Wanted,
    /// The packet to trace; with a capture every packet is.
    pub traced: Option<u64>,
    /// Packets that left a tunnel with a combination of ECN fields that RFC 6040 §4.2 wants logged.
    pub odd_ecn: u64,
    /// Packets lost by flow, acknowledgements included, copies and signalling excluded.
    pub losses: Vec<u64>,
    /// The variables of each sender that were recorded last.
    last_variables: FxHashMap<FlowId, (TcpVariables, u32)>,
}

impl Probes {
    /// What its tables take in memory.
    pub fn parts(&self) -> [Part; 13] {
        let fewer = "lower the load, or the losses";
        [
            self.deliveries.part("deliveries", "write `record.deliveries = false`"),
            self.units.part("units", "send fewer frames, or objects"),
            self.queues.part("queue", "name fewer queues in `record.queues`, or none"),
            self.drops.part("drops", fewer),
            self.tcp.part("tcp", "write `record.tcp = false`"),
            self.variables.part("variables", "write `record.variables = false`"),
            self.packets.part("packets", "write `record.packets = false`"),
            self.handovers.part("handovers", "move hosts less often"),
            self.releases.part("releases", fewer),
            self.policing.part("policing", "write `network.foreign_marks = \"honour\"`"),
            self.signalling.part("signalling", "send beacons and advertisements less often"),
            self.trace.part("trace", "trace no packet"),
            self.causes.rows.part("causes", fewer),
        ]
    }

    /// The tables that may be long.
    pub fn long(&mut self) -> [(&'static str, &mut dyn Long); 6] {
        [
            ("deliveries", &mut self.deliveries),
            ("queue", &mut self.queues),
            ("drops", &mut self.drops),
            ("tcp", &mut self.tcp),
            ("variables", &mut self.variables),
            ("packets", &mut self.packets),
        ]
    }

    /// A message was sent.
    pub fn sent(&mut self, signal: Signal) {
        if self.wanted.signalling {
            self.signalling.push(signal);
        }
    }

    /// A message arrived.
    pub fn received(&mut self, now: Time, id: MessageId) {
        if let Some(arrived) = self.signalling.arrived_ns.get_mut(id.0 as usize)
            && *arrived < 0
        {
            *arrived = now.as_nanos() as i64;
        }
    }

    /// A packet was lost.
    pub fn lost(
        &mut self,
        now: Time,
        packet: &Packet,
        (reason, forwarded): (DropReason, bool),
        (place, cause): (Location, CauseId),
    ) {
        let seq = data_seq(packet);
        if reason.loses_data()
            && let Some(losses) = self.losses.get_mut(packet.flow.0 as usize)
        {
            *losses += 1;
        }
        if self.wanted.drops {
            let (flow, sent_ns, serial) = (packet.flow, packet.created, packet.serial);
            self.drops.push(Drop {
                time_ns: now,
                place,
                reason,
                flow,
                seq,
                sent_ns,
                serial,
                forwarded,
                cause,
            });
        }
    }

    /// A sender has dealt with an input; its variables, and the first segment that is not acknowledged.
    pub fn sender(&mut self, now: Time, flow: FlowId, variables: TcpVariables, una: u32) {
        if self.last_variables.insert(flow, (variables, una)) == Some((variables, una)) {
            return;
        }
        let TcpVariables { cwnd, ssthresh, backoff, timeouts, reductions, .. } = variables;
        self.variables.push(VariablesRow {
            time_ns: now,
            flow,
            cwnd,
            ssthresh,
            rtt_ns: variables.rtt.as_nanos(),
            srtt_ns: variables.srtt.as_nanos(),
            rttvar_ns: variables.rttvar.as_nanos(),
            rto_ns: variables.rto.as_nanos(),
            backoff,
            timeouts,
            reductions,
            una,
        });
    }

    /// Something happened to a packet.
    pub fn packet(
        &mut self,
        now: Time,
        event: PacketStep,
        packet: &Packet,
        place: Location,
        (waiting, cause): (usize, CauseId),
    ) {
        let (kind, number, retransmission) = PacketKind::of(packet);
        self.packets.push(PacketEvent {
            time_ns: now,
            event,
            place,
            flow: packet.flow,
            kind,
            number,
            wire_bytes: packet.wire_size().0,
            retransmission,
            waiting: waiting as u32,
            serial: packet.serial,
            cause,
        });
    }

    /// A host's handover has come to a phase.
    pub fn phase(&mut self, phase: HandoverPhase) {
        if self.wanted.handovers {
            self.handovers.push(phase);
        }
    }

    /// A packet left `host`'s buffer at a base station.
    pub fn released(
        &mut self,
        now: Time,
        host: Addr,
        node: NodeId,
        packet: &Packet,
        (to, forwarded, cause): (Option<Addr>, bool, CauseId),
    ) {
        if !self.wanted.releases {
            return;
        }
        let (flow, seq, serial) = (packet.flow, data_seq(packet), packet.serial);
        let size_bytes = packet.wire_size().0;
        self.releases.push(Release {
            time_ns: now,
            host,
            node,
            to,
            flow,
            seq,
            serial,
            size_bytes,
            forwarded,
            cause,
        });
    }

    /// A mark from outside was policed at `node`.
    pub fn policed(&mut self, now: Time, node: NodeId, packet: &Packet, action: &'static str) {
        if !self.wanted.policing {
            return;
        }
        let (flow, seq, serial) = (packet.flow, data_seq(packet), packet.serial);
        self.policing.push(Policed { time_ns: now, node, flow, seq, serial, action });
    }

    /// A recorded queue changed.
    pub fn queue(&mut self, now: Time, queue: LinkId, packets: usize, bytes: Bytes, gauges: Gauges) {
        self.queues.push(QueueSample {
            time_ns: now,
            queue,
            packets: packets as u32,
            bytes: bytes.0,
            average: gauges.average,
            probability: gauges.probability,
            forwarded: gauges.forwarded as u32,
        });
    }

    /// The traced packet came by.
    pub fn stop(&mut self, now: Time, stop: Stop, place: Location, packet: &Packet, detail: &'static str) {
        self.trace.push(TraceLine {
            time_ns: now,
            stop,
            place,
            serial: packet.serial,
            wire_bytes: packet.wire_size().0,
            tunnels: packet.tunnels() as u32,
            detail,
        });
    }
}
