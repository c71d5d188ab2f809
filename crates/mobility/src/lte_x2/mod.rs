//! LTE: handover between base stations over X2, with path switch over S1.
//!
//! Sources: \[lte\] sections III and V, figs. 2, 5, 6; TS 36.300 §10.1.2 (procedure, in-order delivery), TS 36.331 (RRC),
//! TS 36.423 (X2AP), TS 36.413 (S1AP), TS 23.401 §5.5.1.1, TS 29.281 (end marker).
//!
//! # Message chart
//!
//! The steps of TS 36.300 fig. 10.1.2.1.1-1; `==` are packets. One hop by wire takes 2 ms, the air 5 ms.
//!
//! ```text
//!        UE           source (S)        target (T)        MME          gateway
//!  1     |<-measurement--|                 |               |               |
//!        |    control    |                 |               |               |
//!  2     |--measurement->|                 |               |               |   NeighbourReported
//!        |    report     |                 |               |               |
//!  3     |           decides               |               |               |
//!  4     |               |-handover------->|               |               |
//!        |               |  request        |               |               |
//!  5     |               |              admits             |               |
//!  6     |               |<-handover-------|               |               |   HandoverPrepared
//!        |               |  request ack    |               |               |
//!  7     |<-handover-----|                 |               |               |   HandoverCommanded
//!        |  command      |                 |               |               |
//!  8     |               |-SN status------>|               |               |
//!        |               |  transfer       |               |               |
//!      leaves            |===============> | holds         |               |   ForwardingStarted
//!  9     |-random access preamble--------->|               |               |
//! 10     |<-random access response---------|               |               |   AccessGranted
//! 11     |-handover confirm--------------->|               |               |   HandoverConfirmed
//!        |-PDCP status report------------->|               |               |
//!        |<================================|               |               |
//! 12     |               |                 |-path switch-->|               |
//!        |               |                 |  request      |               |
//! 13     |               |                 |               |-modify bearer>|
//!        |               |                 |               |  request      |   PathSwitched
//! 14     |               |<-end marker------------------------------------ |
//!        |               |-end marker----->|               |               |   OrderRestored
//!        |               |                 |<==============================|
//! 15     |               |                 |               |<-modify bearer|
//!        |               |                 |               |  response     |
//! 16     |               |                 |<-path switch--|               |   PathSwitchAcknowledged
//!        |               |                 |  request ack  |               |
//! 17     |               |<-UE context-----|               |               |   SourceReleased
//!        |               |  release        |               |               |
//! 18     |            lets go              |               |               |
//! ```
//!
//! Fast path switch (\[lte\] fig. 5): the source sends the path switch request right after step 7. Prediction (fig. 6):
//! when the handover is predicted, the source does steps 4 to 6 and requests the path switch; at step 2 step 7 follows
//! immediately. ASSUMPTION: in both cases the target also requests the path switch when the host has confirmed. The MME
//! answers immediately, and the source is released as in the chart.
//!
//! Conditional handover (TS 36.331 §5.3.5.9, TS 38.300 §9.2.3.4): the source asks every neighbour that the host reports,
//! and names those that are prepared to the host. The host goes to the first one that meets the execution condition.
//!
//! ```text
//!        UE           source (S)       target (T1)      target (T2)
//!  2     |--measurement->|                 |                 |       NeighbourReported, for each neighbour
//!        |    report     |                 |                 |
//!  4     |               |-handover------->|                 |
//!        |               |  request        |                 |
//!        |               |-handover------------------------->|
//!        |               |  request        |                 |
//!  6     |               |<-handover-------|                 |       HandoverPrepared, for each
//!        |               |  request ack    |                 |
//!        |               |<-handover-------------------------|
//!        |               |  request ack    |                 |
//!  7     |<-conditional--|                 |                 |       for each
//!        | reconfiguration                 |                 |
//!      condition holds for T2              |                 |       HandoverExecuted
//!      leaves            | holds           |                 |
//! 9-11   |-random access, handover confirm------------------>|       AccessGranted, HandoverConfirmed
//!        |               |<-handover-------------------------|
//!        |               |  success        |                 |
//!        |               |-handover------->|                 |
//!        |               |  cancel         |                 |
//!  8     |               |-SN status transfer--------------->|
//!        |               |==================================>|       ForwardingStarted
//!        |               |                 |                 |       steps 12 to 18 as above
//! ```
//!
//! ASSUMPTION: the source forwards when a target has reported success ("late data forwarding"), never before. A candidate
//! that the host stops reporting stays for ten seconds. A candidate does not wait in `timers.joining`
//! before that.
//!
//! # Recovery of lost messages
//!
//! | lost | recovered by |
//! | --- | --- |
//! | measurement control, its confirmation | the base station, after 200 ms, doubling |
//! | measurement report | layer 2, each report interval (240 ms) |
//! | handover request, its ack or failure | T_RELOCprep (200 ms): cancel; the next measurement report |
//! | handover command | T_X2RELOCoverall (1 s): the source takes the host back; or radio link failure, and re-establishment |
//! | conditional reconfiguration | the next measurement report, and each after it, is answered with it |
//! | handover success | UE context release; T_X2RELOCoverall |
//! | SN status transfer | nothing: sequence numbers are not modelled, and a marking state is not needed |
//! | random access preamble, response | the host, each 20 ms until T304 |
//! | handover confirm | the target answers random access again each 20 ms, and the host confirms again |
//! | PDCP status report | nothing: duplicates cross the air, and the host drops them |
//! | path switch request, ack | who asked, after 200 ms, doubling |
//! | modify bearer request, response | the MME, after 200 ms, doubling |
//! | end marker | the reordering wait |
//! | UE context release | T_X2RELOCoverall |
//! | handover cancel | the target's joining timer |
//! | re-establishment request, reject | T301: a new connection |
//! | re-establishment, its completion | the base station, after 200 ms, doubling; T301 |
//! | service request, its answers | the host, after 200 ms, doubling |
//!
//! ASSUMPTION: a host's first connection is one message from the host to the MME (RRC setup and NAS service request in
//! one) and one back. The same holds for the connection after a failure that no base station can continue.
//!
//! ASSUMPTION: the host's own packets take the shortest path, without a tunnel, and do not wait for random access.
//!
//! ASSUMPTION: PDCP and RLC numbers are not modelled. Layer 2 knows the packets that it has sent and those that have
//! arrived, and the host those that it has received. The PDCP status report names packets.
//!
//! ASSUMPTION: with `carry_marking_state` the SN status transfer has the estimate by which the source's queue for the host
//! drops or marks, as it is when the host is commanded. The target's queue continues from it when the host has confirmed. One
//! that comes later is not used, because by then the target has its own estimate. The times in it are those of a common
//! clock. The message keeps its size.
//!
//! DEVIATION: no S1 handover: base stations without X2 have no handover.

mod core;
mod enodeb;
mod install;
mod message;
mod mme;
mod params;
mod serving_gateway;
mod user_equipment;

pub use crate::cellular::{Cancelled, Conditional, Forwarding, PathSwitch, Phase, Plan, Timers};
pub use core::Core;
pub use enodeb::ENodeB;
pub use message::Kind;
pub use mme::Mme;
use params::FORWARDING_OVERHEAD;
pub use params::{Params, Prediction};
pub use serving_gateway::ServingGateway;
pub use user_equipment::UserEquipment;

/// A message of the protocol.
pub type Message = crate::Signal<Kind>;
type Input = crate::Input<Message>;
pub(crate) type Action = crate::Action<Message, Phase>;

#[cfg(test)]
mod tests;

crate::roles! {
    /// A role of LTE at one node.
    LteX2:
    /// At a mobile host.
    UserEquipment,
    /// At a base station.
    ENodeB,
    /// At its own node.
    Mme,
    /// At the home of the hosts.
    ServingGateway,
    /// At the home of the hosts, with the MME.
    Core,
}
