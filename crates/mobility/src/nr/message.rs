//! The messages between the roles, with the fields that some role uses (RRC: TS 38.331, XnAP: TS 38.423, NGAP: TS
//! 38.413, GTP-U: TS 29.281). The service-based interface and N4 have one request and one response each.
//!
//! The sizes are those of messages with the default containers, encoded with one session and one bearer and only their
//! mandatory elements. They have 48 B of IP, SCTP and DATA chunk, and the payload in words of 4 B. Over the air they have
//! 10 B of PDCP with integrity, RLC and MAC. [`Params::wire`](super::Params::wire) has those of a scenario.
//!
//! The identification is that of the handover, the connection or the path switch. It represents the identities of the
//! application protocols and the tunnel endpoint identifiers.

use crate::Identification;
use crate::cellular::Plan;
use roamlab_packet::{Addr, Counts, Received};
use std::collections::BTreeSet;

crate::messages! {
    /// Sizes of messages on the wire, headers included.
    Sizes as sizes, in band: EndMarker;

    /// UE → base station → AMF: a new connection (RRC set-up and NAS service request in one).
    ServiceRequest {
        /// The first request of this attempt.
        first: Identification,
    } "nas-service-request" size service_request = 100;
    /// Base station → UE: the new connection is established.
    ConnectionSetup "rrc-setup" size connection_setup = 80;
    /// Base station → UE (RRCReconfiguration with measConfig): measure, and report.
    MeasurementConfiguration "rrc-measurement-configuration" size measurement_configuration = 60;
    /// UE → source: this neighbour is better.
    MeasurementReport {
        /// The neighbour.
        target: Addr,
    } "rrc-measurement-report" size measurement_report = 22;
    /// Source → UE (RRCReconfiguration with reconfigurationWithSync): go there.
    Reconfiguration {
        /// Where to go.
        target: Addr,
        /// It stays at the source until it is released from there (DAPS).
        dual: bool,
    } "rrc-reconfiguration" size reconfiguration = 310;
    /// Source → UE (RRCReconfiguration with conditionalReconfiguration): go to the first of these that meets the execution
    /// condition. It takes the place of one before.
    ConditionalReconfiguration {
        /// The targets that are prepared.
        candidates: Vec<Addr>,
    } "rrc-conditional-reconfiguration" size conditional_reconfiguration = 310;
    /// Base station → UE (RRCReconfiguration with ltm-Config): cells to which MAC may order it. It takes the place of one
    /// before.
    LtmConfiguration {
        /// The cells, by their base stations.
        candidates: Vec<Addr>,
    } "rrc-ltm-configuration" size ltm_configuration = 110;
    /// UE → base station: it has them.
    LtmComplete "rrc-ltm-configuration-complete" size ltm_complete = 12;
    /// UE → DU (layer 1, on PUCCH): this candidate is better.
    LayerOneReport {
        /// The candidate.
        target: Addr,
    } "l1-measurement-report" size layer_one_report = 8;
    /// DU → UE (PDCCH order): access this candidate, so that its timing advance is measured (TS 38.300 §9.2.3.5).
    PreambleOrder {
        /// The candidate.
        target: Addr,
    } "pdcch-order" size preamble_order = 8;
    /// UE → DU of a candidate: a preamble, without an answer to the UE.
    Preamble "ltm-random-access-preamble" size preamble = 8;
    /// DU → UE (LTM Cell Switch Command MAC CE, TS 38.321 §6.1.3.75): go there.
    CellSwitchCommand {
        /// Where to go.
        target: Addr,
        /// It has a valid timing advance, so that the UE needs no random access.
        timing: bool,
    } "mac-cell-switch-command" size cell_switch_command = 8;
    /// DU → UE (PDCCH): its first message has come.
    UplinkGrant "mac-uplink-grant" size uplink_grant = 8;
    /// UE → source: it has the candidates.
    ConditionalComplete "rrc-conditional-reconfiguration-complete" size conditional_complete = 12;
    /// Target → UE (RRCReconfiguration with daps-SourceRelease): leave the source.
    SourceRelease "rrc-source-release" size source_release = 30;
    /// UE → source: the target was not reached, and it continues here (DAPS).
    FailureInformation "rrc-failure-information" size failure_information = 14;
    /// UE → base station: it is here, and its bearers continue.
    ReconfigurationComplete {
        /// The PDCP status report of the bearer, which rides with it; `None`: it does not report.
        received: Option<Received>,
    } "rrc-reconfiguration-complete" size reconfiguration_complete = 20;
    /// Base station → UE (RRCReconfiguration with fullConfig): the bearers begin again.
    FullConfiguration "rrc-full-configuration" size full_configuration = 310;
    /// UE → any base station: continue my connection. It is not repeated by RLC (SRB0).
    ReestablishmentRequest {
        /// The base station that served it last.
        previous: Addr,
    } "rrc-reestablishment-request" size reestablishment_request = 8;
    /// Base station → UE: the connection continues.
    Reestablishment "rrc-reestablishment" size reestablishment = 12;
    /// UE → base station: the answer to that.
    ReestablishmentComplete "rrc-reestablishment-complete" size reestablishment_complete = 12;
    /// Base station → UE (RRCSetup in answer to a re-establishment request): the connection does not continue.
    FallbackSetup "rrc-fallback-setup" size fallback_setup = 80;
    /// Base station → UE (RRCReconfiguration behind a re-establishment): the bearers continue.
    ResumeReconfiguration "rrc-resume-reconfiguration" size resume_reconfiguration = 110;
    /// Base station → UE: it has no context of it. Represents random access that is not answered, or a release.
    NoContext "rrc-no-context" size no_context = 8;

    /// Source → target: take this UE.
    HandoverRequest {
        /// Next step of the source.
        plan: Plan,
        /// The target cell, by its base station.
        cell: Addr,
    } "xn-handover-request" size handover_request = 608;
    /// Target → source: its resources are reserved.
    HandoverRequestAcknowledge "xn-handover-request-acknowledge" size handover_request_acknowledge = 416;
    /// Target → source: not admitted.
    HandoverPreparationFailure "xn-handover-preparation-failure" size handover_preparation_failure = 72;
    /// Source → target: the numbers at which the target continues.
    SnStatusTransfer {
        /// The numbers.
        counts: Counts,
    } "xn-sn-status-transfer" size sn_status_transfer = 88;
    /// Source → target that gets copies of packets before the UE comes: from which number on, or which need not be sent.
    EarlyStatusTransfer {
        /// The number of the first one.
        count: u32,
        /// Those below it need not be sent (DISCARD DL COUNT).
        discard: bool,
    } "xn-early-status-transfer" size early_status_transfer = 84;
    /// Target → source: the UE is here.
    HandoverSuccess "xn-handover-success" size handover_success = 84;
    /// Source → target: forget the preparation.
    HandoverCancel "xn-handover-cancel" size handover_cancel = 80;
    /// Target → source: the UE is here, and the path.
    ContextRelease "xn-ue-context-release" size context_release = 72;
    /// New base station → old: a UE asks to continue here.
    RetrieveContextRequest {
        /// The identification in the request of the UE.
        ue: Identification,
    } "xn-retrieve-ue-context-request" size retrieve_context_request = 88;
    /// Old base station → new: the context.
    RetrieveContextResponse "xn-retrieve-ue-context-response" size retrieve_context_response = 608;
    /// Old base station → new: there is none.
    RetrieveContextFailure "xn-retrieve-ue-context-failure" size retrieve_context_failure = 72;
    /// New base station → old: the ends of tunnels for what waits there.
    AddressIndication "xn-u-address-indication" size address_indication = 96;

    /// Source → AMF: this UE is to go to that base station.
    HandoverRequired {
        /// The target.
        target: Addr,
        /// The target cell, by its base station.
        cell: Addr,
    } "ng-handover-required" size handover_required = 548;
    /// AMF → target: take this UE.
    NgHandoverRequest {
        /// The source.
        source: Addr,
        /// The target cell, by its base station.
        cell: Addr,
    } "ng-handover-request" size ng_handover_request = 608;
    /// Target → AMF: its resources are reserved.
    NgHandoverRequestAcknowledge "ng-handover-request-acknowledge" size ng_handover_request_acknowledge = 416;
    /// Target → AMF: not admitted.
    HandoverFailure "ng-handover-failure" size handover_failure = 72;
    /// AMF → source: the target is prepared.
    HandoverCommand {
        /// The target.
        target: Addr,
    } "ng-handover-command" size handover_command = 408;
    /// AMF → source: it is not.
    NgHandoverPreparationFailure {
        /// The target.
        target: Addr,
    } "ng-handover-preparation-failure" size ng_handover_preparation_failure = 72;
    /// Source → AMF: the numbers at which the target continues.
    UplinkStatusTransfer {
        /// The numbers.
        counts: Counts,
    } "ng-uplink-ran-status-transfer" size uplink_status_transfer = 88;
    /// AMF → target: the same.
    DownlinkStatusTransfer {
        /// The numbers.
        counts: Counts,
    } "ng-downlink-ran-status-transfer" size downlink_status_transfer = 88;
    /// Target → AMF: the UE is here.
    HandoverNotify "ng-handover-notify" size handover_notify = 92;
    /// Source → AMF: forget the preparation.
    NgHandoverCancel "ng-handover-cancel" size ng_handover_cancel = 72;
    /// AMF → source: the answer to that.
    NgHandoverCancelAcknowledge "ng-handover-cancel-acknowledge" size ng_handover_cancel_acknowledge = 72;
    /// Base station → AMF: the path of the UE goes to this base station.
    PathSwitchRequest {
        /// Which.
        base_station: Addr,
    } "ng-path-switch-request" size path_switch_request = 124;
    /// AMF → who asked.
    PathSwitchRequestAcknowledge "ng-path-switch-request-acknowledge" size path_switch_request_acknowledge = 124;
    /// AMF → who asked: a newer handover is known, or no such UE.
    PathSwitchRequestFailure {
        /// The SMF has not confirmed it: the sessions are released.
        released: bool,
    } "ng-path-switch-request-failure" size path_switch_request_failure = 88;
    /// AMF → base station: this UE is yours.
    InitialContextSetup "ng-initial-context-setup" size initial_context_setup = 248;
    /// Source → AMF: the UE has gone and was not taken over.
    ContextReleaseRequest "ng-ue-context-release-request" size context_release_request = 76;
    /// AMF → base station: forget this UE.
    ContextReleaseCommand "ng-ue-context-release-command" size context_release_command = 76;
    /// Base station → AMF: the answer to that.
    ContextReleaseComplete "ng-ue-context-release-complete" size context_release_complete = 72;

    /// AMF → SMF.
    UpdateRequest {
        /// Its purpose.
        step: Step,
    } "sbi-update-sm-context-request" size update_request = 600;
    /// SMF → AMF.
    UpdateResponse {
        /// Its purpose.
        step: Step,
    } "sbi-update-sm-context-response" size update_response = 600;
    /// SMF → UPF.
    ModificationRequest {
        /// Its purpose.
        step: Step,
    } "n4-session-modification-request" size modification_request = 150;
    /// UPF → SMF.
    ModificationResponse {
        /// Its purpose.
        step: Step,
    } "n4-session-modification-response" size modification_response = 150;

    /// CU → DU: a context for this UE.
    UnitSetupRequest {
        /// Its purpose.
        purpose: Purpose,
    } "f1-ue-context-setup-request" size unit_setup_request = 248;
    /// DU → CU: the answer to that.
    UnitSetupResponse "f1-ue-context-setup-response" size unit_setup_response = 248;
    /// CU → DU: this RRC message goes to the UE, and the context changes with it.
    UnitModificationRequest {
        /// The message.
        rrc: Box<Kind>,
    } "f1-ue-context-modification-request" size unit_modification = 88 total sizes.unit_modification.0 + rrc.size().0;
    /// DU → CU: it has sent it.
    UnitModificationResponse {
        /// The request orders the UE to another cell: the DU takes nothing more from it.
        stopped: bool,
    } "f1-ue-context-modification-response" size unit_modification_response = 88;
    /// CU → DU: forget this UE.
    UnitReleaseCommand "f1-ue-context-release-command" size unit_release_command = 72;
    /// DU → CU: the answer to that.
    UnitReleaseComplete "f1-ue-context-release-complete" size unit_release_complete = 72;
    /// DU → CU: its radio link to the UE has failed.
    UnitReleaseRequest {
        /// The UE has gone; otherwise RLC has given a packet up.
        gone: bool,
    } "f1-ue-context-release-request" size unit_release_request = 72;
    /// CU → DU → UE.
    DownlinkRrcTransfer {
        /// The message.
        rrc: Box<Kind>,
    } "f1-dl-rrc-message-transfer" size downlink_transfer = 72 total sizes.downlink_transfer.0 + rrc.size().0;
    /// UE → DU → CU.
    UplinkRrcTransfer {
        /// The message.
        rrc: Box<Kind>,
    } "f1-ul-rrc-message-transfer" size uplink_transfer = 72 total sizes.uplink_transfer.0 + rrc.size().0;
    /// DU → CU: it has ordered the UE to a cell of another DU.
    UnitCellSwitch {
        /// The cell, by its base station.
        target: Addr,
    } "f1-du-cu-cell-switch-notification" size unit_cell_switch = 80;
    /// CU → DU: a UE is ordered to its cell.
    CentralCellSwitch {
        /// The UE's candidates, by their base stations.
        candidates: Vec<Addr>,
    } "f1-cu-du-cell-switch-notification" size central_cell_switch = 80;
    /// DU of a candidate → CU: the timing advance of a UE there (TS 38.473, DU-CU TA INFORMATION TRANSFER).
    UnitTimingAdvance "f1-du-cu-ta-information-transfer" size unit_timing_advance = 80;
    /// CU → DU of the UE: the timing advance of a candidate (CU-DU TA INFORMATION TRANSFER).
    CentralTimingAdvance {
        /// The candidate.
        candidate: Addr,
    } "f1-cu-du-ta-information-transfer" size central_timing_advance = 80;
    /// DU → CU, with data (DOWNLINK DATA DELIVERY STATUS, TS 38.425 §5.4.2).
    DeliveryStatus {
        /// Numbers that RLC has confirmed, or that it will not send any more.
        done: BTreeSet<u32>,
        /// It sends nothing more.
        last: bool,
    } "f1u-delivery-status" size delivery_status = 52;

    /// UPF → source → target, in band with data: nothing follows on the old path (GTP-U type 254).
    EndMarker {
        /// The source of a handover, if the UPF between it and the target passes the marker on.
        source: Option<Addr>,
    } "gtpu-end-marker" size end_marker = 36;
}

