//! The record of a run: tables, causes, streaming and captures. It is write-only.

pub(crate) mod capture;
pub mod cause;
pub(crate) mod long_table;
pub(crate) mod piece;
pub(crate) mod probe;
pub mod schema;
mod streaming;
pub(crate) mod table;
pub(crate) mod totals;
