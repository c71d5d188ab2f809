//! A base station in two nodes (TS 38.401): a central unit with RRC and PDCP, and distributed units with RLC and MAC, F1
//! between them (TS 38.473). Each cell is a distributed unit of its own. The central unit is the base station for all others:
//! no message of Xn or NG, no path switch and no end marker belongs to a switch between its distributed units.
//!
//! Handover between distributed units (TS 38.401 §8.2.1.1); `==` are packets.
//!
//! ```text
//!        UE          source DU        target DU          CU
//!        |-measurement->|-----------------|------------->|   NeighbourReported
//!        |   report     |                 |<-UE context--|
//!        |              |                 |  setup       |
//!        |              |                 |-response---->|   HandoverPrepared
//!        |              |<-UE context modification-------|   HandoverCommanded
//!        |<-reconfigu---|                 |              |
//!        |  ration      |-response, delivery status----->|
//!      T304             |                 |<=============|   what is not confirmed, and what follows
//!        |-reconfiguration complete------>|------------->|   HandoverConfirmed
//!        |<===============================|              |
//!        |              |<-UE context release------------|
//! ```
//!
//! L1/L2-triggered mobility (LTM, TS 38.300 §9.2.3.5): the candidates are prepared before, and the distributed unit orders the
//! switch.
//!
//! ```text
//!        UE          source DU        target DU          CU
//!        |              |                 |<-UE context--|   of each candidate that the host reports
//!        |              |                 |  setup       |
//!        |<-ltm-config--|<-UE context modification-------|
//!        |-complete---->|-----------------|------------->|
//!        |-L1 report--->|                 |              |
//!        |<-cell switch-|-cell switch notification------>|   HandoverCommanded
//!        |  command     |                 |<-------------|
//!      T304             |-delivery status--------------->|
//!        |              |                 |<=============|   what is not confirmed, and what follows
//!        |-reconfiguration complete------>|------------->|   HandoverConfirmed
//!        |<-grant-------|-----------------|              |   AccessGranted: T304 stops
//!        |<===============================|              |
//! ```
//!
//! Without a valid timing advance random access comes before the complete message, and stops T304. The cell that the host has
//! left stays a candidate.
//!
//! | lost | recovered by |
//! | --- | --- |
//! | L1 report | the next one |
//! | cell switch command | the distributed unit orders again, as long as it has the host |
//! | cell switch notification of the source | the complete message at the target |
//! | cell switch notification to the target | the same |
//! | delivery status | the complete message: all that is not confirmed is repeated then |
//! | messages of the preparation | the next measurement report, after TXnRELOCprep |
//! | complete message, grant | T304: a candidate, or re-establishment |
//!
//! ASSUMPTION: a distributed unit reports delivery by messages that are repeated if they are lost, in operation one for each
//! interval in which it has something to report.
//!
//! DEVIATION: all base stations are split, or none. With them there is no conditional handover, no DAPS, no handover over N2,
//! and bearers are in acknowledged mode. RLC is always re-established, as each cell has its own.

mod central;
mod install;
mod unit;

pub use central::CentralUnit;
pub use unit::DistributedUnit;

use roamlab_packet::Addr;
use std::collections::BTreeMap;

/// The central unit of each cell, by its base station.
pub(super) type Units = BTreeMap<Addr, Addr>;
