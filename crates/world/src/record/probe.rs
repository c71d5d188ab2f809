//! The record of a run: typed rows, kept as columns.

use crate::endpoints::timeouts::Verdict;
use crate::ids::{LinkId, Location, NodeId};
use crate::record::cause::{CauseId, Causes, Chains, data_seq};
use crate::record::long_table::{LongTable, long_table};
use crate::record::schema::TableSchema;
use crate::record::table::{Encode, Names, Table, table, vocabulary};
use crate::record::totals;
use crate::run::options::{Part, RunOptions};
use roamlab_engine::{Bytes, Time};
use roamlab_packet::{Addr, DropReason, FlowId, MessageId, Packet, TcpFlags};
use roamlab_qdisc::Gauges;
use roamlab_traffic::UnitKind;
use roamlab_transport::{PathPolicy, TcpFactKind, TcpVariables};
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
        /// QUIC makes a packet.
        QuicPollTransmit => "quic.poll_transmit";
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
        /// QUIC takes the packet.
        QuicOnPacket => "quic.on_packet";
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
        /// A TCP segment or QUIC packet with data.
        Data => "data";
        /// An acknowledgement.
        Ack => "ack";
        /// The request for a connection, or another packet of QUIC's handshake.
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
    /// One row per data segment that reached its endpoint.
    Deliveries, Delivery, DeliveryColumns: "deliveries",
        recorded "if `record.deliveries` is on, which is the default",
        limit "write `record.deliveries = false`" {
        /// when
        time_ns: Time,
        /// name of the flow
        flow: FlowId,
        /// sequence number in segments
        seq: u32,
        /// size of the datagram, its header included
        bytes: u64,
        /// when this copy was sent
        sent_ns: Time,
        /// false: this segment had arrived before
        fresh: bool,
        /// how many later segments had been seen before it; 0: in order
        late_by_pkts: u32,
        /// serial number of the packet, unique within the run
        serial: u64,
    }
}

table! {
    /// One row per unit of an application's data: a frame, an object of a page, a segment of a film. A unit is useful
    /// only when complete.
    Units, UnitRow: "units", recorded "", limit "send fewer frames, or objects" {
        /// when it was offered; of an object or a segment when it was requested
        time_ns: Time,
        /// name of the flow
        flow: FlowId,
        /// I, P, B, object, segment
        kind: UnitKind,
        /// of a frame the I-frames so far; of an object its page, of a segment its quality, from 0
        group: u32,
        /// of a frame or segment its number in the flow, of an object that in its page, from 0
        number: u32,
        /// its size without headers
        bytes: u64,
        /// the datagrams or segments that hold it
        packets: u32,
        /// number of its first datagram; of an object or a segment 0
        first_seq: u32,
        /// when the last of it had been delivered; -1: never
        completed_ns: i64,
    }
}

long_table! {
    /// Samples of queues.
    QueueSamples, QueueSample, QueueColumns: "queue",
        recorded "for the queues in `record.queues`; \
            by default for the downlinks of all cells and for links with their own `queue`",
        limit "name fewer queues in `record.queues`, or none" {
        /// when
        time_ns: Time,
        /// name of the queue
        queue: LinkId,
        /// waiting packets, without the one in transmission
        packets: u32,
        /// waiting bytes
        bytes: u64,
        /// average length in packets that the discipline keeps (RED's avg_q, M-RED's avg_q_np), or 0
        average: f64,
        /// probability of dropping the next ordinary packet (RED's p_b, BLUE's P_m, PIE's, DualPI2's p_C), or 0
        probability: f64,
        /// waiting packets with the mark of forwarded ones (queues with a parameter `mark`: that one, others: any code
        /// point except 0); packets - forwarded is M-RED's q_size_np
        forwarded: u32,
        /// how long the packet that left last had waited, where the discipline measures it (CoDel, FQ-CoDel, PIE, DualPI2,
        /// rlc), or 0
        sojourn_ns: u64,
        /// probability of marking the next packet of DualPI2's low-latency queue (p_CL), or 0
        coupled: f64,
    }
}

