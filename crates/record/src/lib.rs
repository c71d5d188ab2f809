//! The record of a run: tables, causes, pieces that leave during the run, and captures. It is write-only: no model reads
//! what was recorded.
//!
//! A declaration with `long_table!`, `table!` or `totals!` is all that a table has: rows, columns and their meaning follow
//! from it. `record!` in `probe.rs` lists the tables of a run.

pub mod capture;
pub mod cause;
pub mod ids;
mod long_table;
mod memory;
mod piece;
pub mod probe;
mod rows;
pub mod schema;
mod selection;
mod stops;
mod table;
pub mod totals;

pub use long_table::{Columns, LongTable};
pub use memory::{Part, SLACK, bytes_soon};
pub use piece::{Piece, Slice};
pub use rows::{
    BearerGap, BearerGaps, Deliveries, Delivery, Drop, Drops, HandoverPhase, Handovers, PacketEvent,
    PacketEvents, PathChangeRow, PathChanges, Policed, Policing, QueueSample, QueueSamples, Release,
    Releases, Signal, Signalling, TcpChange, TcpChanges, TcpInfoRow, TcpInfos, Trace, TraceLine, UnitRow,
    Units, Variables, VariablesRow, Verdict,
};
pub use selection::Selection;
pub use stops::{PacketKind, PacketStep, Stop};
pub use table::{Column, Names, Table};
