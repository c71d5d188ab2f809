//! NR: handover between base stations over Xn or N2, conditional handover, and re-establishment, with numbered bearers.
//!
//! Sources: TS 38.300 §9.2.3 (procedures, data forwarding), TS 38.331 (RRC), TS 38.423 (XnAP), TS 38.413 (NGAP), TS 23.502
//! §4.9.1.3 (handover over N2), TS 29.281 (end marker), TS 38.323 (PDCP). Implementations where the standards leave values
//! open: srsRAN_Project, OCUDU, open5gs.
//!
//! # Message charts
//!
//! Handover over Xn (TS 38.300 fig. 9.2.3.2.1-1); `==` are packets.
//!
//! ```text
//!        UE           source (S)        target (T)       AMF      SMF      UPF
//!  1     |--measurement->|                 |              |        |        |   NeighbourReported
//!        |    report     |                 |              |        |        |
//!  2     |               |-handover------->|              |        |        |   TXnRELOCprep
//!        |               |  request      admits           |        |        |
//!  3     |               |<-handover-------|              |        |        |   HandoverPrepared, TXnRELOCoverall
//!        |               |  request ack    |              |        |        |
//!  4     |<-reconfiguration                |              |        |        |   HandoverCommanded
//!      T304, leaves      |-SN status------>|              |        |        |
//!        |               |  transfer       |              |        |        |
//!        |               |===============> | holds        |        |        |   ForwardingStarted
//!  5   random access done                  |              |        |        |   AccessGranted
//!  6     |-reconfiguration complete------->|              |        |        |   HandoverConfirmed
//!        |<================================|              |        |        |
//!  7     |               |                 |-path switch->|        |        |
//!        |               |                 |  request     |-update>|        |
//!        |               |                 |              |        |-modify>|   PathSwitched
//!  8     |               |<-end marker--------------------------------------|
//!        |               |-end marker----->|              |        |        |   OrderRestored
//!        |               |                 |<===============================|
//!        |               |                 |              |        |<-done--|
//!        |               |                 |<-path switch-|<-done--|        |   PathSwitchAcknowledged
//!        |               |                 |  request ack |        |        |
//!  9     |               |<-UE context-----|              |        |        |   SourceReleased
//!        |               |  release        |              |        |        |
//! ```
//!
//! Handover over N2: steps 2 and 3 are `handover-required` of the source, a request and its answer between AMF and SMF,
//! `ng-handover-request` and its acknowledgement, another exchange with the SMF, and `ng-handover-command`. In that exchange
//! the SMF may have the UPF forward packets from the source to the target (indirect forwarding). The numbers go through the AMF (uplink
//! and downlink RAN status transfer). At step 7 `ng-handover-notify` is enough, and the AMF releases the source when
//! `release_after` has passed.
//!
//! Re-establishment at a base station that was not prepared (TS 38.300 §9.2.3.3):
//!
//! ```text
//!        UE             new              old            AMF
//!        |-re-establishment->|               |              |   CellChosen; stops T311, starts T301
//!        |    request        |-retrieve----->|              |
//!        |                   |  UE context   |              |
//!        |                   |<-response-----|              |
//!        |<-re-establishment-|               |              |   stops T301
//!        |                   |-Xn-U address->|              |
//!        |                   |  indication   |              |
//!        |                   |<-SN status----|              |
//!        |                   |<==============|              |   ForwardingStarted
//!        |-re-establishment->|               |              |
//!        |    complete       |-path switch request--------->|
//!        |<-reconfiguration--|               |              |
//!        |-reconfiguration-->|               |              |   Reestablished, HandoverConfirmed
//!        |    complete       |               |              |
//! ```
//!
//! A base station that still has the host, also one that has commanded it, and one that is prepared, answer immediately. Any
//! other answer is `rrc-fallback-setup`: the host asks for a new connection, with new bearers.
//!
//! Conditional handover: as in LTE, except that the source continues sending until it has the
//! success. It has noticed nothing, and what it sends without result it still has.
//!
//! # The bearer
//!
//! At the command the source freezes the numbers, asks for them, and sends them. Then it forwards copies: those of packets
//! that have a number and are not confirmed, those that wait, and later ones. It keeps what it has forwarded until it is
//! released, so it can take the host back. The target adopts the numbers when they come. The host's first message to the
//! target has the status report, and the target drops what it covers before it sends. If the numbers do not come within the
//! guard after that, the bearer begins again (full configuration), with loss.
//!
//! # Recovery of lost messages
//!
//! Between nodes of the network SCTP repeats a lost message after the retransmission time of the association, which
//! doubles up to its limit, ten times. Over the air RLC repeats one after t-PollRetransmit, maxRetxThreshold times, as long as
//! the host is in the cell. If the last repetition is lost too, the radio link has failed (TS 38.322 §5.3.2): the host
//! re-establishes its connection, or its base station tells it that the link has failed. In this table "lost" means that these
//! repetitions are lost too, and what comes late is repaired by nothing else.
//!
//! | lost | recovered by |
//! | --- | --- |
//! | measurement report | radio link failure, and re-establishment |
//! | handover request, handover required, their answers | TXnRELOCprep, TNGRELOCprep: cancel; the next measurement report |
//! | reconfiguration | TXnRELOCoverall: the source takes the host back; or radio link failure, and re-establishment |
//! | conditional reconfiguration | the next measurement report, and each after it, is answered with it |
//! | handover success | UE context release, or TXnRELOCoverall |
//! | SN status transfer, RAN status transfer | the guard at the target: full configuration |
//! | reconfiguration complete | the target's own wait: it releases the host (`rrc-no-context`), which re-establishes |
//! | path switch request, its answers, handover notify | nothing: forwarding goes on, and TXnRELOCoverall has the source released |
//! | messages of SMF and UPF | nothing |
//! | end marker | the guard; of several, one is enough |
//! | UE context release | TXnRELOCoverall; the AMF releases the source |
//! | handover cancel | the target's own wait |
//! | UE context release command | forwarding ends by itself in the source |
//! | re-establishment request (not repeated), its answers | T301: idle, and a new connection |
//! | retrieve UE context request, its answers | T301 |
//! | Xn-U address indication | the guard: full configuration |
//! | service request (not repeated), its answers | the host, each T300 |
//!
//! ASSUMPTION: a host's first connection is one message from the host to the AMF (RRC set-up and NAS service request in
//! one) and one back. The same holds for the connection after a failure that no base station can continue.
//!
//! ASSUMPTION: the host's own packets take the shortest path, without a tunnel. They leave when random access is done.
//!
//! ASSUMPTION: a target that has no context of a host which has done random access, as its preparation was cancelled,
//! answers its first message with `rrc-no-context`. It represents random access that is not answered: T304 continues.
//!
//! ASSUMPTION: all base stations and hosts have the same NG and Xn connections: over Xn every base station is a target, and
//! over N2 none is asked for a context.
//!
//! ASSUMPTION: a refusal of the AMF to switch a path is about an older handover: the base station that has the host asks
//! again.
//!
//! DEVIATION: one session and one bearer for each host. No admission of a part of the sessions, no target of another AMF, SMF
//! or UPF.