long_table! {
    /// One row per lost packet. Every loss has one reason; `copy-released` and `duplicate` lose no data.
    Drops, Drop, DropColumns: "drops", recorded "", limit "lower the load, or the losses" {
        /// when
        time_ns: Time,
        /// where it was lost
        place: Location,
        /// why
        reason: DropReason,
        /// name of the flow
        flow: FlowId,
        /// sequence number in segments
        seq: u32,
        /// when it was sent; all copies of a packet have the same
        sent_ns: Time,
        /// serial number of the packet, unique within the run
        serial: u64,
        /// true: it had the mark of a forwarded packet
        forwarded: bool,
        /// its row in [causes](#causes); -1 for `copy-released`, which loses nothing
        cause: CauseId,
    }
}

long_table! {
    /// Events of each sender with a window (TCP, QUIC), with their causes.
    TcpChanges, TcpChange, TcpColumns: "tcp",
        recorded "if `record.tcp` is on, which is the default",
        limit "write `record.tcp = false`" {
        /// when
        time_ns: Time,
        /// name of the flow
        flow: FlowId,
        /// what happened
        event: TcpFactKind,
        /// congestion window after it, in segments
        cwnd: f64,
        /// slow start threshold after it, in segments
        ssthresh: f64,
        /// retransmission timeout after it; of QUIC the probe timeout
        rto_ns: u64,
        /// segment of the event
        seq: u32,
        /// serial number of the lost packet that caused it; 0: none was lost
        cause_serial: u64,
        /// of a timeout, decided by the packets and not by the sender: `genuine` if every earlier transmission of the
        /// segment was lost, `spurious` if one arrived, then or later, `undecided` if one was still in flight at the
        /// end; otherwise empty
        timeout: Option<Verdict>,
        /// row of [causes](#causes) at which its chain begins: a timeout, a fast retransmit or another cut of the
        /// window has its own, a consequence has that of its cause; -1: the window opens
        cause: CauseId,
    }
}

long_table! {
    /// The variables of senders with a window (TCP, QUIC), a row for each change.
    Variables, VariablesRow, VariableColumns: "variables",
        recorded "if `record.variables` is on",
        limit "write `record.variables = false`" {
        /// when
        time_ns: Time,
        /// name of the flow
        flow: FlowId,
        /// congestion window in segments, without the inflation by duplicate acknowledgements
        cwnd: f64,
        /// slow start threshold in segments
        ssthresh: f64,
        /// the latest measurement of the round-trip time; 0 before the first
        rtt_ns: u64,
        /// smoothed round-trip time; 0 before the first measurement
        srtt_ns: u64,
        /// smoothed mean deviation of the round-trip time
        rttvar_ns: u64,
        /// retransmission timeout with its backoff
        rto_ns: u64,
        /// factor by which timeouts have increased it
        backoff: u64,
        /// retransmission timeouts so far
        timeouts: u64,
        /// cuts of the window so far
        reductions: u64,
        /// first segment that is not acknowledged
        una: u32,
    }
}

long_table! {
    /// Events of every packet.
    PacketEvents, PacketEvent, PacketColumns: "packets",
        recorded "if `record.packets` is on",
        limit "write `record.packets = false`" {
        /// when
        time_ns: Time,
        /// `send`: an endpoint sends it; `enqueue`: it arrives at a recorded queue; `mark`: it leaves one with the
        /// mark of congestion (ECN's CE); `drop`: it is lost
        event: PacketStep,
        /// node or link
        place: Location,
        /// name of the flow
        flow: FlowId,
        /// `data`, `syn`, `ack`, `datagram` or `signal`
        kind: PacketKind,
        /// segment or datagram number; of an acknowledgement the segment expected next
        number: u32,
        /// bytes on the wire, tunnel headers included
        wire_bytes: u64,
        /// true: the segment had been sent before
        retransmission: bool,
        /// of `enqueue`: packets that waited before it; otherwise 0
        waiting: u32,
        /// serial number of the packet, unique within the run
        serial: u64,
        /// of `drop`: its row in [causes](#causes); of a retransmission the loss, the timeout or the fast retransmit
        /// for which it is sent; otherwise -1
        cause: CauseId,
    }
}

