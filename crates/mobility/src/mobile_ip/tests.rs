//! The roles together on a small message bus, and each role's transition table.

mod bus;
mod chart;
mod table;
mod trouble;
