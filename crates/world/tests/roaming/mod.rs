//! Roaming with 802.11 in whole runs: its phases against sums by hand, frames lost, holes, and what the old cell suffers.

mod facts;
mod keys;
mod lab;
mod phases;
mod signal;
mod trouble;