mod amf;
mod central_unit;
mod distributed_unit;
mod gnodeb;
mod install;
mod message;
mod outbox;
mod params;
mod phase;
mod sizes;
mod smf;
mod timers;
mod upf;
mod user_equipment;

pub use crate::cellular::{Conditional, Plan};
pub use amf::Amf;
pub use central_unit::CentralUnit;
pub use distributed_unit::DistributedUnit;
pub use gnodeb::GNodeB;
pub use message::{Kind, Purpose, Step};
pub use params::{
    CandidateForwarding, Containers, ForwardFrom, Forwarding, LayerOneEvent, Ltm, Params, Procedure, Sctp,
    SignallingBearer, TimingAdvance,
};
pub use phase::Phase;
pub use smf::Smf;
pub use timers::{Interruption, Timers, Times};
pub use upf::Upf;
pub use user_equipment::UserEquipment;

/// A message of the protocol.
pub type Message = crate::Signal<Kind>;
type Input = crate::Input<Message>;
type Action = crate::Action<Message, Phase>;

#[cfg(test)]
mod tests;

crate::roles! {
    /// A role of NR at one node.
    Nr:
    /// At a mobile host.
    UserEquipment,
    /// At a base station.
    GNodeB,
    /// At the router of cells that are its distributed units.
    CentralUnit,
    /// At a base station that has a central unit.
    DistributedUnit,
    /// At its own node, or at the home of the hosts.
    Amf,
    /// At its own node, or at the home of the hosts.
    Smf,
    /// At the home of the hosts.
    Upf,
}
