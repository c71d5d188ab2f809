//! Tables of totals, made when the run is over.

/// Declares a table of totals: its columns are made when the run is over.
macro_rules! totals {
    ($(#[doc = $about:literal])+ $table:ident: $name:literal {
        $($(#[doc = $meaning:literal])+ $field:ident: $kind:ident,)+
    }) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug)]
        pub struct $table {
            $($(#[doc = $meaning])+ pub $field: $crate::table::Column,)+
        }

        impl $table {
            /// Its schema.
            pub const SCHEMA: $crate::schema::TableSchema = $crate::schema::schema!(
                $name, ($($about)+), "", "",
                $(($($meaning)+) $field: $crate::schema::Kind::$kind, &[];)+
            );

            /// The table, with the columns that are wanted.
            pub fn into_table(self, selection: $crate::Selection<'_>) -> $crate::table::Table {
                let mut columns = Vec::new();
                $(
                    debug_assert_eq!(self.$field.kind(), $crate::schema::Kind::$kind, stringify!($field));
                    if selection.wants_column($name, stringify!($field)) {
                        columns.push((stringify!($field), self.$field));
                    }
                )+
                $crate::table::Table { name: $name, columns }
            }
        }
    };
}

totals! {
    /// One row per flow: its totals at the end of the run.
    Flows: "flows" {
        /// name of the flow
        flow: Words,
        /// node that sends
        source: Words,
        /// node that receives
        destination: Words,
        /// application and transport
        kind: Words,
        /// data packets sent, retransmissions included
        sent_pkts: U64,
        /// data segments sent again
        retransmitted_pkts: U64,
        /// segments handed to the receiving application
        delivered_pkts: U64,
        /// bytes handed to the receiving application
        delivered_bytes: U64,
        /// segments that arrived again
        duplicate_pkts: U64,
        /// segments that arrived after a later one
        reordered_pkts: U64,
        /// most later segments that had been seen before a late one
        reordering_extent_pkts: U64,
        /// packets of the flow that were lost, for any reason
        dropped_pkts: U64,
        /// of these, packets without data: acknowledgements, and requests for a connection
        dropped_ack_pkts: U64,
        /// expiries of the retransmission timer
        timeouts: U64,
        /// those with an earlier transmission of the segment that arrived
        spurious_timeouts: U64,
        /// losses found by duplicate acknowledgements
        fast_retransmits: U64,
        /// bits delivered per second, from the flow's start to the end of the run
        goodput_bps: F64,
        /// when the application began; -1: it did not
        start_ns: I64,
        /// time of the last delivery; -1: none
        finish_ns: I64,
        /// when the last segment of a file was delivered for the first time; -1: it was not, or nothing ends the file
        completed_ns: I64,
    }
}

totals! {
    /// One row per one-way link: its totals. Signalling with priority does not pass the queue.
    Links: "links" {
        /// name of the link
        link: Words,
        /// packets that arrived at its queue
        offered_pkts: U64,
        /// of these, with the mark of forwarded packets: M-RED's priority packets
        forwarded_pkts: U64,
        /// time of transmissions, signalling included; divided by the run's duration: its utilisation
        busy_ns: U64,
    }
}

totals! {
    /// Counts: events, hops, packets created, delivered, dropped by reason, inside; odd ECN fields after tunnels.
    Census: "census" {
        /// what
        name: Words,
        /// how many
        value: U64,
    }
}
