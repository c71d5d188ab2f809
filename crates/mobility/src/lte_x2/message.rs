//! The messages of TS 36.300 §10.1.2.1 (X2AP: TS 36.423, S1AP: TS 36.413, GTP: TS 29.274 and 29.281, RRC: TS 36.331),
//! with the fields that some role uses.

use crate::{Identification, Signal};
use roamlab_engine::Bytes;
use roamlab_packet::Addr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A signalling message of LTE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The user equipment that it is about.
    pub host: Addr,
    /// Of the handover, service request or path switch that it belongs to. It stands for the X2AP and S1AP
    /// identities and tunnel endpoint identifiers of TS 36.423: what is older never overrides what is newer.
    pub id: Identification,
    /// What it says.
    pub kind: Kind,
}

macro_rules! messages {
    ($($(#[$doc:meta])* $kind:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty),* } $name:literal
       $size:ident = $bytes:literal,)+) => {
        /// What a message says.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum Kind {
            $($(#[$doc])* $kind { $($(#[$field_doc])* $field: $type,)* },)+
        }

        /// Sizes of messages on the wire, headers included.
        #[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct Sizes {
            $(#[doc = concat!("Of `", $name, "`.")] pub $size: Bytes,)+
        }

        impl Default for Sizes {
            fn default() -> Self {
                Sizes { $($size: Bytes($bytes),)+ }
            }
        }

        impl Sizes {
            /// Every size with the name of its field.
            pub fn all(&self) -> impl Iterator<Item = (&'static str, Bytes)> {
                [$((stringify!($size), self.$size),)+].into_iter()
            }
        }

        impl Signal for Message {
            type Sizes = Sizes;

            const NAMES: &'static [&'static str] = &[$($name,)+];

            fn name(&self) -> &'static str {
                match self.kind {
                    $(Kind::$kind { .. } => $name,)+
                }
            }

            fn host(&self) -> Option<Addr> {
                Some(self.host)
            }

            fn size(&self, sizes: &Sizes) -> Bytes {
                match self.kind {
                    $(Kind::$kind { .. } => sizes.$size,)+
                }
            }

            fn in_band(&self) -> bool {
                matches!(self.kind, Kind::EndMarker {})
            }
        }
    };
}

messages! {
    /// Step 1, source → UE (RRC connection reconfiguration): measure, and report event A3.
    MeasurementControl {} "measurement-control" measurement_control = 50,
    /// UE → source (RRC connection reconfiguration complete): the answer to step 1.
    MeasurementControlComplete {} "measurement-control-complete" measurement_control_complete = 30,
    /// Step 2, UE → source: this neighbour is better.
    MeasurementReport {
        /// The neighbour.
        target: Addr
    } "measurement-report" measurement_report = 30,
    /// Step 4, source → target: take this UE.
    HandoverRequest {
        /// The source has the path switched, before the UE comes: what the gateway sends directly comes first.
        early: bool
    } "handover-request" handover_request = 250,
    /// Step 6, target → source: its resources are reserved.
    HandoverRequestAck {} "handover-request-ack" handover_request_ack = 200,
    /// Step 7, source → UE (RRC connection reconfiguration with mobility control information).
    HandoverCommand {
        /// Where to go.
        target: Addr
    } "handover-command" handover_command = 80,
    /// Step 8, source → target: PDCP sequence numbers of bearers without loss.
    SnStatusTransfer {} "sn-status-transfer" sn_status_transfer = 90,
    /// Step 9, UE → target: random access preamble.
    RandomAccessPreamble {} "random-access-preamble" random_access_preamble = 7,
    /// Step 10, target → UE: uplink grant and timing advance.
    RandomAccessResponse {} "random-access-response" random_access_response = 8,
    /// Step 11, UE → target (RRC connection reconfiguration complete): handover confirm.
    HandoverConfirm {} "handover-confirm" handover_confirm = 30,
    /// UE → the base station that it has come to (PDCP status report, TS 36.323 §5.3.1): what it has got of bearers without
    /// loss.
    StatusReport {
        /// Packets, by the serial number of their first copy; stands for the first number missing and the bitmap. Layer
        /// 2 of the UE fills it in.
        received: BTreeSet<u64>
    } "pdcp-status-report" pdcp_status_report = 20,
    /// Step 12, base station → MME: the downlink path of the UE goes to this base station.
    PathSwitchRequest {
        /// Which.
        base_station: Addr
    } "path-switch-request" path_switch_request = 150,
    /// Step 13, MME → serving gateway ("user plane update request" in TS 36.300 of 2008).
    ModifyBearerRequest {
        /// The new end of the tunnel.
        base_station: Addr
    } "modify-bearer-request" modify_bearer_request = 120,
    /// Step 14, serving gateway → source → target, in band with data: nothing follows on the old path (GTP-U type
    /// 254).
    EndMarker {} "end-marker" end_marker = 36,
    /// Step 15, serving gateway → MME.
    ModifyBearerResponse {} "modify-bearer-response" modify_bearer_response = 80,
    /// Step 16, MME → who asked.
    PathSwitchRequestAck {} "path-switch-request-ack" path_switch_request_ack = 120,
    /// Step 17, target → source.
    ContextRelease {} "ue-context-release" ue_context_release = 60,
    /// Target → source: not admitted.
    HandoverPreparationFailure {} "handover-preparation-failure" handover_preparation_failure = 80,
    /// Source → target: forget the preparation.
    HandoverCancel {} "handover-cancel" handover_cancel = 60,
    /// Base station → the one that the UE says it lost: its link has failed.
    RlfIndication {} "rlf-indication" rlf_indication = 80,
    /// MME → who asked: a newer handover is known, or no such UE.
    PathSwitchRequestFailure {} "path-switch-request-failure" path_switch_request_failure = 80,
    /// UE → any base station: continue my connection.
    ReestablishmentRequest {
        /// The base station that served it last.
        previous: Addr
    } "reestablishment-request" reestablishment_request = 20,
    /// Base station → UE: it goes on.
    Reestablishment {} "reestablishment" reestablishment = 20,
    /// UE → base station: the answer to that; packets flow again.
    ReestablishmentComplete {} "reestablishment-complete" reestablishment_complete = 20,
    /// Base station → UE: it does not.
    ReestablishmentReject {} "reestablishment-reject" reestablishment_reject = 10,
    /// UE → base station → MME: a new connection (RRC connection setup and NAS service request in one).
    ServiceRequest {} "service-request" service_request = 100,
    /// MME → base station: this UE is yours.
    InitialContextSetup {} "initial-context-setup" initial_context_setup = 200,
    /// Base station → UE: the new connection stands.
    ConnectionSetup {} "connection-setup" connection_setup = 80,
    /// MME → the base station that had the UE before: it has another connection now.
    ContextReleaseCommand {} "ue-context-release-command" ue_context_release_command = 80,
}
