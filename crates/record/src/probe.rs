//! The record of a run: typed rows, kept as columns.

use crate::cause::{CauseId, Causes, Chains, data_seq, is_data};
use crate::ids::{LinkId, Location, NodeId};
use crate::long_table::LongTable;
use crate::memory::Part;
use crate::rows::{
    BearerGap, BearerGaps, Deliveries, Drop, Drops, HandoverPhase, Handovers, PacketEvent, PacketEvents,
    PathChanges, Policed, Policing, QueueSample, QueueSamples, Release, Releases, Signal, Signalling,
    TcpChanges, TcpInfoRow, TcpInfos, Trace, TraceLine, Units, Variables, VariablesRow,
};
use crate::schema::TableSchema;
use crate::selection::Selection;
use crate::stops::{PacketKind, PacketStep, Stop};
use crate::table::{Names, Table};
use crate::totals;
use roamlab_congestion::SenderVariables;
use roamlab_engine::{Bytes, Time};
use roamlab_packet::{Addr, DropReason, Dscp, FlowId, MessageId, Packet};
use roamlab_qdisc::Gauges;
use rustc_hash::FxHashMap;

/// Declares the record: its long tables, its short ones, and what else it holds. [`Wanted`] has a flag for each table.
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

        /// The tables that are recorded.
        #[derive(Copy, Clone, Debug)]
        pub struct Wanted {
            $(#[doc = concat!("The table `", stringify!($long), "`.")] pub $long: bool,)+
            $(#[doc = concat!("The table `", stringify!($short), "`.")] pub $short: bool,)+
            /// The table `causes`.
            pub causes: bool,
        }

        impl Wanted {
            /// The tables whose name this is true of.
            pub fn new(is_wanted: impl Fn(&str) -> bool) -> Wanted {
                Wanted {
                    $($long: is_wanted($Long::SCHEMA.name),)+
                    $($short: is_wanted($Short::SCHEMA.name),)+
                    causes: is_wanted(Causes::SCHEMA.name),
                }
            }

            /// True if anything is recorded of TCP senders.
            #[inline(always)]
            pub fn senders(&self) -> bool {
                self.tcp | self.variables
            }
        }

        impl Default for Wanted {
            /// Only losses.
            fn default() -> Self {
                Wanted::new(|name| name == Drops::SCHEMA.name)
            }
        }

        const LONG: &[TableSchema] = &[$($Long::SCHEMA,)+];
        const SHORT: &[TableSchema] = &[$($Short::SCHEMA,)+];

        impl $record {
            /// The tables that may be long, with their names.
            pub fn long(&mut self) -> [(&'static str, &mut dyn LongTable); LONG.len()] {
                [$(($Long::SCHEMA.name, &mut self.$long),)+]
            }

            /// Memory of its tables.
            pub fn parts(&self) -> impl Iterator<Item = Part> + use<> {
                [$(self.$long.part(),)+ $(self.$short.part(),)+ self.causes.rows.part()].into_iter()
            }

            /// The tables that are not long, with the columns that are wanted.
            pub fn into_short_tables(self, names: &Names, selection: Selection<'_>) -> Vec<Table> {
                vec![
                    $(self.$short.into_table(names, selection),)+
                    self.causes.rows.into_table(names, selection),
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
            tcp_info: TcpInfos,
            packets: PacketEvents,
        }
        short {
            units: Units,
            handovers: Handovers,
            path_changes: PathChanges,
            releases: Releases,
            bearer_gaps: BearerGaps,
            policing: Policing,
            signalling: Signalling,
            trace: Trace,
        }
        /// The causes.
        pub causes: Chains,
        /// The tables that are recorded.
        pub wanted: Wanted,
        /// The packet to trace; with a capture every packet is.
        pub traced: Option<u64>,
        /// The code point of forwarded packets; `None`: none are marked.
        pub mark: Option<Dscp>,
        /// Packets with that mark handed to the queue of each link.
        pub forwarded: Vec<u64>,
        /// Packets that left a tunnel with a combination of ECN fields that RFC 6040 §4.2 wants logged.
        pub odd_ecn: u64,
        /// Packets lost by flow, acknowledgements included, copies and signalling excluded.
        pub losses: Vec<u64>,
        /// Of these, packets without data.
        pub lost_acks: Vec<u64>,
        /// The variables of each sender that were recorded last.
        last_variables: FxHashMap<FlowId, (SenderVariables, u32)>,
    }
}

/// The schemas of all tables, except those of captures.
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

    /// True if a packet has the mark of forwarded ones.
    fn is_forwarded(&self, packet: &Packet) -> bool {
        self.mark == Some(packet.inner_tos().dscp())
    }

    /// A packet is handed to the queue of a link.
    pub fn handed_over(&mut self, link: LinkId, packet: &Packet) {
        if self.is_forwarded(packet)
            && let Some(forwarded) = self.forwarded.get_mut(link.0 as usize)
        {
            *forwarded += 1;
        }
    }

    /// A packet was lost.
    pub fn lost(
        &mut self,
        now: Time,
        packet: &Packet,
        reason: DropReason,
        (place, cause): (Location, CauseId),
    ) {
        let (seq, data) = (data_seq(packet), is_data(packet));
        let forwarded = self.is_forwarded(packet);
        if reason.loses_data()
            && let Some(losses) = self.losses.get_mut(packet.flow.0 as usize)
        {
            *losses += 1;
            if !data {
                self.lost_acks[packet.flow.0 as usize] += 1;
            }
        }
        if self.wanted.drops {
            let (flow, sent_ns, serial) = (packet.flow, packet.created, packet.serial);
            self.drops.push(Drop {
                time_ns: now,
                place,
                reason,
                flow,
                seq,
                data,
                sent_ns,
                serial,
                forwarded,
                cause,
            });
        }
    }

    /// A sender has dealt with an input; its variables, and the first segment that is not acknowledged.
    pub fn sender(&mut self, now: Time, flow: FlowId, variables: SenderVariables, una: u32) {
        if self.last_variables.insert(flow, (variables, una)) == Some((variables, una)) {
            return;
        }
        let SenderVariables { cwnd, ssthresh, backoff, timeouts, reductions, .. } = variables;
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

    /// A kernel has reported this of its sender.
    pub fn tcp_info(&mut self, row: TcpInfoRow) {
        if self.wanted.tcp_info {
            self.tcp_info.push(row);
        }
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

    /// A host's handover has reached a phase.
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
        let (flow, seq, serial) = (packet.flow, data_seq(packet), packet.serial);
        self.causes.release(now, (flow, seq), cause);
        if !self.wanted.releases {
            return;
        }
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

    /// A receiver of a numbered radio bearer has waited for a packet.
    pub fn bearer_gap(&mut self, gap: BearerGap) {
        if self.wanted.bearer_gaps {
            self.bearer_gaps.push(gap);
        }
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

    /// The traced packet passed.
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
