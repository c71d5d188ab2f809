//! The messages of TS 36.300 §10.1.2.1 (X2AP: TS 36.423, S1AP: TS 36.413, GTP: TS 29.274 and 29.281, RRC: TS 36.331),
//! with the fields that some role uses.
//!
//! The identification is that of the handover, service request or path switch. It represents the X2AP and S1AP
//! identities and tunnel endpoint identifiers of TS 36.423.

use crate::cellular::{Message, Plan};
use roamlab_packet::{Addr, MarkingState, Received};

crate::messages! {
    /// Sizes of messages on the wire, headers included.
    Sizes as sizes, in band: EndMarker;

    /// Step 1, source → UE (RRC connection reconfiguration): measure, and report event A3.
    MeasurementControl "measurement-control" size measurement_control = 50;
    /// UE → source (RRC connection reconfiguration complete): the answer to step 1.
    MeasurementControlComplete "measurement-control-complete" size measurement_control_complete = 30;
    /// Step 2, UE → source: this neighbour is better.
    MeasurementReport {
        /// The neighbour.
        target: Addr,
    } "measurement-report" size measurement_report = 30;
    /// Step 4, source → target: take this UE.
    HandoverRequest {
        /// Next step of the source.
        plan: Plan,
    } "handover-request" size handover_request = 250;
    /// Step 6, target → source: its resources are reserved.
    HandoverRequestAck "handover-request-ack" size handover_request_ack = 200;
    /// Step 7, source → UE (RRC connection reconfiguration with mobility control information).
    HandoverCommand {
        /// Where to go.
        target: Addr,
    } "handover-command" size handover_command = 80;
    /// Source → UE, conditional handover (RRC connection reconfiguration with conditional reconfiguration, TS 36.331
    /// §5.3.5.9): go to the first of these that meets the execution condition. It takes the place of one before.
    ConditionalReconfiguration {
        /// The targets that are prepared.
        candidates: Vec<Addr>,
    } "conditional-reconfiguration" size conditional_reconfiguration = 120;
    /// Target → source, conditional handover: the UE has arrived at this one.
    HandoverSuccess "handover-success" size handover_success = 60;
    /// Step 8, source → target: PDCP sequence numbers of bearers without loss.
    SnStatusTransfer {
        /// The estimate by which the source's queue for the UE drops or marks; `None`: it is not carried.
        marking: Option<MarkingState>,
    } "sn-status-transfer" size sn_status_transfer = 90;
    /// Step 9, UE → target: random access preamble.
    RandomAccessPreamble "random-access-preamble" size random_access_preamble = 7;
    /// Step 10, target → UE: uplink grant and timing advance.
    RandomAccessResponse "random-access-response" size random_access_response = 8;
    /// Step 11, UE → target (RRC connection reconfiguration complete): handover confirm.
    HandoverConfirm "handover-confirm" size handover_confirm = 30;
    /// UE → the base station at which it has arrived (PDCP status report, TS 36.323 §5.3.1): received packets
    /// of bearers without loss.
    StatusReport {
        /// Packets, by the serial number of their first copy; represents the first number missing and the
        /// bitmap. Layer 2 of the UE fills it in.
        received: Received,
    } "pdcp-status-report" size pdcp_status_report = 20;
    /// Step 12, base station → MME: the downlink path of the UE goes to this base station.
    PathSwitchRequest {
        /// Which.
        base_station: Addr,
    } "path-switch-request" size path_switch_request = 150;
    /// Step 13, MME → serving gateway ("user plane update request" in TS 36.300 of 2008).
    ModifyBearerRequest {
        /// The new end of the tunnel.
        base_station: Addr,
    } "modify-bearer-request" size modify_bearer_request = 120;
    /// Step 14, serving gateway → source → target, in band with data: nothing follows on the old path (GTP-U type
    /// 254).
    EndMarker "end-marker" size end_marker = 36;
    /// Step 15, serving gateway → MME.
    ModifyBearerResponse "modify-bearer-response" size modify_bearer_response = 80;
    /// Step 16, MME → who asked.
    PathSwitchRequestAck "path-switch-request-ack" size path_switch_request_ack = 120;
    /// Step 17, target → source.
    ContextRelease "ue-context-release" size ue_context_release = 60;
    /// Target → source: not admitted.
    HandoverPreparationFailure "handover-preparation-failure" size handover_preparation_failure = 80;
    /// Source → target: forget the preparation.
    HandoverCancel "handover-cancel" size handover_cancel = 60;
    /// Base station → the one that the UE reports as lost: its link has failed.
    RlfIndication "rlf-indication" size rlf_indication = 80;
    /// MME → who asked: a newer handover is known, or no such UE.
    PathSwitchRequestFailure "path-switch-request-failure" size path_switch_request_failure = 80;
    /// UE → any base station: continue my connection.
    ReestablishmentRequest {
        /// The base station that served it last.
        previous: Addr,
    } "reestablishment-request" size reestablishment_request = 20;
    /// Base station → UE: the connection continues.
    Reestablishment "reestablishment" size reestablishment = 20;
    /// UE → base station: the answer to that; packets flow again.
    ReestablishmentComplete "reestablishment-complete" size reestablishment_complete = 20;
    /// Base station → UE: it does not.
    ReestablishmentReject "reestablishment-reject" size reestablishment_reject = 10;
    /// UE → base station → MME: a new connection (RRC connection setup and NAS service request in one).
    ServiceRequest "service-request" size service_request = 100;
    /// MME → base station: this UE is yours.
    InitialContextSetup "initial-context-setup" size initial_context_setup = 200;
    /// Base station → UE: the new connection is established.
    ConnectionSetup "connection-setup" size connection_setup = 80;
    /// MME → the base station that had the UE before: it has another connection now.
    ContextReleaseCommand "ue-context-release-command" size ue_context_release_command = 80;
}

/// The messages of the blocks.
impl From<Message> for Kind {
    fn from(message: Message) -> Kind {
        match message {
            Message::MeasurementControl => Kind::MeasurementControl,
            Message::HandoverRequest { plan } => Kind::HandoverRequest { plan },
            Message::HandoverCommand { target } => Kind::HandoverCommand { target },
            Message::ConditionalReconfiguration { candidates } => {
                Kind::ConditionalReconfiguration { candidates }
            }
            Message::HandoverSuccess => Kind::HandoverSuccess,
            Message::SnStatusTransfer { marking, .. } => Kind::SnStatusTransfer { marking },
            Message::HandoverCancel => Kind::HandoverCancel,
            Message::RandomAccessResponse => Kind::RandomAccessResponse,
            Message::PathSwitchRequest { base_station, .. } => Kind::PathSwitchRequest { base_station },
            Message::PathSwitchRequestAck => Kind::PathSwitchRequestAck,
            Message::PathSwitchRequestFailure { .. } => Kind::PathSwitchRequestFailure,
            Message::ModifyBearerRequest { base_station, .. } => Kind::ModifyBearerRequest { base_station },
            Message::InitialContextSetup => Kind::InitialContextSetup,
            Message::ContextReleaseCommand => Kind::ContextReleaseCommand,
            Message::ContextRelease => Kind::ContextRelease,
            Message::EndMarker => Kind::EndMarker,
            Message::Reestablishment => Kind::Reestablishment,
        }
    }
}