/// A change of a session.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// A handover is required.
    Prepare,
    /// The target is prepared: what the source forwards goes there.
    Forward {
        /// The source.
        source: Addr,
        /// The target.
        target: Addr,
    },
    /// The path goes to this base station.
    Switch {
        /// Which.
        base_station: Addr,
        /// A handover over N2 is complete, and the AMF is going to release its source.
        complete: bool,
    },
    /// Packets that this source forwards are dropped from now on.
    EndForwarding {
        /// The source.
        source: Addr,
    },
}

/// The purpose of a UE's context at a distributed unit.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// The UE is here.
    Serve,
    /// A handover is to bring the UE here.
    Handover,
    /// An order of MAC may bring the UE here.
    Candidate,
}

/// The way of a message, by which its transport is known.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Interface {
    /// Over the air, with acknowledgements of RLC.
    Radio,
    /// Over the air, or through it to the core network, without.
    Unacknowledged,
    /// Between nodes of the network.
    Network,
    /// With data.
    UserPlane,
}

impl Kind {
    /// The way of the message.
    pub(super) fn interface(&self) -> Interface {
        match self {
            Kind::ServiceRequest { .. }
            | Kind::ReestablishmentRequest { .. }
            | Kind::LayerOneReport { .. }
            | Kind::PreambleOrder { .. }
            | Kind::Preamble
            | Kind::CellSwitchCommand { .. }
            | Kind::UplinkGrant => Interface::Unacknowledged,
            Kind::ConnectionSetup
            | Kind::MeasurementConfiguration
            | Kind::MeasurementReport { .. }
            | Kind::Reconfiguration { .. }
            | Kind::ConditionalReconfiguration { .. }
            | Kind::ConditionalComplete
            | Kind::LtmConfiguration { .. }
            | Kind::LtmComplete
            | Kind::SourceRelease
            | Kind::FailureInformation
            | Kind::ReconfigurationComplete { .. }
            | Kind::FullConfiguration
            | Kind::Reestablishment
            | Kind::ReestablishmentComplete
            | Kind::FallbackSetup
            | Kind::ResumeReconfiguration
            | Kind::NoContext => Interface::Radio,
            Kind::EndMarker { .. } => Interface::UserPlane,
            _ => Interface::Network,
        }
    }
}
