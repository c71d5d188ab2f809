//! The tables that a run fills while it continues.

use crate::cause::CauseId;
use crate::ids::{LinkId, Location, NodeId};
use crate::long_table::long_table;
use crate::stops::{PacketKind, PacketStep, Stop};
use crate::table::{Encode, Names, table, vocabulary};
use roamlab_congestion::{PathPolicy, SenderEventKind};
use roamlab_engine::Time;
use roamlab_packet::{Addr, DropReason, FlowId};
use roamlab_traffic::UnitKind;

vocabulary! {
    /// Kind of a timeout.
    Verdict {
        /// Every earlier transmission of the segment was lost.
        Genuine => "genuine";
        /// An earlier transmission of it arrived, then or later.
        Spurious => "spurious";
        /// At the end of the run an earlier transmission was still on its way.
        Undecided => "undecided";
    }
}

impl Encode for Option<Verdict> {
    type Stored = u32;

    const IS_WORD: bool = true;

    const WORDS: &'static [(&'static str, &'static str)] = <Verdict as Encode>::WORDS;

    fn encode(self, _: &Names) -> u32 {
        self.map_or(0, |verdict| 1 + verdict as u32)
    }

    fn list(_: &Names) -> Vec<&str> {
        [""].into_iter().chain(Verdict::ALL.iter().map(|verdict| verdict.name())).collect()
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
        /// how long the packet that left last had waited, where the discipline measures it (CoDel, FQ-CoDel, fq, PIE,
        /// DualPI2, CAKE, rlc), or 0
        sojourn_ns: u64,
        /// probability of marking the next packet of DualPI2's low-latency queue (p_CL), or 0
        coupled: f64,
    }
}

long_table! {
    /// One row per lost packet. Every loss has one reason; `copy-released`, `duplicate` and `suppressed-ack` lose no data.
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
        /// true: it carried data of its flow; false: an acknowledgement, a request for a connection, or signalling
        data: bool,
        /// when it was sent; all copies of a packet have the same
        sent_ns: Time,
        /// serial number of the packet, unique within the run
        serial: u64,
        /// true: it had the mark of a forwarded packet
        forwarded: bool,
        /// its row in [causes](#causes); -1 for `copy-released` and `suppressed-ack`, which lose nothing
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
        event: SenderEventKind,
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
        /// of a timeout, decided by the packets and not by the sender. It is `genuine` if every earlier
        /// transmission of the segment was lost, `spurious` if one arrived, then or later, `undecided` if one
        /// was still in flight at the end; otherwise empty
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
    /// Reports of Linux kernels on their senders (`TCP_INFO`), a row for each time that they are asked.
    TcpInfos, TcpInfoRow, TcpInfoColumns: "tcp_info",
        recorded "if `record.variables` is on",
        limit "write `record.variables = false`" {
        /// when
        time_ns: Time,
        /// name of the flow
        flow: FlowId,
        /// segments that are sent and not acknowledged (`tcpi_unacked`)
        unacknowledged_pkts: u32,
        /// those of them that the receiver has reported (`tcpi_sacked`)
        sacked_pkts: u32,
        /// those that count as lost (`tcpi_lost`)
        lost_pkts: u32,
        /// those that are under way again (`tcpi_retrans`)
        repeated_pkts: u32,
        /// segments sent again so far (`tcpi_total_retrans`)
        retransmitted_pkts: u32,
        /// segments delivered so far, the SYN among them (`tcpi_delivered`)
        delivered_pkts: u32,
        /// those of them that were marked (`tcpi_delivered_ce`)
        delivered_ce_pkts: u32,
        /// segments reported to have arrived twice so far (`tcpi_dsack_dups`)
        duplicate_pkts: u32,
        /// times so far that a segment was overtaken (`tcpi_reord_seen`)
        reorderings: u32,
        /// bytes that the application has written and that were never sent (`tcpi_notsent_bytes`)
        unsent_bytes: u32,
        /// pacing rate; -1: without pacing (`tcpi_pacing_rate`)
        pacing_bps: i64,
        /// the latest delivery rate (`tcpi_delivery_rate`)
        delivery_bps: u64,
        /// the shortest round-trip time (`tcpi_min_rtt`)
        min_rtt_ns: u64,
        /// how long the receive window was the limit so far (`tcpi_rwnd_limited`)
        receiver_limited_ns: u64,
        /// how long the send buffer was the limit so far (`tcpi_sndbuf_limited`)
        buffer_limited_ns: u64,
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
    /// One row per wait of a numbered radio bearer's receiver for a packet, while it kept later ones.
    BearerGaps, BearerGap: "bearer_gaps", recorded "", limit "lower the load, or the losses" {
        /// when the first of the later packets arrived, or the gap before this one ended
        time_ns: Time,
        /// when the wait ended
        until_ns: Time,
        /// mobile host
        host: Addr,
        /// where the receiver is: the host, or a base station
        node: NodeId,
        /// number of the packet (COUNT)
        number: u32,
        /// true: t-Reordering expired; false: the packet came, or the bearer began again
        expired: bool,
        /// row in [causes](#causes) of that expiry; -1: it did not expire
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