table! {
    /// Phases of every handover.
    Handovers, HandoverPhase: "handovers", recorded "", limit "move hosts less often" {
        /// when
        time_ns: Time,
        /// mobile host
        host: NodeId,
        /// index of the visit in the host's list, from 0
        visit: u32,
        /// name of the phase
        phase: &'static str,
        /// where
        node: NodeId,
        /// its row in [causes](#causes)
        cause: CauseId,
    }
}

table! {
    /// One row per signalling message. Messages have sizes, wait in queues and can be lost.
    Signalling, Signal: "signalling", recorded "", limit "send beacons and advertisements less often" {
        /// number of the message
        id: u32,
        /// its kind
        message: &'static str,
        /// its mobile host
        host: Option<Addr>,
        /// node that sent it
        source: Addr,
        /// destination node
        destination: Addr,
        /// size on the wire
        size_bytes: u64,
        /// when it was sent
        sent_ns: Time,
        /// when it arrived; -1: lost
        arrived_ns: i64,
        /// serial number of the packet, unique within the run
        serial: u64,
        /// its row in [causes](#causes)
        cause: CauseId,
    }
}

table! {
    /// One row each time that a sender was notified of a new path, with what it made of that.
    PathChanges, PathChangeRow: "path_changes", recorded "", limit "move hosts less often, or write a longer `false_every`" {
        /// when the sender was notified
        time_ns: Time,
        /// name of its flow
        flow: FlowId,
        /// mobile host whose path has changed, by the notice
        host: NodeId,
        /// when the path changed; -1: it did not
        changed_ns: i64,
        /// false: a false alarm
        genuine: bool,
        /// what a sender of this flow does
        policy: PathPolicy,
        /// false: it has done nothing, because the policy is `nothing` or the connection does not exist yet
        acted: bool,
        /// segments in flight that it has counted lost
        lost_pkts: u32,
        /// congestion window before it was notified, in segments
        cwnd_before: f64,
        /// congestion window after it, in segments
        cwnd: f64,
        /// slow start threshold before it was notified, in segments
        ssthresh_before: f64,
        /// slow start threshold after it, in segments
        ssthresh: f64,
        /// smoothed round-trip time before it was notified; 0: none was measured
        srtt_before_ns: u64,
        /// smoothed round-trip time after it; 0: none is measured yet
        srtt_ns: u64,
        /// retransmission timeout before it was notified; of QUIC the probe timeout
        rto_before_ns: u64,
        /// retransmission timeout after it
        rto_ns: u64,
        /// its row in [causes](#causes)
        cause: CauseId,
    }
}

table! {
    /// One row per packet that left a base station's buffer for a host.
    Releases, Release: "releases", recorded "", limit "lower the load, or the losses" {
        /// when
        time_ns: Time,
        /// whose buffer
        host: Addr,
        /// at which base station
        node: NodeId,
        /// the base station or router that it was forwarded to; empty: it went over the air
        to: Option<Addr>,
        /// name of the flow
        flow: FlowId,
        /// segment or datagram number; 0 for an acknowledgement
        seq: u32,
        /// serial number of the packet, unique within the run
        serial: u64,
        /// size on the wire, without the tunnel that begins here
        size_bytes: u64,
        /// true: it was marked as forwarded
        forwarded: bool,
        /// row in [causes](#causes) of its release
        cause: CauseId,
    }
}

table! {
    /// One row per policed mark of forwarded packets from outside.
    Policing, Policed: "policing", recorded "", limit "write `network.foreign_marks = \"honour\"`" {
        /// when
        time_ns: Time,
        /// access router or base station that policed it
        node: NodeId,
        /// name of the flow
        flow: FlowId,
        /// segment or datagram number; 0 for an acknowledgement
        seq: u32,
        /// serial number of the packet, unique within the run
        serial: u64,
        /// cleared, or dropped with the packet
        action: &'static str,
    }
}

