//! NR: handover between base stations over Xn or N2, conditional handover, and re-establishment, with numbered bearers.
//!
//! Sources: TS 38.300 §9.2.3 (procedures, data forwarding), TS 38.331 (RRC), TS 38.423 (XnAP), TS 38.413 (NGAP), TS 23.502
//! §4.9.1.3 (handover over N2), TS 29.281 (end marker), TS 38.323 (PDCP).

mod amf;
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
pub use gnodeb::GNodeB;
pub use message::{Kind, Step};
pub use params::{Containers, ForwardFrom, Forwarding, Params, Procedure, Sctp};
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
    /// At its own node, or at the home of the hosts.
    Amf,
    /// At its own node, or at the home of the hosts.
    Smf,
    /// At the home of the hosts.
    Upf,
}
