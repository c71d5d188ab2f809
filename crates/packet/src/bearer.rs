//! The state of a numbered radio bearer (PDCP), as base stations and hosts report it.

use std::collections::BTreeSet;

/// Numbers (COUNT, TS 38.323 §7.1) that an SN STATUS TRANSFER has (TS 38.423 §8.2.2.2).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Number of the next downlink packet that has none.
    pub downlink: u32,
    /// Number of the first uplink packet that was not delivered.
    pub uplink: u32,
}

/// The state of a bearer at its base station.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct BearerState {
    /// The numbers at which another base station continues.
    pub counts: Counts,
    /// Number of the first downlink packet that layer 2 has not confirmed; `counts.downlink` if there is none.
    pub unconfirmed: u32,
}

/// Packets that a host has received, as it reports them to its new base station.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Received {
    /// By the serial number of their first copy, where packets have no numbers.
    Serials(BTreeSet<u64>),
    /// A PDCP status report (TS 38.323 §6.2.3.1).
    Status {
        /// FMC: number of the first packet that is missing. All before it have been received.
        first_missing: u32,
        /// The bitmap: numbers of later packets that have been received.
        later: BTreeSet<u32>,
    },
}