table! {
    /// The path of one packet, stop by stop.
    Trace, TraceLine: "trace", recorded "if the run traces a packet", limit "trace no packet" {
        /// when
        time_ns: Time,
        /// name of the stop
        stop: Stop,
        /// node, link or queue
        place: Location,
        /// serial number of the packet, unique within the run
        serial: u64,
        /// bytes on the wire, tunnel headers included
        wire_bytes: u64,
        /// number of tunnel headers
        tunnels: u32,
        /// reason of the loss, or action of the queue
        detail: &'static str,
    }
}

#[cfg(test)]
impl Drops {
    /// The packets' numbers, of rows that are not in columns yet.
    pub fn serials(&self) -> Vec<u64> {
        self.rows.iter().map(|row| row.serial).collect()
    }

    /// The reasons, of rows that are not in columns yet.
    pub fn reasons(&self) -> Vec<DropReason> {
        self.rows.iter().map(|row| row.reason).collect()
    }
}

impl TcpChanges {
    /// The number of the next row.
    pub fn next_row(&self) -> usize {
        self.streamed + self.in_columns + self.rows.len()
    }

    /// The timeout of a row in the columns has a verdict.
    pub fn judged(&mut self, row: usize, verdict: Verdict, names: &Names) {
        if let Some(kept) = self.columns.timeout.get_mut(row - self.streamed) {
            *kept = Some(verdict).encode(names);
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
    /// One row each time that a sender is notified of a new path.
    pub path_changes: bool,
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
            path_changes: false,
            releases: false,
            policing: false,
            causes: false,
        }
    }
}

/// Declares the record: its long tables, its short ones, and what else it holds.
macro_rules! record {
    ($(#[doc = $about:literal])+ $record:ident {
        long { $($long:ident: $Long:ident,)+ }
        short { $($short:ident: $Short:ident,)+ }
        $($(#[doc = $doc:literal])+ $vis:vis $field:ident: $type:ty,)+
    }) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, Default)]
        pub struct $record {
            $(#[doc = concat!("The table `", stringify!($long), "`.")] pub $long: $Long,)+
            $(#[doc = concat!("The table `", stringify!($short), "`.")] pub $short: $Short,)+
            $($(#[doc = $doc])+ $vis $field: $type,)+
        }

        const LONG: &[TableSchema] = &[$($Long::SCHEMA,)+];
        const SHORT: &[TableSchema] = &[$($Short::SCHEMA,)+];

        impl $record {
            /// The tables that may be long, with their names.
            pub fn long(&mut self) -> [(&'static str, &mut dyn LongTable); LONG.len()] {
                [$(($Long::SCHEMA.name, &mut self.$long),)+]
            }

            /// What its tables take in memory.
            pub fn parts(&self) -> impl Iterator<Item = Part> + use<> {
                [$(self.$long.part(),)+ $(self.$short.part(),)+ self.causes.rows.part()].into_iter()
            }

            /// The tables that are not long, with the columns that are wanted.
            pub fn into_short_tables(self, names: &Names, options: &RunOptions<'_>) -> Vec<Table> {
                vec![
                    $(self.$short.into_table(names, options),)+
                    self.causes.rows.into_table(names, options),
                ]
            }
        }
    };
}

record! {
    /// The record.
    Probes {
        long {
            deliveries: Deliveries,
            queues: QueueSamples,
            drops: Drops,
            tcp: TcpChanges,
            variables: Variables,
            packets: PacketEvents,
        }
        short {
            units: Units,
            handovers: Handovers,
            path_changes: PathChanges,
            releases: Releases,
            policing: Policing,
            signalling: Signalling,
            trace: Trace,
        }
        /// The causes.
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
}

/// The schemas of all tables, but for those of captures.
pub fn tables() -> impl Iterator<Item = TableSchema> {
    let totals = [totals::Flows::SCHEMA, totals::Links::SCHEMA, totals::Census::SCHEMA];
    totals.into_iter().chain(LONG.iter().chain(SHORT).copied()).chain([Causes::SCHEMA])
}

impl Probes {
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
            sojourn_ns: gauges.sojourn.as_nanos(),
            coupled: gauges.coupled,
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
