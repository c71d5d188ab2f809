//! The messages of blocks as messages of NR: over Xn, or through the AMF.

use super::{Action, Kind, Message, Phase};
use crate::cellular::{self, Out};
use crate::signal::Signal;
use roamlab_packet::Addr;

/// Actions of a role.
pub(super) struct Outbox<'a> {
    pub out: &'a mut Vec<Action>,
    /// The AMF, or who it has switch paths.
    pub amf: Addr,
    /// The AMF passes messages of handovers on.
    pub by_core: bool,
    /// Hosts stay at the source until they are at the target.
    pub dual: bool,
}

impl Out for Outbox<'_> {
    fn push(&mut self, action: cellular::Action) {
        self.out.push(action.map(|never| match never {}, Phase::from));
    }

    fn send(&mut self, to: Addr, message: Signal<cellular::Message>) {
        use cellular::Message as Block;
        let Signal { host, id, kind } = message;
        let (to, kind) = match kind {
            Block::HandoverRequest { .. } if self.by_core => {
                (self.amf, Kind::HandoverRequired { target: to, cell: to })
            }
            Block::HandoverRequest { plan } => (to, Kind::HandoverRequest { plan, cell: to }),
            Block::HandoverCommand { target } => (to, Kind::Reconfiguration { target, dual: self.dual }),
            Block::ConditionalReconfiguration { candidates } => {
                (to, Kind::ConditionalReconfiguration { candidates })
            }
            Block::SnStatusTransfer { counts, .. } => {
                let counts = counts.unwrap_or_default();
                match self.by_core {
                    true => (self.amf, Kind::UplinkStatusTransfer { counts }),
                    false => (to, Kind::SnStatusTransfer { counts }),
                }
            }
            Block::HandoverSuccess => (to, Kind::HandoverSuccess),
            Block::HandoverCancel if self.by_core => (self.amf, Kind::NgHandoverCancel),
            Block::HandoverCancel => (to, Kind::HandoverCancel),
            Block::PathSwitchRequest { prepared: true, .. } => (to, Kind::HandoverNotify),
            Block::PathSwitchRequest { base_station, .. } => (to, Kind::PathSwitchRequest { base_station }),
            Block::PathSwitchRequestAck => (to, Kind::PathSwitchRequestAcknowledge),
            Block::PathSwitchRequestFailure { released } => (to, Kind::PathSwitchRequestFailure { released }),
            Block::ContextRelease => (to, Kind::ContextRelease),
            Block::EndMarker => (to, Kind::EndMarker { source: None }),
            Block::InitialContextSetup => (to, Kind::InitialContextSetup),
            Block::ContextReleaseCommand => (to, Kind::ContextReleaseCommand),
            Block::ModifyBearerRequest { base_station, complete } => {
                (to, Kind::UpdateRequest { step: super::Step::Switch { base_station, complete } })
            }
            // NR measures by its own configuration, accesses without messages, and answers itself.
            Block::MeasurementControl | Block::RandomAccessResponse | Block::Reestablishment => return,
        };
        self.out.push(Message { host, id, kind }.to(to));
    }
}
