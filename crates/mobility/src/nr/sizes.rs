//! Messages on the wire: sizes, and the transports that repeat lost ones.

use super::message::Interface;
use super::{Kind, Params, Sctp, SignallingBearer};
use crate::{Kind as _, Repeat, Wire};
use roamlab_engine::{Bytes, Duration};

/// IP, SCTP and DATA chunk.
const TRANSPORT: u64 = 48;

/// F1AP around an RRC message. ASSUMPTION: identities and the bearer of the message.
const TRANSFER: u64 = 24;

/// PDCP with integrity, RLC and MAC.
const RADIO: u64 = 10;

/// Repetitions of a message by SCTP at most (Association.Max.Retrans, RFC 9260 §16).
const ASSOCIATION_REPETITIONS: u32 = 10;

/// A message of the network whose encoding has this number of bytes.
fn packed(encoded: u64) -> Bytes {
    Bytes(TRANSPORT + encoded.next_multiple_of(4))
}

impl Params {
    /// Size and transport of a message.
    pub(super) fn wire(&self, kind: &Kind) -> Wire {
        let repeat = match kind.interface() {
            // It ends a connection, or represents random access without an answer: there is no link that may fail.
            Interface::Radio if matches!(kind, Kind::NoContext) => Some(self.signalling.repeat(false)),
            Interface::Radio => Some(self.signalling.repeat(true)),
            Interface::Network => Some(self.sctp.repeat()),
            Interface::Unacknowledged | Interface::UserPlane => None,
        };
        let random_access = matches!(kind, Kind::Preamble);
        Wire { size: self.signalling_size.unwrap_or_else(|| self.size(kind)), repeat, random_access }
    }

    fn size(&self, kind: &Kind) -> Bytes {
        let containers = &self.sizes;
        match kind {
            Kind::Reconfiguration { .. } | Kind::FullConfiguration => Bytes(RADIO + containers.command.0),
            Kind::ResumeReconfiguration => Bytes(RADIO + containers.candidate.0),
            Kind::LtmConfiguration { candidates } => {
                Bytes(RADIO + containers.candidate.0 * candidates.len().max(1) as u64)
            }
            Kind::UnitModificationRequest { rrc } => packed(TRANSFER + self.size(rrc).0),
            Kind::DownlinkRrcTransfer { rrc } | Kind::UplinkRrcTransfer { rrc } => {
                packed(TRANSFER + self.size(rrc).0)
            }
            Kind::ConditionalReconfiguration { candidates } => {
                Bytes(RADIO + containers.candidate.0 * candidates.len().max(1) as u64)
            }
            Kind::HandoverRequest { .. } | Kind::RetrieveContextResponse | Kind::NgHandoverRequest { .. } => {
                packed(157 + containers.preparation.0)
            }
            Kind::HandoverRequestAcknowledge => packed(65 + containers.command.0),
            Kind::HandoverRequired { .. } => packed(99 + containers.preparation.0),
            Kind::NgHandoverRequestAcknowledge => packed(66 + containers.command.0),
            Kind::HandoverCommand { .. } => packed(60 + containers.command.0),
            Kind::UpdateRequest { .. } | Kind::UpdateResponse { .. } => containers.service,
            Kind::ModificationRequest { .. } | Kind::ModificationResponse { .. } => containers.session,
            other => other.size(),
        }
    }
}

impl SignallingBearer {
    /// A message that RLC has to send again: each time after t-PollRetransmit. The first repetition has number 0, so that
    /// there are as many as the threshold when it is reached (TS 38.322 §5.3.2).
    fn repeat(&self, fails_link: bool) -> Repeat {
        let SignallingBearer { t_poll_retransmit: after, max_retx_threshold: times } = *self;
        Repeat { after, longest: after, times, fails_link }
    }
}

impl Sctp {
    fn repeat(self) -> Repeat {
        let (after, longest) = match self {
            Sctp::Rfc => (1_000, 60_000),
            Sctp::Srsran => (120, 500),
            Sctp::Open5gs => (1_000, 5_000),
            Sctp::Ocudu => (50, 200),
        };
        let ms = Duration::from_millis;
        Repeat { after: ms(after), longest: ms(longest), times: ASSOCIATION_REPETITIONS, fails_link: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cellular::Plan;
    use roamlab_packet::Addr;

    const CELL: Addr = Addr::new(1, 0);

    #[test]
    fn the_sizes_of_a_message_are_those_of_its_encoding_in_words_behind_the_transport() {
        let params = Params::default();
        let request = Kind::HandoverRequest { plan: Plan::Command, cell: CELL };
        assert_eq!(params.wire(&request).size, Bytes(608));
        let large = Params {
            sizes: super::super::Containers { preparation: Bytes(1500), ..Default::default() },
            ..params
        };
        assert_eq!(large.wire(&request).size, Bytes(48 + 1660));
        let flat = Params { signalling_size: Some(Bytes(250)), ..large };
        assert_eq!(flat.wire(&request).size, Bytes(250));
        let marker = Wire { size: Bytes(250), repeat: None, random_access: false };
        assert_eq!(flat.wire(&Kind::EndMarker { source: None }), marker);
    }

    #[test]
    fn default_containers_have_the_sizes_of_the_table() {
        let params = Params::default();
        let kinds = [
            Kind::HandoverRequest { plan: Plan::Command, cell: CELL },
            Kind::HandoverRequestAcknowledge,
            Kind::NgHandoverRequestAcknowledge,
            Kind::FullConfiguration,
            Kind::ResumeReconfiguration,
        ];
        for kind in kinds {
            assert_eq!(params.wire(&kind).size, kind.size(), "{kind:?}");
        }
    }
}
